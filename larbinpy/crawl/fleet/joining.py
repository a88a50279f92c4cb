"""Joining a fleet: the crawl is made or found in Redis before the node is assembled."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from math import inf
from pathlib import Path

from larbinpy.config import Config
from larbinpy.crawl.control.mode import Mode
from larbinpy.crawl.fleet.frontier import SharedFrontier
from larbinpy.crawl.fleet.membership import Membership
from larbinpy.crawl.fleet.names import NameSharing
from larbinpy.crawl.fleet.seeding import Seeding, post_all
from larbinpy.errors import UserError
from larbinpy.fleet.area import AreaLog
from larbinpy.fleet.board import Found as OnBoard
from larbinpy.fleet.identity import Identity, saved_crawl
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.redis.asking import Asker
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.redis.names import RedisNames
from larbinpy.fleet.redis.overview import Found, Overview
from larbinpy.fleet.redis.places import Places
from larbinpy.fleet.redis.wire import Address
from larbinpy.fleet.settings import as_it_runs, as_node, has_area, refuse, shared, to_steer
from larbinpy.fleet.shards import shard_of
from larbinpy.fleet.vault import Crawl, CrawlState
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller
from larbinpy.output.plug import Feeder
from larbinpy.storage.state import Start


class Fleet:
    """A crawl in Redis that this process joins. `config` has the settings that all nodes share."""

    def __init__(
        self, config: Config, vault: RedisBoard, found: OnBoard, asker: Asker, clock: Clock
    ) -> None:
        self.config = config
        self.vault = vault
        self.crawl = found.crawl
        self.journal = Journal()
        #: Lines for the user.
        self.notes = list(vault.warnings)
        #: Keywords whose values were changed while the crawl ran; `config` has them.
        self.changed = list(found.changed)
        #: When limitTime ends the crawl, which began when its first node did.
        self.limit_at = inf
        if config.limit_time:
            self.limit_at = clock() + found.started + config.limit_time - found.now
        #: The value in this node's state that says which crawl it belongs to.
        self.identity = Identity(found.crawl.id, Path(config.state_dir))
        self._first_limit = to_steer(found._replace(changed={})).limit_page
        self._asker = asker
        self._clock = clock
        self._places = Places(vault)

    def __repr__(self) -> str:
        return f"<Fleet {self.vault!r}>"

    @property
    def has_seeds(self) -> bool:
        """Whether the crawl had its first seeds when it was opened."""
        return self.crawl.state is not CrawlState.NEW

    @property
    def is_finished(self) -> bool:
        """Whether nothing was left to do when the crawl was opened."""
        return self.crawl.state is CrawlState.FINISHED

    @classmethod
    def open(
        cls,
        config: Config,
        poller: Poller,
        clock: Clock,
        closing: ExitStack,
        *,
        start: Start,
        seeds: bool,
        is_stopped: Callable[[], bool],
    ) -> "Fleet":
        """Make the crawl that `config` names, or find it; its state and outputs get folders.

        `seeds`: this node has some. Raises UserError if Redis does not answer or may not be used,
        if there is no crawl to join, or if a node of this name is in it; ConfigError for a setting
        that nodes cannot have, or that differs from the crawl's.
        """
        refuse(config)
        address = Address.of(config.join)
        asker = Asker(poller, clock, is_stopped)
        overview = Overview(poller, clock, address)
        try:
            entry = _Entry(overview, asker, address)
            entry.check(as_node(config), start, begins=seeds or config.input_port > 0)
        finally:
            overview.close()
        vault = RedisBoard(poller, clock, address)
        closing.callback(vault.close)
        settings = {**shared(config), "shards": str(config.shards)}
        crawl: Crawl = asker.ask(vault, partial(vault.open, settings))
        found: OnBoard = asker.ask(vault, partial(vault.find, begin=True))
        config = as_it_runs(config, found)
        if has_area(config):
            vault.area = AreaLog()
        if crawl.state is CrawlState.STOPPED:
            asker.ask(vault, partial(vault.declare, CrawlState.STOPPED, CrawlState.RUNNING))
        return cls(as_node(config), vault, found._replace(crawl=crawl), asker, clock)

    def seed(self, urls: Sequence[str]) -> None:
        """Give seeds to a crawl that had some before. Raises UserError."""
        seeding = Seeding(
            self.vault, partial(shard_of, shards=self.config.shards), self.config.stay
        )
        for url in urls:
            seeding.add(url)
        post_all(seeding, self.vault, self._asker)
        if urls:
            self.crawl = self.crawl._replace(state=CrawlState.RUNNING)

    def membership(self, frontier: SharedFrontier, mode: Mode, inner: Feeder) -> Membership:
        """The node of an assembled crawl."""
        config = self.config
        return Membership(
            self.vault,
            self.journal,
            frontier,
            lambda: f"{config.node}.{os.urandom(6).hex()}",
            config,
            self._first_limit,
            self.identity,
            mode,
            self._clock,
            inner,
        )

    def names(self, wall: Clock) -> NameSharing:
        """How the names of the crawl are shared."""
        config = self.config
        names = RedisNames(self.vault, self.crawl.id, config.shards, wall)
        return NameSharing(names, wall, config.dns_cache_time)

    def is_redis(self, address: str, port: int) -> bool:
        """Whether Redis itself is there, so that nothing may be fetched from it."""
        return self._places.has(address, port)


class _Entry:
    """The checks before a crawl is made or joined."""

    def __init__(self, overview: Overview, asker: Asker, address: Address) -> None:
        self._overview = overview
        self._asker = asker
        self._address = address

    def check(self, config: Config, start: Start, *, begins: bool) -> None:
        """Check that a node with this `config` can make the crawl, if it `begins` one, or join it.

        With SCRATCH the crawl that the node's folder belongs to is forgotten. Raises UserError.
        """
        found = self._find()
        if found is None:
            if start is Start.RESUME or not begins:
                hint = "--resume needs one" if begins else "give a URL or startUrl to begin it"
                raise UserError(f"{self._address}: there is no such crawl; {hint}")
            return
        if start is Start.SCRATCH and saved_crawl(Path(config.state_dir)) == found.id:
            if living := self._asker.living(self._overview, found):
                nodes = ", ".join(living)
                raise UserError(f"{self._address}: in use by {nodes}; stop all of its nodes first")
            self._asker.ask(self._overview, self._overview.forget)
            return
        same = [each for each in found.sessions if each.rpartition(".")[0] == config.node]
        if same and config.node in self._asker.living(self._overview, found):
            raise UserError(
                f"{self._address}: has a node {config.node} already; "
                "give this one another name (--node)"
            )

    def _find(self) -> Found | None:
        found: Found | None = self._asker.ask(self._overview, self._overview.find)
        return found
