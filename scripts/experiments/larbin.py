"""A model of Larbin's sequencer, which replaces larbinpy's in the comparison.

Modelled, after Larbin 2.6 (`sequencer`, `NamedSite::putGenericUrl`, `cron`):

- A new URL is appended to URLsDisk. Each turn takes up to 100 URLs. A URL goes to its site or,
  if the site is full, is appended to URLsDiskWait (*put back*).
- A site is full if it has more than maxUrlsBySite less a limit. In Larbin the limit is 15 for
  URLs of URLsDisk and 10 for URLs of URLsDiskWait; the study began with 1 for both, and with a
  maxUrlsBySite of 40.
- Every 300 s, URLsDiskWait is read before URLsDisk, as many URLs as it has at that time. Half a
  period later the reading ends, complete or not.
- Larbin lowers the count of a site when a request is opened. The model lowers it when the
  request ends and allows one more, which is the same with one connection to a site.

These parts of Larbin are not modelled, because both crawls use larbinpy's engine or because the
model must not break down: waits in whole seconds; a waiting site that blocks the sites behind
it; a new connection for each request; the ring of maxUrlsBySite places, which a site without
address fills with a limit of 1, whereupon Larbin aborts; the table of one bit a URL, which
mistakes some new URLs for old ones; queues in files (the model has them in memory, where putting
back is cheaper). All of these would slow Larbin down. Also left out are the queues of URLs with
priority, which the web here does not have, and the limit on all URLs in memory, which twenty
sites cannot reach.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import cast

from larbinpy.crawl.resources.frontier import Kinds
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.sizes import FrontierSizes
from larbinpy.storage.store import Store
from larbinpy.url import Url

#: Settings at the start of the study.
MAX_URLS_BY_SITE = 40
LIMIT = 1
#: Seconds from one reading of URLsDiskWait to the next; a reading ends after half of them.
PERIOD = 300.0

# Larbin's maxPerCall.
_PER_TURN = 100

Clock = Callable[[], float]


class LarbinSequencer:
    """Replaces `larbinpy.frontier.sequencer.Sequencer`, with its own queues; the store is empty."""

    def __init__(self, clock: Clock, *, max_urls_by_site: int, limit: int, period: float) -> None:
        self._clock = clock
        self._most = max_urls_by_site - limit + 2
        self._period = period
        # A crawl may begin at any time of a period. The model begins in the middle.
        self._half = 0
        self._born = clock()
        self._disk: deque[Url] = deque()
        self._wait: deque[Url] = deque()
        #: Larbin's readWait.
        self._to_read = 0
        self.load: Counter[str] = Counter()
        self.owed = 0
        #: URLs put back so far.
        self.put_back = 0

    def __repr__(self) -> str:
        return f"<LarbinSequencer disk={len(self._disk)} wait={len(self._wait)}>"

    def put(self, url: Url) -> None:
        self._disk.append(url)
        self.owed += 1

    def take(self, most: int) -> Iterator[Url]:
        """URLs whose sites have room. Ignores `most`: Larbin takes `_PER_TURN` in a turn."""
        self._cron()
        for _ in range(_PER_TURN):
            url = self._next()
            if url is None:
                break
            if self.load[url.site] < self._most:
                self.load[url.site] += 1
                yield url
            else:
                self._wait.append(url)
                self.put_back += 1

    def _next(self) -> Url | None:
        if self._to_read:
            self._to_read -= 1
            return self._wait.popleft()
        return self._disk.popleft() if self._disk else None

    def _cron(self) -> None:
        """Begin or end the reading of URLsDiskWait, each after half a period."""
        half = int((self._clock() - self._born) / self._period * 2)
        if half != self._half:
            self._half = half
            self._to_read = len(self._wait) if half % 2 else 0

    @property
    def can_take(self) -> bool:
        self._cron()
        return bool(self._to_read or self._disk)

    def done(self, url: Url) -> None:
        self.owed -= 1
        self.load[url.site] -= 1

    def gate(self) -> tuple[bool, str]:
        return True, ""

    def resume(self) -> None:
        """Does nothing, because these crawls are not resumed."""


def kinds(clock: Clock, period: float) -> Kinds:
    """The classes of a frontier with Larbin's sequencer."""

    def make(_store: Store, most: int, _sizes: FrontierSizes) -> Sequencer:
        model = LarbinSequencer(clock, max_urls_by_site=most, limit=LIMIT, period=period)
        # It has the methods of a Sequencer without being one.
        return cast(Sequencer, model)

    return Kinds(sequencer=make)
