"""Texts as the database keeps them: no control characters, no runs of blanks, bounded."""

import re

#: Control characters that are no blanks, halves of surrogate pairs, which UTF-8 cannot spell, soft
#: hyphens, blanks of no width, and marks that change the direction of text.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    r"\ud800-\udfff]"
)


def line(text: str, longest: int) -> str:
    """`text` in one line of at most `longest` characters."""
    # Ten times as much is enough to find that many characters between runs of blanks.
    text = " ".join(text[: 10 * longest].split())
    if not text.isprintable():
        text = " ".join(_INVISIBLE.sub("", text).split())
    return text[:longest].rstrip()


def lines(text: str, longest: int) -> str:
    """The lines of `text` that are not empty, at most `longest` characters in all."""
    text = text[: 8 * longest].replace("\xa0", " ").replace("\t", " ")
    if text.replace("\n", "").isprintable():
        # Most texts are, and this is several times as fast.
        found = [
            " ".join(each.split()) if "  " in each else each.strip() for each in text.split("\n")
        ]
    else:
        found = [" ".join(each.split()) for each in _INVISIBLE.sub("", text).splitlines()]
    return "\n".join(filter(None, found))[:longest].rstrip()
