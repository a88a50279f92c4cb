"""Searches share the turns: one works at a time, and not in every turn."""

from collections.abc import Iterator

import pytest

from larbinpy.console.ports.commands import Wait
from larbinpy.crawl.control import Searches


class Search:
    """Takes 25 ms of its own clock for each step, and finds something after `steps`."""

    def __init__(self) -> None:
        self.now = 100.0
        self.worked: list[str] = []

    def __call__(self, name: str, steps: int, *, fails: bool = False) -> Iterator[str | None]:
        for _ in range(steps):
            self.now += 0.025
            self.worked.append(name)
            yield None
        if fails:
            raise OSError("gone")
        yield name


@pytest.fixture
def search() -> Search:
    return Search()


def test_a_search_works_for_a_slice_and_pauses(search: Search) -> None:
    found = Searches(lambda: search.now).run(search("a", 2))
    # A step that takes a whole slice ends the work in this turn.
    assert next(found) is Wait.TURN
    assert (next(found), search.worked) == (Wait.TURN, ["a"])
    search.now += 0.02
    assert (next(found), search.worked) == (Wait.TURN, ["a", "a"])
    search.now += 0.02
    assert next(found) == "a"


def test_a_second_search_waits_for_its_turn(search: Search) -> None:
    searches = Searches(lambda: search.now)
    first, second = searches.run(search("a", 1)), searches.run(search("b", 1))
    assert next(first) is Wait.TURN
    assert (next(second), search.worked) == (Wait.TURN, ["a"])
    search.now += 0.02
    assert next(first) == "a"
    # The first is done, so the second need not wait any longer.
    assert (next(second), search.worked) == (Wait.TURN, ["a", "b"])


def test_a_search_that_fails_does_not_hold_up_others(search: Search) -> None:
    searches = Searches(lambda: search.now)
    failing = searches.run(search("a", 0, fails=True))
    with pytest.raises(OSError, match="gone"):
        next(failing)
    assert next(searches.run(search("b", 0))) == "b"
