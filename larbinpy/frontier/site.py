"""NamedSite: one scheme, host and port, with its queues, its state and its robots.txt.

A site goes from its first URL to OPEN and back:

    NEW --wanted--> RESOLVING --address--> ROBOTS --rules--> OPEN --stale--> RESOLVING
                    RESOLVING --no_address--> WAITING
                              ROBOTS --no_robots--> WAITING --retry--> RESOLVING
                                                  OPEN --login--> LOGIN --logged_in--> OPEN
                                                       LOGIN --no_login--> WAITING
                                                  OPEN --probe--> PROBING --probed--> OPEN

    RESOLVING --give_up--> CLOSED
       ROBOTS --give_up--> CLOSED
        LOGIN --give_up--> CLOSED
      PROBING --give_up--> CLOSED
      WAITING --give_up--> CLOSED
         OPEN --give_up--> CLOSED --wanted--> RESOLVING

A failure on the way is tried again after a wait. When the tries are used up, and when an
open site no longer answers, it is closed for a while; a later URL opens it again. If no host of
the crawl exists, the sites are closed without further tries. A site whose logins have
failed is closed for a day.

A matcher of robots.txt takes some 300 bytes a rule, compressed text a sixth of that or less. So
each site has its robots.txt compressed, and only recently used files have a matcher as well
(`RobotsCache`). Sites with the same text, which is common because it comes from the same software,
share both.
"""

import re
import zlib
from collections.abc import Callable, Sequence
from enum import Enum, auto

from larbinpy.fetch.robots import Rules
from larbinpy.frontier.politeness import Pace, Quota, SiteSettings
from larbinpy.page import UNREACHABLE, Outcome, Page
from larbinpy.storage.caches import LruBudget
from larbinpy.storage.sizes import DEFAULT_SIZES
from larbinpy.url import Url, host_of

#: These texts are short or very repetitive: better compression gains nothing.
_LEVEL = 1

#: Lines that differ between otherwise equal files and are not needed for matching.
_SITEMAP = re.compile(rb"^sitemap:[^\r\n]*", re.IGNORECASE | re.MULTILINE)

_NOTHING = b""
_EVERYTHING = b"User-agent: *\nDisallow: /\n"


class PackedRobots:
    """The rules of one robots.txt, compressed."""

    __slots__ = ("_cache", "packed")

    def __init__(self, cache: "RobotsCache", packed: bytes) -> None:
        self._cache = cache
        self.packed = packed

    def __repr__(self) -> str:
        return f"<PackedRobots {self.size} bytes>"

    @property
    def size(self) -> int:
        """Bytes of compressed text."""
        return len(self.packed)

    def allowed(self, agent: str, url: str) -> bool:
        """Whether `agent` may fetch `url`, in canonical spelling."""
        return not self.packed or self._cache.rules(self).allowed(agent, url)

    def forbidding(self, agent: str, url: str) -> str | None:
        """The line that forbids `agent` to fetch `url`; None if it may fetch it."""
        return self._cache.rules(self).forbidding(agent, url) if self.packed else None


class RobotsCache:
    """Compresses robots.txt files, and keeps the matchers of recently used ones.

    `most_lines` is how many lines all matchers together may have.
    """

    def __init__(self, most_lines: int = DEFAULT_SIZES.robots_lines) -> None:
        self._ready: dict[bytes, tuple[PackedRobots, Rules]] = {}
        self._budget: LruBudget[bytes] = LruBudget(most_lines)
        #: The rules of a site that has no robots.txt.
        self.allow_all = PackedRobots(self, _NOTHING)
        #: The rules of a site whose robots.txt cannot be fetched.
        self.deny_all = PackedRobots(self, zlib.compress(_EVERYTHING, _LEVEL))

    def __repr__(self) -> str:
        return f"<RobotsCache {len(self._ready)} matchers, {self._budget.total} lines>"

    def keep(self, body: bytes, rules: Rules) -> PackedRobots:
        """The robots.txt `body`, compressed; `rules` is `body` parsed."""
        body = _SITEMAP.sub(b"", body).strip()
        if not body:
            return self.allow_all
        packed = zlib.compress(body, _LEVEL)
        if packed in self._ready:
            return self._ready[packed][0]
        robots = PackedRobots(self, packed)
        self._make_ready(robots, rules, body)
        return robots

    def rules(self, robots: PackedRobots) -> Rules:
        """The matcher of a robots.txt, made again if it was evicted."""
        ready = self._ready.get(robots.packed)
        if ready is not None:
            self._budget.touch(robots.packed)
            return ready[1]
        body = zlib.decompress(robots.packed)
        rules = Rules.parse(body)
        self._make_ready(robots, rules, body)
        return rules

    def _make_ready(self, robots: PackedRobots, rules: Rules, body: bytes) -> None:
        self._ready[robots.packed] = (robots, rules)
        self._budget.use(robots.packed, 1 + body.count(b"\n") + body.count(b"\r"))
        for other in self._budget.surplus():
            del self._ready[other]


