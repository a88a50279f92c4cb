"""The outlinks of an HTML page with their anchors, and other references of it."""

from itertools import chain

from turbohtml import Element

from larbinpy.content.clean import line
from larbinpy.content.content import Image, Outlink
from larbinpy.parse.charset import query_encoder
from larbinpy.parse.lazy import is_address
from larbinpy.parse.link import Collector
from larbinpy.url import parse

#: Links that are kept: longer lists are maps of a site, whose texts the pages themselves have.
_MOST_LINKS = 2000
#: Characters of all URLs: with a long base, a reference of two bytes becomes a URL of 8 kB.
_MOST_CHARACTERS = 1 << 19
LONGEST_ANCHOR = 200
_LONGEST_REL = 60
_MOST_IMAGES = 200
_LONGEST_ALT = 300
#: Images of this height or width are for counting visitors.
_TINY = frozenset({"0", "1", "2"})
#: Texts of links that are remembered, and the characters of one.
_KEPT = 1 << 13
_LONGEST_KEPT = 100
#: Scripts put the URL of late images into one of these.
_LATE = ("data-src", "data-original", "data-lazy-src")


#: Whole texts of links from a heading or a post to itself.
_SIGNS = frozenset(("¶", "§", "#", "🔗", "🔗\ufe0e", "🔗\ufe0f"))
#: Faster than the arguments one by one.
_outlink = Outlink._make


class _Anchors(dict[str, str | None]):
    """The texts of links in one line, which the pages of a site share; None for those of signs."""

    def __missing__(self, text: str) -> str | None:
        made = None if text.strip() in _SIGNS else line(text, LONGEST_ANCHOR)
        if len(text) <= _LONGEST_KEPT:
            if len(self) >= _KEPT:
                self.clear()
            self[text] = made
        return made


ANCHORS = _Anchors()


class Resolver:
    """Resolves the references of a page, each once."""

    def __init__(self, url: str, base: str | None, encoding: str | None) -> None:
        """`base` is the href of the first `<base>`, `encoding` that of the page."""
        self.url = url
        start = parse(base, url) if base else None
        if start is None or not start.startswith(("http://", "https://")):
            start = url
        self._collector = Collector(start)
        self._collector.encode = query_encoder(encoding)
        self._known: dict[str, str | None] = {}
        self._room = _MOST_CHARACTERS

    def resolve(self, reference: str) -> str | None:
        """The canonical URL of a reference; None if there is none, or no room for it."""
        if "#" in reference:
            reference = reference.partition("#")[0]
        url = self._known.get(reference, "")
        if url != "":
            return url
        url = self._collector.resolve(reference) if reference and self._room > 0 else None
        self._known[reference] = url
        self._room -= len(url or "")
        return url

    def link(self, element: Element, text: str, out: dict[Outlink, None]) -> None:
        """Add the link of an element with `text`, in one line, to `out`.

        Links to this page are not added.
        """
        get = element.attr
        reference = get("href")
        if not reference or len(out) >= _MOST_LINKS:
            return
        url = self.resolve(reference)
        if url is None or url == self.url:
            return
        rel = get("rel")
        rel = line(rel, _LONGEST_REL).lower() if rel else ""
        out[_outlink((url, text or _described(element), rel))] = None

    def image(self, element: Element) -> Image | None:
        """The image of an `<img>`; None if no reader sees it."""
        get = element.attr
        if get("width") in _TINY or get("height") in _TINY:
            return None
        late = filter(is_address, (get(name) or "" for name in _LATE))
        sources = chain((get("src") or "",), late)
        source = next((each for each in sources if each and not each.startswith("data:")), "")
        url = self.resolve(source)
        return Image(url, line(get("alt") or "", _LONGEST_ALT)) if url else None

    def images(self, elements: list[Element]) -> list[Image]:
        """The images of `<img>` elements, each URL once."""
        found: dict[str, Image] = {}
        for element in elements:
            image = self.image(element)
            if image is not None and image.url not in found:
                found[image.url] = image
                if len(found) >= _MOST_IMAGES:
                    break
        return list(found.values())


def _described(element: Element) -> str:
    """The text of a link without text: that of its image, or a label of its own."""
    image = element.select_one("img[alt]") if element.tag == "a" else element
    alt = image.attr("alt") if image is not None else None
    text = alt or element.attr("aria-label") or element.attr("title") or ""
    return line(text, LONGEST_ANCHOR)
