"""The engine: the turn of the loop, through all stages.

As in Larbin's main loop, `Engine.turn` has one line for each stage. Each stage takes a bounded
batch, and none calls another: they exchange URLs through the frontier's queues. The stages get the
time at which the turn began. `Intake` alone reads the clock again, because waits count from the end
of a transfer and because it works for a slice.

`Housekeeping` is the work of each second of a crawl: Larbin's cron.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Protocol

from larbinpy.console.text import printable
from larbinpy.context import Context
from larbinpy.crawl.intake import Intake
from larbinpy.crawl.mode import Mode
from larbinpy.crawl.network import Network
from larbinpy.crawl.on_disk import OnDisk
from larbinpy.crawl.parts import Display
from larbinpy.crawl.requests import RequestMaker
from larbinpy.dns.resolver import Outage
from larbinpy.frontier.frontier import Frontier
from larbinpy.output.plug import Feeder

#: Names asked for in one turn.
_NAMES = 200
#: Requests opened in one turn.
_REQUESTS = 100
#: The longest wait of a turn (s), so that the work of each second is not late.
_LONGEST_WAIT = 1.0
#: A turn that takes longer than its wait by so much (s): the process was stopped (SIGSTOP, a paused
#: container), or the disk did not answer.
_STOOD_STILL = 2.0


class Listener(Protocol):
    """A server for users: the input port or the status page. `step` is called once a turn."""

    @property
    def deadline(self) -> float | None: ...

    def step(self, now: float) -> None: ...


class Engine:
    """The stages of the crawl in their order."""

    def __init__(
        self,
        context: Context,
        mode: Mode,
        frontier: Frontier,
        network: Network,
        requests: RequestMaker,
        intake: Intake,
        feeder: Feeder,
        listeners: Sequence[Listener],
    ) -> None:
        self._mode = mode
        self._poller = context.poller
        self._frontier = frontier
        self._names = network.names
        self._on_found = network.on_found
        self._requests = requests
        self._fetcher = network.fetching
        self._stood_still = network.fetcher.stood_still
        self._intake = intake
        self._feeder = feeder
        self._stats = context.stats
        self._listeners = listeners
        self._clock = context.clock
        self._woke = context.clock()
        # Whether there is no room on the disk, for this turn.
        self._stalled = False

    def __repr__(self) -> str:
        stages = (self._fetcher, self._intake, self._names, self._frontier)
        return f"<Engine {self._mode} {' '.join(map(repr, stages))}>"

    def __str__(self) -> str:
        """The present state in words, for `debug`."""
        state = self._mode.state(self._frontier.owed).value
        busy, free = self._fetcher.busy, self._fetcher.free
        queues = ", ".join(f"{name} {count:,}" for name, count in self._frontier.queues().items())
        return (
            f"{state}: {busy} requests in flight, {free} free, {self._intake.busy} pages to read;"
            f" URLs: {queues}"
        )

    def turn(self, wake_by: float = inf) -> float:
        """One turn through all stages; returns the time it began.

        It waits for sockets until `wake_by` at most, when work between turns is due.
        """
        now = self._clock()
        self._stalled = self._mode.disk_pause.stalls(now)
        self.input(now)
        self.sequencer(now)
        self.fetch_dns(now)
        self.fetch_open(now)
        self.check_all(now)
        self.poll(now, wake_by)
        return now

    @property
    def idle(self) -> bool:
        """Whether nothing is in flight and no page waits to be processed."""
        return self._fetcher.busy == 0 and not self._intake.busy

    @property
    def has_work(self) -> bool:
        """Whether the outcome of some URL is not decided yet."""
        return self._frontier.owed > 0

    @property
    def out_of_work(self) -> bool:
        """Whether no URL is left to fetch."""
        return self.idle and self._frontier.owed == 0

    @property
    def limit_reached(self) -> bool:
        """Whether the crawl has fetched as many pages as limitPage allows."""
        most = self._mode.most_pages
        return most is not None and most <= self._stats.success and not self._mode.share_may_grow

    @property
    def kept_enough(self) -> bool:
        """Whether as many pages were kept as limitKept allows."""
        return 0 < self._mode.limit_kept <= self._stats.kept

    def input(self, now: float) -> None:
        """Step the ports; seeds and commands come in through the poller's callbacks."""
        for listener in self._listeners:
            listener.step(now)

    def sequencer(self, now: float) -> None:
        """Store -> NamedSites, behind the isGet gate."""
        if not (self._mode.draining or self._stalled):
            self._frontier.sequence(now)

    def fetch_dns(self, now: float) -> None:
        """NamedSites -> resolver -> NamedSites."""
        for answer in self._names.step(now, self._on_found):
            self._frontier.resolved(answer, now)
        for _ in range(0 if self._mode.draining else min(_NAMES, self._names.room)):
            question = self._frontier.next_name()
            if question is None:
                break
            name, refresh = question
            known = self._names.ask(name, now, refresh=refresh)
            if known is not None:
                self._frontier.resolved(known, now)

    def fetch_open(self, now: float) -> None:
        """IPSites whose wait is over -> fetcher."""
        for _ in range(min(_REQUESTS, self._openable)):
            due = self._frontier.take(now)
            if due is None:
                break
            self._fetcher.start(self._requests.make(*due), now)

    @property
    def _openable(self) -> int:
        """The number of requests that may be opened, so that no limit of the run is exceeded.

        A page that waits to be read counts as a busy handle: if reading is slower than
        fetching, pages would pile up.
        """
        mode = self._mode
        if mode.paused or mode.draining or self._stalled or self._feeder.holds:
            return 0
        held = self._intake.busy + self._intake.away
        free = self._fetcher.free - held
        most, under_way = mode.most_pages, self._fetcher.busy + held
        if most is not None:
            free = min(free, most - self._stats.success - under_way)
        if mode.limit_kept:
            free = min(free, mode.limit_kept - self._stats.kept - under_way)
        return max(0, free)

    def check_all(self, now: float) -> None:
        """Fetcher -> parse -> output; links go back to the top, failures to their sites."""
        self._intake.land(self._fetcher.step(now))
        if not self._stalled:
            self._intake.step()

    def poll(self, now: float, wake_by: float) -> None:
        """Wait for sockets until `wake_by`, or until the first stage wants its next turn."""
        frontier = None
        if not (self._mode.draining or self._stalled):
            can_ask = self._names.room > 0
            frontier = self._frontier.deadline(now, can_open=self._openable > 0, can_ask=can_ask)
        deadlines = [
            frontier,
            self._names.deadline,
            self._fetcher.deadline,
            wake_by,
            self._mode.disk_pause.until if self._stalled else None,
            *(listener.deadline for listener in self._listeners),
        ]
        until = min(d for d in deadlines if d is not None)
        at_once = not self._stalled and (self._intake.busy > 0 or self._awaits_nothing)
        wait = 0.0 if at_once else min(until - now, _LONGEST_WAIT)
        self._stats.turn_took(self._clock() - self._woke)
        self._poller.wait(wait)
        woke, self._woke = self._woke, self._clock()
        lost = self._woke - woke - max(wait, 0.0)
        if lost > _STOOD_STILL:
            self._stood_still(lost)

    @property
    def _awaits_nothing(self) -> bool:
        """Whether the crawl can end now, so that the poller must not wait."""
        if self._mode.staying or self._mode.settling:
            return False
        if self._mode.draining:
            return self.idle
        return self.out_of_work or self.limit_reached or self.kept_enough


