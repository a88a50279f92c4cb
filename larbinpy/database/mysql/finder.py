"""Answers questions from the tables on a server; it reads only."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from typing import Any

from larbinpy.database.base import Change, DatabaseError, Found, Stored, Wish
from larbinpy.database.mysql.index import Frequencies, ServerIndex
from larbinpy.database.mysql.server import Lost, Server, TooLate, check
from larbinpy.database.ranking import HitReader, Late, find
from larbinpy.database.records import Records
from larbinpy.loop.clock import clock as monotonic
from larbinpy.search.query import Query

#: Seconds; a crawl may be adding the first pages of a language.
_LANGUAGES_KEPT = 10.0
#: Shares of the time limit at which facets and snippets are given up.
_FACETS, _SNIPPETS = 0.9, 1.0
#: Seconds after which a server that does not answer is given up, beyond the limit of a search and
#: for all else.
_GRACE, _PATIENCE = 0.05, 300.0


class Finder:
    """Reads the database on a server; see `larbinpy.database.base.Finder`."""

    def __init__(self, where: str, clock: Callable[[], float] = monotonic) -> None:
        self._where = where
        self._clock = clock
        self._server: Server | None = None
        self._frequencies = Frequencies(clock)
        self._records = Records(self._rows)
        self._languages: list[str] = []
        self._languages_until = -inf
        self._connected()

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def languages(self) -> Sequence[str]:
        now = self._clock()
        if now >= self._languages_until:
            self._languages_until = now + _LANGUAGES_KEPT
            self._connected()
            rows = self._rows(
                "SELECT lang FROM page WHERE lang IS NOT NULL GROUP BY lang "
                "ORDER BY count(*) DESC, lang"
            )
            self._languages = [lang for (lang,) in rows]
        return self._languages

    def search(self, query: Query, wish: Wish) -> Found:
        start = self._clock()
        self._connected()
        languages = self.languages()
        with self._snapshot():
            found = Found(notes=list(query.notes))
            with suppress(Late):
                found.cut = True
                until = start + wish.limit
                index = ServerIndex(self._ask, query, self._frequencies, until)
                ranked = find(index, query, wish, languages, self._clock)
                hits = HitReader(lambda ask, values: self._ask(ask, values, until), self._clock)
                found.hits = hits.read(ranked, query, wish, start + _SNIPPETS * wish.limit)
                found.cut, found.missing = ranked.cut, ranked.missing
                found.total = ranked.total
                if wish.facets and ranked.matches is not None:
                    hits.count_facets(ranked.matches, found, start + _FACETS * wish.limit)
        found.seconds = self._clock() - start
        return found

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """All that is read within is of one moment, unless the server is connected anew."""
        self._connected().execute("START TRANSACTION READ ONLY")
        try:
            yield
        finally:
            if self._server is not None:
                try:
                    self._server.execute("ROLLBACK")
                except DatabaseError:
                    self.close()

    def _ask(self, statement: str, arguments: Sequence[Any], until: float) -> list[Any]:
        """The rows of a SELECT. Raises `Late`.

        The full-text index does not look at the server's own limit while it reads words, so that
        a server that is late is left alone, and connected again.
        """
        left = until - self._clock()
        if left <= 0:
            raise Late
        if self._server is None:
            self._server = Server(self._where, _PATIENCE)
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

    def _connected(self) -> Server:
        """The server, connected again if it has forgotten the connection."""
        if self._server is not None and not self._server.is_alive():
            self.close()
        if self._server is None:
            server = Server(self._where, _PATIENCE)
            try:
                check(server, write=False)
            except BaseException:
                server.close()
                raise
            self._server = server
        return self._server

    def show(self, url: str) -> Stored | None:
        self._connected()
        return self._records.show(url)

    def fetched(self, url: str) -> str | None:
        self._connected()
        return self._records.fetched(url)

    def body(self, url: str) -> bytes | None:
        self._connected()
        return self._records.body(url)

    def history(self, url: str) -> list[Change]:
        self._connected()
        return self._records.history(url)

    def changes(self, since: str) -> Iterator[Change]:
        self._connected()
        yield from self._records.changes(since)

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        self._connected()
        return self._records.latest(n, skip)

    def pages(self) -> Iterator[Stored]:
        self._connected()
        yield from self._records.pages()

    def counts(self) -> dict[str, int]:
        server = self._connected()
        counts = {name: int(server.rows(ask)[0][0]) for name, ask in _COUNTS.items()}
        rows = server.rows(
            "SELECT sum(data_length + index_length) FROM information_schema.tables "
            "WHERE table_schema = DATABASE()"
        )
        return counts | {"bytes": int(rows[0][0] or 0)}

    def _rows(self, statement: str, arguments: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]:
        server = self._server or self._connected()
        return server.rows(statement, arguments)


_COUNTS = {
    "pages": "SELECT count(*) FROM page WHERE gone IS NULL",
    "gone": "SELECT count(*) FROM page WHERE gone IS NOT NULL",
    "hosts": "SELECT count(*) FROM host",
}
