"""The link to one server: it connects, logs in, asks for INFO, and connects again by itself.

It never blocks, but for the system's name resolution before the first connection. Requests that
were sent when a connection ends are answered with AWAY, since nobody knows whether they were
executed; those that were not sent wait for the next connection.

A `Connection` is one of these, from its beginning to its end: requests out, replies in their order.
"""

import os
import socket
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, NamedTuple

import hiredis

from larbinpy.fleet.redis.wire import Endpoint, pack, read_info
from larbinpy.fleet.vault import Away
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


class RedisCall:
    """A packed command. `slot` is that of its key, or -1: only this server can answer it."""

    __slots__ = ("data", "has_moved", "link", "slot", "then")

    def __init__(self, data: bytes, then: Then, slot: int = -1) -> None:
        self.data = data
        self.then = then
        self.slot = slot
        #: The link that it was given to last.
        self.link: object = None
        #: Whether it was sent on at once to a server that another one named.
        self.has_moved = False


class SystemAddress(NamedTuple):
    """An address of a server, as the system takes it."""

    family: int
    address: Any


class Connection:
    """A connection of `link` to `place`. Raises OSError if the system refuses it at once."""

    def __init__(
        self, poller: Poller, clock: Clock, link: "RedisLink", place: SystemAddress
    ) -> None:
        self._poller = poller
        self._clock = clock
        self._link = link
        self._reader = hiredis.Reader(notEnoughData=_NOTHING)
        self._sent: deque[RedisCall] = deque()
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

    def close(self) -> list[RedisCall]:
        """Close; return the requests that were not answered."""
        if not self._is_closed:
            self._is_closed = True
            self._poller.unregister(self._socket.fileno())
            self._socket.close()
        unanswered = list(self._sent)
        self._sent.clear()
        return unanswered

    def send(self, queue: deque[RedisCall]) -> None:
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
        self._link.ended(f"does not answer: {error.strerror or error}")

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
        self._link.opened()

    def _read(self) -> None:
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error)
            return
        if not data:
            self._link.ended("ended the connection")
            return
        self._due = self._clock() + SILENCE
        self._reader.feed(data)
        try:
            self._answer()
        except hiredis.ProtocolError:
            self._link.ended("is no Redis")

    def _answer(self) -> None:
        """Give each request its reply. A callback may close the connection."""
        reader, sent = self._reader, self._sent
        while not self._is_closed and (reply := reader.gets()) is not _NOTHING:
            if not sent:
                self._link.ended("is no Redis")
                return
            request = sent.popleft()
            if reply.__class__ is hiredis.ReplyError:
                self._link.failed(request, reply)
            else:
                request.then(reply)


#: The first wait before connecting again, and the longest (s); each is twice the one before.
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 2.0

_INFO = pack("INFO")

_NO_PASSWORD = (
    "asks for a password; give it in LARBINPY_JOIN (redis://:PASSWORD@HOST/NAME), or name a file "
    "with ?passwordFile=PATH"
)

#: The answer of a request whose connection ended.
AWAY = Away()

Failed = Callable[["RedisLink", RedisCall, hiredis.ReplyError], None]


class LinkState(Enum):
    STOPPED = auto()
    WAITING = auto()
    CONNECTING = auto()
    GREETING = auto()
    READY = auto()


