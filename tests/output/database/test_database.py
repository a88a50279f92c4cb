"""The output of database mode: what goes to the spool, figures, back-pressure, the end."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from larbinpy.database.indexer.indexer import Report
from larbinpy.output.database import DatabaseOutput, IndexerChild
from larbinpy.output.plug import Durable, FailureListener, Feeder, SeveralOutputs
from larbinpy.page import Outcome, Page
from larbinpy.storage import spool
from larbinpy.storage.spool import SpoolWriter, walk
from larbinpy.url import Url
from tests.support.fakechild import FakeChild


class Desk:
    def __init__(self, folder: Path, spool_max: int = 1 << 30) -> None:
        self.folder = folder
        self.now = 1000.0
        self.spool_max = spool_max
        self.open()

    def open(self) -> None:
        self.output = DatabaseOutput(
            self.folder, self._make, lambda: self.now, spool_max=self.spool_max
        )

    def _make(self, changed: Callable[[Report], None]) -> IndexerChild:
        self.child = FakeChild(changed)
        return cast(IndexerChild, self.child)

    def checkpoint(self) -> Any:
        mark = self.output.cut()
        self.output.sync()
        self.output.tidy(mark)
        return mark

    def spooled(self) -> list[tuple[str, str, int, int]]:
        """The spool's pages: URL, outcome, status, size of the body."""
        return [(p.url.href, p.outcome.value, p.status, len(p.body)) for p in self.pages()]

    def pages(self) -> list[Page]:
        mark = self.output.cut()
        end = spool.Position(mark["segment"], mark["offset"])
        folder = spool.folder_of(self.folder, mark["spool"])
        return [spool.read(folder, place.start).page for place in walk(folder, None, end)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "spool")
    yield made
    made.output.close()


def page(
    path: str, outcome: Outcome = Outcome.SUCCESS, status: int = 200, body: bytes = b"text"
) -> Page:
    return Page(Url(f"http://a.test/{path}", 1), outcome, status, body=body)


def test_it_has_all_roles(desk: Desk) -> None:
    assert isinstance(desk.output, Durable)
    assert isinstance(desk.output, FailureListener)
    assert isinstance(desk.output, Feeder)
    assert SeveralOutputs({"database": desk.output}).feeder is desk.output


def test_pages_and_pages_that_are_gone(desk: Desk) -> None:
    desk.output.loaded(page("1"))
    desk.output.missed(page("2", Outcome.ERR_40X, 404, b"sorry"))
    desk.output.missed(page("3", Outcome.ERR_40X, 410))
    desk.output.missed(page("4", Outcome.ERR_30X, 301))
    desk.output.withheld(page("5"))
    # Soft 404s.
    desk.output.missed(page("soft", Outcome.ERR_40X, 200))
    desk.output.missed(page("home", Outcome.ERR_40X, 302))
    # These say nothing about the page that was there before.
    desk.output.missed(page("6", Outcome.ERR_40X, 403))
    desk.output.missed(page("7", Outcome.ERR_50X, 503))
    desk.output.missed(page("8", Outcome.TIMEOUT, 0))
    desk.output.missed(page("9", Outcome.ERR_30X, 304))
    desk.output.missed(page("10", Outcome.ERR_40X, 0))
    assert desk.spooled() == [
        ("http://a.test/1", "success", 200, 4),
        ("http://a.test/2", "err40X", 404, 0),
        ("http://a.test/3", "err40X", 410, 0),
        ("http://a.test/4", "err30X", 301, 0),
        ("http://a.test/5", "forbiddenRobots", 200, 0),
        ("http://a.test/soft", "err40X", 404, 0),
        ("http://a.test/home", "err40X", 404, 0),
    ]


def test_a_sitemap_that_is_not_to_be_indexed_keeps_its_dates(desk: Desk) -> None:
    sitemap = page("map.xml", body=b"<urlset></urlset>")
    sitemap.headers = [("content-type", "text/xml; charset=utf-16"), ("etag", "x")]
    desk.output.withheld(sitemap)
    assert desk.spooled() == [("http://a.test/map.xml", "forbiddenRobots", 200, 17)]
    assert [each.headers for each in desk.pages()] == [sitemap.headers[:1]]


def test_an_unchanged_page_may_have_no_body(desk: Desk) -> None:
    desk.output.loaded(page("1", status=304, body=b""))
    desk.output.loaded(page("2", status=304))
    assert desk.spooled() == [
        ("http://a.test/1", "success", 304, 0),
        ("http://a.test/2", "success", 304, 4),
    ]


