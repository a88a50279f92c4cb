"""How a URL can end, what that is called, and the one table that says what follows from it."""

from enum import Enum


class Outcome(Enum):
    """The fate of a URL; the names are Larbin's FetchError, and five of our own."""

    SUCCESS = "success"
    NO_DNS = "noDNS"
    NO_CONNECTION = "noConnection"
    FORBIDDEN_ROBOTS = "forbiddenRobots"
    TIMEOUT = "timeout"
    BAD_TYPE = "badType"
    TOO_BIG = "tooBig"
    ERR_30X = "err30X"
    ERR_40X = "err40X"
    EARLY_STOP = "earlyStop"
    DUPLICATE = "duplicate"
    FAST_ROBOTS = "fastRobots"
    FAST_NO_CONN = "fastNoConn"
    FAST_NO_DNS = "fastNoDns"
    TOO_DEEP = "tooDeep"
    URL_DUP = "urlDup"
    OUT_SITE = "outSite"
    ERR_50X = "err50X"
    BAD_TLS = "badTLS"
    BAD_URL = "badURL"
    PRIVATE_ADDRESS = "privateAddress"
    TRAP = "trap"


#: The names are for programs, these are for people.
_WORDS = {
    Outcome.SUCCESS: "it was fetched",
    Outcome.NO_DNS: "its host has no address",
    Outcome.NO_CONNECTION: "no connection could be made",
    Outcome.FORBIDDEN_ROBOTS: "robots.txt refuses it",
    Outcome.TIMEOUT: "it took too long",
    Outcome.BAD_TYPE: "its type is not wanted",
    Outcome.TOO_BIG: "it is larger than maxPageSize",
    Outcome.ERR_30X: "it redirects to another URL",
    Outcome.ERR_40X: "the server has no such page for us",
    Outcome.EARLY_STOP: "the reply was cut off",
    Outcome.DUPLICATE: "another page has the same content (pageNoDuplicate)",
    Outcome.FAST_ROBOTS: "robots.txt refuses it",
    Outcome.FAST_NO_CONN: "its site did not connect lately",
    Outcome.FAST_NO_DNS: "its site had no address lately",
    Outcome.TOO_DEEP: "it is further than depthInSite from the seeds",
    Outcome.URL_DUP: "already seen",
    Outcome.OUT_SITE: "it is on a host that is not wanted",
    Outcome.ERR_50X: "the server had an error",
    Outcome.BAD_TLS: "the certificate or the handshake failed",
    Outcome.BAD_URL: "not a URL that can be crawled",
    Outcome.PRIVATE_ADDRESS: "its address is not a public one (allowPrivate)",
    Outcome.TRAP: "it looks endless",
}


def in_words(name: str) -> str:
    """How a URL ended, where `name` is the value of an outcome; of another, `name` itself."""
    try:
        return _WORDS[Outcome(name)]
    except ValueError:
        return name


class Sequel(Enum):
    """What the crawl does about a URL after an outcome."""

    #: Its fate is decided.
    FORGET = "forget"
    #: Back to the tail of its NamedSite, for a fresh address, after retryWait.
    RETRY = "retry"
    #: As RETRY, and the whole site is held for a while.
    SUSPEND = "suspend"


#: Outcomes that are worth another try. All others are final: a 404, a refusal by
#: robots.txt or a wrong type would be the same again. A failed TLS handshake is among
#: the final ones because one that was cut, and may succeed next time, is a noConnection.
_RETRIED = {
    Outcome.NO_DNS: Sequel.RETRY,
    Outcome.NO_CONNECTION: Sequel.RETRY,
    Outcome.TIMEOUT: Sequel.RETRY,
    Outcome.EARLY_STOP: Sequel.RETRY,
    Outcome.ERR_50X: Sequel.RETRY,
}

#: Statuses by which a server asks for less, whatever their class.
_HOLDING = frozenset({429, 503})


def asks_for_less(status: int) -> bool:
    """Does the server say with this status that we ask too much?"""
    return status in _HOLDING


def sequel(outcome: Outcome, status: int = 0) -> Sequel:
    """What follows from `outcome`, where `status` is the HTTP status (0 for none)."""
    if asks_for_less(status):
        return Sequel.SUSPEND
    return _RETRIED.get(outcome, Sequel.FORGET)


def of_status(status: int) -> Outcome:
    """The outcome that an HTTP status means for the page behind it."""
    if 200 <= status < 300:
        return Outcome.SUCCESS
    if 300 <= status < 400:
        return Outcome.ERR_30X
    if status >= 500:
        return Outcome.ERR_50X
    return Outcome.ERR_40X
