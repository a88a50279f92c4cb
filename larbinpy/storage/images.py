"""Images: copies of the table of fingerprints on disk, which save reading the log before them.

An image is written a little at a time while the table changes, as in fuzzy checkpoints (Hagmann,
1986): it begins with a new segment of the log, and once it is durable, the state is the image and
the log from that segment on.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from larbinpy.storage.extents import TABLE, Extent, Extents
from larbinpy.storage.sizes import SeenSizes


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

    def __repr__(self) -> str:
        return f"<Images {self.base}, making {self._image and self._image.extent}>"

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
