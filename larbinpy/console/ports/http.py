"""The status server: read-only pages about a crawl, for users of this machine.

It answers GET and HEAD, one request a connection, and closes each after ten seconds. Pages
of other origins can make a browser send requests, so a request is refused if its Host is not
a name of this server (DNS rebinding) or if it has an Origin or a Referer. `posting` handles
POST.
"""

from collections.abc import Callable
from http import HTTPStatus
from math import inf
from typing import Any

import h11

from larbinpy.console.ports.posting import PATH, HttpReply, Post, Posting
from larbinpy.console.ports.posting import refusal as _refusal
from larbinpy.console.ports.tcp import Limits, TcpServer
from larbinpy.console.status import metrics, pages
from larbinpy.console.status.overview import SINCE
from larbinpy.console.status.script import ICON, SCRIPT_HASH
from larbinpy.console.status.style import STYLE_HASH
from larbinpy.console.text import json_line
from larbinpy.loop.poller import Poller

#: Seconds from accept to close; a page takes a few milliseconds.
LIFE = 10.0

_CONNECTIONS = 64

#: Seconds for which a rendered page is reused: less than the script's interval, so that each
#: browser gets new pages, and many browsers cost little more than one.
_FRESH = 0.5

#: Pages rendered in one turn of the loop; a page takes some 3 ms.
_BATCH = 4

#: Largest request head; browsers send 1 kB.
_MAX_HEAD = 16 * 1024

_HTML = "text/html; charset=utf-8"

_HEADERS = [
    ("Server", "larbinpy"),
    ("Connection", "close"),
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        f"default-src 'none'; style-src {STYLE_HASH}; script-src {SCRIPT_HASH}; "
        "connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
]

Snapshots = Callable[[], dict[str, Any]]


class Site:
    """The replies by address."""

    def __init__(
        self, snapshot: Snapshots, host: str, histograms: bool, posting: Posting | None = None
    ) -> None:
        self._posting = posting
        self._snapshot = snapshot
        self._histograms = histograms
        #: The time of the last step of the server (s).
        self.now = 0.0
        self._pages: dict[tuple[str, str | None], str] = {}
        self._fresh_until = -inf
        self._names = {"127.0.0.1", "localhost", "[::1]", _bracketed(host)}

    def post(self, request: h11.Request, local: str) -> Post | None:
        """The `Post` for the body of `request`; None if the request is not for /control."""
        if self._posting is None or request.target.partition(b"?")[0] != PATH.encode():
            return None
        host = dict(request.headers).get(b"host", b"").decode("latin-1")
        return self._posting.listen(request, local, is_ours=self._ours(host, local))

    def reply(self, request: h11.Request, local: str) -> HttpReply:
        """The reply to `request`, which arrived at the address `local`."""
        headers = dict(request.headers)
        if not self._ours(headers.get(b"host", b"").decode("latin-1"), local):
            return _refusal(HTTPStatus.FORBIDDEN, "Host is not a name of this server")
        if b"origin" in headers or b"referer" in headers:
            return _refusal(HTTPStatus.FORBIDDEN, "open this address directly, not from a link")
        if request.method not in (b"GET", b"HEAD"):
            allow = ("Allow", "GET, HEAD")
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, "this page is read only", allow)
        path, _, query = request.target.decode("latin-1").partition("?")
        return self._page(path, query)

    def _ours(self, host: str, local: str) -> bool:
        """Whether a Host header names this server, with any port (a tunnel has its own)."""
        name, colon, port = host.lower().rpartition(":")
        if not colon or host.endswith("]"):
            name = host.lower()
        elif not port.isdecimal():
            return False
        return name in self._names or name == _bracketed(local)

    def _page(self, path: str, query: str) -> HttpReply:
        if path in pages.PAGES:
            return HttpReply(
                HTTPStatus.OK, self._rendered(path, query.removeprefix("span=")), _HTML
            )
        if path == "/status.json":
            body = json_line(self._snapshot()).decode()
            return HttpReply(HTTPStatus.OK, body, "application/json")
        if path == "/metrics":
            return HttpReply(HTTPStatus.OK, metrics.render(self._snapshot()), metrics.CONTENT_TYPE)
        if path == "/icon.svg":
            return HttpReply(HTTPStatus.OK, ICON, "image/svg+xml")
        return _refusal(HTTPStatus.NOT_FOUND, "no such page")

    def _rendered(self, path: str, span: str) -> str:
        """The page, rendered or reused, as several browsers may poll it."""
        key = (path, span if span in SINCE else None)
        if self.now >= self._fresh_until:
            self._pages.clear()
            self._fresh_until = self.now + _FRESH
        if key not in self._pages:
            self._pages[key] = pages.render(
                path,
                self._snapshot(),
                span=key[1],
                with_histograms=self._histograms,
                with_control=self._posting is not None,
            )
        return self._pages[key]


