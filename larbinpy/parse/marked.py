"""Finds elements with the positions of their attributes in the text, and edits the text."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape, unescape

import turbohtml

from larbinpy.loop.steps import Steps
from larbinpy.parse import lazy, long_runs

#: Attributes that are references or hold references.
_HOLDERS = (
    *("href", "src", "srcset", "imagesrcset", "action", "formaction", "data", "poster"),
    *("background", "style", "cite", "longdesc", "lowsrc", "dynsrc", "srcdoc", "xlink:href"),
    *sorted(lazy.NAMES),
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
    text = _with_templates_open(long_runs.bounded(text, ">", _blanked))
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
    middle = len(run) - 2 * long_runs.KEPT
    return f"{run[: long_runs.KEPT]}{'x' * middle}{run[-long_runs.KEPT :]}"


def _marked(
    elements: Iterable[turbohtml.Element], in_text: Callable[[int, int], Span]
) -> Iterator[Marked]:
    for element in elements:
        location = element.source_location
        if location is None:
            continue
        wanted = {n: at for n, at in location.attrs.items() if n in _WANTED}
        spans = {n: in_text(at.start_offset, at.end_offset) for n, at in wanted.items()}
        short = {n: s for n, s in spans.items() if s[1] - s[0] < long_runs.KEPT}
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
        if name not in _WANTED or attribute.end() - attribute.start() >= long_runs.KEPT:
            continue
        values[name] = unescape(attribute[attribute.lastindex or 0])
        spans[name] = (offset + attribute.start(), offset + attribute.end())
    return Marked(tag["tag"].rpartition(":")[2].lower(), values, spans, tag.span())
