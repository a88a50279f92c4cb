"""Ratios of larbinpy to other programs of the same run, their targets, and a baseline."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.runs import Spread

#: Largest loss of a ratio, as a share, that counts as noise.
TOLERANCE = 0.15


@dataclass(frozen=True, slots=True)
class Done:
    """A crawl of one program in one round."""

    #: Pages fetched, and pages of the web.
    pages: int
    expected: int
    seconds: float
    user_seconds: float
    system_seconds: float
    max_rss: int
    #: Requests counted by the server, and those for missing or disallowed URLs.
    requests: int
    lost: int

    @property
    def rate(self) -> float:
        """Pages a second."""
        return self.pages / self.seconds

    @property
    def cpu(self) -> float:
        """Microseconds of CPU time a page."""
        return self.user + self.system

    @property
    def user(self) -> float:
        """Microseconds of CPU time a page outside the kernel."""
        return self.user_seconds / max(self.pages, 1) * 1e6

    @property
    def system(self) -> float:
        """Microseconds of CPU time a page in the kernel."""
        return self.system_seconds / max(self.pages, 1) * 1e6

    @property
    def remark(self) -> str:
        """Deviations from a correct crawl; empty if there are none."""
        parts = []
        if self.pages < self.expected:
            parts.append(f"skipped {1 - self.pages / self.expected:.1%}")
        if self.pages > self.expected:
            parts.append(f"{self.pages - self.expected:,} pages too many")
        if self.pages > self.requests:
            parts.append(f"only {self.requests:,} requests")
        if self.lost:
            parts.append(f"{self.lost:,} disallowed or missing URLs")
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "pages_per_second": self.rate, "cpu_us_per_page": self.cpu}


@dataclass(frozen=True, slots=True)
class Ratio:
    """larbinpy's figure divided by that of another program, or the inverse."""

    label: str
    other: str
    #: Name of a property of Done.
    of: str
    #: Whether the ratio is other / larbinpy instead of larbinpy / other.
    inverse: bool = False
    more_is_better: bool = True
    #: Promised bound of the median; None for none.
    target: float | None = None

    def values(self, done: Mapping[str, Sequence[Done]]) -> list[float]:
        """One for each round."""
        pairs = zip(done["larbinpy"], done[self.other], strict=True)
        values = [getattr(ours, self.of) / getattr(theirs, self.of) for ours, theirs in pairs]
        return [1 / value for value in values] if self.inverse else values

    def found(self, done: Mapping[str, Sequence[Done]]) -> "Found":
        return Found(self.label, Spread.of(self.values(done)), self.more_is_better, self.target)


@dataclass(frozen=True, slots=True)
class Found:
    """A measured ratio."""

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
        """The promised bound, and whether it was met; empty without a bound."""
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
        """The ratio relative to `before`; below 1 if it is worse."""
        now = self.spread.median
        return now / before if self.more_is_better else before / now


Results = Mapping[str, Sequence[Found]]


class Unusable(Exception):
    """Raised for a baseline that cannot be compared with this run."""


def baseline(results: Results, quick: bool) -> str:
    """The medians of all ratios as the text of a baseline file."""
    ratios = {
        scenario: {found.label: round(found.spread.median, 3) for found in ratios}
        for scenario, ratios in results.items()
    }
    return json.dumps({"quick": quick, "ratios": ratios}, indent=1) + "\n"


@dataclass(frozen=True, slots=True)
class Change:
    """A ratio beside that of the baseline."""

    scenario: str
    label: str
    before: float
    now: float
    #: `now` relative to `before`; below 1 if it is worse.
    kept: float

    @property
    def lost(self) -> bool:
        return self.kept < 1 - TOLERANCE

    def verdict(self) -> str:
        """How much faster or slower larbinpy is, beside the other program."""
        share = f"{abs(self.kept - 1):.0%}"
        if self.kept >= 1:
            return f"{share} faster"
        return f"{share} slower{', LOST' * self.lost}"


def changes(results: Results, quick: bool, file: Path) -> list[Change]:
    """A change for each ratio of this run that `file` has.

    Raises Unusable if there is none.
    """
    try:
        stored = json.loads(file.read_text())
        before: dict[str, dict[str, float]] = stored["ratios"]
        as_quick = stored["quick"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unusable(f"{file}: no baseline ({error}); --save FILE writes one") from None
    if as_quick != quick:
        raise Unusable(f"{file}: made {'with' if as_quick else 'without'} --quick, unlike this run")
    found = list(_changes(results, before))
    if not found:
        raise Unusable(f"{file}: has no ratio of this run; --save FILE writes a baseline")
    return found


def _changes(results: Results, before: Mapping[str, Mapping[str, float]]) -> Iterator[Change]:
    for scenario, ratios in results.items():
        known = before.get(scenario, {})
        for found in ratios:
            if found.label in known:
                was, now = known[found.label], found.spread.median
                yield Change(scenario, found.label, was, now, found.kept(was))
