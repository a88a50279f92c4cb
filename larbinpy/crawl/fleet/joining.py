"""Joining a fleet: its crawl is looked for before the node is assembled, and then entered."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from math import inf
from pathlib import Path
from secrets import token_hex

from larbinpy.config import Config
from larbinpy.crawl.control.mode import Mode
from larbinpy.crawl.control.restart import Restart
from larbinpy.crawl.fleet.entry import Entry
from larbinpy.crawl.fleet.frontier import SharedAdmission, SharedFrontier, SharedSequencer
from larbinpy.crawl.fleet.membership import Membership
from larbinpy.crawl.fleet.names import NameSharing
from larbinpy.crawl.fleet.seeding import Seeding, post_all
from larbinpy.crawl.resources.frontier import Kinds
from larbinpy.crawl.sites.logins import Logins
from larbinpy.fleet.area import AreaLog
from larbinpy.fleet.board import Found as OnBoard
from larbinpy.fleet.identity import Identity, has_ended, saved_node, session_name
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.redis.asking import Asker
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.names import RedisNames
from larbinpy.fleet.redis.overview import Overview
from larbinpy.fleet.redis.places import Places
from larbinpy.fleet.redis.wire import Address
from larbinpy.fleet.settings import as_it_runs, as_node, has_area, refuse, shared, to_steer
from larbinpy.fleet.shards import shard_of
from larbinpy.fleet.vault import Crawl, CrawlState
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller
from larbinpy.output.plug import Feeder
from larbinpy.storage.seen import UnsavedSeen
from larbinpy.storage.site_counts import UnsavedSiteCounts
from larbinpy.storage.state import SavedValue, Start


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
        crawl: Crawl,
        changed: Collection[str],
        asker: Asker,
        clock: Clock,
    ) -> None:
        self.config = config
        self.vault = vault
        self.crawl = crawl
        self.journal = Journal()
        #: Keywords whose values were changed while the crawl ran; `config` has them.
        self.changed = changed
        # The crawl began when its first node did; set by `enter`.
        self._limit_at = inf
        # Seeds may begin it again.
        self._was_finished = crawl.state is CrawlState.FINISHED
        name = vault.client.address.name
        self._identity = Identity(crawl.id, name, Path(config.state_dir))
        self._first_limit = to_steer(OnBoard(crawl, {}, 0, 0)).limit_page
        self._asker = asker
        self._clock = clock
        #: Nothing may be fetched from Redis itself.
        self.is_own = Places(vault.client.topology).has

    def __repr__(self) -> str:
        return f"<Fleet {self.vault!r}>"

    @property
    def is_new(self) -> bool:
        return self.crawl.created

    @property
    def keeps_seeds(self) -> bool:
        """A session that ends before the crawl has its first seeds gives them again."""
        return self.crawl.state is CrawlState.NEW

    @classmethod
    def open(
        cls,
        config: Config,
        poller: Poller,
        clock: Clock,
        closing: ExitStack,
        *,
        start: Start,
        written: Collection[str] | None,
        seeds: bool,
        rejoins: bool,
        is_stopped: Callable[[], bool],
        say: Callable[[str], None],
    ) -> "Fleet":
        """Find the crawl that `config` names; this node's state and outputs get folders.

        `written` is as in `joined`; `seeds`: this node has some; `rejoins`: it was one of this
        crawl just now. If it was one before, Redis is waited for, and `say` gets lines about that.
        Raises UserError if Redis does not answer or may not be used, if there is no crawl to join,
        or if a node of this name is in it; ConfigError for a setting that nodes cannot have, or
        that differs from the crawl's.
        """
        refuse(config)
        node, address = as_node(config), Address.of(config.join)
        before = None if start is Start.SCRATCH else saved_node(Path(node.state_dir))
        client = Client(poller, clock, address)
        closing.callback(client.close)
        asker = Asker(client, poller, clock, is_stopped, say=say if rejoins or before else None)
        entry = Entry(Overview(client), asker, address, node, before)
        found = entry.find(start, begins=seeds or config.input_port > 0)
        vault = RedisBoard(client)
        if found is None:
            settings = {**shared(config), "shards": str(config.shards)}
            crawl = Crawl(token_hex(8), settings, CrawlState.NEW, created=True)
            changed: Collection[str] = ()
        else:
            there: OnBoard = asker.ask(vault.find)
            config = as_it_runs(config, there, written)
            crawl, changed = there.crawl, there.changed
        if has_area(config):
            vault.area = AreaLog()
        return cls(as_node(config), vault, crawl, changed, asker, clock)

    def enter(self) -> list[str]:
        """Make the crawl, unless it was found; begin its time, and end a stop; lines for the user.

        Raises Restart if it is another crawl by now, UserError.
        """
        vault, crawl = self.vault, self.crawl
        if crawl.created:
            made: Crawl = self._asker.ask(partial(vault.open, crawl.settings, id=crawl.id))
            if made.id != crawl.id:
                raise Restart("another node has made the crawl meanwhile")
        found: OnBoard = self._asker.ask(partial(vault.find, begin=True))
        if found.crawl.id != crawl.id:
            raise Restart("the crawl was replaced by another one meanwhile")
        if self.config.limit_time:
            self._limit_at = self._clock() + found.started + self.config.limit_time - found.now
        if found.crawl.state is CrawlState.STOPPED:
            self._asker.ask(partial(vault.declare, CrawlState.STOPPED, CrawlState.RUNNING))
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
        if self.crawl.state is CrawlState.FINISHED:
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

    def start(self, start: Start) -> Start:
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
            self.crawl = self.crawl._replace(state=CrawlState.RUNNING)
        return True

    def member(self, frontier: Frontier, mode: Mode, feeder: Feeder) -> Membership:
        assert isinstance(frontier, SharedFrontier)
        config = self.config
        return Membership(
            self.vault,
            self.journal,
            frontier,
            lambda: session_name(config.node, self._identity.share),
            has_ended,
            config,
            self._first_limit,
            self._identity,
            mode,
            self._clock,
            feeder,
            self._give,
        )

    def logins(self) -> Logins:
        folder = Path(self.config.state_dir)
        logins = Logins(folder)
        # Those of the seeds of `crawl --nodes`.
        logins.add_shared(folder.parent)
        return logins

    def names(self, wall: Clock) -> NameSharing:
        config = self.config
        names = RedisNames(self.vault.client, self.crawl.id, config.shards, wall)
        return NameSharing(names, wall, config.dns_cache_time)
