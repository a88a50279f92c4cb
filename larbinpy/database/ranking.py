"""Finds the pages of a query, best first, in bounded time, and the hits as they are shown.

A page matches if it has all words. The score is that of BM25 over all columns. A page with all
words in its title and the links to it has the score of these columns added. Pages that are named
as the query, by their title or a link, come first. Each of the three is asked for separately,
because an index scores each match: of a query with many matches only the newest `CANDIDATES` are
scored, and those with the words in titles and links. Beginnings of words that many pages have, and
words that are frequent everywhere, count in titles and links only: the whole list of pages with
them is read for each count and for each score. If no page has all words, those with most of them
are ranked. If few pages have the words, those that have longer words of which they are a part
follow: compounds of German and its like.

The index of a database is asked alone; `HitReader` then reads the hits, with the same SQL for all
kinds of database.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple, Protocol

from larbinpy.database.base import (
    DATE,
    AllOf,
    AnyOf,
    Condition,
    Found,
    Hit,
    Rows,
    Wish,
    essential,
    has_prefix,
    named,
    one_of,
    parts_of,
    titled,
    unpacked_text,
    words,
)
from larbinpy.database.search.query import Item, Query, forms, neighbours, otherwise, since_of
from larbinpy.database.search.segment import COMPOUNDING
from larbinpy.database.search.snippet import rests, says, snippet

#: Matches that are scored at most: scoring takes 1 us each, counting 0.03 us.
CANDIDATES = 5_000
#: Hits that can be paged through.
DEPTH = 1000
#: Longer queries find the pages with most words by the sum of scores alone.
_MOST_ITEMS = 5

#: Languages in which titles that are the whole query are looked for.
_LANGUAGES = 5

#: Shares of the time limit at which the steps end.
_COUNTED, _TITLES, _RANKED = 0.4, 0.6, 0.8
#: Share for counting if beginnings of words are asked for: too many words begin so, or few.
_BEGUN = 0.1

#: Pages whose texts are read for words that are meant as typed, so many at once.
_CHECKED, _AT_ONCE = 500, 50
_ALL_TEXTS = "summary, anchors, text, text_size, more, more_size, sample, sample_size"
#: Words of which one is taken for a mistyped one.
_NEIGHBOURS = 5
#: Pages with all words below which those with compounds follow, how many of these are read, and
#: the share of the time limit for them.
_FEW, _MOST_COMPOUNDS, _COMPOUNDS = 20, 50, 0.2
_ARE_PARTS = "these have longer words that it is a part of"
#: Letters of a stem that is hardly a part of words by chance, as "tier" is of "formatier".
_TELLING = 6
#: Hits that are put in a new order by the words that they have as typed.
_REORDERED = 30
#: How much words side by side count, where 1 is all words as typed. With more, pages are found
#: less well by the texts of links to them.
_SIDE_BY_SIDE = 0.5

#: Page ids with their scores, the best first.
Scored = list[tuple[int, float]]
#: Hosts and languages that are counted in the answer, and the times since which pages are.
_FACETS = 20
_TIMES = ("1d", "7d", "1m", "1y")


class Late(Exception):
    """The index has not answered in time."""


class Matches(NamedTuple):
    """Pages that pass the filters of a query and match a condition."""

    #: Their number; if they are filtered, at most ``CANDIDATES + 1``.
    total: int
    #: A SELECT of the columns `FOUND` of the newest `CANDIDATES`, and its arguments; "" for none.
    select: str = ""
    arguments: Sequence[Any] = ()
    #: None: all that pass.
    condition: Condition | None = None


#: The columns of the pages that were found.
FOUND = (
    f"page.id AS id, {DATE} AS date, page.host AS host, page.lang AS lang, page.type AS type,"
    " page.fetched AS fetched, page.gone AS gone"
)


class SearchIndex(Protocol):
    """The index of a database, seen through the filters and unwanted words of one query.

    Its methods raise `Late` after `until`, a time of the clock.
    """

    def match(self, condition: Condition, until: float) -> Matches:
        """The pages that match, counted."""

    def listed(self, until: float) -> Matches:
        """The pages that pass the filters."""

    def best(
        self, condition: Condition, n: int, until: float, among: Matches | None = None
    ) -> Scored:
        """The best `n` of the newest `CANDIDATES` matches, without counting them.

        All of these are `among` some, if they are given.
        """

    def some(self, condition: Condition, n: int, until: float) -> Scored:
        """Up to `n` matches, fewer if time runs out. Never `Late`."""

    def has(self, page: int, condition: Condition, until: float) -> bool:
        """Whether the page matches."""

    def rows(self, statement: str, arguments: Sequence[Any], until: float, /) -> Sequence[Any]:
        """The rows of a SELECT."""


@dataclass(slots=True)
class Ranked:
    """Pages that were found, the best first."""

    pages: Scored = field(default_factory=list)
    #: Number of matches; if `cut`, at least so many.
    total: int = 0
    cut: bool = False
    #: Words that the best page does not have.
    missing: list[str] = field(default_factory=list)
    #: Words that no page has.
    absent: list[Item] = field(default_factory=list)
    #: Words that no page has, and what pages write instead.
    instead: dict[Item, Item] = field(default_factory=dict)
    #: The matches that the pages are of, for facets.
    matches: Matches | None = None


def find(
    index: SearchIndex,
    query: Query,
    wish: Wish,
    languages: Sequence[str],
    clock: Callable[[], float],
) -> Ranked:
    """Find the pages of `query`, up to the last hit that `wish` shows.

    `languages` of the database's pages, the most frequent first.
    """
    names = named(query.wanted, languages[:_LANGUAGES])
    is_checked = query.unsaid or any(item.literal for item in query.wanted)
    least = _CHECKED if is_checked else 0
    return _Search(index, wish, names, languages, clock(), least).find(query)


class _Search:
    def __init__(
        self,
        index: SearchIndex,
        wish: Wish,
        names: Condition | None,
        languages: Sequence[str],
        start: float,
        least: int,
    ) -> None:
        """At least `least` pages are ranked."""
        self._languages = languages
        self._begun = start + _BEGUN * wish.limit
        self._index = index
        self._names = names
        self._by_date = wish.sort == "date"
        self._facets = wish.facets
        # Some more than are shown: a few rows of the index may be of pages that are gone.
        self._depth = max(min(DEPTH, wish.n * wish.page) + 20, least)
        self._counted, self._titles, self._ranked = (
            start + share * wish.limit for share in (_COUNTED, _TITLES, _RANKED)
        )

    def find(self, query: Query) -> Ranked:
        items = essential(query.wanted)
        if not items:
            return Ranked() if query.wanted or query.is_empty else self._list()
        try:
            if all(has_prefix((item,)) for item in items) and (many := self._find_in_titles(items)):
                return many
            until = self._begun if has_prefix(items) else self._counted
            matches = self._index.match(AllOf(items), until)
            return self._rank(matches, items) if matches.total else self._relax(items)
        except Late:
            return self._hurry(items)

    def _find_in_titles(self, items: tuple[Item, ...]) -> Ranked | None:
        """Rank beginnings of words, not counted, if many pages have them in titles and links."""
        if self._by_date or self._facets:
            return None
        scores = self._score_titles(items, CANDIDATES)
        if len(scores) < CANDIDATES:
            return None
        return Ranked(sort(scores)[: self._depth], len(scores), cut=True)

    def _list(self) -> Ranked:
        """The pages that pass the filters."""
        try:
            matches = self._index.listed(self._counted)
            return self._ranking(matches, self._newest(matches))
        except Late:
            return Ranked(cut=True)

    def _ranking(self, matches: Matches, pages: Scored) -> Ranked:
        return Ranked(pages, matches.total, matches.total > CANDIDATES, matches=matches)

    def _newest(self, matches: Matches) -> Scored:
        """The newest by date."""
        if not matches.total:
            return []
        statement = (
            f"SELECT id FROM ({matches.select}) AS found ORDER BY date DESC, id DESC"
            f" LIMIT {self._depth}"
        )
        rows = self._index.rows(statement, matches.arguments, self._ranked)
        return [(page, 0.0) for (page,) in rows]

    def _best(self, matches: Matches, also: Condition | None = None) -> Scored:
        """The best of the newest `CANDIDATES` matches, of those that match `also`, which adds to
        the score."""
        if not matches.total or matches.condition is None:
            return []
        if also is None:
            return self._index.best(matches.condition, self._depth, self._ranked, matches)
        among = matches if matches.total <= CANDIDATES else None
        both = AllOf((matches.condition, also))
        return self._index.best(both, self._depth, self._ranked, among)

    def _rank(self, matches: Matches, items: tuple[Item, ...]) -> Ranked:
        if self._by_date:
            return self._ranking(matches, self._newest(matches))
        is_wide = has_prefix(items) or all(item.common for item in items)
        if matches.total > CANDIDATES and is_wide:
            return self._ranking(matches, self._rank_titles(items))
        scores = dict(self._best(matches))
        in_titles = titled(items)
        if in_titles is not None:
            scores.update(self._best(matches, in_titles))
            if self._names is not None:
                self._lift(scores, self._best(matches, self._names))
        return self._ranking(matches, sort(scores))

    def _lift(self, scores: dict[int, float], named: Scored) -> None:
        """Lift the pages that are `named` as the query over the others."""
        most = max(scores.values(), default=0.0)
        scores.update((page, most + score) for page, score in named)

    def _hurry(self, items: tuple[Item, ...]) -> Ranked:
        """Rank what can be ranked, after the matches could not be counted in time."""
        others = tuple(item for item in items if not has_prefix((item,)))
        ranked = Ranked(cut=True)
        if others and len(others) < len(items):
            # Beginnings of words take longest: all words with them are read first.
            with suppress(Late):
                matches = self._index.match(AllOf(others), self._titles)
                ranked = self._ranking(matches, self._best(matches))
                ranked.cut = True
            return ranked
        ranked.pages = self._rank_titles(items)
        ranked.total = len(ranked.pages)
        return ranked

    def _rank_titles(self, items: tuple[Item, ...]) -> Scored:
        """The pages with the words in titles, ranked, and some others."""
        scores: dict[int, float] = {}
        with suppress(Late):
            scores = self._score_titles(items, self._depth)
        if len(scores) < self._depth:
            others = self._index.some(AllOf(items), self._depth, self._ranked)
            scores = dict(others) | scores
        return sort(scores)

    def _score_titles(self, items: tuple[Item, ...], n: int) -> dict[int, float]:
        """Up to `n` pages with the words in titles and links, and those named as the query."""
        in_titles = titled(items)
        if in_titles is None:
            return {}
        scores = dict(self._index.best(in_titles, n, self._ranked))
        if self._names is not None:
            with suppress(Late):
                self._lift(scores, self._index.best(self._names, self._depth, self._ranked))
        return scores

    def _relax(self, items: tuple[Item, ...]) -> Ranked:
        """Rank the pages with most of the words: no page has them all."""
        ranked = Ranked()
        try:
            present = [item for item in items if self._index.match(item, self._ranked).total]
            ranked.absent = [item for item in items if item not in present]
            if found := self._find_instead(items, ranked.absent):
                return found
            split = any(item.parts for item in items if item not in present)
            if split or len(present) > _MOST_ITEMS:
                self._add_any(ranked, items)
            else:
                self._add_most(ranked, present, min(len(present), len(items) - 1))
            if self._by_date and ranked.matches is not None:
                ranked.pages = self._newest(ranked.matches)
        except Late:
            ranked.cut = True
        if ranked.pages:
            ranked.missing = self._missing(items, ranked.pages[0][0])
        return ranked

    def _find_instead(self, items: tuple[Item, ...], absent: Sequence[Item]) -> Ranked | None:
        """Rank the pages that write the `absent` words otherwise; None if they write some in no
        way, or no page has all."""
        others = {item: other for item in absent if (other := self._otherwise(item))}
        if not others or len(others) < len(absent):
            return None
        items = tuple(others.get(item, item) for item in items)
        matches = self._index.match(AllOf(items), self._ranked)
        if not matches.total:
            return None
        ranked = self._rank(matches, items)
        ranked.instead = others
        return ranked

    def _otherwise(self, item: Item) -> Item | None:
        """What most pages write for a word (see `otherwise`)."""
        counts: dict[Item, int] = {}
        for text in () if item.literal else otherwise(item.text):
            other = Item(text, forms(text, self._languages, as_typed=True), item.field)
            counts[other] = self._index.match(other, self._ranked).total
        best = max(counts, key=counts.__getitem__, default=item)
        return best if counts.get(best) else None

    def _add_most(self, ranked: Ranked, present: list[Item], most: int) -> None:
        """Add the pages with `most` of the words, then those with one less ..."""
        for size in range(most, 0, -1):
            groups = tuple(AllOf(group) for group in combinations(present, size))
            matches = self._index.match(AnyOf(groups), self._ranked)
            if not matches.total:
                continue
            known = {page for page, _ in ranked.pages}
            ranked.pages += [pair for pair in self._best(matches) if pair[0] not in known]
            # The pages with more of the words are among these, too.
            ranked.matches = matches
            ranked.total = matches.total
            ranked.cut |= matches.total > CANDIDATES
            if len(ranked.pages) >= self._depth:
                break

    def _add_any(self, ranked: Ranked, items: tuple[Item, ...]) -> None:
        """Add the pages with any of the words, for the rarest words that are not too many."""
        counts = [(self._index.match(word, self._ranked).total, word) for word in words(items)]
        taken: list[Item] = []
        number = 0
        for count, word in sorted(counts, key=lambda pair: pair[0]):
            if taken and number + count > CANDIDATES:
                ranked.cut = True
                break
            if count:
                number += count
                taken.append(word)
        if taken:
            ranked.matches = self._index.match(AnyOf(tuple(taken)), self._ranked)
            ranked.total = ranked.matches.total
            ranked.cut |= ranked.total > CANDIDATES
            ranked.pages = self._best(ranked.matches)

    def _missing(self, items: tuple[Item, ...], page: int) -> list[str]:
        try:
            return [item.text for item in items if not self._index.has(page, item, self._ranked)]
        except Late:
            return []


def sort(scores: dict[int, float]) -> Scored:
    """The best first; of equal ones the newer."""
    return sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))


class HitReader:
    """Reads the columns and texts of pages that were found, through `rows`."""

    def __init__(self, rows: Rows, clock: Callable[[], float]) -> None:
        self._rows = rows
        self._clock = clock

    def read(self, ranked: Ranked, query: Query, wish: Wish, until: float) -> list[Hit]:
        pages = self._alive(ranked.pages)
        if len(pages) < len(ranked.pages) == ranked.total:
            ranked.total = len(pages)
        first = (max(1, wish.page) - 1) * wish.n
        shown = dict(pages[:DEPTH][first : first + wish.n])
        columns = f"url, title, lang, fetched, type, published, {DATE}"
        where, arguments = one_of("page.id", shown)
        rows = self._rows(
            "SELECT page.id, text, text_size, more, more_size, sample, sample_size, summary, "
            f"{columns} FROM page LEFT JOIN content ON content.page = page.id "
            "LEFT JOIN host ON host.id = page.host "
            f"WHERE {where}",
            arguments,
        )
        by_page = {row[0]: row[1:] for row in rows}
        hits = []
        for page, score in shown.items():
            *stored, summary, url, title, lang, fetched, type_, published, date = by_page[page]
            hit = Hit(
                *(url, title or url, score, lang, fetched, type_ or "", published),
                snippet=summary or "",
                date=date,
            )
            # A page that cannot be read, or not in time, is shown by its summary.
            if self._clock() < until:
                with suppress(ValueError):
                    hit.snippet, hit.marks = _passage(stored, hit, query)
            hits.append(hit)
        return hits

    def check(self, ranked: Ranked, query: Query, wish: Wish, until: float) -> None:
        """Leave out pages without a word that is meant as it was typed, and those with an unsaid
        one. If none is, put those first that have the words as typed, and not only other forms of
        them."""
        # Pages that lack a word are none of those that have it.
        literal = [
            item for item in query.wanted if item.literal and item.text not in ranked.missing
        ]
        if literal or query.unsaid:
            self._keep(ranked, literal, query.unsaid, wish.n * wish.page, until)
        elif wish.sort == "rank":
            self._prefer(ranked, query, until)

    def add_compounds(
        self,
        index: SearchIndex,
        ranked: Ranked,
        query: Query,
        wish: Wish,
        languages: Sequence[str],
    ) -> list[str]:
        """Put behind few pages with all words those with compounds of them; return notes.

        The other part of a compound is a word of the pages, too, unless the word is long.
        """
        items, until = essential(query.wanted), self._clock() + _COMPOUNDS * wish.limit
        wide = tuple(replace(each, forms=(*each.forms, *each.compounds)) for each in items)
        known = {} if ranked.missing else dict(ranked.pages)
        notes: list[str] = []
        if wide == items or ranked.cut or ranked.instead or len(known) >= _FEW:
            return notes
        with suppress(Late):
            matches = index.match(AllOf(wide), until)
            scored = index.best(AllOf(wide), len(known) + _MOST_COMPOUNDS, until, matches)
            pages = [page for page, _ in scored if page not in known][:_MOST_COMPOUNDS]
            words = _Words(index, languages, until)
            texts = self._texts(pages, "NULL, NULL, text, text_size, page.lang")
            told = {page for page in texts if self._says(page, items, texts, words)}
            if told:
                more = [page for page in pages if page in told]
                notes += (f"no page has {each.text}: {_ARE_PARTS}" for each in ranked.absent)
                self._put_behind(ranked, known, more, by_date=wish.sort == "date")
                ranked.cut = matches.total > len(known) + len(pages)
        return notes

    @staticmethod
    def _says(
        page: int, items: Iterable[Item], texts: Mapping[int, "_Texts"], words: "_Words"
    ) -> bool:
        """Whether a page has all `items`, or compounds of them."""
        return all(
            words.index.has(page, item, words.until) or texts[page].has_compound(item, words)
            for item in items
        )

    def _put_behind(
        self, ranked: Ranked, first: dict[int, float], more: Sequence[int], *, by_date: bool
    ) -> None:
        scores = first | dict.fromkeys(more, 0.0)
        if by_date:
            where, numbers = one_of("page.id", scores)
            ask = f"SELECT id FROM page WHERE {where} ORDER BY {DATE} DESC, id DESC"
            scores = dict.fromkeys((page for (page,) in self._rows(ask, numbers)), 0.0)
        ranked.pages, ranked.total = list(scores.items()), len(scores)
        ranked.missing, ranked.absent = [], []
        ranked.matches = _these(ranked.pages)

    def _keep(
        self,
        ranked: Ranked,
        items: Sequence[Item],
        unsaid: Sequence[Item],
        most: int,
        until: float,
    ) -> None:
        """Keep the pages that say all `items` and nothing `unsaid`; of very many only those that
        are shown, and some."""
        has_few = ranked.total <= _CHECKED
        kept: Scored = []
        done = 0
        while done < len(ranked.pages) and self._clock() < until and (has_few or len(kept) <= most):
            pairs = ranked.pages[done : done + _AT_ONCE]
            texts = self._texts((page for page, _ in pairs), _ALL_TEXTS)
            kept += [
                (page, score)
                for page, score in pairs
                if page in texts
                and all(texts[page].says(item) for item in items)
                and not any(texts[page].says(item) for item in unsaid)
            ]
            done += len(pairs)
        ranked.cut |= not has_few or done < len(ranked.pages)
        ranked.pages, ranked.total = kept, len(kept)
        ranked.matches = _these(kept)

    def _prefer(self, ranked: Ranked, query: Query, until: float) -> None:
        """Raise the scores of pages by the share of the words that they have as typed, and of those
        that have them side by side."""
        typed = [item.text for item in query.wanted if item.field is None]
        phrase = [Item(" ".join(typed), ())] if len(typed) > 1 else []
        # A word that is its own stem in all languages is not looked for.
        items = [
            item
            for item in essential(query.wanted)
            if any(len(each.forms) > 1 and not each.parts for each in item.each)
        ]
        first = ranked.pages[:_REORDERED]
        if not (items or phrase) or len(first) < 2 or self._clock() >= until:
            return
        texts = self._texts(page for page, _ in first)
        scores = {
            page: score * (1 + texts[page].share(items) + _SIDE_BY_SIDE * texts[page].share(phrase))
            for page, score in first
            if page in texts
        }
        ranked.pages[:_REORDERED] = sort(dict(first) | scores)

    def _texts(
        self, pages: Iterable[int], columns: str = "NULL, anchors, text, text_size"
    ) -> dict[int, "_Texts"]:
        """The titles, main texts and texts of links of pages, or all their texts."""
        where, arguments = one_of("page.id", pages)
        rows = self._rows(
            f"SELECT page.id, title, {columns} FROM page"
            " JOIN content ON content.page = page.id LEFT JOIN host ON host.id = page.host"
            f" WHERE {where}",
            arguments,
        )
        return {row[0]: _Texts(row[1], (row[2], row[3]), row[4], row[5], row[6:]) for row in rows}

    def instead(
        self,
        index: SearchIndex,
        query: Query,
        absent: Iterable[Item],
        languages: Sequence[str],
        until: float,
    ) -> str:
        """The query with a word of the pages in place of each that is `absent`; empty for none."""
        text = query.text
        for item in absent:
            with suppress(Late):
                if word := self._neighbour(index, item.text, languages, until):
                    text = text.replace(item.text, word, 1)
        return text if text != query.text else ""

    def _neighbour(
        self, index: SearchIndex, word: str, languages: Sequence[str], until: float
    ) -> str:
        """The word most like `word` that most pages have; empty for none."""
        counts = {}
        for other in dict.fromkeys(neighbours(word)):
            item = Item(other, forms(other, languages, as_typed=True))
            counts[item] = index.match(item, until).total
        for item in sorted(counts, key=lambda item: -counts[item])[:_NEIGHBOURS]:
            # The word of a stem need not be on any page.
            pages = [page for page, _ in index.some(item, _AT_ONCE, until)] if counts[item] else []
            if any(text.tells(item) for text in self._texts(pages).values()):
                return item.text
        return ""

    def _alive(self, pages: Scored) -> Scored:
        """Those that have a row: the index may know pages that are gone."""
        where, arguments = one_of("id", [page for page, _ in pages])
        rows = self._rows(f"SELECT id FROM page WHERE {where} AND gone IS NULL", arguments)
        alive = {page for (page,) in rows}
        return [(page, score) for page, score in pages if page in alive]

    def count_facets(
        self, index: SearchIndex, matches: Matches, found: Found, now: float, until: float
    ) -> None:
        """Count the newest `CANDIDATES` by host, language, type and date, the largest first."""
        times = [since_of(each, now) for each in _TIMES]
        hosts: Counter[int] = Counter()
        langs: Counter[str] = Counter()
        types: Counter[str] = Counter()
        since: Counter[str] = Counter()
        # The host with a newer page comes first of those with as many pages.
        later = ", ".join(["sum(fetched >= ?)"] * len(times))
        statement = (
            f"SELECT host, lang, type, count(*), {later} FROM ({matches.select}) AS found"
            " WHERE gone IS NULL GROUP BY host, lang, type ORDER BY max(id) DESC"
        )
        with suppress(Late):
            arguments = [*times, *matches.arguments]
            counted = index.rows(statement, arguments, until) if matches.total else ()
            for host, lang, kind, number, *numbers in counted:
                hosts[host] += number
                langs[lang or ""] += number
                types[kind or ""] += number
                since.update(dict(zip(_TIMES, map(int, numbers), strict=True)))
        del langs[""], types[""]
        found.langs, found.types = langs.most_common(_FACETS), types.most_common(_FACETS)
        found.since = list(since.items())
        most = hosts.most_common(_FACETS)
        where, arguments = one_of("id", [host for host, _ in most])
        rows = self._rows(f"SELECT id, name FROM host WHERE {where}", arguments)
        names = {row[0]: row[1] for row in rows}
        found.sites = [(names[host], n) for host, n in most if host in names]


def _these(pages: Scored) -> Matches:
    """Some pages as matches, to be counted."""
    where, numbers = one_of("page.id", [page for page, _ in pages])
    return Matches(len(pages), f"SELECT {FOUND} FROM page WHERE {where}", numbers)


class _Words:
    """The words of the index, as far as it was asked."""

    def __init__(self, index: SearchIndex, languages: Sequence[str], until: float) -> None:
        self.index, self.until = index, until
        self._languages = languages
        self._known: dict[str, bool] = {}

    def __contains__(self, word: str) -> bool:
        if word not in self._known:
            item = Item(word, forms(word, self._languages, as_typed=True))
            self._known[word] = bool(self.index.match(item, self.until).total)
        return self._known[word]


#: The words of a query are looked for in one text after the other.
_unpacked = lru_cache(1)(unpacked_text)


class _Texts(NamedTuple):
    """The texts of a page in which words are looked for as they were typed."""

    title: str | None
    #: Its description, and the texts of links to it.
    others: tuple[str | None, ...]
    text: bytes | None
    text_size: int | None
    more: Sequence[Any]

    def tells(self, item: Item) -> bool:
        """Whether its title, its main text or a text of a link to it has the words of `item`."""
        above = "\n".join(filter(None, (self.title, self.others[1])))
        if any(says(above, each.text) for each in item.each):
            return True
        with suppress(ValueError):
            text = _unpacked(self.text, self.text_size)
            return any(says(text, each.text) for each in item.each)
        return False

    def share(self, items: Sequence[Item]) -> float:
        """The share of `items` whose words one of these texts has."""
        return sum(map(self.tells, items)) / len(items) if items else 0.0

    def has_compound(self, item: Item, words: _Words) -> bool:
        """Whether its title or main text has a compound of a word; the last column is its
        language."""
        lang = self.more[-1]
        if not item.compounds or lang not in COMPOUNDING:
            return False
        is_long = max(len(form.tokens[0]) for form in item.compounds) > _TELLING
        with suppress(ValueError):
            text = f"{self.title}\n{unpacked_text(self.text, self.text_size)}"
            found = rests(text, item, lang)
            return any(is_long or any(rest in words for rest in each) for each in found)
        return False

    def says(self, item: Item) -> bool:
        """Whether the page has the words of `item` in its field, or anywhere."""
        if item.either:
            return any(map(self.says, item.either))
        if item.field is not None:
            return says(self.title or "", item.text)
        return self.tells(item) or any(says(text, item.text) for text in self._others())

    def _others(self) -> Iterator[str]:
        yield from filter(None, self.others)
        with suppress(ValueError):
            parts = parts_of(*self.more)
            yield from (str(parts.get("rest")), *map(str, parts.get("headings", ())))
            yield from (str(each[-1]) for each in parts.get("images", ()))


def _passage(stored: Sequence[Any], hit: Hit, query: Query) -> tuple[str, list[tuple[int, int]]]:
    """The passage with the hits: of the main text, or else of the rest of the page."""
    text, text_size, *more = stored
    passage, marks = snippet(unpacked_text(text, text_size) or hit.snippet, query, hit.lang)
    if marks or not more[0]:
        return passage, marks
    rest = parts_of(*more).get("rest")
    if not isinstance(rest, str) or not rest:
        return passage, marks
    other, other_marks = snippet(rest, query, hit.lang)
    return (other, other_marks) if other_marks or not passage else (passage, marks)
