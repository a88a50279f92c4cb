"""Which sites there are: those with something to do, idle ones, and what is left of others."""

from collections import Counter, deque
from collections.abc import Iterator

from larbinpy.frontier.busiest import Watch
from larbinpy.frontier.evicted import ClosedSites, DistinctCounter, ExpiringTimes, pauses
from larbinpy.frontier.ip_sites import IPSites
from larbinpy.frontier.named_site import Event, NamedSite, State
from larbinpy.frontier.politeness import Pace, Waits
from larbinpy.frontier.robots_cache import PackedRobots, RobotsCache
from larbinpy.outcome import Outcome
from larbinpy.storage.lru import LruBudget

#: Closed sites that are remembered for people to see.
_REMEMBERED = 20
#: Idle sites that are kept, as their robots.txt and address save a fetch and a question:
#: some 30 MB with small files.
_IDLE = 20_000
#: What has passed, and whom to show, is looked for this often (s), not at each turn.
_LOOKING = 0.02
#: A robots.txt that takes more than this is dear (bytes); all dear ones together get so much.
_DEAR = 1024
_DEAR_TOTAL = 32 << 20


class SiteRegistry:
    """The sites that are in memory.

    A site is here while it has URLs or anything is under way for it. Of the idle ones the
    last used are kept. Of others is left, while it lasts, how long they are to be left
    alone and why they were given up; those come back when they are needed again.
    """

    def __init__(self, waits: Waits, ip_sites: IPSites) -> None:
        self._waits = waits
        self._ip_sites = ip_sites
        self._sites: dict[str, NamedSite] = {}
        #: How many sites there are in each state.
        self.states: Counter[State] = Counter()
        #: Those given up last.
        self.closed: deque[NamedSite] = deque(maxlen=_REMEMBERED)
        #: Times until which sites that are not here are to be left alone.
        self.left_alone = ExpiringTimes()
        self._verdicts = ClosedSites()
        self._met = DistinctCounter()
        # A set that keeps its order: the sites that have URLs, and of those in `_restless`
        # some that have run out of them.
        self._active: dict[NamedSite, None] = {}
        self._restless: list[NamedSite] = []
        self._idle: LruBudget[NamedSite] = LruBudget(_IDLE)
        self._rulebook = RobotsCache()
        self._dear: LruBudget[NamedSite] = LruBudget(_DEAR_TOTAL)
        self._watch = Watch()
        self._look_at = float("-inf")

    def __iter__(self) -> Iterator[NamedSite]:
        return iter(self._sites.values())

    def __len__(self) -> int:
        return len(self._sites)

    def get(self, key: str) -> NamedSite | None:
        return self._sites.get(key)

    # For people, and for the next run.

    @property
    def met(self) -> int:
        """How many sites there were so far."""
        return self._met.count

    def by_state(self) -> dict[State, int]:
        """How many sites there are in each state; closed ones also while only that is known."""
        counts = {state: self.states[state] for state in State}
        counts[State.CLOSED] += len(self._verdicts)
        return counts

    def active(self) -> list[NamedSite]:
        """The sites that have URLs."""
        self._settle()
        return list(self._active)

    def notable(self) -> list[NamedSite]:
        """Those of them that may be the busiest or left alone; of many, as of the last round."""
        self._settle()
        return self._watch.found(self._active.keys())

    def pauses(self, after: float) -> Iterator[dict[str, float]]:
        """The sites that are to be left alone beyond the time `after`, and until when."""
        yield from pauses(self._sites.values(), self.left_alone, after)

    # For those who lead them.

    def _site(self, key: str, now: float) -> NamedSite:
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = NamedSite(key, Pace(self._waits))
            # Whether the site asked for that is not known any more, so it counts as that.
            site.next_at = site.held_until = max(now, self.left_alone.pop(key, now))
            self.states[site.state] += 1
            self._met.meet(key)
        return site

    def _verdict(self, key: str, now: float) -> Outcome | None:
        """What all URLs of the site `key` end with, as it is closed; None where it is not."""
        site = self._sites.get(key)
        if site is None:
            return self._verdicts.get(key, now)
        return site.verdict if site.state is State.CLOSED and now < site.until else None

    def _on(self, site: NamedSite, event: Event) -> None:
        self.states[site.state] -= 1
        site.on(event)
        self.states[site.state] += 1
        self._restless.append(site)

    def _engage(self, site: NamedSite) -> None:
        """`site` gets a URL."""
        self._active[site] = None
        self._idle.discard(site)

    def _keep(self, site: NamedSite, rules: PackedRobots, until: float) -> None:
        """Put `rules` in force; those of others are dropped where all take too much room."""
        site.rules, site.rules_until = rules, until
        self._dear.discard(site)
        if rules.size > _DEAR:
            self._dear.use(site, rules.size)
        for other in self._dear.surplus():
            other.rules, other.rules_until = None, 0.0

    def _settle(self) -> None:
        """Find out who has become idle, of those to whom something happened."""
        for site in (*self._restless, *self._ip_sites.home):
            if not (site.held or site.in_flight):
                self._active.pop(site, None)
            if site.idle and self._sites.get(site.key) is site:
                # What is known of a closed one outlives it.
                self._idle.use(site, first_to_go=site.state is State.CLOSED)
        self._restless.clear()
        self._ip_sites.home.clear()

    def _tend(self, now: float) -> None:
        """Let go what need not be kept, and go on looking for whom to show."""
        self._settle()
        for site in self._idle.surplus():
            self._let_go(site, now)
        if now < self._look_at:
            return
        self._look_at = now + _LOOKING
        self._watch.step(self._active.keys(), now)
        for passing in (self.left_alone, self._verdicts, self._ip_sites.left_alone):
            passing.lapse(now)

    def _let_go(self, site: NamedSite, now: float) -> None:
        """Forget an idle site, but not for how long it is to be left alone."""
        del self._sites[site.key]
        self.states[site.state] -= 1
        self._met.forget(site.key)
        self._dear.discard(site)
        if site.next_at > now:
            self.left_alone[site.key] = site.next_at
        if site.state is State.CLOSED and site.until > now:
            self._verdicts.put(site.key, site.verdict, site.until)
        elif site.rules is self._rulebook.deny_all and site.rules_until > now:
            self._verdicts.put(site.key, Outcome.FORBIDDEN_ROBOTS, site.rules_until)
