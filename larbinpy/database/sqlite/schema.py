"""The tables of the database file, and opening it.

Texts are UTF-8. `content.text`, `content.more` and `host.sample` are in the zlib format; the
`sqlite3` shell reads a text by ``sqlar_uncompress(text, text_size)``. Times are ISO 8601 in UTC.
The tokens of `ft` come from `larbinpy.search`; the table has no contents, so a row is removed by
its tokens.

The lock of the one process that writes a database.
"""

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from larbinpy.database.base import FIELDS, DatabaseError, Unavailable
from larbinpy.search.segment import VERSION

#: Errors that do not pass by waiting: the path or the rights are wrong.
_LASTING = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG),
    *(errno.EISDIR, errno.ELOOP),
}


class Lock:
    """Held from its making until `release` or the end of the process, however it ends.

    A file of its own: closing a second descriptor of the database would drop SQLite's own locks.
    Raises `Unavailable` if another holds it, `DatabaseError` if there can be no such file.
    """

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-lock")
        try:
            self._fd = self._take(database)
        except OSError as error:
            if error.errno in _LASTING:
                hint = "its folder must exist, and this user have the right to write there"
                raise DatabaseError(
                    f"{database}: cannot be written ({error.strerror}); {hint}"
                ) from error
            raise Unavailable(f"{self._path}: {error.strerror}") from error

    def _take(self, database: Path) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            fd = os.open(self._path, flags, 0o666)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(fd):
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, str(os.getpid()).encode(), 0)
                    return fd
            except BlockingIOError:
                owner = os.pread(fd, 20, 0).decode("ascii", "replace").strip() or "unknown"
                os.close(fd)
                hint = f"process {owner} writes to it; wait until that has ended"
                raise Unavailable(f"{database}: in use: {hint}") from None
            except OSError:
                os.close(fd)
                raise
            # Its holder removed the file between the two calls.
            os.close(fd)

    def _is_current(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.stat(self._path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        with suppress(OSError):  # a folder that became read-only: the file stays, unlocked
            self._path.unlink()
        os.close(self._fd)


#: Version of the tables. A program opens only files of its own version.
FORMAT = 5
#: Bytes of a block of the file.
BLOCK = 16 << 10
#: "larb": marks the file as ours, in its header (PRAGMA application_id).
APPLICATION = 0x6C617262

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    sample BLOB,                    -- what content.more of its pages is compressed with
    sample_size INTEGER,            -- in bytes, when unpacked
    sample_of INTEGER,              -- page.key of the page that it comes from
    wrong TEXT,                     -- when its ETag or Last-Modified last hid a change
    agreed INTEGER NOT NULL DEFAULT 0,      -- how often dates of its sitemaps and feeds said that a
    contradicted INTEGER NOT NULL DEFAULT 0 -- page had changed, truly and falsely
);
CREATE TABLE page (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL UNIQUE,    -- 64-bit hash of url: the target of anchors
    url TEXT NOT NULL,
    host INTEGER NOT NULL,          -- host.id
    status INTEGER,                 -- of HTTP
    type TEXT,                      -- media type
    charset TEXT,
    lang TEXT,                      -- ISO 639-1
    title TEXT,
    site_name TEXT,
    author TEXT,
    summary TEXT,
    published TEXT,
    modified TEXT,
    image TEXT,                     -- URL
    canonical TEXT,                 -- URL that the page declares, if it is another one
    comments INTEGER,
    clicks INTEGER,
    size INTEGER,                   -- of the body, in bytes
    depth INTEGER,                  -- links that could be followed from it
    via TEXT,                       -- URL of the page where the link was found
    fetched TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    changed TEXT NOT NULL,          -- when the main text was last seen to differ
    visits INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    etag TEXT,
    last_modified TEXT,
    text_hash INTEGER,              -- 64-bit hash of the main text; NULL if it is empty
    same_as INTEGER,                -- page.id of the page that this one is a copy of
    near INTEGER,                   -- page.id of the page that this one is nearly a copy of
    near1 INTEGER,                  -- keys by which near copies are found
    near2 INTEGER,
    near3 INTEGER,
    near4 INTEGER,
    missing TEXT,                   -- since when the URL answers 404 or redirects
    moved_to TEXT,                  -- URL that it redirects to
    gone TEXT,                      -- since when the page is no longer in the index
    due TEXT,                       -- when it is to be visited again
    observed REAL NOT NULL DEFAULT 0,   -- changes that the estimate of its rate rests on, and the
    exposure REAL NOT NULL DEFAULT 0,   -- seconds in which they were seen; older ones count less
    announces INTEGER NOT NULL DEFAULT 0,   -- 1: it is a sitemap or feed that names pages
    indexed INTEGER                 -- 64-bit hash of the page's tokens in ft; NULL: not in ft
);
CREATE INDEX page_host ON page (host);
CREATE INDEX page_lang ON page (lang);
CREATE INDEX page_type ON page (type);
CREATE INDEX page_fetched ON page (fetched);
CREATE INDEX page_gone ON page (gone) WHERE gone IS NOT NULL;
CREATE INDEX page_moved_to ON page (moved_to) WHERE moved_to IS NOT NULL;
CREATE INDEX page_due ON page (due) WHERE due IS NOT NULL;
CREATE INDEX page_text_hash ON page (text_hash) WHERE text_hash IS NOT NULL;
CREATE INDEX page_same_as ON page (same_as) WHERE same_as IS NOT NULL;
CREATE INDEX page_near ON page (near) WHERE near IS NOT NULL;
CREATE INDEX page_near1 ON page (near1, same_as, near) WHERE near1 IS NOT NULL;
CREATE INDEX page_near2 ON page (near2, same_as, near) WHERE near2 IS NOT NULL;
CREATE INDEX page_near3 ON page (near3, same_as, near) WHERE near3 IS NOT NULL;
CREATE INDEX page_near4 ON page (near4, same_as, near) WHERE near4 IS NOT NULL;
CREATE INDEX page_canonical ON page (canonical) WHERE canonical IS NOT NULL;
CREATE TABLE content (
    page INTEGER PRIMARY KEY,       -- page.id
    anchors TEXT,                   -- texts of links to the page that ft has, a line each
    text BLOB,                      -- main text
    text_size INTEGER,              -- in bytes
    more BLOB,                      -- JSON: rest, headings, images, links, headers, facts
    more_size INTEGER
);
CREATE TABLE body (page INTEGER PRIMARY KEY, zstd BLOB, size INTEGER);
CREATE TABLE change (
    at TEXT NOT NULL,
    page INTEGER NOT NULL,
    kind TEXT NOT NULL,             -- new, changed, gone, back or moved
    text_hash INTEGER,              -- page.text_hash since then, of new, changed and back
    target TEXT                     -- URL that it redirected to, of moved
);
CREATE INDEX change_page ON change (page, at);
CREATE INDEX change_at ON change (at, page);
CREATE TABLE announced (            -- dates of pages, as sitemaps and feeds of their hosts say them
    target INTEGER PRIMARY KEY,     -- as page.key
    date TEXT NOT NULL              -- of the last change; empty if they do not say
);
CREATE TABLE anchor (               -- texts of links, each once for a target
    target INTEGER NOT NULL,        -- as page.key
    text TEXT NOT NULL,
    PRIMARY KEY (target, text)
) WITHOUT ROWID;
CREATE TABLE fresh (                -- the latest of them, on their way into the table anchor
    id INTEGER PRIMARY KEY,
    target INTEGER NOT NULL,
    text TEXT NOT NULL
);
"""

#: Tokens come ready-made, so blanks alone separate them; "ascii" also folds A-Z, which no token
#: has.
_INDEX = (
    f"CREATE VIRTUAL TABLE {{name}} USING fts5({', '.join(FIELDS)}, content='', tokenize='ascii')"
)
#: Words of one transaction (500 pages) are sorted in memory, and parts of the index are joined
#: when there are eight of a size, not four: a tenth less CPU, and searches take as long.
_INDEX_SETTINGS = {"hashsize": 8 << 20, "automerge": 8}


def make_index(base: sqlite3.Connection, name: str) -> None:
    """Make an empty full-text index."""
    base.execute(_INDEX.format(name=name))
    for setting, value in _INDEX_SETTINGS.items():
        base.execute(f"INSERT INTO {name}({name}, rank) VALUES (?, ?)", (setting, value))


class NotOurs(DatabaseError):
    """The file is another program's, or of another version, or damaged."""


class Damaged(DatabaseError):
    """SQLite cannot read a part of the file; `why` is what it says."""

    def __init__(self, path: str | Path, why: str) -> None:
        super().__init__(f"{path}: damaged database ({why}); {salvage_hint(path)}")
        self.why = why


def salvage_hint(path: str | Path) -> str:
    """What to do about a file of which a part cannot be read."""
    return f"'larbinpy index --salvage {path} NEW' takes what can be read into a new one"


@contextmanager
def sqlite_errors(path: str | Path) -> Iterator[None]:
    """Raise errors of SQLite as `DatabaseError`, those that may pass as `Unavailable`."""
    try:
        yield
    except sqlite3.Error as error:
        # The lower byte is the class of the error.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise Damaged(path, str(error)) from error
        if "decode" in str(error):
            # This one comes from Python, and shows the text.
            raise Damaged(path, "a text that is not UTF-8") from error
        raise Unavailable(f"{path}: {_SAYINGS.get(code, str(error))}") from error


_SAYINGS = {
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_READONLY: "the database cannot be written; give this user the right to",
    sqlite3.SQLITE_PERM: "the database cannot be written; give this user the right to",
    sqlite3.SQLITE_CANTOPEN: "the database cannot be opened; look at the rights of its folder, or"
    " copy it, with its -wal file, to one that can be written",
    sqlite3.SQLITE_BUSY: "another program keeps the database locked; end it",
    sqlite3.SQLITE_LOCKED: "another program keeps the database locked; end it",
}


def connect(path: str | Path, *, write: bool = False, lenient: bool = False) -> sqlite3.Connection:
    """Open the database `path`, to read unless `write`; the caller begins its transactions.

    An empty or missing file gets the tables if `write`. Other files that are not ours are refused
    untouched. With `lenient`, tables whose definition is damaged are just not there. Raises
    `DatabaseError` (`NotOurs`, `Unavailable`, `Damaged`).
    """
    if not write and not os.path.exists(path):
        hint = "name another one with -d, or make it: a crawl with 'outputMode database' does"
        raise DatabaseError(f"{path}: there is no database; {hint}")
    if write and (os.path.islink(path) or os.path.isdir(path)):
        raise DatabaseError(f"{path}: not a file of its own; name another one")
    if write and os.path.exists(path) and not os.access(path, os.W_OK):
        raise DatabaseError(f"{path}: cannot be written; give this user the right to")
    # A reader that may not write never moves the log into the file: one process does that.
    mode = "rwc" if write else "ro&immutable=1" if _is_still(path) else "ro"
    uri = f"file:{quote(os.path.abspath(path))}?mode={mode}"
    base: sqlite3.Connection | None = None
    with sqlite_errors(path):
        try:
            base = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)
            # No file is written elsewhere, as in /tmp.
            base.execute("PRAGMA temp_store=MEMORY")
            # Names of functions and of columns in the schema are not trusted.
            base.execute("PRAGMA trusted_schema=OFF")
            if lenient:
                base.execute("PRAGMA writable_schema=ON")
            _check(base, path, make=write)
        except BaseException:
            if base is not None:
                base.close()
            raise
    return base


