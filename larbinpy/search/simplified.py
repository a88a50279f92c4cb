"""Traditional Chinese characters as simplified ones, each by itself."""

import re
from functools import cache

from opencc import OpenCC

#: CJK Unified Ideographs and Extension A. The simplified form of some lies beyond.
_BLOCKS = ((0x3400, 0x4DC0), (0x4E00, 0xA000))


@cache
def simple_forms() -> dict[str, str]:
    """The simplified forms of about 4,000 characters, by opencc's table; made in 10 ms.

    A character whose simplified form depends on the word has its most frequent form.
    """
    characters = [chr(code) for block in _BLOCKS for code in range(*block)]
    simple = OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {a: b for a, b in zip(characters, simple, strict=True) if a != b and len(b) == 1}


@cache
def _table() -> tuple[re.Pattern[str], str]:
    """The pattern of traditional characters, and the Basic Multilingual Plane with them replaced.

    As a table for `str.translate` a string is faster than a dict.
    """
    forms = simple_forms()
    plane = "".join(forms.get(char, char) for char in map(chr, range(0x10000)))
    return re.compile(f"[{''.join(forms)}]"), plane


def simplify(text: str) -> str:
    """`text` in simplified characters; each takes the place of one."""
    if text.isascii():
        return text
    traditional, plane = _table()
    return text.translate(plane) if traditional.search(text) else text
