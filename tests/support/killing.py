"""One crawl that is killed and resumed many times, run by its command line."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.support.checkout import ROOT
from tests.support.databasekills import DatabaseKills
from tests.support.killcheck import Checker, Life, mtime
from tests.support.killweb import KnownWeb

LARBINPY = (sys.executable, "-m", "larbinpy")

#: Times of a kill: within 0.3 s of the start, within 0.3 s of taking the lock of the state,
#: before the first checkpoint, during a checkpoint, and some time after one.
KINDS = ("start", "load", "early", "save", "late")
#: An order in which the crawl makes progress between a few kills.
_ORDER = ("start", "early", "save", "late", "load", "early", "save", "late", "early", "late")
_AT_ONCE = 0.3
_WITHIN_A_SAVE = 0.03
#: Longest wait for an event or for the end of a process (s).
_PATIENCE = 300.0

_CONF = """\
From t@example.com
UserAgent larbinpy
allowPrivate
waitDuration 0
guessSitemap off
maxConnexionsBySite 4
pagesConnexions 32
maxUrlsBySite 500
depthInSite 1000000
outputMode mirror
outputDir mirror
stateDir state
"""


def kinds(kills: int) -> list[str]:
    """The kinds of `kills` kills."""
    return [_ORDER[number % len(_ORDER)] for number in range(kills)]


class KillTest:
    """A crawl of `pages` pages in `folder`, killed as `plan` says, one kind a kill.

    `interval` is the time between checkpoints (s), `conf` is added to the configuration.
    `report` is called with each life after its end; `harm` also kills children of the crawl.
    """

    def __init__(
        self,
        folder: Path,
        pages: int,
        plan: Sequence[str],
        seed: int,
        *,
        interval: float = 5.0,
        conf: str = "",
        report: Callable[[Life], None] = lambda life: None,
        harm: DatabaseKills | None = None,
    ) -> None:
        self._folder = folder
        self._state = folder / "state"
        self._pages = pages
        self._plan = plan
        self._seed = seed
        self._random = Random(seed)
        self._interval = interval
        self._conf = conf
        self._report = report
        self._harm = harm

    def run(self) -> Checker:
        """Run all lives; the errors are in the `findings` of the result."""
        requests = self._folder / "requests"
        with self.served(requests) as (web, set_rate):
            self.configure(self._conf, f"startUrl {web.url(0)}")
            checker = Checker(self._folder, web, self._frontier)
            for number, kind in enumerate(self._plan):
                set_rate(self._rate(checker.owed, self._plan[number:]))
                ended = not self._live(kind, checker)
                if self._harm is not None:
                    self._harm.after(checker.lives[-1], web)
                if ended:
                    checker.find(f"the crawl ended by itself before kill {number + 1}")
                    break
            else:
                set_rate(0)
                self._live("end", checker)
        if self._harm is not None:
            self._harm.at_the_end(checker, web)
            checker.findings += self._harm.findings
        checker.at_the_end(requests)
        return checker

    def configure(self, *lines: str) -> None:
        """Write the configuration, with `lines` at its end."""
        (self._folder / "larbin.conf").write_text("\n".join([_CONF, *lines, ""]))

    # The server.

    @contextmanager
    def served(self, requests: Path) -> Iterator[tuple[KnownWeb, Callable[[float], None]]]:
        """Serve the web; gives it, and a function that sets the replies a second."""
        arguments = [str(self._pages), str(self._seed), str(requests)]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.killweb", *arguments],
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin and process.stdout
        orders = process.stdin

        def set_rate(rate: float) -> None:
            orders.write(f"{rate}\n".encode())
            orders.flush()

        try:
            port = json.loads(process.stdout.readline())["port"]
            yield KnownWeb(self._pages, self._seed, port), set_rate
        finally:
            process.stdin.close()
            process.wait()
            process.stdout.close()

    def _rate(self, owed: int, plan: Sequence[str]) -> float:
        """Replies a second, few enough to leave work for each kill of `plan`."""
        # A kill during a save may or may not undo it; other kills keep the saved state.
        saving = plan.count("late") + plan.count("save") * 0.7 + 0.5
        return max(20.0, 0.8 * owed / (saving * self._interval))

    # One life.

    def _live(self, kind: str, checker: Checker) -> bool:
        """Run the crawl, kill it and check it; returns False if it ended before the kill."""
        life = Life(kind, time.time())
        process = self._start()
        try:
            self._wait(process, kind, life.started)
            if self._harm is not None:
                self._harm.before(process)
        finally:
            process.kill()
            _, errors = process.communicate()
        life.ended = time.time()
        checker.after(life)
        self._report(life)
        age = life.ended - max(life.saved, life.started)
        # The checkpoint after it may be under way, on a machine that is busy with other tests.
        busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        if age > 2 * self._interval + 4 * busy:
            checker.find(f"the last checkpoint was {age:.1f} s old")
        ended = process.returncode >= 0
        # A crawl that has ended says what its files lack.
        text = errors.decode(errors="replace").partition("Left out:\n")[0].splitlines()
        text = [line for line in text if " could not be fetched: " not in line]
        if self._harm is not None:
            # It says that its indexer was killed.
            text = [line for line in text if "database: " not in line]
        if text or (ended and process.returncode != 0):
            checker.find(f"exit status {process.returncode}: {''.join(text[-1:])}")
        return not ended

    def _start(self) -> "subprocess.Popen[bytes]":
        resume = ["--resume"] if (self._state / "state.json").exists() else []
        return subprocess.Popen(
            [*LARBINPY, "crawl", *resume, "--progress", "none"],
            cwd=self._folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    @contextmanager
    def crawling(self) -> Iterator["subprocess.Popen[bytes]"]:
        """The crawl, or its continuation; it is killed at the end unless it has ended."""
        process = self._start()
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def _frontier(self) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*LARBINPY, "frontier", str(self._state)],
            env=_environment(),
            capture_output=True,
            text=True,
        )

    def _wait(self, process: "subprocess.Popen[bytes]", kind: str, started: float) -> None:
        """Wait until it is time to kill `process`, or until it has ended."""
        draw = self._random.random()

        def until(condition: Callable[[], bool], patience: float = _PATIENCE) -> None:
            late = time.time() + patience
            while process.poll() is None and not condition() and time.time() < late:
                time.sleep(0.002)
                if self._harm is not None:
                    self._harm.meanwhile(process)

        if kind == "end":
            until(lambda: False)
            return
        if kind == "start":
            until(lambda: time.time() >= started + _AT_ONCE * draw)
            return
        lock = self._state / "lock"
        until(lambda: lock.exists() and lock.read_text() == str(process.pid), 10.0)
        runs = time.time()
        wait = {"load": _AT_ONCE * draw, "early": self._interval * draw}.get(kind)
        if wait is None:
            half = runs + self._interval / 2
            until(lambda: time.time() >= half)
            before = self._trace(kind)
            until(lambda: self._trace(kind) != before, 2 * self._interval)
            runs = time.time()
            wait = draw * (_WITHIN_A_SAVE if kind == "save" else self._interval / 2)
        until(lambda: time.time() >= runs + wait)

    def _trace(self, kind: str) -> object:
        """A value that changes when a save begins or, for "late", when it ends."""
        if kind == "late":
            return mtime(self._state / "state.json")
        # A save first writes the fingerprints added since the last one.
        return sum(path.stat().st_size for path in self._state.glob("seen.*.log"))


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}