class State(Enum):
    NEW = auto()
    #: Its address is being looked up.
    RESOLVING = auto()
    #: Its robots.txt is being fetched.
    ROBOTS = auto()
    #: A login is under way; its other URLs wait.
    LOGIN = auto()
    #: It is asked for names that cannot exist; its other URLs wait.
    PROBING = auto()
    #: Its URLs may be fetched as politeness allows.
    OPEN = auto()
    #: A step failed and will be tried again.
    WAITING = auto()
    #: Given up for a while; its URLs end with the outcome `verdict`.
    CLOSED = auto()


class Event(Enum):
    #: A URL arrived.
    WANTED = auto()
    #: An address is known.
    ADDRESS = auto()
    NO_ADDRESS = auto()
    #: The rules of robots.txt are known.
    RULES = auto()
    NO_ROBOTS = auto()
    #: Its URLs need a login.
    LOGIN = auto()
    LOGGED_IN = auto()
    NO_LOGIN = auto()
    #: Its answers to names that do not exist are needed.
    PROBE = auto()
    PROBED = auto()
    #: The address or the rules are out of date, or a failed URL wants a fresh address.
    STALE = auto()
    #: The wait after a failure is over.
    RETRY = auto()
    #: The tries are used up.
    GIVE_UP = auto()


#: All transitions of a site. A pair that is missing is an error in the program.
TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.NEW, Event.WANTED): State.RESOLVING,
    (State.RESOLVING, Event.ADDRESS): State.ROBOTS,
    (State.RESOLVING, Event.NO_ADDRESS): State.WAITING,
    (State.RESOLVING, Event.GIVE_UP): State.CLOSED,
    (State.ROBOTS, Event.RULES): State.OPEN,
    (State.ROBOTS, Event.NO_ROBOTS): State.WAITING,
    (State.ROBOTS, Event.GIVE_UP): State.CLOSED,
    (State.OPEN, Event.LOGIN): State.LOGIN,
    (State.LOGIN, Event.LOGGED_IN): State.OPEN,
    (State.LOGIN, Event.NO_LOGIN): State.WAITING,
    (State.LOGIN, Event.GIVE_UP): State.CLOSED,
    (State.OPEN, Event.PROBE): State.PROBING,
    (State.PROBING, Event.PROBED): State.OPEN,
    (State.PROBING, Event.GIVE_UP): State.CLOSED,
    (State.WAITING, Event.RETRY): State.RESOLVING,
    (State.WAITING, Event.GIVE_UP): State.CLOSED,
    (State.OPEN, Event.STALE): State.RESOLVING,
    (State.OPEN, Event.GIVE_UP): State.CLOSED,
    (State.CLOSED, Event.WANTED): State.RESOLVING,
}
#: States in which preliminary requests may be sent, and URLs wait for them.
STEPS = frozenset({State.ROBOTS, State.LOGIN, State.PROBING})
#: States in which nothing is under way for a site that has no URLs.
AT_REST = frozenset({State.NEW, State.OPEN, State.CLOSED})


def number_of_pages(urls: Sequence[Url]) -> int:
    """The number of `urls` that are not preliminary requests."""
    return sum([url.purpose.owner is None for url in urls])


class UrlTotals:
    """URLs in the queues of all sites, without preliminary ones. Only NamedSite changes it."""

    __slots__ = ("ready", "waiting")

    def __init__(self) -> None:
        self.ready = 0
        #: In `waiting` and in `retries`.
        self.waiting = 0


def _queue(urls: list[Url], url: Url) -> None:
    """Put `url` behind all others; one with priority behind the first ones that have it."""
    if url.priority and urls and not urls[-1].priority:
        place = next(number for number, each in enumerate(urls) if not each.priority)
        urls.insert(place, url)
    else:
        urls.append(url)


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
        _queue(self.waiting, url)
        self.totals.waiting += url.purpose.owner is None

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
        others = [url for url in self.waiting if url.purpose.owner is not None]
        if others:
            self.waiting = [url for url in self.waiting if url.purpose.owner is None]
        return others

    def make_ready(self, url: Url, *, first: bool = False) -> None:
        """Queue `url` to be fetched when politeness allows; before all others if `first`."""
        assert self.addresses, self
        if first:
            self.ready.insert(0, url)
        else:
            _queue(self.ready, url)
        self.totals.ready += url.purpose.owner is None

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
        self.totals.ready -= url.purpose.owner is None
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
        self.totals.waiting += url.purpose.owner is None

    def next_retry(self, now: float) -> Url | None:
        """Remove and return the first failed URL if its time has come; it needs a fresh address."""
        if not self.retries or self.retries[0][0] > now:
            return None
        self.refresh = True
        self.address_until = now
        url = self.retries.pop(0)[1]
        self.totals.waiting -= url.purpose.owner is None
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
        gone = [url for url in urls if url.purpose.owner is None and unwanted(url)]
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
