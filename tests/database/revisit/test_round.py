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
