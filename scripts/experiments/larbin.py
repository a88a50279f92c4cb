"""Larbin's sequencer as a model: what takes the place of ours in the comparison.

Modelled, after Larbin 2.6 (`sequencer`, `NamedSite::putGenericUrl`, `cron`):

- A URL that is found goes to the tail of URLsDisk. Each turn looks at up to 100 URLs: each
  goes to its site or, where the site has enough of them, to the tail of URLsDiskWait. That is
  *take and put back*.
- A site has enough when it has more than maxUrlsBySite less a limit. In Larbin the limit is
  15 for URLs of URLsDisk and 10 for those of URLsDiskWait; the study began with 1 for both,
  and with a maxUrlsBySite of 40.
- URLsDiskWait is read by the clock: every 300 s as many URLs as are in it then, before any of
  URLsDisk; half a period later that ends, done or not.
- The count of a site falls when a request is opened. Here it falls when it has ended, so one
  more is allowed: with one connexion to a site that comes to the same.

Not modelled, because the engine is ours in both crawls or because the model is not to break
down: waits in whole seconds; one site that must wait keeping back those behind it; a new
connexion for each request; the ring of maxUrlsBySite places, which with a limit of 1 a site
without address fills to the last, upon which Larbin aborts; the table of one bit a URL, which
takes some new URLs for old ones; queues in files (here they are in memory, so that putting
back costs less). All of these would slow Larbin down. Not modelled either, since no URL has
priority here: the queues for those that have. And no bound on all URLs in memory, which
twenty sites cannot reach.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path

from larbinpy.config import Config
from larbinpy.crawl import assembly
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.politeness import Waits
from larbinpy.url import Url

#: The settings that the study began with.
MAX_URLS_BY_SITE = 40
LIMIT = 1
#: Seconds from one reading of URLsDiskWait to the next; it ends after half of them.
PERIOD = 300.0

# Larbin's maxPerCall.
_PER_TURN = 100

Clock = Callable[[], float]
MakeFrontier = Callable[[Config, Path, Waits, Callable[[str], bool]], Frontier]


class LarbinSequencer:
    """Stands where `larbinpy.frontier.sequencer.Sequencer` does, with queues of its own.

    All URLs that are owed count as in memory, as the store behind it stays empty.
    """

    def __init__(self, clock: Clock, *, max_urls_by_site: int, limit: int, period: float) -> None:
        self._clock = clock
        self._most = max_urls_by_site - limit + 2
        self._period = period
        # A crawl begins at any time; half way to the next reading is the mean.
        self._half = 0
        self._born = clock()
        self._disk: deque[Url] = deque()
        self._wait: deque[Url] = deque()
        #: Larbin's readWait.
        self._to_read = 0
        self.load: Counter[str] = Counter()
        self.in_memory = 0
        #: URLs put back so far.
        self.put_back = 0

    def __repr__(self) -> str:
        return f"<LarbinSequencer disk={len(self._disk)} wait={len(self._wait)}>"

    def put(self, url: Url) -> None:
        self._disk.append(url)
        self.in_memory += 1

    def take(self, most: int) -> Iterator[Url]:
        """URLs whose sites take them; Larbin looks at so many in a turn, whatever `most` is."""
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
        """Each half of a period: begin to read what waits, or end it."""
        half = int((self._clock() - self._born) / self._period * 2)
        if half != self._half:
            self._half = half
            self._to_read = len(self._wait) if half % 2 else 0

    @property
    def can_take(self) -> bool:
        self._cron()
        return bool(self._to_read or self._disk)

    def done(self, url: Url) -> None:
        self.in_memory -= 1
        self.load[url.site] -= 1

    def gate(self) -> tuple[bool, str]:
        return True, ""

    def resume(self) -> None:
        """Nothing is loaded: these crawls are not resumed."""


def original(make_frontier: MakeFrontier, clock: Clock, period: float) -> MakeFrontier:
    """`make_frontier` with Larbin's sequencer in place of ours."""

    def make(
        config: Config, folder: Path, waits: Waits, is_public: Callable[[str], bool]
    ) -> Frontier:
        frontier = make_frontier(config, folder, waits, is_public)
        sequencer = LarbinSequencer(
            clock, max_urls_by_site=config.max_urls_by_site, limit=LIMIT, period=period
        )
        # The model has the methods of a Sequencer, and is none.
        frontier.sequencer = sequencer  # type: ignore[assignment]
        return frontier

    return make


def install(clock: Clock, period: float) -> None:
    """From now on all crawls of this process have Larbin's sequencer."""
    assembly.make_frontier = original(  # type: ignore[assignment]
        assembly.make_frontier, clock, period
    )
