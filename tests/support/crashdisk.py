"""A disk that fails on demand, and that shows the remains of a folder after a power cut.

`CrashDisk` lies between the code under test and one real folder: it replaces the functions of
`os` that change files, passes the calls on, and records which changes are durable (`platter` has
the rules). `crashes` cuts the power at every operation in turn.

Reads go to the real folder. Changes by other means than `os` (a file object, a mapping, another
process) are not seen, but detected: `check` compares the folder with the record, and is called
when the disk is removed.

Nothing is really synced: the durability of the real disk does not matter, and takes long.
"""

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.support.platter import EXTREMES, File, Folder, Keep, Node, Platter


class PowerCut(BaseException):
    """A power cut. Not an Exception, so that no code under test catches it and continues."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A change of the folder. Kinds: open (which may create or empty a file), write, truncate,
    allocate, fsync, syncfs, rename, unlink, mkdir, rmdir."""

    number: int
    kind: str
    #: Relative to the folder; the new path of a rename.
    path: str
    #: Bytes to write, or the new length.
    size: int = 0

    def __str__(self) -> str:
        return f"{self.number} {self.kind} {self.path}" + (f" {self.size}" if self.size else "")


@dataclass(slots=True)
class _Fault:
    """A fault of the operation after which `left` is 0, counting `kinds` (if empty, all)."""

    kinds: frozenset[str]
    left: int
    times: float = 1
    #: None for a power cut.
    error: int | None = None
    after: bool = False
    short: int = 0

    def is_due(self, kind: str) -> bool:
        if self.kinds and kind not in self.kinds:
            return False
        self.left -= 1
        return -self.times < self.left <= 0


@dataclass(frozen=True, slots=True)
class _Handle:
    """The node of a descriptor."""

    node: Node
    path: str
    #: Device and inode: the descriptor may have been closed unseen, and its number reused.
    identity: tuple[int, int]


