"""The two clocks of the program, and long work in steps, between which the loop takes turns.

Code that decides does not read the clocks: times are arguments. Long work is a generator that
yields every few milliseconds and returns the result. A `Slice` is the part of a turn that it may
take, after which sockets and ports are served again. A `Backoff` has the growing waits between
tries of what may succeed later.
"""

import time
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

Clock = Callable[[], float]

#: Seconds of a clock that never goes back, for everything that is measured or scheduled.
clock: Clock = time.monotonic
#: Unix time, for display, logs and dates in headers.
wall: Clock = time.time
#: For commands that wait for a file; the crawl itself waits for sockets.
sleep: Callable[[float], None] = time.sleep


_T = TypeVar("_T")
Steps = Generator[None, None, _T]

#: Characters handled in a step. They hold at most a thousand references, of 10 us each.
_STEP = 8 * 1024


def run_to_end(steps: Steps[_T]) -> _T:
    """The result of `steps`, run without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _T = end.value
            return result


#: Start and end of a piece of a text, and what replaces it.
Replacement = tuple[int, int, str]


def replacements(
    spans: Iterable[tuple[int, int]], new: Callable[[int, int], str | None]
) -> Steps[list[Replacement]]:
    """Return what replaces the `spans` of a text: `new(start, end)`; None leaves a span as it is.

    `spans` are in order and do not overlap.
    """
    found, enough = [], _STEP
    for start, end in spans:
        fresh = new(start, end)
        if fresh is not None:
            found.append((start, end, fresh))
        if end >= enough:
            enough = end + _STEP
            yield
    return found


def joined(text: str, edits: Iterable[Replacement]) -> str:
    """`text` with pieces replaced, which are in order and do not overlap."""
    pieces, done = [], 0
    for start, end, fresh in edits:
        pieces += [text[done:start], fresh]
        done = end
    return "".join([*pieces, text[done:]])


def replaced(
    text: str, spans: Iterable[tuple[int, int]], new: Callable[[int, int], str | None]
) -> Steps[str]:
    """`text` with its `replacements`."""
    return joined(text, (yield from replacements(spans, new)))


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


#: The first wait and the longest (s); each is twice the one before.
_FIRST = 1.0
_MOST = 30.0


class Backoff:
    """The time of the next try: 1, 2, 4 ... 30 seconds after the last failure."""

    __slots__ = ("_wait", "due")

    def __init__(self) -> None:
        self._wait = _FIRST
        #: When to try again.
        self.due = 0.0

    def failed(self, now: float) -> float:
        """Note a failure; return the seconds until the next try."""
        wait = self._wait
        self.due = now + wait
        self._wait = min(2 * wait, _MOST)
        return wait

    def succeeded(self) -> None:
        """Begin with the shortest wait again."""
        self._wait = _FIRST
