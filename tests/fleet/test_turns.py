"""Requests wait for their turns at an address."""

from larbinpy.crawl.fleet.membership import LEASE, Turns
from larbinpy.fetch.options import Request, RequestOptions
from larbinpy.fleet.vault import Away, Then
from larbinpy.url import Url
from tests.support.enginefakes import FakeFetcher


class FakeTurns:
    """Turns that the test grants."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Then[int]]] = []
        self.renewed: list[list[str]] = []
        self.rests: list[tuple[str, float]] = []

    def turn(self, address: str, ms: int, then: Then[int]) -> None:
        assert ms == (LEASE + 2.0) * 1000
        self.asked.append((address, then))

    def renew(self, addresses: list[str], ms: int) -> None:
        self.renewed.append(addresses)

    def rest(self, address: str, ms: int) -> None:
        self.rests.append((address, ms / 1000))

    def answer(self, wait: float | None) -> None:
        self.asked.pop(0)[1](Away() if wait is None else int(wait * 1000))


class Hall:
    def __init__(self) -> None:
        self.taker = FakeTurns()
        self.fetcher = FakeFetcher([], 4)
        self.certain = True
        self.wait = 2.0
        self.turns = Turns(
            self.fetcher,  # type: ignore[arg-type]
            self.taker,  # type: ignore[arg-type]
            lambda: self.wait,
            lambda: self.certain,
            lambda request: request.address,
        )

    def start(self, number: int) -> Url:
        url = Url(f"http://a.test/{number}", 1)
        request = Request(url, f"192.0.2.{number}", lambda *_: None, 100, RequestOptions("us/1"))
        self.turns.start(request, 0.0)
        return url


def test_a_request_is_opened_in_its_turn() -> None:
    hall = Hall()
    hall.start(1)
    assert (hall.turns.free, hall.turns.busy) == (3, 1)
    assert hall.turns.step(0.0) == []
    assert hall.fetcher.started == []
    hall.taker.answer(0.0)
    assert hall.turns.deadline == 0.0
    assert hall.turns.step(0.1) == []
    assert hall.fetcher.started == ["http://a.test/1"]
    assert (hall.turns.free, hall.turns.busy) == (3, 1)
    hall.fetcher.ready = 1
    [page] = hall.turns.step(1.0)
    assert page.url.href == "http://a.test/1"
    assert hall.taker.rests == [("192.0.2.1", 2.0)]
    assert (hall.turns.free, hall.turns.busy) == (4, 0)


def test_a_turn_that_another_node_has_is_asked_for_again() -> None:
    hall = Hall()
    hall.start(1)
    hall.turns.step(10.0)
    hall.taker.answer(0.25)
    assert hall.turns.deadline == 10.25
    hall.turns.step(10.2)
    assert hall.taker.asked == []
    hall.turns.step(10.25)
    hall.taker.answer(30.0)
    # It may be given back earlier.
    assert hall.turns.deadline == 11.25
    hall.turns.step(11.25)
    # Nobody answered.
    hall.taker.answer(None)
    assert hall.turns.deadline == 12.25
    assert hall.fetcher.started == []


def test_a_turn_that_cannot_be_used_wakes_the_loop_when_it_is_to_be_given_back() -> None:
    hall = Hall()
    hall.turns.step(10.0)
    hall.start(1)
    hall.taker.answer(0.0)
    hall.certain = False
    hall.turns.step(11.0)
    assert hall.turns.deadline == 15.0
    hall.turns.step(15.0)
    assert hall.taker.rests == [("192.0.2.1", 0.0)]
    # It is asked for again when requests may be opened.
    assert hall.turns.deadline is None
    hall.certain = True
    hall.turns.step(16.0)
    hall.taker.answer(0.0)
    hall.turns.step(16.1)
    assert hall.fetcher.started == ["http://a.test/1"]


def test_the_place_of_a_turn_is_known_until_its_request_is_opened() -> None:
    hall = Hall()
    url = hall.start(1)
    assert hall.turns.place_of(url) == "192.0.2.1"
    hall.taker.answer(0.5)
    hall.turns.step(0.0)
    assert hall.turns.place_of(url) == "192.0.2.1"
    hall.turns.step(0.5)
    hall.taker.answer(0.0)
    hall.turns.step(0.6)
    assert hall.turns.place_of(url) == ""


def test_turns_are_kept_while_their_requests_are_in_flight() -> None:
    hall = Hall()
    for number in (1, 2):
        hall.start(number)
        hall.taker.answer(0.0)
    for now in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
        hall.turns.step(now)
    both = ["192.0.2.1", "192.0.2.2"]
    assert hall.taker.renewed == [both, both, both]


def test_no_request_is_opened_by_a_node_that_may_have_lost_its_turns() -> None:
    hall = Hall()
    hall.start(1)
    hall.taker.answer(0.0)
    hall.certain = False
    hall.turns.step(0.0)
    assert hall.fetcher.started == []
    assert hall.turns.busy == 1
    hall.certain = True
    hall.turns.step(1.0)
    assert hall.fetcher.started == ["http://a.test/1"]


def test_a_turn_that_was_granted_long_ago_is_asked_for_again() -> None:
    """The crawl was paused. Others may have had the turn since it ended."""
    hall = Hall()
    hall.certain = False
    for number in (1, 2):
        hall.start(number)
        hall.taker.answer(0.0)
    hall.turns.step(4.0)
    hall.start(3)
    hall.taker.answer(0.0)
    hall.certain = True
    hall.turns.step(6.0)
    assert hall.fetcher.started == ["http://a.test/3"]
    assert hall.taker.rests == [("192.0.2.1", 0.0), ("192.0.2.2", 0.0)]
    assert [address for address, _ in hall.taker.asked] == ["192.0.2.1", "192.0.2.2"]
    hall.taker.answer(0.0)
    hall.turns.step(6.1)
    assert hall.fetcher.started[1:] == ["http://a.test/1"]


def sleeps(turns: Turns, now: float) -> bool:
    """Whether a step leaves nothing to be done at once."""
    turns.step(now)
    return turns.deadline is None or turns.deadline > now


def test_a_node_that_may_not_open_requests_sleeps_and_gives_its_turns_back() -> None:
    """The fleet is paused, for hours."""
    hall = Hall()
    for number in (1, 2):
        hall.start(number)
    hall.taker.answer(0.0)
    hall.certain = False
    assert sleeps(hall.turns, 0.0)
    hall.taker.answer(0.5)
    assert all(sleeps(hall.turns, float(now)) for now in range(1, 4))
    assert hall.taker.rests == []
    assert all(sleeps(hall.turns, float(now)) for now in range(4, 1000))
    assert hall.taker.rests == [("192.0.2.1", 0.0)]
    assert (hall.taker.asked, hall.turns.busy) == ([], 2)
    hall.certain = True
    hall.turns.step(1000.0)
    assert sorted(address for address, _ in hall.taker.asked) == ["192.0.2.1", "192.0.2.2"]
    hall.taker.answer(0.0)
    hall.turns.step(1000.1)
    assert len(hall.fetcher.started) == 1


def test_requests_for_which_no_handle_is_left_sleep() -> None:
    """The operator has set pagesConnexions to less than what waits."""
    hall = Hall()
    for number in (1, 2, 3):
        hall.start(number)
    hall.fetcher.size = 1
    for _ in range(2):
        hall.taker.answer(0.0)
    hall.taker.answer(0.5)
    assert all(sleeps(hall.turns, 0.1 * tenth) for tenth in range(100))
    assert len(hall.fetcher.started) == 1
    assert (hall.taker.rests, hall.taker.asked) == ([("192.0.2.2", 0.0)], [])
    hall.fetcher.ready = 1
    hall.turns.step(10.0)
    assert hall.turns.deadline is not None and hall.turns.deadline <= 10.0
    hall.turns.step(10.0)
    assert sorted(address for address, _ in hall.taker.asked) == ["192.0.2.2", "192.0.2.3"]


def test_abort_forgets_all() -> None:
    hall = Hall()
    for number in (1, 2, 3):
        hall.start(number)
    hall.taker.answer(0.0)
    hall.taker.answer(5.0)
    hall.turns.abort()
    hall.taker.answer(0.0)
    hall.turns.step(20.0)
    assert hall.fetcher.started == []
    assert hall.turns.busy == 0


def test_without_a_wait_there_are_no_turns() -> None:
    hall = Hall()
    hall.wait = 0.0
    hall.start(1)
    hall.turns.step(0.0)
    assert (hall.fetcher.started, hall.taker.asked) == (["http://a.test/1"], [])
    hall.fetcher.ready = 1
    # The operator sets one meanwhile.
    hall.wait = 2.0
    [_] = hall.turns.step(4.0)
    assert (hall.taker.rests, hall.taker.renewed) == ([], [])
    hall.start(2)
    assert [address for address, _ in hall.taker.asked] == ["192.0.2.2"]


def test_a_turn_is_fresh_for_a_while_from_the_question_on() -> None:
    """The answer may have been under way for long."""
    hall = Hall()
    hall.start(1)
    hall.turns.step(4.0)
    hall.taker.answer(0.0)
    hall.turns.step(6.0)
    assert hall.fetcher.started == []
    assert hall.taker.rests == [("192.0.2.1", 0.0)]


def test_turns_of_aborted_requests_are_not_kept() -> None:
    hall = Hall()
    hall.start(1)
    hall.taker.answer(0.0)
    hall.turns.step(1.0)
    hall.turns.abort()
    renewed = len(hall.taker.renewed)
    hall.turns.step(9.0)
    assert len(hall.taker.renewed) == renewed
    assert hall.turns.deadline is None
