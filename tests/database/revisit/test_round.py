"""Which pages are asked for, and when a round is over."""

from math import inf

import pytest

from larbinpy.database.revisit.round import (
    Allowance,
    DueAsk,
    DuePage,
    Endless,
    OneRound,
    Round,
    Visits,
)
from larbinpy.page import timestamp


class Database:
    """Pages that are due, as a database answers for them, and a `Round` that asks it."""

    def __init__(self, pages: int, allowance: Allowance, *, hosts: int = 1, by_host: int = 50):
        self.now = 1000.0
        self.due = {
            f"http://{number % hosts}.test/{number}": DuePage(
                f"http://{number % hosts}.test/{number}", 0, None, timestamp(number), number
            )
            for number in range(pages)
        }
        self.visits = Visits(most=200, by_host=by_host)
        self.round = Round(allowance, self.visits)
        self.asked: list[DueAsk] = []
        self.given: list[str] = []
        self._records = 0

    def turn(self) -> list[str]:
        """Ask if the round does; returns the pages to visit."""
        ask = self.round.ask(self.now)
        if ask is None:
            return []
        self.asked.append(ask)
        pages = [
            page
            for page in sorted(self.due.values(), key=lambda page: page.place)
            if page.due <= ask.until
            and (ask.after is None or page.place > ask.after)
            and page.url.split("/")[2] not in ask.without
        ]
        new = [page.url for page in self.round.answer(pages[: ask.most], self.now)]
        self.given += new
        return new

    def visit(self, urls: list[str]) -> None:
        """Visit pages, and write the visits into the database."""
        for url in urls:
            self.visits.recorded(url, self._records)
            self._records += 1
        for url in urls:
            del self.due[url]
        self.visits.taken(self._records)

    def complete(self) -> None:
        """Turn until the round is over, some seconds a turn."""
        open_: list[str] = []
        for _ in range(1000):
            open_ += self.turn()
            self.visit(open_[:20])
            del open_[:20]
            self.now += 2.0
            if self.round.over:
                return
        raise AssertionError("it is never over")


def test_a_round_visits_all_that_is_due_once() -> None:
    database = Database(700, OneRound(0), hosts=3)
    database.complete()
    assert sorted(database.given) == sorted(set(database.given))
    assert len(database.given) == 700
    assert not database.due


def test_pages_that_become_due_later_are_not_in_the_round() -> None:
    database = Database(10, OneRound(0))
    database.now = 5.0
    database.complete()
    assert len(database.given) == 6


def test_a_budget_bounds_a_round() -> None:
    database = Database(100, OneRound(30))
    database.complete()
    assert [url.rpartition("/")[2] for url in database.given] == [str(n) for n in range(30)]


def test_a_round_is_not_over_before_the_database_has_all_visits() -> None:
    database = Database(1, OneRound(0))
    [url] = database.turn()
    database.now += 40.0
    assert database.turn() == []
    database.visits.recorded(url, 0)
    database.now += 40.0
    assert database.turn() == []
    assert not database.round.over
    database.visits.taken(1)
    del database.due[url]
    database.now += 2.0
    database.turn()
    assert database.round.over
    assert database.round.ask(database.now) is None


def test_one_question_at_a_time() -> None:
    round_ = Round(OneRound(0), Visits())
    assert round_.ask(1.0) is not None
    assert round_.ask(2.0) is None
    assert round_.answer([], 2.0) == []
    # An answer that was not asked for has no effect.
    assert round_.answer([DuePage("http://a.test/", 0, None, "", 1)], 2.0) == []


def test_a_clock_that_was_set_back_counts_as_time() -> None:
    page = DuePage("http://a.test/", 0, None, "", 1)
    round_ = Round(Endless(0), Visits())
    assert round_.ask(5000.0)
    assert round_.answer([page], 5000.0) == [page]
    assert round_.ask(5002.0) is None  # the visit is under way
    assert round_.ask(5000.0 - 3600.0) is not None


