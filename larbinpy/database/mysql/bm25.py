"""The score of a page, from its words: BM25 as FTS5 computes it, over weighted columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from larbinpy.database.conditions import AllOf, AnyOf, Condition, Within
from larbinpy.database.fields import WEIGHTS
from larbinpy.database.mysql.match import columns_of, words_of
from larbinpy.search.query import Form, Item

_K1, _B = 1.2, 0.75
#: The weight of words that most pages have.
_LEAST = 1e-6

#: The weights of terms.
Weights = Mapping["Term", float]
#: The words of a page by column.
Columns = Mapping[str, Sequence[str]]


class Term(NamedTuple):
    """A form of a word, and the columns it may stand in; none: all."""

    form: Form
    columns: tuple[str, ...]

    def item(self) -> Item:
        """The condition that a page has it."""
        item = Item("", (self.form,))
        return item if len(self.columns) != 1 else Item("", (self.form,), self.columns[0])

    def condition(self) -> Condition:
        return Within(self.columns, Item("", (self.form,))) if self.columns else self.item()

    def frequency(self, page: Columns) -> float:
        """Its frequency in a page, by the weights of the columns."""
        words = next(iter(words_of(self.form, ())), [])
        return sum(
            WEIGHTS[name] * occurrences(words, page[name], is_prefix=self.form.prefix)
            for name in self.columns or WEIGHTS
        )


def terms(condition: Condition, columns: tuple[str, ...] = ()) -> Iterator[Term]:
    """All the forms in a condition."""
    match condition:
        case Item():
            within = tuple(columns_of(condition, columns))
            yield from (Term(form, within) for form in condition.forms)
        case Within(within, part):
            yield from terms(part, within)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from terms(part, columns)


def occurrences(words: Sequence[str], column: Sequence[str], *, is_prefix: bool) -> int:
    """The number of times that the phrase `words` stands in a column."""
    if not words:
        return 0
    if len(words) == 1:
        (word,) = words
        if is_prefix:
            return sum(other.startswith(word) for other in column)
        return column.count(word)
    found = 0
    start = -1
    *first, last = words
    for _ in range(column.count(words[0])):
        start = column.index(words[0], start + 1)
        end = start + len(first)
        if end < len(column) and list(column[start:end]) == first:
            found += column[end].startswith(last) if is_prefix else column[end] == last
    return found


def found(
    condition: Condition, page: Columns, columns: tuple[str, ...] = ()
) -> list[tuple[Term, float]]:
    """The terms by which a page matches, and how often it has them; none if it does not match.

    A term in two alternatives counts for each of them that the page matches.
    """
    match condition:
        case Item():
            often = [(term, term.frequency(page)) for term in terms(condition, columns)]
            return [pair for pair in often if pair[1]]
        case Within(within, part):
            return found(part, page, within)
        case AllOf(parts):
            each = [found(part, page, columns) for part in parts]
            return [pair for pairs in each for pair in pairs] if all(each) else []
        case AnyOf(parts):
            return [pair for part in parts for pair in found(part, page, columns)]


def score(frequencies: Iterable[tuple[Term, float]], weights: Weights, length: float) -> float:
    """The score of a page: how often it has each term, the terms' weights, and the number of its
    words as a share of that of a mean page."""
    return sum(
        weights[term] * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * length))
        for term, often in frequencies
    )


def weight(pages: int, having: int) -> float:
    """The weight of a term that `having` of all `pages` have."""
    value = log((pages - having + 0.5) / (having + 0.5)) if having <= pages else 0.0
    return value if value > 0 else _LEAST
