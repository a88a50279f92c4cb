"""A part of the state that is one file, written anew under the next number if it has changed."""

import os
from contextlib import suppress
from pathlib import Path

from larbinpy.storage.files import create, open_folder


class NumberedFile:
    """The files ``STEM.000001.SUFFIX`` in `folder`, of which one counts; for its owner alone.

    Each checkpoint that saves other content writes the next number, so that the state and the file
    agree after a kill.
    """

    def __init__(self, folder: Path, stem: str, suffix: str) -> None:
        self._folder = folder
        self._stem, self._suffix = stem, suffix
        # Number of the last file written.
        self._last = 0
        #: Number of the file that counts; 0 for none.
        self.number = 0
        self._synced = True

    def __repr__(self) -> str:
        return f"<NumberedFile {self.name(self.number)}>"

    def name(self, number: int) -> str:
        return f"{self._stem}.{number:06}.{self._suffix}"

    def write(self, data: bytes) -> None:
        """Write the next file; empty `data` for none."""
        self.number = 0
        if data:
            self._last += 1
            folder = open_folder(self._folder)
            try:
                create(self.name(self._last), [data], folder=folder, mode=0o600)
            finally:
                os.close(folder)
            self._synced = False
            self.number = self._last

    @property
    def is_flushed(self) -> bool:
        return self._synced or not self.number

    def flush(self) -> None:
        """Flush the file; its name is flushed with that of the manifest, in the same folder."""
        with (self._folder / self.name(self.number)).open("rb") as file:
            os.fsync(file.fileno())
        self._synced = True

    def read(self, number: int) -> bytes:
        """The content of the file with this number, which counts from now on; empty for 0."""
        self._last = self.number = number
        return (self._folder / self.name(number)).read_bytes() if number else b""

    def discard(self, kept: int) -> None:
        """Remove all other files; 0 for all."""
        for path in self._folder.glob(f"{self._stem}.*.{self._suffix}"):
            number = path.name.split(".")[1]
            # Other files with a similar name are not ours.
            is_own = number.isdecimal() and path.name == self.name(int(number))
            if is_own and (not kept or int(number) != kept):
                with suppress(FileNotFoundError):
                    path.unlink()
