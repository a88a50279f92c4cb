"""Care of a database on a server: index it again, check it, make it small and fast.

Each takes the turn of the writers: crawls that fill the database wait until it has ended.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

from larbinpy.database.base import FIELDS, fingerprint
from larbinpy.database.mysql.index import Index, kept_words, match, spelt
from larbinpy.database.mysql.server import TABLES, WORDS, Server, check, make, turn
from larbinpy.database.mysql.writer import Writer
from larbinpy.database.writing.batch import forget_deleted, stored_tokens
from larbinpy.database.writing.filling import INDEXED, Progress, count, counted, lost_pages, pieces
from larbinpy.search.query import Form, Item
from larbinpy.search.segment import VERSION

#: Seconds: to check or to copy a large table takes long.
_PATIENCE = 24 * 3600.0


def rebuild(where: str, progress: Progress) -> int:
    """Index all pages again, from what is stored; return their number.

    Searches go on in the old table until the new one takes its place.
    """
    with _alone(where) as server:
        _forget_new(server)
        server.execute("START TRANSACTION")
        forget_deleted(server)
        server.execute("COMMIT")
        make(server, "ft_new", WORDS)
        make(server, "made", "page BIGINT PRIMARY KEY, indexed BIGINT")
        total = count(server, f"SELECT count(*) {INDEXED}")
        done = 0
        for pages in pieces(server, INDEXED):
            progress("indexing pages", done, total)
            server.execute("START TRANSACTION")
            index = Index(server, "ft_new")
            made = []
            for page in pages:
                tokens = stored_tokens(server, page) or ("",) * len(FIELDS)
                index.put(page, tokens)
                made.append((page, fingerprint(tokens)))
            index.apply()
            server.executemany("INSERT INTO made VALUES (?, ?)", made)
            server.execute("COMMIT")
            done += len(pages)
        progress("sorting words", done, total)
        # All at once: faster, and the index is smaller.
        server.execute("ALTER TABLE ft_new ADD FULLTEXT INDEX (words)")
        # The server has no transactions for tables, but both names change at once. What a kill
        # leaves undone after that `verify` sees, and another `rebuild` does.
        server.execute("RENAME TABLE ft TO ft_old, ft_new TO ft")
        server.execute("START TRANSACTION")
        server.execute(
            "UPDATE page LEFT JOIN made ON made.page = page.id SET page.indexed = made.indexed"
        )
        server.execute("DELETE FROM meta WHERE key = 'indexed'")
        server.execute("UPDATE meta SET key = 'indexed' WHERE key = 'indexed:ft_new'")
        server.execute("INSERT OR REPLACE INTO meta VALUES ('segmenter', ?)", (VERSION,))
        server.execute("COMMIT")
        _forget_new(server)
        return done


def verify(where: str, progress: Progress) -> list[str]:
    """Check the tables, the index, and that each page is found; return a line for each trouble."""
    lines: list[str] = []
    with _alone(where) as server:
        for number, name in enumerate((*TABLES, "ft")):
            progress("checking tables", number, len(TABLES) + 1)
            rows = server.rows(f"CHECK TABLE {name}")
            lines += [f"{name}: {row[3]}" for row in rows if row[2].lower() in ("error", "warning")]
        lines += counted(server, "ft", "page")

        lines += lost_pages(server, partial(_finds, server), progress)
    return lines


def _finds(server: Server, page: int, word: str) -> bool:
    if _has(server, page, word):
        return True
    # Of a long page the index has the first words alone, among them those of the URL.
    tokens = stored_tokens(server, page)
    if tokens is None or spelt(word) in kept_words(server, tokens).split():
        return False
    return all(_has(server, page, each) for each in tokens[FIELDS.index("url")].split()[:1])


def _has(server: Server, page: int, word: str) -> bool:
    """Whether the index has a word of a page, or a word that it does not take."""
    asked = match(Item(word, (Form((word,)),)))
    if asked is None:
        return True
    statement = f"SELECT 1 FROM ft WHERE page = ? AND {asked.sql}"
    return bool(server.rows(statement, (page, *asked.arguments)))


def optimize(where: str, progress: Progress) -> None:
    """Bring in the texts of links, and make the tables and the index anew."""
    with closing(Server(where, _PATIENCE)) as server:
        check(server, write=False)
    progress("texts of links", 0, 1)
    with closing(Writer(where)) as writer:
        while writer.tend():
            pass
    with _alone(where) as server:
        _forget_new(server)
        for number, name in enumerate((*TABLES, "ft")):
            progress("making tables anew", number, len(TABLES) + 1)
            server.rows(f"OPTIMIZE TABLE {name}")


def _forget_new(server: Server) -> None:
    """Remove what a killed `rebuild` left, or the old table after it."""
    for name in ("ft_new", "ft_old", "made"):
        server.execute(f"DROP TABLE IF EXISTS {name}")
    server.execute("DELETE FROM meta WHERE key = 'indexed:ft_new'")


@contextmanager
def _alone(where: str) -> Iterator[Server]:
    """The database, with no other process writing; it has to exist."""
    with closing(Server(where, _PATIENCE)) as server:
        check(server, write=False)
        with turn(server):
            yield server
