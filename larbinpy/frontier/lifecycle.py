"""How each NamedSite comes to an address and its rules, and back after failures."""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from larbinpy.dns.lookup import Answer
from larbinpy.fetch.robots import Rules, whole_lines
from larbinpy.frontier.ip_sites import IPSites
from larbinpy.frontier.named_site import Event, NamedSite, State
from larbinpy.frontier.politeness import Waits
from larbinpy.frontier.registry import SiteRegistry
from larbinpy.frontier.robots_cache import PackedRobots
from larbinpy.outcome import Outcome, Trait, asks_for_less
from larbinpy.page import Page
from larbinpy.url import Url, resolve, site_of

#: RFC 9309, 2.3.1.2: at least five redirects of a robots.txt are followed.
_ROBOTS_HOPS = 5
#: RFC 9309, 2.4: robots.txt is not used for longer than a day.
_RULES_TIME = 24 * 3600.0
#: A site that was given up, or whose robots.txt failed, is left alone this long (s).
_CLOSED_TIME = 3600.0
#: URLs of a site that are let in at once.
_LET_IN = 200
#: Waits after failures that end in one turn, and sites of names answered in it.
_WAKES = 200
#: Sites of one name that go on as soon as it is answered. There may be one for each port.
_ARRIVALS = 10
#: Requests in a row without any answer after which a site counts as gone.
_DEAD_AFTER = 12


@dataclass(slots=True, frozen=True)
class SiteSettings:
    """The part of the configuration that sites live by. Times in seconds."""

    agent: str
    waits: Waits
    retries: int
    retry_wait: float
    #: How long an address is used before it is asked for again.
    address_time: float
    ignore_robots: bool
    #: Whether an address may be asked at all.
    permit: Callable[[str], bool]


