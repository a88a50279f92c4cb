"""Which attributes of which elements are links, for HTML, XHTML and SVG alike.

The elements come from two parsers, so this module gets their local name, spelled as in the
standards, and a function that looks up an attribute. `ping` and `cite` are not followed:
`ping` is an address for reports, and browsers do not show `cite`.
"""

from collections.abc import Callable

from larbinpy.parse import directives
from larbinpy.parse.css import css_urls
from larbinpy.parse.link import Collector, Kind, relation_kind, unendorsed
from larbinpy.parse.refresh import meta_refresh
from larbinpy.parse.srcset import srcset

#: Looks up an attribute; None if it is absent or has no value.
Get = Callable[[str], str | None]
Reader = Callable[[Get, Collector], None]

#: The attributes that `READERS` and `collect_common` look at: elements without any of them can
#: be skipped, except <style> and <meta>.
OWN_ATTRIBUTES = ("href", "src", "srcset", "imagesrcset", "action", "data", "poster")
COMMON_ATTRIBUTES = ("style", "background")

_PLAIN: dict[str, tuple[tuple[str, Kind], ...]] = {
    "iframe": (("src", Kind.PAGE),),
    "frame": (("src", Kind.PAGE),),
    "audio": (("src", Kind.REQUISITE),),
    "video": (("src", Kind.REQUISITE), ("poster", Kind.IMAGE)),
    "track": (("src", Kind.REQUISITE),),
    "embed": (("src", Kind.REQUISITE),),
    "object": (("data", Kind.REQUISITE),),
    "script": (("src", Kind.REQUISITE), ("href", Kind.REQUISITE)),
    "image": (("href", Kind.IMAGE),),
    "feImage": (("href", Kind.IMAGE),),
}
#: SVG elements whose href includes a part of another document.
_REFERRING = ("use", "mpath", "textPath", "pattern", "filter", "linearGradient", "radialGradient")
_PLAIN |= dict.fromkeys(_REFERRING, (("href", Kind.REQUISITE),))

_XLINKS = {tag: kind for tag, pairs in _PLAIN.items() for name, kind in pairs if name == "href"}
_XLINKS["a"] = Kind.PAGE


def collect_common(get: Get, out: Collector) -> None:
    """Add the links in the attributes that any element may have."""
    _add(get("background"), Kind.IMAGE, out)
    style = get("style")
    if style is not None:
        collect_css(style, out)


def collect_xlink(tag: str, reference: str | None, out: Collector) -> None:
    """Add the xlink:href of an SVG element."""
    _add(reference, _XLINKS.get(tag, Kind.REQUISITE), out)


def collect_css(text: str, out: Collector) -> None:
    """Add the links of a style sheet or attribute."""
    for url in css_urls(text):
        out.add(url, Kind.REQUISITE)


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
    if href is not None:
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


def _source(get: Get, out: Collector) -> None:
    _add(get("src"), Kind.REQUISITE, out)
    _candidates(get("srcset"), out)


def _form(get: Get, out: Collector) -> None:
    action = get("action")
    method = (get("method") or "").lower()
    if action is not None and method not in ("post", "dialog"):
        out.add(action, Kind.PAGE, unendorsed(get("rel") or ""))


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
    directives.from_meta(get("name") or "", content, out)


def _plain(pairs: tuple[tuple[str, Kind], ...]) -> Reader:
    def read(get: Get, out: Collector) -> None:
        for name, kind in pairs:
            reference = get(name)
            if reference is not None:
                out.add(reference, kind)

    return read


#: Functions that add the links in an element's own attributes, by its local name.
READERS: dict[str, Reader] = {tag: _plain(pairs) for tag, pairs in _PLAIN.items()} | {
    "a": _hyperlink,
    "area": _hyperlink,
    "link": _link,
    "form": _form,
    "img": _img,
    "source": _source,
    "input": _input,
    "meta": _meta,
}
