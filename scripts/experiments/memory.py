"""Memory of names, and the errors of their compact forms.

Measures the bytes of a cached name beside dicts of str, names with the same key, and false
positives of the Bloom filter.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from experiments import cachecost, names
from experiments.plots import plot
from experiments.report import Report, Table
from experiments.runs import say
from larbinpy.dns import NameCache
from larbinpy.storage.bloom import BloomFilter

SIZES = (10_000, 100_000, 1_000_000)
WIDTHS = {"compact": "compact", "dict": "dict of str", "ordered": "ordered dict with times"}
BOUND = 40

#: Error rates that Bloom filters are made for. The last is the resolver's, one in a million,
#: which can hardly be measured.
ERRORS = (1e-2, 1e-3, 1e-4, 1e-6)
_LOOK_UPS = 2_000_000
#: Size in the source: 10^8 names at one in a million take "about 350 MB".
SOURCE_SIZE = 10**8

ABOUT = """\
The compact cache stores a name in 76 bits: 12 for its top-level domain, 32 of a hash of its
second level, and 32 of a hash of the rest (the source) or of the whole name (ours). A dict of
str holds only names and addresses. The ordered dict also holds expiry times and the order of
use, as the compact cache does. Each was filled in its own process; bytes are the growth of its
resident memory."""

Costs = dict[str, list[float]]


def run(out: Path, *, quick: bool) -> str:
    """Measure all; returns the tables."""
    report = Report(out, "memory", ABOUT)
    sizes = SIZES[:2] if quick else SIZES
    costs = _costs(report, sizes)
    report.table(_collisions(sizes[-1]))
    wrong = _wrong_answers(sizes[-1])
    report.note(f"For {wrong} of these names, the cache gave the address of another name.")
    filters = [_fill(size, error) for size in sizes for error in ERRORS]
    report.table(_bloom_table(filters))
    full = BloomFilter(SOURCE_SIZE, ERRORS[-1])
    megabytes = full.size_bytes / 1e6
    report.note(f"A filter for {SOURCE_SIZE:,} names at {ERRORS[-1]:g} takes {megabytes:.0f} MB.")
    plot(report.path(".png"), partial(_draw_costs, sizes, costs), partial(_draw_errors, filters))
    return report.close()


def _costs(report: Report, sizes: tuple[int, ...]) -> Costs:
    size_table = Table("Bytes a name", "names", *WIDTHS.values(), "by the cache's count")
    time_table = Table("Microseconds for a hit", "names", *WIDTHS.values())
    costs: Costs = {kind: [] for kind in WIDTHS}
    for size in sizes:
        say(f"  {size:,} names")
        found = {kind: cachecost.cost(kind, size) for kind in WIDTHS}
        for kind in WIDTHS:
            costs[kind].append(found[kind]["bytes"])
        own_count = found["compact"]["stats"]["bytes"] / size
        size_table.add(size, *(one["bytes"] for one in found.values()), own_count)
        time_table.add(size, *(one["microseconds"] for one in found.values()))
    report.table(size_table)
    report.table(time_table)
    return costs


def _draw_costs(sizes: tuple[int, ...], costs: Costs, axes: Axes) -> None:
    for kind, label in WIDTHS.items():
        axes.plot(sizes, costs[kind], marker="o", label=label)
    axes.axhline(BOUND, linestyle="--", color="grey", label="promised")
    axes.set(xlabel="names", ylabel="bytes a name", xscale="log", ylim=(0, None))
    axes.legend()


# -- keys


def source_key(rest: str, second: str, top: str) -> tuple[str, int]:
    """The source's key. Names that begin alike ("www") differ in 32 bits only."""
    return top, _hash(second) << 32 | _hash(rest)


def own_key(rest: str, second: str, top: str) -> tuple[str, int]:
    return top, _hash(second) << 32 | _hash(f"{rest}.{second}.{top}")


def _hash(text: str) -> int:
    return hash(text) & 0xFFFFFFFF


def _collisions(count: int) -> Table:
    """Number of `count` names www.*.com whose key another name has."""
    table = Table("Collisions of keys", "key", "names www.*.com", "same key as another", "expected")
    keys: dict[str, tuple[Callable[[str, str, str], tuple[str, int]], int]] = {
        "the source's: hash of the rest": (source_key, 32),
        "ours: hash of the whole name": (own_key, 64),
    }
    for label, (key, bits) in keys.items():
        distinct = len({key("www", f"s{number:07d}", "com") for number in range(count)})
        table.add(label, count, count - distinct, count * count / 2 / 2**bits)
    return table


def _wrong_answers(count: int) -> int:
    """Number of `count` names www.*.com for which the cache gives another's address."""
    cache = NameCache(count, 1000, 86400.0)
    for number in range(count):
        cache.put(f"www.s{number:07d}.com", (names.address(number),), 86400.0, 0.0)
    wrong = 0
    for number in range(count):
        known = cache.get(f"www.s{number:07d}.com", 1.0)
        wrong += known is not None and known.addresses != (names.address(number),)
    return wrong


# -- the Bloom filter


@dataclass(slots=True, frozen=True)
class Filled:
    """A Bloom filter filled to its capacity."""

    names: int
    #: Error rate that it was made for, and false positives among `_LOOK_UPS` other names.
    error: float
    mistakes: int
    bytes: int
    #: To add a name.
    microseconds: float

    @property
    def measured(self) -> float:
        return self.mistakes / _LOOK_UPS


def _fill(count: int, error: float) -> Filled:
    known = BloomFilter(count, error)
    started = time.process_time()
    for number in range(count):
        known.add(names.host(number))
    taken = time.process_time() - started
    mistakes = sum(names.host(number) in known for number in range(count, count + _LOOK_UPS))
    return Filled(count, error, mistakes, known.size_bytes, taken / count * 1e6)


def _bloom_table(filters: list[Filled]) -> Table:
    mistakes = f"mistakes in {_LOOK_UPS:,}"
    table = Table("Bloom filter", "names", "made for", mistakes, "measured", "MB", "bits", "us")
    for one in filters:
        bits = one.bytes * 8 / one.names
        sizes = (one.bytes / 1e6, bits, one.microseconds)
        table.add(one.names, f"{one.error:g}", one.mistakes, f"{one.measured:.2g}", *sizes)
    return table


def _draw_errors(filters: list[Filled], axes: Axes) -> None:
    for count in sorted({one.names for one in filters}):
        same = [one for one in filters if one.names == count]
        measured = [one.measured for one in same]
        axes.plot([one.error for one in same], measured, "o", label=f"{count:,} names")
    axes.plot(ERRORS, ERRORS, linestyle="--", color="grey", label="as requested")
    axes.set(xlabel="error made for", ylabel="error measured", xscale="log", yscale="log")
    axes.legend()
