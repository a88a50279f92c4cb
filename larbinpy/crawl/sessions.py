"""The sessions of the sites of loginFile, while a crawl runs, and what they change in requests.

`LoginLinks` are the links that logins leave out, for looks at a crawl that does not run.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from larbinpy.fetch.cookies import Jars, LoginJars, cookie_lines
from larbinpy.fetch.options import RequestOptions
from larbinpy.frontier.lifecycle import Judgement, SiteLogins
from larbinpy.login.judge import LoginPages, Standing, ends_session
from larbinpy.login.methods.hook import UserLogin
from larbinpy.login.session import Session, SessionState
from larbinpy.login.spec import Login, MethodTrait
from larbinpy.loop.clock import Clock
from larbinpy.page import ENDS_SESSION, Outcome, Page, is_retried
from larbinpy.url import MASK, SECRET_HEADER, Ask, Url, site_of

_NO_HEADER = "a header of the login has characters that no request can carry"
#: A header line of a reply, with the lines that continue it.
_LINE = re.compile(rb"(?m)^([!-9;-~]+):[^\r\n]*(\r?\n[ \t][^\r\n]*)*")


class _Door:
    """A site with a login."""

    def __init__(self, login: Login, jars: LoginJars, user_login: UserLogin | None) -> None:
        self.login = login
        self.jars = jars
        self._user_login = user_login
        self.begin_with({})
        #: Whether a page was fetched behind the login.
        self.gave = False
        #: Whether the frontier knows that the session has failed.
        self.given_up = False

    def begin_with(self, kept: Mapping[str, object]) -> None:
        """Begin with what an earlier session kept."""
        self.session = Session(self.login, kept, self._user_login)


class SiteSessions(SiteLogins):
    """Logs in to the sites of `logins`, for the frontier, and judges their replies.

    `on_begin` is called before a login: requests after it need options of their own, because
    libcurl keeps what a site wanted for Digest with a handle. `user_login` is the hook of the
    operator's plug.
    """

    def __init__(
        self,
        logins: Iterable[Login],
        jars: Jars,
        on_begin: Callable[[], None],
        wall: Clock,
        user_login: UserLogin | None = None,
    ) -> None:
        self._doors = {
            login.site: _Door(login, jars.of_login(login.site), user_login) for login in logins
        }
        self._jars = jars
        self._on_begin = on_begin
        self._wall = wall
        self._notices: list[str] = []
        #: Called after each login: the next run cannot do without a refresh token that is new.
        self.on_login: Callable[[], None] = lambda: None

    # For the frontier.

    def needs(self, site: str) -> bool:
        """Whether a login has to come before the next URL of `site`."""
        door = self._doors.get(site)
        if door is None:
            return False
        return door.session.state is SessionState.FAILED or door.session.is_due(self._wall())

    def begin(self, site: str) -> Ask | None:
        """Begin a login; its first request, None if it is over."""
        door = self._doors[site]
        session = door.session
        if session.state is SessionState.FAILED:
            if not door.given_up:
                # It has failed by its pages, between two logins.
                self._note_end(door)
                return None
            door.begin_with(session.kept())
            session, door.given_up = door.session, False
        # A site may stumble over the cookies of a session that it has ended.
        door.jars.begin(anew=bool(session.reason))
        if door.login.method.is_a(MethodTrait.COOKIES):
            self._jars.own(site).add(cookie_lines(door.login.file), over_given=True)
        self._on_begin()
        return self._checked(door, session.begin(self._wall()))

    def replied(self, site: str, page: Page) -> Ask | None:
        """Process the reply to the last request of a login; the next one."""
        door = self._doors[site]
        door.jars.replied(page.url.site)
        return self._checked(door, door.session.replied(page, self._wall()))

    def _checked(self, door: _Door, ask: Ask | None) -> Ask | None:
        """A request of which each header can be sent: some are made of what the site sent."""
        while ask is not None and not all(map(_is_line, ask.headers)):
            unsent = Page(Url(f"{door.login.site}/", 0), Outcome.BAD_URL, detail=_NO_HEADER)
            ask = door.session.replied(unsent, self._wall())
        if ask is None:
            self._note_end(door)
            return None
        door.jars.asks(site_of(ask.href))
        if ask.notice:
            self._notices.append(ask.notice)
        return ask

    def _note_end(self, door: _Door) -> None:
        if door.session.state is SessionState.IN:
            self.on_login()
        else:
            door.given_up = door.session.state is SessionState.FAILED
            last = ", for the last time" if door.given_up else ""
            failed = f"{door.login.site}: the login failed{last}: {door.session.reason}"
            self._notices.append(failed)

    def failure(self, site: str) -> str:
        """Why the last login failed; empty if it did not."""
        session = self._doors[site].session
        return "" if session.state is SessionState.IN else session.reason

    def is_final(self, site: str) -> bool:
        return self._doors[site].session.state is SessionState.FAILED

    def lasts(self, site: str) -> float | None:
        """Seconds until the login of `site` must be renewed; None if only the site knows."""
        door = self._doors.get(site)
        due = None if door is None else door.session.due
        return None if due is None else max(0.0, due - self._wall())

    def take_notices(self) -> list[str]:
        """Lines for the user, each once."""
        notices, self._notices = self._notices, []
        return notices

    # For the intake.

    def has(self, site: str) -> bool:
        return site in self._doors

    def judge(self, page: Page, *, last: bool = False) -> tuple[Judgement, Sequence[Url]]:
        """Judge a reply of a site that has a login; `last` if no other one will come.

        With it come the URLs that may have been fetched after the session ended.
        """
        url = page.url
        door = self._doors[url.site]
        if not page.status:
            return Judgement.KEEP, ()
        standing = door.session.standing(page, last=last)
        if standing is not Standing.OUT:
            if page.outcome is Outcome.SUCCESS:
                door.gave = True
                door.session.note_links(page)
            # One that is tried again has not come yet.
            if standing is Standing.IN or not is_retried(page.outcome, page.status):
                door.session.came(url, standing)
            return Judgement.KEEP, ()
        again = door.session.lost(url, page.status)
        if not door.session.avoids(url.href):
            return Judgement.LOST, again
        self._notices.append(f"{url.href} is given up: {ENDS_SESSION}")
        page.outcome, page.detail = Outcome.REJECTED, ENDS_SESSION
        return Judgement.DROP, again

    def blank(self, page: Page) -> None:
        """Remove cookies, tokens and challenges from the headers of a reply."""
        page.headers = [
            (name, MASK if SECRET_HEADER.search(name) else value) for name, value in page.headers
        ]
        page.head = _LINE.sub(_blanked, page.head)

    # For requests and links.

    def headers(self, url: Url) -> Sequence[str]:
        """The header lines of the login to the site of `url`."""
        door = self._doors.get(url.site)
        if door is None:
            return ()
        lines = door.session.request_headers(url.href, self._wall())
        return [line for line in lines if _is_line(line)]

    def avoids(self, href: str) -> bool:
        """Whether a link is not asked for: it ends the session of its site, or is a login page."""
        door = self._doors.get(site_of(href))
        return door is not None and door.session.avoids(href)

    # For the end of the crawl, and the state.

    def failed_for_nothing(self) -> list[str]:
        """Sites whose login has failed, and that gave no page."""
        return [
            site
            for site, door in self._doors.items()
            if door.session.state is SessionState.FAILED and not door.gave
        ]

    def values(self) -> dict[str, Any]:
        """The values that the next run needs, JSON-able and secret."""
        return {site: self._value(door) for site, door in self._doors.items()}

    def _value(self, door: _Door) -> dict[str, Any]:
        lines = self._jars.own(door.login.site).lines()
        return {
            "gave": door.gave,
            "session": door.session.kept(),
            "cookies": [line.decode("latin-1") for line in lines],
        }

    def load(self, values: Mapping[str, Any]) -> None:
        """Continue with the `values` of a run; the session of another user does not count."""
        for site, value in values.items():
            door = self._doors.get(site)
            if door is None:
                continue
            door.gave = bool(value["gave"])
            door.begin_with(value["session"])
            if door.session.state is SessionState.IN:
                lines = [line.encode("latin-1") for line in value["cookies"]]
                self._jars.own(site).add(lines, over_given=True)


def _is_line(line: str) -> bool:
    return line.isascii() and line.isprintable()


def _blanked(line: re.Match[bytes]) -> bytes:
    name = line[1]
    if SECRET_HEADER.search(name.decode("latin-1")) is None:
        return line[0]
    return name + b": " + MASK.encode()


class LoginLinks(SiteLogins):
    """Stands for the sessions of `SiteSessions`, without any secret: nothing logs in.

    `pages` are the addresses of the login pages by site, empty for none. Links that only their
    texts tell are not known here.
    """

    def __init__(self, pages: Mapping[str, str]) -> None:
        self._pages = {site: LoginPages(page) for site, page in pages.items()}

    def has(self, site: str) -> bool:
        return site in self._pages

    def avoids(self, href: str) -> bool:
        """Whether a link is not asked for, by its address: see `SiteSessions.avoids`."""
        pages = self._pages.get(site_of(href))
        return pages is not None and (ends_session(href) or pages.only(href))


def with_login(login: Login, options: RequestOptions) -> RequestOptions:
    """`options` for the site of `login`: its credentials, and a cookie jar of its own."""
    auth = login.method.auth
    if auth is None:
        return replace(options, jar=login.site)
    # It takes the user's ticket.
    pair = "" if auth == "negotiate" else f"{login.user}:{login.password}"
    return replace(options, login=pair, auth=auth, jar=login.site)
