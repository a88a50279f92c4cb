"""The indexer between a spool and a database that refuses, is lost, or is not there."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from larbinpy.database.base import DatabaseError, Unavailable
from larbinpy.database.indexer.indexer import Covered, Indexer, Report
from larbinpy.database.indexer.reader import ReadOptions, read_page
from larbinpy.database.revisit.round import DueAsk, DuePage
from larbinpy.page import Outcome, Page
from larbinpy.storage import spool
from larbinpy.storage.spool import Position, SpoolWriter
from larbinpy.url import Url
from tests.support.fakewriter import FakeDatabase, FakeWriter


class Desk:
    """An indexer with its spool and database; readers are this process, and time is a number."""

    def __init__(self, folder: Path, *, segment_size: int = 1000) -> None:
        self.spool = SpoolWriter(folder, segment_size=segment_size)
        self.database = FakeDatabase()
        self.reports: list[Report] = []
        self.handed_over: list[Sequence[DuePage]] = []
        self.now = 100.0
        self.start()

    def start(self) -> None:
        """Start the indexer, or start it again after a kill."""
        self.indexer = Indexer(
            self.spool.base,
            self.database.open,
            self.reports.append,
            self.handed_over.append,
            keep_bodies=False,
            clock=lambda: self.now,
        )

    def fetch(self, *numbers: int, outcome: Outcome = Outcome.SUCCESS) -> None:
        for number in numbers:
            url = Url(f"http://a.test/{number}", 1)
            self.spool.append(Page(url, outcome, 200, body=b"<p>x" * 50), 1000.0 + number)

    def cover(self) -> None:
        mark = self.spool.cut()
        until = Position(mark["segment"], mark["offset"])
        self.indexer.cover(Covered(mark["spool"], until, mark["records"]))

    def run(self, seconds: float = 0.0) -> None:
        """Let the indexer work until it waits for something later than in `seconds`."""
        until = self.now + seconds
        for _ in range(1000):
            self.indexer.step(self.now)
            jobs = self.indexer.window.to_read
            if not jobs and (self.indexer.deadline > until or self.indexer.done):
                self.now = until
                return
            while jobs:
                job = jobs.popleft()
                try:
                    spooled = spool.read(self.spool.folder, job.place.start)
                except OSError:
                    self.indexer.read(job, None, 0)
                    continue
                self.indexer.read(job, read_page(spooled, ReadOptions()), 100)
            self.now = min(max(self.now, self.indexer.deadline), until)
        raise AssertionError(f"never at rest: {self.indexer!r}")

    @property
    def rows(self) -> list[int]:
        """Numbers of the pages that the database has."""
        return sorted(int(url.rpartition("/")[2]) for url, at in self.database.rows.items() if at)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "spool")


def test_the_database_has_what_a_checkpoint_covers_and_no_more(desk: Desk) -> None:
    desk.fetch(1, 2, 3)
    desk.run()
    assert desk.rows == []
    desk.cover()
    desk.fetch(4)
    desk.run()
    assert desk.rows == [1, 2, 3]
    assert desk.reports[-1].taken == 3
    assert desk.reports[-1].pages == 3
    desk.cover()
    desk.run()
    assert desk.rows == [1, 2, 3, 4]


def test_a_killed_indexer_goes_on_after_the_position_of_the_database(desk: Desk) -> None:
    desk.fetch(*range(30))
    desk.cover()
    desk.run()
    desk.fetch(*range(30, 40))
    desk.start()
    desk.cover()
    desk.run()
    assert desk.rows == list(range(40))
    assert sum(desk.database.batches) == 40


def test_a_killed_indexer_whose_pages_are_all_taken_knows_their_number(desk: Desk) -> None:
    desk.fetch(1, 2)
    desk.cover()
    desk.run()
    desk.start()
    desk.cover()
    desk.run()
    assert desk.reports[-1].taken == 2


def test_segments_that_the_database_has_are_removed(desk: Desk) -> None:
    desk.fetch(*range(40))
    desk.cover()
    assert len(spool.segments(desk.spool.folder)) > 4
    desk.run()
    assert list(spool.segments(desk.spool.folder)) == [desk.spool.end.segment]
    assert desk.reports[-1].kept == desk.spool.end.segment
    # Only a write that survives a power cut allows that.
    assert desk.database.is_durable


def test_a_power_cut_that_undoes_writes_loses_no_page(desk: Desk) -> None:
    for number in range(60):
        desk.fetch(number)
        desk.cover()
        desk.run()
        if number % 7 == 0:
            desk.database.power_cut()
            desk.start()
    desk.cover()
    desk.run()
    assert desk.rows == list(range(60))
    assert not desk.reports[-1].trouble


def test_a_page_that_is_gone(desk: Desk) -> None:
    desk.fetch(1, 2)
    desk.fetch(1, outcome=Outcome.ERR_40X)
    desk.cover()
    desk.run()
    assert desk.rows == [2]
    assert (desk.reports[-1].pages, desk.reports[-1].gone) == (2, 1)


def test_a_database_that_is_down_is_tried_again_with_growing_waits(desk: Desk) -> None:
    down = Unavailable("server down")
    desk.database.refusals = [down, down, down]
    desk.fetch(1)
    desk.cover()
    desk.run()
    assert desk.reports[-1].trouble == "server down; tried again in 1 s"
    desk.run(1.0)
    assert desk.reports[-1].trouble == "server down; tried again in 2 s"
    desk.run(2.0)
    desk.run(3.9)
    assert desk.rows == []
    desk.run(0.1)
    assert desk.rows == [1]
    assert desk.reports[-1].trouble == ""


def test_a_write_that_is_refused_is_repeated(desk: Desk) -> None:
    desk.fetch(1, 2)
    desk.cover()
    desk.database.refusals = [None, Unavailable("no room")]
    desk.run()
    assert desk.rows == []
    assert desk.database.open_writers == 0
    desk.fetch(3)
    desk.cover()
    desk.run(1.0)
    assert desk.rows == [1, 2, 3]
    assert sum(desk.database.batches) == 3


def test_a_write_whose_answer_is_lost_is_not_repeated(desk: Desk) -> None:
    desk.fetch(1, 2)
    desk.cover()
    desk.database.refusals = [None, Unavailable("connection lost")]
    desk.database.answer_lost = True
    desk.run()
    # The open was refused nothing; the write was, after it took place.
    desk.run(1.0)
    assert desk.rows == [1, 2]
    assert sum(desk.database.batches) == 2


def test_a_disk_that_stays_full_is_tried_less_and_less_often(desk: Desk) -> None:
    desk.fetch(1, 2)
    desk.cover()
    for _ in range(4):
        # The database opens, and refuses the pages.
        desk.database.refusals += [None, Unavailable("no room")]
    for wait in (1, 2, 4):
        desk.run()
        assert desk.reports[-1].trouble == f"no room; tried again in {wait} s"
        desk.run(wait)
    # Not once was it said that all is well.
    assert "" not in [report.trouble for report in desk.reports[1:]]
    desk.run(8)
    assert desk.rows == [1, 2]
    assert desk.reports[-1].trouble == ""


def test_a_server_that_loses_its_last_pages_gets_them_again(desk: Desk) -> None:
    desk.fetch(*range(3))
    desk.cover()
    desk.run()
    desk.database.made_durable()
    desk.fetch(*range(3, 6))
    desk.cover()
    desk.run()
    desk.database.power_cut()
    # Noticed at the next write.
    desk.database.refusals = [Unavailable("connection lost")]
    desk.fetch(*range(6, 9))
    desk.cover()
    desk.run(2.0)
    assert desk.rows == list(range(9))


def test_a_database_that_was_deleted_is_filled_from_what_is_left(desk: Desk) -> None:
    desk.fetch(*range(40))
    desk.cover()
    desk.run()
    desk.database = FakeDatabase()
    desk.start()
    desk.fetch(40)
    desk.cover()
    desk.run()
    left = desk.rows
    assert left == list(range(left[0], 41)) and 0 < left[0] < 40
    assert "lacks the earlier pages" in desk.reports[-1].trouble


def test_a_database_that_is_replaced_while_it_is_filled(desk: Desk) -> None:
    desk.fetch(*range(40))
    desk.cover()
    desk.run()
    desk.database = FakeDatabase()
    desk.indexer._writer = FakeWriter(desk.database)
    desk.database.refusals = [Unavailable("it.db: was deleted or replaced while it was written")]
    desk.fetch(40)
    desk.cover()
    desk.run()
    assert "it.db: was deleted or replaced" in desk.reports[-1].trouble
    desk.indexer._open_writer = desk.database.open
    desk.run(seconds=10.0)
    assert desk.rows[0] > 0 and desk.rows[-1] == 40
    assert "lacks the earlier pages" in desk.reports[-1].trouble


def test_a_spool_that_is_older_than_the_database_is_taken_again(desk: Desk) -> None:
    """Somebody went back to a copy of stateDir."""
    desk.fetch(1, 2)
    name, _, run = desk.spool.cut()["spool"].partition("-")
    desk.database.positions[name] = run, Position(9, 9)
    desk.cover()
    desk.run()
    assert desk.rows == [1, 2]


def test_a_run_from_an_old_copy_of_the_state_while_the_database_is_busy(
    desk: Desk, tmp_path: Path
) -> None:
    """The position of the other run is beyond the copy, then before the end of this run."""
    desk.fetch(*range(5))
    desk.cover()
    mark = desk.spool.cut()
    shutil.copytree(desk.spool.base, tmp_path / "copy")
    desk.fetch(*range(5, 15))
    desk.cover()
    desk.run()
    desk.spool.close()
    desk.spool = SpoolWriter(tmp_path / "copy", segment_size=1000)
    desk.start()
    desk.spool.load(mark)
    desk.database.refusals = [Unavailable("in use")]
    desk.cover()
    desk.indexer.step(desk.now)
    desk.fetch(*range(100, 120))
    desk.cover()
    desk.run(10.0)
    assert set(range(100, 120)) <= set(desk.rows)
    assert desk.reports[-1].trouble == ""


def test_an_indexer_that_outlives_its_crawl_leaves_a_later_spool_alone(desk: Desk) -> None:
    desk.fetch(*range(40))
    desk.cover()
    old = desk.indexer
    old.step(desk.now)
    while old.window.to_read:
        job = old.window.to_read.popleft()
        old.read(job, read_page(spool.read(old.folder, job.place.start), ReadOptions()), 100)
    desk.spool.clear()
    desk.start()
    desk.fetch(*range(100, 140))
    desk.cover()
    segments = spool.segments(desk.spool.folder)
    old.leave()
    assert spool.segments(desk.spool.folder) == segments
    desk.run()
    assert set(range(100, 140)) <= set(desk.rows)
    assert desk.reports[-1].trouble == ""


def test_a_segment_that_is_missing_in_the_middle_is_said(desk: Desk) -> None:
    desk.fetch(*range(40))
    desk.cover()
    (desk.spool.folder / "00000001.pages").unlink()
    desk.run()
    assert desk.rows[0] == 0 and desk.rows[-1] == 39
    assert "missing" in desk.reports[-1].trouble


def test_missing_segments_are_said(desk: Desk) -> None:
    desk.fetch(1)
    desk.cover()
    desk.run()
    desk.fetch(*range(2, 40))
    for number in (0, 1, 2):
        (desk.spool.folder / f"{number:08}.pages").unlink()
    desk.start()
    desk.cover()
    desk.run()
    assert desk.rows[-1] == 39
    assert "missing" in desk.reports[-1].trouble


def test_a_damaged_segment_costs_its_pages_only(desk: Desk) -> None:
    desk.fetch(*range(40))
    desk.cover()
    path = desk.spool.folder / "00000001.pages"
    data = bytearray(path.read_bytes())
    data[4:8] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    desk.run()
    assert desk.rows[0] == 0 and desk.rows[-1] == 39
    assert 30 < len(desk.rows) < 40
    assert "00000001.pages" in desk.reports[-1].trouble


def test_a_damaged_record_costs_its_page_only(desk: Desk) -> None:
    desk.fetch(1, 2, 3)
    desk.cover()
    path = desk.spool.folder / "00000000.pages"
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    desk.run()
    assert desk.rows == [2, 3]
    assert "damaged" in desk.reports[-1].trouble


def test_a_page_that_no_reader_survives_has_a_row(desk: Desk) -> None:
    desk.fetch(1)
    desk.cover()
    desk.indexer.step(desk.now)
    desk.indexer.fatal(desk.indexer.window.to_read.popleft(), "reading it crashes")
    desk.run()
    assert desk.rows == [1]
    assert "reading it crashes" in desk.database.troubles["http://a.test/1"]


def test_a_page_that_no_writer_survives_has_a_row(desk: Desk) -> None:
    desk.fetch(*range(20))
    desk.cover()
    desk.database.poison = {"http://a.test/7"}
    desk.run()
    assert desk.rows == list(range(20))
    assert "cannot be written: OverflowError" in desk.database.troubles["http://a.test/7"]
    assert "cannot" not in desk.database.troubles["http://a.test/8"]
    # Afterwards pages come together again.
    desk.fetch(*range(20, 30))
    desk.cover()
    desk.run()
    assert desk.database.batches == [1] * 20 + [10]
    assert desk.database.open_writers == 1


def test_a_page_that_is_not_taken_whole_is_named_once(desk: Desk) -> None:
    desk.database.long = {"http://a.test/1"}
    for number in range(3):
        desk.fetch(number)
        desk.cover()
        desk.run()
    said = [report.trouble for report in desk.reports]
    assert list(dict.fromkeys(said)) == ["", "http://a.test/1: cut"]
    assert desk.rows == [0, 1, 2]


def test_a_crawl_that_is_gone_does_not_wait_for_a_page_that_cannot_be_written(desk: Desk) -> None:
    desk.fetch(0)
    desk.cover()
    desk.database.poison = {"http://a.test/0"}
    desk.indexer.step(desk.now)
    job = desk.indexer.window.to_read.popleft()
    spooled = spool.read(desk.spool.folder, job.place.start)
    desk.indexer.read(job, read_page(spooled, ReadOptions()), 1)
    desk.indexer.leave()
    assert desk.database.open_writers == 0


def test_the_end(desk: Desk) -> None:
    desk.fetch(*range(40))
    desk.cover()
    desk.database.tends = 3
    desk.indexer.finish()
    desk.run()
    assert desk.indexer.done and desk.reports[-1].done
    assert desk.rows == list(range(40))
    assert desk.database.tends == 0
    assert desk.database.is_durable
    assert spool.segments(desk.spool.folder) == {}
    assert desk.database.open_writers == 0


def test_a_power_cut_right_after_the_end_loses_no_page(desk: Desk) -> None:
    """The last segments are removed once all is on the disk, also what no segment waited for."""
    desk.fetch(1, 2)
    desk.cover()
    desk.run()
    assert not desk.database.is_durable
    desk.indexer.finish()
    desk.run()
    assert desk.indexer.done and spool.segments(desk.spool.folder) == {}
    desk.database.power_cut()
    assert desk.rows == [1, 2]


def test_the_end_of_a_crawl_without_a_page(desk: Desk) -> None:
    desk.cover()
    desk.indexer.finish()
    desk.run()
    assert desk.indexer.done


def test_the_crawl_is_gone(desk: Desk) -> None:
    desk.fetch(*range(3))
    desk.cover()
    desk.indexer.step(desk.now)
    jobs = desk.indexer.window.to_read
    for _ in range(2):
        job = jobs.popleft()
        desk.indexer.read(
            job, read_page(spool.read(desk.spool.folder, job.place.start), ReadOptions()), 1
        )
    desk.indexer.leave()
    assert desk.rows == [0, 1]
    assert desk.database.open_writers == 0


def test_a_foreign_file_ends_the_indexer(desk: Desk) -> None:
    desk.database.refusals = [DatabaseError("not a database")]
    with pytest.raises(DatabaseError, match="not a database"):
        desk.run()


DUE = DuePage("http://a.test/1", 1, None, "2026-11-24T08:00:00Z", 5)


def test_pages_that_are_due_are_handed_over_once(desk: Desk) -> None:
    desk.database.due = [DUE]
    desk.indexer.ask(DueAsk("2026-11-24T09:00:00Z", None, 5))
    desk.run()
    desk.run()
    assert desk.handed_over == [[DUE]]


def test_a_question_waits_for_a_database_that_is_down(desk: Desk) -> None:
    desk.database.due = [DUE]
    desk.run()
    desk.database.refusals = [Unavailable("down")]
    desk.indexer.ask(DueAsk("2026-11-24T09:00:00Z", None, 5))
    desk.run()
    assert desk.handed_over == []
    desk.run(100.0)
    assert desk.handed_over == [[DUE]]
