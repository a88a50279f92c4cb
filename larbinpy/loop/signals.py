"""Signals to a running crawl: counted when they arrive, acted on between two turns.

A handler may run between any two steps of the program, so it only counts. The byte that
Python writes to a socket for each signal ends the wait of the loop.
"""

import signal
import socket
from collections import Counter
from contextlib import ExitStack, suppress
from types import FrameType

from larbinpy.loop.poller import READ, Poller

_STOP = (signal.SIGINT, signal.SIGTERM)
_NOTED = (*_STOP, signal.SIGUSR1, signal.SIGHUP)


class Signals:
    """Counts the signals since `catch`."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def __repr__(self) -> str:
        return f"<Signals {dict(self._counts)}>"

    def catch(self, until: ExitStack) -> None:
        """Count signals from now on, until `until` is closed.

        Python allows it in the main thread only; in another one nothing changes.
        """
        with suppress(ValueError):
            for number in _NOTED:
                until.callback(signal.signal, number, signal.signal(number, self._note))
            ignored = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            until.callback(signal.signal, signal.SIGPIPE, ignored)

    def wake(self, poller: Poller, until: ExitStack) -> None:
        """End the wait of `poller` when a signal arrives, until `until` is closed."""
        reader, writer = socket.socketpair()
        for end in (reader, writer):
            end.setblocking(False)
            until.callback(end.close)
        poller.register(reader.fileno(), READ, lambda fd, events: _drain(reader))
        until.callback(poller.unregister, reader.fileno())
        with suppress(ValueError):
            before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
            until.callback(signal.set_wakeup_fd, before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._counts[number] += 1

    @property
    def stops(self) -> int:
        """The number of SIGINT and SIGTERM so far."""
        return sum(self._counts[number] for number in _STOP)

    def take_status(self) -> bool:
        """Whether a SIGUSR1, which asks for a status line, arrived since the last call."""
        return self._counts.pop(signal.SIGUSR1, 0) > 0

    @property
    def reopen(self) -> bool:
        """Whether a SIGHUP, which asks to reopen the log, arrived since the last `reopened`."""
        return self._counts[signal.SIGHUP] > 0

    def reopened(self) -> None:
        self._counts[signal.SIGHUP] = 0


def _drain(end: socket.socket) -> None:
    with suppress(BlockingIOError):
        while end.recv(4096):
            pass
