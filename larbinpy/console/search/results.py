"""The hits of a search, with snippets and facets, and the stored page of a hit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from larbinpy.console.search.form import (
    IN_TITLE,
    Frame,
    SearchRequest,
    form,
    page,
    search_page,
)
from larbinpy.console.status.markup import Child, Html, el, figure, join, prose, section, table
from larbinpy.console.text import counted, grouped, roughly, size
from larbinpy.database.base import Change, Found, Hit, Stored
from larbinpy.database.search.query import Query, with_filter, without_filter
from larbinpy.database.search.snippet import find, pieces

#: Facets that are shown of each kind.
_FACETS = 10
#: Numbers of result pages that are linked before and after the one that is shown.
_NEAR = 3
#: Media types that are not worth a word beside a hit.
_USUAL = frozenset({"", "text/html", "application/xhtml+xml"})

_EXAMPLES = (
    ("solar energy", "pages that have both words, in any form: energies, too"),
    ('"solar energy"', "the words side by side"),
    ("solar -wind", "pages without the second word"),
    ("sol*", "words that begin so"),
    ("intitle:solar", "the word in the title"),
    ("inurl:solar", "the word in the address"),
    ("site:example.org", "pages of this host, or of all hosts of this domain"),
    ("lang:en", "pages in this language"),
    ("type:pdf", "pages of this media type"),
    ("since:7d", "fetched in the last seven days; also 12h, or a date: 2026-11-23"),
)


def found_page(frame: Frame, request: SearchRequest, query: Query, found: Found) -> str:
    """The Search page with the answer to `query`."""
    answer = el(
        "div",
        el("div", _summary(request, query, found), _hits(request, found), _pages(request, found)),
        _facets(request, query, found),
        class_="found",
    )
    return search_page(frame, request, answer)


def empty_page(frame: Frame, request: SearchRequest, counts: Mapping[str, int]) -> str:
    """The Search page before a query: the size of the database and the query language."""
    examples = el(
        "dl",
        *(
            el("div", el("dt", el("code", typed)), el("dd", meaning))
            for typed, meaning in _EXAMPLES
        ),
        class_="examples",
    )
    about = el("p", _size(counts), class_="none")
    return search_page(frame, request, section("What can be asked", about, examples))


def _size(counts: Mapping[str, int]) -> str:
    parts = [counted(counts.get("pages", 0), "page")]
    if "hosts" in counts:
        parts.append(f"of {counted(counts['hosts'], 'host')}")
    if counts.get("gone"):
        parts.append(f"({counted(counts['gone'], 'page')} gone)")
    whole = " ".join(parts)
    if counts.get("bytes"):
        whole += f", {size(counts['bytes'])} on the disk"
    return f"The database has {whole}."


def _summary(request: SearchRequest, query: Query, found: Found) -> Html:
    """The number of pages, the time, the order, and what the user should know."""
    least = "At least " if found.cut else ""
    number = f"{least}{counted(found.total, 'page')}" if found.total else "No page"
    if found.missing:
        number = f"No page has all words; {least.lower()}{counted(found.total, 'page')} come near"
    sorts = [
        el(
            "a", name, href=_address(request, sort=sort, page=1),
            aria_current="true" if request.sort == sort else None,
        )
        for sort, name in (("rank", "best first"), ("date", "newest first"))
    ]  # fmt: skip
    head = el(
        "h2",
        el("span", number, el("small", f" in {roughly(found.seconds)}")),
        el("nav", *sorts, aria_label="Order") if found.hits else None,
    )
    notes = [*_hints(request, found), *map(prose, dict.fromkeys((*query.notes, *found.notes)))]
    return el(
        "section",
        head,
        el("ul", *(el("li", note) for note in notes), class_="notes") if notes else None,
        class_="summary",
    )


def _hints(request: SearchRequest, found: Found) -> Iterable[Html]:
    if found.instead:
        other = _address(request, q=found.instead, page=1)
        yield join(["Did you mean ", el("a", el("bdi", prose(found.instead)), href=other), "?"])
    if found.missing:
        yield join(
            [
                "Not in all of these: ",
                *_between(", ", [el("bdi", el("b", prose(word))) for word in found.missing]),
            ]
        )
    if found.cut:
        yield Html("Only a part of the pages was compared: there are many, or it took too long.")
    if not found.hits and found.total:
        yield Html("There are not so many pages of results.")
    elif not found.hits:
        yield Html("Try fewer words, or other ones.")


def _between(separator: str, parts: Iterable[Html]) -> Sequence[Child]:
    return [piece for part in parts for piece in (separator, part)][1:]


def _hits(request: SearchRequest, found: Found) -> Html | None:
    if not found.hits:
        return None
    first = (request.page - 1) * request.n + 1
    return el("ol", *(_hit(request, hit) for hit in found.hits), start=first, class_="hits")


def _hit(request: SearchRequest, hit: Hit) -> Html:
    details = [f"fetched {hit.fetched[:10]}"]
    if hit.published:
        details.insert(0, f"published {hit.published[:10]}")
    if hit.type not in _USUAL:
        details.insert(0, hit.type)
    language = [el("bdi", prose(hit.lang))] if hit.lang else []
    stored = el("a", "stored text", href=_stored(request, hit.url))
    return el(
        "li",
        el(
            "h3",
            el(
                "a",
                prose(hit.title) if hit.title.strip() else "(no title)",
                href=prose(hit.url) if is_web(hit.url) else _stored(request, hit.url),
                rel="noreferrer noopener" if is_web(hit.url) else None,
            ),
            dir="auto",
        ),
        el("p", el("bdi", prose(hit.url)), class_="url"),
        el("p", *snippet(hit.snippet, hit.marks), dir="auto", lang=_code(hit.lang))
        if hit.snippet
        else None,
        el("p", *_between(" · ", [*language, *map(prose, details), stored]), class_="none"),
    )


def _code(lang: str | None) -> Html | None:
    """`lang` for the attribute of that name, by which a browser chooses the shapes of Han
    characters."""
    return prose(lang) if lang else None


def snippet(text: str, marks: Iterable[tuple[int, int]]) -> list[Html]:
    """The passage with its hits marked; ranges that overlap or lie outside are left out."""
    found = pieces(text, marks)
    return [el("mark", prose(piece)) if is_hit else prose(piece) for piece, is_hit in found]


def link(url: str) -> Html:
    """A link to the page on the web; the text alone if that is no address of http or https."""
    shown = el("bdi", prose(url))
    if not is_web(url):
        return shown
    return el("a", shown, href=prose(url), rel="noreferrer noopener")


def is_web(url: str) -> bool:
    is_plain = url.isascii() and url.isprintable() and " " not in url
    return is_plain and url.lower().startswith(("http://", "https://"))


def _stored(request: SearchRequest, url: str) -> Html:
    return prose(request.address_of(url))


def _address(request: SearchRequest, **changes: str | int) -> Html:
    return prose(request.address(**changes))


def _pages(request: SearchRequest, found: Found) -> Html | None:
    """Links to the pages of results; None if there is one only."""
    last = -(-found.total // request.n)
    if last < 2:
        return None
    numbers = range(max(request.page - _NEAR, 1), min(request.page + _NEAR, last) + 1)
    links = [
        el(
            "a", grouped(number), href=_address(request, page=number),
            aria_current="page" if number == request.page else None,
        )
        for number in numbers
    ]  # fmt: skip
    if request.page > 1:
        before = min(request.page - 1, last)
        links.insert(0, el("a", "Previous", href=_address(request, page=before), rel="prev"))
    if request.page < last:
        links.append(el("a", "Next", href=_address(request, page=request.page + 1), rel="next"))
    return el("nav", *links, class_="pages", aria_label="Pages of results")


class _Facet(NamedTuple):
    title: str
    #: The operator of the query language.
    name: str
    chosen: str | None
    counts: list[tuple[str, int]]


def _facets(request: SearchRequest, query: Query, found: Found) -> Html | None:
    """Links that narrow the query to a site or a language, or take that back."""
    kinds = (
        _Facet("Sites", "site", query.site, found.sites),
        _Facet("Languages", "lang", query.lang, found.langs),
        _Facet("Types", "type", query.type, found.types),
        _Facet("Fetched since", "since", query.since, _telling(found)),
    )
    parts = [part for kind in kinds for part in _facet(request, kind)]
    return el("section", *parts, class_="facets") if parts else None


def _telling(found: Found) -> list[tuple[str, int]]:
    """The times since which some of the pages were fetched, and not all."""
    pages = sum(number for _, number in found.types) or found.total
    return [(time, number) for time, number in found.since if 0 < number < pages]


def _facet(request: SearchRequest, facet: _Facet) -> Iterable[Html]:
    if not facet.chosen and len(facet.counts) < (1 if facet.name == "since" else 2):
        return
    yield el("h2", facet.title)
    items = []
    if facet.chosen:
        back = _address(request, q=without_filter(request.q, facet.name), page=1)
        items.append(el("li", el("a", f"all {facet.title.lower()}", href=back)))
    for value, count in facet.counts[:_FACETS]:
        narrowed = with_filter(request.q, facet.name, value)
        name = el("bdi", prose(value))
        shown = (
            name
            if value == facet.chosen
            else el("a", name, href=_address(request, q=narrowed, page=1))
        )
        items.append(el("li", shown, el("small", f" {grouped(count)}")))
    yield el("ul", *items)


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
