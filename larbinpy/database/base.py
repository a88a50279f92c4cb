"""A content database of any kind: where it is, its answers, its index, its tables and its rows.

A database is a file, or mysql://[USER@]HOST[:PORT]/NAME. `AllOf`, `AnyOf` and `Within` are
conditions on the words of a page, which each kind compiles to its own language. What is stored of
a page is read again from `Rows`, and the filters of a query are conditions on the table `page`: the
SQL is the same for all kinds.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, groupby
from typing import Any, NamedTuple, Protocol, Self

from larbinpy.database.preparation import (
    Difference,
    Packed,
    signed_hash,
    unpacked_markdown,
    whole_token,
)
from larbinpy.database.search.fingerprint import KEYS
from larbinpy.database.search.query import Form, Item, Query
from larbinpy.database.search.segment import tokens
from larbinpy.errors import UserError
from larbinpy.url import split, typed

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
    for item in chain.from_iterable(item.each for item in items):
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


#: Runs a statement with "?" for its arguments.
Rows = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]

#: The columns of `page` that `Stored` has, apart from host, same_as, near, and copy.
_COLUMNS = (
    *("url", "status", "type", "charset", "lang", "title", "site_name", "author", "summary"),
    *("published", "modified", "image", "canonical", "comments", "clicks", "size", "depth"),
    *("via", "fetched", "first_seen", "changed", "visits", "changes", "etag", "last_modified"),
    *("missing", "moved_to", "gone", "due", "observed", "exposure"),
)
#: Whether a page has a key of near copies in common with the page that it is a copy of.
_HAS_ITS_KEY = " OR ".join(f"original.near{each} = page.near{each}" for each in range(1, KEYS + 1))
STORED = (
    f"SELECT page.id, {', '.join(f'page.{column}' for column in _COLUMNS)}, host.name, "
    f"original.url, original.text_hash = page.text_hash, {_HAS_ITS_KEY}, marked.url, "
    "content.text, content.text_size, content.more, content.more_size, "
    "host.sample, host.sample_size, content.anchors "
    "FROM page LEFT JOIN host ON host.id = page.host "
    "LEFT JOIN page AS original ON original.id = page.same_as "
    "LEFT JOIN page AS marked ON marked.id = page.near "
    "LEFT JOIN content ON content.page = page.id "
)
#: Bytes of the sample of a host; zlib looks back at most twice as far.
LONGEST_SAMPLE = 16 << 10


def read_page(rows: Rows, condition: str, value: Any) -> Stored | None:
    """The page for which a condition holds. Raises `DatabaseError` if it is damaged."""
    row = next(iter(rows(f"{STORED} WHERE {condition}", (value,))), None)
    return None if row is None else stored(row)


def stored(row: Sequence[Any]) -> Stored:
    """The page of a row of `STORED`. Raises `DatabaseError` if it is damaged."""
    end = 1 + len(_COLUMNS)
    columns = dict(zip(_COLUMNS, row[1:end], strict=True))
    host, original, has_its_text, has_its_key, marked, text, text_size, *more, anchors = row[end:]
    columns |= {"host": host, "same_as": original, "near": marked}
    columns["copy"] = _kind_of_copy(columns, has_its_text, has_its_key)
    if any(isinstance(value, bytes) for value in (*columns.values(), anchors)):
        raise DatabaseError(f"{columns['url']}: its row in the database is damaged")
    try:
        plain = unpacked_text(text, text_size)
        parts = parts_of(*more)
    except ValueError as error:
        url = columns["url"]
        raise DatabaseError(f"{url}: its text in the database is damaged ({error})") from None
    if markdown := _markdown(parts, plain):
        parts["markdown"] = markdown
    return Stored(columns, plain, parts, anchors.splitlines() if anchors else [])


def _markdown(parts: dict[str, Any], text: str) -> str:
    """The Markdown in the parts of a page, from which it is removed."""
    packed, links = parts.pop("markdown", ""), parts.get("links")
    if not packed or not isinstance(packed, str) or not isinstance(links, list):
        return ""
    known = [[str(each[0])] for each in links if isinstance(each, list) and each]
    return unpacked_markdown(packed, text, known)


#: Types whose text is Markdown as it stands.
_MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})


def markdown_of(page: Stored) -> str:
    """The main text of a page as Markdown; without one of its own, its lines are paragraphs, its
    headings are headings, and lines that are indented are programs."""
    own = page.more.get("markdown")
    if own or page.columns.get("type") in _MARKDOWN:
        return own or page.text
    headings = set(page.more.get("headings") or ())
    blocks: list[str] = []
    for is_code, lines in groupby(page.text.split("\n"), lambda line: line.startswith("  ")):
        if is_code:
            blocks.append("\n".join(("```", *lines, "```")))
        else:
            blocks += [f"## {line}" if line in headings else line for line in lines if line]
    return "\n\n".join(blocks)


def _kind_of_copy(
    columns: dict[str, Any], has_its_text: bool | None, has_its_key: bool | None
) -> str | None:
    """Why a page is a copy: it has the text, declares the URL, or says nearly the same."""
    original = columns["same_as"]
    if original is None:
        return None if columns["near"] is None else "near"
    if has_its_text:
        return "text"
    is_declared = columns["canonical"] == original or not has_its_key
    return "canonical" if is_declared else "near"


def parts_of(
    more: bytes | None, size: int | None, sample: bytes | None, sample_size: int | None
) -> dict[str, Any]:
    """The parts of a page beside its text, by name, with the sample of its host.

    Raises `ValueError` if they are damaged.
    """
    try:
        parts = json.loads(unpacked(more, size, unpacked_sample(sample, sample_size)) or b"{}")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(parts, dict):
        raise ValueError("no object")
    return parts


def unpacked_text(data: bytes | None, size: int | None) -> str:
    """The main text of a page; "" if it has none. Raises `ValueError` if it is damaged."""
    return unpacked(data, size).decode()


def unpacked_sample(sample: bytes | None, size: int | None) -> bytes:
    """The sample of a host; b"" if it has none. Raises `ValueError` if it is damaged."""
    if isinstance(size, int) and size > LONGEST_SAMPLE:
        raise ValueError("a sample that is too long")
    return unpacked(sample, size)


def unpacked(data: bytes | None, size: int | None, sample: bytes = b"") -> bytes:
    """The bytes that are stored as `data`; b"" for none. Raises `ValueError` if it is damaged."""
    if not data:
        return b""
    # SQLite keeps anything in any column.
    if not isinstance(data, bytes) or not isinstance(size, int) or size < 0:
        raise ValueError("no compressed text")
    return Packed(data, size).bytes(sample)


#: When a page is from: its own word, unless that is later than it was fetched.
DATE = "CASE WHEN page.published <= page.fetched THEN page.published ELSE page.first_seen END"

#: The path of a URL without its slash; a host has a character at least.
_PATH = "substr(page.url, 9 + instr(substr(page.url, 9), '/'))"

#: SQL for "a column is one of these values", and its arguments.
Among = Callable[[str, Sequence[Any]], tuple[str, list[Any]]]


def filters(
    query: Query, rows: Rows, types: Callable[[], Sequence[str]], among: Among
) -> tuple[str, list[Any]]:
    """Conditions on the table `page`, each after " AND ", and their arguments.

    `types` gives the media types of the pages.
    """

    def condition(name: str, value: str) -> tuple[str, list[Any]]:
        values = value.split(" ")
        if name == "site":
            return _at_sites(values, rows, among)
        if name == "since":
            return "page.fetched >= ?", [value]
        if len(values) == 1 and (name == "lang" or "/" in value):
            return f"page.{name} = ?", [value]
        return among(f"page.{name}", values if name == "lang" else _types(values, types))

    wanted = ("site", query.site), ("lang", query.lang), ("type", query.type)
    parts = [condition(name, value) for name, value in (*wanted, ("since", query.since)) if value]
    for name, value in query.excluded:
        # Pages whose language or type is not known do not pass the filter, so they stay.
        passed, given = condition(name, value)
        parts.append((f"NOT coalesce({passed}, 0)", given))
    arguments = [argument for _, given in parts for argument in given]
    return "".join(f" AND {part}" for part, _ in parts), arguments


def _types(values: Iterable[str], types: Callable[[], Sequence[str]]) -> list[str]:
    """The media types that are meant by themselves, or by their first or last parts."""
    known = types()
    return [
        full
        for value in values
        for full in ([value] if "/" in value else known)
        if full == value or full.endswith(f"/{value}") or full.startswith(f"{value}/")
    ]


def _at_sites(sites: Iterable[str], rows: Rows, among: Among) -> tuple[str, list[Any]]:
    """The condition that a page is of one of the `sites`, below the path that one may have."""
    parts, given = [], []
    for site in sites:
        host, _, path = site.partition("/")
        of_host, hosts = among("page.host", _hosts(rows, host))
        below = f"({of_host} AND substr({_PATH}, 1, ?) = ?)"
        parts.append(below if path else of_host)
        given += [*hosts, len(path), path] if path else hosts
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})", given


def _hosts(rows: Rows, site: str) -> list[int]:
    """The hosts of a site: itself on any port, and those below it."""
    address = typed(site)
    if address is not None:
        # Names in other scripts, as they stand in URLs.
        parts = split(address)
        site = parts.host + (f":{parts.port}" if site.endswith(f":{parts.port}") else "")
    return [
        number
        for number, name in rows("SELECT id, name FROM host WHERE instr(name, ?)", (site,))
        if f".{name}".endswith(f".{site}") or f".{name.rpartition(':')[0]}".endswith(f".{site}")
    ]


def one_of(column: str, values: Iterable[Any]) -> tuple[str, list[Any]]:
    """An `Among` for up to some thousand values."""
    given = list(values) or [None]  # NULL equals nothing
    return f"{column} IN ({', '.join('?' * len(given))})", given
