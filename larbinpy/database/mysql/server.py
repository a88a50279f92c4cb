"""A connection to a MariaDB or MySQL server.

The address of a database on a server: mysql://[USER@]HOST[:PORT]/NAME.

Locks of the processes that write to one database: those of the server, by name (GET_LOCK).

A connection holds them, and its end releases them: if a process is killed in mid-commit, once the
server has decided about that commit.

    the turn    for one transaction, or for the care of the database
    a spool     as long as a process fills the database from it
    a seat      the same, for a number that no other such process has (see `writing.anchors`)

The tables on a server: those of sqlite/schema.py, which says what their columns are.

`content.text` and `content.more` are in the zlib format; docs/search.md says how to read them.
The table `ft` has the words of a page in one column (see words.py), and their number.
"""

import configparser
import getpass
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, Self

import pymysql
from pymysql.constants import CR, ER
from pymysql.optionfile import Parser

from larbinpy.database.base import Cursor, DatabaseError, Unavailable
from larbinpy.search.segment import VERSION

PORT = 3306

_ADDRESS = re.compile(
    r"(?:mysql|mariadb)://(?:(?P<user>[^@/:]*)@)?(?P<host>[\w.-]+|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>\d{1,5}))?/(?P<name>[\w$-]+)",
    re.ASCII | re.IGNORECASE,
).fullmatch


