"""The tables of a database, as the rules of writing use them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from larbinpy.database.fields import Tokens


class Cursor(Protocol):
    """The answer to a statement."""

    @property
    def lastrowid(self) -> int | None: ...

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> Sequence[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Tables(Protocol):
    """A connection to the tables, in the SQL of SQLite, with "?" for arguments."""

    def execute(self, statement: str, arguments: Sequence[Any] = (), /) -> Cursor: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Any: ...


class Index(Protocol):
    """The changes of the full-text index in one transaction."""

    def put(self, page: int, tokens: Tokens) -> None:
        """Add a page that is not in the index, or that was dropped from it."""

    def drop(self, page: int, indexed: int) -> bool:
        """Remove a page, whose `page.indexed` is given; call it before its texts change.

        False: it cannot be removed. The number of the page stays taken in the index.
        """

    def put_with_anchors(self, page: int, anchors: str) -> int:
        """Add a dropped page again, with other tokens of links; return its fingerprint."""

    def apply(self) -> None:
        """Write the changes."""
