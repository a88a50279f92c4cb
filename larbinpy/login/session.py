"""The session of a site: when to log in, by which requests, and what to fetch again."""

import json
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict
from enum import Enum, auto
from http import HTTPStatus
from typing import Any

from larbinpy.login.exchange import Grant, LoginFailed, asked, next_of
from larbinpy.login.judge import (
    Judge,
    RecentCounts,
    Standing,
    ends_session,
    has_html,
    has_password_field,
    logout_links,
)
from larbinpy.login.methods import request_headers, steps_of
from larbinpy.login.methods.hook import UserLogin
from larbinpy.login.spec import Login, MethodTrait
from larbinpy.page import Page
from larbinpy.url import Ask, Url, hash64, site_of

#: Failures in a row after which no further login is tried.
_MOST_FAILURES = 3
#: Sessions in a row without a page of the crawl, although a page had shown that they were there.
_MOST_BARREN = 10
#: Pages since the last confirmed one that are fetched again if the session was lost.
_MOST_UNCONFIRMED = 1000
#: Times that a page is fetched again because it was not confirmed, and pages that are remembered
#: for that.
_MOST_AGAIN = 3
_MOST_REMEMBERED = 10_000
#: Evidence by which an address is taken to end the session. A lost page is evidence of 1, and of 2
#: if it is the first after a login that worked.
_EVIDENCE = 3
_MOST_ENDS = 1000
#: Redirects of the page that is checked.
_MOST_REDIRECTS = 10
#: A token is renewed this long before it ends (s), or a tenth of its life if that is less.
_MARGIN = 30.0


class SessionState(Enum):
    """The states of a session; FAILED is the last."""

    #: A login is needed.
    NEEDED = auto()
    #: A login runs.
    RUNNING = auto()
    #: Logged in.
    IN = auto()
    FAILED = auto()


