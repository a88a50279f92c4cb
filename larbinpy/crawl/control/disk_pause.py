"""The pause of a crawl while the disk is full."""

from math import inf

from larbinpy.errors import what_failed
from larbinpy.loop.clock import Clock

#: Seconds after which a full disk is tried again.
ROOM_WAIT = 1.0


class DiskPause:
    """Pauses the crawl while the disk is full; it is tried again every `ROOM_WAIT` seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: Whether there was no room at the last try.
        self.full = False
        #: Time of the next try; -inf for none.
        self.until = -inf

    def __repr__(self) -> str:
        return f"<DiskPause {'full' if self.full else 'room'}>"

    def stalls(self, now: float) -> bool:
        """Whether work that needs room on the disk must wait at `now`."""
        return now < self.until

    def begin(self, error: OSError) -> str | None:
        """Begin or extend the pause, because of `error`, which `passes`.

        Returns a message to print if the pause begins.
        """
        began = not self.full
        self.full = True
        self.until = self._clock() + ROOM_WAIT
        return f"{what_failed(error)}; the crawl waits until there is room" if began else None

    def turned(self, now: float) -> str | None:
        """End the pause if this turn, which raised no error, began at `now` after its wait.

        Returns a message to print if the pause ends.
        """
        if not self.full or self.stalls(now):
            return None
        self.full = False
        return "there is room again; the crawl continues"

    def cancel(self) -> None:
        """Try the disk in the next turn, because the crawl is to stop."""
        self.until = -inf
