"""Care of the database file: rebuild, verify, optimize."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from larbinpy.database.base import DatabaseError, Unavailable
from larbinpy.database.maintenance import PIECE, optimize, rebuild, verify
from larbinpy.database.preparation import Gone
from larbinpy.database.sqlite.file import connect
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared

PAGES = [
    prepared(
        f"http://a.example/{n}",
        f"text number{n} of a page",
        title=f"Title {n}",
        links=((f"http://a.example/{n - 1}", f"way{n - 1}"),),
    )
    for n in range(40)
]


def quiet(what: str, done: int, total: int) -> None:
    assert what and 0 <= done <= total


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "it.db"
    writer = Writer(str(path))
    writer.write(PAGES)
    copy = prepared("http://a.example/copy", "text number1 of a page", title="Title 1")
    writer.write([copy, Gone(PAGES[5].url, PAGES[5].fetched, 410)])
    while writer.tend():
        pass
    writer.close()
    return path


@pytest.fixture(name="base")
def _base(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program, which may do damage."""
    base = sqlite3.connect(path, isolation_level=None)
    yield base
    base.close()


def found(path: Path, word: str) -> list[int]:
    base = connect(path)
    rows = base.execute("SELECT rowid FROM ft WHERE ft MATCH ?", (word,)).fetchall()
    base.close()
    return [row for (row,) in rows]


def _lose_words(base: sqlite3.Connection) -> None:
    base.execute("DELETE FROM ft_docsize WHERE id = 3")
    base.execute("INSERT INTO ft(ft) VALUES ('delete-all')")


def _lose_blocks(base: sqlite3.Connection) -> None:
    base.execute("DELETE FROM ft_data WHERE id > 10")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_lose_words, "39 pages are missing in the index"),
        (_lose_blocks, "index: "),
    ],
)
def test_verify_sees_damage_and_rebuild_repairs_it(
    path: Path, base: sqlite3.Connection, damage: Callable[[sqlite3.Connection], None], says: str
) -> None:
    damage(base)
    lines = verify(str(path), quiet)
    assert any(says in line for line in lines), lines
    assert not any("\n" in line for line in lines)
    rebuild(str(path), quiet)
    assert verify(str(path), quiet) == []


def test_verify_sees_lost_contents(path: Path, base: sqlite3.Connection) -> None:
    base.execute("DELETE FROM content WHERE page = 3")
    base.execute("UPDATE content SET text = x'00' WHERE page = 4")
    lines = verify(str(path), quiet)
    assert "1 pages have no content" in lines
    assert "http://a.example/3: its text in the database is damaged (not 22 bytes)" in lines
    assert rebuild(str(path), quiet) == 39
    writer = Writer(str(path))
    again = [prepared(page.url, page.url, at="2027-01-01T00:00:00Z") for page in PAGES[2:4]]
    writer.write(again)
    writer.close()
    assert rebuild(str(path), quiet) == 39
    assert verify(str(path), quiet) == []


def test_a_rebuild_that_is_stopped_leaves_the_old_index(path: Path) -> None:
    writer = Writer(str(path))
    writer.write([prepared(f"http://b.example/{n}", f"b{n}", title=f"{n}") for n in range(PIECE)])
    writer.close()

    def stop(what: str, done: int, total: int) -> None:
        assert found(path, "number7") == [8]  # searches go on
        if done == PIECE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild(str(path), stop)
    assert verify(str(path), quiet) == []
    optimize(str(path), quiet)
    assert verify(str(path), quiet) == []
    base = connect(path)
    assert not base.execute("SELECT 1 FROM sqlite_schema WHERE name LIKE 'ft_new%'").fetchall()
    base.close()


def test_optimize_brings_in_anchors_and_gives_space_back(path: Path) -> None:
    writer = Writer(str(path))
    writer.write([prepared(page.url, "word " * 9000, title=page.url, at="2027-01-01T00:00:00Z")
                  for page in PAGES])  # fmt: skip
    writer.write([prepared("http://a.example/last", links=((PAGES[1].url, "late"),))])
    writer.write([Gone(page.url, "2027-01-02T00:00:00Z", 410) for page in PAGES[2:]])
    writer.close()
    base = sqlite3.connect(path)
    base.executescript(
        "CREATE TABLE large AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < 900) SELECT randomblob(1000) FROM n; DROP TABLE large;"
    )
    base.close()
    size = path.stat().st_size
    optimize(str(path), quiet)
    assert path.stat().st_size < size / 2
    assert found(path, "late") == [2]
    assert verify(str(path), quiet) == []
    assert sorted(it.name for it in path.parent.iterdir()) == ["it.db"]


@pytest.mark.parametrize(("share", "is_smaller"), [(2.1, False), (2.3, True)])
def test_space_is_given_back_if_the_disk_has_room_for_the_file_twice(
    path: Path, monkeypatch: pytest.MonkeyPatch, share: float, is_smaller: bool
) -> None:
    with closing(sqlite3.connect(path)) as base:
        base.executescript("CREATE TABLE a AS SELECT randomblob(900000); DROP TABLE a;")
    size, said = path.stat().st_size, list[str]()
    room = SimpleNamespace(free=int(share * size))
    monkeypatch.setattr("shutil.disk_usage", lambda folder: room if folder == path.parent else None)
    # Unused blocks are given back as well while the texts of links are brought in.
    monkeypatch.setattr(Writer, "tend", lambda self: False)
    optimize(str(path), lambda what, *_: said.append(what))
    assert (path.stat().st_size < size / 2) == is_smaller
    assert ("no room on the disk to give space back" in said) != is_smaller


@pytest.mark.parametrize("work", [rebuild, verify, optimize])
def test_care_needs_a_database_that_nobody_fills(
    path: Path, tmp_path: Path, work: Callable[..., object]
) -> None:
    writer = Writer(str(path))
    with pytest.raises(Unavailable, match="in use"):
        work(str(path), quiet)
    writer.close()
    with pytest.raises(DatabaseError, match="there is no database"):
        work(str(tmp_path / "none.db"), quiet)
    assert not (tmp_path / "none.db").exists()
