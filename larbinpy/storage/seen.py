"""The set of URLs seen before, as fingerprints, in memory and on disk.

It is exact on 64-bit fingerprints; Larbin's table of one bit each loses one new URL in seven at
ten million.

On disk there is a log of the fingerprints in the order in which they were added, in segments
(``NAME.000007.log``), and from time to time an image of the table (``NAME.000008.table``), which
saves reading the log before it. A cut writes all its fingerprints to the log, so an image holds
none that the next cut does not hold.
"""

import os
from array import array
from collections.abc import Iterable
from contextlib import suppress
from itertools import compress
from pathlib import Path
from typing import TypedDict

from larbinpy.storage.extents import LOG, TABLE, Extent, Extents
from larbinpy.storage.files import Tail
from larbinpy.storage.fingerprint_table import FingerprintTable
from larbinpy.storage.images import Images
from larbinpy.storage.sizes import SEEN_SIZES, SeenSizes


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
