"""Traditional Chinese characters as simplified ones, each by itself."""

from functools import cache

from opencc import OpenCC

#: CJK Unified Ideographs and Extension A. The simplified form of some characters lies outside.
_BLOCKS = ((0x3400, 0x4DC0), (0x4E00, 0xA000))


@cache
def table() -> dict[int, str]:
    """What `str.translate` needs: about 4,000 characters of opencc's table, made in 10 ms.

    A character whose simplified form depends on the word becomes its most frequent form, in pages
    and in queries alike. The length of a text does not change.
    """
    characters = [chr(code) for block in _BLOCKS for code in range(*block)]
    simple = OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {ord(a): b for a, b in zip(characters, simple, strict=True) if a != b and len(b) == 1}
