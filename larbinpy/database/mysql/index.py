"""The full-text index on a server, seen through the filters of one query.

The server counts and pre-ranks matches by its own relevance, which knows neither columns nor
lengths; the best of these get their score from their words.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any as Value

from larbinpy.database.conditions import AllOf, AnyOf, Condition
from larbinpy.database.filters import DATE, filters, one_of
from larbinpy.database.mysql.bm25 import Term, found, score, terms, weight
from larbinpy.database.mysql.match import Match, match, relevance
from larbinpy.database.mysql.words import columns_of
from larbinpy.database.ranking import CANDIDATES, Counts, Late, Scored
from larbinpy.search.query import Query

#: Pages that get their score from their words, and words that are read for that.
_SCORED, _WORDS = 300, 400_000
#: Bytes of a page's words that are read; titles and texts of links come first.
_LENGTH = 200_000
#: Seconds that numbers of pages with a word are kept.
_KEPT = 60.0
_MOST_KEPT = 10_000
#: Hosts and languages that are counted in the answer.
_FACETS = 20

#: The rows of a SELECT. Raises `Late` after a time of the clock.
Ask = Callable[[str, Sequence[Value], float], list[Value]]


class Frequencies:
    """The numbers of pages that have a word, remembered for some time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[Term, tuple[float, int]] = {}

    def get(self, term: Term, count: Callable[[], int]) -> int:
        now = self._clock()
        until, number = self._known.get(term, (now, 0))
        if until <= now:
            number = count()
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[term] = now + _KEPT, number
        return number


class ServerIndex:
    """A `SearchIndex`: the pages that match conditions and pass the filters of `query`."""

    def __init__(self, ask: Ask, query: Query, frequencies: Frequencies, limit: float) -> None:
        """`limit` is for reading hosts and types, a time of the clock."""
        self.ask = ask
        self.frequencies = frequencies
        self.unwanted = query.unwanted
        self.filter, self.arguments = filters(
            query,
            lambda statement, arguments: ask(statement, arguments, limit),
            lambda: [
                name
                for (name,) in ask("SELECT DISTINCT type FROM page", (), limit)
                if name is not None
            ],
            one_of,
        )
        row = ask("SELECT value FROM meta WHERE key = 'indexed'", (), limit)
        pages, words = map(int, row[0][0].split()) if row else (0, 0)
        self.pages = pages
        self.mean = words / pages if pages and words else 1.0

    def match(self, condition: Condition, until: float) -> "ServerMatches":
        return ServerMatches(self, condition, until)

    def listed(self, until: float) -> "Listed":
        return Listed(self, until)

    def some(self, condition: Condition, n: int, until: float) -> Scored:
        matched = match(condition, self.unwanted)
        if matched is not None:
            statement = f"{self.matching('ft.page', matched)} ORDER BY ft.page DESC LIMIT {n}"
            with suppress(Late):
                rows = self.ask(statement, [*matched.arguments, *self.arguments], until)
                return [(page, 0.0) for (page,) in rows]
        return []

    def has(self, page: int, condition: Condition, until: float) -> bool:
        rows = self.ask("SELECT words FROM ft WHERE page = ?", (page,), until)
        return bool(rows and found(condition, columns_of(rows[0][0])))

    def best(self, condition: Condition, n: int, until: float) -> Scored:
        sizes = dict(self._pre_ranked(condition, n, until))
        taken: list[int] = []
        words = 0
        for page, size in list(sizes.items())[:_SCORED]:
            words += min(size, _LENGTH // 5)
            if words > _WORDS and taken:
                break
            taken.append(page)
        scores = self._scores(condition, taken, sizes, until) if taken else {}
        best = sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))[:n]
        # The others as the server ranks them, after these.
        least = best[-1][1] if best else 0.0
        others = list(sizes)[len(taken) : n]
        return best + [(page, least / (2 + place)) for place, page in enumerate(others)]

    def _pre_ranked(self, condition: Condition, n: int, until: float) -> list[tuple[int, int]]:
        """The best pages by the server's own relevance, and their numbers of words."""
        matched = match(condition, self.unwanted)
        if matched is None:
            return []
        by = "MATCH(ft.words) AGAINST(? IN BOOLEAN MODE)"
        statement = (
            f"SELECT page, size FROM ({self.matching(f'ft.page, ft.size, {by} AS score', matched)}"
            f" ORDER BY score DESC, ft.page DESC LIMIT {max(n, _SCORED)}) AS found"
        )
        arguments = [relevance(condition), *matched.arguments, *self.arguments]
        return self.ask(statement, arguments, until)

    def _scores(
        self, condition: Condition, pages: list[int], sizes: dict[int, int], until: float
    ) -> dict[int, float]:
        weights = {
            term: weight(self.pages, self.frequency(term, until)) for term in set(terms(condition))
        }
        where, arguments = one_of("page", pages)
        rows = self.ask(
            f"SELECT page, LEFT(words, {_LENGTH}) FROM ft WHERE {where}", arguments, until
        )
        scores = {}
        for page, words in rows:
            often = found(condition, columns_of(words))
            scores[page] = score(often, weights, sizes[page] / self.mean)
        return scores

    def matching(self, columns: str, matched: Match) -> str:
        """A SELECT of the matches that pass the filters; their arguments come in that order."""
        join = " JOIN page ON page.id = ft.page" if self.filter else ""
        return f"SELECT {columns} FROM ft{join} WHERE {matched.sql}{self.filter}"

    def facets(self, pages: str, arguments: Sequence[Value], until: float) -> tuple[Counts, Counts]:
        """Numbers by host and by language of the pages that a SELECT has, by their ids."""
        statement = (
            f"SELECT page.host, page.lang, count(*) FROM ({pages}) AS found "
            "JOIN page ON page.id = found.id WHERE page.gone IS NULL "
            "GROUP BY page.host, page.lang"
        )
        hosts: Counter[int] = Counter()
        langs: Counter[str] = Counter()
        for host, lang, number in self.ask(statement, arguments, until):
            hosts[host] += number
            if lang is not None:
                langs[lang] += number
        return hosts.most_common(_FACETS), langs.most_common(_FACETS)

    def frequency(self, term: Term, until: float) -> int:
        def count() -> int:
            matched = match(term.condition())
            if matched is None:
                return 0
            statement = f"SELECT count(*) FROM ft WHERE {matched.sql}"
            return int(self.ask(statement, matched.arguments, until)[0][0])

        return self.frequencies.get(term, count)


