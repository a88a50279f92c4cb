"""Counters of a running crawl, and the one snapshot that every page and line shows."""

import os
import resource
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path

from larbinpy._version import __version__
from larbinpy.dns import Resolver
from larbinpy.ending import Ending
from larbinpy.fetch import Fetcher
from larbinpy.frontier import view
from larbinpy.frontier.frontier import Frontier
from larbinpy.histogram import FETCH, TURN, Histogram
from larbinpy.history import History
from larbinpy.outcome import Outcome
from larbinpy.output.plug import Output
from larbinpy.output.report import build_report
from larbinpy.page import Fate, Page, timestamp

#: Fates that the status page shows, of each kind.
_RECENT = 50
#: Seconds that a rate is taken over.
_SPAN = 10

#: Nobody was there, or something broke.
FAILURES = (
    Outcome.NO_DNS,
    Outcome.NO_CONNECTION,
    Outcome.TIMEOUT,
    Outcome.EARLY_STOP,
    Outcome.ERR_50X,
    Outcome.BAD_TLS,
)
_REFUSALS = frozenset({Outcome.FORBIDDEN_ROBOTS, Outcome.FAST_ROBOTS})
#: What is no success and nobody's fault either.
_ORDINARY = frozenset({Outcome.SUCCESS, Outcome.ERR_30X, Outcome.DUPLICATE, Outcome.BAD_TYPE})
#: What rates are told of.
_RATES = ("pages", "success", "failed", "bytes", "links", "names")


class Stats:
    """What the engine counts as it goes."""

    def __init__(self, started: float, wall: float) -> None:
        #: By the engine's clock, and as Unix time.
        self.started = started
        self.started_wall = wall
        #: Replies to requests for pages; those of robots.txt are the frontier's count.
        self.pages = 0
        self.links = 0
        self.bytes_received = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.recent: deque[Fate] = deque(maxlen=_RECENT)
        #: The last that went wrong.
        self.failures: deque[Fate] = deque(maxlen=_RECENT)
        #: The last that a robots.txt refused.
        self.refusals: deque[Fate] = deque(maxlen=_RECENT)
        self.history = History(started)
        self._before: Counter[str] = Counter()
        #: Of all requests, those of robots.txt included.
        self.fetches = Histogram(FETCH)
        self.turns = Histogram(TURN)
        self.lag = 0.0
        # The longest turn until the last second, and since.
        self._lag_before = self._lag_lately = 0.0

    def __repr__(self) -> str:
        return f"<Stats pages={self.pages} success={self.success}>"

    @property
    def success(self) -> int:
        return self.outcomes[Outcome.SUCCESS]

    def received(self, page: Page) -> None:
        """A transfer ended."""
        self.bytes_received += page.received
        self.fetches.observe(page.ms / 1000)
        self.pages += page.url.robots_for is None and page.status > 0

    def decided(self, outcome: Outcome, fate: Fate) -> None:
        """The fate of a URL is decided."""
        self.outcomes[outcome] += 1
        self.recent.append(fate)
        if outcome in _REFUSALS:
            self.refusals.append(fate)
        elif outcome not in _ORDINARY:
            self.failures.append(fate)

    def turn_took(self, seconds: float) -> None:
        """How long a turn kept the sockets waiting."""
        self.turns.observe(seconds)
        self.lag += (seconds - self.lag) / 50
        if seconds > self._lag_lately:
            self._lag_lately = seconds

    def second(self, now: float, names: int, queued: int, busy: int) -> None:
        """A second is over: `names` were answered since the start, `queued` URLs wait, and
        `busy` transfers run.
        """
        totals = {
            "pages": self.pages,
            "success": self.success,
            "failed": sum(self.outcomes[outcome] for outcome in FAILURES),
            "bytes": self.bytes_received,
            "links": self.links,
            "names": names,
        }
        counts = {name: total - self._before[name] for name, total in totals.items()}
        levels = {"urls_queued": queued, "busy": busy, "rss_bytes": rss_bytes()}
        peaks = {"turn_ms": round(self._lag_lately * 1000, 3)}
        self.history.add(now, counts, levels, peaks)
        self._before = Counter(totals)
        self._lag_before = self.lag_max
        self._lag_lately = 0.0

    @property
    def lag_max(self) -> float:
        """The longest turn so far (s)."""
        return max(self._lag_before, self._lag_lately)

    def rates(self) -> dict[str, float]:
        """Per second, over the last ten."""
        rates = self.history.rates(_SPAN)
        return {name: rates.get(name, 0.0) for name in _RATES}


