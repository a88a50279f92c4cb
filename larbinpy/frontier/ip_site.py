"""IPSite: when one address may be asked, and which of its sites is next."""

import heapq

from larbinpy.frontier.named_site import NamedSite


class Rotation:
    """Sites behind one address, taken in turn so that none is preferred.

    A heap orders them by the time from which they may be asked again, which is no earlier
    than their last request, so the rotation is fair. An entry whose site was held meanwhile
    goes back with its new time.
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
        """When the first site may be asked by its own waits, and its rank among equals."""
        heap = self._heap
        while heap and heap[0][0] < heap[0][2].next_at:
            _, order, site = heap[0]
            heapq.heapreplace(heap, (site.next_at, order, site))
        return heap[0][:2] if heap else None

    def ready_at(self) -> float | None:
        """When the next request may leave; None without one, or without a free connexion."""
        place = self.place() if self.ip_site.free else None
        return None if place is None else max(self.ip_site.next_at, place[0])

    def take(self) -> NamedSite:
        """The first site, out of the rotation."""
        return heapq.heappop(self._heap)[2]


class IPSite:
    """The standing of one address.

    Its queue is made of its sites' `ready` queues. Proven and unproven sites have a rotation
    each, so that proven ones pass while unproven ones must wait.
    """

    __slots__ = ("in_flight", "key", "limit", "next_at", "proven", "unproven")

    def __init__(self, key: str, limit: int) -> None:
        self.key = key
        #: maxConnexionsBySite.
        self.limit = limit
        self.in_flight = 0
        #: Not asked before this time.
        self.next_at = 0.0
        self.proven = Rotation(self)
        self.unproven = Rotation(self)

    def __repr__(self) -> str:
        return f"<IPSite {self.key} sites={len(self)} in_flight={self.in_flight}>"

    def __len__(self) -> int:
        return len(self.proven) + len(self.unproven)

    @property
    def free(self) -> bool:
        """Is a connexion free?"""
        return self.in_flight < self.limit

    def rotation(self, site: NamedSite) -> Rotation:
        """The one that `site` belongs to."""
        return self.proven if site.proven else self.unproven

    def enlist(self, site: NamedSite, order: int) -> None:
        """Take `site` into rotation; it has ready URLs and is in none yet."""
        assert site.ready and not site.enlisted, site
        site.enlisted = True
        self.rotation(site).put(site, order)

    def dismiss(self, site: NamedSite) -> None:
        """Take `site` out of rotation."""
        self.rotation(site).remove(site)
        site.enlisted = False

    def shorten_wait(self, time: float) -> None:
        """Wait until `time` at most; the waits of some sites are shorter now, too."""
        self.next_at = min(self.next_at, time)
        self.proven.renew()
        self.unproven.renew()

    def wait_until(self, time: float) -> None:
        """No request before `time`."""
        if time > self.next_at:
            self.next_at = time

    def disband(self) -> None:
        """Drop the rotations, which point back here.

        Without the cycle all are freed at once rather than by the garbage collector. This
        happens once for each request that is the only one of its address.
        """
        del self.proven, self.unproven

    def take(self, *, unproven: bool) -> NamedSite:
        """The site whose turn it is, out of rotation, for one request; one site is ready.

        Unproven sites have their turn only with `unproven`.
        """
        proven, other = self.proven.place(), self.unproven.place() if unproven else None
        others_turn = proven is None or (other is not None and other < proven)
        site = (self.unproven if others_turn else self.proven).take()
        site.enlisted = False
        self.in_flight += 1
        return site

    def landed(self) -> None:
        """A request has ended: its connexion is free."""
        self.in_flight -= 1
