"""Files that are complete or absent, after a full disk and after a kill at any moment.

A file is written under a temporary name and renamed, which is atomic by POSIX. A file to which
lines are appended has one writer; the part of a line that a failed write leaves is cut off at
once, or when the file is next opened.

Folders are passed as descriptors, and names are looked up in them without following symbolic
links: a link planted in an output folder leads nowhere.
"""

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

_BLOCK = 1 << 16
_PIECE = 1 << 20
#: Bytes that `Reserve` holds: enough for the state of a quarter of a million URLs, at eight bytes
#: for each URL seen and some 150 for each in memory.
_RESERVE = 4 << 20


def make_folder(name: str | os.PathLike[str]) -> None:
    """Make the folder `name` and its parents if they are missing, durably."""
    path = os.path.abspath(name)
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        make_folder(parent)
        with suppress(FileExistsError):
            os.mkdir(path)
        sync_folder(parent)


def open_folder(name: str | os.PathLike[str]) -> int:
    """Descriptor of the folder `name`; it and its parents are made if they are missing."""
    make_folder(name)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY)


def enter_folder(parent: int, name: str) -> int | None:
    """Descriptor of the folder `name` in `parent`, which is made if it is missing.

    None if something else has that name: a file, or a symbolic link to anything.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        try:
            return os.open(name, flags, dir_fd=parent)
        except FileNotFoundError:
            os.mkdir(name, dir_fd=parent)
            return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        # For a link O_NOFOLLOW alone gives ELOOP; with O_DIRECTORY Linux gives ENOTDIR.
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:
            return None
        raise


def find_folder(folder: int, path: str) -> int:
    """Descriptor of the folder `path` below `folder`; "" is `folder` itself.

    Raises `OSError`: FileNotFoundError or NotADirectoryError if there is none, or if a part of
    `path` is a symbolic link.
    """
    here = os.dup(folder)
    for name in filter(None, path.split("/")):
        parent = here
        try:
            here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        finally:
            os.close(parent)
    return here


def create(
    name: str, chunks: Iterable[bytes], *, folder: int, sync: bool = False, mode: int = 0o666
) -> None:
    """Write `chunks` to a new file; replaces a file of that name, which a kill may have left.

    `mode` is its permissions, from which the umask takes some. With `sync` the bytes are on the
    disk on return, but not the name. If anything fails, here or in `chunks`, the file is removed
    and the exception is raised.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        fd = os.open(name, flags, mode, dir_fd=folder)
    except FileExistsError:
        os.unlink(name, dir_fd=folder)
        fd = os.open(name, flags, mode, dir_fd=folder)
    try:
        try:
            for chunk in chunks:
                _write_all(fd, chunk)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
    except BaseException:
        discard(name, folder=folder)
        raise


def discard(name: str, *, folder: int) -> None:
    """Remove the file `name` if possible; for clearing up after an error."""
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def write_atomic(
    path: str | os.PathLike[str], chunks: Iterable[bytes], *, mode: int = 0o666
) -> None:
    """Replace the file `path` by one of `chunks`, in one step, durably.

    A temporary file in the same folder (``.NAME.part``), fsync, rename, fsync of the folder:
    after a kill or a power cut `path` is the old file or the new one. Raises `OSError`, and then
    the old file is intact and no temporary file is left. Each `path` must have one writer.
    """
    parent, name = os.path.split(os.path.abspath(path))
    part = f".{name}.part"
    folder = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        create(part, chunks, folder=folder, sync=True, mode=mode)
        try:
            os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            discard(part, folder=folder)
            raise
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Flush the names in the folder `path` to the disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Tail:
    """The end of a file that only grows, from offset `start` on, on its way to the disk.

    The kernel takes pages that an fsync failed to write for written: the next fsync succeeds
    without them (Rebello et al., Can Applications Recover from fsync Failures?, 2020). Reading
    still returns them, so after a failure they are read and written again before the next fsync.
    """

    __slots__ = ("_in_doubt", "start")

    def __init__(self, start: int = 0) -> None:
        #: All bytes before this offset are on the disk.
        self.start = start
        self._in_doubt = False

    def sync(self, fd: int) -> None:
        """Flush the end of `fd`, open for reading and writing, to the disk.

        Raises `OSError`; it may be called again then.
        """
        if self._in_doubt:
            _write_again(fd, self.start)
        self._in_doubt = True
        os.fsync(fd)
        self._in_doubt = False


