"""The crawl log, ``crawl.jsonl``: one JSON object a line for each URL whose fate is decided."""

import json
import os
from dataclasses import fields
from operator import attrgetter

from larbinpy.files import LineFile
from larbinpy.page import Fate

# Enough for some 300 lines: one write in place of many, and little to lose in a kill.
_BUFFER = 1 << 16

_KEYS = tuple(field.name for field in fields(Fate))
_values = attrgetter(*_KEYS)
_encode = json.JSONEncoder(ensure_ascii=True, check_circular=False).encode


def line(fate: Fate) -> bytes:
    """`fate` as a line: printable ASCII whatever the web put into it, and a newline."""
    return _encode(dict(zip(_KEYS, _values(fate), strict=True))).encode("ascii") + b"\n"


class CrawlLog:
    """Appends to the log at `path`; what a kill left of a last line is cut off first.

    Lines wait in memory until `flush`, or until there are 64 kB of them. A write that
    fails leaves whole lines in the file, and what it should have written in memory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._waiting: list[bytes] = []
        self._size = 0
        self._file = LineFile(path)

    def write(self, fate: Fate) -> None:
        data = line(fate)
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        """Hand all lines to the system. Raises `OSError`; nothing is lost or torn then."""
        if self._waiting:
            self._file.write(b"".join(self._waiting))
            self._waiting.clear()
            self._size = 0

    def reopen(self) -> None:
        """Go on in a new file where the old one was renamed (log rotation). Raises `OSError`."""
        self.flush()
        # The new file first: if it cannot be had, the old one still takes lines. Unless
        # they are the same file, which has one writer.
        if self._file.is_at(self._path):
            return
        old, self._file = self._file, LineFile(self._path)
        old.close()

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._file.close()

    def __repr__(self) -> str:
        return f"CrawlLog({os.fspath(self._path)!r}, {len(self._waiting)} waiting)"
