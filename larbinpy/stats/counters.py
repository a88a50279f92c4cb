"""Counters of a running crawl."""

from collections import Counter, deque

from larbinpy.outcome import Outcome, Trait, having
from larbinpy.page import Fate, Page
from larbinpy.stats.forecast import Forecast
from larbinpy.stats.histogram import FETCH, TURN, Histogram
from larbinpy.stats.history import History
from larbinpy.stats.usage import rss_bytes

#: Entries in each list of recent URLs that the status page shows.
_RECENT = 50
#: Broken links that the status page shows.
_LINKS = 100
#: Seconds over which a rate is averaged.
_SPAN = 10

_FAULTS = having(Trait.FAULT)
_REFUSALS = having(Trait.ROBOTS)
_ORDINARY = having(Trait.ORDINARY)
_BROKEN = having(Trait.BROKEN)
#: Counts that have a rate.
_RATES = ("pages", "success", "failed", "bytes", "links", "names")


class Stats:
    """All that the engine counts."""

    def __init__(self, started: float, wall: float) -> None:
        #: Time of the start, by the engine's clock and as Unix time.
        self.started = started
        self.started_wall = wall
        #: Replies to requests for pages; those of robots.txt are the frontier's count.
        self.pages = 0
        self.links = 0
        self.bytes_received = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.recent: deque[Fate] = deque(maxlen=_RECENT)
        #: The last URLs that failed.
        self.failures: deque[Fate] = deque(maxlen=_RECENT)
        #: The last URLs that a robots.txt refused.
        self.refusals: deque[Fate] = deque(maxlen=_RECENT)
        #: The last URLs that other visitors do not get either.
        self.broken: deque[Fate] = deque(maxlen=_LINKS)
        self.history = History(started)
        self.forecast = Forecast()
        self._before: Counter[str] = Counter()
        #: Durations of all requests, those for robots.txt included.
        self.fetches = Histogram(FETCH)
        self.turns = Histogram(TURN)
        self.lag = 0.0
        # The longest turn before the last call of `second`, and since then.
        self._lag_before = self._lag_lately = 0.0

    def __repr__(self) -> str:
        return f"<Stats pages={self.pages} success={self.success}>"

    @property
    def success(self) -> int:
        return self.outcomes[Outcome.SUCCESS]

    def received(self, page: Page) -> None:
        """Count a transfer that has ended."""
        self.bytes_received += page.received
        self.fetches.observe(page.ms / 1000)
        self.pages += page.url.owner is None and page.status > 0 and not page.vain

    def decided(self, outcome: Outcome, fate: Fate) -> None:
        """Count a URL whose outcome is decided."""
        self.outcomes[outcome] += 1
        self.recent.append(fate)
        if outcome in _REFUSALS:
            self.refusals.append(fate)
        elif outcome not in _ORDINARY:
            self.failures.append(fate)
            if outcome in _BROKEN:
                self.broken.append(fate)

    def turn_took(self, seconds: float) -> None:
        """Count a turn of the loop, during which sockets had to wait."""
        self.turns.observe(seconds)
        self.lag += (seconds - self.lag) / 50
        if seconds > self._lag_lately:
            self._lag_lately = seconds

    def second(self, now: float, names: int, queued: int, busy: int) -> None:
        """Extend the history; to be called once a second.

        `names` were answered since the start, `queued` URLs wait, and `busy` transfers run.
        """
        totals = {
            "pages": self.pages,
            "success": self.success,
            "failed": sum(self.outcomes[outcome] for outcome in _FAULTS),
            "bytes": self.bytes_received,
            "links": self.links,
            "names": names,
        }
        counts = {name: total - self._before[name] for name, total in totals.items()}
        levels = {"urls_queued": queued, "busy": busy, "rss_bytes": rss_bytes()}
        peaks = {"turn_ms": round(self._lag_lately * 1000, 3)}
        self.history.add(now, counts, levels, peaks)
        self.forecast.add(now, self.outcomes.total(), self.success, queued)
        self._before = Counter(totals)
        self._lag_before = self.lag_max
        self._lag_lately = 0.0

    @property
    def lag_max(self) -> float:
        """The longest turn so far (s)."""
        return max(self._lag_before, self._lag_lately)

    def rates(self) -> dict[str, float]:
        """Counts per second, averaged over the last ten seconds."""
        rates = self.history.rates(_SPAN)
        return {name: rates.get(name, 0.0) for name in _RATES}
