"""Decides when a process that died is started again, and when it is given up."""

import signal

from larbinpy.loop.backoff import Backoff

#: A process that lived so long (s) may die as often as a new one.
_STABLE = 60.0
#: Deaths in a row after which a process is given up.
MOST_DEATHS = 5


class Restarts:
    """The starts and deaths of one process."""

    def __init__(self) -> None:
        self._backoff = Backoff()
        self._deaths = 0
        self._started_at = 0.0

    def __repr__(self) -> str:
        return f"<Restarts after {self._deaths} deaths in a row>"

    def started(self, now: float) -> None:
        self._started_at = now

    def died(self, now: float) -> float | None:
        """The seconds until it is started again: 1, 2, 4 ...; None if it is given up."""
        if now - self._started_at >= _STABLE:
            self._deaths = 0
            self._backoff.succeeded()
        self._deaths += 1
        return None if self._deaths == MOST_DEATHS else self._backoff.failed(now)


def in_words(status: int) -> str:
    """The end of a process by its exit status, which is negative for a signal."""
    if status >= 0:
        return f"died with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
