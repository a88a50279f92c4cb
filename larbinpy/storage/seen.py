"""The set of URLs seen before, as fingerprints, in memory and on disk.

It is exact on 64-bit fingerprints; Larbin's table of one bit each loses one new URL in seven at
ten million.

On disk there is a log of the fingerprints in the order in which they were added, in segments
(``NAME.000007.log``), and from time to time an image of the table (``NAME.000008.table``), which
saves reading the log before it. An image is written a little at a time while the table changes, as
in fuzzy checkpoints (Hagmann, 1986): it begins with a new segment of the log, and once it is
durable, the state is the image and the log from that segment on. A cut writes all its fingerprints
to the log, so an image holds none that the next cut does not hold.

The files have checksums (`Extents`) and are removed a little at a time. They are read with read(2),
not mapped: a page fault in the middle of a turn would wait for the disk, and a checksum over a
mapping would read all of it anyway.
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


@dataclass(slots=True)
class _Image:
    """An image being made, until a cut makes it part of the state."""

    extent: Extent
    #: Number of the segment of the log that was begun together with the image.
    log_from: int
    pieces: Iterator[memoryview]
    whole: bool = False
    durable: bool = False


class Images:
    """The image of the state, and at most one that is being made."""

    def __init__(self, files: Extents, sizes: SeenSizes) -> None:
        self._files = files
        self._sizes = sizes
        self._image: _Image | None = None
        self._next_at = sizes.image_after
        #: The image that is part of the state.
        self.base: Extent | None = None

    @property
    def writing(self) -> bool:
        """Whether an image is being written."""
        return self._image is not None and not self._image.whole

    @property
    def extents(self) -> list[Extent]:
        """The image of the state and the one being made, if they exist."""
        made = None if self._image is None else self._image.extent
        return [extent for extent in (self.base, made) if extent is not None]

    def load(self, base: Extent | None, count: int) -> None:
        """Continue from the state with image `base`, of `count` fingerprints."""
        self.base = base
        self._plan(count)

    def _plan(self, count: int) -> None:
        self._next_at = count + max(self._sizes.image_after, count // self._sizes.image_share)

    def due(self, count: int) -> bool:
        """Whether a table of `count` fingerprints needs a new image, and none is being made."""
        return self._image is None and count >= self._next_at

    def begin(self, pieces: Iterator[memoryview], log_from: int, count: int) -> None:
        """Begin the image of a table of `count` fingerprints; `log_from`: its log segment."""
        self._image = _Image(self._files.new(), log_from, pieces)
        self._plan(count)
        # The first piece at once: it has the number of fingerprints as the segment begins.
        self.write()

    def write(self) -> None:
        """Write a piece of the image. After an `OSError`, the image is given up."""
        image = self._image
        assert image is not None and not image.whole
        piece = next(image.pieces, None)
        if piece is None:
            image.whole = True
            return
        name = self._files.file(image.extent, TABLE)
        try:
            self._files.append(name, image.extent, piece)
            if image.extent["length"] % self._sizes.write_back < len(piece):
                self._write_back(name, image.extent["length"])
        except OSError:
            self.give_up()
            raise

    def _write_back(self, name: str, length: int) -> None:
        start = max(0, length - 2 * self._sizes.write_back)
        with self._files.opened(name, os.O_WRONLY) as fd:
            os.posix_fadvise(fd, start, length - start, os.POSIX_FADV_DONTNEED)

    def give_up(self) -> None:
        """Abandon the image being made; the next is begun after as many new fingerprints."""
        assert self._image is not None
        self._files.remove(self._files.file(self._image.extent, TABLE))
        self._image = None

    def sync(self) -> None:
        """Flush a complete image to the disk. After an `OSError`, the image is given up."""
        image = self._image
        if image is None or not image.whole or image.durable:
            return
        with self._files.opened(self._files.file(image.extent, TABLE), os.O_RDONLY) as fd:
            try:
                os.fsync(fd)
            except OSError:
                self.give_up()
                raise
        image.durable = True

    def adopt(self) -> int | None:
        """Make a durable image part of the state; return the number of its first log segment."""
        image = self._image
        if image is None or not image.durable:
            return None
        self.base, self._image = image.extent, None
        return image.log_from


class Mark(TypedDict):
    """A state: the image, if there is one, and the segments of the log since it was begun."""

    table: Extent | None
    log: list[Extent]


class Seen:
    """A set of 64-bit fingerprints and its files in `folder`, named `name` and a number."""

    def __init__(self, folder: Path, name: str, sizes: SeenSizes = SEEN_SIZES) -> None:
        self._name = name
        self._sizes = sizes
        self._table = FingerprintTable(sizes.table)
        self._files = Extents(folder, name, sizes)
        self._images = Images(self._files, sizes)
        self._waiting = array("Q")
        self._log: list[Extent] = []
        self._unsynced: dict[str, Tail] = {}
        self._is_tidy = False

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
        if self._images.writing:
            if not self._table.crowded:
                return
            self._images.give_up()
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
        if self._files.removing:
            self._files.remove_some()
        elif self._images.writing:
            self._images.write()
        elif self._images.due(len(self)):
            self._begin_image()

    def _begin_image(self) -> None:
        # Fingerprints added before the image begins are in the segment before.
        self._write_waiting()
        segment = self._begin_segment()
        self._images.begin(self._table.image(self._sizes.piece), segment["number"], len(self))

    def cut(self) -> Mark:
        """Write the fingerprints that wait; return the mark of the present state.

        Raises `OSError`; it may be called again then.
        """
        self._write_waiting()
        log_from = self._images.adopt()
        if log_from is not None:
            self._log = [extent for extent in self._log if extent["number"] >= log_from]
            self._is_tidy = False
        base = self._images.base
        return Mark(
            table=base and base.copy(),
            log=[extent.copy() for extent in self._log if extent["length"]],
        )

    def sync(self) -> None:
        """Flush to the disk what `cut` wrote. Raises `OSError`; it may be called again then.

        A complete image is flushed, too; it is part of the state from the next cut on.
        """
        for name, tail in sorted(self._unsynced.items()):
            with self._files.opened(name, os.O_RDWR) as fd:
                tail.sync(fd)
            del self._unsynced[name]
        self._images.sync()
        self._files.sync_names()

    def tidy(self, mark: Mark) -> None:
        """Remove the files that neither `mark`, which is committed, nor the present state needs.

        Large files are removed by later calls of `step`. Raises `OSError`.
        """
        if self._is_tidy:
            return
        marked = [] if mark["table"] is None else [mark["table"]]
        needed = {self._files.file(extent, TABLE) for extent in (*marked, *self._images.extents)}
        needed |= {self._files.file(extent, LOG) for extent in (*mark["log"], *self._log)}
        self._files.remove_all_but(needed)
        self._is_tidy = True

    def clear(self) -> None:
        """Remove all files of this name. Raises `OSError`."""
        self._files.clear()

    def load(self, mark: Mark) -> None:
        """Load the state `mark`, and cut off what was written after it. Raises as `read`."""
        self.read(mark)
        for extent in mark["log"]:
            self._files.truncate(self._files.file(extent, LOG), extent)

    def read(self, mark: Mark) -> None:
        """Load the state `mark`, and change no file.

        The set must be new. Raises `ValueError` or `OSError` if the files are damaged; the set
        is not usable then.
        """
        base = mark["table"]
        if base is not None:
            with self._files.reading(self._files.file(base, TABLE), base) as file:
                self._table = FingerprintTable.restore(base["length"], file.fill, self._sizes.table)
        self._images.load(base and base.copy(), len(self))
        count = len(self) + sum(extent["length"] for extent in mark["log"]) // 8
        for extent in mark["log"]:
            name = self._files.file(extent, LOG)
            with self._files.reading(name, extent) as file:
                while file.left:
                    batch = array("Q", bytes(min(file.left, self._sizes.batch * 8)))
                    file.fill(memoryview(batch).cast("B"))
                    self._table.add(batch.tolist())
                    # Other growth is postponed: it would double the time of loading.
                    if self._table.crowded:
                        self._table.grow()
        self._table.recount(count)
        self._log = [extent.copy() for extent in mark["log"]]

    def _write_waiting(self) -> None:
        if self._waiting:
            segment = self._log[-1] if self._log else self._begin_segment()
            name = self._files.file(segment, LOG)
            start = segment["length"]
            self._files.append(name, segment, self._waiting.tobytes())
            self._unsynced.setdefault(name, Tail(start))
            self._waiting = array("Q")

    def _begin_segment(self) -> Extent:
        self._log.append(self._files.new())
        return self._log[-1]


class UnsavedSeen(Seen):
    """A set whose fingerprints are kept elsewhere: nothing is written to the disk."""

    def _add(self, batch: list[int]) -> list[bool]:
        fresh = super()._add(batch)
        # As if they were written.
        del self._waiting[:]
        return fresh

    def step(self) -> None:
        return
