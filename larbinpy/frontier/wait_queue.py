"""The wait queues: URLs of sites that already have as many as they may."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

from larbinpy.frontier.disk_queue import DiskQueue
from larbinpy.url import Url

#: A site that must wait holds up only those that share its lane.
_LANES = 64
#: URLs a segment: both ends of every lane are in memory.
_SEGMENT = 500


class WaitQueue:
    """A FIFO for each site, as far as that can be had with a fixed number of files.

    Sites are spread over lanes, each of them a `DiskQueue`; what is asked for is the first
    URL of any lane whose site has room by now.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.lanes = [DiskQueue(folder, f"{name}-{n:02d}", _SEGMENT) for n in range(_LANES)]
        self._filled: set[int] = set()
        #: URLs here, by site.
        self.sites: Counter[str] = Counter()
        self._turn = 0

    def __len__(self) -> int:
        return self.sites.total()

    def __repr__(self) -> str:
        return f"<WaitQueue {len(self)} URLs of {len(self.sites)} sites>"

    def __iter__(self) -> Iterator[Url]:
        """All URLs, without taking them."""
        for lane in self.lanes:
            yield from lane

    def put(self, url: Url) -> None:
        site = url.site
        number = crc32(site.encode()) % _LANES
        self.lanes[number].put(url)
        self._filled.add(number)
        self.sites[site] += 1

    def get(self, is_open: Callable[[str], bool]) -> Url | None:
        """Take a URL whose site is open, each lane in its turn; None where there is none."""
        number = self._first(is_open)
        if number is None:
            return None
        url = self.lanes[number].get()
        self._turn = number + 1
        if not len(self.lanes[number]):
            self._filled.discard(number)
        self.sites[url.site] -= 1
        if not self.sites[url.site]:
            del self.sites[url.site]
        return url

    def has(self, is_open: Callable[[str], bool]) -> bool:
        """Would `get` give a URL?"""
        return self._first(is_open) is not None

    def _first(self, is_open: Callable[[str], bool]) -> int | None:
        for number in sorted(self._filled, key=lambda n: (n - self._turn) % _LANES):
            first = self.lanes[number].peek()
            if first is not None and is_open(first.site):
                return number
        return None

    def blocked(self) -> Sequence[str]:
        """The sites at the heads of the lanes."""
        heads = (self.lanes[number].peek() for number in sorted(self._filled))
        return [url.site for url in heads if url is not None]

    def count_again(self) -> None:
        """Rebuild the counts from the lanes, after a load."""
        self.sites = Counter(url.site for url in self)
        self._filled = {n for n, lane in enumerate(self.lanes) if len(lane)}
