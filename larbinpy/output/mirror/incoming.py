"""Puts files into a mirror: by a temporary file, and through folders that are no symbolic links.

Both kinds of mirror write this way; they differ in file names. A page is written to one temporary
file in the mirror's folder and renamed into place, so a file under its final name is
complete. Each folder is opened relative to the one above it and never through a symbolic link,
so a link planted in the mirror leads nowhere.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from larbinpy.storage.files import create, discard, enter_folder

_PART = ".larbinpy-part"


class Incoming:
    """The temporary file of the mirror whose folder `root`, a descriptor, is."""

    def __init__(self, root: int) -> None:
        self._root = root
        # A kill may have left a temporary file, and perhaps no page will replace it.
        discard(_PART, folder=root)

    def __repr__(self) -> str:
        return f"<Incoming to folder {self._root}>"

    def put(self, body: bytes, settle: Callable[[], None], modified: float | None = None) -> None:
        """Write `body` to the temporary file, which `settle` moves into place by `move_to`.

        `modified` (Unix time) becomes the date of the file. Raises `OSError`; the temporary
        file is gone then.
        """
        create(_PART, (body,), folder=self._root)
        try:
            if modified is not None:
                with suppress(OverflowError):
                    times = (modified, modified)
                    os.utime(_PART, times, dir_fd=self._root, follow_symlinks=False)
            settle()
        except BaseException:
            discard(_PART, folder=self._root)
            raise

    def move_to(self, folder: int, name: str) -> None:
        """Rename the temporary file to `name` in `folder`. Raises `OSError`."""
        os.rename(_PART, name, src_dir_fd=self._root, dst_dir_fd=folder)


def enter(start: int, folders: Sequence[str], make_way: Callable[[int, int], None]) -> int:
    """Descriptor of the folder that `folders` lead to from `start`; missing ones are made.

    Takes ownership of the descriptor `start`. If a name belongs to something that is not a folder,
    `make_way` must rename that: it gets the descriptor of the parent folder and the index of the
    name in `folders`. Raises `OSError`.
    """
    folder = start
    for index, name in enumerate(folders):
        parent = folder
        try:
            found = enter_folder(parent, name)
            if found is None:
                make_way(parent, index)
                found = enter_folder(parent, name)
        finally:
            os.close(parent)
        if found is None:
            path = "/".join(folders[: index + 1])
            raise NotADirectoryError(f"{path} in the mirror was replaced while it was made")
        folder = found
    return folder
