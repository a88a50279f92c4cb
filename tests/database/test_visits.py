"""The effects of visits on a page and on the list of changes: its text, 304, 404, redirects."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from larbinpy.database.preparation import Difference, Gone, Unchanged
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.databases import Database

A, B, C = (f"http://a.example/{name}" for name in "abc")

Kinds = Callable[[str], list[str]]


def at(day: int, hour: int = 8) -> str:
    return f"2026-11-{day:02}T{hour:02}:00:00Z"


@pytest.fixture
def writer(database: Database) -> Iterator[Writer]:
    writer = Writer(database.where)
    yield writer
    writer.close()


@pytest.fixture
def kinds(database: Database, writer: Writer) -> Kinds:
    """Return the kinds of the changes of a page, the oldest first."""
    question = (
        "SELECT kind FROM change JOIN page ON page.id = change.page WHERE url = ? ORDER BY at"
    )
    return lambda url: database.rows(question, url)


# Texts.


def test_a_page_that_alternates_is_reported_once(writer: Writer, kinds: Kinds, row: Any) -> None:
    for day, text in enumerate(("one", "two", "one", "two", "one"), 1):
        writer.write([prepared(A, text, at=at(day))])
    assert kinds(A) == ["new", "changed"]
    # The copy is the last one, although its text is not new.
    assert row("visits, changes, changed, fetched") == (5, 1, at(2), at(5))
    writer.write([prepared(A, "three", at=at(6)), prepared(A, "one", at=at(7))])
    assert kinds(A) == ["new", "changed", "changed"]


def test_visits_of_one_transaction_know_its_texts(writer: Writer, kinds: Kinds) -> None:
    texts = ("one", "two", "one", "two")
    writer.write([prepared(A, text, at=at(day)) for day, text in enumerate(texts, 1)])
    assert kinds(A) == ["new", "changed"]


def test_a_text_of_long_ago_is_new_again(writer: Writer, kinds: Kinds) -> None:
    texts = [f"text {number}" for number in range(11)]
    for day, text in enumerate([*texts, texts[1], texts[0]], 1):
        writer.write([prepared(A, text, at=at(day))])
    # The first one is the eleventh from the end: forgotten.
    assert kinds(A) == ["new", *["changed"] * 11]


def test_a_text_that_was_there_before_the_page_went(writer: Writer, kinds: Kinds, row: Any) -> None:
    writer.write([prepared(A, "one", at=at(1)), Gone(A, at(2), 410)])
    writer.write([prepared(A, "two", at=at(3)), prepared(A, "one", at=at(4))])
    assert kinds(A) == ["new", "gone", "back"]
    assert row("changes, changed") == (1, at(3))


def test_the_text_that_a_page_came_back_with_is_known(writer: Writer, kinds: Kinds) -> None:
    writer.write([prepared(A, "one", at=at(1)), Gone(A, at(2), 410)])
    writer.write([prepared(A, text, at=at(day)) for day, text in ((3, "two"), (4, "three"))])
    writer.write([prepared(A, "two", at=at(5))])
    assert kinds(A) == ["new", "gone", "back", "changed"]


def test_another_page_may_have_the_same_text(writer: Writer, kinds: Kinds) -> None:
    writer.write([prepared(A, "one", title="A", at=at(1)), prepared(B, "two", at=at(1))])
    writer.write([prepared(B, "one", at=at(2))])
    assert kinds(B) == ["new", "changed"]


# 304.


def test_an_unchanged_page_is_a_visit(writer: Writer, database: Database, row: Any) -> None:
    writer.write([prepared(A, "words", at=at(1), etag="x", status=203), Unchanged(A, at(2))])
    expected = (2, 0, at(1), at(2), "x", 203, None)
    assert row("visits, changes, changed, fetched, etag, status, gone") == expected
    assert database.pages("words") == [1]
    writer.write([Unchanged(A, at(1)), Unchanged(B, at(2))])
    assert row("visits, fetched") == (2, at(2))
    assert database.rows("SELECT url FROM page") == [A]


def test_an_unchanged_page_comes_back(
    writer: Writer, database: Database, kinds: Kinds, row: Any
) -> None:
    writer.write([prepared(A, "words", at=at(1)), prepared(B, "words", at=at(1))])
    writer.write([Gone(A, at(2), 410), Unchanged(A, at(3))])
    assert kinds(A) == ["new", "gone", "back"]
    assert row("gone, missing, status") == (None, None, 200)
    # The other one has taken its place.
    assert database.rows("SELECT same_as FROM page ORDER BY id") == [2, None]
    writer.write([Gone(B, at(4), 410)])
    assert database.pages("words") == [1]


def test_a_page_that_comes_back_unchanged_is_the_original_again(
    writer: Writer, database: Database
) -> None:
    """The page that declares it as canonical is its copy again."""
    whole = prepared(A, "whole and part", title="T")
    writer.write([whole, prepared(B, "part", title="T", canonical=A)])
    writer.write([Gone(A, at(24), 410), Unchanged(A, at(25))])
    assert database.pages("whole OR part") == [1]
    assert database.rows("SELECT same_as FROM page ORDER BY id") == [None, 1]


# Pages without their text.


@pytest.mark.parametrize("text", ["", "Home About"])
def test_a_page_that_is_empty_for_once_keeps_its_text(
    writer: Writer, database: Database, kinds: Kinds, row: Any, text: str
) -> None:
    """What stood around its text is none."""
    full = partial(prepared, A, "walrus tunnels are open", rest="Home About Imprint")
    writer.write([full(at=at(1), etag="full"), prepared(A, text, at=at(2), etag="empty")])
    assert database.pages("walrus") == [1]
    assert row("missing, fetched, visits, changes, etag") == (at(2), at(2), 2, 0, "full")
    writer.write([full(at=at(3), etag="full")])
    assert kinds(A) == ["new"]
    assert row("missing, visits") == (None, 3)


def test_a_page_that_is_empty_a_day_later_has_changed(
    writer: Writer, database: Database, kinds: Kinds
) -> None:
    writer.write([prepared(A, "walrus", at=at(1)), prepared(A, at=at(2)), prepared(A, at=at(26))])
    assert database.pages("walrus") == []
    assert kinds(A) == ["new", "changed"]


def test_a_shorter_text_is_a_change(writer: Writer, kinds: Kinds) -> None:
    writer.write(
        [prepared(A, "one two three", at=at(1), rest="Home"), prepared(A, "six", at=at(2))]
    )
    assert kinds(A) == ["new", "changed"]


# 404 and 410.


def test_a_first_404_keeps_the_copy(writer: Writer, database: Database, row: Any) -> None:
    writer.write([prepared(A, "words", at=at(1)), Gone(A, at(2), 404)])
    assert database.pages("words") == [1]
    assert row("missing, gone, status, fetched, visits") == (at(2), None, 404, at(2), 2)
    assert database.rows("SELECT kind FROM change") == ["new"]


def test_404_again_within_a_day_keeps_the_copy_and_after_a_day_not(
    writer: Writer, database: Database, kinds: Kinds, row: Any
) -> None:
    writer.write([prepared(A, "words", at=at(1)), Gone(A, at(2), 404)])
    writer.write([Gone(A, at(2, 20), 404), Gone(A, at(3, 7), 404)])
    assert database.pages("words") == [1]
    writer.write([Gone(A, at(3, 8), 404)])
    assert database.pages("words") == []
    assert kinds(A) == ["new", "gone"]
    assert row("missing, gone, visits") == (at(2), at(3, 8), 5)


@pytest.mark.parametrize("found", ["page", "unchanged"])
def test_a_page_that_was_missing_for_a_moment(
    writer: Writer, database: Database, kinds: Kinds, row: Any, found: str
) -> None:
    writer.write([prepared(A, "words", at=at(1)), Gone(A, at(2), 404)])
    page = prepared(A, "words", at=at(3)) if found == "page" else Unchanged(A, at(3))
    writer.write([page, Gone(A, at(4), 404)])
    assert database.pages("words") == [1]
    assert kinds(A) == ["new"]
    assert row("missing") == at(4)


def test_410_needs_no_second_visit(writer: Writer, database: Database, kinds: Kinds) -> None:
    writer.write([prepared(A, "words", at=at(1)), Gone(A, at(2), 404), Gone(A, at(2, 9), 410)])
    assert database.pages("words") == []
    assert kinds(A) == ["new", "gone"]


def test_a_row_that_went_missing_in_the_future(writer: Writer, row: Any) -> None:
    """The clock was wrong, and was set back."""
    writer.write([prepared(A, "words", at=at(1)), Gone(A, "2031-01-01T00:00:00Z", 404)])
    writer.write([Gone(A, at(2), 404)])
    assert row("missing, gone") == (at(2), None)
    writer.write([Gone(A, at(3), 404)])
    assert row("gone") == at(3)


# Redirects.


@pytest.mark.parametrize("status", [301, 308])
def test_a_page_moves_to_one_that_is_there(
    writer: Writer, database: Database, kinds: Kinds, row: Any, status: int
) -> None:
    writer.write([prepared(A, "words", at=at(1)), prepared(B, "other", at=at(1))])
    writer.write([Gone(A, at(2), status, B)])
    assert database.pages("words OR other") == [2]
    assert kinds(A) == ["new", "moved"]
    assert row("gone, moved_to") == (at(2), B)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_page_moves_once_its_target_is_there(
    writer: Writer, database: Database, kinds: Kinds, row: Any, at_once: bool
) -> None:
    writer.write([prepared(A, "words", at=at(1))])
    moved, target = Gone(A, at(2), 301, B), prepared(B, "words", at=at(2, 9))
    if at_once:
        writer.write([moved, target])
    else:
        writer.write([moved])
        assert database.pages("words") == [1]
        assert kinds(A) == ["new"]
        writer.write([target])
    assert database.rows("SELECT target FROM change WHERE kind = 'moved'") == [B]
    # The target was a copy of the old page for a moment.
    assert database.pages("words") == [2]
    assert (kinds(A), kinds(B)) == (["new", "moved"], ["new"])
    assert row("gone, moved_to, same_as") == (at(2, 9), B, None)
    assert row("gone, same_as", B) == (None, None)


def test_a_page_does_not_move_to_one_that_is_missing(
    writer: Writer, database: Database, kinds: Kinds
) -> None:
    writer.write([prepared(A, "words", at=at(1)), prepared(B, "other", at=at(1))])
    writer.write([Gone(B, at(2), 404), Gone(A, at(2), 301, B)])
    assert database.pages("words") == [1]
    writer.write([Unchanged(B, at(2, 9))])
    assert database.pages("words") == []
    assert kinds(A) == ["new", "moved"]


@pytest.mark.parametrize("status", [301, 302, 303, 307])
def test_a_redirect_to_elsewhere_counts_on_the_second_visit(
    writer: Writer, database: Database, kinds: Kinds, status: int
) -> None:
    writer.write([prepared(A, "words", at=at(1)), Gone(A, at(2), status, "http://b.example/")])
    assert database.pages("words") == [1]
    writer.write([Gone(A, at(3), status, "http://b.example/")])
    assert database.pages("words") == []
    assert kinds(A) == ["new", "moved"]


def test_a_redirect_that_may_pass_does_not_move_a_page_to_one_that_is_there(
    writer: Writer, database: Database
) -> None:
    writer.write([prepared(A, "words", at=at(1)), prepared(B, "other", at=at(1))])
    writer.write([Gone(A, at(2), 302, B), prepared(B, "others", at=at(2))])
    assert database.pages("words") == [1]


def test_a_redirect_to_itself_says_nothing(writer: Writer, database: Database, row: Any) -> None:
    writer.write([prepared(A, "words", at=at(1))])
    writer.write([Gone(A, at(day), 301, A) for day in (2, 3, 4)])
    assert database.pages("words") == [1]
    assert row("visits, missing, moved_to") == (1, None, None)


def test_a_page_that_moved_comes_back(writer: Writer, database: Database, row: Any) -> None:
    writer.write([prepared(A, "words", at=at(1)), prepared(B, "other", at=at(1))])
    writer.write([Gone(A, at(2), 301, B), Gone(A, at(3), 301, C)])
    assert row("gone, moved_to") == (at(2), C)
    writer.write([prepared(A, "words", at=at(4))])
    assert database.pages("words") == [1]
    assert row("gone, missing, moved_to") == (None, None, None)


def test_all_that_moved_to_a_page_leave_together(writer: Writer, database: Database) -> None:
    writer.write([prepared(url, url[-1], at=at(1)) for url in (A, B)])
    writer.write([Gone(url, at(2), 301, C) for url in (A, B)])
    writer.write([prepared(C, "c", at=at(2))])
    assert database.rows("SELECT url FROM page WHERE gone IS NULL") == [C]
    assert database.rows("SELECT kind FROM change WHERE kind = 'moved'") == ["moved"] * 2


def test_a_page_that_asks_not_to_be_indexed_leaves_at_once(
    writer: Writer, database: Database, kinds: Kinds
) -> None:
    writer.write([prepared(A, "words", at=at(1)), prepared(B, "words", at=at(1))])
    writer.write([Gone(A, at(2), 200), Gone(B, at(2), 304)])
    assert database.pages("words") == []
    assert (kinds(A), kinds(B)) == (["new", "gone"], ["new", "gone"])


def test_what_a_change_has_changed_is_kept(writer: Writer, database: Database) -> None:
    """Of the latest changes; not of a page that is new or back."""
    same = "One. Two!\nThree?"
    for hour in range(1, 13):
        text = f"{same} The {hour}. 第{hour}。同じ。"
        writer.write([prepared(A, text, at=at(hour), title="T")])
    with closing(database.finder(lambda: 0.0)) as finder:
        told = [finder.difference(change) for change in finder.history(A)]
    assert told[:2] == [None, None] and len([each for each in told if each]) == 10
    assert told[-1] == Difference(["The 11.", "第11。"], ["The 12.", "第12。"])


def test_a_sentence_that_moved_is_no_difference() -> None:
    assert Difference.of("A. B. B.", "B. A. C.") == Difference(["B."], ["C."])
