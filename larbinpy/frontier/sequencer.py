"""The sequencer: which queue a new URL joins, and when URLs leave the store.

Larbin takes a URL, finds its site full and puts it back into a wait queue, over and
over. Here a site's share is counted where its URLs come in: what exceeds it joins the
wait queue at once, and the *isGet* gate keeps it there until the site has room. So
nothing is ever taken and put back.
"""

from collections import Counter

from larbinpy.frontier.store import Store
from larbinpy.frontier.wait_queue import WaitQueue
from larbinpy.url import Url

#: URLs in memory at most, all sites together. Larbin's ramUrls is 100,000, for sites of at
#: most 64; here ten slow sites of 10,000 would fill that and keep out all others.
RAM_URLS = 500_000

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
        # Those that waited and those that come after have every second place each.
        self._turn = False

    def __repr__(self) -> str:
        return f"<Sequencer in_memory={self.in_memory} {self._store!r}>"

    def put(self, url: Url) -> None:
        """Queue `url` at the tail of the queue it belongs to.

        A site of which some URLs wait gets no other place than behind them.
        """
        store = self._store
        queue, wait = store.ordinary, store.ordinary_wait
        if url.priority:
            queue, wait = store.priority, store.priority_wait
        if wait.sites[url.site] or not self._has_room(url.site):
            wait.put(url)
        else:
            self.load[url.site] += 1
            queue.put(url)

    def take(self) -> Url | None:
        """The next URL for its site; None while the gate is closed or nothing is queued."""
        if self.in_memory >= RAM_URLS:
            return None
        url = self._next()
        self.in_memory += url is not None
        return url

    def _next(self) -> Url | None:
        store = self._store
        if len(store.priority):
            return store.priority.get()
        first = self._waited(store.priority_wait)
        if first is not None:
            return first
        self._turn = not self._turn
        if self._turn:
            return self._waited(store.ordinary_wait) or self._ordinary()
        return self._ordinary() or self._waited(store.ordinary_wait)

    def _ordinary(self) -> Url | None:
        return self._store.ordinary.get() if len(self._store.ordinary) else None

    def _waited(self, queue: WaitQueue) -> Url | None:
        url = queue.get(self._has_room)
        if url is not None:
            self.load[url.site] += 1
        return url

    @property
    def can_take(self) -> bool:
        """Would `take` give a URL?"""
        if self.in_memory >= RAM_URLS:
            return False
        store = self._store
        if len(store.priority) or len(store.ordinary):
            return True
        return store.priority_wait.has(self._has_room) or store.ordinary_wait.has(self._has_room)

    def done(self, site: str) -> None:
        """The fate of a URL of `site` is decided: it leaves memory."""
        self.in_memory -= 1
        self.load[site] -= 1
        if not self.load[site]:
            del self.load[site]

    def _has_room(self, site: str) -> bool:
        """The isGet gate, as far as `site` is concerned."""
        return self.load[site] < self._most

    def gate(self) -> tuple[bool, str]:
        """Whether the gate is open for all, and why it is not."""
        if self.in_memory >= RAM_URLS:
            return False, f"{self.in_memory} URLs in memory"
        for queue in (self._store.priority_wait, self._store.ordinary_wait):
            for site in queue.blocked():
                if not self._has_room(site):
                    return False, f"{site} has {self.load[site]} URLs"
        return True, ""

    def count_again(self) -> None:
        """Rebuild the counts from the queues, after a load."""
        queues = (self._store.priority, self._store.ordinary)
        self.load = Counter(url.site for queue in queues for url in queue)
