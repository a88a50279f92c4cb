"""A content database of any kind: where it is, its answers, its index and its tables.

A database is a file, or mysql://[USER@]HOST[:PORT]/NAME. `AllOf`, `AnyOf` and `Within` are
conditions on the words of a page, which each kind compiles to its own language.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol, Self

from larbinpy.database.preparation import Difference, signed_hash, whole_token
from larbinpy.database.search.query import Form, Item, Query
from larbinpy.database.search.segment import tokens
from larbinpy.errors import UserError

#: Columns of the index, and their weights in the ranking. The main text comes first: FTS5 writes
#: two bytes for each word of a page in any other column.
WEIGHTS = {"body": 1.0, "title": 5.0, "heading": 2.0, "anchor": 3.0, "url": 1.0, "rest": 0.1}
FIELDS = tuple(WEIGHTS)

#: Tokens of a page, a string for each of `FIELDS`.
Tokens = tuple[str, ...]


def joined(tokens: Mapping[str, str], anchors: str) -> Tokens:
    """The tokens of a prepared page, with those of the links to it."""
    return tuple(anchors if name == "anchor" else tokens.get(name, "") for name in FIELDS)


def fingerprint(tokens: Tokens) -> int:
    """The number that stands for these tokens in `page.indexed`."""
    return signed_hash("\0".join(tokens))


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


class DatabaseError(UserError):
    """The database cannot be used; the message is one line and says what to do."""


class NotOurs(DatabaseError):
    """The database is another program's, or of another version, or damaged."""


class Unavailable(DatabaseError):
    """The database cannot be used now, but may be later: full disk, server down, locked."""


#: Version of the tables. Those from `OLDEST` on are read as they are, and a writer makes them of
#: this version: 6 has the table `difference`.
FORMAT = 6
OLDEST = 5


def check_format(where: object, version: int) -> None:
    """Raise `NotOurs` if the tables of `where` are of a version that cannot be read."""
    if not OLDEST <= version <= FORMAT:
        age = "a newer larbinpy" if version > FORMAT else "an older larbinpy"
        raise NotOurs(f"{where}: made by {age} (format {version}, not {FORMAT}); fill a new one")


#: How the address of a database on a server begins.
_SERVERS = ("mysql://", "mariadb://")

_ADDRESS = re.compile(
    r"(?:mysql|mariadb)://(?:(?P<user>[^@/:]*)@)?(?P<host>[\w.-]+|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>\d{1,5}))?/(?P<name>[\w$-]+)",
    re.ASCII | re.IGNORECASE,
).fullmatch


def is_server(where: str) -> bool:
    """Whether `where` names a database server, not a file."""
    return where.lower().startswith(_SERVERS)


def require(where: str) -> None:
    """Raise DatabaseError if the package that speaks with its server is not installed."""
    if is_server(where) and find_spec("pymysql") is None:
        hint = "install it: pip install 'larbinpy[mysql]'"
        raise DatabaseError(f"{where}: PyMySQL is not installed; {hint}")


