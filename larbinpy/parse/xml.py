"""Reads XML documents safely, and the links of XHTML, SVG and the like.

lxml gets bytes, never text, so that it obeys the document's own encoding declaration. Entities
are not expanded, nothing is loaded, and libxml2's limits on depth and size stay on
(`huge_tree` would lift those that stop entity bombs).
"""

import re
from contextlib import suppress
from typing import Any

from lxml import etree

from larbinpy.parse import elements, lazy, metadata
from larbinpy.parse.link import Collector, Kind
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
_BASE = "{http://www.w3.org/1999/xhtml}base"
#: Not "//*", whose result libxml2 sorts in time that grows with the square of its size.
_INTERESTING = etree.XPath("descendant-or-self::*[@* or local-name() = 'style']")

#: Bytes in which the first element must begin, and portions in which they are parsed.
_HEAD = 64 * 1024
_PORTION = 1024
#: Most ampersands that `mended` replaces; no honest feed has more.
_MAX_AMPERSANDS = 100_000
_AMPERSAND = re.compile(rb"&(?:amp;|(?!#?\w{1,30};))")
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

    A bare "&", frequent in hand-made feeds, is replaced, too. UTF-16 is not changed.
    """
    if b"&" not in text or b"\0" in text[:_PORTION]:
        return text
    return _AMPERSAND.sub(b"&#38;", text, count=_MAX_AMPERSANDS)


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
    for element in found:
        if out.full:
            break
        # lxml cannot decode a text with half of a surrogate pair, as of "&#xD800;".
        with suppress(UnicodeDecodeError):
            _read_element(element, out)
    return True


def tree_of(body: bytes, encoding: str | None) -> Any:
    """Return the root of a document; None if there is none, or if it is malformed XHTML."""
    parser = etree.XMLParser(encoding=encoding, **SAFE)
    try:
        root = etree.fromstring(mended(body), parser)
    except etree.LxmlError:
        return None
    faulty = len(parser.error_log.filter_from_errors()) > 0
    return None if root is None or (faulty and local_name(root) == "html") else root


def _read_element(element: Any, out: Collector) -> None:
    tag, get = local_name(element), element.get
    reader = elements.READERS.get(tag)
    if reader is not None:
        reader(get, out)
    elements.collect_common(get, out)
    elements.collect_xlink(tag, get(_XLINK_HREF), out)
    if not lazy.NAMES.isdisjoint(element.keys()):
        elements.collect_lazy(tag, get, out)
    if tag == "style":
        elements.collect_css(element.text or "", out)
    elif tag == "script" and metadata.is_json(get("type")):
        metadata.read_json(element.text or "", out)


def _read_base(root: Any, out: Collector) -> None:
    base = next((b for b in root.iter(_BASE) if b.get("href") is not None), None)
    if base is not None:
        out.rebase(parse(base.get("href"), out.base) or out.base)


def _read_instructions(root: Any, out: Collector) -> None:
    """`<?xml-stylesheet href="..."?>` before the root element."""
    for node in root.itersiblings(etree.ProcessingInstruction, preceding=True):
        if node.target == "xml-stylesheet" and node.get("href"):
            out.add(node.get("href"), Kind.REQUISITE)
