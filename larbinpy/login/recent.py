"""Counts of texts, bounded: those that were counted least recently are forgotten."""

from collections import OrderedDict


class RecentCounts:
    """Counts of at most `most` texts."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, text: str) -> bool:
        return text in self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"<RecentCounts of {len(self)}>"

    def of(self, text: str) -> int:
        return self._counts.get(text, 0)

    def add(self, text: str, number: int = 1) -> int:
        """Count `text`; returns its new count."""
        count = self._counts[text] = self._counts.get(text, 0) + number
        self._counts.move_to_end(text)
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)
        return count
