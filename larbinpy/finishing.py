"""How a crawl ends: what the outputs have left to do when all pages have come."""

from collections.abc import Iterator

from larbinpy.clock import Clock, clock
from larbinpy.ending import GRACE
from larbinpy.output.plug import Keeper

#: What a slice takes of a turn, as people may be talking to the crawl meanwhile (s).
_SLICE = 0.02


class Finishing:
    """Does what a mirror has left to do when its pages have come, a slice each turn."""

    def __init__(self, keeper: Keeper, clock: Clock = clock) -> None:
        self._keeper = keeper
        self._clock = clock
        self._steps: Iterator[None] | None = None
        self._stop_by = float("inf")
        #: Whether it was left before it was done: `--resume` does it.
        self.left = False

    def __repr__(self) -> str:
        return f"<Finishing {'begun' if self._steps else 'not begun'}>"

    def step(self, now: float, stop: bool) -> bool:
        """Go on; is it done, or has it to end, as people said stop long enough ago?

        After an OSError it begins anew.
        """
        if stop:
            self._stop_by = min(self._stop_by, now + GRACE)
        self.left = now >= self._stop_by
        if self.left:
            return True
        steps = self._keeper.finish() if self._steps is None else self._steps
        self._steps = None
        enough = self._clock() + _SLICE
        for _ in steps:
            if self._clock() > enough:
                self._steps = steps
                return False
        self._steps = iter(())
        return True
