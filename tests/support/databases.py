"""Content databases of each kind for tests: their tables, and what their index finds."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import pymysql

from larbinpy.database.base import AllOf, AnyOf, Condition, Finder
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.mysql.index import columns_in, found, match
from larbinpy.database.mysql.server import translated
from larbinpy.database.search.query import Form, Item
from larbinpy.database.sqlite.file import connect
from larbinpy.database.sqlite.index import expression
from tests.support.mariadb import MariaDb


class Database(Protocol):
    """An empty database, until a writer is opened."""

    #: As the keyword `database` has it.
    where: str

    def empty(self) -> None:
        """Make it anew."""

    def examples(self, number: int) -> int:
        """Of so many examples for a rule of both kinds of databases, those that it checks."""

    def finder(self, clock: Callable[[], float]) -> Finder:
        """A finder with a clock of the test."""

    def rows(self, statement: str, *values: object) -> list[Any]:
        """The rows of a SELECT; of one column, its values."""

    def execute(self, statement: str, *values: object) -> None:
        """Change the tables behind the writer's back."""

    def pages(self, words: str) -> list[int]:
        """The pages that the index finds: all words, or those between "OR"; "title:word"."""


class File:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.where = str(path)

    def empty(self) -> None:
        for end in ("", "-wal", "-shm"):
            Path(f"{self._path}{end}").unlink(missing_ok=True)

    def examples(self, number: int) -> int:
        return number

    def finder(self, clock: Callable[[], float]) -> Finder:
        return DatabaseFinder(self.where, clock)

    def rows(self, statement: str, *values: object) -> list[Any]:
        with closing(connect(self.where)) as base:
            return _flat(base.execute(statement, values))

    def execute(self, statement: str, *values: object) -> None:
        with closing(connect(self.where, write=True)) as base:
            base.execute(statement, values)

    def pages(self, words: str) -> list[int]:
        asked = expression(condition(words))
        return self.rows("SELECT rowid FROM ft WHERE ft MATCH ? ORDER BY rowid", asked)


class OnServer:
    def __init__(self, server: MariaDb, name: str) -> None:
        self._port = server.port
        self._name = name
        self.where = f"mysql://root@127.0.0.1:{server.port}/{name}"
        self.empty()

    def empty(self) -> None:
        self._ask(f"DROP DATABASE IF EXISTS {self._name}", (), None)
        self._ask(f"CREATE DATABASE {self._name} CHARACTER SET utf8mb4", (), None)

    def examples(self, number: int) -> int:
        # It shows what its SQL does otherwise; it is slow.
        return number // 3

    def finder(self, clock: Callable[[], float]) -> Finder:
        return DatabaseFinder(self.where, clock)

    def rows(self, statement: str, *values: object) -> list[Any]:
        return _flat(self._ask(translated(statement), values, self._name))

    def execute(self, statement: str, *values: object) -> None:
        self._ask(translated(statement), values, self._name)

    def _ask(self, statement: str, values: tuple[object, ...], name: str | None) -> Iterable[Any]:
        connection = pymysql.connect(
            host="127.0.0.1", port=self._port, user="root", database=name, autocommit=True
        )
        with closing(connection), connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()

    def pages(self, words: str) -> list[int]:
        asked = condition(words)
        if ":" in words:
            # The index has some columns only together.
            rows = self.rows("SELECT page, words FROM ft ORDER BY page")
            return [page for page, text in rows if found(asked, columns_in(text))]
        made = match(asked)
        assert made is not None
        return self.rows(f"SELECT page FROM ft WHERE {made.sql} ORDER BY page", *made.arguments)


def condition(words: str) -> Condition:
    """The condition that `words` spell, for `Database.pages`."""
    alternatives = words.split(" OR ")
    return AnyOf(tuple(AllOf(tuple(map(_item, part.split()))) for part in alternatives))


def _item(word: str) -> Item:
    field, _, token = word.rpartition(":")
    return Item(word, (Form((token,)),), field or None)


def _flat(rows: Iterable[Any]) -> list[Any]:
    return [row[0] if len(row) == 1 else tuple(row) for row in rows]
