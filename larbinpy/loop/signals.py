"""Signals to a running crawl: noted when they come, acted on between two turns.

A handler may run between any two steps of the program, so it does no more than count; the
byte that Python then writes to a socket ends the loop's wait.
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
    """The signals that came since `catch`."""

    def __init__(self) -> None:
        self._came: Counter[int] = Counter()

    def __repr__(self) -> str:
        return f"<Signals {dict(self._came)}>"

    def catch(self, until: ExitStack) -> None:
        """Note signals from now on; `until` puts things back.

        Python lets the main thread alone do that; in another one they stay as they are.
        """
        with suppress(ValueError):
            for number in _NOTED:
                until.callback(signal.signal, number, signal.signal(number, self._note))
            ignored = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            until.callback(signal.signal, signal.SIGPIPE, ignored)

    def wake(self, poller: Poller, until: ExitStack) -> None:
        """End the wait of `poller` when a signal comes."""
        ours, kernels = socket.socketpair()
        for end in (ours, kernels):
            end.setblocking(False)
            until.callback(end.close)
        poller.register(ours.fileno(), READ, lambda fd, events: _drain(ours))
        until.callback(poller.unregister, ours.fileno())
        with suppress(ValueError):
            before = signal.set_wakeup_fd(kernels.fileno(), warn_on_full_buffer=False)
            until.callback(signal.set_wakeup_fd, before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came[number] += 1

    @property
    def stops(self) -> int:
        """How often it was asked to stop."""
        return sum(self._came[number] for number in _STOP)

    def take_status(self) -> bool:
        """Was a status line asked for since the last call?"""
        return self._came.pop(signal.SIGUSR1, 0) > 0

    @property
    def reopen(self) -> bool:
        """Are the logs to be reopened? So until `reopened`."""
        return self._came[signal.SIGHUP] > 0

    def reopened(self) -> None:
        self._came[signal.SIGHUP] = 0


def _drain(end: socket.socket) -> None:
    with suppress(BlockingIOError):
        while end.recv(4096):
            pass
