"""Opens the database that the keyword `database` names: a file, or mysql://[user@]host/name."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from larbinpy.database.base import DatabaseError, Finder, Salvaged, Writer
from larbinpy.revisit.plan import Schedule

#: Called with what is done now, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]

_SERVERS = ("mysql://", "mariadb://")


def open_writer(where: str, schedule: Schedule | None = None, *, skip_near: bool = False) -> Writer:
    """Open the database `where` to write, and make it if there is none.

    `schedule` says when pages are due to be visited again, by default with usual bounds. With
    `skip_near`, pages that are nearly copies of others are not in the index.

    Raises `DatabaseError`, `Unavailable` if another process writes to the file.
    """
    writer: Writer = _kind(where, "writer").Writer(where, schedule, skip_near=skip_near)
    return writer


def open_finder(where: str) -> Finder:
    """Open the database `where` to read. Raises `DatabaseError`, also if there is none."""
    finder: Finder = _kind(where, "finder").Finder(where)
    return finder


def rebuild(where: str, progress: Progress) -> int:
    """Index all pages of a database again, from what is stored; return their number.

    Searches go on meanwhile, and if it is killed the old index stays. Raises `DatabaseError`,
    `Unavailable` while a crawl fills the file; so do the next two.
    """
    return int(_kind(where, "maintenance").rebuild(where, progress))


def verify(where: str, progress: Progress) -> list[str]:
    """Check a database: tables, index, and that each page is found; return lines of trouble."""
    return list(_kind(where, "maintenance").verify(where, progress))


def salvage(old: str, new: str, progress: Progress) -> Salvaged:
    """Make the database `new` of what can be read in the damaged file `old`.

    Raises `DatabaseError`, if nothing can be read; there is no `new` then.
    """
    for where in (old, new):
        if is_server(where):
            raise DatabaseError(f"{where}: --salvage is for files; a server has its own repairs")
    made: Salvaged = _kind(old, "maintenance").salvage(old, new, progress)
    return made


def optimize(where: str, progress: Progress) -> None:
    """Make a database smaller and searches faster."""
    _kind(where, "maintenance").optimize(where, progress)


def require(where: str) -> None:
    """Raise DatabaseError if the package that speaks with its server is not installed."""
    if is_server(where) and find_spec("pymysql") is None:
        hint = "install it: pip install 'larbinpy[mysql]'"
        raise DatabaseError(f"{where}: PyMySQL is not installed; {hint}")


def is_server(where: str) -> bool:
    """Whether `where` names a database server, not a file."""
    return where.lower().startswith(_SERVERS)


def _kind(where: str, side: str) -> Any:
    scheme, colon, _ = where.partition("://")
    if colon and scheme.isalnum() and not is_server(where):
        hint = "expected a file or mysql://[USER@]HOST[:PORT]/NAME"
        raise DatabaseError(f"{where}: there is no such kind of database; {hint}")
    # Loaded when used: whoever has a file needs no client of a server.
    if not is_server(where):
        return import_module(f"larbinpy.database.sqlite.{side}")
    require(where)
    return import_module(f"larbinpy.database.mysql.{side}")
