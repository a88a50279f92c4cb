"""What a body is, and which reader finds the links in it and in the headers.

`type_of` decides: by the label of a page, or, where that is a default of servers, by the beginning
and the place of the body. `read_body` chooses the reader, and `read_headers` reads Link, Refresh,
Location and X-Robots-Tag.

`read_scan` reads ordinary HTML pages without a tree, by the compiled module; `native/links.c` says
which pages are ordinary. The scan reads the frequent elements itself; for the others it asks
`_Answers`, which uses the tree and the other modules here for single tags.

`announced` reads when pages changed, as their sitemaps and feeds say it: `<lastmod>`, Atom
`<updated>`, RSS `<pubDate>` or `<dc:date>`, `date_modified` of JSON Feed. The crawl's loop needs no
dates.
"""

import json
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum
from http import HTTPStatus
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

from larbinpy.native import native
from larbinpy.page import Page
from larbinpy.parse import charset, grammars, xml
from larbinpy.parse.charset import decode
from larbinpy.parse.grammars import meta_refresh, split_refresh, srcset
from larbinpy.parse.html import base_of, collect_css, is_filled, read_fragment, read_tree
from larbinpy.parse.link import (
    KINDS,
    MAX_LINKS,
    NOFOLLOW,
    Collector,
    Kind,
    Link,
    PackedLinks,
    number_to_pages,
    packed_flags,
    relation_kind,
    unendorsed,
)
from larbinpy.url import Base, as_sent, is_plain_origin, parse, resolve

#: RFC 8288 section 3: a target, and parameters up to a comma outside quotes.
_TARGET = re.compile(r'<([^<>]*)>((?:[^,"<]|"(?:[^"\\]|\\.)*+"?)*+)')
_PARAMETER = re.compile(
    r';\s*([\w!#$&+.^`|~-]+)\*?\s*(?:=\s*(?:"((?:[^"\\]|\\.)*+)"?|([^\s;,"]*)))?'
)
#: Longer values (characters) are cut; no honest server sends them.
_MAX_VALUE = 64 * 1024
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_QUOTED_PAIR = re.compile(r"\\(.)")
_READ = frozenset({"location", "content-location", "link", "refresh", "x-robots-tag"})
_REDIRECTING = frozenset({201, 300, 301, 302, 303, 307, 308})


def read_headers(page: Page, out: Collector) -> None:
    """Add the links in the headers of `page`, and obey its X-Robots-Tag."""
    for name, value in page.headers:
        if name not in _READ:
            continue
        value = value[:_MAX_VALUE]
        match name:
            case "location":
                if page.status in _REDIRECTING:
                    out.add(_escaped(value), Kind.PAGE)
            case "content-location":
                # In other replies, it is another name of the page.
                if page.status == HTTPStatus.CREATED:
                    out.add(_escaped(value), Kind.PAGE)
            case "link":
                _read_link(header_text(value), out)
            case "refresh":
                url = meta_refresh(header_text(value))
                if url:
                    out.add(url, Kind.PAGE)
            case "x-robots-tag":
                grammars.from_header(value, out)


def redirect_target(page: Page) -> Sequence[Link]:
    """Return the target of the Location of `page` as a sequence of one link, or an empty one.

    As in browsers, the first that is not empty counts.
    """
    out = Collector(page.url.href)
    location = _location(page)
    if location:
        out.add(location, Kind.PAGE)
    return out.parsed(None).links


def redirect_spelling(page: Page) -> str:
    """Return the target of a redirect as its server spells it; empty if it has none."""
    location = _location(page)
    return as_sent(location, page.url.spelling or page.url.href) if location else ""


def redirect_part(page: Page) -> str:
    """The fragment of the Location of `page` with its "#"; empty if it has none."""
    _, mark, part = (parse(_location(page), page.url.href) or "").partition("#")
    return mark + part if part else ""


def _location(page: Page) -> str:
    value = next((value for name, value in page.headers if name == "location" and value), "")
    return _escaped(value[:_MAX_VALUE])


def _escaped(value: str) -> str:
    """Return a header decoded as Latin-1 with its bytes escaped, as browsers read a Location.

    So the server gets back what it sent, whatever its encoding is.
    """
    return _NOT_ASCII.sub(lambda byte: f"%{ord(byte[0]):02X}", value)


