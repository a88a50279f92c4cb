"""Care of a database file: index it again, check it, make it small and fast.

Each takes the lock of the writer: a crawl that fills the database has to end before.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

from larbinpy.database.fields import FIELDS, fingerprint
from larbinpy.database.sqlite.fulltext import Index, Joining
from larbinpy.database.sqlite.lock import Lock
from larbinpy.database.sqlite.schema import connect, make_index, sqlite_errors
from larbinpy.database.sqlite.writer import Writer, prepare_to_write
from larbinpy.database.writing.stored import stored_tokens
from larbinpy.search.segment import VERSION

#: Called with what is done now, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]

#: Pages that are indexed, or checked, in one piece.
PIECE = 500
#: Lines of one kind of trouble that are told one by one.
_MOST_LINES = 20
#: Share of unused blocks from which VACUUM is worth its time.
_LOOSE = 0.1

_INDEXED = "FROM page WHERE gone IS NULL AND same_as IS NULL"


def rebuild(where: str, progress: Progress) -> int:
    """Index all pages again, from what is stored; return their number.

    Searches go on in the old index until the new one takes its place, in one transaction. The
    database grows by the size of the index.
    """
    with _alone(where) as base:
        _forget_new(base)
        make_index(base, "ft_new")
        base.execute("CREATE TABLE made (page INTEGER PRIMARY KEY, indexed INTEGER)")
        total = _count(base, f"SELECT count(*) {_INDEXED}")
        done = 0
        for pages in _pieces(base, _INDEXED):
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
    lines: list[str] = []
    with _alone(where) as base:
        progress("checking the file", 0, 1)
        found = base.execute(f"PRAGMA integrity_check({_MOST_LINES})").fetchall()
        lines += [f"file: {line}" for (line,) in found if line != "ok"]
        progress("checking the index", 0, 1)
        try:
            base.execute("INSERT INTO ft(ft) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            lines.append(f"index: {error}; --rebuild repairs it")
        version = _count(base, "SELECT value FROM meta WHERE key = 'segmenter'")
        if version != VERSION:
            lines.append(f"index: words of version {version}, not {VERSION}; --rebuild renews it")
        lines += _counted(base)
        lines += _lost_pages(base, progress)
    return lines


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
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _forget_new(base: sqlite3.Connection) -> None:
    """Remove the half of an index that a killed `rebuild` left."""
    base.execute("DROP TABLE IF EXISTS ft_new")
    base.execute("DROP TABLE IF EXISTS made")


@contextmanager
def _alone(where: str) -> Iterator[sqlite3.Connection]:
    """The database, with no other process writing; it has to exist."""
    path = Path(where)
    connect(path).close()
    lock = Lock(path)
    try:
        with closing(connect(path, write=True)) as base, sqlite_errors(path):
            prepare_to_write(base)
            yield base
    finally:
        lock.release()


def _count(base: sqlite3.Connection, query: str) -> int:
    row = base.execute(query).fetchone()
    return int(row[0]) if row else 0


def _pieces(base: sqlite3.Connection, pages: str) -> Iterator[list[int]]:
    """The numbers of the rows of `pages`, some hundred at a time, with no query left open."""
    last = -1
    while True:
        rows = base.execute(
            f"SELECT id {pages} AND id > ? ORDER BY id LIMIT {PIECE}",
            (last,),
        ).fetchall()
        if not rows:
            return
        yield [number for (number,) in rows]
        last = rows[-1][0]


def _counted(base: sqlite3.Connection) -> Iterator[str]:
    """Trouble that shows in numbers of rows."""
    for query, trouble in (
        ("page WHERE id NOT IN (SELECT page FROM content)", "pages have no content"),
        ("content WHERE page NOT IN (SELECT id FROM page)", "contents have no page"),
        ("page WHERE host NOT IN (SELECT id FROM host)", "pages have no host"),
        (
            f"(SELECT id {_INDEXED} AND indexed IS NULL)",
            "pages are not in the index; --rebuild adds them",
        ),
        (
            "page WHERE indexed IS NOT NULL AND (gone IS NOT NULL OR same_as IS NOT NULL)",
            "pages are in the index that should not be; --rebuild removes them",
        ),
        (
            "page WHERE indexed IS NOT NULL AND id NOT IN (SELECT id FROM ft_docsize)",
            "pages are missing in the index; --rebuild adds them",
        ),
        (
            "ft_docsize WHERE id NOT IN (SELECT id FROM page WHERE indexed IS NOT NULL)",
            "entries of the index have no page; --rebuild removes them",
        ),
        (
            "page WHERE same_as NOT IN (SELECT id FROM page WHERE same_as IS NULL)",
            "copies have no original",
        ),
    ):
        count = _count(base, f"SELECT count(*) FROM {query}")
        if count:
            yield f"{count} {trouble}"


def _lost_pages(base: sqlite3.Connection, progress: Progress) -> Iterator[str]:
    """Pages that the index does not find by one of their words, or whose words it had changed."""
    total = _count(base, "SELECT count(*) FROM page WHERE indexed IS NOT NULL")
    random = Random(17)
    done = lost = 0
    for pages in _pieces(base, "FROM page WHERE indexed IS NOT NULL"):
        progress("looking for each page", done, total)
        for page in pages:
            trouble = _lost(base, page, random)
            lost += bool(trouble)
            if trouble and lost <= _MOST_LINES:
                yield trouble
        done += len(pages)
    progress("looking for each page", done, total)
    if lost > _MOST_LINES:
        yield f"{lost - _MOST_LINES} other pages of that kind; --rebuild indexes all again"


def _lost(base: sqlite3.Connection, page: int, random: Random) -> str:
    url, indexed = base.execute("SELECT url, indexed FROM page WHERE id = ?", (page,)).fetchone()
    tokens = stored_tokens(base, page)
    if tokens is None:
        return f"{url}: what is stored is damaged"
    if fingerprint(tokens) != indexed:
        return f"{url}: the index has other words than the page; --rebuild"
    words = list(dict.fromkeys(" ".join(tokens).split()))
    if not words:
        return ""
    # Of a few words the longest is a rare one, so that it is found fast.
    word = max(random.sample(words, min(len(words), 5)), key=len)
    try:
        row = base.execute(
            "SELECT 1 FROM ft WHERE ft MATCH ? AND rowid = ?", (f'"{word}"', page)
        ).fetchone()
    except sqlite3.DatabaseError as error:
        return f"{url}: {error}; --rebuild"
    return "" if row else f"{url}: not found by its word '{word}'; --rebuild"


def _shrink(base: sqlite3.Connection, path: Path, progress: Progress) -> None:
    """VACUUM, if it gives much back and the disk has room for it: it writes the file twice."""
    blocks = _count(base, "PRAGMA page_count")
    if _count(base, "PRAGMA freelist_count") < blocks * _LOOSE:
        return
    size = blocks * _count(base, "PRAGMA page_size")
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
