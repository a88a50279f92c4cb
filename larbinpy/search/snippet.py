"""The passage of a stored text that shows the hits of a query."""

import re
from collections.abc import Iterable, Iterator, Sequence

from larbinpy.search.characters import CJK, MARKS
from larbinpy.search.occurrences import Occurrence, find, telling
from larbinpy.search.query import Query

#: A range of characters.
Mark = tuple[int, int]

#: A text is read in pieces of so many characters, until one has all items, and no more of them.
_PIECE = 30_000
_PIECES = 8

_CJK = re.compile(f"[{CJK}]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
#: A sentence or a block begins after it.
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？；][”’」』）]*|\n\s*")
_CLAUSE = re.compile(r"[，、：,;:]\s*|\s+")
_INDENT = re.compile(r"\n +")
_COMBINING = re.compile(f"[{MARKS}\u200d\ufe0f]+")


def snippet(
    text: str, query: Query, lang: str | None = None, length: int = 200
) -> tuple[str, list[Mark]]:
    """The passage of about `length` characters (of Chinese, 0.6 of them) with most of the query's
    words, and the ranges of its characters that are hits, sorted and without overlaps.

    `lang` is the page's, in whose way `text` was made tokens. Without hits, the passage is the
    beginning of `text`. Line breaks and control characters are blanks in it.
    """
    text = _INDENT.sub("\n", text[: _PIECE * _PIECES + length]).lstrip()
    hits: list[Occurrence] = []
    number = len(telling(query))
    at = 0
    for piece in range(_PIECES):
        start = piece * _PIECE
        if start and start >= len(text):
            break
        found = find(text[start : start + _PIECE + length], query, lang)
        if len(_keys(found)) > len(_keys(hits)):
            hits, at = found, start
        if len({key[0] for key in _keys(hits)}) >= number:
            break
    text = text[at : at + _PIECE + length]
    if len(_CJK.findall(text[:200])) > 60:
        length = length * 3 // 5
    shown = _best(hits, length)
    first, last = (shown[0].start, max(hit.end for hit in shown)) if shown else (0, 0)
    start = _beginning(text, first, max(0, last - length), length)
    end = _end(text, max(last, start), start + length)
    return _passage(text, start, end, hits)


def pieces(text: str, marks: Iterable[Mark]) -> Iterator[tuple[str, bool]]:
    """The pieces of `text`, each with whether it is marked.

    Marks that overlap others, or are no ranges of `text`, are left out.
    """
    at = 0
    for start, end in sorted(tuple(mark) for mark in marks):
        if at <= start < end <= len(text):
            yield text[at:start], False
            yield text[start:end], True
            at = end
    yield text[at:], False


def _keys(hits: Sequence[Occurrence]) -> set[tuple[int, str]]:
    return {hit.key for hit in hits}


def _best(hits: Sequence[Occurrence], length: int) -> Sequence[Occurrence]:
    """The neighbours within `length` characters that have most of the query; the first such."""
    best: tuple[float, int, int] = (0.0, 0, 0)
    counts: dict[tuple[int, str], int] = {}
    weight = 0.0
    left = 0
    for right, hit in enumerate(hits):
        weight += 0 if counts.get(hit.key) else hit.weight
        counts[hit.key] = counts.get(hit.key, 0) + 1
        while hit.end - hits[left].start > length and left < right:
            gone = hits[left]
            counts[gone.key] -= 1
            weight -= 0 if counts[gone.key] else gone.weight
            left += 1
        # More of them is better, but less so than others.
        score = weight + min(right - left, 9) / 100
        if score > best[0] + 1e-9:
            best = score, left, right + 1
    return hits[best[1] : best[2]]


def _beginning(text: str, first: int, least: int, length: int) -> int:
    """The beginning of a passage whose first hit is at `first`: that of its sentence if it is near,
    else of a clause or word; not before `least`."""
    least = max(least, first - length // 2)
    if least <= 0:
        return 0
    for boundary in (_SENTENCE, _CLAUSE):
        starts = [match.end() for match in boundary.finditer(text, least, first)]
        if starts:
            return starts[0]
    # In the middle of a long word, or of Chinese without punctuation.
    return max(least, first - length // 6)


def _end(text: str, least: int, most: int) -> int:
    """The end of a passage that goes on to `most` at the most: that of a sentence or a word."""
    if most >= len(text):
        return len(text)
    ends = [match.end() for match in _SENTENCE.finditer(text, least, most)]
    if ends and ends[-1] > most - (most - least) // 3:
        return ends[-1]
    ends = [match.start() for match in _CLAUSE.finditer(text, least, most + 1)]
    end = ends[-1] if ends else most
    marks = _COMBINING.match(text, end)
    return min(marks.end(), end + 8) if marks else end


def _passage(text: str, start: int, end: int, hits: Sequence[Occurrence]) -> tuple[str, list[Mark]]:
    shown = text[start:end]
    start += len(shown) - len(shown.lstrip())
    shown = _CONTROL.sub(" ", shown.strip())
    end = start + len(shown)
    before = "… " if start and not _SENTENCE.fullmatch(text, start - 1, start) else ""
    after = " …" if end < len(text.rstrip()) and not _SENTENCE.match(text, end - 1) else ""
    shift = len(before) - start
    marks: list[Mark] = []
    for hit in hits:
        if hit.start < start or hit.end > end:
            continue
        if marks and hit.start + shift <= marks[-1][1]:
            marks[-1] = marks[-1][0], max(marks[-1][1], hit.end + shift)
        else:
            marks.append((hit.start + shift, hit.end + shift))
    return before + shown + after, marks
