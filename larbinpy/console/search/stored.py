"""The stored page of a hit: its text, and all that the database has about it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from larbinpy.console.search.form import IN_TITLE, Frame, SearchRequest, form, page
from larbinpy.console.search.results import is_web, link, snippet
from larbinpy.console.status.markup import Child, Html, el, figure, join, prose, section, table
from larbinpy.console.text import grouped, roughly
from larbinpy.database.base import Change, Stored
from larbinpy.search.query import Query
from larbinpy.search.snippet import find

#: Characters of a text, and items of a list, that are shown; `larbinpy show` prints all.
_TEXT = 200_000
_ITEMS = 500
#: Characters of a text in which the words of the query are looked for.
_MARKED = 50_000

#: Column -> label, in the order of the page.
_COLUMNS = {
    "site_name": "Site",
    "author": "Author",
    "published": "Published",
    "modified": "Modified",
    "lang": "Language",
    "type": "Type",
    "charset": "Charset",
    "size": "Size",
    "status": "Status",
    "fetched": "Fetched",
    "first_seen": "First fetched",
    "changed": "Text changed",
    "visits": "Visits",
    "changes": "Changes",
    "due": "Next visit",
    "missing": "Missing since",
    "moved_to": "Moved to",
    "depth": "Depth",
    "via": "Found on",
    "canonical": "Canonical URL",
    "same_as": "Copy of",
    "near": "Near copy of",
    "image": "Image",
    "comments": "Comments",
    "clicks": "Clicks",
    "etag": "ETag",
    "last_modified": "Last-Modified",
}


def stored_page(
    frame: Frame, request: SearchRequest, query: Query, stored: Stored, history: Sequence[Change]
) -> str:
    """The page of `stored`, with the words of `query` marked in its text."""
    columns = stored.columns
    url = str(columns.get("url") or request.url)
    title = str(columns.get("title") or "").strip() or url
    content = [
        form(request),
        _head(request, url, title, columns),
        section("Text", *_text(stored.text, _marks(stored, query))),
        _rest(stored.more.get("rest")),
        _headings(stored.more.get("headings")),
        _anchors(stored.anchors),
        _links(stored.more.get("links")),
        _history(history, stored.change_interval),
    ]
    return page(frame, title[:IN_TITLE], "", *content)


def _head(request: SearchRequest, url: str, title: str, columns: Mapping[str, Any]) -> Html:
    back = None
    if request.q:
        back = el("p", el("a", "Back to the results", href=prose(request.address())), class_="back")
    gone = columns.get("gone")
    notice = el(
        "p", prose(f"This page is gone since {gone}; this is the last copy."), class_="warning"
    )
    summary = str(columns.get("summary") or "")
    facts = [
        el("div", el("dt", label), el("dd", el("bdi", _shown(name, columns[name]))))
        for name, label in _COLUMNS.items()
        if columns.get(name) not in (None, "")
    ]
    return el(
        "section",
        back,
        el("h2", el("bdi", prose(title))),
        el("p", link(url), class_="url"),
        notice if gone else None,
        el("p", prose(summary), dir="auto") if summary else None,
        el("dl", *facts, class_="list"),
    )


def _shown(name: str, value: object) -> Html:
    text = str(value)
    if is_web(text):
        return link(text)
    return prose(figure("bytes", value) if name == "size" else text)


def _marks(stored: Stored, query: Query) -> list[tuple[int, int]]:
    """The ranges of the text's beginning that are hits, without those that overlap others."""
    found = find(stored.text[:_MARKED], query, stored.columns.get("lang"))
    marks: list[tuple[int, int]] = []
    for start, end, *_ in found:
        if not marks or start >= marks[-1][1]:
            marks.append((start, end))
    return marks


def _text(text: str, marks: Sequence[tuple[int, int]] = ()) -> Iterable[Html]:
    """A paragraph for each line."""
    if not text.strip():
        yield el("p", "The page has no main text.", class_="none")
        return
    yield el("div", *_lines(text[:_TEXT], marks), class_="text")
    if len(text) > _TEXT:
        yield el("p", "The text goes on; larbinpy show --text prints all of it.", class_="none")


def _lines(text: str, marks: Sequence[tuple[int, int]]) -> Iterator[Html]:
    at = number = 0
    for line in text.split("\n"):
        end = at + len(line)
        inside = []
        while number < len(marks) and marks[number][0] < end:
            inside.append((marks[number][0] - at, marks[number][1] - at))
            number += 1
        if line.strip():
            indented = "code" if line[0] == " " else None
            yield el("p", *snippet(line, inside), dir="auto", class_=indented)
        at = end + 1


def _rest(rest: object) -> Html | None:
    if not isinstance(rest, str) or not rest.strip():
        return None
    return _folded("The rest of the page", *_text(rest))


def _folded(title: str, *content: Child) -> Html:
    return el("section", el("details", el("summary", title), *content))


def _items(title: str, items: Sequence[Html]) -> Html | None:
    """A folded list; None without items."""
    if not items:
        return None
    more = len(items) - _ITEMS
    return _folded(
        f"{title} ({len(items)})",
        el("ul", *(el("li", item, dir="auto") for item in items[:_ITEMS])),
        el("p", f"And {grouped(more)} more.", class_="none") if more > 0 else None,
    )


def _headings(headings: object) -> Html | None:
    return _items("Headings", [prose(each) for each in _strings(headings)])


def _anchors(anchors: Sequence[str]) -> Html | None:
    return _items("Texts of links to this page", [prose(each) for each in anchors])


def _links(links: object) -> Html | None:
    """Anchors and URLs as text: a reader should see where a link of a stored page leads."""
    listed = links if isinstance(links, list) else []
    return _items("Links of the page", [_outlink(each) for each in listed])


def _outlink(outlink: object) -> Html:
    url, anchor, *_ = [*_strings(outlink), "", ""]
    return join([el("bdi", prose(anchor)), el("small", el("bdi", prose(url)), class_="url")])


def _strings(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _to(target: str | None) -> Sequence[Child]:
    return [" to ", link(target)] if target else []


def _history(history: Sequence[Change], interval: float | None) -> Html | None:
    if not history:
        return None
    rows = [
        (prose(change.at), join([prose(change.kind), *_to(change.target)]))
        for change in history[-_ITEMS:]
    ]
    every = f"It changes about every {roughly(interval)}." if interval is not None else None
    return section("History", el("p", every) if every else None, table(("When", "What"), rows))
