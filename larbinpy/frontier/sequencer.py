"""The sequencer: which queue a new URL joins, and when URLs leave the store.

Larbin takes a URL, finds its site full and puts it back into a wait queue, over and
over. Here a site's share is counted where its URLs come in: what exceeds it joins the
wait queue at once, and the *isGet* gate keeps it there until the site has room. So
nothing is ever taken and put back, and a hot site stands in nobody's way.
"""

from collections import Counter

from larbinpy.frontier.store import DiskQueue, Store
from larbinpy.url import Url

#: URLs in memory at most, all sites together; Larbin's ramUrls.
RAM_URLS = 100_000

#: What a site's queue keeps free below maxUrlsBySite, so that it can never fill up;
#: Larbin's limit for ordinary URLs. The study's repair is that it must exceed 1.
LIMIT = 15


class Sequencer:
    """The store behind its gate.

    `load` counts for each site the URLs that are owed outside the wait queues: in the
    priority and ordinary queues, with the site, or in flight. Invariant: no count grows
    beyond maxUrlsBySite less the limit (it may be there already after a load).
    """

    def __init__(self, store: Store, max_urls_by_site: int) -> None:
        self._store = store
        self._most = max(1, max_urls_by_site - min(LIMIT, max_urls_by_site // 2))
        self.load: Counter[str] = Counter()
        #: URLs with their sites or in flight.
        self.in_memory = 0

    def __repr__(self) -> str:
        return f"<Sequencer in_memory={self.in_memory} {self._store!r}>"

    def put(self, url: Url) -> None:
        """Queue `url` at the tail of the queue it belongs to."""
        store = self._store
        if self._is_full(url.site):
            (store.priority_wait if url.priority else store.ordinary_wait).put(url)
        else:
            self.load[url.site] += 1
            (store.priority if url.priority else store.ordinary).put(url)

    def take(self) -> Url | None:
        """The next URL for its site; None while the gate is closed or nothing is queued."""
        if self.in_memory >= RAM_URLS:
            return None
        store = self._store
        if len(store.priority):
            return self._out(store.priority)
        for queue in (store.priority_wait, store.ordinary_wait):
            if self._is_get(queue):
                self.load[queue.peek().site] += 1  # type: ignore[union-attr]
                return self._out(queue)
        return self._out(store.ordinary) if len(store.ordinary) else None

    @property
    def can_take(self) -> bool:
        """Would `take` give a URL?"""
        if self.in_memory >= RAM_URLS:
            return False
        store = self._store
        if len(store.priority) or len(store.ordinary):
            return True
        return self._is_get(store.priority_wait) or self._is_get(store.ordinary_wait)

    def _out(self, queue: DiskQueue) -> Url:
        url = queue.get()
        self.in_memory += 1
        return url

    def done(self, site: str) -> None:
        """The fate of a URL of `site` is decided: it leaves memory."""
        self.in_memory -= 1
        self.load[site] -= 1
        if not self.load[site]:
            del self.load[site]

    def _is_full(self, site: str) -> bool:
        return self.load[site] >= self._most

    def _is_get(self, queue: DiskQueue) -> bool:
        first = queue.peek()
        return first is not None and not self._is_full(first.site)

    def gate(self) -> tuple[bool, str]:
        """Whether the gate is open, and why it is not."""
        if self.in_memory >= RAM_URLS:
            return False, f"{self.in_memory} URLs in memory"
        for queue in (self._store.priority_wait, self._store.ordinary_wait):
            first = queue.peek()
            if first is not None and self._is_full(first.site):
                return False, f"{first.site} has {self.load[first.site]} URLs"
        return True, ""

    def count_again(self) -> None:
        """Rebuild the counts from the queues, after a load."""
        self.load = Counter(
            url.site for queue in (self._store.priority, self._store.ordinary) for url in queue
        )