class ServerMatches:
    """The `Matches` of a condition."""

    def __init__(self, index: ServerIndex, condition: Condition, until: float) -> None:
        self._index = index
        self._condition = condition
        self._match = match(condition, index.unwanted)
        self.total = self._count(until)

    def _count(self, until: float) -> int:
        if self._match is None:
            return 0
        arguments = [*self._match.arguments, *self._index.arguments]
        if self._index.filter:
            some = f"{self._index.matching('1', self._match)} LIMIT {CANDIDATES + 1}"
            statement = f"SELECT count(*) FROM ({some}) AS found"
        else:
            statement = self._index.matching("count(*)", self._match)
        return int(self._index.ask(statement, arguments, until)[0][0])

    def best(self, also: Condition | None, n: int, until: float) -> Scored:
        condition = self._condition if also is None else AllOf((self._condition, also))
        return self._index.best(condition, n, until) if self.total else []

    def newest(self, n: int, until: float) -> Scored:
        statement, arguments = self._select()
        found = (
            f"SELECT page.id FROM ({statement}) AS found JOIN page ON page.id = found.id "
            f"ORDER BY {DATE} DESC, page.id DESC LIMIT {n}"
        )
        rows = self._index.ask(found, arguments, until) if statement else []
        return [(page, 0.0) for (page,) in rows]

    def facets(self, until: float) -> tuple[Counts, Counts]:
        statement, arguments = self._select()
        return self._index.facets(statement, arguments, until) if statement else ([], [])

    def _select(self) -> tuple[str, list[Value]]:
        """A SELECT of the newest matches, and its arguments; none if nothing matches."""
        if self._match is None or not self.total:
            return "", []
        matching = self._index.matching("ft.page AS id", self._match)
        statement = f"{matching} ORDER BY ft.page DESC LIMIT {CANDIDATES}"
        return statement, [*self._match.arguments, *self._index.arguments]


class Listed:
    """The `Listing` of the pages that pass the filters."""

    def __init__(self, index: ServerIndex, until: float) -> None:
        self._index = index
        without = match(AnyOf(index.unwanted))
        join = ""
        self._arguments: list[Value] = []
        if without is not None:
            # Joined as a table: asked for once, not for each page.
            found = f"SELECT ft.page FROM ft WHERE {without.sql}"
            join = f" LEFT JOIN ({found}) AS unwanted ON unwanted.page = page.id"
            self._arguments = list(without.arguments)
        self._arguments += index.arguments
        self._pages = (
            f"SELECT page.id AS id, {DATE} AS date FROM page{join} WHERE "
            f"page.gone IS NULL AND page.same_as IS NULL{index.filter}"
            f"{' AND unwanted.page IS NULL' if join else ''}"
            f" ORDER BY page.id DESC LIMIT {CANDIDATES + 1}"
        )
        count = f"SELECT count(*) FROM ({self._pages}) AS found"
        self.total = int(index.ask(count, self._arguments, until)[0][0])

    def newest(self, n: int, until: float) -> Scored:
        statement = f"SELECT id FROM ({self._pages}) AS found ORDER BY date DESC, id DESC LIMIT {n}"
        return [(page, 0.0) for (page,) in self._index.ask(statement, self._arguments, until)]

    def facets(self, until: float) -> tuple[Counts, Counts]:
        return self._index.facets(self._pages, self._arguments, until)
