"""The full-text index of the file: asked, through the filters of one query, and filled.

Conditions are expressions of FTS5's MATCH. Only tokens in quotes come from the query's text.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any as Value

from larbinpy.database.base import (
    FIELDS,
    WEIGHTS,
    AllOf,
    AnyOf,
    Condition,
    Tokens,
    Within,
    filters,
    fingerprint,
    plain,
)
from larbinpy.database.ranking import CANDIDATES, FOUND, Late, Matches, Scored
from larbinpy.database.search.query import Form, Item, Query
from larbinpy.database.writing.batch import stored_tokens


def expression(condition: Condition, unwanted: Iterable[Item] = ()) -> str:
    """The expression that matches `condition` without the `unwanted`; "" matches nothing."""
    wanted = _compile(condition)
    without = _join(" OR ", [_item(item) for item in unwanted]) if wanted else ""
    return f"{wanted} NOT {without}" if without else wanted


def _compile(condition: Condition) -> str:
    match condition:
        case Item():
            return _item(condition)
        case Within(columns, part):
            inner = _compile(part)
            return f"({{{' '.join(columns)}}} : {inner})" if inner else ""
        case AllOf(parts):
            compiled = [_compile(part) for part in parts]
            return _join(" AND ", compiled) if all(compiled) else ""
        case AnyOf(parts):
            return _join(" OR ", [_compile(part) for part in parts])


def _join(operator: str, parts: list[str]) -> str:
    used = [part for part in parts if part]
    return used[0] if len(used) == 1 else f"({operator.join(used)})" if used else ""


def _item(item: Item) -> str:
    forms = _join(" OR ", [_form(form) for form in item.forms])
    return f"({{{item.field}}} : {forms})" if forms and item.field else forms


def _form(form: Form) -> str:
    text = plain(form)
    return f'"{text}"' + (" *" if form.prefix else "") if text else ""


#: Blocks of the index that are joined in one piece.
_JOINED = 64
#: Pages that left the index since it was last joined.
_COUNT = (
    "INSERT INTO meta VALUES ('dropped', ?)"
    " ON CONFLICT DO UPDATE SET value = value + excluded.value"
)
_MARKS = ", ".join("?" * len(FIELDS))


class FileIndexing:
    """The changes of the index in one transaction.

    They are collected and applied in the order of the rows: FTS5 keeps them in memory and writes
    them as one sorted run, and begins another run where a row comes before the last one.
    """

    def __init__(self, base: sqlite3.Connection, name: str = "ft") -> None:
        self._base = base
        self._insert = f"INSERT INTO {name}(rowid, {', '.join(FIELDS)}) VALUES (?, {_MARKS})"
        self._delete = (
            f"INSERT INTO {name}({name}, rowid, {', '.join(FIELDS)}) VALUES ('delete', ?, {_MARKS})"
        )
        self._put: dict[int, Tokens] = {}
        self._dropped: dict[int, Tokens] = {}

    def put(self, page: int, tokens: Tokens) -> None:
        """Add a page that is not in the index, or that was dropped from it."""
        self._put[page] = tokens

    def drop(self, page: int, indexed: int) -> bool:
        """Remove a page, whose `page.indexed` is given; call it before its texts change.

        False: its tokens cannot be made again, as the segmenter has changed. The number of the
        page stays taken in the index.
        """
        if self._put.pop(page, None) is not None:
            return True
        tokens = stored_tokens(self._base, page)
        if tokens is None or fingerprint(tokens) != indexed:
            return False
        self._dropped[page] = tokens
        return True

    def put_with_anchors(self, page: int, anchors: str) -> int:
        """Add a dropped page again, with other tokens of links; return its fingerprint."""
        place = FIELDS.index("anchor")
        old = self._dropped[page]
        tokens = (*old[:place], anchors, *old[place + 1 :])
        self._put[page] = tokens
        return fingerprint(tokens)

    def apply(self) -> None:
        if self._dropped:
            self._base.execute(_COUNT, (len(self._dropped),))
        for page in sorted(self._dropped.keys() | self._put.keys()):
            if page in self._dropped:
                self._base.execute(self._delete, (page, *self._dropped[page]))
            if page in self._put:
                self._base.execute(self._insert, (page, *self._put[page]))
        self._put.clear()
        self._dropped.clear()


class Joining:
    """Joins the parts of the index to one, a piece at a time.

    FTS5 keeps the tokens of pages that left until the parts with both are joined.
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._begun = False

    @property
    def is_due(self) -> bool:
        """Whether it was begun, or a fifth of the pages left the index since the last time."""
        dropped = self._base.execute("SELECT value FROM meta WHERE key = 'dropped'").fetchone()
        if dropped is None:
            return False
        (pages,) = self._base.execute("SELECT coalesce(max(id), 0) FROM page").fetchone()
        return self._begun or bool(dropped[0] * 5 > pages)

    def step(self) -> bool:
        """Join a piece. Returns whether more is left."""
        before = self._base.total_changes
        # As documented: a negative number begins, others go on until nothing changes.
        blocks = _JOINED if self._begun else -_JOINED
        self._base.execute("INSERT INTO ft(ft, rank) VALUES ('merge', ?)", (blocks,))
        self._begun = self._base.total_changes - before >= 2
        if not self._begun:
            self._base.execute("DELETE FROM meta WHERE key = 'dropped'")
        return self._begun


