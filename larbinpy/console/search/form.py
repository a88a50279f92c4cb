"""The form of the Search page, the frame of its pages, and pages that have a message only."""

from collections.abc import Mapping
from typing import NamedTuple

from larbinpy.console.search.request import SORTS, SearchRequest
from larbinpy.console.status.format import section
from larbinpy.console.status.frame import SEARCH, TABS_OF_SEARCH, document, header, tabs
from larbinpy.console.status.markup import Child, Html, el, join, prose

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
