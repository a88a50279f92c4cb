"""A reply to a request, and the one that has a message in place of an answer."""

from http import HTTPStatus
from typing import NamedTuple

from larbinpy.console.search.form import Frame, message_page
from larbinpy.console.search.request import FOUND, SEARCH_JSON, SearchRequest
from larbinpy.console.text import HTML, JSON, json_line


class SearchReply(NamedTuple):
    status: HTTPStatus
    type: str
    body: bytes


def html(page: str, status: HTTPStatus = HTTPStatus.OK) -> SearchReply:
    """A reply with an HTML document."""
    return SearchReply(status, HTML, page.encode())


def failure(path: str, frame: Frame, request: SearchRequest, message: str) -> SearchReply:
    """The reply if there is no answer now: `message`, as the kind of reply that `path` has."""
    status = HTTPStatus.SERVICE_UNAVAILABLE
    if path in (FOUND, SEARCH_JSON):
        return SearchReply(status, JSON, json_line({"error": message}))
    return html(message_page(frame, request, message), status)
