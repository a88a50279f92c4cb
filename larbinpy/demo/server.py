"""A small HTTP/1.1 server on loopback for the demo web, and its control port.

Tests run the crawler against it, so it follows HTTP/1.1 (RFC 9112) in all that a client
observes: persistent connections, chunked bodies, HEAD, absolute-form targets (it is also a
proxy for its own hosts).
"""

import asyncio
import errno
import json
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from urllib.parse import urlsplit

from larbinpy.demo.names import NameServer
from larbinpy.demo.site import Location, Resource, Web, share, squeeze

_HEAD_LIMIT = 64 * 1024
#: Seconds after which a connection without a request is closed.
_IDLE = 60.0
#: Pieces of a dripping body.
_DROPS = 10


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request: `path` is the target in origin form, header names are in lower case."""

    method: str
    host: str
    path: str
    headers: dict[str, str]
    #: The server address that received it.
    address: str
    version: str = "HTTP/1.1"

    @property
    def closes(self) -> bool:
        """Whether the connection ends after the reply (RFC 9112, 9.3)."""
        connection = self.headers.get("connection", "").lower()
        return "close" in connection or (
            self.version == "HTTP/1.0" and "keep-alive" not in connection
        )


def parse_request(head: bytes, address: str) -> WebRequest | None:
    """Parse a request head; None if it is invalid."""
    line, *fields = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = line.split(" ")
    if len(words) != 3:
        return None
    method, target, version = words
    pairs = (text.partition(":") for text in fields)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    host = headers.get("host", "")
    if target.lower().startswith("http://"):
        host = urlsplit(target).netloc
        target = "/" + target[len("http://") :].partition("/")[2]
    host = host.rpartition(":")[0] or host
    return WebRequest(method, host.lower(), target, headers, address, version)


@dataclass(slots=True)
class WebServer:
    """Answers requests from a `Web` and logs them.

    The share `flaky` of the pages with status 200 replies 503 the first time, as do pages that
    are `busy`.
    """

    web: Web
    flaky: float = 0.0
    seed: int = 0
    log: list[dict[str, object]] = field(default_factory=list)
    _tried: set[Location] = field(default_factory=set)

    def reset(self) -> None:
        self.log.clear()
        self._tried.clear()

    def is_flaky(self, location: Location) -> bool:
        """Whether `location` fails once at random."""
        if location.path.endswith("/robots.txt") or self.web.find(location).status != 200:
            return False
        return share(self.seed, location) < self.flaky

    def reply(self, request: WebRequest) -> Resource:
        if request.method not in ("GET", "HEAD"):
            return Resource(405, headers=(("Allow", "GET, HEAD"),))
        location = Location(request.host, request.path)
        resource = self.web.find(location)
        wait = 0 if resource.busy is None and self.is_flaky(location) else resource.busy
        if wait is not None and location not in self._tried:
            self._tried.add(location)
            return Resource(503, headers=(("Retry-After", str(wait)),))
        if resource.gzip and "gzip" in request.headers.get("accept-encoding", ""):
            encoded = (*resource.headers, ("Content-Encoding", "gzip"))
            return replace(resource, body=squeeze(resource.body), headers=encoded)
        return resource

    def answer(self, request: WebRequest) -> Resource:
        """`reply`, with a line in the log."""
        now = asyncio.get_running_loop().time()
        resource = self.reply(request)
        self.log.append(
            {
                "time": now,
                "address": request.address,
                "host": request.host,
                "path": request.path,
                "status": resource.status,
                "headers": request.headers,
            }
        )
        return resource


@dataclass(slots=True)
class WebControl:
    """The control port for tests: ``/_log`` (requests), ``/_names`` (queries), ``/_reset``."""

    server: WebServer
    names: NameServer

    def answer(self, request: WebRequest) -> Resource:
        if request.path == "/_log":
            return _json(self.server.log)
        if request.path == "/_names":
            return _json(self.names.log)
        if request.path == "/_reset":
            self.server.reset()
            self.names.reset()
            return _json("done")
        return Resource(404)


def _json(value: object) -> Resource:
    return Resource(type="application/json", body=json.dumps(value).encode())


#: Errors that end a connection without a message: the client has closed, is silent or does not
#: send HTTP; or the program ends (Python 3.11 would print a traceback for a cancelled task).
_GONE = (
    ConnectionError,
    TimeoutError,
    asyncio.IncompleteReadError,
    asyncio.LimitOverrunError,
    asyncio.CancelledError,
)


async def talk(
    answer: Callable[[WebRequest], Resource],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Serve one connection until either side closes it."""
    try:
        async for request in _requests(reader, writer.get_extra_info("sockname")[0]):
            await _send(writer, answer(request), request)
    except _GONE:
        pass  # the connection is gone
    finally:
        writer.close()