def header_text(value: str) -> str:
    """Return a header decoded as Latin-1 in UTF-8, as browsers read URLs in headers."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


#: RFC 6266: the name of a file, in the encoding that is named (RFC 8187) or in Latin-1 or UTF-8.
_ENCODED_NAME = re.compile(
    r"filename\*\s*=\s*\"?(?P<charset>[\w-]+)'[^']*'(?P<name>[^;\"\s]+)", re.IGNORECASE
)
_NAME = re.compile(r"filename\s*=\s*(?:\"((?:[^\"\\]|\\.)*+)\"?|([^\s;\"]*))", re.IGNORECASE)
_DRIVE = re.compile(r"[/\\:]")
#: Characters of a name.
_LONGEST_NAME = 200


def download_name(value: str) -> str:
    """The file name in a Content-Disposition, without folders; empty if it has none."""
    encoded = _ENCODED_NAME.search(value)
    name = ""
    if encoded is not None:
        with suppress(LookupError):
            name = unquote(encoded["name"], encoded["charset"], "replace")
    plain = _NAME.search(value)
    if not name and plain is not None:
        name = header_text(_QUOTED_PAIR.sub(r"\1", plain[1] or plain[2] or ""))
    name = "".join(c for c in _DRIVE.split(name)[-1] if c.isprintable()).strip(" .")
    return name[:_LONGEST_NAME]


def _read_link(value: str, out: Collector) -> None:
    for target in _TARGET.finditer(value):
        parameters = _parameters(target[2])
        rel = parameters.get("rel", "")
        kind = relation_kind(rel, parameters.get("as", ""))
        if kind is not None:
            out.add(target[1], kind, unendorsed(rel))
        for url in srcset(parameters.get("imagesrcset", "")):
            out.add(url, Kind.IMAGE)


def _parameters(text: str) -> dict[str, str]:
    """Return parameters by name in lower case; the first of a name counts (section 3.3)."""
    found: dict[str, str] = {}
    for match in _PARAMETER.finditer(text):
        quoted = match[2]
        value = match[3] if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)
        found.setdefault(match[1].lower(), value or "")
    return found


_IMAGE_LISTS = ("icons", "screenshots")


def read_manifest(body: bytes, out: Collector) -> str:
    """Add the links of a manifest; return the encoding, which is always UTF-8."""
    try:
        manifest = json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        manifest = None
    _add_all(_references(manifest), out)
    return "UTF-8"


def _add_all(references: Iterator[tuple[object, Kind]], out: Collector) -> None:
    for reference, kind in references:
        if isinstance(reference, str) and reference:
            out.add(reference, kind)
        if out.cut:
            break


def _references(manifest: object) -> Iterator[tuple[object, Kind]]:
    if not isinstance(manifest, dict):
        return
    yield manifest.get("start_url"), Kind.PAGE
    yield from _images(manifest)
    for shortcut in _members(manifest, "shortcuts"):
        yield shortcut.get("url"), Kind.PAGE
        yield from _images(shortcut)
    worker = manifest.get("serviceworker")
    if isinstance(worker, dict):
        yield worker.get("src"), Kind.REQUISITE


def _images(holder: dict[str, object]) -> Iterator[tuple[object, Kind]]:
    for name in _IMAGE_LISTS:
        for image in _members(holder, name):
            yield image.get("src"), Kind.IMAGE


def _members(holder: dict[str, object], name: str) -> list[dict[str, object]]:
    """Return the objects in the list `name`, without other values; empty if it is no list."""
    value = holder.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


#: A JSON Feed has this in its `version`. Then the members of it and of its items that are links.
_JSON_FEED = "jsonfeed.org"
_FEED_LINKS = {
    **dict.fromkeys(("url", "external_url", "home_page_url", "next_url"), Kind.PAGE),
    **dict.fromkeys(("image", "banner_image", "icon", "favicon"), Kind.IMAGE),
}


def json_feed(body: bytes) -> dict[str, object] | None:
    """The JSON Feed (jsonfeed.org) that a body is, whatever its label; None if it is none."""
    if not _JSON.match(body) or _JSON_FEED.encode() not in body:
        return None
    with suppress(ValueError, RecursionError):
        # Some have line breaks within their texts.
        feed = json.loads(body.decode("utf-8-sig", "replace"), strict=False)
        if isinstance(feed, dict) and _JSON_FEED in str(feed.get("version")):
            return feed
    return None


def items_of(feed: dict[str, object]) -> list[dict[str, object]]:
    """The items of a JSON Feed."""
    return _members(feed, "items")


def said_by(holder: dict[str, object], *names: str) -> str:
    """The first of some members of a JSON Feed, or of its item, that is a text and not empty."""
    texts = (holder.get(name) for name in names)
    return next((each for each in texts if isinstance(each, str) and each.strip()), "")


def page_of_item(item: dict[str, object]) -> str:
    """The page of an item of a JSON Feed; empty if it names none."""
    name = said_by(item, "id")
    about = said_by(item, "external_url")
    return said_by(item, "url") or (name if name.startswith("http") else about)


def _references_of_feed(feed: dict[str, object]) -> Iterator[tuple[object, Kind]]:
    for holder in (feed, *items_of(feed)):
        yield page_of_item(holder), Kind.PAGE
        yield from ((holder.get(name), kind) for name, kind in _FEED_LINKS.items())
        author = holder.get("author")
        authors = [*_members(holder, "authors"), *([author] if isinstance(author, dict) else [])]
        yield from ((each.get("url"), Kind.PAGE) for each in authors)
        yield from ((each.get("url"), Kind.REQUISITE) for each in _members(holder, "attachments"))


#: Encodings in which bytes below 0x40 may not be ASCII.
_INCOMPATIBLE = frozenset({"UTF-16LE", "UTF-16BE", "ISO-2022-JP", "replacement"})
_UTF8_MARK = b"\xef\xbb\xbf"
#: Stands for a <link> that is not followed.
_NOT_FOLLOWED = NOFOLLOW - 1


def read_html(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    """Add the links of an HTML page; return its encoding."""
    # The scan passes over references that are no URLs.
    scans = native is not None and out.checked is None
    found = read_scan(body, http_charset, out) if scans else None
    return found or read_tree(body, http_charset, out)


def read_scan(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    """As `read_tree`, with the compiled module; None if the page is left to the tree."""
    assert native is not None
    name = _declared(body, http_charset)
    body = charset.shortened(body)
    if name in _INCOMPATIBLE or b"\0" in body:
        return None
    answers = _Answers(out, body, name)
    known = [(link.url, packed_flags(link.kind, link.nofollow)) for link in out.links]
    found = native.scan(body, out.agent, out.host, name is not None, known, answers)
    if found is None:
        return None
    out.noindex = out.noindex or answers.noindex
    out.nofollow = out.nofollow or answers.nofollow
    out.replace(PackedLinks(*found))
    out.spellings.update(answers.spellings)
    return answers.charset


def _declared(body: bytes, http_charset: str | None) -> str | None:
    """Return the encoding that a mark or HTTP declares; "replacement" if in doubt."""
    if charset.is_marked(body):
        return "UTF-8" if body.startswith(_UTF8_MARK) else "replacement"
    return charset.named(http_charset) if http_charset else None


class _Answers(Collector):
    """Answers the questions of a scan of `body`; `name` is its encoding, None if not known yet."""

    def __init__(self, out: Collector, body: bytes, name: str | None) -> None:
        super().__init__(out._base, out.agent)
        self._body = body
        self._found: list[tuple[str, int]] = []
        self._rebased = False
        self.charset = name

    def read(self, context: bytes, markup: bytes) -> tuple[tuple[str, int], ...] | None:
        """Return the references in a tag, each with its flags; `context` is the tag around it.

        None if the tag has letters whose encoding is not known, or a document with a base.
        """
        if self.charset is None and not markup.isascii():
            return None
        self._found = []
        read_fragment(context + markup, self.charset, self)
        return None if self._rebased else tuple(self._found)

    def rebase(self, base: str) -> None:
        """Note that references in the tag have a base of their own, which the scan cannot obey."""
        self._rebased = self._rebased or base != self.base

    def add(self, reference: str, kind: Kind, nofollow: bool = False) -> None:
        self._found.append((reference, packed_flags(kind, nofollow)))

    def declare(self, meta: bytes) -> bool:
        """Take the encoding that a <meta> declares; return whether it declares one."""
        self.charset = charset.declared_by(meta)
        if charset.may_be_replaced(self._body):
            self.charset = "replacement"
        return self.charset is not None

    def rebase_by(self, element: bytes) -> bool | None:
        """Obey a <base>; None if its encoding is not known."""
        if self.charset is None and not element.isascii():
            return None
        super().rebase(base_of(element, self.charset, self.base))
        return True

    def settle(self) -> str | None:
        """Return the base, empty if no reference may be appended to it.

        All tags were read. None if the encoding is not known even now, or not compatible.
        """
        self.charset = self.charset or charset.undeclared(self._body)
        if self.charset is None or self.charset in _INCOMPATIBLE:
            return None
        self.encode = charset.query_encoder(self.charset)
        return self._base.url if self._base.is_plain else ""

    @staticmethod
    def is_origin(origin: str) -> bool:
        """Whether paths may be appended to `origin`."""
        return is_plain_origin(origin)

    @staticmethod
    def relation(rel: str, destination: str) -> int:
        """Return the flags of a <link> with these values of `rel` and `as`."""
        kind = relation_kind(rel, destination)
        number = _NOT_FOLLOWED if kind is None else KINDS.index(kind)
        return packed_flags(Kind.PAGE, unendorsed(rel)) | number


#: Most bytes of a sitemap that are read.
LONGEST_SITEMAP = xml.MAX_DECODED
#: Types that servers send if they do not know the type (MIME Sniffing standard, section 5).
UNKNOWN = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "unknown/unknown"}
    | {"application/unknown", "*/*", "application/x-unknown-content-type"}
)
_GZIP = frozenset({"application/gzip", "application/x-gzip"})
#: Reads a body in steps of some ms, and returns its encoding; None if no text was read.
_Steps = Generator[None, None, str | None]
_BLANK = b"\xef\xbb\xbf \t\r\n"
#: Bytes of a document of JSON that is read to see whether it is one: 20 ms.
_LONGEST_JSON = 2 << 20
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+[{\[]")
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
    rb"<(?:\?xml|(?:[\w.-]{1,30}:)?(?:urlset|sitemapindex|rss|RDF|feed|svg))[ \t\n\f\r>]"
)


#: Ends of types that are XML; the last is that of XSLT in browsers.
_XML_TYPES = ("+xml", "/xml", "/xsl")
#: Labels that servers use as a default; the bytes and the place of a body say more.
_VAGUE = UNKNOWN | {"text/html", "text/css", "text/plain"}
#: Beginnings of files that are no text (MIME Sniffing standard, section 6, and others), by name.
_SIGNATURES = re.compile(
    rb"(?P<gif>GIF8[79]a)|(?P<png>\x89PNG\r\n)|(?P<jpeg>\xff\xd8\xff)|(?P<bmp>BM.{4}\0{4})"
    rb"|(?P<webp>RIFF.{4}WEBP)|(?P<ico>\0\0[\1\2]\0)|(?P<avif>.{4}ftypavi[fs])"
    rb"|(?P<pdf>%PDF-)|(?P<postscript>%!PS-)|(?P<woff>wOFF)|(?P<woff2>wOF2)|(?P<otf>OTTO)"
    rb"|(?P<ttf>\0\1\0\0|true\0)|(?P<collection>ttcf)|(?P<wasm>\0asm)|(?P<zip>PK(?:\3\4|\5\6))"
    rb"|(?P<gzip>\x1f\x8b\x08)|(?P<rar>Rar!\x1a\7)|(?P<seven>7z\xbc\xaf\x27\x1c)"
    rb"|(?P<bzip>BZh[1-9]1AY)|(?P<xz>\xfd7zXZ\0)|(?P<ole>\xd0\xcf\x11\xe0)"
    rb"|(?P<mp3>ID3[\2-\4]|\xff[\xf2\xf3\xfb])|(?P<ogg>OggS\0)|(?P<flac>fLaC)"
    rb"|(?P<wav>RIFF.{4}WAVE)|(?P<avi>RIFF.{4}AVI )|(?P<webm>\x1aE\xdf\xa3)|(?P<mp4>.{4}ftyp)",
    re.DOTALL,
)
_SIGNED = {
    **{name: f"image/{name}" for name in ("gif", "png", "jpeg", "bmp", "webp", "avif")},
    **{name: f"application/{name}" for name in ("pdf", "postscript", "wasm", "zip", "gzip")},
    **{name: f"font/{name}" for name in ("woff", "woff2", "otf", "ttf", "collection")},
    "ico": "image/x-icon",
    "rar": "application/vnd.rar",
    "seven": "application/x-7z-compressed",
    "bzip": "application/x-bzip2",
    "xz": "application/x-xz",
    "ole": "application/x-ole-storage",
    "mp3": "audio/mpeg",
    "ogg": "application/ogg",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "avi": "video/x-msvideo",
    "webm": "video/webm",
    "mp4": "video/mp4",
}
#: A body that is HTML and nothing else: a script may begin with a comment.
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?+(?:[\t\n\f\r ]++|<!--.*?-->|<\?xml[^>]*+>)*+<(?:!doctype html|"
    rb"(?:html|head|body|frameset|title|meta|link|base|script|style|iframe|noscript|template|"
    rb"h[1-6]|div|p|a|b|i|u|br|hr|img|ul|ol|dl|table|center|font|span|form|pre|main|article|"
    rb"section|header|nav|video|audio|svg|button|input|canvas|object|embed)[ \t\n\f\r>/])",
    re.IGNORECASE | re.DOTALL,
)
#: A text with elements in it, or of mere words: what scripts and sheets have from the beginning on
#: is missing.
_PROSE = re.compile(
    rb"(?:\xef\xbb\xbf)?+(?:[^<>=;{}()\[\]\"'`]|\b'\b)*+(?:<[a-z]|\Z)", re.IGNORECASE
)
#: Scripts that load others have one of these.
_LOADING = (b"import", b"export", b"Worker(", b"createElem(doc, tag, ")
#: Names of pages, of programs that make pages or anything else, and those without ending.
_NAMES = re.compile(
    r"(?:[^.]*+|.*\.(?:(?P<page>[xs]?html?)|php\d?|aspx?|jspx?|cgi|cfm|do))\Z", re.I
)
_SCRIPT = re.compile(r"(?:text|application)/(?:x-)?(?:java|ecma)script")


def read_body(page: Page, out: Collector) -> _Steps:
    """Add the links of the page's body."""
    body, charset, kind = page.body, page.http_charset, page.type
    if page.url.is_sitemap and is_sitemap(page):
        return (yield from _read_sitemap(page, out))
    # Most bodies are pages, and begin so.
    if kind in _VAGUE and (page.url.requisite or body[:_HEAD].lstrip()[:1] != b"<"):
        kind = type_of(page)
        if not kind and not _is_manifest(page):
            return None
    if kind == "text/html":
        return (yield from read_unlabelled(page, out))
    if kind == "text/css":
        return _read_css(body, charset, out)
    if kind == "application/manifest+json" or _is_manifest(page):
        return read_manifest(body, out)
    if kind.endswith(_XML_TYPES):
        return (yield from _read_xml(page, out))
    if feed := json_feed(body) if len(body) <= _LONGEST_JSON else None:
        _add_all(_references_of_feed(feed), out)
        return "UTF-8"
    if kind in UNKNOWN or kind in _GZIP:
        return (yield from read_unlabelled(page, out)) if _is_markup(body) else None
    if _is_text_sitemap(page):
        read = _read_sitemap if is_xml(body) and is_sitemap(page) else _read_text
        return (yield from read(page, out))
    return _read_script(page, out) if _SCRIPT.fullmatch(kind) else None


