"""A content database on a server: its tables, and opening it to read, to write, or to care for it.

The tables are those of sqlite/file.py, which says what their columns are. `content.text` and
`content.more` are in the zlib format; docs/search.md says how to read them. The table `ft` has the
words of a page in one column (see index.py), and their number.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any

from larbinpy.database.base import (
    FIELDS,
    FORMAT,
    DatabaseError,
    NotOurs,
    Opened,
    Progress,
    Rows,
    check_format,
)
from larbinpy.database.mysql.index import (
    Frequencies,
    ServerIndex,
    ServerIndexing,
    kept_words,
    match,
    prepared,
    spelt,
)
from larbinpy.database.mysql.server import (
    Lost,
    ServerTables,
    TooLate,
    hold_spool,
    holds_seat,
    leave_seat,
    take_seat,
    turn,
)
from larbinpy.database.preparation import Packed, Prepared, Visit, about, dumped, page_tokens
from larbinpy.database.ranking import Late
from larbinpy.database.search.query import Form, Item, Query
from larbinpy.database.search.segment import VERSION
from larbinpy.database.writing.anchors import unfinished_seats
from larbinpy.database.writing.batch import forget_deleted, stored_tokens
from larbinpy.loop.clock import Clock

_COMMON = "ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
#: Names and columns, indexes included; those of pages may be of any length.
TABLES = {
    "meta": "key VARCHAR(190) PRIMARY KEY, value MEDIUMTEXT",
    "host": """
        id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(500) NOT NULL UNIQUE,
        sample LONGBLOB, sample_size BIGINT, sample_of BIGINT,
        wrong VARCHAR(40), agreed BIGINT NOT NULL DEFAULT 0,
        contradicted BIGINT NOT NULL DEFAULT 0""",
    "page": """
        id BIGINT AUTO_INCREMENT PRIMARY KEY, key BIGINT NOT NULL UNIQUE, url MEDIUMTEXT NOT NULL,
        host BIGINT NOT NULL, status INT, type VARCHAR(190), charset VARCHAR(190),
        lang VARCHAR(35), title MEDIUMTEXT, site_name MEDIUMTEXT, author MEDIUMTEXT,
        summary MEDIUMTEXT, published VARCHAR(40), modified VARCHAR(40), image MEDIUMTEXT,
        canonical MEDIUMTEXT, comments BIGINT, clicks BIGINT, size BIGINT, depth BIGINT,
        via MEDIUMTEXT, fetched VARCHAR(40) NOT NULL, first_seen VARCHAR(40) NOT NULL,
        changed VARCHAR(40) NOT NULL, visits BIGINT NOT NULL, changes BIGINT NOT NULL,
        etag MEDIUMTEXT, last_modified MEDIUMTEXT, text_hash BIGINT, same_as BIGINT,
        near BIGINT, near1 BIGINT, near2 BIGINT, near3 BIGINT, near4 BIGINT,
        missing VARCHAR(40), moved_to MEDIUMTEXT, gone VARCHAR(40), due VARCHAR(40),
        observed DOUBLE NOT NULL DEFAULT 0, exposure DOUBLE NOT NULL DEFAULT 0,
        announces BIGINT NOT NULL DEFAULT 0, indexed BIGINT,
        INDEX page_host (host), INDEX page_lang (lang), INDEX page_type (type),
        INDEX page_fetched (fetched), INDEX page_gone (gone), INDEX page_due (due),
        INDEX page_moved_to (moved_to(190)), INDEX page_text_hash (text_hash),
        INDEX page_same_as (same_as), INDEX page_near (near),
        INDEX page_near1 (near1, same_as, near), INDEX page_near2 (near2, same_as, near),
        INDEX page_near3 (near3, same_as, near), INDEX page_near4 (near4, same_as, near),
        INDEX page_canonical (canonical(190))""",
    "content": """
        page BIGINT PRIMARY KEY, anchors MEDIUMTEXT, text LONGBLOB, text_size BIGINT,
        more LONGBLOB, more_size BIGINT""",
    "body": "page BIGINT PRIMARY KEY, zstd LONGBLOB, size BIGINT",
    "change": """
        at VARCHAR(40) NOT NULL, page BIGINT NOT NULL, kind VARCHAR(10) NOT NULL,
        text_hash BIGINT, target MEDIUMTEXT,
        INDEX change_page (page, at), INDEX change_at (at, page)""",
    "difference": """
        page BIGINT NOT NULL, at VARCHAR(40) NOT NULL, data LONGBLOB, size BIGINT,
        PRIMARY KEY (page, at)""",
    "announced": "target BIGINT PRIMARY KEY, date VARCHAR(40) NOT NULL",
    "anchor": "target BIGINT NOT NULL, text VARCHAR(190) NOT NULL, PRIMARY KEY (target, text)",
    "fresh": "id BIGINT PRIMARY KEY, target BIGINT NOT NULL, text VARCHAR(190) NOT NULL",
}
#: The index, without that of the words.
WORDS = "page BIGINT PRIMARY KEY, size BIGINT NOT NULL, words LONGTEXT"


def make(server: ServerTables, name: str, columns: str) -> None:
    server.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) {_COMMON}")


def check(server: ServerTables, *, write: bool) -> None:
    """Make the tables if `write` and there are none; raise `NotOurs` if they are not ours."""
    rows = server.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    )
    tables = {name for (name,) in rows}
    if tables and "meta" not in tables:
        raise NotOurs(f"{server.address}: a database of another program; name another one")
    values = dict(server.rows("SELECT key, value FROM meta")) if tables else {}
    version = values.get("format")
    if version is None:
        if not write:
            raise NotOurs(f"{server.address}: an empty database; crawl first")
        _make(server)
    else:
        check_format(server.address, int(version))
        if write and int(version) != FORMAT:
            make(server, "difference", TABLES["difference"])
            server.execute("REPLACE INTO meta VALUES ('format', ?)", (FORMAT,))


def _make(server: ServerTables) -> None:
    # Each statement is a transaction: `meta` comes first and its row `format` last.
    for name, columns in TABLES.items():
        make(server, name, columns)
    make(server, "ft", f"{WORDS}, FULLTEXT INDEX (words)")
    server.execute("REPLACE INTO meta VALUES ('segmenter', ?), ('format', ?)", (VERSION, FORMAT))


#: Seconds after which a server that does not answer is given up: beyond the limit of a search, and
#: for all else; to check or to copy a large table takes long.
_GRACE, _PATIENCE, _CARE = 0.05, 300.0, 24 * 3600.0


def _opened(where: str, patience: float = _PATIENCE) -> ServerTables:
    """A connection to a database that is there."""
    server = ServerTables(where, patience)
    try:
        check(server, write=False)
    except BaseException:
        server.close()
        raise
    return server


class ServerReading:
    """A connection that only reads."""

    def __init__(self, where: str, clock: Clock) -> None:
        self._where = where
        self._clock = clock
        self._frequencies = Frequencies(clock)
        self._server: ServerTables | None = _opened(where)

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Connected again if the server has forgotten the connection."""
        if self._server is not None and not self._server.is_alive():
            self.close()
        self._server = self._server or _opened(self._where)
        yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Of one moment, unless the server is connected anew."""
        with self.asked():
            self.rows("START TRANSACTION READ ONLY")
            try:
                yield
            finally:
                if self._server is not None:
                    try:
                        self._server.execute("ROLLBACK")
                    except DatabaseError:
                        self.close()

    def rows(self, statement: str, arguments: Sequence[Any] = (), /) -> Iterable[tuple[Any, ...]]:
        self._server = self._server or _opened(self._where)
        return self._server.rows(statement, arguments)

    def rows_until(self, until: float) -> Rows:
        return lambda statement, arguments: self._ask(statement, arguments, until)

    def _ask(self, statement: str, arguments: Sequence[Any], until: float) -> list[Any]:
        """The rows of a SELECT. Raises `Late`.

        The full-text index does not look at the server's own limit while it reads words, so that
        a server that is late is left alone, and connected again.
        """
        left = until - self._clock()
        if left <= 0:
            raise Late
        if self._server is None:
            self._server = ServerTables(self._where, _PATIENCE)
        server = self._server
        try:
            server.patience = left + _GRACE
            rows = server.limited(statement, arguments, left)
            server.patience = _PATIENCE
            return rows
        except TooLate:
            server.patience = _PATIENCE
            raise Late from None
        except Lost:
            self.close()
            if self._clock() >= until:
                raise Late from None
            raise

    def index(self, query: Query, until: float) -> ServerIndex:
        return ServerIndex(self._ask, query, self._frequencies, until)

    def languages(self) -> list[str]:
        rows = self.rows(
            "SELECT lang FROM page WHERE lang IS NOT NULL GROUP BY lang "
            "ORDER BY count(*) DESC, lang"
        )
        return [lang for (lang,) in rows]

    def size(self) -> int:
        ((size,),) = self.rows(
            "SELECT sum(data_length + index_length) FROM information_schema.tables "
            "WHERE table_schema = DATABASE()"
        )
        return int(size or 0)


_CUT = "cut to fit the server's max_allowed_packet"
#: Columns whose beginning is of use; half a URL is not.
_PROSE = ("title", "site_name", "author", "summary")


class ServerWriting:
    """One of the connections that write.

    Their transactions take turns, so that each one sees all that was written before. A page that
    two of them have is one row, as if one had written it twice.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._server: ServerTables | None = None
        self._opened: Opened
        self._spools: set[str] = set()
        self._open()

    @contextmanager
    def asked(self, spool: str | None = None) -> Iterator[Opened]:
        self._hold(self._open(), spool)
        yield self._opened

    @contextmanager
    def fitted(self, pages: Sequence[Visit]) -> Iterator[tuple[Sequence[Visit], list[str]]]:
        packet = self._open().packet
        fitted = [_fitted(page, packet) if isinstance(page, Prepared) else page for page in pages]
        cut = [page.url for page, whole in zip(fitted, pages, strict=True) if page is not whole]
        with prepared([page.tokens for page in fitted if isinstance(page, Prepared)]):
            yield fitted, [f"{url}: {_CUT} ({packet} bytes); give it 64M" for url in cut]

    @contextmanager
    def transaction(self, spool: str | None = None, *, durable: bool = False) -> Iterator[Opened]:
        """Each commit is durable, as long as the server has its default for that."""
        server = self._open()
        self._hold(server, spool)
        try:
            with turn(server), _committed(server):
                yield self._opened
        except BaseException:
            self.close()
            raise

    def tend(self) -> bool:
        """Take the seat of a process that was killed, with the work that it has left, if there is
        one."""
        with self.transaction() as opened:
            server = self._open()
            for seat in unfinished_seats(server):
                if seat != opened.seat and holds_seat(server, seat):
                    leave_seat(server, opened.seat)
                    self._opened = replace(opened, seat=seat)
                    return True
        return False

    def close(self) -> None:
        server, self._server = self._server, None
        self._spools.clear()
        if server is not None:
            server.close()

    def _hold(self, server: ServerTables, spool: str | None) -> None:
        if spool is None:
            return
        name, _, _ = spool.partition("-")
        if name not in self._spools:
            hold_spool(server, name)
            self._spools.add(name)

    def _open(self) -> ServerTables:
        if self._server is not None and not self._server.is_alive():
            # A server forgets connections that are not used for a while.
            self.close()
        if self._server is None:
            server = ServerTables(self._where, _PATIENCE)
            try:
                with turn(server):
                    check(server, write=True)
                    self._opened = Opened(server, ServerIndexing(server), take_seat(server))
            except BaseException:
                server.close()
                raise
            self._server = server
        return self._server


