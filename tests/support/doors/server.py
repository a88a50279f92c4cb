"""An HTTP server in threads, on a loopback address of its own; its replies come from a function."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass
class Heard:
    """A request as the server saw it; times are those of time.monotonic (s)."""

    #: The host and port of the server.
    server: str
    method: str
    #: As in the request line.
    target: str
    #: Names in lower case.
    headers: dict[str, str]
    body: bytes
    began: float
    ended: float = float("inf")
    status: int = 0
    #: The part of the site that answered; see `door.Kind`.
    kind: str = ""

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def form(self) -> dict[str, str]:
        """The fields of the body; none if it is of another type."""
        if self.headers.get("content-type") != "application/x-www-form-urlencoded":
            return {}
        return dict(parse_qsl(self.body.decode("ascii"), keep_blank_values=True))

    @property
    def json(self) -> dict[str, Any]:
        """The object of the body; empty if there is none."""
        if self.headers.get("content-type", "").split(";")[0] != "application/json":
            return {}
        value = json.loads(self.body)
        return value if isinstance(value, dict) else {}

    @property
    def cookies(self) -> dict[str, str]:
        try:
            jar = SimpleCookie(self.headers.get("cookie", ""))
        except CookieError:
            return {}
        return {name: morsel.value for name, morsel in jar.items()}


@dataclass
class Said:
    """A reply."""

    body: str = ""
    status: int = 200
    #: Whole header lines.
    headers: tuple[str, ...] = ()
    type: str = "text/html; charset=utf-8"
    #: The part of the site that made it; see `door.Kind`.
    kind: str = ""
    #: Seconds until it is sent.
    delay: float = field(default=0.0)

    def wire(self) -> bytes:
        body = self.body.encode()
        lines = [
            f"HTTP/1.1 {self.status} X",
            f"Content-Type: {self.type}",
            f"Content-Length: {len(body)}",
            *self.headers,
        ]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


Answer = Callable[[Heard], Said]


class Server:
    """Serves `answer` at `address`; it is called for one request at a time.

    `lock` and `log` may be those of another server, for a site that has two.
    """

    def __init__(self, answer: Answer, address: str = "127.0.0.1", of: "Server | None" = None):
        self._answer = answer
        self._lock: threading.Lock = of._lock if of else threading.Lock()
        #: All requests, in the order in which they were answered.
        self.log: list[Heard] = of.log if of else []
        self._http = _Http((address, 0), _Handler)
        self._http.owner = self
        self.host = f"{address}:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"

    def answer(self, heard: Heard) -> Said:
        with self._lock:
            self.log.append(heard)
            said = self._answer(heard)
            heard.status, heard.kind = said.status, said.kind
        return said

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    owner: Server

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    server: _Http

    def _reply(self) -> None:
        began = time.monotonic()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner = self.server.owner
        heard = Heard(owner.host, self.command, self.path, headers, body, began)
        said = owner.answer(heard)
        if said.delay:
            time.sleep(said.delay)
        # Before the client can have the reply, and send its next request.
        heard.ended = time.monotonic()
        # By one write, as Nagle's algorithm would delay the second one.
        self.wfile.write(said.wire())

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = _reply

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""
