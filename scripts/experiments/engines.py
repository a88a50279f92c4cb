"""The same queues and the same set of fingerprints in larbinpy's files, in SQLite and in LMDB.

Each measurement runs in its own process (`python -m experiments.engines PART ENGINE COUNT`). The
engines take turns in each round, so that other load on the machine affects all alike.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

from experiments.databases import LmdbRows, LmdbSeen, Queues, SqliteRows, SqliteSeen
from experiments.report import Report, Table
from experiments.runs import PYTHON, resident_memory, say, warn_of_load
from experiments.scale import IN_MEMORY, NEW, PAGE, page_urls, random_sites
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.storage.files import write_atomic
from larbinpy.storage.seen import Seen
from larbinpy.storage.store import Store
from larbinpy.url import Url

ENGINES = ("larbinpy", "sqlite", "lmdb")
#: URLs put before as many are taken, and fingerprints.
QUEUED, SEEN = (1_000_000, 4_000_000), (1_000_000, 10_000_000)
# Nanoseconds on a core, nanoseconds of waiting for one, and number of waits (Linux, sched-stats).
_SCHEDULED = os.open("/proc/self/schedstat", os.O_RDONLY)
#: New URLs between two checkpoints: five seconds of 1,000 pages a second.
CHECKPOINT = 125_000

ABOUT = f"""\
*queues*: URLs of 100,000 sites were put, {PAGE} a turn; a fifth of them were of one site, another
fifth of a thousand sites. Then as many again were put while as many were taken, {PAGE} of each a
turn, by larbinpy's sequencer with {IN_MEMORY:,} in memory. *seen*: fingerprints were added in
batches of {PAGE}, {NEW} of them new. A checkpoint with its fsync followed every {CHECKPOINT:,} new
URLs, in the loop. Microseconds are CPU time for each URL put or taken, or for each check. A turn is
a batch or a step of a checkpoint; its milliseconds are wall-clock time without the time in which
the process waited for a core. *disk* is the largest size of the files and *written* is everything
written to the disk, both for each URL put. *reopened* is the time until the first batch, with the
files in the system's cache."""


class Queue(Protocol):
    """A store with its own checkpoints."""

    def put(self, url: Url) -> None: ...

    def spill(self) -> None: ...

    def __len__(self) -> int: ...

    def save(self) -> Iterator[None]:
        """Make a durable checkpoint; yields between turns."""

    def close(self) -> None: ...


class Set(Protocol):
    def add(self, batch: list[int]) -> list[bool]: ...

    def save(self) -> Iterator[None]: ...

    def close(self) -> None: ...


class LarbinpyQueue(Store):
    """larbinpy's store, with a manifest that makes its marks durable."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._manifest = folder / "state.json"
        if self._manifest.exists():
            self.load(json.loads(self._manifest.read_bytes()))

    def save(self) -> Iterator[None]:
        yield from _save(self, self._manifest)


class LarbinpySeen(Seen):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "seen")
        self._manifest = folder / "state.json"
        if self._manifest.exists():
            self.load(json.loads(self._manifest.read_bytes()))

    def add(self, batch: Any) -> list[bool]:
        fresh = super().add(batch)
        self.step()
        return fresh

    def save(self) -> Iterator[None]:
        yield from _save(self, self._manifest)

    def close(self) -> None:
        """Does nothing, because no file is open."""


def _save(part: Any, manifest: Path) -> Iterator[None]:
    mark = part.cut()
    yield
    part.sync()
    yield
    write_atomic(manifest, [json.dumps(mark).encode()])
    yield
    part.tidy(mark)


QUEUES: dict[str, Callable[[Path], Queue]] = {
    "larbinpy": LarbinpyQueue,
    "sqlite": lambda folder: Queues(SqliteRows(folder)),
    "lmdb": lambda folder: Queues(LmdbRows(folder)),
}
SETS: dict[str, Callable[[Path], Set]] = {
    "larbinpy": LarbinpySeen,
    "sqlite": SqliteSeen,
    "lmdb": LmdbSeen,
}


class Clock:
    """Measures turns: the sum of their CPU times, and the longest by wall-clock time.

    Time in which the process waited for a core does not count.
    """

    def __init__(self) -> None:
        self.cpu = 0.0
        self.longest = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        began, used = _running(), time.process_time()
        yield
        self.cpu += time.process_time() - used
        self.longest = max(self.longest, _running() - began)

    def checkpoint(self, part: Queue | Set) -> None:
        steps, more = part.save(), True
        while more:
            with self.turn():
                more = next(steps, self) is not self


def _running() -> float:
    """Wall-clock time without the time in which the process waited for a core (s)."""
    waited = int(os.pread(_SCHEDULED, 100, 0).split()[1])
    return time.perf_counter() - waited / 1e9


class Disk:
    """The largest size of a folder, and all bytes written by the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = self._written()
        self.most = 0

    def measure(self) -> None:
        files = [path for path in self._folder.rglob("*") if path.is_file()]
        self.most = max(self.most, sum(path.stat().st_blocks * 512 for path in files))

    @property
    def written(self) -> int:
        return self._written() - self._before

    @staticmethod
    def _written() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["write_bytes"])


