"""The catalog of a mirror that browses offline: which URL has which file, and data about it.

The catalog is an SQLite file in the mirror's folder, ``.larbinpy-catalog``. All changes since the
last checkpoint are one transaction: a kill undoes it, and a resumed crawl fetches the pages again,
as for every output. SQLite's page cache bounds the memory, however large the mirror.

`MirrorNames` gives a URL the plainest name of `paths.browsable` that no other URL has, and it keeps
that. A file whose name is needed for a folder is renamed, as in `mirror`. Before a file is removed,
the catalog records it together with the file that replaces it, in one transaction. So after a kill
the file is either still in use, or it is removed at the next start.

The `Account` of a refresh, how each URL ended and which pages are gone, covers a refresh that was
stopped and continued. A new refresh begins a new account.
"""

import errno
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from larbinpy.output.mirror.paths import CATALOG, Spelling, beside, browsable, opens
from larbinpy.output.mirror.tree import Tree
from larbinpy.page import NO_ROBOTS, Page, Trait, declared_type, having
from larbinpy.parse import Form, download_name
from larbinpy.url import hash64

_FACTS = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Database:
    """The SQLite file `path`, made if it is missing, with the tables of `schema`, and facts.

    Errors of SQLite are raised as `OSError`, as all outputs do. A symbolic link is refused.
    """

    def __init__(self, path: Path, schema: str) -> None:
        self._path = path
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        with self._as_os_error():
            self._base = sqlite3.connect(path, isolation_level=None)
            # Each checkpoint syncs the file system, and with it the files of the database.
            self._base.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
            # No file is written elsewhere, as in /tmp.
            self._base.execute("PRAGMA temp_store=MEMORY")
            self._base.executescript(schema + _FACTS)

    def write(self, command: str, *values: object) -> None:
        """Carry out `command` in the transaction that the next `commit` ends."""
        with self._as_os_error():
            if not self._base.in_transaction:
                self._base.execute("BEGIN")
            self._base.execute(command, values)

    def first(self, command: str, *values: object) -> tuple[Any, ...] | None:
        with self._as_os_error():
            row: tuple[Any, ...] | None = self._base.execute(command, values).fetchone()
            return row

    def rows(self, command: str, *values: object) -> list[tuple[Any, ...]]:
        with self._as_os_error():
            return self._base.execute(command, values).fetchall()

    def by_id(self, command: str, batch: int) -> Iterator[Any]:
        """Yield the rows of `command`, which is completed to read `batch` rows at once.

        `command` selects `id` first and ends in a condition; rows may be added meanwhile.
        """
        last: object = 0
        while True:
            rows = self.rows(f"{command} AND id > ? ORDER BY id LIMIT {batch}", last)
            if not rows:
                return
            yield from rows
            last = rows[-1][0]

    def fact(self, name: str) -> str:
        """Return the fact `name`; empty if it was never noted."""
        row = self.first("SELECT value FROM fact WHERE name = ?", name)
        return "" if row is None else str(row[0])

    def note_fact(self, name: str, value: str) -> None:
        self.write("INSERT OR REPLACE INTO fact VALUES (?, ?)", name, value)

    def commit(self) -> None:
        with self._as_os_error():
            if self._base.in_transaction:
                self._base.execute("COMMIT")

    def close(self) -> None:
        """Close without a commit."""
        self._base.close()

    def remove(self) -> None:
        """Remove the file of the closed database."""
        self._path.unlink(missing_ok=True)

    @contextmanager
    def _as_os_error(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            number = errno.ENOSPC if full else errno.EIO
            text = f"{os.strerror(number)} ({error})"
            raise OSError(number, text, self._path.name) from error


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
_REFUSED = tuple(outcome.value for outcome in having(Trait.ROBOTS))
#: Whether robots.txt forbids a URL. That it could not be fetched is a failure like others.
_IS_REFUSED = (
    f"(outcome IN ({', '.join(map(repr, _REFUSED))}) AND instr(detail, '{NO_ROBOTS}') != 1)"
)
_REFUSAL = "refusal"


class Refreshed(Enum):
    """The result of a refresh for a URL."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    #: It was mirrored earlier, and the server says that there is no such page.
    GONE = "gone"
    #: It was mirrored earlier; it was not asked for, as nothing leads to it any more.
    UNLINKED = "unlinked"
    #: It was mirrored earlier, and redirects to a page that was fetched.
    MOVED = "moved"
    FAILED = "failed"
    #: A redirect, or a copy of another page.
    OTHER = "other"


#: The kinds of what was fetched.
FETCHED = frozenset({Refreshed.NEW, Refreshed.CHANGED, Refreshed.UNCHANGED})
#: Those of pages that are gone, by any sign.
ALL_GONE = (Refreshed.GONE, Refreshed.UNLINKED, Refreshed.MOVED)


@dataclass(frozen=True, slots=True)
class FailedUrl:
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

    # While a refresh runs.

    def begin(self) -> None:
        """Begin the account of a new refresh."""
        self._base.write("DELETE FROM fate")
        self._base.write("DELETE FROM spared")
        self._base.write("UPDATE start SET known = 1")
        self.refuse("")

    def note(self, page: Page, kind: Refreshed, *, had: bool) -> None:
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

    def kind(self, url: str) -> Refreshed | None:
        row = self._base.first("SELECT kind FROM fate WHERE url = ?", url)
        return None if row is None else Refreshed(row[0])

    def moved(self, *, but: tuple[int, ...] = ()) -> set[str]:
        """The pages that redirect now, without those whose reply had a status in `but`."""
        marks = ", ".join("?" * len(but))
        command = f"SELECT url FROM fate WHERE kind = ? AND status NOT IN ({marks})"
        return {url for (url,) in self._base.rows(command, Refreshed.MOVED.value, *but)}

    def stay(self, url: str) -> None:
        """Note that the old copy of `url`, which redirects, is not replaced by another page."""
        self._base.write("UPDATE fate SET kind = ? WHERE url = ?", Refreshed.OTHER.value, url)

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

        `failed` has those that could not be fetched, `refused` those of them that robots.txt
        forbids, `kept` those with an older copy in the mirror; pages that a server says are gone
        are in both `gone` and `failed`.
        """
        by_kind = dict(self._base.rows("SELECT kind, COUNT(*) FROM fate GROUP BY kind"))
        found = {kind: int(by_kind.get(kind.value, 0)) for kind in Refreshed}
        gone = f"kind IN ({', '.join(repr(kind.value) for kind in ALL_GONE)})"
        failed = f"kind IN ('{Refreshed.GONE.value}', '{Refreshed.FAILED.value}')"
        return {
            "new": found[Refreshed.NEW],
            "changed": found[Refreshed.CHANGED],
            "unchanged": found[Refreshed.UNCHANGED],
            "gone": sum(found[kind] for kind in ALL_GONE),
            "purged": self._count(f"{gone} AND purged"),
            "failed": found[Refreshed.FAILED] + found[Refreshed.GONE],
            "refused": self._count(f"{failed} AND {_IS_REFUSED}"),
            "kept": self._count(f"{failed} AND had AND NOT purged"),
        }

    def _count(self, condition: str) -> int:
        row = self._base.first(f"SELECT COUNT(*) FROM fate WHERE {condition}")
        return 0 if row is None else int(row[0])

    def urls(self, *kinds: Refreshed, most: int) -> list[str]:
        """At most `most` URLs of `kinds`, in the order they ended."""
        marks = ", ".join("?" * len(kinds))
        command = f"SELECT url FROM fate WHERE kind IN ({marks}) ORDER BY id LIMIT ?"
        return [url for (url,) in self._base.rows(command, *(k.value for k in kinds), most)]

    def failures(self, most: int) -> list[FailedUrl]:
        """At most `most` failures, in the order they ended; what robots.txt forbids comes last."""
        rows = self._base.rows(
            "SELECT url, outcome, status, tries, via, detail, had, purged FROM fate"
            f" WHERE kind IN (?, ?) ORDER BY {_IS_REFUSED}, id LIMIT ?",
            *(Refreshed.FAILED.value, Refreshed.GONE.value, most),
        )
        return [
            FailedUrl(url, outcome, status, tries, via, detail, had=bool(had), purged=bool(purged))
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


NAME = CATALOG
_SCHEMA = """
CREATE TABLE IF NOT EXISTS page (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE,
    headers TEXT NOT NULL, charset TEXT, digest BLOB NOT NULL, form TEXT, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS moved (url TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leaving (old TEXT PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS purged (path TEXT PRIMARY KEY, url TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (
    url TEXT PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL) WITHOUT ROWID;
"""
_COLUMNS = "url, path, headers, charset, digest, form, size"
#: The fact that keeps the spelling of names.
_SPELLING = "fileNames"
#: Longer chains of redirects are loops, or longer than a crawl follows.
_MAX_HOPS = 10
#: Characters that stand in the names of downloads as they are.
_IN_NAMES = "!$&'()*+,;=@[]^`{}~"
#: Pages read at once by `pages`.
_BATCH = 200


@dataclass(slots=True, frozen=True)
class Entry:
    """One page of the mirror."""

    url: str
    #: Relative to the mirror.
    path: str
    #: The headers that a refresh needs, as in `larbinpy.page.Page`.
    headers: list[tuple[str, str]]
    #: The encoding it was read in.
    charset: str | None
    #: Digest of the body as received.
    digest: bytes
    #: Value of `larbinpy.parse.Form` if links in it are rewritten, else None.
    form: str | None
    #: Bytes of the body as received.
    size: int

    @property
    def type(self) -> str:
        """The media type that its name depends on."""
        if self.form == Form.HTML.value:
            return "text/html"
        return declared_type(self.headers)[0]

    @property
    def download(self) -> str:
        """The name that it is to be saved under, as part of a URL; empty if it has none."""
        if self.form is not None:
            return ""
        name = download_name(dict(self.headers).get("content-disposition", ""))
        return quote(name, safe=_IN_NAMES)

    @property
    def modified(self) -> float | None:
        """The time of its Last-Modified header (Unix time)."""
        text = dict(self.headers).get("last-modified")
        try:
            return None if text is None else parsedate_to_datetime(text).timestamp()
        except (ValueError, TypeError, OverflowError):
            return None


class Catalog:
    """The catalog in `folder`, made if it is missing. Only one writer may open it.

    `fold` gives the URL that a link to another counts as (dropParameters). `pages` reads `batch`
    rows at once. The SQL about pages is in this class, so it has many methods: one for each query
    and each change.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        fold: Callable[[str], str] = str,
        batch: int = _BATCH,
    ) -> None:
        self._fold = fold
        self._batch = batch
        self.base = Database(Path(folder) / NAME, _SCHEMA + SCHEMA)
        #: How each URL of the latest crawl ended.
        self.account = Account(self.base)
        self._rewritten = self.base.first("PRAGMA user_version") == (0,)
        #: Number of changes to files and redirects, after which links must be rewritten.
        self.changes = 0

    def note_change(self) -> None:
        """Note on the disk that links must be rewritten; call it before a file is written."""
        self.changes += 1
        self._note(done=False)

    def note_rewritten(self) -> None:
        """Note that the links of all files are rewritten."""
        self._note(done=True)

    def _note(self, *, done: bool) -> None:
        if done != self._rewritten:
            self.base.write(f"PRAGMA user_version={0 if done else 1}")
            self.commit()
            self._rewritten = done

    def commit(self) -> None:
        self.base.commit()

    def spelling(self, wanted: Spelling) -> Spelling:
        """Return the spelling of names that the mirror was begun with; a new one has `wanted`."""
        if self.is_empty:
            self.base.note_fact(_SPELLING, wanted.value)
            self.commit()
        return Spelling(self.base.fact(_SPELLING))

    @property
    def is_empty(self) -> bool:
        both = "SELECT url FROM page UNION ALL SELECT url FROM moved LIMIT 1"
        return self.base.first(both) is None

    def get(self, url: str) -> Entry | None:
        row = self.base.first(f"SELECT {_COLUMNS} FROM page WHERE url = ?", url)
        return None if row is None else _entry(row)

    def at(self, path: str) -> Entry | None:
        """Return the page whose file is `path`."""
        row = self.base.first(f"SELECT {_COLUMNS} FROM page WHERE path = ?", path)
        return None if row is None else _entry(row)

    def path_of(self, url: str) -> str | None:
        """Return the file that a link to `url` leads to, also through redirects."""
        place = self.place_of(url)
        return None if place is None else place[0]

    def place_of(self, url: str) -> tuple[str, str] | None:
        """As `path_of`, and the fragment that the last redirect with one gives the link."""
        for target, part in self._hops(url)[::-1]:
            path = self._own_path(target)
            if path is not None:
                return path, part
        return None

    def _own_path(self, url: str) -> str | None:
        row = self.base.first("SELECT path FROM page WHERE url = ?", url)
        return None if row is None else str(row[0])

    def charset_of(self, url: str) -> str | None:
        """The encoding that HTTP said for the file that a link to `url` leads to."""
        for target in self.chain(url):
            entry = self.get(target)
            if entry is not None:
                return declared_type(entry.headers)[1]
        return None

    def chain(self, url: str) -> list[str]:
        """Return where `url` leads, by redirects and by `fold`, the last one first, `url` last."""
        return [target for target, _ in self._hops(url)[::-1]]

    def _hops(self, url: str) -> list[tuple[str, str]]:
        """Where `url` leads, itself first, each with the fragment that redirects gave it."""
        hops = [(url, "")]
        while len(hops) <= _MAX_HOPS:
            last, part = hops[-1]
            row = self.base.first("SELECT target FROM moved WHERE url = ?", last)
            if row is not None:
                target, _, own = row[0].partition("#")
                hops.append((target, own or part))
                continue
            folded = self._fold(last)
            # A seed has its file as given; and some URLs redirect to set a parameter.
            if folded in (each for each, _ in hops) or self._own_path(last) is not None:
                break
            hops.append((folded, part))
        return hops

    def put(self, entry: Entry) -> None:
        """Enter a page; it replaces an earlier one of its URL."""
        values = (entry.url, entry.path, json.dumps(entry.headers), entry.charset, entry.digest)
        self.stay(entry.url)
        self.base.write(
            f"INSERT INTO page ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (url) DO UPDATE SET path = excluded.path, headers = excluded.headers,"
            " charset = excluded.charset, digest = excluded.digest, form = excluded.form,"
            " size = excluded.size",
            *(*values, entry.form, entry.size),
        )
        self.note_change()

    def rename(self, url: str, path: str) -> None:
        self.base.write("UPDATE page SET path = ? WHERE url = ?", path, url)
        self.note_change()

    def move(self, url: str, target: str) -> None:
        """Note a redirect; `target` may have a fragment."""
        row = self.base.first("SELECT target FROM moved WHERE url = ?", url)
        if row is None or row[0] != target:
            self.base.write("INSERT OR REPLACE INTO moved VALUES (?, ?)", url, target)
            self.note_change()

    def stay(self, url: str) -> None:
        """Note that `url` does not redirect (any more)."""
        if self.base.first("SELECT target FROM moved WHERE url = ?", url) is not None:
            self.base.write("DELETE FROM moved WHERE url = ?", url)
            self.note_change()

    def leave(self, old: str, new: str) -> None:
        """Note that the file `old` will be removed, as `new` takes its place."""
        self.base.write("INSERT OR REPLACE INTO leaving VALUES (?, ?)", old, new)

    def left(self, old: str) -> None:
        """Note that `old` is removed."""
        self.base.write("DELETE FROM leaving WHERE old = ?", old)

    def leaving(self) -> list[tuple[str, str]]:
        """Return the pairs noted by `leave` and not yet by `left`."""
        return [(old, new) for old, new in self.base.rows("SELECT old, new FROM leaving")]

    def is_shared(self, path: str, url: str) -> bool:
        """Whether a page other than `url` has a path that differs from `path` in case at most."""
        command = "SELECT 1 FROM page WHERE path = ? COLLATE NOCASE AND url != ?"
        return self.base.first(command, path, url) is not None

    def note_written(self, url: str, body: bytes) -> None:
        """Note that the file of the page `url` was written with other links, as `body`."""
        digest, size = digest_of(body), len(body)
        if self.written(url) != (digest, size):
            self.base.write("INSERT OR REPLACE INTO written VALUES (?, ?, ?)", url, digest, size)

    def written(self, url: str) -> tuple[bytes, int] | None:
        """Return digest and size that `note_written` noted last for the page `url`."""
        row = self.base.first("SELECT digest, size FROM written WHERE url = ?", url)
        return None if row is None else (row[0], row[1])

    def purge(self, url: str, paths: Iterable[str]) -> None:
        """Forget the page `url`; note that the files `paths` will be removed."""
        self.base.write("DELETE FROM page WHERE url = ?", url)
        self.base.write("DELETE FROM written WHERE url = ?", url)
        for path in paths:
            self.base.write("INSERT OR REPLACE INTO purged VALUES (?, ?)", path, url)

    def purged(self, path: str) -> None:
        """Note that the file `path`, noted by `purge`, is removed."""
        self.base.write("DELETE FROM purged WHERE path = ?", path)

    def purging(self) -> list[tuple[str, str]]:
        """Return the paths noted by `purge` and not yet by `purged`, and their URLs."""
        return [(path, url) for path, url in self.base.rows("SELECT path, url FROM purged")]

    def pages(self, *, linking: bool = True) -> Iterator[Entry]:
        """Yield pages in the order they first came: those whose links are rewritten, or all."""
        which = "form IS NOT NULL" if linking else "TRUE"
        command = f"SELECT id, {_COLUMNS} FROM page WHERE {which}"
        for row in self.base.by_id(command, self._batch):
            yield _entry(row[1:])

    def close(self) -> None:
        """Commit and close. An empty catalog is removed: it would prevent a plain mirror here."""
        try:
            self.commit()
            is_empty = self.is_empty and not any(self.account.counts().values())
        finally:
            self.base.close()
        if is_empty:
            self.base.remove()


def digest_of(body: bytes) -> bytes:
    return hash64(body).to_bytes(8, "little")


def _entry(row: tuple[Any, ...]) -> Entry:
    url, path, headers, charset, digest, form, size = row
    pairs = [(name, value) for name, value in json.loads(headers)]
    return Entry(url, path, pairs, charset, digest, form, size)


def is_rewritten(folder: str | os.PathLike[str]) -> bool:
    """Whether all links of the mirror in `folder` are rewritten; True without a catalog."""
    if not (Path(folder) / NAME).exists():
        return True
    return _peek(folder, "PRAGMA user_version") == (0,)


def spelling_of(folder: str | os.PathLike[str]) -> Spelling | None:
    """The spelling of names in the mirror in `folder`; None if there is no mirror."""
    if not (Path(folder) / NAME).exists() or _peek(folder, "SELECT 1 FROM page") is None:
        return None
    row = _peek(folder, "SELECT value FROM fact WHERE name = ?", _SPELLING)
    return None if row is None else Spelling(row[0])


def _peek(folder: str | os.PathLike[str], command: str, *values: object) -> tuple[Any, ...] | None:
    """The first row of a query to the catalog in `folder`; None if it has none or is damaged."""
    try:
        base = sqlite3.connect(Path(folder) / NAME)
        try:
            row: tuple[Any, ...] | None = base.execute(command, values).fetchone()
            return row
        finally:
            base.close()
    except sqlite3.Error:
        return None


class MirrorNames:
    """The names in the mirror whose folder `root` is; `tree` has its files."""

    def __init__(
        self, catalog: Catalog, root: int, spelling: Spelling, *, lower_case: bool
    ) -> None:
        self._catalog = catalog
        self._spelling = spelling
        self._lower_case = lower_case
        self.tree = Tree(root, self._make_way)
        self._clear_away()

    def plainest(self, entry: Entry) -> str:
        return self._paths(entry)[0]

    def allotted(self, entry: Entry) -> str:
        """Return the path that the URL of `entry` has if it opens, or the plainest that is free."""
        old = self._catalog.get(entry.url)
        if old is None or self.tree.is_folder(old.path):
            return self._free(entry)
        is_kept = old.path in self._paths(entry) or opens(old.path, entry.type)
        return old.path if is_kept else self._free(entry)

    def free_of_folders(self, entry: Entry) -> str:
        """Return the path of `entry`, or a new one if a power cut left a folder in its place."""
        if not self.tree.is_folder(entry.path) or self._catalog.at(entry.path) is None:
            return entry.path
        path = self._free(entry, but=entry.path)
        self._catalog.rename(entry.url, path)
        return path

    def leave(self, old: str, new: str) -> None:
        """Remove the file `old`, which `new` has replaced, from the catalog, then the disk."""
        self._catalog.leave(old, new)
        # Commit first: after a kill the catalog must not name a file that is gone.
        self._catalog.commit()
        self.tree.remove(old, but=new)
        self._catalog.left(old)

    def _free(self, entry: Entry, but: str = "") -> str:
        paths = self._paths(entry)
        for path in paths:
            owner = self._catalog.at(path)
            is_free = owner is None or owner.url == entry.url
            if path != but and is_free and not self.tree.is_folder(path):
                return path
        return paths[-1]

    def _paths(self, entry: Entry) -> list[str]:
        return browsable(
            entry.url,
            entry.type,
            self._spelling,
            lower_case=self._lower_case,
            download=entry.download,
        )

    def _make_way(self, path: str) -> None:
        """Rename the file or link at `path`; a page gets its next name."""
        entry = self._catalog.at(path)
        if entry is None:
            self.tree.rename(path, beside(path, "#file"))
            return
        new = self._free(entry, but=path)
        # Commit first: if a kill comes before the rename, the next start renames the file. In the
        # other order, the catalog would keep a path at which there is a folder.
        self._catalog.leave(path, new)
        self._catalog.rename(entry.url, new)
        self._catalog.commit()
        self.tree.rename(path, new)
        self._catalog.left(path)

    def _clear_away(self) -> None:
        """Finish the renames and removals that the catalog records and a kill prevented."""
        for old, new in self._catalog.leaving():
            if self._catalog.at(old) is None and self.tree.size(old) is not None:
                if self.tree.size(new) is None and not self.tree.is_folder(new):
                    with suppress(OSError):
                        self.tree.rename(old, new)
                self.tree.remove(old, but=new)
            self._catalog.left(old)
        self._catalog.commit()
