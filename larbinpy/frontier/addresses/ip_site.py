"""IPSite: when the next request to one address may be sent, and which of its sites is next."""

import heapq

from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.settings import SiteSettings


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
        self.limit = settings.connexions
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
