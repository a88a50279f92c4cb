"""Sites with a form: with a CSRF token, in two steps, on another host; and one that wants JSON."""

import hashlib
import json
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

from tests.support.doors.door import OPEN, SHUT, USER, Door, Kind
from tests.support.doors.server import Heard, Said, Server

#: Forms of the login page that are not that for the login, as many sites have them.
_DECOYS = """
<form action="/search"><input type=search name=q value="all"><button>Search</button></form>
<form method=post action="/register"><input name=email><input type=password name=new1>
<input type=password name=new2><button>Register</button></form>
"""


@dataclass
class FormDoor(Door):
    """A form with a token that is bound to a cookie, good for one POST; ends with a 303."""

    def __post_init__(self) -> None:
        super().__post_init__()
        #: CSRF cookies that were set and not used.
        self._pending: dict[str, str] = {}

    def keys(self) -> dict[str, str]:
        keys = {"method": "form", "page": "/login", "user": USER, "password": self.password}
        return keys | {"loggedIn": OPEN}

    def login(self, heard: Heard) -> Said | None:
        if heard.path != "/login":
            return None
        if heard.method != "POST":
            return self.form(heard.query.get("next", "/"), Kind.FIRST)
        return self.enter(heard)

    def enter(self, heard: Heard) -> Said:
        form = heard.form
        token = self._pending.pop(heard.cookies.get("csrf", ""), None)
        if token is None or form.get("csrfToken") != token:
            return Said(f"<p>{SHUT}: bad CSRF token", 403, kind=Kind.DENIED)
        # Browsers send the button that was pressed, and each box as it was.
        good = form.get("do") == "login" and form.get("tz") == "UTC" and "off" not in form
        if not good or (form.get("login"), form.get("pass")) != (USER, self.password):
            return self.form(form.get("next", "/"), Kind.DENIED, "Wrong user or password.")
        return self.enters(form.get("next", "/"))

    def enters(self, where: str) -> Said:
        """The reply that begins a session."""
        sid = self.begin().key
        headers = (
            f"Location: {where}",
            f"Set-Cookie: sid={sid}; Path=/; HttpOnly; SameSite=Lax",
            "Set-Cookie: csrf=; Path=/login; Max-Age=0",
        )
        return Said("", 303, headers, kind=Kind.GRANTED)

    def cookie(self) -> tuple[str, str]:
        """A new CSRF cookie, as its header line, and the token of the form that belongs to it."""
        cookie = self.token("c")
        token = hashlib.sha256(cookie.encode()).hexdigest()[:20] + "=="
        self.secrets.add(token)
        self._pending[cookie] = token
        return f"Set-Cookie: csrf={cookie}; Path=/login; HttpOnly", token

    def form(self, where: str, kind: Kind, message: str = "") -> Said:
        """The login page."""
        line, token = self.cookie()
        body = (
            f"<!DOCTYPE html><title>Log in</title><h1>{SHUT}</h1><p>{message}</p>{_DECOYS}\n"
            '<form method=post action="">\n'
            f'<input type=hidden name=csrfToken value="{token}">'
            f'<input type=hidden name=next value="{escape(where)}">'
            '<input type=hidden name=tz value="UTC">\n'
            "<input type=checkbox name=off value=1><input name=old value=x disabled>\n"
            "<label>Mail <input type=email name=login autocomplete=username></label>\n"
            "<input type=password name=pass autocomplete=current-password>\n"
            "<button type=submit name=do value=login>Log in</button></form>"
        )
        return Said(body, headers=(line,), kind=kind)


@dataclass
class TwoStepDoor(FormDoor):
    """A form for the user, and after it another page with one for the password."""

    def login(self, heard: Heard) -> Said | None:
        if heard.path == "/login" and heard.method != "POST":
            return self._step(heard, "/login/user", '<input type=text name=login id="u">')
        if heard.path == "/login/user" and heard.method == "POST":
            if not self._is_mine(heard):
                return Said(f"<p>{SHUT}: bad token", 403, kind=Kind.DENIED)
            known = heard.form.get("login") == USER
            field = '<input type=password name=pass><input type=hidden name=flow value="2">'
            return self._step(heard, "/login/password", field if known else "Unknown user")
        if heard.path == "/login/password" and heard.method == "POST":
            form = heard.form
            good = self._is_mine(heard) and form.get("flow") == "2"
            if not good or form.get("pass") != self.password:
                return Said(f"<p>{SHUT}: wrong", 403, kind=Kind.DENIED)
            return self.enters("/")
        return None

    def _is_mine(self, heard: Heard) -> bool:
        token = self._pending.pop(heard.cookies.get("csrf", ""), None)
        return token is not None and heard.form.get("csrfToken") == token

    def _step(self, heard: Heard, action: str, fields: str) -> Said:
        line, token = self.cookie()
        body = (
            f"<!DOCTYPE html><title>Log in</title><h1>{SHUT}</h1><form method=post "
            f'action="{action}"><input type=hidden name=csrfToken value="{token}">'
            f"{fields}<input type=submit value=Next></form>"
        )
        kind = Kind.FIRST if heard.method == "GET" else Kind.FURTHER
        return Said(body, headers=(line,), kind=kind)


