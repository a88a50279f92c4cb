"""Rewrites pages for browsing offline: links to stored files become relative, others absolute.

Pages are not serialized from a tree. The tree gives the position of each attribute in the text,
and only values that change are replaced; everything else, including mistakes, is not changed. XML
has a scanner of its own, because an HTML parser reads it wrongly.

Documents within an attribute (srcdoc) or a text (<noframes>) are rewritten in the same way.
Metadata, such as Open Graph, stays as it is: browsers do not load it, and other programs want URLs
of the Web there.

Attributes that would keep a browser from showing the stored page are removed: `<base href>`,
which the new links do not need; `integrity` and `crossorigin` of stored files, as style sheets are
rewritten and files have no origin; and a Content-Security-Policy in the page.

A page that does not declare its encoding itself becomes UTF-8 with a byte-order mark, which
outranks all declarations.
"""

from collections.abc import Callable, Iterable
from enum import Enum

from larbinpy.loop.steps import Steps, run_to_end
from larbinpy.page import Page
from larbinpy.parse import lazy
from larbinpy.parse.body import is_html
from larbinpy.parse.charset import decode, document, encoded, query_encoder, text_of
from larbinpy.parse.css import replace_css_urls
from larbinpy.parse.marked import Edits, Marked, read_marked_html, read_marked_xml
from larbinpy.parse.refresh import split_refresh
from larbinpy.parse.srcset import replace_srcset
from larbinpy.parse.xml import encoding_of
from larbinpy.url import MAX_LENGTH, parse, resolve

#: From a canonical URL to the relative reference of its file; None if it has no file.
ReferenceTo = Callable[[str], str | None]

#: Elements handled in a step (5 ms).
_STEP = 256

#: Attributes that are one reference, on any element.
_REFERENCES = (
    *("href", "src", "poster", "background", "xlink:href", "cite", "longdesc"),
    *("lowsrc", "dynsrc"),
)
#: Those of lazy loaders, which may hold other values.
_LAZY = (*lazy.SOURCES, *lazy.BACKGROUNDS, lazy.POSTER)
#: Targets of forms, which only the original server can answer; they become absolute.
_FORMS = ("action", "formaction")
_CANDIDATES = ("srcset", "imagesrcset", *lazy.SETS, *lazy.BACKGROUND_SETS)
#: Attributes that check the content or the origin of a file.
_CHECKS = ("integrity", "crossorigin")
#: Relation that names the origin of a page; it stays absolute.
_ORIGIN = "canonical"
_MAX_REFERENCE = 4 * MAX_LENGTH
_BLANKS = " \t\n\f\r"
#: Documents within a document within a document that are rewritten.
_MOST_WITHIN = 3


class Form(Enum):
    """The languages in which links are rewritten."""

    HTML = "html"
    XML = "xml"
    CSS = "css"


def form_of(page: Page) -> Form | None:
    """Return the form of the body of `page`; None if it is not rewritten."""
    match page.type:
        case "text/html":
            return Form.HTML
        case "text/css":
            return Form.CSS
        case "application/xhtml+xml" | "image/svg+xml":
            return Form.XML
    return Form.HTML if is_html(page) else None


def rewrite(page: Page, reference_to: ReferenceTo) -> bytes:
    """Return the body of `page` rewritten; the same bytes if nothing has to change."""
    return run_to_end(rewriting(page, reference_to))


def rewriting(page: Page, reference_to: ReferenceTo) -> Steps[bytes]:
    """As `rewrite`, in steps: a page of some megabytes takes half a second.

    A step takes some milliseconds. Decoding, selecting from HTML's tree, joining and encoding
    are one call of a library each: 2 to 15 ms for a megabyte.

    A page that cannot be decoded or encoded is returned unchanged.
    """
    try:
        return (yield from _REWRITERS[form_of(page)](page, reference_to))
    except (UnicodeError, LookupError):
        return page.body


def _rewrite_nothing(page: Page, reference_to: ReferenceTo) -> Steps[bytes]:
    return page.body
    yield


def _rewrite_css(page: Page, reference_to: ReferenceTo) -> Steps[bytes]:
    text, _ = decode(page.body, page.http_charset)
    yield
    references = _References(page.url.href, reference_to)
    new = yield from replace_css_urls(text, references.new)
    yield
    return encoded(new, page.body, declared=False)


def _rewrite_html(page: Page, reference_to: ReferenceTo) -> Steps[bytes]:
    charset = page.charset or document(page.body, page.http_charset).encoding
    text, declared = text_of(page.body, charset)
    yield
    base, marked = yield from read_marked_html(text)
    references = _References(page.url.href, reference_to, base)
    references.encode = query_encoder(charset)
    edited = yield from _edited(text, marked, references)
    return encoded(edited, page.body, declared=declared)


def _rewrite_xml(page: Page, reference_to: ReferenceTo) -> Steps[bytes]:
    """Rewrite XML in UTF-8; documents in other encodings are rare and stay as they are."""
    _, charset = encoding_of(page.body, page.http_charset)
    if charset.lower() not in ("utf-8", "us-ascii"):
        return page.body
    text, _ = text_of(page.body, "utf-8")
    base, marked = yield from read_marked_xml(text)
    edited = yield from _edited(text, marked, _References(page.url.href, reference_to, base))
    return encoded(edited, page.body, declared=True)


_REWRITERS: dict[Form | None, Callable[[Page, ReferenceTo], Steps[bytes]]] = {
    Form.HTML: _rewrite_html,
    Form.XML: _rewrite_xml,
    Form.CSS: _rewrite_css,
    None: _rewrite_nothing,
}


