"""Conditions on the words of a page, as each kind of database compiles them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from larbinpy.database.tokens import whole_token
from larbinpy.search.query import Form, Item
from larbinpy.search.segment import tokens

#: Columns whose words say best what a page is about: its own title, and the links to it.
TITLES = ("title", "anchor")

#: Characters that are in no token. FTS5's tokenizer separates words at them; NUL would end its
#: expression, and databases take no text with half a surrogate pair.
_FOREIGN = re.compile(r"[\0-/:-@[-`{-\x7f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of the parts."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Within:
    """The words of `part` stand in these columns of the index."""

    columns: tuple[str, ...]
    part: "Condition"


Condition = AllOf | AnyOf | Within | Item


def essential(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items that decide, each once: those that are frequent everywhere only if all are."""
    usable = tuple(dict.fromkeys(item for item in items if item.forms))
    return tuple(item for item in usable if not item.common) or usable


def plain(form: Form) -> str:
    """The tokens of `form` between blanks, without what no segmenter gives."""
    return _FOREIGN.sub(" ", " ".join(form.tokens)).strip()


def has_prefix(items: Iterable[Item]) -> bool:
    """Whether there is the beginning of a word among `items`."""
    return any(form.prefix for item in items for form in item.forms)


def words(items: Iterable[Item]) -> tuple[Item, ...]:
    """The single words of `items`, each once; of phrases and of Chinese text, too."""
    found: dict[Item, None] = {}
    for item in items:
        # The form's tokens as the text: equal words are one, wherever they were typed.
        for part in item.parts:
            found[Item(" ".join(part.tokens), (part,), item.field)] = None
        if not item.parts:
            found[Item("", item.forms, item.field)] = None
    return tuple(found)


def titled(items: Iterable[Item]) -> Within | None:
    """All the items that may stand anywhere, in the title or the links to the page."""
    free = tuple(item for item in items if item.field is None)
    return Within(TITLES, AllOf(free)) if free else None


def named(items: Iterable[Item], languages: Iterable[str]) -> Within | None:
    """The words of `items` are the whole title, or the whole text of a link to the page."""
    text = " ".join(item.text for item in items if item.field is None)
    # As tokens.py makes them of titles and links; each language has its own.
    spellings = dict.fromkeys(tokens(text, lang) for lang in (None, *languages))
    forms = tuple(Form((whole_token(spelling),)) for spelling in spellings if spelling)
    return Within(TITLES, Item(text, forms)) if forms else None
