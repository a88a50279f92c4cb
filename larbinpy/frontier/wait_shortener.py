"""When waitDuration becomes shorter: nobody sleeps on for a wait of the old length."""

from larbinpy.frontier.ip_sites import IPSites
from larbinpy.frontier.registry import SiteRegistry

#: Sites and addresses in one step: a millisecond.
_STEP = 1000


class WaitShortener:
    """Goes round all sites and addresses, some at each step.

    When each was asked last is not known, but it was before now; so a wait of the new length
    from now on is polite to all, and what robots.txt or a Retry-After asks for stays.
    """

    def __init__(self, sites: SiteRegistry, ip_sites: IPSites) -> None:
        self._ip_sites = ip_sites
        # An address comes after its sites: it goes by their times, and they by the wait it has.
        self._sites_left = list(sites)
        self._ip_sites_left = list(ip_sites)
        self.over = False

    def __repr__(self) -> str:
        return f"<Hastening {len(self._sites_left)} sites, {len(self._ip_sites_left)} addresses>"

    def step(self, now: float) -> None:
        for site in self._sites_left[-_STEP:]:
            self._ip_sites.hasten_site(site, now)
        del self._sites_left[-_STEP:]
        if self._sites_left:
            return
        for ip_site in self._ip_sites_left[-_STEP:]:
            self._ip_sites.hasten(ip_site, now)
        del self._ip_sites_left[-_STEP:]
        if not self._ip_sites_left:
            self._ip_sites.hasten_others(now)
            self.over = True
