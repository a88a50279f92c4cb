"""The frame of all pages: head, title, navigation. It depends on nothing of a crawl."""

from collections.abc import Mapping

from larbinpy.console.status.assets import STYLE
from larbinpy.console.status.markup import Child, Html, el, raw

#: Address of the Search page.
SEARCH = "/search.html"
#: Address of the description by which a browser takes the Search page as a search engine.
OPENSEARCH = "/opensearch.xml"
OPENSEARCH_TYPE = "application/opensearchdescription+xml"

#: Addresses of the page about the changes of the database, and of the feed with them.
CHANGES = "/changes.html"
FEED = "/changes.xml"
FEED_TYPE = "application/atom+xml"

#: Address of the page about the fleet that a crawl is a node of.
FLEET = "/fleet.html"

#: Address -> name of each page of a crawl, in the order of the navigation.
TABS: Mapping[str, str] = {
    "/": "Overview",
    FLEET: "Fleet",
    SEARCH: "Search",
    CHANGES: "Changes",
    "/stats.html": "Outcomes",
    "/report.html": "Broken links",
    "/histograms.html": "Histograms",
    "/urls.html": "URLs and sites",
    "/dns.html": "DNS",
    "/system.html": "System",
    "/output.html": "Output",
    "/all.html": "All",
}
#: The tabs where a database is shown without a crawl.
TABS_OF_SEARCH: Mapping[str, str] = {
    SEARCH: TABS[SEARCH],
    CHANGES: TABS[CHANGES],
}


def tabs(*, with_search: bool, with_fleet: bool) -> Mapping[str, str]:
    """The tabs of a crawl that has a database, or is a node of a fleet, or neither."""
    left_out = {SEARCH: not with_search, CHANGES: not with_search, FLEET: not with_fleet}
    return {at: name for at, name in TABS.items() if not left_out.get(at)}


def document(title: Child, *body: Child, with_search: bool, feed: str | None = None) -> str:
    """An HTML document. `with_search`: its server has a Search page; `feed`: see `form.page`."""
    engine = el(
        "link", rel="search", type=OPENSEARCH_TYPE, title="larbinpy", href=OPENSEARCH
    )  # fmt: skip
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title),
        el("link", rel="icon", href="/icon.svg"),
        engine if with_search else None,
        el("link", rel="alternate", type=FEED_TYPE, title="Changes", href=feed) if feed else None,
        raw("style", STYLE),
    )
    return "<!doctype html>\n" + el("html", head, el("body", *body), lang="en")


def header(tabs: Mapping[str, str], current: str, *title: Child) -> Html:
    """The header of the page at the address `current`, with links to those of `tabs`."""
    links = [_tab(at, name, current) for at, name in tabs.items()]
    return el(
        "header", el("h1", "larbinpy", *title), el("nav", *links, aria_label="Pages")
    )  # fmt: skip


def _tab(at: str, name: str, current: str) -> Html:
    # The script follows links within the document, but not those with a `rel`: it would ask the
    # database again and again.
    rel = {SEARCH: "search", CHANGES: "noreferrer"}.get(at)
    return el("a", name, href=at, rel=rel, aria_current="page" if at == current else None)
