"""A content database in one file: its tables, and opening it to read, to write, or to care for it.

Texts are UTF-8. `content.text`, `content.more` and `host.sample` are in the zlib format; the
`sqlite3` shell reads a text by ``sqlar_uncompress(text, text_size)``. Times are ISO 8601 in UTC.
The tokens of `ft` come from `larbinpy.database.search`; the table has no contents, so a row is
removed by its tokens. One process writes at a time (`Lock`).
"""

import errno
import fcntl
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from larbinpy.database.base import (
    FIELDS,
    FORMAT,
    DatabaseError,
    NotOurs,
    Opened,
    Progress,
    Rows,
    Unavailable,
    check_format,
)
from larbinpy.database.preparation import Visit
from larbinpy.database.search.query import Query
from larbinpy.database.search.segment import VERSION
from larbinpy.database.sqlite.index import FileIndexing, FtsIndex, Joining, TimeLimit, distinct
from larbinpy.database.writing.batch import forget_deleted
from larbinpy.loop.clock import Clock

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
CREATE TABLE difference (           -- what a change of a main text has changed
    page INTEGER NOT NULL,          -- page.id
    at TEXT NOT NULL,               -- as change.at
    data BLOB,                      -- JSON: the sentences that went, and those that came
    size INTEGER,                   -- in bytes
    PRIMARY KEY (page, at)
) WITHOUT ROWID;
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


class Damaged(DatabaseError):
    """SQLite cannot read a part of the file; `why` is what it says."""

    def __init__(self, path: str | Path, why: str) -> None:
        super().__init__(f"{path}: damaged database ({why}); {salvage_hint(path)}")
        self.why = why


def salvage_hint(path: str | Path) -> str:
    """The remedy for a file of which a part cannot be read."""
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
            if write:
                _upgrade(base)
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
    check_format(path, version)


def _upgrade(base: sqlite3.Connection) -> None:
    """Make tables of an older version those of this one."""
    if base.execute("PRAGMA user_version").fetchone() == (FORMAT,):
        return
    _, _, added = TABLES.partition("CREATE TABLE difference")
    base.executescript(
        f"BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS difference{added.partition(';')[0]};"
        f"PRAGMA user_version={FORMAT}; UPDATE meta SET value = {FORMAT} WHERE key = 'format';"
        "COMMIT;"
    )


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


#: KiB of the file that a finder keeps in memory.
_KEPT = 64 * 1024
#: Pages whose languages are counted; counting a million takes 0.1 s.
_DRAWN = 2000


