"""A small TCP server on the Poller: it moves bytes and bounds connections, buffers and times.

A Session handles one connection; it gets bytes and no socket. Callbacks of the poller only move
bytes. Sessions work in `TcpServer.step`, a bounded batch in each turn, so that clients take a
bounded share of each turn of the crawl. If a connection arrives and there is no room, the idle
one that would time out first is closed, so that silent clients cannot shut others out.

Three amounts are bounded by constants: connections; bytes received (the server does not read for a
session that has work left, and TCP slows down the peer); and bytes to be sent (above `_HIGH_WATER`
the session does not work, and a peer that takes nothing is disconnected).
"""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from larbinpy.loop.poller import READ, WRITE, Poller

#: Bytes read at a time; a session receives at most this many at once.
READ_SIZE = 16 * 1024

#: Bytes waiting to be sent above which a session does not work.
_HIGH_WATER = 64 * 1024

#: Connections that wait in the kernel to be accepted; further ones must retry.
_BACKLOG = 64

#: Connections accepted in one turn, which takes a millisecond.
_ARRIVALS = 16

#: Bytes of a path in sun_path (unix(7) and BSD), without the zero at its end.
_LONGEST_PATH = 103

#: Seconds a listener rests when there is no free descriptor: the listener stays readable, and
#: the loop would spin on it.
_REST = 1.0


class Session(Protocol):
    """The protocol of one connection, without its socket."""

    @property
    def patience(self) -> float:
        """Seconds of silence after which the connection is closed."""

    @property
    def farewell(self) -> bytes:
        """The bytes to send at a timeout, as far as the socket takes them at once."""

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do; nothing is received meanwhile.

        It may become true by itself; the server checks it every turn.
        """

    @property
    def resting(self) -> bool:
        """Whether the session is busy, but waits for something else in the loop.

        It is still called every turn, but the loop may sleep before the next turn.
        """

    @property
    def closing(self) -> bool:
        """Whether to close the connection once everything is sent."""

    def greeting(self) -> bytes:
        """The bytes to send first."""

    def receive(self, data: bytes) -> None:
        """Take received bytes, at most READ_SIZE; no bytes mean that the peer sends no more."""

    def work(self) -> bytes:
        """Do a bounded part of the work; return the bytes to send."""

    def left(self) -> None:
        """Release what the session holds; the connection is closed."""


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds of a server. Times in seconds."""

    connections: int
    #: Sessions that work in one step of the server.
    batch: int
    #: Most time from accept to close, even if the peer is active. A busy session is not closed,
    #: because the peer waits for an answer.
    life: float = inf
    #: Most time in which the peer accepts no byte although some wait to be sent.
    stall: float = 30.0


@dataclass(slots=True, eq=False)
class _Connection:
    sock: socket.socket
    session: Session
    outbox: bytearray = field(default_factory=bytearray)
    events: int = 0
    finished: bool = False
    born: float = inf
    heard: float = inf


def _tcp_listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)


def _unix_listener(path: str) -> socket.socket:
    """A socket that replaces the one of a process that was killed."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        with short_path(path) as name:
            listener.bind(name)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


@contextmanager
def short_path(path: str) -> Iterator[str]:
    """A name of the socket at `path` that the system takes, however long the path is."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield path
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


