"""What names in memory cost, and how sure the short forms of them are.

Bytes for each cached name, beside dicts of str; names that would be taken for one another;
names that the Bloom filter takes for dead though they are not.
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

#: Shares of mistakes that Bloom filters are made for. The last one is what the resolver
#: takes, and what can hardly be measured: one in a million.
ERRORS = (1e-2, 1e-3, 1e-4, 1e-6)
_ASKED = 2_000_000
#: The source's sizing: 10^8 names at one in a million are "about 350 MB".
SOURCE_SIZE = 10**8

ABOUT = """\
The compact cache holds a name as 76 bits: 12 for its top-level domain, 32 of a hash of its
second level and 32 of a hash of the rest (the source) or of the whole name (ours). A dict of
str holds names and addresses and nothing else; the ordered dict also knows when they expire
and which was used last, as the compact cache does. Each was filled in a process of its own;
bytes are the growth of its resident memory."""

Costs = dict[str, list[float]]


def run(out: Path, *, quick: bool) -> str:
    """Measure all; returns the tables."""
    report = Report(out, "memory", ABOUT)
    sizes = SIZES[:2] if quick else SIZES
    costs = _costs(report, sizes)
    report.table(_collisions(sizes[-1]))
    wrong = _wrong_answers(sizes[-1])
    report.note(f"Of these names, the cache gave {wrong} the address of another one.")
    filters = [_fill(size, error) for size in sizes for error in ERRORS]
    report.table(_bloom_table(filters))
    full = BloomFilter(SOURCE_SIZE, ERRORS[-1])
    megabytes = full.size_bytes / 1e6
    report.note(f"Full, one of {SOURCE_SIZE:,} names at {ERRORS[-1]:g} takes {megabytes:.0f} MB.")
    plot(report.path(".png"), partial(_draw_costs, sizes, costs), partial(_draw_errors, filters))
    return report.close()


def _costs(report: Report, sizes: tuple[int, ...]) -> Costs:
    size_table = Table("Bytes a name", "names", *WIDTHS.values(), "the cache's own word")
    time_table = Table("Microseconds for a look-up that hits", "names", *WIDTHS.values())
    costs: Costs = {kind: [] for kind in WIDTHS}
    for size in sizes:
        say(f"  {size:,} names")
        found = {kind: cachecost.cost(kind, size) for kind in WIDTHS}
        for kind in WIDTHS:
            costs[kind].append(found[kind]["bytes"])
        own_word = found["compact"]["stats"]["bytes"] / size
        size_table.add(size, *(one["bytes"] for one in found.values()), own_word)
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
    """All names of one form ("www") share the hash of the rest: 32 bits decide."""
    return top, _hash(second) << 32 | _hash(rest)


def own_key(rest: str, second: str, top: str) -> tuple[str, int]:
    return top, _hash(second) << 32 | _hash(f"{rest}.{second}.{top}")


def _hash(text: str) -> int:
    return hash(text) & 0xFFFFFFFF


def _collisions(count: int) -> Table:
    """Of `count` names www.*.com, those whose key another one has."""
    table = Table("Collisions of keys", "key", "names www.*.com", "with another's key", "expected")
    keys: dict[str, tuple[Callable[[str, str, str], tuple[str, int]], int]] = {
        "the source's: hash of the rest": (source_key, 32),
        "ours: hash of the whole name": (own_key, 64),
    }
    for label, (key, bits) in keys.items():
        distinct = len({key("www", f"s{number:07d}", "com") for number in range(count)})
        table.add(label, count, count - distinct, count * count / 2 / 2**bits)
    return table


def _wrong_answers(count: int) -> int:
    """The names of `count` www.*.com in a cache that answers with another's address."""
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
    """A Bloom filter with as many names as it was made for."""

    names: int
    #: The share of mistakes that it was made for, and those of `_ASKED` names.
    error: float
    mistakes: int
    bytes: int
    #: For each name that was added.
    microseconds: float

    @property
    def measured(self) -> float:
        return self.mistakes / _ASKED


def _fill(count: int, error: float) -> Filled:
    known = BloomFilter(count, error)
    started = time.process_time()
    for number in range(count):
        known.add(names.host(number))
    taken = time.process_time() - started
    mistakes = sum(names.host(number) in known for number in range(count, count + _ASKED))
    return Filled(count, error, mistakes, known.size_bytes, taken / count * 1e6)


def _bloom_table(filters: list[Filled]) -> Table:
    mistakes = f"mistakes in {_ASKED:,}"
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
    axes.plot(ERRORS, ERRORS, linestyle="--", color="grey", label="as asked for")
    axes.set(xlabel="error made for", ylabel="error measured", xscale="log", yscale="log")
    axes.legend()
