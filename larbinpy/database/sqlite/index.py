"""The full-text index of the file, seen through the filters of one query."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any as Value
from typing import Self

from larbinpy.database.conditions import AllOf, AnyOf, Condition
from larbinpy.database.fields import FIELDS, WEIGHTS
from larbinpy.database.filters import DATE, filters
from larbinpy.database.ranking import CANDIDATES, Counts, Late, Scored
from larbinpy.database.sqlite.match import expression
from larbinpy.search.query import Query

_SCORE = f"-bm25(ft, {', '.join(str(WEIGHTS[field]) for field in FIELDS)})"

#: Seconds that may be spent on finding out whether few pages pass the filters.
_LOOK = 0.03
#: Pages that pass the filters are listed, from indexes, up to this number: 0.2 us each. Above it,
#: each match is looked up in its row, 1 to 2 us, until enough pass.
_LISTED = 50_000
#: Instructions of SQLite between two looks at the clock: at most some 10 ms within FTS5, which
#: reads a page of the index by three of them.
_INSTRUCTIONS = 500

#: Hosts and languages that are counted in the answer.
_FACETS = 20


class TimeLimit:
    """Interrupts the statements of a connection."""

    def __init__(self, base: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = float("inf")
        base.set_progress_handler(self._is_over, _INSTRUCTIONS)

    def _is_over(self) -> bool:
        return self._clock() >= self._until

    @contextmanager
    def until(self, until: float) -> Iterator[None]:
        """Raises `Late` if statements within take longer."""
        if self._clock() >= until:
            raise Late
        self._until = until
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise Late from None
            raise
        finally:
            self._until = float("inf")


class FtsIndex:
    """A `SearchIndex`: the pages that match conditions and pass the filters of `query`."""

    def __init__(
        self,
        base: sqlite3.Connection,
        limit: TimeLimit,
        query: Query,
        clock: Callable[[], float],
        listed: int = _LISTED,
    ) -> None:
        """`listed`: the number of pages that pass the filters up to which they are listed."""
        self.base = base
        self.limit = limit
        self.unwanted = query.unwanted
        self.filter, self.arguments = filters(
            query, base.execute, partial(distinct, base, "type"), _among
        )
        #: The index of `page` that a filter is looked up in; None: the table itself.
        self.by = "page_lang" if query.lang else "page_type" if query.type else None
        passing = self._passing(listed, clock() + _LOOK) if self.filter else listed + 1
        #: Whether so few pages pass the filters that matches are looked up in a list of them.
        self.is_listed = passing <= listed
        #: Whether so few do that all of them are ranked.
        self.has_few = passing <= min(listed, CANDIDATES)

    def _passing(self, most: int, until: float) -> int:
        """The number of pages that pass the filters; above `most`: more, or nobody knows."""
        some = f"SELECT 1 FROM page WHERE 1{self.filter} LIMIT {most + 1}"
        try:
            rows = self.rows(f"SELECT count(*) FROM ({some})", self.arguments, until)
        except Late:
            return most + 1
        return int(rows[0][0])

    def match(self, condition: Condition, until: float) -> "FtsMatches":
        return FtsMatches(self, condition).count(until)

    def best(self, condition: Condition, n: int, until: float) -> Scored:
        return FtsMatches(self, condition).best(None, n, until)

    def listed(self, until: float) -> "Listed":
        return Listed(self, until)

    def some(self, condition: Condition, n: int, until: float) -> Scored:
        found: Scored = []
        match = expression(condition, self.unwanted)
        if match:
            statement = f"{self.matching('rowid')} ORDER BY rowid DESC LIMIT {n}"
            with suppress(Late), self.limit.until(until):
                cursor = self.base.execute(statement, [match, *self.arguments])
                found.extend((page, 0.0) for (page,) in cursor)
        return found

    def has(self, page: int, condition: Condition, until: float) -> bool:
        statement = "SELECT 1 FROM ft WHERE ft MATCH ? AND rowid = ?"
        match = expression(condition)
        return bool(match and self.rows(statement, (match, page), until))

    def matching(self, columns: str) -> str:
        """A SELECT of the matches that pass the filters; the expression is its first argument."""
        if not self.filter:
            condition = ""
        elif self.is_listed:
            # With the plus the list is not given to FTS5, which would search once for each row.
            condition = f"AND +rowid IN (SELECT page.id FROM page WHERE 1{self.filter})"
        else:
            # An index is smaller than the table: five times as fast for a look at each match.
            source = f"page INDEXED BY {self.by}" if self.by else "page"
            condition = f"AND EXISTS (SELECT 1 FROM {source} WHERE page.id = ft.rowid{self.filter})"
        return f"SELECT {columns} FROM ft WHERE ft MATCH ? {condition}"

    def rows(self, statement: str, arguments: Sequence[Value], until: float) -> list[Value]:
        """All rows of a statement. Raises `Late`."""
        with self.limit.until(until):
            return self.base.execute(statement, arguments).fetchall()

    def facets(self, pages: str, arguments: Sequence[Value], until: float) -> tuple[Counts, Counts]:
        """Numbers by host and by language of the pages that a SELECT has, by their ids."""
        hosts: Counter[int] = Counter()
        langs: Counter[str] = Counter()
        statement = (
            f"SELECT page.host, page.lang FROM ({pages}) AS found "
            "CROSS JOIN page ON page.id = found.id WHERE page.gone IS NULL"
        )
        with self.limit.until(until):
            for host, lang in self.base.execute(statement, arguments):
                hosts[host] += 1
                if lang is not None:
                    langs[lang] += 1
        return hosts.most_common(_FACETS), langs.most_common(_FACETS)


class FtsMatches:
    """The `Matches` of a condition, once they are counted."""

    def __init__(self, index: FtsIndex, condition: Condition) -> None:
        self._index = index
        self._condition = condition
        #: The newest matches, if there are filters; so the pages are looked at once.
        self._newest: str | None = None
        self.total = 0

    def count(self, until: float) -> Self:
        index = self._index
        match = expression(self._condition, index.unwanted)
        if match and not index.filter:
            statement = "SELECT count(*) FROM ft WHERE ft MATCH ?"
            self.total = int(index.rows(statement, (match,), until)[0][0])
        elif match:
            statement = f"{index.matching('rowid')} ORDER BY rowid DESC LIMIT {CANDIDATES + 1}"
            rows = index.rows(statement, [match, *index.arguments], until)
            self._newest = json.dumps([page for (page,) in rows[:CANDIDATES]])
            self.total = len(rows)
        return self

    def best(self, also: Condition | None, n: int, until: float) -> Scored:
        newest, arguments = self._select(f"rowid, {_SCORE} AS score", also)
        statement = f"SELECT * FROM ({newest}) ORDER BY score DESC, rowid DESC LIMIT {n}"
        return self._index.rows(statement, arguments, until) if arguments else []

    def newest(self, n: int, until: float) -> Scored:
        newest, arguments = self._select("rowid AS id", None)
        statement = (
            f"SELECT page.id, 0.0 FROM ({newest}) AS found CROSS JOIN page ON page.id = found.id "
            f"ORDER BY {DATE} DESC, page.id DESC LIMIT {n}"
        )
        return self._index.rows(statement, arguments, until) if arguments else []

    def facets(self, until: float) -> tuple[Counts, Counts]:
        newest, arguments = self._select("rowid AS id", None)
        return self._index.facets(newest, arguments, until) if arguments else ([], [])

    def _select(self, columns: str, also: Condition | None) -> tuple[str, list[Value]]:
        """A SELECT of the newest matches, and its arguments; none if nothing matches."""
        parts = (self._condition,) if also is None else (self._condition, also)
        match = expression(AllOf(parts), self._index.unwanted)
        if not match:
            return "", []
        if self._newest is not None and (also is None or self.total <= CANDIDATES):
            statement = (
                f"SELECT {columns} FROM ft WHERE ft MATCH ? "
                "AND +rowid IN (SELECT value FROM json_each(?))"
            )
            return statement, [match, self._newest]
        statement = f"{self._index.matching(columns)} ORDER BY rowid DESC LIMIT {CANDIDATES}"
        return statement, [match, *self._index.arguments]


class Listed:
    """The `Listing` of the pages that pass the filters."""

    def __init__(self, index: FtsIndex, until: float) -> None:
        self._index = index
        # The list of few pages comes from an index; many are found by looking at the last ones.
        order = "" if index.has_few else f"ORDER BY page.id DESC LIMIT {CANDIDATES}"
        without = expression(AnyOf(index.unwanted))
        condition = " AND page.id NOT IN (SELECT rowid FROM ft WHERE ft MATCH ?)" if without else ""
        self._pages = (
            f"SELECT page.id AS id, {DATE} AS date FROM page WHERE "
            f"page.gone IS NULL AND page.same_as IS NULL{index.filter}{condition} {order}"
        )
        self._arguments = [*index.arguments, *([without] if without else [])]
        self.total = CANDIDATES + 1
        if index.has_few:
            statement = f"SELECT count(*) FROM ({self._pages})"
            self.total = int(index.rows(statement, self._arguments, until)[0][0])

    def newest(self, n: int, until: float) -> Scored:
        statement = f"SELECT id, 0.0 FROM ({self._pages}) ORDER BY date DESC, id DESC LIMIT {n}"
        return self._index.rows(statement, self._arguments, until)

    def facets(self, until: float) -> tuple[Counts, Counts]:
        return self._index.facets(self._pages, self._arguments, until)


def _among(column: str, values: Sequence[Value]) -> tuple[str, list[Value]]:
    """All in one argument: there may be very many."""
    return f"{column} IN (SELECT value FROM json_each(?))", [json.dumps(values)]


def distinct(base: sqlite3.Connection, column: str) -> list[str]:
    """The values of a column of `page` that has an index, by one look-up each."""
    rows = base.execute(
        "WITH RECURSIVE found(value) AS ("
        f"SELECT min({column}) FROM page UNION ALL "
        f"SELECT (SELECT min({column}) FROM page WHERE {column} > value) FROM found "
        "WHERE value IS NOT NULL LIMIT 10000) SELECT value FROM found WHERE value IS NOT NULL"
    )
    return [value for (value,) in rows]
