"""HTML that is safe from injection: a str becomes markup only through `el`.

Above it are the frame of all pages (`document`), which depends on nothing of a crawl, and the
tables, lists and sections that pages are made of. The style sheet and the script that each page has
inline, and the icon, are files of this folder.

A snapshot may lack any key: a missing value is empty or a dash, never an error, as a page must
not end the crawl.
"""

import json
import re
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from larbinpy.console.text import grouped, printable, readable, roughly, size

#: Characters that a page shows of a text; a URL may have 8,000.
_LONGEST = 300

#: Short printable ASCII without markup characters, as most texts are: needs no escaping.
_PLAIN = re.compile(rf"[ !#-%(-;=?-~]{{0,{_LONGEST}}}")

_VOID = frozenset({"meta", "link", "br", "input"})

_COLUMNS = {"#": "n", "*": "w"}
#: A table with this many columns is too wide for a phone.
_WIDE = 5

_ADDRESSES = frozenset({"href", "action"})
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")


class Html(str):
    """Markup made by this module; `el` does not escape it again."""

    __slots__ = ()


Child = str | int | float | None


def text(value: object) -> Html:
    """`value` as safe text: markup and unsafe characters escaped, long text cut."""
    if isinstance(value, Html):
        return value
    shown = "" if value is None else str(value)
    if _PLAIN.fullmatch(shown):
        return Html(shown)
    return Html(escape(printable(shown, _LONGEST)))


def prose(value: str) -> Html:
    """Stored text of any length for readers: markup escaped, unsafe characters left out."""
    return Html(escape(readable(value)))


def join(children: Iterable[Child]) -> Html:
    """The concatenated children, without those that are None."""
    return Html("".join(text(child) for child in children if child is not None))


def el(tag: str, *children: Child, **attributes: Child) -> Html:
    """An element. In attribute names one trailing ``_`` is dropped and others become ``-``;
    attributes that are None are left out. Addresses of this server become relative.
    """
    head = [tag]
    for name, value in attributes.items():
        if value is not None:
            shown = text(value)
            if name in _ADDRESSES and shown[:1] == "/":
                shown = relative(shown)
            head.append(f'{_attribute(name)}="{shown}"')
    opening = f"<{' '.join(head)}>"
    return Html(opening if tag in _VOID else f"{opening}{join(children)}</{tag}>")


def relative(address: str) -> Html:
    """An address of this server as seen from its pages, which are all in one folder.

    So a proxy may have them below a path of its own.
    """
    return Html(address[1:] or "./")


@cache
def _attribute(name: str) -> str:
    spelled = name.removesuffix("_").replace("_", "-")
    assert _NAME.fullmatch(spelled), spelled
    return spelled


def raw(tag: str, content: str) -> Html:
    """An element whose content is not escaped: the style sheet and the script only."""
    return Html(f"<{tag}>{content}</{tag}>")


def table(head: Iterable[str], rows: Iterable[Iterable[Child]], empty: str = "None.") -> Html:
    """A table; ``#`` at the start of a heading marks a column of numbers, ``*`` of long text.

    On narrow screens the style sheet breaks up the rows of wide tables, and each cell shows the
    heading of its column.
    """
    columns = [(name.lstrip("#*"), _COLUMNS.get(name[:1])) for name in head]
    is_wide = len(columns) >= _WIDE
    starts = [_cell(name if is_wide else None, kind) for name, kind in columns]
    body = [
        "".join(f"{start}{text(cell)}</td>" for start, cell in zip(starts, row, strict=True))
        for row in rows
    ]
    if not body:
        return el("p", empty, class_="none")
    heads = el("tr", *(el("th", name, scope="col", class_=kind) for name, kind in columns))
    lines = Html("".join(f"<tr>{row}</tr>" for row in body))
    whole = el("table", el("thead", heads), el("tbody", lines), class_="wide" if is_wide else None)
    return el("div", whole, class_="scroll")


def _cell(name: str | None, kind: str | None) -> str:
    """The opening tag of a cell; the same for all rows of a column."""
    return el("td", class_=kind, data_name=name).removesuffix("</td>")


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression of an inline text (CSP level 3, 2.3.1)."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


