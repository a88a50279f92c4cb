"""POST /control: the console's commands by HTTP, for clients on this machine with the token.

    curl -H "Authorization: Bearer $(cat state/token)" -d 'command=pause' \
         http://127.0.0.1:8081/control

A web page of another origin can make a browser send a POST here, even under a host name of its
own (DNS rebinding). Therefore the Host must be a name of this server, an Origin must be that of
this server, and the token, which no web page can read, is required. A GET never runs a command.
"""

import json
from collections.abc import Mapping
from hmac import compare_digest
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import parse_qs

import h11

from larbinpy.console.ports.commands import CommandSteps, Result, Verbs, Wait, begin
from larbinpy.console.ports.reply import HttpReply, refusal
from larbinpy.console.text import JSON, json_line

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

    def __repr__(self) -> str:
        return f"<Post {len(self._body)} bytes, begun={self._steps is not None}>"

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
