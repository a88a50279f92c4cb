"""Programs as processes of their own, each kept on its core, and what they used."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Command = Sequence[str | Path]

PYTHON = sys.executable

# Programs that were running at a time in the last minute; an idle machine has less.
_MUCH_LOAD = 0.5


def say(text: str) -> None:
    """Tell people how far it is; standard output is for the results."""
    print(text, file=sys.stderr, flush=True)


def warn_of_load() -> None:
    """Say so where others are at work, whose work will be measured, too."""
    load = os.getloadavg()[0]
    if load > _MUCH_LOAD:
        say(f"this machine is busy (load {load:.1f}): expect figures that are too low")


def cores() -> tuple[set[int], set[int]]:
    """One core for clients and one for servers; everything for both where there is one."""
    usable = sorted(os.sched_getaffinity(0))
    return ({usable[0]}, {usable[1]}) if len(usable) > 1 else (set(usable), set(usable))


CLIENT, SERVER = cores()


@contextmanager
def kept_on(core: set[int]) -> Iterator[None]:
    """What is started meanwhile stays on `core`."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, core)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(slots=True, frozen=True)
class Run:
    """A program that has ended well.

    Linux counts a process's highest memory from before its exec, so `max_rss` is never
    less than what the measuring process itself had in memory: keep that one small.
    """

    #: From its start to its end.
    seconds: float
    cpu_seconds: float
    #: Bytes.
    max_rss: int
    #: What it wrote to standard error.
    errors: str


def run(command: Command, out: Path, core: set[int] = CLIENT) -> Run:
    """Run `command` on `core`, by default the clients', with its output in `out`.

    Raises RuntimeError where it fails.
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
    return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, text)


@contextmanager
def in_background(command: Command, core: set[int]) -> Iterator[subprocess.Popen[str]]:
    """`command` on `core` for as long as the block lasts."""
    with kept_on(core):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.terminate()


@dataclass(slots=True, frozen=True)
class Spread:
    """The median of some measurements, and the least and the greatest of them."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{shown(self.median)} ({shown(self.least)} - {shown(self.greatest)})"


def shown(value: float) -> str:
    """A number with the digits that matter."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"
