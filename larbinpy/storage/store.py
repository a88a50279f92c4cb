"""The store: what is known and not yet with its site, in queues on disk.

A new URL goes to the tail of a FIFO, ordinary or with priority. When its turn comes and its
site has as many URLs in memory as it may, it is set aside with those of its site, and a
site's own queue is read again when the site has room. So each URL is written once, or twice
where its site is a hot one; none is taken and put back over and over, and a hot site neither
fills the memory nor stands in anybody's way.

In memory are the ends of the FIFOs, a bounded number of lines that were set aside or read
again, some 300 bytes for each site with URLs set aside, and 8 to 16 for each of its blocks;
everything else is in `blocks`.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

from larbinpy.storage.blocks import Blocks, BlocksMark
from larbinpy.storage.queues import Backlogs, Fifo
from larbinpy.storage.sizes import STORE_SIZES, StoreSizes
from larbinpy.url import Url, site_of

_ORDINARY = "-"
_PRIORITY = "+"
_HURRIED, _SEED, _REQUISITE = 1, 2, 4


def encode(url: Url) -> str:
    """One line without its end. Canonical URLs hold no blank and no control character."""
    flags = url.priority * _HURRIED | url.seed * _SEED | url.requisite * _REQUISITE
    return f"{url.href} {url.depth} {url.hops} {flags} {url.via or '-'}"


def decode(line: str, place: int = 0) -> Url:
    """The URL in a line of `encode`; ValueError where it is none."""
    href, depth, hops, number, via = line.split(" ")
    url = Url(href, int(depth), None if via == "-" else via, 0, int(hops))
    url.place = place
    if number != "0":
        flags = int(number)
        url.priority = bool(flags & _HURRIED)
        url.seed = bool(flags & _SEED)
        url.requisite = bool(flags & _REQUISITE)
    return url


class Place(NamedTuple):
    """Where a URL is queued."""

    queue: str
    #: URLs that leave the queue before it.
    ahead: int


class Store:
    """The queues: priority and ordinary, each with what was set aside of it by site.

    A URL that left a queue for its site is still owed from its place in a block, until
    `leave`.
    """

    def __init__(self, folder: Path, sizes: StoreSizes = STORE_SIZES) -> None:
        self._blocks = Blocks(folder, sizes)
        self.priority = Fifo(self._blocks, _PRIORITY)
        self.ordinary = Fifo(self._blocks, _ORDINARY)
        self.priority_wait = Backlogs(self._blocks, _PRIORITY)
        #: Called with the place of a URL that left a queue, when its fate is decided.
        self.leave = self._blocks.leave
        self.ordinary_wait = Backlogs(self._blocks, _ORDINARY)

    def __repr__(self) -> str:
        return f"<Store {self.lengths()}>"

    def __len__(self) -> int:
        return sum(self.lengths().values())

    def lines(self) -> Iterator[str]:
        """The lines of all URLs, without taking them."""
        for queue in (self.priority, self.priority_wait, self.ordinary, self.ordinary_wait):
            yield from queue.lines()

    def lengths(self) -> dict[str, int]:
        return {
            "priority": len(self.priority),
            "ordinary": len(self.ordinary),
            "priority_wait": len(self.priority_wait),
            "ordinary_wait": len(self.ordinary_wait),
        }

    def find(self, href: str) -> Generator[None, None, Place | None]:
        """Look for a URL: yields after each block, returns where it is, None for nowhere.

        One that moves on meanwhile may be missed.
        """
        start, site = f"{href} ", site_of(href)
        queues = {
            "priority_wait": self.priority_wait.find(site, start),
            "ordinary_wait": self.ordinary_wait.find(site, start),
            "priority": self.priority.find(start),
            "ordinary": self.ordinary.find(start),
        }
        for name, search in queues.items():
            ahead = yield from search
            if ahead is not None:
                return Place(name, ahead)
        return None

    def put(self, url: Url) -> None:
        """Queue a new URL."""
        fifo = self.priority if url.priority else self.ordinary
        fifo.put(encode(url))

    def spill(self) -> None:
        """Bring to disk what need not be in memory."""
        self.priority.spill()
        self.ordinary.spill()

    def has_waiting(self, site: str) -> bool:
        """Are there URLs of `site` that were set aside?"""
        return site in self.ordinary_wait.sites or site in self.priority_wait.sites

    def waiting_sites(self) -> Iterator[str]:
        """The sites of which URLs were set aside."""
        yield from self.priority_wait.sites
        yield from self.ordinary_wait.sites

    # -- checkpoints

    def cut(self) -> BlocksMark:
        """Write what is in memory alone, and say what there is; `sync` makes it durable."""
        self.priority.write()
        self.ordinary.write()
        return self._blocks.cut()

    def sync(self) -> None:
        self._blocks.sync()

    def load(self, mark: BlocksMark) -> None:
        """Take up the queues at a cut; OSError or ValueError where a part is not whole.

        What had left a queue for its site by then is back at the head of that queue.
        """
        for position, queue, owed in self._blocks.load(mark):
            kind, site = queue[0], queue[1:]
            if site:
                waiting = self.priority_wait if kind == _PRIORITY else self.ordinary_wait
                waiting.loaded(site, position, owed)
            else:
                fifo = self.priority if kind == _PRIORITY else self.ordinary
                fifo.loaded(position, owed)

    def tidy(self, mark: BlocksMark) -> None:
        """Delete the files that neither `mark`, which is committed now, nor a queue needs."""
        self._blocks.tidy(mark)

    def clear(self) -> None:
        """Delete all files."""
        self._blocks.clear()

    def close(self) -> None:
        self._blocks.close()
