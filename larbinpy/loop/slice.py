"""A slice of work: a part of a turn, after which sockets and ports are served again."""

from larbinpy.loop.clock import Clock

#: Length of a slice (s).
SLICE = 0.02


class Slice:
    """The time for some work in this turn, from now on."""

    __slots__ = ("_clock", "_end", "began")

    def __init__(self, clock: Clock, seconds: float = SLICE) -> None:
        self._clock = clock
        self.began = clock()
        self._end = self.began + seconds

    @property
    def over(self) -> bool:
        """Whether its time has passed."""
        return self._clock() > self._end

    def __repr__(self) -> str:
        return f"<Slice until {self._end}>"
