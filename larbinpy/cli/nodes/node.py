"""A node as a process: started again when it dies, with growing waits, and given up at last.

A `Child` is watched on the poll loop: its end, and its lines on standard error. It does not
outlive this process, and shares its locks. `Restarts` decides when it is started again. `merged`
makes one exit status and one report of the ends of all nodes.
"""

import ctypes
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import IO, Any, NamedTuple

from larbinpy._version import __version__
from larbinpy.errors import USAGE, Ending
from larbinpy.loop.child import environment
from larbinpy.loop.clock import Backoff
from larbinpy.loop.poller import READ, Poller
from larbinpy.output.log import build_report
from larbinpy.page import Outcome

#: A process that lived so long (s) may die as often as a new one.
_STABLE = 60.0
#: Deaths in a row after which a process is given up.
MOST_DEATHS = 5


class Restarts:
    """The starts and deaths of one process."""

    def __init__(self) -> None:
        self._backoff = Backoff()
        self._deaths = 0
        self._started_at = 0.0

    def started(self, now: float) -> None:
        self._started_at = now

    def died(self, now: float) -> float | None:
        """The seconds until it is started again: 1, 2, 4 ...; None if it is given up."""
        if now - self._started_at >= _STABLE:
            self._deaths = 0
            self._backoff.succeeded()
        self._deaths += 1
        return None if self._deaths == MOST_DEATHS else self._backoff.failed(now)


def in_words(status: int) -> str:
    """The end of a process by its exit status, which is negative for a signal."""
    if status >= 0:
        return f"died with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


#: An option of prctl(2): the signal that the process gets when this one dies.
_PDEATHSIG = 1
#: Bytes that a pipe holds at most.
_CHUNK = 1 << 16
#: Bytes of a line that is shown before it is complete.
_LONGEST = 1 << 16

#: Takes a line, without its end.
Say = Callable[[str], None]


class Child:
    """Runs `command`. Without `say`, its standard error goes to `log`.

    Ctrl-C at the terminal does not reach it. If this process dies, it gets the signal `at_death`.
    It inherits the descriptors `holds`, and gets `variables` besides its environment. Raises
    OSError.
    """

    def __init__(
        self,
        poller: Poller,
        command: Sequence[str],
        *,
        at_death: int,
        holds: Sequence[int] = (),
        variables: dict[str, str] | None = None,
        folder: str | None = None,
        say: Say | None = None,
        log: IO[bytes] | int = subprocess.DEVNULL,
    ) -> None:
        self._poller = poller
        self._say = say
        self._begun = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if say is not None else log,
            stderr=subprocess.PIPE if say is not None else log,
            env=(variables or {}) | environment(),
            cwd=folder,
            start_new_session=True,
            pass_fds=holds,
            preexec_fn=partial(_end_with, os.getpid(), at_death),
        )
        #: Its exit status once it has ended; negative for a signal.
        self.status: int | None = None
        self._pidfd = os.pidfd_open(self._process.pid)
        poller.register(self._pidfd, READ, lambda fd, events: self._ended())
        if self._process.stderr is not None:
            end = self._process.stderr.fileno()
            os.set_blocking(end, False)
            poller.register(end, READ, lambda fd, events: self._read())

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.status is None:
            signal.pidfd_send_signal(self._pidfd, number)

    def wait(self) -> int:
        """Wait for its end, without serving anything else; return its status."""
        self._process.wait()
        self._ended()
        assert self.status is not None
        return self.status

    def _ended(self) -> None:
        if self.status is not None:
            return
        self.status = self._process.wait()
        self._poller.unregister(self._pidfd)
        os.close(self._pidfd)
        if self._process.stderr is not None:
            self._read()
            self._poller.unregister(self._process.stderr.fileno())
            self._process.stderr.close()
            self._show(b"\n" if self._begun else b"")

    def _read(self) -> None:
        """Show what is in the pipe now; one that writes on and on does not stop the loop."""
        assert self._process.stderr is not None
        fd = self._process.stderr.fileno()
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._show(data)
        else:
            self._poller.unregister(fd)

    def _show(self, data: bytes) -> None:
        *lines, self._begun = (self._begun + data).split(b"\n")
        if len(self._begun) > _LONGEST:
            lines, self._begun = [*lines, self._begun], b""
        for line in lines:
            if self._say is not None:
                self._say(line.decode(errors="replace"))


