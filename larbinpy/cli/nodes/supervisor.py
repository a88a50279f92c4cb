"""Runs the nodes of a crawl as processes: starts them, watches them, and ends all together.

Their progress is one snapshot, from the reports that they have in Redis (`ReportWatch`).
"""

import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from time import gmtime, strftime
from typing import Any

from larbinpy.cli.nodes.node import (
    MOST_DEATHS,
    NodeEnd,
    NodeProcess,
    NodeStart,
    Report,
    Restarts,
    earlier_end,
    merged,
)
from larbinpy.cli.nodes.redis_server import RedisServer
from larbinpy.config import Given
from larbinpy.console.terminal.progress import Terminal, status_line
from larbinpy.console.text import printable
from larbinpy.crawl.kept_options import KeptOptions
from larbinpy.crawl.requests import Logins
from larbinpy.errors import USAGE, UserError
from larbinpy.fleet.board import Board
from larbinpy.fleet.board import FoundCrawl as FoundOnBoard
from larbinpy.fleet.identity import SavedNode, saved_node
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.overview import PATIENCE, Asker, Overview, SeenCrawl
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import Away, FleetState
from larbinpy.loop.child import has_ended
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller
from larbinpy.loop.signals import Signals
from larbinpy.storage.state import NOT_RESUMED, Start, State, StateError, StateInUse

Snapshot = dict[str, Any]
#: Seconds between two looks; nodes report each 2 s.
_EVERY = 1.0
#: Names of a snapshot for the fields of a node's report.
_TOTALS = {
    "success": "pages",
    "pages": "replies",
    "links": "links",
    "sites": "sites",
    "bytes_received": "bytes",
}


class Sums:
    """The sums over all nodes, and how much of them is of this run."""

    def __init__(self) -> None:
        self._first: dict[str, int] | None = None
        self._most: dict[str, int] = {}

    def snapshot(self, board: Board, elapsed_s: float, trouble: str) -> Snapshot:
        """The values of `status_line` and the bar; `trouble` is the reason why the crawl waits."""
        nodes = [report.status for report in board.reports.values()]
        alive = [board.reports[name].status for name in board.alive]
        totals = {name: _sum(nodes, field) for name, field in _TOTALS.items()}
        # Pages that a node fetched before it died and had not saved are fetched again.
        self._most = {name: max(n, self._most.get(name, 0)) for name, n in totals.items()}
        if self._first is None:
            self._first = self._most
        run = {name: self._most[name] - self._first[name] for name in ("success", "bytes_received")}
        troubles = [trouble, *(str(node.get("trouble") or "") for node in alive)]
        return {
            "state": board.state.value,
            "elapsed_s": elapsed_s,
            "totals": {**self._most, "urls_queued": _sum(alive, "queued")},
            "rates": {"success": _sum(alive, "pages_s"), "bytes": _sum(alive, "bytes_s")},
            "run": {"elapsed_s": elapsed_s, **run},
            "waits_for": next(filter(None, troubles), ""),
        }


def at_end(report: Mapping[str, Any], elapsed_s: float) -> Snapshot:
    """The snapshot of a crawl that has ended, from the report of all nodes."""
    run = {name: report[name] for name in ("success", "bytes_received")}
    return {
        "state": report["stop_reason"],
        "elapsed_s": elapsed_s,
        "totals": report,
        "run": {"elapsed_s": elapsed_s, **run},
    }


def _sum(nodes: list[Mapping[str, Any]], field: str) -> Any:
    return sum(node.get(field) or 0 for node in nodes)


