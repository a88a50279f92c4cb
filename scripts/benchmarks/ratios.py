"""What is promised and compared: larbinpy beside another program of the same run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.runs import Spread

#: More than this share of a ratio lost is a loss and not noise.
TOLERANCE = 0.15


@dataclass(frozen=True, slots=True)
class Done:
    """A program that has crawled, in one round."""

    #: Pages it got, and how many there were to get.
    pages: int
    expected: int
    seconds: float
    cpu_seconds: float
    max_rss: int
    #: Requests that the server counted, and those for what is not there or closed.
    requests: int
    lost: int

    @property
    def rate(self) -> float:
        """Pages a second."""
        return self.pages / self.seconds

    @property
    def cpu(self) -> float:
        """Microseconds of processor time a page."""
        return self.cpu_seconds / max(self.pages, 1) * 1e6

    @property
    def remark(self) -> str:
        """What was not as it should be."""
        parts = []
        if self.pages < self.expected:
            parts.append(f"skipped {1 - self.pages / self.expected:.1%}")
        if self.pages > self.expected:
            parts.append(f"{self.pages - self.expected:,} pages too many")
        if self.pages > self.requests:
            parts.append(f"asked only {self.requests:,} times")
        if self.lost:
            parts.append(f"{self.lost:,} closed or missing URLs")
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "pages_per_second": self.rate, "cpu_us_per_page": self.cpu}


@dataclass(frozen=True, slots=True)
class Ratio:
    """larbinpy's figure divided by another's, or the reverse where less is better."""

    label: str
    other: str
    #: A property of Done.
    of: str
    #: Which way round: as it stands (larbinpy / other) or other / larbinpy.
    inverse: bool = False
    more_is_better: bool = True
    #: What is promised of the median; None for nothing.
    target: float | None = None
    #: Whose figure it is.
    ours: str = "larbinpy"

    def values(self, done: Mapping[str, Sequence[Done]]) -> list[float]:
        """One for each round."""
        pairs = zip(done[self.ours], done[self.other], strict=True)
        values = [getattr(ours, self.of) / getattr(theirs, self.of) for ours, theirs in pairs]
        return [1 / value for value in values] if self.inverse else values

    def found(self, done: Mapping[str, Sequence[Done]]) -> "Found":
        return Found(self.label, Spread.of(self.values(done)), self.more_is_better, self.target)


@dataclass(frozen=True, slots=True)
class Found:
    """A ratio as it was measured."""

    label: str
    spread: Spread
    more_is_better: bool
    target: float | None

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        if self.more_is_better:
            return self.spread.median >= self.target
        return self.spread.median <= self.target

    def verdict(self) -> str:
        """What was promised, and whether it is so."""
        if self.target is None:
            return ""
        bound = "at least" if self.more_is_better else "at most"
        return f"{'met' if self.met else 'MISSED'}: {bound} {self.target:g}"

    def as_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {**asdict(self.spread), "more_is_better": self.more_is_better}
        if self.target is not None:
            values |= {"target": self.target, "met": self.met}
        return values

    def kept(self, before: float) -> float:
        """How much there is left of a ratio that was `before`: 1 for all of it."""
        now = self.spread.median
        return now / before if self.more_is_better else before / now


Results = Mapping[str, Sequence[Found]]


class Unusable(Exception):
    """A baseline that says nothing about this run."""


def baseline(results: Results, quick: bool) -> str:
    """The medians of all ratios, as a file to compare with later."""
    ratios = {
        scenario: {found.label: round(found.spread.median, 3) for found in ratios}
        for scenario, ratios in results.items()
    }
    return json.dumps({"quick": quick, "ratios": ratios}, indent=1) + "\n"


def check(results: Results, quick: bool, file: Path) -> list[str]:
    """The ratios that have lost more than `TOLERANCE` of what they were in `file`, a line each.

    Raises Unusable where there is nothing to compare.
    """
    try:
        stored = json.loads(file.read_text())
        before: dict[str, dict[str, float]] = stored["ratios"]
        as_quick = stored["quick"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unusable(f"{file}: no baseline ({error}); --save FILE writes one") from None
    if as_quick != quick:
        raise Unusable(f"{file}: {'with' if as_quick else 'without'} --quick, this run is not so")
    pairs = list(_pairs(results, before))
    if not pairs:
        raise Unusable(f"{file}: knows no ratio of this run; --save FILE writes a baseline")
    return [
        f"{scenario}: {found.label} is {found.spread.median:.3g}, was {was:.3g}: "
        f"{1 - found.kept(was):.0%} lost"
        for scenario, found, was in pairs
        if found.kept(was) < 1 - TOLERANCE
    ]


def _pairs(
    results: Results, before: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, Found, float]]:
    """What both have: scenario, ratio, and what it was."""
    for scenario, ratios in results.items():
        known = before.get(scenario, {})
        for found in ratios:
            if found.label in known:
                yield scenario, found, known[found.label]
