"""A crawl as a node of a fleet: between the crawl's own parts and the deciders of the fleet.

`Fleet` joins: the crawl is looked for before the node is assembled, and then entered. The checks
before a node makes or joins a crawl change nothing, except that a dead node of the same name is
removed from the members.

`Turns` is politeness over all nodes, whose hosts may share an address. A turn is a key in Redis
that one node has at a time: from before its request is opened until waitDuration after its end.
Within this node, the frontier keeps the waits as it does alone.
"""

from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import inf
from pathlib import Path
from secrets import token_hex
from typing import Any

from larbinpy.config import Config
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.context import Context
from larbinpy.crawl.control import Control
from larbinpy.crawl.engine import Listener
from larbinpy.crawl.fleet.frontier import (
    Seeding,
    SharedAdmission,
    SharedArea,
    SharedFrontier,
    SharedSequencer,
    Withdrawal,
    post_all,
)
from larbinpy.crawl.fleet.names import SharedCache, SharedNames
from larbinpy.crawl.fleet.steering import FleetControl, Steering, Work
from larbinpy.crawl.mode import Mode, Restart
from larbinpy.crawl.network import Network
from larbinpy.crawl.on_disk import OnDisk
from larbinpy.crawl.parts import Kinds
from larbinpy.crawl.requests import Logins
from larbinpy.dns.cache import NameCache
from larbinpy.dns.resolver import Resolver
from larbinpy.errors import UserError
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.options import Request
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
from larbinpy.fleet.node import Node, Thinning
from larbinpy.fleet.ownership import shard_of, shards_by_site
from larbinpy.fleet.redis.board import RedisBoard, RedisNames
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.overview import Asker, Overview, Places, SeenCrawl
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import Away, FleetState, Part, SharedCrawl, Vault
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import Clock
from larbinpy.observe.snapshot import Totals
from larbinpy.output.plug import NO_FEEDER, Feeder
from larbinpy.page import Page
from larbinpy.storage.seen import UnsavedSeen
from larbinpy.storage.site_counts import UnsavedSiteCounts
from larbinpy.storage.state import SavedValue, Start
from larbinpy.url import Url

#: Seconds after which a turn ends if its node no longer says anything; waitDuration comes after
#: that, since the request may have lasted as long.
LEASE = 10.0
#: Seconds after which a turn that was granted is given back: it must last until it is renewed.
_FRESH = 5.0
#: Seconds after which a turn is asked for again, at most; and taken again, in flight.
_LONGEST = 1.0
_RENEW = 3.0


