"""Outcomes: how a URL can end, and the one table from which everything about them follows."""

from enum import Enum, Flag, auto


class Trait(Flag):
    """Properties of an outcome. The rest of the program asks for these, never for a list."""

    #: Another try may end differently: back to the tail of the site, after retryWait.
    RETRIED = auto()
    #: No server answered in time at the address.
    UNREACHABLE = auto()
    #: A sign of overload: the site's delay grows.
    OVERLOADED = auto()
    #: The network or the server failed; the status page counts these as failures.
    FAULT = auto()
    #: The URL was wanted, and was not to be had; the last line of a crawl counts these.
    MISSED = auto()
    #: A robots.txt forbids the URL.
    ROBOTS = auto()
    #: Part of any healthy crawl, so that it is not listed among what went wrong.
    ORDINARY = auto()
    #: A mirror is complete without the URL.
    SPARED = auto()


_NONE = Trait(0)
_FAULT = Trait.FAULT | Trait.MISSED
_PASSING = _FAULT | Trait.RETRIED


class Outcome(Enum):
    """The fate of a URL. The names are Larbin's FetchError, and five of our own.

    A row is the name for programs, the words for people, the traits, and the name of the
    outcome that later URLs of the site get without a fetch, where there is one (Larbin's
    fast outcomes).

    A failed TLS handshake is not retried, because one that was cut off, and may succeed
    next time, is a noConnection.
    """

    _value_: str
    words: str
    traits: Trait
    _later: str | None

    SUCCESS = "success", "it was fetched", Trait.ORDINARY
    NO_DNS = "noDNS", "its host has no address", _PASSING, "fastNoDns"
    NO_CONNECTION = (
        "noConnection",
        "no connection could be made",
        _PASSING | Trait.UNREACHABLE | Trait.OVERLOADED,
        "fastNoConn",
    )
    FORBIDDEN_ROBOTS = "forbiddenRobots", "robots.txt refuses it", Trait.ROBOTS, "fastRobots"
    TIMEOUT = "timeout", "it took too long", _PASSING | Trait.UNREACHABLE | Trait.OVERLOADED
    BAD_TYPE = "badType", "its type is not wanted", Trait.ORDINARY
    TOO_BIG = "tooBig", "it is larger than maxPageSize", Trait.MISSED
    ERR_30X = "err30X", "it redirects to another URL", Trait.ORDINARY | Trait.SPARED
    ERR_40X = "err40X", "the server has no such page for us", Trait.MISSED
    EARLY_STOP = "earlyStop", "the reply was cut off", _PASSING | Trait.OVERLOADED
    DUPLICATE = (
        "duplicate",
        "another page has the same content (pageNoDuplicate)",
        Trait.ORDINARY | Trait.SPARED,
    )
    FAST_ROBOTS = "fastRobots", "robots.txt refuses it", Trait.ROBOTS
    FAST_NO_CONN = "fastNoConn", "its site did not connect recently", Trait.MISSED
    FAST_NO_DNS = "fastNoDns", "its site had no address recently", Trait.MISSED
    TOO_DEEP = "tooDeep", "it is further than depthInSite from the seeds"
    URL_DUP = "urlDup", "already seen"
    OUT_SITE = "outSite", "it is on a host that is not wanted"
    ERR_50X = "err50X", "the server had an error", _PASSING
    BAD_TLS = "badTLS", "the certificate or the handshake failed", _FAULT
    BAD_URL = "badURL", "not a URL that can be crawled"
    PRIVATE_ADDRESS = (
        "privateAddress",
        "its address is not a public one (allowPrivate)",
        Trait.MISSED,
    )
    TRAP = "trap", "it looks endless"

    def __new__(
        cls, name: str, words: str, traits: Trait = _NONE, later: str | None = None
    ) -> "Outcome":
        outcome = object.__new__(cls)
        outcome._value_ = name
        outcome.words = words
        outcome.traits = traits
        outcome._later = later
        return outcome

    @property
    def for_later(self) -> "Outcome":
        """The outcome of a site's later URLs, once this one closed the site."""
        return self if self._later is None else _BY_NAME[self._later]


_BY_NAME = {outcome.value: outcome for outcome in Outcome}


def having(trait: Trait) -> frozenset[Outcome]:
    """All outcomes that have `trait`: for callers that ask often and keep the answer."""
    return frozenset(outcome for outcome in Outcome if trait in outcome.traits)


def in_words(name: str) -> str:
    """The words for the outcome of that name; the name itself where there is no such outcome."""
    outcome = _BY_NAME.get(name)
    return name if outcome is None else outcome.words


#: Statuses by which a server asks for fewer requests, whatever their class.
_HOLDING = frozenset({429, 503})
_RETRIED = having(Trait.RETRIED)


def asks_for_less(status: int) -> bool:
    """Does the server say with this status that it gets too many requests?"""
    return status in _HOLDING


def is_retried(outcome: Outcome, status: int = 0) -> bool:
    """Is another try worthwhile? `status` is the HTTP status, 0 for none."""
    return outcome in _RETRIED or status in _HOLDING


def of_status(status: int) -> Outcome:
    """The outcome that an HTTP status means for the page behind it."""
    if 200 <= status < 300:
        return Outcome.SUCCESS
    if 300 <= status < 400:
        return Outcome.ERR_30X
    if status >= 500:
        return Outcome.ERR_50X
    return Outcome.ERR_40X