@contextmanager
def _committed(server: ServerTables) -> Iterator[None]:
    server.execute("START TRANSACTION")
    try:
        yield
        server.execute("COMMIT")
    except BaseException:
        with suppress(DatabaseError):
            server.execute("ROLLBACK")
        raise


def _fitted(page: Prepared, packet: int) -> Prepared:
    """`page`, cut so that a server takes each statement about it, of `packet` bytes, and sends it.

    Bytes are sent in hexadecimal digits, and characters of a text may need two.
    """
    columns = {name: _short(name, value, packet // 50) for name, value in page.columns.items()}
    body = page.body if page.body is None or len(page.body) <= packet * 3 // 8 else None
    text, more = _short_text(page.text, packet // 5), _short_more(page.more, packet // 5)
    if (columns, body, text, more) == (page.columns, page.body, page.text, page.more):
        return page
    parts = json.loads(more)
    parts["trouble"] = "; ".join(filter(None, (parts.get("trouble"), _CUT)))
    tokens = page_tokens(
        page.url,
        str(columns.get("title") or ""),
        parts.get("headings", ()),
        text.text(),
        parts.get("rest", ""),
        None if columns.get("lang") is None else str(columns["lang"]),
        about(str(columns.get("summary") or ""), parts.get("images", ())),
    )
    more = dumped(parts).encode("utf-8", "replace")
    return replace(page, columns=columns, body=body, text=text, more=more, tokens=tokens)


def _short(name: str, value: str | int | None, most: int) -> str | int | None:
    """The value of a column; of text that is too long the beginning, if that is of use."""
    if not isinstance(value, str) or len(value) * 4 <= most or len(value.encode()) <= most:
        return value
    return value.encode()[:most].decode("utf-8", "ignore") if name in _PROSE else None


def _short_text(text: Packed, most: int) -> Packed:
    """The beginning of a text that has at most so many bytes when it is packed."""
    while len(text.data) > most:
        whole = text.text()
        text = Packed.of(whole[: len(whole) * most * 9 // (len(text.data) * 10)])
    return text


def _short_more(more: bytes, most: int) -> bytes:
    """The parts beside the text, each with half of what it has until they are packed in `most`."""
    while len(more) > most and len(Packed.of_bytes(more).data) > most:
        parts = {name: _half(part) for name, part in json.loads(more).items()}
        more = dumped(parts).encode("utf-8", "replace")
    return more


def _half(part: Any) -> Any:
    if isinstance(part, str | list):
        return part[: len(part) // 2]
    return {} if isinstance(part, dict) else part


class ServerCare:
    """A database that no other process writes."""

    entries = "ft", "page"
    hint = ""

    def __init__(self, server: ServerTables) -> None:
        self.base = self._server = server

    def new_index(self) -> ServerIndexing:
        server = self._server
        self.forget_new()
        server.execute("BEGIN")
        forget_deleted(server)
        server.execute("COMMIT")
        make(server, "ft_new", WORDS)
        make(server, "made", "page BIGINT PRIMARY KEY, indexed BIGINT")
        return ServerIndexing(server, "ft_new")

    def use_index(self, progress: Progress) -> None:
        server = self._server
        progress("sorting words", 0, 1)
        # All at once: faster, and the index is smaller.
        server.execute("ALTER TABLE ft_new ADD FULLTEXT INDEX (words)")
        # The server has no transactions for tables, but both names change at once. What a kill
        # leaves undone after that `verify` sees, and another `rebuild` does.
        server.execute("RENAME TABLE ft TO ft_old, ft_new TO ft")
        server.execute("START TRANSACTION")
        server.execute(
            "UPDATE page LEFT JOIN made ON made.page = page.id SET page.indexed = made.indexed"
        )
        server.execute("DELETE FROM meta WHERE key = 'indexed'")
        server.execute("UPDATE meta SET key = 'indexed' WHERE key = 'indexed:ft_new'")
        server.execute("INSERT OR REPLACE INTO meta VALUES ('segmenter', ?)", (VERSION,))
        server.execute("COMMIT")
        self.forget_new()

    def forget_new(self) -> None:
        """Or the old table after it."""
        for name in ("ft_new", "ft_old", "made"):
            self._server.execute(f"DROP TABLE IF EXISTS {name}")
        self._server.execute("DELETE FROM meta WHERE key = 'indexed:ft_new'")

    def trouble(self, progress: Progress) -> Iterator[str]:
        for number, name in enumerate((*TABLES, "ft")):
            progress("checking tables", number, len(TABLES) + 1)
            for row in self._server.rows(f"CHECK TABLE {name}"):
                if row[2].lower() in ("error", "warning"):
                    yield f"{name}: {row[3]}"

    def told(self, check: Iterable[str]) -> Iterator[str]:
        yield from check

    def finds(self, page: int, word: str) -> bool:
        if self._has(page, word):
            return True
        # Of a long page the index has the first words alone, among them those of the URL.
        tokens = stored_tokens(self._server, page)
        if tokens is None or spelt(word) in kept_words(self._server, tokens).split():
            return False
        return all(self._has(page, each) for each in tokens[FIELDS.index("url")].split()[:1])

    def _has(self, page: int, word: str) -> bool:
        """Whether the index has a word of a page, or a word that it does not take."""
        asked = match(Item(word, (Form((word,)),)))
        if asked is None:
            return True
        statement = f"SELECT 1 FROM ft WHERE page = ? AND {asked.sql}"
        return bool(self._server.rows(statement, (page, *asked.arguments)))

    def tidy(self, progress: Progress) -> None:
        """Make the tables and the index anew."""
        for number, name in enumerate((*TABLES, "ft")):
            progress("making tables anew", number, len(TABLES) + 1)
            self._server.rows(f"OPTIMIZE TABLE {name}")


@contextmanager
def server_care(where: str, write: bool) -> Iterator[ServerCare]:
    with closing(_opened(where, _CARE)) as server, turn(server):
        yield ServerCare(server)
