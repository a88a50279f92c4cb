"""Links of HTML pages, from turbohtml's tree: the definition that `body.read_scan` follows.

turbohtml's own `links()` is not used: it lists strings in style sheets and in srcset that are
no URLs, and a selector over the few attributes that matter finds the elements in half the time.

The first half decides which attributes of which elements are links, for HTML, XHTML and SVG alike.
The elements come from two parsers, so it gets their local name, spelled as in the standards, and a
function that looks up an attribute. `ping` is not followed: it is an address for reports, which
takes POST alone. Attributes of earlier versions of HTML count: old pages have them.
"""

from collections.abc import Callable, Sequence

from turbohtml import Document, Element

from larbinpy.parse import grammars
from larbinpy.parse.charset import document, fragment, query_encoder
from larbinpy.parse.css import css_links
from larbinpy.parse.grammars import meta_refresh, srcset
from larbinpy.parse.link import (
    CheckCollector,
    Collector,
    Kind,
    relation_kind,
    unendorsed,
)
from larbinpy.url import parse

#: Looks up an attribute; None if it is absent or has no value.
Get = Callable[[str], str | None]
Reader = Callable[[Get, Collector], None]

#: The attributes that `READERS`, `collect_common` and `collect_lazy` look at: elements without any
#: of them can be skipped, except those of `WHOLE`, which have others, or links in their text.
ATTRIBUTES = (
    *("href", "src", "srcset", "poster", "cite", "formaction", "style", "background"),
    *(grammars.ANYWHERE, *grammars.BACKGROUNDS, *grammars.BACKGROUND_SETS, *grammars.SEARCH),
)
WHOLE = (
    *("applet", "form", "iframe", "img", "isindex", "link", "meta", "noframes", "object"),
    *("param", "script", "source", "style", "video"),
)

_PLAIN: dict[str, tuple[tuple[str, Kind], ...]] = {
    "frame": (("src", Kind.SHOWN), ("longdesc", Kind.PAGE)),
    "audio": (("src", Kind.REQUISITE),),
    "video": (("src", Kind.REQUISITE), ("poster", Kind.IMAGE)),
    "track": (("src", Kind.REQUISITE),),
    "embed": (("src", Kind.REQUISITE),),
    "object": (("data", Kind.REQUISITE), ("codebase", Kind.PAGE)),
    "bgsound": (("src", Kind.REQUISITE),),
    "isindex": (("action", Kind.PAGE),),
    "script": (("src", Kind.REQUISITE), ("href", Kind.REQUISITE)),
    "image": (("href", Kind.IMAGE),),
    "feImage": (("href", Kind.IMAGE),),
}
#: SVG elements whose href includes a part of another document.
_REFERRING = ("use", "mpath", "textPath", "pattern", "filter", "linearGradient", "radialGradient")
_PLAIN |= dict.fromkeys(_REFERRING, (("href", Kind.REQUISITE),))
#: Elements whose `cite` is the source of what they quote or change.
_PLAIN |= dict.fromkeys(("blockquote", "q", "ins", "del"), (("cite", Kind.PAGE),))
#: Parameters of an <object> that are addresses for the usual plugins.
_PARAMETERS = frozenset({"movie", "src", "url", "href", "ref", "filename"})

#: The kind of what stands in for the `src` of an element with one.
_SOURCES = {tag: kind for tag, pairs in _PLAIN.items() for name, kind in pairs if name == "src"}
_SOURCES |= {"img": Kind.IMAGE, "iframe": Kind.SHOWN, "source": Kind.REQUISITE}

_XLINKS = {tag: kind for tag, pairs in _PLAIN.items() for name, kind in pairs if name == "href"}
_XLINKS["a"] = Kind.PAGE


def collect_common(get: Get, out: Collector) -> None:
    """Add the links in the attributes that any element may have."""
    _add(get("background"), Kind.IMAGE, out)
    style = get("style")
    if style is not None:
        collect_css(style, out)


