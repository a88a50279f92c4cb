"""Finds the last line of the crawl log about a URL, in steps.

The log of a long crawl has gigabytes. It is searched from its end, in pieces, for the bytes of
the URL in question; only the line that is found is decoded. `search_rotated` goes on in the files
that were rotated away.
"""

import gzip
import json
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, Protocol

from larbinpy.errors import UserError
from larbinpy.observe.report.log import LogFiles

#: Bytes in one step: some 100 us if the system has them in memory.
_PIECE = 1 << 18
#: Bound of a line: it has two URLs, and a media type of any content that a server may send.
_LINE = 1 << 17

Line = dict[str, Any]


class SearchedLog(Protocol):
    """A crawl log that is searched."""

    @property
    def path(self) -> Path: ...

    @property
    def size(self) -> int:
        """The number of bytes written."""

    def read(self, size: int, offset: int) -> bytes:
        """Return at most `size` of these bytes, from `offset` on."""

    def last_waiting(self, text: bytes) -> bytes | None:
        """Return the last line with `text` among those that are not written yet."""


class StoppedLog:
    """The log of a stopped crawl, which is only read; empty if there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size if path.exists() else 0

    def read(self, size: int, offset: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def last_waiting(self, text: bytes) -> bytes | None:
        return None


def needle_of(href: str) -> bytes:
    """The bytes of a line that name a canonical URL as its subject."""
    return b'"url": ' + json.dumps(href).encode()


class LogSearch:
    """Searches a log that still grows for the last line about `href`, a canonical URL."""

    def __init__(self, log: SearchedLog, href: str) -> None:
        self._log = log
        self._needle = needle_of(href)
        self._known = log.size

    def search(self) -> Generator[None, None, Line | None]:
        """Yields after each piece; returns the line, None if there is none. Raises OSError."""
        waiting = self._waiting()
        if waiting is not None:
            return waiting
        end = self._known
        # A shorter rest cannot contain the needle.
        while end >= len(self._needle):
            start = max(0, end - _PIECE)
            found = self._last_in(start, end)
            if found is not None:
                return found
            end = start + len(self._needle) - 1 if start else 0
            yield
        return None

    def latest(self) -> Line | None:
        """The last line that was written since the search began; None if there is none."""
        end = self._log.size
        begin = max(0, self._known - len(self._needle)) if end >= self._known else 0
        found = None
        for start in range(begin, end, _PIECE):
            found = self._last_in(start, min(end, start + _PIECE + len(self._needle))) or found
        return self._waiting() or found

    def _waiting(self) -> Line | None:
        line = self._log.last_waiting(self._needle)
        return None if line is None else decoded(line)

    def _last_in(self, start: int, end: int) -> Line | None:
        piece = self._log.read(end - start, start)
        last, at = -1, piece.find(self._needle)
        # Not rfind: on crafted input its time is the product of both lengths.
        while at >= 0:
            last, at = at, piece.find(self._needle, at + 1)
        if last < 0:
            return None
        begin = max(0, start + last - _LINE)
        around = self._log.read(2 * _LINE, begin)
        before, at = around[: start + last - begin], start + last - begin
        newline = around.find(b"\n", at)
        return decoded(around[before.rfind(b"\n") + 1 : None if newline < 0 else newline])


def decoded(line: bytes) -> Line | None:
    try:
        fate = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return fate if isinstance(fate, dict) else None


#: Lines of a compressed file in one step: about a millisecond.
_LINES = 1000


def search_rotated(log: Path, href: str, began: str) -> Generator[None, None, Line | None]:
    """Search the files that were `log` before, the newest first.

    Yields after each piece; returns the line, None if there is none. Lines before the time `began`
    are those of an earlier crawl (--scratch). A file that is damaged is searched up to there.
    """
    try:
        files = LogFiles(log.parent).paths
    except UserError:
        return None
    for path in reversed(files):
        if path.name == log.name:
            continue
        if path.suffix == ".gz":
            found = yield from _search_compressed(path, needle_of(href))
        else:
            found = yield from LogSearch(StoppedLog(path), href).search()
        if found is not None:
            return found if str(found.get("ts")) >= began else None
    return None


def _search_compressed(path: Path, needle: bytes) -> Generator[None, None, Line | None]:
    last = None
    try:
        with gzip.open(path, "rb") as file:
            for number, line in enumerate(file):
                if needle in line:
                    last = line
                if number % _LINES == 0:
                    yield
    except (EOFError, OSError, zlib.error):
        pass
    return None if last is None else decoded(last)
