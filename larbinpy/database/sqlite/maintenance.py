"""Care of a database file: index it again, check it, make it small and fast.

Each takes the lock of the writer: a crawl that fills the database has to end before.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from larbinpy.database.fields import FIELDS, fingerprint
from larbinpy.database.sqlite.fulltext import Index, Joining
from larbinpy.database.sqlite.lock import Lock
from larbinpy.database.sqlite.schema import (
    can_write,
    connect,
    make_index,
    salvage_hint,
    sqlite_errors,
)
from larbinpy.database.sqlite.writer import Writer, complete, prepare_to_write
from larbinpy.database.writing.checking import (
    DAMAGED,
    INDEXED,
    MOST_LINES,
    Progress,
    count,
    counted,
    lost_pages,
    pieces,
)
from larbinpy.database.writing.deleted import forget_deleted
from larbinpy.database.writing.stored import stored_tokens
from larbinpy.search.segment import VERSION

#: Share of unused blocks from which VACUUM is worth its time.
_LOOSE = 0.1


def rebuild(where: str, progress: Progress) -> int:
    """Index all pages again, from what is stored; return their number.

    Searches go on in the old index until the new one takes its place, in one transaction. The
    database grows by the size of the index. What belongs to rows of `page` that were deleted is
    removed.
    """
    with _alone(where) as base:
        _forget_new(base)
        # The text of such pages is overwritten, in the index, too.
        base.execute("PRAGMA secure_delete=ON")
        base.execute("BEGIN IMMEDIATE")
        if not forget_deleted(base):
            base.execute("PRAGMA secure_delete=OFF")
        base.execute("COMMIT")
        make_index(base, "ft_new")
        base.execute("CREATE TABLE made (page INTEGER PRIMARY KEY, indexed INTEGER)")
        total = count(base, f"SELECT count(*) {INDEXED}")
        done = 0
        for pages in pieces(base, INDEXED):
            progress("indexing pages", done, total)
            base.execute("BEGIN IMMEDIATE")
            index = Index(base, "ft_new")
            for page in pages:
                tokens = stored_tokens(base, page) or ("",) * len(FIELDS)
                index.put(page, tokens)
                base.execute("INSERT INTO made VALUES (?, ?)", (page, fingerprint(tokens)))
            index.apply()
            base.execute("COMMIT")
            done += len(pages)
        progress("indexing pages", done, total)
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
        return done


def verify(where: str, progress: Progress) -> list[str]:
    """Check the file, the index, and that each page is found; return a line for each trouble."""
    path = Path(where)
    lines: list[str] = []
    with _alone(where) if can_write(path) else _reading(path) as base:
        # Bytes that are no letters are an error of their page, and not of Python's module.
        base.text_factory = bytes.decode
        progress("checking the file", 0, 1)
        lines += _told(_file_trouble(base))
        progress("checking the index", 0, 1)
        lines += _index_trouble(base)
        lines += _told(counted(base, "ft_docsize", "id"))
        lines += _told(lost_pages(base, partial(_finds, base), progress))
    if any(line.startswith("file: ") or DAMAGED in line for line in lines):
        lines.append(salvage_hint(path))
    return lines


def _told(check: Iterable[str]) -> Iterator[str]:
    """What a check says, and the damage that ends it."""
    try:
        yield from check
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        yield f"file: {error}"


def _file_trouble(base: sqlite3.Connection) -> Iterator[str]:
    # All of a table that the other checks do not read.
    base.execute("SELECT count(at), count(kind), count(target) FROM change").fetchone()
    for (told,) in base.execute(f"PRAGMA integrity_check({MOST_LINES})").fetchall():
        for line in told.splitlines():
            if line != "ok" and not line.startswith("***"):
                yield f"file: {line}"


def _index_trouble(base: sqlite3.Connection) -> Iterator[str]:
    try:
        try:
            base.execute("INSERT INTO ft(ft) VALUES ('integrity-check')")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_READONLY:
                raise
            # That writes nothing, but needs the right to. So all of the index is read.
            base.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, ft, row)")
            base.execute("SELECT sum(cnt) FROM temp.words").fetchone()
    except sqlite3.DatabaseError as error:
        yield f"index: {error}; --rebuild repairs it"


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, where it cannot be written."""
    with closing(connect(path)) as base, sqlite_errors(path):
        yield base


def optimize(where: str, progress: Progress) -> None:
    """Bring in the texts of links, join the parts of the index, give unused space back."""
    connect(where).close()
    progress("texts of links", 0, 1)
    writer = Writer(where)
    try:
        while writer.tend():
            pass
    finally:
        writer.close()
    with _alone(where) as base:
        _forget_new(base)
        progress("joining the index", 0, 1)
        joining = Joining(base)
        while joining.step():
            pass
        progress("statistics", 0, 1)
        base.execute("PRAGMA analysis_limit=1000")
        base.execute("ANALYZE")
        _shrink(base, Path(where), progress)


def _forget_new(base: sqlite3.Connection) -> None:
    """Remove the half of an index that a killed `rebuild` left."""
    base.execute("DROP TABLE IF EXISTS ft_new")
    base.execute("DROP TABLE IF EXISTS made")


@contextmanager
def _alone(where: str) -> Iterator[sqlite3.Connection]:
    """The database, with no other process writing; it has to exist."""
    path = Path(where)
    connect(path).close()
    with at_rest(path), closing(connect(path, write=True)) as base, sqlite_errors(path):
        prepare_to_write(base)
        yield base
        complete(base)


@contextmanager
def at_rest(path: Path) -> Iterator[None]:
    """Keep other processes from writing the file in the block. Raises `Unavailable` if one does."""
    lock = Lock(path)
    try:
        yield
    finally:
        lock.release()


def _finds(base: sqlite3.Connection, page: int, word: str) -> bool | str:
    try:
        row = base.execute(
            "SELECT 1 FROM ft WHERE ft MATCH ? AND rowid = ?", (f'"{word}"', page)
        ).fetchone()
    except sqlite3.DatabaseError as error:
        return str(error)
    return row is not None


def _shrink(base: sqlite3.Connection, path: Path, progress: Progress) -> None:
    """VACUUM, if it gives much back and the disk has room for it: it writes the file twice."""
    blocks = count(base, "PRAGMA page_count")
    if count(base, "PRAGMA freelist_count") < blocks * _LOOSE:
        return
    size = blocks * count(base, "PRAGMA page_size")
    if shutil.disk_usage(path.absolute().parent).free < 2.2 * size:
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
