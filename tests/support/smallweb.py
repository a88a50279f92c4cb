"""A small web, described by the test that needs it and served in the poll loop of the crawl.

Replies are complete and valid; a test chooses their content and delay. See `webserver` for
servers that misbehave.
"""

import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from larbinpy.demo.server import bind_all
from larbinpy.loop.poller import READ, WRITE, Poller
from tests.support.nameserver import Action

#: Addresses of the web; the first is the default for hosts.
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


@dataclass
class Answer:
    """The reply of one place of the web."""

    body: bytes = b""
    type: str = "text/html"
    status: int = 200
    #: Whole header lines.
    headers: tuple[str, ...] = ()
    #: Whether it is sent in chunks, so that no header tells its length.
    chunked: bool = False
    #: Seconds until it is sent.
    delay: float = 0.0
    #: The reply waits until this is true; it is checked once a turn.
    until: Callable[[], bool] = lambda: True

    def wire(self) -> bytes:
        body, length = self.body, f"Content-Length: {len(self.body)}"
        if self.chunked:
            length = "Transfer-Encoding: chunked"
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        lines = [f"HTTP/1.1 {self.status} X", f"Content-Type: {self.type}", length, *self.headers]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


@dataclass
class Asked:
    """A request as the server saw it; `time` and `answered` by the crawl's clock."""

    time: float
    #: The server's address.
    address: str
    #: As in the request line.
    target: str
    #: Names in lower case.
    headers: dict[str, str]
    answered: float = float("inf")
    method: str = "GET"
    version: str = "HTTP/1.1"

    @property
    def host(self) -> str:
        return self.headers["host"].partition(":")[0]

    @property
    def path(self) -> str:
        _, scheme, rest = self.target.partition("http://")
        return "/" + rest.partition("/")[2] if scheme else self.target

    @property
    def place(self) -> str:
        return self.host + self.path


def at_once(requests: Iterable[Asked]) -> int:
    """The greatest number of `requests` that were open at the same time."""
    requests = list(requests)
    return max(sum(b.time <= a.time < b.answered for b in requests) for a in requests)


class Web:
    """The description of a small web, for any number of crawls.

    A place is a host and a path: "a.test/x". In links "//b.test/x" gets the web's port.
    A place that is not described is a 404, so every robots.txt allows all.
    """

    def __init__(self) -> None:
        self.port, self.sockets = bind_all(list(ADDRESSES))
        for sock in self.sockets:
            sock.listen(100)
            sock.setblocking(False)
        #: Place -> answers to the first, second ... request; the last is repeated.
        self.places: dict[str, list[Answer]] = {}
        #: Makes the answer of a place that is not described, for webs without end.
        self.make: Callable[[str], Answer | None] = lambda place: None
        #: Name -> addresses, and name -> actions of the name server (see `nameserver`).
        self.zone: dict[str, list[str]] = {}
        self.scripts: dict[str, list[Action]] = {}
        #: The answer to a request in place of that of `places`.
        self.answer: Callable[[Asked, Answer], Answer] = lambda asked, answer: answer

    def close(self) -> None:
        for sock in self.sockets:
            sock.close()

    def url(self, place: str) -> str:
        host, slash, path = place.partition("/")
        return f"http://{host}:{self.port}{slash}{path}"

    def put(self, place: str, *answers: Answer) -> None:
        self.places[place] = list(answers)
        self.zone.setdefault(place.partition("/")[0], [ADDRESSES[0]])

    def file(self, place: str, body: bytes, type_: str, **traits: Any) -> None:
        self.put(place, Answer(body, type_, **traits))

    def robots(self, host: str, *lines: str) -> None:
        self.file(f"{host}/robots.txt", "\n".join(lines).encode(), "text/plain")

    def page(self, place: str, *links: str, images: Iterable[str] = (), **traits: Any) -> None:
        """An HTML page; the text names its place, so that no two have the same body."""
        body = "".join(f'<a href="{self._spell(link)}">x</a>\n' for link in links)
        body += "".join(f'<img src="{self._spell(link)}">\n' for link in images)
        head = f"<!DOCTYPE html><title>{place}</title>\n"
        self.put(place, Answer((head + body).encode(), **traits))

    def pages(self, *places: str, **traits: Any) -> None:
        for place in places:
            self.page(place, **traits)

    def _spell(self, link: str) -> str:
        return self.url(link[2:]) if link.startswith("//") else link


