"""What each request of a page in the browser gets.

Nothing leaves but by the crawl: a GET or HEAD for something that is needed to show the page, within
the scope of requisites. The rest of the decisions are those of any URL: see `turns`.

`Answers` are shared between pages while they are fresh (RFC 9111), as a site's scripts and styles
are the same for all its pages. What says nothing about its time is taken for fresh as RFC 9111,
4.2.2 allows; data that scripts ask for is not.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import Any, NamedTuple

from larbinpy.frontier.scope import Candidate, Scope
from larbinpy.page import Outcome, Page
from larbinpy.parse import Kind
from larbinpy.render.pipe import Values
from larbinpy.render.tab import MOST_REQUESTS, Tab, Visit
from larbinpy.storage.caches import LruBudget
from larbinpy.url import Aim, Ask, Purpose, Url, as_sent, bare, resolve, site_of

#: Bytes of all answers that are kept.
_MOST_BYTES = 64 << 20
#: Bytes of an answer besides its body.
_EACH = 1000
#: A tenth of the time since its last change, and at most this (s).
_HEURISTIC, _MOST_HEURISTIC = 0.1, 86400.0
#: Scripts and styles that say nothing of their time are fresh for this long (s).
_STATIC = 600.0
_STATIC_TYPES = frozenset({"Script", "Stylesheet"})
#: Headers that belong to the connection, or to the body as it was sent, or make a download of it.
_NOT_PASSED = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"}
    | {"trailer", "upgrade", "alt-svc", "strict-transport-security", "report-to", "nel"}
    | {"content-disposition"}
)
_DIRECTIVE = re.compile(r'\s*([\w-]+)(?:\s*=\s*"?([^",]*)"?)?\s*(?:,|$)')


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """An answer as the browser gets it, and until when it is fresh."""

    values: Mapping[str, Any]
    size: int
    fresh_until: float


def answer_of(page: Page, kind: str, now: float) -> PartAnswer:
    """The answer that a reply is, to a request of the resource type `kind`."""
    values = fulfilment(page.status, page.headers, page.body)
    fresh = 0.0
    if page.status in (200, 203, 301, 308, 404, 410):
        fresh = now + freshness(page.headers, kind)
    return PartAnswer(values, len(page.body) + _EACH, fresh)


def fulfilment(
    status: int, headers: Sequence[tuple[str, str]], body: bytes = b""
) -> Mapping[str, Any]:
    """The values of Fetch.fulfillRequest."""
    lines = [{"name": name, "value": value} for name, value in headers if name not in _NOT_PASSED]
    return {
        "responseCode": status,
        "responseHeaders": lines,
        "body": b64encode(body).decode(),
    }


def freshness(headers: Sequence[tuple[str, str]], kind: str) -> float:
    """Seconds for which a reply is fresh when it comes; 0 if it is for its own request alone."""
    by_name = dict(headers)
    control = {
        name.lower(): value for name, value in _DIRECTIVE.findall(by_name.get("cache-control", ""))
    }
    if {"no-store", "no-cache"} & control.keys() or by_name.get("vary", "").strip() == "*":
        return 0.0
    if (age := control.get("max-age")) is not None:
        left = float(age) if age.isdecimal() and len(age) < 12 else 0.0
        return max(left - _number(by_name.get("age", "")), 0.0)
    date = _moment(by_name.get("date", ""))
    if "expires" in by_name:
        until = _moment(by_name["expires"])
        return max(until - date, 0.0) if until and date else 0.0
    changed = _moment(by_name.get("last-modified", ""))
    static = _STATIC if kind in _STATIC_TYPES else 0.0
    if changed and date and kind in _STATIC_TYPES:
        static = max(static, min((date - changed) * _HEURISTIC, _MOST_HEURISTIC))
    return static


def _number(text: str) -> float:
    return float(text) if text.isdecimal() and len(text) < 12 else 0.0


def _moment(text: str) -> float:
    try:
        parsed = parsedate_tz(text)
        return float(mktime_tz(parsed)) if parsed else 0.0
    except (ValueError, OverflowError, IndexError, TypeError):
        return 0.0


class Answers:
    """The answers that are fresh, by what was asked; those used least go first."""

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._answers: dict[str, PartAnswer] = {}
        self._budget: LruBudget[str] = LruBudget(most)

    def get(self, key: str, now: float) -> PartAnswer | None:
        """The answer to `key` if it is fresh."""
        found = self._answers.get(key)
        if found is None:
            return None
        if found.fresh_until <= now:
            del self._answers[key]
            self._budget.discard(key)
            return None
        self._budget.use(key, found.size)
        return found

    def put(self, key: str, answer: PartAnswer, now: float) -> None:
        """Keep an answer, if it is fresh for some time."""
        if answer.fresh_until > now:
            self._answers[key] = answer
            self._budget.use(key, answer.size)
            for old in self._budget.surplus():
                del self._answers[old]


#: Kinds of links by the browser's types of resources; all others are requisites.
_KINDS = {"Stylesheet": Kind.SHEET, "Image": Kind.IMAGE}
#: Types that no document needs; the crawl itself fetches them if they are wanted (requisites).
_UNNEEDED = frozenset({"Font", "Media", "TextTrack", "Manifest", "Prefetch"})
#: Types that scripts ask for data with.
_ASKING = frozenset({"Fetch", "XHR"})
#: Takes the place of images.
_PIXEL = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c000000000100010000020144003b"
)
_IMAGE = fulfilment(
    200,
    [("content-type", "image/gif"), ("access-control-allow-origin", "*")],
    _PIXEL,
)
#: Headers of requests that are not those of this crawl, or of its choice.
_NOT_SENT = frozenset(
    {"accept-encoding", "accept-language", "connection", "content-length", "cookie", "host"}
    | {"user-agent", "from", "referer", "range", "upgrade-insecure-requests", "te", "upgrade"}
    | {"proxy-authorization", "keep-alive", "transfer-encoding", "expect", "trailer"}
    | {"if-none-match", "if-modified-since", "if-range", "cache-control", "pragma"}
)
#: Characters of a header that is passed on, and headers of one request.
_LONGEST_HEADER, _MOST_HEADERS = 2000, 30
#: Bytes of a body that is sent.
_LONGEST_BODY = 1 << 20

#: The reason to refuse data of a page to its own site, which may be a question for its text.
POSTS = "renderPost"
#: The reasons of refusals, by the outcome of a part that was not fetched.
_WORDS = {
    Outcome.FORBIDDEN_ROBOTS: "robots.txt",
    Outcome.FAST_ROBOTS: "robots.txt",
    Outcome.PRIVATE_ADDRESS: "privateAddress",
}


class Waiter(NamedTuple):
    """A request of a page that waits for an answer."""

    tab: Tab
    visit: Visit
    session: str
    values: Values


class RequestDesk:
    """Decides about each request of pages, and gives the answers."""

    def __init__(
        self,
        scope: Scope,
        ask: Callable[[Url, float], None],
        posts: Callable[[str], bool],
        has_cookies: Callable[[Url, str], None] = lambda url, header: None,
    ) -> None:
        """`ask` fetches a part; `posts` is whether pages of a site may send data to it.

        `has_cookies` gets the cookies of a page for its own site.
        """
        self._scope = scope
        self._ask = ask
        self._posts = posts
        self._has_cookies = has_cookies
        self._answers = Answers()
        # Those that wait, by what they asked for; and that, by the id of the URL under way.
        self._waiting: dict[str, list[Waiter]] = {}
        self._keys: dict[int, tuple[str, str, Url]] = {}
        # When each URL was asked for.
        self._since: dict[int, float] = {}
        #: Requests of pages: fetched, answered by what was fetched before, and refused.
        self.fetched = self.shared = self.refused = 0

    def asked(self, tab: Tab, session: str, values: Values, now: float) -> None:
        """Answer a request, at once or later."""
        visit = tab.visit
        assert visit is not None
        request, kind = values["request"], values.get("resourceType", "")
        if tab.is_own_document(values) and self._is_own(tab, visit, session, values):
            return
        if _is_image(request, kind):
            tab.answer(session, values, visit, _IMAGE)
            return
        if _is_stream(request, kind):
            visit.refuse("event stream")
            tab.answer(session, values, visit, _NO_STREAM)
            return
        if request["method"] == "OPTIONS":
            tab.answer(session, values, visit, _preflight(request["headers"]))
            return
        why = self._why_not(tab, visit, request, kind)
        if why:
            self._refuse(Waiter(tab, visit, session, values), why)
            return
        cookies, href = request["headers"].get("Cookie"), resolve(request["url"])
        if cookies and href and site_of(href) == visit.page.url.site:
            self._has_cookies(visit.page.url, cookies)
        self._get(Waiter(tab, visit, session, values), now)

    def _is_own(self, tab: Tab, visit: Visit, session: str, values: Values) -> bool:
        """Whether a request for the document of the page is decided: its bytes, or a refusal.

        A page that loads itself again is fetched again; it turns to no other page.
        """
        page, request = visit.page, values["request"]
        href = resolve(request["url"])
        if href != bare(page.url.href) or request["method"] != "GET":
            visit.leads[request["url"]] = None
            visit.refuse("navigation")
            tab.refuse(session, values, visit, "Aborted")
            return True
        if not visit.shown or visit.loads > visit.shown:
            visit.shown += 1
            body = _opened(page.body)
            tab.answer(session, values, visit, fulfilment(page.status, page.headers, body))
            return True
        visit.reloads += 1
        if visit.reloads > _MOST_RELOADS:
            visit.refuse("reload")
            tab.refuse(session, values, visit, "Aborted")
            return True
        return False

    def _why_not(self, tab: Tab, visit: Visit, request: Values, kind: str) -> str:
        """The reason to refuse a request; empty if it is asked for."""
        href = resolve(request["url"])
        method = str(request["method"])
        own = href is not None and site_of(href) == visit.page.url.site
        if kind in _UNNEEDED:
            return "not needed"
        if href is None:
            return "badURL"
        if visit.requests > MOST_REQUESTS:
            return "too many requests"
        if kind == "Document" and not tab.takes_frames:
            return "too many frames"
        if method not in ("GET", "HEAD"):
            if method != "POST" or not own:
                return method
            refused = POSTS if kind in _ASKING else method
            return "" if self._posts(visit.page.url.site) else refused
        if href == bare(visit.page.url.href):
            return ""
        link = _KINDS.get(kind, Kind.REQUISITE)
        candidate = Candidate(href, visit.page.url.href, redirect=False, kind=link, requisite=True)
        reason = self._scope.refusing(candidate)
        return "" if reason is None else reason.rule

    def _refuse(self, waiter: Waiter, why: str) -> None:
        self.refused += 1
        waiter.visit.refuse(why)
        waiter.tab.refuse(waiter.session, waiter.values, waiter.visit)

    def _get(self, waiter: Waiter, now: float) -> None:
        page, request = waiter.visit.page, waiter.values["request"]
        key = _key(request)
        known = self._answers.get(key, now) if request["method"] == "GET" else None
        if known is not None:
            self.shared += 1
            waiter.tab.answer(waiter.session, waiter.values, waiter.visit, known.values)
            return
        if key in self._waiting and request["method"] != "POST":
            self.shared += 1
            self._waiting[key].append(waiter)
            return
        key = key if request["method"] != "POST" else f"{key} {id(waiter)}"
        self._waiting[key] = [waiter]
        url = part_of(page.url, request)
        self._keys[id(url)] = key, waiter.values.get("resourceType", ""), url
        self._since[id(url)] = now
        self.fetched += 1
        self._ask(url, now)

    def give_up(self, is_stuck: Callable[[Url], bool], now: float) -> None:
        """Refuse what is `is_stuck` for long, as its site does not answer."""
        for number, since in list(self._since.items()):
            key, _, url = self._keys[number]
            if now > since + _PATIENCE and self._waiting[key] and is_stuck(url):
                waiters, self._waiting[key] = self._waiting[key], []
                for waiter in waiters:
                    self._refuse(waiter, "no answer")

    def arrived(self, page: Page, now: float) -> None:
        """Give the reply to a part, or none, to all that wait for it."""
        known = self._keys.pop(id(page.url), None)
        if known is None:
            return
        key, kind, _ = known
        del self._since[id(page.url)]
        waiters = self._waiting.pop(key)
        if not page.status or page.outcome in _WORDS or page.outcome is Outcome.TOO_BIG:
            for waiter in waiters:
                self._refuse(waiter, _WORDS.get(page.outcome, page.outcome.value))
            return
        answer = answer_of(page, kind, now)
        if page.url.purpose.ask is None or page.url.purpose.ask.body is None:
            self._answers.put(key, answer, now)
        for waiter in waiters:
            waiter.tab.answer(waiter.session, waiter.values, waiter.visit, answer.values)


#: Seconds for a site to be reached that a part is on.
_PATIENCE = 20.0
#: Such a stream of events is over, and is not opened again.
_NO_STREAM = fulfilment(204, [("access-control-allow-origin", "*")])
#: Times that a page may load itself again.
_MOST_RELOADS = 2


#: The mode of a shadow root within a document.
_CLOSED = re.compile(rb"(<template\s[^<>]*?shadowrootmode\s*=\s*[\"']?)closed\b", re.IGNORECASE)


def _opened(body: bytes) -> bytes:
    """A document as it is given to the browser: its shadow roots are open."""
    return _CLOSED.sub(rb"\1open", body) if b"shadowrootmode" in body else body


def _is_image(request: Values, kind: str) -> bool:
    accept = request["headers"].get("Accept", "")
    return kind == "Image" or (kind == "Other" and accept.startswith("image/"))


def _is_stream(request: Values, kind: str) -> bool:
    return kind == "EventSource" or request["headers"].get("Accept") == "text/event-stream"


def _key(request: Values) -> str:
    headers = " ".join(f"{name}: {value}" for name, value in passed_headers(request["headers"]))
    return f"{request['method']} {request['url'].partition('#')[0]} {headers}"


def passed_headers(headers: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The headers of a request that are passed on, by a page's scripts or its browser."""
    found = []
    for name, value in headers.items():
        lower = name.lower()
        if lower in _NOT_SENT or lower.startswith(("sec-", "proxy-")):
            continue
        text = str(value)
        if len(text) <= _LONGEST_HEADER and text.isascii() and text.isprintable():
            found.append((name, text))
    return sorted(found)[:_MOST_HEADERS]


