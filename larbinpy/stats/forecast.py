"""How long a crawl will take, from its pace so far; no number where the pace does not give one."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

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

    def __repr__(self) -> str:
        return f"<Forecast {len(self._samples)} samples>"

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
