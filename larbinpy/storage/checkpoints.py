"""When the state of a crawl is saved, and how, without holding the crawl up."""

from collections.abc import Callable, Iterator

from larbinpy.storage.state import Saved, State


class Checkpoints:
    """A checkpoint of `saved` every so many seconds.

    Each is made in steps, with at most one wait for the disk in a step.
    """

    def __init__(self, state: State, saved: Saved, every: float) -> None:
        self._state = state
        self._parts = saved
        self._every = every
        self._begun_at = float("-inf")
        self._steps: Iterator[bool] | None = None
        self._at_once = False
        #: How many were begun, and which of them was the last that is on the disk.
        self._begun = 0
        self._saved = 0

    def __repr__(self) -> str:
        return f"<Checkpoints {'one under way' if self._steps else 'none under way'}>"

    @property
    def under_way(self) -> bool:
        return self._steps is not None

    @property
    def deadline(self) -> float:
        """When there is something to do; the past where it is at once."""
        if self._steps is None:
            return self._begun_at + self._every
        return float("-inf") if self._at_once else float("inf")

    def is_due(self, now: float) -> bool:
        return self._steps is None and now >= self._begun_at + self._every

    def begin(self, now: float) -> None:
        """Begin one where none is under way."""
        if self._steps is None:
            self._steps = self._checkpoint(now)
            self._at_once = True

    def _checkpoint(self, now: float, *, ended: bool = False) -> Iterator[bool]:
        self._begun_at = now
        self._begun += 1
        return self._state.checkpoint(self._parts, now, ended=ended)

    def step(self) -> None:
        """Go on with the one under way. After an OSError none is."""
        steps, self._steps = self._steps, None
        if steps is not None:
            for self._at_once in steps:
                self._steps = steps
                return
            self._saved = self._begun

    def save_now(self, clock: Callable[[], float]) -> Iterator[bool | None]:
        """See to it that a checkpoint is made of what there is now, by whoever steps it.

        Yields None until then, and whether it is on the disk.
        """
        # Of one that is under way the cut may have been made.
        wanted = self._begun + 1
        while self._steps is not None and self._begun < wanted:
            yield None
        if self._begun < wanted:
            self.begin(clock())
        while self._steps is not None and self._saved < wanted:
            yield None
        yield self._saved >= wanted

    def save(self, now: float, *, ended: bool = False) -> None:
        """A whole checkpoint at once."""
        self._steps = None
        for at_once in self._checkpoint(now, ended=ended):
            if not at_once:
                for disk in self._parts.disks.values():
                    disk.wait()
        self._saved = self._begun
