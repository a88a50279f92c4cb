"""An HTTP server that plays scripts, in the same poll loop as the client under test.

There are no threads and no sleeps: every socket is on the test's `Poller`, and each turn of the
loop does one step. Scripts send raw bytes, so a server can misbehave in any way.
"""

import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto

import pycurl

from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.options import FetchSettings, Request, RequestOptions
from larbinpy.loop.poller import READ, WRITE, Poller
from larbinpy.page import Page
from larbinpy.url import Url


class Act(Enum):
    """Steps of a script that send nothing."""

    #: Read one request head into `WebServer.requests`.
    REQUEST = auto()
    #: Close with FIN, or with RST; the end of a script closes, too.
    CLOSE = auto()
    RESET = auto()
    #: Do nothing more, and leave the connection open.
    HANG = auto()


@dataclass(frozen=True)
class Drip:
    """Send `data` at `size` bytes a turn."""

    data: bytes
    size: int = 1


@dataclass(frozen=True)
class Endless:
    """Send `data` repeatedly until the client closes."""

    data: bytes


@dataclass(frozen=True)
class Until:
    """Wait for `condition`, which is checked once a turn."""

    condition: Callable[[], bool]


Step = bytes | Act | Drip | Endless | Until
Script = Iterable[Step]


class WebServer:
    """Plays `scripts`, one a connection; all further connections get the last one."""

    def __init__(
        self,
        poller: Poller,
        *scripts: Script,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._poller = poller
        self._scripts = scripts
        self._tls = tls
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=1024)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        #: Heads of requests, in the order in which they were read.
        self.requests: list[bytes] = []
        #: Bytes that the kernel has accepted.
        self.sent = 0
        self.accepted = 0
        self.connections: set[Connection] = set()
        poller.register(self._listener.fileno(), READ, self._accept)

    def url(self, path: str = "/", host: str = "site.test") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def close(self) -> None:
        for connection in list(self.connections):
            connection.close()
        self._poller.unregister(self._listener.fileno())
        self._listener.close()

    def _accept(self, _fd: int, _events: int) -> None:
        accepted, _ = self._listener.accept()
        accepted.setblocking(False)
        script = self._scripts[min(self.accepted, len(self._scripts) - 1)]
        self.accepted += 1
        if self._tls is not None:
            accepted = self._tls.wrap_socket(
                accepted, server_side=True, do_handshake_on_connect=False
            )
        self.connections.add(Connection(self, self._poller, accepted, script))


class Connection:
    """One connection and its position in its script."""

    def __init__(
        self, server: WebServer, poller: Poller, sock: socket.socket, script: Script
    ) -> None:
        self._server = server
        self._poller = poller
        self._socket = sock
        self._steps = iter(script)
        self._step: Step = Act.CLOSE
        self._unsent = b""
        self._received = b""
        self._next()

    def close(self, *, reset: bool = False) -> None:
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._poller.unregister(self._socket.fileno())
        self._server.connections.discard(self)
        if not reset:
            self._finish()
        self._socket.close()

    def _finish(self) -> None:
        """Shut down, and read pending data; otherwise the kernel would reset the connection."""
        with contextlib.suppress(OSError, ValueError):
            if isinstance(self._socket, ssl.SSLSocket):
                self._socket.unwrap()
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.recv(1 << 16)

    def _next(self) -> None:
        self._step = next(self._steps, Act.CLOSE)
        if isinstance(self._step, bytes):
            self._unsent = self._step
        elif isinstance(self._step, Drip):
            self._unsent = self._step.data
        if self._step is Act.HANG:
            self._poller.unregister(self._socket.fileno())
        else:
            events = READ if self._step is Act.REQUEST else WRITE
            self._poller.register(self._socket.fileno(), events, self._ready)

    def _ready(self, fd: int, _events: int) -> None:
        try:
            self._play()
        except ssl.SSLWantReadError:
            self._poller.register(fd, READ, self._ready)
        except ssl.SSLWantWriteError:
            self._poller.register(fd, WRITE, self._ready)
        except BlockingIOError:
            pass
        except OSError:  # The client has closed, or rejects the certificate.
            self.close()

    def _play(self) -> None:
        match self._step:
            case Act.REQUEST:
                self._read()
            case Act.CLOSE:
                self.close()
            case Act.RESET:
                self.close(reset=True)
            case Until(condition):
                if condition():
                    self._next()
            case Drip(_, size):
                self._send(size)
            case Endless(data):
                self._unsent = self._unsent or data
                self._send(len(self._unsent), more=True)
            case bytes():
                self._send(len(self._unsent))

    def _read(self) -> None:
        data = self._socket.recv(1 << 16)
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if end:
            self._server.requests.append(head + end)
            self._received = rest
            self._next()
        elif not data:
            self.close()

    def _send(self, size: int, *, more: bool = False) -> None:
        sent = self._socket.send(self._unsent[:size])
        self._server.sent += sent
        self._unsent = self._unsent[sent:]
        if not self._unsent and not more:
            self._next()


def reply(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """A valid reply with a Content-Length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def once(*steps: Step) -> Script:
    """A script that reads a request before it plays `steps`."""
    return (Act.REQUEST, *steps)


def anything(_type: str, _size: int | None) -> None:
    """An `accept` for every page."""
    return


OPTIONS = RequestOptions(user_agent="larbinpy/0.1")


class Loop:
    """A poller and a fetcher, turned by the test; `skip` advances the clock."""

    #: A page on loopback needs some ten turns.
    MOST_TURNS = 100_000

    def __init__(
        self,
        settings: FetchSettings,
        new_handle: Callable[[], pycurl.Curl] = pycurl.Curl,
        options: RequestOptions = OPTIONS,
    ) -> None:
        #: The options of the requests that are started next.
        self.options = options
        self.poller = Poller()
        self.fetcher = Fetcher(self.poller, settings, new_handle=new_handle)
        self._servers: list[WebServer] = []
        self._skipped = 0.0

    @property
    def now(self) -> float:
        return time.monotonic() + self._skipped

    def serve(
        self,
        *scripts: Script,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> WebServer:
        server = WebServer(self.poller, *scripts, tls=tls, host=host, port=port)
        self._servers.append(server)
        return server

    def skip(self, seconds: float) -> None:
        self._skipped += seconds

    def turn(self, patience: float = 0.05) -> list[Page]:
        """Run one turn, which waits for at most `patience` seconds."""
        deadline = self.fetcher.deadline
        self.poller.wait(patience if deadline is None else min(deadline - self.now, patience))
        return self.fetcher.step(self.now)

    def start(self, url: str, *, address: str = "127.0.0.1", max_size: int = 1 << 20) -> None:
        request = Request(Url(url, 5), address, anything, max_size, self.options)
        self.fetcher.start(request, self.now)

    def finish(self, number: int = 1) -> list[Page]:
        """Run turns until `number` pages have arrived."""
        pages: list[Page] = []
        for _ in range(self.MOST_TURNS):
            pages += self.turn()
            if len(pages) >= number:
                return pages
        raise AssertionError(f"{self.fetcher} did not finish: {pages}")

    def fetch(self, url: str, *, address: str = "127.0.0.1", max_size: int = 1 << 20) -> Page:
        self.start(url, address=address, max_size=max_size)
        return self.finish()[0]

    def close(self) -> None:
        self.fetcher.close()
        for server in self._servers:
            server.close()
        self.poller.close()
