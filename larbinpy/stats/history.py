"""Series of a crawl over the last minute, hour and day: 216 numbers each.

Each span is a ring of cells of a second, a minute or a quarter of an hour. A cell holds counts
per second, the last value of a level (a queue, the memory) and the highest of a peak: a plot
of a day shows the longest turn of the loop, not the mean of all.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass


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

    def __repr__(self) -> str:
        return f"<History {self._rings[0].series()}>"

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
