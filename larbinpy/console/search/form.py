"""The Search page without hits: the form, its query string as values, and pages with a message."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import NamedTuple, Self
from urllib.parse import parse_qs, quote, urlencode

from larbinpy.console.status.markup import (
    SEARCH,
    TABS_OF_SEARCH,
    Child,
    Html,
    document,
    el,
    header,
    join,
    prose,
    section,
    tabs,
)
from larbinpy.console.text import HTML, JSON, json_line

#: Address of the stored page of a hit.
PAGE = "/page.html"
SEARCH_JSON = "/search.json"
#: The path of questions of other programs of larbinpy; no address of the server.
FOUND = "/found"

SORTS = ("rank", "date")

#: Hits on a page: of the Search page, and the most that /search.json gives.
_HITS = 10
_MOST_HITS = 100
#: Largest page number.
_LAST = 1000
#: Fields of a query string that are read; more are no request of ours.
_MOST_FIELDS = 20
#: Characters of a URL that a query string may have without being encoded (RFC 3986, 3.4).
_IN_URLS = "/:?@!$'()*,;=~"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A request: for the hits of a query, or for the stored page of `url`."""

    q: str = ""
    page: int = 1
    sort: str = SORTS[0]
    n: int = _HITS
    url: str = ""

    @classmethod
    def of(cls, query: str, most: int = _MOST_HITS) -> Self:
        """The values of a query string; those that make no sense are as if they were not there.

        `most` is the largest number of hits.
        """
        try:
            fields = parse_qs(query, max_num_fields=_MOST_FIELDS, errors="strict")
        except UnicodeDecodeError:
            # Bookmarks and forms of old are in the encoding of the West.
            fields = parse_qs(query, encoding="cp1252", errors="replace")
        except ValueError:
            return cls()
        given = {name: values[-1] for name, values in fields.items()}
        sort = given.get("sort", "")
        return cls(
            q=" ".join(given.get("q", "").split()),
            page=_number(given.get("page", ""), 1, _LAST),
            sort=sort if sort in SORTS else SORTS[0],
            n=_number(given.get("n", ""), _HITS, most),
            url=given.get("url", ""),
        )

    def address(self, **changes: str | int) -> str:
        """The address of the Search page that asks this, with `changes`."""
        other = replace(self, **changes)  # type: ignore[arg-type]
        fields: dict[str, str | int] = {"q": other.q}
        if other.page > 1:
            fields["page"] = other.page
        if other.sort != SORTS[0]:
            fields["sort"] = other.sort
        return f"{SEARCH}?{urlencode(fields, errors='replace')}"

    def address_of(self, url: str) -> str:
        """The address of the stored page of `url`, from which a link leads back to the hits."""
        return f"{PAGE}?{urlencode({'q': self.q}, errors='replace')}&url={quote(url, _IN_URLS)}"


def _number(text: str, default: int, most: int) -> int:
    digits = text.isascii() and text.isdecimal() and len(text) < 10
    return min(max(int(text), 1), most) if digits else default


#: Longest query that the form takes (characters): percent-encoded it fits into an address.
LONGEST_QUERY = 2000
#: Characters of a query, or of a page's title, in the title of the browser's window.
IN_TITLE = 80


class Frame(NamedTuple):
    """The server that the pages are from, as they show it."""

    #: The crawl, or the database.
    name: str = ""
    #: The state of the crawl; empty without one.
    state: str = ""
    with_crawl: bool = False
    with_fleet: bool = False

    @property
    def tabs(self) -> Mapping[str, str]:
        if not self.with_crawl:
            return TABS_OF_SEARCH
        return tabs(with_search=True, with_fleet=self.with_fleet)


def page(frame: Frame, title: str, current: str, *content: Child, feed: str | None = None) -> str:
    """An HTML document; `current` is its address if it is in the navigation.

    `feed` is the address of its content as a feed.
    """
    name = el("b", frame.name) if frame.name else None
    kind = "state running" if frame.state == "running" else "state"
    state = el("span", frame.state, class_=kind) if frame.state else None
    return document(
        join([prose(title), f" - larbinpy {frame.name}".rstrip()]),
        header(frame.tabs, current, name, state),
        el("main", *content),
        with_search=True,
        feed=feed,
    )


def search_page(frame: Frame, request: SearchRequest, *content: Child) -> str:
    """The Search page: the form, filled in, and below it `content`."""
    title = f"{request.q[:IN_TITLE]} - Search" if request.q else "Search"
    return page(frame, title, SEARCH, form(request), *content)


def form(request: SearchRequest) -> Html:
    """The form; it works without a script. A query that was asked fills it in."""
    field = el(
        "input", type="search", name="q", value=prose(request.q), aria_label="Search for",
        dir="auto", maxlength=LONGEST_QUERY, autocomplete="off", autocapitalize="none",
        spellcheck="false", autofocus=None if request.q or request.url else "",
    )  # fmt: skip
    sort = el("input", type="hidden", name="sort", value=request.sort)
    return el(
        "section",
        el(
            "form",
            field,
            sort if request.sort != SORTS[0] else None,
            el("button", "Search"),
            action=SEARCH,
            method="get",
            role="search",
        ),
        class_="ask",
    )


def message_page(frame: Frame, request: SearchRequest, message: str) -> str:
    """A page that says why there is no answer, with the form to try again."""
    return search_page(frame, request, section("No answer", el("p", prose(message))))


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
