"""The sites in memory, active and idle, and what is kept of evicted ones."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping

from larbinpy.frontier.sites.busiest import Watch
from larbinpy.frontier.sites.evicted import ClosedSites, DistinctCounter, ExpiringTimes, pauses
from larbinpy.frontier.sites.named_site import NamedSite, UrlTotals
from larbinpy.frontier.sites.robots_rules import RobotsRules
from larbinpy.frontier.sites.settings import Quota, SettingsOf
from larbinpy.frontier.sites.states import Event, State
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.outcome import Outcome
from larbinpy.storage.lru import LruBudget
from larbinpy.storage.site_counts import SiteCounts

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
        self._counts = counts
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
        return Quota(key, limits, self._counts) if limits else None

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
