"""The places of a text at which it has the items of a query."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from larbinpy.search.forms import Form
from larbinpy.search.query import Item, Query
from larbinpy.search.segment import BIGRAM_LANGUAGES, LETTER, Kind, grams, kind_of, runs, words_of
from larbinpy.search.simplified import simplify
from larbinpy.search.stems import Vocabulary, vocabulary

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
    return sorted(_Text(text, lang).find(telling(query)))


def telling(query: Query) -> tuple[Item, ...]:
    """The items whose occurrences are shown."""
    return tuple(item for item in query.wanted if not item.common) or query.wanted


class _Text:
    def __init__(self, text: str, lang: str | None) -> None:
        #: As long as the text itself.
        self._text = simplify(_lower(text))
        self._words: Vocabulary = vocabulary(lang)
        self._is_dense = lang in BIGRAM_LANGUAGES
        self._distinct: dict[str, tuple[str, ...]] | None = None

    def find(self, items: Iterable[Item]) -> Iterator[Occurrence]:
        for number, item in enumerate(items):
            if item.field == "url":
                continue
            literal = _literal(item.text)
            hits = [] if literal else self._phrases(item.forms)
            if not hits and (literal or self._is_dense):
                literal = literal or _Literal(tuple(runs(item.text)), (), ())
                hits = self._whole(literal.runs)
            if hits:
                yield from (Occurrence(start, end, (number, ""), 1.0) for start, end in hits)
            elif literal:
                yield from self._parts(number, literal)

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
        return sorted(hits)

    def _starts(self, form: Form) -> list[tuple[int, int]]:
        """Places of words whose token is the first of `form`."""
        is_beginning = form.prefix and len(form.tokens) == 1
        first = form.tokens[0] if form.tokens else ""
        places: list[tuple[int, int]] = []
        for word, own in self._vocabulary().items():
            if own[0] == first or (is_beginning and own[0].startswith(first)):
                places += [place for place in self._places(word) if self._is_word(*place)]
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

    def _is_word(self, start: int, end: int) -> bool:
        """Whether no letter stands before and after."""
        around = self._text[max(0, start - 1) : start], self._text[end : end + 1]
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
    found = tuple(runs(text))
    kinds = list(map(kind_of, found))
    if all(kind is Kind.WORD for kind in kinds):
        return None
    parts: dict[str, None] = {}
    words: dict[str, None] = {}
    for run, kind in zip(found, kinds, strict=True):
        if kind is not Kind.WORD:
            size = 3 if kind is Kind.TRIGRAM else 2
            own = [gram for gram in grams(run) if len(gram) == min(size, len(run))]
            own = [gram for gram in own if not gram.startswith(LETTER)]
            parts.update(dict.fromkeys(own))
        words.update(dict.fromkeys(words_of(run)))
    return _Literal(found, tuple(parts), tuple(words))
