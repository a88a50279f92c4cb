"""The addresses: when the next request to each may be sent, for which site, and in which order.

`IPSite` is one address, whose sites take turns in a `Rotation`. `IPSiteRegistry` has those with
something to do, and until when each of the others is left alone. `IPSites` has all addresses in the
order of their next requests, and the requests in flight. `WaitShortener` shortens the waits that
are under way when waitDuration becomes shorter.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from operator import itemgetter
from typing import NamedTuple

from larbinpy.frontier.politeness import SiteHours, SiteSettings
from larbinpy.frontier.site import NamedSite
from larbinpy.frontier.sites import DistinctCounter, ExpiringTimes, SiteRegistry, pauses
from larbinpy.page import UNREACHABLE, Page, asks_for_less
from larbinpy.storage.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.url import Url


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


#: At most one in this many requests in flight may go to an unproven site, because servers that
#: accept a connection and never answer hold each request for the whole of timeoutPage.
_UNPROVEN_ONE_IN = 2
#: If waitDuration is 0, a site gets this many requests before others have their turn: its
#: connection is still open, and a new one costs more than everything else about a request.
_REQUESTS_IN_A_ROW = 10
#: Entries of a schedule in which the next request is looked for: entries that are not the latest
#: of their rotation may come before it.
_LOOKED_AT = 8
#: Sites that are put to sleep in one turn at the end of their hours (5 ms).
_MOST_ASLEEP = 1000


class Schedule:
    """All rotations of one kind (proven or unproven) with requests to send, by their time.

    Larbin's okSites. A rotation is here iff it has sites and its address has a free
    connection. An entry that is not the rotation's latest is skipped when it comes to the top.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Rotation]] = []
        self._order = count()

    def add(self, rotation: Rotation) -> None:
        """Schedule `rotation` for the time of its next request, if it has one."""
        ready_at = rotation.ready_at()
        if ready_at is None:
            return
        if rotation.scheduled_at is None or ready_at < rotation.scheduled_at:
            rotation.scheduled_at = ready_at
            heapq.heappush(self._heap, (ready_at, next(self._order), rotation))

    def first(self, now: float) -> float | None:
        """The time of the first rotation if it is due at `now`, which is then on top; else None."""
        while self._heap and self._heap[0][0] <= now:
            entered_at, _, rotation = self._heap[0]
            ready_at = rotation.ready_at() if entered_at == rotation.scheduled_at else None
            if ready_at is not None and ready_at <= now:
                return entered_at
            heapq.heappop(self._heap)
            if entered_at == rotation.scheduled_at:
                rotation.scheduled_at = None
                self.add(rotation)
        return None

    def take(self) -> IPSite:
        """The address of the rotation on top, which leaves the schedule."""
        _, _, rotation = heapq.heappop(self._heap)
        rotation.scheduled_at = None
        return rotation.ip_site

    def upcoming(self) -> list[tuple[float, NamedSite]]:
        """Sites that are among the first to get a request, with the times of these."""
        rotations = [rotation for _, _, rotation in self._heap[:_LOOKED_AT]]
        times = [(rotation.ready_at(), rotation) for rotation in rotations]
        return [(at, rotation.first) for at, rotation in times if at is not None]

    @property
    def deadline(self) -> float | None:
        """The time of the first rotation, or an earlier one; None if there is none."""
        return self._heap[0][0] if self._heap else None


class Flight(NamedTuple):
    """A request under way."""

    url: Url
    site: NamedSite
    ip_site: IPSite
    #: Whether the site was proven when the request left.
    proven: bool
    #: The time when it left.
    since: float