def test_a_page_that_is_under_way_costs_no_budget() -> None:
    pages = [DuePage(f"http://a.test/{n}", 0, None, timestamp(n), n) for n in range(3)]
    allowance = OneRound(10)
    round_ = Round(allowance, Visits())
    assert round_.ask(1000.0)
    assert round_.answer(pages[:1], 1000.0) == pages[:1]
    assert round_.ask(1020.0)
    assert round_.answer(pages, 1020.0) == pages[1:]
    assert allowance.allowed(1020.0) == 10 - len(pages)


def test_a_host_with_many_open_pages_is_left_out() -> None:
    pages = [DuePage(f"http://slow.test/{n}", 0, None, timestamp(n), n) for n in range(10)]
    visits = Visits(most=2000, by_host=10)
    round_ = Round(OneRound(0), visits)
    assert round_.ask(1.0)
    round_.answer(pages, 1.0)
    ask = round_.ask(40.0)
    assert ask is not None
    assert ask.without == ["slow.test"]
    # No other host has pages that are due; its own may.
    round_.answer([], 40.0)
    assert not round_.over
    # It is asked for again when half of its pages are visited.
    for page in pages[:5]:
        assert round_.ask(42.0) is None
        visits.recorded(page.url, 0)
    assert round_.ask(42.0) is not None


def due(host: str, *numbers: int) -> list[DuePage]:
    return [DuePage(f"http://{host}/{n}", 0, None, timestamp(n), n) for n in numbers]


def visited(visits: Visits, pages: list[DuePage]) -> None:
    """The pages are visited, and the database has that."""
    for page in pages:
        visits.recorded(page.url, 0)
    visits.taken(1)


def test_a_budget_that_is_spent_ends_a_round_once_the_database_has_all_visits() -> None:
    database = Database(5, OneRound(2))
    first, second = database.turn()
    for url, records in ((first, 0), (second, 1), (None, 2)):
        database.visits.taken(records)
        database.now += 60.0
        assert database.turn() == []
        assert database.round.over == (url is None)
        if url is not None:
            database.visits.recorded(url, records)


def test_a_look_goes_on_as_soon_as_there_is_room() -> None:
    visits = Visits(most=3)
    round_ = Round(Endless(0), visits)
    pages = due("a.test", 1, 2, 3, 4)
    for wall in (1000.0, 1060.0, 1120.0):
        ask = round_.ask(wall)
        assert ask is not None and (ask.after, ask.most) == (None, 3)
        assert round_.answer(pages[:3], wall) == pages[:3]
        assert round_.ask(wall) is None
        visited(visits, pages[:2])
        ask = round_.ask(wall)
        assert ask is not None and (ask.after, ask.most) == (pages[2].place, 2)
        assert round_.answer(pages[3:], wall) == pages[3:]
        visited(visits, pages[2:])
        # Not at once: the database would be asked in each turn.
        assert round_.ask(wall + 0.9) is None


def test_one_page_of_a_budget_is_visited() -> None:
    round_ = Round(OneRound(1), Visits())
    ask = round_.ask(1000.0)
    assert ask is not None and ask.most == 1


def test_only_a_look_from_the_first_page_on_ends_a_round() -> None:
    """Later ones may have become due before the place where another look went on."""
    visits = Visits(most=2)
    round_ = Round(OneRound(0), visits)
    pages = due("a.test", 1, 2)
    assert round_.ask(1000.0)
    round_.answer(pages, 1000.0)
    visited(visits, pages)
    ask = round_.ask(1000.0)
    assert ask is not None and ask.after == pages[1].place
    round_.answer([], 1000.0)
    assert not round_.over
    assert round_.ask(1009.0) is None
    ask = round_.ask(1010.0)
    assert ask is not None and ask.after is None
    round_.answer([], 1010.0)
    assert round_.over


