"""Rewrites pages for browsing offline: links to stored files become relative, others absolute.

Pages are not serialized from a tree. The tree gives the position of each attribute in the text
(`Marked`), and only values that change are replaced (`Edits`), as characters of the page's
encoding; every other byte, including mistakes, stays as it came. XML has a scanner of its own,
because an HTML parser reads it wrongly.

Documents within an attribute (srcdoc) or a text (<noframes>) are rewritten in the same way.
Metadata, such as Open Graph, stays as it is: browsers do not load it, and other programs want URLs
of the Web there.

Attributes that would keep a browser from showing the stored page are removed: `<base href>`,
which the new links do not need; `integrity` and `crossorigin` of stored files, as style sheets are
rewritten and files have no origin; and a Content-Security-Policy in the page.

What only an HTTP header said is added, as a file has none: the encoding of a page or a sheet
(scripts and sheets without one are read in that of their page), and the target of a Refresh.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape, unescape

import turbohtml

from larbinpy.loop.clock import Replacement, Steps, joined, run_to_end
from larbinpy.page import Page
from larbinpy.parse import charset, grammars
from larbinpy.parse.body import Form, form_of, header_text, type_of
from larbinpy.parse.charset import BodyText, document, query_encoder, sheet
from larbinpy.parse.css import css_replacements, replace_css_urls
from larbinpy.parse.grammars import replace_srcset, split_refresh
from larbinpy.parse.xml import TRANSFORMS, encoding_of, root_name
from larbinpy.url import MAX_LENGTH, VIEWS, Base, parse, resolve

#: Attributes that are references or hold references.
_HOLDERS = (
    *("href", "src", "srcset", "imagesrcset", "action", "formaction", "data", "poster"),
    *("background", "style", "cite", "longdesc", "lowsrc", "dynsrc", "srcdoc", "xlink:href"),
    *sorted(grammars.NAMES),
)
_LISTED = [f"[{name}]" for name in _HOLDERS] + [f'[{name}*="("]' for name in grammars.PAINTS]
#: A list in :is() is a third cheaper than the list itself.
_WHOLE = ("meta", "style", "noframes", "form", *grammars.SIZED, 'script[type="importmap"]')
_SELECTOR = f":is({','.join([*_LISTED, *_WHOLE])})".replace("xlink:", r"xlink\:")
#: Those and the attributes that decide how they are rewritten.
_WANTED = (
    frozenset(_HOLDERS)
    | {*grammars.PAINTS, "rel", "http-equiv", "content", "integrity", "crossorigin"}
    | {"method", "formmethod", "charset"}
)
#: Characters that the parser gets at once: 3 ms.
_CHUNK = 128 * 1024
#: Elements of a step.
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
    #: Span of the text of a <style> or, in HTML, of a <noframes> or a map of modules.
    inner: Span | None = None


_QUOTES = ("'", '"')


@dataclass(slots=True)
class Edits:
    """Replacements in `text`; if two begin at one position, the first counts."""

    text: str
    _by_start: dict[int, tuple[int, str]] = field(default_factory=dict)
    _inserted: list[tuple[int, str]] = field(default_factory=list)

    def replace(self, start: int, end: int, new: str) -> None:
        if self.text[start:end] != new:
            self._by_start.setdefault(start, (end, new))

    def insert(self, place: int, new: str) -> None:
        """Put `new` before what is at `place`."""
        self._inserted.append((place, new))

    def put(self, element: Marked, name: str, value: str | None) -> None:
        """Give an attribute another value; None leaves it unchanged."""
        if value is None or value == element.values[name]:
            return
        start, end = element.spans[name]
        written = self.text[start:end]
        name, _, old = written.partition("=")
        before = old[:1]
        if before not in _QUOTES:
            before = old[: len(old) - len(old.lstrip()) + 1]
            if before[-1:] not in _QUOTES:
                name, before = name.rstrip(), '"'
        quote = before[-1]
        self.replace(start, end, f"{name}={before}{_escaped(value, quote)}{quote}")

    def drop(self, element: Marked, name: str) -> None:
        if name in element.spans:
            self.replace(*element.spans[name], "")

    def all(self) -> list[Replacement]:
        """Those that count, in order."""
        found, done = [], 0
        inserted = [(place, place, new) for place, new in self._inserted]
        replaced = [(start, end, new) for start, (end, new) in self._by_start.items()]
        for start, end, new in sorted(inserted + replaced):
            if start >= done:
                found.append((start, end, new))
                done = end
        return found


def _escaped(value: str, quote: str = '"') -> str:
    return escape(value, quote=False).replace(quote, "&quot;" if quote == '"' else "&#39;")


#: Elements whose text may have references.
_TEXTS = ("style", "noframes", "script")
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
        is_sized = element.tag in grammars.SIZED
        values, spans = {}, {}
        for name, at in location.attrs.items():
            if name in _WANTED or (is_sized and name.startswith(grammars.SIZE)):
                span = in_text(at.start_offset, at.end_offset)
                if span[1] - span[0] < charset.KEPT:
                    values[name], spans[name] = element.attr(name) or "", span
        start = location.start_tag
        inner = None
        is_read = element.tag in _TEXTS and (
            element.tag != "script" or element.attr("type") == "importmap"
        )
        if is_read and location.end_tag is not None:
            inner = in_text(start.end_offset, location.end_tag.start_offset)
        whole = in_text(start.start_offset, start.end_offset)
        yield Marked(element.tag, values, spans, whole, inner)


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


#: From a canonical URL to the relative reference of its file, with the fragment that a redirect
#: gives it; None if it has no file.
ReferenceTo = Callable[[str], str | None]

#: From a canonical URL to the encoding that HTTP said for its file.
CharsetOf = Callable[[str], str | None]


def _unsaid(_url: str) -> None:
    return None


#: Elements handled in a step (5 ms).
_STEP = 256

#: Attributes that are one reference, on any element.
_REFERENCES = (
    *("href", "src", "poster", "background", "xlink:href", "cite", "longdesc"),
    *("lowsrc", "dynsrc"),
)
#: Those of lazy loaders, which may hold other values.
_LAZY = (*grammars.SOURCES, *grammars.BACKGROUNDS, grammars.POSTER)
#: Targets of forms. Only the original server can answer a POST, so these become absolute.
_FORMS = {"action": "method", "formaction": "formmethod"}
_STYLES = frozenset({"style", *grammars.PAINTS})
#: Elements that load what is read in the encoding of the page, if it has none of its own.
_LOADED = ("script", "link")
_LINKS = ("src", "href")
_CANDIDATES = ("srcset", "imagesrcset", *grammars.SETS, *grammars.BACKGROUND_SETS)
_OF_LINKS = frozenset({"href", "rel"})
#: Attributes that check the content or the origin of a file.
_CHECKS = ("integrity", "crossorigin")
#: Relation that names the origin of a page; it stays absolute.
_ORIGIN = "canonical"
_MAX_REFERENCE = 4 * MAX_LENGTH
#: A fragment that is spelled so in a URL, too.
_AS_WRITTEN = re.compile(r"[!#-;=?-_a-~]*+").fullmatch
_BLANKS = " \t\n\f\r"
#: SVG elements whose references do not lead anywhere, but name what they show: those to a part of
#: this document stay there, whatever its base is (SVG 2, section 16.1).
_SHOWING = frozenset(
    {"use", "image", "mpath", "pattern", "filter", "mask", "animate", "set"}
    # As HTML spells them, and as XML is read here.
    | {
        "animateMotion",
        "animateTransform",
        "feImage",
        "textPath",
        "clipPath",
        "linearGradient",
        "radialGradient",
    }
    | {
        "animatemotion",
        "animatetransform",
        "feimage",
        "textpath",
        "clippath",
        "lineargradient",
        "radialgradient",
    }
)
#: What may stand before the head of a page, near its beginning (characters).
_HEAD = re.compile(
    r"\s*+(?:<!doctype[^>]*+>()\s*+)?(?:(?:<!--.*?-->\s*+)*+(?:<html\b[^>]*+>\s*+)?"
    r"(?:<!--.*?-->\s*+)*+<head\b[^>]*+>())?",
    re.I | re.S,
)
_NEAR = 900
#: A module in a map of modules, by its name there.
_MODULE = re.compile(r"\"([^\"\\\s]*)\"\s*:\s*\"((?:/|\.\.?/|https?://)[^\"\\\s]*)\"")
#: An XML declaration without an encoding.
_DECLARATION = re.compile(r"<\?xml\s++version\s*+=\s*+(?:\"[^\"<>]*+\"|'[^'<>]*+')")
#: Documents within a document within a document that are rewritten.
_MOST_WITHIN = 3


def rewrite(page: Page, reference_to: ReferenceTo) -> bytes:
    """Return the body of `page` rewritten; the same bytes if nothing has to change."""
    return run_to_end(rewriting(page, reference_to, form_of(page)))


def rewriting(
    page: Page, reference_to: ReferenceTo, form: Form | None, charset_of: CharsetOf = _unsaid
) -> Steps[bytes]:
    """As `rewrite`, in steps: a page of some megabytes takes half a second.

    A script whose encoding HTTP said, by `charset_of`, gets an attribute that says it, unless it is
    that of the page.

    A step takes some milliseconds. Decoding, selecting from HTML's tree, joining and encoding
    are one call of a library each: 2 to 15 ms for a megabyte.

    A page that cannot be decoded or encoded is returned unchanged.
    """
    try:
        # An earlier version may have taken something else for a page.
        if form is Form.HTML and type_of(page) == "text/html":
            return (yield from _rewrite_html(page, reference_to, charset_of))
        return (yield from _REWRITERS[form](page, reference_to))
    except (UnicodeError, LookupError):
        return page.body


def _rewrite_nothing(page: Page, reference_to: ReferenceTo) -> Steps[bytes]:
    return page.body
    yield


def _rewrite_css(page: Page, reference_to: ReferenceTo) -> Steps[bytes]:
    original, rule = sheet(page.body, page.http_charset)
    yield
    references = _References(page.url.href, reference_to)
    found = yield from css_replacements(original.text, references.part)
    yield
    return original.with_replaced([*filter(None, [rule]), *found])


def _rewrite_html(page: Page, reference_to: ReferenceTo, charset_of: CharsetOf) -> Steps[bytes]:
    name = page.charset or document(page.body, page.http_charset).encoding
    original = BodyText.of(page.body, name)
    yield
    base, marked = yield from read_marked_html(original.text)
    references = _References(page.url.href, reference_to, base)
    references.encode = query_encoder(name)
    references.charset_of = lambda url: _other_charset(charset_of(url), original.name)
    edits = Edits(original.text)
    loads = yield from _edit_all(edits, marked, references)
    head = head_of(original.text)
    if not original.declares and (not original.is_ascii or (loads and page.http_charset)):
        # No <meta> declares UTF-16.
        is_wide = original.name.startswith("utf-16")
        place, said = (0, "\ufeff") if is_wide else (head, f'<meta charset="{original.name}">')
        edits.insert(place, said)
    edits.insert(head, _refresh_of(page, references))
    return original.with_replaced(edits.all())


def _rewrite_xml(page: Page, reference_to: ReferenceTo) -> Steps[bytes]:
    parser, name = encoding_of(page.body, page.http_charset)
    original = BodyText.of(page.body, name)
    base, marked = yield from read_marked_xml(original.text)
    if root_name(page.body, parser) in TRANSFORMS:
        marked = _certain(marked)
    references = _References(page.url.href, reference_to, base)
    edits = Edits(original.text)
    yield from _edit_all(edits, marked, references)
    if parser is not None and original.name != "utf-8":
        _declare(edits, original.name)
    return original.with_replaced(edits.all())


_REWRITERS: dict[Form | None, Callable[[Page, ReferenceTo], Steps[bytes]]] = {
    Form.HTML: _rewrite_nothing,
    Form.XML: _rewrite_xml,
    Form.CSS: _rewrite_css,
    None: _rewrite_nothing,
}


def _other_charset(said: str | None, name: str) -> str:
    """The encoding that HTTP said, if it is another than `name`; else empty."""
    found = charset.named(said) if said else None
    return "" if found is None or found.lower() == name else found.lower()


def _certain(elements: Iterable[Marked]) -> Iterator[Marked]:
    """The elements of a transformation, without references that are relative to what it makes."""
    for element in elements:
        if element.tag not in ("include", "import"):
            element.values = {
                name: value
                for name, value in element.values.items()
                if value.startswith(("/", "http")) and "{" not in value
            }
        yield element


def head_of(text: str) -> int:
    """The place in an HTML page where its head begins, near its beginning."""
    head = _HEAD.match(text, 0, _NEAR)
    assert head is not None  # it matches the empty string
    return head.end(head.lastindex or 0) if head.lastindex else 0


def _declare(edits: Edits, name: str) -> None:
    """Let an XML document say its encoding."""
    declaration = _DECLARATION.match(edits.text)
    if declaration is None:
        edits.insert(0, f'<?xml version="1.0" encoding="{name}"?>')
    else:
        edits.insert(declaration.end(), f' encoding="{name}"')


def _refresh_of(page: Page, references: "_References") -> str:
    """The Refresh header of a page as an element; empty if it has none that leads elsewhere."""
    found = split_refresh(header_text(page.header("refresh") or ""))
    if found is None or not found[1]:
        return ""
    url = references.new(found[1]) or found[1]
    return f'<meta http-equiv="refresh" content="{found[0] or 0}; url={_escaped(url)}">'


class _References:
    """Finds replacements for the references of one page; each is resolved once."""

    def __init__(self, url: str, reference_to: ReferenceTo, base: str | None = None) -> None:
        """For the page at `url`; `base` is the href of its `<base>`."""
        found = None if base is None else parse(base, url)
        self._based = found is not None and found.startswith(("http:", "https:"))
        self._base = found if found is not None and self._based else url
        self._resolver = Base(self._base)
        self._reference_to = reference_to
        self._found: dict[str, tuple[str | None, bool]] = {}
        self.encode: Callable[[str], str] | None = None
        self._page = url
        #: The encoding of a script at a URL if it is not that of the page; else empty.
        self.charset_of: CharsetOf = _unsaid
        #: Whether the last form uses GET.
        self.gets = True

    def within(self, base: str | None) -> "_References":
        """The references of a document within the page, whose `<base>` has the href `base`."""
        if base is None:
            return self
        inner = _References(self._base, self._reference_to, base)
        inner.encode, inner._page, inner.charset_of = self.encode, self._page, self.charset_of
        return inner

    def new(self, reference: str) -> str | None:
        """Return the reference to write in place of `reference`; None to leave it."""
        return self._look_up(reference)[0]

    def part(self, reference: str) -> str | None:
        """As `new`, where "#id" is a part of this document, whatever its base is (CSS, SVG)."""
        return None if reference.lstrip(_BLANKS).startswith("#") else self.new(reference)

    def target(self, action: str, *, gets: bool) -> str | None:
        """As `new`, for the target of a form; an empty one is the document itself."""
        if not action.strip(_BLANKS):
            return None if gets else self._page
        return self.new(action) if gets else self.absolute(action)

    def charset(self, reference: str) -> str:
        """The encoding of the script that `reference` leads to, if it has to be said."""
        href = self._resolved(reference)
        return (href and self.charset_of(resolve(href) or "")) or ""

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
        if text.partition("#")[2].startswith(VIEWS) and (view := self._view(text)):
            return view, True
        if not self._based and (not text or text.startswith("#")):
            return None, True
        address, mark, part = self._encoded(text).partition("#")
        url = self._resolver.resolve(address) if len(address) <= _MAX_REFERENCE else None
        path = self._reference_to(url) if url else None
        if path is None:
            return self.absolute(reference), False
        if mark and not _AS_WRITTEN(part):
            _, mark, part = (self._resolved(reference) or "").partition("#")
        return (path.partition("#")[0] + mark + part if mark else path), True

    def _view(self, text: str) -> str | None:
        """The reference to the file of a view (``#/a``) of a page that scripts make."""
        href, mark, name = (self._resolved(text) or "").partition("#")
        url = resolve(href) if mark else None
        return self._reference_to(f"{url}#{name}") if url else None

    def _encoded(self, reference: str) -> str:
        if self.encode is None or reference.isascii():
            return reference
        return self.encode(reference)

    def _resolved(self, reference: str) -> str | None:
        if len(reference) > _MAX_REFERENCE:
            return None
        href = parse(self._encoded(reference), self._base)
        return href if href and href.startswith(("http:", "https:")) else None


def _edit_all(
    edits: Edits, elements: Iterable[Marked], references: _References, within: int = 0
) -> Steps[bool]:
    """Rewrite `elements`; return whether the page loads a script or a sheet."""
    loads = False
    for number, element in enumerate(elements, 1):
        yield from _edit(element, edits, references, within)
        loads = loads or (element.tag in _LOADED and not element.values.keys().isdisjoint(_LINKS))
        if number % _STEP == 0:
            yield
    return loads


def _within(text: str, references: _References, within: int) -> Steps[list[Replacement]]:
    """What is replaced in a document within a document."""
    if "<" not in text or within >= _MOST_WITHIN:
        return []
    base, marked = yield from read_marked_html(text)
    edits = Edits(text)
    yield from _edit_all(edits, marked, references.within(base), within + 1)
    return edits.all()


def _edit(element: Marked, edits: Edits, references: _References, within: int) -> Steps[None]:
    values = element.values
    if element.tag == "a" and values.keys() <= _OF_LINKS:
        # Most elements are such.
        if "href" in values:
            edits.put(element, "href", references.new(values["href"]))
        return
    match element.tag:
        case "base":
            edits.drop(element, "href")
            return
        case "meta":
            _edit_meta(element, edits, references)
            return
        case "form":
            references.gets = _is_get(values.get("method", ""))
    if element.inner is not None:
        start, end = element.inner
        text = edits.text[start:end]
        if element.tag == "style":
            found = yield from css_replacements(text, references.part)
        elif element.tag == "script":
            found = _modules(text, references, edits.text)
        else:
            found = yield from _within(text, references, within)
        for first, last, new in found:
            edits.replace(start + first, start + last, new)
    if "srcdoc" in values:
        found = yield from _within(values["srcdoc"], references, within)
        edits.put(element, "srcdoc", joined(values["srcdoc"], found))
    local = _edit_references(element, edits, references)
    for name in _CANDIDATES:
        if name in values:
            edits.put(element, name, (yield from replace_srcset(values[name], references.new)))
    for name in () if _STYLES.isdisjoint(values) else sorted(_STYLES & values.keys()):
        edits.put(element, name, (yield from replace_css_urls(values[name], references.part)))
    for name in _LAZY:
        if name in values:
            edits.put(element, name, (yield from _lazy(values[name], references)))
    if element.tag in grammars.SIZED:
        _edit_sizes(element, edits, references)
    if element.tag == "form" or not _FORMS.keys().isdisjoint(values):
        _edit_targets(element, edits, references)
    if element.tag == "script" and "src" in values:
        said = "charset" not in values and references.charset(values["src"])
        if said:
            edits.insert(element.whole[0] + len("<script"), f' charset="{said}"')
    if local:
        for name in _CHECKS:
            if name in values:
                edits.drop(element, name)


def _modules(text: str, references: _References, page: str) -> list[Replacement]:
    """What is replaced in a map of modules; its references begin as those of an import do."""
    found = []
    for value in _MODULE.finditer(text):
        name, reference = value.groups()
        new = references.new(reference)
        if reference.endswith("/"):
            new = _folder(name, reference, references, page) or new
        if new is not None:
            relative = new if new.startswith(("../", "http")) else f"./{new}"
            found.append((*value.span(2), relative))
    return found


def _folder(name: str, reference: str, references: _References, page: str) -> str:
    """The folder of those of the modules below `name` that the page imports; empty if none is."""
    for specifier in grammars.specifiers(page):
        rest = specifier.removeprefix(name)
        file = references.new(reference + rest) if specifier.startswith(name) else None
        if file and references.is_local(reference + rest) and file.endswith(rest):
            return file.removesuffix(rest)
    return ""


def _edit_targets(element: Marked, edits: Edits, references: _References) -> None:
    """Let forms lead to a file, if one is there and they use GET."""
    posts = not references.gets and element.values.get("method", "").strip().lower() != "dialog"
    if element.tag == "form" and "action" not in element.values and posts:
        # It goes to the page itself, which only the server can answer.
        target = _escaped(references.target("", gets=False) or "")
        edits.insert(element.whole[0] + len("<form"), f' action="{target}"')
    for name, method in _FORMS.items():
        if name in element.values:
            value = element.values[name]
            asked = element.values.get(method)
            gets = references.gets if asked is None else _is_get(asked)
            edits.put(element, name, references.target(value, gets=gets))


def _is_get(method: str) -> bool:
    return method.strip().lower() not in ("post", "dialog")


def _lazy(value: str, references: _References) -> Steps[str | None]:
    """The value of an attribute of a lazy loader; None to leave it."""
    if "(" in value:
        return (yield from replace_css_urls(value, references.new))
    return references.new(value) if grammars.is_address(value) else None


def _edit_sizes(element: Marked, edits: Edits, references: _References) -> None:
    """Replace the addresses of stored images in attributes whose names are not known."""
    for name, value in element.values.items():
        if (
            name.startswith(grammars.SIZE)
            and name not in grammars.NAMES
            and grammars.is_image(value)
        ):
            edits.put(element, name, references.new(value) if references.is_local(value) else None)


def _edit_references(element: Marked, edits: Edits, references: _References) -> bool:
    """Replace the plain references of an element; return whether one leads to a file."""
    values, local = element.values, False
    new = references.part if element.tag in _SHOWING else references.new
    names = (*_REFERENCES, "data") if element.tag == "object" else _REFERENCES
    for name in names:
        if name not in values:
            continue
        if element.tag == "link" and _ORIGIN in values.get("rel", "").lower().split():
            edits.put(element, name, references.absolute(values[name]))
        else:
            edits.put(element, name, new(values[name]))
            local = local or references.is_local(values[name])
    return local


def _edit_meta(element: Marked, edits: Edits, references: _References) -> None:
    match element.values.get("http-equiv", "").strip().lower():
        case "content-security-policy":
            edits.replace(*element.whole, "")
        case "refresh":
            found = split_refresh(element.values.get("content", ""))
            # Without a URL the document itself is loaded again, whatever its base is.
            new = references.new(found[1]) if found is not None and found[1] else None
            if found is not None and new is not None:
                edits.put(element, "content", f"{found[0] or 0}; url={new}")
