"""The sites in memory, active and idle, and the little that is kept of evicted ones.

`RobotsRules` has the rules in force at each site. The time before which a site or an address gets
no request ("left alone") outlives its eviction, and each entry is kept only until that time.
`Watch` finds the busiest, slowest and suspended sites among many, in small steps.
"""

import heapq
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

from larbinpy.fetch.robots import Rules
from larbinpy.frontier.politeness import Quota, SettingsOf
from larbinpy.frontier.site import Event, NamedSite, PackedRobots, RobotsCache, State, UrlTotals
from larbinpy.page import NO_ROBOTS, Outcome, brief
from larbinpy.storage.caches import BloomFilter, LruBudget
from larbinpy.storage.seen import Seen
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.url import fingerprints, site_of

#: Half a day (s): sites are seldom asked for longer at a stretch if they have hours.
_SOON = 12 * 3600.0


class RobotsRules:
    """Puts rules in force at sites and matches URLs with them.

    A site keeps its rules as long as it is in memory, with one exception: large robots.txt files
    together are bounded. The least recently fetched are dropped first, and are fetched again
    when a URL needs them.
    """

    def __init__(self, sizes: FrontierSizes = DEFAULT_SIZES) -> None:
        self._cache = RobotsCache(sizes.robots_lines)
        self._threshold = sizes.expensive_robots
        self._expensive: LruBudget[NamedSite] = LruBudget(sizes.expensive_total)
        #: The rules of a site that has no robots.txt.
        self.allow_all = self._cache.allow_all
        #: The rules of a site whose robots.txt cannot be fetched.
        self.deny_all = self._cache.deny_all

    def pack(self, body: bytes, rules: Rules) -> PackedRobots:
        """The robots.txt `body`, compressed; `rules` is `body` parsed."""
        return self._cache.keep(body, rules)

    def delay(self, site: NamedSite, rules: Rules) -> float | None:
        """The Crawl-delay of `rules` for the crawler's name at `site`, in seconds."""
        return rules.delay(site.settings.config.user_agent)

    def put(
        self, site: NamedSite, rules: PackedRobots, until: float, delay: float | None = None
    ) -> None:
        """Put `rules` in force at `site`; drop those of other sites if all are too large."""
        site.use_rules(rules, until, delay)
        self._expensive.discard(site)
        if rules.size > self._threshold:
            self._expensive.use(site, rules.size)
        for other in self._expensive.surplus():
            other.drop_rules()

    def drop_old(self, site: NamedSite, now: float) -> None:
        """Drop rules that expire soon; used before many URLs become ready by them."""
        if site.rules_until - now < _SOON:
            self._expensive.discard(site)
            site.drop_rules()

    def forget(self, site: NamedSite) -> None:
        """Forget `site`, which leaves memory."""
        self._expensive.discard(site)

    def allows(self, site: NamedSite, url: str) -> bool:
        """Whether `url` may be fetched by the robots.txt in force; without one, it may."""
        return site.rules is None or site.rules.allowed(site.settings.config.user_agent, url)

    def refusal(self, site: NamedSite, url: str, now: float) -> Outcome | None:
        """The outcome of `url` if the robots.txt in force at `now` forbids it, else None."""
        if now >= site.rules_until or self.allows(site, url):
            return None
        return Outcome.FORBIDDEN_ROBOTS

    def verdict(self, site: NamedSite, now: float) -> Outcome | None:
        """The outcome of all URLs of `site` if its robots.txt could not be fetched, else None."""
        if now >= site.rules_until or site.rules is not self.deny_all:
            return None
        return Outcome.FORBIDDEN_ROBOTS

    def why_denied(self, site: NamedSite) -> str:
        """Why all URLs of `site` are forbidden; empty if its robots.txt was fetched."""
        if site.rules is not self.deny_all:
            return ""
        why = brief(site.verdict.value, detail=site.detail)
        return f"{NO_ROBOTS} ({why})"

    def forbidding(self, site: NamedSite, url: str) -> str | None:
        """The line of the robots.txt in force that forbids `url`.

        None if there is none, or if the whole site is forbidden (see `verdict`).
        """
        if site.rules is None or site.rules is self.deny_all:
            return None
        return site.rules.forbidding(site.settings.config.user_agent, url)


#: Entries that `pauses` yields at a time (10 ms).
_PAUSES = 50_000
#: Capacity of the filter of evicted keys (2 MiB), and its error when full: after a million
#: evictions one new key in 230 is mistaken for an evicted one, after five million one in 5.
_EVICTED, _EVICTED_ERROR = 5_000_000, 0.2
#: Keys that wait to be compared with those of earlier runs: one by one takes three times as long.
_WAITING = 500