async def _requests(reader: asyncio.StreamReader, address: str) -> AsyncIterator[WebRequest]:
    while True:
        async with asyncio.timeout(_IDLE):
            head = await reader.readuntil(b"\r\n\r\n")
        request = parse_request(head, address)
        if request is None:
            return
        yield request
        # The body of a request that is refused is not read, so what follows is unknown.
        if request.closes or "content-length" in request.headers:
            return


async def _send(writer: asyncio.StreamWriter, resource: Resource, request: WebRequest) -> None:
    lines = [f"HTTP/1.1 {resource.status} {_phrase(resource.status)}"]
    lines += [f"{name}: {value}" for name, value in resource.headers]
    if resource.status == 200 or resource.body:
        lines.append(f"Content-Type: {resource.type}")
    chunked = resource.chunked and request.version == "HTTP/1.1"
    lines.append(
        "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(resource.body)}"
    )
    if request.closes:
        lines.append("Connection: close")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    if request.method == "HEAD":
        writer.write(head)
    else:
        await _send_body(writer, head, resource, chunked)
    await writer.drain()


async def _send_body(
    writer: asyncio.StreamWriter, head: bytes, resource: Resource, chunked: bool
) -> None:
    pieces = _pieces(resource.body, _DROPS if resource.drip else 3 if chunked else 1)
    if chunked:
        pieces = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces] + [b"0\r\n\r\n"]
    # Head and body of an ordinary reply are sent together, in one segment.
    writer.write(b"".join([head, *pieces[:1]]))
    for piece in pieces[1:]:
        if resource.drip:
            await writer.drain()
            await asyncio.sleep(resource.drip / _DROPS)
        writer.write(piece)


def _pieces(body: bytes, count: int) -> list[bytes]:
    size = max(1, -(-len(body) // count))
    return [body[start : start + size] for start in range(0, len(body), size)]


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase


async def listen(answer: Callable[[WebRequest], Resource], sock: socket.socket) -> asyncio.Server:
    """Serve HTTP on the bound socket `sock`."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await talk(answer, reader, writer)

    return await asyncio.start_server(connected, sock=sock, limit=_HEAD_LIMIT, backlog=512)


def bind_all(addresses: list[str], attempts: int = 50) -> tuple[int, list[socket.socket]]:
    """Bind a TCP socket on each of `addresses`, all on one free port; return it and them.

    Raises OSError where an address is not this machine's, or no port is free on all.
    """
    for _ in range(attempts):
        sockets: list[socket.socket] = []
        try:
            port = 0
            for address in addresses:
                sockets.append(_bound(address, port))
                port = sockets[0].getsockname()[1]
        except OSError as error:
            for sock in sockets:
                sock.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return port, sockets
    raise OSError(errno.EADDRINUSE, "no port is free on all loopback addresses of the demo web")


def _bound(address: str, port: int) -> socket.socket:
    # asyncio sets TCP_NODELAY only where the protocol is named; without it every reply on a
    # kept connection waits 40 ms for a delayed acknowledgement.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock
