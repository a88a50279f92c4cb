"""A queue of URLs on disk.

A FIFO of segments: text files of URLs, one a line, and a checksum at the
end. Its two ends are in memory; what is more than a segment is spilled to disk once a
turn, so that memory does not grow with the number of queued URLs, and so that a full disk
is met where nothing is half done.

A segment that was read stays on disk until the next save no longer names it; so the last
save is always whole, whatever happens in between.
"""

import errno
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypedDict
from zlib import crc32

from larbinpy.files import write_atomic
from larbinpy.url import Url


def encode(url: Url) -> str:
    """One line without its end. Canonical URLs hold no blank and no control character."""
    flags = 2 * url.seed + url.priority
    return f"{url.depth} {url.attempt} {url.hops} {flags} {url.href} {url.via or '-'}"


def decode(line: str) -> Url:
    """The URL in a line of `encode`; ValueError where it is none."""
    depth, attempt, hops, flags, href, via = line.split(" ")
    return Url(
        href,
        int(depth),
        via=None if via == "-" else via,
        attempt=int(attempt),
        hops=int(hops),
        priority=bool(int(flags) & 1),
        seed=bool(int(flags) & 2),
    )


class Saved(TypedDict):
    """A queue in the state file: its segments in order, its URLs, its last serial."""

    segments: list[str]
    length: int
    serial: int


class DiskQueue:
    """A FIFO of URLs; `head` and `tail` in memory, the middle in files of `segment` URLs."""

    def __init__(self, folder: Path, name: str, segment: int) -> None:
        self._folder = folder
        self.name = name
        self._size = segment
        self._head: deque[Url] = deque()
        self._segments: deque[str] = deque()
        self._tail: list[Url] = []
        self._length = 0
        self._serial = 0

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<DiskQueue {self.name} {self._length} URLs, {len(self._segments)} segments>"

    def put(self, url: Url) -> None:
        self._tail.append(url)
        self._length += 1

    def spill(self) -> None:
        """Bring what is more than a segment to disk; after an OSError it is still here."""
        while len(self._tail) >= self._size:
            self._segments.append(self._write(self._tail[: self._size]))
            del self._tail[: self._size]

    def peek(self) -> Url | None:
        """The first URL, which stays; None where there is none."""
        if not self._head:
            self._refill()
        return self._head[0] if self._head else None

    def get(self) -> Url:
        """Take the first URL; IndexError where there is none."""
        if not self._head:
            self._refill()
        url = self._head.popleft()
        self._length -= 1
        return url

    def _refill(self) -> None:
        if self._segments:
            self._head.extend(self._read(self._segments[0]))
            self._segments.popleft()
        else:
            self._head.extend(self._tail)
            self._tail = []

    def _write(self, urls: Iterable[Url]) -> str:
        self._serial += 1
        name = f"{self.name}.{self._serial:08d}"
        text = "".join(f"{encode(url)}\n" for url in urls).encode()
        write_atomic(self._folder / name, [text, b"#%08x\n" % crc32(text)])
        return name

    def _read(self, name: str) -> list[Url]:
        return [decode(line) for line in self._lines(name)]

    def _lines(self, name: str) -> list[str]:
        """The lines of a segment; OSError where it is not what was written."""
        path = self._folder / name
        # Canonical URLs have no fragment: the mark is the checksum's alone.
        text, _, checksum = path.read_bytes().rpartition(b"#")
        if checksum != b"%08x\n" % crc32(text):
            raise OSError(errno.EIO, "damaged", str(path))
        return text.decode().splitlines()

    def save(self, before: Sequence[Url] = ()) -> Saved:
        """Write both ends as segments, `before` ahead of them; returns what `load` needs."""
        segments = list(self._segments)
        first = [*before, *self._head]
        if first:
            segments.insert(0, self._write(first))
        if self._tail:
            segments.append(self._write(self._tail))
        return {
            "segments": segments,
            "length": self._length + len(before),
            "serial": self._serial,
        }

    def load(self, saved: Saved) -> None:
        """Take up what `save` returned; OSError or ValueError where a part is not whole."""
        self._segments.extend(saved["segments"])
        self._length = sum(len(self._lines(name)) for name in self._segments)
        if self._length != saved["length"]:
            raise ValueError(f"{self.name}: {self._length} URLs of {saved['length']}")
        self._serial = int(saved["serial"])

    def __iter__(self) -> Iterator[Url]:
        """All URLs, in order, without taking them."""
        yield from self._head
        for name in self._segments:
            yield from self._read(name)
        yield from self._tail
