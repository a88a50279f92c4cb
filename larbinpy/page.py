"""How a URL can end, the result of fetching one, and its line in the crawl log.

Here are the one table of outcomes, with their names, texts and traits, and the reason of an outcome
in words, and its cure, for all messages about failures.

The crawl log has the parts: the name of the outcome, the HTTP status and the detail. The detail is
the resolver's reason (`dns.lookup.Answer`) after noDNS, the target after err30X, and a line of text
after other outcomes.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import Enum, Flag, auto
from functools import lru_cache
from http import HTTPStatus
from operator import attrgetter
from typing import Any

from larbinpy.url import GUESS, MAX_LENGTH, Url, split


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


#: The resolver's reasons.
_DNS_REASONS = {
    "nxdomain": "no such name",
    "nodata": "the name has no address",
    "cnameloop": "its aliases form a loop",
    "badname": "no name of the DNS",
    "timeout": "no name server answered",
    "servfail": "the name server failed (servfail)",
    "refused": "the name server refused to answer",
    "formerr": "the name server failed (formerr)",
    "notimp": "the name server failed (notimp)",
    "truncated": "only a part of the name server's reply arrived",
}
_WANT_LOGIN = (HTTPStatus.UNAUTHORIZED, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)
#: The detail of a 401 without a login, and of a 407.
NEEDS_LOGIN = "needs a login"
PROXY_NEEDS_LOGIN = "the proxy needs a login"
#: Begins the detail of a reply that is tooBig, but not by its page.
LONG_HEADERS = "its headers have more than"
#: Begins the detail of URLs of a site whose robots.txt could not be fetched.
NO_ROBOTS = "it could not be fetched"
_SO_NOTHING = ", so nothing of the site is fetched for now"
_ROBOTS = {outcome.value for outcome in having(Trait.ROBOTS)}
_LOGIN = "the seed http://USER:PASSWORD@HOST/ gives one"
_PROXY_LOGIN = "proxy http://USER:PASSWORD@HOST PORT gives one"
#: The command for a URL that was seen.
SEED_AGAIN = "larbinpy seed --again fetches"
_PRIVATE = "--allow-private (allowPrivate) fetches from it"
_NO_ROBOTS_TXT = "ignoreRobots ignores it, on a site of your own"
_TRUST = "caFile trusts it, insecureTLS ignores it"
#: No file of authorities helps if the name is wrong.
_IGNORE = "insecureTLS ignores it"

#: Why links were left out, by the limit (a keyword), the guard against traps, or another reason.
_LEFT_OUT = {
    "getCGI": "they have a query, and getCGI is off",
    "limitToDomain": "their hosts are in none of limitToDomain",
    "forbiddenExtensions": "forbiddenExtensions has their endings",
    "lockSite": "they are on other hosts than the seeds, and lockSite is on",
    "stay": "they are outside of what stay keeps to",
    "followSeed": "they are on another site, to which a seed redirects (--follow-seed, followSeed)",
    "noExternalLinks": "they lead to other hosts, and noExternalLinks is on",
    "depthInSite": "they are further than depthInSite from the seeds",
    "loginFile": "they end the session of a login, or are login pages",
    "hops": "more than ten redirects or requisites in a row led to them",
    "elsewhere": "they are on pages of other hosts, which were fetched for one page alone",
    "nofollow": "their pages ask not to follow them (nofollow); robotsMeta off follows them",
    "scripts": "they have hardly any text or links beside scripts; --render runs these",
    "asking": "their scripts ask the site for data, as only it has; --render keeps what they draw",
    "rendering": "the browser failed, so they are kept as they were sent; larbinpy log says why",
    "renderPost": "their scripts may ask for their text by POST; renderPost lets them",
    "noindex": "they ask not to be indexed (noindex); robotsMeta off keeps them",
    "specificSearch": "their types are not in specificSet",
    "cut": "they have too many links, and only the first were read; larbinpy report names them",
    "ports": "their ports are those of other services, such as 22 and 25",
    "length": f"they are longer than {MAX_LENGTH:,} characters",
    "script": "the pages seem to be filled by a script, so their parts (#name) are unknown",
    "unread": "the pages were not read, so their parts (#name) are unknown",
    "templates": "they have placeholders such as {{...}}, which a program fills in",
    "repeats": "parts of them repeat more from page to page, or there are too many (traps)",
    "calendars": "their dates are far ahead, and their sites have many such (traps)",
    "shapes": "their sites have too many URLs of one shape (limitByShape)",
}

#: Those of them that are reasons why pages were left out, wholly or in part.
_OF_PAGES = frozenset(
    {"noindex", "specificSearch", "cut", "scripts", "asking", "rendering", "renderPost"}
)
#: Those of these that no output got.
UNKEPT = ("noindex", "specificSearch")
#: The detail of a page that a browser would fill.
SCRIPTED = "hardly any text or links beside its scripts, which do not run"
#: The detail of a 304 that no request was to have.
UNASKED = "not modified, although no condition was asked"
#: The detail of a page that was fetched and is not kept.
NOINDEX = "not kept, as it asks not to be indexed (noindex)"

#: The detail of a URL after which the session of a login seemed to be gone, again and again.
ENDS_SESSION = "it ends the session of a login, or has no sign of being logged in"
#: Begins the detail of a page that is like the answer to a name that does not exist.
_SOFT_404 = "soft 404: "


#: What makes two hosts, or two paths, the same: the difference in words.
_HOSTS = ((lambda host: host.removeprefix("www."), "www."),)
_PATHS = (
    (lambda path: path.rstrip("/"), "the slash at the end"),
    (str.lower, "upper and lower case"),
)


def circle_of(urls: Collection[str], *, with_cookie: bool = False) -> str:
    """The detail of a redirect that leads back, through `urls`: what their servers disagree about.

    `with_cookie`: it sets one, which is not kept.
    """
    cookie = ", to set a cookie (useCookies keeps it)" * with_cookie
    if len(urls) == 1:
        return f"it redirects to itself{cookie}"
    schemes, hosts, ports, targets = map(set, zip(*map(split, urls), strict=True))
    paths, queries = map(set, zip(*(each.partition("?")[::2] for each in targets), strict=True))
    found = [
        "http and https" if len(schemes) > 1 else "",
        _difference(hosts, _HOSTS, "the host"),
        "the port" if len(ports) > len(schemes) else "",
        _difference(paths, _PATHS, "the path"),
        "the query" if len(queries) > 1 else "",
    ]
    words = " and ".join(filter(None, found))
    return f"its redirects go in a circle{cookie}: its URLs differ in {words}"


def _difference(
    values: set[str], finer: Iterable[tuple[Callable[[str], str], str]], word: str
) -> str:
    """The difference of `values` in words; empty if there is none."""
    if len(values) == 1:
        return ""
    return next((words for fold, words in finer if len(set(map(fold, values))) == 1), word)


def soft_404(probe: str, target: str | None = None) -> str:
    """The detail of a page like the answer to `probe`, which does not exist; or a redirect."""
    if target is None:
        return f"{_SOFT_404}it is like {probe}, which cannot exist"
    return f"{_SOFT_404}it redirects to {target}, as does {probe}, which cannot exist"


def left_out_in_words(name: str) -> str:
    """Why links were left out, by the name under which they are counted."""
    return _LEFT_OUT.get(name, name)


#: Characters of a rule in a list of reasons.
_LONGEST_RULE = 80


def left_out_reasons(outcomes: Mapping[str, int], left: Mapping[str, Any]) -> list[tuple[int, str]]:
    """The links, pages and URLs that were not fetched or not kept: their numbers, and why.

    `outcomes` are those of URLs, `left` is what `observe.snapshot.left_out` counts.
    """
    private = outcomes[Outcome.PRIVATE_ADDRESS.value]
    limited = outcomes[Outcome.SITE_LIMIT.value]
    rows = [
        (left["robots"], "by robots.txt"),
        (private, "by their address, which is not public (allowPrivate)"),
        (limited, "by limits by site (limitPageBySite, limitBytesBySite)"),
        *((count, f"by {_cut(rule)}") for rule, count in left["rules"].items()),
        *((count, _left_out_in_words(name)) for name, count in left["limits"].items()),
        *((n, f"parts of pages: {left_out_in_words(k)}") for k, n in left.get("parts", {}).items()),
    ]
    return [row for row in rows if row[0]]


def _cut(rule: str) -> str:
    """A rule so that it fits into a line."""
    return rule if len(rule) <= _LONGEST_RULE else f"{rule[: _LONGEST_RULE - 3]}..."


def _left_out_in_words(name: str) -> str:
    what = "pages" if name in _OF_PAGES else "links"
    return f"{what}: {left_out_in_words(name)}"


def left_out_lines(
    outcomes: Mapping[str, int], left: Mapping[str, Any], title: str = "Left out:"
) -> Iterator[str]:
    """The rows of `left_out_reasons` below a title; nothing if there are none."""
    reasons = left_out_reasons(outcomes, left)
    if reasons:
        yield title
        yield from (f"{count:>12,}  {why}" for count, why in reasons)


#: The beginning of a page's detail, before the words of its links that are no URLs.
_MALFORMED = "links that are no URLs: "


def malformed_detail(references: Sequence[str]) -> str:
    """The detail of a page with `references` that are no URLs; each is one word."""
    return f"{_MALFORMED}{' '.join(references)}"


def malformed_in(detail: str) -> list[str]:
    """The references in a detail of `malformed_detail`; none in another one."""
    return detail[len(_MALFORMED) :].split() if detail.startswith(_MALFORMED) else []


#: Begins the detail of a page whose links are not all known.
_PART = "read in part: "
#: The detail of a sitemap of which only the beginning goes to the outputs.
LONG_SITEMAP = "a sitemap longer than maxPageSize: read to its end, not stored whole"


def part_detail(why: str) -> str:
    """The detail of a sitemap or feed that was not read to its end."""
    return f"{_PART}{why}"


def is_part(detail: str) -> bool:
    """Whether a detail is one of `part_detail`."""
    return detail.startswith(_PART)


#: Statuses by which a server refuses a page to some of those who ask: the link is not broken. Some
#: sites and their guards answer robots with 402, 406, 418, 430 and 999.
REFUSING = ("401", "402", "403", "405", "406", "407", "418", "429", "430", "451", "999")


def status_among(status: int, listed: Iterable[str]) -> bool:
    """Whether a status is `listed`, as "403", "500-599", "5xx", or several such with commas."""
    for low, _, high in (each.partition("-") for each in ",".join(listed).split(",") if each):
        if int(low.replace("x", "0")) <= status <= int((high or low).replace("x", "9")):
            return True
    return False


#: Statuses of no standard, of common servers and services.
_OTHER_PHRASES = {
    419: "Page Expired",
    420: "Enhance Your Calm",
    430: "Security Rejection",
    440: "Login Time-out",
    444: "No Response",
    449: "Retry With",
    450: "Blocked by Parental Controls",
    460: "Client Closed Connection",
    463: "Too Many Forwarded Addresses",
    494: "Request Header Too Large",
    495: "Certificate Error",
    496: "Certificate Required",
    497: "HTTP Request Sent to HTTPS Port",
    498: "Invalid Token",
    499: "Client Closed Request",
    509: "Bandwidth Limit Exceeded",
    520: "Unknown Error of the Web Server",
    521: "Web Server Is Down",
    522: "Connection Timed Out",
    523: "Origin Is Unreachable",
    524: "A Timeout Occurred",
    525: "TLS Handshake Failed",
    526: "Invalid Certificate of the Origin",
    529: "Site Is Overloaded",
    530: "Site Is Frozen",
    561: "Unauthorized",
    598: "Network Read Timeout",
    599: "Network Connect Timeout",
    999: "Request Denied",
}
_PHRASES = _OTHER_PHRASES | {int(each): each.phrase for each in HTTPStatus}
#: What other statuses mean, by their first digit.
_CLASSES = {3: "a redirect", 4: "the server refuses it", 5: "the server has an error"}


def status_in_words(status: int) -> str:
    """An HTTP status with its phrase, or with what its class means."""
    if status in _PHRASES:
        return f"{status} {_PHRASES[status]}"
    return f"{status} ({_CLASSES.get(status // 100, 'no status of HTTP')})"


def failure(status: int, detail: str) -> str:
    """The detail of a failed request; the HTTP status if that is the failure."""
    return status_in_words(status) if status else detail


def _with_login(status: int, detail: str | None) -> str:
    """An HTTP status, what became of the login if it wants one, why a redirect leads nowhere."""
    nowhere = 300 <= status < 400 and not (detail or "").startswith("http")
    more = detail if detail and (nowhere or status in _WANT_LOGIN) else ""
    return f"{status_in_words(status)}: {more}" if more else status_in_words(status)


def _robots_lacking(outcome: str, detail: str) -> bool:
    return outcome in _ROBOTS and detail.startswith(NO_ROBOTS)


def detail_in_words(outcome: str, detail: str) -> str:
    """The detail of an outcome by its name; empty if it has none."""
    if outcome == Outcome.ERR_30X.value and detail.startswith("http"):
        return f"to {detail}"
    if _robots_lacking(outcome, detail):
        return f"its robots.txt could not be fetched{detail[len(NO_ROBOTS) :]}{_SO_NOTHING}"
    return _DNS_REASONS.get(detail, detail) if outcome == Outcome.NO_DNS.value else detail


def reason(outcome: str, status: int | None = None, detail: str | None = None) -> str:
    """The reason in one line: the HTTP status if it decided, else the outcome and its detail."""
    if detail and detail.startswith(_SOFT_404):
        return detail
    if outcome == Outcome.REJECTED.value and detail:
        return detail if detail == ENDS_SESSION else f"rejected by: {detail}"
    if status is not None and status >= HTTPStatus.MULTIPLE_CHOICES:
        return _with_login(status, detail)
    words, more = in_words(outcome), detail_in_words(outcome, detail or "")
    if _robots_lacking(outcome, detail or "") or more.startswith((LONG_HEADERS, _PART)):
        return more  # No robots.txt refuses it, and maxPageSize has no part in it.
    return f"{words}: {more}" if more else words


def brief(outcome: str, status: int | None = None, detail: str | None = None) -> str:
    """The reason in as few words as possible."""
    if detail and detail.startswith(_SOFT_404):
        return detail
    if status is not None and status >= HTTPStatus.MULTIPLE_CHOICES:
        return _with_login(status, detail)
    return detail_in_words(outcome, detail or "") or in_words(outcome)


def cure(outcome: str, detail: str | None = None) -> str:
    """The settings that avoid a failure; empty if there are none."""
    if outcome == Outcome.PRIVATE_ADDRESS.value:
        return _PRIVATE
    if outcome == Outcome.ERR_40X.value and detail == NEEDS_LOGIN:
        return _LOGIN
    # The proxy answers http:// URLs itself; for https:// it refuses the tunnel.
    if (detail or "").endswith(PROXY_NEEDS_LOGIN):
        return _PROXY_LOGIN
    if outcome == Outcome.FORBIDDEN_ROBOTS.value and not (detail or "").startswith(NO_ROBOTS):
        return _NO_ROBOTS_TXT
    if outcome == Outcome.BAD_TLS.value and "certificate" in (detail or ""):
        return _IGNORE if "subject name" in (detail or "") else _TRUST
    return ""


_NOT_MODIFIED = HTTPStatus.NOT_MODIFIED.value
#: RFC 6838, 4.2: names of at most 127 characters before and after the slash.
_LONGEST_TYPE = 255
#: 9999-12-31T23:59:59Z, the last one that has four digits of a year.
_LAST_SECOND = 253_402_300_799


def timestamp(wall: float, timespec: str = "seconds") -> str:
    """Return the Unix time `wall` in ISO 8601, in UTC, to "seconds" or "milliseconds".

    Archives and files may have any time: those before 1970 and after 9999 become the nearest one.
    """
    second, microseconds = divmod(round(wall * 1e6), 10**6)
    fraction = f".{microseconds // 1000:03d}" if timespec == "milliseconds" else ""
    return f"{_second(second)}{fraction}Z"


@lru_cache(1)
def _second(unix: int) -> str:
    """A time that many pages have in common, to the second."""
    unix = min(max(unix, 0), _LAST_SECOND)
    return datetime.fromtimestamp(unix, UTC).replace(tzinfo=None).isoformat()


#: Values of a Content-Type; those of several lines are joined with commas.
_VALUES = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+')
#: MIME Sniffing standard, 4.4. As in browsers, a blank or a comment ends a type as ";" does.
_TYPE = re.compile(r"\s*([!#$%&'*+.^_`|~\w-]+/[!#$%&'*+.^_`|~\w-]+)(?=[\s;(]|$)", re.ASCII)


# Most servers send one of a few values. The longest that a `Transfer` takes would fill 16 MB.
@lru_cache(1 << 6)
def content_type(value: str) -> tuple[str, str | None]:
    """Return the media type and the charset of a Content-Type, as browsers read it.

    Of a list, the last valid type counts (Fetch standard, "extract a MIME type"); its charset may
    stand with the same type before. The type is empty if none is valid.
    """
    media_type, charset = "", None
    for each in _VALUES.findall(value):
        match = _TYPE.match(each)
        found = match[1][:_LONGEST_TYPE].lower() if match and match[1] != "*/*" else ""
        if found == media_type:
            charset = _charset(each) or charset
        elif found:
            media_type, charset = found, _charset(each)
    return media_type, charset


def _charset(value: str) -> str | None:
    for parameter in value.split(";")[1:]:
        name, _, charset = parameter.partition("=")
        if name.strip().lower() == "charset" and charset.strip():
            return charset.strip().strip("\"'") or None
    return None


def declared_type(headers: Sequence[tuple[str, str]]) -> tuple[str, str | None]:
    """Return the `content_type` of `headers` (names in lower case)."""
    return content_type(", ".join([value for name, value in headers if name == "content-type"]))


@dataclass(frozen=True, slots=True)
class Rendering:
    """What became of a page in a browser (render)."""

    #: The body as it was received.
    raw: bytes = field(repr=False)
    #: Milliseconds in the browser, the waits for its requests included.
    ms: int
    #: What was refused to it: the number of requests by reason.
    refused: Mapping[str, int] = field(default_factory=dict)
    #: URLs that it turned to or opened in a window, and views of it that its links name (``#/a``).
    leads: tuple[str, ...] = ()
    #: Why the raw page was kept; empty if it was rendered.
    why: str = ""

    def as_dict(self) -> dict[str, object]:
        """What the crawl log has of it."""
        found: dict[str, object] = {"ms": self.ms}
        if self.refused:
            found["refused"] = dict(self.refused)
        if self.why:
            found["why"] = self.why
        return found


def _unread(page: object) -> Any:
    raise AttributeError("only the plug of a program gets pages with title, text and select")


@dataclass(slots=True)
class Page:
    """The result of one fetch: a page, or the reason why there is none."""

    url: Url
    outcome: Outcome
    #: HTTP status; 0 if no reply came.
    status: int = 0
    #: In the order received; names in lower case, values stripped, decoded as Latin-1. The list is
    #: replaced, and never changed.
    headers: list[tuple[str, str]] = field(default_factory=list)
    #: Decoded (gzip, br). Empty for one that is `not_modified` since a visit that put it into the
    #: database, or, if it is a large file without links, into the mirror.
    body: bytes = b""
    #: The body ended early: "length" (cut at maxPageSize) or "disconnect"; else None.
    truncated: str | None = None
    #: Address the request went to.
    ip: str | None = None
    #: Milliseconds from the start of the request to its end, and to the first byte of the reply.
    ms: int = 0
    first_byte_ms: int = 0
    #: Bytes on the wire, headers included.
    received: int = 0
    #: One short line with the reason, if the outcome alone does not give it.
    detail: str = ""
    #: A reply came that is not what its headers say: no sign of overload. The next request is
    #: made in another way, or shows whether the body always ends there.
    misread: bool = False
    #: The reply changed the cookies that its site gets.
    new_cookies: bool = False
    #: Makes the list of `links`, once the page is parsed.
    list_links: Callable[[], list[str]] = list
    #: Its encoding, once it is parsed.
    charset: str | None = None
    #: Status line and header lines of the reply as received, each with its line end.
    head: bytes = b""
    #: The head of the request as sent, if the fetcher keeps requests.
    request: bytes = b""
    #: What follows the body of a sitemap that is longer than maxPageSize, packed (zlib).
    rest: bytes = b""
    #: What became of it in a browser; None if it was in none. `body` is then what it has become.
    rendering: Rendering | None = None
    #: Reads what it says, for `title`, `text` and `select`; the plug of a program gets it.
    read: "Callable[[Page], Any]" = field(default=_unread, repr=False, compare=False)
    _said: Any = field(default=None, init=False, repr=False, compare=False)
    _links: list[str] | None = field(default=None, init=False, repr=False)
    # What the Content-Type of these headers declares.
    _typed: object = field(default=None, init=False, repr=False, compare=False)
    _declared: tuple[str, str | None] = field(
        default=("", None), init=False, repr=False, compare=False
    )

    @property
    def links(self) -> list[str]:
        """Canonical URLs of all kinds that the page links to, once it is parsed.

        The list is made when it is first read, so pages whose links no output reads cost nothing.
        """
        if self._links is None:
            self._links = self.list_links()
        return self._links

    @property
    def label(self) -> str:
        """What `Crawl.add` called it, or what redirected to it; empty for other pages."""
        return self.url.label

    # For the plug of a program; read when asked for.

    @property
    def title(self) -> str:
        """Its title, or the last part of its URL."""
        title: str = self._reading.content.title
        return title

    @property
    def text(self) -> str:
        """Its main text, as the content database would have it."""
        text: str = self._reading.content.text
        return text

    def select(self, css: str) -> list[Any]:
        """The elements of an HTML page that match a CSS selector; none of other pages.

        Each has `text` and `attr(name)`.
        """
        found: list[Any] = self._reading.select(css)
        return found

    @property
    def _reading(self) -> Any:
        if self._said is None:
            self._said = self.read(self)
        return self._said

    def header(self, name: str) -> str | None:
        """Return the first value of header `name` (lower case)."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    @property
    def not_modified(self) -> bool:
        """Whether the server says that the page has not changed since the last fetch."""
        return self.status == _NOT_MODIFIED

    @property
    def vain(self) -> bool:
        """Whether a sitemap was looked for and is not there: no page, and no failure either."""
        return self.url.purpose is GUESS and self.outcome not in READABLE

    @property
    def type(self) -> str:
        """Media type without parameters, lower case; empty if none was sent, or no valid one.

        Cut at the longest that the RFC allows, as it is logged and servers may send anything.
        """
        return self._content_type[0]

    @property
    def http_charset(self) -> str | None:
        """The charset of the Content-Type."""
        return self._content_type[1]

    @property
    def _content_type(self) -> tuple[str, str | None]:
        if self._typed is not self.headers:
            self._typed, self._declared = self.headers, declared_type(self.headers)
        return self._declared


