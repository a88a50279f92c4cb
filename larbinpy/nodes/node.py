"""A node as a process: started again when it dies, with growing waits, and given up at last."""

import json
import signal
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

from larbinpy.exit_status import USAGE, Ending
from larbinpy.loop.poller import Poller
from larbinpy.nodes.child import Child, Say
from larbinpy.nodes.ending import NodeEnd, Report
from larbinpy.nodes.restarts import MOST_DEATHS, Restarts, in_words

#: Exit statuses of a node that ended by itself, as opposed to one that died.
_ENDS = {USAGE, *(ending.code for ending in Ending)}


class Run(NamedTuple):
    """A start of a node, from which its command line is made."""

    name: str
    #: The file for its report.
    report: Path
    is_first: bool
    has_seeds: bool


class Node:
    """The node `name`; `command` makes its command line. It inherits the descriptors `holds`."""

    def __init__(
        self,
        name: str,
        command: Callable[[Run], Sequence[str]],
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

    def __repr__(self) -> str:
        return f"<Node {self.name} {self._child!r}>"

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
            self._command(Run(self.name, self._report, self.starts == 1, seeds)),
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