def test_a_redirect_keeps_its_target_alone(desk: Desk) -> None:
    moved = page("1", Outcome.ERR_30X, 301)
    moved.headers = [("x-other", "x"), ("location", "/2")]
    lost = page("3", Outcome.ERR_40X, 404)
    lost.headers = [("x-other", "x")]
    for each in (moved, lost):
        desk.output.missed(each)
    assert [each.headers for each in desk.pages()] == [[("location", "/2")], []]


def test_the_indexer_hears_of_checkpoints_on_the_disk(desk: Desk) -> None:
    desk.output.loaded(page("1"))
    mark = desk.output.cut()
    desk.output.loaded(page("2"))
    assert desk.child.covered == []
    desk.output.tidy(mark)
    assert [covered.records for covered in desk.child.covered] == [1]
    desk.output.close()
    desk.open()
    desk.output.load(mark)
    # The mark of a saved state is on the disk.
    assert [covered.records for covered in desk.child.covered] == [1]
    assert len(desk.spooled()) == 1


def test_several_outputs_pass_marks_on(desk: Desk) -> None:
    outputs = SeveralOutputs({"database": desk.output})
    outputs.loaded(page("1"))
    outputs.tidy(outputs.cut())
    assert [covered.records for covered in desk.child.covered] == [1]
    outputs.clear()
    assert desk.output.stats()["spool_bytes"] == 0


def test_a_full_spool_holds_the_crawl_until_there_is_room(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "spool", spool_max=4000)
    for number in range(30):
        desk.output.loaded(page(str(number)))
    desk.checkpoint()
    assert "pages wait for the database (spoolMax)" in desk.output.holds
    desk.child.take(taken=20, kept=6)
    assert desk.output.holds == ""
    size = desk.output.stats()["spool_bytes"]
    desk.output.close()
    (folder,) = (tmp_path / "spool").iterdir()
    for number in range(6):
        (folder / f"{number:08}.pages").unlink()
    assert size == sum(spool.segments(folder).values())


def test_a_tiny_spool_does_not_hold_for_ever(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "spool", spool_max=1)
    desk.output.loaded(page("1"))
    assert desk.output.holds
    desk.child.take(taken=1)
    assert not desk.output.holds
    desk.output.close()


def test_figures(desk: Desk) -> None:
    for number in range(10):
        desk.output.loaded(page(str(number)))
        desk.now += 1.0
    desk.checkpoint()
    assert desk.output.stats()["oldest_s"] == 10.0
    desk.child.pages = 4
    desk.child.take(taken=4, pages=4, oldest=1004.0)
    stats = desk.output.stats()
    assert (stats["spooled"], stats["waiting"], stats["indexed"]) == (10, 6, 4)
    assert (stats["oldest_s"], stats["state"], stats["trouble"]) == (6.0, "indexing", "")
    desk.child.take(taken=10, pages=10)
    stats = desk.output.stats()
    assert (stats["waiting"], stats["oldest_s"], stats["state"]) == (0, 0.0, "idle")


def test_trouble_is_said_once_and_so_is_its_end(desk: Desk) -> None:
    assert list(desk.output.second(1.0)) == []
    desk.child.take(trouble="server down; tried again in 1 s")
    assert list(desk.output.second(2.0)) == ["database: server down; tried again in 1 s"]
    assert desk.output.stats()["state"] == "waiting"
    desk.child.take(trouble="server down; tried again in 2 s")
    assert list(desk.output.second(3.0)) == []
    desk.child.take()
    assert list(desk.output.second(4.0)) == ["database: pages are taken again"]
    desk.child.down = "the indexer was killed by signal 9"
    assert desk.output.stats()["state"] == "down"


def test_the_end_waits_for_a_checkpoint_and_then_for_the_indexer(desk: Desk) -> None:
    desk.output.loaded(page("1"))
    assert not desk.output.finish()
    assert not desk.child.finishing
    desk.checkpoint()
    assert not desk.output.finish()
    assert desk.child.finishing
    assert desk.output.awaits == "the database has yet to take 1 page"
    desk.child.take(taken=1, done=True)
    assert desk.output.finish()
    assert desk.output.stats()["state"] == "done"


def test_the_end_does_not_wait_for_an_indexer_that_always_fails(desk: Desk) -> None:
    desk.output.loaded(page("1"))
    desk.checkpoint()
    desk.child.hopeless = True
    with pytest.raises(OSError, match="yet to take 1 page"):
        desk.output.finish()


def test_a_spool_of_another_crawl_is_dropped(tmp_path: Path) -> None:
    old = SpoolWriter(tmp_path / "spool")
    old.append(page("old"), 0.0)
    old.close()
    desk = Desk(tmp_path / "spool")
    desk.checkpoint()
    desk.output.loaded(page("new"))
    assert [url for url, *_ in desk.spooled()] == ["http://a.test/new"]
    desk.output.close()
