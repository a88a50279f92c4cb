"""What a running crawl counts: totals, histograms, histories, and the usage of the process.

- `Stats` has the totals; parts of the crawl add to it.
- `Histogram` counts durations by fixed bounds, cheap enough for every request.
- `History` has series over the last minute, hour and day: 216 numbers each. Each span is a ring of
  cells of a second, a minute or a quarter of an hour. A cell holds counts per second, the last
  value of a level (a queue, the memory) and the highest of a peak: a plot of a day shows the
  longest turn of the loop, not the mean of all.
- `Forecast` says how long the crawl will take by its pace so far; nothing where that tells nothing.
"""

import resource
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import NamedTuple

from larbinpy.page import Fate, Outcome, Page, Trait, having

#: Upper bounds in seconds for the durations of a request, of a name lookup (from the crawl's
#: question to the answer) and of a turn of the loop.
FETCH = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
NAME = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0)
TURN = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


class Histogram:
    """Durations in seconds, counted by `bounds`: up to and including each, longer ones last."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def __repr__(self) -> str:
        return f"<Histogram {sum(self._counts)} observations, {self._sum:.3f} s>"

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    def describe(self) -> dict[str, object]:
        """`bounds_s`, `counts` (one more than bounds), their `count`, and `sum_s`."""
        return {
            "bounds_s": list(self._bounds),
            "counts": list(self._counts),
            "count": sum(self._counts),
            "sum_s": round(self._sum, 6),
        }


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time before now, in cells."""

    name: str
    #: Seconds of a cell.
    step: float
    cells: int


SPANS = (Span("minute", 1, 60), Span("hour", 60, 60), Span("day", 900, 96))
#: The cell that is being filled is shown once this share of its time is over.
_SHOWN_FROM = 0.25
#: Seconds by which a cell may be shorter, as the clock is not read at exact seconds.
_SLACK = 0.05


class _Ring:
    """The complete cells of one span, and the cell that is being filled."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self._cells: dict[str, deque[float]] = {}
        self._begin()

    def _begin(self) -> None:
        self._elapsed = 0.0
        self._counts: dict[str, float] = {}
        self._levels: dict[str, float] = {}
        self._peaks: dict[str, float] = {}

    def add(
        self,
        elapsed: float,
        counts: Mapping[str, float],
        levels: Mapping[str, float],
        peaks: Mapping[str, float],
    ) -> None:
        self._elapsed += elapsed
        for name, count in counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
        self._levels.update(levels)
        for name, peak in peaks.items():
            self._peaks[name] = max(self._peaks.get(name, peak), peak)
        if self._elapsed >= self.span.step - _SLACK:
            self._end()

    def _end(self) -> None:
        # If the process was suspended (SIGSTOP) for an hour, all cells of that hour are filled.
        times = min(max(round(self._elapsed / self.span.step), 1), self.span.cells)
        for name, value in self._current().items():
            cells = self._cells.setdefault(name, deque(maxlen=self.span.cells))
            cells.extend([value] * times)
        self._begin()

    def _current(self) -> dict[str, float]:
        per_second = {name: round(count / self._elapsed, 2) for name, count in self._counts.items()}
        return {**per_second, **self._levels, **self._peaks}

    def series(self) -> dict[str, list[float]]:
        series = {name: list(cells) for name, cells in self._cells.items()}
        if self._elapsed >= self.span.step * _SHOWN_FROM:
            for name, value in self._current().items():
                series[name] = [*series.get(name, ()), value][-self.span.cells :]
        return series

    def last(self, cells: int) -> dict[str, list[float]]:
        return {name: list(values)[-cells:] for name, values in self._cells.items()}


class History:
    """Series by name, over each of `SPANS`."""

    def __init__(self, now: float) -> None:
        self._rings = [_Ring(span) for span in SPANS]
        self._at = now

    def add(
        self,
        now: float,
        counts: Mapping[str, float],
        levels: Mapping[str, float],
        peaks: Mapping[str, float],
    ) -> None:
        """Add the counts since the last call, with the levels and peaks of now."""
        elapsed, self._at = max(now - self._at, 0.0), now
        for ring in self._rings:
            ring.add(elapsed, counts, levels, peaks)

    def rates(self, seconds: int) -> dict[str, float]:
        """Means over the last `seconds`, or over fewer if the crawl is younger."""
        last = self._rings[0].last(seconds)
        return {name: round(sum(cells) / len(cells), 2) for name, cells in last.items()}

    def describe(self) -> dict[str, object]:
        """By span: `step_s` of a cell, `cells` at most, and `series`, the newest last."""
        return {
            ring.span.name: {
                "step_s": ring.span.step,
                "cells": ring.span.cells,
                "series": ring.series(),
            }
            for ring in self._rings
        }


#: Files of a control group by the version of the interface: the limit, what is used, and the line
#: of "memory.stat" with what of that is only a cache of files.
_GROUPS = {
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    "": ("memory.max", "memory.current", "inactive_file"),
}


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_rss_bytes() -> int:
    """Peak of the resident memory, from /proc; from getrusage if there is no /proc.

    Linux counts both in kibibytes. ru_maxrss includes the process before its exec, a copy of
    its parent.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rss_bytes() -> int:
    """Resident memory now, from /proc; the peak if there is no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return peak_rss_bytes()
    return pages * resource.getpagesize()


def mapped_bytes() -> int:
    """Address space that is in use, from /proc; 0 if there is no /proc."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 0


