"""Follows a log as ``tail -F`` does: by its name, so that it survives a rotation."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

#: Seconds between two looks at the file.
_EVERY = 0.25
#: Lines shown of what the log has already, and bytes in which they are looked for.
_LAST = 10
_BYTES = 1 << 16


def follow(paths: Sequence[Path], pause: Callable[[float], None]) -> Iterator[bytes]:
    """The last lines of each file of `paths`, then each new one, for ever.

    `pause` waits for some seconds. If a file is renamed or replaced, the old one is read to its
    end, then the new one from its beginning.
    """
    tails = [_tail(path) for path in paths]
    while True:
        lines = [line for tail in tails for line in next(tail)]
        # A line begins with its time.
        yield from sorted(lines) if len(tails) > 1 else lines
        if not lines:
            pause(_EVERY)


def _tail(path: Path) -> Iterator[list[bytes]]:
    """The lines of one file: the last ones, then all that are new; none if there are none now."""
    file = yield from _opened(path)
    try:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _BYTES))
        # The first may be torn; it is one of the last lines only if it is whole.
        recent, rest = _split(file.read())
        begin = 0 if file.tell() <= _BYTES else 1
        yield recent[begin:][-_LAST:]
        while True:
            lines, rest = _split(rest + file.read())
            if not lines and _is_replaced(file, path):
                # Lines may have come since it was read.
                lines, _ = _split(rest + file.read())
                if lines:
                    yield lines
                rest = b""
                file.close()
                file = yield from _opened(path)
            else:
                yield lines
    finally:
        file.close()


def _split(data: bytes) -> tuple[list[bytes], bytes]:
    """The whole lines, and the begin of the next."""
    *lines, rest = data.split(b"\n")
    return [line + b"\n" for line in lines], rest


def _opened(path: Path) -> Generator[list[bytes], None, BinaryIO]:
    while True:
        try:
            return path.open("rb")
        except FileNotFoundError:
            yield []


def _is_replaced(file: BinaryIO, path: Path) -> bool:
    """Whether `path` is another file now, or the same one after it was emptied."""
    ours = os.fstat(file.fileno())
    if ours.st_size < file.tell():
        return True
    try:
        return not os.path.samestat(ours, path.stat())
    except FileNotFoundError:
        return False