class Turns:
    """A fetcher, in front of which requests wait for their turns.

    Requests that wait count as busy. `wait` returns waitDuration; without one, there are no turns.
    `certain` returns whether the turns of this node are its own at that moment, by a clock of its
    own: the process may have been stopped since the turn of the loop began. `place` returns what
    a request needs the turn of: its address, or its site with waitBy site.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        vault: Vault,
        wait: Callable[[], float],
        certain: Callable[[], bool],
        place: Callable[[Request], str],
    ) -> None:
        self._fetcher = fetcher
        self._vault = vault
        self._wait = wait
        self._certain = certain
        self._place = place
        self._order = count()
        # The places of the turns of requests that are not opened yet, by the identity of their
        # URLs; no place for no turn.
        self._parked: dict[int, str] = {}
        # Requests that may be opened, with the places of their turns, and until when they may.
        self._granted: deque[tuple[Request, str, float]] = deque()
        # Requests whose turns were refused, by the time to ask again.
        self._refused: list[tuple[float, int, Request]] = []
        # The places of the turns of requests in flight, by the identity of their URLs.
        self._flying: dict[int, str] = {}
        self._renew_at = 0.0
        self._now = 0.0
        self._aborted = False

    def __repr__(self) -> str:
        return f"<Turns {self._waiting} wait, {self._fetcher!r}>"

    @property
    def _waiting(self) -> int:
        return len(self._parked)

    def place_of(self, url: Url) -> str:
        """The place whose turn the request for `url` waits for; empty if it waits for none."""
        return self._parked.get(id(url), "")

    @property
    def free(self) -> int:
        return max(0, self._fetcher.free - self._waiting)

    @property
    def busy(self) -> int:
        return self._fetcher.busy + self._waiting

    @property
    def deadline(self) -> float | None:
        times = [self._fetcher.deadline]
        if self._opens:
            if self._granted:
                times.append(self._now)
            if self._refused:
                times.append(self._refused[0][0])
        elif self._granted:
            times.append(self._granted[0][2])
        if self._flying:
            times.append(self._renew_at)
        return min((time for time in times if time is not None), default=None)

    @property
    def _opens(self) -> bool:
        """Whether a request may be opened now. Until then, those that wait ask for no turns."""
        return bool(self._granted or self._refused) and self._fetcher.free > 0 and self._certain()

    def start(self, request: Request, now: float) -> None:
        """Fetch, as soon as it is this node's turn."""
        if self._wait():
            self._ask(request)
        else:
            self._parked[id(request.url)] = ""
            self._granted.append((request, "", inf))

    def _ask(self, request: Request) -> None:
        place = self._parked[id(request.url)] = self._place(request)
        until = self._now + _FRESH

        def answered(wait: int | Away) -> None:
            if self._aborted:
                return
            if wait == 0:
                self._granted.append((request, place, until))
            else:
                # Without an answer, the turn may be this node's.
                seconds = _LONGEST if isinstance(wait, Away) else min(wait / 1000, _LONGEST)
                self._ask_at(self._now + seconds, request)

        self._vault.turn(place, self._lease, answered)

    @property
    def _lease(self) -> int:
        """Milliseconds for which a turn is reserved."""
        return int((LEASE + self._wait()) * 1000)

    def _ask_at(self, time: float, request: Request) -> None:
        heappush(self._refused, (time, next(self._order), request))

    def step(self, now: float) -> list[Page]:
        """Open the requests whose turns have come; return the pages that ended."""
        self._now = now
        # Asked once: libcurl writes all these requests in the fetcher's step, below.
        opens = self._opens
        while self._granted:
            request, place, until = self._granted[0]
            if now >= until:
                # The crawl was paused, or too few handles were free.
                self._vault.rest(place, 0)
                self._ask_at(now, request)
            elif opens and self._fetcher.free:
                del self._parked[id(request.url)]
                if place:
                    self._flying[id(request.url)] = place
                self._fetcher.start(request, now)
            else:
                break
            self._granted.popleft()
        while opens and self._refused and self._refused[0][0] <= now:
            self._ask(heappop(self._refused)[2])
        pages = self._fetcher.step(now)
        for page in pages if self._flying else ():
            if place := self._flying.pop(id(page.url), ""):
                self._vault.rest(place, int(self._wait() * 1000))
        if self._flying and now >= self._renew_at:
            self._renew_at = now + _RENEW
            places = list(dict.fromkeys(self._flying.values()))
            self._vault.renew(places, self._lease)
        return pages

    def abort(self) -> None:
        """Abort what is in flight, and open nothing more; `step` returns none of it."""
        self._aborted = True
        self._fetcher.abort()
        self._flying.clear()
        self._parked.clear()
        self._granted.clear()
        self._refused.clear()


#: Seconds between two steps of the node: its work takes 0.1 ms with all shards.
_STEP = 0.01
#: Seconds between two searches for URLs of shards that leave.
_LOOK = 0.2


