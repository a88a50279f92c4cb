"""The writer of the database file: what is about the file."""

import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from larbinpy.database.base import Unavailable
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.preparation import Gone
from larbinpy.database.sqlite.file import FileWriting, connect
from larbinpy.database.writer import Writer
from larbinpy.storage.spool import Position
from tests.support.databasepages import prepared

A, B, C = (f"http://a.example/{name}" for name in "abc")
T1, T2, T3 = (f"2026-11-2{day}T08:00:00Z" for day in (1, 2, 3))

Ask = Callable[..., list[Any]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "it.db"


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    writer = Writer(str(path))
    yield writer
    writer.close()


@pytest.fixture
def ask(path: Path, writer: Writer) -> Iterator[Ask]:
    """Return the rows of a query of a reader; of one column, its values."""
    reader = connect(path)

    def rows(query: str, *values: object) -> list[Any]:
        found = reader.execute(query, values).fetchall()
        return [row[0] if len(row) == 1 else row for row in found]

    yield rows
    reader.close()


@pytest.fixture
def find(ask: Ask) -> Callable[[str], list[str]]:
    """Return the last letters of the URLs of the pages that the index finds."""

    def found(query: str) -> list[str]:
        join = "SELECT page.url FROM ft JOIN page ON page.id = ft.rowid"
        urls = ask(f"{join} WHERE ft MATCH ?", query)
        return sorted(url[-1] for url in urls)

    return found


Find = Callable[[str], list[str]]


def opened(writer: Writer) -> FileWriting:
    assert isinstance(writer._base, FileWriting)
    return writer._base


def test_one_process_writes(path: Path, writer: Writer, ask: Ask) -> None:
    with pytest.raises(Unavailable, match=r"it\.db: in use: process \d+ writes"):
        Writer(str(path))
    writer.write([prepared(A, "one")])
    writer.close()
    again = Writer(str(path))
    again.close()
    opened(writer)._lock.__init__(path)  # type: ignore[misc]  # the fixture closes it again


def test_a_database_that_another_program_locks(path: Path, writer: Writer, ask: Ask) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    opened(writer)._open().execute("PRAGMA busy_timeout=0")
    with pytest.raises(Unavailable, match="keeps the database locked"):
        writer.write([prepared(A, "one")])
    other.execute("ROLLBACK")
    other.close()
    writer.write([prepared(B, "two")])
    assert ask("SELECT url FROM page") == [B]


def test_a_full_disk_writes_nothing_and_passes(writer: Writer, ask: Ask) -> None:
    writer.write([prepared(A, "one", links=((C, "way"),))])
    base = opened(writer)._open()
    (pages,) = base.execute("PRAGMA page_count").fetchone()
    base.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(Unavailable, match="disk is full"):
        writer.write([prepared(f"{B}{n}", f"word{n} " * 5000) for n in range(50)])
    assert ask("SELECT url FROM page") == [A]
    writer.write([prepared(C, "three")])
    assert ask("SELECT url FROM page") == [A, C]
    assert ask("SELECT rowid FROM ft WHERE ft MATCH 'way'") == [2]


def test_tokens_that_cannot_be_made_again(
    writer: Writer, ask: Ask, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of the segmenter: the page gets a new number, and is found once."""
    writer.write([prepared(A, "old words", at=T1, body=b"1"), prepared(B, "b", at=T1)])
    writer.write([prepared(C, "old words", at=T1)])
    monkeypatch.setattr(
        "larbinpy.database.preparation.index_tokens", lambda text, lang: text.upper()
    )
    writer.write([prepared(A, "new words", at=T2)])
    assert find("old") == ["c"]
    assert find("words") == ["a", "c"]
    assert ask("SELECT at, kind FROM change WHERE page = 4") == [(T1, "new"), (T2, "changed")]
    assert ask("PRAGMA integrity_check") == ["ok"]


def test_a_body_moves_with_the_page_that_gets_another_number(
    writer: Writer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write([prepared(A, "words", at=T1, body=zstandard.compress(b"<p>words"))])
    monkeypatch.setattr(
        "larbinpy.database.preparation.index_tokens", lambda text, lang: text.upper()
    )
    writer.write([Gone(A, T2, 410)])
    with closing(DatabaseFinder(str(path))) as finder:
        assert finder.body(A) == b"<p>words"


def test_a_durable_write_is_the_only_one_that_waits_for_the_disk(writer: Writer) -> None:
    normal, full = [(1,)], [(2,)]
    modes = []
    for durable in (False, True, False):
        with opened(writer).transaction(durable=durable) as tables:
            modes.append(tables.base.execute("PRAGMA synchronous").fetchall())
    assert modes == [normal, full, normal]


def test_a_file_that_may_not_grow(writer: Writer, ask: Ask) -> None:
    """An error of the system in mid-write, as of a quota or a disk: nothing is written."""
    writer.write([prepared(A, "one")], "s", Position(1, 0))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(Unavailable, match=r"it\.db"):
            writer.write([prepared(B, "word " * 1000, body=b"x" * 400_000)], "s", Position(2, 0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert ask("SELECT url FROM page") == [A]
    writer.write([prepared(B, "two")], "s", Position(2, 0))
    assert ask("SELECT url FROM page") == [A, B]
    assert writer.position("s") == Position(2, 0)
    assert ask("PRAGMA integrity_check") == ["ok"]


def test_what_left_is_forgotten_when_nothing_waits(writer: Writer, ask: Ask, find: Find) -> None:
    """The index is joined without the tokens of pages that left, and unused space given back."""
    pages = [prepared(f"{A}{n}", f"word{n} " + f"other{n} " * 3000) for n in range(100)]
    writer.write(pages)
    size = ask("PRAGMA page_count")[0]
    writer.write([Gone(page.url, "2026-11-24T00:00:00Z", 410) for page in pages[1:]])
    pieces = 0
    while writer.tend():
        pieces += 1
    assert 2 < pieces < 20
    assert ask("SELECT count(*) FROM ft_docsize") == [1]
    assert ask("PRAGMA page_count")[0] < size
    assert find("word0") == ["0"]
    assert not writer.tend()
    assert ask("PRAGMA integrity_check") == ["ok"]


def test_a_file_is_made_shorter_until_little_of_it_is_unused(
    writer: Writer, path: Path, ask: Ask
) -> None:
    """It begins at a twentieth, and ends at a hundredth."""

    def leave(size: int) -> None:
        with closing(connect(path, write=True)) as base:
            base.execute("CREATE TABLE left (data)")
            base.execute("INSERT INTO left VALUES (zeroblob(?))", (size,))
            base.execute("DROP TABLE left")

    with closing(connect(path, write=True)) as base:
        base.execute("CREATE TABLE used AS SELECT zeroblob(40000000)")
    leave(1_600_000)
    few = ask("PRAGMA freelist_count")
    assert not writer.tend()
    assert ask("PRAGMA freelist_count") == few
    leave(4_000_000)
    while writer.tend():
        pass
    assert ask("PRAGMA freelist_count")[0] <= ask("PRAGMA page_count")[0] / 100


def test_a_durable_write_brings_earlier_ones_to_the_disk(writer: Writer, path: Path) -> None:
    """SQLite syncs its log with what is appended to it, so something must be."""
    log = path.with_name("it.db-wal")
    writer.write([prepared(A, "one")], "s", Position(1, 0))
    before = log.read_bytes()
    writer.write([])
    assert log.read_bytes() == before
    writer.write([], durable=True)
    assert log.read_bytes() != before
