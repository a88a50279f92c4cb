"""The step of a site to its login, if it has one."""

from typing import Protocol

from larbinpy.frontier.addresses.schedule import IPSites
from larbinpy.frontier.preliminary import PreliminaryRequests, Way
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.registry import SiteRegistry
from larbinpy.frontier.sites.states import Event, State
from larbinpy.outcome import UNREACHABLE, Outcome
from larbinpy.page import Page
from larbinpy.url import LoginRequest, Url, resolve

#: A site whose logins have failed gets no request for this long (s): each further try might lock
#: the account.
_CLOSED_TIME = 24 * 3600.0


class LoginAsk(LoginRequest, Protocol):
    """A request of a login, with its URL."""

    @property
    def href(self) -> str: ...

    @property
    def wait(self) -> float:
        """Seconds to wait before it, besides those of politeness."""


class SiteLogins(Protocol):
    """The logins of sites, by site key. A login is a sequence of requests, one at a time."""

    def needs(self, site: str) -> bool:
        """Whether a login has to come before the next URL of `site`."""

    def begin(self, site: str) -> LoginAsk | None:
        """Begin a login; its first request, None if it is over."""

    def replied(self, site: str, page: Page) -> LoginAsk | None:
        """Process the reply to the last request; the next one, None if the login is over.

        A request that could not be sent has a page of status 0.
        """

    def failure(self, site: str) -> str:
        """Why the last login failed; empty if it did not."""

    def is_final(self, site: str) -> bool:
        """Whether no further login is tried for a day after a failure."""

    def lasts(self, site: str) -> float | None:
        """Seconds until the login of `site` must be renewed; None if only the site knows."""


class NoLogins:
    """No site has a login."""

    def needs(self, site: str) -> bool:
        return False

    def begin(self, site: str) -> LoginAsk | None:
        return None

    def replied(self, site: str, page: Page) -> LoginAsk | None:
        return None

    def failure(self, site: str) -> str:
        return ""

    def is_final(self, site: str) -> bool:
        return False

    def lasts(self, site: str) -> float | None:
        return None


NO_LOGINS = NoLogins()


class LoginStep:
    """Sends the requests of logins, for sites in LOGIN.

    A login begins when no other request to its site is in flight: the reply to one that left
    before could end the new session, and would look as if that had ended. So there is one login
    of a site at a time, and one request of it.
    """

    def __init__(
        self,
        logins: SiteLogins,
        registry: SiteRegistry,
        ip_sites: IPSites,
        requests: PreliminaryRequests,
        way: Way,
    ) -> None:
        self._logins = logins
        self._registry = registry
        self._ip_sites = ip_sites
        self._requests = requests
        self._way = way
        # The request that is queued or in flight, by the key of its owner.
        self._under_way: dict[str, Url] = {}
        # Requests that wait for a time, by the key of their owner.
        self._later: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"<LoginStep {len(self._under_way)} under way>"

    def is_needed(self, site: NamedSite) -> bool:
        """Whether `site` has to log in before its next URL."""
        return self._logins.needs(site.key)

    def lasts(self, site: NamedSite) -> float | None:
        """Seconds until the login of `site` must be renewed; None if that is not known."""
        return self._logins.lasts(site.key)

    def begin(self, site: NamedSite, now: float) -> None:
        """Log in at an OPEN site, whose ready URLs wait for that."""
        self._forget(site)
        self._registry.on(site, Event.LOGIN)
        self._requests.hold(site)
        self.landed(site, now)

    def landed(self, site: NamedSite, now: float) -> None:
        """Continue after the end of a request to `site`: the login may wait for that."""
        if site.state is State.LOGIN and not site.in_flight and site.key not in self._under_way:
            self._go_on(site, self._logins.begin(site.key), now)

    def wait_over(self, site: NamedSite, now: float) -> None:
        """Send the request that had to wait, if there is one and its time has come."""
        if site.key in self._later and now >= self._later[site.key]:
            del self._later[site.key]
            self._requests.send(self._under_way[site.key], now)

    def _forget(self, site: NamedSite) -> None:
        self._under_way.pop(site.key, None)
        self._later.pop(site.key, None)

    def replied(self, page: Page, now: float) -> None:
        """Process the reply to a request, or its end without one."""
        key = page.url.owner or ""
        site = self._registry.get(key)
        if site is None or self._under_way.get(key) is not page.url:
            return
        if page.url.site == key and page.outcome in UNREACHABLE:
            self._ip_sites.try_next_address(site)
        if site.state is State.LOGIN:
            self._go_on(site, self._logins.replied(key, page), now)

    def _go_on(self, site: NamedSite, ask: LoginAsk | None, now: float) -> None:
        while ask is not None:
            href = resolve(ask.href)
            if href is not None:
                url = self._under_way[site.key] = Url(href, 0, owner=site.key, ask=ask)
                if ask.wait > 0:
                    self._later[site.key] = now + ask.wait
                    self._way.set_timer(site, now + ask.wait)
                else:
                    self._requests.send(url, now)
                return
            unsent = Page(Url(f"{site.key}/", 0), Outcome.BAD_URL)
            ask = self._logins.replied(site.key, unsent)
        self._forget(site)
        why = self._logins.failure(site.key)
        if not why:
            self._registry.on(site, Event.LOGGED_IN)
            self._way.reopened(site, now)
        elif self._logins.is_final(site.key):
            self._way.give_up(site, Outcome.LOGIN_FAILED, now, why, _CLOSED_TIME)
        else:
            site.count_try()
            self._way.suspend(site, Event.NO_LOGIN, Outcome.LOGIN_FAILED, now, why)
