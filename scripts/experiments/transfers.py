"""One loop against a thread for each transfer: memory, time lost, and data fetched.

The source of the distributed crawler compared coroutines with threads in this way, with up to
300 in flight. Coroutines fetched more data in the same time.
"""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from experiments.plots import plot
from experiments.report import Report, Table
from experiments.runs import PYTHON, Spread, say, serving, warn_of_load
from experiments.transferring import Done, Plan, measure

WAYS = {"loop": "one loop", "threads": "threads"}
SIZES = (1, 3, 10, 30, 100, 300, 1000, 2000, 5000)
#: Most transfers in flight in the source.
SOURCE_MOST = 300
#: Share of additional data by coroutines, in the source.
SOURCE_MORE = 0.228

#: Requests to each site when all wait. During the last wait all are certainly in flight.
_ROUNDS = 2
_LOOK_AFTER = 0.75
#: Descriptors of a thread's transfer; a transfer in the loop takes one.
_DESCRIPTORS = 3
#: With fewer transfers, their memory is less than the difference between two processes.
_MANY = 100

ABOUT = """\
Each transfer requests pages of its own site over one connection. A server on the other core
answers after a wait. The loop is larbinpy's fetcher on its poller, as in a crawl. Each thread
has one libcurl handle, shares nothing, and sets constant options only once. Both send the same
requests, collect replies with the same code, and parse nothing. Each figure is from its own
process on one core. Resident memory does not include the kernel's memory of a thread, such as
its stack of 16 kB."""

#: By way and number in flight.
Measured = dict[tuple[str, int], Any]


def run(
    out: Path,
    *,
    quick: bool,
    wait: float,
    latency: float,
    seconds: float,
    size: int,
    repeats: int,
    sizes: tuple[int, ...] = SIZES,
) -> str:
    """Measure all; returns the tables. `sizes` are the numbers of transfers in flight."""
    sizes = _possible(sizes[:4] if quick else sizes)
    if quick:
        wait, seconds, repeats = min(wait, 0.5), min(seconds, 0.5), 1
    warn_of_load()
    report = Report(out, "transfers", ABOUT)
    waited = _waits(sizes, wait)
    report.table(_memory_table(waited, sizes))
    report.table(_overhead_table(waited, sizes, wait))
    fetched = _fetches(sizes, latency, seconds, size, repeats)
    report.table(_data_table(fetched, sizes, f"{size:,} bytes, {latency:g} s late, {seconds:g} s"))
    report.note("\n".join(_summary(fetched, sizes)))
    draws: list[Callable[[Axes], None]] = [
        partial(_draw, "resident memory while all wait (MB)", waited, _megabytes),
        partial(_draw, f"ideal over real time, waits of {wait:g} s", waited, _efficiency(wait)),
        partial(_draw, f"MB in {seconds:g} s", fetched, _data),
    ]
    plot(report.path(".png"), *draws)
    return report.close()


