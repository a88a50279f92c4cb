"""The pages that have each link: a million pages with thirty broken links each fit into memory."""

from array import array
from collections.abc import Collection, Iterator

#: Flag of the last page of a run; the first one is before it.
_LAST = 1 << 31
#: Pages in one piece.
_PIECE = 1000
#: Bits of the map by which URLs that are there twice are noticed.
_BITS = 1 << 26


class PageUrls:
    """URLs of pages by number, in the order in which they were added."""

    def __init__(self) -> None:
        # One text with a newline after each; a str for each would take twice the memory.
        self._text = bytearray()
        self._starts = array("Q", [0])
        self._map = bytearray(_BITS // 8)
        self._repeated: set[str] = set()

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, url: str) -> None:
        """Add a URL, which may be there already."""
        self._text += url.replace("\n", "%0A").encode() + b"\n"
        self._starts.append(len(self._text))
        at, bit = divmod(hash(url) % _BITS, 8)
        if self._map[at] >> bit & 1:
            self._repeated.add(url)
        self._map[at] |= 1 << bit

    def between(self, first: int, last: int) -> list[str]:
        """The URLs from number `first` to `last`."""
        text = self._text[self._starts[first] : self._starts[last + 1] - 1]
        return text.decode().split("\n")

    def numbers(self, urls: Collection[str]) -> dict[str, list[int]]:
        """The numbers of those of `urls` that are there."""
        found: dict[str, list[int]] = {}
        for start in range(0, len(self) if urls else 0, _PIECE):
            end = min(start + _PIECE, len(self)) - 1
            for number, url in enumerate(self.between(start, end), start):
                if url in urls:
                    found.setdefault(url, []).append(number)
        return found

    def repeats(self) -> dict[int, int]:
        """For each number of a URL that is there several times, the first number of that URL."""
        found = self.numbers(self._repeated).values()
        return {each: some[0] for some in found if len(some) > 1 for each in some}


class PageNumbers:
    """Rising numbers of pages; runs of them take the space of two."""

    def __init__(self) -> None:
        self._runs = array("I")

    def __bool__(self) -> bool:
        return len(self._runs) > 0

    def add(self, first: int, last: int) -> None:
        """Add the numbers from `first` to `last`."""
        runs = self._runs
        before = runs[-1] & ~_LAST if runs else -2
        if before + 1 < first:
            runs.append(first)
        elif runs[-1] & _LAST:
            runs.pop()
        if before + 1 == first or last > first:
            runs.append(last | _LAST)

    def runs(self) -> Iterator[tuple[int, int]]:
        """The first and the last number of each run."""
        first = -1
        for number in self._runs:
            if number & _LAST:
                yield first, number & ~_LAST
                first = -1
            else:
                if first >= 0:
                    yield first, first
                first = number
        if first >= 0:
            yield first, first