def _bracketed(host: str) -> str:
    host = host.lower()
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class HttpSession:
    """One connection to the status server: one request, one reply."""

    patience = LIFE
    farewell = b""

    def __init__(self, site: Site, local: str) -> None:
        self._site = site
        self._local = local
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        self._request: h11.Request | None = None
        self._refusal: HttpReply | None = None
        self._post: Post | None = None
        self.closing = False

    def __repr__(self) -> str:
        return f"<HttpSession {self._wire.states}, closing={self.closing}>"

    @property
    def busy(self) -> bool:
        if self.closing or self._request is None:
            return not self.closing and self._refusal is not None
        return self._post is None or self._post.begun

    @property
    def resting(self) -> bool:
        return self._post is not None and self._post.rests

    def greeting(self) -> bytes:
        return b""

    def receive(self, data: bytes) -> None:
        """Parse one request; its body is used only for a POST to /control."""
        if self.busy or self.closing:
            return
        self._wire.receive_data(data)
        try:
            while not (self.busy or self.closing) and self._take(self._wire.next_event()):
                pass
        except h11.RemoteProtocolError as error:
            status = HTTPStatus(error.error_status_hint)
            self._refusal, self._request = _refusal(status, "not an HTTP request"), None

    def _take(self, event: object) -> bool:
        """Handle an h11 event; returns whether another may follow."""
        if isinstance(event, h11.Request):
            self._request, self._post = event, self._site.post(event, self._local)
        elif isinstance(event, h11.Data) and self._post is not None:
            self._post.receive(event.data)
        elif isinstance(event, h11.EndOfMessage) and self._post is not None:
            self._post.begin()
        else:
            self.closing = isinstance(event, h11.ConnectionClosed)
            return False
        return True

    def left(self) -> None:
        self._post = None

    def work(self) -> bytes:
        if self._post is not None and self._refusal is None:
            return self._go_on(self._post)
        self.closing = True
        if self._request is not None:
            return self._send(self._site.reply(self._request, self._local))
        return self._send(self._refusal) if self._refusal is not None else b""

    def _go_on(self, post: Post) -> bytes:
        """Run a step of the posted command."""
        post.step()
        self.closing = post.reply is not None
        return b"" if post.reply is None else self._send(post.reply)

    def _send(self, reply: HttpReply) -> bytes:
        body = reply.body.encode()
        headers = [
            *_HEADERS,
            *reply.headers,
            ("Content-Type", reply.type),
            ("Content-Length", str(len(body))),
        ]
        response = h11.Response(
            status_code=reply.status.value, headers=headers, reason=reply.status.phrase
        )
        sent = self._wire.send(response) or b""
        if self._request is None or self._request.method != b"HEAD":
            sent += self._wire.send(h11.Data(data=body)) or b""
        return sent


class StatusServer(TcpServer):
    """The server of the status page.

    `snapshot` is called for each rendered page; `histograms` is the setting of that name.
    Without `posting`, POST is refused.
    """

    def __init__(
        self,
        poller: Poller,
        snapshot: Snapshots,
        host: str,
        port: int,
        histograms: bool,
        posting: Posting | None = None,
    ) -> None:
        self._site = Site(snapshot, host, histograms, posting)
        super().__init__(
            poller,
            host,
            port,
            lambda local: HttpSession(self._site, local),
            Limits(connections=_CONNECTIONS, batch=_BATCH, life=LIFE, stall=LIFE),
        )

    def step(self, now: float) -> None:
        self._site.now = now
        super().step(now)