class Address(NamedTuple):
    """Where a database on a server is."""

    user: str | None
    host: str
    #: None: that of the server's socket, or the usual one.
    port: int | None
    name: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Raises `DatabaseError`, which does not show a password."""
        match = _ADDRESS(text)
        if match is not None:
            port = int(match["port"]) if match["port"] else None
            return cls(match["user"] or None, match["host"].strip("[]"), port, match["name"])
        if "@" in text and ":" in text.partition("://")[2].rpartition("@")[0]:
            hint = "put it into ~/.my.cnf, under [client], as password=..."
            raise DatabaseError(f"a password in the URL of a database could be seen; {hint}")
        shown = text.partition("?")[0]
        raise DatabaseError(f"{shown[:60]!r} is not mysql://[USER@]HOST[:PORT]/NAME")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        return f"mysql://{host}{port}/{self.name}"


@dataclass(slots=True, frozen=True)
class Wish:
    """The hits of a query that are wanted, and their order."""

    #: Hits on a page, and the number of the page, from 1.
    n: int = 10
    page: int = 1
    #: "rank" or "date", the newest first.
    sort: str = "rank"
    #: Whether to count the hits by site, language, type and date.
    facets: bool = False
    #: Seconds after which the search is cut.
    limit: float = 1.0


@dataclass(slots=True)
class Hit:
    url: str
    title: str
    score: float
    lang: str | None
    fetched: str
    type: str = ""
    published: str | None = None
    #: The passage, and the ranges of its characters that are hits.
    snippet: str = ""
    marks: list[tuple[int, int]] = field(default_factory=list)
    #: By which hits are sorted, newest first.
    date: str = ""

    def fields(self) -> dict[str, Any]:
        """The hit as `larbinpy search --json` and /search.json give it."""
        return {
            "url": self.url,
            "title": self.title,
            "snippet": self.snippet,
            "marks": self.marks,
            "score": self.score,
            "lang": self.lang,
            "fetched": self.fetched,
        }


@dataclass(slots=True)
class Found:
    """The answer to a query."""

    hits: list[Hit] = field(default_factory=list)
    #: Number of pages found; if `cut`, at least so many.
    total: int = 0
    #: The search was cut: only a part of the pages was ranked.
    cut: bool = False
    #: No page has all words: the hits have most of them, without these words.
    missing: list[str] = field(default_factory=list)
    #: The query with words of the database in place of those that no page has; empty for none.
    instead: str = ""
    #: Counts by host, by language and by media type, the largest first.
    sites: list[tuple[str, int]] = field(default_factory=list)
    langs: list[tuple[str, int]] = field(default_factory=list)
    types: list[tuple[str, int]] = field(default_factory=list)
    #: Counts of the pages that were fetched since then: values of since:, the latest first.
    since: list[tuple[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(slots=True)
class Stored:
    """All that the database has of one page."""

    #: Columns of the table `page` by name, host as its name, other pages as their URLs; and copy:
    #: "text", "canonical", "near" or None.
    columns: dict[str, Any]
    text: str
    #: rest, headings, images, links, headers, facts, as in the schema; markdown, if it has some.
    more: dict[str, Any]
    anchors: list[str] = field(default_factory=list)

    @property
    def change_interval(self) -> float | None:
        """Seconds between two changes of its text, as estimated; None if it is not known."""
        observed, exposure = self.columns.get("observed"), self.columns.get("exposure")
        return exposure / observed if observed and exposure else None


class Change(NamedTuple):
    #: ISO 8601.
    at: str
    url: str
    #: new, changed, gone, back or moved.
    kind: str
    #: The title of the page as it is stored.
    title: str = ""
    #: URL that it redirected to when it had moved.
    target: str | None = None


class Salvaged(NamedTuple):
    """The pages that were taken out of a damaged database."""

    pages: int
    #: Of these, the ones without their text, or without what is stored beside it.
    cut: int
    #: Pages that are known by their numbers alone.
    lost: int


#: Filters nothing.
NOTHING = Query()


class Finder(Protocol):
    """Answers questions from a database, or from several as one; it reads only."""

    def languages(self) -> Sequence[str]:
        """Languages of the database's pages, the most frequent first."""

    def search(self, query: Query, wish: Wish) -> Found:
        """Find pages. Raises `DatabaseError`; never an error because of the query's text."""

    def show(self, url: str) -> Stored | None:
        """The page of `url`, also a gone one; None if it is not in the database."""

    def fetched(self, url: str) -> str | None:
        """When the page of a canonical URL was fetched last, ISO 8601."""

    def body(self, url: str) -> bytes | None:
        """The body of a page as it came, if keepBodies was set."""

    def history(self, url: str) -> list[Change]:
        """The changes of one page, the oldest first."""

    def changes(self, since: str) -> Iterator[Change]:
        """Changes at or after a time, ISO 8601, the oldest first."""

    def difference(self, change: Change) -> Difference | None:
        """What went and what came with a change of a text; None if that is not known."""

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        """`n` changes, the newest first, after the first `skip`."""

    def pages(self, query: Query = NOTHING) -> Iterator[Stored]:
        """All pages that are not gone and pass the filters of `query`, in the order of their
        rows."""

    def counts(self) -> dict[str, int]:
        """pages, gone, hosts, bytes on the disk."""

    def close(self) -> None: ...


class Tables(Protocol):
    """A connection to the tables, in the SQL of SQLite, with "?" for arguments.

    An answer is iterable, and has fetchone(), fetchall(), lastrowid and rowcount.
    """

    def execute(self, statement: str, arguments: Sequence[Any] = (), /) -> Any: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Any: ...


class Index(Protocol):
    """The changes of the full-text index in one transaction."""

    def put(self, page: int, tokens: Tokens) -> None:
        """Add a page that is not in the index, or that was dropped from it."""

    def drop(self, page: int, indexed: int) -> bool:
        """Remove a page, whose `page.indexed` is given; call it before its texts change.

        False: it cannot be removed. The number of the page stays taken in the index.
        """

    def put_with_anchors(self, page: int, anchors: str) -> int:
        """Add a dropped page again, with other tokens of links; return its fingerprint."""

    def apply(self) -> None:
        """Write the changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """The tables and the index, until there is an error; another object is another connection."""

    base: Tables
    index: Index
    #: See `writing.anchors`; two processes must not have the same.
    seat: int = 0


#: Called with what is done now, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]
