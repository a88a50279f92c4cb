"""Memory, speed, longest turn and time to reopen of seen and store with 100 million URLs.

Each part runs in its own process (`python -m experiments.scale seen|store COUNT`), so its memory
can be measured. It does the work of a crawl: batches of a page's links, regular checkpoints, and
one step of the background work each turn.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from experiments.plots import plot
from experiments.report import Report, Table, verdict
from experiments.runs import CLIENT, PYTHON, kept_on, resident_memory, say
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.storage.queues import Store
from larbinpy.storage.seen import Seen
from larbinpy.url import Url

#: Links of a page, and new ones among them.
PAGE = 100
NEW = 25
#: URLs between two checkpoints: five seconds of a fast crawl.
CHECKPOINT = 500_000

SITES = 100_000
#: Shares of the queued URLs: those of one site, and those of a thousand busy sites.
GIANT, HOT = 0.2, 0.2
#: URLs in memory while the queues are being emptied.
IN_MEMORY = 20_000

SEEN_BOUND, CHECKS_BOUND = 16.0, 1e6
THROUGH_BOUND, TURN_BOUND, REOPEN_BOUND, FLAT_BOUND = 2e5, 0.05, 10.0, 0.1

ABOUT = f"""\
*seen* was given fingerprints in batches of {PAGE}: {NEW} new ones, and others that it had seen at
any time before. *store* was given URLs of {SITES:,} sites, a fifth of them of one site and another
fifth of a thousand sites. Then all were taken, with {IN_MEMORY:,} in memory at a time. A checkpoint
followed every {CHECKPOINT:,} URLs. A turn is a batch, a cut or one wait for the disk. Bytes are
resident memory beyond that of the empty program."""


class Clock:
    """Measures turns: the sum of their times, and the longest."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.longest = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        took = time.perf_counter() - began
        self.seconds += took
        self.longest = max(self.longest, took)


def run(out: Path, *, quick: bool, urls: int, queued: int) -> str:
    """Measure all; returns the tables."""
    if quick:
        urls, queued = urls // 100, queued // 100
    report = Report(out, "scale", ABOUT)
    seen = _apart("seen", urls)
    report.table(_seen_table(seen))
    store = _apart("store", queued)
    for table in _store_tables(store):
        report.table(table)
    report.note("\n".join(_verdicts(seen, store)))
    plot(report.path(".png"), partial(_draw_seen, seen), partial(_draw_store, store))
    return report.close()


def _apart(part: str, count: int) -> dict[str, Any]:
    say(f"  {part}: {count:,} URLs")
    command = [PYTHON, "-m", "experiments.scale", part, str(count)]
    with kept_on(CLIENT):
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# -- seen


