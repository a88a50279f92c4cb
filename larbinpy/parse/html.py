"""Links of HTML pages, from turbohtml's tree: the definition, of which `scan` is a fast version.

turbohtml's own `links()` is not used: it lists strings in style sheets and in srcset that are
no URLs, and a selector over the few attributes that matter finds the elements in half the
time. `elements` decides which attributes are links.
"""

from collections.abc import Callable

from turbohtml import Element

from larbinpy.parse import elements, lazy, metadata
from larbinpy.parse.charset import document, fragment, query_encoder
from larbinpy.parse.link import Collector, Kind, unendorsed
from larbinpy.url import parse

# One selector walks the tree once; a walk costs as much as reading all elements found. A list
# in :is() is a sixth cheaper than the list itself.
_ATTRIBUTES = (*elements.ATTRIBUTES, r"xlink\:href")
_SELECTOR = f":is({','.join([*(f'[{name}]' for name in _ATTRIBUTES), *elements.WHOLE])})"
#: For a few tags, most of the time would go into that selector.
_ALL = "*"
#: Attributes that most of these elements lack.
_SELDOM = lazy.NAMES | {"style", "background", "formaction", "xlink:href"}
#: Elements within a document within a document that are read; browsers show two of each.
_MOST_WITHIN = 3
_SUBMITTING = {"button": ("", "submit"), "input": ("submit", "image")}


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
    _read_elements(fragment(markup, charset).select(_ALL), out)


def base_of(markup: bytes, charset: str | None, page: str) -> str:
    """Return the document base URL of `page` if `markup` is its first <base>."""
    return base_url(fragment(markup, charset).select("base"), page)


def _read_elements(found: list[Element], out: Collector, within: int = 0) -> None:
    readers = elements.READERS
    followed: set[str] = set()
    for element in found:
        if out.full:
            break
        tag = element.tag
        # Most attributes are rare, and `in` takes half the time of getting a value.
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
        if not _SELDOM.isdisjoint(held):
            if "formaction" in held and tag in _SUBMITTING:
                _read_formaction(element, found, out)
            elements.collect_common(get, out)
            elements.collect_xlink(tag, get("xlink:href"), out)
            elements.collect_lazy(tag, get, out)
        if tag in _WITH_CONTENT:
            _WITH_CONTENT[tag](element, out, within)


def _read_style(element: Element, out: Collector, _within: int) -> None:
    elements.collect_css(element.text, out)


def _read_script(element: Element, out: Collector, _within: int) -> None:
    if metadata.is_json(element.attr("type")):
        metadata.read_json(element.text, out)


def _read_iframe(element: Element, out: Collector, within: int) -> None:
    _read_within(element.attr("srcdoc") or "", out, within)


def _read_noframes(element: Element, out: Collector, within: int) -> None:
    _read_within(element.text, out, within)


#: Elements that have links in their text, or in an attribute that is a document.
_WITH_CONTENT: dict[str, Callable[[Element, Collector, int], None]] = {
    "style": _read_style,
    "script": _read_script,
    "iframe": _read_iframe,
    "noframes": _read_noframes,
}


def _read_within(markup: str, out: Collector, within: int) -> None:
    """Add the links of a document within a document.

    Its robots directives are not those of the page.
    """
    if "<" not in markup or within >= _MOST_WITHIN:
        return
    found = fragment(markup.encode("utf-8", "replace"), "utf-8").select(_SELECTOR)
    kept, directives = out.base, (out.noindex, out.nofollow)
    if any(element.tag == "base" for element in found):
        out.rebase(base_url(found, out.base))
    _read_elements(found, out, within + 1)
    out.rebase(kept)
    out.noindex, out.nofollow = directives


def _read_formaction(button: Element, found: list[Element], out: Collector) -> None:
    get = button.attr
    if (get("type") or "").lower() not in _SUBMITTING[button.tag]:
        return
    forms = [element.attr for element in found if element.tag == "form"]
    name = get("form")
    owner = button.closest("form") if name is None else None
    named = None if name is None else elements.form_named(name, forms)
    elements.collect_formaction(get, owner.attr if owner else named, forms, out)


def base_url(found: list[Element], fallback: str) -> str:
    """Return the document base URL (HTML, "set the frozen base URL")."""
    hrefs = (element.attr("href") for element in found if element.tag == "base")
    href = next((href for href in hrefs if href is not None), "")
    base = parse(href, fallback)
    return fallback if base is None or base.startswith(("data:", "javascript:")) else base