class TcpServer:
    """Listens on `host`:`port` (0 chooses a free port) and serves each peer with a session.

    A `host` with a slash is the path of a Unix socket, for its user alone. `converse` makes the
    session from the local address that the peer connected to. Raises OSError if the address cannot
    be bound. Invariant: a connection is in `_ready` if and only if its session is busy and its
    outbox is below the high-water mark.
    """

    def __init__(
        self,
        poller: Poller,
        host: str,
        port: int,
        converse: Callable[[str], Session],
        limits: Limits,
    ) -> None:
        self._poller = poller
        self._converse = converse
        self._limits = limits
        self._listener = _unix_listener(host) if "/" in host else _tcp_listener(host, port)
        self._listener.setblocking(False)
        self._listening = False
        self._rest_until = -inf
        self._now = 0.0
        self._connections: dict[int, _Connection] = {}
        self._ready: dict[_Connection, None] = {}
        #: Active since the last step; the next step sets their times.
        self._touched: set[_Connection] = set()
        self.host = host
        self.port: int = 0 if "/" in host else self._listener.getsockname()[1]
        self._listen()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.host}:{self.port} "
            f"{len(self._connections)}/{self._limits.connections} connections, "
            f"{len(self._ready)} ready>"
        )

    def __len__(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    @property
    def deadline(self) -> float | None:
        """The time at which to call `step`; a time in the past means at once, None never."""
        self._look_for_ready()
        hurried = any(not connection.session.resting for connection in self._ready)
        if hurried or self._touched:
            return self._now
        times = [self._due(connection) for connection in self._connections.values()]
        if self._rest_until > self._now:
            times.append(self._rest_until)
        return min(times, default=None)

    def step(self, now: float) -> None:
        """Let a batch of sessions work; close the connections that time out."""
        self._now = now
        for connection in self._touched:
            connection.born = min(connection.born, now)
            connection.heard = now
        self._touched.clear()
        self._look_for_ready()
        for connection in list(self._ready)[: self._limits.batch]:
            del self._ready[connection]
            connection.outbox += connection.session.work()
            self._flush(connection)
        for connection in list(self._connections.values()):
            if self._due(connection) <= now and connection not in self._touched:
                self._dismiss(connection)
        self._listen()

    def close(self) -> None:
        """Send what can be sent at once, and close everything. May be called twice."""
        for connection in list(self._connections.values()):
            self._send(connection)
            self._drop(connection)
        self._poller.unregister(self._listener.fileno())
        self._listener.close()
        if "/" in self.host:
            with suppress(FileNotFoundError):
                os.unlink(self.host)

    def _look_for_ready(self) -> None:
        for connection in self._connections.values():
            if connection.session.busy and len(connection.outbox) < _HIGH_WATER:
                self._ready[connection] = None

    def _due(self, connection: _Connection) -> float:
        if connection.session.busy and not connection.outbox:
            return inf
        patience = self._limits.stall if connection.outbox else connection.session.patience
        return min(connection.born + self._limits.life, connection.heard + patience)

    def _listen(self) -> None:
        """Watch the listener unless it rests; peers wait in the kernel's queue meanwhile."""
        if self._listener.fileno() < 0:
            return
        room = self._rest_until <= self._now
        if room and not self._listening:
            self._poller.register(self._listener.fileno(), READ, self._accept)
        elif self._listening and not room:
            self._poller.unregister(self._listener.fileno())
        self._listening = room

    def _accept(self, _fd: int, _events: int) -> None:
        for _ in range(_ARRIVALS):
            is_full = len(self._connections) >= self._limits.connections
            leaving = self._first_to_leave() if is_full else None
            if is_full and leaving is None:
                break
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                break
            except OSError:  # no descriptor or no memory left
                self._rest_until = self._now + _REST
                break
            if leaving is not None:
                self._dismiss(leaving)
            self._welcome(sock)
        self._listen()

    def _first_to_leave(self) -> _Connection | None:
        """The connection to close for a new one; None if there is none."""
        idle = [c for c in self._connections.values() if not c.session.busy]
        if not idle:
            # All connections wait for answers, which may take some turns.
            self._rest_until = self._now + _REST
            return None
        first = min(idle, key=self._due)
        # Connections accepted in this turn had no time to send anything.
        return None if first.heard == inf else first

    def _dismiss(self, connection: _Connection) -> None:
        connection.outbox += connection.session.farewell
        self._send(connection)
        self._drop(connection)

    def _welcome(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        connection = _Connection(sock, self._converse(sock.getsockname()[0]), events=READ)
        self._connections[sock.fileno()] = connection
        self._touched.add(connection)
        self._poller.register(sock.fileno(), READ, self._move)
        connection.outbox += connection.session.greeting()
        # The request may have arrived already.
        self._move(sock.fileno(), READ)

    def _move(self, fd: int, events: int) -> None:
        """Receive and send as much as the socket allows now."""
        connection = self._connections.get(fd)
        if connection is None:
            return
        if events & READ and connection.events & READ and not self._receive(connection):
            self._drop(connection)
            return
        self._flush(connection)

    def _receive(self, connection: _Connection) -> bool:
        try:
            data = connection.sock.recv(READ_SIZE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        connection.finished = not data
        self._touched.add(connection)
        connection.session.receive(data)
        return True

    def _flush(self, connection: _Connection) -> None:
        """Send what can be sent, then set the events that the connection waits for."""
        if not self._send(connection):
            self._drop(connection)
            return
        session, waiting = connection.session, len(connection.outbox)
        ended = session.closing or (connection.finished and not session.busy)
        if ended and not waiting:
            self._drop(connection)
            return
        if session.busy and waiting < _HIGH_WATER:
            self._ready[connection] = None
        reading = not (ended or session.busy or connection.finished or waiting >= _HIGH_WATER)
        events = (READ if reading else 0) | (WRITE if waiting else 0)
        if events != connection.events:
            self._poller.modify(connection.sock.fileno(), events)
            connection.events = events

    def _send(self, connection: _Connection) -> bool:
        """Send what the kernel takes; False when the peer is gone."""
        if not connection.outbox:
            return True
        try:
            sent = connection.sock.send(connection.outbox)
        except BlockingIOError:
            return True
        except OSError:
            return False
        del connection.outbox[:sent]
        self._touched.add(connection)
        return True

    def _drop(self, connection: _Connection) -> None:
        self._poller.unregister(connection.sock.fileno())
        del self._connections[connection.sock.fileno()]
        self._ready.pop(connection, None)
        self._touched.discard(connection)
        connection.session.left()
        connection.sock.close()
        self._listen()
