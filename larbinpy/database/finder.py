"""Answers questions from a database of any kind; it reads only.

`SeveralFinders` reads several databases, such as those of the nodes of a crawl, as one. Answers go
from one process to another as JSON of bounded size.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from itertools import islice
from math import inf
from operator import attrgetter
from typing import Any

import zstandard

from larbinpy.database.base import (
    NOTHING,
    OLDEST,
    STORED,
    Change,
    DatabaseError,
    Finder,
    Found,
    Hit,
    Stored,
    Wish,
    filters,
    markdown_of,
    one_of,
    read_page,
    stored,
)
from larbinpy.database.dialect import dialect
from larbinpy.database.preparation import Difference, dumped, target_of
from larbinpy.database.ranking import DEPTH, HitReader, Late, find
from larbinpy.database.search.query import Query
from larbinpy.loop.clock import Clock, clock, wall
from larbinpy.url import canonical, typed

__all__ = [
    "DatabaseFinder",
    "Difference",
    "SeveralFinders",
    "fields_of",
    "found_of",
    "markdown_of",
    "merged",
]
__all__ += ["open_finders", "wish_of_each"]

#: Seconds; a crawl may be adding the first pages of a language.
_LANGUAGES_KEPT = 10.0
#: Shares of the time limit at which facets and snippets are given up.
_FACETS, _SNIPPETS = 0.9, 1.0

_CHANGE = "SELECT c.at, page.url, c.kind, coalesce(page.title, ''), c.target "
#: Rows that are read at once: a long reading would keep a writer's log from being emptied.
_BATCH = 200
_GONE = "SELECT count(*) FROM page WHERE gone IS NOT NULL"
_COUNTS = {
    # The pages that are gone have an index, the others do not.
    "pages": f"SELECT count(*) - ({_GONE}) FROM page",
    "gone": _GONE,
    "hosts": "SELECT count(*) FROM host",
}


class DatabaseFinder:
    """The `Finder` of the database `where`. Many may be open while a writer writes."""

    def __init__(self, where: str, clock: Clock = clock) -> None:
        """Raises `DatabaseError`, also if there is none."""
        self._clock = clock
        self._base = dialect(where).reading(where, clock)
        self._languages: list[str] = []
        self._languages_until = -inf

    def close(self) -> None:
        self._base.close()

    def languages(self) -> Sequence[str]:
        now = self._clock()
        if now >= self._languages_until:
            self._languages_until = now + _LANGUAGES_KEPT
            with self._base.asked():
                self._languages = self._base.languages()
        return self._languages

    def search(self, query: Query, wish: Wish) -> Found:
        start = self._clock()
        until = start + wish.limit
        languages = self.languages()
        found = Found(cut=True, notes=list(query.notes))
        with self._base.snapshot(), suppress(Late):
            index = self._base.index(query, until)
            ranked = find(index, query, wish, languages, self._clock)
            for item, other in ranked.instead.items():
                found.notes.append(f"no page has {item.text}: these have {other.text}")
            words = tuple(ranked.instead.get(item, item) for item in query.wanted)
            query = replace(query, wanted=words)
            hits = HitReader(self._base.rows_until(until), self._clock)
            found.notes += hits.add_compounds(index, ranked, query, wish, languages)
            hits.check(ranked, query, wish, start + _FACETS * wish.limit)
            found.hits = hits.read(ranked, query, wish, start + _SNIPPETS * wish.limit)
            found.cut, found.missing, found.total = ranked.cut, ranked.missing, ranked.total
            if ranked.absent:
                wanted = query, ranked.absent, languages
                found.instead = hits.instead(index, *wanted, start + _FACETS * wish.limit)
            if wish.facets and ranked.matches is not None:
                facets_until = start + _FACETS * wish.limit
                hits.count_facets(index, ranked.matches, found, wall(), facets_until)
        found.seconds = self._clock() - start
        return found

    def show(self, url: str) -> Stored | None:
        with self._base.asked():
            key = self._key(url)
            return None if key is None else read_page(self._base.rows, "page.key = ?", key)

    def fetched(self, url: str) -> str | None:
        with self._base.asked():
            row = self._row("SELECT fetched FROM page WHERE page.key = ?", target_of(url))
        return None if row is None else row[0]

    def body(self, url: str) -> bytes | None:
        with self._base.asked():
            ask = "SELECT body.zstd FROM body JOIN page ON page.id = body.page WHERE page.key = ?"
            row = self._row(ask, self._key(url))
        try:
            return None if row is None else zstandard.decompress(row[0])
        except (zstandard.ZstdError, TypeError) as error:
            why = f"its body in the database is damaged ({error})"
            raise DatabaseError(f"{url}: {why}") from None

    def history(self, url: str) -> list[Change]:
        with self._base.asked():
            rows = self._base.rows(
                f"{_CHANGE} FROM change AS c JOIN page ON page.id = c.page "
                # A page that is new comes first of the changes in one second.
                "WHERE page.key = ? ORDER BY c.at, c.kind <> 'new', c.kind, c.target",
                (self._key(url),),
            )
            return [Change(*row) for row in rows]

    def changes(self, since: str) -> Iterator[Change]:
        with self._base.asked():
            rows = self._base.rows(
                f"{_CHANGE} FROM change AS c JOIN page ON page.id = c.page "
                "WHERE c.at >= ? ORDER BY c.at, c.page",
                (since,),
            )
            yield from (Change(*row) for row in rows)

    def difference(self, change: Change) -> Difference | None:
        ask = "SELECT d.data, d.size FROM difference AS d JOIN page ON page.id = d.page"
        with self._base.asked():
            (version,) = self._row("SELECT value FROM meta WHERE key = 'format'")
            if int(version) == OLDEST:
                return None
            row = self._row(
                f"{ask} WHERE page.key = ? AND d.at = ?", self._key(change.url), change.at
            )
        with suppress(ValueError, TypeError):
            return None if row is None else Difference.unpack(*row)
        return None

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        newest = "SELECT at, page, kind, target FROM change ORDER BY at DESC, page DESC"
        with self._base.asked():
            rows = self._base.rows(
                f"{_CHANGE} FROM ({newest} LIMIT {n} OFFSET {skip}) AS c "
                "JOIN page ON page.id = c.page ORDER BY c.at DESC, c.page DESC",
                (),
            )
            return [Change(*row) for row in rows]

    def pages(self, query: Query = NOTHING) -> Iterator[Stored]:
        last = -(1 << 63)
        with self._base.asked():
            passing, arguments = filters(query, self._base.rows, self._types, one_of)
            ask = f"{STORED} WHERE page.id > ? AND page.gone IS NULL{passing}"
            ask += f" ORDER BY page.id LIMIT {_BATCH}"
            while rows := list(self._base.rows(ask, (last, *arguments))):
                last = rows[-1][0]
                yield from map(stored, rows)

    def _types(self) -> list[str]:
        rows = self._base.rows("SELECT DISTINCT type FROM page WHERE type IS NOT NULL", ())
        return [kind for (kind,) in rows]

    def counts(self) -> dict[str, int]:
        with self._base.asked():
            counts = {name: int(self._row(ask)[0]) for name, ask in _COUNTS.items()}
            return counts | {"bytes": self._base.size()}

    def _key(self, url: str) -> int | None:
        """The key of a URL as people type it, or as it stands; None if no page has it."""
        spellings = dict.fromkeys((typed(url, views=True), typed(url), canonical(url), url))
        keys = [target_of(spelling) for spelling in spellings if spelling is not None]
        ask = "SELECT 1 FROM page WHERE page.key = ?"
        return next((key for key in keys if self._row(ask, key)), None)

    def _row(self, ask: str, *arguments: Any) -> Any:
        """The first row of a SELECT, None if there is none."""
        return next(iter(self._base.rows(ask, arguments)), None)


#: Bytes of all hits, about. A thousand usual ones have as many.
_MOST = 512 << 10


def fields_of(found: Found, most: int = _MOST) -> dict[str, Any]:
    """The answer without its facets; hits that would make it too large are left out."""
    hits, size = [], 0
    for hit in found.hits:
        fields = asdict(hit)
        size += len(dumped(fields).encode("utf-8", "replace"))
        if size > most:
            break
        hits.append(fields)
    return {
        "hits": hits,
        "total": found.total,
        "cut": found.cut or len(hits) < len(found.hits),
        "missing": found.missing,
        "notes": found.notes,
        "instead": found.instead,
        "seconds": found.seconds,
    }


def found_of(fields: Mapping[str, Any]) -> Found:
    """The answer that `fields_of` was made of."""
    hits = [
        Hit(**{**hit, "marks": [(start, end) for start, end in hit["marks"]]})
        for hit in fields["hits"]
    ]
    names = ("total", "cut", "missing", "notes", "instead", "seconds")
    return Found(hits, **{name: fields[name] for name in names if name in fields})


def wish_of_each(wish: Wish) -> Wish:
    """The wish for each database, so that `merged` has the hits of `wish`."""
    return replace(wish, n=min(wish.n * wish.page, DEPTH), page=1)


def merged(answers: Sequence[Found], wish: Wish) -> Found:
    """The hits of `wish`, out of answers to `wish_of_each`.

    Each database has ranked by its own frequencies of words. If several have a URL, the page that
    was fetched last counts. Databases that have all words win over those that lack some.
    """
    least = min((len(each.missing) for each in answers if each.hits), default=0)
    best = [each for each in answers if not each.hits or len(each.missing) == least]
    pages, doubles = _distinct(hit for each in best for hit in each.hits)
    if wish.sort == "date":
        pages.sort(key=lambda hit: hit.date, reverse=True)
    else:
        pages.sort(key=lambda hit: hit.score, reverse=True)
    start = (wish.page - 1) * wish.n
    return Found(
        hits=pages[:DEPTH][start : start + wish.n],
        total=sum(each.total for each in best) - doubles,
        cut=any(each.cut for each in best),
        missing=next((each.missing for each in best if each.hits), []),
        instead=next((each.instead for each in best if each.instead), ""),
        sites=_sum(each.sites for each in best),
        langs=_sum(each.langs for each in best),
        types=_sum(each.types for each in best),
        since=_sum(each.since for each in best),
        notes=list(dict.fromkeys(note for each in answers for note in each.notes)),
        seconds=max((each.seconds for each in answers), default=0.0),
    )


def _distinct(hits: Iterable[Hit]) -> tuple[list[Hit], int]:
    """The hits, one for each URL, and how many were left out."""
    newest: dict[str, Hit] = {}
    doubles = 0
    for hit in hits:
        other = newest.get(hit.url)
        doubles += other is not None
        if other is None or hit.fetched > other.fetched:
            newest[hit.url] = hit
    return list(newest.values()), doubles


def _sum(counts: Iterable[Sequence[tuple[str, int]]]) -> list[tuple[str, int]]:
    total: Counter[str] = Counter()
    for each in counts:
        for name, number in each:
            total[name] += number
    return total.most_common()


def open_finders(places: Sequence[str]) -> Finder:
    """Open the databases `places` to read, as one. Raises `DatabaseError`."""
    if len(places) == 1:
        return DatabaseFinder(places[0])
    with ExitStack() as opened:
        finders = []
        for place in places:
            finders.append(DatabaseFinder(place))
            opened.callback(finders[-1].close)
        opened.pop_all()
    return SeveralFinders(finders)


class SeveralFinders:
    """The `Finder` of several databases.

    If more than one has a page, the one that was fetched last counts.
    """

    def __init__(self, finders: Sequence[Finder], clock: Clock = clock) -> None:
        self._finders = finders
        self._clock = clock

    def close(self) -> None:
        for finder in self._finders:
            finder.close()

    def languages(self) -> Sequence[str]:
        return list(dict.fromkeys(lang for each in self._finders for lang in each.languages()))

    def search(self, query: Query, wish: Wish) -> Found:
        start = self._clock()
        each = wish_of_each(wish)
        answers = []
        for done, finder in enumerate(self._finders):
            # One that is fast leaves its time to the others.
            left = start + wish.limit - self._clock()
            limit = left / (len(self._finders) - done)
            answers.append(finder.search(query, replace(each, limit=limit)))
        found = merged(answers, wish)
        found.seconds = self._clock() - start
        return found

    def show(self, url: str) -> Stored | None:
        finder = self._newest(url)
        return None if finder is None else finder.show(url)

    def fetched(self, url: str) -> str | None:
        finder = self._newest(url)
        return None if finder is None else finder.fetched(url)

    def body(self, url: str) -> bytes | None:
        finder = self._newest(url)
        return None if finder is None else finder.body(url)

    def history(self, url: str) -> list[Change]:
        return list(_in_order(finder.history(url) for finder in self._finders))

    def changes(self, since: str) -> Iterator[Change]:
        return _in_order(finder.changes(since) for finder in self._finders)

    def difference(self, change: Change) -> Difference | None:
        found = (finder.difference(change) for finder in self._finders)
        return next((each for each in found if each is not None), None)

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        newest = heapq.merge(
            *(finder.latest(skip + n) for finder in self._finders), key=_time, reverse=True
        )
        return list(islice(newest, skip, skip + n))

    def pages(self, query: Query = NOTHING) -> Iterator[Stored]:
        for finder in self._finders:
            for page in finder.pages(query):
                if self._newest(page.columns["url"]) is finder:
                    yield page

    def counts(self) -> dict[str, int]:
        """The sums; a page or a host that several have counts for each."""
        counts: Counter[str] = Counter()
        for finder in self._finders:
            counts.update(finder.counts())
        return dict(counts)

    def _newest(self, url: str) -> Finder | None:
        """The one whose page of a URL was fetched last; the first of several, None for none."""
        known = [(at, -n) for n, each in enumerate(self._finders) if (at := each.fetched(url))]
        return self._finders[-max(known)[1]] if known else None


_time = attrgetter("at")


def _in_order(changes: Iterable[Iterable[Change]]) -> Iterator[Change]:
    """The changes of several databases, the oldest first."""
    return heapq.merge(*changes, key=_time)
