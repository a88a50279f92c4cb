"""Long runs of a page without ">": bounded, because the parser's time for a tag is not.

The parser takes up to 600 ns for an attribute, and does not bound their number.
"""

from collections.abc import Callable
from typing import AnyStr

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