class SiteLifecycle(SiteRegistry):
    """Leads URLs through their NamedSites to the IPSites.

    Names to resolve go out by `next_name` and come back by `resolved`; URLs whose fate
    is decided on the way wait in `decided`.
    """

    def __init__(self, settings: SiteSettings, ip_sites: IPSites) -> None:
        super().__init__(settings.waits, ip_sites)
        self._settings = settings
        self._unresolved: deque[NamedSite] = deque()
        self._asking: dict[str, list[NamedSite]] = {}
        # Sites whose name is answered, that still have to go on from there.
        self._arriving: deque[tuple[NamedSite, Answer]] = deque()
        self._timers: list[tuple[float, int, NamedSite]] = []
        self._order = count()
        # OPEN sites of which some URLs still wait.
        self._entering: deque[NamedSite] = deque()
        #: URLs whose fate is decided without a fetch, and that fate.
        self.decided: deque[Page] = deque()
        #: URLs in the `waiting` and `retries` queues of all sites.
        self.held = 0
        self.robots_fetched = 0
        self.retried = 0

    def __repr__(self) -> str:
        return f"<Sites {len(self)} asking={len(self._asking)} timers={len(self._timers)}>"

    # URLs come in.

    def join(self, url: Url, now: float) -> None:
        """Give `url` to its site: ready where the door is open, else waiting before it.

        What is known of the site may already decide a new URL: Larbin's fast outcomes.
        """
        key = url.site
        verdict = self._verdict(key, now)
        if verdict is not None:
            self._decide(url, verdict if url.attempt else verdict.for_later, now)
            return
        site = self._site(key, now)
        self._engage(site)
        if site.state is State.OPEN and now < min(site.address_until, site.rules_until):
            self._make_ready(site, url, Outcome.FAST_ROBOTS, now)
        else:
            site.waiting.append(url)
            self.held += 1
            if site.state in (State.NEW, State.CLOSED):
                self._to_resolve(site, Event.WANTED)
            elif site.state is State.OPEN:
                self._to_resolve(site, Event.STALE)

    def refusal(self, url: str, now: float) -> Outcome | None:
        """What a new URL would end with without being fetched, by what is known of its site."""
        verdict = self._verdict(site_of(url), now)
        site = self._sites.get(site_of(url))
        if verdict or site is None or now >= site.rules_until or self.allows(site, url):
            return verdict
        return Outcome.FORBIDDEN_ROBOTS

    def allows(self, site: NamedSite, url: str) -> bool:
        """May we fetch `url` by the robots.txt in force? (No rules yet: yes.)"""
        return site.rules is None or site.rules.allowed(self._settings.agent, url)

    def forbidding(self, site: NamedSite, url: str) -> str | None:
        """The line of the robots.txt in force by which `url` may not be fetched.

        None where it may, and where all is refused as there is no robots.txt to be had.
        """
        if site.rules is None or site.rules is self._rulebook.deny_all:
            return None
        return site.rules.forbidding(self._settings.agent, url)

    def _make_ready(self, site: NamedSite, url: Url, refusal: Outcome, now: float) -> None:
        if url.robots_for is None and not self.allows(site, url.href):
            self._decide(url, refusal, now)
            self._restless.append(site)
        else:
            self._ip_sites.add(site, url)

    def _decide(self, url: Url, outcome: Outcome, now: float, detail: str = "") -> None:
        """The fate of a URL that is in no queue: `outcome`, without (another) fetch."""
        if url.robots_for is None:
            self.decided.append(Page(url, outcome, detail=detail))
            return
        owner = self._sites.get(url.robots_for)
        if owner is not None and owner.state is State.ROBOTS:
            self._no_robots(owner, url, outcome, now)

    # To the resolver and back.

    def _to_resolve(self, site: NamedSite, event: Event) -> None:
        self._on(site, event)
        self._unresolved.append(site)

    @property
    def has_names(self) -> bool:
        """Is there a name to resolve?"""
        return bool(self._unresolved)

    def wants_address(self, key: str, now: float) -> bool:
        """Will the next URL of the site `key` need its name to be looked up?"""
        site = self._sites.get(key)
        if site is None:
            return self._verdicts.get(key, now) is None
        return now >= max(site.address_until, site.until)

    def next_name(self) -> tuple[str, bool] | None:
        """A host name to ask for, and whether the answer must be fresh; None for none."""
        while self._unresolved:
            site = self._unresolved.popleft()
            sites = self._asking.setdefault(site.host, [])
            sites.append(site)
            if len(sites) == 1:
                return site.host, site.refresh
        return None

    def resolved(self, answer: Answer, now: float) -> None:
        """Take an answer of the resolver to a name of `next_name`."""
        sites = self._asking.pop(answer.name, [])
        for site in sites[:_ARRIVALS]:
            self._answered(site, answer, now)
        self._arriving.extend((site, answer) for site in sites[_ARRIVALS:])

    def _answered(self, site: NamedSite, answer: Answer, now: float) -> None:
        settings = self._settings
        if answer.reason is None:
            permitted = tuple(a for a in answer.addresses if settings.permit(a))
            if permitted:
                self._arrived(site, permitted, now + settings.address_time, now)
            else:
                self._give_up(site, Outcome.PRIVATE_ADDRESS, now)
        elif site.addresses:
            # An address that served until now is better than none.
            self._arrived(site, site.addresses, now + settings.retry_wait, now)
        else:
            self._setback(site, Event.NO_ADDRESS, Outcome.NO_DNS, now, answer.reason)

    def _arrived(
        self, site: NamedSite, addresses: tuple[str, ...], until: float, now: float
    ) -> None:
        """The site has an address; next is its robots.txt, where none is in force."""
        self._ip_sites.move(site, _going_on(site, addresses))
        site.address_until = until
        site.refresh = False
        self._on(site, Event.ADDRESS)
        if self._settings.ignore_robots:
            self._open(site, self._rulebook.allow_all, float("inf"), now)
        elif site.rules is not None and now < site.rules_until:
            self._on(site, Event.RULES)
            self._let_in(site, now)
        else:
            self._ask_robots(site, Url(f"{site.key}/robots.txt", 0, robots_for=site.key))
            robots = [url for url in site.waiting if url.robots_for is not None]
            site.waiting = [url for url in site.waiting if url.robots_for is None]
            self.held -= len(robots)
            for url in robots:
                self._ask_robots(site, url)

    # robots.txt.

    def _ask_robots(self, site: NamedSite, robots: Url) -> None:
        """Fetch a robots.txt before all else; `site` has an address."""
        self._engage(site)
        self._ip_sites.add(site, robots, first=True)

    def robots_done(self, page: Page, now: float, wall: float) -> list[str]:
        """Take the end of a robots.txt's fetch (RFC 9309, 2.3.1); the sitemaps it names."""
        self._ip_sites.landed(page, now, wall)
        self.robots_fetched += page.status > 0
        owner = self._sites.get(page.url.robots_for or "")
        if owner is None or owner.state is not State.ROBOTS:
            return []
        if page.outcome in (Outcome.SUCCESS, Outcome.TOO_BIG):
            body = page.body if page.truncated is None else whole_lines(page.body)
            rules = Rules.parse(body)
            kept, delay = self._rulebook.keep(body, rules), rules.delay(self._settings.agent)
            self._open(owner, kept, now + _RULES_TIME, now, delay)
            return list(rules.sitemaps)
        if page.outcome is Outcome.ERR_30X:
            self._redirected(owner, page, now)
        elif page.outcome is Outcome.BAD_TLS and page.url.site == owner.key:
            self._give_up(owner, Outcome.BAD_TLS, now)
        elif page.outcome is Outcome.ERR_40X and not asks_for_less(page.status):
            self._open(owner, self._rulebook.allow_all, now + _RULES_TIME, now)
        else:
            self._no_robots(owner, page.url, page.outcome, now)
        return []

    def _redirected(self, owner: NamedSite, page: Page, now: float) -> None:
        location = page.header("location")
        target = resolve(location, page.url.href) if location else None
        if target is None or page.url.hops >= _ROBOTS_HOPS:
            self._open(owner, self._rulebook.allow_all, now + _RULES_TIME, now)
            return
        robots = Url(target, 0, hops=page.url.hops + 1, robots_for=owner.key)
        site = self._sites.get(site_of(target))
        if site is not None and site.state in (State.ROBOTS, State.OPEN):
            self._ask_robots(site, robots)
        else:
            self.join(robots, now)

    def _no_robots(self, site: NamedSite, robots: Url, outcome: Outcome, now: float) -> None:
        """Unreachable: wait and ask again, then refuse the site, or find it gone.

        What another site does, where a redirect led, says nothing about this one.
        """
        own = robots.site == site.key
        if own and Trait.UNREACHABLE in outcome.traits:
            self._next_address(site)
        if site.tries < self._settings.retries or (own and outcome is Outcome.NO_CONNECTION):
            self._setback(site, Event.NO_ROBOTS, outcome, now)
        else:
            self._open(site, self._rulebook.deny_all, now + _CLOSED_TIME, now)

    def _open(
        self,
        site: NamedSite,
        rules: PackedRobots,
        until: float,
        now: float,
        delay: float | None = None,
    ) -> None:
        self._keep(site, rules, until)
        site.pace.crawl_delay(delay)
        self._on(site, Event.RULES)
        if site.pace.least > self._settings.waits.least:
            # The robots.txt itself was a request.
            site.next_at = max(site.next_at, now + site.pace.least)
        ready = self._ip_sites.withdraw(site)
        site.waiting[:0] = ready
        self.held += len(ready)
        self._let_in(site, now)

    def _let_in(self, site: NamedSite, now: float) -> None:
        """From waiting to ready; of many URLs only some now, as each is matched with rules."""
        site.tries = 0
        urls = site.waiting[:_LET_IN]
        del site.waiting[:_LET_IN]
        self.held -= len(urls)
        for url in urls:
            self._make_ready(site, url, Outcome.FORBIDDEN_ROBOTS, now)
        if site.waiting:
            self._entering.append(site)

    # Failures.

    def _setback(
        self, site: NamedSite, event: Event, outcome: Outcome, now: float, detail: str = ""
    ) -> None:
        """A step towards OPEN failed: wait and try it again, or give the site up."""
        site.tries += 1
        if site.tries > self._settings.retries:
            self._give_up(site, outcome, now, detail)
            return
        self.retried += 1
        self._on(site, event)
        site.refresh = True
        site.until = now + self._settings.retry_wait
        self._set_timer(site, site.until)

    def _give_up(self, site: NamedSite, verdict: Outcome, now: float, detail: str = "") -> None:
        """Close the site for a while: all its URLs end with `verdict`."""
        urls = [*self._ip_sites.withdraw(site), *site.urls()]
        self._on(site, Event.GIVE_UP)
        self.closed.append(site)
        site.verdict = verdict
        site.until = now + _CLOSED_TIME
        self.held -= site.held
        site.waiting.clear()
        site.retries.clear()
        for url in urls:
            url.attempt = max(url.attempt, site.tries)
            self._decide(url, verdict, now, detail)
        site.tries = site.silence = 0
        site.addresses = ()

    def count_silence(self, site: NamedSite, outcome: Outcome, now: float) -> None:
        """A request of an open site found nobody there: after a dozen in a row it is gone."""
        site.silence += 1
        if site.silence >= _DEAD_AFTER and site.state is State.OPEN:
            self._give_up(site, outcome, now)

    def retry(self, site: NamedSite, url: Url, outcome: Outcome, now: float) -> None:
        """Put a failed URL at the tail of its site, for a fresh address after retryWait."""
        self.retried += 1
        if Trait.UNREACHABLE in outcome.traits:
            self._next_address(site)
        due = now + self._settings.retry_wait
        site.retries.append((due, url))
        self.held += 1
        self._engage(site)
        self._set_timer(site, due)

    def _next_address(self, site: NamedSite) -> None:
        if len(site.addresses) > 1:
            self._ip_sites.move(site, site.addresses[1:] + site.addresses[:1])

    def _set_timer(self, site: NamedSite, when: float) -> None:
        heapq.heappush(self._timers, (when, next(self._order), site))

    @property
    def deadline(self) -> float | None:
        """When the first wait after a failure ends; in the past while there is more to do."""
        if self._entering or self._arriving:
            return 0.0
        return self._timers[0][0] if self._timers else None

    def wake(self, now: float) -> None:
        """Go on with those whose wait is over or whose turn it is, and let idle sites go."""
        for _ in range(min(_WAKES, len(self._arriving))):
            self._answered(*self._arriving.popleft(), now)
        if self._entering:
            self._enter(self._entering.popleft(), now)
        for _ in range(_WAKES):
            if not self._timers or self._timers[0][0] > now:
                break
            self._wait_over(heapq.heappop(self._timers)[2], now)
        self._tend(now)

    def _enter(self, site: NamedSite, now: float) -> None:
        if site.state is not State.OPEN or not site.waiting:
            return
        if site.rules is None:
            self._to_resolve(site, Event.STALE)
        else:
            self._let_in(site, now)

    def _wait_over(self, site: NamedSite, now: float) -> None:
        if site.state is State.WAITING and site.until <= now:
            self._to_resolve(site, Event.RETRY)
        # Each failed URL has set a timer of its own.
        if site.retries and site.retries[0][0] <= now:
            _, url = site.retries.pop(0)
            self.held -= 1
            site.refresh = True
            site.address_until = now
            self._restless.append(site)
            self.join(url, now)


def _going_on(site: NamedSite, addresses: tuple[str, ...]) -> tuple[str, ...]:
    """`addresses` from the one that `site` uses; resolvers tell them in any order.

    So a site stays where it is served, and does not return to an address that is dead.
    """
    if not site.addresses or site.addresses[0] not in addresses:
        return addresses
    first = addresses.index(site.addresses[0])
    return addresses[first:] + addresses[:first]
