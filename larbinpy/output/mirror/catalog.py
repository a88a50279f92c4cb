"""The catalog of a mirror that browses offline: which URL has which file, and data about it.

The catalog is an SQLite file in the mirror's folder, ``.larbinpy-catalog``. All changes since the
last checkpoint are one transaction: a kill undoes it, and a resumed crawl fetches the pages again,
as for every output. SQLite's page cache bounds the memory, however large the mirror.
"""

import errno
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from larbinpy.parse import Form

NAME = ".larbinpy-catalog"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS page (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE,
    headers TEXT NOT NULL, charset TEXT, digest BLOB NOT NULL, form TEXT, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS moved (url TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leaving (old TEXT PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID;
"""
_COLUMNS = "url, path, headers, charset, digest, form, size"
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


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Raise errors of SQLite as `OSError`, as all outputs do."""
    try:
        yield
    except sqlite3.Error as error:
        full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        number = errno.ENOSPC if full else errno.EIO
        raise OSError(number, f"{os.strerror(number)} ({error})", NAME) from error


class Catalog:
    """The catalog in `folder`, made if it is missing. Only one writer may open it.

    `pages` reads `batch` rows at once. All SQL is in this class, so it has many methods: one for
    each query and each change.
    """

    def __init__(self, folder: str | os.PathLike[str], *, batch: int = _BATCH) -> None:
        self._batch = batch
        self._path = path = Path(folder) / NAME
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        with _as_os_error():
            self._base = sqlite3.connect(path, isolation_level=None)
            # Each checkpoint syncs the file system, and with it the files of the catalog.
            self._base.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
            self._base.executescript(_SCHEMA)
            [[version]] = self._base.execute("PRAGMA user_version")
        self._rewritten = bool(version == 0)
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
            self._write(f"PRAGMA user_version={0 if done else 1}")
            self.commit()
            self._rewritten = done

    def _write(self, command: str, values: Iterable[object] = ()) -> None:
        with _as_os_error():
            if not self._base.in_transaction:
                self._base.execute("BEGIN")
            self._base.execute(command, tuple(values))

    def _first(self, command: str, *values: object) -> tuple[str, ...] | None:
        with _as_os_error():
            row: tuple[str, ...] | None = self._base.execute(command, values).fetchone()
            return row

    def commit(self) -> None:
        with _as_os_error():
            if self._base.in_transaction:
                self._base.execute("COMMIT")

    @property
    def is_empty(self) -> bool:
        both = "SELECT url FROM page UNION ALL SELECT url FROM moved LIMIT 1"
        return self._first(both) is None

    def get(self, url: str) -> Entry | None:
        row = self._first(f"SELECT {_COLUMNS} FROM page WHERE url = ?", url)
        return None if row is None else _entry(row)

    def at(self, path: str) -> Entry | None:
        """Return the page whose file is `path`."""
        row = self._first(f"SELECT {_COLUMNS} FROM page WHERE path = ?", path)
        return None if row is None else _entry(row)

    def path_of(self, url: str) -> str | None:
        """Return the file that a link to `url` leads to, also through redirects."""
        for target in self._chain(url):
            row = self._first("SELECT path FROM page WHERE url = ?", target)
            if row is not None:
                return row[0]
        return None

    def _chain(self, url: str) -> list[str]:
        """Return the targets of redirects from `url`, the last one first, then `url` itself."""
        chain = [url]
        while len(chain) <= _MAX_HOPS:
            row = self._first("SELECT target FROM moved WHERE url = ?", chain[-1])
            if row is None:
                break
            chain.append(row[0])
        return chain[::-1]

    def put(self, entry: Entry) -> None:
        """Enter a page; it replaces an earlier one of its URL."""
        values = (entry.url, entry.path, json.dumps(entry.headers), entry.charset, entry.digest)
        self.stay(entry.url)
        self._write(
            f"INSERT INTO page ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (url) DO UPDATE SET path = excluded.path, headers = excluded.headers,"
            " charset = excluded.charset, digest = excluded.digest, form = excluded.form,"
            " size = excluded.size",
            (*values, entry.form, entry.size),
        )
        self.note_change()

    def rename(self, url: str, path: str) -> None:
        self._write("UPDATE page SET path = ? WHERE url = ?", (path, url))
        self.note_change()

    def move(self, url: str, target: str) -> None:
        """Note a redirect."""
        row = self._first("SELECT target FROM moved WHERE url = ?", url)
        if row is None or row[0] != target:
            self._write("INSERT OR REPLACE INTO moved VALUES (?, ?)", (url, target))
            self.note_change()

    def stay(self, url: str) -> None:
        """Note that `url` does not redirect (any more)."""
        if self._first("SELECT target FROM moved WHERE url = ?", url) is not None:
            self._write("DELETE FROM moved WHERE url = ?", (url,))
            self.note_change()

    def leave(self, old: str, new: str) -> None:
        """Note that the file `old` will be removed, as `new` takes its place."""
        self._write("INSERT OR REPLACE INTO leaving VALUES (?, ?)", (old, new))

    def left(self, old: str) -> None:
        """Note that `old` is removed."""
        self._write("DELETE FROM leaving WHERE old = ?", (old,))

    def leaving(self) -> list[tuple[str, str]]:
        """Return the pairs noted by `leave` and not yet by `left`."""
        with _as_os_error():
            return self._base.execute("SELECT old, new FROM leaving").fetchall()

    def pages(self) -> Iterator[Entry]:
        """Yield all pages in which links are rewritten, in the order they first came."""
        last: object = 0
        while True:
            with _as_os_error():
                rows = self._base.execute(
                    f"SELECT id, {_COLUMNS} FROM page WHERE id > ? AND form IS NOT NULL"
                    f" ORDER BY id LIMIT {self._batch}",
                    (last,),
                ).fetchall()
            if not rows:
                return
            for row in rows:
                yield _entry(row[1:])
            last = rows[-1][0]

    def close(self) -> None:
        """Commit and close. An empty catalog is removed: it would prevent a plain mirror here."""
        try:
            self.commit()
            is_empty = self.is_empty
        finally:
            self._base.close()
        if is_empty:
            self._path.unlink(missing_ok=True)


def _entry(row: tuple[Any, ...]) -> Entry:
    url, path, headers, charset, digest, form, size = row
    pairs = [(name, value) for name, value in json.loads(headers)]
    return Entry(url, path, pairs, charset, digest, form, size)


def is_rewritten(folder: str | os.PathLike[str]) -> bool:
    """Whether all links of the mirror in `folder` are rewritten; True without a catalog."""
    path = Path(folder) / NAME
    if not path.exists():
        return True
    try:
        base = sqlite3.connect(path)
        try:
            [[version]] = base.execute("PRAGMA user_version")
        finally:
            base.close()
    except sqlite3.Error:
        return False
    return bool(version == 0)
