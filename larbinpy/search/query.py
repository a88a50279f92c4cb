"""The query language: what a user typed, as values that each database compiles to its own."""

from dataclasses import dataclass
from typing import NamedTuple


class Form(NamedTuple):
    """Tokens that stand one after the other in the index."""

    tokens: tuple[str, ...]
    #: The last token is the beginning of a word.
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A word, a phrase or the beginning of a word. A page has it if it has any of its forms."""

    #: As typed, without operators.
    text: str
    #: Alternatives: the stems that the word has in the languages of the database.
    forms: tuple[Form, ...]
    #: "title" for intitle:, "url" for inurl:, else None: anywhere.
    field: str | None = None
    #: So frequent that it is left out if others remain (stop words).
    common: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A query: a page is found if it has all `wanted` and none of `unwanted`."""

    wanted: tuple[Item, ...] = ()
    unwanted: tuple[Item, ...] = ()
    #: Host, or domain with all its hosts, in lower case.
    site: str | None = None
    lang: str | None = None
    #: Media type, or its last part: "application/pdf", "pdf".
    type: str | None = None
    #: Fetched at or after this time, ISO 8601.
    since: str | None = None
    #: Hints for the user: operators that were taken as words, text that was cut.
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing."""
        return not (self.wanted or self.site or self.lang or self.type or self.since)
