"""The writer of a database: rows, history, copies, anchors, positions."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from larbinpy.database.maintenance import verify
from larbinpy.database.preparation import Gone, Unchanged, Visit
from larbinpy.database.writer import Writer
from larbinpy.storage.spool import Position
from tests.support.databasepages import prepared
from tests.support.databases import Database

A, B, C = (f"http://a.example/{name}" for name in "abc")
T1, T2, T3 = (f"2026-11-2{day}T08:00:00Z" for day in (1, 2, 3))

Ask = Callable[..., list[Any]]
Find = Callable[[str], list[str]]


@pytest.fixture
def writer(database: Database) -> Iterator[Writer]:
    writer = Writer(database.where)
    yield writer
    writer.close()


@pytest.fixture
def ask(database: Database, writer: Writer) -> Ask:
    """Return the rows of a query of a reader; of one column, its values."""
    return database.rows


@pytest.fixture
def find(database: Database, writer: Writer) -> Find:
    """Return the last letters of the URLs of the pages that the index finds."""

    def found(words: str) -> list[str]:
        pages = database.pages(words)
        urls = [database.rows("SELECT url FROM page WHERE id = ?", page)[0] for page in pages]
        return sorted(url[-1] for url in urls)

    return found


def drain(writer: Writer) -> None:
    while writer.tend():
        pass


def test_a_page_is_a_row_its_content_and_its_words(writer: Writer, ask: Ask, find: Find) -> None:
    writer.write([prepared(A, "Some text.", title="A title", rest="menu", headings=("Top",))])
    assert ask("SELECT url, title, visits, changes, first_seen FROM page") == [
        (A, "A title", 1, 0, "2026-11-23T08:00:00Z")
    ]
    assert ask("SELECT name FROM host") == ["a.example"]
    assert ask("SELECT kind FROM change") == ["new"]
    for query in ("some text", "title:title", "heading:top", "rest:menu", "url:example"):
        assert find(query) == ["a"], query
    assert find("title:menu") == []


def test_a_page_crawled_again_replaces_itself(writer: Writer, ask: Ask, find: Find) -> None:
    writer.write([prepared(A, "old words", at=T1)])
    writer.write([prepared(A, "new words", at=T2)])
    assert find("words") == ["a"]
    assert (find("old"), find("new")) == ([], ["a"])
    assert ask("SELECT visits, changes, first_seen, changed, fetched FROM page") == [
        (2, 1, T1, T2, T2)
    ]
    writer.write([prepared(A, "new words", at=T3)])
    assert ask("SELECT visits, changes, changed, fetched FROM page") == [(3, 1, T2, T3)]
    assert ask("SELECT at, kind FROM change") == [(T1, "new"), (T2, "changed")]


def test_an_older_page_replaces_nothing(writer: Writer, ask: Ask, find: Find) -> None:
    writer.write([prepared(A, "new", at=T2)])
    writer.write([prepared(A, "old", at=T1), Gone(A, T1, 410)])
    assert (find("old"), find("new")) == ([], ["a"])
    assert ask("SELECT visits, gone FROM page") == [(1, None)]


def test_the_same_batch_twice_changes_nothing(writer: Writer, ask: Ask) -> None:
    batch = [prepared(A, "one", at=T1, links=((B, "to b"),)), prepared(B, "two", at=T1)]
    writer.write(batch)
    dump = "SELECT * FROM page", "SELECT * FROM change", "SELECT page FROM content"
    before = [ask(query) for query in dump]
    writer.write(batch)
    assert [ask(query) for query in dump] == before


def test_a_batch_may_have_a_page_many_times(writer: Writer, ask: Ask, find: Find) -> None:
    writer.write(
        [
            *(prepared(A, "one", at=T1), prepared(B, "other", at=T1), prepared(A, "two", at=T2)),
            *(Gone(A, T2, 410), prepared(A, "three", at=T3)),
        ]
    )
    assert [find(word) for word in ("one", "two", "three", "other")] == [[], [], ["a"], ["b"]]
    assert ask("SELECT kind FROM change WHERE page = 1") == ["new", "changed", "gone", "back"]
    writer.write([prepared(A, "four", at=T3), prepared(A, "five", at=T3)])
    assert [find(word) for word in ("three", "four", "five")] == [[], [], ["a"]]


def test_a_gone_page_leaves_the_index_and_comes_back(writer: Writer, ask: Ask, find: Find) -> None:
    writer.write([prepared(A, "words", at=T1), Gone(B, T1, 410)])
    writer.write([Gone(A, T2, 410)])
    assert find("words") == []
    assert ask("SELECT gone, status, fetched FROM page") == [(T2, 410, T2)]
    writer.write([Gone(A, T3, 404)])
    assert ask("SELECT gone, status, visits FROM page") == [(T2, 404, 3)]
    writer.write([prepared(A, "words", at=T3)])
    assert find("words") == ["a"]
    assert ask("SELECT gone FROM page") == [None]
    assert ask("SELECT kind FROM change") == ["new", "gone", "back"]


def test_a_copy_is_not_indexed_and_takes_the_place_of_the_first(
    writer: Writer, ask: Ask, find: Find
) -> None:
    writer.write([prepared(url, "same words", at=T1) for url in (A, B, C)])
    assert ask("SELECT same_as FROM page ORDER BY id") == [None, 1, 1]
    assert find("words") == ["a"]
    writer.write([Gone(A, T2, 410)])
    assert ask("SELECT same_as FROM page ORDER BY id") == [None, None, 2]
    assert find("words") == ["b"]
    writer.write([prepared(B, "other words", at=T3)])
    assert find("same") == ["c"]
    assert find("words") == ["b", "c"]
    writer.write([prepared(A, "same words", at=T3)])
    assert ask("SELECT same_as FROM page ORDER BY id") == [3, None, None]


def test_pages_of_another_title_are_no_copies(writer: Writer, find: Find) -> None:
    writer.write([prepared(A, "same", title="One"), prepared(B, "same", title="Two")])
    assert find("same") == ["a", "b"]


def test_pages_without_text_are_no_copies(writer: Writer, find: Find) -> None:
    writer.write([prepared(A, rest="menu"), prepared(B, rest="menu")])
    assert find("menu") == ["a", "b"]


@pytest.mark.parametrize("first", [A, B])
def test_a_declared_canonical_url_makes_a_copy(
    writer: Writer, ask: Ask, find: Find, first: str
) -> None:
    pages = [prepared(A, "long part", title="T"), prepared(B, "part", title="T", canonical=A)]
    writer.write(pages if first == A else pages[::-1])
    assert find("long OR part") == ["a"]
    writer.write([Gone(A, "2026-11-24T00:00:00Z", 410)])
    assert find("long OR part") == ["b"]


@pytest.mark.parametrize("first", [A, B])
def test_a_page_that_says_more_is_no_copy_of_its_canonical_url(
    writer: Writer, find: Find, first: str
) -> None:
    """Page 2 of a thread may declare page 1."""
    pages = [prepared(A, "question", title="T"), prepared(B, "answer", title="T", canonical=A)]
    writer.write(pages if first == A else pages[::-1])
    assert find("question OR answer") == ["a", "b"]


def test_a_canonical_url_of_another_site_or_title_does_not_count(
    writer: Writer, find: Find
) -> None:
    other = "http://b.example.org/b"
    writer.write([prepared(A, "long", title="T"), prepared(other, "x", title="T", canonical=A)])
    writer.write([prepared(C, "y", title="Other", canonical=A)])
    assert find("long OR x OR y") == ["a", "b", "c"]


def test_anchors_known_before_the_page_are_indexed_with_it(writer: Writer, find: Find) -> None:
    writer.write([prepared(A, "one", links=((B, "way to b"), (B, "exit")))])
    writer.write([prepared(B, "two")])
    assert find("anchor:way") == ["b"]
    assert find("exit two") == ["b"]


def test_anchors_found_later_are_brought_in(writer: Writer, ask: Ask, find: Find) -> None:
    writer.write([prepared(B, "two", title="Title of b")])
    writer.write([prepared(A, "one", links=((B, "way to b"), (B, "title OF b"), (C, "none")))])
    assert find("way") == []
    drain(writer)
    assert find("way two") == ["b"]
    assert ask("SELECT anchors FROM content WHERE page = 1") == ["way to b"]
    assert not writer.tend()
    # Replaced, it keeps them.
    writer.write([prepared(B, "three", at="2026-11-24T00:00:00Z")])
    assert (find("way three"), find("two")) == (["b"], [])


def test_anchors_are_brought_in_after_a_restart(database: Database) -> None:
    writer = Writer(database.where)
    writer.write([prepared(B, "two")])
    writer.write([prepared(A, "one", links=((B, "way"),))])
    writer.close()
    writer = Writer(database.where)
    drain(writer)
    writer.close()
    assert database.pages("anchor:way") == [1]
    assert database.rows("SELECT count(*) FROM fresh") == [0]


def test_anchors_to_a_copy_lead_to_the_page_that_is_found(writer: Writer, find: Find) -> None:
    writer.write([prepared(A, "same"), prepared(B, "same")])
    writer.write([prepared(C, "c", links=((B, "way"),))])
    drain(writer)
    assert find("way") == ["a"]


def test_a_row_from_the_future_does_not_stay_for_ever(writer: Writer, ask: Ask) -> None:
    """The clock was wrong, and was set back."""
    writer.write([prepared(A, "old words", at="2030-01-01T00:00:00Z")])
    writer.write([prepared(A, "new words", at=T1)])
    assert ask("SELECT fetched, gone FROM page") == [(T1, None)]
    writer.write([prepared(A, "newer words", at="2030-01-01T00:00:00Z")])
    writer.write([Gone(A, T2, 410)])
    assert ask("SELECT fetched, gone FROM page") == [(T2, T2)]


def test_the_position_is_part_of_the_transaction(writer: Writer) -> None:
    assert writer.position("s") is None
    writer.write([prepared(A, "one")], "s", Position(1, 200))
    writer.write([], "s", Position(2, 30), durable=True)
    writer.write([], durable=True)
    assert writer.position("s") == Position(2, 30)
    assert writer.position("other") is None
    bad = prepared(B, "two")
    bad.columns["status"] = "\ud800"
    with pytest.raises(UnicodeEncodeError):
        writer.write([prepared(C, "three"), bad], "s", Position(9, 9))
    assert writer.position("s") == Position(2, 30)
    writer.write([prepared(C, "three")], "s", Position(3, 0))
    assert writer.position("s") == Position(3, 0)


def test_a_position_counts_in_its_own_run_of_the_spool(writer: Writer) -> None:
    writer.write([prepared(A, "one")], "s-1", Position(1, 200))
    assert writer.position("s-1") == Position(1, 200)
    assert writer.position("s-2") == Position(0, 0)
    assert writer.position("t-1") is None
    writer.write([], "s-2", Position(0, 7))
    assert writer.position("s-2") == Position(0, 7)
    assert writer.position("s-1") == Position(0, 0)


def test_bodies(writer: Writer, ask: Ask) -> None:
    writer.write([prepared(A, "one", at=T1, body=b"zstd"), prepared(B, "two")])
    assert ask("SELECT page, zstd, size FROM body") == [(1, b"zstd", 3)]
    writer.write([prepared(A, "one", at=T2)])
    assert ask("SELECT * FROM body") == []


VISITS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 7)), max_size=25)


def test_any_order_of_visits_leaves_a_sound_database(database: Database) -> None:
    """Pages that change, go, move, come back, are copies or declare others; late and repeated."""

    @settings(max_examples=database.examples(40))
    @given(VISITS)
    @example([(0, 0, 0), (1, 3, 0), (3, 3, 3), (1, 0, 3)])
    @example([(0, 1, 1), (0, 1, 6), (1, 1, 1)])
    def check(visits: list[tuple[int, int, int]]) -> None:
        database.empty()
        writer = Writer(database.where)
        urls = set()
        for number, (page, text, kind) in enumerate(visits):
            url = f"http://a.example/{page}"
            day = number + 1 if kind else max(1, number - 3)
            at = f"2026-11-{day:02}T00:00:00Z"
            canonical = f"http://a.example/{text % 4}" if kind == 3 else None
            words = f"text{text % 3}" if text else ""
            link = (f"http://a.example/{text % 4}", f"way{number}")
            others: dict[int, Visit] = {
                4: Gone(url, at, 410),
                5: Gone(url, at, 404),
                6: Gone(url, at, 301, f"http://a.example/{text % 4}"),
                7: Unchanged(url, at),
            }
            made = prepared(url, words, at=at, canonical=canonical, links=(link,))
            writer.write([others.get(kind, made)])
            if number % 5 == 4:
                writer.tend()
            if kind not in others:
                urls.add(url)
        drain(writer)
        writer.close()
        assert verify(database.where, lambda *_: None) == []
        assert set(database.rows("SELECT url FROM page")) == urls

    check()
