"""A process that is watched on the poll loop: its end, and its lines on standard error.

It does not outlive this process, and shares its locks.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO

from larbinpy.loop.child import environment
from larbinpy.loop.poller import READ, Poller

#: An option of prctl(2): the signal that the process gets when this one dies.
_PDEATHSIG = 1
_CHUNK = 1 << 16
#: Bytes of a line that is shown before it is complete.
_LONGEST = 1 << 16

#: Takes a line, without its end.
Say = Callable[[str], None]


class Child:
    """Runs `command`. Without `say`, its standard error goes to `log`.

    Ctrl-C at the terminal does not reach it. If this process dies, it gets the signal `at_death`.
    It inherits the descriptors `holds`, and gets `variables` besides its environment. Raises
    OSError.
    """

    def __init__(
        self,
        poller: Poller,
        command: Sequence[str],
        *,
        at_death: int,
        holds: Sequence[int] = (),
        variables: dict[str, str] | None = None,
        folder: str | None = None,
        say: Say | None = None,
        log: IO[bytes] | int = subprocess.DEVNULL,
    ) -> None:
        self._poller = poller
        self._say = say
        self._begun = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if say is not None else log,
            stderr=subprocess.PIPE if say is not None else log,
            env=(variables or {}) | environment(),
            cwd=folder,
            start_new_session=True,
            pass_fds=holds,
            preexec_fn=partial(_end_with, os.getpid(), at_death),
        )
        #: Its exit status once it has ended; negative for a signal.
        self.status: int | None = None
        self._pidfd = os.pidfd_open(self._process.pid)
        poller.register(self._pidfd, READ, lambda fd, events: self._ended())
        if self._process.stderr is not None:
            end = self._process.stderr.fileno()
            os.set_blocking(end, False)
            poller.register(end, READ, lambda fd, events: self._read())

    def __repr__(self) -> str:
        return f"<Child {self._process.pid} {self.status}>"

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.status is None:
            signal.pidfd_send_signal(self._pidfd, number)

    def wait(self) -> int:
        """Wait for its end, without serving anything else; return its status."""
        self._process.wait()
        self._ended()
        assert self.status is not None
        return self.status

    def _ended(self) -> None:
        if self.status is not None:
            return
        self.status = self._process.wait()
        self._poller.unregister(self._pidfd)
        os.close(self._pidfd)
        if self._process.stderr is not None:
            self._read()
            self._poller.unregister(self._process.stderr.fileno())
            self._process.stderr.close()
            self._show(b"\n" if self._begun else b"")

    def _read(self) -> None:
        assert self._process.stderr is not None
        fd = self._process.stderr.fileno()
        try:
            while data := os.read(fd, _CHUNK):
                self._show(data)
        except BlockingIOError:
            return
        self._poller.unregister(fd)

    def _show(self, data: bytes) -> None:
        *lines, self._begun = (self._begun + data).split(b"\n")
        if len(self._begun) > _LONGEST:
            lines, self._begun = [*lines, self._begun], b""
        for line in lines:
            if self._say is not None:
                self._say(line.decode(errors="replace"))


def _end_with(parent: int, number: int) -> None:
    """Run in the child: the system sends it the signal `number` when its `parent` dies."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, number)
    if os.getppid() != parent:
        # It has died before.
        os.kill(os.getpid(), signal.SIGKILL)
