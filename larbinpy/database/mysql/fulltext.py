"""The full-text index on a server: adding pages to it, and removing them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from larbinpy.database.fields import FIELDS, Tokens, fingerprint
from larbinpy.database.filters import one_of
from larbinpy.database.mysql.server import Server
from larbinpy.database.mysql.words import spelt, words_of
from larbinpy.database.writing.stored import stored_tokens


class Index:
    """The changes of the index in one transaction; a page is removed by its number."""

    def __init__(self, server: Server, table: str = "ft") -> None:
        self._server = server
        self._table = table
        self._put: dict[int, Tokens] = {}
        self._dropped: set[int] = set()

    def put(self, page: int, tokens: Tokens) -> None:
        """Add a page that is not in the index, or that was dropped from it."""
        self._put[page] = tokens

    def drop(self, page: int, indexed: int) -> bool:
        """Remove a page."""
        self._put.pop(page, None)
        self._dropped.add(page)
        return True

    def put_with_anchors(self, page: int, anchors: str) -> int:
        """Add a dropped page again, with other tokens of links; return its fingerprint."""
        tokens = stored_tokens(self._server, page) or ("",) * len(FIELDS)
        place = FIELDS.index("anchor")
        tokens = (*tokens[:place], anchors, *tokens[place + 1 :])
        self._put[page] = tokens
        return fingerprint(tokens)

    def apply(self) -> None:
        """Write the changes, and the numbers of pages and tokens that ranking needs."""
        rows = [
            (page, size, words)
            for page, tokens in sorted(self._put.items())
            for words, size in (words_of(tokens, _most(self._server)),)
        ]
        pages, size = len(rows), sum(row[1] for row in rows)
        if self._dropped:
            where, numbers = one_of("page", sorted(self._dropped))
            lost, words = self._server.execute(
                f"SELECT count(*), coalesce(sum(size), 0) FROM {self._table} WHERE {where}", numbers
            ).fetchone()
            pages, size = pages - int(lost), size - int(words)
            self._server.execute(f"DELETE FROM {self._table} WHERE {where}", numbers)
        self._server.executemany(f"INSERT INTO {self._table} VALUES (?, ?, ?)", rows)
        if pages or size:
            self._count(pages, size)
        self._put.clear()
        self._dropped.clear()

    def _count(self, pages: int, size: int) -> None:
        key = "indexed" if self._table == "ft" else f"indexed:{self._table}"
        row = self._server.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        old_pages, old_size = map(int, row[0].split()) if row else (0, 0)
        value = f"{old_pages + pages} {old_size + size}"
        self._server.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def kept_words(server: Server, tokens: Tokens) -> str:
    """The words that the index has of a page with these tokens."""
    return words_of(tokens, _most(server))[0]


def _most(server: Server) -> int:
    """Bytes of the words of a page."""
    return server.packet // 4


@contextmanager
def prepared(pages: Iterable[Mapping[str, str]]) -> Iterator[None]:
    """Do the work on the tokens of pages that needs no database, and remember it meanwhile."""
    for tokens in pages:
        for text in tokens.values():
            spelt(text)
    try:
        yield
    finally:
        spelt.cache_clear()
