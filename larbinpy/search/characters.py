"""Classes of characters, as they stand within the brackets of a regular expression."""

import unicodedata
from collections.abc import Iterable
from itertools import chain


def _ranges(characters: Iterable[str]) -> str:
    """The class of `characters`, which are sorted, with runs of them written as ranges."""
    ranges: list[list[str]] = []
    for char in characters:
        if ranges and ord(char) == ord(ranges[-1][-1]) + 1:
            ranges[-1][1:] = [char]
        else:
            ranges.append([char])
    return "".join("-".join(each) for each in ranges)


#: Chinese, Japanese and Korean characters, which are indexed as bigrams.
HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
KANA = "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"
BOPOMOFO = "\u3105-\u312f\u31a0-\u31bf"
CJK = HAN + KANA + HANGUL + BOPOMOFO

#: Thai, Lao, Burmese and Khmer, which are written without blanks too: indexed as trigrams.
#: Vowel signs and tone marks are letters of them.
TRIGRAM = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf"
    "\u1000-\u1049\u1050-\u109f\uaa60-\uaa7f\ua9e0-\ua9fe\u1780-\u17d3\u17d7\u17dc-\u17e9"
)

#: Symbols that are words: emoji, arrows, pictures.
SYMBOL = "\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f1e6-\U0001f3fa\U0001f400-\U0001faff"

#: Characters that a reader does not see: soft hyphen, zero-width blanks and joiners, marks of
#: direction, variation selectors.
INVISIBLE = (
    "\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
)

#: Combining marks, which `re` does not count as characters of words; those of Thai and its
#: neighbours are in `TRIGRAM`.
MARKS = _ranges(
    char
    for char in map(
        chr,
        chain(
            range(0x300, 0xE00),
            range(0xF00, 0x1000),
            range(0x1100, 0x1780),
            range(0x1800, 0x1E00),
            range(0x20D0, 0x2100),
            range(0xA66F, 0xA9E0),
            range(0xAA00, 0xAA60),
            range(0xAA80, 0xAC00),
            range(0xFE20, 0xFE30),
        ),
    )
    if unicodedata.category(char)[0] == "M"
)
