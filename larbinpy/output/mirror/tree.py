"""The files of a mirror that browses offline, by their paths below its folder.

A file is complete or missing, and no path leads through a symbolic link: see `incoming`.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from stat import S_ISDIR, S_ISREG

from larbinpy.output.mirror.incoming import Incoming, enter
from larbinpy.storage.files import discard, find_folder

#: Errors that mean that there is no file of that name, but a folder, a link or nothing.
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)


class Tree:
    """The files below `root`, the descriptor of a folder, which the caller closes."""

    def __init__(self, root: int, make_way: Callable[[str], None]) -> None:
        """`make_way` renames the file at a path where a folder is needed."""
        self._root = root
        self._make_way = make_way
        self._incoming = Incoming(root)
        #: Number of files written.
        self.written = 0

    def __repr__(self) -> str:
        return f"<Tree {self.written} written>"

    def write(self, path: str, body: bytes, modified: float | None = None) -> None:
        """Put a file in its place, dated `modified` (Unix time). Raises `OSError`."""
        self._incoming.put(body, lambda: self._settle(path), modified)
        self.written += 1

    def _settle(self, path: str) -> None:
        *folders, name = path.split("/")

        def make_way(parent: int, index: int) -> None:
            self._make_way("/".join(folders[: index + 1]))

        folder = enter(os.dup(self._root), folders, make_way)
        try:
            self._incoming.move_to(folder, name)
        finally:
            os.close(folder)

    def read(self, path: str, most: int) -> bytes | None:
        """Return at most `most` bytes of a file; None if it is missing, a folder or a link."""
        try:
            with self._parent(path) as (folder, name):
                fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
            with open(fd, "rb") as file:
                return file.read(most)
        except OSError as error:
            if error.errno in _NO_FILE:
                return None
            raise

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None if there is no file."""
        found = self._stat(path)
        return found.st_size if found is not None and S_ISREG(found.st_mode) else None

    def exists(self, path: str) -> bool:
        """Whether there is anything of that name."""
        return self._stat(path) is not None

    def is_folder(self, path: str) -> bool:
        found = self._stat(path)
        return found is not None and S_ISDIR(found.st_mode)

    def rename(self, old: str, new: str) -> None:
        """Rename a file; both folders must exist."""
        with self._parent(old) as (here, name), self._parent(new) as (there, last):
            os.rename(name, last, src_dir_fd=here, dst_dir_fd=there)

    def remove(self, path: str, but: str) -> None:
        """Remove the file `path`, unless it is the same as `but` (on a disk that ignores case)."""
        if self._stat(path) == self._stat(but):
            return
        with suppress(OSError), self._parent(path) as (folder, name):
            discard(name, folder=folder)

    def purge(self, paths: Iterable[str]) -> dict[str, str]:
        """Remove the files `paths`, and folders that this empties; what is no file stays.

        Returns the files that could not be removed, and why.
        """
        folders, kept = set(), {}
        for path in paths:
            try:
                if self.size(path) is not None:
                    with self._parent(path) as (folder, name):
                        os.unlink(name, dir_fd=folder)
            except OSError as error:
                kept[path] = error.strerror or str(error)
            folders.add(path.rpartition("/")[0])
        # Some file systems read a whole folder to find it is not empty: each is tried once.
        while folders:
            emptied = {folder for folder in folders if folder and self._remove_folder(folder)}
            folders = {folder.rpartition("/")[0] for folder in emptied}
        return kept

    def ignores_case(self, path: str) -> bool:
        """Whether the disk finds the file `path` by its name in other case, too."""
        other = "".join(char.swapcase() if char.isascii() else char for char in path)
        here, there = self._stat(path), self._stat(other)
        return other != path and None not in (here, there) and here == there

    def _remove_folder(self, path: str) -> bool:
        """Remove a folder if it is empty; return whether it was."""
        try:
            with self._parent(path) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        except OSError:
            return False
        return True

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Give the descriptor of the folder of `path`, which must exist, and the last name."""
        folders, _, name = path.rpartition("/")
        folder = find_folder(self._root, folders)
        try:
            yield folder, name
        finally:
            os.close(folder)

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            with self._parent(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno in _NO_FILE:
                return None
            raise
