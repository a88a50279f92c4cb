"""What a plug makes of pages, in a file: lines of JSON, or a table for spreadsheets (CSV).

Items of one page are written together, after its last one. So a page that the disk refused, and
that comes again, has no item twice; after a kill, the file is cut back to the last checkpoint, from
which pages come again.
"""

import csv
import json
import os
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO

from larbinpy.errors import UserError

#: One thing that was found: names and values that JSON has.
Item = Mapping[str, Any]


class ItemError(UserError):
    """An item that the file cannot hold."""


class Items:
    """A file of items; a part of the saved state.

    `node` is the name of a node of a fleet, which has a file of its own. Raises OSError.
    """

    def __init__(self, path: str, node: str = "") -> None:
        place = Path(path)
        if node:
            place = place.with_name(f"{place.stem}.{node}{place.suffix}")
        self.path = place
        self._is_table = place.suffix.lower() == ".csv"
        self._file: BinaryIO | None = None
        self._size = 0
        self._count = 0
        #: The columns of a table: those of its first item.
        self._fields: list[str] = []
        self._waiting: list[Item] = []

    def emit(self, item: Item) -> None:
        """Take an item of the page that is read now. Raises ItemError."""
        if not isinstance(item, Mapping):
            raise ItemError(f"{self.path}: an item is a dict, not {type(item).__name__}")
        self._waiting.append(dict(item))

    def drop(self) -> None:
        """Forget the items of a page that comes again."""
        self._waiting.clear()

    def commit(self) -> None:
        """Write the items since the last call, all or none. Raises OSError, ItemError."""
        if not self._waiting:
            return
        fields = self._fields or [str(name) for name in self._waiting[0]]
        data = self._table(self._waiting, fields) if self._is_table else _lines(self._waiting)
        file = self._opened()
        try:
            file.write(data)
        except OSError:
            file.truncate(self._size)
            file.seek(self._size)
            raise
        self._size += len(data)
        self._count += len(self._waiting)
        self._fields = fields
        self._waiting = []

    def _table(self, items: Iterable[Item], fields: list[str]) -> bytes:
        out = StringIO()
        writer = csv.DictWriter(out, fields)
        if not self._size:
            writer.writeheader()
        for item in items:
            if more := [name for name in item if name not in fields]:
                raise ItemError(
                    f"{self.path}: no column {more[0]!r}; those of the first item are "
                    f"{', '.join(fields)}; .jsonl takes any"
                )
            writer.writerow({name: _cell(value) for name, value in item.items()})
        return out.getvalue().encode(errors="backslashreplace")

    def _opened(self) -> BinaryIO:
        """The file, unbuffered, from its end on; it is emptied by the first item of a new crawl."""
        if self._file is None:
            self._file = open(self.path, "r+b" if self.path.exists() else "w+b", buffering=0)  # noqa: SIM115
            self._file.truncate(self._size)
            self._file.seek(self._size)
        return self._file

    def describe(self) -> dict[str, object]:
        """For the status page."""
        return {"file": str(self.path), "items": self._count}

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    # As a part of the state:

    def cut(self) -> dict[str, Any]:
        self.commit()
        # A file of an earlier crawl is emptied.
        self._opened()
        return {"size": self._size, "items": self._count, "fields": list(self._fields)}

    def sync(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())

    def load(self, mark: Mapping[str, Any]) -> None:
        """Continue from a mark; raises OSError or ValueError if the file has less than that."""
        size = int(mark["size"])
        there = self.path.stat().st_size if self.path.exists() else 0
        if there < size:
            raise ValueError(f"{self.path} has {there:,} bytes of {size:,}; put the file back")
        self._size, self._count = size, int(mark["items"])
        self._fields = [str(name) for name in mark["fields"]]


def _lines(items: Iterable[Item]) -> bytes:
    lines = (json.dumps(item, ensure_ascii=False, default=str) for item in items)
    return "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")


def _cell(value: Any) -> Any:
    """A value of a table: those that are no text or number as JSON."""
    simple = value is None or isinstance(value, str | int | float)
    return value if simple else json.dumps(value, ensure_ascii=False, default=str)
