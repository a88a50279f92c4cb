"""Leads each NamedSite to an address, robots.txt and login, and handles failures on the way.

Host names that sites need looked up: one request for each name, one answer for all its sites.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from math import inf

from larbinpy.config.rule import Rule
from larbinpy.dns.lookup import NO_SUCH_NAME, Answer
from larbinpy.frontier.addresses import AddressSettings
from larbinpy.frontier.politeness import SettingsOf
from larbinpy.frontier.schedule import IPSites
from larbinpy.frontier.site import STEPS, Event, NamedSite, State
from larbinpy.frontier.sites import RobotsRules, SiteRegistry
from larbinpy.frontier.steps import (
    CLOSED_TIME,
    NO_LOGINS,
    NO_PROBES,
    LoginStep,
    PreliminaryRequests,
    ProbeStep,
    RobotsStep,
    SiteLogins,
    Sitemaps,
    SiteProbes,
)
from larbinpy.outcome import UNREACHABLE, Outcome, failure, is_retried
from larbinpy.page import Page
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.url import Aim, Url, site_of


class NameRequests:
    """Sites in the state RESOLVING, each in exactly one of three places.

    `put` queues a site; `next_name` makes it wait for the answer to its host's name; `answered`
    returns the first sites of that name, and `arrivals` the others in later turns.
    """

    def __init__(self, sizes: FrontierSizes = DEFAULT_SIZES) -> None:
        self._at_once = sizes.arrivals
        self._unresolved: deque[NamedSite] = deque()
        self._asking: dict[str, list[NamedSite]] = {}
        self._arriving: deque[tuple[NamedSite, Answer]] = deque()

    @property
    def has_names(self) -> bool:
        """Whether there is a name to look up."""
        return bool(self._unresolved)

    @property
    def has_arrivals(self) -> bool:
        """Whether sites of an answered name still wait for their turn."""
        return bool(self._arriving)

    @property
    def asked(self) -> str | None:
        """The name that has been asked for longest; None if no answer is awaited."""
        return next(iter(self._asking), None)

    def put(self, site: NamedSite) -> None:
        """Queue `site` for a lookup of its host."""
        self._unresolved.append(site)

    def next_name(self) -> tuple[str, bool] | None:
        """A host name to look up, and whether the answer must be fresh; None if there is none."""
        while self._unresolved:
            site = self._unresolved.popleft()
            host = site.host
            sites = self._asking.setdefault(host, [])
            sites.append(site)
            if len(sites) == 1:
                return host, site.refresh
        return None

    def answered(self, answer: Answer) -> list[NamedSite]:
        """The sites that `answer` is given to at once; `arrivals` returns the others later."""
        sites = self._asking.pop(answer.name, [])
        self._arriving.extend((site, answer) for site in sites[self._at_once :])
        return sites[: self._at_once]

    def arrivals(self, most: int) -> Iterator[tuple[NamedSite, Answer]]:
        """At most `most` of the sites that wait for their turn, each with the answer."""
        for _ in range(min(most, len(self._arriving))):
            yield self._arriving.popleft()


#: Requests in a row without any answer after which a site is closed.
_DEAD_AFTER = 12
#: Timers among which that of the next try is looked for: some are of URLs that moved meanwhile.
_TIMERS_LOOKED_AT = 8


class SiteLifecycle:
    """Leads URLs through their NamedSites to the IPSites.

    It leads each site of its registry through its states: `names` holds the sites
    in RESOLVING, the timers those in WAITING. URLs whose outcome is decided on the way wait in
    `decided`. `RobotsStep`, `LoginStep` and `ProbeStep` do the steps that take requests of their
    own. (There are more than twenty methods, because each transition in the picture of `states` has
    one.)
    """

    def __init__(
        self,
        settings_of: SettingsOf,
        addresses: AddressSettings,
        counts: SiteCounts,
        ip_sites: IPSites,
        sizes: FrontierSizes = DEFAULT_SIZES,
        logins: SiteLogins = NO_LOGINS,
        probes: SiteProbes = NO_PROBES,
    ) -> None:
        self._addresses = addresses
        self.ip_sites = ip_sites
        self._most_admitted = sizes.admitted
        self._most_wakes = sizes.wakes
        self.rules = RobotsRules(sizes)
        self.registry = SiteRegistry(settings_of, counts, self.rules, sizes)
        self.names = NameRequests(sizes)
        self._requests = PreliminaryRequests(self.registry, ip_sites, self)
        self._robots = RobotsStep(self.registry, ip_sites, self.rules, self._requests, self)
        self._login = LoginStep(logins, self.registry, ip_sites, self._requests, self)
        self._probe = ProbeStep(probes, self.registry, self.rules, self._requests, self)
        self._timers: list[tuple[float, int, NamedSite]] = []
        self._order = count()
        # OPEN sites with URLs that were not made ready yet.
        self._admitting: deque[NamedSite] = deque()
        #: URLs whose outcome is decided without a fetch, as pages with that outcome.
        self.decided: deque[Page] = deque()
        self.retried = 0

    @property
    def robots_fetched(self) -> int:
        """Requests for robots.txt that a server answered."""
        return self._robots.fetched

    def __repr__(self) -> str:
        return f"<SiteLifecycle {self.registry!r} {self.names!r} timers={len(self._timers)}>"

    # URLs come in.

    def join(self, url: Url, now: float) -> None:
        """Give `url` to its site: ready if the site is OPEN, else waiting.

        If the site is closed, the URL ends at once with the site's verdict.
        """
        key = url.site
        verdict = self.registry.verdict(key, now)
        if verdict is not None:
            site = self.registry.get(key)
            detail = self.registry.limit(key) if site is None else site.detail
            self.end(url, verdict if url.attempt else verdict.for_later, now, detail)
            return
        site = self.registry.obtain(key, now)
        if site.state is State.OPEN and now < min(site.address_until, site.rules_until):
            if self._probe.is_needed(site, url):
                site.park(url)
                self._probe.begin(site, now)
            else:
                self._make_ready(site, url, Outcome.FAST_ROBOTS, now)
        else:
            site.park(url)
            if site.state in (State.NEW, State.CLOSED):
                self._to_resolve(site, Event.WANTED)
            elif site.state is State.OPEN:
                self._to_resolve(site, Event.STALE)

    def reject(self, site: NamedSite, rejecting: Callable[[Url], Rule | None], now: float) -> None:
        """End the URLs in the queues of `site` for which `rejecting` returns a rule."""
        rules: dict[int, Rule] = {}

        def is_rejected(url: Url) -> bool:
            rule = rejecting(url)
            if rule is not None:
                rules[id(url)] = rule
            return rule is not None

        for url in self.remove(site, is_rejected):
            self.end(url, Outcome.REJECTED, now, rules[id(url)].described)

    def remove(self, site: NamedSite, unwanted: Callable[[Url], bool]) -> list[Url]:
        """Take the `unwanted` URLs out of the queues of `site`; return them."""
        gone = self.ip_sites.remove(site, unwanted)
        self.registry.touch(site)
        return gone

    def _make_ready(self, site: NamedSite, url: Url, refusal: Outcome, now: float) -> None:
        # Preliminary requests are exempt from the rules.
        if url.purpose.owner is None and not self.rules.allows(site, url.href):
            self.end(url, refusal, now, self.rules.why_denied(site))
            self.registry.touch(site)
        else:
            self.ip_sites.add(site, url)

    def refusal(self, href: str, now: float) -> Outcome | None:
        """The outcome with which a new URL would end now without a fetch; None for a fetch."""
        verdict = self.registry.verdict(site_of(href), now)
        site = self.registry.at(href)
        if verdict is not None or site is None:
            return verdict
        return self.rules.refusal(site, href, now)

    def end(self, url: Url, outcome: Outcome, now: float, detail: str = "") -> None:
        """End a URL that is in no queue with `outcome`, without (another) fetch."""
        if url.purpose.owner is None:
            self.decided.append(Page(url, outcome, detail=detail))
        elif url.purpose.aim is Aim.PROBE:
            self._probe.replied(Page(url, outcome, detail=detail), now)
        elif url.purpose.aim is Aim.ROBOTS:
            self._robots.ended(url, outcome, now, detail)
        else:
            self._login.replied(Page(url, outcome, detail=detail), now)

    # To the resolver and back.

    def _to_resolve(self, site: NamedSite, event: Event) -> None:
        self.registry.on(site, event)
        self.names.put(site)

    def resolved(self, answer: Answer, now: float) -> None:
        """Take the answer to a name of `names`."""
        for site in self.names.answered(answer):
            self._answered(site, answer, now)

    def _answered(self, site: NamedSite, answer: Answer, now: float) -> None:
        if answer.reason is None:
            permitted = self._addresses.permitted(answer.addresses, site.key)
            if permitted:
                self._arrived(site, permitted, now + self._addresses.time, now)
            else:
                self.give_up(site, Outcome.PRIVATE_ADDRESS, now, answer.addresses[0])
        elif site.addresses:
            # No new address is known: the old one is used a little longer.
            self._arrived(site, site.addresses, now + site.settings.retry_wait, now)
        else:
            self.setback(site, Event.NO_ADDRESS, Outcome.NO_DNS, now, answer.reason)

    def close_if_none_exists(self, owed: int, now: float) -> None:
        """Close all sites if no name of the crawl exists, so that a misspelled seed ends at once.

        `owed` is the number of URLs that are not decided. If there is anything else to fetch, or
        was in this run, a name is looked up again as often as after other failures.
        """
        if not self.registry.all_wait(owed):
            return
        sites = list(self.registry)
        if all(site.detail == NO_SUCH_NAME for site in sites):
            for site in sites:
                self.give_up(site, Outcome.NO_DNS, now, NO_SUCH_NAME)

    def _arrived(
        self, site: NamedSite, addresses: tuple[str, ...], until: float, now: float
    ) -> None:
        """Take the addresses of a site; its robots.txt comes next, unless one is in force."""
        if site.spent:
            self._limit(site, now)
            return
        self.ip_sites.move(site, _from_current(site, addresses))
        site.trust_address(until)
        self.registry.on(site, Event.ADDRESS)
        if site.settings.ignore_robots:
            self._robots.ignore(site, now)
        elif site.rules is not None and now < site.rules_until:
            self.registry.on(site, Event.RULES)
            self.opened(site, now)
        else:
            self._robots.begin(site, now)

    # robots.txt, logins and probes.

    def robots_done(self, page: Page, now: float, wall: float) -> Sitemaps:
        """Process the reply to a robots.txt request; return its sitemaps."""
        self.landed(page, now, wall)
        return self._robots.replied(page, now)

    def login_done(self, page: Page, now: float, wall: float) -> None:
        """Process the reply to a request of a login."""
        self.landed(page, now, wall)
        self._login.replied(page, now)

    def probe_done(self, page: Page, now: float, wall: float) -> None:
        """Process the reply to a probe."""
        self.landed(page, now, wall)
        self._probe.replied(page, now)

    def lost(self, page: Page, now: float, wall: float, *, last: bool) -> None:
        """Hold the URLs of a site whose session has ended until it has logged in again.

        That of the reply goes to the tail, and the reply counts as no try, unless it is the `last`.
        """
        if last:
            page.url.attempt += 1
        else:
            # It counts as no page of its site either.
            page.outcome = Outcome.LOGIN_FAILED
        site = self.landed(page, now, wall)
        if site.state is State.OPEN:
            self.opened(site, now)
        elif site.state is not State.CLOSED:
            self._requests.hold(site)
        if not last:
            self.join(page.url, now)

    def opened(self, site: NamedSite, now: float) -> None:
        """Log in at an OPEN site, or probe it, if that is due; otherwise make its URLs ready."""
        if self._login.is_needed(site):
            self._login.begin(site, now)
        elif self._probe.is_needed_first(site):
            self._probe.begin(site, now)
        else:
            self._admit(site, now)
            left = self._login.lasts(site)
            if left is not None:
                self.set_timer(site, now + left)

    def reopened(self, site: NamedSite, now: float) -> None:
        """Continue with a site that is OPEN again after a login or probes."""
        if site.rules is None or now >= min(site.address_until, site.rules_until):
            self._to_resolve(site, Event.STALE)
        else:
            self.opened(site, now)

    def _renew(self, site: NamedSite, now: float) -> None:
        """Renew the login of an OPEN site; if it has no URL, when it gets one."""
        if site.held or site.in_flight:
            self._login.begin(site, now)
        else:
            # Its next URL leads it through the states again, unless it was evicted meanwhile.
            site.trust_address(now)

    def _admit(self, site: NamedSite, now: float) -> None:
        """Make waiting URLs ready; only some at a time, because matching rules takes time."""
        for url in site.admit(self._most_admitted):
            self._make_ready(site, url, Outcome.FORBIDDEN_ROBOTS, now)
        if site.waiting:
            self._admitting.append(site)

    # Requests end.

    def landed(self, page: Page, now: float, wall: float) -> NamedSite:
        """Process the end of a request; return the site that it went to."""
        site = self.ip_sites.landed(page, now, wall)
        if site.spent:
            self.ip_sites.withdraw(site)
            # In other states, it is closed when its lookup ends.
            if site.state is State.OPEN or site.state in STEPS:
                self._limit(site, now)
        if not site.in_flight:
            self.registry.touch(site)
        if site.state is State.LOGIN:
            self._login.landed(site, now)
        return site

    def close_if_spent(self, site: NamedSite, now: float) -> None:
        """Close an OPEN site that has reached a limit; in other states it is on its way to that."""
        if site.spent and site.state is State.OPEN:
            self._limit(site, now)

    def page_done(self, page: Page, now: float, wall: float, *, last: bool = False) -> bool:
        """Process a fetched page; return whether this decides the outcome of its URL.

        Otherwise the URL goes back to its site, to be tried again, unless this try is the `last`.
        An OPEN site that has not answered `_DEAD_AFTER` requests in a row is closed.
        """
        site = self.landed(page, now, wall)
        site.count_page(page)
        page.url.attempt += 1
        tries_left = not last and page.url.attempt <= site.settings.retries and not site.spent
        retry = tries_left and is_retried(page.outcome, page.status)
        if retry:
            self._retry(site, page, now)
        silent = not page.status and page.outcome in UNREACHABLE
        # In other states, the lookup or the robots.txt under way decides about the site.
        if silent and site.silence >= _DEAD_AFTER and site.state is State.OPEN:
            self.give_up(site, page.outcome, now, page.detail)
        return not retry

    def again(self, page: Page, now: float, wall: float) -> None:
        """Put the URL of a reply at the tail of its site, as the next try."""
        self.landed(page, now, wall)
        page.url.attempt += 1
        self.join(page.url, now)

    # Failures.

    def _retry(self, site: NamedSite, page: Page, now: float) -> None:
        """Put a failed URL at the tail of its site, for a fresh address after retryWait."""
        self.retried += 1
        if page.outcome in UNREACHABLE:
            self.ip_sites.try_next_address(site)
        due = now + site.settings.retry_wait
        site.postpone(page.url, due)
        if site.state is not State.CLOSED:
            site.note_failure(page.outcome, failure(page.status, page.detail))
        self.registry.engage(site)
        self.set_timer(site, due)

    def setback(
        self, site: NamedSite, event: Event, outcome: Outcome, now: float, detail: str
    ) -> None:
        """Handle a failed step towards OPEN: try again after a wait, or close the site."""
        if site.count_try() > site.settings.retries:
            self.give_up(site, outcome, now, detail)
        else:
            self.suspend(site, event, outcome, now, detail)

    def suspend(
        self, site: NamedSite, event: Event, outcome: Outcome, now: float, detail: str
    ) -> None:
        """Try again after retryWait."""
        self.retried += 1
        self.registry.on(site, event)
        site.suspend(now + site.settings.retry_wait)
        site.note_failure(outcome, detail)
        self.set_timer(site, site.until)

    def give_up(
        self,
        site: NamedSite,
        verdict: Outcome,
        now: float,
        detail: str,
        lasting: float = CLOSED_TIME,
    ) -> None:
        """Close the site for a while: all its URLs end with `verdict`."""
        self.ip_sites.withdraw(site)
        self.registry.close(site)
        for url in site.close(verdict, now + lasting, detail):
            self.end(url, verdict, now, detail)

    def _limit(self, site: NamedSite, now: float) -> None:
        """Close a site that has reached a limit, for good."""
        self.give_up(site, Outcome.SITE_LIMIT, now, self.registry.limit(site.key), inf)

    # Time passes.

    def set_timer(self, site: NamedSite, when: float) -> None:
        """Look at `site` again at the time `when`."""
        heapq.heappush(self._timers, (when, next(self._order), site))

    @property
    def deadline(self) -> float | None:
        """The time when the first wait after a failure ends; 0 while there is more to do."""
        if self._admitting or self.names.has_arrivals:
            return 0.0
        return self._timers[0][0] if self._timers else None

    def next_retry(self) -> tuple[float, NamedSite, Url | None] | None:
        """The time of the next try after a failure, its site, and the URL if not the site failed.

        None if nothing is to be tried again, or if that is not among the first timers.
        """
        for when, _, site in self._timers[:_TIMERS_LOOKED_AT]:
            if site.state is State.WAITING and site.until == when:
                return when, site, None
            if site.retries and site.retries[0][0] == when:
                return when, site, site.retries[0][1]
        return None

    def wake(self, now: float) -> None:
        """Continue with sites whose wait is over or whose turn it is, and evict idle ones."""
        for site, answer in self.names.arrivals(self._most_wakes):
            self._answered(site, answer, now)
        if self._admitting:
            self._go_on_admitting(self._admitting.popleft(), now)
        for _ in range(self._most_wakes):
            if not self._timers or self._timers[0][0] > now:
                break
            self._wait_over(heapq.heappop(self._timers)[2], now)
        self._wake_sleepers(now)
        self.registry.settle(now)

    def _wake_sleepers(self, now: float) -> None:
        """Continue with sites whose hours have begun, which may have been asleep for days."""
        for site in self.ip_sites.wake(self._most_wakes):
            self.rules.drop_old(site, now)
            if site.state is State.OPEN and now >= min(site.address_until, site.rules_until):
                self.ip_sites.withdraw(site)
                self._to_resolve(site, Event.STALE)
            else:
                self.ip_sites.enlist(site)

    def _go_on_admitting(self, site: NamedSite, now: float) -> None:
        if site.state is not State.OPEN or not site.waiting:
            return
        if site.rules is None:
            # Its rules were dropped meanwhile, to save memory.
            self._to_resolve(site, Event.STALE)
        else:
            self._admit(site, now)

    def _wait_over(self, site: NamedSite, now: float) -> None:
        if site.state is State.WAITING and site.until <= now:
            self._to_resolve(site, Event.RETRY)
        elif site.state is State.LOGIN:
            self._login.wait_over(site, now)
        elif site.state is State.OPEN and self._login.is_needed(site):
            self._renew(site, now)
        # Each failed URL has set a timer of its own.
        url = site.next_retry(now)
        if url is not None:
            self.registry.touch(site)
            self.join(url, now)


def _from_current(site: NamedSite, addresses: tuple[str, ...]) -> tuple[str, ...]:
    """`addresses`, rotated so that the one in use by `site` comes first.

    Name servers return addresses in any order. So a site keeps an address that works, and does
    not return to a dead one.
    """
    if not site.addresses or site.addresses[0] not in addresses:
        return addresses
    first = addresses.index(site.addresses[0])
    return addresses[first:] + addresses[:first]
