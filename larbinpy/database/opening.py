"""Opens the database that the keyword `database` names: a file, or mysql://[user@]host/name."""

from importlib import import_module
from typing import Any

from larbinpy.database.base import DatabaseError, Finder, Writer

_SERVERS = ("mysql://", "mariadb://")


def open_writer(where: str) -> Writer:
    """Open the database `where` to write, and make it if there is none.

    Raises `DatabaseError`, `Unavailable` if another process writes.
    """
    writer: Writer = _kind(where, "writer").Writer(where)
    return writer


def open_finder(where: str) -> Finder:
    """Open the database `where` to read. Raises `DatabaseError`, also if there is none."""
    finder: Finder = _kind(where, "finder").Finder(where)
    return finder


def is_server(where: str) -> bool:
    """Whether `where` names a database server, not a file."""
    return where.lower().startswith(_SERVERS)


def _kind(where: str, side: str) -> Any:
    # Loaded when used: whoever has a file needs no client of a server.
    if not is_server(where):
        return import_module(f"larbinpy.database.sqlite.{side}")
    try:
        return import_module(f"larbinpy.database.mysql.{side}")
    except ModuleNotFoundError as error:
        if error.name != "pymysql":
            raise
        hint = "install it: pip install 'larbinpy[mysql]'"
        raise DatabaseError(f"{where}: PyMySQL is not installed; {hint}") from None
