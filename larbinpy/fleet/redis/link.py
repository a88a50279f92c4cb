"""A connection to one server: commands out, replies in their order, reconnecting by itself.

It never blocks, but for the system's name resolution before the first connection. Commands are
sent together at the next `step`, at most `_MOST` of them before their replies. Those that were
sent when the connection ends are answered with AWAY, since nobody knows whether they were
executed; those that were not sent wait for the next connection.
"""

import os
import socket
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Protocol

import hiredis

from larbinpy.fleet.redis.wire import Server, pack, read_info
from larbinpy.fleet.vault import Away
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import READ, WRITE, Poller

#: Commands sent and not yet answered.
_MOST = 4096
#: Bytes handed to the system, and taken from it, at once.
_CHUNK = 1 << 18
#: Seconds of silence, while a reply is due, after which a server counts as away.
SILENCE = 5.0
#: The first wait before connecting again, and the longest (s); each is twice the one before.
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 2.0

_INFO = pack("INFO")
_NOTHING = object()

Then = Callable[[Any], None]

#: The answer of a request whose connection ended.
AWAY = Away()


class Request:
    """A packed command. `slot` is that of its key, or -1: only this server can answer it."""

    __slots__ = ("data", "link", "slot", "then")

    def __init__(self, data: bytes, then: Then, slot: int = -1) -> None:
        self.data = data
        self.then = then
        self.slot = slot
        #: The connection that it was sent on last.
        self.link: Link | None = None


class Owner(Protocol):
    """Whom a link reports to."""

    def ready(self, link: "Link") -> None:
        """It is connected, and `link.info` is new."""

    def away(self, link: "Link") -> None:
        """The connection ended, or could not be made; `link.trouble` says why."""

    def failed(self, link: "Link", request: Request, error: hiredis.ReplyError) -> None:
        """The server replied with an error; the owner answers the request or sends it again."""


class State(Enum):
    STOPPED = auto()
    WAITING = auto()
    CONNECTING = auto()
    GREETING = auto()
    READY = auto()