def may_link(page: Page) -> bool:
    """Whether the body of `page`, of which the first kilobytes are enough, may contain links."""
    kind = page.type
    if kind in ("text/html", "text/css", "application/manifest+json", "application/feed+json"):
        return True
    if page.body.startswith(xml.MAGIC):
        return _is_feed(next(xml.gunzip([page.body]), b""))
    if kind in UNKNOWN or kind in _GZIP:
        return _is_markup(page.body) or _is_manifest(page)
    return kind.endswith(_XML_TYPES) or _is_manifest(page) or _is_text_sitemap(page)


def is_sitemap(page: Page) -> bool:
    """Whether the body of `page` is a sitemap or feed, whatever its type is."""
    is_packed = page.body.startswith(xml.MAGIC)
    first = next(xml.unpacked(page), b"")
    if page.url.is_sitemap:
        first = xml.without_junk(first)
    elif not (is_packed or is_xml(first)):
        return page.type == "text/plain" and _is_list(first)
    return _is_feed(first) or _is_list(first)


def text_of(page: Page, most: int) -> tuple[bytes, bool]:
    """A text, and whether it is whole; some more than `most` bytes are enough.

    It is unpacked, as some sites serve a gzip file without a label.
    """
    text, faults = b"", [page.truncated] if page.truncated else []
    for chunk in xml.unpacked(page, faults.append):
        text += chunk
        if len(text) > most:
            break
    return text, not faults


