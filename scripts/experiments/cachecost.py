"""What a name in memory costs: bytes, and microseconds to look it up.

    python -m experiments.cachecost KIND COUNT

Fills a table of KIND with COUNT names in a process of its own, as a process does not give
back all memory that it has used once, and prints one line of JSON.
"""

import gc
import json
import random
import sys
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from resource import getpagesize
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from experiments.names import address, host
from experiments.runs import PYTHON, run
from larbinpy.dns import NameCache

_DAY = 86400.0
# Look-ups at a time; and how many times, of which the fastest counts: what makes one slower
# than another is the rest of the machine.
_ASKED = 100_000
_TIMES = 7


class Table(Protocol):
    """Names with an address each."""

    def put(self, name: str, address: str) -> None: ...

    def look_up(self, names: Sequence[str]) -> None:
        """Look for each of `names`, in a loop that does nothing else."""

    def stats(self) -> dict[str, Any]: ...


class Compact:
    """The resolver's cache."""

    def __init__(self, count: int) -> None:
        self._cache = NameCache(count, 1000, _DAY)

    def put(self, name: str, address: str) -> None:
        self._cache.put(name, (address,), _DAY, 0.0)

    def look_up(self, names: Sequence[str]) -> None:
        get = self._cache.get
        for name in names:
            get(name, 1.0)

    def stats(self) -> dict[str, Any]:
        return self._cache.stats()


class Plain:
    """A dict of str, without time and without replacement."""

    def __init__(self, _count: int) -> None:
        self._names: dict[str, str] = {}

    def put(self, name: str, address: str) -> None:
        self._names[name] = address

    def look_up(self, names: Sequence[str]) -> None:
        get = self._names.get
        for name in names:
            get(name)

    def stats(self) -> dict[str, Any]:
        return {}


class Ordered:
    """The usual way to the same ends: an ordered dict of addresses and when they expire."""

    def __init__(self, _count: int) -> None:
        self._names: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()

    def put(self, name: str, address: str) -> None:
        self._names[name] = (_DAY + len(self._names), (address,))

    def look_up(self, names: Sequence[str]) -> None:
        for name in names:
            self.get(name, 1.0)

    def get(self, name: str, now: float) -> tuple[str, ...] | None:
        entry = self._names.get(name)
        if entry is None or now >= entry[0]:
            return None
        self._names.move_to_end(name)
        return entry[1]

    def stats(self) -> dict[str, Any]:
        return {}


KINDS: dict[str, type[Compact | Plain | Ordered]] = {
    "compact": Compact,
    "dict": Plain,
    "ordered": Ordered,
}


def cost(kind: str, count: int) -> dict[str, Any]:
    """`bytes` for each name, `microseconds` for each look-up that hits, and `stats`."""
    with TemporaryDirectory(prefix="cost-") as folder:
        out = Path(folder) / "out"
        run([PYTHON, "-m", "experiments.cachecost", kind, str(count)], out)
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def measure(kind: str, count: int) -> dict[str, Any]:
    """The same, in this process."""
    before = _resident()
    table = KINDS[kind](count)
    for number in range(count):
        table.put(host(number), address(number))
    size = (_resident() - before) / count
    return {"bytes": size, "microseconds": _time(table, count), "stats": table.stats()}


def _time(table: Table, count: int) -> float:
    rng = random.Random(1)
    asked = min(_ASKED, count)
    times = []
    for _ in range(_TIMES):
        # New strings each time: no hash of them is known yet, as with names out of pages.
        names = [host(number) for number in rng.choices(range(count), k=asked)]
        started = time.process_time()
        table.look_up(names)
        times.append(time.process_time() - started)
    return min(times) / asked * 1e6


def _resident() -> int:
    """Bytes of memory that this process occupies."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
