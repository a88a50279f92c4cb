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

Finds elements with the positions of their attributes in the text, and edits the text.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from html import escape, unescape

import turbohtml

from larbinpy.loop.steps import Steps, run_to_end
from larbinpy.page import Page
from larbinpy.parse import charset, grammars
from larbinpy.parse.body import is_html
from larbinpy.parse.charset import decode, document, encoded, query_encoder, text_of
from larbinpy.parse.css import replace_css_urls
from larbinpy.parse.grammars import replace_srcset, split_refresh
from larbinpy.parse.xml import encoding_of
from larbinpy.url import MAX_LENGTH, parse, resolve

#: Attributes that are references or hold references.
_HOLDERS = (
    *("href", "src", "srcset", "imagesrcset", "action", "formaction", "data", "poster"),
    *("background", "style", "cite", "longdesc", "lowsrc", "dynsrc", "srcdoc", "xlink:href"),
    *sorted(grammars.NAMES),
)
_SELECTOR = ",".join(f"[{name}]" for name in _HOLDERS).replace(":", r"\:") + ",meta,style,noframes"
#: Those and the attributes that decide how they are rewritten.
_WANTED = frozenset(_HOLDERS) | {"rel", "http-equiv", "content", "integrity", "crossorigin"}
#: Characters that the parser gets at once: 3 ms.
_CHUNK = 128 * 1024
#: Edits and elements of a step.
_EDITS = 4096
_TAGS = 256
_BREAK = re.compile("\r\n")
_SHADOW = re.compile(r"(<template\b[^<>]{0,1000}?\s)shadowrootmode(?=[\s=])")
#: Everything that opens with "<" in XML. Each alternative consumes all it looked at, so
#: nothing is looked at twice.
_XML = re.compile(
    r"<!--(?:.*?-->|.*)|<!\[CDATA\[(?:.*?\]\]>|.*)"
    r"|<(?P<tag>\?xml-stylesheet|[^\s<>/?!]++)(?P<attributes>(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+)"
    r"(?P<end>>)?|<\?(?:.*?\?>|.*)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([^\s=\"'<>/]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')")
#: A `<base>` of XHTML; most XML has none.
_BASE = re.compile(r"<(?:[^\s<>:]{1,30}:)?base\b")
_STYLE_END = re.compile(r"</(?:[^\s<>:]{1,30}:)?style\b")


#: Start and end in the text.
Span = tuple[int, int]


@dataclass(slots=True)
class Marked:
    """An element of a page, with positions in its text."""

    #: Local name, in lower case.
    tag: str
    #: Values of attributes by name in lower case, with character references undone.
    values: dict[str, str]
    #: Spans of attributes, each from its name to the end of its value.
    spans: dict[str, Span]
    #: Span of its start tag.
    whole: Span
    #: Span of the text of a <style> or, in HTML, of a <noframes>.
    inner: Span | None = None


@dataclass(slots=True)
class Edits:
    """Replacements in `text`; if two begin at one position, the first counts."""

    text: str
    _by_start: dict[int, tuple[int, str]] = field(default_factory=dict)

    def replace(self, start: int, end: int, new: str) -> None:
        if self.text[start:end] != new:
            self._by_start.setdefault(start, (end, new))

    def put(self, element: Marked, name: str, value: str | None) -> None:
        """Give an attribute another value; None leaves it unchanged."""
        if value is None or value == element.values[name]:
            return
        start, end = element.spans[name]
        written = self.text[start:end].partition("=")[0].rstrip()
        self.replace(start, end, f'{written}="{_escaped(value)}"')

    def drop(self, element: Marked, name: str) -> None:
        if name in element.spans:
            self.replace(*element.spans[name], "")

    def applied(self) -> Steps[str]:
        pieces, done = [], 0
        for number, (start, (end, new)) in enumerate(sorted(self._by_start.items()), 1):
            if start >= done:
                pieces += [self.text[done:start], new]
                done = end
            if number % _EDITS == 0:
                yield
        return "".join([*pieces, self.text[done:]])


def _escaped(value: str) -> str:
    return escape(value, quote=False).replace('"', "&quot;")


#: Surrogates, which stand for bytes that are not UTF-8; the parser refuses them in names.
_STRAY = re.compile("[\ud800-\udfff]")