def _is_list(first: bytes) -> bool:
    """Whether a text begins with a URL."""
    return first[:_HEAD].lstrip(_BLANK)[:8].lower().startswith((b"http://", b"https://"))


def is_sitemap_name(url: str) -> bool:
    """Whether a URL is named as sitemaps are, so that nothing else is likely to be there."""
    return url.partition("?")[0].endswith((".xml", ".xml.gz"))


def read_unlabelled(page: Page, out: Collector) -> _Steps:
    """As `read_body`, for a body that is HTML, or a feed or sitemap labelled as HTML."""
    body, charset = page.body, page.http_charset
    if body.startswith(xml.MAGIC):
        return (yield from _read_gzip(page, out))
    if is_xml(body):
        encoding, name = xml.encoding_of(body, charset)
        if xml.root_name(body, encoding) in xml.ROOTS:
            yield from xml.read_feed(xml.portions(page), encoding, out)
            return name
    return read_html(body, charset, out)


def _read_xml(page: Page, out: Collector) -> _Steps:
    body, charset = page.body, page.http_charset
    if body.startswith(xml.MAGIC):
        return (yield from _read_gzip(page, out))
    encoding, name = xml.encoding_of(body, charset)
    root = xml.root_name(body, encoding)
    if root in xml.ROOTS:
        yield from xml.read_feed(xml.portions(page), encoding, out)
        return name
    if root is not None and (xml.read_tree(body, encoding, out) or root != "html"):
        return name
    # Malformed XHTML, or no XML at all: the HTML parser finds its links.
    return read_html(body, charset, out)


