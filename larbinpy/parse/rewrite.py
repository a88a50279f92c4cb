"""Pages for reading from a disk: links to what is there made relative, all others absolute.

A page is not written anew from a tree. The tree says where in the text each attribute
stands, and only the values that change are replaced, so everything else stays as its author
wrote it, mistakes included. XML has a scanner of its own, as HTML's rules read it wrongly.

What would keep a browser from showing the page from a disk goes: `<base href>`, as links
are whole without it; `integrity` and `crossorigin` of what is there, as a style sheet is
rewritten itself and a file has no origin; and a Content-Security-Policy of the page's own.

A page whose encoding HTTP told, or nobody, becomes UTF-8 with a byte-order mark, which
outranks whatever the page says of itself.
"""

from collections.abc import Callable, Iterable
from enum import Enum

from larbinpy.loop.steps import Steps, whole
from larbinpy.page import Page
from larbinpy.parse.body import is_html
from larbinpy.parse.charset import decode, document, encoded, query_encoder, text_of
from larbinpy.parse.css import replace_css_urls
from larbinpy.parse.marked import Edits, Marked, read_marked_html, read_marked_xml
from larbinpy.parse.refresh import split_refresh
from larbinpy.parse.srcset import replace_srcset
from larbinpy.parse.xml import encoding_of
from larbinpy.url import MAX_LENGTH, parse, resolve

#: From a canonical URL to the relative reference of its file; None where there is none.
Lead = Callable[[str], str | None]

#: Elements in a step: 5 ms.
_STEP = 256

#: Attributes that are one reference, on whatever element.
_REFERENCES = ("href", "src", "poster", "background", "xlink:href", "cite", "longdesc")
#: And where a form goes, which no file can answer.
_FORMS = ("action", "formaction")
_CANDIDATES = ("srcset", "imagesrcset")
#: What compares a local file with what the page was told, or asks for its origin.
_CHECKS = ("integrity", "crossorigin")
#: Says where a page comes from: so it goes on doing.
_ORIGIN = "canonical"
_MAX_REFERENCE = 4 * MAX_LENGTH
_BLANKS = " \t\n\f\r"


class Form(Enum):
    """What a body is written in, of what can hold links that a browser follows."""

    HTML = "html"
    XML = "xml"
    CSS = "css"


def form_of(page: Page) -> Form | None:
    """The form of the body of `page`; None where it is left as it is."""
    match page.type:
        case "text/html":
            return Form.HTML
        case "text/css":
            return Form.CSS
        case "application/xhtml+xml" | "image/svg+xml":
            return Form.XML
    return Form.HTML if is_html(page) else None


def rewrite(page: Page, lead: Lead) -> bytes:
    """The body of `page` as it is on a disk; the same bytes where nothing has to change."""
    return whole(rewriting(page, lead))


def rewriting(page: Page, lead: Lead) -> Steps[bytes]:
    """The same in steps, as a page of some megabytes takes half a second.

    A step takes some milliseconds, but for what a library or the codec does in one call:
    decoding, selecting from HTML's tree, joining and encoding: 2 to 15 ms for a megabyte.

    What has bytes or names that no parser should have let through stays as it came.
    """
    try:
        return (yield from _REWRITERS[form_of(page)](page, lead))
    except (UnicodeError, LookupError):
        return page.body


def _rewrite_nothing(page: Page, lead: Lead) -> Steps[bytes]:
    return page.body
    yield


def _rewrite_css(page: Page, lead: Lead) -> Steps[bytes]:
    text, _ = decode(page.body, page.http_charset)
    yield
    turner = _Turner(page.url.href, lead)
    new = yield from replace_css_urls(text, turner.turn)
    yield
    return encoded(new, page.body, declared=False)


def _rewrite_html(page: Page, lead: Lead) -> Steps[bytes]:
    charset = page.charset or document(page.body, page.http_charset).encoding
    text, declared = text_of(page.body, charset)
    yield
    base, marked = yield from read_marked_html(text)
    turner = _Turner(page.url.href, lead, base)
    turner.encode = query_encoder(charset)
    edited = yield from _edited(text, marked, turner)
    return encoded(edited, page.body, declared=declared)


def _rewrite_xml(page: Page, lead: Lead) -> Steps[bytes]:
    """A document in another encoding than UTF-8 stays as it is: there are next to none."""
    _, charset = encoding_of(page.body, page.http_charset)
    if charset.lower() not in ("utf-8", "us-ascii"):
        return page.body
    text, _ = text_of(page.body, "utf-8")
    base, marked = yield from read_marked_xml(text)
    edited = yield from _edited(text, marked, _Turner(page.url.href, lead, base))
    return encoded(edited, page.body, declared=True)


