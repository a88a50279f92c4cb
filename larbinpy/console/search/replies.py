"""The reply to a request, made from the answers of a Finder."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from larbinpy.console.search.changes import SHOWN, changes_page
from larbinpy.console.search.feed import feed
from larbinpy.console.search.form import Frame, message_page
from larbinpy.console.search.reply import SearchReply, failure, html
from larbinpy.console.search.request import FOUND, PAGE, SEARCH_JSON, SearchRequest
from larbinpy.console.search.results import empty_page, found_page
from larbinpy.console.search.stored import stored_page
from larbinpy.console.status.frame import CHANGES, FEED, FEED_TYPE
from larbinpy.console.text import JSON, json_line
from larbinpy.database.base import DatabaseError, Finder, Found, Wish
from larbinpy.database.exchange import fields_of
from larbinpy.database.ranking import DEPTH
from larbinpy.search.query import Query

#: Seconds after which a search is cut: snippets and the page must be made in the time that the
#: server grants, also on a machine that is busy.
_LIMIT = 0.8


#: Makes a `Query` of a text and the languages of the database.
Parse = Callable[[str, Sequence[str]], Query]


class Replies:
    """Replies to requests. The database is opened at the first one, and again after an error."""

    def __init__(self, open_finder: Callable[[], Finder], parse: Parse) -> None:
        self._open = open_finder
        self._parse = parse
        self._finder: Finder | None = None

    def reply(self, path: str, query: str, frame: Frame) -> SearchReply:
        """The reply to a request for `path` with a query string."""
        request = SearchRequest.of(query)
        try:
            finder = self._finder = self._finder or self._open()
            if path == FOUND:
                return self._all(finder, SearchRequest.of(query, DEPTH))
            if path == SEARCH_JSON:
                return self._json(finder, request)
            if path in (CHANGES, FEED):
                return self._changes(finder, frame, request, path)
            if path == PAGE:
                return self._stored(finder, frame, request)
            return self._search(finder, frame, request)
        except DatabaseError as error:
            self.close()
            return failure(path, frame, request, str(error))

    def close(self) -> None:
        if self._finder is not None:
            self._finder.close()
            self._finder = None

    def _search(self, finder: Finder, frame: Frame, request: SearchRequest) -> SearchReply:
        query = self._query(finder, request)
        if query.is_empty:
            return html(empty_page(frame, request, finder.counts()))
        return html(found_page(frame, request, query, self._found(finder, request, query)))

    def _stored(self, finder: Finder, frame: Frame, request: SearchRequest) -> SearchReply:
        stored = finder.show(request.url)
        if stored is None:
            message = "This page is not in the database."
            return html(message_page(frame, request, message), HTTPStatus.NOT_FOUND)
        query, history = self._query(finder, request), finder.history(request.url)
        return html(stored_page(frame, request, query, stored, history))

    @staticmethod
    def _changes(finder: Finder, frame: Frame, request: SearchRequest, path: str) -> SearchReply:
        found = finder.latest(SHOWN + 1, (request.page - 1) * SHOWN)
        shown, more = found[:SHOWN], len(found) > SHOWN
        if path == CHANGES:
            return html(changes_page(frame, request, shown, more=more))
        return SearchReply(
            HTTPStatus.OK, FEED_TYPE, feed(frame.name, shown, request.page, more=more)
        )

    def _json(self, finder: Finder, request: SearchRequest) -> SearchReply:
        query = self._query(finder, request)
        found = Found() if query.is_empty else self._found(finder, request, query)
        return SearchReply(HTTPStatus.OK, JSON, json_line(found_json(request, query, found)))

    def _all(self, finder: Finder, request: SearchRequest) -> SearchReply:
        """The answer for another program, which merges it with others."""
        asked = self._query(finder, request)
        found = finder.search(asked, Wish(request.n, 1, request.sort, limit=_LIMIT))
        found.notes = list(dict.fromkeys((*asked.notes, *found.notes)))
        fields = fields_of(found)
        return SearchReply(HTTPStatus.OK, JSON, json_line(fields))

    def _query(self, finder: Finder, request: SearchRequest) -> Query:
        return self._parse(request.q, finder.languages())

    @staticmethod
    def _found(finder: Finder, request: SearchRequest, query: Query) -> Found:
        wish = Wish(request.n, request.page, request.sort, facets=True, limit=_LIMIT)
        return finder.search(query, wish)


def found_json(request: SearchRequest, query: Query, found: Found) -> dict[str, Any]:
    """The answer to a query: totals, facets, and the hits as `larbinpy search --json` has them."""
    return {
        "query": request.q,
        "total": found.total,
        "cut": found.cut,
        "missing": found.missing,
        "notes": list(dict.fromkeys((*query.notes, *found.notes))),
        "seconds": round(found.seconds, 4),
        "sort": request.sort,
        "page": request.page,
        "sites": dict(found.sites),
        "langs": dict(found.langs),
        "hits": [hit.fields() for hit in found.hits],
    }