@dataclass(eq=False)
class Connection:
    """One connection to the web."""

    sock: socket.socket
    address: str
    received: bytes = b""
    unsent: bytes = b""


@dataclass
class Held:
    """A reply that waits for its time or its condition."""

    connection: Connection
    asked: Asked
    answer: Answer


class Server:
    """Serves a `Web` to one crawl, whose poller and clock these are."""

    def __init__(self, web: Web, poller: Poller, clock: Callable[[], float]) -> None:
        self._web = web
        self._poller = poller
        self._clock = clock
        #: In the order in which they came.
        self.asked: list[Asked] = []
        self._open: set[Connection] = set()
        self._held: list[Held] = []
        self._count: dict[str, int] = {}
        for sock in web.sockets:
            poller.register(sock.fileno(), READ, partial(self._accept, sock))

    def close(self) -> None:
        for connection in list(self._open):
            self._drop(connection)

    def turn(self) -> float:
        """Send what is due; when something next will be."""
        still = []
        for held in self._held:
            due = held.asked.time + held.answer.delay
            if held.connection not in self._open:
                continue
            if self._clock() >= due and held.answer.until():
                self._reply(held)
            else:
                still.append(held)
        self._held = still
        times = [held.asked.time + held.answer.delay for held in still]
        return min((time for time in times if time > self._clock()), default=float("inf"))

    def _accept(self, listener: socket.socket, _fd: int, _events: int) -> None:
        sock, _ = listener.accept()
        sock.setblocking(False)
        connection = Connection(sock, sock.getsockname()[0])
        self._open.add(connection)
        self._watch(connection, READ)

    def _watch(self, connection: Connection, events: int) -> None:
        fd = connection.sock.fileno()
        self._poller.register(fd, events, lambda fd, _: self._ready(connection))

    def _ready(self, connection: Connection) -> None:
        try:
            if connection.unsent:
                self._send(connection)
            else:
                self._receive(connection)
        except BlockingIOError:
            pass
        except ConnectionError:
            self._drop(connection)

    def _receive(self, connection: Connection) -> None:
        data = connection.sock.recv(1 << 16)
        connection.received += data
        head, end, rest = connection.received.partition(b"\r\n\r\n")
        if end:
            connection.received = rest
            self._request(connection, head.decode("latin-1"))
        elif not data:
            self._drop(connection)

    def _request(self, connection: Connection, head: str) -> None:
        line, *fields = head.split("\r\n")
        pairs = (field.partition(":") for field in fields)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        method, target, version = line.split(" ")
        now = self._clock()
        asked = Asked(now, connection.address, target, headers, method=method, version=version)
        self.asked.append(asked)
        made = self._web.make(asked.place) or Answer(status=404)
        answers = self._web.places.get(asked.place, [made])
        number = self._count.get(asked.place, 0)
        self._count[asked.place] = number + 1
        answer = self._web.answer(asked, answers[min(number, len(answers) - 1)])
        self._held.append(Held(connection, asked, answer))

    def _reply(self, held: Held) -> None:
        held.asked.answered = self._clock()
        wire = held.answer.wire()
        if held.asked.method == "HEAD":
            wire = wire.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        held.connection.unsent = wire
        self._ready(held.connection)

    def _send(self, connection: Connection) -> None:
        sent = connection.sock.send(connection.unsent)
        connection.unsent = connection.unsent[sent:]
        self._watch(connection, WRITE if connection.unsent else READ)

    def _drop(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._poller.unregister(connection.sock.fileno())
        connection.sock.close()