class ReportWatch:
    """Reads the reports of the nodes. `step` has to be called in each turn."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._vault = RedisBoard(client)
        self._is_found = self._is_asking = False
        self._at = inf
        #: The last reports.
        self.board: Board | None = None

    def __repr__(self) -> str:
        return f"<Watch {self._vault!r}>"

    @property
    def deadline(self) -> float:
        return inf if self._is_asking else self._at

    def begin(self, now: float) -> None:
        """The crawl is there."""
        self._at = now

    def step(self, now: float) -> None:
        if now < self._at or self._is_asking:
            return
        self._at = now + _EVERY
        self._is_asking = True
        self._client.resume()
        if self._is_found:
            self._vault.read(self._came)
        else:
            self._vault.find(self._came)

    def _came(self, answer: Board | FoundOnBoard | Away) -> None:
        self._is_asking = False
        if isinstance(answer, Board):
            self.board = answer
        self._is_found = not isinstance(answer, Away)


_ISO = "%Y-%m-%dT%H:%M:%SZ"
#: Seconds between two looks at the crawl.
_LOOK = 1.0
#: Seconds after a second signal until nodes that have not ended are killed.
_GRACE = 5.0
#: Seconds to wait for the end of processes that a killed command has left: Redis writes its data.
_LEFT = 20.0


@dataclass(frozen=True, slots=True)
class NodesPlan:
    """The crawl that is to be run."""

    names: Sequence[str]
    #: The stateDir of all; each node has a folder in it.
    folder: Path
    #: The address of the crawl; empty for a Redis of its own.
    join: str
    start: Start
    #: The settings that nodes share, which may be others than in the last run.
    settings: Mapping[str, str]
    #: What the user gave, which is kept for later runs.
    given: Given
    #: Seeds with logins, which each node has to know: any may get their hosts.
    logins: Iterable[str]
    #: Lines for the user, once nothing refuses the start.
    notes: Sequence[str]
    #: The command line of a node.
    command: Callable[[NodeStart], Sequence[str]]


class Supervisor:
    """Runs a plan to its end, by signals or by itself."""

    def __init__(self, plan: NodesPlan, terminal: Terminal, clock: Clock, wall: Clock) -> None:
        self._plan = plan
        self._terminal = terminal
        self._sums = Sums()
        self._began = -inf
        self._clock = clock
        self._wall = wall
        self._signals = Signals()
        self._stops = 0
        self._kill_at = inf
        self._found: SeenCrawl | None = None
        self._look_at = -inf
        self._redis: RedisServer | None = None
        self._redis_restarts = Restarts()
        #: When to start Redis again; inf while it runs.
        self._redis_due = inf
        self._failure = ""

    def _say(self, line: str) -> None:
        self._terminal.say(f"larbinpy: {printable(line)}")

    def run(self) -> Report:
        """Run all nodes until each has ended; return the report of all.

        Raises UserError if they cannot be started, OSError.
        """
        with ExitStack() as closing:
            self._signals.catch(closing)
            self._poller = poller = Poller()
            closing.callback(poller.close)
            self._signals.wake(poller, closing)
            self._lock(closing)
            self._open_redis(closing)
            self._enter()
            KeptOptions(self._plan.folder, self._plan.given).cut()
            self._began, started = self._clock(), strftime(_ISO, gmtime(self._wall()))
            for note in self._plan.notes:
                self._say(note)
            self._make_nodes(closing)
            while not all(node.over for node in self._nodes):
                self._turn()
            if self._failure:
                raise UserError(self._failure)
            ends = [*(node.end() for node in self._nodes), *self._earlier()]
            elapsed = self._clock() - self._began
            report = merged(ends, started, elapsed, self._queued())
            self._terminal.update(at_end(report, elapsed))
            return report

    # -- the start

    def _lock(self, closing: ExitStack) -> None:
        folder, join = self._plan.folder, self._plan.join
        if not join and self._plan.start is Start.RESUME and not (folder / "redis").exists():
            raise StateError(f"{folder}: {NOT_RESUMED}")
        state = State(folder)
        closing.callback(state.unlock)
        self._wait_for(state)
        # All processes of the crawl hold the lock, so that none is left when another takes it.
        self._holds = (state.held,)
        if state.exists:
            raise StateError(
                f"{folder}: holds the crawl of one process; set another stateDir for the nodes"
            )

    def _wait_for(self, state: State) -> None:
        """Lock `state`; wait if a command that was killed has left processes, which end soon."""
        until = inf
        while True:
            try:
                return state.lock()
            except StateInUse as used:
                if used.owner is None or not has_ended(used.owner):
                    raise
                left = f"in use by processes that process {used.owner} left when it died"
                now = self._clock()
                if now >= until:
                    raise StateError(f"{state.folder}: {left}") from None
                if until == inf:
                    until = now + _LEFT
                    self._say(f"{state.folder}: {left}; waiting for their end")
            if self._is_stopped():
                raise KeyboardInterrupt
            self._poller.wait(0.1)

    def _open_redis(self, closing: ExitStack) -> None:
        join = self._plan.join
        if not join:
            self._redis = RedisServer(self._poller, self._plan.folder / "redis", self._holds)
            closing.callback(self._redis.stop)
            self._redis_restarts.started(self._clock())
            self._redis.start()
            self._redis.wait(self._is_stopped)
            join = self._redis.address
        self._join = join
        self._address = CrawlAddress.of(join)
        self._client = Client(self._poller, self._clock, self._address)
        closing.callback(self._client.close)
        self._overview = Overview(self._client)
        self._watch = ReportWatch(self._client)

    def _is_stopped(self) -> bool:
        return self._signals.stops > 0

    def _enter(self) -> None:
        """Look for the crawl, and treat it as the plan says. Raises UserError."""
        # A Redis of one's own loads its data as long as it takes.
        patience = PATIENCE if self._redis is None else inf
        asker = Asker(self._client, self._poller, self._clock, self._is_stopped, patience)
        try:
            found: SeenCrawl | None = asker.ask(self._overview.find)
        except UserError:
            if self._redis is not None:
                self._redis.check()
            raise
        start, where = self._plan.start, self._plan.folder if self._redis else self._address
        if found is None:
            if start is Start.RESUME:
                raise UserError(f"{where}: {NOT_RESUMED}")
        elif self._redis is None:
            # Others may take part in it; a node empties its own folder only.
            pass
        elif start is Start.SCRATCH:
            if living := asker.living(self._overview, found):
                nodes = ", ".join(living)
                raise UserError(f"{where}: in use by {nodes}; stop all nodes of the crawl first")
            asker.ask(self._overview.forget)
        elif start is Start.REFUSE and not found.is_new:
            raise UserError(
                f"{where}: holds a crawl already; --resume continues it, --scratch crawls anew"
            )
        else:
            # Nobody else runs the crawl, so settings may have changed since the last run.
            asker.ask(partial(self._overview.renew, self._plan.settings))
        self._share_logins(is_new=found is None or start is Start.SCRATCH)

    def _share_logins(self, *, is_new: bool) -> None:
        """Put the logins of seeds, and those of earlier runs, where all nodes find them."""
        logins = Logins(self._plan.folder)
        if is_new:
            logins.clear()
        for seed in self._plan.logins:
            logins.learn(seed)
        logins.add_shared(self._plan.folder)
        logins.cut()

    def _make_nodes(self, closing: ExitStack) -> None:
        # A node is a crawl, which needs the secrets that loginFile names there.
        variables = {**self._plan.given.environ, "LARBINPY_JOIN": self._join}
        self._nodes = []
        for name in self._plan.names:
            folder = self._plan.folder / name
            folder.mkdir(exist_ok=True)
            report = folder / "report.json"
            command, say = self._plan.command, self._say
            node = NodeProcess(name, command, variables, report, self._poller, say, self._holds)
            closing.callback(node.kill)
            self._nodes.append(node)

    # -- turns

    def _turn(self) -> None:
        now = self._clock()
        self._answer_signals(now)
        self._keep_redis(now)
        self._look(now)
        for node in self._nodes:
            node.step(now, stops=self._stops > 0 or self._is_done)
        self._stop_if_one_cannot(now)
        for node in self._nodes:
            if now >= node.due:
                self._start(node, now)
        due = min(node.due for node in self._nodes)
        due = min(due, self._redis_due, self._look_at, self._kill_at)
        due = min(due, self._client.deadline, self._watch.deadline)
        self._poller.wait(max(0.0, due - self._clock()))

    def _start(self, node: NodeProcess, now: float) -> None:
        """Start a node that is due; the others wait until the first has made the crawl."""
        first = node is self._nodes[0]
        if self._stops or self._is_done:
            node.give_up()
        elif first or self._found is not None or self._nodes[0].over:
            # The crawl has the seeds once it is not new any more.
            is_new = self._found is None or self._found.state is FleetState.NEW
            node.start(now, seeds=first and (is_new or node.starts == 0))
        else:
            node.due = now + 0.05
            self._look_at = min(self._look_at, node.due)

    @property
    def _is_done(self) -> bool:
        """Whether the crawl is over, so that a node that died is not needed any more."""
        ended = any(node.over for node in self._nodes)
        over = (FleetState.FINISHED, FleetState.STOPPED)
        return ended and self._found is not None and self._found.state in over

    def _stop_if_one_cannot(self, now: float) -> None:
        for node in self._nodes:
            if node.over and node.end().status == USAGE and not self._stops:
                self._stop(now, signal.SIGTERM)

    def _stop(self, now: float, number: int) -> None:
        self._stops += 1
        if self._stops == 2:
            self._kill_at = now + _GRACE
        for node in self._nodes:
            node.signal(number)
            node.give_up()

    def _answer_signals(self, now: float) -> None:
        while self._stops < min(self._signals.stops, 2):
            self._stop(now, signal.SIGTERM)
        if now >= self._kill_at:
            self._kill_at = inf
            for node in self._nodes:
                node.signal(signal.SIGKILL)
        if self._signals.take_status():
            if (snapshot := self._snapshot(now)) is not None:
                self._terminal.say(status_line(snapshot))
            for node in self._nodes:
                node.signal(signal.SIGUSR1)
        if self._signals.reopen:
            self._signals.reopened()
            for node in self._nodes:
                node.signal(signal.SIGHUP)

    def _look(self, now: float) -> None:
        """Ask for the state of the crawl, and show it."""
        with suppress(UserError):  # the nodes say so
            self._client.step(now)
        self._watch.step(now)
        if now >= self._look_at:
            self._look_at = now + _LOOK
            self._client.resume()
            self._overview.find(self._looked)
            if (snapshot := self._snapshot(now)) is not None:
                self._terminal.update(snapshot)

    def _looked(self, found: SeenCrawl | Away | None) -> None:
        if isinstance(found, Away):
            return
        if self._found is None and found is not None:
            self._watch.begin(self._clock())
        self._found = found

    def _snapshot(self, now: float) -> Snapshot | None:
        """The sums over all nodes; None before their first report."""
        board = self._watch.board
        if board is None:
            return None
        elapsed = now - self._began
        snapshot = self._sums.snapshot(board, elapsed, self._client.trouble)
        return {**snapshot, "state": "stopping"} if self._stops else snapshot

    def _keep_redis(self, now: float) -> None:
        """Start Redis again if it died; its nodes wait meanwhile."""
        redis = self._redis
        if redis is None or redis.status is None or self._failure:
            return
        if self._redis_due == inf:
            wait = self._redis_restarts.died(now)
            if wait is None:
                self._failure = (
                    f"Redis died {MOST_DEATHS} times in a row; the last time {redis.reason}"
                )
                self._stop(now, signal.SIGTERM)
                return
            self._redis_due = now + wait
            self._say(
                f"Redis died: {redis.reason}; the nodes wait until it runs again, in {wait:.0f} s"
            )
        elif now >= self._redis_due:
            self._redis_due = inf
            self._redis_restarts.started(now)
            redis.start()

    # -- the end

    def _earlier(self) -> list[NodeEnd]:
        """The ends of other nodes that have fetched a part of this crawl."""
        reports = sorted(self._plan.folder.glob("*/report.json"))
        others = [report for report in reports if report.parent.name not in self._plan.names]
        ends = [
            earlier_end(report)
            for report in others
            if self._is_of_the_crawl(saved_node(report.parent))
        ]
        return [end for end in ends if end is not None]

    def _is_of_the_crawl(self, node: SavedNode | None) -> bool:
        return self._found is not None and node is not None and node.crawl == self._found.id

    def _queued(self) -> int:
        """The number of URLs that Redis still has; without an answer, that of the last reports."""
        if self._found is None:
            return 0
        vault = RedisBoard(self._client)
        given = max(self._signals.stops, 1)
        patience = _GRACE if given > 1 else PATIENCE

        def is_stopped() -> bool:
            return self._signals.stops > given

        asker = Asker(self._client, self._poller, self._clock, is_stopped, patience)
        try:
            asker.ask(vault.find)
            look = asker.ask(vault.look)
            return sum(shard.owing + shard.inbox for shard in look)
        except (UserError, KeyboardInterrupt):
            snapshot = self._snapshot(self._clock())
            return snapshot["totals"]["urls_queued"] if snapshot is not None else 0
