"""The output of database mode while pages are visited again: each visit has a record."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from larbinpy.database.indexer.indexer import Report
from larbinpy.database.revisit.round import DuePage, Visits
from larbinpy.output.database import IndexerChild, VisitingOutput
from larbinpy.output.plug import NO_REFRESH, SeveralOutputs
from larbinpy.page import Outcome, Page
from larbinpy.storage import spool
from larbinpy.url import Url
from tests.support.fakechild import FakeChild

ETAG = 'If-None-Match: "1"'


def href(number: int) -> str:
    return f"http://a.test/{number}"


class Desk:
    """An output with ten open visits."""

    def __init__(self, folder: Path, *, conditional: bool = True) -> None:
        self.visits = Visits()
        for number in range(10):
            self.visits.add(DuePage(href(number), 1, None, "", number, (ETAG,)))
        self.folder = folder
        self.output = VisitingOutput(
            folder,
            self._make,
            lambda: 1000.0,
            self.visits,
            spool_max=1 << 30,
            conditional=conditional,
        )

    def _make(self, changed: Callable[[Report], None]) -> IndexerChild:
        self.child = FakeChild(changed)
        return cast(IndexerChild, self.child)

    def records(self) -> list[tuple[str, str, int]]:
        """URL, outcome and status of each record of the spool."""
        mark = self.output.cut()
        end = spool.Position(mark["segment"], mark["offset"])
        folder = spool.folder_of(self.folder, mark["spool"])
        places = spool.walk(folder, None, end)
        pages = [spool.read(folder, place.start).page for place in places]
        return [(page.url.href, page.outcome.value, page.status) for page in pages]

    def end(self, number: int, outcome: Outcome, status: int = 0) -> None:
        self.output.missed(Page(Url(href(number), 1), outcome, status))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_each_visit_has_one_record(desk: Desk) -> None:
    output = desk.output
    output.loaded(Page(Url(href(0), 1), Outcome.SUCCESS, 200, body=b"<p>x"))
    output.loaded(Page(Url(href(1), 1), Outcome.SUCCESS, 304))
    output.withheld(Page(Url(href(2), 1), Outcome.SUCCESS, 200, body=b"<p>x"))
    desk.end(3, Outcome.ERR_40X, 404)
    desk.end(4, Outcome.ERR_30X, 301)
    desk.end(5, Outcome.ERR_50X, 500)
    desk.end(6, Outcome.FORBIDDEN_ROBOTS)
    # A 304 that was not asked for.
    desk.end(7, Outcome.ERR_30X, 304)
    # No page in it.
    output.loaded(Page(Url(href(8), 1), Outcome.SUCCESS, 202, body=b"<title>Just a moment"))
    output.loaded(Page(Url(href(9), 1), Outcome.SUCCESS, 200, body=b" "))
    for number in range(10):
        # A page that is not kept has no other call.
        output.ended(href(number))
    assert desk.records() == [
        (href(0), "success", 200),
        (href(1), "success", 304),
        (href(2), "forbiddenRobots", 200),
        (href(3), "err40X", 404),
        (href(4), "err30X", 301),
        *((href(number), "earlyStop", 0) for number in (5, 6, 7, 8, 9)),
    ]
    assert desk.visits.open == 0
    names = ("visits_under_way", "visited", "not_modified", "visits_failed")
    stats = output.stats()
    assert [stats[name] for name in names] == [10, 9, 1, 4]  # robots.txt refused one


def test_the_visits_that_the_database_has_are_over(desk: Desk) -> None:
    for number in range(4):
        desk.end(number, Outcome.TIMEOUT)
    desk.child.take(taken=3)
    assert len(desk.visits) == 7
    assert href(2) not in desk.visits
    assert href(3) in desk.visits


def test_failures_of_other_urls_are_not_spooled(desk: Desk) -> None:
    desk.output.missed(Page(Url("http://a.test/other", 1), Outcome.TIMEOUT))
    desk.output.ended("http://a.test/other")
    assert desk.records() == []


def test_conditions_of_open_visits(desk: Desk) -> None:
    refresher = SeveralOutputs({"database": desk.output}).refresher
    assert refresher.conditions(href(1)) == (ETAG,)
    assert refresher.conditions("http://a.test/other") == ()
    page = Page(Url(href(1), 1), Outcome.ERR_30X, 304)
    refresher.unchanged(page)
    assert page.outcome is Outcome.SUCCESS
    other = Page(Url("http://a.test/other", 1), Outcome.ERR_30X, 304)
    refresher.unchanged(other)
    assert other.outcome is Outcome.ERR_30X


def test_whole_pages_for_other_outputs(tmp_path: Path) -> None:
    desk = Desk(tmp_path, conditional=False)
    assert SeveralOutputs({"database": desk.output}).refresher is NO_REFRESH


def test_the_crawl_waits_for_pages_or_for_the_database(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert "the database has yet to end its work" in desk.output.idle
    for number in range(10):
        desk.end(number, Outcome.TIMEOUT)
    desk.child.take(taken=10)
    assert desk.output.idle == "it waits for pages that are due"
    desk.child.hopeless = True
    assert not desk.output.works
