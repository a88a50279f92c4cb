"""The questions that a search asks of the index, and how it ranks the pages that it gets."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from larbinpy.database.base import AllOf, AnyOf, Condition, Wish, Within
from larbinpy.database.ranking import CANDIDATES, Late, Matches, Ranked, Scored, find
from larbinpy.database.search.query import Form, Item
from tests.support.questions import item, query


@dataclass
class FakeIndex:
    """Pages 1 to `total` match, 1 to `titled` by titles and links, and `named` by their names."""

    total: int
    titled: int = 0
    named: tuple[int, ...] = ()
    #: "count" for matches that were counted, and "all", "titles" or "names" for scores of some.
    asked: list[str] = field(default_factory=list)

    def match(self, condition: Condition, until: float) -> Matches:
        self.asked.append("count")
        return Matches(self.total, condition=condition)

    def best(
        self, condition: Condition, n: int, until: float, among: Matches | None = None
    ) -> Scored:
        # What adds to the score comes last.
        condition = condition.parts[-1] if isinstance(condition, AllOf) else condition
        if not isinstance(condition, Within):
            kind, pages = "all", list(range(self.total, 0, -1))
        elif isinstance(condition.part, Item):
            kind, pages = "names", list(self.named)
        else:
            kind, pages = "titles", list(range(self.titled, 0, -1))
        self.asked.append(kind)
        return [(page, 1.0) for page in pages[:n]]

    def some(self, condition: Condition, n: int, until: float) -> Scored:
        self.asked.append("some")
        return [(page, 0.0) for page in range(self.total, 0, -1)[:n]]

    def listed(self, until: float) -> Matches:
        raise NotImplementedError

    def has(self, page: int, condition: Condition, until: float) -> bool:
        raise NotImplementedError

    def rows(self, statement: str, arguments: Sequence[Any], until: float, /) -> list[Any]:
        self.asked.append("newest")
        _, _, n = statement.rpartition(" ")
        return [(page,) for page in range(self.total, 0, -1)[: int(n)]]


MANY = CANDIDATES * 3


def ranked(index: FakeIndex, *words: str | Item, wish: Wish | None = None) -> Ranked:
    return find(index, query(*words), wish or Wish(), ["en"], lambda: 0.0)


def test_few_matches_are_all_scored() -> None:
    index = FakeIndex(total=3, titled=2, named=(1,))
    found = ranked(index, "water")
    assert (found.total, found.cut) == (3, False)
    assert found.pages[0][0] == 1
    assert index.asked == ["count", "all", "titles", "names"]


def test_beginnings_in_very_many_titles_are_not_counted() -> None:
    index = FakeIndex(total=MANY, titled=MANY - 1, named=(7,))
    found = ranked(index, "wa*")
    assert (found.total, found.cut) == (CANDIDATES + 1, True)
    assert [page for page, _ in found.pages[:3]] == [7, MANY - 1, MANY - 2]
    assert index.asked == ["titles", "names"]


def test_beginnings_in_few_titles_are_counted() -> None:
    index = FakeIndex(total=MANY, titled=5)
    found = ranked(index, "wa*")
    assert (found.total, found.cut) == (MANY, True)
    # Those in titles come first, then the newest others.
    assert [page for page, _ in found.pages[:6]] == [5, 4, 3, 2, 1, MANY]
    assert index.asked == ["titles", "names", "count", "titles", "names", "some"]


def test_beginnings_are_counted_where_the_number_or_the_date_decides() -> None:
    for wish, last in ((Wish(facets=True), "names"), (Wish(sort="date"), "newest")):
        index = FakeIndex(total=MANY, titled=MANY)
        found = ranked(index, "wa*", wish=wish)
        assert (found.total, found.cut) == (MANY, True)
        assert (index.asked[0], index.asked[-1]) == ("count", last)


def test_a_word_with_a_beginning_is_counted_first() -> None:
    index = FakeIndex(total=9, titled=9)
    assert ranked(index, "blue", "wa*").total == 9
    assert index.asked[0] == "count"


def test_a_rare_word_among_frequent_ones_decides() -> None:
    """All its pages are scored: there are fewer than of the others."""
    index = FakeIndex(total=MANY, titled=3)
    ranked(index, item("to", common=True), "water")
    assert index.asked == ["count", "all", "titles", "names"]


def test_words_that_are_frequent_everywhere_are_ranked_by_titles() -> None:
    index = FakeIndex(total=MANY, titled=3, named=(2,))
    found = ranked(index, item("to", common=True), item("be", common=True))
    assert (found.total, found.cut) == (MANY, True)
    assert [page for page, _ in found.pages[:4]] == [2, 3, 1, MANY]
    assert index.asked == ["count", "titles", "names", "some"]


def word(text: str) -> Item:
    """A word with one form, or the beginning of a word that ends in "*"."""
    return Item(text, (Form((text,), text.endswith("*")),))


def words_in(condition: Condition) -> list[str]:
    """The words of a condition."""
    match condition:
        case Item():
            return [condition.forms[0].tokens[0]]
        case Within(_, part):
            return words_in(part)
        case AllOf(parts) | AnyOf(parts):
            return [word for part in parts for word in words_in(part)]


@dataclass
class WordIndex(FakeIndex):
    """So many pages match each word, the first ones; all others of a condition match none.

    Conditions with a word of `late` are not answered in time.
    """

    totals: dict[str, int] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    conditions: list[tuple[str, list[str], float]] = field(default_factory=list)

    def _number(self, condition: Condition) -> int:
        match condition:
            case Item():
                return self.totals.get(condition.forms[0].tokens[0], 0)
            case Within():
                return 0
            case AllOf(parts):
                return min(map(self._number, parts))
            case AnyOf(parts):
                return max(map(self._number, parts))

    def match(self, condition: Condition, until: float) -> Matches:
        self.conditions.append((type(condition).__name__, words_in(condition), until))
        if self.late & {*words_in(condition)}:
            raise Late
        return Matches(self._number(condition), condition=condition)

    def best(
        self, condition: Condition, n: int, until: float, among: Matches | None = None
    ) -> Scored:
        if self.late & {*words_in(condition)}:
            raise Late
        return [(page, 1.0 / page) for page in range(1, self._number(condition) + 1)][:n]

    def has(self, page: int, condition: Condition, until: float) -> bool:
        return page <= self._number(condition)


def test_steps_end_at_their_shares_of_the_time() -> None:
    index = WordIndex(0, totals={"blue": 3}, late=frozenset({"wa*"}))
    found = ranked(index, word("blue"), word("wa*"), wish=Wish(limit=10.0))
    # Beginnings of words take longest; without them the words are ranked.
    assert (found.total, found.cut, found.pages[0][0]) == (3, True, 1)
    assert index.conditions == [
        ("AllOf", ["blue", "wa*"], 1.0),
        ("AllOf", ["blue"], 6.0),
    ]
    index = WordIndex(0, totals={"blue": 3}, late=frozenset({"blue"}))
    assert ranked(index, word("blue"), wish=Wish(limit=10.0)) == Ranked(cut=True)
    assert index.conditions[0] == ("AllOf", ["blue"], 4.0)
    assert ranked(index, word("blue"), word("wa*")).pages == []


def test_what_could_not_be_counted_is_ranked_by_titles() -> None:
    index = WordIndex(2, late=frozenset({"wa*"}))
    found = ranked(index, word("wa*"))
    assert (found.total, found.cut) == (2, True)
    assert [page for page, _ in found.pages] == [2, 1]
    assert index.asked == ["some"]


def test_without_a_page_that_has_all_words_those_with_most_of_them() -> None:
    index = WordIndex(0, totals={"blue": 4, "water": 2})
    found = ranked(index, *map(word, ("blue", "water", "gone")))
    assert (found.total, found.cut, found.missing) == (4, False, ["gone"])
    assert [item.text for item in found.absent] == ["gone"]
    # Those with both words, then those with one of them.
    assert [page for page, _ in found.pages] == [1, 2, 3, 4]
    assert [kind for kind, _, _ in index.conditions] == ["AllOf", *["Item"] * 3, *["AnyOf"] * 2]


def test_of_many_words_those_of_the_rarest_that_are_not_too_many() -> None:
    counts = {f"w{number}": 1000 * number for number in range(1, 6)}
    index = WordIndex(0, totals={**counts, "w6": 1})
    found = ranked(index, *map(word, (*counts, "w6", "gone")))
    kind, taken, _ = index.conditions[-1]
    # 1 + 1,000 + 2,000; with another 3,000 there would be more than are scored.
    assert (kind, sorted(taken)) == ("AnyOf", ["w1", "w2", "w6"])
    assert (found.total, found.cut) == (2000, True)
    few = WordIndex(0, totals=dict.fromkeys(counts, 10))
    assert not ranked(few, *map(word, (*counts, "w6", "gone"))).cut
    one = WordIndex(0, totals={"w1": CANDIDATES + 1})
    found = ranked(one, *(word(f"w{number}") for number in range(1, 8)))
    assert (found.total, found.cut) == (CANDIDATES + 1, True)


@pytest.mark.parametrize(("number", "asked"), [(5, 5), (6, 1)])
def test_combinations_are_of_few_words(number: int, asked: int) -> None:
    names = [f"w{each}" for each in range(number)]
    index = WordIndex(0, totals=dict.fromkeys(names, 3))
    ranked(index, *map(word, (*names, "gone")))
    assert [kind for kind, _, _ in index.conditions].count("AnyOf") == asked


def test_pages_that_are_shown_later_are_ranked_too() -> None:
    index = FakeIndex(total=3000)
    pages = ranked(index, "water", wish=Wish(n=10, page=3)).pages
    assert len(pages) == 10 * 3 + 20
    assert len(ranked(index, "water", wish=Wish(n=10, page=500)).pages) == 1000 + 20
    assert len(ranked(index, "water").pages) == 30
