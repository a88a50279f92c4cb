"""The order of the tests for several workers."""

from collections.abc import Iterable
from typing import TypeVar

Test = TypeVar("Test")


def dealt(slow: Iterable[list[Test]], quick: list[Test], workers: int) -> list[Test]:
    """The tests in an order for ``--dist worksteal``, where each worker begins with a part.

    The parts are equally long. Each begins with slow tests, which often wait, and ends with quick
    ones, of which a worker that has done its part takes the last ones of another. Slow tests come
    as lists of those that stay together, since they use a fixture of their module.
    """
    parts: list[list[Test]] = [[] for _ in range(workers)]
    for together in slow:
        min(parts, key=len).extend(together)
    left = len(quick) + sum(map(len, parts))
    taken = 0
    for number, part in enumerate(parts):
        more = max(left // (workers - number) - len(part), 0)
        part += quick[taken : taken + more]
        taken += more
        left -= len(part)
    return [test for part in parts for test in part]
