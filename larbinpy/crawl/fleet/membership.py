"""A crawl as a node of a fleet: between the crawl's own parts and the deciders of the fleet."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from larbinpy.config import Config
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.crawl.control.control import Control
from larbinpy.crawl.control.mode import Mode
from larbinpy.crawl.control.restart import Restart
from larbinpy.crawl.engine import Listener
from larbinpy.crawl.fleet.area import SharedArea
from larbinpy.crawl.fleet.control import FleetControl
from larbinpy.crawl.fleet.frontier import SharedFrontier, Withdrawal
from larbinpy.crawl.fleet.reports import Work
from larbinpy.crawl.fleet.steering import Steering
from larbinpy.crawl.fleet.turns import Turns
from larbinpy.crawl.resources.on_disk import OnDisk
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.settings import Request
from larbinpy.fleet.identity import Identity
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.node import Node
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.shards import shards_by_site
from larbinpy.fleet.thinning import Thinning
from larbinpy.fleet.vault import Away, CrawlState, Part, Vault
from larbinpy.frontier.view import FrontierView
from larbinpy.loop.clock import Clock
from larbinpy.observe.totals import Totals
from larbinpy.output.plug import NO_FEEDER, Feeder
from larbinpy.page import Page
from larbinpy.stats.counters import Stats
from larbinpy.url import Url

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
        journal: Journal,
        frontier: SharedFrontier,
        name_session: Callable[[], str],
        has_ended: Callable[[str], bool],
        config: Config,
        first_limit: int,
        identity: Identity,
        mode: Mode,
        clock: Clock,
        inner: Feeder = NO_FEEDER,
        give: Callable[[Sequence[str]], bool] = lambda seeds: False,
    ) -> None:
        """`give` gives seeds to a crawl that had some before; False if it has none yet."""
        area = None if vault.area is None else SharedArea(config.stay, vault.area)
        frontier.begin(journal, shards_by_site(config.shards), area)
        self._vault = vault
        self._client = vault.client
        self._identity = identity
        self._mode = mode
        self._clock = clock
        self._inner = inner
        self._give = give
        self._local = LocalShards(frontier, clock)
        self.node = Node(
            vault,
            self._local,
            journal,
            name_session,
            has_ended,
            config.shards,
            config.wait_duration,
        )
        self._thinning = Thinning(vault, journal)
        #: The side that other nodes and operators see and change.
        self.steering = Steering(vault, self.node, journal, config, first_limit, mode, clock)
        self._next = -inf
        self._was_open = True
        # The line when requests are opened.
        self._opened = "this node has joined the fleet"
        self._is_finishing = False

    def __repr__(self) -> str:
        return f"<Membership {self.node!r}>"

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

        if self._give(seeds):
            disk.learn_logins(seeds)
        else:
            self._local.seed = seed

    def begin(
        self,
        control: Control,
        totals: Totals,
        stats: Stats,
        view: FrontierView,
        fetcher: Fetcher,
        finder: FinderProcess | None,
    ) -> None:
        """Report about this crawl, and answer searches by `finder`; its state was taken up."""
        self._control.finder = finder
        work = Work(
            totals,
            stats,
            state=lambda: control.state,
            queued=lambda: view.owed,
            seen=lambda: view.urls_seen,
            busy=lambda: fetcher.busy,
            handles=lambda: fetcher.size,
        )
        self.steering.begin(work, self._identity.share)

    def control(self, *arguments: Any, **times: Any) -> Control:
        """The commands to this node, made as a `Control` is."""
        self._control = FleetControl(*arguments, **times)
        self._control.steering = self.steering
        self.steering.orders.execute = self._control.execute
        return self._control

    def fetching(self, fetcher: Fetcher, wait: Callable[[], float], wait_by: str) -> Turns:
        """`fetcher`, before which requests wait for their turns at the address, or at the site."""
        place = _site if wait_by == "site" else _address
        self._turns = Turns(fetcher, _VaultTurns(self._vault), wait, self._may_open, place)
        self._local.abort = self._turns.abort
        return self._turns

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
        if self.node.state is CrawlState.STOPPED:
            self._mode.stop = True
        if self.node.refused:
            raise Restart(self.node.refused)

    def _must_restart(self, now: float) -> bool:
        """Whether the crawl is assembled again: it is not complete any more, and Redis is there."""
        return self._local.broken and (not self.node.session or self.node.may_open(now))

    @property
    def _goes_on(self) -> bool:
        return self.node.state not in (CrawlState.FINISHED, CrawlState.STOPPED)

    def has_others(self) -> bool:
        """Whether URLs may still come from other nodes, or from those that add seeds."""
        return self.node.state is not CrawlState.FINISHED

    # As a feeder:

    @property
    def holds(self) -> str:
        if not self._may_open():
            return self._why_closed
        return self.steering.holds or self._inner.holds

    @property
    def _why_closed(self) -> str:
        if self.node.state is CrawlState.PAUSED:
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


class _VaultTurns:
    """Turns in the vault, in seconds."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def turn(self, address: str, lease: float, then: Callable[[float | None], None]) -> None:
        def answered(answer: int | Away) -> None:
            then(None if isinstance(answer, Away) else answer / 1000)

        self._vault.turn(address, int(lease * 1000), answered)

    def renew(self, addresses: Sequence[str], lease: float) -> None:
        self._vault.renew(addresses, int(lease * 1000))

    def rest(self, address: str, wait: float) -> None:
        self._vault.rest(address, int(wait * 1000))
