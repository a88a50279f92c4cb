"""Blocks: lines of URLs in files that only grow, and a record of which lines are still owed.

A line is *owed* while its URL must not be lost: until the outcome of the URL is decided, or the
URL has been written to another block.

A block is the unit of reading and writing: lines that share a queue, under a header:

    #LINES BYTES CHECKSUM QUEUE

The checksum is CRC-32 of the rest of the header and the text, in hexadecimal. A block that does
not agree with its header raises DamagedError, an OSError. Nothing in a file is ever changed. The
state of a block is kept in memory, with a bit for each line, and is part of each checkpoint's mark:

    unread    its queue has not reached it yet
    open      read; some of its URLs are owed: with their sites, in flight, or on their way
              to another block
    finished  none of its URLs is owed; this state takes a single bit

A file whose blocks are all finished is deleted once no committed mark names it. So the cost of
a checkpoint is that of the changes since the last one and of a copy of these bits; it does not
depend on the number of queued URLs.
"""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import compress
from pathlib import Path
from typing import NamedTuple, TypedDict
from zlib import crc32

from larbinpy.errors import DamagedError
from larbinpy.storage.files import Tail, sync_folder, write_at
from larbinpy.storage.sizes import LINE_BITS, OFFSET_BITS, STORE_SIZES, StoreSizes

# Bytes read to find the end of a header; the second number is tried if the first is too small.
# A header has the name of a queue, which may be a site: rarely long, never longer than a URL.
_HEADER_SIZES = (512, 8192)


class Header(NamedTuple):
    """The header of a block."""

    lines: int
    size: int
    checksum: int
    queue: str
    #: Offset of the text from the beginning of the block.
    text_at: int

    @property
    def end(self) -> int:
        """Bytes of the block, header included."""
        return self.text_at + self.size


def packed(queue: str, lines: Sequence[str]) -> bytes:
    """The bytes of a block of `queue` that holds `lines`."""
    text = "".join(f"{line}\n" for line in lines).encode()
    checksum = _checksum(len(lines), queue, text)
    return b"#%d %d %08x %b\n%b" % (len(lines), len(text), checksum, queue.encode(), text)


def read_header(fd: int, offset: int, path: Path) -> Header:
    """The header of the block at `offset` of the file `path`, which is open as `fd`."""
    for most in _HEADER_SIZES:
        line, newline, _ = os.pread(fd, most, offset).partition(b"\n")
        if newline:
            return _parsed(line, path)
    raise damaged(path)


def read_lines(fd: int, offset: int, path: Path, length: int) -> list[str]:
    """The lines of the block at `offset`, checksum verified; the file has `length` bytes."""
    header = read_header(fd, offset, path)
    if offset + header.end > length:
        raise damaged(path)
    text = os.pread(fd, header.size, offset + header.text_at)
    if _checksum(header.lines, header.queue, text) != header.checksum:
        raise damaged(path)
    return text.decode().splitlines()


def read_unchecked(fd: int, offset: int, path: Path) -> tuple[int, bytes]:
    """The number of lines of the block at `offset`, and a newline followed by their text."""
    header = read_header(fd, offset, path)
    return header.lines, os.pread(fd, header.size + 1, offset + header.text_at - 1)


def _parsed(line: bytes, path: Path) -> Header:
    try:
        lines, size, checksum, queue = line.removeprefix(b"#").decode().split(" ")
        header = Header(int(lines), int(size), int(checksum, 16), queue, len(line) + 1)
    except ValueError:
        raise damaged(path) from None
    if not (line.startswith(b"#") and queue and _fits(header)):
        raise damaged(path)
    return header


def _fits(header: Header) -> bool:
    return 0 < header.lines <= min(header.size, 1 << LINE_BITS)


def _checksum(lines: int, queue: str, text: bytes) -> int:
    return crc32(text, crc32(f"{lines} {len(text)} {queue}".encode()))


def damaged(path: Path) -> DamagedError:
    """The error for a file whose content is not what was written."""
    return DamagedError(errno.EIO, "damaged", str(path))


# The bits of a place, lowest first: the line (10), the number of the block in its file (21), its
# offset (25), and the file. The smallest block takes more than 16 bytes, so 21 bits are enough.
_NUMBER_BITS = 21
_FILE_SHIFT = _NUMBER_BITS + OFFSET_BITS
# The number of the first file. Places in it have more than 60 bits, so that their ints take more
# memory. Starting at 1, a young crawl would need less memory than an old one.
_FIRST_FILE = 16


class BlocksMark(TypedDict):
    """The blocks at a cut."""

    #: For each file that is needed: its number, its length in bytes, and in hexadecimal a bit
    #: for each block, set if it is finished. The file that grows comes last.
    files: list[tuple[int, int, str]]
    #: By position of an open block: a bit for each line, set if it is owed.
    open: dict[int, int]


