"""XML documents, read safely: links of XHTML, SVG and the like, and lists of URLs that may be long.

lxml gets bytes, never text, so that it obeys the document's own encoding declaration. Entities
are not expanded, nothing is loaded, and libxml2's limits on depth and size stay on
(`huge_tree` would lift those that stop entity bombs).

Sitemaps (sitemaps.org), RSS and Atom are read as a stream, and elements are dropped once they are
read, so neither a sitemap of 50 MB nor a decompression bomb is ever in memory. Reading stops if a
stream has hardly any URLs.
"""

import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from lxml import etree

from larbinpy.page import Page
from larbinpy.parse import grammars, html
from larbinpy.parse.link import CheckCollector, Collector, Kind, relation_kind, unendorsed
from larbinpy.url import parse

#: Arguments of all lxml parsers.
SAFE: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "dtd_validation": False,
    "attribute_defaults": False,
    "huge_tree": False,
    "recover": True,
    "remove_comments": True,
}

_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
#: Root elements of XSLT, and those that include another file.
TRANSFORMS = ("stylesheet", "transform")
_INCLUDING = frozenset(
    f"{{http://www.w3.org/1999/XSL/Transform}}{name}" for name in ("include", "import")
)
_BASE = "{http://www.w3.org/1999/xhtml}base"
#: Not "//*", whose result libxml2 sorts in time that grows with the square of its size.
_INTERESTING = etree.XPath("descendant-or-self::*[@* or local-name() = 'style']")

#: Bytes in which the first element must begin, and portions in which they are parsed.
_HEAD = 64 * 1024
_PORTION = 1024
#: Most ampersands that `mended` replaces; no honest feed has more.
_MAX_AMPERSANDS = 100_000
_AMPERSAND = re.compile(rb"&(?:amp;|(?!#?\w{1,30};))")
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"
_MARKS = re.compile(rb"(<!\[CDATA\[|\]\]>)")
_DECLARED = re.compile(rb"<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})[\"']")
_WIDE = ("utf-16", "ucs-", "iso-10646-ucs", "utf-32")


def encoding_of(body: bytes, http_charset: str | None) -> tuple[str | None, str]:
    """Return the encoding to pass to the parser (None: none), and the encoding's name.

    The declaration outranks HTTP, contrary to RFC 7303: labels by servers are often wrong, those
    by authors seldom. A label of UTF-16 is ignored if there are no zero bytes.
    """
    wide = b"\0" in body[:_PORTION] or body.startswith((b"\xff\xfe", b"\xfe\xff"))
    if wide or body.startswith(b"\xef\xbb\xbf"):
        return None, "UTF-16" if wide else "UTF-8"
    declared = _DECLARED.search(body, 0, _PORTION)
    if declared is not None:
        name = declared[1].decode("ascii")
        return ("utf-8", "UTF-8") if name.lower().startswith(_WIDE) else (None, name)
    if http_charset and not http_charset.lower().startswith(_WIDE) and _known(http_charset):
        return http_charset, http_charset
    return None, "UTF-8"


def _known(encoding: str) -> bool:
    try:
        etree.XMLParser(encoding=encoding)
    except (LookupError, ValueError):
        return False
    return True


def root_name(body: bytes, encoding: str | None) -> str | None:
    """Return the local name of the first element; None if there is none near the beginning."""
    parser = etree.XMLPullParser(events=("start",), encoding=encoding, **SAFE)
    try:
        for start in range(0, min(len(body), _HEAD), _PORTION):
            parser.feed(body[start : start + _PORTION])
            for _, element in parser.read_events():
                return local_name(element)
    except etree.LxmlError:
        return None
    return None


def local_name(element: Any) -> str:
    """The name of an element without its namespace; empty if it has none that can be read."""
    try:
        return str(element.tag).rpartition("}")[2]
    except UnicodeDecodeError:  # half of a surrogate pair in the namespace, as of "&#xD800;"
        return ""


