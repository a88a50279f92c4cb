"""Chooses the reader of a body: by its type, or by its beginning if the type says nothing.

Plain text, Markdown, and RSS, Atom and JSON Feed (title, entries and their links) are read here.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from html import unescape
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

import turbohtml

from larbinpy.database.content import dates
from larbinpy.database.content.content import (
    LONGEST_TEXT,
    LONGEST_TITLE,
    MOST_HEADINGS,
    Content,
    Outlink,
    line,
    lines,
)
from larbinpy.database.content.html import (
    LONGEST_ANCHOR,
    References,
    read_html,
    read_xhtml,
    serialised,
)
from larbinpy.database.content.language import language
from larbinpy.database.content.pdf import read_pdf
from larbinpy.page import Page, timestamp
from larbinpy.parse import grammars, xml
from larbinpy.parse.body import (
    UNKNOWN,
    announced,
    date_of,
    is_html,
    is_xml,
    items_of,
    json_feed,
    page_of_item,
    said_by,
)
from larbinpy.parse.charset import document, plain
from larbinpy.parse.link import Collector
from larbinpy.parse.xml import LINKS, local_name, page_of, preferred, tree_of
from larbinpy.url import split

TYPES = frozenset({"text/plain", "text/x-rst"})
MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})
#: Lines in which a title is looked for.
_FIRST_LINES = 20
#: Characters around a title: signs of Markdown, frames, and comments.
_AROUND = " \t#*=-_~/;%|+"
_WORD = re.compile(r"[^\W_]")
_HEADING = re.compile(r"^ {0,3}#{1,6} +(.*)", re.MULTILINE)


def read_plain(page: Page) -> Content:
    """Return what a plain text says: its first line with words is its title."""
    text, charset = plain(page.body, page.http_charset)
    out = Content(charset=charset)
    if "\0" in text[:LONGEST_TEXT]:
        out.trouble = "binary data labelled as text"
        return out
    first = (each for each in text[:LONGEST_TEXT].split("\n", _FIRST_LINES)[:_FIRST_LINES])
    title = next((each for each in first if _WORD.search(each)), "")
    out.title = line(title, LONGEST_TITLE).strip(_AROUND)
    out.text = lines(text, LONGEST_TEXT)
    if len(text) > LONGEST_TEXT:
        out.trouble = f"text cut at {LONGEST_TEXT} characters"
    if page.type in MARKDOWN:
        found = islice(_HEADING.finditer(text[:LONGEST_TEXT]), MOST_HEADINGS)
        headings = (line(each[1], LONGEST_TITLE).strip(_AROUND) for each in found)
        out.headings = list(dict.fromkeys(filter(None, headings)))
    out.lang = language(out.text, (page.header("content-language"),))
    return out


ROOTS = frozenset({"rss", "RDF", "feed"})
#: Bytes that are read, which is most of a minute's reading: the tree takes ten times as much.
_MOST_READ = 4 << 20
_MOST_ENTRIES = 1000
#: Characters of an entry that are read as HTML.
_LONGEST_ENTRY = 1 << 16
_LONGEST_SUMMARY = 1000
_ENTRIES = frozenset({"item", "entry"})
#: Markup, if it is the text of HTML without any.
_ESCAPED = re.compile(
    r"\s*<(?:p|div|span|a|b|i|em|strong|br|img|h[1-6]|ul|ol|table|article)\b[^>]*>", re.I
)
_TEXTS = ("encoded", "content", "description", "summary", "media:description")
_UPDATED = ("lastBuildDate", "updated", "pubDate", "date", "modified")
#: Media RSS: what it says of a picture or film counts where the entry says nothing.
_MEDIA = "{http://search.yahoo.com/mrss/}"
_SAID_OF_MEDIA = tuple(f"{_MEDIA}{name}" for name in ("title", "description"))
#: Types of Atom's content that are text.
_IS_TEXT = re.compile(r"text$|x?html$|text/|.*[+/]xml$|application/xhtml", re.I)


def read_feed(body: bytes, encoding: str | None, url: str, latest: str) -> Content:
    """Return what a feed says: its text is that of its entries, its headings are their titles."""
    out = Content()
    root = tree_of(body[:_MOST_READ], encoding)
    if root is None:
        out.trouble = "damaged feed"
        return out
    if len(body) > _MOST_READ:
        out.trouble = f"feed cut at {_MOST_READ} bytes"
    head: dict[str, str] = {}
    for channel in (root, *root.iterchildren("{*}channel")):
        for name, value in _values(channel).items():
            head.setdefault(name, value)
    out.title = _title(head)
    summary = preferred(head, ("description", "subtitle", "summary"))
    out.summary = line(_visible(summary), _LONGEST_SUMMARY)
    updated = (dates.from_mail(head[name], latest) for name in _UPDATED if name in head)
    out.modified = next(filter(None, updated), None)
    _tell(out, (_entry(each, url) for each in _entries(root)), url)
    out.lang = language(out.text, (head.get("language"), _declared(root)))
    return out


class _Entry(NamedTuple):
    title: str
    text: str
    #: The reference to its page; empty for none.
    page: str


def _tell(out: Content, entries: Iterable[_Entry], url: str) -> None:
    """Put the entries of the feed `url` into `out`."""
    resolver = References(url, None, None)
    links: dict[Outlink, None] = {}
    texts = [out.summary]
    room = LONGEST_TEXT
    for title, text, page in entries:
        texts += (title, lines(text, _LONGEST_ENTRY))
        room -= len(text)
        if title and len(out.headings) < MOST_HEADINGS:
            out.headings.append(title)
        target = resolver.resolve(page)
        if target is not None:
            links[Outlink(target, title[:LONGEST_ANCHOR], "")] = None
        if room < 0:
            out.trouble = f"text cut at {LONGEST_TEXT} characters"
            break
    out.links = list(links)
    out.text = "\n".join(filter(None, texts))[:LONGEST_TEXT]


def _entry(element: Any, url: str) -> _Entry:
    values = _values(element)
    return _Entry(_title(values), _visible(preferred(values, _TEXTS)), _page_of(element, url))


def _read_json(feed: dict[str, Any], url: str, latest: str) -> Content:
    """Return what a JSON Feed says."""
    items = items_of(feed)[:_MOST_ENTRIES]
    out = Content(charset="UTF-8", title=_plain_title(feed))
    out.summary = line(said_by(feed, "description"), _LONGEST_SUMMARY)
    times = (said_by(each, "date_modified", "date_published") for each in items)
    out.modified = max((date_of(each, latest) for each in times), default="") or None
    _tell(out, map(_item, items), url)
    out.lang = language(out.text, (said_by(feed, "language"),))
    return out


def _plain_title(holder: dict[str, Any]) -> str:
    return line(unescape(said_by(holder, "title")), LONGEST_TITLE)


def _item(item: dict[str, Any]) -> _Entry:
    html = said_by(item, "content_html")[:_LONGEST_ENTRY]
    text = _visible(html) if html else said_by(item, "content_text", "summary")
    return _Entry(_plain_title(item), text, page_of_item(item))


def _declared(root: Any) -> str | None:
    with suppress(UnicodeDecodeError):
        value: str | None = root.get("{http://www.w3.org/XML/1998/namespace}lang")
        return value
    return None


def _entries(root: Any) -> Iterator[Any]:
    found = (each for each in root.iter("{*}item", "{*}entry"))
    return (entry for entry, _ in zip(found, range(_MOST_ENTRIES), strict=False))


def _page_of(entry: Any, url: str) -> str:
    """The page that an entry names; empty if there is none."""
    found: dict[str, str] = {}
    for child in entry.iterchildren(*(f"{{*}}{name}" for name in LINKS)):
        with suppress(UnicodeDecodeError):
            name = local_name(child)
            found[name] = found.get(name) or page_of(child, url)
    return preferred(found, LINKS)


def _values(parent: Any) -> dict[str, str]:
    """The texts of the children by their names; those of Media RSS begin with "media:"."""
    found: dict[str, str] = {}
    for child in parent.iterchildren("*"):
        # Some feeds do not declare their prefixes.
        name = local_name(child).rpartition(":")[2]
        if name in _ENTRIES or name == "channel":
            continue
        # lxml cannot decode a text with half of a surrogate pair ("&#xD800;").
        with suppress(UnicodeDecodeError):
            if child.tag.startswith(_MEDIA):
                for each in child.iter(*_SAID_OF_MEDIA):
                    found.setdefault(f"media:{local_name(each)}", _text_of(each))
            elif name != "content" or _IS_TEXT.match(child.get("type", "text")):
                found.setdefault(name, _text_of(child))
    return found


def _text_of(element: Any) -> str:
    return "".join(element.itertext())[:_LONGEST_ENTRY]


def _title(values: dict[str, str]) -> str:
    return line(_visible(preferred(values, ("title", "media:title"))), LONGEST_TITLE)


def _visible(text: str) -> str:
    """The text of an entry, which most feeds have as HTML."""
    if "<" not in text and "&" not in text:
        return text
    shown: str = turbohtml.parse_fragment(text).to_text()
    if "<" not in text and _ESCAPED.match(shown):
        # Escaped once more than the feed says.
        shown = turbohtml.parse_fragment(shown).to_text()
    return shown


#: A page may be dated a day later than its fetch: the day begins earlier in the east.
_DAY = 86400
_PDF = frozenset({"application/pdf", "application/x-pdf"})


def read(page: Page, at: float) -> Content:
    """Return what `page` says: HTML, XHTML, feeds, plain text and PDF; of other types nothing.

    `at` is the Unix time of its fetch: dates in the future are not believed. If the page says no
    title, the last part of its URL is its title.
    """
    out = _content(page, timestamp(at + _DAY)[:10])
    out.title = out.title or _name(page.url.href)
    out.announced = list(announced(page, timestamp(at)))
    directions = [value for name, value in page.headers if name == "x-robots-tag"]
    if directions:
        robots = Collector(page.url.href)
        for value in directions:
            grammars.from_header(value, robots)
        out.noindex = out.noindex or robots.noindex
    if page.truncated and not out.trouble:
        out.trouble = "only its beginning was fetched"
    return out


def _content(page: Page, latest: str) -> Content:
    kind, body = page.type, page.body
    if feed := json_feed(body):
        return _read_json(feed, page.url.href, latest)
    if kind == "text/html" or is_html(page):
        if not is_xml(body):
            return read_html(body, page.http_charset, page.url.href, latest)
        return _xml(page, latest, labelled=False)
    if kind.endswith(("+xml", "/xml")) or (kind in UNKNOWN and is_xml(body)):
        return _xml(page, latest, labelled=True)
    if kind in _PDF or (kind in UNKNOWN and body.startswith(b"%PDF-")):
        return read_pdf(body, latest)
    if kind in TYPES or kind in MARKDOWN:
        return read_plain(page)
    return Content(trouble="damaged feed" if kind == "application/feed+json" else "")


def _xml(page: Page, latest: str, *, labelled: bool) -> Content:
    """Read a body that begins as XML, or is `labelled` so."""
    body, url = page.body, page.url.href
    encoding, charset = xml.encoding_of(body, page.http_charset)
    root = xml.root_name(body, encoding)
    if root in ROOTS:
        out = read_feed(body, encoding, url, latest)
    elif not labelled or root is None:
        return read_html(body, page.http_charset, url, latest)
    elif root == "html":
        tree = xml.tree_of(body, encoding)
        markup = None if tree is None else serialised(tree)
        if markup is None:  # malformed: the HTML parser finds more in it
            return read_html(body, page.http_charset, url, latest)
        out = read_xhtml(markup, url, latest)
    else:
        return Content()
    out.charset = charset
    return out


def _name(url: str) -> str:
    """The last part of the path of a URL, as people read it."""
    path = split(url).path.partition("?")[0].rstrip("/")
    return line(unquote(path.rpartition("/")[2]), LONGEST_TITLE)


class Said:
    """What a page says, for a program that asks for parts of it."""

    def __init__(self, page: Page) -> None:
        self._page = page

    @cached_property
    def content(self) -> Content:
        return read(self._page, 0.0)

    @cached_property
    def _tree(self) -> Any:
        page = self._page
        has_html = "html" in page.type or is_html(page)
        return document(page.body, page.http_charset) if has_html else None

    def select(self, css: str) -> list[Any]:
        """The elements that match a CSS selector; none if it is no HTML page."""
        return [] if self._tree is None else self._tree.select(css)