def available_bytes(root: Path = Path("/")) -> float:
    """Memory that is left, of the machine and of the control groups of this process.

    `root` has the folders proc and sys. Infinite if these do not say.
    """
    left: list[float] = []
    with suppress(OSError, LookupError, ValueError):
        left.append(_line(root / "proc/meminfo", "MemAvailable:") * 1024)
    for folder, names in _groups(root):
        # There is no limit, or "max".
        with suppress(OSError, LookupError, ValueError):
            limit, used = (int((folder / name).read_text()) for name in names[:2])
            left.append(limit - used + _line(folder / "memory.stat", names[2]))
    return min(left, default=inf)


def _groups(root: Path) -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The folders of the control groups of this process, with the names of their files.

    Seen from a container the path of its group may be that of the machine, with the folder at the
    top.
    """
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    for line in lines:
        _, kinds, path = line.split(":", 2)
        for kind in _GROUPS.keys() & kinds.split(","):
            top = root / "sys/fs/cgroup" / kind
            folder = top / path.strip("/")
            yield from ((each, _GROUPS[kind]) for each in (folder, *folder.parents))


def _line(file: Path, name: str) -> int:
    """The number in the line of a file that begins with `name`. Raises `KeyError`."""
    lines = dict(line.split()[:2] for line in file.read_text().splitlines())
    return int(lines[name])


#: Seconds between two samples, and their number: at most the last ten minutes are looked at.
_EVERY = 5.0
_SAMPLES = 120
#: The pace is that of the last minute, or of a longer time with this many URLs.
_MINUTE = 60.0
_ENOUGH = 20
#: The pace is not known before this many URLs and seconds.
_LEAST = 10
_YOUNG = 20.0
#: The pace is steady if that of one half of the time is at most this many times the other's.
_STEADY = 2.0
#: A time longer than this (s) is no forecast.
_LONGEST = 30 * 24 * 3600.0


class _Sample(NamedTuple):
    at: float
    decided: int
    success: int
    queued: int


class Forecast:
    """The time that is left, from samples of the counters."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=_SAMPLES)

    def add(self, now: float, decided: int, success: int, queued: int) -> None:
        """Note the counts at `now`: decided URLs, pages, and URLs that wait."""
        if not self._samples or now - self._samples[-1].at >= _EVERY:
            self._samples.append(_Sample(now, decided, success, queued))

    def to_pages(self, missing: int) -> float | None:
        """Seconds until `missing` more pages are fetched; None if the pace is not steady."""
        return _time(missing, self._latest(), lambda sample: sample.success)

    def to_end(self) -> float | None:
        """Seconds until no URL waits; None if the queue does not shrink steadily.

        While pages still link to many new URLs, the length of the queue says nothing: it must
        shrink by at least half of what is fetched.
        """
        samples = self._latest()
        if not samples or samples[0].queued - samples[-1].queued < _decided(samples) / 2:
            return None
        return _time(samples[-1].queued, samples, lambda sample: -sample.queued)

    def _latest(self) -> list[_Sample]:
        """The samples of the time whose pace counts."""
        samples = list(self._samples)
        for first in range(len(samples) - 1, 0, -1):
            chosen = samples[first:]
            if chosen[-1].at - chosen[0].at >= _MINUTE and _decided(chosen) >= _ENOUGH:
                return chosen
        return samples


def _decided(samples: list[_Sample]) -> int:
    return samples[-1].decided - samples[0].decided


