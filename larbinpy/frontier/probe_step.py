"""The step of a site to its probes: requests for names that cannot exist (`larbinpy.soft404`)."""

from collections.abc import Sequence
from typing import Protocol

from larbinpy.frontier.preliminary import PreliminaryRequests, Way
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.registry import SiteRegistry
from larbinpy.frontier.sites.robots_rules import RobotsRules
from larbinpy.frontier.sites.states import Event, State
from larbinpy.page import Page
from larbinpy.url import Url


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

    def __repr__(self) -> str:
        return f"<ProbeStep {len(self._under_way)} under way>"

    def is_needed(self, site: NamedSite, url: Url) -> bool:
        """Whether an OPEN `site` is to be probed before `url`, which is in none of its queues."""
        if not self._probes.wants(url):
            return False
        return site.fetched + site.failed + site.in_flight + site.held > 0

    def is_needed_first(self, site: NamedSite) -> bool:
        """Whether an OPEN `site` is to be probed before the URLs that wait."""
        known = site.fetched + site.failed + site.in_flight + site.held
        known -= sum(url.guess for url in site.waiting)
        return known > 1 and any(map(self._probes.wants, site.waiting))

    def begin(self, site: NamedSite, now: float) -> None:
        """Probe an OPEN site, whose ready URLs wait for that."""
        self._registry.on(site, Event.PROBE)
        self._requests.hold(site)
        self._go_on(site, now)

    def replied(self, page: Page, now: float) -> None:
        """Process the reply to a probe, or its end without one."""
        key = page.url.owner or ""
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
        waiting = [url.href for url in site.waiting if url.owner is None and not url.guess]
        while (probe := self._probes.next(site.key, waiting)) is not None:
            if self._rules.allows(site, probe):
                url = self._under_way[site.key] = Url(probe, 0, owner=site.key, probe=True)
                self._requests.send(url, now)
                return
        self._registry.on(site, Event.PROBED)
        self._way.reopened(site, now)
