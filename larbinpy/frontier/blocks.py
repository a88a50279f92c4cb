"""Blocks: lines of URLs in files that only grow, and which of them are still owed.

A block is what is written and read at once: lines that share a queue, under a header with
their number, size and checksum. Nothing in a file is ever changed; what becomes of a block
is kept in memory, a bit for each line, and is part of each checkpoint's mark:

    unread    its queue has not come to it yet
    open      read; some of its URLs are owed: with their sites, in flight, or on their way
              to another block
    finished  none is owed any more

A file whose blocks are all finished is deleted once no committed mark names it. So a
checkpoint costs what happened since the last one, whatever the number of queued URLs.
"""

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import compress
from pathlib import Path
from typing import NamedTuple, TypedDict
from zlib import crc32

#: Lines that a block holds at most; the number of one takes ten bits of its place.
LINES = 1000
_LINE_BITS = 10
_OFFSET_BITS = 32

#: Bytes after which a new file is begun: what one URL that waits for long can hold back.
FILE_SIZE = 32 << 20

_OWED, _LEFT = b"01"

# Of a header: "#LINES BYTES CHECKSUM QUEUE\n". The queue may be named by a site key, which
# is hardly ever long, and never longer than a URL.
_HEADER_SIZES = (512, 8192)


class Header(NamedTuple):
    """What a block says of itself."""

    lines: int
    size: int
    checksum: int
    queue: str
    #: Where its text begins, from the block's own beginning.
    text_at: int


class BlocksMark(TypedDict):
    """The blocks at a cut."""

    #: Number and length of each file that is needed, the one that grows last.
    files: list[tuple[int, int]]
    #: By position: the lines that are owed no more, a bit each. Both in hexadecimal.
    open: dict[str, str]


class _Open:
    """An open block: a "1" for each of its lines that is owed no more, a "0" for the others."""

    __slots__ = ("left", "owed")

    def __init__(self, lines: int, left: int = 0) -> None:
        self.left = bytearray(f"{left:0{lines}b}", "ascii")
        self.owed = self.left.count(_OWED)

    @property
    def bits(self) -> int:
        return int(self.left, 2)


