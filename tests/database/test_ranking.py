"""The questions that a search asks of the index, and how it ranks the pages that it gets."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from larbinpy.database.base import AllOf, Condition, Wish, Within
from larbinpy.database.ranking import CANDIDATES, Matches, Ranked, Scored, find
from larbinpy.database.search.query import Item
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
