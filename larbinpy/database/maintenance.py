"""Care of a database of any kind: index it again, check it, make it small and fast.

A crawl that fills a file has to end before; those that fill a database on a server wait meanwhile.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from random import Random

from larbinpy.database.base import (
    FIELDS,
    DatabaseError,
    Progress,
    Rows,
    Tables,
    fingerprint,
    read_page,
)
from larbinpy.database.dialect import dialect
from larbinpy.database.search.segment import VERSION
from larbinpy.database.writer import Writer
from larbinpy.database.writing.batch import stored_tokens
from larbinpy.loop.clock import clock

#: Whether the index finds a page by a word; else what is wrong, in words.
Finds = Callable[[int, str], bool | str]

#: Pages that are indexed, or checked, in one piece.
PIECE = 500
#: Lines of one kind of trouble that are told one by one.
MOST_LINES = 20

#: Said of what cannot be read, which no `rebuild` repairs.
DAMAGED = "is damaged"
#: The pages that should be in the index.
INDEXED = "FROM page WHERE gone IS NULL AND same_as IS NULL"


def rebuild(where: str, progress: Progress) -> int:
    """Index all pages of a database again, from what is stored; return their number.

    Searches go on in the old index until the new one takes its place; if it is killed the old one
    stays. What belongs to rows of `page` that were deleted is removed. Raises `DatabaseError`,
    `Unavailable` while a crawl fills the file; so do the next two.
    """
    with dialect(where).care(where, True) as care:
        base, index = care.base, care.new_index()
        total, done = count(base, f"SELECT count(*) {INDEXED}"), 0
        for pages in pieces(base, INDEXED):
            progress("indexing pages", done, total)
            made = []
            base.execute("BEGIN IMMEDIATE")
            for page in pages:
                tokens = stored_tokens(base, page) or ("",) * len(FIELDS)
                index.put(page, tokens)
                made.append((page, fingerprint(tokens)))
            index.apply()
            base.executemany("INSERT INTO made VALUES (?, ?)", made)
            base.execute("COMMIT")
            done += len(pages)
        progress("indexing pages", done, total)
        care.use_index(progress)
        return done


def verify(where: str, progress: Progress) -> list[str]:
    """Check a database: tables, index, and that each page is found; return lines of trouble."""
    with dialect(where).care(where, False) as care:
        lines = list(care.trouble(progress))
        lines += care.told(_counted(care.base, *care.entries))
        lines += care.told(_lost_pages(care.base, care.finds, progress))
        if care.hint and any(line.startswith("file: ") or DAMAGED in line for line in lines):
            lines.append(care.hint)
    return lines


def optimize(where: str, progress: Progress) -> None:
    """Bring in the texts of links, and make a database smaller and searches faster."""
    kind = dialect(where)
    # There has to be one: a writer makes it.
    kind.reading(where, clock).close()
    progress("texts of links", 0, 1)
    with closing(Writer(where)) as writer:
        while writer.tend():
            pass
    with kind.care(where, True) as care:
        care.forget_new()
        care.tidy(progress)


def count(base: Tables, query: str) -> int:
    """The number that a SELECT has in its first row; 0 without a row."""
    row = base.execute(query).fetchone()
    return int(row[0]) if row else 0


def pieces(base: Tables, pages: str) -> Iterator[list[int]]:
    """The numbers of the rows of `pages`, some hundred at a time, with no query left open."""
    last = -1
    while True:
        rows = base.execute(
            f"SELECT id {pages} AND id > ? ORDER BY id LIMIT {PIECE}",
            (last,),
        ).fetchall()
        # A damaged tree may give rows again, or in another order.
        numbers = sorted(number for (number,) in rows if number > last)
        if not numbers:
            return
        yield numbers
        last = numbers[-1]


def _counted(base: Tables, table: str, column: str) -> Iterator[str]:
    """Trouble that shows in numbers of rows; `column` of `table` has the pages of the index."""
    version = count(base, "SELECT value FROM meta WHERE key = 'segmenter'")
    if version != VERSION:
        yield f"index: words of version {version}, not {VERSION}; --rebuild renews it"
    for query, trouble in (
        ("page WHERE id NOT IN (SELECT page FROM content)", "pages have no content"),
        (
            "content WHERE page NOT IN (SELECT id FROM page)",
            "contents have no page; --rebuild removes them",
        ),
        ("page WHERE host NOT IN (SELECT id FROM host)", "pages have no host"),
        (
            f"(SELECT id {INDEXED} AND indexed IS NULL) AS lost",
            "pages are not in the index; --rebuild adds them",
        ),
        (
            "page WHERE indexed IS NOT NULL AND (gone IS NOT NULL OR same_as IS NOT NULL)",
            "pages are in the index that should not be; --rebuild removes them",
        ),
        (
            f"page WHERE indexed IS NOT NULL AND id NOT IN (SELECT {column} FROM {table})",
            "pages are missing in the index; --rebuild adds them",
        ),
        (
            f"{table} WHERE {column} NOT IN (SELECT id FROM page WHERE indexed IS NOT NULL)",
            "entries of the index have no page; --rebuild removes them",
        ),
        (
            "page WHERE same_as NOT IN (SELECT id FROM page WHERE same_as IS NULL)",
            "copies have no original; --rebuild finds them one",
        ),
        (
            "page WHERE near IS NOT NULL AND near NOT IN (SELECT id FROM page"
            " WHERE near IS NULL AND same_as IS NULL AND gone IS NULL)",
            "near copies have no original; --rebuild forgets it",
        ),
    ):
        number = count(base, f"SELECT count(*) FROM {query}")
        if number:
            yield f"{number} {trouble}"


def _lost_pages(base: Tables, finds: Finds, progress: Progress) -> Iterator[str]:
    """Pages that cannot be read, that the index does not find by one of their words, or whose words
    it had changed."""
    total = count(base, "SELECT count(*) FROM page")
    random = Random(17)
    done = unread = lost = 0
    for pages in pieces(base, "FROM page WHERE 1"):
        progress("looking for each page", done, total)
        for page in pages:
            if trouble := _unread(base.execute, page):
                unread += 1
                number = unread
            else:
                trouble = _lost(base, page, finds, random)
                lost += bool(trouble)
                number = lost
            if trouble and number <= MOST_LINES:
                yield trouble
        done += len(pages)
    progress("looking for each page", done, total)
    if unread > MOST_LINES:
        yield f"{unread - MOST_LINES} other pages of which something {DAMAGED}"
    if lost > MOST_LINES:
        yield f"{lost - MOST_LINES} other pages of that kind; --rebuild indexes all again"


def _unread(rows: Rows, page: int) -> str:
    """Why a page cannot be read; empty if it can."""
    try:
        stored = read_page(rows, "page.id = ?", page)
    except DatabaseError as error:
        return str(error)
    except UnicodeDecodeError as error:
        return f"page {page}: its row {DAMAGED} ({error.reason})"
    return "" if stored is not None else f"page {page}: its row {DAMAGED}"


def _lost(base: Tables, page: int, finds: Finds, random: Random) -> str:
    url, indexed = base.execute("SELECT url, indexed FROM page WHERE id = ?", (page,)).fetchone()
    if indexed is None:
        return ""
    tokens = stored_tokens(base, page)
    if tokens is None:
        return f"{url}: what is stored {DAMAGED}"
    if fingerprint(tokens) != indexed:
        return f"{url}: the index has other words than the page; --rebuild"
    words = list(dict.fromkeys(" ".join(tokens).split()))
    if not words:
        return ""
    # The longest of a few words is a rare one, so that it is found fast.
    word = max(random.sample(words, min(len(words), 5)), key=len)
    found = finds(page, word)
    if isinstance(found, str):
        return f"{url}: {found}; --rebuild"
    return "" if found else f"{url}: not found by its word '{word}'; --rebuild"