class LocalShards:
    """The frontier of this node, as the fleet sees it."""

    def __init__(self, frontier: SharedFrontier, clock: Clock) -> None:
        self._frontier = frontier
        self._clock = clock
        # The shards whose URLs are in memory, after all sites were examined.
        self._in_memory: set[int] = set()
        self._withdrawal: Withdrawal | None = None
        self._step_at = -inf
        #: Aborts what is in flight.
        self.abort: Callable[[], None] = lambda: None
        #: Queues the seeds of this node; returns whether it has any.
        self.seed: Callable[[], bool] = lambda: False
        #: Whether something was aborted, so that the frontier is not complete any more.
        self.broken = False

    def __repr__(self) -> str:
        return f"<LocalShards {self._frontier!r}>"

    def loaded(self, shard: int, part: Part, lines: Sequence[tuple[int, str]]) -> None:
        self._frontier.take_over(part.counts, part.waits, self._clock())
        self._frontier.load(array("Q", part.fingerprints), lines)

    def receive(self, shard: int, lines: Sequence[str]) -> None:
        self._frontier.receive(lines)

    def withdraw(self, shard: int) -> None:
        self._in_memory.add(shard)

    def busy(self, shard: int) -> bool:
        """Whether URLs of this shard are in memory; failures come back there, to be tried again.

        Sites that were examined before their shard was withdrawn are examined the next time.
        """
        now = self._clock()
        if now >= self._step_at:
            self._withdrawal = self._withdrawal or self._frontier.withdrawal()
            self._withdrawal.step()
            self._step_at = now + _STEP
            if self._withdrawal.over:
                self._withdrawal = None
                self._in_memory = self._frontier.in_memory()
                self._step_at = now + _LOOK
        return shard in self._in_memory

    @property
    def is_spent(self) -> bool:
        return self._frontier.owed == 0

    def interrupt(self) -> None:
        self.broken = True
        self.abort()

    def clear(self) -> None:
        self.broken = True
        self.abort()


