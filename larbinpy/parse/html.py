"""Links of HTML pages, from turbohtml's tree.

turbohtml's own `links()` is not used: it lists strings in style sheets and in srcset that are
no URLs, and a selector over the few attributes that matter finds the elements in half the
time. `elements` decides which attributes are links.
"""

from turbohtml import Element

from larbinpy.parse import elements
from larbinpy.parse.charset import document, query_encoder
from larbinpy.parse.link import Collector, Kind, unendorsed
from larbinpy.url import parse

# One selector walks the tree once; a walk costs as much as reading all elements found. A list
# in :is() is a sixth cheaper than the list itself.
_ATTRIBUTES = (*elements.OWN_ATTRIBUTES, *elements.COMMON_ATTRIBUTES, r"xlink\:href")
_SELECTOR = ":is(" + ",".join(f"[{name}]" for name in _ATTRIBUTES) + ",meta,style)"


def read_html(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    """Add the links of an HTML page; return its encoding."""
    tree = document(body, http_charset)
    found = tree.select(_SELECTOR)
    tags = [element.tag for element in found]
    if "base" in tags:
        out.rebase(_base_url(found, out.base))
    out.encode = query_encoder(tree.encoding)
    readers = elements.READERS
    followed: set[str] = set()
    for tag, element in zip(tags, found, strict=True):
        if out.full:
            break
        # Most of these attributes are rare, and `in` takes half the time of getting a value.
        held, get = element.attrs, element.attr
        if tag == "a":
            # Three elements of four are links, and most repeat an earlier one.
            href = get("href")
            if href is not None and (href := href.partition("#")[0]) not in followed:
                if "rel" not in held:
                    followed.add(href)
                out.add(href, Kind.PAGE, "rel" in held and unendorsed(get("rel") or ""))
        elif tag in readers:
            readers[tag](get, out)
        if tag == "style":
            elements.collect_css(element.text, out)
        if "style" in held or "background" in held or "xlink:href" in held:
            elements.collect_common(get, out)
            elements.collect_xlink(tag, get("xlink:href"), out)
    return tree.encoding


def _base_url(found: list[Element], fallback: str) -> str:
    """Return the document base URL (HTML, "set the frozen base URL")."""
    hrefs = (element.attr("href") for element in found if element.tag == "base")
    href = next((href for href in hrefs if href is not None), "")
    base = parse(href, fallback)
    return fallback if base is None or base.startswith(("data:", "javascript:")) else base
