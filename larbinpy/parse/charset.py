"""The encoding of a page, found even if its labels are wrong, and the trees of decoded pages.

The order is WHATWG's: byte-order mark, HTTP, `<meta>`, and then a guess. Labels that cannot be
true are ignored, as they would lose all links: UTF-16 without zero bytes, and the
"replacement" encoding, which reads any page as one wrong character.

`bounded` shortens long runs of a page without ">", because the parser takes up to 600 ns for an
attribute and does not bound their number.
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import AnyStr
from urllib.parse import quote_from_bytes

import turbohtml
from turbohtml.detect import detect  # registers the whatwg-* codecs as well

#: No honest page has a tag of this length (bytes or characters); long scripts are honest.
LONGEST = 256 * 1024
#: Both ends of a longer run are kept, this much of each, so that no link is lost beside a long
#: script, text or data: URL.
KEPT = 32 * 1024


def bounded(text: AnyStr, end: AnyStr, bound: Callable[[AnyStr], AnyStr]) -> AnyStr:
    """Return `text` with `bound` applied to each run of `LONGEST` or more without `end`.

    `end` is ">". Each character is examined twice at most; on nearly all pages, a few are.
    """
    parts: list[AnyStr] = []
    copied = start = 0
    while start + LONGEST <= len(text):
        last = text.rfind(end, start, start + LONGEST)
        if last < 0:
            last = text.find(end, start + LONGEST)
            last = len(text) if last < 0 else last
            parts += [text[copied:start], bound(text[start:last])]
            copied = last
        start = last + 1
    if not parts:
        return text
    parts.append(text[copied:])
    return text[:0].join(parts)


_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_MARK_BYTES = tuple(mark for mark, _ in _MARKS)
#: Bytes at the beginning of a body that show whether it is UTF-16.
_HEAD = 1024
#: Guessing costs up to 75 ns a byte; a larger sample (bytes) hardly improves it.
_SAMPLE = 64 * 1024
#: Bytes in which all browsers look for a <meta> with the encoding; some obey later ones, too.
_PRESCANNED = 1024
_NON_ASCII = re.compile(rb"[\x80-\xff]")
_NON_ASCII_RUN = re.compile(r"[^\x00-\x7f]+")
_CSS_CHARSET = re.compile(rb'@charset "([^"]{1,60})";')

#: Encodings whose text has all bytes of a body, if it is decoded with these handlers of errors.
_EXACT = {"utf-8": "surrogateescape", "utf-16le": "surrogatepass", "utf-16be": "surrogatepass"}
#: Characters of several bytes: such a byte may be ASCII, but is none of those that end a link.
_WIDE_RUN = re.compile(rb"[\x80-\xff][0-9\x40-\xff]*+")
_ESCAPED = re.compile(rb"\x1b(?!\([B])[^\x1b]*+(?:\x1b(?!\(B)[^\x1b]*+)*+(?:\x1b\(B)?")

#: Python's names of the encoders of the Encoding standard, if they differ.
_ENCODERS = {
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "iso-8859-8-i": "iso8859-8",
}


def sniff(body: bytes, http_charset: str | None = None) -> str:
    """Return the encoding of an HTML page, by its WHATWG name.

    `http_charset` is the charset parameter of Content-Type. The whole page is parsed, as a
    `<meta>` counts anywhere in it; `document` returns the tree as well.
    """
    return document(body, http_charset).encoding or "windows-1252"


def document(
    body: bytes, http_charset: str | None = None, *, positions: bool = False
) -> turbohtml.Document:
    """Parse an HTML page; `encoding` of the result is the encoding that was chosen.

    `positions`: its elements know their lines.
    """
    body = shortened(body)
    found = _parse(body, _utf16_unmarked(body) or http_charset, positions)
    name = found.encoding
    if _incredible(name, body):
        found = _parse(body, None, positions)
        if _incredible(found.encoding, body):
            found = _parse(body, "windows-1252", positions)
    if found.encoding_confidence == "tentative" and name == "windows-1252":
        guess = _guess(body)
        if guess is not None:
            found = _parse(body, guess, positions)
    return found


def fragment(markup: bytes, charset: str | None) -> turbohtml.Document:
    """Parse a few tags of a page in `charset`, or in ASCII if that is None."""
    return _parse(markup, charset)


def declared_by(meta: bytes) -> str | None:
    """Return the encoding that a `<meta>` declares; None if it declares none."""
    # Many pages have the same, but not long ones.
    return _declared_by(meta) if len(meta) < 256 else _declared_by.__wrapped__(meta)


@lru_cache(256)
def _declared_by(meta: bytes) -> str | None:
    found = _parse(meta, None)
    certain = found.encoding_confidence == "certain" or found.encoding == "replacement"
    return found.encoding if certain else None


@lru_cache(256)
def named(label: str) -> str | None:
    """Return the WHATWG name of the encoding that HTTP calls `label`; None if there is none."""
    found = _parse(b"", label)
    return found.encoding if found.encoding_confidence == "certain" else None


def undeclared(body: bytes) -> str | None:
    """Return the encoding of an HTML page that declares none in a `<meta>`, and HTTP none, either.

    None if that is not obvious: `document` tells.
    """
    if b"charset" in body[:_PRESCANNED].lower():
        return None
    if body.isascii():
        return "windows-1252"
    try:
        body.decode()
    except UnicodeDecodeError:
        return None
    return "UTF-8"


def may_be_replaced(body: bytes) -> bool:
    """Whether the beginning of `body` has a label of the "replacement" encoding.

    The tree's prescan obeys it even if it is within a text, and reads nothing else then.
    """
    head = body[:_PRESCANNED].lower()
    if b"2022" in head and any(name in head for name in (b"2022-kr", b"2022kr", b"2022-cn")):
        return True
    return b"replacement" in head or b"hz-gb-2312" in head


def is_marked(body: bytes) -> bool:
    """Whether `body` begins with a byte-order mark."""
    return body.startswith(_MARK_BYTES)


def decode(body: bytes, http_charset: str | None = None) -> tuple[str, str]:
    """Return the text of a style sheet (CSS Syntax, section 3.2) and its encoding's name."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name
    declared = _CSS_CHARSET.match(body)
    for label in (http_charset, declared and declared[1].decode("latin-1")):
        text = _decoded(body, label) if label else None
        if label and text is not None:
            return text, label.strip().lower()
    return body.decode("utf-8", "replace"), "utf-8"


