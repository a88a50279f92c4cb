"""Which addresses have something to do, and until when each of the others is left alone."""

from collections.abc import Iterator, Mapping

from larbinpy.frontier.addresses.ip_site import IPSite
from larbinpy.frontier.sites.evicted import DistinctCounter, ExpiringTimes, pauses
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.settings import SiteSettings
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes

#: Between the address and the name of a group in the key of its IPSite; in no other key.
_GROUP = " "


class IPSiteRegistry:
    """The addresses that have sites in rotation or requests in flight.

    For other addresses only the time before which they get no request is kept, until it has
    passed. With waitBy "site" each site counts as an address of its own; so does each group of
    sites that a block gives a shorter wait or more connexions.
    """

    def __init__(
        self,
        usual: SiteSettings,
        wait_by: str,
        sizes: FrontierSizes = DEFAULT_SIZES,
    ) -> None:
        # The settings of sites that no block matches.
        self._usual = usual
        #: waitBy: "ip", "site" or "both".
        self._wait_by = wait_by
        self._ip_sites: dict[str, IPSite] = {}
        # For addresses that are not in this registry: the time before which they get no request.
        self._left_alone = ExpiringTimes(sizes.expiry_step)
        #: The addresses so far.
        self.distinct_keys = DistinctCounter("\0address ")
        # The time of a kill before which any address may have got a request.
        self._rest_from = float("-inf")

    def __iter__(self) -> Iterator[IPSite]:
        return iter(self._ip_sites.values())

    def __len__(self) -> int:
        return len(self._ip_sites)

    def __contains__(self, ip_site: IPSite) -> bool:
        return self._ip_sites.get(ip_site.key) is ip_site

    def __repr__(self) -> str:
        return f"<IPSiteRegistry {len(self)} addresses>"

    @property
    def wait_duration(self) -> float:
        return self._usual.waits.least

    def _key(self, site: NamedSite) -> str:
        if self._wait_by == "site":
            return site.key
        group, address = site.settings.group, site.addresses[0]
        return f"{address}{_GROUP}{group}" if group else address

    def _settings(self, site: NamedSite) -> SiteSettings:
        """The settings whose waits and connexions the address of `site` has."""
        own = site.settings.group or self._wait_by == "site"
        return site.settings if own else self._usual

    def obtain(self, site: NamedSite) -> IPSite:
        """The IPSite for requests to `site`, made if it is missing."""
        key = self._key(site)
        ip_site = self._ip_sites.get(key)
        if ip_site is None:
            ip_site = self._ip_sites[key] = IPSite(key, self._settings(site))
            rest_until = self._rest_from + ip_site.waits.least
            ip_site.wait_until(max(rest_until, self._left_alone.pop(key, 0.0)))
            self.distinct_keys.add(key)
        return ip_site

    def behind(self, site: NamedSite) -> IPSite | None:
        """The IPSite for requests to `site`; None while its address has nothing to do."""
        return self._ip_sites.get(self._key(site)) if site.addresses else None

    def evict_idle(self, ip_site: IPSite) -> None:
        """Evict an address if it has nothing to do; its wait is kept."""
        if not len(ip_site) and not ip_site.in_flight:
            del self._ip_sites[ip_site.key]
            self.distinct_keys.forget(ip_site.key)
            self._left_alone[ip_site.key] = ip_site.next_at
            ip_site.disband()

    # Waits.

    def own_wait(self, site: NamedSite) -> float | None:
        """The wait of `site` itself; None if it has only that of its address."""
        delay = site.pace.delay
        return delay if self._wait_by != "ip" or delay > self._settings(site).waits.least else None

    def wait_of(self, site: NamedSite) -> float:
        """The time before which the address of `site` gets no request."""
        if not site.addresses:
            return 0.0
        ip_site = self.behind(site)
        return self._left_alone.get(self._key(site), 0.0) if ip_site is None else ip_site.next_at

    def leave_alone(self, until: Mapping[str, float]) -> None:
        """Send no request to these addresses, by key, before the given times.

        None of the addresses may be in this registry. Keys that do not belong to addresses have no
        effect.
        """
        self._left_alone.update(until)

    def let_rest(self, now: float) -> None:
        """Send no request for waitDuration: any address may have got one just before `now`."""
        self._rest_from = now

    def rest_of(self, site: NamedSite) -> float:
        """The time until which `site` itself rests after a kill."""
        return self._rest_from + site.settings.waits.least

    def shorten_left_alone(self, now: float) -> None:
        """Limit the waits of addresses that have nothing to do to waitDuration from `now`.

        Groups of sites have waits of their own, which have not become shorter.
        """
        end = now + self._usual.waits.least
        for key, until in self._left_alone.items():
            if _GROUP not in key:
                self._left_alone[key] = min(until, end)

    def expire(self, now: float) -> None:
        """Drop waits that have passed, some at each call."""
        self._left_alone.expire(now)

    def pauses(self, after: float) -> Iterator[dict[str, float]]:
        """The addresses that get no request until a time beyond `after`, with that time."""
        yield from pauses(self._ip_sites.values(), self._left_alone, after)
