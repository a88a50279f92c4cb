"""What each request of a page in the browser gets."""

import base64
from typing import Any

import pytest

from larbinpy.frontier.scope import Scope
from larbinpy.page import Outcome, Page
from larbinpy.render.parts import RequestDesk, part_of, passed_headers
from larbinpy.render.tab import MOST_REQUESTS, Visit
from larbinpy.url import Aim, Url
from tests.support.frontiers import all_pages

PAGE = "http://a.test/app"


class Tab:
    """Notes what a tab would tell the browser."""

    def __init__(self, page: Page) -> None:
        self.visit: Visit | None = Visit(page, 0.0)
        self.takes_frames = True
        self.answers: list[tuple[str, Any]] = []

    def is_own_document(self, values: Any) -> bool:
        return bool(values.get("own"))

    def answer(self, session: str, values: Any, visit: Any, answer: Any) -> None:
        body = base64.b64decode(answer["body"])
        self.answers.append((values["request"]["url"], (answer["responseCode"], body)))

    def refuse(self, session: str, values: Any, visit: Any, error: str = "") -> None:
        self.answers.append((values["request"]["url"], "refused"))


class Desk:
    """A desk, with the page and the tab that asks it."""

    def __init__(self, **config: Any) -> None:
        self.page = Page(Url(PAGE, 0), Outcome.SUCCESS, status=200, body=b"<p>page")
        self.tab = Tab(self.page)
        self.asked: list[Url] = []
        self.cookies: list[tuple[str, str]] = []
        scope = Scope(all_pages(**config))
        scope.area.add([PAGE])
        self.desk = RequestDesk(
            scope,
            lambda url, now: self.asked.append(url),
            lambda site: bool(config.get("render_post")),
            lambda url, header: self.cookies.append((url.href, header)),
        )

    def ask(self, url: str, kind: str = "Fetch", method: str = "GET", **more: Any) -> Any:
        """The answer to a request, or None if it waits for one."""
        before = len(self.tab.answers)
        request = {"url": url, "method": method, "headers": more.pop("headers", {}), **more}
        values: Any = {"requestId": "1", "resourceType": kind, "request": request}
        if kind == "Own":
            values |= {"own": True, "resourceType": "Document"}
        self.desk.asked(self.tab, "S", values, 0.0)  # type: ignore[arg-type]
        return self.tab.answers[-1][1] if len(self.tab.answers) > before else None

    def arrive(self, url: Url, status: int = 200, body: bytes = b"", **more: Any) -> None:
        outcome = more.pop("outcome", Outcome.SUCCESS)
        headers = [(name.replace("_", "-"), value) for name, value in more.items()]
        self.desk.arrived(Page(url, outcome, status=status, body=body, headers=headers), 0.0)

    @property
    def refused(self) -> dict[str, int]:
        assert self.tab.visit is not None
        return self.tab.visit.refused


@pytest.mark.parametrize(
    ("url", "kind", "method", "why"),
    [
        ("http://a.test/f.woff", "Font", "GET", "not needed"),
        ("http://a.test/v.mp4", "Media", "GET", "not needed"),
        ("ftp://a.test/x", "Fetch", "GET", "badURL"),
        ("http://a.test:22/x", "Fetch", "GET", "badURL"),
        ("http://a.test/beacon", "Ping", "POST", "POST"),
        # It may be a question for the text of the page.
        ("http://a.test/graphql", "Fetch", "POST", "renderPost"),
        ("http://b.test/graphql", "XHR", "POST", "POST"),
        ("http://a.test/x", "Fetch", "DELETE", "DELETE"),
        ("http://b.test/other.js", "Script", "GET", "lockSite"),
        ("http://a.test/tracker.js", "Script", "GET", "reject **/tracker*"),
    ],
)
def test_what_is_refused_is_counted_with_its_reason(
    url: str, kind: str, method: str, why: str
) -> None:
    from larbinpy.config.rule import parse_rule

    rules = (parse_rule(False, "**/tracker*"),)
    desk = Desk(lock_site=True, requisites="site", rules=rules)
    assert desk.ask(url, kind, method) == "refused"
    assert desk.refused == {why: 1}
    assert desk.asked == []


