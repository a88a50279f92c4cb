"""The account of a refresh: how each URL ended, and which pages are gone.

It is kept in the catalog, so it covers a refresh that was stopped and continued, and it costs no
memory. A new refresh begins a new account.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from larbinpy.outcome import Trait, having
from larbinpy.output.mirror.database import Database
from larbinpy.page import Page

SCHEMA = """
CREATE TABLE IF NOT EXISTS fate (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, host TEXT NOT NULL,
    requisite INTEGER NOT NULL, had INTEGER NOT NULL, outcome TEXT NOT NULL,
    status INTEGER NOT NULL, tries INTEGER NOT NULL, via TEXT, detail TEXT NOT NULL,
    purged INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS start (
    url TEXT PRIMARY KEY, known INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS emptied (url TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unasked (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, state TEXT NOT NULL DEFAULT 'unlinked');
CREATE INDEX IF NOT EXISTS unasked_by_state ON unasked (state);
CREATE TABLE IF NOT EXISTS spared (path TEXT PRIMARY KEY, why TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lost (host TEXT PRIMARY KEY) WITHOUT ROWID;
"""
#: Statuses that say that there is no such page (any more).
GONE = frozenset({HTTPStatus.NOT_FOUND.value, HTTPStatus.GONE.value})
#: Rows read at once.
_BATCH = 200
_REFUSED = tuple(outcome.value for outcome in having(Trait.ROBOTS))
_REFUSAL = "refusal"


class Kind(Enum):
    """The result of a refresh for a URL."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    #: It was mirrored earlier, and the server says that there is no such page.
    GONE = "gone"
    #: It was mirrored earlier; it was not asked for, as nothing leads to it any more.
    UNLINKED = "unlinked"
    FAILED = "failed"
    #: A redirect, or a copy of another page.
    OTHER = "other"


#: The kinds of what was fetched.
FETCHED = frozenset({Kind.NEW, Kind.CHANGED, Kind.UNCHANGED})


@dataclass(frozen=True, slots=True)
class Failure:
    """A URL that could not be fetched."""

    url: str
    outcome: str
    #: HTTP status; 0 if no reply came.
    status: int
    #: Number of requests or lookups that failed.
    tries: int
    #: The page it was found on; None for a seed.
    via: str | None
    detail: str
    #: The mirror had an older copy of it.
    had: bool
    #: That copy was removed.
    purged: bool


class Account:
    """The account in the catalog `base`, which the caller commits and closes."""

    def __init__(self, base: Database) -> None:
        self._base = base

    def __repr__(self) -> str:
        return f"<Account in {self._base!r}>"

    # While a refresh runs.

    def begin(self) -> None:
        """Begin the account of a new refresh."""
        self._base.write("DELETE FROM fate")
        self._base.write("DELETE FROM spared")
        self._base.write("UPDATE start SET known = 1")
        self.refuse("")

    def note(self, page: Page, kind: Kind, *, had: bool) -> None:
        """Note how the URL of `page` ended; `had`: the mirror has an older copy of it.

        A page that comes once more, because the crawl was killed after it, remains new or changed.
        """
        url = page.url
        if url.via is None:
            self._base.write("INSERT OR IGNORE INTO start (url) VALUES (?)", url.href)
        self._base.write(
            "INSERT INTO fate (url, kind, host, requisite, had, outcome, status, tries, via,"
            " detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url) DO UPDATE SET"
            " kind = CASE WHEN kind IN ('new', 'changed') AND excluded.kind IN"
            " ('changed', 'unchanged') THEN kind ELSE excluded.kind END,"
            " requisite = excluded.requisite, had = had AND excluded.had,"
            " outcome = excluded.outcome, status = excluded.status, tries = excluded.tries,"
            " via = excluded.via, detail = excluded.detail",
            *(url.href, kind.value, url.host, url.requisite, had, page.outcome.value),
            *(page.status, url.attempt, url.via, page.detail),
        )

    def starts(self) -> Iterator[str]:
        """The seeds of all refreshes so far, in alphabetical order."""
        last = ""
        while rows := self._base.rows(
            "SELECT url FROM start WHERE url > ? ORDER BY url LIMIT ?", last, _BATCH
        ):
            for (last,) in rows:
                yield last

    def was_known(self, start: str) -> bool:
        """Whether `start` was a seed of an earlier refresh, too."""
        row = self._base.first("SELECT known FROM start WHERE url = ?", start)
        return row is not None and bool(row[0])

    def kind(self, url: str) -> Kind | None:
        row = self._base.first("SELECT kind FROM fate WHERE url = ?", url)
        return None if row is None else Kind(row[0])

    def refuse(self, reason: str) -> None:
        """Note why no page is removed; "" for no reason."""
        self._base.note_fact(_REFUSAL, reason)

    def note_emptied(self, start: str, *, emptied: bool) -> None:
        """Note whether the start page `start` has no links any more."""
        if emptied:
            self._base.write("INSERT OR IGNORE INTO emptied VALUES (?)", start)
        else:
            self._base.write("DELETE FROM emptied WHERE url = ?", start)

    def is_emptied(self, start: str) -> bool:
        return self._base.first("SELECT 1 FROM emptied WHERE url = ?", start) is not None

    def note_purged(self, url: str, *, purged: bool) -> None:
        """Note whether the page `url`, which is gone, was removed."""
        self._base.write("UPDATE fate SET purged = ? WHERE url = ?", purged, url)

    def spare(self, path: str, why: str) -> None:
        """Note that the file `path`, of a page that is gone, was not removed, and why."""
        self._base.write("INSERT OR REPLACE INTO spared VALUES (?, ?)", path, why)

    # At its end.

    @property
    def refusal(self) -> str:
        """Why no page was removed; "" for no reason."""
        return self._base.fact(_REFUSAL)

    def counts(self) -> dict[str, int]:
        """How many URLs are new, changed, unchanged and gone, and how many of those were removed.

        `failed` has those that could not be fetched, `kept` those of them with an older copy in
        the mirror; pages that a server says are gone are in both `gone` and `failed`.
        """
        by_kind = dict(self._base.rows("SELECT kind, COUNT(*) FROM fate GROUP BY kind"))
        found = {kind: int(by_kind.get(kind.value, 0)) for kind in Kind}
        gone = f"kind IN ('{Kind.GONE.value}', '{Kind.UNLINKED.value}')"
        failed = f"kind IN ('{Kind.GONE.value}', '{Kind.FAILED.value}')"
        return {
            "new": found[Kind.NEW],
            "changed": found[Kind.CHANGED],
            "unchanged": found[Kind.UNCHANGED],
            "gone": found[Kind.GONE] + found[Kind.UNLINKED],
            "purged": self._count(f"{gone} AND purged"),
            "failed": found[Kind.FAILED] + found[Kind.GONE],
            "kept": self._count(f"{failed} AND had AND NOT purged"),
        }

    def _count(self, condition: str) -> int:
        row = self._base.first(f"SELECT COUNT(*) FROM fate WHERE {condition}")
        return 0 if row is None else int(row[0])

    def urls(self, *kinds: Kind, most: int) -> list[str]:
        """At most `most` URLs of `kinds`, in the order they ended."""
        marks = ", ".join("?" * len(kinds))
        command = f"SELECT url FROM fate WHERE kind IN ({marks}) ORDER BY id LIMIT ?"
        return [url for (url,) in self._base.rows(command, *(k.value for k in kinds), most)]

    def failures(self, most: int) -> list[Failure]:
        """At most `most` failures, in the order they ended."""
        rows = self._base.rows(
            "SELECT url, outcome, status, tries, via, detail, had, purged FROM fate"
            " WHERE kind IN (?, ?) ORDER BY id LIMIT ?",
            *(Kind.FAILED.value, Kind.GONE.value, most),
        )
        return [
            Failure(url, outcome, status, tries, via, detail, had=bool(had), purged=bool(purged))
            for url, outcome, status, tries, via, detail, had, purged in rows
        ]

    def spared(self, most: int) -> list[tuple[str, str]]:
        """At most `most` files of pages that are gone that were not removed, and why."""
        rows = self._base.rows("SELECT path, why FROM spared ORDER BY path LIMIT ?", most)
        return [(path, why) for path, why in rows]

    def lost_hosts(self, *, most: int) -> list[str]:
        """At most `most` hosts from which pages need a file to be displayed and none came.

        Files that robots.txt forbids do not count.
        """
        marks = ", ".join("?" * len(_REFUSED))
        rows = self._base.rows(
            "SELECT host FROM fate GROUP BY host HAVING"
            f" SUM(requisite AND kind IN ('failed', 'gone') AND outcome NOT IN ({marks})) > 0"
            " AND SUM(kind NOT IN ('failed', 'gone', 'unlinked')) = 0 ORDER BY host LIMIT ?",
            *(*_REFUSED, most),
        )
        return [host for (host,) in rows]
