"""IPSite: what one address may be asked, and when; and the schedule of all of them."""

import heapq
from collections.abc import Iterator
from itertools import count

from larbinpy.frontier.named_site import NamedSite
from larbinpy.frontier.politeness import Waits
from larbinpy.outcome import asks_for_less
from larbinpy.page import Page
from larbinpy.url import Url


class IPSite:
    """The sites behind one address, taken in turn so that none stands before the others.

    Its queue is made of its sites' `ready` queues. A heap orders the sites by the time
    since when they may be asked again, which is no earlier than their last request; so
    this is also a fair rotation. An entry whose site was held meanwhile goes back with
    its new time.
    """

    __slots__ = ("_order", "_rotation", "in_flight", "key", "limit", "next_at", "scheduled_at")

    def __init__(self, key: str, limit: int) -> None:
        self.key = key
        #: maxConnexionsBySite.
        self.limit = limit
        self.in_flight = 0
        #: Not asked before this time.
        self.next_at = 0.0
        #: Its time in the schedule; None while it is not in it.
        self.scheduled_at: float | None = None
        self._rotation: list[tuple[float, int, NamedSite]] = []
        self._order = count()

    def __repr__(self) -> str:
        return f"<IPSite {self.key} sites={len(self._rotation)} in_flight={self.in_flight}>"

    def __len__(self) -> int:
        return len(self._rotation)

    def enlist(self, site: NamedSite) -> None:
        """Take `site` into the rotation; it has ready URLs and is not in it yet."""
        assert site.ready and not site.enlisted, site
        site.enlisted = True
        heapq.heappush(self._rotation, (site.next_at, next(self._order), site))

    def ready_at(self) -> float | None:
        """When the next request may go; None while there is none or no connexion free."""
        self._settle()
        if not self._rotation or self.in_flight >= self.limit:
            return None
        return max(self.next_at, self._rotation[0][0])

    def take(self, now: float) -> tuple[NamedSite, Url] | None:
        """The next URL that may be asked at `now`, out of its queue; None for none."""
        ready_at = self.ready_at()
        if ready_at is None or ready_at > now:
            return None
        _, _, site = heapq.heappop(self._rotation)
        site.enlisted = False
        return site, site.ready.popleft()

    def _settle(self) -> None:
        """Put the site with the earliest time on top, as far as times have changed."""
        while self._rotation and self._rotation[0][0] < self._rotation[0][2].next_at:
            _, order, site = self._rotation[0]
            heapq.heapreplace(self._rotation, (site.next_at, order, site))

    def dismiss(self, site: NamedSite) -> None:
        """Take `site` out of the rotation, as it moves to another address."""
        self._rotation = [entry for entry in self._rotation if entry[2] is not site]
        heapq.heapify(self._rotation)
        site.enlisted = False