def test_what_a_page_needs_may_be_anywhere_unless_requisites_says_site() -> None:
    for value, asked in (("off", 1), ("everywhere", 1), ("site", 0)):
        desk = Desk(stay="host", requisites=value)
        desk.ask("http://cdn.test/lib.js", "Script")
        assert len(desk.asked) == asked


def test_the_bytes_of_the_page_are_its_navigation() -> None:
    desk = Desk()
    assert desk.tab.visit is not None
    desk.tab.visit.loads = 1
    assert desk.ask(PAGE, "Own") == (200, b"<p>page")
    # It loads itself again: that is fetched, and no more than twice.
    for _ in range(2):
        assert desk.ask(PAGE, "Own") is None
        desk.arrive(desk.asked[-1], body=b"again")
        assert desk.tab.answers[-1][1] == (200, b"again")
    assert desk.ask(PAGE, "Own") == "refused"
    assert desk.refused == {"reload": 1}


def test_a_page_that_turns_to_another_leads_there() -> None:
    desk = Desk()
    assert desk.ask("http://b.test/next", "Own") == "refused"
    assert desk.tab.visit is not None
    assert list(desk.tab.visit.leads) == ["http://b.test/next"]
    assert desk.refused == {"navigation": 1}


def test_images_are_pixels_and_preflights_are_answered() -> None:
    desk = Desk()
    status, body = desk.ask("http://a.test/i.png", "Image")
    assert (status, body[:6]) == (200, b"GIF89a")
    assert desk.ask("http://b.test/icon", "Other", headers={"Accept": "image/avif"})[0] == 200
    assert desk.ask("http://b.test/api", "Fetch", "OPTIONS")[0] == 204
    assert desk.asked == []


def test_pages_share_an_answer_that_is_fresh_or_under_way() -> None:
    desk = Desk()
    for _ in range(2):
        assert desk.ask("http://a.test/app.js", "Script") is None
    [url] = desk.asked
    desk.arrive(url, body=b"js")
    assert [answer for _, answer in desk.tab.answers] == [(200, b"js"), (200, b"js")]
    assert desk.ask("http://a.test/app.js", "Script") == (200, b"js")
    assert len(desk.asked) == 1
    # Data is asked for each time, and what differs in a header is another thing.
    for headers in ({}, {"X-Page": "2"}):
        assert desk.ask("http://a.test/api", headers=headers) is None
    assert len(desk.asked) == 3
    assert (desk.desk.fetched, desk.desk.shared) == (3, 2)


@pytest.mark.parametrize(
    ("outcome", "status", "why"),
    [
        (Outcome.FORBIDDEN_ROBOTS, 0, "robots.txt"),
        (Outcome.PRIVATE_ADDRESS, 0, "privateAddress"),
        (Outcome.TIMEOUT, 0, "timeout"),
        (Outcome.TOO_BIG, 200, "tooBig"),
    ],
)
def test_a_part_that_is_not_there_fails_with_its_reason(
    outcome: Outcome, status: int, why: str
) -> None:
    desk = Desk()
    assert desk.ask("http://a.test/api") is None
    desk.arrive(desk.asked[0], status=status, outcome=outcome)
    assert desk.tab.answers[-1][1] == "refused"
    assert desk.refused == {why: 1}


def test_errors_and_redirects_are_answers() -> None:
    desk = Desk()
    for status in (404, 500, 302):
        assert desk.ask(f"http://a.test/{status}") is None
        desk.arrive(desk.asked[-1], status, outcome=Outcome.ERR_40X, location="/x")
        assert desk.tab.answers[-1][1][0] == status


