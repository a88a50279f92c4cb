"""Dates that sitemaps and feeds give for pages, in a database: when pages are due by them."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from larbinpy.database.maintenance import verify
from larbinpy.database.preparation import Gone, Prepared, Unchanged
from larbinpy.database.revisit.plan import Schedule, ScheduleSettings
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.databases import Database

MAP = "http://a.example/sitemap.xml"
A, B, C = (f"http://a.example/{name}" for name in "abc")
DAY = 86_400.0


def at(day: int, hour: int = 8) -> str:
    return f"2026-11-{day:02}T{hour:02}:00:00Z"


def sitemap(day: int, **dates: str) -> Prepared:
    named = {f"http://a.example/{name}": date for name, date in dates.items()}
    return prepared(MAP, at=at(day, 9), announced=named)


@pytest.fixture
def writer(database: Database) -> Iterator[Writer]:
    """A page is due after a day at least, and twenty at most."""
    writer = Writer(database.where, Schedule(ScheduleSettings(DAY, 20 * DAY)))
    yield writer
    writer.close()


@pytest.fixture
def trust(database: Database, writer: Writer) -> Callable[[], Any]:
    return lambda: database.rows("SELECT agreed, contradicted FROM host")[0]


def test_a_page_is_due_when_it_changed(
    writer: Writer, row: Callable[..., Any], trust: Callable[[], Any]
) -> None:
    writer.write([prepared(url, url, at=at(1)) for url in (A, B, C)])
    before = row("due", B)
    writer.write([sitemap(3, a=at(2), b=at(1, 7), c="2026-11-01", d=at(2))])
    assert row("due") == at(2)
    assert row("due", B) == row("due", C) == before
    assert trust() == (0, 0)
    writer.write([prepared(A, "new", at=at(4))])
    assert row("due") > at(4)
    assert trust() == (1, 0)


def test_the_time_of_a_change_is_evidence(writer: Writer, row: Callable[..., Any]) -> None:
    writer.write([prepared(A, "one", at=at(1)), prepared(B, "one", at=at(1))])
    writer.write([sitemap(11, a=at(10))])
    writer.write([prepared(A, "new", at=at(11)), prepared(B, "new", at=at(11))])
    assert row("observed, exposure") == (1, DAY)
    assert row("exposure", B) > 4 * DAY


def test_a_sitemap_and_its_pages_in_one_transaction(
    writer: Writer, row: Callable[..., Any], trust: Callable[[], Any]
) -> None:
    writer.write([prepared(A, "one", at=at(1))])
    writer.write([sitemap(4, a=at(3)), prepared(A, "new", at=at(5))])
    assert trust() == (1, 0)
    assert row("due") > at(5)
    assert row("exposure") == 2 * DAY


def test_a_date_without_a_time_is_the_beginning_of_its_day(
    writer: Writer, row: Callable[..., Any]
) -> None:
    writer.write([prepared(A, "one", at=at(1)), sitemap(3, a="2026-11-02")])
    assert row("due") == "2026-11-02T00:00:00Z"


def test_pages_that_are_all_new_today_are_believed_once(
    writer: Writer, row: Callable[..., Any], trust: Callable[[], Any]
) -> None:
    writer.write([prepared(url, url, at=at(1)) for url in (A, B, C)])
    writer.write([sitemap(2, a=at(2), b=at(2), c=at(2))])
    assert row("due") == at(2)
    writer.write([Unchanged(A, at(3)), prepared(B, B, at=at(3)), Unchanged(C, at(3))])
    assert trust() == (0, 3)
    planned = row("due")
    assert planned > at(3)
    writer.write([sitemap(4, a=at(4), b=at(4), c=at(4))])
    assert row("due") == planned
    # Nor is it known when they changed.
    writer.write([prepared(A, "new", at=at(13))])
    assert row("exposure") > DAY + 9 * DAY / 4


def test_a_site_may_change_its_ways(writer: Writer, row: Callable[..., Any]) -> None:
    writer.write([prepared(url, url, at=at(1)) for url in (A, B)])
    writer.write([sitemap(2, a=at(2), b=at(2))])
    writer.write([Unchanged(A, at(3)), Unchanged(B, at(3))])
    for day in range(4, 20, 2):
        writer.write([sitemap(day, a=at(day))])
        assert (row("due") > at(day)) is (day <= 10)
        writer.write([prepared(A, f"text {day}", at=at(day + 1))])


def test_a_date_does_not_put_a_visit_off(writer: Writer, row: Callable[..., Any]) -> None:
    writer.write([prepared(A, "one", at=at(1))])
    planned = row("due")
    assert planned < at(19)
    writer.write([sitemap(20, a=at(19))])
    assert row("due") == planned


def test_an_older_date_does_not_replace_a_later_one(
    writer: Writer, database: Database, row: Callable[..., Any]
) -> None:
    writer.write([prepared(A, "one", at=at(1))])
    writer.write([sitemap(3, a=at(2)), prepared(f"{MAP}2", at=at(3), announced={A: at(1)})])
    assert database.rows("SELECT date FROM announced") == [at(2)]
    assert row("due") == at(2)


def test_a_page_that_is_gone_stays_so(writer: Writer, row: Callable[..., Any]) -> None:
    writer.write([prepared(A, "one", at=at(1)), Gone(A, at(2), 410)])
    before = row("due")
    writer.write([sitemap(4, a=at(3))])
    assert row("due") == before


def test_pages_that_change_too_fast_are_not_worth_a_visit(
    writer: Writer, database: Database, row: Callable[..., Any]
) -> None:
    writer.write([prepared(url, url, at=at(1)) for url in (A, B, C)])
    database.execute("UPDATE page SET observed = 1e6, exposure = 1 WHERE url = ?", A)
    writer.write([sitemap(3, a=at(2), b=at(2))])
    assert row("due") > at(2)
    assert row("due", B) == at(2)


def test_a_sitemap_is_due_by_its_news(writer: Writer, row: Callable[..., Any]) -> None:
    writer.write([sitemap(1, a="", b=at(1))])
    assert row("announces, due", MAP) == (1, at(2, 9))
    writer.write([sitemap(3, a="", b=at(1))])
    assert row("observed, due", MAP) == (0, at(7, 9))
    writer.write([Unchanged(MAP, at(7, 9))])
    assert row("observed, due", MAP) == (0, at(15, 9))
    for day, dates in ((15, {"b": at(14)}), (16, {"c": ""})):
        writer.write([sitemap(day, **dates)])
        assert row("observed", MAP) > 0.9
        assert row("due", MAP) == at(day + 1, 9)


def test_a_sitemap_of_a_site_that_is_not_trusted_is_a_page_as_others(
    writer: Writer, database: Database, row: Callable[..., Any]
) -> None:
    writer.write([sitemap(1, a=at(1))])
    database.execute("UPDATE host SET contradicted = 9")
    writer.write([sitemap(2, a=at(2))])
    assert row("due", MAP) > at(4, 9)


def test_the_dates_of_an_index_say_which_sitemaps_are_due(
    writer: Writer, row: Callable[..., Any], trust: Callable[[], Any]
) -> None:
    index = "http://a.example/index.xml"
    writer.write([sitemap(1, a=at(1))])
    writer.write([prepared(index, at=at(5), announced={MAP: at(1, 20)})])
    assert row("due", MAP) == at(1, 20)
    writer.write([sitemap(6, a=at(5))])
    assert trust() == (1, 0)


def test_many_dates(writer: Writer, database: Database, row: Callable[..., Any]) -> None:
    writer.write([prepared(A, "one", at=at(1))])
    writer.write([sitemap(3, **{f"page{n}": at(2) for n in range(1200)}, a=at(2))])
    assert database.rows("SELECT count(*) FROM announced") == [1201]
    assert row("due") == at(2)


def withheld(day: int, **dates: str) -> Gone:
    """The sitemap with ``X-Robots-Tag: noindex``."""
    return Gone(MAP, at(day, 9), 200, None, sitemap(day, **dates).announced, 3, A)


def test_dates_of_a_sitemap_count_that_is_not_to_be_indexed(
    writer: Writer, database: Database, row: Callable[..., Any], trust: Callable[[], Any]
) -> None:
    writer.write([prepared(url, url, at=at(1)) for url in (A, B)])
    before = row("due", B)
    writer.write([withheld(3, a=at(2)), withheld(3, a=at(2))])
    assert (row("due"), row("due", B)) == (at(2), before)
    assert row("depth, via, announces, due", MAP) == (3, A, 1, at(4, 9))
    writer.write([prepared(A, "new", at=at(4))])
    assert trust() == (1, 0)
    writer.write([withheld(5, a=at(2)), prepared(f"{MAP}2", at=at(5))])
    assert row("observed, due", MAP) == (0, at(9, 9))
    writer.write([withheld(9, b=at(8))])
    assert row("due", B) == at(8)
    assert row("due", MAP) == at(10, 9)


def test_a_sitemap_that_is_not_to_be_indexed_is_not_found(
    writer: Writer, database: Database, row: Callable[..., Any]
) -> None:
    writer.write([prepared(A, "one", at=at(1)), withheld(3, a=at(2))])
    assert row("gone, indexed", MAP) == (at(3, 9), None)
    assert [each.columns["url"] for each in database.finder(lambda: 0.0).pages()] == [A]
    assert database.rows("SELECT kind FROM change") == ["new"]
    # Now it is.
    writer.write([sitemap(5, a=at(2))])
    assert row("gone", MAP) is None
    # And then it is not any more.
    writer.write([withheld(7, a=at(6))])
    assert row("gone, indexed", MAP) == (at(7, 9), None)
    assert row("due", MAP) == at(8, 9)


def test_a_row_without_content_is_no_trouble(database: Database) -> None:
    with closing(Writer(database.where)) as writer:
        writer.write([withheld(1, a=at(1)), prepared(A, "one", at=at(1))])
    assert verify(database.where, lambda *_: None) == []


def test_a_sitemap_that_is_gone_is_looked_at_at_last(
    writer: Writer, row: Callable[..., Any]
) -> None:
    writer.write([withheld(1)])
    assert at(1) < row("due", MAP) < at(20)
    writer.write([withheld(2)])
    assert at(2) < row("due", MAP) < at(20)
    writer.write([Gone(MAP, at(2), 410)])
    assert row("due", MAP) == at(22)


@pytest.mark.parametrize("trusted", [True, False])
def test_dates_of_a_site_that_is_not_trusted_are_no_evidence(
    writer: Writer, database: Database, row: Callable[..., Any], trusted: bool
) -> None:
    """Its pages are due as they would be without dates, and so is what announces them."""
    writer.write([prepared(A, "one", at=at(1)), prepared(B, "one", at=at(1))])
    database.execute("UPDATE host SET contradicted = ?", 0 if trusted else 50)
    database.execute("UPDATE page SET due = ?", at(30))
    writer.write([sitemap(11, a=at(10)), prepared(C, "one", at=at(11, 9))])
    assert row("due") == at(10 if trusted else 30)
    assert (row("due", MAP) == row("due", C)) is not trusted
    writer.write([prepared(A, "new", at=at(11)), prepared(B, "new", at=at(11))])
    assert (row("exposure") == row("exposure", B)) is not trusted
    assert (row("exposure") == DAY) is trusted
