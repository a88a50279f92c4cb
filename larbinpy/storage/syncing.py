"""Flushes whole file systems to the disk without blocking the loop.

Pages are written without fsync, which takes 0.2 to 5 ms and would halve the speed of a crawl. A
checkpoint needs all of them on the disk. syncfs(2) does that with one wait, but it may take
seconds, and Python has no such call. So a child process, `sync -f`, makes it while the loop
turns.
"""

import errno
import os
import signal
from collections.abc import Iterable

from larbinpy.errors import LostPagesError
from larbinpy.loop.child import environment
from larbinpy.loop.poller import READ, Poller

#: Ctrl-C and the end of a service send these to all processes of a crawl. The child blocks
#: them, because the crawl needs it to save its state.
_NOT_FOR_THE_CHILD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SILENT = tuple((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3))


class Syncing:
    """Flushes the file systems of `folders` to the disk, with one child process at a time.

    Invariants: either `done` or a child runs; with an `error` no child is started. The system
    reports only once that a page could not be written, so after a failure the content of the
    disk is unknown, and a second try that succeeds proves nothing. (The state's own files are
    written again then, see `files.Tail`; there is no list of the pages.)
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
        """Whether the last `begin` has ended: all written before it is on the disk, or `error`."""
        return self._child is None

    def begin(self, written: object) -> None:
        """Begin, unless `written`, a mark of everything written, is the same as last time."""
        self.wait()
        if not self._folders or self.error or written == self._synced:
            return
        self._synced = written
        try:
            self._child = os.posix_spawnp(
                "sync",
                ["sync", "-f", *self._folders],
                environment(),
                file_actions=_SILENT,
                setsigmask=_NOT_FOR_THE_CHILD,
            )
        except OSError:
            # There is no such command, or no process can be made. sync(2) does the same, but
            # blocks the loop.
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
        """Wait until `done`; a child that has ended is collected."""
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
            # Other code of this process collected the child, so its result is lost.
            os.sync()
            return
        if status:
            reason = f"not flushed to the disk (sync -f: {status})"
            self.error = LostPagesError(errno.EIO, reason, ", ".join(self._folders))
