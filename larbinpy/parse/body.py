"""Chooses the reader of a body: by its type, or by its beginning if the type says nothing."""

import re
from collections.abc import Generator, Iterator
from itertools import chain

from larbinpy.page import Page
from larbinpy.parse import feeds, xml
from larbinpy.parse.charset import decode
from larbinpy.parse.elements import collect_css
from larbinpy.parse.link import Collector
from larbinpy.parse.manifest import read_manifest
from larbinpy.parse.scan import read_html

#: Types that servers send if they do not know the type (MIME Sniffing standard, section 5).
UNKNOWN = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "unknown/unknown"}
    | {"application/unknown", "*/*", "application/x-unknown-content-type"}
)
_GZIP = frozenset({"application/gzip", "application/x-gzip"})
#: Reads a body in steps of some ms, and returns its encoding; None if no text was read.
_Steps = Generator[None, None, str | None]
_BLANK = b"\xef\xbb\xbf \t\r\n"
_MANIFEST_NAMES = (".webmanifest", "/manifest.json")

_HEAD = 512
#: Beginnings of HTML: MIME Sniffing standard, section 7.1, and two tags (<meta>, <link>) with which
#: pages without a <head> tag begin.
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\t\n\f\r ]*(?:<!--|<(?:!doctype html|html|head|script|"
    rb"iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link)[ \t\n\f\r>/])",
    re.IGNORECASE,
)
_XML = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\t\n\f\r ]*"
    rb"<(?:\?xml|urlset|sitemapindex|rss|rdf:RDF|feed|svg)[ \t\n\f\r>]"
)


def read_body(page: Page, out: Collector) -> _Steps:
    """Add the links of the page's body."""
    body, charset, kind = page.body, page.http_charset, page.type
    if kind == "text/html":
        return (yield from read_unlabelled(page, out))
    if kind == "text/css":
        return _read_css(body, charset, out)
    if kind == "application/manifest+json" or _is_manifest(page):
        return read_manifest(body, out)
    if kind.endswith(("+xml", "/xml")):
        return (yield from _read_xml(page, out))
    if kind in UNKNOWN or kind in _GZIP:
        return (yield from read_unlabelled(page, out)) if _is_markup(body) else None
    if _is_text_sitemap(page):
        return (yield from _read_text(page, out))
    return None


def may_link(page: Page) -> bool:
    """Whether the body of `page`, of which the first kilobytes are enough, may contain links."""
    kind = page.type
    if kind in ("text/html", "text/css", "application/manifest+json"):
        return True
    if page.body.startswith(feeds.MAGIC):
        return _is_feed(next(feeds.gunzip([page.body]), b""))
    if kind in UNKNOWN or kind in _GZIP:
        return _is_markup(page.body) or _is_manifest(page)
    return kind.endswith(("+xml", "/xml")) or _is_manifest(page) or _is_text_sitemap(page)


def is_sitemap(page: Page) -> bool:
    """Whether the body of `page` is a sitemap or feed, whatever its type is."""
    body = page.body
    if body.startswith(feeds.MAGIC):
        return _is_feed(next(feeds.gunzip(feeds.chunked(body)), b""))
    if is_xml(body):
        return _is_feed(body)
    return page.type == "text/plain" and body.lstrip(_BLANK).startswith((b"http://", b"https://"))


def is_sitemap_name(url: str) -> bool:
    """Whether a URL is named as sitemaps are, so that nothing else is likely to be there."""
    return url.partition("?")[0].endswith((".xml", ".xml.gz"))


def read_unlabelled(page: Page, out: Collector) -> _Steps:
    """As `read_body`, for a body that is HTML, or a feed or sitemap labelled as HTML."""
    body, charset = page.body, page.http_charset
    if body.startswith(feeds.MAGIC):
        return (yield from _read_gzip(page, out))
    if is_xml(body):
        encoding, name = xml.encoding_of(body, charset)
        if xml.root_name(body, encoding) in feeds.ROOTS:
            yield from feeds.read_feed(feeds.portions(page), encoding, out)
            return name
    return read_html(body, charset, out)


def _read_xml(page: Page, out: Collector) -> _Steps:
    body, charset = page.body, page.http_charset
    if body.startswith(feeds.MAGIC):
        return (yield from _read_gzip(page, out))
    encoding, name = xml.encoding_of(body, charset)
    root = xml.root_name(body, encoding)
    if root in feeds.ROOTS:
        yield from feeds.read_feed(feeds.portions(page), encoding, out)
        return name
    if root is not None and (xml.read_tree(body, encoding, out) or root != "html"):
        return name
    # Malformed XHTML, or no XML at all: the HTML parser finds its links.
    return read_html(body, charset, out)


def _read_gzip(page: Page, out: Collector) -> _Steps:
    """Read a sitemap or feed in a gzip file; servers send no other documents that way."""
    chunks = feeds.gunzip(feeds.portions(page), out.stop)
    first = next(chunks, b"")
    if not _is_feed(first):
        out.cut = ""
        return None
    encoding, name = xml.encoding_of(first, None)
    yield from feeds.read_feed(chain([first], chunks), encoding, out)
    return name


def _is_feed(first: bytes) -> bool:
    encoding, _ = xml.encoding_of(first, None)
    return xml.root_name(first, encoding) in feeds.ROOTS


def _read_css(body: bytes, charset: str | None, out: Collector) -> str:
    text, name = decode(body, charset)
    collect_css(text, out)
    return name


def _read_text(page: Page, out: Collector) -> _Steps:
    # The encoding of a body is found in all of it.
    blocks: Iterator[bytes] = feeds.blocks_of_lines(page) if page.rest else iter([page.body])
    name = None
    for block in blocks:
        text, name = decode(block, page.http_charset)
        feeds.read_lines(text, out)
        if out.cut:
            break
        yield
    return name


def is_html(page: Page) -> bool:
    """Whether `page` has a type that says nothing and a body that begins as HTML."""
    return page.type in UNKNOWN and bool(_HTML.match(_head(page.body)))


def is_xml(body: bytes) -> bool:
    """Whether `body` begins as XML."""
    return bool(_XML.match(_head(body)))


def _head(body: bytes) -> bytes:
    """Return the beginning without zero bytes, so that UTF-16 reads like other encodings."""
    return body[:_HEAD].replace(b"\0", b"")


def _is_markup(body: bytes) -> bool:
    head = _head(body)
    return bool(_HTML.match(head) or _XML.match(head)) or body.startswith(feeds.MAGIC)


def _is_manifest(page: Page) -> bool:
    if page.type not in UNKNOWN and page.type != "application/json":
        return False
    return page.url.href.partition("?")[0].endswith(_MANIFEST_NAMES)


def _is_text_sitemap(page: Page) -> bool:
    is_named = page.url.sitemap or "sitemap" in page.url.href.rpartition("/")[2].lower()
    return page.type == "text/plain" and is_named
