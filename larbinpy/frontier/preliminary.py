"""Preliminary requests: those that a site needs before its URLs may be fetched.

They are for its robots.txt, its login and its probes. They wait in the queue of the site that they
go to, which may be another one, as redirects lead anywhere; each has the key of its `owner`.
"""

from typing import Protocol

from larbinpy.frontier.addresses.schedule import IPSites
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.registry import SiteRegistry
from larbinpy.frontier.sites.states import STEPS, Event, State
from larbinpy.outcome import Outcome
from larbinpy.url import Url

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
