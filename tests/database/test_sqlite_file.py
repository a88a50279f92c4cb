"""The database as a file that others copy, delete or replace, or that cannot be made."""

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.database.base import DatabaseError, Unavailable
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.maintenance import rebuild, verify
from larbinpy.database.sqlite.file import Damaged, FileWriting, sqlite_errors
from larbinpy.database.writer import Writer
from larbinpy.storage.spool import Position
from tests.support.databasepages import prepared

PAGES = [prepared(f"http://a.test/{n}", f"Text number {n}.", title=f"T{n}") for n in range(3)]


def quiet(what: str, done: int, total: int) -> None:
    pass


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    """Rows of the file alone, without a log beside it."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as base:
        return base.execute(query).fetchall()


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "it.db"
    with closing(Writer(str(path))) as writer:
        writer.write(PAGES)
    return path


def test_a_closed_database_is_one_file(path: Path) -> None:
    assert os.listdir(path.parent) == ["it.db"]
    assert rows(path, "SELECT count(*) FROM page") == [(3,)]


def test_the_file_is_complete_also_if_readers_stay(path: Path) -> None:
    with closing(DatabaseFinder(str(path))) as finder:
        with closing(Writer(str(path))) as writer:
            writer.write([prepared("http://a.test/new", "Some text.")])
        assert finder.fetched("http://a.test/new")
        assert rows(path, "SELECT count(*) FROM page") == [(4,)]
        rebuild(str(path), quiet)
        assert rows(path, "SELECT count(*) FROM page") == [(4,)]


def test_a_database_that_is_replaced_while_it_is_written(path: Path) -> None:
    """Later pages go into the new file, and the writer says so."""
    with closing(Writer(str(path))) as writer:
        writer.write(PAGES, "spool", Position(0, 9))
        path.rename(path.with_name("old.db"))
        with pytest.raises(Unavailable, match="deleted or replaced"):
            writer.write(PAGES[1:], "spool", Position(0, 19))
    with closing(Writer(str(path))) as writer:
        assert writer.position("spool") is None
        writer.write(PAGES[1:], "spool", Position(0, 19))
    assert verify(str(path), quiet) == []
    assert rows(path, "SELECT count(*) FROM page") == [(2,)]
    assert rows(path.with_name("old.db"), "SELECT count(*) FROM page") == [(3,)]


@pytest.mark.parametrize(
    "name", ["missing/it.db", "it.db/other.db", "/proc/it.db", f"{'n' * 300}.db", "."]
)
def test_a_database_that_can_never_be_made(path: Path, name: str) -> None:
    with pytest.raises(DatabaseError, match=r"cannot|not a file") as raised:
        Writer(str(path.parent / name))
    assert not isinstance(raised.value, Unavailable)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write all files")
def test_files_and_folders_without_rights(path: Path, tmp_path: Path) -> None:
    path.chmod(0o444)
    with pytest.raises(DatabaseError, match="cannot be written") as raised:
        Writer(str(path))
    assert not isinstance(raised.value, Unavailable)
    tmp_path.chmod(0o555)
    with pytest.raises(DatabaseError, match="cannot be written") as raised:
        Writer(str(tmp_path / "new.db"))
    assert not isinstance(raised.value, Unavailable)


@pytest.mark.parametrize("where", ["postgres://a.test/b", "sqlite:///x.db", "redis://x"])
def test_a_database_of_no_kind_that_is_known(where: str) -> None:
    for opened in (Writer, DatabaseFinder):
        with pytest.raises(DatabaseError, match=r"expected a file or mysql://"):
            opened(where)


def test_a_lock_on_a_file_that_its_holder_just_removed_does_not_count(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, locks = fcntl.flock, path.with_name("it.db-lock")

    def flock_late(fd: int, operation: int) -> None:
        monkeypatch.undo()
        locks.unlink()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock_late)
    with closing(Writer(str(path))):
        assert locks.exists()
        with pytest.raises(Unavailable, match="in use"):
            Writer(str(path))


@pytest.mark.parametrize(
    ("code", "text", "kind", "says"),
    [
        (sqlite3.SQLITE_CORRUPT, "malformed", Damaged, "malformed"),
        (sqlite3.SQLITE_CORRUPT | 1 << 8, "malformed", Damaged, "malformed"),
        (sqlite3.SQLITE_NOTADB, "no database", Damaged, "no database"),
        (0, "Could not decode to UTF-8: secret", Damaged, "a text that is not UTF-8"),
        (sqlite3.SQLITE_ERROR, "no such table", Unavailable, "it.db: no such table"),
    ],
)
def test_errors_of_sqlite(code: int, text: str, kind: type[DatabaseError], says: str) -> None:
    error = sqlite3.OperationalError(text)
    if code:
        error.sqlite_errorcode = code
    with pytest.raises(DatabaseError) as raised, sqlite_errors("it.db"):
        raise error
    assert type(raised.value) is kind
    assert says in str(raised.value) and "secret" not in str(raised.value)


def test_a_durable_transaction_is_synced_and_the_next_is_not(path: Path) -> None:
    """1 is NORMAL, 2 is FULL."""
    writing = FileWriting(str(path))
    with closing(writing):
        for durable, within in ((False, 1), (True, 2), (False, 1)):
            with writing.transaction(durable=durable):
                base = writing._open()
                assert base.execute("PRAGMA synchronous").fetchone() == (within,)
            assert base.execute("PRAGMA synchronous").fetchone() == (1,)