_REWRITERS: dict[Form | None, Callable[[Page, Lead], Steps[bytes]]] = {
    Form.HTML: _rewrite_html,
    Form.XML: _rewrite_xml,
    Form.CSS: _rewrite_css,
    None: _rewrite_nothing,
}


class _Turner:
    """Turns the references of one page; each is resolved once."""

    def __init__(self, url: str, lead: Lead, base: str | None = None) -> None:
        """For the page at `url`, with the href of its `<base>`."""
        found = None if base is None else parse(base, url)
        self._based = found is not None and found.startswith(("http:", "https:"))
        self._base = found if found is not None and self._based else url
        self._lead = lead
        self._turned: dict[str, tuple[str | None, bool]] = {}
        self.encode: Callable[[str], str] | None = None

    def turn(self, reference: str) -> str | None:
        """What stands for `reference` on the disk; None where it stays as it is."""
        return self._look_up(reference)[0]

    def is_local(self, reference: str) -> bool:
        return self._look_up(reference)[1]

    def absolute(self, reference: str) -> str | None:
        """`reference` in full; None where it is, or leads nowhere that has a name."""
        return self._whole(reference, self._resolved(reference))

    def _whole(self, reference: str, href: str | None) -> str | None:
        return None if href is None or parse(reference) is not None else href

    def _look_up(self, reference: str) -> tuple[str | None, bool]:
        known = self._turned.get(reference)
        if known is None:
            known = self._turned[reference] = self._find(reference)
        return known

    def _find(self, reference: str) -> tuple[str | None, bool]:
        text = reference.strip(_BLANKS)
        if not self._based and (not text or text.startswith("#")):
            return None, True
        href = self._resolved(reference)
        if href is None:
            return None, False
        url = resolve(href)
        path = self._lead(url) if url else None
        if path is None:
            return self._whole(reference, href), False
        _, mark, fragment = href.partition("#")
        return path + mark + fragment, True

    def _resolved(self, reference: str) -> str | None:
        if len(reference) > _MAX_REFERENCE:
            return None
        if self.encode is not None and not reference.isascii():
            reference = self.encode(reference)
        href = parse(reference, self._base)
        return href if href and href.startswith(("http:", "https:")) else None


def _edited(text: str, elements: Iterable[Marked], turner: _Turner) -> Steps[str]:
    edits = Edits(text)
    for number, element in enumerate(elements, 1):
        yield from _edit(element, edits, turner)
        if number % _STEP == 0:
            yield
    return (yield from edits.applied())


def _edit(element: Marked, edits: Edits, turner: _Turner) -> Steps[None]:
    values = element.values
    match element.tag:
        case "base":
            edits.drop(element, "href")
            return
        case "meta":
            _edit_meta(element, edits, turner)
            return
        case "style" if element.inner is not None:
            start, end = element.inner
            sheet = yield from replace_css_urls(edits.text[start:end], turner.turn)
            edits.replace(start, end, sheet)
    local = _edit_references(element, edits, turner)
    for name in _CANDIDATES:
        if name in values:
            edits.put(element, name, (yield from replace_srcset(values[name], turner.turn)))
    if "style" in values:
        edits.put(element, "style", (yield from replace_css_urls(values["style"], turner.turn)))
    for name in _FORMS:
        if name in values:
            edits.put(element, name, turner.absolute(values[name]))
    if local:
        for name in _CHECKS:
            if name in values:
                edits.drop(element, name)


def _edit_references(element: Marked, edits: Edits, turner: _Turner) -> bool:
    """Turn the plain references of an element; whether one leads to a file."""
    values, local = element.values, False
    names = (*_REFERENCES, "data") if element.tag == "object" else _REFERENCES
    for name in names:
        if name not in values:
            continue
        if element.tag == "link" and _ORIGIN in values.get("rel", "").lower().split():
            edits.put(element, name, turner.absolute(values[name]))
        else:
            edits.put(element, name, turner.turn(values[name]))
            local = local or turner.is_local(values[name])
    return local


def _edit_meta(element: Marked, edits: Edits, turner: _Turner) -> None:
    match element.values.get("http-equiv", "").strip().lower():
        case "content-security-policy":
            edits.replace(*element.whole, "")
        case "refresh":
            found = split_refresh(element.values.get("content", ""))
            new = turner.turn(found[1]) if found is not None else None
            if found is not None and new is not None:
                edits.put(element, "content", f"{found[0] or 0}; url={new}")