def mended(text: bytes) -> bytes:
    """Return `text` with "&amp;" replaced by "&#38;", which libxml2 reads even after an error.

    A bare "&", frequent in hand-made feeds, is replaced, too. CDATA and UTF-16 are not changed.
    """
    return _mended(text, in_cdata=False)[0]


def _mended(text: bytes, *, in_cdata: bool) -> tuple[bytes, bool]:
    """`text`, mended, and whether its end is in CDATA; `in_cdata`: so is its beginning."""
    if b"\0" in text[:_PORTION]:
        return text, False
    if not in_cdata and _CDATA not in text:
        return _AMPERSAND.sub(b"&#38;", text, count=_MAX_AMPERSANDS), False
    pieces, left = [], _MAX_AMPERSANDS
    for piece in _MARKS.split(text):
        if piece in (_CDATA, _CDATA_END):
            in_cdata = piece == _CDATA
        elif not in_cdata and left > 0:
            piece, number = _AMPERSAND.subn(b"&#38;", piece, count=left)
            left -= number
        pieces.append(piece)
    return b"".join(pieces), in_cdata


def read_tree(body: bytes, encoding: str | None, out: Collector) -> bool:
    """Add the links of an XHTML, SVG or other document; return whether that was done.

    Malformed XHTML is not read, because the HTML parser finds more in it. Other malformed
    documents are read up to the error.
    """
    root = tree_of(body, encoding)
    if root is None:
        return False
    for read in (_read_base, _read_instructions):
        with suppress(UnicodeDecodeError):
            read(root, out)
    found: Any = _INTERESTING(root)
    is_transform = local_name(root) in TRANSFORMS
    for element in found:
        if out.full:
            break
        # lxml cannot decode a text with half of a surrogate pair, as of "&#xD800;".
        with suppress(UnicodeDecodeError):
            if isinstance(out, CheckCollector):
                out.element = _Spot(element)
            get = _certain(element.get) if is_transform else element.get
            _read_element(element, get, out)
    if isinstance(out, CheckCollector) and local_name(root) == "html":
        with suppress(UnicodeDecodeError):
            out.hold({each.get("id") for each in root.iterfind(".//*[@id]")})
    return True


def _certain(get: html.Get) -> html.Get:
    """`get` without references that depend on the document that is transformed."""

    def value(name: str) -> str | None:
        found = get(name)
        is_certain = found is not None and found.startswith(("/", "http")) and "{" not in found
        return found if is_certain or name not in html.ATTRIBUTES else None

    return value


class _Spot:
    """An element as a link check sees it."""

    def __init__(self, element: Any) -> None:
        self._element = element
        self.attr, self.attrs = element.get, element.attrib
        self.tag = local_name(element)
        self.source_line = element.sourceline

    @property
    def text(self) -> str:
        return "".join(self._element.itertext())


def tree_of(body: bytes, encoding: str | None) -> Any:
    """Return the root of a document; None if there is none, or if it is malformed XHTML."""
    parser = etree.XMLParser(encoding=encoding, **SAFE)
    try:
        root = etree.fromstring(mended(body), parser)
    except etree.LxmlError:
        return None
    faulty = len(parser.error_log.filter_from_errors()) > 0
    return None if root is None or (faulty and local_name(root) == "html") else root


def _read_element(element: Any, get: html.Get, out: Collector) -> None:
    tag = local_name(element)
    if element.tag in _INCLUDING:
        out.add(element.get("href") or "", Kind.REQUISITE)
        return
    reader = html.READERS.get(tag)
    if reader is not None:
        reader(get, out)
    html.collect_common(get, out)
    html.collect_paints(get, out)
    html.collect_xlink(tag, get(_XLINK_HREF), out)
    if not grammars.NAMES.isdisjoint(element.keys()):
        html.collect_lazy(tag, get, out)
    if tag == "style":
        html.collect_css(element.text or "", out)
    elif tag == "script":
        grammars.read_script(get("type"), element.text or "", out)


def _read_base(root: Any, out: Collector) -> None:
    base = next((b for b in root.iter(_BASE) if b.get("href") is not None), None)
    if base is not None:
        out.rebase(parse(base.get("href"), out.base) or out.base)


