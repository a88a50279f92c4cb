"""The store: the URLs that were not yet given to their sites, in queues on disk.

A new URL goes to the tail of a FIFO, ordinary or with priority. If its site has as many URLs in
memory as allowed when its turn comes, the URL is set aside in a queue of its site (`Backlogs`),
which is read again when the site has room. So each URL is written once, or twice if its site has
many; none is taken and put back repeatedly, and a site with many URLs neither fills the memory nor
delays others.

Kept in memory are the ends of the FIFOs, a bounded number of lines that were set aside or read
again, some 300 bytes for each site with URLs set aside, and 8 to 16 for each of its blocks;
everything else is in `blocks`.
"""

from array import array
from collections import OrderedDict, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from larbinpy.storage.blocks import Blocks, BlocksMark
from larbinpy.storage.caches import LruBudget
from larbinpy.storage.sizes import STORE_SIZES, StoreSizes
from larbinpy.storage.state import State
from larbinpy.url import GUESS, PAGE, SITEMAP, Url, site_of

#: A search for a line: yields after each block, returns how many lines precede it, or None.
Search = Generator[None, None, int | None]


def _search(
    blocks: Blocks, start: str, head: Iterable[str], unread: Sequence[int], tail: Iterable[str]
) -> Search:
    """Look for the line that begins with `start` in a queue that changes meanwhile.

    The arguments must not change. A line that has left the queue by then is not found.
    """
    before = 0
    for line in head:
        if line.startswith(start):
            return before
        before += 1
    for position in unread:
        owed, place = blocks.search(position, start)
        if place is not None:
            return before + place
        before += owed
        yield
    for line in tail:
        if line.startswith(start):
            return before
        before += 1
    return None


class Fifo:
    """The queue of new URLs of one kind: head and tail in memory, the middle in blocks."""

    def __init__(self, blocks: Blocks, name: str) -> None:
        self._blocks = blocks
        self._lines = blocks.sizes.lines
        self.name = name
        self._head: deque[tuple[int, str]] = deque()
        self.unread: deque[int] = deque()
        self._tail: list[str] = []
        #: Number of URLs; an attribute, because calling `len` takes ten times as long.
        self.length = 0

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"<Fifo {self.name} {self.length} URLs, {len(self.unread)} blocks>"

    def put(self, line: str) -> None:
        self._tail.append(line)
        self.length += 1

    def spill(self) -> None:
        """Write the lines that fill blocks; after an OSError they are still in memory."""
        self._write(len(self._tail) - len(self._tail) % self._lines)

    def write(self) -> None:
        """Write all lines of the tail."""
        self._write(len(self._tail))

    def _write(self, count: int) -> None:
        written = 0
        try:
            while written < count:
                lines = self._tail[written : written + self._lines]
                self.unread.append(self._blocks.append(self.name, lines))
                written += len(lines)
        finally:
            # One deletion for all, as it moves the other lines: seeds can fill thousands of blocks.
            del self._tail[:written]

    def take(self) -> tuple[int, str] | None:
        """Take the first URL: its place and line, or None if the queue is empty."""
        while not self._head:
            if not self.unread:
                if not self._tail:
                    return None
                self.write()
            self._head.extend(self._blocks.read(self.unread[0]))
            self.unread.popleft()
        self.length -= 1
        return self._head.popleft()

    def find(self, start: str) -> Search:
        """Look for the line that begins with `start`, a block at a time."""
        head = [line for _, line in self._head]
        return _search(self._blocks, start, head, list(self.unread), self._tail.copy())

    def restore(self, position: int, owed: int) -> None:
        """Append a block of a loaded state, of which `owed` lines are owed."""
        self.unread.append(position)
        self.length += owed

    def lines(self) -> Iterator[str]:
        """All lines, without taking them."""
        for _, line in self._head:
            yield line
        for position in self.unread:
            yield from self._blocks.owed(position)
        yield from self._tail


