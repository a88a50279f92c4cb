"""Finds URLs in style sheets, by the rules of CSS Syntax level 3.

A complete tokenizer would spend its time on names and numbers. This one reads only the tokens
that can contain or hide a URL: comments, strings, escapes, parentheses and at-rules. It examines
each character a bounded number of times.
"""

import re
from collections.abc import Callable, Iterator

from larbinpy.loop.clock import Replacement, Steps, replaced, replacements

# All loops are possessive, so nothing is tried twice.
_DOUBLE = r'"([^"\\\n\r\f]*+(?:\\(?:\r\n|.)[^"\\\n\r\f]*+)*+)(?:"|\\?\Z)'
_SINGLE = r"'([^'\\\n\r\f]*+(?:\\(?:\r\n|.)[^'\\\n\r\f]*+)*+)(?:'|\\?\Z)"
_TOKEN = re.compile(rf"/\*(?:.*?\*/|.*)|{_DOUBLE}|{_SINGLE}|\\.|[@()\"']", re.DOTALL)
_IMPORT = re.compile(
    rf"@import(?:[ \t\n\f\r]|/\*.*?\*/)*+(?:{_DOUBLE}|{_SINGLE})", re.DOTALL | re.IGNORECASE
)
#: What stands before the URL of an @import, in so many characters.
_IMPORTED = re.compile(r"@import\s*(?:url\(\s*)?[\"']?\Z", re.IGNORECASE)
_NEAR = 40
#: The name of a namespace looks like a URL, but is none.
_NAMESPACE = re.compile(
    rf"@namespace\b[^;\"'{{}}]*+(?:{_DOUBLE}|{_SINGLE})?[^;\"'{{}}]*+", re.DOTALL | re.IGNORECASE
)
_QUOTED = re.compile(r"[ \t\n\f\r]*+[\"']")
#: White space ends a hexadecimal escape and belongs to it.
_HEX = r"[0-9a-fA-F]{1,6}(?:\r\n|[ \t\n\f\r])?"
_PLAIN = r"[^\"'()\\\x00-\x20\x7f]*+"
_UNQUOTED = re.compile(
    rf"[ \t\n\f\r]*+({_PLAIN}(?:\\(?:{_HEX}|[^\n\r\f]){_PLAIN})*+)[ \t\n\f\r]*+(?:\)|\Z)"
)
#: "Consume the remnants of a bad url" (section 4.3.14).
_REMNANTS = re.compile(r"[^)\\]*+(?:\\.[^)\\]*+)*+\)?", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\n\f\r])?|(\r\n|[\n\r\f])|(.))", re.DOTALL
)
#: Characters that end a URL, in quotes and without, or begin an escape in it.
_QUOTE_ENDS = re.compile(r"[\"'\\]")
_BARE_ENDS = re.compile(r"[\"'()\\\s]")
_NAME_BACKWARDS = re.compile(r"[-\w\x80-\U0010ffff]*")

#: Tokens of interest in one sheet: a megabyte of honest CSS has some 30,000, and a megabyte
#: of nothing but parentheses would take half a second.
_MAX_TOKENS = 100_000
#: Tokens that take a millisecond or two.
_BATCH = 4096
#: First letters of the two at-rules that matter.
_AT_RULES = frozenset("iInN")
#: Functions whose strings are URLs.
_HOLDERS = frozenset({"url", "src", "image", "image-set", "-webkit-image-set"})
_NOT_IN_NAMES = frozenset(" \t\n\f\r()[]{},;:/*\"'@")
#: Longer than the longest of these names with every letter escaped.
_LONGEST_NAME = 160


def css_urls(text: str) -> list[str]:
    """Return the URLs in a style sheet or a style attribute, in order, not resolved.

    They are those of `url()`, `src()`, `image-set()` and `@import`, with escapes undone. An
    empty URL means no resource and is left out.
    """
    return [url for url in (_unescape(text[start:end]) for start, end in _spans(text)) if url]


