"""The lock of the one process that writes a database."""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from larbinpy.database.base import DatabaseError, Unavailable

#: Errors that do not pass by waiting: the path or the rights are wrong.
_LASTING = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG),
    *(errno.EISDIR, errno.ELOOP),
}


class Lock:
    """Held from its making until `release` or the end of the process, however it ends.

    A file of its own: closing a second descriptor of the database would drop SQLite's own locks.
    Raises `Unavailable` if another holds it, `DatabaseError` if there can be no such file.
    """

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-lock")
        try:
            self._fd = self._take(database)
        except OSError as error:
            if error.errno in _LASTING:
                hint = "its folder must exist, and this user have the right to write there"
                raise DatabaseError(
                    f"{database}: cannot be written ({error.strerror}); {hint}"
                ) from error
            raise Unavailable(f"{self._path}: {error.strerror}") from error

    def __repr__(self) -> str:
        return f"<Lock {self._path}>"

    def _take(self, database: Path) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            fd = os.open(self._path, flags, 0o666)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(fd):
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, str(os.getpid()).encode(), 0)
                    return fd
            except BlockingIOError:
                owner = os.pread(fd, 20, 0).decode("ascii", "replace").strip() or "unknown"
                os.close(fd)
                hint = f"process {owner} writes to it; wait until that has ended"
                raise Unavailable(f"{database}: in use: {hint}") from None
            except OSError:
                os.close(fd)
                raise
            # Its holder removed the file between the two calls.
            os.close(fd)

    def _is_current(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.stat(self._path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        with suppress(OSError):  # a folder that became read-only: the file stays, unlocked
            self._path.unlink()
        os.close(self._fd)
