"""Follows a log as ``tail -F`` does: by its name, so that it survives a rotation."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

#: Seconds between two looks at the file.
_EVERY = 0.25
#: Lines shown of what the log has already, and bytes in which they are looked for.
_LAST = 10
_BYTES = 1 << 16


def follow(path: Path, pause: Callable[[float], None]) -> Iterator[bytes]:
    """The last lines of the file at `path`, then each new one, for ever.

    `pause` waits for some seconds. If the file is renamed or replaced, the old one is read to its
    end, then the new one from its beginning.
    """
    file = _opened(path, pause)
    try:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _BYTES))
        recent = file.read().split(b"\n")
        # The first may be torn; it is one of the last lines only if it is whole.
        begin = 0 if file.tell() <= _BYTES else 1
        yield from (line + b"\n" for line in recent[begin:-1][-_LAST:])
        rest = recent[-1]
        while True:
            pieces = (rest + file.read()).split(b"\n")
            yield from (line + b"\n" for line in pieces[:-1])
            rest = pieces[-1]
            if len(pieces) > 1:
                continue
            if _is_replaced(file, path):
                # Lines may have come since it was read.
                last = (rest + file.read()).split(b"\n")
                yield from (line + b"\n" for line in last[:-1])
                rest = b""
                file.close()
                file = _opened(path, pause)
            else:
                pause(_EVERY)
    finally:
        file.close()


def _opened(path: Path, pause: Callable[[float], None]) -> BinaryIO:
    while True:
        try:
            return path.open("rb")
        except FileNotFoundError:
            pause(_EVERY)


def _is_replaced(file: BinaryIO, path: Path) -> bool:
    """Whether `path` is another file now, or the same one after it was emptied."""
    ours = os.fstat(file.fileno())
    if ours.st_size < file.tell():
        return True
    try:
        return not os.path.samestat(ours, path.stat())
    except FileNotFoundError:
        return False
