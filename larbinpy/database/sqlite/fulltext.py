"""The full-text index of a database file: adding pages to it, and removing them."""

import sqlite3

from larbinpy.database.fields import FIELDS, Tokens, fingerprint
from larbinpy.database.writing.stored import stored_tokens

#: Blocks of the index that are joined in one piece.
_JOINED = 64
#: Pages that left the index since it was last joined.
_COUNT = (
    "INSERT INTO meta VALUES ('dropped', ?)"
    " ON CONFLICT DO UPDATE SET value = value + excluded.value"
)
_MARKS = ", ".join("?" * len(FIELDS))


class Index:
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
