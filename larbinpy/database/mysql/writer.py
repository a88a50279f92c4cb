"""Writes pages into the tables on a server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from larbinpy.database.base import DatabaseError, Position
from larbinpy.database.mysql.fulltext import Index, prepared
from larbinpy.database.mysql.locks import hold_spool, holds_seat, leave_seat, take_seat, turn
from larbinpy.database.mysql.schema import check
from larbinpy.database.mysql.server import Server
from larbinpy.database.prepared import Prepared, Visit
from larbinpy.database.writing.anchors import unfinished_seats
from larbinpy.database.writing.filling import Filling
from larbinpy.revisit.due import DueAsk, DuePage
from larbinpy.revisit.schedule import Schedule

#: Seconds after which a server that does not answer is given up.
_PATIENCE = 300.0


class Writer:
    """The `database.base.Writer` of a server.

    Many may be open, each for another spool; their transactions take turns, so that each one sees
    all that was written before. A page that two of them have is one row, as if one had written it
    twice.
    """

    def __init__(
        self, where: str, schedule: Schedule | None = None, *, skip_near: bool = False
    ) -> None:
        """`skip_near`: near copies are not in the index."""
        self._where = where
        self._schedule = schedule
        self._skip_near = skip_near
        self._server: Server | None = None
        self._seat = 0
        self._filling: Filling
        self._spools: set[str] = set()
        self._open()

    def __repr__(self) -> str:
        return f"<Writer {self._server}>"

    def position(self, spool: str) -> Position | None:
        self._hold(spool)
        return self._filling.position(spool)

    def write(
        self,
        pages: Sequence[Visit],
        spool: str | None = None,
        position: Position | None = None,
        *,
        durable: bool = False,
    ) -> None:
        # Each commit is durable, as long as the server has its default for that.
        if spool is not None:
            self._hold(spool)
        tokens = [page.tokens for page in pages if isinstance(page, Prepared)]
        with prepared(tokens), self._transaction() as server:
            self._filling.write([_fitted(page, server.packet) for page in pages], spool, position)

    def due(self, ask: DueAsk) -> list[DuePage]:
        self._open()
        return self._filling.due(ask)

    def tend(self) -> bool:
        with self._transaction() as server:
            return self._filling.tend() or self._takes_over(server)

    def _takes_over(self, server: Server) -> bool:
        """Take the seat of a process that was killed, with the work that it has left, if there is
        one."""
        for seat in unfinished_seats(server):
            if seat != self._seat and holds_seat(server, seat):
                leave_seat(server, self._seat)
                self._seat = seat
                self._filling = self._made(server)
                return True
        return False

    def _made(self, server: Server) -> Filling:
        return Filling(server, Index(server), self._schedule, self._seat, skip_near=self._skip_near)

    def close(self) -> None:
        server, self._server = self._server, None
        self._spools.clear()
        if server is not None:
            server.close()

    def _hold(self, spool: str) -> None:
        server = self._open()
        name, _, _ = spool.partition("-")
        if name not in self._spools:
            hold_spool(server, name)
            self._spools.add(name)

    def _open(self) -> Server:
        if self._server is not None and not self._server.is_alive():
            # A server forgets connections that are not used for a while.
            self.close()
        if self._server is None:
            server = Server(self._where, _PATIENCE)
            try:
                with turn(server):
                    check(server, write=True)
                    self._seat = take_seat(server)
                    self._filling = self._made(server)
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
            with turn(server), _committed(server):
                yield server
        except BaseException:
            self.close()
            raise


@contextmanager
def _committed(server: Server) -> Iterator[None]:
    server.execute("START TRANSACTION")
    try:
        yield
        server.execute("COMMIT")
    except BaseException:
        with suppress(DatabaseError):
            server.execute("ROLLBACK")
        raise


def _fitted(page: Visit, packet: int) -> Visit:
    """The page without a body that the server would not take."""
    if isinstance(page, Prepared) and page.body is not None and len(page.body) > packet * 3 // 8:
        return replace(page, body=None)
    return page