_SCORE = f"-bm25(ft, {', '.join(str(WEIGHTS[field]) for field in FIELDS)})"

#: Seconds that may be spent on finding out whether few pages pass the filters.
_LOOK = 0.03
#: Pages that pass the filters are listed, from indexes, up to this number: 0.2 us each. Above it,
#: each match is looked up in its row, 1 to 2 us, until enough pass.
_LISTED = 50_000
#: Instructions of SQLite between two looks at the clock: at most some 10 ms within FTS5, which
#: reads a page of the index by three of them.
_INSTRUCTIONS = 500


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

    def match(self, condition: Condition, until: float) -> Matches:
        match = expression(condition, self.unwanted)
        if not match:
            return Matches(0)
        if self.filter:
            # They are noted, so that the pages are looked at once.
            statement = f"{self.matching('rowid')} ORDER BY rowid DESC LIMIT {CANDIDATES + 1}"
            rows = self.rows(statement, [match, *self.arguments], until)
            total, newest = len(rows), "SELECT value AS id FROM json_each(?)"
            arguments = [json.dumps([page for (page,) in rows[:CANDIDATES]])]
        else:
            statement = "SELECT count(*) FROM ft WHERE ft MATCH ?"
            total, arguments = int(self.rows(statement, (match,), until)[0][0]), [match]
            newest = f"{self.matching('rowid AS id')} ORDER BY rowid DESC LIMIT {CANDIDATES}"
        select = f"SELECT {FOUND} FROM ({newest}) AS newest CROSS JOIN page ON page.id = newest.id"
        return Matches(total, select, arguments, condition)

    def best(
        self, condition: Condition, n: int, until: float, among: Matches | None = None
    ) -> Scored:
        match = expression(condition, self.unwanted)
        if not match:
            return []
        columns = f"rowid, {_SCORE} AS score"
        newest = f"{self.matching(columns)} ORDER BY rowid DESC LIMIT {CANDIDATES}"
        arguments: Sequence[Value] = self.arguments
        if self.filter and among is not None:
            noted = "+rowid IN (SELECT value FROM json_each(?))"
            newest = f"SELECT {columns} FROM ft WHERE ft MATCH ? AND {noted}"
            arguments = among.arguments
        statement = f"SELECT * FROM ({newest}) ORDER BY score DESC, rowid DESC LIMIT {n}"
        return self.rows(statement, [match, *arguments], until)

    def listed(self, until: float) -> Matches:
        # The list of few pages comes from an index; many are found by looking at the last ones.
        order = "" if self.has_few else "ORDER BY page.id DESC"
        without = expression(AnyOf(self.unwanted))
        condition = " AND page.id NOT IN (SELECT rowid FROM ft WHERE ft MATCH ?)" if without else ""
        select = (
            f"SELECT {FOUND} FROM page WHERE page.gone IS NULL AND page.same_as IS NULL"
            f"{self.filter}{condition} {order} LIMIT {CANDIDATES}"
        )
        arguments = [*self.arguments, *([without] if without else [])]
        total = CANDIDATES + 1
        if self.has_few:
            total = int(self.rows(f"SELECT count(*) FROM ({select})", arguments, until)[0][0])
        return Matches(total, select, arguments)

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
