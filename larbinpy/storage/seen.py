"""The set of URLs seen before, as fingerprints, in memory and on disk.

It is exact on 64-bit fingerprints; Larbin's table of one bit each loses one new URL in seven at
ten million.

On disk there is a log of the fingerprints in the order in which they were added, in segments
(``NAME.000007.log``), and from time to time an image of the table (``NAME.000008.table``), which
saves reading the log before it. An image is written a little at a time while the table changes,
as in fuzzy checkpoints (Hagmann, 1986): it begins with a new segment of the log, and once it is
durable, the state is the image and the log from that segment on. A cut writes all its
fingerprints to the log, so an image holds none that the next cut does not hold.

Files are read with read(2), not mapped: a page fault in the middle of a turn would wait for
the disk, and a checksum over a mapping would read all of it anyway.
"""

import os
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TypedDict

from larbinpy.storage.files import Tail, sync_folder, write_at
from larbinpy.storage.fingerprint_table import FingerprintTable
from larbinpy.storage.sizes import SEEN_SIZES, SeenSizes

_LOG, _TABLE = "log", "table"


class Extent(TypedDict):
    """The beginning of a file: `length` bytes that have this CRC-32."""

    number: int
    length: int
    crc: int


class Mark(TypedDict):
    """A state: the image, if there is one, and the segments of the log since it was begun."""

    table: Extent | None
    log: list[Extent]


@dataclass(slots=True)
class _Image:
    """An image being made, until a cut makes it part of the state."""

    extent: Extent
    #: Number of the segment of the log that was begun together with the image.
    log_from: int
    pieces: Iterator[memoryview]
    whole: bool = False
    durable: bool = False