class IPSites:
    """Chooses the next request as politeness allows, and knows the requests in flight.

    A wait begins at the start of a request and again at its end, because the server saw the
    request at some moment in between. (There are more than twenty short methods: sites come, go,
    sleep and land, and each of these changes rotations and schedules together.)
    """

    def __init__(
        self,
        usual: SiteSettings,
        wait_by: str,
        pool: int,
        sizes: FrontierSizes = DEFAULT_SIZES,
    ) -> None:
        self.registry = IPSiteRegistry(usual, wait_by, sizes)
        # Requests in flight at most.
        self._pool = pool
        self._order = count()
        self._proven, self._unproven = Schedule(), Schedule()
        self._flights: dict[int, Flight] = {}
        # Sites whose turn came outside of their hours, by these; an ordered set each, never empty.
        self._asleep: dict[SiteHours, dict[NamedSite, None]] = {}
        self._unproven_flights = 0

    def __repr__(self) -> str:
        return f"<IPSites {len(self.registry)} in_flight={self.in_flight}>"

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    def flying(self) -> Iterator[Url]:
        """The URLs in flight."""
        for flight in self._flights.values():
            yield flight.url

    def in_browser(self) -> Iterator[Url]:
        """The URLs of pages that a browser reads."""
        return iter(())

    @property
    def newest(self) -> tuple[Url, float]:
        """The URL that was requested last and is in flight, and since when."""
        flight = self._flights[next(reversed(self._flights))]
        return flight.url, flight.since

    def next_request(self) -> tuple[float, NamedSite] | None:
        """The time of the next request, and its site; None if no URL is ready."""
        upcoming = [*self._proven.upcoming(), *self._unproven.upcoming()]
        return min(upcoming, key=itemgetter(0), default=None)

    def resize(self, pool: int) -> None:
        """Let `pool` requests be in flight at most (pagesConnexions)."""
        self._pool = pool

    @property
    def _has_share(self) -> bool:
        """Whether one more request may go to an unproven site."""
        return self._unproven_flights < max(1, self._pool // _UNPROVEN_ONE_IN)

    @property
    def deadline(self) -> float | None:
        """The time of the next request, or an earlier one; None if one must end before it."""
        schedules = (self._proven, self._unproven) if self._has_share else (self._proven,)
        times = [schedule.deadline for schedule in schedules]
        return min((time for time in times if time is not None), default=None)

    # Sites come and go.

    def add(self, site: NamedSite, url: Url, *, first: bool = False) -> None:
        """Make `url` ready to be requested; its site has an address."""
        site.make_ready(url, first=first)
        self.enlist(site)

    def enlist(self, site: NamedSite) -> None:
        """Put `site` in its rotation if it wants a turn."""
        if site.wants_turn and not site.enlisted:
            ip_site = self.registry.obtain(site)
            ip_site.enlist(site, next(self._order))
            self._reschedule(ip_site)

    def _reschedule(self, ip_site: IPSite) -> None:
        if not ip_site.free:
            return
        self._proven.add(ip_site.proven)
        self._unproven.add(ip_site.unproven)

    def withdraw(self, site: NamedSite) -> None:
        """Take `site` out of its rotation; its ready URLs wait again."""
        self._dismiss(site)
        site.put_back()

    def remove(self, site: NamedSite, unwanted: Callable[[Url], bool]) -> list[Url]:
        """Take the `unwanted` URLs out of the queues of `site`; return them."""
        gone = site.remove(unwanted)
        if not site.ready:
            self._dismiss(site)
        return gone

    def _dismiss(self, site: NamedSite) -> None:
        if self._asleep:
            self._wake(site)
        if site.enlisted:
            ip_site = self.registry.obtain(site)
            ip_site.dismiss(site)
            self.registry.evict_idle(ip_site)

    def move(self, site: NamedSite, addresses: tuple[str, ...]) -> None:
        """Give `site` its addresses; if the first one is different, it moves to that IPSite."""
        if site.addresses and addresses[0] != site.addresses[0]:
            self._dismiss(site)
        site.use_addresses(addresses)
        site.wait_until(self.registry.rest_of(site))
        self.enlist(site)

    def try_next_address(self, site: NamedSite) -> None:
        """Send the next requests for `site` to its next address, if it has several."""
        if len(site.addresses) > 1:
            self.move(site, site.addresses[1:] + site.addresses[:1])

    def shorten_wait(self, ip_site: IPSite, now: float) -> None:
        """Limit the wait of an address to waitDuration from `now`."""
        if ip_site in self.registry:
            ip_site.shorten_wait(now + ip_site.waits.least)
            self._reschedule(ip_site)

    # Requests leave and end.

    def take(self, now: float) -> tuple[Url, str] | None:
        """A URL that may be fetched now, and the address to use; None while there is none."""
        for _ in range(_MOST_ASLEEP):
            ip_site = self._next(now)
            if ip_site is None:
                break
            site = ip_site.take(unproven=self._has_share)
            if not site.settings.hours.closed:
                return self._request(site, ip_site, now)
            self._asleep.setdefault(site.settings.hours, {})[site] = None
            ip_site.landed()
            self._reschedule(ip_site)
            self.registry.evict_idle(ip_site)
        return None

    def _request(self, site: NamedSite, ip_site: IPSite, now: float) -> tuple[Url, str]:
        url = site.take()
        self._flights[id(url)] = Flight(url, site, ip_site, site.proven, now)
        self._unproven_flights += not site.proven
        self._hold_back(site, ip_site, now)
        if site.wants_turn:
            ip_site.enlist(site, next(self._order))
        self._reschedule(ip_site)
        return url, site.addresses[0]

    def asleep(self) -> NamedSite | None:
        """One of the sites whose turn came outside of their hours; None if there is none."""
        return next((next(iter(sites)) for sites in self._asleep.values()), None)

    def wake(self, most: int) -> list[NamedSite]:
        """At most `most` of the sites whose hours have begun; they must be enlisted again."""
        woken: list[NamedSite] = []
        for hours in [hours for hours in self._asleep if not hours.closed]:
            sites = self._asleep[hours]
            while sites and len(woken) < most:
                woken.append(sites.popitem()[0])
            if not sites:
                del self._asleep[hours]
        return woken

    def _wake(self, site: NamedSite) -> None:
        hours = site.settings.hours
        sites = self._asleep.get(hours, {})
        sites.pop(site, None)
        if not sites:
            self._asleep.pop(hours, None)

    def _next(self, now: float) -> IPSite | None:
        """The address that has been due for the longest time."""
        proven_at = self._proven.first(now)
        unproven_at = self._unproven.first(now) if self._has_share else None
        if unproven_at is not None and (proven_at is None or unproven_at < proven_at):
            return self._unproven.take()
        return None if proven_at is None else self._proven.take()

    def landed(self, page: Page, now: float, wall: float) -> NamedSite:
        """Process the end of a request: free its connection, and adapt the waits of its site."""
        flight = self._flights.pop(id(page.url))
        site, ip_site = flight.site, flight.ip_site
        self._unproven_flights -= not flight.proven
        ip_site.landed()
        is_new = site.pace.answered(page, flight.since, now)
        # Before `site.landed`, so that this request is not counted yet.
        self._hold_back(site, ip_site, now)
        site.landed()
        if site.quota is not None:
            site.quota.count(page)
            # It may have waited for this request, as the last page of its limit.
            self.enlist(site)
        if asks_for_less(page.status) and (is_new or page.header("retry-after")):
            site.hold_until(now + site.pace.hold_for(page, wall))
        self._prove(site, proven=page.outcome not in UNREACHABLE)
        self._reschedule(ip_site)
        self.registry.evict_idle(ip_site)
        return site

    def _prove(self, site: NamedSite, *, proven: bool) -> None:
        """Move `site` to the proven sites or to the others."""
        if proven is site.proven:
            return
        ip_site = self.registry.obtain(site) if site.enlisted else None
        if ip_site is not None:
            ip_site.dismiss(site)
        site.prove(proven=proven)
        # Unless this reply was the last of its limit.
        self.enlist(site)

    def _hold_back(self, site: NamedSite, ip_site: IPSite, now: float) -> None:
        least = ip_site.waits.least
        own = self.registry.own_wait(site) or 0.0
        if least or own or not site.asked % _REQUESTS_IN_A_ROW:
            ip_site.wait_until(now + least)
            site.wait_until(now + own)


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