def read_marked_html(
    text: str, chunk_size: int = _CHUNK
) -> Steps[tuple[str | None, Iterator[Marked]]]:
    """Return the href of the first `<base>` with one, and elements that may hold references.

    The elements come in document order and are made one by one. The parser gets `chunk_size`
    characters in a step.
    """
    breaks: list[int] = []

    def in_text(start: int, end: int) -> Span:
        # The parser counts a line break as one character.
        return start + bisect_left(breaks, start), end + bisect_left(breaks, end)

    parser = turbohtml.IncrementalParser(positions=False, source_locations=True)
    text = _with_templates_open(charset.bounded(text, ">", _blanked))
    for start, chunk in _chunks(text, chunk_size):
        known = len(breaks)
        breaks += (start + m.start() - known - i for i, m in enumerate(_BREAK.finditer(chunk)))
        parser.feed(_STRAY.sub("\ufffd", chunk).replace("\r\n", "\n").replace("\r", "\n"))
        yield
    tree = parser.close()
    yield
    found = tree.select(_SELECTOR)
    yield
    bases = (element.attr("href") for element in found if element.tag == "base")
    return next((href for href in bases if href is not None), None), _marked(found, in_text)


def _chunks(text: str, size: int) -> Iterator[tuple[int, str]]:
    """Yield portions of `text` with their offsets; none ends within a line break."""
    start = 0
    while start < len(text):
        end = start + size
        end += text[end - 1 : end + 1] == "\r\n"
        yield start, text[start:end]
        start = end


def _with_templates_open(text: str) -> str:
    """Return `text` with shadow roots renamed, so that the parser leaves them in the tree."""
    if "shadowrootmode" not in text:
        return text
    return _SHADOW.sub(r"\1xhadowrootmode", text)


def _blanked(run: str) -> str:
    """Return a text of the same length whose middle is one long name."""
    middle = len(run) - 2 * charset.KEPT
    return f"{run[: charset.KEPT]}{'x' * middle}{run[-charset.KEPT :]}"


def _marked(
    elements: Iterable[turbohtml.Element], in_text: Callable[[int, int], Span]
) -> Iterator[Marked]:
    for element in elements:
        location = element.source_location
        if location is None:
            continue
        wanted = {n: at for n, at in location.attrs.items() if n in _WANTED}
        spans = {n: in_text(at.start_offset, at.end_offset) for n, at in wanted.items()}
        short = {n: s for n, s in spans.items() if s[1] - s[0] < charset.KEPT}
        values = {name: element.attr(name) or "" for name in short}
        start = location.start_tag
        inner = None
        if element.tag in ("style", "noframes") and location.end_tag is not None:
            inner = in_text(start.end_offset, location.end_tag.start_offset)
        whole = in_text(start.start_offset, start.end_offset)
        yield Marked(element.tag, values, short, whole, inner)


def read_marked_xml(text: str) -> Steps[tuple[str | None, Iterator[Marked]]]:
    """As `read_marked_html` for XHTML and SVG, with their `<?xml-stylesheet?>`."""
    base = None
    if _BASE.search(text):
        for number, element in enumerate(_xml_elements(text), 1):
            if element.tag == "base" and "href" in element.values:
                base = element.values["href"]
                break
            if number % _TAGS == 0:
                yield
    return base, _xml_elements(text)


def _xml_elements(text: str) -> Iterator[Marked]:
    sheet = 0
    for tag in _XML.finditer(text):
        # A style sheet holds no elements.
        if not tag["tag"] or not tag["end"] or tag.start() < sheet:
            continue
        element = _marked_tag(tag)
        if element.tag == "style" and not tag["attributes"].endswith("/"):
            end = _STYLE_END.search(text, tag.end())
            sheet = end.start() if end else len(text)
            element.inner = (tag.end(), sheet)
        yield element


def _marked_tag(tag: re.Match[str]) -> Marked:
    offset = tag.start("attributes")
    values, spans = {}, {}
    for attribute in _ATTRIBUTE.finditer(tag["attributes"]):
        name = attribute[1]
        if name not in _WANTED or attribute.end() - attribute.start() >= charset.KEPT:
            continue
        values[name] = unescape(attribute[attribute.lastindex or 0])
        spans[name] = (offset + attribute.start(), offset + attribute.end())
    return Marked(tag["tag"].rpartition(":")[2].lower(), values, spans, tag.span())


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
_LAZY = (*grammars.SOURCES, *grammars.BACKGROUNDS, grammars.POSTER)
#: Targets of forms, which only the original server can answer; they become absolute.
_FORMS = ("action", "formaction")
_CANDIDATES = ("srcset", "imagesrcset", *grammars.SETS, *grammars.BACKGROUND_SETS)
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
    return references.new(value) if grammars.is_address(value) else None


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
