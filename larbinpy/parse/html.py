"""Links of HTML pages, from turbohtml's tree: the definition, of which `scan` is a fast version.

turbohtml's own `links()` is not used: it lists strings in style sheets and in srcset that are
no URLs, and a selector over the few attributes that matter finds the elements in half the
time. `elements` decides which attributes are links.
"""

from turbohtml import Element

from larbinpy.parse import elements
from larbinpy.parse.charset import document, fragment, query_encoder
from larbinpy.parse.link import Collector, Kind, unendorsed
from larbinpy.url import parse

# One selector walks the tree once; a walk costs as much as reading all elements found. A list
# in :is() is a sixth cheaper than the list itself.
_ATTRIBUTES = (*elements.OWN_ATTRIBUTES, *elements.COMMON_ATTRIBUTES, r"xlink\:href")
_SELECTOR = ":is(" + ",".join(f"[{name}]" for name in _ATTRIBUTES) + ",meta,style)"


def read_tree(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    """Add the links of an HTML page; return its encoding."""
    tree = document(body, http_charset)
    found = tree.select(_SELECTOR)
    if any(element.tag == "base" for element in found):
        out.rebase(base_url(found, out.base))
    out.encode = query_encoder(tree.encoding)
    _read_elements(found, out)
    return tree.encoding


def read_fragment(markup: bytes, charset: str | None, out: Collector) -> None:
    """Add the links of the elements in a few tags of a page; `base` is not obeyed."""
    _read_elements(fragment(markup, charset).select(_SELECTOR), out)


def base_of(markup: bytes, charset: str | None, page: str) -> str:
    """Return the document base URL of `page` if `markup` is its first <base>."""
    return base_url(fragment(markup, charset).select("base"), page)


def _read_elements(found: list[Element], out: Collector) -> None:
    readers = elements.READERS
    followed: set[str] = set()
    for element in found:
        if out.full:
            break
        tag = element.tag
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


def base_url(found: list[Element], fallback: str) -> str:
    """Return the document base URL (HTML, "set the frozen base URL")."""
    hrefs = (element.attr("href") for element in found if element.tag == "base")
    href = next((href for href in hrefs if href is not None), "")
    base = parse(href, fallback)
    return fallback if base is None or base.startswith(("data:", "javascript:")) else base
