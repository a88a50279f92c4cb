"""The passage of a stored text that shows the hits of a query, and the places where it has them."""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from larbinpy.database.search.query import Item, Query
from larbinpy.database.search.segment import (
    BIGRAM_LANGUAGES,
    CJK,
    LETTER,
    MARKS,
    PLAIN,
    Form,
    RunKind,
    Vocabulary,
    alike,
    beside,
    grams,
    kind_of,
    plain,
    runs,
    simplify,
    tokens,
    vocabulary,
    within,
    words_of,
)

#: Occurrences of one word or bigram that are looked for.
_MOST = 100


class Occurrence(NamedTuple):
    """A range of characters that an item of the query has found."""

    start: int
    end: int
    #: The item, and the part of it if the text does not have it as a whole.
    key: tuple[int, str]
    #: The share that the part has of its item.
    weight: float


def says(text: str, typed: str) -> bool:
    """Whether a page's `text` has the words that were `typed`, in this form and order.

    Case does not count, and signs do where they were typed.
    """
    if typed.isascii():
        return _stands(typed.lower(), text.lower()) or (
            not text.isascii() and f" {tokens(typed, None)} " in f" {tokens(text, None)} "
        )
    return f" {' '.join(runs(typed))} " in f" {' '.join(runs(text))} "


def _stands(words: str, text: str) -> bool:
    """Whether ASCII `words` stand in `text`, with no letter or digit around and between them."""
    parts = runs(words)
    if not parts or not all(part in text for part in parts):
        return False
    # C++17 has C++ without a blank behind it.
    ends = [r"[^\w+#]*" if part[-1] in "+#" else r"[^\w+#]+" for part in parts[:-1]]
    ends.append("" if parts[-1][-1] in "+#" else r"(?!\w)")
    pattern = "".join(re.escape(part) + end for part, end in zip(parts, ends, strict=True))
    return bool(re.search(rf"(?<!\w){pattern}", text))


def rests(text: str, item: Item, lang: str | None) -> Iterator[list[str]]:
    """Yield the rest of each compound with the word of `item` that a page's `text` has."""
    words = vocabulary(lang)
    stem = words[item.text]
    for word in set(words_of(_lower(text))):
        if len(word) > len(stem) and (found := beside(words[word], stem)):
            yield found


class _Literal(NamedTuple):
    """An item that is found by its characters."""

    runs: tuple[str, ...]
    #: Bigrams, trigrams or single characters.
    grams: tuple[str, ...]
    #: The words in it.
    words: tuple[str, ...]


def find(text: str, query: Query, lang: str | None) -> list[Occurrence]:
    """The occurrences of `query` in `text`, a page's in `lang`, sorted; some overlap.

    Frequent words are none, unless there are no others.
    """
    narrow, places = _narrow(text)
    found = sorted(_Text(narrow, lang).find(telling(query)))
    if not places:
        return found
    return [
        hit._replace(
            start=hit.start + bisect_right(places, hit.start),
            end=hit.end + bisect_right(places, hit.end),
        )
        for hit in found
    ]


def telling(query: Query) -> tuple[Item, ...]:
    """The items whose occurrences are shown."""
    return tuple(item for item in query.wanted if not item.common) or query.wanted


#: Letters and digits of full width, and kana of half width, which have their marks behind them.
_WIDE = re.compile("[\uff66-\uff9d][\uff9e\uff9f]?|[\uff01-\uff5e]")


def _narrow(text: str) -> tuple[str, list[int]]:
    """`text` in characters of the usual widths, and the places in it before which it lost one."""
    if not _WIDE.search(text):
        return text, []
    places: list[int] = []

    def usual(found: re.Match[str]) -> str:
        made = unicodedata.normalize("NFKC", found[0])
        if len(made) < len(found[0]):
            places.append(found.start() - len(places) + 1)
        return made

    return _WIDE.sub(usual, text), places


