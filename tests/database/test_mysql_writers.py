"""Several processes that fill one database on a server."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from larbinpy.database.base import Unavailable
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.maintenance import optimize, rebuild, verify
from larbinpy.database.mysql.server import ServerTables, turn
from larbinpy.database.preparation import Gone, Visit
from larbinpy.database.writer import Writer
from larbinpy.database.writing.anchors import MOST
from larbinpy.storage.spool import Position
from tests.support.databasepages import prepared
from tests.support.databases import OnServer
from tests.support.mariadb import MariaDb

A, B, C = (f"http://a.example/{name}" for name in "abc")
T1, T2, T3 = (f"2026-11-2{day}T08:00:00Z" for day in (1, 2, 3))
MENU = " ".join(f"item{n * n * 7919 % 10007}" for n in range(200))


@pytest.fixture(name="database")
def _database(mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnServer:
    # Without the option file of whoever runs the tests.
    monkeypatch.setenv("HOME", str(tmp_path))
    return OnServer(mariadb, "writers")


@pytest.fixture(name="writers")
def _writers(database: OnServer) -> Iterator[list[Writer]]:
    writers = [Writer(database.where) for _ in range(3)]
    yield writers
    for writer in writers:
        writer.close()


def quiet(what: str, done: int, total: int) -> None:
    pass


def drain(writer: Writer) -> None:
    while writer.tend():
        pass


def kill_connection(database: OnServer, writer: Writer) -> None:
    """As the end of its process does."""
    with writer._base.asked() as opened:
        (number,) = opened.base.execute("SELECT CONNECTION_ID()").fetchone()
    database.execute(f"KILL {number}")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and database.rows(
        "SELECT 1 FROM information_schema.processlist WHERE id = ?", number
    ):
        time.sleep(0.01)


def test_all_write_and_the_later_fetch_of_a_page_wins(
    database: OnServer, writers: list[Writer]
) -> None:
    one, two, _ = writers
    one.write([prepared(A, "first", at=T1), prepared(B, "only")], "one-1", Position(1, 10))
    two.write([prepared(A, "third", at=T3), prepared(C, "other")], "two-1", Position(5, 50))
    one.write([prepared(A, "second", at=T2)], "one-1", Position(1, 20))
    assert database.rows("SELECT url, visits, fetched FROM page ORDER BY url") == [
        (A, 2, T3),
        (B, 1, "2026-11-23T08:00:00Z"),
        (C, 1, "2026-11-23T08:00:00Z"),
    ]
    assert [len(database.pages(word)) for word in ("first", "second", "third")] == [0, 0, 1]
    assert one.position("one-1") == Position(1, 20)
    assert two.position("two-1") == Position(5, 50)


def test_a_spool_has_one_writer(database: OnServer, writers: list[Writer]) -> None:
    one, two, _ = writers
    one.write([prepared(A)], "s-1", Position(1, 0))
    for use in (two.position, lambda name: two.write([], name, Position(0, 0))):
        with pytest.raises(Unavailable, match="of the server writes the same pages; wait until"):
            use("s-2")
    one.close()
    assert two.position("s-1") == Position(1, 0)


def test_a_turn_that_does_not_come(database: OnServer) -> None:
    Writer(database.where).close()
    with (
        closing(ServerTables(database.where, 9)) as one,
        closing(ServerTables(database.where, 9)) as two,
    ):
        in_use = pytest.raises(Unavailable, match=r"in use: connection \d+ of the server")
        with turn(one), in_use, turn(two, patience=0):
            pass
        with turn(two, patience=0):
            pass


def _random_batch(random: Random, at: str, *, copies: bool) -> list[Visit]:
    """Pages of two hosts with links among them; with `copies`, some are copies of others."""
    urls = [f"http://www.{host}.example/{n}" for host in "ab" for n in range(6)]
    batch: list[Visit] = []
    for url in random.sample(urls, 5):
        if random.random() < 0.2:
            batch.append(Gone(url, at, 410))
            continue
        to = random.choice(urls)
        page = prepared(
            url,
            f"text {random.randrange(4)}" if copies else url,
            title=f"T{random.randrange(2)}",
            at=at,
            canonical=random.choice([None, None, random.choice(urls)]) if copies else None,
            rest=f"{MENU} of {url}",
            links=((to, f"way{random.randrange(MOST)}"),),
        )
        batch.append(page)
    return batch


_STATE = (
    "SELECT p.url, p.visits, p.changes, p.gone, p.text_hash, o.url, p.indexed IS NULL"
    " FROM page p LEFT JOIN page o ON o.id = p.same_as ORDER BY p.url"
)


@pytest.mark.parametrize("copies", [False, True])
def test_three_make_what_one_makes(database: OnServer, copies: bool) -> None:
    """One of them loses its connection now and then, and the index is made anew meanwhile."""
    states = []
    for number in (1, 3):
        random = Random(3)
        database.empty()
        writers = [Writer(database.where) for _ in range(number)]
        for day in range(18):
            batch = _random_batch(random, f"2026-10-{day + 1:02}T08:00:00Z", copies=copies)
            writer = writers[day % number]
            writer.write(batch, f"spool{day % number}", Position(day, 0))
            if number == 3 and day % 7 == 3:
                kill_connection(database, writer)
            if day == 9:
                optimize(database.where, quiet)
                rebuild(database.where, quiet)
        for writer in writers:
            drain(writer)
            writer.close()
        assert verify(database.where, quiet) == []
        assert database.rows("SELECT * FROM fresh") == []
        # Which of the copies has a text depends on when it is brought in.
        ways = [] if copies else [database.pages(f"anchor:way{way}") for way in range(MOST)]
        anchors = sorted(database.rows("SELECT * FROM anchor"))
        states.append((database.rows(_STATE), ways, anchors))
    assert states[0] == states[1]


def test_texts_of_links_that_a_killed_process_left(
    database: OnServer, writers: list[Writer]
) -> None:
    one, two, three = writers
    one.write([prepared(A, "one")])
    two.write([prepared(B, "two", links=((A, "way to a"),))])
    drain(one)
    assert database.pages("anchor:way") == []
    kill_connection(database, two)
    drain(three)
    assert database.pages("anchor:way") == [1]
    assert database.rows("SELECT key FROM meta WHERE key LIKE 'late%'") == []
    assert database.rows("SELECT count(*) FROM fresh") == [0]
    two.write([prepared(C, "three", links=((A, "exit"),))])
    drain(two)
    assert database.pages("anchor:exit") == [1]


def test_samples_that_were_removed_are_not_used(database: OnServer, writers: list[Writer]) -> None:
    """`rebuild` is possible while processes fill the database."""
    one, *_ = writers
    one.write([prepared(url, url, rest=f"{MENU} {url}") for url in (A, B)])
    assert database.rows("SELECT count(*) FROM host WHERE sample IS NOT NULL") == [1]
    database.execute("DELETE FROM page WHERE url = ?", A)
    rebuild(database.where, quiet)
    one.write([prepared(C, C, rest=f"{MENU} {C}")])
    with closing(DatabaseFinder(database.where)) as finder:
        stored = finder.show(C)
    assert stored is not None
    assert stored.more["rest"] == f"{MENU} {C}"
    assert verify(database.where, quiet) == []


def _fill(where: str, spool: str, pages: int) -> None:
    """As an indexer: from the position of the database, and again after what may pass."""
    while True:
        try:
            with closing(Writer(where)) as writer:
                position = writer.position(spool) or Position(0, 0)
                for n in range(position.offset, pages, 10):
                    batch = [
                        prepared(f"http://{spool}.example/{m}", f"page {m} of {spool}")
                        for m in range(n, n + 10)
                    ]
                    # Both have fetched this one again and again.
                    seconds = f"{n // 60 % 60:02}:{n % 60:02}"
                    batch.append(prepared(A, f"page {n}", at=f"2026-11-23T08:{seconds}Z"))
                    writer.write(batch, spool, Position(0, n + 10))
                return
        except Unavailable:
            time.sleep(0.05)


@pytest.mark.slow
def test_kills_of_one_while_others_write(database: OnServer) -> None:
    pages, random = 600, Random(5)
    context = multiprocessing.get_context("fork")

    def start(n: int) -> multiprocessing.process.BaseProcess:
        process = context.Process(target=_fill, args=(database.where, f"spool{n}", pages))
        process.start()
        return process

    processes = [start(n) for n in range(3)]
    kills = 0
    deadline = time.monotonic() + 300
    while any(process.is_alive() for process in processes):
        assert time.monotonic() < deadline
        time.sleep(random.uniform(0.1, 0.6))
        number = random.randrange(3)
        process = processes[number]
        if kills < 20 and process.is_alive() and process.pid is not None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            kills += 1
            processes[number] = start(number)
    assert kills
    assert [process.exitcode for process in processes] == [0, 0, 0]
    rows = database.rows("SELECT url, visits FROM page WHERE url <> ?", A)
    assert sorted(rows) == sorted(
        (f"http://spool{n}.example/{m}", 1) for n in range(3) for m in range(pages)
    )
    assert database.rows("SELECT count(*), max(fetched) FROM page WHERE url = ?", A) == [
        (1, "2026-11-23T08:09:50Z")
    ]
    assert verify(database.where, quiet) == []