def plain(body: bytes, http_charset: str | None = None) -> tuple[str, str]:
    """Return the text of a plain text and its encoding's name, guessed if no label is true."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name
    wide = _wide(body)
    label = wide or http_charset
    text = _decoded(body, label) if label else None
    if label and text is not None:
        return text, label.strip().lower()
    name = (_guess(body) or "windows-1252").lower()
    return _decoded(body, name) or body.decode("windows-1252", "replace"), name


def _wide(body: bytes) -> str | None:
    """UTF-16 without a mark: half of the bytes of most texts are zero."""
    head = body[: _HEAD - _HEAD % 2]
    if head.count(b"\0") * 3 < len(head) or not head:
        return None
    return "utf-16le" if head[1::2].count(b"\0") > head[::2].count(b"\0") else "utf-16be"


#: Start and end of a piece of a text, and what replaces it.
Edit = tuple[int, int, str]


@dataclass(slots=True)
class BodyText:
    """A body and its text. What is replaced in the text is replaced in the bytes alone."""

    body: bytes
    #: WHATWG name of its encoding, in lower case.
    name: str
    #: Its byte-order mark.
    mark: bytes
    text: str
    #: What follows the text: half of a character of UTF-16.
    rest: bytes = b""

    @classmethod
    def of(cls, body: bytes, charset: str | None) -> "BodyText":
        """A page in `charset`; its mark outranks that. Bytes that are not UTF-8 are surrogates."""
        name = (charset or "utf-8").lower()
        mark = b""
        for found, marked in _MARKS:
            if body.startswith(found):
                name, mark = marked, found
        bare = body[len(mark) :]
        errors = _EXACT.get(name)
        if errors is not None:
            end = len(bare) - (name != "utf-8" and len(bare) % 2)
            return cls(body, name, mark, bare[:end].decode(name, errors), bare[end:])
        text = _decoded(bare, name)
        if text is None:
            name, text = "windows-1252", bare.decode("whatwg-windows-1252")
        return cls(body, name, mark, text)

    @property
    def declares(self) -> bool:
        """Whether the beginning of the page, HTML, says its encoding itself."""
        return bool(self.mark) or (declared_by(self.body[:_PRESCANNED]) or "").lower() == self.name

    @property
    def is_ascii(self) -> bool:
        """Whether a program reads the same in it that takes it for ASCII."""
        return len(self.text) == len(self.body) and self.body.isascii()

    def with_replaced(self, edits: Iterable[Edit]) -> bytes:
        """The body with pieces of its text replaced, which are in order and do not overlap.

        What its encoding lacks is written as a character reference. Raises `UnicodeError` if a
        piece begins or ends within a character.
        """
        stretch, errors = self._stretches(), _EXACT.get(self.name, "xmlcharrefreplace")
        codec = self.name if self.name in _EXACT else encoder(self.name)
        parts, at = [self.mark], 0
        for start, end, new in edits:
            parts += [stretch(at, start), new.encode(codec, errors)]
            at = end
        return b"".join([*parts, stretch(at, len(self.text)), self.rest])

    def _stretches(self) -> Callable[[int, int], bytes]:
        """From a piece of the text to its bytes."""
        errors = _EXACT.get(self.name)
        if errors is not None:
            return lambda start, end: self.text[start:end].encode(self.name, errors)
        place = self._places()
        return lambda start, end: self.body[place(start) : place(end)]

    def _places(self) -> Callable[[int], int]:
        """From a position in the text to that in the body."""
        if len(self.text) == len(self.body):
            return int
        # Where a run of characters of several bytes begins and ends, in the text and the body.
        runs, shift = [(0, 0, 0, 0)], 0
        pattern = _ESCAPED if self.name == "iso-2022-jp" else _WIDE_RUN
        for run in pattern.finditer(self.body):
            size = len(run[0].decode(f"whatwg-{self.name}"))
            start = run.start() - shift
            runs.append((start, start + size, run.start(), run.end()))
            shift += len(run[0]) - size
        if len(self.body) - shift != len(self.text):
            raise UnicodeError("the characters of the page cannot be told apart")

        def place(position: int) -> int:
            begin, end, at, after = runs[bisect_right(runs, (position, len(self.text) + 1)) - 1]
            if begin < position < end:
                raise UnicodeError("a link begins or ends within a character")
            return at if position == begin else after + position - end

        return place


def sheet(body: bytes, http_charset: str | None = None) -> tuple[BodyText, Edit | None]:
    """A style sheet, and what makes it say the encoding that only HTTP says; else None."""
    declared = _CSS_CHARSET.match(body)
    name = decode(body, http_charset)[1]
    original = BodyText.of(body, name)
    needed = http_charset and not original.mark and not body.isascii()
    if not needed or (declared and declared[1].decode("latin-1").strip().lower() == name):
        return original, None
    end = declared.end() if declared else 0
    return original, (0, end, f'@charset "{name}";')


def encoder(encoding: str | None) -> str:
    """Return Python's name of the encoder for queries and forms of a page in `encoding`."""
    name = (encoding or "utf-8").lower()
    if name.startswith("utf-") or name == "x-user-defined":
        return "utf-8"
    return _ENCODERS.get(name, name)


