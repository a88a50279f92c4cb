"""The state of a crawl on disk, from which another run continues.

Most parts of the state are files that grow (`Journal`), others are one file that is written anew
under the next number when it has changed (`NumberedFile`). At a checkpoint each part returns its
*mark*, which says how much of its files counts; once all of that is on the disk, `state.json`,
which holds the marks, is replaced in one rename. So there is always one complete state, old or new.
Anything in a file beyond its mark is the torn end of a crawl that was killed. `Checkpoints` are
made in steps so that the crawl does not stop.

A database whose commit is the checkpoint would not make this smaller. All code that keeps the small
parts (cookies, sessions, probes, counts of sites, waits, options) is some 360 lines, and rows must
become values as files do. Probes must outlast a kill between two checkpoints, which would undo a
transaction.
"""

import errno
import fcntl
import json
import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from larbinpy.errors import NotSavedError, UserError, what_raised
from larbinpy.storage.files import (
    AppendFile,
    create,
    make_folder,
    open_folder,
    sync_folder,
    write_atomic,
)

if TYPE_CHECKING:
    from larbinpy.storage.syncing import Syncing

_T = TypeVar("_T")

_MANIFEST = "state.json"
#: Errors that a damaged or foreign state can cause while it is loaded.
_DAMAGE = (
    OSError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
)
_FORMAT = 1
_NO_CRAWL = "no saved crawl here"
#: Why --resume cannot continue a crawl, behind a folder or an address.
NOT_RESUMED = (
    f"{_NO_CRAWL}; is its stateDir (or join) another one? Without --resume, a crawl begins"
)
#: Entries of the manifest encoded at once. The temporary objects of a thousand entries fit into
#: the processor's cache; encoding all entries at once takes three times as long.
_ENTRIES = 1000
#: Characters of the manifest encoded in one step.
_LONG = 200_000


class Start(Enum):
    """The treatment of a state folder that already holds a crawl."""

    REFUSE = "refuse"
    RESUME = "resume"
    SCRATCH = "scratch"
    #: RESUME if there is a saved crawl, else a new one (`--resume=auto`).
    AUTO = "auto"


class Resumable(Protocol):
    """An object with files of its own, which continues from a mark of how much of them counts."""

    def cut(self) -> Any:
        """Write what is in memory; return the mark, a JSON-able value. Raises `OSError`.

        Called at each checkpoint; the first call comes before the first page. The mark changes
        with each write.
        """

    def sync(self) -> None:
        """Flush to the disk what `cut` wrote. Raises `OSError`.

        An output flushes the files that list its pages; the crawl flushes the others.
        """

    def load(self, mark: Any) -> None:
        """Continue from `mark`: everything after it will happen again.

        Called before anything else. Raises `OSError` or `ValueError` if the files lack something
        that was marked, `UserError` if the operator can repair that.
        """


@runtime_checkable
class SavedPart(Resumable, Protocol):
    """A part of the state with files of its own, which it saves itself.

    A subclass inherits `tidy` and `clear`, which do nothing.
    """

    def tidy(self, mark: Any) -> None:
        """`mark` is committed: delete the files that it does not need."""
        return

    def clear(self) -> None:
        """Delete what is saved (--scratch)."""
        return


class SavedValue(Protocol):
    """A part of the state that is stored in the manifest and has no file."""

    def cut(self, now: float, *, ended: bool) -> Any:
        """The value, JSON-able, or a generator that returns it.

        A generator runs after the files are synced, one step of the checkpoint for each of its
        yields. `ended`: no request is sent after this checkpoint.
        """

    def load(self, value: Any, now: float) -> None:
        """Load a saved value. Raises `ValueError`, `TypeError` or `AttributeError`."""


@dataclass(frozen=True, slots=True)
class Saved:
    """All parts of a state, by their keys in the manifest."""

    #: In the order in which they are cut and synced. They are loaded in the opposite order.
    parts: dict[str, SavedPart]
    values: Mapping[str, SavedValue] = field(default_factory=dict)
    #: By the key of the part whose files they flush; this is done before any sync.
    disks: Mapping[str, "Syncing"] = field(default_factory=dict)
    #: Keys of values that not every run has, so that a state may lack them.
    optional: Collection[str] = ()


class StateError(UserError):
    """The state folder cannot be used; the message says why and what to do."""


class StateInUse(StateError):
    """A crawl is running on the state folder."""

    #: The process that locked it, if that is known. If it has ended, others hold its lock.
    owner: int | None = None