@dataclass(slots=True)
class Fate:
    """The final record of a URL: a line of the crawl log. Units as in `Page`."""

    ts: str
    url: str
    outcome: str
    status: int
    size: int
    type: str
    depth: int
    via: str | None
    ip: str | None
    ms: int
    #: Which try this was, from 1; 0 if no request was made.
    attempt: int
    detail: str = ""
    #: Needed to show a page (requisites).
    requisite: bool = False
    truncated: str | None = None
    #: What became of it in a browser: see `Rendering.as_dict`.
    rendered: Mapping[str, object] | None = None

    @classmethod
    def of(cls, page: Page, wall: float) -> "Fate":
        """Return the record for the URL of `page`, decided at the Unix time `wall`."""
        url = page.url
        return cls(
            ts=timestamp(wall, "milliseconds"),
            url=url.href,
            outcome=page.outcome.value,
            status=page.status,
            size=len(page.body),
            type=page.type,
            depth=url.depth,
            via=url.via,
            ip=page.ip,
            ms=page.ms,
            attempt=url.attempt,
            detail=page.detail,
            requisite=url.requisite,
            truncated=page.truncated,
            rendered=None if page.rendering is None else page.rendering.as_dict(),
        )

    def as_dict(self) -> dict[str, object]:
        """Return the fields by name, the last four only if they say something."""
        # dataclasses.asdict copies deeply: a millisecond for the fates of a status page.
        values = dict(zip(_NAMES, _values(self), strict=True))
        for name in _OPTIONAL:
            if not values[name]:
                del values[name]
        return values


_OPTIONAL = ("detail", "requisite", "truncated", "rendered")
_NAMES = tuple(each.name for each in fields(Fate))
_values = attrgetter(*_NAMES)
