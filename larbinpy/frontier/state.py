"""What a crawl leaves on disk so that another run goes on where it stopped.

All parts of the state are files that grow. At a checkpoint each says how much of them
counts, its *mark*; when all of that is on the disk, `state.json`, which holds the marks, is
replaced in one rename. So there is always one whole state, the old or the new, and what
lies beyond it in a file is the torn end of a crawl that was killed.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

from larbinpy.errors import UserError
from larbinpy.frontier.frontier import Frontier
from larbinpy.storage.files import make_folder, sync_folder, write_atomic
from larbinpy.storage.store import Store, decode
from larbinpy.url import Url

_MANIFEST = "state.json"
#: What comes of a state that is not whole, or not ours.
_DAMAGE = (OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
_FORMAT = 3
#: Entries of the manifest that are put into JSON at once (few: what a thousand make on the way is
#: still in the processor's cache, and takes a third of the time), and characters in one turn.
_ENTRIES = 1000
_LONG = 200_000


class Part(Protocol):
    """What is a part of the state beside the frontier."""

    def cut(self) -> Any:
        """Write what is in memory; the mark, a JSON-able value."""

    def sync(self) -> None:
        """Bring what was written to the disk."""

    def load(self, mark: Any) -> None:
        """Go on from `mark`: what came after it comes again."""


class Log(Part, Protocol):
    """The crawl log."""

    def clear(self) -> None:
        """Begin anew."""


class Disk(Protocol):
    """Where the outputs have files that are too many to be synced one by one."""

    def begin(self, written: object) -> None:
        """Begin to bring them to the disk, where `written` tells that there are others."""

    @property
    def done(self) -> bool:
        """Are they there, or is there an `error`?"""

    @property
    def error(self) -> OSError | None:
        """What was written may not be on the disk."""


class StateError(UserError):
    """The state folder cannot be used; the message says why and what to do."""


class State:
    """A state folder, locked for one crawl."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: IO[str] | None = None

    def __repr__(self) -> str:
        return f"<State {self._folder} {'locked' if self._lock else 'free'}>"

    @property
    def exists(self) -> bool:
        """Is there a crawl to go on with?"""
        return (self._folder / _MANIFEST).exists()

    def lock(self) -> None:
        """Make the folder and keep others out until `unlock` or the end of the process."""
        make_folder(self._folder)
        lock = (self._folder / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with lock:
                lock.seek(0)
                owner = lock.read(20).strip() or "another process"
            raise StateError(f"{self._folder}: in use by process {owner}") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def clear(self, frontier: Frontier, log: Log) -> None:
        """Forget the crawl that is here (--scratch); the manifest first, so never half."""
        (self._folder / _MANIFEST).unlink(missing_ok=True)
        # Else a power cut may bring it back, and not what it names.
        sync_folder(self._folder)
        for part in (frontier.store, frontier.seen, frontier.digests, log):
            part.clear()

    def checkpoint(
        self,
        frontier: Frontier,
        log: Log,
        now: float,
        outputs: Part | None = None,
        disk: Disk | None = None,
        *,
        ended: bool = False,
    ) -> Iterator[bool]:
        """Save the state in steps, each with one wait for the disk at most.

        The first step is the cut: what the crawl does between the steps is not part of
        this checkpoint. With the last one it counts; after an OSError or a power cut
        before that, the one before it does. A step yields whether there is something to
        do for the next one at once, and not before `disk` is done. `ended` says that
        nothing is asked for after this.
        """
        # The log first: what the state no longer owes must be in it.
        parts = (log, outputs, frontier.store, frontier.seen, frontier.digests)
        log_mark, written = log.cut(), None if outputs is None else outputs.cut()
        store = frontier.store.cut()
        seen, digests = frontier.seen.cut(), frontier.digests.cut()
        manifest: dict[str, Any] = {
            "format": _FORMAT,
            "log": log_mark,
            "outputs": written,
            "store": store,
            "seen": seen,
            "digests": digests,
            "ended": ended,
            "seed_hosts": [*frontier.seed_hosts],
        }
        yield True
        if disk is not None:
            # Before the other waits: most of what they wait for is on the disk then.
            yield from _brought_to(disk, written)
        for part in parts:
            if part is not None:
                part.sync()
                yield True
        waits: dict[str, float] = {}
        # After a kill all addresses rest for waitDuration.
        for some in frontier.waits(now, beyond=0.0 if ended else frontier.ip_sites.least):
            waits |= {key: max(wait, waits.get(key, 0.0)) for key, wait in some.items()}
            yield True
        manifest["waits"] = waits
        text, length = [], 0
        for piece in _json(manifest):
            text.append(piece.encode())
            length += len(piece)
            if length > _LONG:
                length = 0
                yield True
        write_atomic(self._folder / _MANIFEST, text)
        yield True
        frontier.store.tidy(store)
        frontier.seen.tidy(seen)
        frontier.digests.tidy(digests)

    def load(self, frontier: Frontier, log: Log, now: float, outputs: Part | None = None) -> None:
        """Take up the saved state; StateError where it is not whole."""
        manifest = self._manifest()
        try:
            frontier.seen.load(manifest["seen"])
            frontier.digests.load(manifest["digests"])
            frontier.store.load(manifest["store"])
            frontier.seed_hosts.update(map(str, manifest["seed_hosts"]))
            waits = dict(manifest["waits"])
            frontier.resume({key: now + float(wait) for key, wait in waits.items()})
            if not manifest["ended"]:
                # Whom it asked between this save and its death, nobody knows.
                frontier.ip_sites.let_rest(now)
            log.load(manifest["log"])
            if outputs is not None and manifest["outputs"] is not None:
                outputs.load(manifest["outputs"])
        except UserError as error:
            raise StateError(str(error)) from error
        except _DAMAGE as error:
            raise StateError(
                f"{self._folder}: the saved state is damaged ({error}); --scratch starts anew"
            ) from error

    def _manifest(self) -> dict[str, Any]:
        path = self._folder / _MANIFEST
        try:
            manifest: dict[str, Any] = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise StateError(f"{self._folder}: no saved crawl here") from None
        except (OSError, ValueError) as error:
            raise StateError(f"{path}: damaged ({error}); --scratch starts anew") from error
        if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
            raise StateError(f"{path}: not a state of this version; --scratch starts anew")
        return manifest

    def owed(self) -> Iterator[Url]:
        """The URLs that a stopped crawl still owes."""
        store = Store(self._folder)
        try:
            store.load(self._manifest()["store"])
            yield from map(decode, store.lines())
        except _DAMAGE as error:
            raise StateError(f"{self._folder}: the saved state is damaged ({error})") from error


def _json(value: object) -> Iterator[str]:
    """`value` as JSON, in pieces: what has many entries has small ones."""
    if isinstance(value, list | dict) and len(value) > _ENTRIES:
        kind = type(value)
        for number, some in enumerate(_batches(value)):
            text = json.dumps(kind(some))
            yield ("," if number else text[0]) + text[1:-1]
        yield text[-1]
    elif isinstance(value, dict):
        mark = "{"
        for key, entry in value.items():
            yield f"{mark}{json.dumps(str(key))}:"
            yield from _json(entry)
            mark = ","
        yield "}" if value else "{}"
    else:
        yield json.dumps(value)


def _batches(value: list[object] | dict[object, object]) -> Iterator[list[Any]]:
    entries = iter(value.items() if isinstance(value, dict) else value)
    while some := list(islice(entries, _ENTRIES)):
        yield some


def _brought_to(disk: Disk, written: object) -> Iterator[bool]:
    disk.begin(written)
    while not disk.done:
        yield False
    if disk.error is not None:
        raise disk.error
