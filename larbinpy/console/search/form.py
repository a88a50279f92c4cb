"""The form of the Search page, the frame of its pages, and pages that have a message only."""

from collections.abc import Mapping
from typing import NamedTuple

from larbinpy.console.search.asked import SORTS, Asked
from larbinpy.console.status.format import section
from larbinpy.console.status.frame import SEARCH, TABS, TABS_OF_SEARCH, document, header
from larbinpy.console.status.markup import Child, Html, el, join, prose

#: Longest query that the form takes (characters): percent-encoded it fits into an address.
LONGEST_QUERY = 2000
_IN_TITLE = 80


class Frame(NamedTuple):
    """What the pages show of the server that they are from."""

    #: The crawl, or the database.
    name: str = ""
    #: The state of the crawl; empty without one.
    state: str = ""
    with_crawl: bool = False

    @property
    def tabs(self) -> Mapping[str, str]:
        return TABS if self.with_crawl else TABS_OF_SEARCH


def page(frame: Frame, title: Html, current: str, *content: Child) -> str:
    """An HTML document; `current` is its address if it is in the navigation."""
    name = el("b", frame.name) if frame.name else None
    kind = "state running" if frame.state == "running" else "state"
    state = el("span", frame.state, class_=kind) if frame.state else None
    return document(
        join([title, f" - larbinpy {frame.name}".rstrip()]),
        header(frame.tabs, current, name, state),
        el("main", *content),
        with_search=True,
    )


def search_page(frame: Frame, asked: Asked, *content: Child) -> str:
    """The Search page: the form, filled in, and below it `content`."""
    title = f"{asked.q[:_IN_TITLE]} - Search" if asked.q else "Search"
    return page(frame, prose(title), SEARCH, form(asked), *content)


def form(asked: Asked) -> Html:
    """The form; it works without a script. A query that was asked fills it in."""
    field = el(
        "input", type="search", name="q", value=prose(asked.q), aria_label="Search for", dir="auto",
        maxlength=LONGEST_QUERY, autocomplete="off", autocapitalize="none", spellcheck="false",
        autofocus=None if asked.q or asked.url else "",
    )  # fmt: skip
    sort = el("input", type="hidden", name="sort", value=asked.sort)
    return el(
        "section",
        el(
            "form",
            field,
            sort if asked.sort != SORTS[0] else None,
            el("button", "Search"),
            action=SEARCH,
            method="get",
            role="search",
        ),
        class_="ask",
    )


def message_page(frame: Frame, asked: Asked, message: str) -> str:
    """A page that says why there is no answer, with the form to try again."""
    return search_page(frame, asked, section("No answer", el("p", prose(message))))
