"""Programs run as processes on chosen cores; their time and memory."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import getpagesize

Command = Sequence[str | Path]

PYTHON = sys.executable

# Load average of the last minute; that of an idle machine is lower.
_MUCH_LOAD = 0.5


def say(text: str) -> None:
    """Report progress on standard error; standard output is for the results."""
    print(text, file=sys.stderr, flush=True)


def warn_of_load() -> None:
    """Warn if other programs use the machine, because they distort the measurement."""
    load = os.getloadavg()[0]
    if load > _MUCH_LOAD:
        say(f"warning: load {load:.1f}; other programs distort the figures")


def cores() -> tuple[set[int], set[int]]:
    """A core for clients and one for servers; the same core for both if there is only one."""
    usable = sorted(os.sched_getaffinity(0))
    return ({usable[0]}, {usable[1]}) if len(usable) > 1 else (set(usable), set(usable))


CLIENT, SERVER = cores()


@contextmanager
def kept_on(core: set[int]) -> Iterator[None]:
    """Processes started in the block run on `core` only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, core)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(slots=True, frozen=True)
class Run:
    """Resources of a program that exited with status 0.

    Linux counts a process's peak memory from before its exec, so `max_rss` is never less than
    the memory of the measuring process: keep that one small.
    """

    #: From start to exit.
    seconds: float
    user_seconds: float
    system_seconds: float
    #: Bytes.
    max_rss: int
    #: Its standard error.
    errors: str

    @property
    def cpu_seconds(self) -> float:
        return self.user_seconds + self.system_seconds


def run(command: Command, out: Path, core: set[int] = CLIENT) -> Run:
    """Run `command` on `core` with its standard output in the file `out`.

    Raises RuntimeError if it fails.
    """
    err = out.with_suffix(".err")
    with out.open("wb") as output, err.open("wb") as errors, kept_on(core):
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    text = err.read_text(errors="replace")
    if status:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {text[-2000:]}")
    return Run(seconds, used.ru_utime, used.ru_stime, used.ru_maxrss * 1024, text)


@contextmanager
def in_background(command: Command, core: set[int]) -> Iterator[subprocess.Popen[str]]:
    """Run `command` on `core` while the block lasts."""
    with kept_on(core):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def serving(command: Command, core: set[int] = SERVER) -> Iterator[tuple[str, int]]:
    """Run a server on `core` while the block lasts.

    Gives the line that it prints when it is ready, and its process ID. Raises RuntimeError if
    it ends without that line.
    """
    with in_background(command, core) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"the server did not start: {' '.join(map(str, command))}")
        yield line, process.pid


def resident_memory() -> int:
    """Bytes of memory that this process occupies."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


@dataclass(slots=True, frozen=True)
class Spread:
    """Median, least and greatest of some measurements."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{shown(self.median)} ({shown(self.least)} - {shown(self.greatest)})"


def shown(value: float) -> str:
    """A number as text, with three significant digits below 1,000."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"