def measure_queues(engine: str, count: int, folder: Path) -> dict[str, float]:
    queue = QUEUES[engine](folder)
    sequencer = Sequencer(cast(Store, queue), 10_000)
    sites = random_sites()
    putting, taking, saving, disk = Clock(), Clock(), Clock(), Disk(folder)
    held: deque[Url] = deque()
    for first in range(0, 2 * count, PAGE):
        urls = page_urls(sites, first)
        with putting.turn():
            for url in urls:
                sequencer.put(url)
            queue.spill()
        if first >= count:
            with taking.turn():
                held.extend(sequencer.take(PAGE))
                while len(held) > IN_MEMORY:
                    sequencer.done(held.popleft())
        if (first + PAGE) % CHECKPOINT == 0:
            saving.checkpoint(queue)
            disk.measure()
    saving.checkpoint(queue)
    left, taken = len(queue) + len(held), count
    queue.close()
    opening = Clock()
    with opening.turn():
        queue = QUEUES[engine](folder)
        again = Sequencer(cast(Store, queue), 10_000)
        again.resume()
        assert len([*again.take(PAGE)]) == PAGE
    assert len(queue) + PAGE == left
    queue.close()
    return {
        "put": putting.cpu / (2 * count) * 1e6,
        "take": taking.cpu / taken * 1e6,
        "checkpoints": saving.cpu / (2 * count) * 1e6,
        "turn": max(putting.longest, taking.longest) * 1e3,
        "saving": saving.longest * 1e3,
        "disk": disk.most / (2 * count),
        "written": disk.written / (2 * count),
        "reopened": opening.longest * 1e3,
    }


def measure_seen(engine: str, count: int, folder: Path) -> dict[str, float]:
    rng = random.Random(1)
    sample = array("Q", rng.randbytes(8 * PAGE))
    empty = resident_memory()
    seen = SETS[engine](folder)
    seen.add(sample.tolist())
    adding, saving, disk = Clock(), Clock(), Disk(folder)
    for number in range(NEW, count + 1, NEW):
        fresh = rng.randbytes(8 * NEW)
        batch = [*rng.choices(sample, k=PAGE - NEW), *array("Q", fresh)]
        with adding.turn():
            found = seen.add(batch)
        assert sum(found) == NEW
        sample.append(batch[-1])
        if number % CHECKPOINT == 0:
            saving.checkpoint(seen)
            disk.measure()
    memory = resident_memory() - empty - 8 * len(sample)
    saving.checkpoint(seen)
    seen.close()
    opening = Clock()
    with opening.turn():
        seen = SETS[engine](folder)
        assert not any(seen.add(sample[-PAGE:].tolist()))
    seen.close()
    return {
        "check": adding.cpu / (count / NEW * PAGE) * 1e6,
        "checkpoints": saving.cpu / (count / NEW * PAGE) * 1e6,
        "turn": adding.longest * 1e3,
        "saving": saving.longest * 1e3,
        "memory": memory / count,
        "disk": disk.most / count,
        "written": disk.written / count,
        "reopened": opening.longest * 1e3,
    }


MEASURES = {"queues": measure_queues, "seen": measure_seen}
_COMMON = {
    "checkpoints": "checkpoints, us",
    "turn": "longest turn, ms",
    "saving": "in a checkpoint, ms",
    "disk": "disk, bytes",
    "written": "written, bytes",
    "reopened": "reopened, ms",
}
COLUMNS = {
    "queues": {"put": "put, us", "take": "taken, us", **_COMMON},
    "seen": {"check": "check, us", **_COMMON, "memory": "memory, bytes"},
}


def run(
    out: Path, *, quick: bool, queued: tuple[int, ...], seen: tuple[int, ...], rounds: int
) -> str:
    """Measure all; returns the tables."""
    if quick:
        queued = seen = (CHECKPOINT,)
        rounds = 1
    warn_of_load()
    report = Report(out, "engines", ABOUT)
    report.table(_measured("queues", queued, rounds))
    report.table(_measured("seen", seen, rounds))
    return report.close()


def _measured(part: str, sizes: tuple[int, ...], rounds: int) -> Table:
    columns = COLUMNS[part]
    table = Table(part, "URLs", "engine", *columns.values())
    for count in sizes:
        found: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
        for number in range(rounds):
            for engine in ENGINES:
                say(f"  {part}, {count:,}, round {number + 1}: {engine}")
                found[engine].append(_apart(part, engine, count))
        for engine, each in found.items():
            table.add(count, engine, *(statistics.median(one[c] for one in each) for c in columns))
    return table


def _apart(part: str, engine: str, count: int) -> dict[str, float]:
    command = [PYTHON, "-m", "experiments.engines", part, engine, str(count)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(part: str, engine: str, count: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="engines-", dir=Path.cwd()))
    try:
        print(json.dumps(MEASURES[part](engine, int(count), folder)))
    finally:
        shutil.rmtree(folder)
        # The next process must not wait for writes of this one.
        os.sync()


if __name__ == "__main__":
    main(*sys.argv[1:])
