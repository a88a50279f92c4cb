"""Opening the database file: what is made, and what is refused untouched."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.database.base import FORMAT, DatabaseError, NotOurs
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.sqlite.file import connect
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.databases import Database, File


def test_a_writer_makes_the_tables_and_a_reader_opens_them(tmp_path: Path) -> None:
    path = tmp_path / "larbinpy.db"
    writer = connect(path, write=True)
    reader = connect(path)
    assert reader.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() == (FORMAT,)
    assert reader.execute("SELECT count(*) FROM ft").fetchone() == (0,)
    assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("DELETE FROM meta")
    reader.close()
    writer.close()


def test_a_missing_database_is_not_made_by_a_reader(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no database; name another one with -d"):
        connect(tmp_path / "missing.db")
    assert not list(tmp_path.iterdir())


def test_an_empty_file_gets_tables_from_a_writer_only(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(NotOurs, match="empty"):
        connect(path)
    connect(path, write=True).close()
    connect(path).close()


def _text(path: Path) -> None:
    path.write_text("Not a database. " * 100)


def _other(path: Path) -> None:
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE page (url)")
    base.commit()
    base.close()


def _newer(path: Path) -> None:
    connect(path, write=True).close()
    base = sqlite3.connect(path)
    base.execute(f"PRAGMA user_version={FORMAT + 1}")
    base.close()


@pytest.mark.parametrize(
    ("make", "says"),
    [(_text, "not a database"), (_other, "another program"), (_newer, "newer larbinpy")],
)
@pytest.mark.parametrize("write", [False, True])
def test_other_files_are_refused_untouched(
    tmp_path: Path, make: Callable[[Path], None], says: str, write: bool
) -> None:
    path = tmp_path / "it.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(NotOurs, match=says) as caught:
        connect(path, write=write)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_link_or_a_folder_is_no_place_for_a_database(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path / "link", tmp_path):
        with pytest.raises(DatabaseError, match="name another"):
            connect(path, write=True)


def test_odd_names_are_files(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=ro&x#y%41.db"
    connect(path, write=True).close()
    assert path.exists()


def test_a_server_needs_pymysql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("larbinpy.database.base.find_spec", lambda name: None)
    for opening in (Writer, DatabaseFinder):
        with pytest.raises(DatabaseError, match="PyMySQL is not installed"):
            opening("mysql://host/name")


def _of_format_5(where: str, execute: Callable[..., object]) -> None:
    with closing(Writer(where)) as writer:
        writer.write([prepared("http://a.test/", "One.", at="2026-11-23T08:00:00Z")])
    execute("DROP TABLE difference")
    execute("UPDATE meta SET value = 5 WHERE key = 'format'")


def test_a_database_of_an_older_version_is_read_and_upgraded(database: Database) -> None:
    _of_format_5(database.where, database.execute)
    if isinstance(database, File):
        database.execute("PRAGMA user_version = 5")
    with closing(database.finder(lambda: 0.0)) as finder:
        (change,) = finder.history("http://a.test/")
        assert finder.difference(change) is None
    with closing(Writer(database.where)) as writer:
        writer.write([prepared("http://a.test/", "Two.", at="2026-11-24T08:00:00Z")])
    with closing(database.finder(lambda: 0.0)) as finder:
        _, change = finder.history("http://a.test/")
        assert finder.difference(change) == (["One."], ["Two."])
    assert database.rows("SELECT value FROM meta WHERE key = 'format'") in ([FORMAT], [str(FORMAT)])
