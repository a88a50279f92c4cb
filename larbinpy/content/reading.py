"""Chooses the reader of a body: by its type, or by its beginning if the type says nothing."""

from urllib.parse import unquote

from larbinpy.content.clean import line
from larbinpy.content.content import LONGEST_TITLE, Content
from larbinpy.content.feeds import ROOTS, read_feed
from larbinpy.content.html import read_html, read_xhtml, serialised
from larbinpy.content.pdf import read_pdf
from larbinpy.content.plain import MARKDOWN, TYPES, read_plain
from larbinpy.page import Page, timestamp
from larbinpy.parse import directives, xml
from larbinpy.parse.announced import announced
from larbinpy.parse.body import UNKNOWN, is_html, is_xml
from larbinpy.parse.link import Collector
from larbinpy.url import split

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
            directives.from_header(value, robots)
        out.noindex = out.noindex or robots.noindex
    if page.truncated and not out.trouble:
        out.trouble = "only its beginning was fetched"
    return out


def _content(page: Page, latest: str) -> Content:
    kind, body = page.type, page.body
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
    return Content()


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
