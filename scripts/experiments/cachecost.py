"""Memory and lookup time of a name in the cache and in simpler tables.

    python -m experiments.cachecost KIND COUNT

Fills a table of KIND with COUNT names and prints one line of JSON. Each table has its own
process, because a process does not return all memory that it once used.
"""

import gc
import json
import random
import sys
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from experiments.names import address, host
from experiments.runs import PYTHON, resident_memory, run
from larbinpy.dns import NameCache

_DAY = 86400.0
# Lookups in a round, and rounds. The fastest round counts: other programs slow down the rest.
_LOOK_UPS = 100_000
_ROUNDS = 7


class Table(Protocol):
    """A table of names, each with an address."""

    def put(self, name: str, address: str) -> None: ...

    def look_up(self, names: Sequence[str]) -> None:
        """Look up each of `names` in a loop without other work."""

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
    """A dict of str, without expiry and without a limit."""

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
    """An ordered dict of addresses and expiry times, as usual for such a cache."""

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
    """`bytes` of a name, `microseconds` of a hit, and `stats`, measured in a new process."""
    with TemporaryDirectory(prefix="cost-") as folder:
        out = Path(folder) / "out"
        run([PYTHON, "-m", "experiments.cachecost", kind, str(count)], out)
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def measure(kind: str, count: int) -> dict[str, Any]:
    """As `cost`, in this process."""
    before = _memory()
    table = KINDS[kind](count)
    for number in range(count):
        table.put(host(number), address(number))
    size = (_memory() - before) / count
    return {"bytes": size, "microseconds": _time(table, count), "stats": table.stats()}


def _time(table: Table, count: int) -> float:
    rng = random.Random(1)
    look_ups = min(_LOOK_UPS, count)
    times = []
    for _ in range(_ROUNDS):
        # New strings have no cached hash, like names from pages.
        names = [host(number) for number in rng.choices(range(count), k=look_ups)]
        started = time.process_time()
        table.look_up(names)
        times.append(time.process_time() - started)
    return min(times) / look_ups * 1e6


def _memory() -> int:
    gc.collect()
    return resident_memory()


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
