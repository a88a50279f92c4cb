"""The hits of a search as they are shown; the same SQL for all kinds of database."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from larbinpy.database.base import Found, Hit, Wish
from larbinpy.database.filters import DATE, one_of
from larbinpy.database.ranking import DEPTH, Late, Listing, Ranked, Scored
from larbinpy.database.records import Rows, parts_of, unpacked_text
from larbinpy.search.query import Query
from larbinpy.search.snippet import snippet


class HitReader:
    """Reads the columns and texts of pages that were found, through `rows`."""

    def __init__(self, rows: Rows, clock: Callable[[], float]) -> None:
        self._rows = rows
        self._clock = clock

    def read(self, ranked: Ranked, query: Query, wish: Wish, until: float) -> list[Hit]:
        pages = self._alive(ranked.pages)
        if len(pages) < len(ranked.pages) == ranked.total:
            ranked.total = len(pages)
        first = (max(1, wish.page) - 1) * wish.n
        shown = dict(pages[:DEPTH][first : first + wish.n])
        columns = f"url, title, lang, fetched, type, published, {DATE}"
        where, arguments = one_of("page.id", shown)
        rows = self._rows(
            "SELECT page.id, text, text_size, more, more_size, sample, sample_size, summary, "
            f"{columns} FROM page LEFT JOIN content ON content.page = page.id "
            "LEFT JOIN host ON host.id = page.host "
            f"WHERE {where}",
            arguments,
        )
        by_page = {row[0]: row[1:] for row in rows}
        hits = []
        for page, score in shown.items():
            *stored, summary, url, title, lang, fetched, type_, published, date = by_page[page]
            hit = Hit(
                *(url, title or url, score, lang, fetched, type_ or "", published),
                snippet=summary or "",
                date=date,
            )
            # A page that cannot be read, or not in time, is shown by its summary.
            if self._clock() < until:
                with suppress(ValueError):
                    hit.snippet, hit.marks = _passage(stored, hit, query)
            hits.append(hit)
        return hits

    def _alive(self, pages: Scored) -> Scored:
        """Those that have a row: the index may know pages that are gone."""
        where, arguments = one_of("id", [page for page, _ in pages])
        rows = self._rows(f"SELECT id FROM page WHERE {where} AND gone IS NULL", arguments)
        alive = {page for (page,) in rows}
        return [(page, score) for page, score in pages if page in alive]

    def count_facets(self, matches: Listing, found: Found, until: float) -> None:
        try:
            hosts, found.langs = matches.facets(until)
        except Late:
            return
        where, arguments = one_of("id", [host for host, _ in hosts])
        names = {
            row[0]: row[1]
            for row in self._rows(f"SELECT id, name FROM host WHERE {where}", arguments)
        }
        found.sites = [(names[host], n) for host, n in hosts if host in names]


def _passage(stored: Sequence[Any], hit: Hit, query: Query) -> tuple[str, list[tuple[int, int]]]:
    """The passage with the hits: of the main text, or else of the rest of the page."""
    text, text_size, *more = stored
    passage, marks = snippet(unpacked_text(text, text_size) or hit.snippet, query, hit.lang)
    if marks or not more[0]:
        return passage, marks
    rest = parts_of(*more).get("rest")
    if not isinstance(rest, str) or not rest:
        return passage, marks
    other, other_marks = snippet(rest, query, hit.lang)
    return (other, other_marks) if other_marks or not passage else (passage, marks)
