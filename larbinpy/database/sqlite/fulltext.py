"""The full-text index of a database file: adding pages to it, and removing them."""

import json
import sqlite3
from collections.abc import Mapping

from larbinpy.database.prepared import Packed, signed
from larbinpy.database.sqlite.schema import FIELDS
from larbinpy.database.tokens import anchor_tokens, page_tokens
from larbinpy.url import hash64

#: Tokens of a page, a string for each of `FIELDS`.
Tokens = tuple[str, ...]

_MARKS = ", ".join("?" * len(FIELDS))


def joined(tokens: Mapping[str, str], anchors: str) -> Tokens:
    """The tokens of a prepared page, with those of the links to it."""
    return tuple(anchors if name == "anchor" else tokens.get(name, "") for name in FIELDS)


def fingerprint(tokens: Tokens) -> int:
    """The number that stands for these tokens in `page.indexed`."""
    return signed(hash64("\0".join(tokens).encode()))


def stored_tokens(base: sqlite3.Connection, page: int) -> Tokens | None:
    """Make the tokens of a page again, from what is stored; None if that is damaged.

    They differ from those in the index if another version of the segmenter made these.
    """
    row = base.execute(
        "SELECT url, title, lang, anchors, text, text_size, more, more_size"
        " FROM page JOIN content ON content.page = page.id WHERE page.id = ?",
        (page,),
    ).fetchone()
    if row is None:
        return None
    url, title, lang, anchors, text, text_size, more, more_size = row
    try:
        whole = Packed(text, text_size).text()
        facts = json.loads(Packed(more, more_size).text() or "{}")
    except ValueError:
        return None
    tokens = page_tokens(
        url,
        title or "",
        facts.get("headings", ()),
        whole,
        facts.get("rest", ""),
        lang,
    )
    return joined(tokens, anchor_tokens(anchors.split("\n"), lang) if anchors else "")


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
        for page in sorted(self._dropped.keys() | self._put.keys()):
            if page in self._dropped:
                self._base.execute(self._delete, (page, *self._dropped[page]))
            if page in self._put:
                self._base.execute(self._insert, (page, *self._put[page]))
        self._put.clear()
        self._dropped.clear()
