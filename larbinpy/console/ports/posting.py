"""POST /control: the console's commands by HTTP, for who is on this machine and has the token.

    curl -H "Authorization: Bearer $(cat state/token)" -d 'command=pause' \
         http://127.0.0.1:8081/control

A page of another origin can make a browser post anywhere, and a name of its own lead here. So
the Host must be ours, an Origin our own, and the token, which no page can read, must come with
it; and nothing is ever done for a GET.
"""

import json
from collections.abc import Mapping
from hmac import compare_digest
from http import HTTPStatus
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import parse_qs

import h11

from larbinpy.console.ports.commands import CommandSteps, Result, Verbs, Wait, begin
from larbinpy.console.text import json_line

PATH = "/control"

#: Bytes of a body: a command is no longer than a line of the console, escaped as it may be.
_MAX_BODY = 32 * 1024
_MAX_COMMAND = 8 * 1024

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"


class HttpReply(NamedTuple):
    """An answer, before it is put on the wire."""

    status: HTTPStatus
    body: str
    type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


def refusal(status: HTTPStatus, why: str, *headers: tuple[str, str]) -> HttpReply:
    return HttpReply(status, f"{status.value} {status.phrase}: {why}\n", headers=headers)


class Posting:
    """Who may post, and what is made of it."""

    def __init__(self, verbs: Verbs, token: str) -> None:
        self._verbs = verbs
        self._token = f"Bearer {token}".encode()

    def listen(self, request: h11.Request, local: str, *, is_ours: bool) -> "Post":
        """What takes in the rest of a request that came in at the address `local`.

        `is_ours` says whether its Host is one of our names.
        """
        headers = dict(request.headers)
        refused = self._refuse(request.method, headers, local, is_ours)
        kind = headers.get(b"content-type", b"").decode("latin-1")
        return Post(self._verbs, kind.partition(";")[0].strip().lower(), refused)

    def _refuse(
        self, method: bytes, headers: Mapping[bytes, bytes], local: str, is_ours: bool
    ) -> HttpReply | None:
        """Why a request is not listened to."""
        if not is_ours:
            return refusal(HTTPStatus.FORBIDDEN, "this server has another name")
        if not ip_address(local).is_loopback:
            return refusal(HTTPStatus.FORBIDDEN, "the crawl is steered from its own machine alone")
        if not _from_here(headers):
            return refusal(HTTPStatus.FORBIDDEN, "this comes from another page")
        if method != b"POST":
            allow = ("Allow", "POST")
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "commands are posted", allow)
        if not compare_digest(headers.get(b"authorization", b""), self._token):
            challenge = ("WWW-Authenticate", "Bearer")
            why = "send the token that is in stateDir, as Authorization: Bearer TOKEN"
            return refusal(HTTPStatus.UNAUTHORIZED, why, challenge)
        length = headers.get(b"content-length", b"0")
        return _too_large() if len(length) > 9 or int(length) > _MAX_BODY else None


class Post:
    """One command that is posted: its body as it comes, then its steps."""

    def __init__(self, verbs: Verbs, kind: str, refused: HttpReply | None = None) -> None:
        self._verbs = verbs
        self._kind = kind
        self._body = bytearray()
        self._steps: CommandSteps | None = None
        self.rests = False
        #: What there is to be told, once there is.
        self.reply = refused

    def __repr__(self) -> str:
        return f"<Post {len(self._body)} bytes, begun={self._steps is not None}>"

    def receive(self, data: bytes) -> None:
        """A piece of the body."""
        self._body += data
        if len(self._body) > _MAX_BODY:
            self.reply = _too_large()

    def begin(self) -> None:
        """The body is whole."""
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
        """Go on with the command."""
        if self._steps is None or self.reply is not None:
            return
        step = next(self._steps)
        self.rests = step is Wait.EVENT
        if not isinstance(step, Wait):
            self.reply = _told(step)


def _told(answer: Result) -> HttpReply:
    status = HTTPStatus.OK if answer.get("ok") else HTTPStatus.BAD_REQUEST
    return HttpReply(status, json_line(answer).decode(), _JSON)


def _too_large() -> HttpReply:
    why = f"a command has {_MAX_COMMAND} bytes at most"
    return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)


def _from_here(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the page that asks, where one does, is one of ours."""
    own = b"http://" + headers.get(b"host", b"").lower()
    origin, referer = headers.get(b"origin"), headers.get(b"referer")
    if origin is not None and origin.lower() != own:
        return False
    return referer is None or referer.lower().startswith(own + b"/")


def _command(kind: str, body: bytes) -> str:
    """The command in a body; ValueError says for people why there is none."""
    wanted = 'send {"command": "..."} as JSON, or command=... as a form'
    try:
        text = body.decode()
        if kind == _JSON:
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
        raise ValueError("a command is one line, without control characters")
    return command
