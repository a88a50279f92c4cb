"""The servers of the demo web on loopback, HTTP and DNS, and the truth about a crawl of it.

Tests run the crawler against `WebServer`, so it follows HTTP/1.1 (RFC 9112) in all that a client
observes: persistent connections, chunked bodies, HEAD, absolute-form targets (it is also a
proxy for its own hosts). It has a control port.

`NameServer` has the names of the demo web, and NXDOMAIN for all others. It forwards no query, so a
crawl through it can reach only the demo web. It can drop replies: the choice depends on the seed,
the name and the number of queries for it, never on the order of arrival.

`Truth` is the expected result of a crawl, and its differences from a real one. It is computed from
the description, not from bytes: nothing here parses a page or robots.txt, so it cannot repeat the
crawler's mistakes.
"""

import asyncio
import errno
import json
import re
import socket
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset

from larbinpy.demo.site import Host, LinkKind, Location, Resource, Web, share, squeeze

_ORIGIN = "demo."
_TTL = 300
#: Serial, refresh, retry, expire, and minimum, the time to cache a failure (s).
_SOA = f"ns.{_ORIGIN} hostmaster.{_ORIGIN} 1 3600 600 86400 60"


class Asked(NamedTuple):
    """One line of the log: a query and its result."""

    name: str
    type: str
    #: Reply code, or "lost" if the reply was dropped on purpose.
    result: str


@dataclass(slots=True)
class NameServer:
    """Answers for the names of `web`; drops the share `drop` of its replies."""

    web: Web
    drop: float = 0.0
    seed: int = 0
    log: list[Asked] = field(default_factory=list)
    _times: Counter[tuple[str, str]] = field(default_factory=Counter)

    def reset(self) -> None:
        self.log.clear()
        self._times.clear()

    def answer(self, query: bytes) -> bytes | None:
        """The reply to one datagram; None if it is not a query or the reply is dropped."""
        try:
            message = dns.message.from_wire(query)
        except dns.exception.DNSException:
            return None
        if message.flags & dns.flags.QR or message.opcode() != dns.opcode.QUERY:
            return None
        if len(message.question) != 1:
            return None
        reply = self._reply(message)
        question = message.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        type_ = dns.rdatatype.to_text(question.rdtype)
        self._times[name, type_] += 1
        lost = share(self.seed, name, type_, self._times[name, type_]) < self.drop
        self.log.append(Asked(name, type_, "lost" if lost else dns.rcode.to_text(reply.rcode())))
        return None if lost else reply.to_wire()

    def _reply(self, message: dns.message.Message) -> dns.message.Message:
        question = message.question[0]
        reply = dns.message.make_response(message, recursion_available=True)
        host = self.web.hosts.get(question.name.to_text(omit_final_dot=True).lower())
        if host is None or host.fate == "noDNS":
            muted = host is not None and host.name.startswith("mute.")
            reply.set_rcode(dns.rcode.NOERROR if muted else dns.rcode.NXDOMAIN)
        elif question.rdtype == dns.rdatatype.A:
            reply.answer.extend(_records(host, question.name.to_text()))
        if not reply.answer:
            reply.authority.append(dns.rrset.from_text(_ORIGIN, _TTL, "IN", "SOA", _SOA))
        return reply


def _records(host: Host, name: str) -> list[dns.rrset.RRset]:
    """The address records of `host` under `name`, after a CNAME if it is an alias."""
    records = []
    if host.alias_of is not None:
        target = f"{host.alias_of}."
        records.append(dns.rrset.from_text(name, _TTL, "IN", "CNAME", target))
        name = target
    records.append(dns.rrset.from_text(name, _TTL, "IN", "A", *host.addresses))
    return records


class NameProtocol(asyncio.DatagramProtocol):
    """The UDP transport of a `NameServer`."""

    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._server.answer(data)
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, addr)


_HEAD_LIMIT = 64 * 1024
#: Seconds after which a connection without a request is closed.
_IDLE = 60.0
#: Pieces of a dripping body.
_DROPS = 10


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request: `path` is the target in origin form, in canonical spelling.

    Header names are in lower case.
    """

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
    return WebRequest(method, host.lower(), _spelled(target), headers, address, version)


def _spelled(target: str) -> str:
    """The canonical spelling of a path: as on most servers, all are the same resource."""
    plain = re.sub("%7e", "~", target, flags=re.IGNORECASE).removesuffix("?")
    return re.sub("%[0-9a-f]{2}", lambda escape: escape[0].upper(), plain, flags=re.IGNORECASE)


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


#: Outcome -> the outcome in its place if the state of the site is known before the URL is queued.
TWINS = {"forbiddenRobots": "fastRobots", "noDNS": "fastNoDns", "noConnection": "fastNoConn"}

#: Paths that a mirror uses unchanged as file names.
_PLAIN_PATH = re.compile(r"(/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,100})*/?")


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected end of a URL."""

    outcome: str
    #: HTTP status; 0 if no request for it may be made or can be answered.
    status: int
    kind: LinkKind
    #: Links from the nearest seed.
    distance: int
    #: The mirror's file, relative to outputDir; None if there is none or if the mirror chooses
    #: its name (escapes, queries, collisions).
    file: str | None = None

    def allows(self, outcome: str) -> bool:
        return outcome in (self.outcome, TWINS.get(self.outcome))


