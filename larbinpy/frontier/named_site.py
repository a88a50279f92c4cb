"""NamedSite: one scheme, host and port, from the first URL to an open door.

    NEW --wanted--> RESOLVING --address--> ROBOTS --rules--> OPEN --stale--> RESOLVING
                    RESOLVING --no_address--> WAITING
                              ROBOTS --no_robots--> WAITING --retry--> RESOLVING

    RESOLVING --give_up--> CLOSED
       ROBOTS --give_up--> CLOSED
         OPEN --give_up--> CLOSED --wanted--> RESOLVING

A failure on the way is tried again after a wait. When the tries are used up, and when an
open site no longer answers, it is closed for a while; a later URL opens it again.
"""

from collections.abc import Iterator
from enum import Enum, auto

from larbinpy.frontier.politeness import Pace
from larbinpy.frontier.robots_cache import PackedRobots
from larbinpy.outcome import Outcome
from larbinpy.url import Url, host_of


class State(Enum):
    NEW = auto()
    #: Its address is being asked for.
    RESOLVING = auto()
    #: Its robots.txt is being fetched.
    ROBOTS = auto()
    #: Its URLs may be fetched as politeness allows.
    OPEN = auto()
    #: A step failed and will be tried again.
    WAITING = auto()
    #: Given up; `verdict` says what its URLs end with.
    CLOSED = auto()


class Event(Enum):
    #: A URL came.
    WANTED = auto()
    #: An address is known.
    ADDRESS = auto()
    NO_ADDRESS = auto()
    #: What robots.txt allows is known.
    RULES = auto()
    NO_ROBOTS = auto()
    #: The address or the rules are out of date, or a failed URL wants a fresh address.
    STALE = auto()
    #: The wait after a failure is over.
    RETRY = auto()
    #: The tries are used up.
    GIVE_UP = auto()


#: The whole life of a site. A pair that is not here is an error in the program.
TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.NEW, Event.WANTED): State.RESOLVING,
    (State.RESOLVING, Event.ADDRESS): State.ROBOTS,
    (State.RESOLVING, Event.NO_ADDRESS): State.WAITING,
    (State.RESOLVING, Event.GIVE_UP): State.CLOSED,
    (State.ROBOTS, Event.RULES): State.OPEN,
    (State.ROBOTS, Event.NO_ROBOTS): State.WAITING,
    (State.ROBOTS, Event.GIVE_UP): State.CLOSED,
    (State.WAITING, Event.RETRY): State.RESOLVING,
    (State.OPEN, Event.STALE): State.RESOLVING,
    (State.OPEN, Event.GIVE_UP): State.CLOSED,
    (State.CLOSED, Event.WANTED): State.RESOLVING,
}
#: States in which nothing is under way for a site that has no URLs.
_AT_REST = frozenset({State.NEW, State.OPEN, State.CLOSED})


class NamedSite:
    """The queues and the standing of one site. Decides nothing about others.

    A URL of the site is in exactly one of: `waiting` (needs address or robots.txt),
    `retries` (failed, until its time), `ready` (may go when politeness allows), or in
    flight. The site is in its IPSite's rotation iff `ready` is not empty. Most sites hold
    no more than some URLs, so the queues are lists: an empty deque takes 600 bytes, and to
    take the first of a thousand out of a list costs 0.1 us.
    """

    __slots__ = (
        "address_until",
        "addresses",
        "asked",
        "enlisted",
        "failed",
        "fetched",
        "held_until",
        "in_flight",
        "key",
        "next_at",
        "pace",
        "proven",
        "ready",
        "refresh",
        "retries",
        "rules",
        "rules_until",
        "silence",
        "state",
        "tries",
        "until",
        "verdict",
        "waiting",
    )

    def __init__(self, key: str, pace: Pace) -> None:
        self.key = key
        self.state = State.NEW
        self.pace = pace
        #: Not asked before this time (holds, Crawl-delay, its own adapted delay).
        self.next_at = 0.0
        #: That part of it which the site asked for by a 429 or 503, and nobody may shorten.
        self.held_until = 0.0
        self.waiting: list[Url] = []
        #: (due, url), in the order of their failures.
        self.retries: list[tuple[float, Url]] = []
        #: Changed by IPSites alone.
        self.ready: list[Url] = []
        self.in_flight = 0
        #: The last request that came home had found somebody there.
        self.proven = False
        #: The one in use first; the others are tried when it does not connect.
        self.addresses: tuple[str, ...] = ()
        self.address_until = 0.0
        self.rules: PackedRobots | None = None
        self.rules_until = 0.0
        #: Failures in a row on the way to OPEN.
        self.tries = 0
        #: Requests in a row that found nobody there.
        self.silence = 0
        #: The next answer must come from a server, not from the cache.
        self.refresh = False
        #: When WAITING or CLOSED ends.
        self.until = 0.0
        self.verdict = Outcome.NO_DNS
        #: In the rotation of an IPSite.
        self.enlisted = False
        #: Requests that came home, those for robots.txt included.
        self.asked = 0
        self.fetched = 0
        self.failed = 0

    def __repr__(self) -> str:
        return (
            f"<NamedSite {self.key} {self.state.name} waiting={len(self.waiting)} "
            f"retries={len(self.retries)} ready={len(self.ready)} in_flight={self.in_flight}>"
        )

    @property
    def host(self) -> str:
        return host_of(self.key + "/")

    @property
    def held(self) -> int:
        """URLs of this site in memory, those in flight apart."""
        return len(self.waiting) + len(self.retries) + len(self.ready)

    @property
    def idle(self) -> bool:
        """Nothing is to be done for it, and nothing is under way."""
        return not (self.in_flight or self.held) and self.state in _AT_REST

    def on(self, event: Event) -> None:
        """Take `event`; one that the state does not know raises KeyError."""
        self.state = TRANSITIONS[self.state, event]

    def urls(self) -> Iterator[Url]:
        """All URLs of this site in memory, those in flight apart."""
        yield from self.ready
        yield from self.waiting
        for _, url in self.retries:
            yield url

    def work(self) -> tuple[int, int]:
        """By which the busiest sites are found."""
        return self.held + self.in_flight, self.fetched

    def slowness(self) -> float:
        """By which the slowest sites are found: its usual time to the first byte (s)."""
        return self.pace.usual or 0.0

    def suspension(self, now: float) -> str | None:
        """Why it is left alone; None where it is not, ordinary waits apart."""
        if self.state is State.CLOSED and self.until > now:
            return str(self.verdict.value)
        if self.state is State.WAITING:
            return f"try {self.tries} failed"
        wait = self.next_at - now
        # Most wait for less than any pause, and to know the least takes longer than all else.
        if wait > 1 and wait > 2 * self.pace.least + 1:
            return "asked for a pause"
        return None

    def describe(self, now: float) -> dict[str, object]:
        """The standing of the site, for people."""
        return {
            "site": self.key,
            "state": self.state.name.lower(),
            "waiting": self.held,
            "in_flight": self.in_flight,
            "delay_s": round(self.pace.delay, 3),
            "next_in_s": round(max(0.0, self.next_at - now), 3),
            "answers_in_s": None if self.pace.usual is None else round(self.pace.usual, 3),
            "fetched": self.fetched,
            "failed": self.failed,
        }