def collect_paints(get: Get, out: Collector) -> None:
    """Add the links in the attributes of SVG that are values of CSS."""
    for name in grammars.PAINTS:
        value = get(name)
        if value is not None and "(" in value:
            collect_css(value, out)


def collect_lazy(tag: str, get: Get, out: Collector) -> None:
    """Add the links in the attributes of lazy loaders."""
    kind = _SOURCES.get(tag)
    if kind is None:
        grammars.add_image(get(grammars.ANYWHERE), out)
    else:
        for name in grammars.SOURCES:
            grammars.add_source(get(name), kind, out)
    if tag in ("img", "source"):
        for name in grammars.SETS:
            grammars.add_set(get(name), out)
    if tag == "video":
        grammars.add_source(get(grammars.POSTER), Kind.IMAGE, out)
    for name in grammars.BACKGROUNDS:
        grammars.add_background(get(name), out)
    for name in grammars.BACKGROUND_SETS:
        grammars.add_set(get(name), out)
    if out.checked is None:
        grammars.add_search(get, out)


def collect_xlink(tag: str, reference: str | None, out: Collector) -> None:
    """Add the xlink:href of an SVG element."""
    _add(reference, _XLINKS.get(tag, Kind.REQUISITE), out)


def collect_css(text: str, out: Collector) -> None:
    """Add the links of a style sheet or attribute."""
    for url, is_sheet in css_links(text):
        out.add(url, Kind.SHEET if is_sheet else Kind.REQUISITE)


def _add(reference: str | None, kind: Kind, out: Collector) -> None:
    if reference is not None:
        out.add(reference, kind)


def _hyperlink(get: Get, out: Collector) -> None:
    href = get("href")
    if href is not None:
        rel = get("rel")
        out.add(href, Kind.PAGE, rel is not None and unendorsed(rel))


def _link(get: Get, out: Collector) -> None:
    rel = get("rel") or ""
    href = get("href")
    # Without a relation, it is no link for readers (HTML, section 4.2.4).
    if href is not None and (out.checked is None or rel.strip()):
        kind = relation_kind(rel, get("as") or "")
        if kind is not None:
            out.add(href, kind, unendorsed(rel))
    _candidates(get("imagesrcset"), out)


def _candidates(value: str | None, out: Collector) -> None:
    if value is not None:
        for url in srcset(value):
            out.add(url, Kind.IMAGE)


def _img(get: Get, out: Collector) -> None:
    _add(get("src"), Kind.IMAGE, out)
    _candidates(get("srcset"), out)
    _add(get("lowsrc"), Kind.IMAGE, out)
    _add(get("dynsrc"), Kind.REQUISITE, out)
    _add(get("longdesc"), Kind.PAGE, out)


def _source(get: Get, out: Collector) -> None:
    _add(get("src"), Kind.REQUISITE, out)
    _candidates(get("srcset"), out)


def _form(get: Get, out: Collector) -> None:
    action = get("action")
    # Without the fields of the form, the server may refuse its target.
    if action is not None and out.checked is None and _is_get(get("method")):
        out.add(action, Kind.PAGE, unendorsed(get("rel") or ""))


def _is_get(method: str | None) -> bool:
    return (method or "").lower() not in ("post", "dialog")


def collect_formaction(get: Get, owner: Get | None, forms: Sequence[Get], out: Collector) -> None:
    """Add the target of a submit button that it has instead of its form's.

    `forms` are the forms of the page, and `owner` is that of the button. In a table, tags may be
    moved away from their form; if all forms of the page are alike, that does not matter.
    """
    method = get("formmethod")
    if method is not None:
        gets = _is_get(method)
    elif owner is not None:
        gets = _is_get(owner("method"))
    else:
        gets = bool(forms) and all(_is_get(form("method")) for form in forms)
    if gets and out.checked is None:
        _add(get("formaction"), Kind.PAGE, out)