class Link:
    """The connection to `server`; `greeting` is sent at the start of each one."""

    def __init__(
        self,
        poller: Poller,
        clock: Clock,
        owner: Owner,
        server: Server,
        login: tuple[str, ...],
        greeting: tuple[bytes, ...] = (),
    ) -> None:
        self.server = server
        self.state = State.STOPPED
        #: One line while it is not ready; "" otherwise.
        self.trouble = ""
        #: Whether the server is there, but has to load its data first.
        self.loading = False
        #: The fields of INFO.
        self.info: dict[str, str] = {}
        #: The number of connections made.
        self.connections = 0
        self._poller = poller
        self._clock = clock
        self._owner = owner
        self._login = pack("AUTH", *login) if login else b""
        self._greeting = greeting
        self._places: list[tuple[int, Any]] = []
        # Addresses of the host that are left for this try.
        self._untried = 0
        self._socket: socket.socket | None = None
        self._reader = hiredis.Reader(notEnoughData=_NOTHING)
        self._queue: deque[Request] = deque()
        self._sent: deque[Request] = deque()
        self._rest = b""
        self._wait = _FIRST_WAIT
        # When to connect, or until when the server may be silent.
        self._due = 0.0

    def __repr__(self) -> str:
        waiting = f"{len(self._queue)} queued, {len(self._sent)} sent"
        return f"<Link {self.server} {self.state.name} {waiting}>"

    @property
    def run_id(self) -> str:
        return self.info.get("run_id", "")

    @property
    def is_ready(self) -> bool:
        return self.state is State.READY

    @property
    def deadline(self) -> float | None:
        """When `step` has something to do at the latest; None: nothing but socket events."""
        if self.state is State.STOPPED or (self.state is State.READY and not self._sent):
            return None
        return self._due

    @property
    def has_unsent(self) -> bool:
        """Whether `step` has something to send now."""
        has_room = not self._rest and len(self._sent) < _MOST
        return self.state is State.READY and has_room and bool(self._queue)

    @property
    def unanswered(self) -> int:
        return len(self._sent)

    def send(self, request: Request) -> None:
        self._queue.append(request)

    def take_unsent(self) -> list[Request]:
        """Take back what was not sent."""
        taken = list(self._queue)
        self._queue.clear()
        return taken

    def start(self) -> None:
        """Connect at the next step, if it is stopped."""
        if self.state is State.STOPPED:
            self.state = State.WAITING
            self._due = self._clock()
            self._wait = _FIRST_WAIT

    def stop(self) -> None:
        """End the connection and do not make another."""
        self._close()
        self.state = State.STOPPED
        self.trouble = ""
        self._abandon()

    def drop(self, why: str) -> None:
        """End the connection; another one is made after a while."""
        self._close()
        self.state = State.WAITING
        self.trouble = why
        self._due = self._clock() + self._wait
        self._wait = min(2 * self._wait, _LONGEST_WAIT)
        self._abandon()
        self._owner.away(self)

    def step(self, now: float) -> None:
        """Connect when it is time, send what waits, and notice a silent server."""
        if self.state is State.WAITING:
            if now >= self._due:
                self._resolve(now)
        elif self.state is State.READY:
            if self._sent and now >= self._due:
                self.drop("does not answer")
            elif self._queue and not self._rest:
                self._write()
        elif self.state is not State.STOPPED and now >= self._due:
            self.drop("does not answer")

    def _abandon(self) -> None:
        """Answer what was sent: its replies will not come."""
        sent, self._sent = self._sent, deque()
        for request in sent:
            request.then(AWAY)

    def _close(self) -> None:
        if self._socket is not None:
            self._poller.unregister(self._socket.fileno())
            self._socket.close()
            self._socket = None
        self._rest = b""

    def _resolve(self, now: float) -> None:
        server = self.server
        try:
            if not self._places and server.port:
                found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
                self._places = [(family, place) for family, _, _, _, place in found]
            elif not self._places:
                self._places = [(socket.AF_UNIX, server.host)]
        except OSError:
            self.drop("is unknown: its name has no address")
            return
        self._untried = len(self._places)
        self._connect(now)

    def _connect(self, now: float) -> None:
        self._untried -= 1
        family, place = self._places[0]
        # A host may have several addresses, and a server listen at one of them.
        self._places.append(self._places.pop(0))
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._socket = sock
        self._due = now + SILENCE
        self.state = State.CONNECTING
        try:
            if self.server.port:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(place)
        except BlockingIOError:
            pass  # the socket becomes writable once it is connected
        except OSError as error:
            self._fail(error)
            return
        self._poller.register(sock.fileno(), WRITE, self._event)

    def _fail(self, error: OSError) -> None:
        if self.state is State.CONNECTING and self._untried:
            self._close()
            self._connect(self._clock())
        else:
            self.drop(f"does not answer: {error.strerror or error}")

    def _greet(self) -> None:
        assert self._socket is not None
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._fail(OSError(error, os.strerror(error)))
            return
        self.state = State.GREETING
        self._reader = hiredis.Reader(notEnoughData=_NOTHING)
        self._poller.modify(self._socket.fileno(), READ)
        first = [Request(self._login, self._logged_in)] if self._login else []
        first.append(Request(_INFO, self._informed))
        self._sent.extend(first)
        self._transmit(b"".join(request.data for request in first))

    def _logged_in(self, reply: object) -> None:
        if isinstance(reply, hiredis.ReplyError) and self.state is State.GREETING:
            # Redis repeats nothing of a password in its errors, but others may.
            self.drop(f"refuses the login ({str(reply).partition(' ')[0]})")

    def _informed(self, reply: object) -> None:
        if self.state is not State.GREETING:
            return
        if isinstance(reply, hiredis.ReplyError):
            asks = str(reply).startswith("NOAUTH")
            self.drop("asks for a password" if asks else f"refuses INFO: {reply}")
            return
        info = read_info(reply) if isinstance(reply, bytes) else {}
        if "run_id" not in info or "redis_version" not in info:
            self.drop("is no Redis")
            return
        self.loading = info.get("loading", "0") != "0"
        if self.loading:
            self.drop("is loading its data")
            return
        self.info = info
        self.connections += 1
        self.state = State.READY
        self.trouble = ""
        self._wait = _FIRST_WAIT
        self._queue.extendleft(Request(data, _ignore) for data in reversed(self._greeting))
        self._owner.ready(self)

    def _event(self, _fd: int, events: int) -> None:
        if self.state is State.CONNECTING:
            self._greet()
            return
        try:
            if events & WRITE and self._rest:
                self._write()
            if events & READ and self._socket is not None:
                self._read()
        except OSError as error:
            self._fail(error)

    def _read(self) -> None:
        assert self._socket is not None
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        if not data:
            self.drop("ended the connection")
            return
        self._due = self._clock() + SILENCE
        self._reader.feed(data)
        self._answer()

    def _answer(self) -> None:
        """Give each request its reply. A callback may end the connection."""
        reader, sent = self._reader, self._sent
        try:
            while (reply := reader.gets()) is not _NOTHING:
                if not sent:
                    self.drop("is no Redis")
                    return
                request = sent.popleft()
                if reply.__class__ is hiredis.ReplyError and self.state is State.READY:
                    self._owner.failed(self, request, reply)
                else:
                    request.then(reply)
                if sent is not self._sent:
                    return
        except hiredis.ProtocolError:
            self.drop("is no Redis")

    def _write(self) -> None:
        """Send what waits, as far as the system takes it."""
        queue, sent = self._queue, self._sent
        if not sent:
            self._due = self._clock() + SILENCE
        if self._rest:
            self._transmit(self._rest)
        while queue and not self._rest and len(sent) < _MOST and self.state is State.READY:
            chunk: list[bytes] = []
            size = 0
            while queue and size < _CHUNK and len(sent) < _MOST:
                request = queue.popleft()
                request.link = self
                sent.append(request)
                chunk.append(request.data)
                size += len(request.data)
            self._transmit(b"".join(chunk))

    def _transmit(self, data: bytes) -> None:
        assert self._socket is not None
        try:
            count = self._socket.send(data)
        except BlockingIOError:
            count = 0
        except OSError as error:
            self._fail(error)
            return
        was_full, self._rest = bool(self._rest), data[count:]
        if bool(self._rest) != was_full:
            self._poller.modify(self._socket.fileno(), READ | WRITE if self._rest else READ)


def _ignore(_reply: object) -> None:
    pass
