"""The snapshot of a crawl, which status pages, ports and progress lines show; the final report.

`Totals` are the counts of this run and of the runs before it. `waits_for` says in one sentence what
a crawl waits for. It is found in constant time: a crawl of many sites is asked once a second, too.
"""

import heapq
import os
import resource
from collections import Counter, deque
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Protocol

from larbinpy._version import __version__
from larbinpy.console.text import roughly
from larbinpy.context import Context
from larbinpy.dns.resolver import Resolver
from larbinpy.errors import CrawlState, Ending
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.site import NamedSite, State
from larbinpy.frontier.sites import SiteRegistry
from larbinpy.output.log import build_report
from larbinpy.output.plug import NO_FEEDER, Feeder, Output
from larbinpy.page import Fate, Outcome, Trait, brief, having, left_out_reasons, timestamp
from larbinpy.stats import Stats, cpu_seconds, peak_rss_bytes, rss_bytes
from larbinpy.storage.state import SavedValue
from larbinpy.url import Aim, Url

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

    def __init__(self, context: Context, frontier: Frontier, resolver: Resolver) -> None:
        self._stats = context.stats
        self._frontier = frontier
        self._resolver = resolver
        self._clock = context.clock
        #: Unix time of the first start.
        self.started = context.stats.started_wall
        self._elapsed_before = 0.0
        self._before: Counts = {}

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
        stats, frontier = self._stats, self._frontier
        names = self._resolver.stats()
        return {
            "totals": Counter(
                pages=stats.pages,
                success=stats.success,
                links=stats.links,
                bytes_received=stats.bytes_received,
                retries=frontier.lifecycle.retried,
            ),
            "known": Counter(
                sites=frontier.registry.distinct_keys.new,
                addresses=frontier.addresses.distinct_keys.new,
                guessed=frontier.admission.guessed,
            ),
            "outcomes": _by_name(stats.outcomes),
            "refused": _by_name(frontier.admission.refused),
            "rules": Counter(frontier.scope.decided_by_rule),
            "left_out": Counter(frontier.scope.left_out),
            "traps": Counter(frontier.traps.refused),
            "robots": Counter(fetched=frontier.lifecycle.robots_fetched),
            "dns": Counter({name: names[name] for name in _DNS}),
        }

    @property
    def outcomes(self) -> Counter[Outcome]:
        """URLs by their outcome; the links that were left out are not among them."""
        counted = self.counts()["outcomes"]
        return Counter({outcome: counted[outcome.value] for outcome in Outcome})

    def left_out(self) -> dict[str, Any]:
        """As the function of this name."""
        counts = self.counts()
        return left_out(counts, counts["outcomes"])

    def left_out_reasons(self) -> list[tuple[int, str]]:
        """As the function of this name."""
        return left_out_reasons(self.counts()["outcomes"], self.left_out())

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


#: Outcomes of links that are not left out, or that are counted by rule.
_APART = (Outcome.URL_DUP.value, Outcome.REJECTED.value)


def left_out(counts: Counts, outcomes: Mapping[str, int]) -> dict[str, Any]:
    """What a crawl left out, with the numbers, the greatest first; `outcomes` are those of URLs.

    `robots` URLs by robots.txt, `rules` links by rule, `limits` links and pages by the limit, the
    guard against traps or another reason, `links` the same by outcome.
    """
    rules = counts.get("rules", Counter())
    rejecting = {rule: n for rule, n in rules.items() if n and not rule.startswith("accept")}
    limits = counts.get("left_out", Counter()) + counts.get("traps", Counter())
    refused = counts.get("refused", Counter())
    return {
        "robots": _denied(outcomes),
        "rules": dict(Counter(rejecting).most_common()),
        "limits": dict(limits.most_common()),
        "links": dict(Counter({k: n for k, n in refused.items() if k not in _APART}).most_common()),
    }