def can_write(path: str | Path) -> bool:
    """Whether this user can write the database, and files beside it."""
    is_open = not os.path.exists(path) or os.access(path, os.W_OK)
    return is_open and os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)


def _is_still(path: str | Path) -> bool:
    """Whether nobody writes the file: it is all there, in a folder that cannot be written.

    To read a file that has a log SQLite makes another one beside it, and cannot do that there.
    """
    log = f"{path}-wal"
    is_whole = not os.path.exists(log) or not os.path.getsize(log)
    return is_whole and not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)


def still_state(path: str | Path) -> tuple[int, ...] | None:
    """Differs when a file that nobody wrote when it was opened has been written; else None.

    SQLite looks for no changes in such a file: what it keeps in memory no longer fits the rest.
    """
    try:
        file = os.stat(path)
        return (file.st_ino, file.st_size, file.st_mtime_ns) if _is_still(path) else None
    except OSError:
        return None


def _check(base: sqlite3.Connection, path: str | Path, *, make: bool) -> None:
    try:
        (application,) = base.execute("PRAGMA application_id").fetchone()
        (version,) = base.execute("PRAGMA user_version").fetchone()
        (tables,) = base.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise NotOurs(f"{path}: not a database of larbinpy; name another file") from None
        raise
    if not tables and not application:
        if make:
            _make(base)
            return
        raise NotOurs(f"{path}: an empty database; crawl first")
    if application != APPLICATION:
        raise NotOurs(f"{path}: a database of another program; name another file")
    if version != FORMAT:
        age = "a newer larbinpy" if version > FORMAT else "an older larbinpy"
        raise NotOurs(f"{path}: made by {age} (format {version}, not {FORMAT}); fill a new one")


def _make(base: sqlite3.Connection) -> None:
    # Before the first table: the file keeps it. Contents of 1 to 4 kB fill blocks of 16 kB to nine
    # tenths; in blocks of 2 kB they have a block each, and a part of another.
    base.execute(f"PRAGMA page_size={BLOCK}")
    # `Writer.tend` gives unused blocks back, a few at a time.
    base.execute("PRAGMA auto_vacuum=INCREMENTAL")
    base.execute("PRAGMA journal_mode=WAL")
    base.executescript(
        f"BEGIN IMMEDIATE; PRAGMA application_id={APPLICATION}; PRAGMA user_version={FORMAT};"
        f"{TABLES}; INSERT INTO meta VALUES ('format', {FORMAT}), ('segmenter', {VERSION});"
    )
    make_index(base, "ft")
    base.execute("COMMIT")
