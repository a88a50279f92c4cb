"""When pages are due, as the writer notes it, and the pages that are named as due."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from larbinpy.database.preparation import Failed, Gone, Unchanged
from larbinpy.database.revisit.plan import Schedule, ScheduleSettings
from larbinpy.database.revisit.round import DueAsk
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.databases import Database

A, B = "http://a.example/a", "http://b.example:81/b"
DAY = 86_400.0
LATER = "2027-12-31T00:00:00Z"


def at(day: int, hour: int = 8) -> str:
    return f"2026-11-{day:02}T{hour:02}:00:00Z"


@pytest.fixture
def writer(database: Database) -> Iterator[Writer]:
    """A page is due after a day at least, and ten at most."""
    writer = Writer(database.where, Schedule(ScheduleSettings(DAY, 10 * DAY)))
    yield writer
    writer.close()


def due(
    writer: Writer, until: str = LATER, most: int = 100, without: Sequence[str] = ()
) -> list[str]:
    return [page.url for page in writer.due(DueAsk(until, None, most, without))]


def test_a_page_is_due_by_its_changes(writer: Writer, row: Callable[..., Any]) -> None:
    writer.write([prepared(A, "one", at=at(1)), prepared(B, "one", at=at(1))])
    assert row("observed, exposure") == (0, 0)
    first = row("due")
    assert at(2) <= first <= at(11)
    for day in range(2, 9):
        writer.write([prepared(A, f"text {day}", at=at(day)), Unchanged(B, at(day))])
    assert row("observed") > 2
    assert row("observed", B) == 0
    assert row("exposure", B) > 2 * DAY


def test_a_change_of_the_shell_is_none(writer: Writer, row: Callable[..., Any]) -> None:
    for day in range(1, 4):
        writer.write([prepared(A, "one", at=at(day), etag=f'"{day}"')])
    assert row("observed, visits") == (0, 3)
    assert row("exposure") > DAY


def test_a_failed_visit_changes_nothing_but_when_the_page_is_due(
    writer: Writer, row: Callable[..., Any]
) -> None:
    writer.write([prepared(A, "one", at=at(1))])
    names = "visits, fetched, text_hash, status, observed, exposure, gone, missing"
    before = row(names)
    writer.write([Failed(A, at(5)), Failed("http://a.example/unknown", at(5))])
    assert row(names) == before
    assert row("due") == at(7)
    assert due(writer, at(6)) == []
    assert due(writer, at(7)) == [A]


def test_a_page_that_is_missing_is_due_a_day_later_and_rarely_once_it_is_gone(
    writer: Writer, row: Callable[..., Any]
) -> None:
    writer.write([prepared(A, "one", at=at(1))])
    writer.write([Gone(A, at(5), 404)])
    assert row("gone, due") == (None, at(6))
    writer.write([Gone(A, at(6), 404)])
    assert row("gone, due") == (at(6), at(16))


def test_several_visits_in_one_transaction(writer: Writer, row: Callable[..., Any]) -> None:
    writer.write([prepared(A, "one", at=at(1))])
    writer.write([prepared(A, "two", at=at(2)), Unchanged(A, at(3))])
    assert row("visits, fetched") == (3, at(3))
    assert row("due") >= at(4)


def test_a_visit_that_is_written_late_does_not_make_a_page_due_earlier(
    writer: Writer, row: Callable[..., Any]
) -> None:
    writer.write([prepared(A, "one", at=at(9))])
    writer.write([prepared(A, "one", at=at(3))])
    assert row("fetched") == at(9)
    assert row("due") >= at(10)


def test_the_pages_that_are_due_come_in_their_order(writer: Writer) -> None:
    urls = [f"http://a.example/{number}" for number in range(9)]
    for number, url in enumerate(urls, 1):
        writer.write([prepared(url, url, at=at(number))])
    assert due(writer) == urls
    assert due(writer, most=2) == urls[:2]
    assert due(writer, at(1)) == []
    found: list[str] = []
    after = None
    while pages := writer.due(DueAsk(LATER, after, 2)):
        found += [page.url for page in pages]
        after = pages[-1].place
    assert found == urls


def test_pages_that_are_due_at_the_same_time(writer: Writer) -> None:
    urls = {f"http://a.example/{number}" for number in range(20)}
    writer.write([prepared(url, url, at=at(1)) for url in urls])
    found: list[str] = []
    after = None
    while pages := writer.due(DueAsk(LATER, after, 7)):
        found += [page.url for page in pages]
        after = pages[-1].place
    assert len(found) == 20
    assert set(found) == urls


def test_hosts_that_are_left_out(writer: Writer) -> None:
    writer.write([prepared(A, "one", at=at(1)), prepared(B, "two", at=at(1))])
    assert due(writer, without=["b.example:81"]) == [A]
    assert due(writer, without=["b.example:81", "a.example"]) == []


def test_conditions_are_those_of_the_last_visit(writer: Writer) -> None:
    modified = "Sun, 01 Nov 2026 07:00:00 GMT"
    writer.write([prepared(A, "one", at=at(1), etag='"1"', last_modified=modified)])
    [found] = writer.due(DueAsk(LATER, None, 5))
    assert found.conditions == [
        'If-None-Match: "1"',
        f"If-Modified-Since: {modified}",
    ]
    writer.write([Gone(A, at(2), 410)])
    [found] = writer.due(DueAsk(LATER, None, 5))
    assert found.conditions == ()


def test_a_host_that_was_wrong_is_not_trusted(writer: Writer) -> None:
    other = "http://a.example/other"
    writer.write([prepared(url, "one", at=at(1), etag='"1"') for url in (A, B, other)])
    writer.write([prepared(A, "two", at=at(2), etag='"1"')])
    conditions = {page.url: list(page.conditions) for page in writer.due(DueAsk(LATER, None, 5))}
    assert conditions == {A: [], other: [], B: ['If-None-Match: "1"']}
