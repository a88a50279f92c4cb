"""Numbered files with checksums, which grow at their end and are removed a little at a time.

Files are read with read(2), not mapped: a page fault in the middle of a turn would wait for
the disk, and a checksum over a mapping would read all of it anyway.
"""

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypedDict

from larbinpy.storage.files import sync_folder, write_at
from larbinpy.storage.sizes import SeenSizes

#: The kinds of files.
LOG, TABLE = "log", "table"


class Extent(TypedDict):
    """The beginning of a file: `length` bytes that have this CRC-32."""

    number: int
    length: int
    crc: int


class Extents:
    """The files ``NAME.NUMBER.KIND`` in `folder`.

    No number is used twice, so a file that a killed run has left is never taken for one of
    this run.
    """

    def __init__(self, folder: Path, name: str, sizes: SeenSizes) -> None:
        self._folder = folder
        self._name = name
        self._sizes = sizes
        self._number: int | None = None
        self._folder_synced = True
        self._to_remove: list[str] = []

    def __repr__(self) -> str:
        return f"<Extents {self._name}, {len(self._to_remove)} files to remove>"

    def new(self) -> Extent:
        """An empty extent with a new number; its file is made when bytes are appended."""
        if self._number is None:
            self._number = max((int(name.split(".")[-2]) for name in self.found()), default=0)
        self._number += 1
        return Extent(number=self._number, length=0, crc=0)

    def file(self, extent: Extent, kind: str) -> str:
        """The name of the file of `extent`."""
        return f"{self._name}.{int(extent['number']):06}.{kind}"

    def found(self) -> list[str]:
        """The names of all files, sorted."""
        form = re.compile(re.escape(self._name) + rf"\.\d{{6,}}\.({LOG}|{TABLE})")
        return sorted(filter(form.fullmatch, os.listdir(self._folder)))

    @contextmanager
    def opened(self, name: str, flags: int) -> Iterator[int]:
        """A descriptor of the file `name`."""
        fd = os.open(self._folder / name, flags, 0o666)
        try:
            yield fd
        finally:
            os.close(fd)

    def append(self, name: str, extent: Extent, data: bytes | memoryview) -> None:
        """Append `data` to `extent`, all of it or, with an `OSError`, nothing."""
        length = extent["length"]
        new = 0 if length else os.O_CREAT | os.O_TRUNC
        with self.opened(name, os.O_WRONLY | new) as fd:
            try:
                write_at(fd, data, length)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(fd, length)
                raise
        if new:
            self._folder_synced = False
        extent["length"] = length + len(data)
        extent["crc"] = zlib.crc32(data, extent["crc"])

    def sync_names(self) -> None:
        """Flush the names of new files to the disk. Raises `OSError`."""
        if not self._folder_synced:
            sync_folder(self._folder)
            self._folder_synced = True

    @contextmanager
    def reading(self, name: str, extent: Extent) -> Iterator["Reader"]:
        """A reader of `extent`; ValueError at the end if the file holds something else."""
        path = self._folder / name
        with self.opened(name, os.O_RDONLY) as fd:
            size = os.fstat(fd).st_size
            if not 0 <= extent["length"] <= size:
                raise ValueError(f"{path}: {size} bytes of {extent['length']}")
            reader = Reader(fd, extent["length"], self._sizes.piece)
            yield reader
            if reader.left or reader.crc != extent["crc"]:
                raise ValueError(f"{path}: not what was written")

    def truncate(self, name: str, extent: Extent) -> None:
        """Cut off the bytes of the file that are not in `extent`."""
        os.truncate(self._folder / name, extent["length"])

    # -- removal

    @property
    def removing(self) -> bool:
        """Whether files are left that `remove_some` removes."""
        return bool(self._to_remove)

    def remove(self, name: str) -> None:
        """Queue a file, if it exists, to be removed by `remove_some`."""
        self._to_remove.append(name)

    def remove_all_but(self, needed: set[str]) -> None:
        """Remove all files but these; large ones are left to `remove_some`. Raises `OSError`."""
        for name in self.found():
            if name not in needed and name not in self._to_remove:
                self._to_remove.append(name)
                if os.stat(self._folder / name).st_size <= self._sizes.cut_off:
                    self._shorten(name)

    def remove_some(self) -> None:
        """Remove a file, or a part of a large one. Raises `OSError`; may be called again then."""
        self._shorten(self._to_remove[-1])

    def _shorten(self, name: str) -> None:
        path = self._folder / name
        with suppress(FileNotFoundError):
            size = os.stat(path).st_size
            if size > self._sizes.cut_off:
                os.truncate(path, size - self._sizes.cut_off)
                return
            os.unlink(path)
        self._to_remove.remove(name)

    def clear(self) -> None:
        """Remove all files at once. Raises `OSError`."""
        for name in self.found():
            os.unlink(self._folder / name)


class Reader:
    """Reads the beginning of a file, and computes the checksum of what it has read."""

    def __init__(self, fd: int, length: int, piece: int) -> None:
        self._fd = fd
        self._piece = piece
        self.left = length
        self.crc = 0

    def fill(self, room: memoryview) -> None:
        """Read until `room` is full; ValueError if the file ends before that."""
        while room:
            piece = room[: min(len(room), self.left, self._piece)]
            if not (size := os.readv(self._fd, [piece])):
                raise ValueError("shorter than it says")
            self.left -= size
            self.crc = zlib.crc32(piece[:size], self.crc)
            room = room[size:]
