"""The query language: what a user typed, as values that each database compiles to its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from larbinpy.search.forms import Form, forms, parts
from larbinpy.search.operators import host_of, language_of, since_of, type_of
from larbinpy.search.stop_words import is_stop_word

__all__ = ["Form", "Item", "Query", "parse"]

#: Characters and items of a query that are read.
LONGEST = 1000
MOST = 32


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
    #: Single tokens to rank pages by if none has all items: the bigrams of Chinese text, the
    #: words of os.path.join. Empty: the forms themselves.
    parts: tuple[Form, ...] = ()


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


#: An optional minus, an optional operator, and a phrase in quotes (the last may lack its end) or
#: what stands until the next blank.
_TERM = re.compile(
    r"""(?P<minus>-?)(?:(?P<name>[a-z]+)[:：])?(?:["“”„«»＂](?P<phrase>[^"“”„«»＂]*)["“”„«»＂]?"""
    r"""|(?P<word>[^\s"“”„«»＂]+))""",
    re.IGNORECASE,
)
_FILTERS = {"site": host_of, "lang": language_of, "type": type_of}
#: Between words that are looked for separately; other punctuation within a word, as in
#: os.path.join and C/C++, makes a phrase of it.
_BETWEEN = re.compile(
    r"[,;!?()\[\]{}<>|=、。，．；：？！（）［］｛｝「」『』《》〈〉【】〔〕…\x00-\x1f]+"
)
_FIELDS = {"intitle": "title", "inurl": "url"}
#: Operators of other engines.
_FOREIGN = re.compile(r"(?<!\S)(?:AND|OR|NOT|NEAR)(?!\S)")


@dataclass(slots=True)
class _Draft:
    wanted: list[Item] = field(default_factory=list)
    unwanted: list[Item] = field(default_factory=list)
    filters: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def query(self) -> Query:
        query = Query(tuple(self.wanted), tuple(self.unwanted), notes=tuple(self.notes))
        return replace(query, **self.filters)  # type: ignore[arg-type]


def parse(text: str, languages: Sequence[str], now: float) -> Query:
    """Read what a user typed. Any text is a query; oddities are said in its `notes`.

    `languages` of the database's pages, ISO 639-1, the most frequent first; `now` in seconds since
    1970, from which since:7d counts.
    """
    draft = _Draft()
    if len(text) > LONGEST:
        text = text[:LONGEST]
        draft.notes.append(f"only the first {LONGEST} characters were read")
    for foreign in dict.fromkeys(_FOREIGN.findall(text)):
        draft.notes.append(f"{foreign} is a word here; pages have all words of a query")
    for term in _TERM.finditer(text):
        if len(draft.wanted) + len(draft.unwanted) >= MOST:
            draft.notes.append(f"only the first {MOST} words were read")
            break
        _read(term, languages, now, draft)
    return draft.query()


def _read(term: re.Match[str], languages: Sequence[str], now: float, draft: _Draft) -> None:
    minus, name = bool(term["minus"]), (term["name"] or "").lower()
    phrase, word = term["phrase"], term["word"] or ""
    value = phrase if phrase is not None else word
    if name == "since" or name in _FILTERS:
        _filter(name, value.strip(), minus, now, draft)
        return
    column = _FIELDS.get(name)
    if name and column is None:
        value = f"{name}:{value}"
    items = draft.unwanted if minus else draft.wanted
    if phrase is not None:
        _add(items, Item(value.strip(), forms(value, languages), column))
        return
    # A minus belongs to all of the word: -C/C++.
    for each in [value] if minus else _BETWEEN.split(value):
        text = each.strip("*")
        prefix = each.endswith("*")
        common = not prefix and column is None and is_stop_word(text, languages)
        found = forms(text, languages, prefix)
        _add(items, Item(each, found, column, common, parts(text, languages)))


def _add(items: list[Item], item: Item) -> None:
    if item.forms and item not in items:
        items.append(item)


def _filter(name: str, value: str, minus: bool, now: float, draft: _Draft) -> None:
    if minus and name == "site":
        host = host_of(value)
        found = forms(host, ()) if host else ()
        _add(draft.unwanted, Item(f"site:{value}", found, "url"))
    elif minus:
        draft.notes.append(f"-{name}: is not known; it was left out")
    else:
        read = since_of(value, now) if name == "since" else _FILTERS[name](value)
        if read is None:
            draft.notes.append(f"{name}:{value} is not known; it was left out")
        else:
            if draft.filters.get(name, read) != read:
                draft.notes.append(f"only the last {name}: counts")
            draft.filters[name] = read
