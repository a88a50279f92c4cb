"""Pages and bytes of each site, for the limits by site: two numbers by a 64-bit key, on disk too.

A site takes 36 to 72 bytes of memory, so the counts of a million sites are kept although nearly
all of those sites are evicted. On disk there is a log of changed counts (``sites.000001.log``),
which is written anew when most of its entries are obsolete.
"""

import os
import zlib
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from larbinpy.storage.files import AppendFile, sync_folder
from larbinpy.storage.state import SavedPart
from larbinpy.url import hash64

#: Numbers of an entry: key, pages, bytes. A key of 0 is an empty slot.
_WIDTH = 3
#: Tables; each grows by itself, so that growth never takes long (2 ms at a million sites).
_TABLES = 1024
_SLOTS = 4
#: Entries of the log from which on it may be written anew.
_FEW = 20_000
#: The log is written anew when it has this many entries for each site.
_OBSOLETE = 4
_PIECE = 1 << 20


class Mark(TypedDict):
    """A state: the first `length` bytes of log `number`, which have this CRC-32."""

    number: int
    length: int
    crc: int


class _Table:
    """An open hash table of entries, at most two thirds full."""

    __slots__ = ("_mask", "count", "slots")

    def __init__(self, size: int = _SLOTS) -> None:
        self.slots = array("Q", bytes(8 * _WIDTH * size))
        self._mask = size - 1
        self.count = 0

    def place(self, key: int) -> int:
        """The index of the entry of `key`, or of the empty one where it belongs."""
        slots, slot = self.slots, key & self._mask
        while (found := slots[slot * _WIDTH]) and found != key:
            slot = (slot + 1) & self._mask
        return slot * _WIDTH

    def put(self, key: int, pages: int, received: int) -> None:
        at = self.place(key)
        if not self.slots[at]:
            self.count += 1
            if self.count * 3 > (self._mask + 1) * 2:
                self._grow()
                at = self.place(key)
        slots = self.slots
        slots[at], slots[at + 1], slots[at + 2] = key, pages, received

    def _grow(self) -> None:
        entries = list(_entries(self.slots))
        size = 2 * (self._mask + 1)
        self.slots, self._mask = array("Q", bytes(8 * _WIDTH * size)), size - 1
        slots, place = self.slots, self.place
        for key, pages, received in entries:
            at = place(key)
            slots[at], slots[at + 1], slots[at + 2] = key, pages, received


