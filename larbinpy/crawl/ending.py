"""When and why a crawl ends: decided between two turns. At the end, who wants to know is told."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from math import inf

from larbinpy.context import Context
from larbinpy.crawl.control import Ports
from larbinpy.crawl.engine import Engine
from larbinpy.crawl.mode import Mode
from larbinpy.errors import Ending, what_failed
from larbinpy.loop.child import environment
from larbinpy.loop.clock import Clock, Slice
from larbinpy.output.plug import Feeder, LeftOut, Refresher


class Finishing:
    """The last work of a mirror, rewriting links: a slice in each turn."""

    def __init__(
        self,
        refresher: Refresher,
        clock: Clock,
        grace: float,
        left_out: Callable[[], LeftOut] = tuple,
    ) -> None:
        """`left_out` says what the crawl has left out."""
        self._refresher = refresher
        self._left_out = left_out
        self._clock = clock
        self._grace = grace
        self._steps: Iterator[None] | None = None
        self._stop_by = float("inf")
        #: Whether it was abandoned before it was done. `--resume` then does it.
        self.left = False

    def step(self, now: float, stop: bool, *, complete: bool) -> bool:
        """Do a slice; return whether the work is done, or abandoned `grace` seconds after `stop`.

        `complete`: the crawl came to its end. After an OSError the work begins anew.
        """
        if stop:
            self._stop_by = min(self._stop_by, now + self._grace)
        self.left = now >= self._stop_by
        if self.left:
            return True
        steps, self._steps = self._steps, None
        if steps is None:
            steps = self._refresher.finish(complete=complete, left_out=self._left_out())
        work = Slice(self._clock)
        for _ in steps:
            if work.over:
                self._steps = steps
                return False
        self._steps = iter(())
        return True


class Stopping:
    """Leads a crawl to its end: transfers in flight are completed, then the outputs' work.

    `has_others`: whether URLs may still come: from other nodes, or pages that become due.
    `had_work`: there were URLs to fetch at the start.
    """

    def __init__(
        self,
        context: Context,
        mode: Mode,
        engine: Engine,
        ports: Ports,
        finishing: Finishing,
        feeder: Feeder,
        has_others: Callable[[], bool],
        had_work: bool,
    ) -> None:
        self._mode = mode
        self._engine = engine
        self._ports = ports
        self._finishing = finishing
        self._feeder = feeder
        self._has_others = has_others
        self._had_work = had_work
        self._grace = context.tuning.grace
        # The status page stays up after the crawl.
        self._outlives = context.config.high_level_web_server and ports.status is not None
        self._drain_until = 0.0
        # When to leave what another process has not taken.
        self._stop_by = inf
        #: Why the crawl ends, once that is known.
        self.ending: Ending | None = None
        #: Time by which `step` must be called again; infinite for none.
        self.deadline = mode.limit_at

    def step(self, now: float, *, stop: bool, at_once: bool) -> bool:
        """Begin or continue to end the crawl if there is a reason; return whether it is over.

        `stop`: a stop was requested by a signal or a command; `at_once`: by two signals.
        """
        if at_once:
            self.ending = Ending.FORCED
            return True
        if stop:
            self._stop_by = min(self._stop_by, now + self._grace)
        self._mode.staying = self._awaits_users(stop)
        if not self._mode.draining:
            self.ending = self._why_to_end(now, stop)
            if self.ending is not None:
                self._mode.draining = True
                self.deadline = self._drain_until = now + self._grace
        drained = self._mode.draining and (self._engine.idle or now >= self._drain_until)
        self._mode.over = drained and self._finish(now, stop)
        return self._mode.over and not self._stays_up(stop)

    def _finish(self, now: float, stop: bool) -> bool:
        """Do a slice of the outputs' last work if the disk has room; return whether it is done."""
        stalled = self._mode.disk_pause.stalls(now)
        complete = self.ending is Ending.FINISHED
        done = not stalled and self._finishing.step(now, stop, complete=complete)
        self.deadline = inf if done or stalled else now
        self.ending = Ending.STOPPED if self._finishing.left else self.ending
        return done and self._settle(now)

    def _settle(self, now: float) -> bool:
        """Whether the process beside the crawl has taken all, or there is no time left for it."""
        done = self._feeder.finish()
        if not done and now >= self._stop_by:
            self.ending = Ending.STOPPED
            done = True
        self._mode.settling = not done
        self.deadline = inf if done else self._stop_by
        return done

    def _why_to_end(self, now: float, stop: bool) -> Ending | None:
        done = self._engine.out_of_work
        if stop and self._has_others():
            # This node may be out of work, but the crawl goes on, or was stopped.
            return Ending.STOPPED
        if stop:
            return Ending.FINISHED if done and self._had_work else Ending.STOPPED
        if self._engine.limit_reached:
            return Ending.LIMIT_PAGE
        if self._engine.kept_enough:
            return Ending.LIMIT_KEPT
        if now >= self._mode.limit_at:
            return Ending.LIMIT_TIME
        return Ending.FINISHED if done and not self._mode.staying else None

    def _awaits_users(self, stop: bool) -> bool:
        """Whether the crawl stays up even if it has nothing to do.

        With an input port it does until the first URL was added, and while a client is connected.
        """
        self._had_work = self._had_work or self._engine.has_work
        if self._has_others() and not stop:
            return True
        port = self._ports.input
        if port is not None and (port.awaited or not self._had_work):
            return True
        return self._stays_up(stop)

    def _stays_up(self, stop: bool) -> bool:
        """Whether the status page stays up after the crawl, which it does until `stop`."""
        return self._outlives and not stop


#: Seconds that a command and a web hook have, and changes that they are told one by one.
_NOTICE = 60
_MOST_CHANGES = 1000


def notify(to: str, report: Mapping[str, object], database: str | None) -> str:
    """Give the report of a run, and what it changed in `database`, to a command or a web hook.

    The command gets it at its standard input, as a line of JSON. Returns what went wrong, or "".
    """
    told = dict(report)
    if database is not None:
        told |= _changes(database, str(report["started"]))
    data = json.dumps(told).encode()
    try:
        if to.lower().startswith(("http://", "https://")):
            return _post(to, data)
        return _run(to, data + b"\n")
    except OSError as error:
        return what_failed(error)


def _changes(database: str, since: str) -> dict[str, object]:
    # Here, since the process of a crawl needs no database until its end.
    from larbinpy.database.base import DatabaseError
    from larbinpy.database.finder import DatabaseFinder

    try:
        with closing(DatabaseFinder(database)) as finder:
            found = iter(finder.changes(since))
            first = [change._asdict() for change in islice(found, _MOST_CHANGES)]
            kinds = Counter(change["kind"] for change in first)
            kinds.update(change.kind for change in found)
    except DatabaseError as error:
        return {"changes": None, "database_error": str(error)}
    return {"changes": dict(kinds), "changed_pages": first}


def _run(command: str, data: bytes) -> str:
    import subprocess

    try:
        done = subprocess.run(
            command, shell=True, input=data, timeout=_NOTICE, env=environment(), check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done after {_NOTICE} s, so it was ended"
    return f"exit status {done.returncode}" if done.returncode else ""


def _post(url: str, data: bytes) -> str:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/json", "User-Agent": "larbinpy"}
    try:
        with urlopen(Request(url, data, headers), timeout=_NOTICE):
            return ""
    except HTTPError as error:
        return f"status {error.code}"
    except HTTPException as error:
        return f"no answer of a web server ({type(error).__name__})"
    except ValueError as error:
        return str(error)