class Blocks:
    """The files ``urls.NNNNNNNN`` in `folder`.

    A block's *position* is file and offset in one number, a line's *place* is position and
    line. Both grow with time, and no place is 0.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[int, _Open] = {}
        # By file: its length, and how many of its blocks are not finished.
        self._lengths: dict[int, int] = {}
        self._needed: Counter[int] = Counter()
        self._last = 0
        self._fd: int | None = None
        self._unsynced: list[int] = []
        self._has_new_files = False

    def __repr__(self) -> str:
        return (
            f"<Blocks {self._needed.total()} in {len(self._lengths)} files, {len(self._open)} open>"
        )

    # -- writing and reading

    def append(self, queue: str, lines: Sequence[str]) -> int:
        """Write a block, unread; returns its position. After an OSError there is none."""
        text = "".join(f"{line}\n" for line in lines).encode()
        checksum = _checksum(len(lines), queue, text)
        block = b"#%d %d %08x %b\n%b" % (len(lines), len(text), checksum, queue.encode(), text)
        fd = self._growing()
        offset = self._lengths[self._last]
        # What a failed write leaves beyond the end, the next one overwrites.
        _write_at(fd, block, offset)
        self._lengths[self._last] += len(block)
        self._needed[self._last] += 1
        return self._last << _OFFSET_BITS | offset

    def _growing(self) -> int:
        """The descriptor of the file that grows."""
        if not self._last or self._lengths[self._last] >= FILE_SIZE:
            fd = os.open(self._path(self._last + 1), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            self._has_new_files = True
            if self._fd is not None:
                self._unsynced.append(self._fd)
            self._fd = fd
            self._last += 1
            self._lengths[self._last] = 0
        elif self._fd is None:
            self._fd = os.open(self._path(self._last), os.O_WRONLY)
            # What a crawl that was killed wrote after its last checkpoint. Where that does
            # not work, it is overwritten.
            os.ftruncate(self._fd, self._lengths[self._last])
        return self._fd

    def _path(self, file: int) -> Path:
        return self._folder / f"urls.{file:08d}"

    def read(self, position: int) -> list[tuple[int, str]]:
        """Open a block: (place, line) of each line that is owed. OSError where it is damaged."""
        lines = self._lines(position)
        block = self._open.get(position)
        if block is None:
            block = self._open[position] = _Open(len(lines))
        places = range(position << _LINE_BITS, (position << _LINE_BITS) + len(lines))
        return list(compress(zip(places, lines, strict=True), map(_OWED.__eq__, block.left)))

    def owed(self, position: int) -> list[str]:
        """The lines of a block that are owed; it is not opened."""
        lines = self._lines(position)
        if position not in self._open:
            return lines
        return list(compress(lines, map(_OWED.__eq__, self._open[position].left)))

    def _lines(self, position: int) -> list[str]:
        file, offset = position >> _OFFSET_BITS, position & ((1 << _OFFSET_BITS) - 1)
        path = self._path(file)
        fd = os.open(path, os.O_RDONLY)
        try:
            header = _header(fd, offset, path)
            if offset + header.text_at + header.size > self._lengths[file]:
                raise _damaged(path)
            text = os.pread(fd, header.size, offset + header.text_at)
        finally:
            os.close(fd)
        if _checksum(header.lines, header.queue, text) != header.checksum:
            raise _damaged(path)
        return text.decode().splitlines()

    def is_open(self, position: int) -> bool:
        return position in self._open

    def leave(self, place: int) -> None:
        """The URL at `place` is owed no more from there; its block is open."""
        position = place >> _LINE_BITS
        block = self._open[position]
        block.left[place & ((1 << _LINE_BITS) - 1)] = _LEFT
        block.owed -= 1
        if not block.owed:
            del self._open[position]
            self._needed[position >> _OFFSET_BITS] -= 1

    # -- checkpoints

    def cut(self) -> BlocksMark:
        self._lengths = {file: n for file, n in self._lengths.items() if self._is_needed(file)}
        return {
            "files": list(self._lengths.items()),
            "open": {f"{at:x}": f"{block.bits:x}" for at, block in self._open.items()},
        }

    def _is_needed(self, file: int) -> bool:
        return self._needed[file] > 0 or file == self._last

    def sync(self) -> None:
        """Bring to the disk what was written before."""
        if self._has_new_files:
            _sync_folder(self._folder)
            self._has_new_files = False
        while self._unsynced:
            os.fsync(self._unsynced[0])
            os.close(self._unsynced.pop(0))
        if self._fd is not None:
            os.fsync(self._fd)

    def load(
        self, mark: BlocksMark, is_unread: Callable[[int, str], bool]
    ) -> Iterator[tuple[int, str, int]]:
        """Take up the blocks at a cut: position, queue and lines owed of each not finished.

        `is_unread` says of a position and its queue whether the queue had yet to come to it.
        Raises OSError or ValueError where a file is not what it was.
        """
        left = {int(at, 16): int(bits, 16) for at, bits in mark["open"].items()}
        for file, length in mark["files"]:
            if file <= self._last:
                raise ValueError(f"file {file} comes after {self._last}")
            self._lengths[file] = length
            self._last = file
            for offset, header in self._headers(file, length):
                position = file << _OFFSET_BITS | offset
                owed = header.lines
                if position in left:
                    bits = left.pop(position)
                    if not 0 <= bits < (1 << owed) - 1:
                        raise ValueError(f"no block of {owed} lines is left as {bits:x}")
                    block = self._open[position] = _Open(owed, bits)
                    owed = block.owed
                elif not is_unread(position, header.queue):
                    continue
                self._needed[file] += 1
                yield position, header.queue, owed
        if left:
            raise ValueError(f"{len(left)} blocks are not where they were")

    def _headers(self, file: int, length: int) -> Iterator[tuple[int, Header]]:
        path = self._path(file)
        fd = os.open(path, os.O_RDONLY)
        try:
            if os.fstat(fd).st_size < length:
                raise ValueError(f"{path}: {os.fstat(fd).st_size} bytes of {length}")
            offset = 0
            while offset < length:
                header = _header(fd, offset, path)
                yield offset, header
                offset += header.text_at + header.size
            if offset != length:
                raise _damaged(path)
        finally:
            os.close(fd)

    def tidy(self, mark: BlocksMark) -> None:
        """Delete the files that neither `mark`, which is committed now, nor anybody needs."""
        needed = {file for file, _ in mark["files"]}
        self._delete(lambda file: file not in needed and not self._is_needed(file))

    def clear(self) -> None:
        """Delete all files."""
        self._delete(lambda file: True)

    def _delete(self, is_wanted: Callable[[int], bool]) -> None:
        for path in self._folder.glob("urls.*"):
            number = path.suffix[1:]
            if number.isdecimal() and path == self._path(int(number)) and is_wanted(int(number)):
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def close(self) -> None:
        for fd in (*self._unsynced, *([] if self._fd is None else [self._fd])):
            os.close(fd)
        self._unsynced.clear()
        self._fd = None


def _header(fd: int, offset: int, path: Path) -> Header:
    """The header of the block at `offset`; OSError where there is none."""
    for most in _HEADER_SIZES:
        line, newline, _ = os.pread(fd, most, offset).partition(b"\n")
        if newline:
            break
    try:
        lines, size, checksum, queue = line.removeprefix(b"#").decode().split(" ")
        header = Header(int(lines), int(size), int(checksum, 16), queue, len(line) + 1)
    except ValueError:
        raise _damaged(path) from None
    if not (newline and line.startswith(b"#") and queue and _fits(header)):
        raise _damaged(path)
    return header


def _fits(header: Header) -> bool:
    return 0 < header.lines <= min(header.size, 1 << _LINE_BITS)


def _checksum(lines: int, queue: str, text: bytes) -> int:
    return crc32(text, crc32(f"{lines} {len(text)} {queue}".encode()))


def _damaged(path: Path) -> OSError:
    return OSError(errno.EIO, "damaged", str(path))


def _write_at(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
