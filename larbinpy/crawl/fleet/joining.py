"""Joining a fleet: its crawl is looked for before the node is assembled, and then entered.

The checks before a node makes or joins a crawl.

They change nothing, except that a dead node of the same name is removed from the members.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from secrets import token_hex

from larbinpy.config import Config
from larbinpy.context import Context
from larbinpy.crawl.fleet.frontier import (
    Seeding,
    SharedAdmission,
    SharedFrontier,
    SharedSequencer,
    post_all,
)
from larbinpy.crawl.fleet.membership import Membership
from larbinpy.crawl.fleet.names import SharedCache, SharedNames
from larbinpy.crawl.mode import Mode, Restart
from larbinpy.crawl.parts import Kinds
from larbinpy.crawl.request_options import Logins
from larbinpy.dns.cache import NameCache
from larbinpy.dns.resolver import Resolver
from larbinpy.errors import UserError
from larbinpy.fleet.board import AreaLog
from larbinpy.fleet.board import FoundCrawl as OnBoard
from larbinpy.fleet.identity import (
    Identity,
    SavedNode,
    are_namesakes,
    as_it_runs,
    as_node,
    has_area,
    has_ended,
    of_another,
    refuse,
    saved_node,
    session_name,
    shared,
    to_steer,
)
from larbinpy.fleet.journal import ShardJournal
from larbinpy.fleet.ownership import shard_of
from larbinpy.fleet.redis.board import RedisBoard, RedisNames
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.overview import Asker, Overview, Places, SeenCrawl
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import FleetState, SharedCrawl
from larbinpy.frontier.frontier import Frontier
from larbinpy.output.plug import Feeder
from larbinpy.storage.seen import UnsavedSeen
from larbinpy.storage.site_counts import UnsavedSiteCounts
from larbinpy.storage.state import SavedValue, Start


class EntryCheck:
    """Checks a node with this `config`; `before` is the node whose state its folder has."""

    def __init__(
        self,
        overview: Overview,
        asker: Asker,
        address: CrawlAddress,
        config: Config,
        before: SavedNode | None,
    ) -> None:
        self._overview = overview
        self._asker = asker
        self._address = address
        self._config = config
        self._before = before

    def find(self, start: Start, *, begins: bool) -> SeenCrawl | None:
        """The crawl to join; None if the node can make it, as it `begins` one. Raises UserError."""
        found: SeenCrawl | None = self._asker.ask(self._overview.find)
        if found is None:
            self._check_beginning(start, begins)
        else:
            self._check_folder(found)
            self._check_name(found)
        return found

    def _check_beginning(self, start: Start, begins: bool) -> None:
        if self._before is not None:
            self._check_crawl(self._before)
            folder = self._config.output_dir
            stay = f"pages stay in {folder}, " if _has_files(Path(folder)) else ""
            raise UserError(
                f"{self._address}: this crawl is gone: it was forgotten, or Redis has lost its data"
                f"; {stay}--scratch begins anew"
            )
        if start is Start.RESUME:
            raise UserError(f"{self._address}: there is no such crawl; --resume needs one")
        if not begins:
            raise UserError(
                f"{self._address}: there is no such crawl; give a URL or startUrl to begin it"
            )

    def _check_folder(self, found: SeenCrawl) -> None:
        if self._before is not None and self._before.crawl != found.id:
            self._check_crawl(self._before)
            raise of_another(Path(self._config.state_dir))

    def _check_crawl(self, before: SavedNode) -> None:
        if before.name != self._address.name:
            raise of_another(Path(self._config.state_dir), before.name)

    def _check_name(self, found: SeenCrawl) -> None:
        """Refuse a name that another node has, and bury those that had it and are dead."""
        share = "" if self._before is None else self._before.share
        own = session_name(self._config.node, share)
        same = [session for session in found.sessions if are_namesakes(session, own)]
        if not same:
            return
        has_namesake = not all(map(has_ended, same))
        if has_namesake and self._config.node in self._asker.living(
            self._overview, found, until_dead=True
        ):
            raise UserError(
                f"{self._address}: has a node {self._config.node} already; "
                "give this one another name (--node)"
            )
        for session in same:
            bury = partial(self._overview.bury, session, found.sessions[session])
            self._asker.ask(bury)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


class Fleet:
    """The participation of a node: a crawl in Redis. `config` has the settings that all share.

    `open` finds the crawl, and `enter` makes it, if it was not found: once nothing here refuses.
    """

    kinds = Kinds(SharedFrontier, SharedAdmission, SharedSequencer, UnsavedSiteCounts, UnsavedSeen)
    #: The queue of URLs is in Redis.
    keeps_queue = False

    def __init__(
        self,
        config: Config,
        vault: RedisBoard,
        crawl: SharedCrawl,
        changed: Collection[str],
        asker: Asker,
        context: Context,
    ) -> None:
        self.config = config
        self.vault = vault
        self.crawl = crawl
        self.journal = ShardJournal()
        #: Parts of the state beside those of the crawl itself.
        self.parts = {"journal": self.journal}
        #: Keywords whose values were changed while the crawl ran; `config` has them.
        self.changed = changed
        # The crawl began when its first node did; set by `enter`.
        self._limit_at = inf
        # Seeds may begin it again.
        self._was_finished = crawl.state is FleetState.FINISHED
        name = vault.client.address.name
        self._identity = Identity(crawl.id, name, Path(config.state_dir))
        vault.first_limit = to_steer(OnBoard(crawl, {}, 0, 0)).limit_page
        self._asker = asker
        self._clock = context.clock
        self._wall = context.wall
        #: Nothing may be fetched from Redis itself.
        self.is_own = Places(vault.client.topology).has

    @property
    def is_new(self) -> bool:
        return self.crawl.created

    @property
    def keeps_seeds(self) -> bool:
        """A session that ends before the crawl has its first seeds gives them again."""
        return self.crawl.state is FleetState.NEW

    @classmethod
    def open(
        cls,
        context: Context,
        *,
        start: Start,
        written: Collection[str] | None,
        seeds: bool,
        rejoins: bool,
        is_stopped: Callable[[], bool],
        say: Callable[[str], None],
    ) -> "Fleet":
        """Find the crawl that the configuration names; this node's state and outputs get folders.

        `written` is as in `joined`; `seeds`: this node has some; `rejoins`: it was one of this
        crawl just now. If it was one before, Redis is waited for, and `say` gets lines about that.
        Raises UserError if Redis does not answer or may not be used, if there is no crawl to join,
        or if a node of this name is in it; ConfigError for a setting that nodes cannot have, or
        that differs from the crawl's.
        """
        config, poller, clock = context.config, context.poller, context.clock
        refuse(config)
        node, address = as_node(config), CrawlAddress.of(config.join)
        before = None if start is Start.SCRATCH else saved_node(Path(node.state_dir))
        client = Client(poller, clock, address)
        context.closing.callback(client.close)
        asker = Asker(client, poller, clock, is_stopped, say=say if rejoins or before else None)
        entry = EntryCheck(Overview(client), asker, address, node, before)
        found = entry.find(start, begins=seeds or config.input_port > 0)
        vault = RedisBoard(client)
        if found is None:
            settings = {**shared(config), "shards": str(config.shards)}
            crawl = SharedCrawl(token_hex(8), settings, FleetState.NEW, created=True)
            changed: Collection[str] = ()
        else:
            there: OnBoard = asker.ask(vault.find)
            config = as_it_runs(config, there, written)
            crawl, changed = there.crawl, there.changed
        if has_area(config):
            vault.area = AreaLog()
        return cls(as_node(config), vault, crawl, changed, asker, context)

    def enter(self) -> list[str]:
        """Make the crawl, unless it was found; begin its time, and end a stop; lines for the user.

        Raises Restart if it is another crawl by now, UserError.
        """
        vault, crawl = self.vault, self.crawl
        if crawl.created:
            made: SharedCrawl = self._asker.ask(partial(vault.open, crawl.settings, id=crawl.id))
            if made.id != crawl.id:
                raise Restart("another node has made the crawl meanwhile")
        found: OnBoard = self._asker.ask(partial(vault.find, begin=True))
        if found.crawl.id != crawl.id:
            raise Restart("the crawl was replaced by another one meanwhile")
        if self.config.limit_time:
            self._limit_at = self._clock() + found.started + self.config.limit_time - found.now
        if found.crawl.state is FleetState.STOPPED:
            self._asker.ask(partial(vault.declare, FleetState.STOPPED, FleetState.RUNNING))
        self.crawl = crawl._replace(state=found.crawl.state)
        return list(vault.client.warnings)

    def about(self, start: Start) -> list[str]:
        """Lines about a crawl that was found, and is joined by this `start`."""
        where, forgets = self.vault.client.address, "larbinpy fleet --forget removes it"
        if self._is_of_nodes:
            forgets = "--scratch crawls anew"
        if self.crawl.created or (start is Start.SCRATCH and self._is_of_nodes):
            return []
        if start is Start.SCRATCH:
            mine = self.config.state_dir
            how = "was finished" if self._was_finished else "goes on"
            return [f"{where}: this crawl {how}, only {mine} was emptied; {forgets}"]
        if self.crawl.state is FleetState.FINISHED:
            return [f"{where}: this crawl is finished; {forgets}"]
        return []

    @property
    def _is_of_nodes(self) -> bool:
        """Whether `crawl --nodes` has started this Redis; its --scratch removes the whole crawl."""
        server, *_ = self.vault.client.address.servers
        folder = Path(self.config.state_dir).parent / "redis"
        return not server.port and Path(server.host).absolute().parent == folder.absolute()

    def is_finished(self, frontier: Frontier) -> bool:
        """`about` says so: the state in the folder has no queue."""
        return False

    def start(self, context: Context, start: Start) -> Start:
        """Redis has the crawl; the folder has only what this node got of it."""
        return start if start is Start.SCRATCH else Start.AUTO

    def values(self, mode: Mode, frontier: Frontier) -> Mapping[str, SavedValue]:
        """The crawl that the state belongs to; all nodes of a crawl are paused together."""
        return {"fleet": self._identity}

    def limit_at(self, started: float) -> float:
        return self._limit_at

    def _give(self, urls: Sequence[str]) -> bool:
        """Give seeds to a crawl that had some before; False if it has none yet.

        Raises UserError.
        """
        if self.keeps_seeds:
            return False
        seeding = Seeding(
            self.vault, partial(shard_of, shards=self.config.shards), self.config.stay
        )
        for url in urls:
            seeding.add(url)
        post_all(seeding, self._asker)
        if urls:
            self.crawl = self.crawl._replace(state=FleetState.RUNNING)
        return True

    def member(self, frontier: Frontier, mode: Mode, feeder: Feeder) -> Membership:
        assert isinstance(frontier, SharedFrontier)
        member = Membership(
            self.vault,
            self.journal,
            frontier,
            self.config,
            self._identity,
            mode,
            self._clock,
            feeder,
        )
        member.give = self._give
        return member

    def share_names(
        self, make: Callable[[NameCache | None], Resolver]
    ) -> tuple[Resolver, SharedNames]:
        """Make a resolver; return it with the names in front of it."""
        config, time = self.config, self.config.dns_cache_time
        cache = SharedCache(config.dns_cache_size, config.dns_negative_size, time)
        vault = RedisNames(self.vault.client, self.crawl.id, config.shards, self._wall)
        resolver = make(cache)
        return resolver, SharedNames(resolver, cache, vault, self._wall, time)

    def logins(self, context: Context) -> Logins:
        logins = Logins(context.folder)
        # Those of the seeds of `crawl --nodes`.
        logins.add_shared(context.folder.parent)
        return logins
