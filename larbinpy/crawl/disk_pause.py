"""The pause of a crawl while the disk is full."""

import errno
from collections.abc import Callable

from larbinpy.crawl.mode import Mode
from larbinpy.errors import what_failed
from larbinpy.loop.clock import Clock

#: Errors that pass once there is room on the disk.
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT})
#: Seconds after which a full disk is tried again.
ROOM_WAIT = 1.0


def passes(error: OSError) -> bool:
    """Whether this error passes once there is room on the disk."""
    return error.errno in _PASSING


class DiskPause:
    """Pauses the crawl while the disk is full, and tries again every `ROOM_WAIT` seconds.

    `say` prints a message when the pause begins and when it ends.
    """

    def __init__(self, mode: Mode, say: Callable[[str], None], clock: Clock) -> None:
        self._mode = mode
        self._say = say
        self._clock = clock

    def __repr__(self) -> str:
        return f"<DiskPause {'full' if self._mode.disk_full else 'room'}>"

    def begin(self, error: OSError) -> None:
        """Begin or extend the pause, because of `error`, which `passes`."""
        if not self._mode.disk_full:
            self._say(f"{what_failed(error)}; the crawl waits until there is room")
        self._mode.disk_full = True
        self._mode.stalled_until = self._clock() + ROOM_WAIT

    def turned(self, now: float) -> None:
        """End the pause if this turn, which raised no error, began at `now` after its wait."""
        if self._mode.disk_full and now >= self._mode.stalled_until:
            self._mode.disk_full = False
            self._say("there is room again, the crawl goes on")
