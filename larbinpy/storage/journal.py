"""A file that grows by pieces, which wait in memory for a moment: a part of the saved state."""

import os

from larbinpy.storage.files import AppendFile
from larbinpy.storage.state import SavedPart


class Journal(SavedPart):
    """Appends pieces of bytes to an open file.

    Pieces wait in memory until `flush`. After a failed write the file has complete pieces only,
    and the pieces that were not written still wait.
    """

    def __init__(self, file: AppendFile) -> None:
        self._waiting: list[bytes] = []
        self._file = file

    def __repr__(self) -> str:
        name = os.path.basename(self._file.name)
        return f"{type(self).__name__}({name!r}, {len(self._waiting)} waiting)"

    def flush(self) -> None:
        """Write all waiting pieces. Raises `OSError`, with no piece lost or torn."""
        if self._waiting:
            self._file.write(b"".join(self._waiting))
            self._waiting.clear()

    def cut(self) -> dict[str, int]:
        """Write all waiting pieces; return the file's inode and length."""
        self.flush()
        return {"file": self._file.number, "length": self._file.size}

    def sync(self) -> None:
        """Flush the written pieces to the disk."""
        self._file.sync()

    def load(self, mark: dict[str, int]) -> None:
        """Cut off the pieces after a mark: their URLs will be fetched again.

        If another file has replaced the marked one, it is not changed.
        """
        if self._file.number == mark["file"] and self._file.size > mark["length"]:
            self._file.cut_to(mark["length"])

    def clear(self) -> None:
        """Remove all pieces."""
        self._file.cut_to(0)

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._file.close()
