"""The schedule of checkpoints, which are made in steps so that the crawl does not stop."""

from collections.abc import Callable, Iterator

from larbinpy.storage.state import Saved, State


class Checkpoints:
    """Makes a checkpoint of `saved` every `every` seconds, one at a time.

    A step of a checkpoint waits for the disk at most once.
    """

    def __init__(self, state: State, saved: Saved, every: float) -> None:
        self._state = state
        self._parts = saved
        self._every = every
        self._begun_at = float("-inf")
        self._steps: Iterator[bool] | None = None
        self._at_once = False
        #: Number of checkpoints begun, and the number of the last one that is on the disk.
        self._begun = 0
        self._saved = 0

    def __repr__(self) -> str:
        return f"<Checkpoints {'one under way' if self._steps else 'none under way'}>"

    @property
    def under_way(self) -> bool:
        return self._steps is not None

    @property
    def deadline(self) -> float:
        """The time of the next step: -inf for at once, inf while a sync is under way."""
        if self._steps is None:
            return self._begun_at + self._every
        return float("-inf") if self._at_once else float("inf")

    def is_due(self, now: float) -> bool:
        return self._steps is None and now >= self._begun_at + self._every

    def begin(self, now: float) -> None:
        """Begin a checkpoint if none is under way."""
        if self._steps is None:
            self._steps = self._checkpoint(now)
            self._at_once = True

    def _checkpoint(self, now: float, *, ended: bool = False) -> Iterator[bool]:
        self._begun_at = now
        self._begun += 1
        return self._state.checkpoint(self._parts, now, ended=ended)

    def step(self) -> None:
        """Make a step of the checkpoint under way, if there is one; an OSError ends it."""
        steps, self._steps = self._steps, None
        if steps is not None:
            for self._at_once in steps:
                self._steps = steps
                return
            self._saved = self._begun

    def save_now(self, clock: Callable[[], float]) -> Iterator[bool | None]:
        """Begin a checkpoint of the present state, and wait for it.

        Yields None until it has ended, then whether it is on the disk. Between two yields the
        caller must let `step` be called.
        """
        # A checkpoint that is under way may have made its cut earlier, so it is not enough.
        wanted = self._begun + 1
        while self._steps is not None and self._begun < wanted:
            yield None
        if self._begun < wanted:
            self.begin(clock())
        while self._steps is not None and self._saved < wanted:
            yield None
        yield self._saved >= wanted

    def save(self, now: float, *, ended: bool = False) -> None:
        """Make a whole checkpoint, and wait for the disk. Raises `OSError`."""
        self._steps = None
        for at_once in self._checkpoint(now, ended=ended):
            if not at_once:
                for disk in self._parts.disks.values():
                    disk.wait()
        self._saved = self._begun
