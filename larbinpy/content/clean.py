"""Texts as the database keeps them: no control characters, no runs of blanks, bounded."""

import re

#: Control characters that are no blanks, and halves of surrogate pairs, which UTF-8 cannot spell.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")


def line(text: str, longest: int) -> str:
    """`text` in one line of at most `longest` characters."""
    # Ten times as much is enough to find that many characters between runs of blanks.
    text = " ".join(text[: 10 * longest].split())
    if not text.isprintable():
        text = " ".join(_CONTROL.sub("", text).split())
    return text[:longest].rstrip()


def lines(text: str, longest: int) -> str:
    """The lines of `text` that are not empty, at most `longest` characters in all."""
    text = text[: 8 * longest]
    if not text.isprintable():
        text = _CONTROL.sub("", text)
    found = (" ".join(each.split()) for each in text.splitlines())
    return "\n".join(filter(None, found))[:longest].rstrip()
