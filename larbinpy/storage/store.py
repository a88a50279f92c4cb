"""The store: the URLs that were not yet given to their sites, in queues on disk.

A new URL goes to the tail of a FIFO, ordinary or with priority. If its site has as many URLs in
memory as allowed when its turn comes, the URL is set aside in a queue of its site, which is read
again when the site has room. So each URL is written once, or twice if its site has many; none is
taken and put back repeatedly, and a site with many URLs neither fills the memory nor delays
others.

Kept in memory are the ends of the FIFOs, a bounded number of lines that were set aside or read
again, some 300 bytes for each site with URLs set aside, and 8 to 16 for each of its blocks;
everything else is in `blocks`.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

from larbinpy.storage.blocks import Blocks, BlocksMark
from larbinpy.storage.queues import Backlogs, Fifo
from larbinpy.storage.sizes import STORE_SIZES, StoreSizes
from larbinpy.storage.state import State
from larbinpy.url import Url, site_of

#: The key of a store in the manifest of the state.
KEY = "store"

_ORDINARY = "-"
_PRIORITY = "+"
_PRIORITY_BIT, _SEED_BIT, _REQUISITE_BIT = 1, 2, 4
#: Lines of earlier versions lack these bits.
_REDIRECT_BIT, _SITEMAP_BIT, _GUESS_BIT = 8, 16, 32
#: The bits above these are the origin.
_ORIGIN_SHIFT = 8


def encode(url: Url) -> str:
    """A URL as a line without newline. Canonical URLs have no blank and no control character."""
    flags = (
        url.priority * _PRIORITY_BIT
        | url.seed * _SEED_BIT
        | url.requisite * _REQUISITE_BIT
        | url.redirect * _REDIRECT_BIT
        | url.sitemap * _SITEMAP_BIT
        | url.guess * _GUESS_BIT
        | url.origin << _ORIGIN_SHIFT
    )
    return f"{url.href} {url.depth} {url.hops} {flags} {url.via or '-'}"


def decode(line: str, place: int = 0) -> Url:
    """The URL of a line of `encode`, read at `place`; ValueError for other lines."""
    href, depth, hops, number, via = line.split(" ")
    url = Url(href, int(depth), None if via == "-" else via, 0, int(hops))
    url.place = place
    if number != "0":
        flags = int(number)
        url.priority = bool(flags & _PRIORITY_BIT)
        url.seed = bool(flags & _SEED_BIT)
        url.requisite = bool(flags & _REQUISITE_BIT)
        url.redirect = bool(flags & _REDIRECT_BIT)
        url.sitemap = bool(flags & _SITEMAP_BIT)
        url.guess = bool(flags & _GUESS_BIT)
        url.origin = flags >> _ORIGIN_SHIFT
    return url


class Place(NamedTuple):
    """The position of a URL in a queue."""

    queue: str
    #: Number of URLs that leave the queue before it.
    ahead: int


class Store:
    """The queues: priority and ordinary, each with the URLs set aside from it by site.

    A URL that left a queue for its site is owed from its place in a block until `leave`.
    """

    def __init__(self, folder: Path, sizes: StoreSizes = STORE_SIZES) -> None:
        self._blocks = Blocks(folder, sizes)
        self.priority = Fifo(self._blocks, _PRIORITY)
        self.ordinary = Fifo(self._blocks, _ORDINARY)
        self.priority_wait = Backlogs(self._blocks, _PRIORITY)
        #: To be called with the place of a URL that left a queue, when its outcome is decided.
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
        """Look for a URL: yields after each block, returns its position, or None.

        A URL that moves to another queue meanwhile may be missed.
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
        """Write to disk the lines that need not be in memory."""
        self.priority.spill()
        self.ordinary.spill()

    def has_waiting(self, site: str) -> bool:
        """Whether URLs of `site` were set aside."""
        return site in self.ordinary_wait.sites or site in self.priority_wait.sites

    def waiting_sites(self) -> Iterator[str]:
        """The sites with URLs set aside; one may come twice."""
        yield from self.priority_wait.sites
        yield from self.ordinary_wait.sites

    # -- checkpoints

    def cut(self) -> BlocksMark:
        """Write the lines that are only in memory; return the mark, valid after `sync`."""
        self.priority.write()
        self.ordinary.write()
        return self._blocks.cut()

    def sync(self) -> None:
        self._blocks.sync()

    def load(self, mark: BlocksMark) -> None:
        """Load the queues as of a cut; OSError or ValueError if a file is damaged.

        URLs that had left a queue for their site are at the head of that queue again.
        """
        for position, queue, owed in self._blocks.load(mark):
            kind, site = queue[0], queue[1:]
            if site:
                waiting = self.priority_wait if kind == _PRIORITY else self.ordinary_wait
                waiting.restore(site, position, owed)
            else:
                fifo = self.priority if kind == _PRIORITY else self.ordinary
                fifo.restore(position, owed)

    def tidy(self, mark: BlocksMark) -> None:
        """Delete the files that neither `mark`, which is committed, nor a queue needs."""
        self._blocks.tidy(mark)

    def clear(self) -> None:
        """Delete all files."""
        self._blocks.clear()

    def close(self) -> None:
        self._blocks.close()


def owed_urls(state: State) -> Iterator[Url]:
    """The URLs that a stopped crawl still has to fetch. Raises `StateError`."""
    with state.reading() as manifest:
        store = Store(state.folder)
        store.load(manifest[KEY])
        yield from map(decode, store.lines())
