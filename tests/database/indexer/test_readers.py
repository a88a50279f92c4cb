"""Reader processes: pages that crash or stall them, and readers that cannot start."""

import errno
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from larbinpy.database.indexer import reader
from larbinpy.database.indexer.indexer import Job
from larbinpy.database.indexer.process import Readers, ReadersError, most_readers
from larbinpy.database.indexer.reader import DAMAGED, FRAME, MOST_MEMORY
from larbinpy.database.preparation import Gone, Visit
from larbinpy.loop import child
from larbinpy.loop.poller import Poller
from larbinpy.page import Outcome, Page
from larbinpy.storage import spool
from larbinpy.storage.spool import Position, Spooled, SpoolWriter, walk
from larbinpy.url import Url
from tests.support.checkout import ROOT
from tests.support.frailreader import frail
from tests.support.heavypdf import forms, repeated

PATIENCE = 30.0


class Hall:
    """Readers that crash at some pages, with their results by the number of the page."""

    def __init__(self, folder: Path, most: int = 2, ahead: int = 8) -> None:
        self.spool = SpoolWriter(folder, segment_size=2000)
        # It has a name, and so a folder.
        self.spool.cut()
        self.poller = Poller()
        self.results: dict[int, Visit | None] = {}
        self.fatal: dict[int, str] = {}
        self.to_read: deque[Job] = deque()
        self.readers = self.make(str(self.spool.folder), most, ahead)

    def make(self, folder: str, most: int, ahead: int, *arguments: str) -> Readers:
        command = [sys.executable, "-m", "tests.support.frailreader", folder, *arguments]
        lost = lambda jobs: self.to_read.extendleft(reversed(jobs))  # noqa: E731
        return Readers(self.poller, command, most, self._done, self._fatal, lost, ahead=ahead)

    def _done(self, job: Job, result: Visit | None, _size: int) -> None:
        assert job.place.number not in self.results
        self.results[job.place.number] = result

    def _fatal(self, job: Job, why: str) -> None:
        self.fatal[job.place.number] = why

    def add(self, *bodies: str, outcome: Outcome = Outcome.SUCCESS) -> None:
        start = self.spool.end
        for body in bodies:
            url = Url(f"http://a.test/{self.spool.records}", 1)
            page = Page(url, outcome, 200, [("content-type", "text/html")], body.encode())
            self.spool.append(page, 0.0)
        self.spool.cut()
        places = walk(self.spool.folder, start, self.spool.end)
        self.to_read.extend(Job(place) for place in places)

    def run(self) -> None:
        """Read all."""
        while len(self.results) + len(self.fatal) < self.spool.records:
            self.readers.feed(self.to_read)
            assert self.poller.wait(PATIENCE), "nothing happens"


@pytest.fixture
def hall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hall]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made = Hall(tmp_path)
    yield made
    made.readers.close()
    made.poller.close()


def test_pages_come_back_read(hall: Hall) -> None:
    hall.add(*(f"<p>text {number}</p>" for number in range(50)))
    hall.add("", outcome=Outcome.ERR_40X)
    hall.run()
    urls = {number: result.url for number, result in hall.results.items() if result}
    assert urls == {number: f"http://a.test/{number}" for number in range(51)}
    assert isinstance(hall.results[50], Gone)
    assert hall.readers.deaths == 0


def test_a_page_that_crashes_its_reader_costs_itself_only(hall: Hall) -> None:
    hall.add("one", "two", "crash", "four", "crash", *("more",) * 20)
    hall.run()
    assert set(hall.fatal) == {2, 4}
    assert hall.fatal[2] == "reading it crashes (signal 11)"
    assert len(hall.results) == 23


def test_a_page_that_stalls(hall: Hall) -> None:
    hall.add("one", "stall", "three")
    hall.run()
    assert hall.fatal == {1: "reading it takes more than 10 s"}
    assert set(hall.results) == {0, 2}


def test_a_page_that_takes_too_much_memory(hall: Hall) -> None:
    hall.add("one", "takes 570000000", "three", "takes 450000000", "takes 450000000", "aborts")
    hall.run()
    assert hall.fatal == {
        1: "reading it takes more than 600 MB",
        5: "reading it takes more than 600 MB, or crashes",
    }
    assert set(hall.results) == {0, 2, 3, 4}


def test_readers_that_are_killed_cost_nothing(hall: Hall, tmp_path: Path) -> None:
    """Not even if it is a page's bad luck four times."""
    mark = tmp_path / "mark"
    mark.touch()
    hall.add("one", f"kills {mark}", "three")
    hall.run()
    assert hall.fatal == {}
    assert len(hall.results) == 3
    assert hall.readers.deaths == 4


def test_what_the_system_refuses_is_not_damage(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    hall.add("one")

    def refuse(_folder: Path, _position: Position) -> Spooled:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(spool, "read", refuse)
    with pytest.raises(OSError, match="Too many"):
        reader.frame(hall.spool.folder, Position(0, 0), frail)


def test_a_segment_that_is_missing_is_damage(hall: Hall) -> None:
    answer = reader.frame(hall.spool.folder, Position(7, 0), frail)
    assert FRAME.unpack_from(answer)[0] == DAMAGED


def test_readers_that_cannot_start(tmp_path: Path, hall: Hall) -> None:
    hall.readers = hall.make("broken", 1, 8)
    hall.add("one")
    with pytest.raises(ReadersError, match="as soon as they are started"):
        hall.run()


def test_starts_that_fail_count_in_a_row(tmp_path: Path, hall: Hall) -> None:
    """Each third start succeeds, and that reader dies of the page."""
    hall.readers = hall.make(str(hall.spool.folder), 1, 8, str(tmp_path / "starts"))
    hall.add("crash", "two")
    hall.run()
    assert set(hall.fatal) == {0}
    assert (tmp_path / "starts").read_text() == "x" * 9


@pytest.mark.slow
@pytest.mark.parametrize("body", [forms(10, 20), repeated(1000, 400_000)])
def test_a_pdf_that_asks_for_much_memory_does_not_get_it(hall: Hall, body: bytes) -> None:
    assert len(body) < 100_000
    url = Url("http://a.test/a.pdf", 1)
    page = Page(url, Outcome.SUCCESS, 200, [("content-type", "application/pdf")], body)
    hall.spool.append(page, 0.0)
    hall.spool.cut()
    command = child.command("larbinpy.database.indexer.reader", str(hall.spool.folder))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=child.environment()
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"0 0\n")
        process.stdin.flush()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    # By its time, if the machine is slow.
    assert process.returncode in (-signal.SIGABRT, -signal.SIGALRM)
    assert usage.ru_maxrss * 1024 < MOST_MEMORY


@pytest.mark.parametrize(
    ("cores", "memory", "most"),
    [
        (2, 8e9, 2),
        (64, 64e9, 8),
        (8, 2.5e9, 4),
        (4, 1e9, 1),
        (4, 1e8, 1),
        (4, -1.0, 1),
        (3, inf, 3),
    ],
)
def test_no_more_readers_than_memory_has_room_for(cores: int, memory: float, most: int) -> None:
    assert most_readers(cores, memory) == most