def _read_instructions(root: Any, out: Collector) -> None:
    """`<?xml-stylesheet href="..."?>` before the root element."""
    for node in root.itersiblings(etree.ProcessingInstruction, preceding=True):
        if node.target == "xml-stylesheet" and node.get("href"):
            is_css = node.get("type", "text/css").strip().lower() == "text/css"
            out.add(node.get("href"), Kind.SHEET if is_css else Kind.REQUISITE)


#: Local names of the root elements.
ROOTS = frozenset({"urlset", "sitemapindex", "rss", "RDF", "feed"})
#: Elements that name the page of an entry, by their preference: see `page_of`.
LINKS = ("loc", "link", "guid")

_SITEMAPS = frozenset({"urlset", "sitemapindex"})
#: The beginning of a document with such a root.
_BEGINNING = re.compile(rb"<\?xml\s|<(?:[\w.-]{1,30}:)?(?:urlset|sitemapindex|rss|feed|RDF)[\s>]")

#: "must be no larger than 50MB (52,428,800 bytes)" uncompressed, says the protocol.
MAX_DECODED = 50 * 1024 * 1024
_CHUNK = 64 * 1024
#: The beginning of a gzip file.
MAGIC = b"\x1f\x8b\x08"
#: gzip files may be concatenated, as some programs write one for each piece.
_MAX_MEMBERS = 1000

#: Bytes that may be read without a URL, and the additional bytes for each URL found: twice the
#: protocol's limit of bytes divided by its limit of URLs.
_BARREN_START = 1024 * 1024
_BARREN_SHARE = 2 * 1024

#: An entity, or a mark of CDATA, at the end of a chunk, which may be incomplete.
_CUT = re.compile(rb"(?:&[#\w]{0,31}|<!?\[?C?D?A?T?A?|\]{1,2})\Z")


def chunked(body: bytes) -> Iterator[bytes]:
    """Yield `body` in portions."""
    for start in range(0, len(body), _CHUNK):
        yield body[start : start + _CHUNK]


def inflated(packed: bytes) -> Iterator[bytes]:
    """Yield in portions what `Page.rest` has, which the fetcher packed."""
    inflater = zlib.decompressobj()
    for portion in chunked(packed):
        while portion:
            yield inflater.decompress(portion, _CHUNK)
            portion = inflater.unconsumed_tail


def portions(page: Page) -> Iterator[bytes]:
    """Yield the body of a page and what follows it in portions."""
    return chain(chunked(page.body), inflated(page.rest))


def _ignore(_why: str) -> None:
    pass


def unpacked(page: Page, cut: Callable[[str], None] = _ignore) -> Iterator[bytes]:
    """Yield the body of a page and what follows it in portions, unpacked if it is a gzip file.

    Some servers pack such a file again.
    """
    chunks, first = portions(page), page.body
    for _ in range(2):
        if first.startswith(MAGIC):
            chunks = gunzip(chunks, cut)
            first = next(chunks, b"")
            chunks = chain([first], chunks)
    return chunks


def without_junk(first: bytes) -> bytes:
    """The beginning of a sitemap without what precedes its XML: blank lines, warnings of PHP."""
    found = _BEGINNING.search(first)
    return first if found is None else first[found.start() :]


def gunzip(packed: Iterable[bytes], cut: Callable[[str], None] = _ignore) -> Iterator[bytes]:
    """Yield the content of a gzip file in chunks, up to a fault or `MAX_DECODED` bytes.

    `cut` is called with the reason if that is not all.
    """
    left = MAX_DECODED
    inflater = zlib.decompressobj(wbits=31)
    # Members that are complete, and whether the next one has begun.
    members, has_begun = 0, True
    for portion in packed:
        while portion:
            if inflater.eof:
                inflater, has_begun = zlib.decompressobj(wbits=31), False
            if left <= 0 or members >= _MAX_MEMBERS:
                cut(f"only its first {MAX_DECODED - left:,} bytes, unpacked")
                return
            try:
                chunk = inflater.decompress(portion, min(_CHUNK, left))
            except zlib.error:
                if has_begun or portion.startswith(MAGIC):
                    cut("its gzip file is damaged")
                return  # something else follows the last member
            if chunk:
                left -= len(chunk)
                has_begun = True
                yield chunk
            members += inflater.eof
            portion = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    if has_begun and not inflater.eof:
        cut("its gzip file ends too early")


