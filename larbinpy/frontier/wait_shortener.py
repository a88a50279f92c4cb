"""When waitDuration becomes shorter, waits of the old length are shortened as well."""

from larbinpy.frontier.ip_sites import IPSites
from larbinpy.frontier.named_site import NamedSite
from larbinpy.frontier.registry import SiteRegistry
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes


class WaitShortener:
    """Goes round all sites and addresses, some at each step.

    The time of each last request is not known, but it was before now; so a wait of the new
    length from now on is polite to all. Waits that robots.txt or a Retry-After requested stay.
    """

    def __init__(
        self, sites: SiteRegistry, ip_sites: IPSites, sizes: FrontierSizes = DEFAULT_SIZES
    ) -> None:
        self._ip_sites = ip_sites
        self._most = sizes.shortened
        # An address comes after its sites: it goes by their times, and they by the wait it has.
        self._sites_left = list(sites)
        self._ip_sites_left = list(ip_sites.registry)
        self.over = False

    def __repr__(self) -> str:
        left = f"{len(self._sites_left)} sites, {len(self._ip_sites_left)} addresses"
        return f"<WaitShortener {left}>"

    def step(self, now: float) -> None:
        for site in self._sites_left[-self._most :]:
            self._shorten(site, now)
        del self._sites_left[-self._most :]
        if self._sites_left:
            return
        for ip_site in self._ip_sites_left[-self._most :]:
            self._ip_sites.shorten_wait(ip_site, now)
        del self._ip_sites_left[-self._most :]
        if not self._ip_sites_left:
            self._ip_sites.registry.shorten_left_alone(now)
            self.over = True

    def _shorten(self, site: NamedSite, now: float) -> None:
        """Let no wait of `site` last longer than one from `now`, but what it requested."""
        until = site.next_at
        registry = self._ip_sites.registry
        if registry.has_own_wait(site):
            # Until now its address may have waited for longer than the site wants to.
            until = max(until, registry.wait_of(site))
        site.shorten_wait(min(until, now + site.pace.delay))