def measure_seen(count: int, folder: Path) -> dict[str, Any]:
    seen = Seen(folder, "seen")
    empty = resident_memory()
    rng = random.Random(1)
    sample = array("Q", rng.randbytes(8 * PAGE))
    clock, saving, growth = Clock(), Clock(), []
    seen.add(sample)
    mark = seen.cut()
    while len(seen) < count:
        for _ in range(CHECKPOINT // NEW):
            fresh = array("Q", rng.randbytes(8 * NEW))
            known = rng.choices(sample, k=PAGE - NEW)
            with clock.turn():
                seen.add([*known, *fresh])
                seen.step()
            sample.append(fresh[0])
        mark = _checkpoint(seen, saving)
        growth.append((len(seen), (resident_memory() - empty) / len(seen)))
    checks = PAGE * (len(growth) * (CHECKPOINT // NEW))
    del seen
    began = time.perf_counter()
    again = Seen(folder, "seen")
    again.load(mark)
    reopened = time.perf_counter() - began
    assert all(fingerprint in again for fingerprint in sample[-1000:])
    return {
        "urls": len(again),
        "bytes": growth,
        "checks": checks / clock.seconds,
        "turn": clock.longest,
        "saving": saving.longest,
        "reopened": reopened,
    }


def _checkpoint(part: Any, clock: Clock) -> Any:
    with clock.turn():
        mark = part.cut()
    with clock.turn():
        part.sync()
    with clock.turn():
        part.tidy(mark)
    return json.loads(json.dumps(mark))


# -- store


def measure_store(count: int, folder: Path) -> dict[str, Any]:
    store = Store(folder)
    sequencer = Sequencer(store, 10_000)
    empty = resident_memory()
    sites = random_sites()
    putting, saving, memory = Clock(), Clock(), []
    for start in range(0, count, CHECKPOINT):
        for first in range(start, start + CHECKPOINT, PAGE):
            urls = page_urls(sites, first)
            with putting.turn():
                for url in urls:
                    sequencer.put(url)
                store.spill()
        mark = _checkpoint(store, saving)
        memory.append((len(store), resident_memory() - empty))
    began = time.perf_counter()
    Store(folder).load(mark)
    reopened = time.perf_counter() - began
    taking = _empty(store, sequencer, saving)
    return {
        "urls": count,
        "memory": memory,
        "put": count / putting.seconds,
        "taken": count / taking.seconds,
        "through": count / (putting.seconds + taking.seconds),
        "turn": max(putting.longest, taking.longest),
        "saving": saving.longest,
        "reopened": reopened,
        "end": resident_memory() - empty,
    }


def random_sites() -> list[int]:
    """The sites of a million URLs."""
    rng = random.Random(1)
    return [_site(rng) for _ in range(1 << 20)]


def page_urls(sites: list[int], first: int) -> list[Url]:
    """URLs of a page, numbered from `first`, with `sites` in turn."""
    return [_url(sites[n % len(sites)], n) for n in range(first, first + PAGE)]


def _site(rng: random.Random) -> int:
    draw = rng.random()
    if draw < GIANT:
        return 0
    return rng.randrange(1000) if draw < GIANT + HOT else rng.randrange(SITES)


def _url(site: int, number: int) -> Url:
    base = f"http://www.site{site}.example"
    return Url(f"{base}/some/folder/page{number}.html", 3, f"{base}/index.html")


def _empty(store: Store, sequencer: Sequencer, saving: Clock) -> Clock:
    """Take all URLs; a URL is decided after `IN_MEMORY` others were taken."""
    clock = Clock()
    held: deque[Url] = deque()
    left = CHECKPOINT
    while len(store) or held:
        with clock.turn():
            before = len(held)
            held.extend(sequencer.take(PAGE))
            taken = len(held) - before
            while held and (len(held) > IN_MEMORY or not taken):
                sequencer.done(held.popleft())
                taken += 1
        left -= taken
        if left <= 0:
            _checkpoint(store, saving)
            left = CHECKPOINT
    return clock


# -- tables and plots


def _seen_table(seen: dict[str, Any]) -> Table:
    table = Table("seen", "URLs", "bytes a URL")
    sizes = seen["bytes"]
    for n in sorted({*range(0, len(sizes), max(1, len(sizes) // 10)), len(sizes) - 1}):
        table.add(*sizes[n])
    return table


def _store_tables(store: dict[str, Any]) -> Iterator[Table]:
    table = Table("store: memory", "URLs queued", "MB")
    memory = store["memory"]
    for n in sorted({1, *range(0, len(memory), max(1, len(memory) // 10)), len(memory) - 1}):
        if n < len(memory):
            table.add(memory[n][0], memory[n][1] / 1e6)
    yield table
    table = Table("store: speed", "URLs", "queued/s", "taken/s", "through/s")
    table.add(store["urls"], store["put"], store["taken"], store["through"])
    yield table


def _verdicts(seen: dict[str, Any], store: dict[str, Any]) -> Iterator[str]:
    widest = max(each for size, each in seen["bytes"])
    memory = [each for size, each in store["memory"] if size >= 10**6] or [1]
    spread = max(memory) / min(memory) - 1
    turn = max(seen["turn"], store["turn"], seen["saving"], store["saving"])
    reopened = max(seen["reopened"], store["reopened"])
    yield verdict(widest <= SEEN_BOUND, f"seen: at most {SEEN_BOUND:g} bytes a URL: {widest:.1f}")
    yield verdict(seen["checks"] >= CHECKS_BOUND, f"seen: checks/s: {seen['checks']:,.0f}")
    yield verdict(spread <= FLAT_BOUND, f"store: memory from 1 million on: +{spread:.1%}")
    yield verdict(store["through"] >= THROUGH_BOUND, f"URLs/s: {store['through']:,.0f}")
    yield verdict(turn <= TURN_BOUND, f"the longest turn: {turn * 1000:.1f} ms")
    yield verdict(reopened <= REOPEN_BOUND, f"reopened in {reopened:.1f} s")


def _draw_seen(seen: dict[str, Any], axes: Axes) -> None:
    axes.plot(*zip(*seen["bytes"], strict=True))
    axes.axhline(SEEN_BOUND, linestyle="--", color="grey", label="promised")
    axes.set(title="seen", xlabel="URLs", ylabel="bytes a URL", ylim=(0, 24))


def _draw_store(store: dict[str, Any], axes: Axes) -> None:
    sizes, memory = zip(*store["memory"], strict=True)
    axes.plot(sizes, [each / 1e6 for each in memory])
    axes.set(title="store", xlabel="URLs queued", ylabel="MB", ylim=(0, None))


def main(part: str, count: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="scale-", dir=Path.cwd()))
    try:
        measure = measure_seen if part == "seen" else measure_store
        print(json.dumps(measure(int(count), folder)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
