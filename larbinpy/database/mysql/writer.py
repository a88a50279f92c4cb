"""Writes pages into the tables on a server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from larbinpy.database.base import DatabaseError, Position, Unavailable
from larbinpy.database.mysql.fulltext import Index
from larbinpy.database.mysql.schema import check
from larbinpy.database.mysql.server import Server
from larbinpy.database.prepared import Gone, Prepared
from larbinpy.database.writing.filling import Filling

#: Seconds after which a server that does not answer is given up.
_PATIENCE = 300.0
#: Seconds to wait for the lock: the server may not have noticed yet that its holder is gone.
_LOCK = 3


class Writer:
    """The `database.base.Writer` of a server.

    Its lock is one of the server, held by the connection: a writer that was killed in mid-commit
    keeps it until the server has decided about that commit.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._server: Server | None = None
        self._filling: Filling
        self._open()

    def __repr__(self) -> str:
        return f"<Writer {self._server}>"

    def position(self, spool: str) -> Position | None:
        self._open()
        return self._filling.position(spool)

    def write(
        self,
        pages: Sequence[Prepared | Gone],
        spool: str | None = None,
        position: Position | None = None,
        *,
        durable: bool = False,
    ) -> None:
        # Each commit is durable, as long as the server has its default for that.
        with self._transaction() as server:
            self._filling.write([_fitted(page, server.packet) for page in pages], spool, position)

    def tend(self) -> bool:
        with self._transaction():
            return self._filling.tend()

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _open(self) -> Server:
        if self._server is not None and not self._server.is_alive():
            # A server forgets connections that are not used for a while.
            self.close()
        if self._server is None:
            server = Server(self._where, _PATIENCE)
            try:
                take_lock(server)
                check(server, write=True)
                self._filling = Filling(server, Index(server))
            except BaseException:
                server.close()
                raise
            self._server = server
        return self._server

    @contextmanager
    def _transaction(self) -> Iterator[Server]:
        """All or nothing; after an error the server is connected anew at the next call."""
        server = self._open()
        try:
            server.execute("START TRANSACTION")
            yield server
            server.execute("COMMIT")
        except BaseException:
            with suppress(DatabaseError):
                server.execute("ROLLBACK")
            self.close()
            raise


def take_lock(server: Server) -> None:
    """Hold the lock of the one that writes. Raises `Unavailable` if another has it."""
    name = f"larbinpy.{server.address.name}"[:64]
    (has,) = server.execute("SELECT GET_LOCK(?, ?)", (name, _LOCK)).fetchone()
    if has != 1:
        (holder,) = server.execute("SELECT IS_USED_LOCK(?)", (name,)).fetchone()
        hint = f"connection {holder} of the server writes to it; wait until that has ended"
        raise Unavailable(f"{server.address}: in use: {hint}")


def _fitted(page: Prepared | Gone, packet: int) -> Prepared | Gone:
    """The page without a body that the server would not take."""
    if isinstance(page, Prepared) and page.body is not None and len(page.body) > packet * 3 // 8:
        return replace(page, body=None)
    return page