def test_a_site_that_does_not_answer_holds_no_page() -> None:
    desk = Desk()
    desk.ask("http://slow.test/t.js", "Script")
    desk.desk.give_up(lambda url: True, 10.0)
    assert desk.refused == {}
    desk.desk.give_up(lambda url: False, 30.0)
    assert desk.refused == {}
    desk.desk.give_up(lambda url: True, 30.0)
    assert desk.refused == {"no answer": 1}
    # It comes after all, and is kept for others.
    desk.arrive(desk.asked[0], body=b"js")
    assert desk.ask("http://slow.test/t.js", "Script") == (200, b"js")


def test_a_page_has_so_many_requests() -> None:
    desk = Desk()
    assert desk.tab.visit is not None
    desk.tab.visit.requests = MOST_REQUESTS + 1
    assert desk.ask("http://a.test/x") == "refused"
    assert desk.refused == {"too many requests": 1}


def test_posts_go_to_the_own_site_alone_and_are_shared_with_nobody() -> None:
    desk = Desk(render_post=True)
    for _ in range(2):
        assert desk.ask("http://a.test/api", "Fetch", "POST", postData="q=1") is None
    pieces = [{"bytes": base64.b64encode(piece).decode()} for piece in (b"\xff", b"q")]
    desk.ask("http://a.test/api", "Fetch", "POST", postDataEntries=pieces)
    sent = [url.purpose.ask.body for url in desk.asked if url.purpose.ask]
    assert sent == [b"q=1", b"q=1", b"\xffq"]
    assert desk.ask("http://b.test/api", "Fetch", "POST", postData="q=1") == "refused"


def test_cookies_of_the_own_site_are_told() -> None:
    desk = Desk()
    desk.ask("http://a.test/api", headers={"Cookie": "a=1"})
    desk.ask("http://b.test/api", headers={"Cookie": "b=1"})
    assert desk.cookies == [(PAGE, "a=1")]


def test_a_part_is_asked_for_as_the_page_spells_it() -> None:
    request: Any = {
        "url": "http://b.test/%7Ex?",
        "method": "GET",
        "headers": {"Accept": "text/css", "User-Agent": "Chrome", "Cookie": "a=1", "X-Y": "z"},
    }
    url = part_of(Url("http://a.test/#/view", 0), request)
    assert (url.href, url.spelling) == ("http://b.test/~x", "http://b.test/%7Ex?")
    assert (url.via, url.purpose.aim, url.requisite) == ("http://a.test/", Aim.PART, True)
    assert url.purpose.ask is not None
    assert url.purpose.ask.headers == ("Accept: text/css", "X-Y: z")


def test_headers_that_no_request_can_carry_are_left_out() -> None:
    headers = {"X-A": "a\nb", "X-B": "\u00e4", "X-C": "c" * 3000, "Sec-Fetch-Mode": "cors"}
    assert passed_headers(headers) == []
    assert len(passed_headers({f"x-{n}": "1" for n in range(99)})) == 30


def test_the_document_of_a_page_is_shown_once_for_each_load() -> None:
    """A load that failed before its bytes came is none; and a part of it is another address."""
    desk = Desk()
    visit = desk.tab.visit
    assert visit is not None
    assert desk.ask(PAGE, "Own") == (200, b"<p>page")
    assert (visit.shown, visit.loads) == (1, 0)
    visit.loads = 2
    assert desk.ask(PAGE, "Own") == (200, b"<p>page")
    visit.loads = 2
    assert desk.ask(PAGE, "Own") is None
    assert (visit.shown, visit.reloads) == (2, 1)
    assert desk.ask(PAGE, "Own", "POST") == "refused"
    assert list(visit.leads) == [PAGE]
    assert desk.refused == {"navigation": 1}


