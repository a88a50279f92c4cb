"""The files of a mirror, by their paths below its folder.

`Incoming` puts them there, for both kinds of mirror, which differ in file names. A page is written
to one temporary file in the mirror's folder and renamed into place, so a file under its final name
is complete. Each folder is opened relative to the one above it and never through a symbolic link,
so a link planted in the mirror leads nowhere.

`Originals` are rewritten pages as received, compressed.
"""

import errno
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from stat import S_ISDIR, S_ISREG

from larbinpy.output.mirror.paths import original_of
from larbinpy.storage.files import create, discard, enter_folder, find_folder

_PART = ".larbinpy-part"


class Incoming:
    """The temporary file of the mirror whose folder `root`, a descriptor, is."""

    def __init__(self, root: int) -> None:
        self._root = root
        # A kill may have left a temporary file, and perhaps no page will replace it.
        discard(_PART, folder=root)

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


#: zlib's fastest: HTML to a quarter, at 100 MB/s.
_LEVEL = 1


class Originals:
    """One file for each URL, in ``.larbinpy-originals``."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def write(self, url: str, body: bytes) -> None:
        self._tree.write(original_of(url), zlib.compress(body, _LEVEL))

    def read(self, url: str, size: int) -> bytes | None:
        """Return the page, of `size` bytes; None if it is missing or damaged."""
        packed = self._tree.read(original_of(url), _most_packed(size))
        if packed is None:
            return None
        unpacking = zlib.decompressobj()
        try:
            # One byte more: zlib reports the end only when asked for more than there is.
            body = unpacking.decompress(packed, size + 1)
        except zlib.error:
            return None
        return body if unpacking.eof and len(body) == size else None

    def has(self, url: str) -> bool:
        return self._tree.size(original_of(url)) is not None


def _most_packed(size: int) -> int:
    """Return a bound of the compressed size of any `size` bytes."""
    return size + size // 100 + 1000
