"""Preliminary requests: those that a site needs before its URLs may be fetched.

They are for its robots.txt, its login and its probes. They wait in the queue of the site that they
go to, which may be another one, as redirects lead anywhere; each has the key of its `owner`.

The step of a site to its robots.txt (RFC 9309).

The step of a site to its login, if it has one.

The step of a site to its probes: requests for names that cannot exist (`larbinpy.soft404`).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from larbinpy.fetch.robots import Rules, whole_lines
from larbinpy.frontier.schedule import IPSites
from larbinpy.frontier.site import STEPS, Event, NamedSite, PackedRobots, State
from larbinpy.frontier.sites import RobotsRules, SiteRegistry
from larbinpy.outcome import READABLE, UNREACHABLE, Outcome, asks_for_less, failure
from larbinpy.page import Page
from larbinpy.url import GUESS, Aim, Ask, Purpose, Url, resolve

#: A closed site, or one whose robots.txt cannot be fetched, gets no request for this long (s).
CLOSED_TIME = 3600.0

#: States of a site with an address that may be used.
_ADDRESSED = STEPS | {State.OPEN}


class Way(Protocol):
    """Leads a site on, or back, when a preliminary request has succeeded or failed."""

    def join(self, url: Url, now: float) -> None:
        """Give `url` to its site."""

    def opened(self, site: NamedSite, now: float) -> None:
        """Continue with a site whose rules are known."""

    def reopened(self, site: NamedSite, now: float) -> None:
        """Continue with a site that is OPEN again after a login or probes."""

    def set_timer(self, site: NamedSite, when: float) -> None:
        """Look at `site` again at the time `when`."""

    def setback(
        self, site: NamedSite, event: Event, outcome: Outcome, now: float, detail: str
    ) -> None:
        """Try again after a wait, or close the site if its tries are used up."""

    def suspend(
        self, site: NamedSite, event: Event, outcome: Outcome, now: float, detail: str
    ) -> None:
        """Try again after a wait."""

    def give_up(
        self,
        site: NamedSite,
        verdict: Outcome,
        now: float,
        detail: str,
        lasting: float = CLOSED_TIME,
    ) -> None:
        """Close the site for a while: all its URLs end with `verdict`."""


class PreliminaryRequests:
    """Queues preliminary requests before all other URLs of the sites that they go to."""

    def __init__(self, registry: SiteRegistry, ip_sites: IPSites, way: Way) -> None:
        self._registry = registry
        self._ip_sites = ip_sites
        self._way = way

    def send(self, url: Url, now: float) -> None:
        """Fetch `url` when its site has an address and politeness allows."""
        site = self._registry.get(url.site)
        if site is not None and site.state in _ADDRESSED:
            self._put(site, url)
        else:
            self._way.join(url, now)

    def release(self, site: NamedSite) -> None:
        """Fetch the preliminary requests that wait at a site that is in a step of its own."""
        for url in site.admit_others():
            self._put(site, url)

    def hold(self, site: NamedSite) -> None:
        """Let the ready URLs of `site` wait again, without its preliminary requests."""
        self._ip_sites.withdraw(site)
        if site.state in STEPS:
            self.release(site)

    def _put(self, site: NamedSite, url: Url) -> None:
        self._registry.engage(site)
        self._ip_sites.add(site, url, first=True)


#: RFC 9309, 2.3.1.2: at least five redirects of a robots.txt are followed.
_HOPS = 5
#: RFC 9309, 2.4: robots.txt is not used for longer than a day.
_RULES_TIME = 24 * 3600.0


class Sitemaps(NamedTuple):
    """The sitemaps of a site, as references from its robots.txt."""

    references: tuple[str, ...] = ()
    #: No robots.txt names them.
    guessed: bool = False


_NONE = Sitemaps()
#: The place where most sites have it (sitemaps.org names no other in its examples).
_USUAL = "/sitemap.xml"


class RobotsStep:
    """Fetches the robots.txt of sites in ROBOTS, and puts their rules in force."""

    def __init__(
        self,
        registry: SiteRegistry,
        ip_sites: IPSites,
        rules: RobotsRules,
        requests: PreliminaryRequests,
        way: Way,
    ) -> None:
        self._registry = registry
        self._ip_sites = ip_sites
        self._rules = rules
        self._requests = requests
        self._way = way
        #: Requests that a server answered.
        self.fetched = 0

    def begin(self, site: NamedSite, now: float) -> None:
        """Fetch the robots.txt of a site that is now in ROBOTS."""
        purpose = Purpose(Aim.ROBOTS, site.key)
        self._requests.send(Url(f"{site.key}/robots.txt", 0, purpose=purpose), now)
        self._requests.release(site)

    def replied(self, page: Page, now: float) -> Sitemaps:
        """Process the reply to a request (RFC 9309, 2.3.1); return the sitemaps of the site."""
        self.fetched += page.status > 0
        owner = self._registry.get(page.url.purpose.owner or "")
        if owner is None or owner.state is not State.ROBOTS:
            return _NONE
        if page.outcome in READABLE:
            body = page.body if page.truncated is None else whole_lines(page.body)
            rules = Rules.parse(body)
            packed = self._rules.pack(body, rules)
            delay = self._rules.delay(owner, rules)
            self._open(owner, packed, now + _RULES_TIME, now, delay)
            named = tuple(rules.sitemaps)
            return Sitemaps(named) if named else _guessed(owner)
        if page.outcome is Outcome.ERR_30X:
            self._redirected(owner, page, now)
        elif page.outcome is Outcome.BAD_TLS and page.url.site == owner.key:
            self._way.give_up(owner, Outcome.BAD_TLS, now, page.detail)
        elif page.outcome is Outcome.ERR_40X and not asks_for_less(page.status):
            self._open(owner, self._rules.allow_all, now + _RULES_TIME, now)
            return _guessed(owner)
        else:
            self._failed(owner, page.url, page.outcome, now, failure(page.status, page.detail))
        return _NONE

    def _redirected(self, owner: NamedSite, page: Page, now: float) -> None:
        location = page.header("location")
        target = resolve(location, page.url.href) if location else None
        if target is None or page.url.hops >= _HOPS:
            self._open(owner, self._rules.allow_all, now + _RULES_TIME, now)
            return
        self._requests.send(Url(target, 0, hops=page.url.hops + 1, purpose=page.url.purpose), now)

    def ended(self, url: Url, outcome: Outcome, now: float, detail: str) -> None:
        """Process a request that ended without a fetch."""
        owner = self._registry.get(url.purpose.owner or "")
        if owner is not None and owner.state is State.ROBOTS:
            self._failed(owner, url, outcome, now, detail)

    def _failed(
        self, site: NamedSite, robots: Url, outcome: Outcome, now: float, detail: str
    ) -> None:
        """Handle a robots.txt that cannot be fetched: try again after a wait.

        If all tries fail, the site is closed if it cannot be connected to; otherwise all its URLs
        are forbidden for a while. If a redirect led to another site, the failure of that site says
        nothing about this one.
        """
        own = robots.site == site.key
        if own and outcome in UNREACHABLE:
            self._ip_sites.try_next_address(site)
        if outcome is Outcome.SITE_LIMIT:
            self._way.give_up(site, outcome, now, detail)
            return
        if site.tries < site.settings.retries or (own and outcome is Outcome.NO_CONNECTION):
            self._way.setback(site, Event.NO_ROBOTS, outcome, now, detail)
        else:
            site.note_failure(outcome, detail)
            self._open(site, self._rules.deny_all, now + CLOSED_TIME, now)

    def ignore(self, site: NamedSite, now: float) -> None:
        """Open a site without its robots.txt (ignoreRobots)."""
        self._open(site, self._rules.allow_all, float("inf"), now)

    def _open(
        self,
        site: NamedSite,
        rules: PackedRobots,
        until: float,
        now: float,
        delay: float | None = None,
    ) -> None:
        self._rules.put(site, rules, until, delay)
        self._registry.on(site, Event.RULES)
        if site.pace.least > site.settings.waits.least:
            # The request for robots.txt counts for the delay, too.
            site.wait_until(now + site.pace.least)
        self._ip_sites.withdraw(site)
        self._way.opened(site, now)


def _guessed(site: NamedSite) -> Sitemaps:
    """The sitemap to look for at a site whose robots.txt names none."""
    return Sitemaps((site.key + _USUAL,), guessed=True) if site.settings.guess_sitemap else _NONE


#: A site whose logins have failed gets no request for this long (s): each further try might lock
#: the account.
_CLOSED_TIME = 24 * 3600.0


class SiteLogins(Protocol):
    """The logins of sites, by site key. A login is a sequence of requests, one at a time."""

    def needs(self, site: str) -> bool:
        """Whether a login has to come before the next URL of `site`."""

    def begin(self, site: str) -> Ask | None:
        """Begin a login; its first request, None if it is over."""

    def replied(self, site: str, page: Page) -> Ask | None:
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

    def begin(self, site: str) -> Ask | None:
        return None

    def replied(self, site: str, page: Page) -> Ask | None:
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
        key = page.url.purpose.owner or ""
        site = self._registry.get(key)
        if site is None or self._under_way.get(key) is not page.url:
            return
        if page.url.site == key and page.outcome in UNREACHABLE:
            self._ip_sites.try_next_address(site)
        if site.state is State.LOGIN:
            self._go_on(site, self._logins.replied(key, page), now)

    def _go_on(self, site: NamedSite, ask: Ask | None, now: float) -> None:
        while ask is not None:
            href = resolve(ask.href)
            if href is not None:
                url = self._under_way[site.key] = Url(
                    href, 0, purpose=Purpose(Aim.LOGIN, site.key, ask)
                )
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


class SiteProbes(Protocol):
    """The probes of sites, by site key."""

    def wants(self, url: Url) -> bool:
        """Whether `url` is a reason to probe its site, which has others."""

    def next(self, site: str, waiting: Sequence[str]) -> str | None:
        """The next URL to ask `site` for, None if there is none; `waiting` are URLs of it."""

    def replied(self, site: str, page: Page) -> None:
        """Process the reply to the last probe; its status is 0 if it could not be sent."""

    def end(self, site: str) -> None:
        """Send no further probe to `site`."""


class NoProbes:
    """No site is probed."""

    def wants(self, url: Url) -> bool:
        return False

    def next(self, site: str, waiting: Sequence[str]) -> str | None:
        return None

    def replied(self, site: str, page: Page) -> None:
        pass

    def end(self, site: str) -> None:
        pass


NO_PROBES = NoProbes()


class ProbeStep:
    """Sends the probes of OPEN sites, one after the other, while their other URLs wait.

    So every page is compared with the answers when it arrives. The first URL of a site is not: a
    site of which only one URL is fetched gets no probe.
    """

    def __init__(
        self,
        probes: SiteProbes,
        registry: SiteRegistry,
        rules: RobotsRules,
        requests: PreliminaryRequests,
        way: Way,
    ) -> None:
        self._probes = probes
        self._registry = registry
        self._rules = rules
        self._requests = requests
        self._way = way
        # The request that is queued or in flight, by the key of its site.
        self._under_way: dict[str, Url] = {}

    def is_needed(self, site: NamedSite, url: Url) -> bool:
        """Whether an OPEN `site` is to be probed before `url`, which is in none of its queues."""
        if not self._probes.wants(url):
            return False
        return site.fetched + site.failed + site.in_flight + site.held > 0

    def is_needed_first(self, site: NamedSite) -> bool:
        """Whether an OPEN `site` is to be probed before the URLs that wait."""
        known = site.fetched + site.failed + site.in_flight + site.held
        known -= sum(url.purpose is GUESS for url in site.waiting)
        return known > 1 and any(map(self._probes.wants, site.waiting))

    def begin(self, site: NamedSite, now: float) -> None:
        """Probe an OPEN site, whose ready URLs wait for that."""
        self._registry.on(site, Event.PROBE)
        self._requests.hold(site)
        self._go_on(site, now)

    def replied(self, page: Page, now: float) -> None:
        """Process the reply to a probe, or its end without one."""
        key = page.url.purpose.owner or ""
        if self._under_way.get(key) is not page.url:
            return
        del self._under_way[key]
        self._probes.replied(key, page)
        site = self._registry.get(key)
        if site is not None and site.state is State.PROBING:
            self._go_on(site, now)
        else:  # It was closed meanwhile.
            self._probes.end(key)

    def _go_on(self, site: NamedSite, now: float) -> None:
        waiting = [url.href for url in site.waiting if url.is_named]
        while (probe := self._probes.next(site.key, waiting)) is not None:
            if self._rules.allows(site, probe):
                url = self._under_way[site.key] = Url(
                    probe, 0, purpose=Purpose(Aim.PROBE, site.key)
                )
                self._requests.send(url, now)
                return
        self._registry.on(site, Event.PROBED)
        self._way.reopened(site, now)
