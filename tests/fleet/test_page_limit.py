"""limitPage of the whole crawl, as a node draws its share of it."""

from typing import Any

import pytest

from larbinpy.crawl.fleet.steering import PageLimit
from larbinpy.crawl.mode import Mode
from tests.support.memoryboard import MemoryBoard, Pages, Posted
from tests.support.memoryvault import Engine


class Node:
    """A node with 4 handles, alone in a crawl that has 30 pages."""

    def __init__(self, limit: int) -> None:
        self.pages = Pages(limit)
        self.engine = Engine(1, window=0.0)
        self.delay = 0.0
        self.board = MemoryBoard(self.engine, Posted(self.pages), lambda: self.delay)
        self.mode = Mode()
        self.page_limit = PageLimit(self.board, limit, self.mode)  # type: ignore[arg-type]
        self.page_limit.begin("a", 0)
        self.fetched = 0

    def go(self, until: float) -> None:
        """To that time, in steps of 0.1 s."""
        while self.engine.now < until:
            now = self.engine.now + 0.1
            self.fetched = min(self.mode.share or 0, 30)
            self.page_limit.step(self.fetched, 0, 4, 1, now)
            self.engine.step(now)
            self.board.step()

    def change(self, limit: int) -> None:
        """The limit is changed, and the order comes to the node."""
        self.pages.change(limit)
        self.page_limit.change(limit)


def test_nothing_is_opened_before_the_first_share() -> None:
    node = Node(100)
    assert "share" in node.page_limit.holds
    assert (node.mode.share, node.mode.share_may_grow) == (0, True)
    node.go(0.2)
    assert node.page_limit.holds == ""
    assert (node.mode.share or 0) > 0


@pytest.mark.parametrize("limit", [500, 20, 0])
def test_an_answer_from_before_a_change_does_not_count(limit: int) -> None:
    for moment in range(20):
        node = Node(100)
        node.delay = 0.3
        node.go(moment / 10)
        node.change(limit)
        for later in range(10):
            node.go((moment + later) / 10)
            assert node.page_limit.limit == limit, (moment, later)


def test_a_draw_that_was_not_answered_is_repeated() -> None:
    node = Node(100)
    node.delay = 0.3
    node.go(0.2)
    node.board.cut(0.5, lambda: None)
    node.go(3.0)
    assert node.fetched == 30


def test_what_nobody_has_left_is_asked_for_every_two_seconds() -> None:
    node = Node(20)
    node.go(10.0)
    assert node.fetched == 20
    before = node.pages.draws
    node.go(20.0)
    assert node.pages.draws - before == 5
    # A new limit is asked for at once.
    node.change(25)
    node.go(20.3)
    assert node.fetched > 20


def test_the_rest_is_given_back_once() -> None:
    node = Node(100)
    node.go(1.0)
    before = node.pages.draws
    node.delay = 0.3
    until = node.engine.now + 1.0
    while not node.page_limit.give_back(node.fetched):
        assert node.engine.now < until
        node.engine.step(node.engine.now + 0.1)
        node.board.step()
    assert node.page_limit.give_back(node.fetched)
    assert node.pages.draws == before + 1
    assert node.pages.left == 100 - node.fetched


def test_pages_of_the_runs_before_count() -> None:
    node = Node(40)
    node.pages.of["a"], node.pages.left = 25, 15
    node.page_limit.begin("a", 25)
    node.go(10.0)
    assert node.fetched == 15
    assert node.pages.left == 0


def test_what_a_share_is_drawn_for() -> None:
    """First the transfers that run and one page; then, of much that is left, for each handle."""
    node = Node(100_000)
    drawn: list[int] = []
    draw = node.board.draw

    def noted(share: str, total: int, then: Any) -> None:
        drawn.append(total)
        draw(share, total, then)

    node.board.draw = noted  # type: ignore[method-assign]
    for tenth in range(1, 20):
        node.page_limit.step(0, 3, 20, 1, tenth / 10)
        node.engine.step(tenth / 10)
        node.board.step()
    assert drawn == [4, 70]