class State:
    """A state folder, locked for one crawl."""

    def __init__(self, folder: Path, *, entries: int = _ENTRIES, long: int = _LONG) -> None:
        self.folder = folder
        self._entries = entries
        self._long = long
        self._lock: IO[str] | None = None

    def __repr__(self) -> str:
        return f"<State {self.folder} {'locked' if self._lock else 'free'}>"

    @property
    def exists(self) -> bool:
        """Whether there is a saved crawl."""
        return (self.folder / _MANIFEST).exists()

    def lock(self) -> None:
        """Make the folder and lock it until `unlock` or the end of all processes that hold it.

        Raises StateInUse, OSError.
        """
        make_folder(self.folder)
        lock = (self.folder / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with lock:
                lock.seek(0)
                owner = lock.read(20).strip()
            raise self._in_use(owner) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def _in_use(self, owner: str) -> StateInUse:
        """The error if the folder is locked, by the process `owner`, if that is known."""
        by = f"process {owner}" if owner else "another process"
        error = StateInUse(f"{self.folder}: in use by {by}; another crawl needs another stateDir")
        error.owner = int(owner) if owner.isdecimal() else None
        return error

    @property
    def held(self) -> int:
        """The descriptor of the lock. Each process that inherits it holds the lock to its end."""
        assert self._lock is not None
        return self._lock.fileno()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Keep crawls from starting on this state in the block, without changing anything.

        Raises StateInUse if one runs.
        """
        with ExitStack() as closing:
            with suppress(FileNotFoundError):
                lock = closing.enter_context((self.folder / "lock").open("rb"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise StateInUse(f"{self.folder}: a crawl is running there") from None
            yield

    def unlock(self) -> None:
        if self._lock is not None:
            # The system may give the number of this process to another one.
            with self._lock as lock, suppress(OSError):
                lock.truncate(0)
                fcntl.flock(lock, fcntl.LOCK_UN)
            self._lock = None

    def clear(self, saved: Saved) -> None:
        """Delete the saved crawl (--scratch), the manifest first: no partial state is left."""
        (self.folder / _MANIFEST).unlink(missing_ok=True)
        # Without this, a power cut may restore the manifest without the files that it names.
        sync_folder(self.folder)
        for key in reversed(saved.parts):
            saved.parts[key].clear()

    def checkpoint(self, saved: Saved, now: float, *, ended: bool = False) -> Iterator[bool]:
        """Save the state in steps, each with one wait for the disk at most.

        The first step is the cut: changes between the steps are not part of this checkpoint.
        The new checkpoint is valid after the last step; after an OSError or a power cut before
        that, the previous one is. A step yields True if the next one can begin at once, False
        while a disk of `saved` is being synced. `ended`: no request is sent after this.
        Raises OSError; any other exception in a part or a value becomes a `NotSavedError`.
        """
        try:
            yield from self._save(saved, now, ended)
        except (OSError, UserError):
            raise
        except Exception as error:
            path = os.fspath(self.folder / _MANIFEST)
            why = f"cannot be written: {what_raised(error)}, a bug"
            raise NotSavedError(errno.EINVAL, why, path) from error

    def _save(self, saved: Saved, now: float, ended: bool) -> Iterator[bool]:
        marks: dict[str, Any] = {key: part.cut() for key, part in saved.parts.items()}
        values: dict[str, Any] = {
            key: value.cut(now, ended=ended) for key, value in saved.values.items()
        }
        yield True
        for key, disk in saved.disks.items():
            # Before the syncs, which then find most of their bytes on the disk.
            yield from _until_synced(disk, marks[key])
        for part in saved.parts.values():
            part.sync()
            yield True
        for key, value in values.items():
            if isinstance(value, Generator):
                values[key] = yield from _run_in_steps(value)
        text, length = [], 0
        for piece in _json({"format": _FORMAT, **marks, "ended": ended, **values}, self._entries):
            text.append(piece.encode())
            length += len(piece)
            if length > self._long:
                length = 0
                yield True
        write_atomic(self.folder / _MANIFEST, text)
        yield True
        for key, part in saved.parts.items():
            part.tidy(marks[key])

    def load(self, saved: Saved, now: float) -> bool:
        """Load the saved state; return whether no request was sent after it was saved.

        Raises `StateError` if the state is damaged.
        """
        with self.reading("; --scratch starts anew") as manifest:
            ended = bool(manifest["ended"])
            for key, value in saved.values.items():
                if key in manifest or key not in saved.optional:
                    value.load(manifest[key], now)
            for key in reversed(saved.parts):
                saved.parts[key].load(manifest[key])
        return ended

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / _MANIFEST
        try:
            manifest: dict[str, Any] = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise StateError(f"{self.folder}: {_NO_CRAWL}") from None
        except (OSError, ValueError, RecursionError) as error:
            raise StateError(f"{path}: damaged ({error}); --scratch starts anew") from error
        if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
            raise StateError(f"{path}: not a state of this version; --scratch starts anew")
        return manifest

    @contextmanager
    def reading(self, hint: str = "") -> Iterator[dict[str, Any]]:
        """The values of the manifest. Raises `StateError`.

        An error in the block that a damaged state can cause becomes a `StateError`, too; `hint`
        ends its message.
        """
        manifest = self._manifest()
        try:
            yield manifest
        except UserError as error:
            raise StateError(str(error)) from error
        except _DAMAGE as error:
            raise StateError(
                f"{self.folder}: the saved state is damaged ({error}){hint}"
            ) from error


def _until_synced(disk: "Syncing", written: object) -> Iterator[bool]:
    disk.begin(written)
    while not disk.done:
        yield False
    if disk.error is not None:
        raise disk.error


def _run_in_steps(value: Generator[None, None, Any]) -> Generator[bool, None, Any]:
    while True:
        try:
            next(value)
        except StopIteration as end:
            return end.value
        yield True


def _json(value: object, entries: int) -> Iterator[str]:
    """`value` as JSON, in pieces of at most so many `entries` of a list or dict.

    Raises TypeError for a key that is neither a text nor a whole number, in a dict of any size.
    """
    if isinstance(value, list) and len(value) > entries:
        for number, some in enumerate(_batches(value, entries)):
            yield ("," if number else "[") + json.dumps(some)[1:-1]
        yield "]"
    elif isinstance(value, dict) and len(value) > entries:
        # A subclass may make something else of pairs: a Counter counts them.
        for number, pairs in enumerate(_batches(value.items(), entries)):
            text = json.dumps({_key(key): entry for key, entry in pairs})
            yield ("," if number else "{") + text[1:-1]
        yield "}"
    elif isinstance(value, dict):
        mark = "{"
        for key, entry in value.items():
            yield f"{mark}{json.dumps(_key(key))}:"
            yield from _json(entry, entries)
            mark = ","
        yield "}" if value else "{}"
    else:
        yield json.dumps(value)


def _key(key: object) -> str:
    if not isinstance(key, str | int):
        raise TypeError(f"a key of the state is no text: {key!r:.80}")
    return str(key)


def _batches(values: Iterable[_T], size: int) -> Iterator[list[_T]]:
    remaining = iter(values)
    while some := list(islice(remaining, size)):
        yield some


class Checkpoints:
    """Makes a checkpoint of `saved` every `every` seconds, one at a time.

    A step of a checkpoint waits for the disk at most once.
    """

    def __init__(self, state: State, saved: Saved, every: float) -> None:
        self._state = state
        self._parts = saved
        self._every = every
        self._begun_at = float("-inf")
        self._steps: Iterator[bool] | None = None
        self._at_once = False
        #: Number of checkpoints begun, and the number of the last one that is on the disk.
        self._begun = 0
        self._saved = 0

    def __repr__(self) -> str:
        return f"<Checkpoints {'one under way' if self._steps else 'none under way'}>"

    @property
    def under_way(self) -> bool:
        return self._steps is not None

    @property
    def deadline(self) -> float:
        """The time of the next step: -inf for at once, inf while a sync is under way."""
        if self._steps is None:
            return self._begun_at + self._every
        return float("-inf") if self._at_once else float("inf")

    def is_due(self, now: float) -> bool:
        return self._steps is None and now >= self._begun_at + self._every

    def begin(self, now: float) -> None:
        """Begin a checkpoint if none is under way."""
        if self._steps is None:
            self._steps = self._checkpoint(now)
            self._at_once = True

    def _checkpoint(self, now: float, *, ended: bool = False) -> Iterator[bool]:
        self._begun_at = now
        self._begun += 1
        return self._state.checkpoint(self._parts, now, ended=ended)

    def step(self) -> None:
        """Make a step of the checkpoint under way, if there is one; an OSError ends it."""
        steps, self._steps = self._steps, None
        if steps is not None:
            for self._at_once in steps:
                self._steps = steps
                return
            self._saved = self._begun

    def save_now(self, clock: Callable[[], float]) -> Iterator[bool | None]:
        """Begin a checkpoint of the present state, and wait for it.

        Yields None until it has ended, then whether it is on the disk. Between two yields the
        caller must let `step` be called.
        """
        # A checkpoint that is under way may have made its cut earlier, so it is not enough.
        wanted = self._begun + 1
        while self._steps is not None and self._begun < wanted:
            yield None
        if self._begun < wanted:
            self.begin(clock())
        while self._steps is not None and self._saved < wanted:
            yield None
        yield self._saved >= wanted

    def save(self, now: float, *, ended: bool = False) -> None:
        """Make a whole checkpoint, and wait for the disk. Raises `OSError`."""
        self._steps = None
        for at_once in self._checkpoint(now, ended=ended):
            if not at_once:
                for disk in self._parts.disks.values():
                    disk.wait()
        self._saved = self._begun


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


class Journal(SavedPart):
    """Appends pieces of bytes to an open file.

    Pieces wait in memory until `flush`. After a failed write the file has complete pieces only,
    and the pieces that were not written still wait.
    """

    def __init__(self, file: AppendFile) -> None:
        self._waiting: list[bytes] = []
        self._file = file

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
