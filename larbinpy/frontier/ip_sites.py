"""The schedule of all addresses, and what is in flight."""

import heapq
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from larbinpy.frontier.evicted import DistinctCounter, ExpiringTimes, pauses
from larbinpy.frontier.ip_site import IPSite, Rotation
from larbinpy.frontier.named_site import NamedSite
from larbinpy.frontier.politeness import Waits
from larbinpy.outcome import Trait, asks_for_less
from larbinpy.page import Page
from larbinpy.url import Url

#: One request in so many that may be in flight at once may go to an unproven site. Those
#: who accept and never answer hold each request for the whole of timeoutPage.
_UNPROVEN = 2
#: Where no wait is wanted, a site is asked so many times before the others have their turn: a
#: connection is still open then, and a new one costs more than all else about a request.
_RUN = 10


class Schedule:
    """All rotations of one kind that have something to ask, by the time when they may.

    Larbin's okSites. A rotation is in it iff it has sites and its address a connexion
    free. An entry that is not the rotation's latest is skipped when it comes up.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Rotation]] = []
        self._order = count()

    def __repr__(self) -> str:
        return f"<Schedule {len(self._heap)} entries>"

    def add(self, rotation: Rotation) -> None:
        """Schedule `rotation` for when it may be asked, if it has something to ask."""
        ready_at = rotation.ready_at()
        if ready_at is None:
            return
        if rotation.scheduled_at is None or ready_at < rotation.scheduled_at:
            rotation.scheduled_at = ready_at
            heapq.heappush(self._heap, (ready_at, next(self._order), rotation))

    def first(self, now: float) -> float | None:
        """Since when the first rotation may be asked, if it may at `now`; it is on top then."""
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

    @property
    def deadline(self) -> float | None:
        """When the first rotation may be asked, or earlier."""
        return self._heap[0][0] if self._heap else None


class Flight(NamedTuple):
    """A request under way."""

    url: Url
    site: NamedSite
    ip_site: IPSite
    #: Whether the site was when the request left.
    proven: bool


class IPSites:
    """Every address that has something to ask, and what is in flight.

    An address is in it iff it has sites in rotation or requests in flight; of others only
    the time is kept, while it lasts, until which they are to be left alone.

    Waits count from the start of a request and once more from its end, because the
    moment when the server saw it lies in between.
    """

    def __init__(
        self, waits: Waits, wait_by: str, connexions: int, pool: int | None = None
    ) -> None:
        self._waits = waits
        #: waitBy: "ip", "site" or "both".
        self._wait_by = wait_by
        self._connexions = connexions
        #: pagesConnexions: requests in flight at most; None where that is no matter.
        self.pool = pool
        self._ip_sites: dict[str, IPSite] = {}
        self._order = count()
        self._proven, self._unproven = Schedule(), Schedule()
        self._flights: dict[int, Flight] = {}
        self._unproven_flights = 0
        #: URLs in the `ready` queues of all sites.
        self.ready = 0
        #: Sites whose last request in flight came home, for Sites to look at.
        self.home: list[NamedSite] = []
        #: Times until which addresses that are not here are to be left alone.
        self.left_alone = ExpiringTimes()
        self._met = DistinctCounter()
        self._rest_until = 0.0

    def __iter__(self) -> Iterator[IPSite]:
        return iter(self._ip_sites.values())

    def __len__(self) -> int:
        return len(self._ip_sites)

    def __repr__(self) -> str:
        return f"<IPSites {len(self)} in_flight={self.in_flight} ready={self.ready}>"

    @property
    def met(self) -> int:
        """How many addresses there were so far."""
        return self._met.count

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    @property
    def _has_share(self) -> bool:
        """May one more request go to an unproven site?"""
        return self.pool is None or self._unproven_flights < max(1, self.pool // _UNPROVEN)

    @property
    def deadline(self) -> float | None:
        """When the next URL may go, or earlier; None where only a landing makes room."""
        schedules = (self._proven, self._unproven) if self._has_share else (self._proven,)
        times = [schedule.deadline for schedule in schedules]
        return min((time for time in times if time is not None), default=None)

    def pauses(self, after: float) -> Iterator[dict[str, float]]:
        """The addresses that are to be left alone beyond the time `after`, and until when."""
        yield from pauses(self._ip_sites.values(), self.left_alone, after)

    @property
    def least(self) -> float:
        """waitDuration."""
        return self._waits.least

    def let_rest(self, now: float) -> None:
        """Ask no address for waitDuration: each may have been asked just before `now`."""
        self._rest_until = now + self._waits.least

    def flying(self) -> Iterator[Url]:
        """The URLs in flight."""
        for flight in self._flights.values():
            yield flight.url

    # Sites come and go.

    def add(self, site: NamedSite, url: Url, *, first: bool = False) -> None:
        """Make `url` ready to be asked of its site, which has an address."""
        site.ready.insert(0 if first else len(site.ready), url)
        self.ready += 1
        self._enlist(site)

    def _enlist(self, site: NamedSite) -> None:
        """See to it that `site` has its turn while it has ready URLs."""
        if site.ready and not site.enlisted:
            ip_site = self._of(site)
            ip_site.enlist(site, next(self._order))
            self._reschedule(ip_site)

    def _of(self, site: NamedSite) -> IPSite:
        key = self._key(site)
        ip_site = self._ip_sites.get(key)
        if ip_site is None:
            ip_site = self._ip_sites[key] = IPSite(key, self._connexions)
            ip_site.next_at = max(self._rest_until, self.left_alone.pop(key, 0.0))
            self._met.meet(key)
        return ip_site

    def _key(self, site: NamedSite) -> str:
        return site.key if self._wait_by == "site" else site.addresses[0]

    def behind(self, site: NamedSite) -> IPSite | None:
        """The address that `site` is asked at, while there is something to do for it."""
        return self._ip_sites.get(self._key(site)) if site.addresses else None

    def hasten_site(self, site: NamedSite, now: float) -> None:
        """Let no wait of `site` last longer than one from `now`, but what it asked for itself."""
        waits_until = site.next_at
        if self._waits_by(site):
            # Until now its address may have waited for longer than the site wants to.
            waits_until = max(waits_until, self._address_wait(site))
        site.next_at = max(site.held_until, min(waits_until, now + site.pace.delay))

    def _address_wait(self, site: NamedSite) -> float:
        """Until when its address is to be left alone."""
        if not site.addresses:
            return 0.0
        ip_site = self.behind(site)
        return self.left_alone.get(self._key(site), 0.0) if ip_site is None else ip_site.next_at

    def _waits_by(self, site: NamedSite) -> bool:
        """Whether `site` has waits of its own."""
        return self._wait_by != "ip" or site.pace.delay > self._waits.least

    def hasten(self, ip_site: IPSite, now: float) -> None:
        """Let no wait of an address and of the sites behind it last longer than one from `now`."""
        if self._ip_sites.get(ip_site.key) is ip_site:
            ip_site.next_at = min(ip_site.next_at, now + self._waits.least)
            ip_site.renew()
            self._reschedule(ip_site)

    def hasten_others(self, now: float) -> None:
        """The same for those that have nothing to do."""
        end = now + self._waits.least
        self._rest_until = min(self._rest_until, end)
        for key, until in self.left_alone.items():
            self.left_alone[key] = min(until, end)

    def _reschedule(self, ip_site: IPSite) -> None:
        if not ip_site.free:
            return
        self._proven.add(ip_site.proven)
        self._unproven.add(ip_site.unproven)

    def withdraw(self, site: NamedSite) -> list[Url]:
        """Take `site` out of its rotation, and all its ready URLs."""
        self._dismiss(site)
        urls, site.ready = site.ready, []
        self.ready -= len(urls)
        return urls

    def _dismiss(self, site: NamedSite) -> None:
        if site.enlisted:
            ip_site = self._of(site)
            ip_site.dismiss(site)
            self._let_go(ip_site)

    def _let_go(self, ip_site: IPSite) -> None:
        """Forget an address for which there is nothing to do, but not its wait."""
        if not len(ip_site) and not ip_site.in_flight:
            del self._ip_sites[ip_site.key]
            self._met.forget(ip_site.key)
            self.left_alone[ip_site.key] = ip_site.next_at
            ip_site.disband()

    def move(self, site: NamedSite, addresses: tuple[str, ...]) -> None:
        """Give `site` its addresses; with another first one it moves to that IPSite."""
        if site.addresses and addresses[0] != site.addresses[0]:
            self._dismiss(site)
        site.addresses = addresses
        self._enlist(site)

    # Requests leave and come home.

    def take(self, now: float) -> tuple[Url, str] | None:
        """A URL that may be fetched now, and the address to ask; None while there is none."""
        ip_site = self._next(now)
        if ip_site is None:
            return None
        site = ip_site.take(unproven=self._has_share)
        url = site.ready.pop(0)
        self.ready -= 1
        ip_site.in_flight += 1
        site.in_flight += 1
        self._flights[id(url)] = Flight(url, site, ip_site, site.proven)
        self._unproven_flights += not site.proven
        self._hold_back(site, ip_site, now)
        if site.ready:
            ip_site.enlist(site, next(self._order))
        self._reschedule(ip_site)
        return url, site.addresses[0]

    def _next(self, now: float) -> IPSite | None:
        """The address that may be asked since the longest time."""
        proven_at = self._proven.first(now)
        unproven_at = self._unproven.first(now) if self._has_share else None
        if unproven_at is not None and (proven_at is None or unproven_at < proven_at):
            return self._unproven.take()
        return None if proven_at is None else self._proven.take()

    def landed(self, page: Page, now: float, wall: float) -> NamedSite:
        """Bring a fetch home: its connexion is free, its site has answered in some way."""
        flight = self._flights.pop(id(page.url))
        site, ip_site = flight.site, flight.ip_site
        self._unproven_flights -= not flight.proven
        site.in_flight -= 1
        ip_site.in_flight -= 1
        site.pace.answered(page)
        self._hold_back(site, ip_site, now)
        site.asked += 1
        if asks_for_less(page.status):
            site.held_until = max(site.held_until, now + site.pace.hold_for(page, wall))
            site.next_at = max(site.next_at, site.held_until)
        self._prove(site, proven=Trait.UNREACHABLE not in page.outcome.traits)
        self._reschedule(ip_site)
        self._let_go(ip_site)
        if not site.in_flight:
            self.home.append(site)
        return site

    def _prove(self, site: NamedSite, *, proven: bool) -> None:
        """Count `site` with those that answer, or with the others."""
        if proven is site.proven:
            return
        ip_site = self._of(site) if site.enlisted else None
        if ip_site is not None:
            ip_site.dismiss(site)
        site.proven = proven
        if ip_site is not None:
            ip_site.enlist(site, next(self._order))
            self._reschedule(ip_site)

    def _hold_back(self, site: NamedSite, ip_site: IPSite, now: float) -> None:
        least = self._waits.least
        own = site.pace.delay if self._waits_by(site) else 0.0
        if least or own or not site.asked % _RUN:
            ip_site.next_at = max(ip_site.next_at, now + least)
            site.next_at = max(site.next_at, now + own)
