"""Servers that reply as the test says, in the loop of their client, whose clock the test tells."""

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import hiredis

from larbinpy.fleet.redis.client import Client, RedisAway
from larbinpy.fleet.redis.wire import CrawlAddress, Endpoint
from larbinpy.loop.poller import READ, Poller
from tests.support.ports import free_port

#: Seconds for what must come; and in which what does not come would have come.
_PATIENCE = 20.0
_IDLE = 0.02

#: A reply that ends the connection, and one that never comes.
CUT: Any = object()
SILENCE: Any = object()

Reply = Any


def resp(value: Reply) -> bytes:
    """A value as Redis sends it; a text is a status, and one that begins with `-` an error."""
    match value:
        case int():
            return b":%d\r\n" % value
        case str():
            return (value if value.startswith("-") else f"+{value}").encode() + b"\r\n"
        case bytes():
            return b"$%d\r\n%b\r\n" % (len(value), value)
        case None:
            return b"$-1\r\n"
        case _:
            return b"*%d\r\n" % len(value) + b"".join(map(resp, value))


class ScriptedRedis:
    """A server at `port`; `reply` gives the replies to what it does not know itself."""

    def __init__(self, poller: Poller, info: Mapping[str, str] = MappingProxyType({})) -> None:
        """`info`: fields of INFO that are not as usual."""
        self.port = free_port()
        self.server = Endpoint("127.0.0.1", self.port)
        self.info = {"redis_version": "7.0.15", "run_id": f"run{self.port}", "role": "master"}
        self.info |= {"uptime_in_seconds": "1000", "aof_enabled": "1", **info}
        self.reply: Callable[[list[bytes]], Reply] = lambda command: "OK"
        #: The owners of slots as CLUSTER SLOTS tells them.
        self.slots: Reply = []
        #: The commands, but for those that it replies to by itself.
        self.said: list[list[bytes]] = []
        #: All commands, by their names.
        self.heard: list[str] = []
        self._poller = poller
        self._connections: dict[int, socket.socket] = {}
        self._listener: socket.socket | None = None
        self.start()

    def start(self) -> None:
        """Listen."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._poller.register(self._listener.fileno(), READ, self._accept)

    def restart(self) -> None:
        """End all connections, and go on as another run."""
        self.info |= {"run_id": self.info["run_id"] + "+", "uptime_in_seconds": "0"}
        self.cut()

    def cut(self) -> None:
        """End all connections."""
        for fd in list(self._connections):
            self._end(fd)

    def close(self) -> None:
        """End all connections, and take no more."""
        self.cut()
        if self._listener is not None:
            self._poller.unregister(self._listener.fileno())
            self._listener.close()
            self._listener = None

    def _accept(self, _fd: int, _events: int) -> None:
        assert self._listener is not None
        connection, _ = self._listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = hiredis.Reader(notEnoughData=...)
        self._connections[connection.fileno()] = connection
        self._poller.register(
            connection.fileno(), READ, lambda fd, _events: self._read(fd, connection, reader)
        )

    def _read(self, fd: int, connection: socket.socket, reader: Any) -> None:
        data = b""
        with suppress(ConnectionError):
            data = connection.recv(1 << 20)
        if not data:
            self._end(fd)
            return
        reader.feed(data)
        while (command := reader.gets()) is not ...:
            reply = self._replied(command)
            if reply is CUT:
                self._end(fd)
                return
            if reply is not SILENCE:
                with suppress(ConnectionError):
                    connection.sendall(resp(reply))

    def _replied(self, command: list[bytes]) -> Reply:
        name = command[0].decode()
        self.heard.append(name)
        match name:
            case "INFO":
                return "".join(f"{key}:{value}\r\n" for key, value in self.info.items()).encode()
            case "SCRIPT":
                return "loaded"
            case "CLUSTER":
                return self.slots
        self.said.append(command)
        return self.reply(command)

    def _end(self, fd: int) -> None:
        connection = self._connections.pop(fd)
        self._poller.unregister(fd)
        connection.close()


def owned(*ranges: tuple[int, int, ScriptedRedis]) -> list[list[Any]]:
    """The reply to CLUSTER SLOTS: first slot, last one and master, without replicas."""
    return [
        [first, last, [b"127.0.0.1", master.port, b"node%d" % master.port]]
        for first, last, master in ranges
    ]


class ScriptedWorld:
    """Servers, and a client of them all; `now` is told."""

    def __init__(self, infos: Mapping[str, str], count: int) -> None:
        self.now = 1000.0
        #: Why Redis has to be waited for at the begin.
        self.away = ""
        self.poller = Poller()
        self.servers = [ScriptedRedis(self.poller, infos) for _ in range(count)]
        hosts = ",".join(str(each.server) for each in self.servers)
        self.client = Client(
            self.poller, lambda: self.now, CrawlAddress.of(f"redis://{hosts}/news")
        )

    def close(self) -> None:
        self.client.close()
        for server in self.servers:
            server.close()
        self.poller.close()

    def turn(self) -> int:
        """One turn of the loop; the number of descriptors that were ready."""
        try:
            self.client.step(self.now)
        except RedisAway as away:
            self.away = str(away)
        return self.poller.wait(_IDLE)

    def until(self, holds: Callable[[], Any]) -> None:
        """Take turns until it holds."""
        deadline = time.monotonic() + _PATIENCE
        while not holds():
            assert time.monotonic() < deadline, self.client.trouble
            self.turn()

    def rest(self, seconds: float = 0.0) -> None:
        """Let time pass, and all come that comes."""
        self.now += seconds
        deadline = time.monotonic() + _PATIENCE
        while self.turn() or self.client.deadline <= self.now:
            assert time.monotonic() < deadline, "it never rests"

    def open(self) -> None:
        """Reach all masters."""
        self.until(lambda: self.client.topology.is_open)
        self.rest()

    def come_back(self, server: ScriptedRedis) -> None:
        """Let the client notice that its connections have ended, and connect again."""
        link = self.client.topology.link(server.server)
        self.until(lambda: not link.is_ready)
        self.now += 0.1
        self.until(lambda: link.is_ready)

    def ask(self, data: bytes, slot: int = 0) -> list[Any]:
        """Send a command; the answer comes into the list."""
        answers: list[Any] = []
        self.client.send(slot, data, answers.append)
        return answers
