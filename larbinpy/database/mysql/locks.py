"""Locks of the processes that write to one database: those of the server, by name (GET_LOCK).

A connection holds them, and its end releases them: if a process is killed in mid-commit, once the
server has decided about that commit.

    the turn    for one transaction, or for the care of the database
    a spool     as long as a process fills the database from it
    a seat      the same, for a number that no other such process has (see `writing.anchors`)
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from larbinpy.database.base import DatabaseError, Unavailable
from larbinpy.database.mysql.server import Server

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
