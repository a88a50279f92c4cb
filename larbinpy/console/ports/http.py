r"""The status server: read-only pages about a crawl, the search of its database, and POST /control.

It answers one request a connection, and closes each after ten seconds. Pages of other origins can
make a browser send requests. So a GET or HEAD is refused if a browser may have been led to send it
and its Host is not a name of this server (DNS rebinding), if it has an Origin, or if the browser
says that another site caused it (Sec-Fetch-Site, Referer), unless that leads the user here, as a
link does; a query from there fills in the form, but is not searched. `finder_process` searches.

`Posting` runs the console's commands by HTTP, for clients on this machine with the token:

    curl -H "Authorization: Bearer $(cat state/token)" -d 'command=pause' \
         http://127.0.0.1:8081/control

The Host must be a name of this server, an Origin must be that of this server, and the token, which
no web page can read, is required. A GET never runs a command.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from hmac import compare_digest
from html import escape
from http import HTTPStatus
from ipaddress import ip_address
from math import inf
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import h11

from larbinpy.console.ports.commands import CommandSteps, Result, Verbs, Wait, begin
from larbinpy.console.ports.finder_process import FinderProcess, Question
from larbinpy.console.ports.reply import SEARCH_POLICY, HttpReply, refusal
from larbinpy.console.ports.reply import refusal as _refusal
from larbinpy.console.ports.tcp import Limits, TcpServer
from larbinpy.console.search.form import PAGE, SEARCH_JSON, Frame, SearchRequest, message_page
from larbinpy.console.status import metrics, pages
from larbinpy.console.status.markup import (
    CHANGES,
    FEED,
    FEED_TYPE,
    ICON,
    OPENSEARCH,
    OPENSEARCH_TYPE,
    SEARCH,
    relative,
)
from larbinpy.console.status.overview import SINCE
from larbinpy.console.text import HTML, JSON, json_line, printable
from larbinpy.loop.poller import Poller

PATH = "/control"

#: Most bytes of a body: a console line, of which each byte may be escaped.
_MAX_BODY = 32 * 1024
_MAX_COMMAND = 8 * 1024

_FORM = "application/x-www-form-urlencoded"


class Posting:
    """Checks the requests to /control and starts their commands."""

    def __init__(self, verbs: Verbs, token: str) -> None:
        self._verbs = verbs
        self._token = f"Bearer {token}".encode()

    def listen(self, request: h11.Request, local: str, *, is_ours: bool) -> "Post":
        """The `Post` that receives the body of a request, which arrived at `local`.

        `is_ours`: its Host is a name of this server.
        """
        headers = dict(request.headers)
        refused = self._refuse(request.method, headers, local, is_ours)
        kind = headers.get(b"content-type", b"").decode("latin-1")
        return Post(self._verbs, kind.partition(";")[0].strip().lower(), refused)

    def _refuse(
        self, method: bytes, headers: Mapping[bytes, bytes], local: str, is_ours: bool
    ) -> HttpReply | None:
        """The refusal of a request that must not run; None if it may."""
        if not is_ours:
            return refusal(HTTPStatus.FORBIDDEN, "Host is not a name of this server")
        if not ip_address(local).is_loopback:
            return refusal(HTTPStatus.FORBIDDEN, "commands are accepted on loopback only")
        if not _from_here(headers):
            return refusal(HTTPStatus.FORBIDDEN, "the request is from another page")
        if method != b"POST":
            allow = ("Allow", "POST")
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "send commands with POST", allow)
        if not compare_digest(headers.get(b"authorization", b""), self._token):
            challenge = ("WWW-Authenticate", "Bearer")
            why = "send the token in stateDir as Authorization: Bearer TOKEN"
            return refusal(HTTPStatus.UNAUTHORIZED, why, challenge)
        length = headers.get(b"content-length", b"0")
        return _too_large() if len(length) > 9 or int(length) > _MAX_BODY else None


class Post:
    """One posted command: receives its body, then runs its steps."""

    def __init__(self, verbs: Verbs, kind: str, refused: HttpReply | None = None) -> None:
        self._verbs = verbs
        self._kind = kind
        self._body = bytearray()
        self._steps: CommandSteps | None = None
        self.rests = False
        #: The reply, once it is known.
        self.reply = refused

    def receive(self, data: bytes) -> None:
        """A piece of the body."""
        self._body += data
        if len(self._body) > _MAX_BODY:
            self.reply = _too_large()

    def begin(self) -> None:
        """Start the command; the body is complete."""
        try:
            command = _command(self._kind, bytes(self._body))
        except ValueError as error:
            self.reply = refusal(HTTPStatus.BAD_REQUEST, str(error))
            return
        self._steps = begin(self._verbs, command)

    @property
    def begun(self) -> bool:
        return self._steps is not None or self.reply is not None

    def step(self) -> None:
        """Run one step of the command."""
        if self._steps is None or self.reply is not None:
            return
        step = next(self._steps)
        self.rests = step is Wait.EVENT
        if not isinstance(step, Wait):
            self.reply = _reply(step)


def _reply(result: Result) -> HttpReply:
    status = HTTPStatus.OK if result.get("ok") else HTTPStatus.BAD_REQUEST
    return HttpReply(status, json_line(result).decode(), JSON)


def _too_large() -> HttpReply:
    why = f"a command has at most {_MAX_COMMAND} bytes"
    return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)


def _from_here(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the request is from a page of this server or from no page."""
    own = b"http://" + headers.get(b"host", b"").lower()
    origin, referer = headers.get(b"origin"), headers.get(b"referer")
    if origin is not None and origin.lower() != own:
        return False
    return referer is None or referer.lower().startswith(own + b"/")