def unanswered(counts: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether no request of a crawl got a reply, by the counts of its totals."""
    replies = counts["totals"].get("pages", 0) + counts["robots"].get("fetched", 0)
    return replies == 0


def _by_name(outcomes: Counter[Outcome]) -> Counter[str]:
    return Counter({outcome.value: count for outcome, count in outcomes.items()})


#: Sites in each table.
_TABLE = 20


def site_tables(registry: SiteRegistry, now: float) -> dict[str, Any]:
    """The number of sites, the busiest, the slowest and the suspended ones."""
    notable = registry.notable()
    # A site that has reached a limit stays closed.
    closed = [s for s in registry.closed() if s.state is State.CLOSED and s.until < inf]
    # A site that was closed twice, or has a request in flight, is shown once.
    known = {site.key: site for site in (*notable, *closed)}
    suspended = [site for site in known.values() if site.suspension(now) is not None]
    busiest = heapq.nlargest(_TABLE, notable, key=NamedSite.work)
    answering = (site for site in notable if site.slowness())
    slowest = heapq.nlargest(_TABLE, answering, key=NamedSite.slowness)
    return {
        "total": registry.distinct,
        "by_state": {state.name.lower(): n for state, n in registry.by_state().items()},
        "busiest": [site.describe(now) for site in busiest],
        "slowest": [site.describe(now) for site in slowest],
        "suspended": [
            {
                "site": site.key,
                "until_s": round(_suspended_until(site) - now, 1),
                "reason": site.suspension(now),
            }
            for site in suspended[:_TABLE]
        ],
    }


def _suspended_until(site: NamedSite) -> float:
    hours = site.settings.hours
    return max(site.until, site.next_at, hours.opens_at if hours.closed else 0.0)


#: Shorter waits (s) are not worth a sentence.
_NOTICEABLE = 1.0
#: Requests in flight for less than this (s) are ordinary progress.
_SLOW = 3.0
_STATES = {
    CrawlState.PAUSED.value: "paused",
    CrawlState.DISK_FULL.value: "disk full",
}

# With some ten thousand pages this takes a while.
_LAST_WORK = "the outputs end their work; a mirror rewrites its links"

#: Returns the place whose turn a request waits for; empty if it is sent.
TurnOf = Callable[[Url], str]


def no_turn(url: Url) -> str:
    """The requests of a crawl without other nodes are sent at once."""
    return ""


def waits_for(
    state: str,
    frontier: Frontier,
    now: float,
    feeder: Feeder = NO_FEEDER,
    turn_of: TurnOf = no_turn,
) -> str:
    """The sentence; empty if requests are sent and answered."""
    if state == CrawlState.WAITING.value:
        return f"nothing left to fetch; {feeder.idle}"
    if state in _STATES:
        return _STATES[state]
    if state == CrawlState.STOPPING.value:
        in_flight = frontier.ip_sites.in_flight
        last = feeder.awaits or _LAST_WORK
        return f"{in_flight} transfers are finished" if in_flight else last
    if state != CrawlState.RUNNING.value:
        return ""
    if frontier.ip_sites.in_flight:
        return _in_flight(frontier, now, feeder, turn_of)
    return feeder.holds or _next(frontier, now)


def _in_flight(frontier: Frontier, now: float, feeder: Feeder, turn_of: TurnOf) -> str:
    newest, since = frontier.ip_sites.newest
    taken, others = now - since, frontier.ip_sites.in_flight - 1
    # A preliminary request alone in flight is what all other URLs of its site wait for.
    if taken < _SLOW and (others or newest.purpose.owner is None):
        return ""
    so_far = f", {roughly(taken)} so far" if taken >= _SLOW else ""
    more = f" (and {others} more)" if others else ""
    if place := turn_of(newest):
        # Without Redis, turns are not granted.
        turn = f"it waits for its turn at {place}, which other nodes ask, too"
        return feeder.holds or f"{_name(newest.site)}: {turn}{so_far}{more}"
    aim, owner = newest.purpose.aim, newest.purpose.owner or ""
    if aim is Aim.LOGIN:
        return f"logging in to {_name(owner)}{so_far}{more}"
    if aim is Aim.PROBE:
        return f"{_name(newest.site)}: a name that cannot exist is being asked for{so_far}{more}"
    if aim is Aim.ROBOTS:
        return f"robots.txt of {_name(newest.site)} is being fetched{so_far}{more}"
    return f"{_name(newest.site)}: no whole reply yet{so_far}{more}"


def _next(frontier: Frontier, now: float) -> str:
    name = frontier.lifecycle.names.asked
    if name is not None:
        return f"the address of {name} is being looked up"
    request, retry = frontier.ip_sites.next_request(), frontier.lifecycle.next_retry()
    if retry is not None:
        due, site, url = retry
        # A URL that is tried again waits for its site as well.
        due = max(due, site.next_at)
        if request is None or due < request[0]:
            return _retry(due, site, site.tries if url is None else url.attempt, now)
    return _asleep(frontier, now) if request is None else _request(*request, now)


def outside_hours(state: str, frontier: Frontier) -> bool:
    """Whether a crawl does nothing because all of its sites are outside of their hours."""
    return (
        state == CrawlState.RUNNING.value
        and not frontier.ip_sites.in_flight
        and frontier.lifecycle.names.asked is None
        and frontier.ip_sites.next_request() is None
        and frontier.lifecycle.next_retry() is None
        and frontier.ip_sites.asleep() is not None
    )


def _asleep(frontier: Frontier, now: float) -> str:
    site = frontier.ip_sites.asleep()
    if site is None:
        return ""
    hours = site.settings.hours
    left = roughly(max(0.0, hours.opens_at - now))
    return f"{_name(site.key)} is asked {hours.configured.in_words()} only, next in {left}"


def _request(when: float, site: NamedSite, now: float) -> str:
    if when - now < _NOTICEABLE:
        return ""
    if site.held_until >= when:
        cause = "it asked for a pause"
    elif (failed := _failed(site)) is not None:
        return _retry(when, site, failed, now)
    elif site.silence:
        # Its delay grows with each request that it does not answer.
        cause = brief(site.verdict.value, detail=site.detail)
    else:
        cause = site.pace.cause if site.next_at >= when else "waitDuration"
    return f"{_name(site.key)}: {cause}, next request in {roughly(when - now)}"


def _failed(site: NamedSite) -> int | None:
    """The failed tries of the URL that is requested next; None if this is its first try."""
    url = site.ready[0]
    return (site.tries if url.purpose.owner is not None else url.attempt) or None


def _retry(when: float, site: NamedSite, failed: int, now: float) -> str:
    why = brief(site.verdict.value, detail=site.detail)
    tries = f"try {failed + 1} of {site.settings.config.retries + 1}"
    if site.verdict is Outcome.LOGIN_FAILED:
        # These have a number of their own, whatever retries is.
        tries = "another login"
    return f"{_name(site.key)}: {why}, {tries} in {roughly(max(0.0, when - now))}"


def _name(site: str) -> str:
    """A site without its scheme."""
    return site.partition("://")[2]


class Member(Protocol):
    """This process as a member of its crawl, alone or in a fleet."""

    @property
    def feeder(self) -> Feeder:
        """The output that passes pages on to another process."""

    @property
    def describe(self) -> Callable[[], dict[str, Any]] | None:
        """Describes the fleet that the process is a node of; None if it is alone."""

    def turn_of(self, url: Url) -> str:
        """The place whose turn a request waits for; empty if it is sent, or needs none."""


class Snapshots:
    """Makes snapshots and the report of one crawl from its parts."""

    def __init__(
        self,
        context: Context,
        totals: Totals,
        frontier: Frontier,
        resolver: Resolver,
        fetcher: Fetcher,
        output: Output,
        member: Member,
        site_blocks: Callable[[], list[dict[str, object]]] = list,
    ) -> None:
        """`site_blocks` describes the blocks of the configuration."""
        self._stats = context.stats
        self._totals = totals
        self._frontier = frontier
        self._resolver = resolver
        self._fetcher = fetcher
        self._output = output
        self._member = member
        self._site_blocks = site_blocks
        self._clock = context.clock
        self._wall = context.wall
        # Names a crawl that has no seeds yet.
        self._folder = context.config.state_dir
        #: Describes the browser, if there is one.
        self.browser: Callable[[], dict[str, object]] = dict

    def take(
        self,
        state: str,
        config: Mapping[str, str],
        sources: Mapping[str, str] | None = None,
        *,
        limit_page: int = 0,
        limit_time: float = 0.0,
    ) -> dict[str, Any]:
        """A snapshot as JSON-able values; times in seconds. The texts given are included.

        The limits (0 for none) are for `left_s`, the time that the crawl will still take; None if
        there is no good estimate. `waits_for` is a sentence; empty while nothing is waited for.
        """
        stats, frontier, resolver, now = self._stats, self._frontier, self._resolver, self._clock()
        counts = self._totals.counts()
        outcomes = _outcomes(counts)
        is_open, reason = frontier.sequencer.gate()
        feeder, describe = self._member.feeder, self._member.describe
        if feeder.holds:
            is_open, reason = False, feeder.holds
        return {
            "version": __version__,
            "name": self._name(),
            "now": self._wall(),
            "started": self._totals.started,
            "elapsed_s": round(self._totals.elapsed, 3),
            "run": self._totals.describe_run(),
            "state": state,
            "waits_for": waits_for(state, frontier, now, feeder, self._member.turn_of),
            "outside_hours": outside_hours(state, frontier),
            "left_s": self._left(state, limit_page, limit_time, now - stats.started),
            "config": dict(config),
            "config_from": dict(sources or {}),
            "totals": _with_levels(counts, frontier),
            "rates": stats.rates(),
            "outcomes": outcomes,
            "rules": {rule: counts["rules"][rule] for rule in frontier.scope.places_of_rules},
            "places_of_rules": frontier.scope.places_of_rules,
            "queues": frontier.queues(),
            "gate": {"open": is_open, "reason": reason},
            "sites": site_tables(frontier.registry, now),
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
            "browser": self.browser(),
            **({} if describe is None else {"fleet": describe()}),
        }

    def _name(self) -> str:
        """The name of the crawl, to tell it from others: the first host of its seeds."""
        hosts = self._frontier.scope.area.hosts
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
            times.append(forecast.to_end() if self._frontier.registry.distinct == 1 else None)
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
            totals=_with_levels(counts, self._frontier),
            outcomes=outcomes,
            robots=_robots(counts, outcomes),
            dns=counts["dns"],
            left_out=self._totals.left_out(),
        )


def _with_levels(counts: Counts, frontier: Frontier) -> dict[str, int]:
    """The sums that the status page and the report share."""
    return {
        **counts["totals"],
        "urls_seen": len(frontier.seen) - counts["known"]["guessed"],
        "urls_queued": frontier.owed,
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
        "denied": _denied(outcomes),
    }


def _denied(outcomes: Mapping[str, int]) -> int:
    return sum(outcomes[outcome.value] for outcome in having(Trait.ROBOTS))


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
