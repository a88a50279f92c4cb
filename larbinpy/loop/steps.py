"""Long work in steps, so that the loop can take its turns between them.

Such work is a generator that yields every few milliseconds and returns the result.
"""

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

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


def replaced(
    text: str, spans: Iterable[tuple[int, int]], new: Callable[[int, int], str | None]
) -> Steps[str]:
    """`text` with its `spans` replaced by `new(start, end)`; None leaves a span as it is.

    `spans` are in order and do not overlap.
    """
    pieces, done, enough = [], 0, _STEP
    for start, end in spans:
        fresh = new(start, end)
        if fresh is not None:
            pieces += [text[done:start], fresh]
            done = end
        if end >= enough:
            enough = end + _STEP
            yield
    return "".join([*pieces, text[done:]])
