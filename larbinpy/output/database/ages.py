"""The age of the oldest page that waits for the database."""

from collections import deque
from typing import NamedTuple

#: Seconds between two samples of the spool; ages are right to this.
_EVERY = 1.0


class Ages:
    """When the records of a spool were fetched, by samples: the age of the oldest that waits."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()
        self._next = 0.0

    def __repr__(self) -> str:
        return f"<Ages {len(self._samples)} samples>"

    def added(self, record: int, at: float) -> None:
        """`record` was fetched at the Unix time `at`."""
        if at >= self._next or not self._samples:
            self._samples.append(_Sample(record, at))
            self._next = at + _EVERY

    def oldest(self, taken: int) -> float | None:
        """About when the record `taken` was fetched, the first that waits; None if unknown."""
        samples = self._samples
        while len(samples) > 1 and samples[1].record <= taken:
            samples.popleft()
        return samples[0].at if samples and samples[0].record <= taken else None


class _Sample(NamedTuple):
    record: int
    at: float
