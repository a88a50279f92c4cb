"""Outcomes: how a URL can end, and the one table of their names, texts and traits."""

from enum import Enum, Flag, auto


class Trait(Flag):
    """Properties of outcomes. Other modules test for a property, never for a list of outcomes."""

    #: The body is the content of the URL, whole or cut at maxPageSize.
    READABLE = auto()
    #: Another try may end differently: the URL goes back to the tail of its site, for retryWait.
    RETRIED = auto()
    #: No server answered in time at the address.
    UNREACHABLE = auto()
    #: A sign of overload: the site's delay grows.
    OVERLOADED = auto()
    #: The network or the server failed; the status page counts these as failures.
    FAULT = auto()
    #: The URL was wanted and could not be fetched; the last line of a crawl counts these.
    MISSED = auto()
    #: A robots.txt forbids the URL.
    ROBOTS = auto()
    #: Part of any healthy crawl, so it is not listed among the failures.
    ORDINARY = auto()
    #: A link to the URL is broken: other visitors get nothing there either.
    BROKEN = auto()
    #: A mirror is complete without the URL.
    SPARED = auto()


_NONE = Trait(0)
_BROKEN = Trait.MISSED | Trait.BROKEN
_FAULT = Trait.FAULT | _BROKEN
_PASSING = _FAULT | Trait.RETRIED


class Outcome(Enum):
    """The way in which a URL ended. The names are those of Larbin's FetchError, and ours.

    A row has the name for programs, the text for users, and the traits. If later URLs of the
    site get another outcome without a fetch (Larbin's fast outcomes), its name is last.

    A failed TLS handshake (badTLS) is not retried. A handshake that was cut off may succeed next
    time; it is a noConnection.
    """

    _value_: str
    words: str
    traits: Trait
    _later: str | None

    SUCCESS = "success", "it was fetched", Trait.ORDINARY | Trait.READABLE
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
    TOO_BIG = "tooBig", "it is larger than maxPageSize", Trait.MISSED | Trait.READABLE
    ERR_30X = "err30X", "it redirects to another URL", Trait.ORDINARY | Trait.SPARED
    ERR_40X = "err40X", "the server refused it or lacks it", _BROKEN
    EARLY_STOP = "earlyStop", "the reply was cut off", _PASSING | Trait.OVERLOADED
    DUPLICATE = (
        "duplicate",
        "another page has the same content (pageNoDuplicate)",
        Trait.ORDINARY | Trait.SPARED,
    )
    FAST_ROBOTS = "fastRobots", "robots.txt refuses it", Trait.ROBOTS
    FAST_NO_CONN = "fastNoConn", "its site could not be reached recently", _BROKEN
    FAST_NO_DNS = "fastNoDns", "its host had no address recently", _BROKEN
    TOO_DEEP = "tooDeep", "it is further than depthInSite from the seeds"
    URL_DUP = "urlDup", "it was seen before"
    OUT_SITE = (
        "outSite",
        "it is on a host, or in a folder, that is not wanted",
        Trait.ORDINARY | Trait.SPARED,
    )
    ERR_50X = "err50X", "the server had an error", _PASSING
    BAD_TLS = "badTLS", "the certificate or the handshake failed", _FAULT
    BAD_URL = "badURL", "no URL to crawl, or one with a query while getCGI is off", Trait.ORDINARY
    PRIVATE_ADDRESS = (
        "privateAddress",
        "its address is not a public one",
        Trait.MISSED,
    )
    CHECKED = "checked", "it exists, and its content was not asked for", Trait.ORDINARY
    SITE_LIMIT = "siteLimit", "its site has reached a limit", Trait.ORDINARY | Trait.SPARED
    LOGIN_FAILED = "loginFailed", "its site did not accept the login", Trait.MISSED
    TRAP = "trap", "it looks like a spider trap"
    REJECTED = "rejected", "a rule rejects it, or it ends a session", Trait.ORDINARY | Trait.SPARED

    def __new__(
        cls, name: str, words: str, traits: Trait = _NONE, later: str | None = None
    ) -> "Outcome":
        outcome = object.__new__(cls)
        outcome._value_ = name
        outcome.words = words
        outcome.traits = traits
        outcome._later = later
        return outcome

    # Each is one object. Enum hashes names, in Python, and pages look outcomes up in many sets.
    __hash__ = object.__hash__

    @property
    def for_later(self) -> "Outcome":
        """The outcome of new URLs of a site that this outcome has closed."""
        return self if self._later is None else _BY_NAME[self._later]


_BY_NAME = {outcome.value: outcome for outcome in Outcome}


def having(trait: Trait) -> frozenset[Outcome]:
    """All outcomes that have `trait`, for callers that test for it often."""
    return frozenset(outcome for outcome in Outcome if trait in outcome.traits)


READABLE = having(Trait.READABLE)
UNREACHABLE = having(Trait.UNREACHABLE)


def in_words(name: str) -> str:
    """The text for the outcome called `name`; `name` itself if there is no such outcome."""
    outcome = _BY_NAME.get(name)
    return name if outcome is None else outcome.words


#: Statuses by which a server asks for fewer requests, whatever their class.
_HOLDING = frozenset({429, 503})
_RETRIED = having(Trait.RETRIED)


def asks_for_less(status: int) -> bool:
    """Whether the server says by this status that it gets too many requests."""
    return status in _HOLDING


def is_retried(outcome: Outcome, status: int = 0) -> bool:
    """Whether another try is worthwhile; `status` is the HTTP status, 0 for none."""
    return outcome in _RETRIED or status in _HOLDING


def of_status(status: int) -> Outcome:
    """The outcome of a page that was answered with this HTTP status."""
    if 200 <= status < 300:
        return Outcome.SUCCESS
    if 300 <= status < 400:
        return Outcome.ERR_30X
    if status >= 500:
        return Outcome.ERR_50X
    return Outcome.ERR_40X