class Address(NamedTuple):
    user: str | None
    host: str
    #: None: that of the server's socket, or `PORT`.
    port: int | None
    name: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Raises `DatabaseError`, which does not show a password."""
        match = _ADDRESS(text)
        if match is not None:
            port = int(match["port"]) if match["port"] else None
            return cls(match["user"] or None, match["host"].strip("[]"), port, match["name"])
        if "@" in text and ":" in text.partition("://")[2].rpartition("@")[0]:
            hint = "put it into ~/.my.cnf, under [client], as password=..."
            raise DatabaseError(f"a password in the URL of a database could be seen; {hint}")
        shown = text.partition("?")[0]
        raise DatabaseError(f"{shown[:60]!r} is not mysql://[USER@]HOST[:PORT]/NAME")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        return f"mysql://{host}{port}/{self.name}"


#: The option file with user and password, as for the server's own client.
OPTION_FILE = "~/.my.cnf"
#: The server's socket on this machine, as Debian has it.
_SOCKET = "/run/mysqld/mysqld.sock"
#: Seconds to connect.
_CONNECT = 5
#: Seconds after which the server forgets a connection without statements, and the locks it has:
#: those of a machine that has failed, above all.
_IDLE = 60
#: The server's own time limit was over (MariaDB, MySQL, the full-text index).
_TOO_LATE = (1969, 3024, 188, ER.QUERY_INTERRUPTED)
_DISK_FULL = (ER.DISK_FULL, ER.RECORD_FILE_FULL, 1030)
#: Settings of a session: too long texts of pages are cut, not refused, and each word counts.
_SETTINGS = (
    "sql_mode = 'NO_ENGINE_SUBSTITUTION'",
    "innodb_ft_enable_stopword = 0",
    "innodb_lock_wait_timeout = 10",
    f"wait_timeout = {_IDLE}",
)
#: Reserved words that are names of ours.
_RESERVED = re.compile(r"\b(key|change)\b")


class TooLate(Unavailable):
    """The server gave a statement up at its time limit."""


class Lost(Unavailable):
    """The connection to the server is lost, or there is none to be had."""


class TooLong(Exception):
    """A statement is longer than the server takes: it would close the connection.

    It is the fault of the page that it is about, not of the database.
    """


class _Connection(pymysql.connections.Connection):
    """A connection that sends no statement that is too long."""

    #: Bytes that a statement can have.
    limit = 1024

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        statement = sql.encode(self.encoding) if isinstance(sql, str) else sql
        if len(statement) >= self.limit:
            size = f"{len(statement)} bytes, and the max_allowed_packet of the server, {self.limit}"
            raise TooLong(f"a statement of {size}")
        return super().query(statement, unbuffered)


class Server:
    """A connection; it commits each statement, unless BEGIN was said.

    Statements are those of `writing.tables.Tables`. Raises `DatabaseError`.
    """

    def __init__(self, where: str, patience: float) -> None:
        self.address = Address.of(where)
        with mysql_errors(self.address):
            self._connection: Any = _Connection(
                **_options(self.address),
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=_CONNECT,
                read_timeout=patience,
                init_command=f"SET SESSION {', SESSION '.join(_SETTINGS)}",
            )
        version, packet = self.rows("SELECT version(), @@max_allowed_packet")[0]
        self._is_mariadb = "mariadb" in version.lower()
        #: Bytes that a statement or a row can have.
        self.packet = self._connection.limit = int(packet)

    def execute(self, statement: str, arguments: Sequence[Any] = (), /) -> Cursor:
        cursor: Any = self._connection.cursor()
        with mysql_errors(self.address):
            cursor.execute(translated(statement), tuple(arguments))
        answer: Cursor = cursor
        return answer

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        cursor: Any = self._connection.cursor()
        cursor.max_stmt_length = min(cursor.max_stmt_length, self.packet // 2)
        with mysql_errors(self.address):
            cursor.executemany(translated(statement), list(rows))

    def rows(self, statement: str, arguments: Sequence[Any] = ()) -> list[Any]:
        return list(self.execute(statement, arguments).fetchall())

    def limited(self, statement: str, arguments: Sequence[Any], seconds: float) -> list[Any]:
        """The rows of a SELECT, which the server gives up after `seconds`."""
        if self._is_mariadb:
            limited = f"SET STATEMENT max_statement_time={max(seconds, 0.001):.3f} FOR {statement}"
        else:
            hint = f"SELECT /*+ MAX_EXECUTION_TIME({max(1, int(seconds * 1000))}) */"
            limited = statement.replace("SELECT", hint, 1)
        return self.rows(limited, arguments)

    @property
    def patience(self) -> float:
        """Seconds after which a server that does not answer counts as `Lost`."""
        seconds: float = self._connection._read_timeout
        return seconds

    @patience.setter
    def patience(self, seconds: float) -> None:
        # PyMySQL looks at it before each reading; it has no other way to change it.
        self._connection._read_timeout = seconds

    def is_alive(self) -> bool:
        try:
            self._connection.ping(reconnect=False)
        except (pymysql.MySQLError, OSError):
            return False
        return True

    def close(self) -> None:
        with suppress(pymysql.MySQLError, OSError):
            self._connection.close()


@lru_cache(maxsize=500)
def translated(statement: str) -> str:
    """A statement of SQLite as PyMySQL and the server take it."""
    statement = statement.replace("%", "%%").replace("?", "%s")
    statement = statement.replace("INSERT OR REPLACE", "REPLACE")
    statement = statement.replace("INSERT OR IGNORE", "INSERT IGNORE")
    return _RESERVED.sub(r"`\1`", statement)


def _options(address: Address) -> dict[str, Any]:
    """Arguments to connect: user, password, socket of the option file, the rest of the URL."""
    file = Parser(interpolation=None, strict=False)
    try:
        file.read(os.path.expanduser(OPTION_FILE))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        # Its lines are not shown: one of them is the password.
        raise DatabaseError(f"{OPTION_FILE}: cannot be read ({type(error).__name__})") from None

    def option(name: str) -> str | None:
        found = file.get("client", name) if file.has_option("client", name) else None
        return found or None

    options: dict[str, Any] = {
        "host": address.host,
        "port": address.port or PORT,
        "user": address.user or option("user") or getpass.getuser(),
        "password": option("password") or "",
        "database": address.name,
    }
    if address.host == "localhost" and address.port is None:
        socket = option("socket") or _SOCKET
        if os.path.exists(socket):
            options["unix_socket"] = socket
    for name in ("ssl-ca", "ssl-cert", "ssl-key"):
        if option(name):
            options[name.replace("-", "_")] = option(name)
    return options


@contextmanager
def mysql_errors(address: Address) -> Iterator[None]:
    """Raise errors of the server as `DatabaseError`, those that may pass as `Unavailable`."""
    try:
        yield
    except pymysql.MySQLError as error:
        raise _said(address, error) from error
    except OSError as error:
        raise Lost(f"{address}: {error}") from error


def _said(address: Address, error: pymysql.MySQLError) -> DatabaseError:
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    text = " ".join(str(error.args[-1] if error.args else error).split())
    if code in (ER.BAD_DB_ERROR, ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR):
        hint = (
            f"CREATE DATABASE `{address.name}` CHARACTER SET utf8mb4; GRANT SELECT, INSERT, UPDATE,"
            f" DELETE, CREATE, ALTER, DROP, INDEX ON `{address.name}`.* TO 'USER'@'HOST'"
        )
        return DatabaseError(f"{address}: {text}; as root of the server: {hint}")
    if code == ER.ACCESS_DENIED_ERROR:
        hint = f"put user and password into {OPTION_FILE}, under [client]"
        return DatabaseError(f"{address}: {text}; {hint}")
    if code in (ER.NO_SUCH_TABLE, ER.BAD_FIELD_ERROR, ER.PARSE_ERROR):
        return DatabaseError(f"{address}: {text}")
    if code in _DISK_FULL:
        return Unavailable(f"{address}: the disk of the server is full; make room ({text})")
    if code in _TOO_LATE:
        return TooLate(f"{address}: {text}")
    if isinstance(error, pymysql.InterfaceError) or code >= CR.CR_ERROR_FIRST:
        return Lost(f"{address}: {text or 'the connection is closed'}")
    return Unavailable(f"{address}: {text}")


#: Seconds to wait for the turn: many others may have theirs before.
_TURN = 30
#: Seconds to wait for a spool: the server may not have noticed yet that its holder is gone.
_SPOOL = 3
#: Characters of a name that the server takes, and those of the database's name within.
_LONGEST, _NAME = 64, 40


@contextmanager
def turn(server: Server, patience: int = _TURN) -> Iterator[None]:
    """Let no other process write meanwhile. Raises `Unavailable` if the turn does not come within
    `patience` seconds."""
    name = _named(server, "")
    if not _take(server, name, patience):
        (holder,) = server.execute("SELECT IS_USED_LOCK(?)", (name,)).fetchone()
        hint = f"connection {holder} of the server writes to it; wait until that has ended"
        raise Unavailable(f"{server.address}: in use: {hint}")
    try:
        yield
    finally:
        # A connection that is lost has no lock.
        with suppress(DatabaseError):
            _free(server, name)


def hold_spool(server: Server, spool: str) -> None:
    """Be the one that fills the database from `spool`. Raises `Unavailable` if another is."""
    name = _named(server, f".spool.{spool}")
    if not _take(server, name, _SPOOL):
        (holder,) = server.execute("SELECT IS_USED_LOCK(?)", (name,)).fetchone()
        hint = f"connection {holder} of the server writes the same pages; wait until it has ended"
        raise Unavailable(f"{server.address}: {hint}")


def take_seat(server: Server) -> int:
    """Take the first free seat."""
    return next(seat for seat in count() if holds_seat(server, seat))


def holds_seat(server: Server, seat: int) -> bool:
    """Take a seat; whether it was free."""
    return _take(server, _named(server, f".{seat}"), 0)


def leave_seat(server: Server, seat: int) -> None:
    _free(server, _named(server, f".{seat}"))


def _named(server: Server, end: str) -> str:
    name = f"larbinpy.{server.address.name}"
    return f"{name[:_NAME] if end else name}{end}"[:_LONGEST]


def _take(server: Server, name: str, wait: int) -> bool:
    (has,) = server.execute("SELECT GET_LOCK(?, ?)", (name, wait)).fetchone()
    return bool(has == 1)


def _free(server: Server, name: str) -> None:
    server.execute("SELECT RELEASE_LOCK(?)", (name,))


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
