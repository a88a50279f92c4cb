"""The file format of a block: lines of URLs under a header.

    #LINES BYTES CHECKSUM QUEUE

The checksum is CRC-32 of the rest of the header and the text, in hexadecimal. A block that does
not agree with its header raises DamagedError, an OSError.
"""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from larbinpy.errors import DamagedError
from larbinpy.storage.sizes import LINE_BITS

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