def _end_with(parent: int, number: int) -> None:
    """Run in the child: the system sends it the signal `number` when its `parent` dies."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, number)
    if os.getppid() != parent:
        # It has died before.
        os.kill(os.getpid(), signal.SIGKILL)


#: Exit status if the nodes died again and again, as of a Python program that fails.
CRASHED = 1

Report = Mapping[str, Any]

#: Counts of which a report of all has the sums.
_SUMS = (
    *("pages", "success", "links", "urls_seen", "bytes_received", "sites", "addresses"),
    "retries",
)
#: Fields of each node in the report of all.
_OF_NODE = (
    *("stop_reason", "pages", "success", "bytes_received", "elapsed_s", "cpu_s"),
    "peak_rss_bytes",
)


@dataclass(frozen=True, slots=True)
class NodeEnd:
    """How a node ended: its last exit status, how often it was started, and its report."""

    name: str
    #: Negative for a signal.
    status: int
    #: 0 for a node of an earlier run, which has pages of the crawl.
    starts: int
    #: Empty if it wrote none.
    report: Report

    @property
    def reason(self) -> str:
        return str(self.report.get("stop_reason", ""))


#: Endings in which the crawl came to its end, the strongest first.
_DONE = (Ending.FINISHED, Ending.LIMIT_PAGE, Ending.LIMIT_TIME, Ending.LIMIT_KEPT)


def ending_of(nodes: Sequence[NodeEnd]) -> tuple[str, int]:
    """The reason for the end of the crawl, and the exit status of all nodes together.

    A node that was stopped, or died, costs nothing if another one came to the end of the crawl.
    One that could not start, or whose disk failed, does.
    """
    total = sum((_outcomes(node) for node in nodes), Counter[str]())
    nodes = [node for node in nodes if node.starts]
    statuses = {node.status for node in nodes}
    if Ending.FORCED.code in statuses:
        return Ending.FORCED.reason, Ending.FORCED.code
    if USAGE in statuses:
        return "a node could not go on", USAGE
    if Ending.DISK.code in statuses:
        return Ending.DISK.reason, Ending.DISK.code
    for ending in _DONE:
        if any(node.reason in _reasons(ending) for node in nodes if node.status >= 0):
            if ending is Ending.FINISHED and Ending.LOGIN.code in statuses:
                return Ending.LOGIN.reason, Ending.LOGIN.code
            if ending is Ending.FINISHED and total.total() and not total["success"]:
                return Ending.NOTHING.reason, Ending.NOTHING.code
            with_pages = {node.reason for node in nodes if _outcomes(node)["success"]}
            if ending is Ending.FINISHED and with_pages == {Ending.UNKEPT.reason}:
                return Ending.UNKEPT.reason, Ending.UNKEPT.code
            return ending.reason, ending.code
    if Ending.STOPPED.code in statuses:
        return Ending.STOPPED.reason, Ending.STOPPED.code
    return "the nodes died", CRASHED


def _reasons(ending: Ending) -> set[str]:
    """A node without a page of its own, or of a site, has another reason for the same end."""
    ends = (Ending.NOTHING, Ending.UNKEPT, Ending.LOGIN) if ending is Ending.FINISHED else ()
    return {each.reason for each in (ending, *ends)}


def _outcomes(node: NodeEnd) -> Counter[str]:
    return Counter(node.report.get("outcomes", {}))


def merged(nodes: Sequence[NodeEnd], started: str, elapsed_s: float, queued: int) -> Report:
    """The report of all nodes: sums of theirs, and a short one of each.

    `started` and `elapsed_s` are those of the command, for nodes without reports; `queued` is the
    number of URLs in Redis.
    """
    reason, code = ending_of(nodes)
    reports = [node.report for node in nodes if node.report]
    totals = Counter[str]()
    for report in reports:
        totals.update({key: int(report[key]) for key in _SUMS})
    outcomes = {outcome.value: 0 for outcome in Outcome}
    for node in nodes:
        for name, count in _outcomes(node).items():
            outcomes[name] += count
    report = build_report(
        version=__version__,
        started=min((str(each["started"]) for each in reports), default=started),
        elapsed_s=max((float(each["elapsed_s"]) for each in reports), default=elapsed_s),
        cpu_s=sum(float(each["cpu_s"]) for each in reports),
        # If all were at their peak at once.
        peak_rss_bytes=sum(int(each["peak_rss_bytes"]) for each in reports),
        stop_reason=reason,
        exit_code=code,
        totals=totals | Counter(urls_queued=queued),
        outcomes=outcomes,
        robots=_group(reports, "robots"),
        dns=_group(reports, "dns"),
        left_out=_left_out([report["left_out"] for report in reports]),
    )
    return report | {"nodes": [_short(node) for node in nodes]}


def _group(reports: Sequence[Report], name: str) -> Counter[str]:
    return sum((Counter(report[name]) for report in reports), Counter())


def _left_out(reports: Sequence[Report]) -> Report:
    groups = {name: dict(_group(reports, name)) for name in ("rules", "limits", "links")}
    return {"robots": sum(int(report["robots"]) for report in reports), **groups}


def _short(node: NodeEnd) -> Report:
    short = {key: node.report.get(key) for key in _OF_NODE}
    return {"node": node.name, "exit_code": node.status, "starts": node.starts, **short}


#: Exit statuses of a node that ended by itself, as opposed to one that died.
_ENDS = {USAGE, *(ending.code for ending in Ending)}


class NodeStart(NamedTuple):
    """A start of a node, from which its command line is made."""

    name: str
    #: The file for its report.
    report: Path
    is_first: bool
    has_seeds: bool


class NodeProcess:
    """The node `name`; `command` makes its command line. It inherits the descriptors `holds`."""

    def __init__(
        self,
        name: str,
        command: Callable[[NodeStart], Sequence[str]],
        variables: dict[str, str],
        report: Path,
        poller: Poller,
        say: Say,
        holds: Sequence[int] = (),
    ) -> None:
        self.name = name
        self._command = command
        self._variables = variables
        self._report = report
        self._poller = poller
        self._say = say
        self._holds = holds
        self._child: Child | None = None
        self._restarts = Restarts()
        self.starts = 0
        # The start whose end was noticed.
        self._ended_at = 0
        #: When to start it; inf if it runs, or has ended for good.
        self.due = -inf

    @property
    def pid(self) -> int | None:
        """The number of its process while it runs."""
        child = self._child
        return child.pid if child is not None and child.status is None else None

    @property
    def over(self) -> bool:
        """Whether it has ended and is not started again, as `step` has decided."""
        return self.pid is None and self.due == inf and self._ended_at == self.starts

    def start(self, now: float, *, seeds: bool) -> None:
        """Start it. Raises OSError."""
        self._report.unlink(missing_ok=True)
        self.due = inf
        self._restarts.started(now)
        self.starts += 1
        self._child = Child(
            self._poller,
            self._command(NodeStart(self.name, self._report, self.starts == 1, seeds)),
            # To end in order it would wait for Redis, which may end at the same time.
            at_death=signal.SIGKILL,
            holds=self._holds,
            variables=self._variables,
            say=lambda line: self._say(f"{self.name}: {line.removeprefix('larbinpy: ')}"),
        )

    def signal(self, number: int) -> None:
        if self._child is not None:
            self._child.signal(number)

    def give_up(self) -> None:
        """Do not start it again."""
        if self.pid is None:
            self.due = inf

    def step(self, now: float, *, stops: bool) -> None:
        """Notice that it died, and decide when it is started again; not if the crawl `stops`."""
        child = self._child
        if child is None or child.status is None or self._ended_at == self.starts:
            return
        self._ended_at = self.starts
        if child.status in _ENDS or stops:
            return
        why, wait = in_words(child.status), self._restarts.died(now)
        if wait is None:
            self._say(f"node {self.name} {why}, for the {MOST_DEATHS}th time in a row: given up")
        else:
            self.due = now + wait
            self._say(f"node {self.name} {why}; it is started again in {wait:.0f} s")

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self._child is not None:
            self._child.signal(signal.SIGKILL)
            self._child.wait()

    def end(self) -> NodeEnd:
        """How it ended."""
        status = self._child.status if self._child is not None else None
        return NodeEnd(
            self.name,
            -signal.SIGKILL if status is None else status,
            self.starts,
            _read(self._report),
        )


def earlier_end(report: Path) -> NodeEnd | None:
    """How a node ended that ran before; None if its report is not there."""
    found = _read(report)
    return NodeEnd(report.parent.name, int(found["exit_code"]), 0, found) if found else None


def _read(report: Path) -> Report:
    try:
        found: Report = json.loads(report.read_bytes())
    except (OSError, ValueError):
        return {}
    return found
