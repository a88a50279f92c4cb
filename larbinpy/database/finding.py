"""Finds the pages of a query, best first, in bounded time; asks the index of a database only.

A page matches if it has all words. The score is that of BM25 over all columns. A page with all
words in its title and the links to it has the score of these columns added. Pages that are named
as the query, by their title or a link, come first. Each of the three is asked for separately,
because an index scores each match: of a query with many matches only the newest `CANDIDATES` are
scored, and those with the words in titles and links. If no page has all words, those with most of
them are ranked.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

from larbinpy.database.base import Wish
from larbinpy.database.matching import All, Any, Condition, essential, named, titled, words
from larbinpy.search.query import Item, Query

#: Matches that are scored at most: scoring takes 1 us each, counting 0.03 us.
CANDIDATES = 20_000
#: Hits that can be paged through.
DEPTH = 1000
#: Of longer queries the pages with most words are found by the sum of scores alone.
_MOST_ITEMS = 5

#: Languages in which titles that are the whole query are looked for.
_LANGUAGES = 5

#: Shares of the time limit at which the steps end.
_COUNTED, _TITLES, _RANKED = 0.3, 0.55, 0.8

#: Page ids with their scores, the best first.
Scored = list[tuple[int, float]]


class Late(Exception):
    """The index has not answered in time."""


class Index(Protocol):
    """The index of a database, seen through the filters and unwanted words of one query.

    A condition is answered until `until`, a time of the clock; then `Late` is raised.
    """

    def count(self, condition: Condition, until: float) -> int:
        """The number of matches; if they are filtered, at most ``CANDIDATES + 1``."""

    def best(self, condition: Condition, n: int, until: float) -> Scored:
        """The best `n` of the newest `CANDIDATES` matches."""

    def newest(self, condition: Condition | None, n: int, until: float) -> Scored:
        """The newest `n` by date; None matches all pages that pass the filters."""

    def some(self, condition: Condition, n: int, until: float) -> Scored:
        """Up to `n` matches in no order, fewer if time runs out. Never `Late`."""

    def listed(self, until: float) -> int:
        """The number of pages that pass the filters, at most ``CANDIDATES + 1``."""

    def has(self, page: int, condition: Condition, until: float) -> bool:
        """Whether the page matches."""


@dataclass(slots=True)
class Ranked:
    """Pages that were found, the best first."""

    pages: Scored = field(default_factory=list)
    #: Number of matches; if `cut`, at least so many.
    total: int = 0
    cut: bool = False
    #: Words that the best page does not have.
    missing: list[str] = field(default_factory=list)
    #: What the pages match, for facets; None if there are filters alone.
    condition: Condition | None = None


def find(
    index: Index,
    query: Query,
    wish: Wish,
    languages: Sequence[str],
    clock: Callable[[], float],
) -> Ranked:
    """Find the pages of `query`, up to the last hit that `wish` shows.

    `languages` of the database's pages, the most frequent first.
    """
    names = named(query.wanted, languages[:_LANGUAGES])
    return _Search(index, wish, names, clock()).find(query)


class _Search:
    def __init__(self, index: Index, wish: Wish, names: Condition | None, start: float) -> None:
        self._index = index
        self._names = names
        self._by_date = wish.sort == "date"
        # Some more than are shown: a few rows of the index may be of pages that are gone.
        self._depth = min(DEPTH, wish.n * wish.page) + 20
        self._counted, self._titles, self._ranked = (
            start + share * wish.limit for share in (_COUNTED, _TITLES, _RANKED)
        )

    def find(self, query: Query) -> Ranked:
        items = essential(query.wanted)
        if not items:
            return Ranked() if query.wanted or query.is_empty else self._list()
        everything: Condition = All(items)
        try:
            total = self._index.count(everything, self._counted)
        except Late:
            return self._hurry(items)
        return self._rank(everything, items, total) if total else self._relax(items)

    def _list(self) -> Ranked:
        """The pages that pass the filters."""
        try:
            total = self._index.listed(self._counted)
            pages = self._index.newest(None, self._depth, self._ranked)
        except Late:
            return Ranked(cut=True)
        return Ranked(pages, total, total > CANDIDATES)

    def _rank(self, everything: Condition, items: tuple[Item, ...], total: int) -> Ranked:
        ranked = Ranked(total=total, cut=total > CANDIDATES, condition=everything)
        try:
            if self._by_date:
                ranked.pages = self._index.newest(everything, self._depth, self._ranked)
                return ranked
            scores = dict(self._index.best(everything, self._depth, self._ranked))
            in_titles = titled(items)
            if in_titles is not None:
                both = All((everything, in_titles))
                scores.update(self._index.best(both, self._depth, self._ranked))
                if self._names is not None:
                    self._lift(scores, All((everything, in_titles, self._names)))
            ranked.pages = sort(scores)
        except Late:
            return self._hurry(items)
        return ranked

    def _lift(self, scores: dict[int, float], condition: Condition) -> None:
        """Lift the pages that match `condition` over the others."""
        most = max(scores.values(), default=0.0)
        for page, score in self._index.best(condition, self._depth, self._ranked):
            scores[page] = most + score

    def _hurry(self, items: tuple[Item, ...]) -> Ranked:
        """Rank the pages with the words in titles; of the others take some."""
        ranked = Ranked(cut=True, condition=All(items))
        in_titles = titled(items)
        if in_titles is not None:
            with suppress(Late):
                ranked.pages = self._index.best(in_titles, self._depth, self._titles)
        known = {page for page, _ in ranked.pages}
        wanted = self._depth - len(known)
        if wanted > 0:
            others = self._index.some(All(items), self._depth, self._ranked)
            ranked.pages += [(page, 0.0) for page, _ in others if page not in known]
        ranked.total = len(ranked.pages)
        return ranked

    def _relax(self, items: tuple[Item, ...]) -> Ranked:
        """Rank the pages with most of the words: no page has them all."""
        ranked = Ranked()
        try:
            present = [item for item in items if self._index.count(item, self._ranked)]
            split = any(
                len(form.tokens) > 1 for item in items if item not in present for form in item.forms
            )
            if split or len(present) > _MOST_ITEMS:
                self._add_any(ranked, items)
            else:
                self._add_most(ranked, present)
            if self._by_date and ranked.condition is not None:
                ranked.pages = self._index.newest(ranked.condition, self._depth, self._ranked)
        except Late:
            ranked.cut = True
        if ranked.pages:
            ranked.missing = self._missing(items, ranked.pages[0][0])
        return ranked

    def _add_most(self, ranked: Ranked, present: list[Item]) -> None:
        """Add the pages with all but one word, then those with all but two ..."""
        for size in range(len(present), 0, -1):
            groups = tuple(All(group) for group in combinations(present, size))
            total = self._index.count(Any(groups), self._ranked)
            if not total:
                continue
            scores = self._index.best(Any(groups), self._depth, self._ranked)
            known = {page for page, _ in ranked.pages}
            ranked.pages += [pair for pair in scores if pair[0] not in known]
            # The pages with more of the words are among these, too.
            ranked.total = total
            ranked.condition = Any(groups)
            ranked.cut |= total > CANDIDATES
            if len(ranked.pages) >= self._depth:
                break

    def _add_any(self, ranked: Ranked, items: tuple[Item, ...]) -> None:
        """Add the pages with any of the words, for the rarest words that are not too many."""
        counts = [(self._index.count(word, self._ranked), word) for word in words(items)]
        counts = sorted((pair for pair in counts if pair[0]), key=lambda pair: pair[0])
        taken: list[Item] = []
        matches = 0
        for count, word in counts:
            if taken and matches + count > CANDIDATES:
                ranked.cut = True
                break
            matches += count
            taken.append(word)
        if taken:
            ranked.condition = Any(tuple(taken))
            ranked.total = self._index.count(ranked.condition, self._ranked)
            ranked.cut |= ranked.total > CANDIDATES
            ranked.pages = self._index.best(ranked.condition, self._depth, self._ranked)

    def _missing(self, items: tuple[Item, ...], page: int) -> list[str]:
        try:
            return [item.text for item in items if not self._index.has(page, item, self._ranked)]
        except Late:
            return []


def sort(scores: dict[int, float]) -> Scored:
    """The best first; of equal ones the newer."""
    return sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))