def query_encoder(encoding: str | None) -> Callable[[str], str] | None:
    """Return a function that spells a URL's query in the page's encoding; None for UTF-8.

    Browsers send queries in the encoding of the page (URL standard, "percent-encode after
    encoding"), and servers of legacy pages understand no other.
    """
    codec = encoder(encoding)
    if codec == "utf-8":
        return None

    def encode(reference: str) -> str:
        path, mark, query = reference.partition("?")
        return path + mark + _NON_ASCII_RUN.sub(lambda run: _percent(run[0], codec), query)

    return encode


def _percent(text: str, codec: str) -> str:
    # The second byte of a two-byte character may be ASCII, and stays as it is.
    return quote_from_bytes(text.encode(codec, "xmlcharrefreplace"), safe="@[\\]^`{|}")


def _parse(body: bytes, label: str | None, positions: bool = False) -> turbohtml.Document:
    try:
        return turbohtml.parse(
            body, encoding=label, positions=positions, allow_declarative_shadow_roots=False
        )
    except LookupError:  # not a label of the Encoding standard
        return _parse(body, None, positions)


def _incredible(name: str | None, body: bytes) -> bool:
    if name == "replacement":
        return True
    return name in ("UTF-16LE", "UTF-16BE") and b"\0" not in body[:_HEAD] and not is_marked(body)


def _utf16_unmarked(body: bytes) -> str | None:
    if body.startswith(b"<\0"):
        return "utf-16le"
    return "utf-16be" if body.startswith(b"\0<") else None


def _guess(body: bytes) -> str | None:
    """Guess an encoding better than windows-1252, from the text after the first non-ASCII byte."""
    first = _NON_ASCII.search(body)
    if first is None:
        return None
    sample = body[first.start() : first.start() + _SAMPLE]
    try:
        # Not final: a page that was cut short may end within a character.
        codecs.utf_8_decode(sample, "strict", False)
    except UnicodeDecodeError:
        return detect(body[:_HEAD] + sample).encoding
    return "utf-8"


def _decoded(body: bytes, label: str) -> str | None:
    """Return `body` decoded by the Encoding standard; None if `label` cannot be true."""
    if not (label.isascii() and label.isprintable()):
        return None
    codec = f"whatwg-{label.strip().lower()}"
    try:
        if b"\0" not in body[:_HEAD] and b"{}".decode(codec) != "{}":
            return None
        return body.decode(codec)
    except LookupError:
        return None


def shortened(body: bytes) -> bytes:
    """Return `body` without the middle of very long runs (see `long_runs`)."""
    return bounded(body, b">", _ends)


def _ends(run: bytes) -> bytes:
    # The length stays even or odd, as UTF-16 needs it.
    return run[:KEPT] + run[len(run) - KEPT - len(run) % 2 :]