def form_named(name: str, forms: Sequence[Get]) -> Get | None:
    """Return the first of `forms` with the id `name`."""
    return next((form for form in forms if form("id") == name), None)


def _applet(get: Get, out: Collector) -> None:
    folder = get("codebase")
    if out.checked is None:
        _add(folder, Kind.PAGE, out)
    for archive in (get("archive") or "").split(","):
        out.add(_within(folder, archive.strip()), Kind.REQUISITE)


def _within(folder: str | None, file: str) -> str:
    is_relative = file and not file.startswith("/") and ":" not in file
    return f"{folder.rstrip('/')}/{file}" if folder and is_relative else file


def _iframe(get: Get, out: Collector) -> None:
    _add(get("src"), Kind.SHOWN, out)
    _add(get("longdesc"), Kind.PAGE, out)


def _param(get: Get, out: Collector) -> None:
    is_reference = (get("valuetype") or "").lower() == "ref"
    if is_reference or (get("name") or "").lower() in _PARAMETERS:
        value = get("value")
        if value is not None and grammars.is_address(value):
            out.add(value, Kind.REQUISITE)


def _input(get: Get, out: Collector) -> None:
    if (get("type") or "").lower() == "image":
        _add(get("src"), Kind.IMAGE, out)
    _candidates(get("srcset"), out)


def _meta(get: Get, out: Collector) -> None:
    content = get("content")
    if content is None:
        return
    if (get("http-equiv") or "").lower() == "refresh":
        url = meta_refresh(content)
        if url:
            out.add(url, Kind.PAGE)
    grammars.from_meta(get("name") or "", content, out)
    grammars.read_meta((get("property"), get("name"), get("itemprop")), content, out)


#: Attributes that name no page: a form's target lacks its fields, and a folder may not be listed.
_NO_TARGETS = ("action", "codebase")


def _plain(pairs: tuple[tuple[str, Kind], ...]) -> Reader:
    def read(get: Get, out: Collector) -> None:
        for name, kind in pairs:
            reference = get(name)
            if reference is not None and (out.checked is None or name not in _NO_TARGETS):
                out.add(reference, kind)

    return read


#: Functions that add the links in an element's own attributes, by its local name.
READERS: dict[str, Reader] = {tag: _plain(pairs) for tag, pairs in _PLAIN.items()} | {
    "a": _hyperlink,
    "area": _hyperlink,
    "link": _link,
    "form": _form,
    "img": _img,
    "iframe": _iframe,
    "applet": _applet,
    "param": _param,
    "source": _source,
    "input": _input,
    "meta": _meta,
}
#: Elements of AMP, which its script replaces by those of HTML.
READERS |= {f"amp-{tag}": READERS[tag] for tag in ("img", "video", "audio", "iframe")}
READERS["amp-anim"] = _img


# One selector walks the tree once; a walk costs as much as reading all elements found. A list
# in :is() is a sixth cheaper than the list itself.
_ATTRIBUTES = (*ATTRIBUTES, r"xlink\:href")
_PAINTED = tuple(f'[{name}*="("]' for name in grammars.PAINTS)
_SELECTOR = f":is({','.join([*(f'[{name}]' for name in _ATTRIBUTES), *_PAINTED, *WHOLE])})"
#: For a few tags, most of the time would go into that selector.
_ALL = "*"
#: Attributes that most of these elements lack.
_SELDOM = grammars.NAMES | {*grammars.PAINTS, "style", "background", "formaction", "xlink:href"}
_NAMED = "[id],a[name]"
#: What a page has that no script fills, and what is no text of a page.
_CONTENT = "h1,h2,h3,h4,h5,h6"
_UNSEEN = "body script,body style,body noscript,body template"
#: Fewer characters of text are those of a page that waits for its script.
_LEAST_TEXT = 200
#: Elements within a document within a document that are read; browsers show two of each.
_MOST_WITHIN = 3
_SUBMITTING = {"button": ("", "submit"), "input": ("submit", "image")}