class _File:
    """The blocks of a file."""

    __slots__ = ("blocks", "finished", "length", "needed")

    def __init__(self) -> None:
        self.length = 0
        self.blocks = 0
        #: A bit for each block, lowest bit first.
        self.finished = bytearray()
        #: Number of blocks that are not finished.
        self.needed = 0

    def add(self, size: int) -> None:
        """Add a block of `size` bytes."""
        if self.blocks % 8 == 0:
            self.finished.append(0)
        self.blocks += 1
        self.needed += 1
        self.length += size

    def finish(self, number: int) -> None:
        self.finished[number >> 3] |= 1 << (number & 7)
        self.needed -= 1


class Blocks:
    """The files ``urls.NNNNNNNN`` in `folder`.

    The *position* of a block is its file, offset and number in one integer; the *place* of a
    line is its position and line number. Both grow with time, and no place is 0.

    Lines and their files are in one class because each method that appends, reads, finishes or
    deletes has to keep the bits of the open blocks consistent with the counts of the files.
    """

    def __init__(self, folder: Path, sizes: StoreSizes = STORE_SIZES) -> None:
        self._folder = folder
        self.sizes = sizes
        # By position: a bit for each line, set if it is owed.
        self._open: dict[int, int] = {}
        self._files: dict[int, _File] = {}
        self._last = 0
        self._fd: int | None = None
        self._tail = Tail()
        self._unsynced: list[tuple[int, Tail]] = []
        self._has_new_files = False

    def __repr__(self) -> str:
        needed = sum(file.needed for file in self._files.values())
        return f"<Blocks {needed} in {len(self._files)} files, {len(self._open)} open>"

    # -- writing and reading

    def append(self, queue: str, lines: Sequence[str]) -> int:
        """Write an unread block; return its position. After an OSError no block was added."""
        block = packed(queue, lines)
        fd = self._growing()
        file = self._files[self._last]
        position = _position(self._last, file.length, file.blocks)
        # The next write overwrites anything that a failed write left beyond the end.
        write_at(fd, block, file.length)
        file.add(len(block))
        return position

    def _growing(self) -> int:
        """The descriptor of the file that takes the next block."""
        if not self._last or self._files[self._last].length >= self.sizes.file_size:
            number = max(self._last + 1, _FIRST_FILE)
            fd = os.open(self._path(number), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
            self._has_new_files = True
            if self._fd is not None:
                self._unsynced.append((self._fd, self._tail))
            self._fd, self._tail = fd, Tail()
            self._last = number
            self._files[self._last] = _File()
        elif self._fd is None:
            self._fd = os.open(self._path(self._last), os.O_RDWR)
            self._tail = Tail(self._files[self._last].length)
            # Drop blocks that a killed crawl wrote after its last checkpoint. If this fails,
            # they are overwritten.
            os.ftruncate(self._fd, self._files[self._last].length)
        return self._fd

    def _path(self, file: int) -> Path:
        return self._folder / f"urls.{file:08d}"

    def read(self, position: int) -> list[tuple[int, str]]:
        """Open a block: the place and text of each line that is owed. OSError if damaged."""
        lines = self._lines(position)
        places = range(position << LINE_BITS, (position << LINE_BITS) + len(lines))
        found = zip(places, lines, strict=True)
        owed = self._open.get(position)
        if owed is None:
            self._open[position] = (1 << len(lines)) - 1
            return list(found)
        return list(compress(found, _bits(owed, len(lines))))

    def owed(self, position: int) -> list[str]:
        """The lines of a block that are owed, without opening it."""
        lines = self._lines(position)
        if position not in self._open:
            return lines
        return list(compress(lines, _bits(self._open[position], len(lines))))

    def search(self, position: int, start: str) -> tuple[int, int | None]:
        """The number of owed lines of a block, and how many of them precede one with `start`.

        The second is None if no owed line begins with `start`. The block is neither opened nor
        checked, as nothing is taken from it. A block that was deleted meanwhile owes nothing.
        """
        try:
            lines, text = self._peek(position)
        except FileNotFoundError:
            return 0, None
        owed = self._owed_bits(position, lines)
        wanted = b"\n" + start.encode()
        at = text.find(wanted)
        while at >= 0:
            number = text.count(b"\n", 0, at)
            if owed >> number & 1:
                return owed.bit_count(), (owed & ((1 << number) - 1)).bit_count()
            at = text.find(wanted, at + 1)
        return owed.bit_count(), None

    def _owed_bits(self, position: int, lines: int) -> int:
        number = position & ((1 << _NUMBER_BITS) - 1)
        if self._files[position >> _FILE_SHIFT].finished[number >> 3] >> (number & 7) & 1:
            return 0
        return self._open.get(position, (1 << lines) - 1)

    def _peek(self, position: int) -> tuple[int, bytes]:
        """The number of lines of a block, and a newline followed by their text; unchecked."""
        file, offset = position >> _FILE_SHIFT, _offset(position)
        path = self._path(file)
        if file not in self._files:
            raise FileNotFoundError(errno.ENOENT, "finished", str(path))
        fd = os.open(path, os.O_RDONLY)
        try:
            return read_unchecked(fd, offset, path)
        finally:
            os.close(fd)

    def _lines(self, position: int) -> list[str]:
        file, offset = position >> _FILE_SHIFT, _offset(position)
        path = self._path(file)
        fd = os.open(path, os.O_RDONLY)
        try:
            return read_lines(fd, offset, path, self._files[file].length)
        finally:
            os.close(fd)

    def leave(self, place: int) -> None:
        """The URL at `place`, in an open block, is no longer owed from there."""
        position = place >> LINE_BITS
        owed = self._open[position] & ~(1 << (place & ((1 << LINE_BITS) - 1)))
        if owed:
            self._open[position] = owed
        else:
            del self._open[position]
            number = position & ((1 << _NUMBER_BITS) - 1)
            self._files[position >> _FILE_SHIFT].finish(number)

    # -- checkpoints

    def cut(self) -> BlocksMark:
        self._files = {n: file for n, file in self._files.items() if self._is_needed(n)}
        return {
            "files": [(n, file.length, file.finished.hex()) for n, file in self._files.items()],
            "open": self._open.copy(),
        }

    def _is_needed(self, number: int) -> bool:
        file = self._files.get(number)
        return file is not None and (file.needed > 0 or number == self._last)

    def sync(self) -> None:
        """Flush all blocks written so far to the disk."""
        if self._has_new_files:
            sync_folder(self._folder)
            self._has_new_files = False
        while self._unsynced:
            fd, tail = self._unsynced[0]
            tail.sync(fd)
            del self._unsynced[0]
            os.close(fd)
        if self._fd is not None:
            self._tail.sync(self._fd)
            self._tail.start = self._files[self._last].length

    def load(self, mark: BlocksMark) -> Iterator[tuple[int, str, int]]:
        """Load the blocks as of a cut: position, queue and number of owed lines of each.

        Finished blocks are left out. Raises OSError or ValueError if a file has changed.
        """
        still_open = {int(position): owed for position, owed in mark["open"].items()}
        for number, length, finished in mark["files"]:
            if number <= self._last:
                raise ValueError(f"file {number} comes after {self._last}")
            self._last = number
            yield from self._load_file(number, length, bytes.fromhex(finished), still_open)
        if still_open:
            raise ValueError(f"{len(still_open)} blocks are not where they were")

    def _load_file(
        self, number: int, length: int, finished: bytes, still_open: dict[int, int]
    ) -> Iterator[tuple[int, str, int]]:
        file = self._files[number] = _File()
        bits = _bits(int.from_bytes(finished, "little"), 8 * len(finished))
        for offset, header in self._headers(number, length):
            block = file.blocks
            position = _position(number, offset, block)
            file.add(header.end)
            if next(bits, False):
                file.finish(block)
                continue
            owed = header.lines
            if position in still_open:
                self._open[position] = still_open.pop(position)
                owed = _owed(self._open[position], header.lines)
            yield position, header.queue, owed
        if len(finished) != len(file.finished) or any(bits):
            raise ValueError(f"file {number} had another number of blocks")

    def _headers(self, file: int, length: int) -> Iterator[tuple[int, Header]]:
        path = self._path(file)
        fd = os.open(path, os.O_RDONLY)
        try:
            if os.fstat(fd).st_size < length:
                raise ValueError(f"{path}: {os.fstat(fd).st_size} bytes of {length}")
            offset = 0
            while offset < length:
                header = read_header(fd, offset, path)
                yield offset, header
                offset += header.end
            if offset != length:
                raise damaged(path)
        finally:
            os.close(fd)

    def tidy(self, mark: BlocksMark) -> None:
        """Delete the files that neither `mark`, which is committed, nor the queues need."""
        needed = {number for number, _, _ in mark["files"]}
        self._delete(lambda number: number not in needed and not self._is_needed(number))

    def clear(self) -> None:
        """Delete all files."""
        self._delete(lambda number: True)

    def _delete(self, is_wanted: Callable[[int], bool]) -> None:
        for path in self._folder.glob("urls.*"):
            number = path.suffix[1:]
            if number.isdecimal() and path == self._path(int(number)) and is_wanted(int(number)):
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def close(self) -> None:
        for fd, _ in self._unsynced:
            os.close(fd)
        if self._fd is not None:
            os.close(self._fd)
        self._unsynced.clear()
        self._fd = None


def _position(file: int, offset: int, number: int) -> int:
    return file << _FILE_SHIFT | offset << _NUMBER_BITS | number


def _offset(position: int) -> int:
    return (position >> _NUMBER_BITS) & ((1 << OFFSET_BITS) - 1)


def _bits(number: int, count: int) -> Iterator[bool]:
    """The `count` lowest bits, the lowest first."""
    return map("1".__eq__, reversed(f"{number:0{count}b}"))


def _owed(bits: int, lines: int) -> int:
    """The number of set `bits` of a block of `lines`; ValueError if it cannot be an open block."""
    if not 0 < bits < 1 << lines:
        raise ValueError(f"no block of {lines} lines is owed as {bits:x}")
    return bits.bit_count()
