"""Finds the page that another one is nearly a copy of."""

from collections.abc import Sequence

from larbinpy.database.records import unpacked_text
from larbinpy.database.writing.tables import Tables
from larbinpy.search.fingerprint import KEYS, is_copy

#: The columns of `page` with the keys of `search.fingerprint`.
NEAR_COLUMNS = tuple(f"near{number}" for number in range(1, KEYS + 1))
#: Pages that are looked at to find one that says the same; comparing two takes a millisecond.
_CANDIDATES = 5

# Each key is looked up in an index, which has the originals apart from thousands of copies.
_FOUND = " UNION ".join(
    f"SELECT * FROM (SELECT id, url FROM page WHERE {column} = ? AND same_as IS NULL"
    f" AND near IS NULL AND gone IS NULL AND id <> ? LIMIT {_CANDIDATES}) AS by_{column}"
    for column in NEAR_COLUMNS
)
_TEXT = "SELECT text, text_size FROM content WHERE page = ?"
_STORED = f"SELECT url, {', '.join(NEAR_COLUMNS)} FROM page WHERE id = ?"


class NearCopies:
    """Looks for near copies in the tables. Only pages that are no copies themselves have some."""

    def __init__(self, base: Tables) -> None:
        self._base = base

    def original(self, page: int, url: str, keys: Sequence[int], text: str) -> int | None:
        """A page that says the same as this one, but for a few words, and is not it."""
        asked = [value for key in keys for value in (key, page)]
        for number, other in sorted(self._base.execute(_FOUND, asked).fetchall())[:_CANDIDATES]:
            if is_copy(text, url, self._text(number), other):
                return int(number)
        return None

    def _text(self, page: int) -> str:
        """The main text of a page; "" if it is damaged."""
        row = self._base.execute(_TEXT, (page,)).fetchone()
        try:
            return unpacked_text(*row) if row else ""
        except ValueError:
            return ""

    def original_of_stored(self, page: int) -> int | None:
        """As `original`, of a page that is in the tables."""
        row = self._base.execute(_STORED, (page,)).fetchone()
        if row is None or row[1] is None:
            return None
        url, *keys = row
        return self.original(page, url, keys, self._text(page))
