"""Near copies: pages that say the same but for a few words, found by keys and confirmed by words.

The keys are a MinHash (Broder 1997) of the words of a page, by one permutation (Li, Owen and Zhang
2012): the hash of each word falls into one of 16 bins, whose lowest stands for it, and four bins
make a key. Pages that share one of four keys may be copies. A 64-bit simhash with three bits of
difference (Manku et al. 2007) finds fewer: most pages have too few words for it.

Pages of one template share keys, too, so `is_copy` compares the words themselves, in their order.
"""

import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, compress, pairwise
from urllib.parse import unquote
from zlib import crc32

from larbinpy.database.search.segment import CJK, TRIGRAM
from larbinpy.url import hash64

#: The keys of a page, and the bins of each. More keys find more copies; more bins find fewer
#: pages that are none.
KEYS, _BINS = 4, 4
_ALL = KEYS * _BINS
_PACKED = struct.Struct(f"<{_BINS}I")

#: Words of the shortest page that may be a near copy: in a shorter one, each word counts.
SHORTEST = 50
#: Share of the words, and of the pairs of neighbouring words, that the other page may lack. A
#: changed word is in two pairs, so 5 % of the words are 10 % of the pairs.
_MOST = 0.15
#: Numbers of neighbouring pairs, and of those among them that may be missing: more are a sentence
#: that one page has alone. If one word in twenty is changed at random, 3 % of pages have more by
#: chance.
_WINDOW, _MOST_IN_WINDOW = 12, 8
#: Share of the missing pairs that are repeated: the same change was made again and again.
_REPEATED = 0.1
#: Share by which the counts of a word that is in one URL alone may differ.
_TOLD = 0.1

#: Characters of scripts without blanks are words; others are separated by blanks.
_DENSE = re.compile(f"[{CJK}{TRIGRAM}]")
_WORDS = re.compile(rf"[{CJK}{TRIGRAM}]|[^\s{CJK}{TRIGRAM}]+")
_ASCII = bytes(range(128))
#: Words of URLs, and numbers, also those of "v2"; single letters tell nothing.
_NAMES = re.compile(r"[^\W\d_]{2,}|\d+")


def keys(title: str, text: str) -> tuple[int, ...]:
    """The keys of a page, unsigned numbers of 64 bits; none if it is too short for a near copy.

    They hold for pages with the same title.
    """
    words = _words(text)
    if len(words) < SHORTEST:
        return ()
    distinct = "\n".join(set(words)).encode("utf-8", "replace").split(b"\n")
    # Five times as fast as a strong hash, and `is_copy` has the last word. Of several words in a
    # bin the last one stays: the lowest.
    bins = {number % _ALL: number for number in sorted(map(crc32, distinct), reverse=True)}
    lowest = [bins.get(each, 0) for each in range(_ALL)]
    named = title.encode("utf-8", "replace")
    return tuple(
        hash64(_PACKED.pack(*lowest[start : start + _BINS]) + named)
        for start in range(0, _ALL, _BINS)
    )


#: The share of words of a page that the page which it declares to be may lack.
_MOST_NEW = 0.1


def is_copy(text: str, url: str, other_text: str, other_url: str) -> bool:
    """Whether two pages of the same title say the same but for a few words here and there.

    They do not if a sentence is in one of them alone; if the same change was made again and again,
    as in pages of one template ("int" for "long"); or if a word that is in one of the URLs alone is
    in that text more often.
    """
    one, other = _words(text), _words(other_text)
    shorter, longer = sorted((len(one), len(other)))
    if shorter < max(SHORTEST, (1 - _MOST) * longer):
        return False
    missing, missing_there = _Missing(one, other), _Missing(other, one)
    return (
        missing.are_few
        and missing_there.are_few
        and not (missing.are_repeated and missing_there.are_repeated)
        and not _is_told(text, url, other_text, other_url)
    )


def has_all_of(text: str, other: str) -> bool:
    """Whether nearly all words of `other` are in `text`: who finds this one misses nothing."""
    words = set(_words(other))
    return len(words - set(_words(text))) <= _MOST_NEW * len(words)


def _words(text: str) -> list[str]:
    folded = text.casefold()
    if folded.isascii():
        return folded.split()
    # The few characters beyond ASCII of most texts are searched five times as fast as all.
    beyond = folded.encode("utf-8", "replace").translate(None, _ASCII).decode()
    return _WORDS.findall(folded) if _DENSE.search(beyond) else folded.split()


class _Missing:
    """The pairs of neighbouring words of a page that another lacks."""

    def __init__(self, words: Sequence[str], other: Sequence[str]) -> None:
        there = set(pairwise(other))
        pairs = list(pairwise(words))
        self._are_missing = [pair not in there for pair in pairs]
        self._pairs = list(compress(pairs, self._are_missing))

    @property
    def are_few(self) -> bool:
        """Whether they are few, and spread over the page."""
        if len(self._pairs) > _MOST * len(self._are_missing):
            return False
        before = list(accumulate(self._are_missing, initial=0))
        ends = zip(before, before[_WINDOW:], strict=False)
        return all(end - start <= _MOST_IN_WINDOW for start, end in ends)

    @property
    def are_repeated(self) -> bool:
        """Whether many of them are the same ones."""
        counts = Counter(self._pairs)
        repeated = sum(count for count in counts.values() if count > 1)
        return repeated > _REPEATED * counts.total()


def _is_told(text: str, url: str, other_text: str, other_url: str) -> bool:
    """Whether the texts differ in the words in which the URLs do."""
    apart = set(_names(unquote(url))) ^ set(_names(unquote(other_url)))
    if not apart:
        return False
    counts, others = Counter(_names(text)), Counter(_names(other_text))
    return any(
        abs(counts[word] - others[word]) > _TOLD * max(counts[word], others[word]) for word in apart
    )


def _names(text: str) -> Iterator[str]:
    return (match[0] for match in _NAMES.finditer(text.casefold()))