def _time(missing: int, samples: list[_Sample], count: Callable[[_Sample], int]) -> float | None:
    """Seconds until `count` has grown by `missing` at the pace of the samples."""
    # The first half of fewer samples has no time.
    if len(samples) < 3:
        return None
    first, middle, last = samples[0], samples[len(samples) // 2], samples[-1]
    grown, between = count(last) - count(first), last.at - first.at
    if between < _YOUNG or grown < _LEAST:
        return None
    before = (count(middle) - count(first)) / (middle.at - first.at)
    after = (count(last) - count(middle)) / (last.at - middle.at)
    if min(before, after) * _STEADY < max(before, after):
        return None
    left = missing * between / grown
    return left if left <= _LONGEST else None


#: Entries in each list of recent URLs that the status page shows.
_RECENT = 50
#: Seeds that are named if they are not fetched.
_SEEDS = 20
#: Broken links that the status page shows.
_LINKS = 100
#: Seconds over which a rate is averaged.
_SPAN = 10

_FAULTS = having(Trait.FAULT)
_REFUSALS = having(Trait.ROBOTS)
_ORDINARY = having(Trait.ORDINARY)
_BROKEN = having(Trait.BROKEN)
#: Counts that have a rate.
_RATES = ("pages", "success", "failed", "bytes", "links", "names")


class Stats:
    """All that the engine counts."""

    def __init__(self, started: float, wall: float) -> None:
        #: Time of the start, by the engine's clock and as Unix time.
        self.started = started
        self.started_wall = wall
        #: Replies to requests for pages; those of robots.txt are the frontier's count.
        self.pages = 0
        self.links = 0
        self.bytes_received = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.recent: deque[Fate] = deque(maxlen=_RECENT)
        #: The last URLs that failed.
        self.failures: deque[Fate] = deque(maxlen=_RECENT)
        #: The last URLs that a robots.txt refused.
        self.refusals: deque[Fate] = deque(maxlen=_RECENT)
        #: The last URLs that other visitors do not get either.
        self.broken: deque[Fate] = deque(maxlen=_LINKS)
        #: Pages that went to the outputs.
        self.kept = 0
        #: Seeds that were not fetched, and the lines about them that were not said yet.
        self.seeds_lost = 0
        self._seed_lines: list[str] = []
        self.history = History(started)
        self.forecast = Forecast()
        self._before: Counter[str] = Counter()
        #: Durations of all requests, those for robots.txt included.
        self.fetches = Histogram(FETCH)
        self.turns = Histogram(TURN)
        self.lag = 0.0
        # The longest turn before the last call of `second`, and since then.
        self._lag_before = self._lag_lately = 0.0

    @property
    def success(self) -> int:
        return self.outcomes[Outcome.SUCCESS]

    def received(self, page: Page) -> None:
        """Count a transfer that has ended."""
        self.bytes_received += page.received
        self.fetches.observe(page.ms / 1000)
        self.pages += page.url.purpose.owner is None and page.status > 0 and not page.vain

    def decided(self, outcome: Outcome, fate: Fate) -> None:
        """Count a URL whose outcome is decided."""
        self.outcomes[outcome] += 1
        self.recent.append(fate)
        if outcome in _REFUSALS:
            self.refusals.append(fate)
        elif outcome not in _ORDINARY:
            self.failures.append(fate)
            if outcome in _BROKEN:
                self.broken.append(fate)

    def lost_seed(self, line: str) -> None:
        """Note a seed that was not fetched; a line says it and why."""
        self.seeds_lost += 1
        if self.seeds_lost <= _SEEDS:
            self._seed_lines.append(line)
        elif self.seeds_lost == _SEEDS + 1:
            self._seed_lines.append("more seeds were not fetched; larbinpy log names all")

    def take_seed_lines(self, *, at_end: bool = False) -> list[str]:
        """The lines about seeds since the last call.

        Before the first page they are kept back: a crawl that gets none says why anyway.
        """
        if not (self.success or at_end):
            return []
        lines, self._seed_lines = self._seed_lines, []
        return lines

    def turn_took(self, seconds: float) -> None:
        """Count a turn of the loop, during which sockets had to wait."""
        self.turns.observe(seconds)
        self.lag += (seconds - self.lag) / 50
        if seconds > self._lag_lately:
            self._lag_lately = seconds

    def second(self, now: float, names: int, queued: int, busy: int) -> None:
        """Extend the history; to be called once a second.

        `names` were answered since the start, `queued` URLs wait, and `busy` transfers run.
        """
        totals = {
            "pages": self.pages,
            "success": self.success,
            "failed": sum(self.outcomes[outcome] for outcome in _FAULTS),
            "bytes": self.bytes_received,
            "links": self.links,
            "names": names,
        }
        counts = {name: total - self._before[name] for name, total in totals.items()}
        levels = {"urls_queued": queued, "busy": busy, "rss_bytes": rss_bytes()}
        peaks = {"turn_ms": round(self._lag_lately * 1000, 3)}
        self.history.add(now, counts, levels, peaks)
        self.forecast.add(now, self.outcomes.total(), self.success, queued)
        self._before = Counter(totals)
        self._lag_before = self.lag_max
        self._lag_lately = 0.0

    @property
    def lag_max(self) -> float:
        """The longest turn so far (s)."""
        return max(self._lag_before, self._lag_lately)

    def rates(self) -> dict[str, float]:
        """Counts per second, averaged over the last ten seconds."""
        rates = self.history.rates(_SPAN)
        return {name: rates.get(name, 0.0) for name in _RATES}
