"""Power cuts while a crawl fills SQLite: afterwards the rows are those of the crawl, each once.

Unsynced bytes are lost, or kept up to any of them: the end of the spool beyond the last checkpoint,
and the end of SQLite's log beyond its last sync. (The log is short enough that SQLite never copies
it into the database meanwhile.)
"""

import shutil
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import pytest

from larbinpy.database.indexer.indexer import Covered, Indexer, Report
from larbinpy.database.indexer.reader import ReadOptions, read_page
from larbinpy.database.writer import Writer
from larbinpy.page import Outcome, Page
from larbinpy.storage import spool
from larbinpy.storage.spool import Position, SpoolMark, SpoolWriter
from larbinpy.url import Url

PAGES = 150


class Machine:
    """A crawl of `PAGES` pages with its indexer, in a folder per boot."""

    def __init__(self, folder: Path, random: Random) -> None:
        self._folder = folder
        self._random = random
        self.boots = 0
        self.now = 100.0
        self.mark: SpoolMark | None = None
        self._synced = (b"", 0)
        self._reported = Report()
        self._boot()

    @property
    def _disk(self) -> Path:
        return self._folder / str(self.boots)

    @property
    def database(self) -> Path:
        return self._disk / "x.db"

    def _boot(self) -> None:
        self._disk.mkdir(parents=True, exist_ok=True)
        self.spool = SpoolWriter(self._disk / "spool", segment_size=6000)
        self._indexer = Indexer(
            self._disk / "spool",
            partial(Writer, str(self.database)),
            self._hear,
            keep_bodies=False,
            clock=lambda: self.now,
        )
        if self.mark is not None:
            self.spool.load(self.mark)
            self._cover(self.spool.cut())

    def _hear(self, report: Report) -> None:
        # A segment is removed after a durable write alone.
        if report.kept != self._reported.kept:
            self._synced = self._log()
        self.spool.removed(report.kept)
        self._reported = report

    def _log(self) -> tuple[bytes, int]:
        """Which log SQLite writes, and its length."""
        path = self.database.with_name("x.db-wal")
        if not path.exists():
            return b"", 0
        with path.open("rb") as file:
            return file.read(24)[16:], path.stat().st_size

    def fetch(self) -> None:
        number = self.spool.records
        if number < PAGES:
            url = Url(f"http://a.test/{number}", 1)
            body = f"<title>{number}</title><p>{'word ' * self._random.randrange(200)}".encode()
            self.spool.append(Page(url, Outcome.SUCCESS, 200, body=body), self.now)

    def checkpoint(self) -> None:
        self.mark = self.spool.cut()
        self._cover(self.mark)

    def _cover(self, mark: SpoolMark) -> None:
        until = Position(mark["segment"], mark["offset"])
        self._indexer.cover(Covered(mark["spool"], until, mark["records"]))

    def index(self) -> None:
        """One step of the indexer; readers are this process."""
        self.now += self._random.random()
        self._indexer.step(self.now)
        jobs = self._indexer.window.to_read
        for _ in range(self._random.randrange(10)):
            if jobs:
                job = jobs.popleft()
                spooled = spool.read(self.spool.folder, job.place.start)
                self._indexer.read(job, read_page(spooled, ReadOptions()), 100)

    def cut_power(self) -> None:
        """Go on with what is left."""
        before, random = self._disk, self._random
        salt, length = self._log()
        floor = self._synced[1] if self._synced[0] == salt else 0
        self.spool.close()
        self.boots += 1
        # The old indexer keeps its files; the new machine has a copy.
        shutil.copytree(before, self._disk, ignore=shutil.ignore_patterns("*-shm", "*-lock"))
        log = self.database.with_name("x.db-wal")
        if log.exists():
            with log.open("r+b") as file:
                file.truncate(random.choice([floor, random.randint(floor, length), length]))
        mark = self.mark or SpoolMark(spool="", segment=0, offset=0, records=0)
        folder = spool.folder_of(self._disk / "spool", self.spool.name)
        for number, size in spool.segments(folder).items():
            kept = size if number < mark["segment"] else mark["offset"]
            if number > mark["segment"]:
                kept = 0
            with (folder / f"{number:08}.pages").open("r+b") as file:
                file.truncate(random.randint(kept, size) if size > kept else size)
        self._synced = self._log()
        self._boot()

    def end(self) -> None:
        while self.spool.records < PAGES:
            self.fetch()
        self.checkpoint()
        self._indexer.finish()
        for _ in range(10_000):
            self.index()
            if self._indexer.done:
                return
        raise AssertionError("it does not end")


@pytest.mark.parametrize("seed", range(12))
def test_rows_after_power_cuts(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    machine = Machine(tmp_path, random)
    for _ in range(400):
        act = random.choices(
            [machine.fetch, machine.index, machine.checkpoint, machine.cut_power], [50, 40, 8, 2]
        )[0]
        act()
    machine.end()
    with closing(sqlite3.connect(machine.database)) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = base.execute("SELECT url, title, visits FROM page").fetchall()
    assert sorted(rows) == sorted((f"http://a.test/{n}", str(n), 1) for n in range(PAGES))
    assert machine.boots