def _read_gzip(page: Page, out: Collector) -> _Steps:
    """Read a sitemap or feed in a gzip file; servers send no other documents that way."""
    return (yield from _read_sitemap(page, out)) if is_sitemap(page) else None


def _read_sitemap(page: Page, out: Collector) -> _Steps:
    """Read a sitemap or feed, which `is_sitemap` has found by its bytes: XML, or a list of URLs."""
    chunks = xml.unpacked(page, out.stop)
    first = xml.without_junk(next(chunks, b""))
    encoding, name = xml.encoding_of(first, page.http_charset)
    if xml.root_name(first, encoding) in xml.ROOTS:
        yield from xml.read_feed(chain([first], chunks), encoding, out)
        return name
    return (yield from _read_lines(xml.blocks_of_lines(chain([first], chunks)), page, out))


def _is_feed(first: bytes) -> bool:
    encoding, _ = xml.encoding_of(first, None)
    return xml.root_name(first, encoding) in xml.ROOTS


def _read_css(body: bytes, charset: str | None, out: Collector) -> str:
    text, name = decode(body, charset)
    collect_css(text, out)
    return name


def _read_script(page: Page, out: Collector) -> str | None:
    """Add the modules and workers that a script loads, and the indexes of Javadoc's search."""
    body = page.body
    if not any(sign in body for sign in _LOADING):
        return None
    script = body.decode("utf-8", "replace")
    found = [*grammars.imports(script), *grammars.parts_of_worker(script)]
    started = (resolve(each, page.url.via or page.url.href) for each in grammars.workers(script))
    for reference in chain(found, grammars.javadoc_indexes(script), filter(None, started)):
        out.add(reference, Kind.REQUISITE)
    return None


