"""One connection to a server, from its beginning to its end: requests out, replies in their order.

It never blocks. It ends once; the requests that are unanswered then may have been executed or not.
"""

import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import hiredis

from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import READ, WRITE, Poller

#: Requests sent and not yet answered.
_MOST = 4096
#: Bytes handed to the system, and taken from it, at once.
_CHUNK = 1 << 18
#: Seconds of silence, while something is due, after which a server counts as away.
SILENCE = 5.0

_NOTHING = object()

Then = Callable[[Any], None]


class Request:
    """A packed command. `slot` is that of its key, or -1: only this server can answer it."""

    __slots__ = ("data", "link", "slot", "then")

    def __init__(self, data: bytes, then: Then, slot: int = -1) -> None:
        self.data = data
        self.then = then
        self.slot = slot
        #: The link that it was given to last.
        self.link: object = None


class Place(NamedTuple):
    """An address of a server, as the system takes it."""

    family: int
    address: Any


class Owner(Protocol):
    """The one that a connection reports to."""

    def opened(self) -> None:
        """The server has accepted the connection."""

    def failed(self, request: Request, error: hiredis.ReplyError) -> None:
        """The server replied with an error."""

    def ended(self, why: str) -> None:
        """The connection has to be closed; nothing more comes from it."""


class Connection:
    """A connection to `place`. Raises OSError if the system refuses it at once."""

    def __init__(self, poller: Poller, clock: Clock, owner: Owner, place: Place) -> None:
        self._poller = poller
        self._clock = clock
        self._owner = owner
        self._reader = hiredis.Reader(notEnoughData=_NOTHING)
        self._sent: deque[Request] = deque()
        # Bytes of `_sent` that the system has not taken.
        self._rest = memoryview(b"")
        self._is_open = self._is_closed = False
        # Until when the server may be silent, while something is due.
        self._due = clock() + SILENCE
        self._socket = socket.socket(place.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            if place.family != socket.AF_UNIX:
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.connect(place.address)
        except BlockingIOError:
            pass  # the socket becomes writable once it is connected
        except OSError:
            self._socket.close()
            raise
        poller.register(self._socket.fileno(), WRITE, self._event)

    def __repr__(self) -> str:
        return f"<Connection {len(self._sent)} unanswered>"

    @property
    def unanswered(self) -> int:
        return len(self._sent)

    @property
    def has_room(self) -> bool:
        """Whether something can be sent now."""
        return not self._rest and len(self._sent) < _MOST

    @property
    def deadline(self) -> float | None:
        """When a silent server counts as away; None while nothing is due."""
        return self._due if self._sent or not self._is_open else None

    def close(self) -> list[Request]:
        """Close; return the requests that were not answered."""
        if not self._is_closed:
            self._is_closed = True
            self._poller.unregister(self._socket.fileno())
            self._socket.close()
        unanswered = list(self._sent)
        self._sent.clear()
        return unanswered

    def send(self, queue: deque[Request]) -> None:
        """Send from the front of `queue`, as far as there is room."""
        sent = self._sent
        if not sent:
            self._due = self._clock() + SILENCE
        while queue and self.has_room and not self._is_closed:
            chunk: list[bytes] = []
            size = 0
            while queue and size < _CHUNK and len(sent) < _MOST:
                request = queue.popleft()
                sent.append(request)
                chunk.append(request.data)
                size += len(request.data)
            self._transmit(memoryview(b"".join(chunk)))

    def _transmit(self, data: memoryview) -> None:
        try:
            count = self._socket.send(data)
        except BlockingIOError:
            count = 0
        except OSError as error:
            self._end(error)
            return
        was_full, self._rest = bool(self._rest), data[count:]
        if bool(self._rest) != was_full:
            self._poller.modify(self._socket.fileno(), READ | WRITE if self._rest else READ)

    def _end(self, error: OSError) -> None:
        self._owner.ended(f"does not answer: {error.strerror or error}")

    def _event(self, _fd: int, events: int) -> None:
        if not self._is_open:
            self._open()
            return
        if events & WRITE and self._rest:
            # A server that takes bytes is not silent.
            self._due = self._clock() + SILENCE
            self._transmit(self._rest)
        if events & READ and not self._is_closed:
            self._read()

    def _open(self) -> None:
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._end(OSError(error, os.strerror(error)))
            return
        self._is_open = True
        self._poller.modify(self._socket.fileno(), READ)
        self._owner.opened()

    def _read(self) -> None:
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error)
            return
        if not data:
            self._owner.ended("ended the connection")
            return
        self._due = self._clock() + SILENCE
        self._reader.feed(data)
        try:
            self._answer()
        except hiredis.ProtocolError:
            self._owner.ended("is no Redis")

    def _answer(self) -> None:
        """Give each request its reply. A callback may close the connection."""
        reader, sent = self._reader, self._sent
        while not self._is_closed and (reply := reader.gets()) is not _NOTHING:
            if not sent:
                self._owner.ended("is no Redis")
                return
            request = sent.popleft()
            if reply.__class__ is hiredis.ReplyError:
                self._owner.failed(request, reply)
            else:
                request.then(reply)