class Membership:
    """This process as a node: a feeder, a listener, and the maker of a fetcher that takes turns.

    As a feeder it holds the crawl while requests must not be opened, and is finished when the
    node has left. `inner` is the feeder of the outputs.
    """

    def __init__(
        self,
        vault: RedisBoard,
        journal: ShardJournal,
        frontier: SharedFrontier,
        config: Config,
        identity: Identity,
        mode: Mode,
        clock: Clock,
        inner: Feeder = NO_FEEDER,
    ) -> None:
        follows, log = config.follow_seed, vault.area
        area = None if log is None else SharedArea(config.stay, log, follows=follows)
        frontier.begin(journal, shards_by_site(config.shards), area)
        self._vault = vault
        self._client = vault.client
        self._identity = identity
        self._mode = mode
        self._clock = clock
        self._inner = inner
        self._frontier = frontier
        #: Gives seeds to a crawl that had some before; False if it has none yet.
        self.give: Callable[[Sequence[str]], bool] = lambda seeds: False
        self._local = LocalShards(frontier, clock)
        self.node = Node(
            vault,
            self._local,
            journal,
            lambda: session_name(config.node, identity.share),
            has_ended,
            config.shards,
            config.wait_duration,
        )
        self._thinning = Thinning(vault, journal)
        #: The side that other nodes and operators see and change.
        self.steering = Steering(vault, self.node, journal, config, mode, clock)
        self._next = -inf
        self._was_open = True
        # The line when requests are opened.
        self._opened = "this node has joined the fleet"
        self._is_finishing = False

    @property
    def feeder(self) -> Feeder:
        return self

    @property
    def listeners(self) -> Sequence[Listener]:
        return [self]

    def describe(self) -> dict[str, Any]:
        return self.steering.describe()

    def seed(self, seeds: Sequence[str], disk: OnDisk) -> None:
        """Give the seeds at once, or queue them in the session that joins a crawl without any."""

        def seed() -> bool:
            disk.seed(seeds)
            return bool(seeds)

        if self.give(seeds):
            disk.learn_logins(seeds)
        else:
            self._local.seed = seed

    def begin(
        self, context: Context, totals: Totals, network: Network, finder: FinderProcess | None
    ) -> None:
        """Report about this crawl, and answer searches by `finder`; its state was taken up."""
        control, frontier, fetcher = self._control, self._frontier, network.fetcher
        control.finder = finder
        work = Work(
            totals,
            context.stats,
            state=lambda: control.state,
            queued=lambda: frontier.owed,
            seen=lambda: len(frontier.seen),
            busy=lambda: fetcher.busy,
            handles=lambda: fetcher.size,
        )
        self.steering.begin(work, self._identity.share)

    def control(self, *arguments: Any) -> Control:
        """The commands to this node, made as a `Control` is."""
        self._control = FleetControl(*arguments)
        self._control.steering = self.steering
        self.steering.orders.execute = self._control.execute
        return self._control

    def take_turns(self, network: Network, wait: Callable[[], float], wait_by: str) -> None:
        """Let requests wait for their turns at the address, or at the site."""
        place = _site if wait_by == "site" else _address
        self._turns = Turns(network.fetcher, self._vault, wait, self._may_open, place)
        network.fetching = self._turns
        self._local.abort = self._turns.abort

    def turn_of(self, url: Url) -> str:
        return self._turns.place_of(url)

    def _may_open(self) -> bool:
        return self.node.may_open(self._clock())

    def woken(self) -> None:
        """The process waited, and may have been stopped meanwhile."""
        self.node.interrupt(self._clock())

    # As a listener:

    @property
    def deadline(self) -> float:
        return min(max(self._next, self.node.deadline), self._client.deadline)

    def step(self, now: float) -> None:
        """Step the node. Raises Restart when its session has ended, or none can begin."""
        self._client.step(now)
        if now < self._next:
            return
        self._next = now + _STEP
        if self._must_restart(now):
            # The next crawl of this process does not have what was given at its ports.
            self._client.resume()
            if self.steering.pass_on():
                raise Restart(self.node.lost or "this node was away from Redis")
            return
        self.node.step(now)
        self._thinning.step()
        self.steering.step(now)
        if self.node.state is FleetState.STOPPED:
            self._mode.stop = True
        if self.node.refused:
            raise Restart(self.node.refused)

    def _must_restart(self, now: float) -> bool:
        """Whether the crawl is assembled again: it is not complete any more, and Redis is there."""
        return self._local.broken and (not self.node.session or self.node.may_open(now))

    @property
    def _goes_on(self) -> bool:
        return self.node.state not in (FleetState.FINISHED, FleetState.STOPPED)

    def has_others(self) -> bool:
        """Whether URLs may still come from other nodes, or from those that add seeds."""
        return self.node.state is not FleetState.FINISHED

    # As a feeder:

    @property
    def holds(self) -> str:
        if not self._may_open():
            return self._why_closed
        return self.steering.holds or self._inner.holds

    @property
    def _why_closed(self) -> str:
        if self.node.state is FleetState.PAUSED:
            return "the fleet is paused"
        if not self.node.session:
            return "this node joins the fleet"
        return self._client.trouble or "this node waits until it is certain of its shards"

    @property
    def idle(self) -> str:
        return "other nodes are at work" if self._goes_on else self._inner.idle

    @property
    def awaits(self) -> str:
        return self._inner.awaits or "this node writes to Redis what it did"

    def withheld(self, page: Page) -> None:
        self._inner.withheld(page)

    def second(self, now: float) -> Iterable[str]:
        yield from self._inner.second(now)
        yield from self._vault.news()
        may_open = self.node.may_open(now)
        if may_open != self._was_open and self._goes_on and not self._is_finishing:
            self._was_open = may_open
            if may_open:
                line, self._opened = self._opened, "the fleet goes on"
            else:
                line = self._why_closed
            yield line

    def finish(self) -> bool:
        self._is_finishing = True
        if not self._inner.finish():
            return False
        self.node.leave()
        return self.node.is_over and self.steering.finish()


def _address(request: Request) -> str:
    return request.address


def _site(request: Request) -> str:
    return request.url.site


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
            self.vault,
            partial(shard_of, shards=self.config.shards),
            self.config.stay,
            views=self.config.has_views,
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
