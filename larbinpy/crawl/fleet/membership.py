"""A crawl as a node of a fleet: between the crawl's own parts and the deciders of the fleet.

Politeness over all nodes: a request to an address waits for this node's turn there.

Hosts of several nodes may share an address. A turn is a key in Redis that one node has at a time:
from before its request is opened until waitDuration after its end. Within this node, the frontier
keeps the waits as it does alone.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

from larbinpy.config import Config
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.context import Context
from larbinpy.crawl.control import Control
from larbinpy.crawl.engine import Listener
from larbinpy.crawl.fleet.frontier import SharedArea, SharedFrontier, Withdrawal
from larbinpy.crawl.fleet.steering import FleetControl, Steering, Work
from larbinpy.crawl.mode import Mode, Restart
from larbinpy.crawl.network import Network
from larbinpy.crawl.on_disk import OnDisk
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.options import Request
from larbinpy.fleet.identity import Identity, has_ended, session_name
from larbinpy.fleet.journal import ShardJournal
from larbinpy.fleet.node import Node, Thinning
from larbinpy.fleet.ownership import shards_by_site
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.vault import Away, FleetState, Part, Vault
from larbinpy.loop.clock import Clock
from larbinpy.observe.snapshot import Totals
from larbinpy.output.plug import NO_FEEDER, Feeder
from larbinpy.page import Page
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
        area = None if vault.area is None else SharedArea(config.stay, vault.area)
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
