"""A connection to a MariaDB or MySQL server, and the locks of the processes that write there.

The locks are those of the server, by name (GET_LOCK). A connection holds them, and its end releases
them: if a process is killed in mid-commit, once the server has decided about that commit.

    the turn    for one transaction, or for the care of the database
    a spool     as long as a process fills the database from it
    a seat      the same, for a number that no other such process has (see `writing.anchors`)
"""

import configparser
import getpass
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any

import pymysql
from pymysql.constants import CR, ER
from pymysql.optionfile import Parser

from larbinpy.database.base import Address, DatabaseError, Unavailable

PORT = 3306

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


class ServerTables:
    """The `Tables` on a server; it commits each statement, unless BEGIN was said.

    Raises `DatabaseError`.
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

    def execute(self, statement: str, arguments: Sequence[Any] = (), /) -> Any:
        cursor = self._connection.cursor()
        with mysql_errors(self.address):
            cursor.execute(translated(statement), tuple(arguments))
        return cursor

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        cursor = self._connection.cursor()
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
    statement = statement.replace("BEGIN IMMEDIATE", "BEGIN")
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
def turn(server: ServerTables, patience: int = _TURN) -> Iterator[None]:
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


def hold_spool(server: ServerTables, spool: str) -> None:
    """Be the one that fills the database from `spool`. Raises `Unavailable` if another is."""
    name = _named(server, f".spool.{spool}")
    if not _take(server, name, _SPOOL):
        (holder,) = server.execute("SELECT IS_USED_LOCK(?)", (name,)).fetchone()
        hint = f"connection {holder} of the server writes the same pages; wait until it has ended"
        raise Unavailable(f"{server.address}: {hint}")


def take_seat(server: ServerTables) -> int:
    """Take the first free seat."""
    return next(seat for seat in count() if holds_seat(server, seat))


def holds_seat(server: ServerTables, seat: int) -> bool:
    """Take a seat; whether it was free."""
    return _take(server, _named(server, f".{seat}"), 0)


def leave_seat(server: ServerTables, seat: int) -> None:
    _free(server, _named(server, f".{seat}"))


def _named(server: ServerTables, end: str) -> str:
    name = f"larbinpy.{server.address.name}"
    return f"{name[:_NAME] if end else name}{end}"[:_LONGEST]


def _take(server: ServerTables, name: str, wait: int) -> bool:
    (has,) = server.execute("SELECT GET_LOCK(?, ?)", (name, wait)).fetchone()
    return bool(has == 1)


def _free(server: ServerTables, name: str) -> None:
    server.execute("SELECT RELEASE_LOCK(?)", (name,))
