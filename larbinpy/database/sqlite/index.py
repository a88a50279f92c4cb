"""The full-text index of the file, seen through the filters of one query."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any as Value

from larbinpy.database.finding import CANDIDATES, Late, Scored
from larbinpy.database.matching import Any, Condition
from larbinpy.database.sqlite.match import expression
from larbinpy.database.sqlite.schema import FIELDS
from larbinpy.search.query import Query
from larbinpy.url import split, typed

#: Weights of the columns in the ranking.
WEIGHTS = {"title": 5.0, "heading": 2.0, "body": 1.0, "anchor": 3.0, "url": 1.0, "rest": 0.1}
_SCORE = f"-bm25(ft, {', '.join(str(WEIGHTS[field]) for field in FIELDS)})"

#: Seconds that may be spent on finding out whether few pages pass the filters.
_LOOK = 0.03
#: Instructions of SQLite between two looks at the clock: at most some 10 ms within FTS5, which
#: reads a page of the index by three of them.
_INSTRUCTIONS = 500

#: When a page is from: its own word, unless that is later than it was fetched.
_DATE = "CASE WHEN page.published <= page.fetched THEN page.published ELSE page.first_seen END"
_SHOWN = "page.gone IS NULL AND page.same_as IS NULL"


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
    """An `Index`: the matches of conditions that pass the filters of `query`."""

    def __init__(
        self,
        base: sqlite3.Connection,
        limit: TimeLimit,
        query: Query,
        clock: Callable[[], float],
    ) -> None:
        self._base = base
        self._limit = limit
        self._unwanted = query.unwanted
        self._filter, self._arguments = _filter(base, query)
        self._few = self._is_few(clock)

    def _is_few(self, clock: Callable[[], float]) -> bool:
        """Whether so few pages pass the filters that a list of them is cheap."""
        try:
            return bool(self._filter) and self.listed(clock() + _LOOK) <= CANDIDATES
        except Late:
            return False

    def count(self, condition: Condition, until: float) -> int:
        if not self._filter:
            return self._number("SELECT count(*) FROM ft WHERE ft MATCH ?", condition, until)
        matches = self._matches("1", f"LIMIT {CANDIDATES + 1}")
        return self._number(f"SELECT count(*) FROM ({matches})", condition, until)

    def best(self, condition: Condition, n: int, until: float) -> Scored:
        newest = self._matches(
            f"rowid, {_SCORE} AS score", f"ORDER BY rowid DESC LIMIT {CANDIDATES}"
        )
        return self._rows(
            f"SELECT * FROM ({newest}) ORDER BY score DESC, rowid DESC LIMIT {n}", condition, until
        )

    def newest(self, condition: Condition | None, n: int, until: float) -> Scored:
        if condition is None:
            return self._newest_listed(n, until)
        newest = self._matches("rowid", f"ORDER BY rowid DESC LIMIT {CANDIDATES}")
        return self._rows(
            f"SELECT page.id, 0.0 FROM ({newest}) AS found CROSS JOIN page ON page.id = found.rowid"
            f" ORDER BY {_DATE} DESC, page.id DESC LIMIT {n}",
            condition,
            until,
        )

    def _newest_listed(self, n: int, until: float) -> Scored:
        # The list of few pages comes from an index; many are found by looking at the last ones.
        order = "" if self._few else f"ORDER BY page.id DESC LIMIT {CANDIDATES}"
        where, arguments = self._listing()
        with self._limit.until(until):
            return self._base.execute(
                f"SELECT id, 0.0 FROM (SELECT page.id AS id, {_DATE} AS date FROM page "
                f"WHERE {where} {order}) ORDER BY date DESC, id DESC LIMIT {n}",
                arguments,
            ).fetchall()

    def _listing(self) -> tuple[str, list[Value]]:
        where = f"{_SHOWN}{self._filter}"
        without = expression(Any(self._unwanted))
        if not without:
            return where, self._arguments
        where += " AND page.id NOT IN (SELECT rowid FROM ft WHERE ft MATCH ?)"
        return where, [*self._arguments, without]

    def some(self, condition: Condition, n: int, until: float) -> Scored:
        found: Scored = []
        match = expression(condition, self._unwanted)
        if match:
            statement = self._matches("rowid", f"ORDER BY rowid DESC LIMIT {n}")
            try:
                with self._limit.until(until):
                    cursor = self._base.execute(statement, [match, *self._arguments])
                    found.extend((page, 0.0) for (page,) in cursor)
            except Late:
                pass
        return found

    def listed(self, until: float) -> int:
        where, arguments = self._listing()
        statement = f"SELECT 1 FROM page WHERE {where} LIMIT {CANDIDATES + 1}"
        with self._limit.until(until):
            cursor = self._base.execute(f"SELECT count(*) FROM ({statement})", arguments)
            return int(cursor.fetchone()[0])

    def has(self, page: int, condition: Condition, until: float) -> bool:
        match = expression(condition)
        if not match:
            return False
        with self._limit.until(until):
            statement = "SELECT 1 FROM ft WHERE ft MATCH ? AND rowid = ?"
            return self._base.execute(statement, (match, page)).fetchone() is not None

    def facets(
        self, condition: Condition | None, column: str, until: float
    ) -> list[tuple[Value, int]]:
        """Numbers of the pages by a column of `page`, the largest first."""
        if condition is None:
            where, arguments = self._listing()
            found = f"SELECT page.{column} AS value FROM page WHERE {where} LIMIT {CANDIDATES}"
        else:
            arguments = [expression(condition, self._unwanted), *self._arguments]
            newest = self._matches("rowid", f"ORDER BY rowid DESC LIMIT {CANDIDATES}")
            found = (
                f"SELECT page.{column} AS value FROM ({newest}) AS found "
                "CROSS JOIN page ON page.id = found.rowid"
            )
        with self._limit.until(until):
            return self._base.execute(
                f"SELECT value, count(*) AS n FROM ({found}) WHERE value IS NOT NULL "
                "GROUP BY value ORDER BY n DESC, value LIMIT 20",
                arguments,
            ).fetchall()

    def _matches(self, columns: str, rest: str) -> str:
        """A SELECT of the matches that pass the filters; the expression is its first argument."""
        if not self._filter:
            condition = ""
        elif self._few:
            # With the plus the list is not given to FTS5, which would search once for each row.
            condition = f"AND +rowid IN (SELECT page.id FROM page WHERE {_SHOWN}{self._filter})"
        else:
            condition = f"AND EXISTS (SELECT 1 FROM page WHERE page.id = ft.rowid{self._filter})"
        return f"SELECT {columns} FROM ft WHERE ft MATCH ? {condition} {rest}"

    def _rows(self, statement: str, condition: Condition, until: float) -> Scored:
        match = expression(condition, self._unwanted)
        if not match:
            return []
        with self._limit.until(until):
            return self._base.execute(statement, [match, *self._arguments]).fetchall()

    def _number(self, statement: str, condition: Condition, until: float) -> int:
        rows: Sequence[Value] = self._rows(statement, condition, until)
        return int(rows[0][0]) if rows else 0


def _filter(base: sqlite3.Connection, query: Query) -> tuple[str, list[Value]]:
    """Conditions on the table `page`, each after " AND ", and their arguments."""
    parts: list[str] = []
    arguments: list[Value] = []
    if query.site:
        parts.append("page.host IN (SELECT value FROM json_each(?))")
        arguments.append(json.dumps(_hosts(base, query.site)))
    if query.lang:
        parts.append("page.lang = ?")
        arguments.append(query.lang)
    if query.type:
        if "/" in query.type:
            parts.append("page.type = ?")
            arguments.append(query.type)
        else:
            parts.append("page.type IN (SELECT value FROM json_each(?))")
            arguments.append(json.dumps(_types(base, query.type)))
    if query.since:
        parts.append("page.fetched >= ?")
        arguments.append(query.since)
    return "".join(f" AND {part}" for part in parts), arguments


def _hosts(base: sqlite3.Connection, site: str) -> list[int]:
    """The hosts of a site: itself on any port, and those below it."""
    address = typed(site)
    if address is not None:
        # Names in other scripts, as they stand in URLs.
        parts = split(address)
        site = parts.host + (f":{parts.port}" if site.endswith(f":{parts.port}") else "")
    rows = base.execute("SELECT id, name FROM host WHERE instr(name, ?)", (site,))
    return [
        number
        for number, name in rows
        if f".{name}".endswith(f".{site}") or f".{name.rpartition(':')[0]}".endswith(f".{site}")
    ]


def _types(base: sqlite3.Connection, name: str) -> list[str]:
    return [found for found in distinct(base, "type") if found.endswith(f"/{name}")]


def distinct(base: sqlite3.Connection, column: str) -> list[str]:
    """The values of a column of `page` that has an index, by one look-up each."""
    rows = base.execute(
        "WITH RECURSIVE found(value) AS ("
        f"SELECT min({column}) FROM page UNION ALL "
        f"SELECT (SELECT min({column}) FROM page WHERE {column} > value) FROM found "
        "WHERE value IS NOT NULL LIMIT 10000) SELECT value FROM found WHERE value IS NOT NULL"
    )
    return [value for (value,) in rows]
