"""The interface of a content database. Each kind has a class `Writer` and a class `Finder`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from larbinpy.database.prepared import Visit
from larbinpy.errors import UserError
from larbinpy.revisit.due import DueAsk, DuePage
from larbinpy.search.query import Query
from larbinpy.storage.spool import Position as Position


class DatabaseError(UserError):
    """The database cannot be used; the message is one line and says what to do."""


class Unavailable(DatabaseError):
    """The database cannot be used now, but may be later: full disk, server down, locked."""


class Writer(Protocol):
    """Writes pages. A file has one at a time; another that opens it gets `Unavailable`. A server
    may have many, each for another spool."""

    def position(self, spool: str) -> Position | None:
        """The end of the last page of the spool of this name; None if it has none of it.

        The name may be that of a spool and, after a "-", of a run: if the last page came in another
        run, the position is (0, 0).
        """

    def write(
        self,
        pages: Sequence[Visit],
        spool: str | None = None,
        position: Position | None = None,
        *,
        durable: bool = False,
    ) -> list[str]:
        """Write `pages` and `position` in one transaction; return a line for each page that was
        not taken whole.

        A page replaces the one of its URL unless that was fetched later, though not in the future.
        With `durable`, all that was written is on the disk afterwards. Raises `Unavailable`;
        nothing is written.
        """

    def due(self, ask: DueAsk) -> list[DuePage]:
        """Pages that are due to be visited again, in their order. Raises as `write`."""

    def tend(self) -> bool:
        """Do a bounded piece of deferred work (anchor texts of pages that are indexed already).

        Returns whether more is left. Called when no pages wait, and at the end of a crawl.
        """

    def close(self) -> None: ...


@dataclass(slots=True, frozen=True)
class Wish:
    """The hits of a query that are wanted, and their order."""

    #: Hits on a page, and the number of the page, from 1.
    n: int = 10
    page: int = 1
    #: "rank" or "date", the newest first.
    sort: str = "rank"
    #: Whether to count the hits by site and language.
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
    #: Counts by host and by language, the largest first.
    sites: list[tuple[str, int]] = field(default_factory=list)
    langs: list[tuple[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(slots=True)
class Stored:
    """All that the database has of one page."""

    #: Columns of the table `page` by name, host as its name, other pages as their URLs; and copy:
    #: "text", "canonical", "near" or None.
    columns: dict[str, Any]
    text: str
    #: rest, headings, images, links, headers, facts, as in the schema.
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


class Finder(Protocol):
    """Answers questions; reads only. Many may be open while a writer writes."""

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

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        """`n` changes, the newest first, after the first `skip`."""

    def pages(self) -> Iterator[Stored]:
        """All pages that are not gone, in the order of their rows."""

    def counts(self) -> dict[str, int]:
        """pages, gone, hosts, bytes on the disk."""

    def close(self) -> None: ...
