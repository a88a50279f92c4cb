"""NamedSite: one scheme, host and port, with its queues and its state."""

from collections.abc import Callable, Sequence

from larbinpy.frontier.sites.politeness import Pace
from larbinpy.frontier.sites.robots_cache import PackedRobots
from larbinpy.frontier.sites.settings import Quota, SiteSettings
from larbinpy.frontier.sites.states import AT_REST, STEPS, TRANSITIONS, Event, State
from larbinpy.outcome import UNREACHABLE, Outcome
from larbinpy.page import Page
from larbinpy.url import Url, host_of


def number_of_pages(urls: Sequence[Url]) -> int:
    """The number of `urls` that are not preliminary requests."""
    return sum([url.owner is None for url in urls])


class UrlTotals:
    """URLs in the queues of all sites, without preliminary ones. Only NamedSite changes it."""

    __slots__ = ("ready", "waiting")

    def __init__(self) -> None:
        self.ready = 0
        #: In `waiting` and in `retries`.
        self.waiting = 0

    def __repr__(self) -> str:
        return f"<UrlTotals waiting={self.waiting} ready={self.ready}>"


class NamedSite:
    """The queues and the state of one site.

    A URL of the site is in exactly one of `waiting` (needs address or robots.txt), `retries`
    (failed, until its time), `ready` (may go when politeness allows) or in flight. It moves:

        method         from                   to         requires
        park           outside                waiting
        admit          waiting, its head      outside    OPEN
        admit_others   waiting, preliminary   outside    ROBOTS, LOGIN or PROBING
        make_ready     outside                ready      an address
        put_back       ready                  waiting    not in a rotation
        take           ready, its head        in flight  ready is not empty
        landed         in flight              outside    in flight
        postpone       outside                retries    `due` no earlier than before
        next_retry     retries, its head      outside
        drain          waiting, retries       outside    ready is empty
        remove         any queue              outside

    Only these methods change the queues; they also update `totals`. No other code assigns to
    attributes of a site, except that its IPSite sets `enlisted`: the site is in the IPSite's
    rotation iff it `wants_turn` and is not asleep outside of its hours. (The methods are many and
    short, because each transition of the site and each move of a URL has one.)

    Most sites hold no more than a few URLs, so the queues are lists: an empty deque takes 600
    bytes, and taking the first of a thousand out of a list costs 0.1 us.
    """

    __slots__ = (
        "address_until",
        "addresses",
        "asked",
        "detail",
        "enlisted",
        "failed",
        "fetched",
        "held_until",
        "in_flight",
        "key",
        "next_at",
        "pace",
        "proven",
        "quota",
        "ready",
        "refresh",
        "retries",
        "rules",
        "rules_until",
        "settings",
        "silence",
        "state",
        "totals",
        "tries",
        "until",
        "verdict",
        "waiting",
    )

    def __init__(
        self,
        key: str,
        settings: SiteSettings,
        totals: UrlTotals,
        *,
        quota: Quota | None = None,
        held_until: float = 0.0,
    ) -> None:
        self.key = key
        self.state = State.NEW
        self.settings = settings
        self.pace = Pace(settings.waits)
        #: None if the site has no limits.
        self.quota = quota
        self.totals = totals
        #: No request before this time (holds, Crawl-delay, the site's own adapted delay).
        self.next_at = held_until
        #: The part of `next_at` that the site requested by a 429 or 503: never shortened.
        self.held_until = held_until
        self.waiting: list[Url] = []
        #: (due, url), in the order of their failures.
        self.retries: list[tuple[float, Url]] = []
        self.ready: list[Url] = []
        self.in_flight = 0
        #: Whether a server answered the last request that ended.
        self.proven = False
        #: The first one is in use; the others are tried if it cannot be connected to.
        self.addresses: tuple[str, ...] = ()
        self.address_until = 0.0
        self.rules: PackedRobots | None = None
        self.rules_until = 0.0
        #: Failures in a row on the way to OPEN.
        self.tries = 0
        #: Requests in a row that no server answered.
        self.silence = 0
        #: Whether the next lookup must ask a name server instead of the cache.
        self.refresh = False
        #: When WAITING or CLOSED ends.
        self.until = 0.0
        #: The outcome of the last failure, and its detail.
        self.verdict = Outcome.NO_DNS
        self.detail = ""
        #: Whether it is in the rotation of an IPSite; only the IPSite sets this.
        self.enlisted = False
        #: Requests that have ended, including those for robots.txt.
        self.asked = 0
        self.fetched = 0
        self.failed = 0

    def __repr__(self) -> str:
        return (
            f"<NamedSite {self.key} {self.state.name} waiting={len(self.waiting)} "
            f"retries={len(self.retries)} ready={len(self.ready)} in_flight={self.in_flight}>"
        )

    # The queues.

    def park(self, url: Url) -> None:
        """Keep `url` until the site is OPEN."""
        self.waiting.append(url)
        self.totals.waiting += url.owner is None

    def admit(self, most: int) -> list[Url]:
        """Remove and return the first `most` waiting URLs of an OPEN site; reset its `tries`."""
        assert self.state is State.OPEN, self
        self.tries = 0
        urls = self.waiting[:most]
        del self.waiting[:most]
        self.totals.waiting -= number_of_pages(urls)
        return urls

    def admit_others(self) -> list[Url]:
        """Remove and return the waiting preliminary requests, which are mostly of other sites."""
        assert self.state in STEPS, self
        others = [url for url in self.waiting if url.owner is not None]
        if others:
            self.waiting = [url for url in self.waiting if url.owner is None]
        return others

    def make_ready(self, url: Url, *, first: bool = False) -> None:
        """Queue `url` to be fetched when politeness allows; before all others if `first`."""
        assert self.addresses, self
        if first:
            self.ready.insert(0, url)
        else:
            self.ready.append(url)
        self.totals.ready += url.owner is None

    def put_back(self) -> None:
        """Move all ready URLs back to the head of the waiting ones."""
        assert not self.enlisted, self
        if self.ready:
            count = number_of_pages(self.ready)
            self.waiting[:0] = self.ready
            self.ready = []
            self.totals.ready -= count
            self.totals.waiting += count

    def take(self) -> Url:
        """Remove and return the first ready URL, for a request."""
        url = self.ready.pop(0)
        self.totals.ready -= url.owner is None
        self.in_flight += 1
        return url

    def landed(self) -> None:
        """Count the end of a request."""
        assert self.in_flight, self
        self.in_flight -= 1
        self.asked += 1

    def postpone(self, url: Url, due: float) -> None:
        """Keep a failed URL until the time `due`."""
        self.retries.append((due, url))
        self.totals.waiting += url.owner is None

    def next_retry(self, now: float) -> Url | None:
        """Remove and return the first failed URL if its time has come; it needs a fresh address."""
        if not self.retries or self.retries[0][0] > now:
            return None
        self.refresh = True
        self.address_until = now
        url = self.retries.pop(0)[1]
        self.totals.waiting -= url.owner is None
        return url

    def drain(self) -> list[Url]:
        """Remove and return all URLs that wait, including failed ones."""
        assert not self.ready, self
        urls = [*self.waiting, *(url for _, url in self.retries)]
        self.totals.waiting -= number_of_pages(urls)
        self.waiting, self.retries = [], []
        return urls

    def remove(self, unwanted: Callable[[Url], bool]) -> list[Url]:
        """Remove and return `unwanted` URLs. If none is ready now, it must leave its rotation."""
        urls = [*self.ready, *self.waiting, *(url for _, url in self.retries)]
        gone = [url for url in urls if url.owner is None and unwanted(url)]
        if gone:
            ids, before = set(map(id, gone)), len(self.ready)
            self.ready = [url for url in self.ready if id(url) not in ids]
            self.waiting = [url for url in self.waiting if id(url) not in ids]
            self.retries = [each for each in self.retries if id(each[1]) not in ids]
            self.totals.ready -= before - len(self.ready)
            self.totals.waiting -= len(gone) - (before - len(self.ready))
        return gone

    # The way to OPEN and back.

    def on(self, event: Event) -> None:
        """Make the transition for `event`; KeyError if the state has none for it."""
        self.state = TRANSITIONS[self.state, event]

    def use_addresses(self, addresses: tuple[str, ...]) -> None:
        """Send requests to the first of `addresses`."""
        self.addresses = addresses

    def trust_address(self, until: float) -> None:
        """Use the addresses, which were just looked up, until the time `until`."""
        self.address_until = until
        self.refresh = False

    def use_rules(self, rules: PackedRobots, until: float, delay: float | None) -> None:
        """Put a robots.txt in force until the time `until`, with its Crawl-delay."""
        self.rules, self.rules_until = rules, until
        self.pace.crawl_delay(delay)

    def drop_rules(self) -> None:
        """Forget the rules; robots.txt must be fetched again."""
        self.rules, self.rules_until = None, 0.0

    def count_try(self) -> int:
        """Count a failed step towards OPEN; return the number of failures in a row."""
        self.tries += 1
        return self.tries

    def suspend(self, until: float) -> None:
        """Wait until the time `until` after a failure; then the host is looked up again."""
        self.refresh = True
        self.until = until

    def note_failure(self, outcome: Outcome, detail: str) -> None:
        """Note why a step or a request failed."""
        self.verdict, self.detail = outcome, detail

    def close(self, verdict: Outcome, until: float, detail: str = "") -> list[Url]:
        """Close the site until the time `until`; return its URLs, which end with `verdict`."""
        assert self.state is State.CLOSED, self
        urls = self.drain()
        for url in urls:
            url.attempt = max(url.attempt, self.tries)
        self.note_failure(verdict, detail)
        self.until = until
        self.tries = self.silence = 0
        self.addresses = ()
        return urls

    def evict(self) -> None:
        """Forget the addresses, because the site leaves memory."""
        self.addresses = ()

    def count_page(self, page: Page) -> None:
        """Count a fetched or failed page; a sitemap that is not where it was looked for is none."""
        if page.outcome is Outcome.SUCCESS:
            self.fetched += 1
        elif not page.vain:
            self.failed += 1
        if page.status:
            self.silence = 0
        elif page.outcome in UNREACHABLE:
            self.silence += 1

    def prove(self, *, proven: bool) -> None:
        """Set whether a server answered the last request. The site must be in no rotation."""
        assert not self.enlisted, self
        self.proven = proven

    # Waits.

    def wait_until(self, time: float) -> None:
        """Send no request before `time`."""
        if time > self.next_at:
            self.next_at = time

    def hold_until(self, time: float) -> None:
        """Send no request before `time`, at the site's request: this wait is never shortened."""
        self.held_until = max(self.held_until, time)
        self.next_at = max(self.next_at, time)

    def shorten_wait(self, time: float) -> None:
        """Wait until `time`, or longer if the site requested it."""
        self.next_at = max(self.held_until, time)

    # For reading.

    @property
    def host(self) -> str:
        return host_of(self.key + "/")

    @property
    def held(self) -> int:
        """Number of URLs of this site in memory, except those in flight."""
        return len(self.waiting) + len(self.retries) + len(self.ready)

    @property
    def wants_turn(self) -> bool:
        """Whether a request may be sent when politeness allows."""
        return bool(self.ready) and (self.quota is None or self.quota.has_room(self.in_flight))

    @property
    def spent(self) -> bool:
        """Whether the site has reached a limit of its pages or bytes."""
        return self.quota is not None and self.quota.spent

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do for the site, and nothing under way."""
        return not (self.in_flight or self.held) and self.state in AT_REST

    def work(self) -> tuple[int, int]:
        """The key by which the busiest sites are found."""
        return self.held + self.in_flight, self.fetched

    def slowness(self) -> float:
        """The key by which the slowest sites are found: the usual time to the first byte (s)."""
        return self.pace.usual or 0.0

    def suspension(self, now: float) -> str | None:
        """The reason why no requests are sent for a while; None if only ordinary waits apply."""
        if self.state is State.CLOSED and self.until > now:
            failed = self.verdict is Outcome.LOGIN_FAILED
            return f"{self.verdict.value}: {self.detail}" if failed else str(self.verdict.value)
        if self.state is State.WAITING:
            return f"try {self.tries} failed"
        if self.settings.hours.closed:
            return f"asked {self.settings.hours.configured.in_words()} only"
        wait = self.next_at - now
        # First the cheap test, as most waits are short and `least` takes time to compute.
        if wait > 1 and wait > 2 * self.pace.least + 1:
            return "asked for a pause"
        return None

    def describe(self, now: float) -> dict[str, object]:
        """The state of the site, for the status page and the console."""
        return {
            "site": self.key,
            "state": self.state.name.lower(),
            "waiting": sum(map(number_of_pages, (self.waiting, self.ready))) + len(self.retries),
            "in_flight": self.in_flight,
            "delay_s": round(self.pace.delay, 3),
            "next_in_s": round(max(0.0, self.next_at - now), 3),
            "answers_in_s": None if self.pace.usual is None else round(self.pace.usual, 3),
            "fetched": self.fetched,
            "failed": self.failed,
        }
