"""The mode of the engine, which commands and the end of the crawl change while it runs.

`DiskPause` pauses a crawl while the disk is full, and `Room` before it is (minFree). `Restart` says
that a crawl must begin anew, from what its outputs have on the disk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from errno import ENOSPC
from math import inf

from larbinpy.config.kinds import show_size
from larbinpy.errors import CrawlState, what_failed
from larbinpy.storage.state import SavedValue


class Restart(Exception):
    """Nothing in memory counts any more: the crawl is assembled again, and resumed.

    The text says why. The state is not saved before.
    """


#: Seconds after which a full disk is tried again.
ROOM_WAIT = 1.0


class DiskPause:
    """Pauses the crawl while the disk is full; it is tried again every `ROOM_WAIT` seconds."""

    def __init__(self) -> None:
        #: Whether there was no room at the last try.
        self.full = False
        #: Time of the next try; -inf for none.
        self.until = -inf

    def stalls(self, now: float) -> bool:
        """Whether work that needs room on the disk must wait at `now`."""
        return now < self.until

    def begin(self, error: OSError, now: float) -> str | None:
        """Begin or extend the pause at `now`, because of `error`, which `passes`.

        Returns a message to print if the pause begins.
        """
        began = not self.full
        self.full = True
        self.until = now + ROOM_WAIT
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


class Room:
    """The room that a crawl leaves on the disks of its folders (minFree)."""

    def __init__(self, folders: Sequence[str], least: int, free: Callable[[str], int]) -> None:
        """`least` in bytes, 0 for none; `free` returns those that are free at a folder."""
        self._folders = folders
        self._least = least
        self._free = free
        self._next = -inf

    def check(self, now: float) -> None:
        """Raise an OSError that `passes` if there is less; the disks are asked once a second."""
        if not self._least or now < self._next:
            return
        self._next = now + ROOM_WAIT
        for folder in self._folders:
            free = self._free(folder)
            if free < self._least:
                why = f"{show_size(free)} free, less than minFree {show_size(self._least)}"
                raise OSError(ENOSPC, why, folder)


@dataclass(slots=True)
class Mode:
    """Switches that are set between two turns; the engine reads them in each turn.

    Commands set `paused`, `stop` and `limit_page`; `Stopping` sets the others.
    """

    #: No request is opened.
    paused: bool = False
    #: The command `stop` was given.
    stop: bool = False
    #: limitPage; 0 for none.
    limit_page: int = 0
    #: The time at which limitTime ends the crawl; infinite for none.
    limit_at: float = inf
    #: Pages that this node of a fleet may fetch, in place of limitPage; None alone.
    share: int | None = None
    #: The share may grow, so that the crawl does not end when it is used up.
    share_may_grow: bool = False
    #: Only the transfers in flight are completed.
    draining: bool = False
    #: Only the process that takes the pages is waited for.
    settling: bool = False
    #: All is done, the last work of the outputs included.
    over: bool = False
    #: The crawl stays up even with nothing to do, as clients may add URLs.
    staying: bool = False
    disk_pause: DiskPause = field(default_factory=DiskPause)

    #: Pages that go to the outputs of a run (limitKept); 0 for any number.
    limit_kept: int = 0

    @property
    def most_pages(self) -> int | None:
        """The number of pages that may be fetched; None for any number."""
        return (self.limit_page or None) if self.share is None else self.share

    def state(self, urls_owed: int) -> CrawlState:
        """The state of the crawl, of which `urls_owed` URLs are not decided."""
        if self.disk_pause.full:
            return CrawlState.DISK_FULL
        if self.draining:
            return CrawlState.FINISHED if self.over else CrawlState.STOPPING
        if self.paused:
            return CrawlState.PAUSED
        waiting = self.staying and not urls_owed
        return CrawlState.WAITING if waiting else CrawlState.RUNNING


class SavedPause(SavedValue):
    """Whether the crawl is paused: it stays so when it is resumed from its saved state.

    If it owes no URL, there is nothing to continue. `owed` returns the number of these.
    """

    def __init__(self, mode: Mode, owed: Callable[[], int]) -> None:
        self._mode = mode
        self._owed = owed

    def cut(self, now: float, *, ended: bool) -> bool:
        return self._mode.paused and self._owed() > 0

    def load(self, value: bool, now: float) -> None:
        self._mode.paused = bool(value)