class Housekeeping:
    """Once a second: counts, journals, progress, messages about name servers and database."""

    def __init__(
        self,
        context: Context,
        frontier: Frontier,
        network: Network,
        disk: OnDisk,
        display: Display,
        feeder: Feeder,
        notices: Callable[[], Iterable[str]] = tuple,
        debug: object = None,
    ) -> None:
        """`notices` returns lines to print, each once.

        `debug` is printed, unless it is None.
        """
        self._stats = context.stats
        self._frontier = frontier
        self._network = network
        self._disk = disk
        self._display = display
        self._feeder = feeder
        self._notices = notices
        self._debug = debug
        self._next = 0.0
        self._outage = Outage()

    @property
    def deadline(self) -> float:
        """When `step` must be called although nothing happens: inf while the loop may sleep."""
        return self._next if self._feeder.holds else inf

    def step(self, now: float) -> None:
        """Do the work if a second has passed. Raises OSError if that fails."""
        if now < self._next:
            return
        self._next = now + 1.0
        resolver = self._network.resolver
        busy = self._network.fetcher.busy
        self._stats.second(now, resolver.answered, self._frontier.owed, busy)
        self._disk.journals.flush()
        self._display.show()
        for change in self._outage.look(resolver.stats()["servers"], now):
            self._display.say(change)
        notices = (*self._notices(), *self._stats.take_seed_lines())
        for line in (*self._feeder.second(now), *map(printable, notices)):
            self._display.say(line)
        if self._feeder.holds:
            # It takes pages only that a checkpoint covers.
            self._disk.saving.request()
        if self._debug is not None:
            self._display.say_plainly(str(self._debug))