def read_feed(
    chunks: Iterable[bytes], encoding: str | None, out: Collector
) -> Generator[None, None, None]:
    """Add the links of a sitemap, sitemap index, RSS or Atom document, in steps of some ms.

    Markup within the text of feed entries is not read, because the linked pages have it, too.
    """
    stream = list_elements(chunks, encoding, _READERS, lambda: out.count, out.stop)
    root = None
    for element in stream:
        if element is None:
            yield
            continue
        if root is None:
            root = local_name(element)
            out.is_index = root == "sitemapindex"
            continue
        # lxml cannot decode a text with half of a surrogate pair ("&#xD800;").
        with suppress(UnicodeDecodeError):
            _read_list_element(element, out)
        if out.cut:
            break


def list_elements(
    chunks: Iterable[bytes],
    encoding: str | None,
    names: Iterable[str],
    found: Callable[[], int],
    cut: Callable[[str], None] = _ignore,
) -> Iterator[Any]:
    """Yield the root at its beginning, then the elements with these local names at their ends.

    None comes after each portion, which takes some ms. Elements before one have been dropped in
    part. `found` returns the number of URLs so far; `cut` is called with the reason if the document
    is not read to its end.
    """
    tags = tuple(f"{{*}}{name}" for name in (*ROOTS, *names))
    parser = etree.XMLPullParser(events=("start", "end"), tag=tags, encoding=encoding, **SAFE)
    root = None
    has_ended = False
    taken = 0
    try:
        for chunk in _mended_chunks(chunks):
            parser.feed(chunk)
            for event, element in parser.read_events():
                if event == "end":
                    has_ended = element is root
                    yield element
                elif root is None:
                    root = element
                    yield root
            _forget(root)
            yield None
            taken += len(chunk)
            if taken > _BARREN_START + _BARREN_SHARE * found():
                cut(f"only its first {taken:,} bytes, which have hardly any URL")
                return
    except etree.LxmlError:
        cut("its XML is broken")
    # Feeds may have broken markup in their texts, which hides their end.
    if root is not None and not has_ended and local_name(root) in _SITEMAPS:
        cut("its XML ends too early")


def read_lines(text: str, out: Collector) -> None:
    """Add the links of a text sitemap: one URL a line."""
    for line in text.splitlines():
        url = line.strip("\ufeff \t")
        if url[:8].lower().startswith(("http://", "https://")):
            out.add(url, Kind.PAGE)
        if out.cut:
            break


def blocks_of_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text sitemap, cut at the ends of lines."""
    rest = b""
    for portion in chunks:
        lines, end, rest = (rest + portion).rpartition(b"\n")
        yield lines + end
        # No URL is longer than a portion.
        rest = rest[-_CHUNK:]
    yield rest


def _mended_chunks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield `chunks`, each mended, and none cut within an entity or a mark of CDATA."""
    rest, in_cdata = b"", False
    for chunk in chunks:
        whole = rest + chunk
        cut = _CUT.search(whole, max(0, len(whole) - 40))
        end = len(whole) if cut is None else cut.start()
        text, in_cdata = _mended(whole[:end], in_cdata=in_cdata)
        yield text
        rest = whole[end:]
    if rest:
        yield rest


def _forget(root: Any) -> None:
    """Drop complete elements: all but the last child, on every level."""
    node = root
    while node is not None and len(node):
        del node[:-1]
        node = node[-1]


def _read_list_element(element: Any, out: Collector) -> None:
    reader = _READERS.get(local_name(element))
    if reader is None:
        return
    for reference, kind, nofollow in reader(element):
        reference = reference.strip()
        if reference:
            out.add(absolute(reference, element, out.base), kind, nofollow)


