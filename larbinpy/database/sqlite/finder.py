"""Answers questions from the database file; a connection that reads only."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

from larbinpy.database.base import Change, Found, Stored, Wish
from larbinpy.database.ranking import HitReader, find
from larbinpy.database.records import Records
from larbinpy.database.sqlite.index import FtsIndex, TimeLimit, distinct
from larbinpy.database.sqlite.schema import connect, sqlite_errors, still_state
from larbinpy.loop.clock import clock as monotonic
from larbinpy.search.query import Query

#: KiB of the file that a finder keeps in memory.
_CACHE = 64 * 1024
#: Seconds; a crawl may be adding the first pages of a language.
_LANGUAGES_KEPT = 10.0
#: Pages whose languages are counted; counting a million takes 0.1 s.
_DRAWN = 2000
#: Shares of the time limit at which facets and snippets are given up.
_FACETS, _SNIPPETS = 0.9, 1.0


class Finder:
    """Reads the database `path`; see `larbinpy.database.base.Finder`."""

    def __init__(self, path: str | Path, clock: Callable[[], float] = monotonic) -> None:
        self._path = path
        self._clock = clock
        self._open()
        self._records = Records(self._rows)
        self._hits = HitReader(self._rows, clock)
        self._languages: list[str] = []
        self._languages_until = -inf

    def _open(self) -> None:
        still = still_state(self._path)
        base = connect(self._path)
        with sqlite_errors(self._path):
            base.execute(f"PRAGMA cache_size=-{_CACHE}")
        self._base = base
        self._limit = TimeLimit(base, self._clock)
        # A writer may have left meanwhile.
        self._still = still or still_state(self._path)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Within, a question is answered: by the file as it is now."""
        with sqlite_errors(self._path):
            is_other = self._still is not None and self._still != still_state(self._path)
            if is_other and not self._base.in_transaction:
                old = self._base
                self._open()
                old.close()
            yield

    def close(self) -> None:
        self._base.close()

    def languages(self) -> Sequence[str]:
        now = self._clock()
        if now >= self._languages_until:
            self._languages_until = now + _LANGUAGES_KEPT
            with self._asked():
                self._languages = _languages(self._base)
        return self._languages

    def search(self, query: Query, wish: Wish) -> Found:
        start = self._clock()
        with self._asked(), self._snapshot():
            index = FtsIndex(self._base, self._limit, query, self._clock)
            ranked = find(index, query, wish, self.languages(), self._clock)
            found = Found(cut=ranked.cut, missing=ranked.missing, notes=list(query.notes))
            found.hits = self._hits.read(ranked, query, wish, start + _SNIPPETS * wish.limit)
            found.total = ranked.total
            if wish.facets and ranked.matches is not None:
                self._hits.count_facets(ranked.matches, found, start + _FACETS * wish.limit)
        found.seconds = self._clock() - start
        return found

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """All that is read within is of one moment, whatever a writer does meanwhile."""
        self._base.execute("BEGIN")
        try:
            yield
        finally:
            self._base.execute("ROLLBACK")

    def show(self, url: str) -> Stored | None:
        with self._asked():
            return self._records.show(url)

    def fetched(self, url: str) -> str | None:
        with self._asked():
            return self._records.fetched(url)

    def body(self, url: str) -> bytes | None:
        with self._asked():
            return self._records.body(url)

    def history(self, url: str) -> list[Change]:
        with self._asked():
            return self._records.history(url)

    def changes(self, since: str) -> Iterator[Change]:
        with self._asked():
            yield from self._records.changes(since)

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        with self._asked():
            return self._records.latest(n, skip)

    def pages(self) -> Iterator[Stored]:
        with self._asked():
            yield from self._records.pages()

    def counts(self) -> dict[str, int]:
        with self._asked():
            counts = {
                name: int(self._base.execute(statement).fetchone()[0])
                for name, statement in _COUNTS.items()
            }
        files = (Path(f"{self._path}{end}") for end in ("", "-wal"))
        return counts | {"bytes": sum(file.stat().st_size for file in files if file.exists())}

    def _rows(self, statement: str, arguments: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
        return self._base.execute(statement, arguments)


_GONE = "SELECT count(*) FROM page WHERE gone IS NOT NULL"
_COUNTS = {
    # The pages that are gone have an index, the others do not.
    "pages": f"SELECT count(*) - ({_GONE}) FROM page",
    "gone": _GONE,
    "hosts": "SELECT count(*) FROM host",
}


def _languages(base: sqlite3.Connection) -> list[str]:
    """All languages, in the order of their frequency among pages that are drawn evenly."""
    (last,) = base.execute("SELECT max(id) FROM page").fetchone()
    drawn = range(last or 0, 0, -max(1, (last or 0) // _DRAWN))
    rows = base.execute(
        "SELECT lang, count(*) FROM page WHERE id IN (SELECT value FROM json_each(?)) "
        "AND lang IS NOT NULL GROUP BY lang",
        (json.dumps(list(drawn)),),
    )
    counts = dict(rows.fetchall())
    return sorted(distinct(base, "lang"), key=lambda lang: (-counts.get(lang, 0), lang))