def test_a_look_that_found_pages_is_not_the_last_one() -> None:
    """Even if all of them are under way, or done by now."""
    round_ = Round(OneRound(0), Visits())
    pages = due("a.test", 1)
    assert round_.ask(1000.0)
    round_.answer(pages, 1000.0)
    assert not round_.over


def test_a_look_that_left_out_a_host_is_followed_by_another_when_half_is_done() -> None:
    visits = Visits(most=12, by_host=10)
    round_ = Round(Endless(0), visits)
    slow, other = due("slow.test", *range(10)), due("a.test", 20, 21)
    assert round_.ask(1.0)
    round_.answer(slow, 1.0)
    # Ten seconds later the host is left out, in the first batch of two.
    ask = round_.ask(11.0)
    assert ask is not None and (ask.most, ask.without) == (2, ["slow.test"])
    round_.answer(other, 11.0)
    visited(visits, slow[:3])
    ask = round_.ask(11.0)
    assert ask is not None and (ask.after, ask.without) == (other[1].place, [])
    # Nine visits are under way.
    round_.answer([], 11.0)
    visited(visits, slow[3:7])
    assert round_.ask(12.0) is None
    visited(visits, slow[7:8])
    ask = round_.ask(12.0)
    assert ask is not None and (ask.after, ask.without) == (None, [])
    # This one leaves out nothing, so that all visits have to be done.
    round_.answer([], 12.0)
    visited(visits, slow[8:])
    assert visits.open == 2 and round_.ask(13.0) is None
    visited(visits, other)
    assert round_.ask(13.0) is not None


def test_a_killed_round_goes_on_as_it_was_saved() -> None:
    database = Database(300, OneRound(250))
    database.turn()
    saved = database.round.cut()
    later = Database(300, OneRound(250))
    later.now = 5000.0
    later.round.load(saved)
    assert later.visits.open == database.visits.open > 0
    for url in list(database.given):
        assert url in later.visits
    later.visit(list(database.given))
    later.complete()
    assert not set(database.given) & set(later.given)
    assert len(database.given) + len(later.given) == 250
    # With the pages that were due when it began.
    assert {ask.until for ask in later.asked} == {timestamp(1000.0)}


def test_a_round_that_is_over_is_followed_by_another_one() -> None:
    database = Database(5, OneRound(0))
    database.complete()
    later = Database(5, OneRound(0))
    later.now = 9000.0
    later.round.load(database.round.cut())
    later.complete()
    assert len(later.given) == 5
    assert later.asked[0].until == timestamp(9000.0)


def test_following_is_never_over() -> None:
    database = Database(20, Endless(0))
    for _ in range(50):
        database.visit(database.turn())
        database.now += 31.0
    assert not database.round.over
    assert len(database.given) == 20
    # It looks again and again, and not in each turn.
    asked = len(database.asked)
    database.turn()
    database.turn()
    assert len(database.asked) <= asked + 1


def test_following_spreads_the_budget_over_the_day() -> None:
    endless = Endless(24_000)
    # The part of an hour of a day's budget may be used at once.
    assert endless.allowed(0.0) == 1000.0
    endless.spend(1000)
    assert endless.allowed(0.0) == 0.0
    assert endless.allowed(1800.0) == pytest.approx(500.0)
    assert endless.allowed(1e6) == 1000.0


def test_a_small_budget_is_spent_in_time() -> None:
    endless = Endless(2)
    assert endless.allowed(0.0) == 1.0
    endless.spend(1)
    assert endless.allowed(43_000.0) < 1.0
    assert endless.allowed(43_200.0) == pytest.approx(1.0)


def test_the_allowance_survives_a_kill() -> None:
    endless = Endless(24_000)
    endless.allowed(0.0)
    endless.spend(900)
    later = Endless(24_000)
    later.load(endless.cut())
    assert later.allowed(0.0) == 100.0
    assert Endless(0).cut() == {}
    unbounded = Endless(0)
    unbounded.load(endless.cut())
    assert unbounded.allowed(5.0) == inf
