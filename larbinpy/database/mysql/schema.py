"""The tables on a server: those of sqlite/schema.py, which says what their columns are.

`content.text` and `content.more` are in the zlib format; docs/search.md says how to read them.
The table `ft` has the words of a page in one column (see words.py), and their number.
"""

from larbinpy.database.base import DatabaseError
from larbinpy.database.mysql.server import Server
from larbinpy.search.segment import VERSION

#: Version of the tables. A program opens only those of its own version.
FORMAT = 5

_COMMON = "ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
#: Names and columns, indexes included; those of pages may be of any length.
TABLES = {
    "meta": "key VARCHAR(190) PRIMARY KEY, value MEDIUMTEXT",
    "host": """
        id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(500) NOT NULL UNIQUE,
        sample LONGBLOB, sample_size BIGINT, sample_of BIGINT,
        wrong VARCHAR(40), agreed BIGINT NOT NULL DEFAULT 0,
        contradicted BIGINT NOT NULL DEFAULT 0""",
    "page": """
        id BIGINT AUTO_INCREMENT PRIMARY KEY, key BIGINT NOT NULL UNIQUE, url MEDIUMTEXT NOT NULL,
        host BIGINT NOT NULL, status INT, type VARCHAR(190), charset VARCHAR(190),
        lang VARCHAR(35), title MEDIUMTEXT, site_name MEDIUMTEXT, author MEDIUMTEXT,
        summary MEDIUMTEXT, published VARCHAR(40), modified VARCHAR(40), image MEDIUMTEXT,
        canonical MEDIUMTEXT, comments BIGINT, clicks BIGINT, size BIGINT, depth BIGINT,
        via MEDIUMTEXT, fetched VARCHAR(40) NOT NULL, first_seen VARCHAR(40) NOT NULL,
        changed VARCHAR(40) NOT NULL, visits BIGINT NOT NULL, changes BIGINT NOT NULL,
        etag MEDIUMTEXT, last_modified MEDIUMTEXT, text_hash BIGINT, same_as BIGINT,
        near BIGINT, near1 BIGINT, near2 BIGINT, near3 BIGINT, near4 BIGINT,
        missing VARCHAR(40), moved_to MEDIUMTEXT, gone VARCHAR(40), due VARCHAR(40),
        observed DOUBLE NOT NULL DEFAULT 0, exposure DOUBLE NOT NULL DEFAULT 0,
        announces BIGINT NOT NULL DEFAULT 0, indexed BIGINT,
        INDEX page_host (host), INDEX page_lang (lang), INDEX page_type (type),
        INDEX page_fetched (fetched), INDEX page_gone (gone), INDEX page_due (due),
        INDEX page_moved_to (moved_to(190)), INDEX page_text_hash (text_hash),
        INDEX page_same_as (same_as), INDEX page_near (near),
        INDEX page_near1 (near1, same_as, near), INDEX page_near2 (near2, same_as, near),
        INDEX page_near3 (near3, same_as, near), INDEX page_near4 (near4, same_as, near),
        INDEX page_canonical (canonical(190))""",
    "content": """
        page BIGINT PRIMARY KEY, anchors MEDIUMTEXT, text LONGBLOB, text_size BIGINT,
        more LONGBLOB, more_size BIGINT""",
    "body": "page BIGINT PRIMARY KEY, zstd LONGBLOB, size BIGINT",
    "change": """
        at VARCHAR(40) NOT NULL, page BIGINT NOT NULL, kind VARCHAR(10) NOT NULL,
        text_hash BIGINT, target MEDIUMTEXT,
        INDEX change_page (page, at), INDEX change_at (at, page)""",
    "announced": "target BIGINT PRIMARY KEY, date VARCHAR(40) NOT NULL",
    "anchor": "target BIGINT NOT NULL, text VARCHAR(190) NOT NULL, PRIMARY KEY (target, text)",
    "fresh": "id BIGINT PRIMARY KEY, target BIGINT NOT NULL, text VARCHAR(190) NOT NULL",
}
#: The index, without that of the words.
WORDS = "page BIGINT PRIMARY KEY, size BIGINT NOT NULL, words LONGTEXT"


class NotOurs(DatabaseError):
    """The tables are another program's, or of another version."""


def make(server: Server, name: str, columns: str) -> None:
    server.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) {_COMMON}")


def check(server: Server, *, write: bool) -> None:
    """Make the tables if `write` and there are none; raise `NotOurs` if they are not ours."""
    rows = server.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    )
    tables = {name for (name,) in rows}
    if tables and "meta" not in tables:
        raise NotOurs(f"{server.address}: a database of another program; name another one")
    values = dict(server.rows("SELECT key, value FROM meta")) if tables else {}
    version = values.get("format")
    if version is None:
        if not write:
            raise NotOurs(f"{server.address}: an empty database; crawl first")
        _make(server)
    elif version != str(FORMAT):
        age = "a newer larbinpy" if int(version) > FORMAT else "an older larbinpy"
        line = f"made by {age} (format {version}, not {FORMAT}); fill a new one"
        raise NotOurs(f"{server.address}: {line}")


def _make(server: Server) -> None:
    # Each statement is a transaction: `meta` comes first and its row `format` last.
    for name, columns in TABLES.items():
        make(server, name, columns)
    make(server, "ft", f"{WORDS}, FULLTEXT INDEX (words)")
    server.execute("REPLACE INTO meta VALUES ('segmenter', ?), ('format', ?)", (VERSION, FORMAT))