class FileReading:
    """A connection that only reads."""

    def __init__(self, where: str, clock: Clock) -> None:
        self._path = where
        self._clock = clock
        self._open()

    def _open(self) -> None:
        still = still_state(self._path)
        base = connect(self._path)
        self._base, self._file = base, os.stat(self._path)
        with sqlite_errors(self._path):
            self._base.execute(f"PRAGMA cache_size=-{_KEPT}")
        self._limit = TimeLimit(self._base, self._clock)
        # A writer may have left meanwhile.
        self._still = still or still_state(self._path)

    @contextmanager
    def asked(self) -> Iterator[None]:
        with sqlite_errors(self._path):
            if self._is_replaced() or self._still not in (None, still_state(self._path)):
                old = self._base
                self._open()
                old.close()
            yield

    def _is_replaced(self) -> bool:
        """Whether the name of the open file is that of another one now, or of none."""
        try:
            return not os.path.samestat(self._file, os.stat(self._path))
        except OSError:
            return True

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.asked():
            self._base.execute("BEGIN")
            try:
                yield
            finally:
                self._base.execute("ROLLBACK")

    def rows(self, statement: str, arguments: Sequence[Any], /) -> Iterable[tuple[Any, ...]]:
        return self._base.execute(statement, arguments)

    def rows_until(self, until: float) -> Rows:
        return self.rows

    def index(self, query: Query, until: float) -> FtsIndex:
        return FtsIndex(self._base, self._limit, query, self._clock)

    def languages(self) -> list[str]:
        """All languages, in the order of their frequency among pages that are drawn evenly."""
        (last,) = self._base.execute("SELECT max(id) FROM page").fetchone()
        drawn = range(last or 0, 0, -max(1, (last or 0) // _DRAWN))
        rows = self._base.execute(
            "SELECT lang, count(*) FROM page WHERE id IN (SELECT value FROM json_each(?)) "
            "AND lang IS NOT NULL GROUP BY lang",
            (json.dumps(list(drawn)),),
        )
        counts = dict(rows.fetchall())
        return sorted(distinct(self._base, "lang"), key=lambda lang: (-counts.get(lang, 0), lang))

    def size(self) -> int:
        files = (Path(f"{self._path}{end}") for end in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        self._base.close()


#: kB of the file that are kept in memory.
_CACHE = 32 << 10
#: Blocks of the log after which they are moved into the file. Blocks that change again and again
#: are moved once.
_CHECKPOINT = (16 << 20) // BLOCK
#: Bytes of the log's file that are kept after it was moved. While readers read it grows.
_LONG_LOG = 64 << 20
#: Milliseconds to wait, at the end, for searches that read the log.
_PATIENCE = 2000
#: Shares of unused blocks from which the file is made shorter, and until which; blocks at a time.
_MANY, _FEW, _GIVEN = 0.05, 0.01, (1 << 20) // BLOCK


class FileWriting:
    """The one connection that writes, with the lock."""

    def __init__(self, where: str) -> None:
        self._path = Path(where)
        self._lock = Lock(self._path)
        self._base: sqlite3.Connection | None = None
        # The file that is open, which need not be that of this name any more.
        self._file: os.stat_result | None = None
        self._shrinking = False
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise

    @contextmanager
    def asked(self, spool: str | None = None) -> Iterator[Opened]:
        self._open()
        with sqlite_errors(self._path):
            yield self._opened

    @contextmanager
    def fitted(self, pages: Sequence[Visit]) -> Iterator[tuple[Sequence[Visit], list[str]]]:
        yield pages, []

    @contextmanager
    def transaction(self, spool: str | None = None, *, durable: bool = False) -> Iterator[Opened]:
        """`durable`: a commit with synchronous=FULL syncs the log, and with it all earlier ones."""
        base = self._open()
        try:
            with sqlite_errors(self._path):
                if durable:
                    base.execute("PRAGMA synchronous=FULL")
                base.execute("BEGIN IMMEDIATE")
                yield self._opened
                if durable:
                    # A transaction without a change would not sync, nor one with an UPDATE to what
                    # a row has already.
                    base.execute("INSERT OR REPLACE INTO meta SELECT * FROM meta LIMIT 1")
                base.execute("COMMIT")
                if durable:
                    base.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            with suppress(sqlite3.Error):
                base.execute("ROLLBACK")
            self._disconnect()
            raise

    def tend(self) -> bool:
        """Join a piece of the index, or give some unused blocks back."""
        with self.transaction():
            if self._joining.is_due:
                self._joining.step()
                return True
        base = self._open()
        with sqlite_errors(self._path):
            self._shrinking = self._is_loose(base)
            if self._shrinking:
                # Not by `execute`: that does one step of a statement without rows, here one block.
                base.executescript(f"PRAGMA incremental_vacuum({_GIVEN})")
        return self._shrinking

    def _is_loose(self, base: sqlite3.Connection) -> bool:
        """Whether the file has many unused blocks; while they are given back, some."""
        (unused,) = base.execute("PRAGMA freelist_count").fetchone()
        (blocks,) = base.execute("PRAGMA page_count").fetchone()
        return bool(unused > blocks * (_FEW if self._shrinking else _MANY))

    def close(self) -> None:
        try:
            if self._base is not None:
                complete(self._base)
            self._disconnect()
        finally:
            self._lock.release()

    def _open(self) -> sqlite3.Connection:
        if self._base is not None and not self._is_there():
            # The log that has the old file's name would be taken for the new one's.
            complete(self._base)
            self._disconnect()
            raise Unavailable(f"{self._path}: was deleted or replaced while it was written")
        if self._base is None:
            base = connect(self._path, write=True)
            try:
                with sqlite_errors(self._path):
                    prepare_to_write(base)
                    self._opened = Opened(base, FileIndexing(base))
                    self._joining = Joining(base)
            except BaseException:
                base.close()
                raise
            self._base = base
            self._file = os.stat(self._path)
        return self._base

    def _is_there(self) -> bool:
        """Whether the open file still has its name."""
        try:
            return self._file is not None and os.path.samestat(self._file, os.stat(self._path))
        except OSError:
            return False

    def _disconnect(self) -> None:
        if self._base is not None:
            base, self._base = self._base, None
            with suppress(sqlite3.Error):
                base.close()


def complete(base: sqlite3.Connection) -> None:
    """Move the log into the file, so that the file can be copied, also while others read it.

    The last connection that closes does so, too, but not if that one only reads.
    """
    with suppress(sqlite3.Error):
        base.execute(f"PRAGMA busy_timeout={_PATIENCE}")
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def prepare_to_write(base: sqlite3.Connection) -> None:
    """Set how a connection writes: what it keeps in memory, and when it syncs."""
    for setting in (
        f"cache_size=-{_CACHE}",
        "synchronous=NORMAL",
        f"wal_autocheckpoint={_CHECKPOINT}",
        f"journal_size_limit={_LONG_LOG}",
        # Debian's SQLite overwrites what is deleted: blocks that leave the index, above all.
        "secure_delete=OFF",
    ):
        base.execute(f"PRAGMA {setting}")


#: Lines of trouble with the file.
_LINES = 20
#: Share of unused blocks from which VACUUM is worth its time.
_LOOSE = 0.1


class FileCare:
    """A file that no other process writes."""

    entries = "ft_docsize", "id"

    def __init__(self, path: Path, base: sqlite3.Connection) -> None:
        self._path = path
        self.base = base
        self.hint = salvage_hint(path)

    def new_index(self) -> FileIndexing:
        """The database grows by its size."""
        self.forget_new()
        # The text of such pages is overwritten, in the index, too.
        self.base.execute("PRAGMA secure_delete=ON")
        self.base.execute("BEGIN IMMEDIATE")
        if not forget_deleted(self.base):
            self.base.execute("PRAGMA secure_delete=OFF")
        self.base.execute("COMMIT")
        make_index(self.base, "ft_new")
        self.base.execute("CREATE TABLE made (page INTEGER PRIMARY KEY, indexed INTEGER)")
        return FileIndexing(self.base, "ft_new")

    def use_index(self, progress: Progress) -> None:
        """In one transaction."""
        base = self.base
        base.execute("PRAGMA synchronous=FULL")
        base.execute("BEGIN IMMEDIATE")
        base.execute(
            "UPDATE page SET indexed = (SELECT made.indexed FROM made WHERE made.page = page.id)"
        )
        base.execute("DROP TABLE made")
        base.execute("DROP TABLE ft")
        base.execute("ALTER TABLE ft_new RENAME TO ft")
        base.execute("INSERT OR REPLACE INTO meta VALUES ('segmenter', ?)", (VERSION,))
        base.execute("COMMIT")

    def forget_new(self) -> None:
        self.base.execute("DROP TABLE IF EXISTS ft_new")
        self.base.execute("DROP TABLE IF EXISTS made")

    def trouble(self, progress: Progress) -> Iterator[str]:
        # Bytes that are no letters are an error of their page, and not of Python's module.
        self.base.text_factory = bytes.decode
        progress("checking the file", 0, 1)
        yield from self.told(_file_trouble(self.base))
        progress("checking the index", 0, 1)
        yield from _index_trouble(self._path, write=can_write(self._path))

    def told(self, check: Iterable[str]) -> Iterator[str]:
        try:
            yield from check
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
            yield f"file: {error}"

    def finds(self, page: int, word: str) -> bool | str:
        ask = "SELECT 1 FROM ft WHERE ft MATCH ? AND rowid = ?"
        try:
            return self.base.execute(ask, (f'"{word}"', page)).fetchone() is not None
        except sqlite3.DatabaseError as error:
            return str(error)

    def tidy(self, progress: Progress) -> None:
        """Join the parts of the index, and give unused space back."""
        progress("joining the index", 0, 1)
        joining = Joining(self.base)
        while joining.step():
            pass
        progress("statistics", 0, 1)
        self.base.execute("PRAGMA analysis_limit=1000")
        self.base.execute("ANALYZE")
        _shrink(self.base, self._path, progress)


def _file_trouble(base: sqlite3.Connection) -> Iterator[str]:
    # All of a table that the other checks do not read.
    base.execute("SELECT count(at), count(kind), count(target) FROM change").fetchone()
    for (told,) in base.execute(f"PRAGMA integrity_check({_LINES})").fetchall():
        for line in told.splitlines():
            if line != "ok" and not line.startswith("***"):
                yield f"file: {line}"


def _index_trouble(path: Path, *, write: bool) -> Iterator[str]:
    """What SQLite's own check finds, in a copy of this process: damage may end it."""
    ours, its = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(its, _checked_index(path, write=write).encode())
        finally:
            os._exit(0)
    os.close(its)
    with open(ours, encoding="utf-8") as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    if status:
        text = "it cannot be read to its end"
    if text:
        yield f"index: {text}; --rebuild repairs it"


def _checked_index(path: Path, *, write: bool) -> str:
    """The error of an index; empty for none.

    The check writes nothing, but needs the right to. So all of the index is read as well.
    """
    try:
        with closing(connect(path, write=write)) as base:
            base.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, ft, row)")
            base.execute("SELECT sum(cnt) FROM temp.words").fetchone()
            base.execute("INSERT INTO ft(ft) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY:
            return str(error)
    except DatabaseError as error:
        return str(error)
    return ""


@contextmanager
def file_care(where: str, write: bool) -> Iterator[FileCare]:
    path = Path(where)
    connect(path).close()
    if not write and not can_write(path):
        with closing(connect(path)) as base, sqlite_errors(path):
            yield FileCare(path, base)
        return
    with at_rest(path), closing(connect(path, write=True)) as base, sqlite_errors(path):
        prepare_to_write(base)
        yield FileCare(path, base)
        complete(base)


@contextmanager
def at_rest(path: Path) -> Iterator[None]:
    """Keep other processes from writing the file in the block. Raises `Unavailable` if one does."""
    lock = Lock(path)
    try:
        yield
    finally:
        lock.release()


def _shrink(base: sqlite3.Connection, path: Path, progress: Progress) -> None:
    """VACUUM, if it gives much back and the disk has room for it: it writes the file twice."""
    blocks, unused, size = (
        int(base.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    if unused < blocks * _LOOSE:
        return
    if shutil.disk_usage(path.absolute().parent).free < 2.2 * blocks * size:
        progress("no room on the disk to give space back", 1, 1)
        return
    progress("giving space back", 0, 1)
    # Its temporary file lies beside the database, not in memory and not in /tmp.
    base.execute("PRAGMA temp_store=FILE")
    before = os.environ.get("SQLITE_TMPDIR")
    os.environ["SQLITE_TMPDIR"] = str(path.absolute().parent)
    try:
        base.execute("VACUUM")
    finally:
        if before is None:
            del os.environ["SQLITE_TMPDIR"]
        else:
            os.environ["SQLITE_TMPDIR"] = before