@dataclass(frozen=True, slots=True)
class Truth:
    """The expected outcomes of all URLs, and the URLs that must not be requested."""

    expected: Mapping[str, Expected]
    #: URL prefixes of the endless parts, where any outcome is right.
    loose: tuple[str, ...]
    #: URLs that exist and must never be requested: no link leads there, or robots.txt forbids.
    hidden: frozenset[str]

    @property
    def fetched(self) -> list[str]:
        """The URLs whose outcome is success."""
        return [url for url, end in self.expected.items() if end.outcome == "success"]

    @property
    def files(self) -> dict[str, str]:
        """Mirror file -> URL, for known file names."""
        return {end.file: url for url, end in self.expected.items() if end.file is not None}

    def differences(self, fates: Iterable[tuple[str, str]]) -> list[str]:
        """One line for each difference between `fates`, pairs of URL and outcome, and the truth.

        robots.txt and loose URLs are ignored, and so are unexpected URLs that were not fetched.
        """
        seen: dict[str, str] = {}
        lines = []
        for url, outcome in fates:
            if url in seen and url in self.expected:
                lines.append(f"twice: {url} {seen[url]}, then {outcome}")
            seen[url] = outcome
        for url, end in self.expected.items():
            if url not in seen:
                lines.append(f"no fate: {url}, must be {end.outcome}")
            elif not end.allows(seen[url]):
                lines.append(f"wrong: {url} is {seen[url]}, must be {end.outcome}")
        lines += [f"unexpected: {url} {fate}" for url, fate in seen.items() if self._odd(url, fate)]
        return lines

    def trespasses(self, requests: Iterable[tuple[str, int]]) -> list[str]:
        """One line for each of `requests`, (URL, status), that is wrong.

        Wrong requests are for hidden URLs, for unknown URLs, and for URLs whose earlier request
        was answered with 200.
        """
        asked: Counter[str] = Counter()
        for url, status in requests:
            asked[url] += status == 200
        often = [url for url, n in asked.items() if n > 1 and not url.endswith("/robots.txt")]
        lines = [f"answered {asked[url]} times: {url}" for url in often]
        return lines + [f"must not be requested: {url}" for url in asked if self._foreign(url)]

    def _foreign(self, url: str) -> bool:
        if url.endswith("/robots.txt") or url.startswith(self.loose or ("\0",)):
            return False
        return url in self.hidden or url not in self.expected

    def _odd(self, url: str, fate: str) -> bool:
        return fate == "success" and self._foreign(url)


def truth(
    web: Web,
    seeds: Iterable[Location] | None = None,
    *,
    cgi: bool = True,
    images: bool = True,
    any_type: bool = False,
    sitemaps: bool = True,
    within: Callable[[Location], bool] = lambda location: True,
) -> Truth:
    """The truth for a crawl from `seeds` (default: those of the web) that obeys robots.txt.

    The switches are getCGI, getImage, anyType (which also fetches style sheets and other
    requisites), sitemaps, and a narrower scope (`within`). A mirror has the files of
    `Expected.file`, and one more for each other success.
    """
    wanted = {LinkKind.PAGE: True, LinkKind.IMAGE: images or any_type, LinkKind.REQUISITE: any_type}
    wanted[LinkKind.SITEMAP] = sitemaps
    ends: dict[Location, Expected] = {}
    seen: set[str] = set()
    queue = deque((LinkKind.PAGE, seed, 0) for seed in seeds or web.seeds)
    while queue:
        kind, location, distance = queue.popleft()
        if location in ends or not wanted[kind] or not within(location) or web.endless(location):
            continue
        if "?" in location.path and not cgi:
            continue
        host = web.hosts[location.host]
        if host.name not in seen:
            seen.add(host.name)
            queue.extend(
                (LinkKind.SITEMAP, host.location(path), distance) for path in host.sitemaps
            )
        ends[location] = end = _end(web, location, kind, distance, any_type)
        if end.outcome in ("success", "err30X"):
            links = web.find(location).links
            queue.extend((kind, target, distance + 1) for kind, target in links)
    return _report(web, ends)


def _end(web: Web, location: Location, kind: LinkKind, distance: int, any_type: bool) -> Expected:
    unreachable = web.hosts[location.host].fate
    resource = web.find(location)
    outcome = unreachable or resource.fate
    if any_type and outcome == "badType":
        outcome = "success"
    status = 0 if outcome in TWINS else resource.status
    file = None
    if outcome == "success" and resource.indexed and resource.body:
        file = f"{location.host}:{web.port}{location.path}"
        file += "index.html" if location.path.endswith("/") else ""
    return Expected(outcome, status, kind, distance, file)


def _report(web: Web, ends: dict[Location, Expected]) -> Truth:
    hidden = {location for location in web.locations() if location not in ends}
    hidden |= {location for location, end in ends.items() if end.outcome == "forbiddenRobots"}
    free = _settled([end.file for end in ends.values() if end.file is not None])
    expected = {}
    for location, end in ends.items():
        settled = end.file in free and _PLAIN_PATH.fullmatch(location.path)
        expected[web.url(location)] = end if settled else replace(end, file=None)
    loose = [
        web.url(Location(host.name, prefix))
        for host in web.hosts.values()
        for prefix in host.endless_prefixes
    ]
    return Truth(expected, tuple(loose), frozenset(web.url(location) for location in hidden))


def _settled(files: list[str]) -> set[str]:
    """The `files` that collide with no other file and no folder."""
    folders = {parent for file in files for parent in _parents(file)}
    clashes = {file for file in files if file in folders}
    counts = Counter(files)
    return {
        file for file in files if counts[file] == 1 and clashes.isdisjoint({file, *_parents(file)})
    }


def _parents(file: str) -> list[str]:
    parts = file.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
