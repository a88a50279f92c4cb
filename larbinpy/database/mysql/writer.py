"""Writes pages into the tables on a server."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from larbinpy.database.base import DatabaseError, Position
from larbinpy.database.mysql.index import Index, prepared
from larbinpy.database.mysql.server import (
    Server,
    check,
    hold_spool,
    holds_seat,
    leave_seat,
    take_seat,
    turn,
)
from larbinpy.database.preparation import Packed, Prepared, Visit, dumped, page_tokens
from larbinpy.database.writing.anchors import unfinished_seats
from larbinpy.database.writing.filling import Filling
from larbinpy.revisit.plan import Schedule
from larbinpy.revisit.round import DueAsk, DuePage

#: Seconds after which a server that does not answer is given up.
_PATIENCE = 300.0
_CUT = "cut to fit the server's max_allowed_packet"
#: Columns whose beginning is of use; half a URL is not.
_PROSE = ("title", "site_name", "author", "summary")


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
    ) -> list[str]:
        # Each commit is durable, as long as the server has its default for that.
        if spool is not None:
            self._hold(spool)
        packet = self._open().packet
        fitted = [_fitted(page, packet) if isinstance(page, Prepared) else page for page in pages]
        cut = [page.url for page, whole in zip(fitted, pages, strict=True) if page is not whole]
        tokens = [page.tokens for page in fitted if isinstance(page, Prepared)]
        with prepared(tokens), self._transaction():
            self._filling.write(fitted, spool, position)
        return [f"{url}: {_CUT} ({packet} bytes); give it 64M" for url in cut]

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


def _fitted(page: Prepared, packet: int) -> Prepared:
    """`page`, cut so that a server takes each statement about it, of `packet` bytes, and sends it.

    Bytes are sent in hexadecimal digits, and characters of a text may need two.
    """
    columns = {name: _short(name, value, packet // 50) for name, value in page.columns.items()}
    body = page.body if page.body is None or len(page.body) <= packet * 3 // 8 else None
    text, more = _short_text(page.text, packet // 5), _short_more(page.more, packet // 5)
    if (columns, body, text, more) == (page.columns, page.body, page.text, page.more):
        return page
    parts = json.loads(more)
    parts["trouble"] = "; ".join(filter(None, (parts.get("trouble"), _CUT)))
    tokens = page_tokens(
        page.url,
        str(columns.get("title") or ""),
        parts.get("headings", ()),
        text.text(),
        parts.get("rest", ""),
        None if columns.get("lang") is None else str(columns["lang"]),
    )
    more = dumped(parts).encode("utf-8", "replace")
    return replace(page, columns=columns, body=body, text=text, more=more, tokens=tokens)


def _short(name: str, value: str | int | None, most: int) -> str | int | None:
    """The value of a column; of text that is too long the beginning, if that is of use."""
    if not isinstance(value, str) or len(value) * 4 <= most or len(value.encode()) <= most:
        return value
    return value.encode()[:most].decode("utf-8", "ignore") if name in _PROSE else None


def _short_text(text: Packed, most: int) -> Packed:
    """The beginning of a text that has at most so many bytes when it is packed."""
    while len(text.data) > most:
        whole = text.text()
        text = Packed.of(whole[: len(whole) * most * 9 // (len(text.data) * 10)])
    return text


def _short_more(more: bytes, most: int) -> bytes:
    """The parts beside the text, each with half of what it has until they are packed in `most`."""
    while len(more) > most and len(Packed.of_bytes(more).data) > most:
        parts = {name: _half(part) for name, part in json.loads(more).items()}
        more = dumped(parts).encode("utf-8", "replace")
    return more


def _half(part: Any) -> Any:
    if isinstance(part, str | list):
        return part[: len(part) // 2]
    return {} if isinstance(part, dict) else part