def totals(stats: Stats, frontier: Frontier) -> dict[str, int]:
    """The sums that the status page and the report share."""
    return {
        "pages": stats.pages,
        "success": stats.success,
        "links": stats.links,
        "urls_seen": len(frontier.seen),
        "urls_queued": frontier.owed,
        "bytes_received": stats.bytes_received,
        "retries": frontier.sites.retried,
        "sites": frontier.sites.met,
        "addresses": frontier.ip_sites.met,
    }


def outcomes(stats: Stats, frontier: Frontier) -> dict[str, int]:
    """URLs and links by how they ended, every name included."""
    together = stats.outcomes + frontier.refused
    return {outcome.value: together[outcome] for outcome in Outcome}


def robots(frontier: Frontier, counted: Mapping[str, int]) -> dict[str, int]:
    return {
        "fetched": frontier.sites.robots_fetched,
        "denied": sum(counted[outcome.value] for outcome in _REFUSALS),
    }


def snapshot(
    state: str,
    config: Mapping[str, str],
    stats: Stats,
    frontier: Frontier,
    resolver: Resolver,
    fetcher: Fetcher,
    output: Output,
    now: float,
    wall: float,
) -> dict[str, object]:
    """Everything there is to see, as JSON-able values. Times in seconds."""
    counted = outcomes(stats, frontier)
    return {
        "version": __version__,
        "now": wall,
        "started": stats.started_wall,
        "elapsed_s": round(now - stats.started, 3),
        "state": state,
        "config": dict(config),
        "totals": totals(stats, frontier),
        "rates": stats.rates(),
        "outcomes": counted,
        "queues": view.queues(frontier),
        "gate": view.gate(frontier),
        "sites": view.sites(frontier, now),
        "dns": resolver.stats(),
        "robots": robots(frontier, counted),
        "system": _system(stats, fetcher),
        "output": output.stats(),
        "recent": _newest_first(stats.recent),
        "failures": _newest_first(stats.failures),
        "refusals": _newest_first(stats.refusals),
        "history": stats.history.describe(),
        "histograms": {
            "fetch": stats.fetches.describe(),
            "dns": resolver.times.describe(),
            "turn": stats.turns.describe(),
        },
    }


def _newest_first(fates: deque[Fate]) -> list[dict[str, object]]:
    return [fate.told() for fate in reversed(fates)]


def report(
    ending: Ending, stats: Stats, frontier: Frontier, resolver: Resolver, now: float
) -> dict[str, object]:
    """What `--report` writes about a crawl that ended at `now`."""
    counted = outcomes(stats, frontier)
    return build_report(
        version=__version__,
        started=timestamp(stats.started_wall),
        elapsed_s=now - stats.started,
        cpu_s=cpu_seconds(),
        peak_rss_bytes=peak_rss_bytes(),
        stop_reason=ending.reason,
        exit_code=ending.code,
        totals=totals(stats, frontier),
        outcomes=counted,
        robots=robots(frontier, counted),
        dns=resolver.stats(),
    )


def _system(stats: Stats, fetcher: Fetcher) -> dict[str, object]:
    return {
        "cpu_s": round(cpu_seconds(), 3),
        "rss_bytes": rss_bytes(),
        "peak_rss_bytes": peak_rss_bytes(),
        "fds": len(os.listdir("/proc/self/fd")),
        "fds_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "loop_lag_ms": round(stats.lag * 1000, 3),
        "loop_lag_max_ms": round(stats.lag_max * 1000, 3),
        "handles": fetcher.busy + fetcher.free,
        "busy": fetcher.busy,
    }


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_rss_bytes() -> int:
    """Most resident memory so far, from /proc; from getrusage where there is no /proc.

    Linux counts both in kibibytes, and in ru_maxrss also what the process was before exec:
    a copy of whoever started this one.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rss_bytes() -> int:
    """Resident memory now, from /proc; the peak where there is no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return peak_rss_bytes()
    return pages * resource.getpagesize()
