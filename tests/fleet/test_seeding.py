"""Seeds on their way to Redis, which may be away for a while."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from larbinpy.crawl.fleet.frontier import AGAIN, FULL_DEPTH, Seeding, post_all
from larbinpy.fleet.board import AreaLog
from larbinpy.fleet.journal import unpack
from larbinpy.fleet.vault import Away, FleetState, Then
from larbinpy.storage.queues import decode


class Board:
    """Takes letters when the test says so."""

    def __init__(self, area: AreaLog | None = None) -> None:
        self.area = area
        self.posted: list[tuple[Mapping[int, bytes], Then[FleetState]]] = []
        #: Seeds in the inboxes, and the news of the area before each post.
        self.seeds: list[str] = []
        self.news: list[list[str]] = []

    def seed(self, letters: Mapping[int, bytes], then: Then[FleetState]) -> None:
        self.news.append(self.area.news(100) if self.area is not None else [])
        self.posted.append((letters, then))

    def lose(self) -> None:
        """The connection ends before the letters arrive."""
        self.posted.pop(0)[1](Away())

    def take(self) -> None:
        letters, then = self.posted.pop(0)
        lines = [line for letter in letters.values() for line in unpack(letter)]
        assert all(decode(line).depth == FULL_DEPTH for line in lines)
        self.seeds += [decode(line).href for line in lines]
        then(FleetState.RUNNING)


def seeding_at(board: Board, stay: str = "any", *, views: bool = False) -> Seeding:
    return Seeding(board, lambda host: len(host) % 2, stay, views=views)  # type: ignore[arg-type]


def test_seeds_that_redis_did_not_answer_are_given_again() -> None:
    board = Board()
    seeding = seeding_at(board)
    given = [f"http://{'h' * (1 + number % 2)}.test/{number}" for number in range(5000)]
    for url in given:
        assert seeding.add(url)
    while not seeding.is_done:
        seeding.step()
        board.lose()
        assert not seeding.is_done
        seeding.step()
        board.take()
    assert sorted(board.seeds) == sorted(given)


def test_seeds_are_on_their_way_until_redis_has_answered() -> None:
    board = Board()
    seeding = seeding_at(board)
    seeding.add("http://a.test/")
    assert not seeding.is_done
    seeding.step()
    seeding.step()
    assert len(board.posted) == 1 and not seeding.is_done
    board.take()
    assert seeding.is_done


def test_a_command_ends_when_all_its_seeds_are_there() -> None:
    board = Board()
    seeding = seeding_at(board)

    class Asker:
        """Asks again until there is an answer."""

        def ask(self, verb: Callable[[Then[Any]], None]) -> None:
            answers: list[Any] = []
            verb(answers.append)
            board.lose()
            verb(answers.append)
            board.take()
            assert [type(answer) for answer in answers] == [Away, FleetState]

    for number in range(4500):
        seeding.add(f"http://a.test/{number}")
    post_all(seeding, Asker())  # type: ignore[arg-type]
    assert seeding.is_done and len(board.seeds) == 4500


@pytest.mark.parametrize(
    ("stay", "entry"), [("host", "host new.test"), ("prefix", "seed http://new.test/x")]
)
def test_a_seed_widens_the_area_before_it_is_on_its_way(stay: str, entry: str) -> None:
    log = AreaLog()
    applied: list[str] = []
    log.apply = applied.append
    board = Board(log)
    seeding = seeding_at(board, stay)
    seeding.add("http://new.test/x")
    assert applied == [entry]
    seeding.step()
    assert board.news == [[entry]]


@pytest.mark.parametrize(
    ("views", "href"), [(True, "http://a.test/#/b"), (False, "http://a.test/")]
)
def test_views_are_seeds_where_pages_are_rendered(views: bool, href: str) -> None:
    board = Board()
    seeding = seeding_at(board, views=views)
    assert seeding.add("a.test/#/b")
    seeding.step()
    board.take()
    assert board.seeds == [href]


def test_a_seed_keeps_how_it_is_to_be_fetched() -> None:
    board = Board()
    seeding = seeding_at(board)
    seeding.add("http://a.test/", depth=3, priority=True, again=True, label="news")
    seeding.step()
    [line] = [line for letter in board.posted[0][0].values() for line in unpack(letter)]
    url = decode(line.removeprefix(AGAIN))
    assert line.startswith(AGAIN)
    assert (url.href, url.depth, url.priority, url.seed, url.label) == (
        *("http://a.test/", 3, True, True, "news"),
    )
