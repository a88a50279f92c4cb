"""The catalog of a mirror that browses offline: which URL has which file, and data about it.

The catalog is an SQLite file in the mirror's folder, ``.larbinpy-catalog``. All changes since the
last checkpoint are one transaction: a kill undoes it, and a resumed crawl fetches the pages again,
as for every output. SQLite's page cache bounds the memory, however large the mirror.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from larbinpy.output.mirror import account
from larbinpy.output.mirror.account import Account
from larbinpy.output.mirror.database import Database
from larbinpy.output.mirror.paths import CATALOG, Spelling
from larbinpy.parse import Form
from larbinpy.url import hash64

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
        return dict(self.headers).get("content-type", "").partition(";")[0].strip().lower()

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
        self.base = Database(Path(folder) / NAME, _SCHEMA + account.SCHEMA)
        #: How each URL of the latest crawl ended.
        self.account = Account(self.base)
        self._rewritten = self.base.first("PRAGMA user_version") == (0,)
        #: Number of changes to files and redirects, after which links must be rewritten.
        self.changes = 0

    def __repr__(self) -> str:
        return f"<Catalog {'rewritten' if self._rewritten else 'to be rewritten'}>"

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
        kept = self.base.fact(_SPELLING)
        if not kept or self.is_empty:
            # A mirror without this fact is older than the choice.
            kept = wanted.value if self.is_empty else Spelling.ASCII.value
            self.base.note_fact(_SPELLING, kept)
            self.commit()
        return Spelling(kept)

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
        for target in self.chain(url):
            path = self._own_path(target)
            if path is not None:
                return path
        return None

    def _own_path(self, url: str) -> str | None:
        row = self.base.first("SELECT path FROM page WHERE url = ?", url)
        return None if row is None else str(row[0])

    def chain(self, url: str) -> list[str]:
        """Return where `url` leads, by redirects and by `fold`, the last one first, `url` last."""
        chain = [url]
        while len(chain) <= _MAX_HOPS:
            row = self.base.first("SELECT target FROM moved WHERE url = ?", chain[-1])
            if row is None:
                folded = self._fold(chain[-1])
                # A seed has its file as given; and some URLs redirect to set a parameter.
                if folded in chain or self._own_path(chain[-1]) is not None:
                    break
            chain.append(folded if row is None else row[0])
        return chain[::-1]

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
        """Note a redirect."""
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
    return Spelling.ASCII if row is None else Spelling(row[0])


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