def read_tree(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    """Add the links of an HTML page; return its encoding."""
    tree = document(body, http_charset, positions=out.checked is not None)
    found = tree.select(_SELECTOR)
    if tree.select_one("base") is not None:
        out.rebase(base_url(found, out.base))
    out.encode = query_encoder(tree.encoding)
    if isinstance(out, CheckCollector):
        out.hold(None if is_filled(tree) else parts_in(tree))
    _read_elements(found, out)
    return tree.encoding


def parts_in(tree: Document) -> set[str]:
    """The names to which links may lead (HTML, "indicated part")."""
    found = tree.select(_NAMED)
    names = {element.attr("id") for element in found}
    names |= {element.attr("name") for element in found if element.tag == "a"}
    return {name for name in names if name}


def is_filled(tree: Document) -> bool:
    """Whether a script seems to make the content of a page: it has next to none of its own."""
    if not tree.select_one("script") or tree.select_one(_CONTENT):
        return False
    body = tree.select_one("body")
    hidden = sum(len(each.text) for each in tree.select(_UNSEEN))
    return body is None or len(body.text.strip()) - hidden < _LEAST_TEXT


def read_fragment(markup: bytes, charset: str | None, out: Collector) -> None:
    """Add the links of the elements in a few tags of a page; `base` is not obeyed."""
    _read_elements(fragment(markup, charset).select(_ALL), out)


def base_of(markup: bytes, charset: str | None, page: str) -> str:
    """Return the document base URL of `page` if `markup` is its first <base>."""
    return base_url(fragment(markup, charset).select("base"), page)


def _read_elements(found: list[Element], out: Collector, within: int = 0) -> None:
    readers = READERS
    followed: set[str] = set()
    # A document within has parts of its own.
    checks = out if isinstance(out, CheckCollector) and not within else None
    for element in found:
        if out.full:
            break
        tag = element.tag
        # Most attributes are rare, and `in` takes half the time of getting a value.
        held, get = element.attrs, element.attr
        if tag == "a":
            # Three elements of four are links, and most repeat an earlier one.
            href = get("href")
            if href is not None and out.checked is None:
                href = href.partition("#")[0]
            if href is not None and href not in followed:
                if "rel" not in held:
                    followed.add(href)
                if checks is not None:
                    checks.element = element
                out.add(href, Kind.PAGE, "rel" in held and unendorsed(get("rel") or ""))
        else:
            if checks is not None:
                checks.element = element
            if tag in readers:
                readers[tag](get, out)
        if tag in grammars.SIZED and out.checked is None:
            _read_sizes(element, out)
        if not _SELDOM.isdisjoint(held):
            if "formaction" in held and tag in _SUBMITTING:
                _read_formaction(element, found, out)
            collect_common(get, out)
            collect_paints(get, out)
            collect_xlink(tag, get("xlink:href"), out)
            collect_lazy(tag, get, out)
        if tag in _WITH_CONTENT:
            _WITH_CONTENT[tag](element, out, within)


def _read_sizes(element: Element, out: Collector) -> None:
    for name in element.attrs:
        if name.startswith(grammars.SIZE) and name not in grammars.NAMES:
            value = element.attr(name)
            if value is not None and grammars.is_image(value):
                out.add(value, Kind.IMAGE)


def _read_style(element: Element, out: Collector, _within: int) -> None:
    collect_css(element.text, out)


def _read_script(element: Element, out: Collector, _within: int) -> None:
    grammars.read_script(element.attr("type"), element.text, out)


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
    named = None if name is None else form_named(name, forms)
    collect_formaction(get, owner.attr if owner else named, forms, out)


def base_url(found: list[Element], fallback: str) -> str:
    """Return the document base URL (HTML, "set the frozen base URL")."""
    hrefs = (element.attr("href") for element in found if element.tag == "base")
    href = next((href for href in hrefs if href is not None), "")
    base = parse(href, fallback)
    return fallback if base is None or base.startswith(("data:", "javascript:")) else base