class _References:
    """Finds replacements for the references of one page; each is resolved once."""

    def __init__(self, url: str, reference_to: ReferenceTo, base: str | None = None) -> None:
        """For the page at `url`; `base` is the href of its `<base>`."""
        found = None if base is None else parse(base, url)
        self._based = found is not None and found.startswith(("http:", "https:"))
        self._base = found if found is not None and self._based else url
        self._reference_to = reference_to
        self._found: dict[str, tuple[str | None, bool]] = {}
        self.encode: Callable[[str], str] | None = None

    def within(self, base: str | None) -> "_References":
        """The references of a document within the page, whose `<base>` has the href `base`."""
        if base is None:
            return self
        inner = _References(self._base, self._reference_to, base)
        inner.encode = self.encode
        return inner

    def new(self, reference: str) -> str | None:
        """Return the reference to write in place of `reference`; None to leave it."""
        return self._look_up(reference)[0]

    def is_local(self, reference: str) -> bool:
        """Whether `reference` leads to a stored file."""
        return self._look_up(reference)[1]

    def absolute(self, reference: str) -> str | None:
        """Return `reference` as an absolute URL; None to leave it (absolute or not resolvable)."""
        return self._unless_absolute(reference, self._resolved(reference))

    def _unless_absolute(self, reference: str, href: str | None) -> str | None:
        return None if href is None or parse(reference) is not None else href

    def _look_up(self, reference: str) -> tuple[str | None, bool]:
        known = self._found.get(reference)
        if known is None:
            known = self._found[reference] = self._find(reference)
        return known

    def _find(self, reference: str) -> tuple[str | None, bool]:
        text = reference.strip(_BLANKS)
        if not self._based and (not text or text.startswith("#")):
            return None, True
        href = self._resolved(reference)
        if href is None:
            return None, False
        url = resolve(href)
        path = self._reference_to(url) if url else None
        if path is None:
            return self._unless_absolute(reference, href), False
        _, mark, fragment = href.partition("#")
        return path + mark + fragment, True

    def _resolved(self, reference: str) -> str | None:
        if len(reference) > _MAX_REFERENCE:
            return None
        if self.encode is not None and not reference.isascii():
            reference = self.encode(reference)
        href = parse(reference, self._base)
        return href if href and href.startswith(("http:", "https:")) else None


def _edited(
    text: str, elements: Iterable[Marked], references: _References, within: int = 0
) -> Steps[str]:
    edits = Edits(text)
    for number, element in enumerate(elements, 1):
        yield from _edit(element, edits, references, within)
        if number % _STEP == 0:
            yield
    return (yield from edits.applied())


def _edited_within(text: str, references: _References, within: int) -> Steps[str]:
    """Rewrite a document within a document."""
    if "<" not in text or within >= _MOST_WITHIN:
        return text
    base, marked = yield from read_marked_html(text)
    return (yield from _edited(text, marked, references.within(base), within + 1))


def _edit(element: Marked, edits: Edits, references: _References, within: int) -> Steps[None]:
    values = element.values
    match element.tag:
        case "base":
            edits.drop(element, "href")
            return
        case "meta":
            _edit_meta(element, edits, references)
            return
        case "style" if element.inner is not None:
            start, end = element.inner
            sheet = yield from replace_css_urls(edits.text[start:end], references.new)
            edits.replace(start, end, sheet)
        case "noframes" if element.inner is not None:
            start, end = element.inner
            inner = yield from _edited_within(edits.text[start:end], references, within)
            edits.replace(start, end, inner)
    if "srcdoc" in values:
        inner = yield from _edited_within(values["srcdoc"], references, within)
        edits.put(element, "srcdoc", inner)
    local = _edit_references(element, edits, references)
    for name in _CANDIDATES:
        if name in values:
            edits.put(element, name, (yield from replace_srcset(values[name], references.new)))
    if "style" in values:
        edits.put(element, "style", (yield from replace_css_urls(values["style"], references.new)))
    for name in _LAZY:
        if name in values:
            new = yield from _lazy(values[name], references)
            edits.put(element, name, new)
    for name in _FORMS:
        if name in values:
            edits.put(element, name, references.absolute(values[name]))
    if local:
        for name in _CHECKS:
            if name in values:
                edits.drop(element, name)


def _lazy(value: str, references: _References) -> Steps[str | None]:
    """The value of an attribute of a lazy loader; None to leave it."""
    if "(" in value:
        return (yield from replace_css_urls(value, references.new))
    return references.new(value) if lazy.is_address(value) else None


def _edit_references(element: Marked, edits: Edits, references: _References) -> bool:
    """Replace the plain references of an element; return whether one leads to a file."""
    values, local = element.values, False
    names = (*_REFERENCES, "data") if element.tag == "object" else _REFERENCES
    for name in names:
        if name not in values:
            continue
        if element.tag == "link" and _ORIGIN in values.get("rel", "").lower().split():
            edits.put(element, name, references.absolute(values[name]))
        else:
            edits.put(element, name, references.new(values[name]))
            local = local or references.is_local(values[name])
    return local


def _edit_meta(element: Marked, edits: Edits, references: _References) -> None:
    match element.values.get("http-equiv", "").strip().lower():
        case "content-security-policy":
            edits.replace(*element.whole, "")
        case "refresh":
            found = split_refresh(element.values.get("content", ""))
            new = references.new(found[1]) if found is not None else None
            if found is not None and new is not None:
                edits.put(element, "content", f"{found[0] or 0}; url={new}")