@pytest.mark.parametrize(
    ("kind", "accept", "is_image"),
    [
        ("Image", "*/*", True),
        ("Other", "image/avif,*/*", True),
        ("Other", "*/*", False),
        ("Fetch", "image/avif", False),
        ("Other", None, False),
    ],
)
def test_images_are_told_by_what_asks_for_them(
    kind: str, accept: str | None, is_image: bool
) -> None:
    desk = Desk()
    headers = {} if accept is None else {"Accept": accept}
    found = desk.ask("http://a.test/i", kind, headers=headers)
    assert (found is not None and found[1][:6] == b"GIF89a") is is_image
    assert len(desk.asked) == (not is_image)


@pytest.mark.parametrize(
    ("kind", "accept", "is_stream"),
    [
        ("EventSource", "text/event-stream", True),
        ("EventSource", "*/*", True),
        ("Fetch", "text/event-stream", True),
        ("Fetch", "*/*", False),
    ],
)
def test_streams_of_events_are_over_at_once(kind: str, accept: str, is_stream: bool) -> None:
    desk = Desk()
    found = desk.ask("http://a.test/events", kind, headers={"Accept": accept})
    assert (found == (204, b"")) is is_stream
    assert desk.refused == ({"event stream": 1} if is_stream else {})
    assert len(desk.asked) == (not is_stream)


def test_a_preflight_gets_what_it_asks_for() -> None:
    desk = Desk()
    lines: list[Any] = []

    def answer(session: str, values: Any, visit: Any, given: Any) -> None:
        lines.append({line["name"]: line["value"] for line in given["responseHeaders"]})

    desk.tab.answer = answer  # type: ignore[method-assign,assignment]
    names = ("Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers")
    desk.ask("http://b.test/", "Fetch", "OPTIONS", headers=dict(zip(names, "abc", strict=True)))
    desk.ask("http://b.test/", "Fetch", "OPTIONS")
    of = "access-control-allow-"
    assert [[each[f"{of}{end}"] for end in ("origin", "methods", "headers", "credentials")]
            for each in lines] == [["a", "b", "c", "true"], ["*", "GET", "", "true"]]  # fmt: skip


def test_the_bound_of_requests_and_frames() -> None:
    desk = Desk()
    assert desk.tab.visit is not None
    desk.tab.visit.requests = MOST_REQUESTS
    assert desk.ask("http://a.test/x") is None
    desk.tab.takes_frames = False
    assert desk.ask("http://a.test/y") is None
    assert desk.ask("http://a.test/frame", "Document") == "refused"
    assert desk.refused == {"too many frames": 1}
    assert (desk.desk.fetched, desk.desk.shared, desk.desk.refused) == (2, 0, 1)


def test_data_go_nowhere_unless_that_is_set() -> None:
    for value, why in ((False, "renderPost"), (True, "")):
        desk = Desk(render_post=value)
        found = desk.ask("http://a.test/api", "Fetch", "POST", postData="q=1")
        assert (found, desk.refused) == (("refused", {why: 1}) if why else (None, {}))


def test_answers_to_data_are_kept_for_nobody() -> None:
    desk = Desk(render_post=True)
    for number in (1, 2):
        desk.ask("http://a.test/api", "Fetch", "POST", postData="q=1")
        desk.arrive(desk.asked[-1], cache_control="max-age=60")
        assert len(desk.asked) == number
    # Nor is a HEAD answered by what a GET got.
    desk.ask("http://a.test/api", "Fetch", "GET")
    desk.arrive(desk.asked[-1], cache_control="max-age=60")
    assert desk.ask("http://a.test/api", "Fetch", "GET") == (200, b"")
    assert desk.ask("http://a.test/api", "Fetch", "HEAD") is None


def test_the_page_itself_may_be_asked_for_by_its_scripts() -> None:
    """Whatever the rules say of parts."""
    from larbinpy.config.rule import parse_rule

    desk = Desk(rules=(parse_rule(False, "**/a**"),))
    assert desk.ask(PAGE) is None
    assert desk.ask("http://a.test/api") == "refused"


