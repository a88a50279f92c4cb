"""The differences between the kinds of database: how one is opened, and its full-text index.

The tables are the same, and so is their SQL: that of SQLite, which `mysql.server` translates.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from larbinpy.database.base import (
    DatabaseError,
    Index,
    Opened,
    Progress,
    Rows,
    Tables,
    is_server,
    require,
)
from larbinpy.database.preparation import Visit
from larbinpy.database.ranking import SearchIndex
from larbinpy.database.search.query import Query
from larbinpy.loop.clock import Clock


class Reading(Protocol):
    """A connection that reads."""

    def asked(self) -> AbstractContextManager[object]:
        """Within, a question is answered by the database as it is now. Raises `DatabaseError`."""

    def snapshot(self) -> AbstractContextManager[object]:
        """As `asked`; all that is read within is of one moment, whatever a writer does."""

    def rows(self, statement: str, arguments: Sequence[Any], /) -> Iterable[tuple[Any, ...]]:
        """The rows of a SELECT."""

    def rows_until(self, until: float) -> Rows:
        """`rows`; if they may come too late, it raises `Late` after `until`."""

    def index(self, query: Query, until: float) -> SearchIndex:
        """The index, seen by a query that ends at `until`. May raise `Late`."""

    def languages(self) -> list[str]:
        """The languages of the pages, the most frequent first."""

    def size(self) -> int:
        """Bytes on the disk."""

    def close(self) -> None: ...


class Writing(Protocol):
    """A connection that writes. After an error it is made anew.

    A file has one at a time; another that opens it gets `Unavailable`. A server may have many, each
    for another spool; their transactions take turns.
    """

    def asked(self, spool: str | None = None) -> AbstractContextManager[Opened]:
        """Within, the tables are read. Nobody else fills the database from `spool` after that."""

    def fitted(
        self, pages: Sequence[Visit]
    ) -> AbstractContextManager[tuple[Sequence[Visit], list[str]]]:
        """The pages as the database takes them, and a line for each that is not taken whole."""

    def transaction(
        self, spool: str | None = None, *, durable: bool = False
    ) -> AbstractContextManager[Opened]:
        """All or nothing; otherwise as `asked`. `durable`: all is on the disk afterwards."""

    def tend(self) -> bool:
        """Do a piece of the work that this kind defers. Returns whether more is left."""

    def close(self) -> None: ...


class Care(Protocol):
    """A database that no other process writes."""

    @property
    def base(self) -> Tables: ...

    #: The table that has the pages of the index, and its column with their numbers.
    entries: tuple[str, str]
    #: The remedy against damage, if there is one.
    hint: str

    def new_index(self) -> Index:
        """Begin a new index beside the old one, and a table `made` of the words that it gets.

        What belongs to rows that a user has deleted is removed.
        """

    def use_index(self, progress: Progress) -> None:
        """Put the new index into the place of the old one."""

    def forget_new(self) -> None:
        """Remove what a killed rebuild has left."""

    def trouble(self, progress: Progress) -> Iterator[str]:
        """Trouble with the tables and the index, a line each, as the database itself sees it."""

    def told(self, check: Iterable[str]) -> Iterator[str]:
        """The lines of a check, and the damage that ends it."""

    def finds(self, page: int, word: str) -> bool | str:
        """Whether the index finds a page by a word; else what is wrong, in words."""

    def tidy(self, progress: Progress) -> None:
        """Make the database smaller and searches faster."""


class Dialect(NamedTuple):
    """A kind of database. All raise `DatabaseError`, also if there is none to read or care for."""

    reading: Callable[[str, Clock], Reading]
    #: Makes the database if there is none.
    writing: Callable[[str], Writing]
    #: Whether it is to be written; else it may be one that this user cannot write.
    care: Callable[[str, bool], AbstractContextManager[Care]]


def dialect(where: str) -> Dialect:
    """The kind of the database `where`."""
    scheme, colon, _ = where.partition("://")
    # Loaded when used: whoever has a file needs no client of a server.
    if is_server(where):
        require(where)
        from larbinpy.database.mysql.tables import ServerReading, ServerWriting, server_care

        return Dialect(ServerReading, ServerWriting, server_care)
    if colon and scheme.isalnum():
        hint = "expected a file or mysql://[USER@]HOST[:PORT]/NAME"
        raise DatabaseError(f"{where}: there is no such kind of database; {hint}")
    from larbinpy.database.sqlite.file import FileReading, FileWriting, file_care

    return Dialect(FileReading, FileWriting, file_care)