class Seen:
    """A set of 64-bit fingerprints and its files in `folder`, named `name` and a number.

    No number is used twice, so a file that a killed run has left is never taken for one of
    this run.
    """

    def __init__(self, folder: Path, name: str, sizes: SeenSizes = SEEN_SIZES) -> None:
        self._folder = folder
        self._name = name
        self._sizes = sizes
        self._table = FingerprintTable(sizes.table)
        self._waiting = array("Q")
        self._base: Extent | None = None
        self._log: list[Extent] = []
        self._image: _Image | None = None
        self._image_at = sizes.image_after
        self._number: int | None = None
        self._unsynced: dict[str, Tail] = {}
        self._folder_synced = True
        self._is_tidy = False
        self._to_remove: list[str] = []

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"<Seen {self._name}: {len(self)} URLs, {len(self._waiting)} not written>"

    def __contains__(self, fingerprint: int) -> bool:
        return fingerprint in self._table

    def unseen(self, batch: list[int]) -> list[bool]:
        """For each of `batch`, in order: whether it is not in the set."""
        return self._table.absent(batch)

    def add(self, fingerprints: Iterable[int]) -> list[bool]:
        """Add fingerprints; for each, in order: whether it was new."""
        batch = list(fingerprints)
        size = self._sizes.batch
        if len(batch) <= size:
            return self._add(batch)
        fresh = []
        for start in range(0, len(batch), size):
            fresh += self._add(batch[start : start + size])
        return fresh

    def _add(self, batch: list[int]) -> list[bool]:
        fresh = self._table.add(batch)
        if True in fresh:
            self._waiting.extend(compress(batch, fresh))
            if self._table.full:
                self._grow()
        return fresh

    def _grow(self) -> None:
        if self._image is not None and not self._image.whole:
            if not self._table.crowded:
                return
            self._abandon(self._image)
        # Without memory for growth the table gets fuller and slower.
        with suppress(MemoryError):
            self._table.grow()

    def step(self) -> None:
        """Do some 2 ms of work: write, begin or continue an image, or remove files.

        Raises `OSError`. An image that cannot be written is given up, as the log suffices; the
        next one is begun after as many new fingerprints as usual.
        """
        if len(self._waiting) >= self._sizes.waiting:
            self._write_waiting()
        if self._to_remove:
            self._remove_some(self._to_remove[-1])
        elif self._image is None:
            if len(self) >= self._image_at:
                self._begin_image()
        elif not self._image.whole:
            self._write_image(self._image)

    def _begin_image(self) -> None:
        # Fingerprints added before the image begins are in the segment before.
        self._write_waiting()
        segment = self._begin_segment()
        extent, pieces = self._new_extent(), self._table.image(self._sizes.piece)
        self._image = _Image(extent, segment["number"], pieces)
        self._image_at = self._next_image()
        # The first piece at once: it has the number of fingerprints as the segment begins.
        self._write_image(self._image)

    def _write_image(self, image: _Image) -> None:
        piece = next(image.pieces, None)
        if piece is None:
            image.whole = True
            return
        name = self._file(image.extent, _TABLE)
        try:
            self._append(name, image.extent, piece)
            if image.extent["length"] % self._sizes.write_back < len(piece):
                self._write_back(name, image.extent["length"])
        except OSError:
            self._abandon(image)
            raise

    def _write_back(self, name: str, length: int) -> None:
        start = max(0, length - 2 * self._sizes.write_back)
        with _opened(self._folder / name, os.O_WRONLY) as fd:
            os.posix_fadvise(fd, start, length - start, os.POSIX_FADV_DONTNEED)

    def _next_image(self) -> int:
        count = len(self)
        return count + max(self._sizes.image_after, count // self._sizes.image_share)

    def _abandon(self, image: _Image) -> None:
        self._image = None
        self._to_remove.append(self._file(image.extent, _TABLE))

    def cut(self) -> Mark:
        """Write the fingerprints that wait; the mark of the state as it is now.

        Raises `OSError`; it may be called again then.
        """
        self._write_waiting()
        image = self._image
        if image is not None and image.durable:
            self._base, self._image = image.extent, None
            self._log = [extent for extent in self._log if extent["number"] >= image.log_from]
            self._is_tidy = False
        return Mark(
            table=self._base and self._base.copy(),
            log=[extent.copy() for extent in self._log if extent["length"]],
        )

    def sync(self) -> None:
        """Flush to the disk what `cut` wrote. Raises `OSError`; it may be called again then.

        A complete image is flushed, too; it is part of the state from the next cut on.
        """
        for name, tail in sorted(self._unsynced.items()):
            with _opened(self._folder / name, os.O_RDWR) as fd:
                tail.sync(fd)
            del self._unsynced[name]
        image = self._image
        if image is not None and image.whole and not image.durable:
            self._sync_image(image)
        if not self._folder_synced:
            sync_folder(self._folder)
            self._folder_synced = True

    def _sync_image(self, image: _Image) -> None:
        with _opened(self._folder / self._file(image.extent, _TABLE), os.O_RDONLY) as fd:
            try:
                os.fsync(fd)
            except OSError:
                self._abandon(image)
                raise
        image.durable = True

    def tidy(self, mark: Mark) -> None:
        """Remove the files that neither `mark`, which is committed, nor the present state needs.

        Large files are removed by later calls of `step`. Raises `OSError`.
        """
        if self._is_tidy:
            return
        needed = self._files(mark["table"], mark["log"]) | self._files(self._base, self._log)
        if self._image is not None:
            needed |= self._files(self._image.extent, [])
        for name in self._found():
            if name not in needed and name not in self._to_remove:
                self._to_remove.append(name)
                if os.stat(self._folder / name).st_size <= self._sizes.cut_off:
                    self._remove_some(name)
        self._is_tidy = True

    def _remove_some(self, name: str) -> None:
        path = self._folder / name
        with suppress(FileNotFoundError):
            size = os.stat(path).st_size
            if size > self._sizes.cut_off:
                os.truncate(path, size - self._sizes.cut_off)
                return
            os.unlink(path)
        self._to_remove.remove(name)

    def clear(self) -> None:
        """Remove all files of this name. Raises `OSError`."""
        for name in self._found():
            os.unlink(self._folder / name)

    def load(self, mark: Mark) -> None:
        """Load the state `mark`, and cut off what was written after it.

        The set must be new. Raises `ValueError` or `OSError` if the files are damaged; the set
        is not usable then.
        """
        base = mark["table"]
        if base is not None:
            with self._reading(self._file(base, _TABLE), base) as file:
                self._table = FingerprintTable.restore(base["length"], file.fill, self._sizes.table)
        self._image_at = self._next_image()
        count = len(self) + sum(extent["length"] for extent in mark["log"]) // 8
        for extent in mark["log"]:
            with self._reading(self._file(extent, _LOG), extent) as file:
                while file.left:
                    batch = array("Q", bytes(min(file.left, self._sizes.batch * 8)))
                    file.fill(memoryview(batch).cast("B"))
                    self._table.add(batch.tolist())
                    # Other growth is postponed: it would double the time of loading.
                    if self._table.crowded:
                        self._table.grow()
            os.truncate(self._folder / self._file(extent, _LOG), extent["length"])
        self._table.recount(count)
        self._base = base and base.copy()
        self._log = [extent.copy() for extent in mark["log"]]

    def _write_waiting(self) -> None:
        if self._waiting:
            segment = self._log[-1] if self._log else self._begin_segment()
            name = self._file(segment, _LOG)
            start = segment["length"]
            self._append(name, segment, self._waiting.tobytes())
            self._unsynced.setdefault(name, Tail(start))
            self._waiting = array("Q")

    def _begin_segment(self) -> Extent:
        self._log.append(self._new_extent())
        return self._log[-1]

    def _append(self, name: str, extent: Extent, data: bytes | memoryview) -> None:
        """Append `data` to `extent`, all of it or, with an `OSError`, nothing."""
        length = extent["length"]
        new = 0 if length else os.O_CREAT | os.O_TRUNC
        with _opened(self._folder / name, os.O_WRONLY | new) as fd:
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

    @contextmanager
    def _reading(self, name: str, extent: Extent) -> Iterator["_Reader"]:
        """A reader of `extent`; ValueError at the end if the file holds something else."""
        path = self._folder / name
        with _opened(path, os.O_RDONLY) as fd:
            size = os.fstat(fd).st_size
            if not 0 <= extent["length"] <= size:
                raise ValueError(f"{path}: {size} bytes of {extent['length']}")
            reader = _Reader(fd, extent["length"], self._sizes.piece)
            yield reader
            if reader.left or reader.crc != extent["crc"]:
                raise ValueError(f"{path}: not what was written")

    def _file(self, extent: Extent, kind: str) -> str:
        return f"{self._name}.{int(extent['number']):06}.{kind}"

    def _files(self, table: Extent | None, log: list[Extent]) -> set[str]:
        files = {self._file(extent, _LOG) for extent in log}
        return files if table is None else files | {self._file(table, _TABLE)}

    def _found(self) -> list[str]:
        """The names of all files of the set, sorted."""
        form = re.compile(re.escape(self._name) + rf"\.\d{{6,}}\.({_LOG}|{_TABLE})")
        return sorted(filter(form.fullmatch, os.listdir(self._folder)))

    def _new_extent(self) -> Extent:
        if self._number is None:
            self._number = max((int(name.split(".")[-2]) for name in self._found()), default=0)
        self._number += 1
        return Extent(number=self._number, length=0, crc=0)


class _Reader:
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


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    fd = os.open(path, flags, 0o666)
    try:
        yield fd
    finally:
        os.close(fd)