def _write_again(fd: int, start: int) -> None:
    # With O_APPEND pwrite ignores the offset and writes at the end.
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_APPEND)
    try:
        for offset in range(start, os.fstat(fd).st_size, _PIECE):
            write_at(fd, os.pread(fd, _PIECE, offset), offset)
    finally:
        fcntl.fcntl(fd, fcntl.F_SETFL, flags)


def write_at(fd: int, data: bytes | memoryview, offset: int) -> None:
    """Write all of `data` at `offset`; an `OSError` may leave part of it written."""
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def _path_in(folder: int, name: str) -> str:
    """The path of `name` in an open folder, for messages."""
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
    except OSError:
        return name


class AppendFile:
    """A file to which complete pieces are appended, by one writer at a time.

    Opening takes an flock: a second writer gets `BlockingIOError`. With a `folder` descriptor,
    or without `follow`, symbolic links are not followed.
    """

    def __init__(
        self, name: str | os.PathLike[str], *, folder: int | None = None, follow: bool = True
    ) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        if folder is not None or not follow:
            flags |= os.O_NOFOLLOW
        self.name = os.fspath(name)
        self._fd = os.open(name, flags, 0o666, dir_fd=folder)
        # The end of the complete pieces, if a torn one after them could not be cut off.
        self._torn_at: int | None = None
        try:
            self._lock(folder)
            self._mend()
        except BaseException:
            os.close(self._fd)
            raise
        self._tail = Tail(self.size)

    def _lock(self, folder: int | None) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            where = self.name if folder is None else _path_in(folder, self.name)
            raise BlockingIOError(error.errno, "another crawl is writing it", where) from None

    def _mend(self) -> None:
        """Cut off a last piece that a kill has torn, if the format allows it to be recognised."""

    def write(self, *pieces: bytes) -> None:
        """Append `pieces`, all of them or, with an `OSError`, nothing."""
        if self._torn_at is not None:
            os.ftruncate(self._fd, self._torn_at)
            self._torn_at = None
        size = os.fstat(self._fd).st_size
        try:
            if len(pieces) == 1:
                _write_all(self._fd, pieces[0])
            else:
                written = os.writev(self._fd, pieces)
                if written < sum(map(len, pieces)):
                    _write_all(self._fd, b"".join(pieces)[written:])
        except OSError:
            self._torn_at = size
            with suppress(OSError):
                os.ftruncate(self._fd, size)
                self._torn_at = None
            raise

    def sync(self) -> None:
        """Flush everything written to the disk. Raises `OSError`; it may be called again then."""
        self._tail.sync(self._fd)
        self._tail.start = self.size

    def read(self, size: int, offset: int) -> bytes:
        """At most `size` bytes from `offset` on."""
        return os.pread(self._fd, size, offset)

    @property
    def size(self) -> int:
        """Bytes of the complete pieces."""
        return os.fstat(self._fd).st_size if self._torn_at is None else self._torn_at

    @property
    def number(self) -> int:
        """The inode, which distinguishes the file from a later one of the same name."""
        return os.fstat(self._fd).st_ino

    def cut_to(self, size: int) -> None:
        """Cut off everything beyond `size` bytes."""
        os.ftruncate(self._fd, size)
        self._tail.start = min(self._tail.start, size)

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Whether `path` still names this file."""
        try:
            return os.path.samestat(os.stat(path), os.fstat(self._fd))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        os.close(self._fd)


class LineFile(AppendFile):
    """An `AppendFile` of lines: opening it cuts off a last line that has no newline."""

    def _mend(self) -> None:
        _cut_torn_line(self._fd)

    def lines(self) -> Iterator[bytes]:
        """The lines written so far, each with its newline."""
        with open(os.dup(self._fd), "rb") as file:
            file.seek(0)
            yield from file


class Reserve:
    """Bytes reserved for when the disk is full; none if there is too little room already."""

    def __init__(self, path: str | os.PathLike[str], size: int = _RESERVE) -> None:
        self._path = path
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
            try:
                os.posix_fallocate(fd, 0, size)
            finally:
                os.close(fd)
        except OSError:
            self.release()

    def release(self) -> None:
        """Free the bytes, so that the state can be written."""
        with suppress(OSError):
            os.unlink(self._path)


def _cut_torn_line(fd: int) -> None:
    size = os.fstat(fd).st_size
    end = size
    while end:
        start = max(0, end - _BLOCK)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        os.ftruncate(fd, end)