def test_a_reply_without_a_status_or_to_nobody() -> None:
    desk = Desk()
    desk.ask("http://a.test/x")
    desk.arrive(desk.asked[0], status=0, outcome=Outcome.SUCCESS)
    assert desk.refused == {"success": 1}
    desk.arrive(desk.asked[0])
    desk.arrive(Url("http://a.test/y", 0))
    assert len(desk.tab.answers) == 1


def test_what_was_given_up_is_given_up_once() -> None:
    desk = Desk()
    desk.ask("http://slow.test/t.js", "Script")
    for now in (20.0, 20.1, 20.2):
        desk.desk.give_up(lambda url: True, now)
        assert desk.refused == ({} if now == 20.0 else {"no answer": 1})
    # Who asks later waits for the same request.
    assert desk.ask("http://slow.test/t.js", "Script") is None
    assert len(desk.asked) == 1
    desk.arrive(desk.asked[0], body=b"js")
    assert desk.tab.answers[-1][1] == (200, b"js")


def test_what_a_request_is_known_by() -> None:
    """Not the order of its headers, nor its part of the page."""
    desk = Desk()
    for url, headers in [
        ("http://a.test/x#1", {"B": "1", "A": "2"}),
        ("http://a.test/x#2", {"A": "2", "B": "1"}),
    ]:
        assert desk.ask(url, headers=headers) is None
    assert len(desk.asked) == 1
    assert passed_headers({"X-A": "a" * 2000, "X-B": "b" * 2001}) == [("X-A", "a" * 2000)]


def test_cookies_are_those_of_the_site_of_the_page() -> None:
    desk = Desk()
    desk.ask("http://a.test/x")
    desk.ask("http://a.test:81/x", headers={"Cookie": "a=1"})
    assert desk.cookies == []


def test_a_long_post_is_cut() -> None:
    request: Any = {"url": "http://a.test/", "method": "POST", "headers": {}}
    page = Url(PAGE, 0)
    for length, sent in ((1 << 20, 1 << 20), ((1 << 20) + 1, 1 << 20), (0, 0)):
        url = part_of(page, {**request, "postData": "x" * length})
        assert url.purpose.ask is not None and url.purpose.ask.body == b"x" * sent
    url = part_of(page, {**request, "postDataEntries": [{}, {"bytes": "eHk="}]})
    assert url.purpose.ask is not None and url.purpose.ask.body == b"xy"
    assert (url.depth, url.spelling) == (0, "")


@pytest.mark.parametrize(
    ("sent", "given"),
    [
        (b"<template shadowrootmode=closed>", b"<template shadowrootmode=open>"),
        (
            b"<template id='a' shadowrootmode = \"Closed\">",
            b"<template id='a' shadowrootmode = \"open\">",
        ),
        (b"<template shadowrootmode=open>closed", b"<template shadowrootmode=open>closed"),
        (b"<p>shadowrootmode=closed</p>", b"<p>shadowrootmode=closed</p>"),
    ],
)
def test_shadow_roots_of_the_document_are_open(sent: bytes, given: bytes) -> None:
    desk = Desk()
    desk.page.body = sent
    assert desk.ask(PAGE, "Own") == (200, given)
    assert desk.page.body == sent


def test_what_is_posted_is_sent_each_time_and_its_reply_given_to_nobody_else() -> None:
    desk = Desk(render_post=True)
    for body in ("a", "b", "b"):
        desk.ask("http://a.test/api", method="POST", postData=body)
    bodies = [url.purpose.ask.body for url in desk.asked if url.purpose.ask is not None]
    assert bodies == [b"a", b"b", b"b"]
    desk.arrive(desk.asked[1], body=b"of b", cache_control="max-age=60")
    assert desk.tab.answers == [("http://a.test/api", (200, b"of b"))]
    desk.ask("http://a.test/api", method="POST", postData="b")
    assert len(desk.asked) == 4