class ExpiringTimes(dict[str, float]):
    """Times by key, each dropped some time after it has passed.

    `expire` examines all entries in turn, `step` of them at each call. So an entry takes no more
    memory than in a dict, as no order has to be kept.
    """

    def __init__(self, step: int = DEFAULT_SIZES.expiry_step) -> None:
        super().__init__()
        self._step = step
        self._round: list[str] = []

    def expire(self, now: float) -> None:
        """Examine the next entries, and drop those whose time has passed."""
        if not self._round:
            self._round = list(self)
        for key in self._round[-self._step :]:
            if self.get(key, now) <= now:
                self.pop(key, None)
        del self._round[-self._step :]


class Waiting(Protocol):
    """A site or an address that gets no request before some time."""

    @property
    def key(self) -> str: ...

    @property
    def next_at(self) -> float: ...


def pauses(
    here: Iterable[Waiting], gone: Mapping[str, float], after: float
) -> Iterator[dict[str, float]]:
    """The keys that get no request until a time beyond `after`, with that time; some at a time.

    `here` are in memory, `gone` are evicted.
    """
    those = list(here)
    for start in range(0, len(those), _PAUSES):
        some = those[start : start + _PAUSES]
        yield {each.key: each.next_at for each in some if each.next_at > after}
    yield {key: until for key, until in gone.items() if until > after}