def part_of(page: Url, request: Values) -> Url:
    """The URL for a request of `page`, which can be crawled."""
    href = resolve(request["url"])
    assert href is not None
    lines = tuple(f"{name}: {value}" for name, value in passed_headers(request["headers"]))
    body = None
    if request["method"] == "POST":
        body = _posted(request)[:_LONGEST_BODY]
    ask = Ask(href, body, lines)
    url = Url(href, 0, bare(page.href), requisite=True, purpose=Purpose(Aim.PART, page.site, ask))
    spelling = as_sent(request["url"], page.href)
    url.spelling = spelling if spelling != href else ""
    return url


def _posted(request: Values) -> bytes:
    """What a request sends; the browser says it in pieces, each in base64."""
    pieces = request.get("postDataEntries") or []
    if pieces:
        return b"".join(b64decode(piece.get("bytes", "")) for piece in pieces)
    return str(request.get("postData", "")).encode()


def _preflight(headers: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer to what a browser asks before a request; that one is decided when it comes."""
    by_name = {name.lower(): str(value) for name, value in headers.items()}
    return fulfilment(
        204,
        [
            ("access-control-allow-origin", by_name.get("origin", "*")),
            ("access-control-allow-methods", by_name.get("access-control-request-method", "GET")),
            ("access-control-allow-headers", by_name.get("access-control-request-headers", "")),
            ("access-control-allow-credentials", "true"),
        ],
    )