def absolute(reference: str, element: Any, url: str) -> str:
    """Return `reference` resolved against the nearest xml:base, if there is one; `url` is that of
    the document."""
    base = element.base
    if not base:
        return reference
    return parse(reference, parse(base, url) or url) or reference


_Found = tuple[str, Kind, bool]
_ElementReader = Callable[[Any], list[_Found]]


def text_of(element: Any) -> str:
    """The text of an element."""
    # Children are entities that were not expanded, without which the URL is incomplete.
    return "" if len(element) else element.text or ""


def page_of(element: Any, url: str) -> str:
    """The page that an element of an entry, one of `LINKS`, names; empty if it names none.

    It is absolute if the document, which has the URL `url`, says its base.
    """
    href = element.get("href")
    if local_name(element) == "guid":
        reference = _permalink(element)
    elif href is None:
        reference = text_of(element).strip()
    else:
        is_page = element.get("rel", "alternate") == "alternate"
        reference = href.strip() if is_page else ""
    return reference and absolute(reference, element, url)


def preferred(values: Mapping[str, str], names: Iterable[str]) -> str:
    """The value of the first of `names` that has one; empty if none has."""
    return next((values[each] for each in names if values.get(each)), "")


def _permalink(guid: Any) -> str:
    """The URL of a `<guid>`; empty if it is another kind of name, which many do not say."""
    text = text_of(guid).strip()
    is_url = guid.get("isPermaLink", "true") == "true" and text.startswith("http")
    return text if is_url else ""


def parent_name(element: Any) -> str:
    """The local name of the parent of an element; empty if it has none."""
    parent = element.getparent()
    return "" if parent is None else local_name(parent)


def _text_as(kind: Kind) -> _ElementReader:
    return lambda element: [(text_of(element), kind, False)]


def _loc(element: Any) -> list[_Found]:
    kind = Kind.IMAGE if parent_name(element) == "image" else Kind.PAGE
    return [(text_of(element), kind, False)]


def _link(element: Any) -> list[_Found]:
    href = element.get("href")
    if href is None:
        return [(text_of(element), Kind.PAGE, False)]
    rel = element.get("rel") or ""
    kind = relation_kind(rel, "")
    return [] if kind is None else [(href, kind, unendorsed(rel))]


def _guid(element: Any) -> list[_Found]:
    return [(_permalink(element), Kind.PAGE, False)]


def _url(element: Any) -> list[_Found]:
    """RSS <url> of an image; <url> of a sitemap and <sitemap> of an index without <loc>."""
    parent, text = parent_name(element), text_of(element).strip()
    if parent == "image":
        return [(text, Kind.IMAGE, False)]
    return [(text, Kind.PAGE, False)] if parent in _SITEMAPS and text.startswith("http") else []


def _media(element: Any) -> list[_Found]:
    """RSS <enclosure>, Media RSS <media:content>, Atom <content src>."""
    image = (element.get("type") or "").startswith("image/") or element.get("medium") == "image"
    media = (element.get("url") or "", Kind.IMAGE if image else Kind.REQUISITE, False)
    return [media, (element.get("src") or "", Kind.PAGE, False)]


def _picture(element: Any) -> list[_Found]:
    """Media RSS <media:thumbnail url>, iTunes <itunes:image href>."""
    return [(element.get(name) or "", Kind.IMAGE, False) for name in ("url", "href")]


_READERS: dict[str, _ElementReader] = {
    "loc": _loc,
    "thumbnail_loc": _text_as(Kind.IMAGE),
    "content_loc": _text_as(Kind.REQUISITE),
    "player_loc": _text_as(Kind.PAGE),
    "link": _link,
    "guid": _guid,
    "comments": _text_as(Kind.PAGE),
    "uri": _text_as(Kind.PAGE),
    "icon": _text_as(Kind.IMAGE),
    "logo": _text_as(Kind.IMAGE),
    "url": _url,
    "sitemap": _url,
    "enclosure": _media,
    "content": _media,
    "thumbnail": _picture,
    "image": _picture,
}