def raise_limit() -> None:
    """Raise the limit of descriptors for this process and its children as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _descriptors(SIZES[-1])
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    for limits in ((wanted, max(wanted, hard)), (hard, hard)):
        with suppress(ValueError, OSError):  # Only root may raise the hard limit.
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            return


def _descriptors(count: int) -> int:
    return _DESCRIPTORS * count + 100


def _possible(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The `sizes` for which there are enough descriptors."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return sizes
    possible = tuple(size for size in sizes if _descriptors(size) <= most)
    if possible != sizes:
        say(f"at most {possible[-1]:,} transfers at once: too few descriptors (ulimit -n)")
    return possible


# -- measuring


@contextmanager
def _server(wait: float, size: int) -> Iterator[int]:
    """Run a server that sends pages of `size` bytes after `wait` seconds; gives its port."""
    command = [PYTHON, "-m", "experiments.latepages", str(wait), str(size)]
    with serving(command) as (line, _):
        yield int(line)


def _waits(sizes: tuple[int, ...], wait: float) -> Measured:
    done: Measured = {}
    with _server(wait, 1000) as port:
        for count, way in product(sizes, WAYS):
            say(f"  {count:,} by {WAYS[way]}: waits of {wait:g} s")
            plan = Plan(way, port, count, rounds=_ROUNDS)
            done[way, count] = measure(plan, wait * (_ROUNDS - 1 + _LOOK_AFTER))
    return done


def _fetches(
    sizes: tuple[int, ...], latency: float, seconds: float, size: int, repeats: int
) -> Measured:
    """Measure each `repeats` times in turn, so that other load affects all alike."""
    done: Measured = {(way, count): [] for count, way in product(sizes, WAYS)}
    with _server(latency, size) as port:
        for number, (way, count) in product(range(repeats), done):
            say(f"  round {number + 1} of {repeats}: {count:,} by {WAYS[way]}")
            done[way, count].append(measure(Plan(way, port, count, seconds=seconds)))
    return done


# -- tables and plots


def _megabytes(done: Done) -> float:
    return done.resident / 1e6


def _efficiency(wait: float) -> Callable[[Done], float]:
    return lambda done: wait * _ROUNDS / done.elapsed


def _data(done: list[Done]) -> float:
    return Spread.of([one.bytes / 1e6 for one in done]).median


def _memory_table(waited: Measured, sizes: tuple[int, ...]) -> Table:
    columns = [f"{word}, {what}" for what in ("MB", "kB each") for word in WAYS.values()]
    table = Table("Resident memory while all wait", "in flight", *columns)
    for count in sizes:
        megabytes = [_megabytes(waited[way, count]) for way in WAYS]
        each = [_bytes_each(waited, way, count, sizes[0]) / 1e3 for way in WAYS]
        table.add(count, *megabytes, *(each if count >= _MANY else ["-", "-"]))
    return table


def _bytes_each(waited: Measured, way: str, count: int, few: int) -> float:
    """Memory that a transfer adds, by comparison with a process with `few` transfers."""
    many, less = waited[way, count].resident, waited[way, few].resident
    return float(many - less) / max(count - few, 1)


def _overhead_table(waited: Measured, sizes: tuple[int, ...], wait: float) -> Table:
    columns = [f"{word}, {what}" for what in ("s", "ideal/real") for word in WAYS.values()]
    costs = [f"{word}, us a request" for word in WAYS.values()]
    title = f"Overhead: {_ROUNDS} requests each, answered after {wait:g} s"
    table = Table(title, "in flight", *columns, *costs, "failed")
    for count in sizes:
        both = [waited[way, count] for way in WAYS]
        shares = [f"{_efficiency(wait)(done):.4f}" for done in both]
        costs_us = [done.cpu / (_ROUNDS * count) * 1e6 for done in both]
        failed = "/".join(str(done.failed) for done in both)
        table.add(count, *(done.elapsed for done in both), *shares, *costs_us, failed)
    return table


def _data_table(fetched: Measured, sizes: tuple[int, ...], what: str) -> Table:
    megabytes = [f"{word}, MB" for word in WAYS.values()]
    costs = [f"{word}, us a page" for word in WAYS.values()]
    table = Table(f"Data: {what}", "in flight", *megabytes, "loop beside threads", *costs, "failed")
    for count in sizes:
        both = [fetched[way, count] for way in WAYS]
        spreads = [Spread.of([one.bytes / 1e6 for one in done]) for done in both]
        costs_us = [_median_cost(done) for done in both]
        failed = "/".join(str(sum(one.failed for one in done)) for done in both)
        more = f"{_more(fetched, (count,)):+.1%}"
        table.add(count, *map(str, spreads), more, *costs_us, failed)
    return table


def _median_cost(done: list[Done]) -> float:
    return Spread.of([one.cpu / max(one.pages, 1) * 1e6 for one in done]).median


def _more(fetched: Measured, sizes: tuple[int, ...]) -> float:
    """Share of additional data by the loop, summed over `sizes`."""
    loop, threads = (sum(_data(fetched[way, count]) for count in sizes) for way in WAYS)
    return loop / threads - 1 if threads else float("inf")


def _summary(fetched: Measured, sizes: tuple[int, ...]) -> Iterator[str]:
    few = tuple(count for count in sizes if count <= SOURCE_MOST)
    for some in dict.fromkeys((few, sizes)):
        more = f"{_more(fetched, some):+.1%}"
        yield f"- data of the loop, beside threads, {some[0]} to {some[-1]:,} in flight: {more}"
    yield f"- coroutines beside threads in the source, up to {SOURCE_MOST}: {SOURCE_MORE:+.1%}"


def _draw(title: str, measured: Measured, value: Callable[[Any], float], axes: Axes) -> None:
    for way, label in WAYS.items():
        points = [(count, value(done)) for (by, count), done in measured.items() if by == way]
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set(title=title, xlabel="in flight", xscale="log", ylim=(0, None))
    axes.legend()
