"""Queries for tests of finders, from words."""

from typing import Any

from larbinpy.database.search.query import Item, Query
from larbinpy.database.search.segment import forms, parts

#: Languages of the pages in the database.
LANGUAGES = ("en", "de")


def item(text: str, field: str | None = None, *, common: bool = False) -> Item:
    """A word, a phrase of words between blanks, or the beginning of a word that ends in "*"."""
    plain = text.removesuffix("*")
    found = forms(plain, LANGUAGES, prefix=plain != text)
    return Item(text, found, field, common, parts(plain, LANGUAGES))


def query(*wanted: str | Item, **filters: Any) -> Query:
    """A query of words or items."""
    items = tuple(word if isinstance(word, Item) else item(word) for word in wanted)
    return Query(items, **filters)
