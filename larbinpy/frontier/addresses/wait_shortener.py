"""Shortens waits that are under way when waitDuration becomes shorter."""

from larbinpy.frontier.addresses.schedule import IPSites
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.registry import SiteRegistry
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes


class WaitShortener:
    """Shortens the waits of all sites and addresses, some at each step.

    The time of their last request is not known, but it was before now. So a wait of the new
    length from now on is polite to all. Waits that robots.txt or Retry-After requested stay.
    """

    def __init__(
        self, sites: SiteRegistry, ip_sites: IPSites, sizes: FrontierSizes = DEFAULT_SIZES
    ) -> None:
        self._ip_sites = ip_sites
        self._most = sizes.shortened
        # Sites first: `_shorten` needs the old waits of their addresses, and addresses then sort
        # their sites by the new times.
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
        """Limit the wait of `site` to one delay from `now`, except for waits that it requested."""
        until = site.next_at
        registry = self._ip_sites.registry
        if registry.own_wait(site) is not None:
            # The old wait of its address may have been longer than the site's own.
            until = max(until, registry.wait_of(site))
        site.shorten_wait(min(until, now + site.pace.delay))