def _command(kind: str, body: bytes) -> str:
    """The command in a body. Raises ValueError with a message for the client."""
    wanted = 'send {"command": "..."} as JSON, or command=... as a form'
    try:
        text = body.decode()
        if kind == JSON:
            found = json.loads(text)
            command = found.get("command") if isinstance(found, dict) else None
        elif kind == _FORM:
            [command] = parse_qs(text, max_num_fields=2, strict_parsing=True)["command"]
        else:
            command = None
    except (ValueError, LookupError, RecursionError):
        raise ValueError(wanted) from None
    if not isinstance(command, str) or not command.strip():
        raise ValueError(wanted)
    if len(command.encode(errors="replace")) > _MAX_COMMAND or not command.isprintable():
        raise ValueError("a command is one line without control characters")
    return command


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

_HEADERS = [
    ("Server", "larbinpy"),
    ("Connection", "close"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
]

#: The target of a request, as proxies write it: with the server.
_ABSOLUTE = re.compile(r"\Ahttps?://[^/?]*", re.IGNORECASE)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")

#: Longest name of a crawl in the description of the search engine.
_LONGEST_NAME = 100

_FOREIGN = "A page of another site led here. To search for this, press Search."

#: Ends of names that the public DNS does not have: RFC 6761, 6762, 8375, and .internal.
_RESERVED = (".localhost", ".local", ".internal", ".home.arpa")
#: Why a Host header is refused: by the server of a database alone, and by that of a crawl.
_STRANGE = (
    "Host is not a name of this server; `larbinpy serve --host-name` gives it others",
    "Host is not a name of this server; use its address, or let the proxy send Host: localhost",
)

Snapshots = Callable[[], dict[str, Any]]


class Served(NamedTuple):
    """A database that is shown without a crawl, and how a proxy in front of it calls the server."""

    names: Sequence[str] = ()
    #: The path of the pages, if the proxy leaves it in the requests; it ends with a slash.
    base: str = "/"


class Site:
    """The replies by address.

    Without `posting` commands are refused, without `finder` there is no search. With `served`,
    there are the search pages only; `snapshot` then has the name to show.
    """

    def __init__(
        self,
        snapshot: Snapshots,
        host: str,
        histograms: bool = True,
        posting: Posting | None = None,
        finder: FinderProcess | None = None,
        served: Served | None = None,
    ) -> None:
        self._posting = posting
        self._snapshot = snapshot
        self._histograms = histograms
        self._finder = finder
        self._with_crawl = served is None
        self._base = "/" if served is None else served.base
        #: The time of the last step of the server (s).
        self.now = 0.0
        self._pages: dict[tuple[str, str | None], str] = {}
        self._frame = Frame()
        self._fresh_until = -inf
        self._names = {"127.0.0.1", "localhost", "[::1]", bracketed(host)}
        self._names.update(map(bracketed, served.names if served else ()))

    def post(self, request: h11.Request, local: str) -> Post | None:
        """The `Post` for the body of `request`; None if the request is not for /control."""
        if self._posting is None or request.target.partition(b"?")[0] != PATH.encode():
            return None
        host = dict(request.headers).get(b"host", b"").decode("latin-1")
        return self._posting.listen(request, local, is_ours=self._ours(host, local))

    def reply(self, request: h11.Request, local: str) -> HttpReply | Question:
        """The reply to `request`, which arrived at the address `local`."""
        headers = dict(request.headers)
        host = headers.get(b"host", b"").decode("latin-1")
        is_safe = self._ours(host, local) or _is_of_this_network(host)
        if not is_safe and _may_be_led(headers):
            return _refusal(HTTPStatus.FORBIDDEN, _STRANGE[self._with_crawl])
        is_foreign = _is_foreign(headers)
        if b"origin" in headers or (is_foreign and not _leads(headers)):
            return _refusal(HTTPStatus.FORBIDDEN, "a page of another site may not load this one")
        if request.method not in (b"GET", b"HEAD"):
            allow = ("Allow", "GET, HEAD")
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, "this page is read only", allow)
        target = _ABSOLUTE.sub("", request.target.decode("latin-1"))
        path, _, query = target.partition("?")
        if f"{path}/" == self._base:
            return HttpReply(HTTPStatus.FOUND, "", headers=(("Location", self._base),))
        path = f"/{path.removeprefix(self._base)}" if path.startswith(self._base) else path
        is_https = headers.get(b"x-forwarded-proto") == b"https"
        here = f"{'https' if is_https else 'http'}://{host}{self._base[:-1]}"
        found = self._search(path, query, here, is_foreign) or self._page(path, query)
        return found or _refusal(HTTPStatus.NOT_FOUND, "no such page")

    def drop(self, question: Question) -> None:
        """Forget a question whose client has left."""
        if self._finder is not None:
            self._finder.drop(question)

    def _ours(self, host: str, local: str) -> bool:
        """Whether a Host header names this server, with any port (a tunnel has its own)."""
        name = _without_port(host)
        return name in self._names or (bool(name) and name == bracketed(local))

    def _search(
        self, path: str, query: str, here: str, is_foreign: bool
    ) -> HttpReply | Question | None:
        """The reply of the search pages; None if `path` is none of theirs."""
        if self._finder is None:
            return None
        if path == OPENSEARCH:
            name = self._shown_frame().name
            return HttpReply(HTTPStatus.OK, _opensearch(here, name), OPENSEARCH_TYPE)
        if path == "/" and not self._with_crawl:
            to = f"{relative(SEARCH)}?{query}" if query else relative(SEARCH)
            return HttpReply(HTTPStatus.FOUND, "", headers=(("Location", to),))
        if path not in (SEARCH, PAGE, SEARCH_JSON, CHANGES, FEED):
            return None
        frame = self._shown_frame()
        if is_foreign and path not in (CHANGES, FEED):
            page = message_page(frame, SearchRequest.of(query), _FOREIGN)
            return HttpReply(HTTPStatus.OK, page, HTML, policy=SEARCH_POLICY)
        return self._finder.ask(path, query, frame)

    def _page(self, path: str, query: str) -> HttpReply | None:
        """The reply of the pages about the crawl; None if `path` is none of theirs."""
        if path == "/icon.svg":
            return HttpReply(HTTPStatus.OK, ICON, "image/svg+xml")
        if not self._with_crawl:
            return None
        if path in pages.PAGES:
            return HttpReply(HTTPStatus.OK, self._rendered(path, query.removeprefix("span=")), HTML)
        if path == "/status.json":
            return HttpReply(HTTPStatus.OK, json_line(self._snapshot()), JSON)
        if path == "/metrics":
            return HttpReply(HTTPStatus.OK, metrics.render(self._snapshot()), metrics.CONTENT_TYPE)
        return None

    def _shown_frame(self) -> Frame:
        self._refresh()
        if self._frame == Frame():
            shown = self._snapshot()
            self._frame = Frame(
                str(shown.get("name") or ""),
                str(shown.get("state") or ""),
                self._with_crawl,
                "fleet" in shown,
            )
        return self._frame

    def _refresh(self) -> None:
        """Forget what was rendered if it is old."""
        if self.now >= self._fresh_until:
            self._pages.clear()
            self._frame = Frame()
            self._fresh_until = self.now + _FRESH

    def _rendered(self, path: str, span: str) -> str:
        """The page, rendered or reused, as several browsers may poll it."""
        key = (path, span if span in SINCE else None)
        self._refresh()
        if key not in self._pages:
            self._pages[key] = pages.render(
                path,
                self._snapshot(),
                span=key[1],
                with_histograms=self._histograms,
                with_control=self._posting is not None,
                with_search=self._finder is not None,
            )
        return self._pages[key]