class _Backlog:
    """The URLs set aside of one site: first those in blocks, then those not yet written.

    Most backlogs are short and there are many, so they use lists: a deque takes 600 bytes.
    """

    __slots__ = ("_at", "_blocks", "_from", "_unread", "head", "tail")

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._unread = array("Q")
        self._at = 0
        # The first unread block has been taken up to this place.
        self._from = 0
        #: The rest of that block if it is in memory, last line first.
        self.head: list[tuple[int, str]] = []
        self.tail: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self.tail) or self.in_blocks

    @property
    def in_blocks(self) -> bool:
        """Whether the first URL is in a block."""
        return self._at < len(self._unread)

    def add(self, position: int) -> None:
        self._unread.append(position)

    def read(self) -> int:
        """Read the rest of the first block into memory; the bytes that it takes."""
        self.head = list(reversed(self._rest()))
        cost = self._blocks.sizes.line_cost
        return cost * len(self.head) + sum([len(line) for _, line in self.head])

    def _rest(self) -> list[tuple[int, str]]:
        read = self._blocks.read(self._unread[self._at])
        return [taken for taken in read if taken[0] >= self._from]

    def take(self) -> tuple[int, str]:
        """Take the first line of the block in memory: its place and text."""
        taken = self.head.pop()
        self._from = taken[0] + 1
        if not self.head:
            self._at += 1
            self._from = 0
            if self._at >= max(self._blocks.sizes.forget, len(self._unread) // 2):
                del self._unread[: self._at]
                self._at = 0
        return taken

    def forget(self) -> None:
        """Drop the lines in memory that are in a block."""
        self.head = []

    def find(self, start: str) -> Search:
        head, unread = self._split()
        tail = [line for _, line in self.tail]
        return _search(self._blocks, start, head, unread, tail)

    def _split(self) -> tuple[list[str], Sequence[int]]:
        """The remaining lines of a block that was begun, and the other blocks."""
        unread = self._unread[self._at :]
        if not self._from:
            return [], unread
        return [line for _, line in self._rest()], unread[1:]

    def lines(self) -> Iterator[str]:
        """All lines, without taking them."""
        head, unread = self._split()
        yield from head
        for position in unread:
            yield from self._blocks.owed(position)
        for _, line in self.tail:
            yield line


class Backlogs:
    """The URLs set aside from the queue of one kind, by site.

    A URL that is not yet in a block of its site is owed from the block where it was read.
    """

    def __init__(self, blocks: Blocks, prefix: str) -> None:
        self._blocks = blocks
        self._prefix = prefix
        self._site_lines = blocks.sizes.site_lines
        self._line_cost = blocks.sizes.line_cost
        self._most_tails = blocks.sizes.most_tails
        self._sites: dict[str, _Backlog] = {}
        #: The sites of which URLs are set aside.
        self.sites = self._sites.keys()
        # Sites with a tail, oldest tail first, and the bytes in all tails. An OrderedDict, as
        # finding the first key of a dict is expensive after those before it were deleted.
        self._tails: OrderedDict[str, None] = OrderedDict()
        self._in_tails = 0
        # Sites whose first block is in memory, in the order in which the blocks were read.
        self._read: LruBudget[str] = LruBudget(blocks.sizes.most_read)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<Backlogs {self._length} URLs of {len(self._sites)} sites>"

    def put(self, site: str, place: int, line: str) -> None:
        """Set aside a URL. It is in the queue even after an OSError."""
        backlog = self._of(site)
        backlog.tail.append((place, line))
        self._tails[site] = None
        self._in_tails += self._line_cost + len(line)
        self._length += 1
        if len(backlog.tail) >= self._site_lines:
            self._write(site)
        elif self._in_tails > self._most_tails:
            self._write(next(iter(self._tails)))
            # The lines written may have been shorter than the line just put.
            if self._in_tails > self._most_tails and backlog.tail:
                self._write(site)

    def _of(self, site: str) -> _Backlog:
        backlog = self._sites.get(site)
        if backlog is None:
            backlog = self._sites[site] = _Backlog(self._blocks)
        return backlog

    def _write(self, site: str) -> None:
        backlog = self._sites[site]
        # After failed writes there are more lines than one block takes.
        while batch := backlog.tail[: self._site_lines]:
            lines = [line for _, line in batch]
            backlog.add(self._blocks.append(self._prefix + site, lines))
            del backlog.tail[: len(batch)]
            self._in_tails -= self._line_cost * len(lines) + sum(map(len, lines))
            for place, _ in batch:
                self._blocks.leave(place)
        del self._tails[site]

    def take(self, site: str) -> tuple[int, str]:
        """Take the first URL of `site`, which must have one: its place and line."""
        backlog = self._sites[site]
        take = self._take_read if backlog.in_blocks else self._take_tail
        taken = take(site, backlog)
        self._length -= 1
        if not (backlog.head or backlog):
            del self._sites[site]
        return taken

    def _take_read(self, site: str, backlog: _Backlog) -> tuple[int, str]:
        if not backlog.head:
            self._read.use(site, backlog.read())
            for other in self._read.surplus():
                self._sites[other].forget()
        taken = backlog.take()
        if not backlog.head:
            self._read.discard(site)
        return taken

    def _take_tail(self, site: str, backlog: _Backlog) -> tuple[int, str]:
        taken = backlog.tail.pop(0)
        self._in_tails -= self._line_cost + len(taken[1])
        if not backlog.tail:
            del self._tails[site]
        return taken

    def find(self, site: str, start: str) -> Search:
        """Look for the line of `site` that begins with `start`, a block at a time."""
        if site in self._sites:
            return (yield from self._sites[site].find(start))
        return None

    def restore(self, site: str, position: int, owed: int) -> None:
        """Append a block of `site` of a loaded state, of which `owed` lines are owed."""
        self._of(site).add(position)
        self._length += owed

    def lines(self) -> Iterator[str]:
        """All lines, without taking them."""
        for backlog in self._sites.values():
            yield from backlog.lines()


#: The key of a store in the manifest of the state.
KEY = "store"

_ORDINARY = "-"
_PRIORITY = "+"
_PRIORITY_BIT, _SEED_BIT, _REQUISITE_BIT = 1, 2, 4
_REDIRECT_BIT, _SITEMAP_BIT, _GUESS_BIT, _SHEET_BIT = 8, 16, 32, 64
#: The bits above these are the origin.
_ORIGIN_SHIFT = 8


def encode(url: Url) -> str:
    """A URL of the crawl as a line without newline.

    Canonical URLs have no blank and no control character.
    """
    purpose = url.purpose
    flags = (
        url.priority * _PRIORITY_BIT
        | url.seed * _SEED_BIT
        | url.requisite * _REQUISITE_BIT
        | url.sheet * _SHEET_BIT
        | url.redirect * _REDIRECT_BIT
        | (purpose is not PAGE) * _SITEMAP_BIT
        | (purpose is GUESS) * _GUESS_BIT
        | url.origin << _ORIGIN_SHIFT
    )
    line = f"{url.href} {url.depth} {url.hops} {flags} {url.via or '-'}"
    if url.label:
        return f"{line} {url.spelling or '-'} {url.label}"
    return f"{line} {url.spelling}" if url.spelling else line


def decode(line: str, place: int = 0) -> Url:
    """The URL of a line of `encode`, read at `place`; ValueError for other lines."""
    href, depth, hops, number, via, *more = line.split(" ")
    url = Url(href, int(depth), None if via == "-" else via, 0, int(hops))
    url.place = place
    if more:
        spelling, url.label = (more[0], "") if len(more) == 1 else more
        if len(more) > 1 and not url.label.isidentifier():
            raise ValueError(f"{url.label[:80]!r} is no label")
        url.spelling = "" if spelling == "-" else spelling
    if number != "0":
        flags = int(number)
        url.priority = bool(flags & _PRIORITY_BIT)
        url.seed = bool(flags & _SEED_BIT)
        url.requisite = bool(flags & _REQUISITE_BIT)
        url.sheet = bool(flags & _SHEET_BIT)
        url.redirect = bool(flags & _REDIRECT_BIT)
        if flags & _SITEMAP_BIT:
            url.purpose = GUESS if flags & _GUESS_BIT else SITEMAP
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