@dataclass
class SsoDoor(FormDoor):
    """A site whose login page is on another host, three redirects away; both have cookies.

    `/login` (303) -> `/sso` of the other host (302) -> its `/form`; the POST of that (302) -> its
    `/done` (302) -> `/callback` of the site with a ticket (302) -> `/`.
    """

    other: str = "127.0.0.2"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.provider = Server(self._provide, self.other, of=self.server)
        self.servers.append(self.provider)
        self._tickets: set[str] = set()
        self._providers_own: set[str] = set()
        #: Requests with a cookie of the other host.
        self.mixed: list[str] = []

    def keys(self) -> dict[str, Any]:
        return super().keys() | {"also": [self.provider.url("")]}

    def login(self, heard: Heard) -> Said | None:
        self._check_cookies(heard, {"sid", "start"})
        if heard.path == "/login":
            start = self.token("b")
            line = f"Set-Cookie: start={start}; Path=/; HttpOnly"
            where = quote(self.url("/callback"), safe="")
            to = f"Location: {self.provider.url('/sso')}?back={where}"
            return Said(f"<p>{SHUT}", 303, (line, to), kind=Kind.FIRST)
        if heard.path == "/callback":
            ticket = heard.query.get("ticket", "")
            if ticket not in self._tickets or "start" not in heard.cookies:
                return Said(f"<p>{SHUT}: bad ticket", 403, kind=Kind.DENIED)
            self._tickets.remove(ticket)
            return self.enters("/")
        return None

    def _check_cookies(self, heard: Heard, own: set[str]) -> None:
        self.mixed += [f"{heard.target}: {name}" for name in set(heard.cookies) - own]

    def _provide(self, heard: Heard) -> Said:
        """The other host."""
        self._check_cookies(heard, {"csrf", "idp"})
        back = heard.query.get("back", "")
        if heard.path == "/robots.txt":
            # Nobody may crawl it; a login is not a crawl.
            return Said("User-agent: *\nDisallow: /\n", type="text/plain", kind=Kind.ROBOTS)
        if heard.path == "/sso":
            to = f"Location: /login?next={quote(back, safe='')}"
            return Said(f"<p>{SHUT}", 302, (to,), kind=Kind.FURTHER)
        if heard.path == "/login" and heard.method == "GET":
            return self.form(heard.query.get("next", "/"), Kind.FURTHER)
        if heard.path == "/login":
            said = self.enter(heard)
            if said.kind == Kind.GRANTED:
                self.sessions.popitem()  # That of the site comes with the ticket.
                own = self.token("i")
                self._providers_own.add(own)
                to = f"Location: /done?back={quote(heard.form['next'], safe='')}"
                cookie = f"Set-Cookie: idp={own}; Path=/; HttpOnly"
                return Said("", 302, (to, cookie), kind=Kind.FURTHER)
            return said
        if heard.path == "/done" and heard.cookies.get("idp") in self._providers_own:
            ticket = self.token("t")
            self._tickets.add(ticket)
            to = f"Location: {back}?ticket={ticket}"
            return Said("", 302, (to,), kind=Kind.FURTHER)
        return Said(f"<p>{SHUT}", 404, kind=Kind.DENIED)


@dataclass
class JsonDoor(Door):
    """A login by a script of the page: a token, then a POST of JSON that has it in a header."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._csrf = ""

    def keys(self) -> dict[str, str]:
        return {"method": "hook", "user": USER, "password": self.password, "loggedIn": OPEN}

    def login(self, heard: Heard) -> Said | None:
        if heard.path == "/login":
            body = f"<!DOCTYPE html><h1>{SHUT}</h1><script src=/app.js></script>"
            return Said(body, kind=Kind.REFUSED)
        if heard.path == "/api/csrf":
            self._csrf = self.token("j")
            body = json.dumps({"token": self._csrf})
            return Said(body, type="application/json", kind=Kind.FIRST)
        if heard.path != "/api/session" or heard.method != "POST":
            return None
        good = bool(self._csrf) and heard.headers.get("x-csrf-token") == self._csrf
        if not good or heard.json != {"user": USER, "password": self.password}:
            body = json.dumps({"error": SHUT})
            return Said(body, 403, type="application/json", kind=Kind.DENIED)
        line = f"Set-Cookie: sid={self.begin().key}; Path=/; HttpOnly"
        body = json.dumps({"message": f"{OPEN} {USER}"})
        return Said(body, 200, (line,), "application/json", Kind.GRANTED)
