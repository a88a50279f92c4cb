"""When the state of a crawl is saved: between two turns, a step of a checkpoint each."""

from collections.abc import Iterator

from larbinpy.crawl.mode import Mode
from larbinpy.loop.clock import Clock
from larbinpy.stats.counters import Stats
from larbinpy.storage.checkpoints import Checkpoints


class Saving:
    """Begins checkpoints: on time, at once for seeds of people, and when all is decided."""

    def __init__(self, checkpoints: Checkpoints, mode: Mode, stats: Stats, clock: Clock) -> None:
        self._checkpoints = checkpoints
        self._mode = mode
        self._stats = stats
        self._clock = clock
        self._requested = False
        # Fates that were decided when the last checkpoint began.
        self._saved_fates = 0

    def __repr__(self) -> str:
        return f"<Saving {self._checkpoints!r}>"

    def request(self) -> None:
        """Begin a checkpoint after this turn: people gave seeds that no page brings back."""
        self._requested = True

    def step(self, now: float, *, all_decided: bool) -> None:
        """Go on with the checkpoint under way, or begin one if there is reason to."""
        if self._checkpoints.under_way:
            self._checkpoints.step()
        elif self._is_wanted(now, all_decided):
            self._requested = False
            self._saved_fates = self._fates
            self._checkpoints.begin(now)
        self._mode.wake_at = self._checkpoints.deadline

    def _is_wanted(self, now: float, all_decided: bool) -> bool:
        news = all_decided and self._fates > self._saved_fates
        return news or self._requested or self._checkpoints.is_due(now)

    @property
    def _fates(self) -> int:
        return self._stats.outcomes.total()

    def save_now(self) -> Iterator[bool | None]:
        """Have all that there is now saved; yields None until then, then whether it is."""
        return self._checkpoints.save_now(self._clock)

    def save(self, *, ended: bool = False) -> None:
        """Make a whole checkpoint at once. Raises OSError."""
        self._saved_fates = self._fates
        self._checkpoints.save(self._clock(), ended=ended)
