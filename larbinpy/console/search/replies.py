"""The reply to a request, made from the answers of a Finder."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from larbinpy.console.search import asked as asked_values
from larbinpy.console.search.asked import PAGE, SEARCH_JSON, Asked
from larbinpy.console.search.form import Frame, message_page
from larbinpy.console.search.results import empty_page, found_page
from larbinpy.console.search.stored import stored_page
from larbinpy.console.text import json_line
from larbinpy.database.base import DatabaseError, Finder, Found, Wish
from larbinpy.search.query import Query

HTML = "text/html; charset=utf-8"
JSON = "application/json"

#: Seconds after which a search is cut: snippets and the page must be made in the time that the
#: server grants, also on a machine that is busy.
_LIMIT = 0.8


class Reply(NamedTuple):
    status: HTTPStatus
    type: str
    body: bytes


#: Makes a `Query` of a text and the languages of the database.
Parse = Callable[[str, Sequence[str]], Query]


class Replies:
    """Replies to requests. The database is opened at the first one, and again after an error."""

    def __init__(self, open_finder: Callable[[], Finder], parse: Parse) -> None:
        self._open = open_finder
        self._parse = parse
        self._finder: Finder | None = None

    def reply(self, path: str, query: str, frame: Frame) -> Reply:
        """The reply to a request for `path` with a query string."""
        asked = asked_values.read(query)
        try:
            finder = self._finder = self._finder or self._open()
            if path == SEARCH_JSON:
                return self._json(finder, asked)
            if path == PAGE:
                return self._stored(finder, frame, asked)
            return self._search(finder, frame, asked)
        except DatabaseError as error:
            self.close()
            return failure(path, frame, asked, str(error))

    def close(self) -> None:
        if self._finder is not None:
            self._finder.close()
            self._finder = None

    def _search(self, finder: Finder, frame: Frame, asked: Asked) -> Reply:
        query = self._query(finder, asked)
        if query.is_empty:
            return _html(empty_page(frame, asked, finder.counts()))
        return _html(found_page(frame, asked, query, self._found(finder, asked, query)))

    def _stored(self, finder: Finder, frame: Frame, asked: Asked) -> Reply:
        stored = finder.show(asked.url)
        if stored is None:
            message = "This page is not in the database."
            return _html(message_page(frame, asked, message), HTTPStatus.NOT_FOUND)
        query, history = self._query(finder, asked), finder.history(asked.url)
        return _html(stored_page(frame, asked, query, stored, history))

    def _json(self, finder: Finder, asked: Asked) -> Reply:
        query = self._query(finder, asked)
        found = Found() if query.is_empty else self._found(finder, asked, query)
        return Reply(HTTPStatus.OK, JSON, json_line(found_json(asked, query, found)))

    def _query(self, finder: Finder, asked: Asked) -> Query:
        return self._parse(asked.q, finder.languages())

    @staticmethod
    def _found(finder: Finder, asked: Asked, query: Query) -> Found:
        wish = Wish(asked.n, asked.page, asked.sort, facets=True, limit=_LIMIT)
        return finder.search(query, wish)


def _html(page: str, status: HTTPStatus = HTTPStatus.OK) -> Reply:
    return Reply(status, HTML, page.encode())


def failure(path: str, frame: Frame, asked: Asked, message: str) -> Reply:
    """The reply if there is no answer now."""
    status = HTTPStatus.SERVICE_UNAVAILABLE
    if path == SEARCH_JSON:
        return Reply(status, JSON, json_line({"error": message}))
    return _html(message_page(frame, asked, message), status)


def found_json(asked: Asked, query: Query, found: Found) -> dict[str, Any]:
    """The answer to a query: totals, facets, and the hits as `larbinpy search --json` has them."""
    return {
        "query": asked.q,
        "total": found.total,
        "cut": found.cut,
        "missing": found.missing,
        "notes": list(dict.fromkeys((*query.notes, *found.notes))),
        "seconds": round(found.seconds, 4),
        "sort": asked.sort,
        "page": asked.page,
        "sites": dict(found.sites),
        "langs": dict(found.langs),
        "hits": [hit.fields() for hit in found.hits],
    }