class CrashDisk:
    """The disk below `folder`, while it is entered as a context manager.

    A `PowerCut` ends the context without an error. From then on nothing reaches the folder,
    which holds what a kill at that moment leaves. `remains` builds what a power cut leaves, and
    can be called repeatedly. Files named in `besides` are ignored. With `eager_names` the fsync
    of a file saves its name too, as on ext4.
    """

    def __init__(
        self, folder: Path, *, besides: Collection[str] = (), eager_names: bool = False
    ) -> None:
        self._top = os.path.realpath(folder)
        self._besides = besides
        self._eager_names = eager_names
        self._platter = Platter(self._top, besides)
        self._handles: dict[int, _Handle] = {}
        self._faults: list[_Fault] = []
        self._real: dict[str, Any] = {}
        self._ours: dict[str, Any] = {}
        #: All operations begun, also those that failed or were cut.
        self.operations: list[Operation] = []
        #: Called before each operation, with the disk `away`.
        self.watch: Callable[[Operation], object] = lambda operation: None
        #: Whether the power was cut.
        self.dark = False

    def __repr__(self) -> str:
        return f"<CrashDisk {self._top} {len(self.operations)} operations>"

    # For tests.

    def cut(self, nth: int, *kinds: str, after: bool = False) -> None:
        """Cut the power at the `nth` operation from now on, of those `kinds` if any are given."""
        self._faults.append(_Fault(frozenset(kinds), nth, after=after))

    def fail(
        self,
        nth: int,
        *kinds: str,
        error: int = errno.ENOSPC,
        times: float = 1,
        short: int = 0,
    ) -> None:
        """Let the `nth` operation from now on fail, and those after it up to `times`.

        With `short` a write that is longer first succeeds for so many bytes, as on a disk that
        runs full, and the next operation fails.
        """
        self._faults.append(_Fault(frozenset(kinds), nth, times, error, short=short))

    def heal(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def remains(self, target: Path, keep: Keep) -> Path:
        """Build the content of the disk after a power cut now in `target`, a new folder."""
        self._platter.remains(target, keep)
        return target

    def sync_all(self, path: str) -> None:
        """Make the folder at `path` durable with all below it, as syncfs(2) does."""
        node = self._platter.node(path)
        assert node is not None, f"{path}: not there"
        with self._operation("syncfs", path):
            for each in self._platter.below(node):
                self._sync(each)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Do not intercept calls while the context lasts, for checks of the remains."""
        _lay(self._real)
        try:
            yield
        finally:
            _lay(self._ours)

    def check(self) -> None:
        """Raise AssertionError if the folder was changed unseen."""
        differences = self._platter.differences()
        assert not differences, f"changed by other means than os: {differences}"

    # Between the code under test and the system.

    def __enter__(self) -> "CrashDisk":
        self._ours = {
            "open": self._open,
            "close": self._close,
            "write": self._write,
            "pwrite": self._pwrite,
            "ftruncate": self._truncate,
            "truncate": self._truncate,
            "posix_fallocate": self._allocate,
            "fsync": self._fsync,
            "fdatasync": self._fsync,
            "rename": self._rename,
            "replace": self._rename,
            "unlink": self._unlink,
            "remove": self._unlink,
            "mkdir": self._mkdir,
            "rmdir": self._rmdir,
        }
        self._real = {name: getattr(os, name) for name in self._ours}
        _lay(self._ours)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        _lay(self._real)
        if kind is None or kind is PowerCut:
            self.check()
        return kind is PowerCut

    @contextmanager
    def _operation(self, kind: str, path: str, size: int = 0) -> Iterator[int]:
        """Around an operation: yields how many of its bytes may be written."""
        if self.dark:
            raise PowerCut
        operation = Operation(len(self.operations) + 1, kind, path, size)
        self.operations.append(operation)
        with self.away():
            self.watch(operation)
        due = [fault for fault in self._faults if fault.is_due(kind)]
        for fault in due:
            if kind == "write" and 0 < fault.short < size:
                size, fault.short, fault.left = fault.short, 0, 1
            elif fault.error is not None:
                full = os.path.join(self._top, path)
                raise OSError(fault.error, os.strerror(fault.error), full)
            elif not fault.after:
                self._cut(operation)
        yield size
        if any(fault.after for fault in due):
            self._cut(operation)

    def _cut(self, operation: Operation) -> None:
        self.dark = True
        raise PowerCut(str(operation))

    def _inside(self, path: Any, dir_fd: int | None = None) -> str | None:
        """`path` relative to the folder; None for paths outside it."""
        base = os.getcwd() if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        parent, name = os.path.split(os.path.normpath(os.path.join(base, os.fsdecode(path))))
        full = os.path.join(os.path.realpath(parent), name)
        inside = f"{full}/".startswith(f"{self._top}/") and name not in self._besides
        return os.path.relpath(full, self._top) if inside else None

    def _handle(self, fd: int) -> _Handle | None:
        """The node of a descriptor, if it is in the folder."""
        status = os.fstat(fd)
        identity = status.st_dev, status.st_ino
        known = self._handles.get(fd)
        if known is not None and known.identity == identity:
            return known
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            return None
        path = self._inside(os.readlink(f"/proc/self/fd/{fd}"))
        if path is None:
            return None
        node = self._platter.node(path)
        assert node is not None, f"{path}: made unseen"
        self._handles[fd] = _Handle(node, path, identity)
        return self._handles[fd]

    def _file(self, fd: int) -> tuple[File, str] | None:
        handle = self._handle(fd)
        return (handle.node, handle.path) if handle and isinstance(handle.node, File) else None

    # The functions of `os`.

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        inside = self._inside(path, dir_fd)
        if inside is None or not flags & (os.O_CREAT | os.O_TRUNC):
            return int(self._real["open"](path, flags, mode, dir_fd=dir_fd))
        fd: int = -1
        try:
            with self._operation("open", inside):
                fd = self._real["open"](path, flags, mode, dir_fd=dir_fd)
                self._opened(inside, flags)
        except PowerCut:
            if fd >= 0:
                self._real["close"](fd)
            raise
        # The handle stays known after the file has lost its name.
        self._handle(fd)
        return fd

    def _opened(self, path: str, flags: int) -> None:
        file = self._platter.node(path)
        if file is None:
            self._platter.link(path, File())
        elif flags & os.O_TRUNC and isinstance(file, File):
            file.edit(0, None)

    def _close(self, fd: int) -> None:
        self._handles.pop(fd, None)
        self._real["close"](fd)

    def _write(self, fd: int, data: Any) -> int:
        return self._put("write", fd, None, data)

    def _pwrite(self, fd: int, data: Any, offset: int) -> int:
        return self._put("pwrite", fd, offset, data)

    def _put(self, name: str, fd: int, offset: int | None, data: Any) -> int:
        where = () if offset is None else (offset,)
        found = self._file(fd)
        if found is None:
            return int(self._real[name](fd, data, *where))
        file, path = found
        if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND:
            # Linux ignores the offset of pwrite then, and appends.
            offset = os.fstat(fd).st_size
        elif offset is None:
            offset = os.lseek(fd, 0, os.SEEK_CUR)
        data = bytes(data)
        with self._operation("write", path, len(data)) as most:
            count = int(self._real[name](fd, data[:most], *where))
            file.edit(offset, data[:count])
        return count

    def _truncate(self, path: Any, length: int) -> None:
        """truncate and ftruncate; the former takes descriptors, too."""
        if isinstance(path, int):
            found = self._file(path)
        else:
            inside = self._inside(path)
            node = self._platter.node(inside) if inside else None
            found = (node, inside) if inside and isinstance(node, File) else None
        if found is None:
            self._real["truncate"](path, length)
            return
        file, place = found
        with self._operation("truncate", place, length):
            self._real["truncate"](path, length)
            file.edit(length, None)

    def _allocate(self, fd: int, offset: int, length: int) -> None:
        found = self._file(fd)
        if found is None:
            self._real["posix_fallocate"](fd, offset, length)
            return
        file, path = found
        with self._operation("allocate", path, offset + length):
            self._real["posix_fallocate"](fd, offset, length)
            if offset + length > len(file.now):
                file.edit(offset + length, None)

    def _fsync(self, fd: Any) -> None:
        handle = self._handle(fd if isinstance(fd, int) else fd.fileno())
        if handle is None:
            self._real["fsync"](fd)
            return
        try:
            with self._operation("fsync", handle.path):
                self._sync(handle.node)
        except OSError:
            if isinstance(handle.node, File):
                handle.node.forsake()
            raise

    def _sync(self, node: Node) -> None:
        if isinstance(node, Folder):
            self._platter.commit(node)
            return
        node.sync()
        if self._eager_names:
            self._platter.commit_name(node)

    def _rename(
        self,
        source: Any,
        target: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        old, new = self._inside(source, src_dir_fd), self._inside(target, dst_dir_fd)
        fds = {"src_dir_fd": src_dir_fd, "dst_dir_fd": dst_dir_fd}
        if old is None and new is None:
            self._real["rename"](source, target, **fds)
            return
        assert old is not None and new is not None, f"{source} -> {target} leaves the folder"
        with self._operation("rename", new):
            self._real["rename"](source, target, **fds)
            self._platter.rename(old, new)

    def _unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._change("unlink", path, dir_fd, None)

    def _rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._change("rmdir", path, dir_fd, None)

    def _mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._change("mkdir", path, dir_fd, Folder(), mode)

    def _change(
        self, name: str, path: Any, dir_fd: int | None, node: Node | None, *more: int
    ) -> None:
        inside = self._inside(path, dir_fd)
        if inside is None:
            self._real[name](path, *more, dir_fd=dir_fd)
            return
        with self._operation(name, inside):
            self._real[name](path, *more, dir_fd=dir_fd)
            self._platter.link(inside, node)


def _lay(functions: Mapping[str, Any]) -> None:
    for name, function in functions.items():
        setattr(os, name, function)


@dataclass(frozen=True, slots=True)
class Crash:
    """The remains after one power cut."""

    #: The operation that was interrupted, and which earlier changes were kept.
    label: str
    #: The remains; tests may change them, as they are deleted afterwards.
    folder: Path
    disk: CrashDisk


def crashes(
    act: Callable[[Path], object],
    room: Path,
    *,
    prepare: Callable[[Path], object] = lambda folder: None,
    seeds: Iterable[int] = range(4),
    **traits: Any,
) -> Iterator[Crash]:
    """Cut the power before each operation of `act` in turn, and after the last.

    `act` works in the folder that it is given, which `prepare` has filled; both run once for
    each cut, and have to do the same each time. For each cut there is a crash for each of
    `EXTREMES` and for each seed. `traits` are for `CrashDisk`.
    """
    seeds = list(seeds)
    number = 0
    ended = False
    while not ended:
        number += 1
        folder = room / f"run{number}"
        folder.mkdir()
        prepare(folder)
        disk = CrashDisk(folder, **traits)
        disk.cut(number)
        with disk:
            act(folder)
        ended = not disk.dark
        moment = "the end" if ended else str(disk.operations[-1])
        dice = ((f"seed {seed}", Random(seed)) for seed in seeds)
        keeps: list[tuple[str, str | Random]] = [*((name, name) for name in EXTREMES), *dice]
        for name, keep in keeps:
            left = disk.remains(room / f"left{number}", keep)
            yield Crash(f"{moment}, {name}", left, disk)
            shutil.rmtree(left)
        shutil.rmtree(folder)
