"""The addresses: when the next request to each may be sent, and for which of its sites.

`IPSite` is one address, whose sites take turns in a `Rotation`. `IPSiteRegistry` has those with
something to do, and until when each of the others is left alone.
"""

import heapq
from collections.abc import Iterator, Mapping

from larbinpy.frontier.politeness import SiteSettings
from larbinpy.frontier.site import NamedSite
from larbinpy.frontier.sites import DistinctCounter, ExpiringTimes, pauses
from larbinpy.storage.sizes import DEFAULT_SIZES, FrontierSizes


class Rotation:
    """Sites at one address, taken in turn so that none is preferred.

    A heap orders them by the time of their next request at the earliest. It is no earlier than
    their last request, so the rotation is fair. If that time of a site has become later, its
    entry is corrected when it comes to the top.
    """

    __slots__ = ("_heap", "ip_site", "scheduled_at")

    def __init__(self, ip_site: "IPSite") -> None:
        self.ip_site = ip_site
        self._heap: list[tuple[float, int, NamedSite]] = []
        #: Its time in the schedule; None while it is not there.
        self.scheduled_at: float | None = None

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, site: NamedSite, order: int) -> None:
        heapq.heappush(self._heap, (site.next_at, order, site))

    def remove(self, site: NamedSite) -> None:
        self._heap = [entry for entry in self._heap if entry[2] is not site]
        heapq.heapify(self._heap)

    def renew(self) -> None:
        """Sort again, because the times of some sites are earlier now."""
        self._heap = [(site.next_at, order, site) for _, order, site in self._heap]
        heapq.heapify(self._heap)

    def place(self) -> tuple[float, int] | None:
        """The time from which the first site may get a request, and its rank among equals."""
        heap = self._heap
        while heap and heap[0][0] < heap[0][2].next_at:
            _, order, site = heap[0]
            heapq.heapreplace(heap, (site.next_at, order, site))
        return heap[0][:2] if heap else None

    def ready_at(self) -> float | None:
        """When the next request may be sent; None if there is none, or no free connection."""
        place = self.place() if self._heap and self.ip_site.free else None
        return None if place is None else max(self.ip_site.next_at, place[0])

    @property
    def first(self) -> NamedSite:
        """The site whose turn is next; there must be one."""
        return self._heap[0][2]

    def take(self) -> NamedSite:
        """Remove the first site from the rotation, and return it."""
        return heapq.heappop(self._heap)[2]


class IPSite:
    """One address: its sites, its requests in flight, and the time of the next request.

    Sites that a block gives a shorter wait or more connexions have an IPSite of their own there.

    Its queue consists of the `ready` queues of its sites. A site is *proven* if a server answered
    its last request. Proven and unproven sites have a rotation each, so that proven sites are not
    held up when unproven ones must wait.
    """

    __slots__ = ("in_flight", "key", "limit", "next_at", "proven", "unproven", "waits")

    def __init__(self, key: str, settings: SiteSettings) -> None:
        self.key = key
        self.waits = settings.waits
        #: maxConnexionsBySite.
        self.limit = settings.config.max_connexions_by_site
        self.in_flight = 0
        #: No request is sent before this time.
        self.next_at = 0.0
        self.proven = Rotation(self)
        self.unproven = Rotation(self)

    def __repr__(self) -> str:
        return f"<IPSite {self.key} sites={len(self)} in_flight={self.in_flight}>"

    def __len__(self) -> int:
        return len(self.proven) + len(self.unproven)

    @property
    def free(self) -> bool:
        """Whether another request may be in flight."""
        return self.in_flight < self.limit

    def rotation(self, site: NamedSite) -> Rotation:
        """The rotation that `site` belongs to."""
        return self.proven if site.proven else self.unproven

    def enlist(self, site: NamedSite, order: int) -> None:
        """Put `site` into its rotation; it must want a turn and be in no rotation."""
        assert site.wants_turn and not site.enlisted, site
        site.enlisted = True
        self.rotation(site).put(site, order)

    def dismiss(self, site: NamedSite) -> None:
        """Remove `site` from its rotation."""
        self.rotation(site).remove(site)
        site.enlisted = False

    def shorten_wait(self, time: float) -> None:
        """Wait until `time` at most; to be called after the waits of its sites were shortened."""
        self.next_at = min(self.next_at, time)
        self.proven.renew()
        self.unproven.renew()

    def wait_until(self, time: float) -> None:
        """Send no request before `time`."""
        if time > self.next_at:
            self.next_at = time

    def disband(self) -> None:
        """Drop the rotations, which refer back to this object.

        Without the reference cycle the memory is freed at once instead of by the garbage
        collector. Addresses with a single request make this frequent.
        """
        del self.proven, self.unproven

    def take(self, *, unproven: bool) -> NamedSite:
        """Remove the site whose turn it is from its rotation, for one request; return it.

        At least one site must be ready. Unproven sites are considered only if `unproven`.
        """
        proven, other = self.proven.place(), self.unproven.place() if unproven else None
        others_turn = proven is None or (other is not None and other < proven)
        site = (self.unproven if others_turn else self.proven).take()
        site.enlisted = False
        self.in_flight += 1
        return site

    def landed(self) -> None:
        """Count the end of a request, which frees its connection."""
        self.in_flight -= 1


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
