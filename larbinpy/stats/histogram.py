"""Histograms of durations: counts by fixed bounds, cheap enough for every request."""

from bisect import bisect_left
from collections.abc import Sequence

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
