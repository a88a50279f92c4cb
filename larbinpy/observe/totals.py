"""The totals of a crawl: the counts of this run and of the runs before it."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from larbinpy.dns.resolver import Resolver
from larbinpy.frontier.view import FrontierView
from larbinpy.outcome import Outcome
from larbinpy.page import timestamp
from larbinpy.stats.counters import Stats
from larbinpy.storage.state import SavedValue

#: Counts of the resolver; its other figures are of the moment.
_DNS = ("asked", "early", "sent", "answered", "cached", "failed", "resent", "rejected")

#: Counts by name, in groups that are added up name by name.
Counts = dict[str, Counter[str]]


class Totals(SavedValue):
    """Counts since the first start of a crawl.

    The counters themselves count one run, as limits and rates are about a run. After a kill, the
    earlier counts are those of the last checkpoint, to which the crawl log is cut back as well:
    a URL that is fetched again is counted once.
    """

    def __init__(
        self, stats: Stats, view: FrontierView, resolver: Resolver, *, clock: Callable[[], float]
    ) -> None:
        self._stats = stats
        self._view = view
        self._resolver = resolver
        self._clock = clock
        #: Unix time of the first start.
        self.started = stats.started_wall
        self._elapsed_before = 0.0
        self._before: Counts = {}

    def __repr__(self) -> str:
        return f"<Totals {self.counts()['totals']}>"

    @property
    def elapsed(self) -> float:
        """Seconds that the runs of the crawl took together."""
        return self._elapsed_before + self._run_elapsed(self._clock())

    def _run_elapsed(self, now: float) -> float:
        return now - self._stats.started

    def counts(self) -> Counts:
        """The counts of all runs, by group and name."""
        counts = self._counts_of_run()
        for group, before in self._before.items():
            counts.setdefault(group, Counter()).update(before)
        return counts

    def _counts_of_run(self) -> Counts:
        stats, view = self._stats, self._view
        names = self._resolver.stats()
        return {
            "totals": Counter(
                pages=stats.pages,
                success=stats.success,
                links=stats.links,
                bytes_received=stats.bytes_received,
                retries=view.retried,
            ),
            "known": Counter(sites=view.new_sites, addresses=view.new_addresses),
            "outcomes": _by_name(stats.outcomes),
            "refused": _by_name(view.refused),
            "rules": Counter(view.scope.decided_by_rule),
            "left_out": Counter(view.scope.left_out),
            "traps": Counter(view.trapped),
            "robots": Counter(fetched=view.robots_fetched),
            "dns": Counter({name: names[name] for name in _DNS}),
        }

    @property
    def outcomes(self) -> Counter[Outcome]:
        """URLs by their outcome; the links that were left out are not among them."""
        counted = self.counts()["outcomes"]
        return Counter({outcome: counted[outcome.value] for outcome in Outcome})

    def put_back(self, outcome: str) -> None:
        """Uncount a URL that had this outcome in an earlier run, and is queued again."""
        self._before["outcomes"][outcome] -= 1

    def describe_run(self) -> dict[str, object]:
        """This run alone, as the snapshot shows it: limitPage and limitTime count its numbers."""
        stats = self._stats
        return {
            "started": stats.started_wall,
            "elapsed_s": round(self._run_elapsed(self._clock()), 3),
            "pages": stats.pages,
            "success": stats.success,
            "bytes_received": stats.bytes_received,
        }

    # As a part of the state:

    def cut(self, now: float, *, ended: bool) -> dict[str, Any]:
        return {
            "started": self.started,
            "elapsed_s": round(self._elapsed_before + self._run_elapsed(now), 3),
            "counts": self.counts(),
        }

    def load(self, value: Mapping[str, Any], now: float) -> None:
        self.started = float(value["started"])
        # A time that no calendar has is damage, which the log would meet later.
        timestamp(self.started)
        self._elapsed_before = float(value["elapsed_s"])
        self._before = counts_of(value["counts"])
        if "outcomes" not in self._before:
            raise ValueError("totals: no outcomes")


def counts_of(saved: Mapping[str, Mapping[str, Any]]) -> Counts:
    """Counts as a state has them. Raises ValueError, TypeError or AttributeError."""
    return {
        group: Counter({name: int(count) for name, count in counts.items()})
        for group, counts in saved.items()
    }


def unanswered(counts: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether no request of a crawl got a reply, by the counts of its totals."""
    replies = counts["totals"].get("pages", 0) + counts["robots"].get("fetched", 0)
    return replies == 0


def _by_name(outcomes: Counter[Outcome]) -> Counter[str]:
    return Counter({outcome.value: count for outcome, count in outcomes.items()})