class DistinctCounter:
    """Counts distinct keys, although most of them are evicted from memory.

    `prefix` tells the keys of this counter from others in `compare_with`.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._known: Seen | None = None
        #: Keys in this run.
        self.count = 0
        self._new = 0
        # Keys that were counted and not compared yet.
        self._waiting: list[str] = []
        self._evicted = BloomFilter(_EVICTED, _EVICTED_ERROR)

    def __repr__(self) -> str:
        return f"<DistinctCounter {self.count}>"

    def add(self, key: str) -> bool:
        """Count `key`, unless it was evicted before; return whether it is new."""
        if self._evicted and key in self._evicted:
            return False
        self.count += 1
        self._waiting.append(key)
        if len(self._waiting) >= _WAITING:
            self.compare()
        return True

    def compare_with(self, known: Seen) -> None:
        """Count as `new` the keys that are not in `known`, and add them to it."""
        self._known = known

    def compare(self) -> None:
        """Compare the keys that wait. `known` is saved after this."""
        if self._known is not None and self._waiting:
            keys = fingerprints([self._prefix + key for key in self._waiting])
            self._new += sum(self._known.add(keys))
        self._waiting.clear()

    @property
    def new(self) -> int:
        """The keys of this run that no earlier run had."""
        self.compare()
        return self._new

    def forget(self, key: str) -> None:
        """Note that `key` is evicted, so that it is not counted again when it comes back."""
        self._evicted.add(key)


class ClosedSites:
    """The verdicts of evicted sites that are closed, and until when."""

    def __init__(self, step: int = DEFAULT_SIZES.expiry_step) -> None:
        self._step = step
        self._closed: dict[Outcome, ExpiringTimes] = {}

    def __len__(self) -> int:
        return sum(map(len, self._closed.values()))

    def put(self, key: str, verdict: Outcome, until: float) -> None:
        self._closed.setdefault(verdict, ExpiringTimes(self._step))[key] = until

    def get(self, key: str, now: float) -> Outcome | None:
        """The verdict of the site `key` if it is known to be closed at `now`, else None."""
        for verdict, closed in self._closed.items():
            if closed.get(key, now) > now:
                return verdict
        return None

    def expire(self, now: float) -> None:
        """Examine the next entries of each verdict, and drop those whose time has passed."""
        for closed in self._closed.values():
            closed.expire(now)


class Watch:
    """Examines the sites that have URLs in turn, and keeps those that the status page shows.

    These are the busiest, the slowest and the suspended ones. Examining a hundred thousand sites
    takes as long as ten pages, so it is spread over steps; with fifty steps a second the result
    is up to 40 s old.
    """

    def __init__(self, sizes: FrontierSizes = DEFAULT_SIZES) -> None:
        self._directly = sizes.watched_directly
        self._step = sizes.watch_step
        self._kept = sizes.watch_kept
        self._round: list[NamedSite] = []
        self._busy: list[NamedSite] = []
        self._slow: list[NamedSite] = []
        self._held: list[NamedSite] = []
        self._found: list[NamedSite] = []

    def __repr__(self) -> str:
        return f"<Watch {len(self._found)} found, {len(self._round)} to look at>"

    def step(self, active: Collection[NamedSite], now: float) -> None:
        """Examine the next few of the `active` sites."""
        if len(active) <= self._directly:
            self._round.clear()
            return
        if not self._round:
            self._found = list(dict.fromkeys((*self._busy, *self._slow, *self._held)))
            self._busy, self._slow, self._held = [], [], []
            self._round = list(active)
        some = self._round[-self._step :]
        del self._round[-self._step :]
        self._busy = heapq.nlargest(self._kept, (*self._busy, *some), key=NamedSite.work)
        answering = (site for site in some if site.slowness())
        slow = (*self._slow, *answering)
        self._slow = heapq.nlargest(self._kept, slow, key=NamedSite.slowness)
        if len(self._held) < self._kept:
            self._held += [site for site in some if site.suspension(now) is not None]

    def found(self, active: Collection[NamedSite]) -> list[NamedSite]:
        """The `active` sites that may be the busiest, the slowest or suspended."""
        if len(active) <= self._directly:
            return list(active)
        return [site for site in self._found if site in active]


#: Closed sites that are remembered for the status page.
_REMEMBERED = 20


class SiteRegistry:
    """The sites that are in memory.

    A site is here while it has URLs or anything is under way for it, and the most recently used
    idle sites are kept. If a site is evicted while it is closed or must be left alone, the reason
    and the time are kept; it is made again when it gets a URL.

    A site is active iff it has URLs in memory; it is in the budget of idle sites iff nothing is
    under way for it. Both hold after `settle`, which examines the sites that were touched.

    (There are more than twenty methods, in two groups: those by which the lifecycle changes the
    registry, and those that only read, for the views and the saved state.)
    """

    def __init__(
        self,
        settings_of: SettingsOf,
        counts: SiteCounts,
        rules: RobotsRules,
        sizes: FrontierSizes = DEFAULT_SIZES,
    ) -> None:
        self._settings_of = settings_of
        self.counts = counts
        self._rules = rules
        self._sites: dict[str, NamedSite] = {}
        # URLs in the queues of all sites.
        self._totals = UrlTotals()
        # Number of sites in each state.
        self._states: Counter[State] = Counter()
        self._recently_closed: deque[NamedSite] = deque(maxlen=_REMEMBERED)
        # For evicted sites: the time before which they get no request.
        self._left_alone = ExpiringTimes(sizes.expiry_step)
        self._closed_sites = ClosedSites(sizes.expiry_step)
        # The adapted delays of sites on another node, until these sites are made.
        self._adapted: dict[str, tuple[float, float]] = {}
        #: The sites so far.
        self.distinct_keys = DistinctCounter("\0site ")
        # An ordered set: the sites that have URLs, and some in `_touched` that have none any more.
        self._active: dict[NamedSite, None] = {}
        self._touched: list[NamedSite] = []
        self._idle: LruBudget[NamedSite] = LruBudget(sizes.idle_sites)
        self._watch = Watch(sizes)

    def __iter__(self) -> Iterator[NamedSite]:
        return iter(self._sites.values())

    def __len__(self) -> int:
        return len(self._sites)

    def __repr__(self) -> str:
        return f"<SiteRegistry {len(self)} sites, {self._totals!r}>"

    def get(self, key: str) -> NamedSite | None:
        return self._sites.get(key)

    def at(self, href: str) -> NamedSite | None:
        """The site of a URL, while it is in memory."""
        return self._sites.get(site_of(href))

    # For the lifecycle.

    def obtain(self, key: str, now: float) -> NamedSite:
        """The site `key`, which is about to get a URL; made if it is not in memory."""
        site = self._sites.get(key)
        if site is None:
            # It is not known any more who requested the wait of an evicted site. It is treated
            # as requested by the site, so that it is not shortened.
            held_until = max(now, self._left_alone.pop(key, now))
            settings = self._settings_of(key)
            site = self._sites[key] = NamedSite(
                key, settings, self._totals, quota=self._quota(key), held_until=held_until
            )
            if self._adapted and (adapted := self._adapted.pop(key, None)):
                site.pace.adapt(*adapted)
            self._states[site.state] += 1
            settings.sites += self.distinct_keys.add(key)
        self.engage(site)
        return site

    def engage(self, site: NamedSite) -> None:
        """Note that `site` is about to get a URL."""
        self._active[site] = None
        self._idle.discard(site)

    def touch(self, site: NamedSite) -> None:
        """Note that `site` may have become idle."""
        self._touched.append(site)

    def on(self, site: NamedSite, event: Event) -> None:
        """Pass `event` to `site`, and count the site in its new state."""
        self._states[site.state] -= 1
        site.on(event)
        self._states[site.state] += 1
        self._touched.append(site)

    def close(self, site: NamedSite) -> None:
        """Move `site` to the state CLOSED, and remember it for the status page."""
        self.on(site, Event.GIVE_UP)
        self._recently_closed.append(site)

    def verdict(self, key: str, now: float) -> Outcome | None:
        """The outcome of all URLs of the site `key` if it is closed, else None."""
        site = self._sites.get(key)
        if site is None:
            quota = self._quota(key)
            spent = quota is not None and quota.spent
            return Outcome.SITE_LIMIT if spent else self._closed_sites.get(key, now)
        return site.verdict if site.state is State.CLOSED and now < site.until else None

    def _quota(self, key: str) -> Quota | None:
        limits = self._settings_of(key).limits
        return Quota(key, limits, self.counts) if limits else None

    def limit(self, key: str) -> str:
        """The limit that the site `key` has reached, and where it was set; empty if none."""
        quota = self._quota(key)
        if quota is None or not quota.spent:
            return ""
        return quota.reason(self._settings_of(key))

    def wants_address(self, key: str, now: float) -> bool:
        """Whether the next URL of the site `key` needs a lookup of its host."""
        site = self._sites.get(key)
        if site is None:
            return self._closed_sites.get(key, now) is None
        return now >= max(site.address_until, site.until)

    def settle(self, now: float) -> None:
        """Find out which touched sites have become idle, and evict idle ones above the bound."""
        self._find_idle()
        for site in self._idle.surplus():
            self._evict(site, now)

    def look_around(self, now: float) -> None:
        """Do a step of the work on all sites: drop expired times, find the sites to show."""
        self._watch.step(self._active.keys(), now)
        self._left_alone.expire(now)
        self._closed_sites.expire(now)

    def _find_idle(self) -> None:
        for site in self._touched:
            if site.held or site.in_flight:
                continue
            self._active.pop(site, None)
            if site.idle and self._sites.get(site.key) is site:
                # A closed site is evicted first, because its verdict is kept.
                self._idle.use(site, first_to_go=site.state is State.CLOSED)
        self._touched.clear()

    def _evict(self, site: NamedSite, now: float) -> None:
        """Evict an idle site; keep its wait and its verdict."""
        del self._sites[site.key]
        self._states[site.state] -= 1
        self.distinct_keys.forget(site.key)
        if site.next_at > now:
            self._left_alone[site.key] = site.next_at
        if site.state is State.CLOSED and site.until > now and not site.spent:
            self._closed_sites.put(site.key, site.verdict, site.until)
        elif (verdict := self._rules.verdict(site, now)) is not None:
            self._closed_sites.put(site.key, verdict, site.rules_until)
        self._rules.forget(site)
        site.evict()

    # For the views and the next run.

    def lengths(self) -> dict[str, int]:
        """URLs in the queues of all sites: waiting for their site, and ready for their address.

        Requests for robots.txt do not count.
        """
        return {"named_sites": self._totals.waiting, "ip_sites": self._totals.ready}

    @property
    def distinct(self) -> int:
        """The number of different sites so far."""
        return self.distinct_keys.count

    def all_wait(self, owed: int) -> bool:
        """Whether all sites so far are WAITING after a failure, with all of the `owed` URLs."""
        return self._states[State.WAITING] == self.distinct and self._totals.waiting == owed

    def by_state(self) -> dict[State, int]:
        """The number of sites in each state, including evicted sites that are closed."""
        counts = {state: self._states[state] for state in State}
        counts[State.CLOSED] += len(self._closed_sites)
        return counts

    def notable(self) -> list[NamedSite]:
        """The active sites that may be shown; if there are many, as of the last round."""
        self._find_idle()
        return self._watch.found(self._active.keys())

    def closed(self) -> list[NamedSite]:
        """The sites closed most recently; some may be open again."""
        return list(self._recently_closed)

    def leave_alone(self, until: Mapping[str, float]) -> None:
        """Send no request to these sites, by key, before the given times.

        None of the sites may be in memory. Keys that do not belong to sites have no effect.
        """
        self._left_alone.update(until)

    def take_over(self, key: str, until: float, extra: float, usual: float) -> None:
        """Continue with the waits that the site `key` had on another node.

        It gets no request before the time `until`; `extra` and `usual` are those of its pace.
        """
        site = self._sites.get(key)
        if site is not None:
            site.hold_until(until)
            site.pace.adapt(extra, usual)
        else:
            self.leave_alone({key: until})
            if extra:
                self._adapted[key] = extra, usual

    def pauses(self, after: float) -> Iterator[dict[str, float]]:
        """The sites that get no request until a time beyond `after`, with that time."""
        yield from pauses(self._sites.values(), self._left_alone, after)