def _without_port(host: str) -> str:
    """The name in a Host header, in lower case; empty if it has a port that is none."""
    name, colon, port = host.lower().rpartition(":")
    if not colon or host.endswith("]"):
        return host.lower()
    return name if port.isdecimal() else ""


def _is_of_this_network(host: str) -> bool:
    """Whether a Host header is an address, or a name that nobody can register.

    DNS rebinding needs a name in the public DNS.
    """
    name = _without_port(host).removesuffix(".")
    if name.endswith(_RESERVED):
        return True
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return bool(name) and "." not in name and ":" not in name
    return True


def _may_be_led(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser may have sent the request to a name that leads here behind its back.

    It says where a request is from to loopback and https only: another site has no certificate of
    its name here. A script cannot leave User-Agent out.
    """
    return b"user-agent" in headers and b"sec-fetch-site" not in headers


def _is_foreign(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a page of another site caused the request; other ports of a host are others, too.

    Browsers say so to loopback and https (Fetch Metadata, 2.1); "none" is the user. To others they
    send a Referer, which the pages of this server forbid.
    """
    site = headers.get(b"sec-fetch-site", b"cross-site" if b"referer" in headers else b"none")
    return site not in (b"none", b"same-origin")


def _leads(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the browser goes to the page, and does not only load it into another one.

    Where it does not say so, what it accepts tells it from images, scripts and style sheets.
    """
    if b"sec-fetch-mode" not in headers:
        return b"text/html" in headers.get(b"accept", b"")
    return (
        headers[b"sec-fetch-mode"] == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
    )


def _opensearch(here: str, name: str) -> str:
    """The description of the search engine (OpenSearch 1.1), at the address that was asked."""
    here = escape(here)
    shown = escape(printable(f"larbinpy {name}".rstrip(), _LONGEST_NAME))
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>larbinpy</ShortName>
<Description>{shown}: pages that were crawled</Description>
<InputEncoding>UTF-8</InputEncoding>
<Image width="16" height="16" type="image/svg+xml">{here}/icon.svg</Image>
<Url type="text/html" method="get" template="{here}{SEARCH}?q={{searchTerms}}"/>
<Url type="{OPENSEARCH_TYPE}" rel="self" template="{here}{OPENSEARCH}"/>
</OpenSearchDescription>
"""


def bracketed(host: str) -> str:
    """A host as it stands in a URL, in lower case."""
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
        self._question: Question | None = None
        self._has_target = False
        self.closing = False

    @property
    def busy(self) -> bool:
        if self._question is not None:
            # While it waits, the session listens: a client that hangs up needs no answer.
            return not self.closing and self._question.reply is not None
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
        if self._question is not None:
            self.closing = True
        if self.busy or self.closing:
            return
        if not self._has_target:
            # Programs send what was typed: "?q=caf\xe9" in UTF-8.
            first, end, rest = data.partition(b"\n")
            self._has_target = end != b""
            data = _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], first) + end + rest
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
        if self._question is not None:
            self._site.drop(self._question)

    def work(self) -> bytes:
        if self._post is not None and self._refusal is None:
            return self._go_on(self._post)
        reply = self._refusal if self._request is None else self._reply(self._request)
        self.closing = reply is not None
        return b"" if reply is None else self._send(reply)

    def _reply(self, request: h11.Request) -> HttpReply | None:
        """The reply; None if a question waits for its answer."""
        if self._question is None:
            reply = self._site.reply(request, self._local)
            if isinstance(reply, HttpReply):
                return reply
            self._question = reply
        return self._question.reply

    def _go_on(self, post: Post) -> bytes:
        """Run a step of the posted command."""
        post.step()
        self.closing = post.reply is not None
        return b"" if post.reply is None else self._send(post.reply)

    def _send(self, reply: HttpReply) -> bytes:
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        control = [("Cache-Control", "no-store")]
        if reply.type == FEED_TYPE and self._request is not None:
            # Readers of feeds ask every hour.
            tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
            control = [("Cache-Control", "no-cache"), ("ETag", tag)]
            if tag.encode() in dict(self._request.headers).get(b"if-none-match", b""):
                reply, body = reply._replace(status=HTTPStatus.NOT_MODIFIED), b""
        headers = [
            *_HEADERS,
            *control,
            *reply.headers,
            ("Content-Security-Policy", reply.policy),
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
    Without `posting`, POST is refused; without `finder`, nothing can be searched. With `served`,
    there are the search pages only.
    """

    def __init__(
        self,
        poller: Poller,
        snapshot: Snapshots,
        host: str,
        port: int,
        histograms: bool = True,
        posting: Posting | None = None,
        finder: FinderProcess | None = None,
        served: Served | None = None,
    ) -> None:
        self._finder = finder
        self._site = Site(snapshot, host, histograms, posting, finder, served)
        super().__init__(
            poller,
            host,
            port,
            lambda local: HttpSession(self._site, local),
            Limits(connections=_CONNECTIONS, batch=_BATCH, life=LIFE, stall=LIFE),
        )

    @property
    def deadline(self) -> float | None:
        mine, theirs = super().deadline, self._finder.deadline if self._finder else None
        return min((time for time in (mine, theirs) if time is not None), default=None)

    def step(self, now: float) -> None:
        self._site.now = now
        if self._finder is not None:
            self._finder.step(now)
        super().step(now)

    def close(self) -> None:
        super().close()
        if self._finder is not None:
            self._finder.close()
