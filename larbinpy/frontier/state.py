"""What a crawl leaves on disk so that another run goes on where it stopped.

`state.json` names everything else that belongs to the state; it is replaced in one
rename, so there is always one whole state, the old or the new.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from larbinpy.ending import UserError
from larbinpy.files import write_atomic
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.seen import Seen
from larbinpy.frontier.store import Store
from larbinpy.url import Url

_MANIFEST = "state.json"
_FORMAT = 1


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
        self._folder.mkdir(parents=True, exist_ok=True)
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

    def clear(self) -> None:
        """Forget the crawl that is here (--scratch); the manifest first, so never half."""
        (self._folder / _MANIFEST).unlink(missing_ok=True)
        Store(self._folder).clear()
        for name in ("seen.bin", "digests.bin", "crawl.jsonl"):
            (self._folder / name).unlink(missing_ok=True)

    def save(self, frontier: Frontier, now: float, *, ended: bool = False) -> None:
        """Write the state of `frontier` durably; an OSError leaves the last one or this.

        `ended` says that nothing is asked for after this.
        """
        queues = frontier.store.save(frontier.in_memory())
        manifest = {
            "format": _FORMAT,
            "queues": queues,
            "seen": frontier.seen.save(self._folder / "seen.bin"),
            "digests": frontier.digests.save(self._folder / "digests.bin"),
            "ended": ended,
            "waits": frontier.waits(now),
            "seed_hosts": sorted(frontier.seed_hosts),
        }
        write_atomic(self._folder / _MANIFEST, [json.dumps(manifest).encode()])
        frontier.store.tidy(queues)

    def load(self, frontier: Frontier, now: float) -> None:
        """Take up the saved state; StateError where it is not whole."""
        manifest = self._manifest()
        try:
            frontier.seen = Seen.load(self._folder / "seen.bin", manifest["seen"])
            frontier.digests = Seen.load(self._folder / "digests.bin", manifest["digests"])
            frontier.store.load(manifest["queues"])
            frontier.seed_hosts.update(map(str, manifest["seed_hosts"]))
            waits = dict(manifest["waits"])
            frontier.resume({key: now + float(wait) for key, wait in waits.items()})
            if not manifest["ended"]:
                # Whom it asked between this save and its death, nobody knows.
                frontier.ip_sites.let_rest(now)
        except (OSError, ValueError, KeyError, TypeError) as error:
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
            store.load(self._manifest()["queues"])
            yield from store
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(f"{self._folder}: the saved state is damaged ({error})") from error
