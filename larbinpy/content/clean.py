"""Texts as the database keeps them: no control characters, no runs of blanks, bounded.

Only the indentation of programs is more than one blank.
"""

import re
from collections.abc import Iterable

#: Control characters that are no blanks, halves of surrogate pairs, which UTF-8 cannot spell, soft
#: hyphens, blanks of no width, marks that change the direction of text, and characters for private
#: use, which are icons of fonts.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    r"\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)
#: Stands between the cells of a table.
CELL = "\x1f"
#: Blanks of a line of a program, and how many of them are kept.
_INDENT = re.compile(r"[ \t]+")
_DEEPEST = 40
#: Blanks before lines of prose.
_LEADING = re.compile(r"\n {0,40}\xa0[ \xa0]*")


def line(text: str, longest: int) -> str:
    """`text` in one line of at most `longest` characters."""
    # Ten times as much is enough to find that many characters between runs of blanks.
    text = " ".join(text[: 10 * longest].split())
    if not text.isprintable():
        text = _clean(text)
    return text[:longest].rstrip()


def lines(text: str, longest: int) -> str:
    """The lines of `text` that are not empty, at most `longest` characters in all.

    Their indentation stays, as programs need it; a tab is 4 columns.
    """
    text = text[: 8 * longest]
    if "\xa0" in text:  # most of what is not printable are these blanks
        text = _LEADING.sub("\n", text).replace("\xa0", " ")
    found: Iterable[str] = filter(None, text.split("\n"))
    # Most texts are clean, and finding that out is several times as fast as making them so.
    if not text.replace("\n", "").isprintable():
        found = [each if each.isprintable() else _indented(each) for each in found]
    if "  " in text:
        found = [_indented(each) if "  " in each else each for each in found]
    elif "\n " not in text:
        return "\n".join(filter(None, map(str.strip, found)))[:longest].rstrip()
    found = [each.rstrip() if each.startswith("  ") else each.strip() for each in found]
    return "\n".join(filter(None, found))[:longest].rstrip()


def _indented(text: str) -> str:
    indent = _INDENT.match(text)
    if indent is None or CELL in text:
        return _clean(text)  # rows of a table are padded, too
    return indent[0].expandtabs(4)[:_DEEPEST] + _clean(text)


def _clean(text: str) -> str:
    return " ".join(_INVISIBLE.sub("", text).split())
