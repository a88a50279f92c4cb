"""Links of HTML pages, from turbohtml's tree.

turbohtml's own `links()` is not used: it lists strings in style sheets that are no URLs
and srcset candidates that are none, and a selector over the few attributes that matter
finds the elements in half the time. What they mean is decided in `elements`.
"""

from larbinpy.parse import elements
from larbinpy.parse.charset import document, query_encoder
from larbinpy.parse.link import Collector
from larbinpy.url import parse

_RARE = ",".join(f"[{name}]" for name in elements.COMMON_ATTRIBUTES) + r",[xlink\:href]"
_SELECTOR = ",".join(f"[{name}]" for name in elements.OWN_ATTRIBUTES) + f",meta,style,{_RARE}"


def read_html(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    """Add the links of an HTML page; returns the encoding it was read in."""
    tree = document(body, http_charset)
    base = tree.select_one("base[href]")
    if base is not None:
        out.rebase(_base_url(base.attr("href") or "", out.base))
    out.encode = query_encoder(tree.encoding)
    readers = elements.READERS
    rare = tree.select_one(_RARE) is not None
    for element in tree.select(_SELECTOR):
        if out.full:
            break
        tag, get = element.tag, element.attr
        reader = readers.get(tag)
        if reader is not None:
            reader(get, out)
        if tag == "style":
            elements.collect_css(element.text, out)
        if rare:
            elements.collect_common(get, out)
            elements.collect_xlink(tag, get("xlink:href"), out)
    return tree.encoding


def _base_url(href: str, fallback: str) -> str:
    """The document base URL (HTML, "set the frozen base URL")."""
    base = parse(href, fallback)
    return fallback if base is None or base.startswith(("data:", "javascript:")) else base
