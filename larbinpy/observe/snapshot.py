"""The snapshot of a crawl, which status pages, ports and progress lines show; the final report."""

import os
import resource
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from larbinpy._version import __version__
from larbinpy.dns.resolver import Resolver
from larbinpy.exit_status import CrawlState, Ending
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.frontier.view import FrontierView
from larbinpy.loop.clock import Clock
from larbinpy.observe.site_tables import site_tables
from larbinpy.observe.totals import Counts, Totals
from larbinpy.observe.waiting import TurnOf, no_turn, outside_hours, waits_for
from larbinpy.outcome import Outcome, Trait, having
from larbinpy.output.plug import NO_FEEDER, Feeder, Output
from larbinpy.output.report import build_report
from larbinpy.page import Fate, timestamp
from larbinpy.stats.counters import Stats
from larbinpy.stats.usage import cpu_seconds, peak_rss_bytes, rss_bytes


class Snapshots:
    """Makes snapshots and the report of one crawl from its parts."""

    def __init__(
        self,
        stats: Stats,
        totals: Totals,
        view: FrontierView,
        resolver: Resolver,
        fetcher: Fetcher,
        output: Output,
        *,
        clock: Clock,
        wall: Clock,
        folder: str = "",
        site_blocks: Callable[[], list[dict[str, object]]] = list,
        feeder: Feeder = NO_FEEDER,
        fleet: Callable[[], dict[str, object]] | None = None,
        turn_of: TurnOf = no_turn,
    ) -> None:
        """`folder` (stateDir) names a crawl that has no seeds yet; `site_blocks` describes them.

        `fleet` describes the fleet that the crawl is a node of, and `turn_of` returns the place
        whose turn a request waits for there.
        """
        self._stats = stats
        self._totals = totals
        self._view = view
        self._resolver = resolver
        self._fetcher = fetcher
        self._output = output
        self._clock = clock
        self._wall = wall
        self._folder = folder
        self._site_blocks = site_blocks
        self._feeder = feeder
        self._fleet = fleet
        self._turn_of = turn_of

    def take(
        self,
        state: str,
        config: Mapping[str, str],
        *,
        limit_page: int = 0,
        limit_time: float = 0.0,
    ) -> dict[str, Any]:
        """A snapshot as JSON-able values; times in seconds. `state` and `config` are included.

        The limits (0 for none) are for `left_s`, the time that the crawl will still take; None if
        there is no good estimate. `waits_for` is a sentence; empty while nothing is waited for.
        """
        stats, view, resolver, now = self._stats, self._view, self._resolver, self._clock()
        counts = self._totals.counts()
        outcomes = _outcomes(counts)
        is_open, reason = view.gate()
        if self._feeder.holds:
            is_open, reason = False, self._feeder.holds
        return {
            "version": __version__,
            "name": self._name(),
            "now": self._wall(),
            "started": self._totals.started,
            "elapsed_s": round(self._totals.elapsed, 3),
            "run": self._totals.describe_run(),
            "state": state,
            "waits_for": waits_for(state, view, now, self._feeder, self._turn_of),
            "outside_hours": outside_hours(state, view),
            "left_s": self._left(state, limit_page, limit_time, now - stats.started),
            "config": dict(config),
            "totals": _with_levels(counts, view),
            "rates": stats.rates(),
            "outcomes": outcomes,
            "rules": {rule: counts["rules"][rule] for rule in view.scope.places_of_rules},
            "places_of_rules": view.scope.places_of_rules,
            "queues": view.queues(),
            "gate": {"open": is_open, "reason": reason},
            "sites": site_tables(view, now),
            "site_blocks": self._site_blocks(),
            "dns": {**resolver.stats(), **counts["dns"]},
            "robots": _robots(counts, outcomes),
            "left_out": dict(counts["left_out"]),
            "traps": dict(counts["traps"]),
            "system": _system(stats, self._fetcher),
            "output": self._output.stats(),
            "recent": _newest_first(stats.recent),
            "failures": _newest_first(stats.failures),
            "refusals": _newest_first(stats.refusals),
            "broken": _newest_first(stats.broken),
            "history": stats.history.describe(),
            "histograms": {
                "fetch": stats.fetches.describe(),
                "dns": resolver.times.describe(),
                "turn": stats.turns.describe(),
            },
            **({} if self._fleet is None else {"fleet": self._fleet()}),
        }

    def _name(self) -> str:
        """The name of the crawl, to tell it from others: the first host of its seeds."""
        hosts = self._view.scope.area.hosts
        if not hosts:
            return self._folder
        others = len(hosts) - 1
        return next(iter(hosts)) + (f" and {others} more" if others else "")

    def _left(self, state: str, limit_page: int, limit_time: float, elapsed: float) -> float | None:
        """Seconds until the crawl ends, by its limits and, if it has one site, by its queue."""
        stats, forecast = self._stats, self._stats.forecast
        times = [limit_time - elapsed if limit_time else None]
        if state == CrawlState.RUNNING.value:
            times.append(forecast.to_pages(limit_page - stats.success) if limit_page else None)
            times.append(forecast.to_end() if self._view.distinct_sites == 1 else None)
        elif state != CrawlState.PAUSED.value:
            return None
        return min((max(0.0, time) for time in times if time is not None), default=None)

    def report(self, ending: Ending) -> dict[str, object]:
        """The report (`--report`) of a crawl that has just ended."""
        counts = self._totals.counts()
        outcomes = _outcomes(counts)
        return build_report(
            version=__version__,
            started=timestamp(self._totals.started),
            elapsed_s=self._totals.elapsed,
            cpu_s=cpu_seconds(),
            peak_rss_bytes=peak_rss_bytes(),
            stop_reason=ending.reason,
            exit_code=ending.code,
            totals=_with_levels(counts, self._view),
            outcomes=outcomes,
            robots=_robots(counts, outcomes),
            dns=counts["dns"],
        )


def _with_levels(counts: Counts, view: FrontierView) -> dict[str, int]:
    """The sums that the status page and the report share."""
    return {
        **counts["totals"],
        "urls_seen": view.urls_seen,
        "urls_queued": view.owed,
        "sites": counts["known"]["sites"],
        "addresses": counts["known"]["addresses"],
    }


def _outcomes(counts: Counts) -> dict[str, int]:
    """URLs and links by how they ended, every name included."""
    together = counts["outcomes"] + counts["refused"]
    return {outcome.value: together[outcome.value] for outcome in Outcome}


def _robots(counts: Counts, outcomes: Mapping[str, int]) -> dict[str, int]:
    return {
        "fetched": counts["robots"]["fetched"],
        "denied": sum(outcomes[outcome.value] for outcome in having(Trait.ROBOTS)),
    }


def _newest_first(fates: deque[Fate]) -> list[dict[str, object]]:
    return [fate.as_dict() for fate in reversed(fates)]


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
