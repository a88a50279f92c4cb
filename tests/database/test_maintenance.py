"""Care of a database: rebuild, verify, optimize."""

from collections.abc import Callable
from contextlib import closing

import pytest

from larbinpy.database.base import DatabaseError, Unavailable, is_server
from larbinpy.database.maintenance import PIECE, optimize, rebuild, verify
from larbinpy.database.preparation import Gone
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.databases import Database

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


@pytest.fixture(name="filled")
def _filled(database: Database) -> Database:
    writer = Writer(database.where)
    writer.write(PAGES)
    copy = prepared("http://a.example/copy", "text number1 of a page", title="Title 1")
    writer.write([copy, Gone(PAGES[5].url, PAGES[5].fetched, 410)])
    while writer.tend():
        pass
    writer.close()
    return database


def test_a_sound_database_has_no_trouble(filled: Database) -> None:
    assert verify(filled.where, quiet) == []


def test_rebuild_makes_the_same_index(filled: Database) -> None:
    words = ("number7", "way7", "text", "title")
    before = [filled.pages(word) for word in words]
    assert rebuild(filled.where, quiet) == 39
    assert [filled.pages(word) for word in words] == before
    assert verify(filled.where, quiet) == []
    writer = Writer(filled.where)
    writer.write([prepared(PAGES[7].url, "other", at="2027-01-01T00:00:00Z")])
    writer.close()
    assert filled.pages("number7") == []
    assert verify(filled.where, quiet) == []


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            "UPDATE page SET title = 'Quite another' WHERE id = 3",
            "http://a.example/2: the index has other words than the page",
        ),
        ("UPDATE meta SET value = 0 WHERE key = 'segmenter'", "words of version 0"),
        ("UPDATE page SET indexed = NULL WHERE id = 3", "1 pages are not in the index"),
    ],
)
def test_verify_sees_damage_and_rebuild_repairs_it(
    filled: Database, damage: str, says: str
) -> None:
    filled.execute(damage)
    lines = verify(filled.where, quiet)
    assert any(says in line for line in lines), lines
    assert not any("\n" in line for line in lines)
    rebuild(filled.where, quiet)
    assert verify(filled.where, quiet) == []


def test_verify_sees_lost_contents(filled: Database) -> None:
    filled.execute("DELETE FROM content WHERE page = 3")
    filled.execute("UPDATE content SET text = x'00' WHERE page = 4")
    lines = verify(filled.where, quiet)
    assert "1 pages have no content" in lines
    assert "http://a.example/3: its text in the database is damaged (not 22 bytes)" in lines
    assert rebuild(filled.where, quiet) == 39


def test_a_rebuild_that_is_stopped_leaves_the_old_index(filled: Database) -> None:
    writer = Writer(filled.where)
    writer.write([prepared(f"http://b.example/{n}", f"b{n}", title=f"{n}") for n in range(PIECE)])
    writer.close()

    def stop(what: str, done: int, total: int) -> None:
        assert filled.pages("number7") == [8]  # searches go on
        if done == PIECE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild(filled.where, stop)
    assert verify(filled.where, quiet) == []
    optimize(filled.where, quiet)
    assert verify(filled.where, quiet) == []
    assert rebuild(filled.where, quiet) == 39 + PIECE


def test_optimize_brings_in_anchors(filled: Database) -> None:
    writer = Writer(filled.where)
    writer.write([prepared("http://a.example/last", links=((PAGES[1].url, "late"),))])
    writer.close()
    optimize(filled.where, quiet)
    assert filled.pages("late") == [2]
    assert verify(filled.where, quiet) == []


@pytest.mark.parametrize("work", [rebuild, verify, optimize])
def test_care_needs_a_database(database: Database, work: Callable[..., object]) -> None:
    with pytest.raises(DatabaseError, match=r"there is no database|an empty database"):
        work(database.where, quiet)


@pytest.mark.parametrize("work", [rebuild, verify, optimize])
def test_care_while_a_process_fills_the_database(
    database: Database, work: Callable[..., object]
) -> None:
    """A file has one writer; those of a server write in turns."""
    with closing(Writer(database.where)) as writer:
        if is_server(database.where):
            work(database.where, quiet)
            writer.write([PAGES[0]])
        else:
            with pytest.raises(Unavailable, match="in use"):
                work(database.where, quiet)