def _read_text(page: Page, out: Collector) -> _Steps:
    # The encoding of a body is found in all of it.
    blocks = xml.blocks_of_lines(xml.portions(page)) if page.rest else iter([page.body])
    return (yield from _read_lines(blocks, page, out))


def _read_lines(blocks: Iterator[bytes], page: Page, out: Collector) -> _Steps:
    name = None
    for block in blocks:
        text, name = decode(block, page.http_charset)
        xml.read_lines(text, out)
        if out.cut:
            break
        yield
    return name


class Form(Enum):
    """The languages in which links are rewritten."""

    HTML = "html"
    XML = "xml"
    CSS = "css"


_FORMS = {"text/html": Form.HTML, "text/css": Form.CSS}
_FORMS |= dict.fromkeys(("application/xhtml+xml", "image/svg+xml"), Form.XML)
#: Root elements of XML documents that browsers show as pages, or read to show them.
_SHOWN = frozenset({"html", "svg", "stylesheet", "transform"})


def form_of(page: Page) -> Form | None:
    """Return the form of the body of `page`; None if it is not rewritten."""
    kind = type_of(page)
    form = _FORMS.get(kind)
    if form is None and kind.endswith(_XML_TYPES):
        encoding, _ = xml.encoding_of(page.body, page.http_charset)
        is_shown = xml.root_name(page.body, encoding) in _SHOWN
        return Form.XML if is_shown or b"<?xml-stylesheet" in page.body[:_HEAD] else None
    return form


def type_of(page: Page) -> str:
    """The media type of `page`: by its label, or by its bytes and place where that is vague.

    Empty if it is none that is known.
    """
    kind, body = page.type, page.body
    if kind not in _VAGUE:
        return kind
    found = _SIGNATURES.match(body)
    if found is not None and found.lastgroup is not None:
        return _SIGNED[found.lastgroup]
    is_markup = _is_markup(body)
    if page.url.sheet and not is_markup:
        return "text/css"
    if kind in ("text/css", "text/plain"):
        return kind
    if is_xml(body):
        return _xml_type(page)
    if kind != "text/html":
        # An empty one may lead on.
        leads = not body and page.header("refresh") is not None
        return "text/html" if is_markup or leads else ""
    if _is_json(body):
        return "application/json"
    # A script or the like that has the default type of its server.
    is_other = page.url.requisite and body.strip() and not _is_page(page)
    return "" if is_other or _is_binary(body) else kind


