"""The step of a site to its robots.txt (RFC 9309)."""

from typing import NamedTuple

from larbinpy.fetch.robots import Rules, whole_lines
from larbinpy.frontier.addresses.schedule import IPSites
from larbinpy.frontier.preliminary import CLOSED_TIME, PreliminaryRequests, Way
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.registry import SiteRegistry
from larbinpy.frontier.sites.robots_cache import PackedRobots
from larbinpy.frontier.sites.robots_rules import RobotsRules
from larbinpy.frontier.sites.states import Event, State
from larbinpy.outcome import READABLE, UNREACHABLE, Outcome, asks_for_less
from larbinpy.page import Page
from larbinpy.reason import failure
from larbinpy.url import Url, resolve

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

    def __repr__(self) -> str:
        return f"<RobotsStep {self.fetched} fetched>"

    def begin(self, site: NamedSite, now: float) -> None:
        """Fetch the robots.txt of a site that is now in ROBOTS."""
        self._requests.send(Url(f"{site.key}/robots.txt", 0, owner=site.key), now)
        self._requests.release(site)

    def replied(self, page: Page, now: float) -> Sitemaps:
        """Process the reply to a request (RFC 9309, 2.3.1); return the sitemaps of the site."""
        self.fetched += page.status > 0
        owner = self._registry.get(page.url.owner or "")
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
        self._requests.send(Url(target, 0, hops=page.url.hops + 1, owner=owner.key), now)

    def ended(self, url: Url, outcome: Outcome, now: float, detail: str) -> None:
        """Process a request that ended without a fetch."""
        owner = self._registry.get(url.owner or "")
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
