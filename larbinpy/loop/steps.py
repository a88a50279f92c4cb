"""Long work in steps, so that a loop with other things to do may take its turns between them.

Such work is a generator that yields every few milliseconds, and returns what came of it.
"""

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

_T = TypeVar("_T")
Steps = Generator[None, None, _T]

#: Characters in a step: a thousand references, of 10 us each, at most.
_STEP = 8 * 1024


def whole(steps: Steps[_T]) -> _T:
    """What comes of `steps`, done at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _T = end.value
            return result


def replaced(
    text: str, spans: Iterable[tuple[int, int]], new: Callable[[int, int], str | None]
) -> Steps[str]:
    """`text` with what `new` says in place of its `spans`, in their order; None leaves one."""
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