class SiteCounts(SavedPart):
    """Pages and bytes by site key, in memory and in `folder`.

    Different sites with the same 64-bit hash share their counts; with a million sites there is
    one such pair in 37 million crawls.
    """

    def __init__(self, folder: Path, *, few: int = _FEW) -> None:
        self._folder = folder
        self._few = few
        self._tables: list[_Table | None] = [None] * _TABLES
        # Keys whose counts changed since the last cut.
        self._changed: dict[int, None] = {}
        self._file: AppendFile | None = None
        self._mark: Mark | None = None
        # Whether a name in the folder has not been flushed to the disk.
        self._new_name = False

    def __len__(self) -> int:
        return sum(table.count for table in self._tables if table is not None)

    def get(self, site: str) -> tuple[int, int]:
        """Pages and bytes of `site` so far."""
        key = _key(site)
        table = self._tables[key % _TABLES]
        if table is None:
            return 0, 0
        at = table.place(key // _TABLES or 1)
        return table.slots[at + 1], table.slots[at + 2]

    def put(self, site: str, pages: int, received: int) -> None:
        """Set the counts of `site`."""
        key = _key(site)
        self._put(key, pages, received)
        self._changed[key] = None

    def _put(self, key: int, pages: int, received: int) -> None:
        table = self._tables[key % _TABLES]
        if table is None:
            table = self._tables[key % _TABLES] = _Table()
        table.put(key // _TABLES or 1, pages, received)

    # -- checkpoints

    def cut(self) -> Mark | None:
        """Write the changed counts; return the mark, None while nothing was counted."""
        if self._changed:
            entries = array("Q")
            for key in self._changed:
                table = self._tables[key % _TABLES]
                assert table is not None
                at = table.place(key // _TABLES or 1)
                entries.extend((key, *table.slots[at + 1 : at + _WIDTH]))
            self._append(entries)
            self._changed.clear()
            most = max(self._few, _OBSOLETE * len(self))
            if self._mark is not None and self._mark["length"] > most * 8 * _WIDTH:
                self._write_anew()
        return self._mark and self._mark.copy()

    def _append(self, entries: "array[int]") -> None:
        if self._file is None:
            if self._mark is None:
                self._mark = Mark(number=self._next_number(), length=0, crc=0)
            self._file = self._open(self._mark)
        assert self._mark is not None
        _write(self._file, self._mark, entries)

    def _open(self, mark: Mark) -> AppendFile:
        self._new_name = True
        file = AppendFile(self._path(mark["number"]))
        file.cut_to(mark["length"])
        return file

    def _write_anew(self) -> None:
        """Begin a log that has each site once. If that fails, the old one suffices."""
        mark = Mark(number=self._next_number(), length=0, crc=0)
        with suppress(OSError):
            file = self._open(mark)
            try:
                for rank, table in enumerate(self._tables):
                    entries = array("Q")
                    for key, pages, received in _entries(table.slots if table else array("Q")):
                        entries.extend((key * _TABLES + rank, pages, received))
                    _write(file, mark, entries)
            except OSError:
                file.close()
                raise
            self.close()
            self._file, self._mark = file, mark

    def sync(self) -> None:
        """Flush to the disk what `cut` wrote. Raises `OSError`; it may be called again then."""
        if self._file is not None:
            self._file.sync()
        if self._new_name:
            sync_folder(self._folder)
            self._new_name = False

    def load(self, mark: Mark | None) -> None:
        """Load the counts as of `mark`; what was written after it is cut off.

        A state without counts has no mark.
        """
        if mark is None:
            return
        crc = 0
        with open(self._path(mark["number"]), "rb") as file:
            for start in range(0, mark["length"], _PIECE * _WIDTH):
                data = file.read(min(_PIECE * _WIDTH, mark["length"] - start))
                if len(data) % (8 * _WIDTH):
                    raise ValueError(f"{file.name}: shorter than it says")
                crc = zlib.crc32(data, crc)
                for key, pages, received in _entries(array("Q", data)):
                    self._put(key, pages, received)
            if crc != mark["crc"] or file.tell() != mark["length"]:
                raise ValueError(f"{file.name}: not what was written")
        self._mark = Mark(number=mark["number"], length=mark["length"], crc=mark["crc"])

    def tidy(self, mark: Mark | None) -> None:
        """Delete the logs that neither `mark`, which is committed, nor the counts need."""
        needed = {each["number"] for each in (mark, self._mark) if each is not None}
        for number in self._numbers():
            if number not in needed:
                with suppress(FileNotFoundError):
                    os.unlink(self._path(number))

    def clear(self) -> None:
        """Delete all files."""
        for number in self._numbers():
            os.unlink(self._path(number))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _path(self, number: int) -> Path:
        return self._folder / f"sites.{number:06d}.log"

    def _numbers(self) -> list[int]:
        """The numbers of all logs; other files with a similar name are not ours."""
        found = [(path, path.name.split(".")[1]) for path in self._folder.glob("sites.*.log")]
        return [int(n) for path, n in found if n.isdecimal() and path == self._path(int(n))]

    def _next_number(self) -> int:
        """A number that no file has: one that a killed run has left is not continued."""
        return max(self._numbers(), default=0) + 1


class UnsavedSiteCounts(SiteCounts):
    """Counts that are saved elsewhere, as those of a node: it keeps no list of the changed ones."""

    def put(self, site: str, pages: int, received: int) -> None:
        self._put(_key(site), pages, received)


def _write(file: AppendFile, mark: Mark, entries: "array[int]") -> None:
    data = entries.tobytes()
    file.write(data)
    mark["length"] += len(data)
    mark["crc"] = zlib.crc32(data, mark["crc"])


def _key(site: str) -> int:
    # 0 is an empty slot of the log, too.
    return hash64(site.encode()) or 1


def _entries(slots: "array[int]") -> Iterator[tuple[int, int, int]]:
    for at in range(0, len(slots), _WIDTH):
        if slots[at]:
            yield slots[at], slots[at + 1], slots[at + 2]
