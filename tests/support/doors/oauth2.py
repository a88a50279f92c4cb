"""Sites with OAuth 2 (RFC 6749, RFC 8628): tokens that end, refresh tokens that change."""

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus

from tests.support.doors.door import Door, Kind, Refusal, unauthorized
from tests.support.doors.server import Heard, Said, Server

CLIENT, SCOPE = "client-1", "read archive"


@dataclass
class OAuth2Door(Door):
    """Tokens of `grant` ("client_credentials", "refresh_token" or "device_code").

    The endpoint is on another address. Its first `failures` replies are 503. A token says that it
    lives for `lives` seconds; the site may end it before that, see `life`.
    """

    refusal: Refusal = unauthorized
    grant: str = "client_credentials"
    failures: int = 0
    lives: int = 3600
    other: str = "127.0.0.3"
    #: Refusals of the endpoint.
    wrong: list[str] = field(default_factory=list)
    #: Called with the user's code, when a device asks for one.
    approve: Callable[[str], None] = lambda code: None
    #: Requests of a device before its user has agreed.
    pending: int = 3
    interval: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.endpoint = Server(self._provide, self.other, of=self.server)
        self.servers.append(self.endpoint)
        self.client_secret = self.token("cs&+")
        #: The refresh token that is good now.
        self.refresh = self.token("rt+/") if self.grant == "refresh_token" else ""
        self._device = ""
        self._last_poll = 0.0
        self._left = self.failures
        self._running = False

    def key_of(self, heard: Heard) -> str | None:
        scheme, _, token = heard.headers.get("authorization", "").partition(" ")
        return token if scheme.lower() == "bearer" else None

    def keys(self) -> dict[str, str]:
        keys = {"method": "oauth2", "grant": self.grant, "clientId": CLIENT}
        keys["tokenUrl"] = self.endpoint.url("/token")
        if self.grant == "device_code":
            return keys | {"deviceUrl": self.endpoint.url("/device"), "scope": SCOPE}
        keys["clientSecret"] = self.client_secret
        return keys | ({"refreshToken": self.refresh} if self.refresh else {})

    def challenges(self) -> tuple[str, ...]:
        return ('WWW-Authenticate: Bearer error="invalid_token"',)

    def _provide(self, heard: Heard) -> Said:
        """The other host."""
        if heard.path == "/robots.txt":
            return Said("User-agent: *\nDisallow: /\n", type="text/plain", kind=Kind.ROBOTS)
        said = self._reply(heard)
        if said.kind == "":
            said.kind = Kind.FURTHER if self._running else Kind.FIRST
        self._running = said.kind in (Kind.FIRST, Kind.FURTHER)
        return said

    def _reply(self, heard: Heard) -> Said:
        if self._left:
            self._left -= 1
            return Said("<h1>503</h1>", 503, ("Retry-After: 1",))
        form = heard.form
        if heard.method != "POST" or heard.query:
            return self._error("invalid_request", "not a POST, or a query")
        if not self._knows_client(heard):
            return self._error("invalid_client", "client")
        if heard.path == "/device":
            return self._begin_device(form)
        if heard.path != "/token":
            return self._error("invalid_request", f"path {heard.path}")
        wanted = "urn:ietf:params:oauth:grant-type:device_code"
        if form.get("grant_type") == "refresh_token" and self.refresh:
            return self._refresh(form)
        if self.grant == "device_code" and form.get("grant_type") == wanted:
            return self._poll(form)
        if self.grant == "client_credentials" and form.get("grant_type") == self.grant:
            return self._tokens({})
        return self._error("unsupported_grant_type", f"grant {form.get('grant_type')}")

    def _knows_client(self, heard: Heard) -> bool:
        """Section 2.3.1 of RFC 6749; a device has no secret."""
        form = heard.form
        client, secret = form.get("client_id"), form.get("client_secret")
        scheme, _, value = heard.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            user, _, word = base64.b64decode(value).decode().partition(":")
            client, secret = unquote_plus(user), unquote_plus(word)
        if self.grant == "device_code":
            return client == CLIENT
        return (client, secret) == (CLIENT, self.client_secret)

    def _error(self, error: str, reason: str = "") -> Said:
        if reason:
            self.wrong.append(reason)
        status = 401 if error == "invalid_client" else 400
        waits = error in ("authorization_pending", "slow_down")
        kind = "" if waits else Kind.DENIED
        return Said(json.dumps({"error": error}), status, type="application/json", kind=kind)

    def _refresh(self, form: dict[str, str]) -> Said:
        if form.get("refresh_token") != self.refresh:
            # Somebody uses an old one: all tokens are void (section 10.4).
            self.refresh = self.token("void")
            for session in self.sessions.values():
                session.ended = True
            return self._error("invalid_grant", "an old refresh token")
        self.refresh = self.token("rt+/")
        return self._tokens({"refresh_token": self.refresh})

    def _tokens(self, further: dict[str, Any]) -> Said:
        token = self.begin(self.token("at-")).key
        body = {"access_token": token, "token_type": "Bearer", "expires_in": self.lives, **further}
        lines = ("Cache-Control: no-store",)
        return Said(json.dumps(body), 200, lines, "application/json", Kind.GRANTED)

    def _begin_device(self, form: dict[str, str]) -> Said:
        if form.get("scope") != SCOPE:
            return self._error("invalid_scope", f"scope {form.get('scope')}")
        self._device, self._polls = self.token("dev"), 0
        self._last_poll = time.monotonic()
        self.approve("WDJB-MJHT")
        body = {
            "device_code": self._device,
            "user_code": "WDJB-MJHT",
            "verification_uri": self.endpoint.url("/activate"),
            "expires_in": 600,
            "interval": self.interval,
        }
        return Said(json.dumps(body), type="application/json")

    def _poll(self, form: dict[str, str]) -> Said:
        if form.get("device_code") != self._device or not self._device:
            return self._error("invalid_grant", "device code")
        now = time.monotonic()
        early = now - self._last_poll < self.interval - 0.05
        self._last_poll = now
        self._polls += 1
        if early:
            return self._error("slow_down", "polled too early")
        if self._polls < self.pending:
            return self._error("authorization_pending")
        self._device = ""
        self.refresh = self.token("rt+/")
        return self._tokens({"refresh_token": self.refresh})