STYLE, SCRIPT, ICON = _text("style.css"), _text("script.js"), _text("icon.svg")
STYLE_HASH, SCRIPT_HASH = _hash(STYLE), _hash(SCRIPT)


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


Snapshot = Mapping[str, Any]


def group(snapshot: Snapshot, name: str) -> Mapping[str, Any]:
    found = snapshot.get(name)
    return found if isinstance(found, Mapping) else {}


def rows(within: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = within.get(name)
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


def number(within: Mapping[str, Any], name: str) -> float:
    """A number of the group; 0 if it is missing."""
    found = within.get(name)
    return found if isinstance(found, int | float) else 0


def figure(key: str, value: object) -> str:
    """A value as text, in the unit that the end of its key names."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return value if isinstance(value, str) else json.dumps(value, default=str)
    if "bytes" in key:
        return size(value)
    if key.endswith("_ms"):
        return f"{grouped(value)} ms"
    return roughly(value) if key.endswith("_s") else grouped(value)


def percent(part: object, whole: object) -> str:
    if not isinstance(part, int) or not isinstance(whole, int) or not whole:
        return "-"
    return f"{100 * part / whole:.1f} %"


#: Labels of keys whose own words do not explain them.
_LABELS = {
    "ip_sites": "IP sites",
    "cpu_s": "Processor time",
    "rss_bytes": "Memory",
    "peak_rss_bytes": "Peak memory",
    "fds": "Open descriptors",
    "fds_limit": "Descriptor limit",
    "loop_lag_ms": "Mean turn of the loop",
    "loop_lag_max_ms": "Longest turn",
    "handles": "Transfer limit",
    "busy": "Transfers running",
    "early": "Looked up in advance",
    "overdue": "Waiting for a repeated query",
    "rejected": "Replies that match no query",
    "ports": "UDP ports",
    "evicted": "Evicted",
    "absent": "Non-existing names",
    "absent_size": "Limit of non-existing names",
    "absent_bytes": "Memory for non-existing names",
    "failures": "Other failures",
    "stale_served": "Expired addresses used",
    "turn_ms": "Longest turn of the loop",
}


def label(key: str) -> str:
    """The label of a key; keys that are types, hosts or outcomes stay as they are."""
    if not (key.isidentifier() and key.islower()):
        return key
    if key in _LABELS:
        return _LABELS[key]
    words = key.removesuffix("_ms").removesuffix("_s").replace("_", " ")
    return words[:1].upper() + words[1:]


def section(title: str, *content: Child, class_: str | None = None) -> Html:
    return el("section", el("h2", title), *content, class_=class_)


def none(words: str) -> Html:
    """A line in place of content that is missing."""
    return el("p", words, class_="none")


def listing(within: Mapping[str, Any]) -> Html:
    """The plain values of a group as a list."""
    items = [
        el("div", el("dt", label(key)), el("dd", figure(key, value)))
        for key, value in within.items()
        if not isinstance(value, list | dict)
    ]
    return el("dl", *items, class_="list") if items else none("None.")


#: Levels of nested groups that get headings.
_DEEPEST = 3


def tree(within: Mapping[str, Any], depth: int = 0) -> Html:
    """The plain values and short lists of a group, then its groups under headings."""
    groups = {key: value for key, value in within.items() if isinstance(value, Mapping)}
    plain = {
        key: ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in within.items()
        if key not in groups
    }
    parts = [listing(plain)] if plain or not groups else []
    if depth < _DEEPEST:
        for key, value in groups.items():
            parts += [el("h3", label(key)), tree(value, depth + 1)]
    return join(parts)


def moment(seconds: object) -> str:
    """Unix time as date and time in UTC; text stays as it is."""
    if not isinstance(seconds, int | float):
        return str(seconds or "-")
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def ago(ts: object, now: object) -> str:
    """The time between the ISO 8601 time `ts` and the Unix time `now`, as text."""
    try:
        then = datetime.fromisoformat(str(ts)).timestamp()
    except (ValueError, OverflowError):
        return "-"
    seconds = now - then if isinstance(now, int | float) else 0.0
    return "now" if seconds < 1 else roughly(seconds)