class _Text:
    def __init__(self, text: str, lang: str | None) -> None:
        self._alike = alike(text)
        #: As long as the text itself.
        self._text = simplify(_lower(self._alike))
        self._lang = lang
        self._words: Vocabulary = vocabulary(lang)
        self._is_dense = lang in BIGRAM_LANGUAGES
        self._distinct: dict[str, tuple[str, ...]] | None = None
        self._inner: dict[str, list[tuple[int, int]]] | None = None

    def find(self, items: Iterable[Item]) -> Iterator[Occurrence]:
        numbered = ((number, each) for number, item in enumerate(items) for each in item.each)
        for number, item in numbered:
            if item.field == "url":
                continue
            literal = _literal(item.text)
            hits = [] if literal else self._phrases(item.forms)
            if not hits and item.compounds:
                hits = self._compounds(item)
            if not hits and (literal or self._is_dense):
                literal = literal or _Literal(tuple(runs(item.text)), (), ())
                hits = self._whole(literal.runs)
            if hits:
                yield from (Occurrence(start, end, (number, ""), 1.0) for start, end in hits)
            elif literal:
                yield from self._parts(number, literal)

    def _compounds(self, item: Item) -> list[tuple[int, int]]:
        """The places of words of which a word is a part."""
        stem = self._words[item.text]
        long = (word for word, own in self._vocabulary().items() if beside(own[0], stem))
        return sorted(place for word in long for place in filter(self._is_word, self._places(word)))

    def _whole(self, found: tuple[str, ...]) -> list[tuple[int, int]]:
        """The places where the runs stand one after the other, with little between them."""
        hits = self._places(found[0]) if found else []
        for run in found[1:]:
            next_hits = []
            for start, end in hits:
                at = self._text.find(run, end, end + len(run) + 4)
                if at >= 0:
                    next_hits.append((start, at + len(run)))
            hits = next_hits
        return hits

    def _parts(self, number: int, literal: _Literal) -> Iterator[Occurrence]:
        weight = 1 / max(1, len(literal.grams) + len(literal.words))
        for gram in literal.grams:
            for start, end in self._places(gram):
                yield Occurrence(start, end, (number, gram), weight)
        for word in literal.words:
            for start, end in self._phrases((Form(tuple(self._words[word].split())),)):
                yield Occurrence(start, end, (number, word), weight)

    def _places(self, part: str) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = []
        at = self._text.find(part)
        while at >= 0 and len(places) < _MOST:
            places.append((at, at + len(part)))
            at = self._text.find(part, at + len(part))
        return places

    def _phrases(self, forms: Iterable[Form]) -> list[tuple[int, int]]:
        """The places where the tokens of one of `forms` stand one after the other."""
        hits = {
            (start, last)
            for form in forms
            for start, end in self._starts(form)
            if (last := self._after(start, end, form))
        }
        return sorted(hits or (place for form in forms for place in self._within(form)))

    def _within(self, form: Form) -> list[tuple[int, int]]:
        """Places of words that stand within others, or have signs, if `form` is such a word."""
        if len(form.tokens) != 1:
            return []
        if self._inner is None:
            self._inner = defaultdict(list)
            for start, end, word in within(self._alike):
                self._inner[tokens(word, self._lang)].append((start, end))
            if self._words.keeps_accents:
                for word in self._vocabulary():
                    self._inner[PLAIN + plain(word)] += filter(self._is_word, self._places(word))
        (token,) = form.tokens
        if not form.prefix:
            return self._inner.get(token, [])
        return [
            place for own, all_ in self._inner.items() if own.startswith(token) for place in all_
        ]

    def _starts(self, form: Form) -> list[tuple[int, int]]:
        """Places of words whose token is the first of `form`."""
        is_beginning = form.prefix and len(form.tokens) == 1
        first = form.tokens[0] if form.tokens else ""
        places: list[tuple[int, int]] = []
        for word, own in self._vocabulary().items():
            if own[0] == first or (is_beginning and own[0].startswith(first)):
                places += filter(self._is_word, self._places(word))
        return places

    def _after(self, start: int, end: int, form: Form) -> int:
        """The end of the form that begins with the word from `start` to `end`; 0 if it does not
        stand there."""
        left = list(form.tokens)
        distinct = self._vocabulary()
        while True:
            own = distinct.get(self._text[start:end], ())
            for token in own:
                if not left:
                    break
                wanted = left.pop(0)
                last = not left and form.prefix
                if token != wanted and not (last and token.startswith(wanted)):
                    return 0
            if not left:
                return end
            following = words_of(self._text[end : end + 80])
            if not own or not following:
                return 0
            start = self._text.find(following[0], end)
            end = start + len(following[0])

    def _is_word(self, place: tuple[int, int]) -> bool:
        """Whether no letter stands before and after."""
        start, end = place
        after = "" if self._text[end - 1] in "+#" else self._text[end : end + 1]
        around = self._text[max(0, start - 1) : start], after
        return not any(char and words_of(char) for char in around)

    def _vocabulary(self) -> dict[str, tuple[str, ...]]:
        """The words of the text, as they stand there, with their tokens."""
        if self._distinct is None:
            found = set(words_of(self._text))
            pairs = ((word, tuple(self._words[word].split())) for word in found)
            self._distinct = {word: own for word, own in pairs if own}
        return self._distinct


def _lower(text: str) -> str:
    """`text` in lower case, each character in its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


@lru_cache(64)
def _literal(text: str) -> _Literal | None:
    """The item as it is found by its characters; None if it is words."""
    # Texts have the vowel of Thai and Lao as one character, which is two when it is normal.
    found = tuple(each.replace("\u0e4d\u0e32", "\u0e33") for each in runs(text))
    found = tuple(each.replace("\u0ecd\u0eb2", "\u0eb3") for each in found)
    kinds = list(map(kind_of, found))
    if all(kind is RunKind.WORD for kind in kinds):
        return None
    parts: dict[str, None] = {}
    words: dict[str, None] = {}
    for run, kind in zip(found, kinds, strict=True):
        if kind is not RunKind.WORD:
            size = 3 if kind is RunKind.TRIGRAM else 2
            own = [gram for gram in grams(run) if len(gram) == min(size, len(run))]
            own = [gram for gram in own if not gram.startswith(LETTER)]
            parts.update(dict.fromkeys(own))
        words.update(dict.fromkeys(words_of(run)))
    return _Literal(found, tuple(parts), tuple(words))


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