class RedisLink:
    """The link to `server`; `greeting` is sent at the start of each connection.

    `changed` hears that it is ready, with a new `info`, or away: `trouble` says why. `failed` gets
    each request to which the server replied with an error: it answers it, or sends it again.
    """

    def __init__(
        self,
        poller: Poller,
        clock: Clock,
        server: Endpoint,
        login: tuple[str, ...],
        greeting: tuple[bytes, ...],
        changed: Callable[["RedisLink"], None],
        failed: Failed,
    ) -> None:
        self.server = server
        self.state = LinkState.STOPPED
        #: One line while it is not ready; "" otherwise.
        self.trouble = ""
        #: Whether it is not ready for a reason that waiting does not mend.
        self.refuses = False
        #: Whether the server is there, but has to load its data first.
        self.loading = False
        #: The fields of INFO.
        self.info: dict[str, str] = {}
        #: The connection under way.
        self.connection: Connection | None = None
        self._poller = poller
        self._clock = clock
        self._changed = changed
        self._failed = failed
        self._login = pack("AUTH", *login) if login else b""
        self._greeting = greeting
        # A host may have several addresses, and a server listen at one of them.
        self._places: list[SystemAddress] = []
        # Places that are left for this try.
        self._untried = 0
        self._queue: deque[RedisCall] = deque()
        self._wait = _FIRST_WAIT
        # When to connect again.
        self._due = 0.0

    @property
    def run_id(self) -> str:
        return self.info.get("run_id", "")

    @property
    def is_ready(self) -> bool:
        return self.state is LinkState.READY

    @property
    def deadline(self) -> float | None:
        """When `step` has something to do at the latest; None: nothing but socket events."""
        if self.connection is not None:
            return self.connection.deadline
        return self._due if self.state is LinkState.WAITING else None

    @property
    def has_unsent(self) -> bool:
        """Whether `step` has something to send now."""
        if self.connection is None or self.state is not LinkState.READY:
            return False
        return bool(self._queue) and self.connection.has_room

    @property
    def unanswered(self) -> int:
        return self.connection.unanswered if self.connection is not None else 0

    # -- what its owner does

    def send(self, request: RedisCall) -> None:
        """Send at the next step."""
        request.link = self
        self._queue.append(request)

    def take_unsent(self) -> list[RedisCall]:
        """Take back what was not sent."""
        taken = list(self._queue)
        self._queue.clear()
        return taken

    def start(self) -> None:
        """Connect at the next step, if it is stopped."""
        if self.state is LinkState.STOPPED:
            self.state = LinkState.WAITING
            self._due = self._clock()
            self._wait = _FIRST_WAIT

    def stop(self) -> None:
        """End the connection and do not make another."""
        self.trouble = ""
        self._end(LinkState.STOPPED)

    def drop(self, why: str, *, refuses: bool = False) -> None:
        """End the connection; another one is made after a while."""
        self.refuses = refuses
        self.trouble = why
        self._due = self._clock() + self._wait
        self._wait = min(2 * self._wait, _LONGEST_WAIT)
        self._end(LinkState.WAITING)
        self._changed(self)

    def step(self, now: float) -> None:
        """Connect when it is time, send what waits, and notice a silent server."""
        connection = self.connection
        if connection is None:
            if self.state is LinkState.WAITING and now >= self._due:
                self._begin()
            return
        due = connection.deadline
        if due is not None and now >= due:
            self.drop("does not answer")
        elif self._queue and self.state is LinkState.READY:
            connection.send(self._queue)

    def _end(self, state: LinkState) -> None:
        connection, self.connection = self.connection, None
        self.state = state
        for request in connection.close() if connection is not None else ():
            request.then(AWAY)

    # -- connecting

    def _begin(self) -> None:
        try:
            self._places = self._places or _places_of(self.server)
        except OSError:
            self.drop("is unknown: its name has no address")
            return
        self._untried = len(self._places)
        self._connect()

    def _connect(self) -> None:
        self._untried -= 1
        place = self._places.pop(0)
        self._places.append(place)
        self.state = LinkState.CONNECTING
        try:
            self.connection = Connection(self._poller, self._clock, self, place)
        except OSError as error:
            self.ended(f"does not answer: {error.strerror or error}")

    def opened(self) -> None:
        """Log in, and ask who is there."""
        assert self.connection is not None
        self.state = LinkState.GREETING
        first = [RedisCall(self._login, self._logged_in)] if self._login else []
        self.connection.send(deque([*first, RedisCall(_INFO, self._informed)]))

    def _logged_in(self, reply: object) -> None:
        if isinstance(reply, hiredis.ReplyError) and self.state is LinkState.GREETING:
            # Redis repeats nothing of a password in its errors, but others may.
            why = f"refuses the login ({str(reply).partition(' ')[0]})"
            self.drop(why, refuses=True)

    def _informed(self, reply: object) -> None:
        if self.state is not LinkState.GREETING:
            return
        if isinstance(reply, hiredis.ReplyError):
            asks = str(reply).startswith("NOAUTH")
            why = _NO_PASSWORD if asks else f"refuses INFO: {reply}"
            self.drop(why, refuses=True)
            return
        info = read_info(reply) if isinstance(reply, bytes) else {}
        if "run_id" not in info or "redis_version" not in info:
            self.drop("is no Redis", refuses=True)
            return
        self.loading = info.get("loading", "0") != "0"
        if self.loading:
            self.drop("is loading its data")
            return
        self.info = info
        self.state = LinkState.READY
        self.trouble = ""
        self._wait = _FIRST_WAIT
        self._queue.extendleft(RedisCall(data, _ignore) for data in reversed(self._greeting))
        self._changed(self)

    # -- what the connection reports

    def failed(self, request: RedisCall, error: hiredis.ReplyError) -> None:
        if self.state is LinkState.READY:
            self._failed(self, request, error)
        else:
            request.then(error)

    def ended(self, why: str) -> None:
        """Try the next address of the server, or all again after a while."""
        if self.state is LinkState.CONNECTING and self._untried:
            if self.connection is not None:
                self.connection.close()
                self.connection = None
            self._connect()
        else:
            self.drop(why)


def _places_of(server: Endpoint) -> list[SystemAddress]:
    """The addresses of a server. Raises OSError."""
    if not server.port:
        return [SystemAddress(socket.AF_UNIX, server.host)]
    found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
    return [SystemAddress(family, address) for family, _, _, _, address in found]


def _ignore(_reply: object) -> None:
    pass
