"""Finds the last line about a URL in the log files that were rotated away, in steps."""

import gzip
import zlib
from collections.abc import Generator
from pathlib import Path

from larbinpy.errors import UserError
from larbinpy.observe.log_search import Line, LogSearch, StoppedLog, decoded, needle_of
from larbinpy.observe.report.log_files import LogFiles

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
