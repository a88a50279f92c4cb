"""The console's `watch`: a line for each URL as its outcome is decided.

A watcher that reads too slowly loses lines and gets their number, so its memory and time are
bounded.
"""

from collections import deque
from collections.abc import Iterator

from larbinpy.console.text import json_line
from larbinpy.page import Fate
from larbinpy.reason import reason

#: Bytes of lines kept for a watcher between two of its turns: a second of a fast crawl.
_ROOM = 1 << 18


class Watcher:
    """One client of `watch`, with the lines that were not sent to it yet."""

    def __init__(self, watchers: "Watchers", word: str) -> None:
        self._watchers = watchers
        self._word = word
        self._lower = word.lower()
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._lost = 0
        #: Lines that were taken, and lines that did not fit.
        self.given = 0
        self.lost = 0

    def __repr__(self) -> str:
        return f"<Watcher {self._word!r} given={self.given} lost={self.lost}>"

    @property
    def has_lines(self) -> bool:
        return bool(self._lines)

    def wants(self, fate: Fate) -> bool:
        """Whether the watched word is part of the URL, of the outcome, or of its reason."""
        return not self._word or self._word in fate.url or self._lower in _ending(fate)

    def note(self, line: bytes) -> None:
        if self._held < _ROOM and not self._lost:
            self._lines.append(line)
            self._held += len(line)
        else:
            self._lost += 1

    def take(self, most: int = _ROOM) -> Iterator[bytes]:
        """At most `most` lines; after the last one before a gap, the number of lost ones."""
        for _ in range(min(most, len(self._lines))):
            self.given += 1
            self._held -= len(self._lines[0])
            yield self._lines.popleft()
        if self._lost and not self._lines:
            self.lost += self._lost
            yield json_line({"lost": self._lost})
            self._lost = 0

    def close(self) -> None:
        self._watchers.leave(self)


class Watchers:
    """All watchers: a `FateSink`."""

    def __init__(self) -> None:
        self._watchers: list[Watcher] = []

    def __repr__(self) -> str:
        return f"<Watchers {self._watchers}>"

    def __len__(self) -> int:
        return len(self._watchers)

    def join(self, word: str) -> Watcher:
        """Add a watcher of URLs with this in their URL, outcome or reason; "" for all."""
        watcher = Watcher(self, word)
        self._watchers.append(watcher)
        return watcher

    def leave(self, watcher: Watcher) -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def write(self, fate: Fate) -> None:
        line = b""
        for watcher in self._watchers:
            if watcher.wants(fate):
                line = line or json_line(fate.as_dict())
                watcher.note(line)


def _ending(fate: Fate) -> str:
    return f"{fate.outcome} {reason(fate.outcome, fate.status, fate.detail)}".lower()
