"""Decides when the state of a crawl is saved, and makes a step of it between two turns."""

from collections.abc import Iterator

from larbinpy.errors import DamagedError, LostPagesError, passes, what_failed
from larbinpy.loop.clock import Clock
from larbinpy.stats.counters import Stats
from larbinpy.storage.checkpoints import Checkpoints


class Saving:
    """Begins checkpoints: at intervals, after seeds and logins, and when all URLs are decided."""

    def __init__(self, checkpoints: Checkpoints, stats: Stats, clock: Clock) -> None:
        self._checkpoints = checkpoints
        self._stats = stats
        self._clock = clock
        self._requested = False
        # Number of URLs that were decided when the last checkpoint began.
        self._saved_fates = 0
        self._failed = False

    def __repr__(self) -> str:
        return f"<Saving {self._checkpoints!r}>"

    @property
    def deadline(self) -> float:
        """The time of the next step; -inf while a checkpoint is under way."""
        return self._checkpoints.deadline

    def request(self) -> None:
        """Begin a checkpoint after this turn: there is what no later run could find out.

        Seeds were added, which no page links to, or a login has ended.
        """
        self._requested = True

    def step(self, now: float, *, all_decided: bool) -> str | None:
        """Continue the checkpoint under way, or begin one if there is a reason.

        One that fails leaves the last saved state valid, and is tried again when the next is due.
        Returns a line for the user if the first one fails, or if one succeeds after that. Raises
        OSError if the disk is full, DamagedError, LostPagesError.
        """
        if self._checkpoints.under_way:
            return self._go_on()
        if self._is_wanted(now, all_decided):
            self._requested = False
            self._saved_fates = self._fates
            self._checkpoints.begin(now)
        return None

    def _go_on(self) -> str | None:
        before = self._failed
        try:
            self._checkpoints.step()
        except OSError as error:
            if passes(error) or isinstance(error, DamagedError | LostPagesError):
                raise
            self._failed = True
            lost = "the state could not be saved; the crawl goes on, and tries again"
            return None if before else f"{what_failed(error)}: {lost}"
        self._failed = before and self._checkpoints.under_way
        return "the state is saved again" if before and not self._failed else None

    def _is_wanted(self, now: float, all_decided: bool) -> bool:
        news = all_decided and self._fates > self._saved_fates
        return news or self._requested or self._checkpoints.is_due(now)

    @property
    def _fates(self) -> int:
        return self._stats.outcomes.total()

    def save_now(self) -> Iterator[bool | None]:
        """Save the present state: yields None until this has ended, then whether it worked."""
        return self._checkpoints.save_now(self._clock)

    def save(self, *, ended: bool = False) -> None:
        """Make a whole checkpoint at once. Raises OSError."""
        self._saved_fates = self._fates
        self._checkpoints.save(self._clock(), ended=ended)