def _is_page(page: Page) -> bool:
    """Whether a body labelled as HTML is that of a frame: it begins so, or is called so."""
    if _PAGE.match(page.body):
        return True
    named = _NAMES.match(page.url.href.partition("?")[0].rpartition("/")[2])
    return named is not None and bool(named["page"] or _PROSE.match(page.body))


def _xml_type(page: Page) -> str:
    """The type of a document that begins as XML."""
    encoding, _ = xml.encoding_of(page.body, page.http_charset)
    root = xml.root_name(page.body, encoding)
    if root in xml.ROOTS:
        return "application/xml"
    if page.type == "text/html":
        return page.type
    return {"html": "application/xhtml+xml", "svg": "image/svg+xml"}.get(root or "", "text/xml")


def _is_json(body: bytes) -> bool:
    """Whether a body is a document of JSON, which programs read, whatever its label is."""
    if not _JSON.match(body) or len(body) > _LONGEST_JSON:
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _is_binary(body: bytes) -> bool:
    """Whether a body is no text, in spite of its label."""
    head = body[:_HEAD]
    zeros = head.count(b"\0")
    is_wide = zeros * 3 > len(head) or charset.is_marked(body)
    return zeros > 0 and not is_wide and not _HTML.match(head)


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
    return bool(_HTML.match(head) or _XML.match(head)) or body.startswith(xml.MAGIC)


def _is_manifest(page: Page) -> bool:
    if page.type not in UNKNOWN and page.type != "application/json":
        return False
    return page.url.href.partition("?")[0].endswith(_MANIFEST_NAMES)


def _is_text_sitemap(page: Page) -> bool:
    is_named = page.url.is_sitemap or "sitemap" in page.url.href.rpartition("/")[2].lower()
    return page.type == "text/plain" and is_named


#: Elements that name a page and a date.
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
#: Dates by their preference: the later ones of an entry count only if the first is missing.
_DATES = ("lastmod", "updated", "pubDate", "date", "published")
#: Most characters of a date; no honest one is longer.
_LONGEST = 60
#: Most characters of URLs of one document.
_MOST_CHARACTERS = 16 << 20
#: The complete forms of https://www.w3.org/TR/NOTE-datetime, and the time without a zone.
_W3C = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
#: Dates before the Web are placeholders.
_EARLIEST = "1990"


class Announced(NamedTuple):
    """A page that a sitemap or feed names."""

    #: Canonical URL.
    url: str
    #: When it changed, in UTC: "2026-11-23T08:00:00Z", or "2026-11-23" if the time of the day is
    #: not known; empty if the document does not say.
    date: str


def announced(page: Page, latest: str) -> Iterator[Announced]:
    """Yield the pages that a sitemap or feed names, at most `MAX_LINKS`; of other pages nothing.

    Dates after `latest`, an ISO 8601 time in UTC, say nothing, nor do those that cannot be read.
    """
    base = Base(page.url.href)
    count = characters = 0
    for reference, text in _named(page):
        url = base.resolve(reference.partition("#")[0])
        if url is not None:
            count, characters = count + 1, characters + len(url)
            yield Announced(url, date_of(text, latest))
        if count >= MAX_LINKS or characters >= _MOST_CHARACTERS:
            break


def _named(page: Page) -> Iterator[tuple[str, str]]:
    """Yield the reference and the date of each entry of a sitemap or feed."""
    body = page.body
    if feed := json_feed(body):
        for item in items_of(feed):
            if reference := page_of_item(item):
                yield reference, said_by(item, "date_modified", "date_published")
        return
    is_packed = body.startswith(xml.MAGIC)
    if not is_packed and not is_xml(body):
        return
    chunks = xml.chunked(body)
    if is_packed:
        chunks = xml.gunzip(chunks)
    first = next(chunks, b"")
    encoding, _ = xml.encoding_of(first, None if is_packed else page.http_charset)
    if xml.root_name(first, encoding) not in xml.ROOTS:
        return
    yield from _entries(chain([first], chunks), encoding, page.url.href)