class Schedule:
    """All IPSites that have something to ask, by the time when they may.

    Larbin's okSites. An IPSite is in it iff it has sites in rotation and a connexion
    free. An entry that is not the IPSite's latest is skipped when it comes up.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, IPSite]] = []
        self._order = count()

    def __repr__(self) -> str:
        return f"<Schedule {len(self._heap)} entries>"

    def add(self, ip_site: IPSite) -> None:
        """Schedule `ip_site` for when it may be asked, if it has something to ask."""
        ready_at = ip_site.ready_at()
        if ready_at is None:
            return
        if ip_site.scheduled_at is None or ready_at < ip_site.scheduled_at:
            ip_site.scheduled_at = ready_at
            heapq.heappush(self._heap, (ready_at, next(self._order), ip_site))

    def take(self, now: float) -> IPSite | None:
        """An IPSite that may be asked at `now`, out of the schedule; None for none."""
        while self._heap and self._heap[0][0] <= now:
            entered_at, _, ip_site = heapq.heappop(self._heap)
            if entered_at != ip_site.scheduled_at:
                continue
            ip_site.scheduled_at = None
            ready_at = ip_site.ready_at()
            if ready_at is not None and ready_at <= now:
                return ip_site
            self.add(ip_site)
        return None

    @property
    def deadline(self) -> float | None:
        """When the first IPSite may be asked, or earlier."""
        return self._heap[0][0] if self._heap else None


class IPSites:
    """Every address that was asked or will be, and what is in flight to them.

    Waits count from the start of a request and once more from its end, because the
    moment when the server saw it lies in between.
    """

    def __init__(self, waits: Waits, wait_by: str, connexions: int) -> None:
        self._waits = waits
        #: waitBy: "ip", "site" or "both".
        self._wait_by = wait_by
        self._connexions = connexions
        self._ip_sites: dict[str, IPSite] = {}
        self._schedule = Schedule()
        self._flights: dict[int, tuple[Url, NamedSite, IPSite]] = {}
        #: Times until which addresses not met yet are to be left alone, from an earlier run.
        self.waits: dict[str, float] = {}
        self._rest_until = 0.0

    def __iter__(self) -> Iterator[IPSite]:
        return iter(self._ip_sites.values())

    def __len__(self) -> int:
        return len(self._ip_sites)

    def __repr__(self) -> str:
        return f"<IPSites {len(self)} in_flight={self.in_flight} {self._schedule!r}>"

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    @property
    def deadline(self) -> float | None:
        """When the next URL may go, or earlier."""
        return self._schedule.deadline

    def let_rest(self, now: float) -> None:
        """Ask no address for waitDuration: each may have been asked just before `now`."""
        self._rest_until = now + self._waits.least

    def flying(self) -> Iterator[Url]:
        """The URLs in flight."""
        for url, _, _ in self._flights.values():
            yield url

    def enlist(self, site: NamedSite) -> None:
        """See to it that `site` has its turn while it has ready URLs."""
        if site.ready and not site.enlisted:
            ip_site = self._of(site)
            ip_site.enlist(site)
            self._schedule.add(ip_site)

    def _of(self, site: NamedSite) -> IPSite:
        key = site.key if self._wait_by == "site" else site.addresses[0]
        ip_site = self._ip_sites.get(key)
        if ip_site is None:
            ip_site = self._ip_sites[key] = IPSite(key, self._connexions)
            ip_site.next_at = max(self._rest_until, self.waits.pop(key, 0.0))
        return ip_site

    def dismiss(self, site: NamedSite) -> None:
        """Take `site` out of its rotation."""
        if site.enlisted:
            self._of(site).dismiss(site)

    def move(self, site: NamedSite, addresses: tuple[str, ...]) -> None:
        """Give `site` its addresses; with another first one it moves to that IPSite."""
        if site.addresses and addresses[0] != site.addresses[0]:
            self.dismiss(site)
        site.addresses = addresses
        self.enlist(site)

    def take(self, now: float) -> tuple[Url, str] | None:
        """A URL that may be fetched now, and the address to ask; None while there is none."""
        ip_site = self._schedule.take(now)
        taken = ip_site.take(now) if ip_site is not None else None
        if ip_site is None or taken is None:
            return None
        site, url = taken
        ip_site.in_flight += 1
        site.in_flight += 1
        self._flights[id(url)] = (url, site, ip_site)
        self._hold_back(site, ip_site, now)
        self.enlist(site)
        self._schedule.add(ip_site)
        return url, site.addresses[0]

    def landed(self, page: Page, now: float, wall: float) -> NamedSite:
        """Bring a fetch home: its connexion is free, its site has answered in some way."""
        _, site, ip_site = self._flights.pop(id(page.url))
        site.in_flight -= 1
        ip_site.in_flight -= 1
        site.pace.answered(page)
        self._hold_back(site, ip_site, now)
        if asks_for_less(page.status):
            site.next_at = max(site.next_at, now + site.pace.hold_for(page, wall))
        self._schedule.add(ip_site)
        return site

    def _hold_back(self, site: NamedSite, ip_site: IPSite, now: float) -> None:
        least = self._waits.least
        ip_site.next_at = max(ip_site.next_at, now + least)
        by_site = self._wait_by != "ip" or site.pace.delay > least
        site.next_at = max(site.next_at, now + site.pace.delay if by_site else now)
