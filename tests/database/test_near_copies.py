"""Near copies in the tables: marked or out of the index, and released."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.maintenance import rebuild, verify
from larbinpy.database.preparation import Gone, Prepared
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.databases import Database

A, B, C, D = (f"http://a.example/{name}.html" for name in ("ahorn", "buche", "cedar", "douglasie"))
T1, T2, T3 = (f"2026-11-2{day}T08:00:00Z" for day in (1, 2, 3))

#: A text of 200 words, and some that say the same.
WORDS = [f"word{number}" for number in range(200)]
TEXT = " ".join(WORDS)
#: It has all of that, and says more.
WHOLE = f"{TEXT} {' '.join(f'other{number}' for number in range(300))}"


def changed(*places: int, text: str = TEXT) -> str:
    """`text` with other words at these places."""
    words = text.split()
    for place in places:
        words[place] = f"other{place}"
    return " ".join(words)


def near(url: str, text: str, at: str = T1, **more: Any) -> Prepared:
    return prepared(url, text, at=at, title=more.pop("title", "Trees"), near=True, **more)


Write = Callable[..., None]


@pytest.fixture
def mark(database: Database) -> Write:
    def write(*pages: Prepared | Gone) -> None:
        with closing(Writer(database.where)) as writer:
            writer.write(pages)

    return write


@pytest.fixture
def skip(database: Database) -> Write:
    def write(*pages: Prepared | Gone) -> None:
        with closing(Writer(database.where, skip_near=True)) as writer:
            writer.write(pages)

    return write


def copies(database: Database) -> dict[str, tuple[str | None, str | None]]:
    """The pages that each page is a copy of, and nearly a copy of."""
    rows = database.rows(
        "SELECT p.url, o.url, n.url FROM page p LEFT JOIN page o ON o.id = p.same_as"
        " LEFT JOIN page n ON n.id = p.near ORDER BY p.url"
    )
    return {url: (same_as, near) for url, same_as, near in rows}


def indexed(database: Database) -> list[str]:
    """The pages that the index finds by a word that all of them have."""
    found = [database.rows("SELECT url FROM page WHERE id = ?", n)[0] for n in all_of(database)]
    return sorted(found)


def all_of(database: Database) -> list[int]:
    return list(database.pages("word199"))


@pytest.mark.parametrize("together", [True, False])
def test_a_near_copy_is_marked_and_found(database: Database, mark: Write, together: bool) -> None:
    pages = [near(A, TEXT), near(B, changed(7, 70)), near(C, changed(100))]
    for batch in [pages] if together else [[page] for page in pages]:
        mark(*batch)
    assert copies(database) == {A: (None, None), B: (None, A), C: (None, A)}
    assert indexed(database) == [A, B, C]
    assert verify(database.where, lambda *_: None) == []


@pytest.mark.parametrize("together", [True, False])
def test_a_near_copy_is_skipped(database: Database, skip: Write, together: bool) -> None:
    pages = [near(A, TEXT), near(B, changed(7, 70)), near(C, changed(100))]
    for batch in [pages] if together else [[page] for page in pages]:
        skip(*batch)
    assert copies(database) == {A: (None, None), B: (A, None), C: (A, None)}
    assert indexed(database) == [A]
    assert verify(database.where, lambda *_: None) == []


def test_a_near_copy_has_none_of_its_own(database: Database, mark: Write) -> None:
    """Else a row of small changes would lead from one page to another."""
    middle = changed(*range(0, 180, 14))
    last = changed(*range(0, 180, 14), *range(7, 180, 14))
    mark(near(A, TEXT), near(B, middle), near(C, last))
    assert copies(database) == {A: (None, None), B: (None, A), C: (None, None)}
    mark(Gone(A, T2, 410))
    assert copies(database) == {A: (None, None), B: (None, C), C: (None, None)}


def test_without_keys_nothing_is_looked_for(database: Database, skip: Write) -> None:
    skip(near(A, TEXT), prepared(B, changed(7), title="Trees"))
    skip(prepared(C, changed(8), title="Trees"), near(D, changed(9)))
    assert copies(database) == {A: (None, None), B: (None, None), C: (None, None), D: (A, None)}


def test_another_title_or_a_sentence_more_makes_another_page(
    database: Database, skip: Write
) -> None:
    longer = f"{TEXT} " + " ".join(f"more{number}" for number in range(12))
    skip(near(A, TEXT), near(B, changed(7), title="Shrubs"), near(C, longer))
    assert set(copies(database).values()) == {(None, None)}


def test_a_copy_that_differs_at_last_is_found_again(database: Database, skip: Write) -> None:
    skip(near(A, TEXT), near(B, changed(7)))
    skip(near(B, changed(*range(0, 150, 2)), T2))
    assert copies(database) == {A: (None, None), B: (None, None)}
    assert indexed(database) == [A, B]


@pytest.mark.parametrize("how", ["gone", "other"])
def test_copies_of_a_page_that_goes_are_found(database: Database, skip: Write, how: str) -> None:
    skip(near(A, TEXT), near(B, changed(7)), near(C, changed(100)))
    skip(Gone(A, T2, 410) if how == "gone" else near(A, changed(*range(0, 150, 2)), T2))
    assert copies(database) == {A: (None, None), B: (None, None), C: (B, None)}
    assert [url for url in indexed(database) if url != A] == [B]
    assert verify(database.where, lambda *_: None) == []
    skip(Gone(B, T2, 410))
    assert indexed(database)[-1] == C


def test_copies_of_a_page_that_changes_a_little_stay_copies(
    database: Database, skip: Write
) -> None:
    skip(near(A, TEXT), near(B, changed(7)), near(C, TEXT))
    skip(near(A, changed(50), T2))
    assert copies(database) == {A: (None, None), B: (A, None), C: (A, None)}
    assert indexed(database) == [A]


def test_marks_follow_their_pages(database: Database, mark: Write) -> None:
    mark(near(A, TEXT), near(B, changed(7)), near(C, changed(100)), near(D, TEXT))
    assert copies(database) == {A: (None, None), B: (None, A), C: (None, A), D: (A, None)}
    # An exact copy that is only near now is found, and marked.
    mark(near(A, changed(50), T2))
    assert copies(database) == {A: (None, None), B: (None, A), C: (None, A), D: (None, A)}
    assert indexed(database) == [A, B, C, D]
    mark(Gone(A, T3, 410))
    assert copies(database) == {A: (None, None), B: (None, None), C: (None, B), D: (None, B)}
    assert indexed(database) == [B, C, D]
    assert verify(database.where, lambda *_: None) == []


def test_a_page_that_is_fetched_again_unchanged_stays_what_it_is(
    database: Database, skip: Write
) -> None:
    skip(near(A, TEXT), near(B, changed(7)))
    before = copies(database)
    for at in (T2, T3):
        skip(near(B, changed(7), at), near(A, TEXT, at))
    assert copies(database) == before


def test_copies_of_a_page_that_becomes_a_copy_are_those_of_its_original(
    database: Database, skip: Write
) -> None:
    skip(near(A, TEXT, canonical=D), near(B, changed(7)))
    skip(near(D, WHOLE, T2))
    assert copies(database) == {A: (D, None), B: (D, None), D: (None, None)}
    assert verify(database.where, lambda *_: None) == []


def test_marks_of_a_page_that_becomes_a_copy_are_released(database: Database, mark: Write) -> None:
    mark(near(A, TEXT, canonical=D), near(B, changed(7)))
    mark(near(D, WHOLE, T2))
    assert copies(database) == {A: (D, None), B: (None, None), D: (None, None)}
    assert verify(database.where, lambda *_: None) == []


def test_a_damaged_text_is_no_original(database: Database, mark: Write) -> None:
    mark(near(A, TEXT))
    database.execute("UPDATE content SET text = ?", b"damaged")
    mark(near(B, changed(7)))
    assert copies(database)[B] == (None, None)


def test_a_deleted_original_is_forgotten(database: Database, mark: Write) -> None:
    mark(near(A, TEXT), near(B, changed(7)))
    database.execute("DELETE FROM page WHERE url = ?", A)
    rebuild(database.where, lambda *_: None)
    assert copies(database) == {B: (None, None)}
    assert verify(database.where, lambda *_: None) == []


def test_the_page_says_of_which_it_is_a_near_copy(database: Database, mark: Write) -> None:
    mark(near(A, TEXT), near(B, changed(7)))
    with closing(DatabaseFinder(database.where)) as finder:
        stored = finder.show(B)
    assert stored is not None and (stored.columns["near"], stored.columns["same_as"]) == (A, None)


VISITS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=16
)


def test_any_order_of_visits_leaves_copies_of_originals(database: Database) -> None:
    """Pages that change a little or much, go, declare others; with both settings in turn."""

    @settings(max_examples=database.examples(25))
    @given(VISITS)
    def check(visits: list[tuple[int, int, int, bool]]) -> None:
        database.empty()
        for number, (page, text, kind, skip_near) in enumerate(visits):
            url, at = (A, B, C, D)[page], f"2026-11-{number + 1:02}T00:00:00Z"
            canonical = (A, B, C, D)[text % 4] if kind == 2 else None
            words = changed(text) if text < 4 else changed(*range(text - 4, 150, 2))
            made = near(url, words, at, canonical=canonical)
            with closing(Writer(database.where, skip_near=skip_near)) as writer:
                writer.write([Gone(url, at, 404) if kind == 3 else made])
            assert verify(database.where, lambda *_: None) == []

    check()
