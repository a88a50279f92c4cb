"""The page about changes: which pages are new, changed, gone, back or moved, the newest first."""

from collections.abc import Sequence

from larbinpy.console.search.form import Frame, page
from larbinpy.console.search.request import SearchRequest
from larbinpy.console.search.results import link
from larbinpy.console.status.format import section
from larbinpy.console.status.frame import CHANGES, FEED
from larbinpy.console.status.markup import Html, el, join, prose, table
from larbinpy.database.base import Change

#: Changes on a page, and in a part of the feed.
SHOWN = 50
#: Characters of a URL that is shown whole: a reply has a limit, and a URL may have 8,000.
LONGEST_URL = 1000


def changes_page(
    frame: Frame, request: SearchRequest, changes: Sequence[Change], *, more: bool
) -> str:
    """The page number `request.page` of all changes; `more`: there are older ones."""
    rows = [(_time(change.at), prose(change.kind), _changed(request, change)) for change in changes]
    feed = el("p", "As a ", el("a", "feed", href=FEED), " for a reader of news.", class_="none")
    found = table(("When (UTC)", "What", "*Page"), rows, "No page has changed.")
    return page(
        frame, "Changes", CHANGES, section("Changes", feed, found, _pages(request.page, more)),
        feed=FEED,
    )  # fmt: skip


def _time(at: str) -> Html:
    return prose(at.replace("T", " ").removesuffix("Z"))


def _changed(request: SearchRequest, change: Change) -> Html:
    """The title, which leads to the stored page, and where the page is, or was, on the web."""
    title = change.title.strip() or "(no title)"
    moved = [" moved to ", _link(change.target)] if change.target else []
    return join(
        [
            el("a", el("bdi", prose(title)), href=prose(request.address_of(change.url))),
            el("small", _link(change.url), *moved, class_="url"),
        ]
    )


def _link(url: str) -> Html:
    return link(url) if len(url) <= LONGEST_URL else el("bdi", prose(f"{url[:LONGEST_URL]}..."))


def _pages(number: int, more: bool) -> Html | None:
    links = []
    if number > 1:
        links.append(el("a", "Newer", href=changes_address(number - 1), rel="prev"))
    if more:
        links.append(el("a", "Older", href=changes_address(number + 1), rel="next"))
    return el("nav", *links, class_="pages", aria_label="Pages of changes") if links else None


def changes_address(number: int, path: str = CHANGES) -> str:
    """The address of the page, or of the part of the feed, with this number, from 1."""
    return path if number == 1 else f"{path}?page={number}"
