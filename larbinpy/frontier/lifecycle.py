"""Leads each NamedSite to an address, robots.txt and login, and handles failures on the way.

Host names that sites need are looked up: one request for each name, one answer for all its sites.

Preliminary requests are those that a site needs before its URLs may be fetched: for its robots.txt
(RFC 9309), its login, and its probes, which ask for names that cannot exist (`soft404/`).
They wait in the queue of the site that they go to, which may be another one, as redirects lead
anywhere; the purpose of each names its owner.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum, auto
from itertools import count
from math import inf
from typing import NamedTuple

from larbinpy.config.rule import Rule
from larbinpy.dns.lookup import NO_SUCH_NAME, Answer
from larbinpy.fetch.robots import MAX_SIZE, Rules, whole_lines
from larbinpy.frontier.addresses import IPSites
from larbinpy.frontier.politeness import SettingsOf
from larbinpy.frontier.site import STEPS, Event, NamedSite, PackedRobots, State
from larbinpy.frontier.sites import RobotsRules, SiteRegistry
from larbinpy.frontier.soft404.probes import Probes
from larbinpy.page import (
    READABLE,
    UNREACHABLE,
    Outcome,
    Page,
    asks_for_less,
    failure,
    is_retried,
    of_status,
)
from larbinpy.parse import redirect_spelling, redirect_target, text_of
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.url import GUESS, SITEMAP, Aim, Ask, Purpose, Url, port_of, resolve, site_of

#: A closed site, or one whose robots.txt cannot be fetched, gets no request for this long (s).
_CLOSED_TIME = 3600.0

#: States of a site with an address that may be used.
_ADDRESSED = STEPS | {State.OPEN}


class Judgement(Enum):
    """What a reply is for its URL."""

    #: What was asked for, or a failure that is tried again if it may pass.
    KEEP = auto()
    #: Its URL is fetched once more, at once and in another way; no failure is counted.
    AGAIN = auto()
    #: The session of its site has ended: its URL is fetched again after a login, and this was no
    #: try.
    LOST = auto()
    #: The session has ended, and that is the URL's doing: it is decided.
    DROP = auto()


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


class Step:
    """A step of sites on their way that takes requests of its own; `way` leads them on, or back."""

    def __init__(self, way: "SiteLifecycle") -> None:
        self._way = way
        self._registry = way.registry
        self._ip_sites = way.ip_sites
        self._rules = way.rules

    def replied(self, page: Page, now: float) -> "Sitemaps | None":
        """Process the reply to a request, or its end without one; the sitemaps that it names."""
        raise NotImplementedError


#: RFC 9309, 2.3.1.2: at least five redirects of a robots.txt are followed.
_HOPS = 5
#: RFC 9309, 2.4: robots.txt is not used for longer than a day.
_RULES_TIME = 24 * 3600.0


class Sitemaps(NamedTuple):
    """The sitemaps of a site."""

    #: As references from its robots.txt.
    references: tuple[str, ...]
    #: `SITEMAP`, or `GUESS` if no robots.txt names them.
    purpose: Purpose
    #: The greatest depth of the URLs that waited for robots.txt.
    depth: int
    #: If all of these were sitemaps, which others may have named: where the first was named.
    via: str | None = None


#: The place where most sites have it (sitemaps.org names no other in its examples).
_USUAL = "/sitemap.xml"


class RobotsStep(Step):
    """Fetches the robots.txt of sites in ROBOTS, and puts their rules in force."""

    def __init__(self, way: "SiteLifecycle") -> None:
        super().__init__(way)
        #: Requests that a server answered.
        self.fetched = 0

    def begin(self, site: NamedSite, now: float) -> None:
        """Fetch the robots.txt of a site that is now in ROBOTS."""
        purpose = Purpose(Aim.ROBOTS, site.key)
        self._way.send(Url(f"{site.key}/robots.txt", 0, purpose=purpose), now)
        self._way.release(site)

    def replied(self, page: Page, now: float) -> Sitemaps | None:
        """As `Step.replied` (RFC 9309, 2.3.1)."""
        self.fetched += page.status > 0
        owner = self._registry.get(page.url.purpose.owner or "")
        if owner is None or owner.state is not State.ROBOTS:
            return None
        depth = max((url.depth for url in owner.waiting), default=-1)
        others = any(url.purpose is not SITEMAP for url in owner.waiting)
        via = None if others or not owner.waiting else owner.waiting[0].via
        if page.outcome in READABLE:
            body, is_whole = text_of(page, MAX_SIZE)
            body = body if is_whole else whole_lines(body)
            rules = Rules.parse(body)
            packed = self._rules.pack(body, rules)
            delay = self._rules.delay(owner, rules)
            self._open(owner, packed, now + _RULES_TIME, now, delay)
            named = tuple(rules.sitemaps)
            return Sitemaps(named, SITEMAP, depth, via) if named else _guessed(owner, depth)
        if page.outcome is Outcome.ERR_30X:
            self._redirected(owner, page, now)
        elif page.outcome is Outcome.BAD_TLS and page.url.site == owner.key:
            self._way.give_up(owner, Outcome.BAD_TLS, now, page.detail)
        elif page.outcome is Outcome.ERR_40X and not asks_for_less(page.status):
            self._open(owner, self._rules.allow_all, now + _RULES_TIME, now)
            return _guessed(owner, depth)
        else:
            self._failed(owner, page.url, page.outcome, now, failure(page.status, page.detail))
        return None

    def _redirected(self, owner: NamedSite, page: Page, now: float) -> None:
        targets = redirect_target(page)
        if not targets or page.url.hops >= _HOPS:
            self._open(owner, self._rules.allow_all, now + _RULES_TIME, now)
            return
        [target], spelling = targets, redirect_spelling(page)
        url = Url(target.url, 0, hops=page.url.hops + 1, purpose=page.url.purpose)
        url.spelling = spelling if spelling != url.href else ""
        self._way.send(url, now)

    def _failed(
        self, site: NamedSite, robots: Url, outcome: Outcome, now: float, detail: str
    ) -> None:
        """Handle a robots.txt that cannot be fetched: try again after a wait.

        If all tries fail, the site is closed if it cannot be connected to; otherwise all its URLs
        are forbidden for a while. If a redirect led to another site, the failure of that site says
        nothing about this one.
        """
        own = robots.site == site.key
        if own and outcome in UNREACHABLE:
            self._ip_sites.try_next_address(site)
        if outcome is Outcome.SITE_LIMIT:
            self._way.give_up(site, outcome, now, detail)
            return
        if site.tries < site.settings.config.retries or (own and outcome is Outcome.NO_CONNECTION):
            self._way.setback(site, Event.NO_ROBOTS, outcome, now, detail)
        else:
            site.note_failure(outcome, detail)
            self._open(site, self._rules.deny_all, now + _CLOSED_TIME, now)

    def ignore(self, site: NamedSite, now: float) -> None:
        """Open a site without its robots.txt (ignoreRobots)."""
        self._open(site, self._rules.allow_all, float("inf"), now)

    def _open(
        self,
        site: NamedSite,
        rules: PackedRobots,
        until: float,
        now: float,
        delay: float | None = None,
    ) -> None:
        self._rules.put(site, rules, until, delay)
        self._registry.on(site, Event.RULES)
        if site.pace.least > site.settings.waits.least:
            # The request for robots.txt counts for the delay, too.
            site.wait_until(now + site.pace.least)
        self._ip_sites.withdraw(site)
        self._way.opened(site, now)


def _guessed(site: NamedSite, depth: int) -> Sitemaps | None:
    """The sitemap to look for at a site whose robots.txt names none."""
    if not site.settings.guesses_sitemap:
        return None
    return Sitemaps((site.key + _USUAL,), GUESS, depth)


#: A site whose logins have failed gets no request for this long (s): each further try might lock
#: the account.
_LOGIN_CLOSED_TIME = 24 * 3600.0


class SiteLogins:
    """The logins of sites, by site key. Here, no site has one; a crawl with logins overrides all.

    A login is a sequence of requests, one at a time.
    """

    def needs(self, site: str) -> bool:
        """Whether a login has to come before the next URL of `site`."""
        return False

    def begin(self, site: str) -> Ask | None:
        """Begin a login; its first request, None if it is over."""
        return None

    def replied(self, site: str, page: Page) -> Ask | None:
        """Process the reply to the last request; the next one, None if the login is over.

        A request that could not be sent has a page of status 0.
        """
        return None

    def failure(self, site: str) -> str:
        """Why the last login failed; empty if it did not."""
        return ""

    def is_final(self, site: str) -> bool:
        """Whether no further login is tried for a day after a failure."""
        return False

    def lasts(self, site: str) -> float | None:
        """Seconds until the login of `site` must be renewed; None if only the site knows."""
        return None

    def avoids(self, href: str) -> bool:
        """Whether a link is not asked for: it ends the session of its site, or is a login page."""
        return False


_NO_LOGINS = SiteLogins()


class LoginStep(Step):
    """Sends the requests of logins, for sites in LOGIN.

    A login begins when no other request to its site is in flight: the reply to one that left
    before could end the new session, and would look as if that had ended. So there is one login
    of a site at a time, and one request of it.
    """

    def __init__(self, way: "SiteLifecycle", logins: SiteLogins) -> None:
        super().__init__(way)
        self._logins = logins
        # The request that is queued or in flight, by the key of its owner.
        self._under_way: dict[str, Url] = {}
        # Requests that wait for a time, by the key of their owner.
        self._later: dict[str, float] = {}

    def is_needed(self, site: NamedSite) -> bool:
        """Whether `site` has to log in before its next URL."""
        return self._logins.needs(site.key)

    def lasts(self, site: NamedSite) -> float | None:
        """Seconds until the login of `site` must be renewed; None if that is not known."""
        return self._logins.lasts(site.key)

    def begin(self, site: NamedSite, now: float) -> None:
        """Log in at an OPEN site, whose ready URLs wait for that."""
        self._forget(site)
        self._registry.on(site, Event.LOGIN)
        self._way.hold(site)
        self.landed(site, now)

    def landed(self, site: NamedSite, now: float) -> None:
        """Continue after the end of a request to `site`: the login may wait for that."""
        if site.state is State.LOGIN and not site.in_flight and site.key not in self._under_way:
            self._go_on(site, self._logins.begin(site.key), now)

    def wait_over(self, site: NamedSite, now: float) -> None:
        """Send the request that had to wait, if there is one and its time has come."""
        if site.key in self._later and now >= self._later[site.key]:
            del self._later[site.key]
            self._way.send(self._under_way[site.key], now)

    def _forget(self, site: NamedSite) -> None:
        self._under_way.pop(site.key, None)
        self._later.pop(site.key, None)

    def replied(self, page: Page, now: float) -> None:
        """As `Step.replied`."""
        key = page.url.purpose.owner or ""
        site = self._registry.get(key)
        if site is None or self._under_way.get(key) is not page.url:
            return
        if page.url.site == key and page.outcome in UNREACHABLE:
            self._ip_sites.try_next_address(site)
        if site.state is State.LOGIN:
            self._go_on(site, self._logins.replied(key, page), now)

    def _go_on(self, site: NamedSite, ask: Ask | None, now: float) -> None:
        while ask is not None:
            href = resolve(ask.href)
            if href is not None:
                url = self._under_way[site.key] = Url(
                    href, 0, purpose=Purpose(Aim.LOGIN, site.key, ask)
                )
                if ask.wait > 0:
                    self._later[site.key] = now + ask.wait
                    self._way.set_timer(site, now + ask.wait)
                else:
                    self._way.send(url, now)
                return
            unsent = Page(Url(f"{site.key}/", 0), Outcome.BAD_URL)
            ask = self._logins.replied(site.key, unsent)
        self._forget(site)
        why = self._logins.failure(site.key)
        if not why:
            self._registry.on(site, Event.LOGGED_IN)
            self._way.reopened(site, now)
        elif self._logins.is_final(site.key):
            self._way.give_up(site, Outcome.LOGIN_FAILED, now, why, _LOGIN_CLOSED_TIME)
        else:
            site.count_try()
            self._way.suspend(site, Event.NO_LOGIN, Outcome.LOGIN_FAILED, now, why)


class ProbeStep(Step):
    """Sends the probes of OPEN sites, one after the other, while their other URLs wait.

    So every page is compared with the answers when it arrives. The first URL of a site is not: a
    site of which only one URL is fetched gets no probe.
    """

    def __init__(self, way: "SiteLifecycle", probes: Probes) -> None:
        super().__init__(way)
        self._probes = probes
        # The request that is queued or in flight, by the key of its site.
        self._under_way: dict[str, Url] = {}

    def is_needed(self, site: NamedSite, url: Url) -> bool:
        """Whether an OPEN `site` is to be probed before `url`, which is in none of its queues."""
        if not self._probes.wants(url):
            return False
        return site.fetched + site.failed + site.in_flight + site.held > 0

    def is_needed_first(self, site: NamedSite) -> bool:
        """Whether an OPEN `site` is to be probed before the URLs that wait."""
        known = site.fetched + site.failed + site.in_flight + site.held
        known -= sum(url.purpose is GUESS for url in site.waiting)
        return known > 1 and any(map(self._probes.wants, site.waiting))

    def begin(self, site: NamedSite, now: float) -> None:
        """Probe an OPEN site, whose ready URLs wait for that."""
        self._registry.on(site, Event.PROBE)
        self._way.hold(site)
        self._go_on(site, now)

    def replied(self, page: Page, now: float) -> None:
        """As `Step.replied`."""
        key = page.url.purpose.owner or ""
        if self._under_way.get(key) is not page.url:
            return
        del self._under_way[key]
        self._probes.replied(key, page)
        site = self._registry.get(key)
        if site is not None and site.state is State.PROBING:
            self._go_on(site, now)
        else:  # It was closed meanwhile.
            self._probes.end(key)

    def _go_on(self, site: NamedSite, now: float) -> None:
        waiting = [url.href for url in site.waiting if url.is_named]
        while (probe := self._probes.next(site.key, waiting)) is not None:
            if self._rules.allows(site, probe):
                url = self._under_way[site.key] = Url(
                    probe, 0, purpose=Purpose(Aim.PROBE, site.key)
                )
                self._way.send(url, now)
                return
        self._registry.on(site, Event.PROBED)
        self._way.reopened(site, now)


#: Requests in a row without any answer after which a site is closed.
_DEAD_AFTER = 12
#: Timers among which that of the next try is looked for: some are of URLs that moved meanwhile.
_TIMERS_LOOKED_AT = 8


class SiteLifecycle:
    """Leads URLs through their NamedSites to the IPSites.

    An address is used for `address_time` (s) before it is looked up again; `permits` is whether
    requests may be sent to an address and port at all.

    It leads each site of its registry through its states: `names` holds the sites
    in RESOLVING, the timers those in WAITING. URLs whose outcome is decided on the way wait in
    `decided`. `RobotsStep`, `LoginStep` and `ProbeStep` do the steps that take requests of their
    own, which they queue before all other URLs of the sites that they go to. (There are more than
    twenty methods, because each transition in the picture of `site` has one.)
    """

    def __init__(
        self,
        settings_of: SettingsOf,
        address_time: float,
        permits: Callable[[str, int], bool],
        counts: SiteCounts,
        ip_sites: IPSites,
        sizes: FrontierSizes = DEFAULT_SIZES,
        logins: SiteLogins = _NO_LOGINS,
        probes: Probes | None = None,
    ) -> None:
        self._address_time = address_time
        self._permits = permits
        self.ip_sites = ip_sites
        self._most_admitted = sizes.admitted
        self._most_wakes = sizes.wakes
        self.rules = RobotsRules(sizes)
        self.registry = SiteRegistry(settings_of, counts, self.rules, sizes)
        self.names = NameRequests(sizes)
        self._robots = RobotsStep(self)
        self._login = LoginStep(self, logins)
        self._probe = None if probes is None else ProbeStep(self, probes)
        self._steps: dict[Aim, Step] = {Aim.ROBOTS: self._robots, Aim.LOGIN: self._login}
        if self._probe is not None:
            self._steps[Aim.PROBE] = self._probe
        self._timers: list[tuple[float, int, NamedSite]] = []
        self._order = count()
        # OPEN sites with URLs that were not made ready yet.
        self._admitting: deque[NamedSite] = deque()
        #: URLs whose outcome is decided without a fetch, as pages with that outcome.
        self.decided: deque[Page] = deque()
        self.retried = 0
        # The statuses for which sites were closed.
        self._refusing: dict[str, int] = {}

    def serve(self, aim: Aim, step: Step) -> None:
        """Give the replies to preliminary requests with this aim to `step`."""
        self._steps[aim] = step

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
            if self._probe is not None and self._probe.is_needed(site, url):
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
        page = Page(url, outcome, detail=detail)
        if self._refusing and of_status(status := self._refusing.get(url.site, 0)) is outcome:
            page.status = status
        if url.purpose.owner is None:
            self.decided.append(page)
        else:
            self._steps[url.purpose.aim].replied(page, now)

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
            port = port_of(site.key)
            permitted = tuple(each for each in answer.addresses if self._permits(each, port))
            if permitted:
                self._arrived(site, permitted, now + self._address_time, now)
            else:
                self.give_up(site, Outcome.PRIVATE_ADDRESS, now, answer.addresses[0])
        elif site.addresses:
            # No new address is known: the old one is used a little longer.
            self._arrived(site, site.addresses, now + site.settings.config.retry_wait, now)
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
        if site.settings.config.ignore_robots:
            self._robots.ignore(site, now)
        elif site.rules is not None and now < site.rules_until:
            self.registry.on(site, Event.RULES)
            self.opened(site, now)
        else:
            self._robots.begin(site, now)

    # robots.txt, logins and probes.

    def send(self, url: Url, now: float) -> None:
        """Fetch a preliminary `url` when its site has an address and politeness allows."""
        site = self.registry.get(url.site)
        if site is not None and site.state in _ADDRESSED:
            self._put_first(site, url)
        else:
            self.join(url, now)

    def release(self, site: NamedSite) -> None:
        """Fetch the preliminary requests that wait at a site that is in a step of its own."""
        for url in site.admit_others():
            self._put_first(site, url)

    def hold(self, site: NamedSite) -> None:
        """Let the ready URLs of `site` wait again, without its preliminary requests."""
        self.ip_sites.withdraw(site)
        if site.state in STEPS:
            self.release(site)

    def _put_first(self, site: NamedSite, url: Url) -> None:
        self.registry.engage(site)
        self.ip_sites.add(site, url, first=True)

    def prepared(self, page: Page, now: float, wall: float) -> Sitemaps | None:
        """Process the reply to a preliminary request; return the sitemaps that it names."""
        self.landed(page, now, wall)
        return self._steps[page.url.purpose.aim].replied(page, now)

    def lost(self, page: Page, now: float, wall: float, *, last: bool) -> None:
        """Hold the URLs of a site whose session has ended until it has logged in again.

        That of the reply goes first, as its next reply tells whether the session shows it; this one
        counts as no try, unless it is the `last`.
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
            self.hold(site)
        if not last:
            page.url.priority = True
            self.join(page.url, now)

    def opened(self, site: NamedSite, now: float) -> None:
        """Log in at an OPEN site, or probe it, if that is due; otherwise make its URLs ready."""
        if self._login.is_needed(site):
            self._login.begin(site, now)
        elif self._probe is not None and self._probe.is_needed_first(site):
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
        is_last = last or page.url.attempt > site.settings.config.retries
        tries_left = not is_last and not site.spent
        retry = tries_left and is_retried(page.outcome, page.status)
        if retry:
            self._retry(site, page, now)
        silent = not page.status and page.outcome in UNREACHABLE
        # In other states, the lookup or the robots.txt under way decides about the site.
        if silent and site.silence >= _DEAD_AFTER and site.state is State.OPEN:
            self.give_up(site, page.outcome, now, page.detail)
        return not retry

    def again(self, page: Page, now: float, wall: float) -> None:
        """Put the URL of a reply at the tail of its site, or first if it is preliminary."""
        self.landed(page, now, wall)
        page.url.attempt += 1
        queue = self.join if page.url.purpose.owner is None else self.send
        queue(page.url, now)

    # Failures.

    def _retry(self, site: NamedSite, page: Page, now: float) -> None:
        """Put a failed URL at the tail of its site, for a fresh address after retryWait."""
        self.retried += 1
        if page.outcome in UNREACHABLE:
            self.ip_sites.try_next_address(site)
        due = now + site.settings.config.retry_wait
        site.postpone(page.url, due)
        if site.state is not State.CLOSED:
            site.note_failure(page.outcome, failure(page.status, page.detail))
        self.registry.engage(site)
        self.set_timer(site, due)

    def setback(
        self, site: NamedSite, event: Event, outcome: Outcome, now: float, detail: str
    ) -> None:
        """Handle a failed step towards OPEN: try again after a wait, or close the site."""
        if site.count_try() > site.settings.config.retries:
            self.give_up(site, outcome, now, detail)
        else:
            self.suspend(site, event, outcome, now, detail)

    def suspend(
        self, site: NamedSite, event: Event, outcome: Outcome, now: float, detail: str
    ) -> None:
        """Try again after retryWait."""
        self.retried += 1
        self.registry.on(site, event)
        site.suspend(now + site.settings.config.retry_wait)
        site.note_failure(outcome, detail)
        self.set_timer(site, site.until)

    def give_up(
        self,
        site: NamedSite,
        verdict: Outcome,
        now: float,
        detail: str,
        lasting: float = _CLOSED_TIME,
    ) -> None:
        """Close the site for a while: all its URLs end with `verdict`."""
        self.ip_sites.withdraw(site)
        self.registry.close(site)
        for url in site.close(verdict, now + lasting, detail):
            self.end(url, verdict, now, detail)

    def give_up_refusing(self, key: str, status: int, now: float) -> None:
        """Close a site that answers all requests with `status`: so its other URLs end."""
        site = self.registry.get(key)
        if site is not None and site.state is State.OPEN:
            self._refusing[key] = status
            self.give_up(site, of_status(status), now, "")

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