def date_of(text: str, latest: str) -> str:
    """The date in `text`, as `Announced` has it; empty if there is none that can be believed."""
    text = text.strip()
    if len(text) > _LONGEST:
        return ""
    found = _W3C.fullmatch(text)
    try:
        if found is None:
            # Here, since it loads socket code.
            from email.utils import parsedate_to_datetime

            moment = parsedate_to_datetime(text)
            date = _spelled(moment, is_exact=moment.tzinfo is not None)
        else:
            day, time, zone = found.groups()
            exact = f"{day}T{time}{zone}" if time and zone else day
            date = _spelled(datetime.fromisoformat(exact), is_exact=exact != day)
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
    return date if _EARLIEST <= date <= latest else ""


def _spelled(moment: datetime, *, is_exact: bool) -> str:
    if not is_exact:
        return moment.date().isoformat()
    utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='seconds')}Z"


def _entries(chunks: Iterator[bytes], encoding: str | None, url: str) -> Iterator[tuple[str, str]]:
    """Yield the reference and the date of each entry, as they stand there."""
    links, dates = dict[str, str](), dict[str, str]()
    count = 0
    names = (*_ENTRIES, *_DATES, *xml.LINKS)
    stream = xml.list_elements(chunks, encoding, names, lambda: count)
    for element in (each for each in stream if each is not None):
        # lxml cannot decode a text with half of a surrogate pair ("&#xD800;").
        with suppress(UnicodeDecodeError):
            name = xml.local_name(element)
            if name in _ENTRIES:
                link = xml.preferred(links, xml.LINKS)
                if link:
                    count += 1
                    yield link, xml.preferred(dates, _DATES)
                links, dates = {}, {}
            elif xml.parent_name(element) not in _ENTRIES:
                continue
            elif name in _DATES:
                dates.setdefault(name, xml.text_of(element)[: _LONGEST + 1])
            elif name in xml.LINKS:
                links[name] = links.get(name) or xml.page_of(element, url)


#: Bytes of a page that scripts fill; most have some thousand.
_LONGEST_SHELL = 1 << 18
#: Links to pages that it may have.
_FEW_LINKS = 2
#: What a page may be there for, without text; the last leads on without a script.
_ON_A_SHELL = (
    "body img,body video,body audio,body iframe,body object,body embed,body form,frameset,"
    "head > meta[http-equiv=refresh i][content*=url i]"
)


def is_filled_by_script(page: Page, links: Sequence[Link]) -> bool:
    """Whether a browser would see more of an HTML page, which has `links`: scripts make it."""
    if b"<script" not in page.body or number_to_pages(links) > _FEW_LINKS:
        return False
    if len(page.body) > _LONGEST_SHELL:
        return False
    tree = charset.document(page.body, page.http_charset)
    return is_filled(tree) and not tree.select_one(_ON_A_SHELL)


#: Words of scripts that ask for data.
_ASKS = (b"fetch(", b".get(", b".post(", b".getJSON(", b".ajax(", b".open(", b"EventSource(")
_ASKING = re.compile(
    rb"(?:\bfetch|\.get|\.post|\.getJSON|\.ajax|\bEventSource)\(\s*+[\"'`]/(?!/)"
    rb"|\.open\(\s*+[\"'](?i:get|post|put)[\"'],\s*+[\"'`]/(?!/)"
    rb"|\.ajax\(\s*+\{[^{}\"'`]{0,200}?\burl:\s*+[\"'`]/(?!/)"
)


def asks_its_site(page: Page) -> bool:
    """Whether a page or a script asks its site for data when it is shown."""
    if _SCRIPT.fullmatch(page.type):
        return _asks(page.body)
    return any(map(_asks, _scripts(page.body)))


def _asks(script: bytes) -> bool:
    return any(word in script for word in _ASKS) and _ASKING.search(script) is not None


def _scripts(body: bytes) -> Iterator[bytes]:
    """The texts of the scripts in a page, with their tags."""
    start = end = 0
    while (start := body.find(b"<script", end)) >= 0:
        end = body.find(b"</script", start)
        end = len(body) if end < 0 else end
        yield body[start:end]


#: Most bytes of a page that is there to set a cookie, and seconds until it loads itself again.
_LONGEST_WALL, _SOON = 1 << 13, 15
_REFRESH = "meta[http-equiv=refresh i][content]"


def reloaded(page: Page) -> str | None:
    """Return the URL that a short page loads by itself, soon; None if it loads none."""
    content = header_text(page.header("refresh") or "")
    if not content and len(page.body) <= _LONGEST_WALL and b"refresh" in page.body.lower():
        found = charset.document(page.body, page.http_charset).select_one(_REFRESH)
        content = (found and found.attr("content")) or ""
    refresh = split_refresh(content)
    if refresh is None or int(refresh[0].partition(".")[0][:9] or 0) > _SOON:
        return None
    return resolve(refresh[1], page.url.spelling or page.url.href)
