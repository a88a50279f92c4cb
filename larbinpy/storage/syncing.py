"""File systems, brought to the disk beside the loop.

Pages are written without an fsync, which takes 0.2 to 5 ms and would halve the speed of a
crawl. A checkpoint needs all of them on the disk, which syncfs(2) does with one wait; but
that may be seconds, and Python does not know the call. So `sync -f`, a child process, makes
it while the loop turns.
"""

import errno
import os
import signal
from collections.abc import Iterable

from larbinpy.loop.poller import READ, Poller

#: Ctrl-C and the end of a service come to all processes of a crawl, which then saves.
_NOT_FOR_THE_CHILD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SILENT = tuple((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3))


class Syncing:
    """Brings the file systems of `folders` to the disk, one child process after another.

    Invariants: `done` or a child is under way; with `error` no child begins. The system
    tells of a page that could not be written once, so after a failure nothing is known of
    what is on the disk, and a second try that goes well would be no proof. (The state's own
    files are written again then, see `files.Tail`; of the pages nobody keeps a list.)
    """

    def __init__(self, poller: Poller, folders: Iterable[str | os.PathLike[str]]) -> None:
        self._poller = poller
        self._folders = [os.path.abspath(folder) for folder in folders]
        self._synced: object = None
        self._child: int | None = None
        self._watch: int | None = None
        self.error: OSError | None = None

    def __repr__(self) -> str:
        state = "failed" if self.error else "done" if self.done else "under way"
        return f"<Syncing {len(self._folders)} folders {state}>"

    @property
    def done(self) -> bool:
        """Is what was written before `begin` on the disk, where there is no `error`?"""
        return self._child is None

    def begin(self, written: object) -> None:
        """Begin; `written` stands for what there is: as it was the last time, there is no need."""
        self.wait()
        if not self._folders or self.error or written == self._synced:
            return
        self._synced = written
        try:
            self._child = os.posix_spawnp(
                "sync",
                ["sync", "-f", *self._folders],
                os.environ,
                file_actions=_SILENT,
                setsigmask=_NOT_FOR_THE_CHILD,
            )
        except OSError:
            # A system without that command, or without room for a process: sync(2) holds
            # the loop up, and the disk has all the same.
            os.sync()
            return
        self._watch_child(self._child)

    def _watch_child(self, child: int) -> None:
        try:
            self._watch = os.pidfd_open(child)
        except OSError:
            self.wait()
            return
        self._poller.register(self._watch, READ, lambda fd, events: self.wait())

    def wait(self) -> None:
        """Until it is done; a child that has ended leaves nothing behind."""
        child, self._child = self._child, None
        watch, self._watch = self._watch, None
        if watch is not None:
            self._poller.unregister(watch)
            os.close(watch)
        if child is None:
            return
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except ChildProcessError:
            # In a program that collects all its children, or ignores them, nobody knows.
            os.sync()
            return
        if status:
            reason = f"not brought to the disk (sync -f: {status})"
            self.error = OSError(errno.EIO, reason, ", ".join(self._folders))
