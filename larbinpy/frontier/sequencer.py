"""The sequencer: when URLs leave the store, the *isGet* gate.

Larbin takes a URL, finds that its site is full, and puts it back into a wait queue, repeatedly.
Here a URL is set aside, in a queue of its site, if the site has its *share* of URLs in memory.
It is taken again once half of that share is used up. So memory holds many sites with a few URLs
each, even if most queued URLs belong to a few sites.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator

from larbinpy.storage.queues import Backlogs, Fifo, Store, decode
from larbinpy.storage.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.url import Url, site_of

#: Lines with more characters than this are long.
_LONG = 500

#: Places that a site's queue keeps free below maxUrlsBySite, so that it cannot fill up. The value
#: is Larbin's limit for ordinary URLs; a study of Larbin found that it must exceed 1.
LIMIT = 15


class Sequencer:
    """Lets URLs out of the store through the gate.

    Invariants: `by_site` counts the URLs in memory of each site. No count exceeds maxUrlsBySite
    less LIMIT, nor the share, which is at most 400; so values of maxUrlsBySite above 415 have no
    effect. A site may get URLs that were set aside while it is *hungry*, which means in `_hungry`.
    It is in there if it has such URLs and no more than half of the least share in memory.
    """

    def __init__(
        self, store: Store, max_urls_by_site: int, sizes: FrontierSizes = DEFAULT_SIZES
    ) -> None:
        self.store = store
        self._sizes = sizes
        self._ram_urls, self._ram_size = sizes.ram_urls, sizes.ram_size
        self._most = max(1, max_urls_by_site - min(LIMIT, max_urls_by_site // 2))
        self.by_site: Counter[str] = Counter()
        #: URLs at their sites or in flight.
        self.in_memory = 0
        # Sizes of the long URLs in memory, by place, and their sum. Other URLs are not measured;
        # that would add a tenth to the time that they take here.
        self._long: dict[int, int] = {}
        self._size = 0
        # An ordered set. In a plain dict, finding the first key is slow after many deletions.
        self._hungry: OrderedDict[str, None] = OrderedDict()
        # Alternates between new URLs and URLs that were set aside.
        self._turn = False
        # For this turn: the share of a site, and the number of URLs that may still be set aside.
        self._set_share()
        self._moves = sizes.moves

    def __repr__(self) -> str:
        return f"<Sequencer in_memory={self.in_memory} {self.store!r}>"

    def _set_share(self) -> None:
        filled = max(self.in_memory / self._ram_urls, self._size / self._ram_size)
        share = int(self._sizes.share * (1 - filled))
        self._share = min(self._most, max(share, self._sizes.least_share))

    @property
    def _is_full(self) -> bool:
        return self.in_memory >= self._ram_urls or self._size >= self._ram_size

    @property
    def owed(self) -> int:
        """Number of URLs that are not decided yet, in the store and in memory."""
        return len(self.store) + self.in_memory

    def put(self, url: Url) -> None:
        """Queue a new URL."""
        self.store.put(url)

    def take(self, most: int) -> Iterator[Url]:
        """At most `most` URLs for their sites; fewer if the gate closes.

        After an OSError only the URLs that were yielded before were taken.
        """
        self._moves = self._sizes.moves
        self._set_share()
        for _ in range(most):
            # `_is_full` without a call, because this is checked for each URL.
            if self.in_memory >= self._ram_urls or self._size >= self._ram_size:
                break
            url = self._next()
            if url is None:
                break
            self.in_memory += 1
            yield url

    def _next(self) -> Url | None:
        store = self.store
        if store.priority.length:
            first = self._next_new(store.priority, store.priority_wait)
            if first is not None:
                return first
        if self._hungry:
            self._turn = not self._turn
            if self._turn:
                return self._next_set_aside() or self._next_new(store.ordinary, store.ordinary_wait)
        return self._next_new(store.ordinary, store.ordinary_wait) or self._next_set_aside()

    def _next_new(self, fifo: Fifo, wait: Backlogs) -> Url | None:
        """The first URL whose site has room; those before it are set aside."""
        while self._moves and (taken := fifo.take()) is not None:
            place, line = taken
            site = site_of(line)
            held = self.by_site.get(site, 0)
            if held < self._share and site not in wait.sites:
                self.by_site[site] = held + 1
                if len(line) > _LONG:
                    self._measure(place, line)
                return decode(line, place)
            self._moves -= 1
            if held <= self._share // 2:
                self._hungry[site] = None
            wait.put(site, place, line)
        return None

    def _next_set_aside(self) -> Url | None:
        """A URL that was set aside, of a hungry site; None if there is none."""
        store = self.store
        while self._hungry:
            site = next(iter(self._hungry))
            for wait in (store.priority_wait, store.ordinary_wait):
                if site in wait.sites and self.by_site[site] < self._share:
                    place, line = wait.take(site)
                    self.by_site[site] += 1
                    if len(line) > _LONG:
                        self._measure(place, line)
                    return decode(line, place)
            del self._hungry[site]
        return None

    def _measure(self, place: int, line: str) -> None:
        self._long[place] = len(line)
        self._size += len(line)

    @property
    def can_take(self) -> bool:
        """Whether a URL can be taken or set aside."""
        if self._is_full:
            return False
        store = self.store
        return bool(store.priority.length or store.ordinary.length or self._hungry)

    def done(self, url: Url) -> None:
        """Remove `url`, whose outcome is decided, from memory and store."""
        self.store.leave(url.place)
        site = site_of(url.href)
        self.in_memory -= 1
        if self._long:
            self._size -= self._long.pop(url.place, 0)
        left = self.by_site[site] = self.by_site[site] - 1
        if left <= self._share // 2 and self.store.has_waiting(site):
            self._hungry[site] = None
        if not left:
            del self.by_site[site]

    def gate(self) -> tuple[bool, str]:
        """Whether the gate is open, and why it is not."""
        if self._is_full:
            return False, f"{self.in_memory} URLs in memory"
        site = next(self.store.waiting_sites(), None)
        if site is not None and not self.can_take:
            return False, f"{site} has {self.by_site[site]} URLs"
        return True, ""

    def resume(self) -> None:
        """Begin with a loaded store, which holds all URLs: all sites are hungry."""
        self._hungry = OrderedDict.fromkeys(self.store.waiting_sites())
