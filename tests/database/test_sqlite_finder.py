"""Questions to a database file: what is about the file."""

import os
import resource
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import pytest

from larbinpy.database.base import AllOf, DatabaseError, Wish
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.preparation import Packed
from larbinpy.database.ranking import CANDIDATES, Late, Matches
from larbinpy.database.sqlite import index as sqlite_index
from larbinpy.database.sqlite.file import connect
from larbinpy.database.sqlite.index import FtsIndex, TimeLimit
from larbinpy.loop.clock import clock
from tests.support.databasepages import prepared
from tests.support.finderpages import HARBOUR, PAGES, SEA, ask, fill
from tests.support.questions import query

#: An array in 50,000 others.
DEEP = Packed.of("[" * 50_000)


@cache
def bomb() -> Packed:
    """300 MB that are said to be 10 bytes."""
    return Packed(zlib.compress(bytes(300 << 20)), 10)


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "larbinpy.db"
    fill(str(path), PAGES)
    return path


@pytest.fixture(name="finder")
def _finder(path: Path) -> Iterator[DatabaseFinder]:
    finder = DatabaseFinder(str(path))
    yield finder
    finder.close()


def test_a_question_does_not_keep_the_log_from_being_emptied(
    path: Path, finder: DatabaseFinder
) -> None:
    finder.search(query("water"), Wish())
    pages = finder.pages()
    next(pages)
    writer = sqlite3.connect(path)
    assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    writer.close()


