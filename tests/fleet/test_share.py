"""The shares of nodes in limitPage: all together never fetch more, and in the end all of it."""

from random import Random

import pytest

from larbinpy.fleet.board import Drawn, PageShare
from tests.support.memoryboard import Pages


class Node:
    def __init__(self, name: str, pages: Pages, before: int = 0) -> None:
        self.name = name
        self.pages = pages
        self.share = PageShare(pages.limit)
        self.share.before = before
        self.fetched = self.busy = 0

    def step(self, nodes: int) -> None:
        wanted = self.share.wanted(self.fetched, self.busy, 20, nodes)
        if wanted is not None:
            self.share.drawn(self.pages.draw(self.name, wanted))

    def fetch(self, most: int) -> None:
        if self.share.most is not None:
            most = min(most, self.share.most - self.fetched)
        self.fetched += max(0, most)

    @property
    def is_out(self) -> bool:
        return self.share.most is not None and (
            self.share.most <= self.fetched and not self.share.may_grow
        )

    def leave(self) -> None:
        self.share.gave_back(self.pages.draw(self.name, self.share.used(self.fetched)))


@pytest.mark.parametrize("seed", range(20))
def test_nodes_fetch_exactly_the_limit(seed: int) -> None:
    random = Random(seed)
    pages = Pages(random.choice([1, 7, 100, 5000]))
    nodes = [Node(str(number), pages) for number in range(random.randint(1, 5))]
    gone: list[Node] = []
    while nodes:
        for node in list(nodes):
            node.step(len(nodes))
            node.fetch(random.randrange(30))
            if node.is_out or (len(nodes) > 1 and random.random() < 0.02):
                node.leave()
                nodes.remove(node)
                gone.append(node)
        assert sum(node.fetched for node in nodes + gone) <= pages.limit
    assert sum(node.fetched for node in gone) == pages.limit
    assert pages.left == 0


def test_a_node_waits_for_its_first_share() -> None:
    share = PageShare(100)
    assert share.most == 0
    assert share.may_grow
    assert PageShare(0).most is None


def test_a_resumed_node_uses_up_its_share() -> None:
    pages = Pages(100)
    killed = Node("a", pages)
    killed.step(1)
    killed.fetch(30)
    again = Node("a", pages, before=30)
    while not again.is_out:
        again.step(1)
        again.fetch(10)
    assert again.fetched == 70


def test_a_lower_limit_takes_back_what_is_not_used() -> None:
    pages = Pages(1000)
    nodes = [Node("a", pages), Node("b", pages)]
    for node in nodes:
        node.step(2)
        node.fetch(10)
    pages.change(40)
    for node in nodes:
        node.share.change(40)
    while not all(node.is_out for node in nodes):
        for node in nodes:
            node.step(2)
            node.fetch(10)
    assert sum(node.fetched for node in nodes) == 40


def test_a_limit_below_what_was_fetched_takes_back_all_that_is_not_used() -> None:
    pages = Pages(1000)
    nodes = [Node("a", pages), Node("b", pages)]
    for node in nodes * 10:
        node.step(2)
        node.fetch(1)
    pages.change(15)
    for node in nodes:
        node.share.change(15)
    for _ in range(3):
        for node in nodes:
            node.step(2)
    assert [node.share.most for node in nodes] == [10, 10]
    assert all(node.is_out for node in nodes)
    assert pages.left == 15 - 20


def test_pages_count_that_were_fetched_before_there_was_a_limit() -> None:
    pages = Pages(0)
    nodes = [Node("a", pages), Node("b", pages)]
    for node in nodes:
        node.fetch(60)
        node.step(2)
    pages.change(150)
    for node in nodes:
        node.share.change(150)
    while not all(node.is_out for node in nodes):
        for node in nodes:
            node.step(2)
            node.fetch(7)
    assert sum(node.fetched for node in nodes) == 150


def test_pages_of_a_node_that_asks_later_count_for_a_new_limit() -> None:
    pages = Pages(0)
    first, later = nodes = [Node("a", pages), Node("b", pages)]
    for node in nodes:
        node.fetch(60)
        node.step(2)
    pages.change(150)
    first.share.change(150)
    while not first.is_out:
        first.step(2)
        first.fetch(7)
    assert first.fetched + later.fetched == 150