class Session:
    """The session of one site.

    NEEDED --begin--> RUNNING --replied--> IN --lost--> NEEDED; a login that fails leads back to
    NEEDED, the third in a row to FAILED.
    """

    def __init__(
        self, login: Login, kept: Mapping[str, object], user_login: UserLogin | None = None
    ) -> None:
        """`kept` is what `kept` returned in an earlier run; of another login it does not count.

        `user_login` is the function of a hook.
        """
        self._login = login
        self._fills_in = login.method.is_a(MethodTrait.FORM)
        self._user_login = user_login
        self._judge = Judge(login)
        self.state = SessionState.NEEDED
        #: Why the last login failed, in words without secrets; empty if it did not.
        self.reason = ""
        self._run: Generator[Ask, Page, bool] | None = None
        self._grant = Grant()
        # The Unix time at which to renew the grant.
        self._due: float | None = None
        self._failures = 0
        self._barren = 0
        # Since the last login: whether a page has shown that it worked; pages of the crawl, and
        # whether one of them was confirmed.
        self._proven = False
        self._pages = 0
        self._confirmed = False
        self._unconfirmed: deque[Url] = deque(maxlen=_MOST_UNCONFIRMED)
        self._again = RecentCounts(_MOST_REMEMBERED)
        self._evidence = RecentCounts(_MOST_REMEMBERED)
        # The unconfirmed pages of the loss before.
        self._suspects: set[str] = set()
        self._ends: dict[str, None] = {}
        # Links that say on a page that they log out: they may change with each page.
        self._said = RecentCounts(_MOST_REMEMBERED)
        self._load(kept)

    def __repr__(self) -> str:
        return f"<Session {self._login.site} {self.state.name}>"

    # The login.

    def is_due(self, wall: float) -> bool:
        """Whether to log in before the next request, at the Unix time `wall`."""
        if self.state is SessionState.IN:
            return self._due is not None and wall >= self._due
        return self.state is SessionState.NEEDED

    @property
    def due(self) -> float | None:
        """The Unix time at which the login has to be renewed; None if only the site knows."""
        return self._due if self.state is SessionState.IN else None

    def begin(self, wall: float) -> Ask | None:
        """Begin a login; its first request, None if it is over.

        Raises ValueError if one runs, or all have failed.
        """
        if self.state not in (SessionState.NEEDED, SessionState.IN):
            raise ValueError(f"a login cannot begin in the state {self.state.name}")
        self.state = SessionState.RUNNING
        self._run = self._logging_in(wall)
        return self._advance(lambda run: next(run))

    def replied(self, page: Page, wall: float) -> Ask | None:
        """Process the reply to the last request; the next one, None if the login is over.

        A request that could not be sent has a page of status 0. After the end, `state` is IN, or
        NEEDED or FAILED with a `reason`.
        """
        if self.state is not SessionState.RUNNING:
            return None
        return self._advance(lambda run: run.send(page))

    def _advance(self, step: Callable[[Generator[Ask, Page, bool]], Ask]) -> Ask | None:
        assert self._run is not None
        try:
            return step(self._run)
        except StopIteration as end:
            self._logged_in(end.value)
        except LoginFailed as error:
            self._failed(str(error))
        self._run = None
        return None

    def _logged_in(self, proven: bool) -> None:
        self.state = SessionState.IN
        self.reason = ""
        self._proven, self._confirmed, self._pages = proven, False, 0
        self._judge.logged_in(proven)
        if proven:
            self._failures = 0

    def _failed(self, reason: str) -> None:
        self.reason = reason
        self._failures += 1
        is_last = self._failures >= _MOST_FAILURES
        self.state = SessionState.FAILED if is_last else SessionState.NEEDED

    def _logging_in(self, wall: float) -> Generator[Ask, Page, bool]:
        """The requests of a login and of its check; returns whether a page shows that it worked."""
        steps = steps_of(self._login, self._grant.kept, wall, self._user_login)
        redirects: list[str] = []
        last: Page | None = None
        has_posted = False
        try:
            ask = next(steps)
            while True:
                self._check_scheme(ask)
                has_posted |= ask.body is not None
                last = yield ask
                if not has_posted and self._is_still_in(last):
                    return True
                target = next_of(last)
                if target and not has_posted:
                    redirects.append(target)
                ask = steps.send(last)
        except StopIteration as end:
            grant: Grant = end.value
        finally:
            steps.close()
        self._take(grant, wall)
        proven = yield from self._proof(last, wall)
        for target in redirects if has_posted else ():
            self._judge.login_pages.learn(target)
        return proven

    def _check_scheme(self, ask: Ask) -> None:
        """Raise LoginFailed for a request by http, if the site has https."""
        if self._login.site.startswith("https:") and not ask.href.startswith("https:"):
            where = site_of(ask.href)
            raise LoginFailed(
                f"a step of it leads to {where}; the site has https, so none may go by http"
            )

    def _is_still_in(self, page: Page) -> bool:
        """Whether the site answered a request for its form with a page of the session."""
        if not self._fills_in or site_of(page.url.href) != self._login.site:
            return False
        is_in = self._judge.by_marker(page) is Standing.IN and page.status == HTTPStatus.OK
        return is_in and bool(self._login.logged_in) and not has_password_field(page)

    def _take(self, grant: Grant, wall: float) -> None:
        self._grant = grant
        life = None if grant.expires is None else max(grant.expires - wall, 0.0)
        self._due = None if life is None else wall + life - min(_MARGIN, life / 10)

    def _proof(self, last: Page | None, wall: float) -> Generator[Ask, Page, bool]:
        """Ask for the page to check, or judge the `last` page of the login.

        Returns whether a page shows that it worked; raises LoginFailed if one shows that not.
        """
        if self._login.check:
            return (yield from self._checked(wall))
        if last is None:
            return False
        is_own = site_of(last.url.href) == self._login.site
        standing = self._judge.by_marker(last) if is_own else Standing.UNKNOWN
        if standing is Standing.IN:
            return True
        if last.status >= HTTPStatus.BAD_REQUEST:
            raise LoginFailed(f"the login ended with status {last.status}")
        if self._fills_in and has_password_field(last):
            raise LoginFailed("the site asks for the password again")
        if standing is Standing.OUT:
            raise LoginFailed(f"the page after the login {self._why_out(last)}")
        return False

    def _checked(self, wall: float) -> Generator[Ask, Page, bool]:
        href = self._login.check
        for _ in range(_MOST_REDIRECTS):
            page = yield from asked(Ask(href, headers=self.request_headers(href, wall)))
            standing = self._judge.standing(page)
            if standing is Standing.OUT:
                raise LoginFailed(f"the page to check {self._why_out(page)}")
            href = next_of(page)
            if standing is Standing.IN or not href or site_of(href) != self._login.site:
                break
        if standing is Standing.IN or page.status < HTTPStatus.MULTIPLE_CHOICES:
            return True
        raise LoginFailed(f"the page to check has status {page.status}")

    def _why_out(self, page: Page) -> str:
        if page.status >= HTTPStatus.BAD_REQUEST:
            return f"has status {page.status}"
        if next_of(page):
            return "redirects to the login page"
        if self._judge.has_logged_out(page):
            return "has loggedOut"
        return "has no sign of being logged in"

    # The requests of the site and their pages.

    def request_headers(self, href: str, wall: float) -> tuple[str, ...]:
        """The header lines of a request to the site for `href`, at the Unix time `wall`."""
        return request_headers(self._login, self._grant, href, wall)

    def avoids(self, href: str) -> bool:
        """Whether a link of the site is not asked for: it ends the session, or is a login page."""
        if href in self._ends or href in self._said or ends_session(href):
            return True
        return self._judge.login_pages.only(href)

    def standing(self, page: Page, *, last: bool = False) -> Standing:
        """The standing of a page of the crawl; `last` if no other one will come.

        A page that came in no session, and is none for certain, is OUT: it is fetched again.
        """
        standing = self._judge.standing(page, last=last)
        if standing is Standing.UNKNOWN and self.state is not SessionState.IN:
            return Standing.OUT
        return standing

    def note_links(self, page: Page) -> None:
        """Note the links of a page that say that they log out, before they are followed."""
        if has_html(page):
            for href in logout_links(page):
                self._said.add(href)

    def came(self, url: Url, standing: Standing) -> None:
        """The page of `url` came, and is not OUT."""
        self._pages += 1
        if standing is Standing.IN:
            self._unconfirmed.clear()
            self._confirmed = True
            self._failures = self._barren = 0
        elif self._again.of(url.href) < _MOST_AGAIN:
            self._unconfirmed.append(url)

    def lost(self, url: Url, status: int = 0) -> list[Url]:
        """The page of `url` is OUT, and came with `status`: another login is needed.

        Returns the URLs to fetch again besides `url`: those since the last confirmed page.
        Nothing else happens if the loss is known already.
        """
        if self.state is not SessionState.IN:
            return []
        self.state = SessionState.NEEDED
        again = [each for each in self._unconfirmed if each.href != url.href]
        self._unconfirmed.clear()
        for each in again:
            self._again.add(each.href)
        self._learn(url.href, {each.href for each in again})
        if not self._confirmed:
            self._note_barren(status)
        return again

    def _learn(self, lost: str, unconfirmed: set[str]) -> None:
        """Learn addresses that end the session, or that no session can show."""
        both = self._suspects & unconfirmed
        self._suspects = unconfirmed
        ends = both if len(both) == 1 else set()
        if not unconfirmed and (self._proven or self._confirmed):
            is_first = not self._pages
            if self._evidence.add(lost, 1 + is_first) >= _EVIDENCE:
                ends = {lost}
        for href in ends:
            # The newest is known in any case: one that is not would be asked for without end.
            self._ends[href] = None
            if len(self._ends) > _MOST_ENDS:
                del self._ends[next(iter(self._ends))]
            # It explains why there was no page.
            self._barren = 0

    def _note_barren(self, status: int) -> None:
        if self._proven:
            self._barren += 1
            if self._barren >= _MOST_BARREN:
                self.state = SessionState.FAILED
                self.reason = "each session ends before its first page"
        elif status == HTTPStatus.UNAUTHORIZED:
            self._failed("the site refuses it, with status 401")
        else:
            self._failed("after the login, pages are those of a visitor")

    # Over a stop.

    def kept(self) -> dict[str, object]:
        """The part that is kept over a stop, for JSON. It has secrets."""
        return {
            "login": _stamp(self._login),
            "in": self.state is SessionState.IN,
            "due": self._due,
            "grant": asdict(self._grant),
            "pages": self._judge.login_pages.learned,
            "markers": _markers(self._login),
            "ends": list(self._ends),
        }

    def _load(self, kept: Mapping[str, object]) -> None:
        if kept.get("login") != _stamp(self._login):
            return
        found: Any = kept
        try:
            grant, ends, due = found["grant"], found["ends"], found["due"]
            self._grant = Grant(tuple(grant["headers"]), grant["expires"], dict(grant["kept"]))
            self._due = None if due is None else float(due)
            if found["markers"] == _markers(self._login):
                # By others, other pages are those of a visitor.
                self._ends = dict.fromkeys(map(str, ends[:_MOST_ENDS]))
            self._judge.login_pages.remember(found["pages"])
            self.state = SessionState.IN if found["in"] is True else SessionState.NEEDED
        except (KeyError, TypeError, ValueError):
            self._grant, self._due = Grant(), None


def _markers(login: Login) -> list[str]:
    return [login.logged_in, login.logged_out]


def _stamp(login: Login) -> str:
    """A number that changes with the login, but for its passwords: a living session goes on."""
    parts = [login.site, login.method.value, login.user, login.client_id, login.token_url]
    parts += [login.scope, login.grant, login.token, login.refresh_token]
    return f"{hash64(json.dumps(parts).encode()):016x}"