def test_a_folder_that_cannot_be_written(
    path: Path, finder: DatabaseFinder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a medium for reading only: the log's files cannot be made there."""
    finder.close()
    for made in path.parent.glob("*-shm"):
        made.unlink()
    monkeypatch.setattr(os, "access", lambda folder, mode: mode != os.W_OK)
    reading = DatabaseFinder(str(path))
    assert ask(reading, query("salt"))
    assert list(path.parent.glob("*-shm")) == []
    reading.close()


def test_a_file_that_cannot_be_followed_is_written(
    path: Path, finder: DatabaseFinder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not notice, so the finder must."""
    finder.close()
    access = os.access
    monkeypatch.setattr(os, "access", lambda folder, mode: mode != os.W_OK)
    reading = DatabaseFinder(str(path))
    assert reading.search(query("water"), Wish()).total
    for n in range(3):
        monkeypatch.setattr(os, "access", access)
        pages = [prepared(page.url, "Dry land.") for page in PAGES]
        for number in range(100):
            text = f"Fresh water {n} {number}. {'word ' * 400}"
            pages.append(prepared(f"http://n{n}.test/{number}", text))
        fill(str(path), pages)
        monkeypatch.setattr(os, "access", lambda folder, mode: mode != os.W_OK)
        found = reading.search(query("fresh"), Wish())
        assert found.total == 100 * (n + 1)
        assert reading.counts()["pages"] == len(PAGES) + found.total
        assert all(hit.marks for hit in found.hits)
        stored = reading.show(PAGES[0].url)
        assert stored is not None and stored.text == "Dry land."
    path.unlink()
    for _ in range(2):
        with pytest.raises(DatabaseError, match="there is no database"):
            reading.show(SEA)
    reading.close()


def test_a_damaged_text_costs_its_page_the_snippet_only(path: Path, finder: DatabaseFinder) -> None:
    base = connect(path, write=True)
    base.execute("UPDATE content SET text = x'78014b', more = x'00'")
    base.execute("UPDATE page SET summary = 'About it.'")
    base.execute("INSERT INTO body VALUES (1, x'00', 9)")
    base.close()
    (hit,) = finder.search(query("calm"), Wish()).hits
    assert (hit.url, hit.snippet) == (HARBOUR, "About it.")
    with pytest.raises(DatabaseError, match="/sea: its text in the database is damaged"):
        finder.show(SEA)
    with pytest.raises(DatabaseError, match="its body in the database is damaged"):
        finder.body(SEA)


@pytest.mark.parametrize("column", ["text", "more"])
@pytest.mark.parametrize("value", [5, -1, "text", b"\0", 1 << 50, Packed.of("[5]"), bomb, DEEP])
def test_texts_that_a_stranger_made_up(
    path: Path, finder: DatabaseFinder, column: str, value: object
) -> None:
    value = value() if callable(value) else value
    data, size = value if isinstance(value, Packed) else (value, 10)
    base = connect(path, write=True)
    base.execute(f"UPDATE content SET {column} = ?, {column}_size = ?", (data, size))
    base.execute("UPDATE page SET summary = 'About it.'")
    base.close()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (hit,) = finder.search(query("ships"), Wish()).hits  # of an anchor: not in the text
    assert hit.url == HARBOUR
    assert hit.snippet
    with suppress(DatabaseError):
        finder.show(SEA)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_damaged_file_is_said_in_one_line(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(8192)
        file.write(os.urandom(40_000))
    with pytest.raises(DatabaseError, match="damaged"):
        finder = DatabaseFinder(str(path))
        finder.search(query("water"), Wish())


def newest(index: FtsIndex, found: Matches) -> list[Any]:
    statement = f"SELECT id FROM ({found.select}) ORDER BY date DESC, id DESC"
    return index.rows(statement, found.arguments, inf)


@pytest.mark.parametrize("filtered", [{"site": "a.test"}, {"lang": "en"}, {"since": "2026-11-21"}])
@pytest.mark.parametrize("words", [("water",), ("blue", "sea")])
def test_pages_that_pass_filters_are_listed_or_looked_up(
    path: Path, filtered: dict[str, str], words: tuple[str, ...]
) -> None:
    base = connect(path)
    asked = query(*words, **filtered)
    pages, listings = [], []
    for listed in (100, 0):
        index = FtsIndex(base, TimeLimit(base, clock), asked, clock, listed)
        assert index.is_listed == bool(listed)
        pages.append(newest(index, index.match(AllOf(asked.wanted), inf)))
        listings.append(newest(index, index.listed(inf)))
    base.close()
    assert pages[0] and pages[0] == pages[1]
    assert listings[0] and listings[0] == listings[1]


@pytest.mark.parametrize(("listed", "is_few"), [(9, True), (2, True), (1, False)])
def test_few_pages_that_pass_filters_are_listed_and_all_ranked(
    path: Path, listed: int, is_few: bool
) -> None:
    """Two pages pass, and are counted, if they are few."""
    with closing(connect(path)) as base:
        index = FtsIndex(base, TimeLimit(base, clock), query(site="a.test"), clock, listed)
        assert index.is_listed is index.has_few is is_few
        found = index.listed(inf)
        assert found.total == (2 if is_few else CANDIDATES + 1)
        assert len(index.rows(found.select, found.arguments, inf)) == 2


def test_without_filters_pages_are_not_listed(path: Path) -> None:
    with closing(connect(path)) as base:
        index = FtsIndex(base, TimeLimit(base, clock), query("water"), clock)
        assert not index.is_listed and not index.has_few


def test_the_notes_of_a_query_are_in_an_answer_that_was_cut(
    finder: DatabaseFinder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise Late

    asked = replace(query("water"), notes=("cut after 9 words",))
    found = finder.search(asked, Wish())
    assert (found.notes, found.cut, found.total > 0) == (["cut after 9 words"], False, True)
    monkeypatch.setattr(finder._base, "index", late)
    found = finder.search(asked, Wish())
    assert (found.notes, found.cut, found.total) == (["cut after 9 words"], True, 0)


@pytest.mark.parametrize(
    ("dropped", "begun", "due"),
    [(None, True, False), (2, False, False), (3, False, True), (0, True, True), (0, False, False)],
)
def test_an_index_is_joined_after_a_fifth_of_ten_pages_left(
    dropped: int | None, begun: bool, due: bool
) -> None:
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript("CREATE TABLE meta (key, value); CREATE TABLE page (id)")
        base.execute("INSERT INTO page VALUES (10)")
        if dropped is not None:
            base.execute("INSERT INTO meta VALUES ('dropped', ?)", (dropped,))
        joining = sqlite_index.Joining(base)
        joining._begun = begun
        assert joining.is_due is due