def css_links(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the URLs of `css_urls`, and whether each is that of another sheet (`@import`)."""
    for start, end in _spans(text):
        url = _unescape(text[start:end])
        if url:
            yield url, _IMPORTED.search(text, max(0, start - _NEAR), start) is not None


def replace_css_urls(text: str, replace: Callable[[str], str | None]) -> Steps[str]:
    """Return `text` with the URLs that `css_urls` finds replaced by `replace`, in steps.

    `replace` gets a URL with its escapes undone, and returns None to leave it.
    """
    return replaced(text, _spans(text), _renewed(text, replace))


def css_replacements(text: str, replace: Callable[[str], str | None]) -> Steps[list[Replacement]]:
    """As `replace_css_urls`; return only what is replaced, with its positions."""
    return replacements(_spans(text), _renewed(text, replace))


def _renewed(text: str, replace: Callable[[str], str | None]) -> Callable[[int, int], str | None]:
    def new(start: int, end: int) -> str | None:
        url = _unescape(text[start:end])
        found = replace(url) if url else None
        unsafe = _QUOTE_ENDS if text[start - 1 : start] in ('"', "'") else _BARE_ENDS
        return None if found is None else unsafe.sub(r"\\\g<0>", found)

    return new


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of the URLs, without their quotes; some are empty.

    Yields an empty one every `_BATCH` tokens, so that callers can work in steps.
    """
    # Without a function or an @import there is none; most style attributes have neither.
    if "(" not in text and "@i" not in text and "@I" not in text:
        return
    holders: list[bool] = []  # for each open parenthesis: are its strings URLs?
    position = 0
    for number in range(_MAX_TOKENS):
        if number % _BATCH == 0:
            yield position, position
        token = _TOKEN.search(text, position)
        if token is None:
            return
        position = token.end()
        match text[token.start()]:
            case "'" | '"':
                if token.lastindex is None:
                    holders.clear()  # a line break within a string: no parenthesis is certain
                elif holders and holders[-1]:
                    yield token.span(token.lastindex)
            case ")":
                if holders:
                    holders.pop()
            case "(":
                name = _name_before(text, token.start())
                if name == "url" and not _QUOTED.match(text, position):
                    span, position = _unquoted(text, position)
                    yield span
                else:
                    holders.append(name in _HOLDERS)
            case "@":
                span, position = _at_rule(text, token.start())
                yield span


def _name_before(text: str, end: int) -> str:
    """Return the name of the function whose parenthesis opens at `end`, in lower case."""
    before = text[max(0, end - _LONGEST_NAME) : end]
    if not before or before[-1] in _NOT_IN_NAMES:
        return ""
    if "\\" in before:
        before = _unescape(before)
    match = _NAME_BACKWARDS.match(before[::-1])
    assert match is not None  # it matches the empty string
    return match[0][::-1].lower()


def _unquoted(text: str, start: int) -> tuple[tuple[int, int], int]:
    """Return the span of a bare URL after `url(`, empty if malformed, and the next position."""
    url = _UNQUOTED.match(text, start)
    if url is not None:
        return url.span(1), url.end()
    remnants = _REMNANTS.match(text, start)
    assert remnants is not None  # it matches the empty string
    return (start, start), remnants.end()


def _at_rule(text: str, start: int) -> tuple[tuple[int, int], int]:
    """Return the span of the URL of an `@import "..."`, else empty, and the next position."""
    if text[start + 1 : start + 2] not in _AT_RULES:
        return (start, start), start + 1
    imported = _IMPORT.match(text, start)
    if imported is not None:
        return imported.span(imported.lastindex or 0), imported.end()
    namespace = _NAMESPACE.match(text, start)
    return (start, start), namespace.end() if namespace else start + 1


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[3] or ""  # an escaped line break is dropped
    code = int(match[1], 16)
    return (
        chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\N{REPLACEMENT CHARACTER}"
    )