def test_a_new_limit_ends_nothing_before_it_is_known_what_is_left() -> None:
    pages = Pages(0)
    node = Node("a", pages)
    node.fetch(100)
    node.step(1)
    node.fetch(20)
    pages.change(600)
    node.share.change(600)
    assert not node.is_out
    node.fetch(50)
    assert node.fetched == 120, "nothing is fetched before it is known"
    while not node.is_out:
        node.step(1)
        node.fetch(50)
    assert node.fetched == 600


@pytest.mark.parametrize(
    ("limit", "drawn", "fetched", "busy", "wanted"),
    [
        # Without a limit, what was fetched is noted for one that comes.
        (0, None, 7, 3, 57),
        # Until it is known what is left: what is in flight, and one page.
        (100, None, 7, 3, 61),
        # Enough is in advance; then less than a half of it.
        (100, Drawn(64, 40, 100), 7, 3, None),
        (100, Drawn(60, 40, 100), 7, 3, 57 + 11),
        # As many as there are handles and some, where much is left.
        (9000, Drawn(60, 8000, 9000), 7, 3, 57 + 70),
        # The limit was lowered: only what was fetched is kept.
        (30, Drawn(80, -50, 30), 7, 3, 57),
        (30, Drawn(55, -50, 30), 7, 3, 55),
    ],
)
def test_what_a_share_asks_for(
    limit: int, drawn: Drawn | None, fetched: int, busy: int, wanted: int | None
) -> None:
    """A node with 50 pages of earlier runs and 20 handles, one of two nodes."""
    share = PageShare(limit)
    share.before = 50
    if drawn is not None:
        share.drawn(drawn)
    assert share.wanted(fetched, busy, 20, 2) == wanted
    # After a change nobody knows what is left.
    share.change(limit)
    assert share.wanted(fetched, busy, 20, 2) == (61 if limit else 57)
    assert share.used(fetched) == 57


def test_pages_in_flight_count_before_others_draw_ahead() -> None:
    pages = Pages(0)
    slow, fast = Node("slow", pages), Node("fast", pages)
    for node in (slow, fast):
        node.step(2)
    slow.busy = 20
    pages.change(30)
    for node in (slow, fast):
        node.share.change(30)
        node.step(2)
    slow.busy, slow.fetched = 0, 20
    while not (slow.is_out and fast.is_out):
        for node in (fast, slow):
            node.step(2)
            node.fetch(10)
    assert slow.fetched + fast.fetched == 30


@pytest.mark.parametrize(
    ("drawn", "load", "wanted"),
    [
        # Transfers in flight and one page come first; without limit, what was fetched.
        (None, (2, 3, 20, 1), 11),
        (Drawn(50, 0, 0), (2, 3, 20, 1), 7),
        # The limit was lowered, below this share and below what was fetched.
        (Drawn(50, -1, 20), (2, 3, 20, 1), 7),
        (Drawn(6, -1, 20), (2, 3, 20, 1), 6),
        # Much is left: so much for each handle, once half of it is used up.
        (Drawn(41, 1000, 2000), (2, 3, 20, 1), 77),
        (Drawn(42, 1000, 2000), (2, 3, 20, 1), None),
        # Little is left: half of an even part of it, and one page at least.
        (Drawn(37, 120, 2000), (2, 3, 20, 1), 68),
        (Drawn(38, 120, 2000), (2, 3, 20, 1), None),
        (Drawn(37, 120, 2000), (2, 3, 20, 0), 68),
        (Drawn(17, 120, 2000), (2, 3, 20, 3), 28),
        (Drawn(18, 120, 2000), (2, 3, 20, 3), None),
        (Drawn(7, 0, 2000), (2, 3, 20, 1), 8),
        (Drawn(8, 0, 2000), (2, 3, 20, 1), None),
    ],
)
def test_the_total_that_a_node_asks_for(
    drawn: Drawn | None, load: tuple[int, int, int, int], wanted: int | None
) -> None:
    """`load`: pages, transfers that run and may run, and nodes; there were 5 pages before."""
    share = PageShare(100)
    share.before = 5
    if drawn is not None:
        share.drawn(drawn)
    assert share.wanted(*load) == wanted
