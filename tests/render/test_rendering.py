"""Which pages a browser reads, and what is said of them afterwards."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.crawl.rendering import Choice, PartRequests, ScriptCookies, languages_of, part_wait
from larbinpy.fetch.options import RequestOptions
from larbinpy.frontier.site import NamedSite, UrlTotals
from larbinpy.output.log import line
from larbinpy.output.warc.warc import WarcOutput
from larbinpy.page import Fate, Outcome, Page, Rendering
from larbinpy.url import PAGE, SITEMAP, Aim, Ask, Purpose, Url, with_view
from tests.support.frontiers import site_settings
from tests.support.warcs import records

SHELL = b"<!doctype html><title>x</title><div id=app></div><script src=/app.js></script>"
TEXT = b"<!doctype html><title>x</title><p>" + b"words and more words " * 50
HTML = [("content-type", "text/html")]


def page(body: bytes = SHELL, href: str = "http://a.test/x", **more: object) -> Page:
    url = Url(href, 0, requisite=bool(more.pop("requisite", False)))
    url.purpose = more.pop("purpose", PAGE)  # type: ignore[assignment]
    values = {"status": 200, "headers": HTML, "body": body, **more}
    return Page(url, values.pop("outcome", Outcome.SUCCESS), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("render", "taken", "wanted"),
    [
        (("**",), page(), True),
        (("**",), page(TEXT), True),
        (("http://a.test/*",), page(), True),
        (("http://b.test/**",), page(), False),
        (("http://b.test/**", "auto"), page(), True),
        (("auto",), page(), True),
        (("auto",), page(TEXT), False),
        (("auto",), page(TEXT + b"<script>1</script>"), False),
        # A view is that of its page.
        (("http://a.test/x",), page(href="http://a.test/x#/view"), True),
        (("**",), page(headers=[("content-type", "text/plain")]), False),
        (("**",), page(outcome=Outcome.ERR_40X, status=404), False),
        (("**",), page(requisite=True), False),
        (("**",), page(purpose=SITEMAP), False),
        (("**",), page(truncated="length"), False),
        (("**",), page(misread=True), False),
        (("**",), page(status=304), False),
    ],
)
def test_which_pages_a_browser_reads(render: tuple[str, ...], taken: Page, wanted: bool) -> None:
    assert Choice(Config(render=render)).takes(taken, "larbinpy") is wanted


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://a.test/", "http://a.test/"),
        ("http://A.test/#top", "http://a.test/"),
        ("http://A.test/%7ex#/a/b?c", "http://a.test/~x#/a/b?c"),
        ("http://a.test#!a", "http://a.test/#!a"),
        ("http://a.test/#/" + "a" * 600, None),
        ("javascript:void(0)", None),
    ],
)
def test_views_keep_their_name(text: str, url: str | None) -> None:
    assert with_view(text) == url


def test_the_log_says_what_became_of_a_page() -> None:
    taken = page()
    assert "rendered" not in json.loads(line(Fate.of(taken, 0.0)))
    taken.rendering = Rendering(SHELL, 310, {"POST": 1})
    assert json.loads(line(Fate.of(taken, 0.0)))["rendered"] == {"ms": 310, "refused": {"POST": 1}}
    taken.rendering = Rendering(SHELL, 20, why="its process crashed")
    fate = Fate.of(taken, 0.0)
    assert fate.as_dict()["rendered"] == {"ms": 20, "why": "its process crashed"}


def test_an_archive_has_the_page_as_sent_and_what_it_became(tmp_path: Path) -> None:
    output = WarcOutput(tmp_path, {}, lambda: 1_700_000_000.0)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    rendered = page(b"<p>made", "http://a.test/#/view", head=head)
    rendered.rendering = Rendering(SHELL, 10)
    failed = page(SHELL, "http://a.test/y", head=head)
    failed.rendering = Rendering(SHELL, 10, why="its process crashed")
    output.loaded(rendered)
    output.loaded(failed)
    output.close()
    assert rendered.body == b"<p>made"
    found = [each for each in records(*tmp_path.glob("*.warc.gz")) if each.kind != "metadata"]
    assert [(each.kind, each.url, each.content) for each in found[1:]] == [
        ("response", "http://a.test/", SHELL),
        ("conversion", "http://a.test/#/view", b"<p>made"),
        ("revisit", "http://a.test/y", b""),
    ]
    response, conversion = found[1:3]
    assert conversion.fields["WARC-Refers-To"] == response.fields["WARC-Record-ID"]
    assert conversion.fields["Content-Type"] == "text/html; charset=utf-8"


# The requests of pages, and the cookies of their scripts, without a browser.


@pytest.mark.parametrize(
    ("wait", "delay", "seconds"), [(0.0, 10.0, 0.5), (0.0, 0.01, 0.1), (3.0, 10.0, 3.0)]
)
def test_parts_wait_less_than_pages(wait: float, delay: float, seconds: float) -> None:
    site = NamedSite("http://a.test", site_settings(delay, 600), UrlTotals())
    assert part_wait(Config(render_wait=wait))(site) == pytest.approx(seconds)


class Requests:
    """Makes a request that nothing else makes."""

    def make(self, url: Url, address: str) -> Any:
        return url, address


def requests(login: Sequence[str] | None = None) -> PartRequests:
    network: Any = SimpleNamespace(
        options=SimpleNamespace(for_url=lambda url: RequestOptions("us", headers=("X-Own: 1",)))
    )
    headers = None if login is None else lambda url: login
    return PartRequests(Requests(), network, lambda url: 77, headers)


def part(body: bytes | None = None) -> Url:
    ask = Ask("http://a.test/api", body, ("Accept: */*",))
    return Url(ask.href, 0, purpose=Purpose(Aim.PART, "http://a.test", ask))


def test_the_request_for_a_part_is_that_of_the_page_with_the_login_of_its_site() -> None:
    made = requests(("Authorization: Bearer x",)).make(part(), "192.0.2.1")
    assert (made.max_size, made.options.body, made.options.headers) == (77, None, ("X-Own: 1",))
    assert made.headers == ("Accept: */*", "Authorization: Bearer x")
    assert made.accept("any/type", 10**9) is None
    sent = requests().make(part(b""), "192.0.2.1")
    assert (sent.options.body, sent.headers) == (b"", ("Accept: */*",))
    url = Url("http://a.test/", 0)
    assert requests().make(url, "192.0.2.1") == (url, "192.0.2.1")  # type: ignore[comparison-overlap]


class CookieJar:
    """Has some cookies, and notes those that are added."""

    def __init__(self, *lines: bytes) -> None:
        self._lines = lines
        self.added: list[list[bytes]] = []

    def lines(self) -> Sequence[bytes]:
        return self._lines

    set_by_sites = lines

    def add(self, lines: list[bytes], *, over_given: bool) -> None:
        assert not over_given
        self.added.append([line.split(b"\t")[5] + b"=" + line.split(b"\t")[6] for line in lines])


def cookies(jar: CookieJar, name: str = "") -> ScriptCookies:
    network: Any = SimpleNamespace(
        options=SimpleNamespace(of=lambda site: RequestOptions("us", jar=name)),
        fetcher=SimpleNamespace(jars=SimpleNamespace(find=lambda name: jar)),
    )
    return ScriptCookies(network)


def test_cookies_of_scripts_are_taken_once_and_never_over_those_of_replies() -> None:
    jar = CookieJar(
        b".a.test\tTRUE\t/\tFALSE\t0\tsid\t1",
        b"#HttpOnly_a.test\tFALSE\t/\tFALSE\t0\town\t1",
        b"b.test\tFALSE\t/\tFALSE\t0\tother\t1",
        b"x.a.test\tFALSE\t/\tFALSE\t0\tbelow\t1",
        b"ba.test\tFALSE\t/\tFALSE\t0\tbeside\t1",
    )
    taken = cookies(jar)
    url = Url("http://a.test/", 0)
    taken.note(url, "sid=2; own=2; other=2; below=2; beside=2; bare; odd=\x01")
    assert jar.added == [[b"other=2", b"below=2", b"beside=2"]]
    taken.note(url, "sid=2; other=2")
    taken.note(url, "")
    assert len(jar.added) == 1
    taken.note(url, "other=3; a=b=c")
    taken.note(Url("http://c.test/", 0), "other=3")
    assert jar.added[1:] == [[b"other=3", b"a=b=c"], [b"other=3"]]


def test_scripts_may_read_the_cookies_of_the_crawl_for_their_host() -> None:
    jar = CookieJar(
        b".a.test\tTRUE\t/x\tTRUE\t0\tmember\t1",
        "www.a.test\tFALSE\t/\tFALSE\t0\town\tfran\u00e7ais".encode(),
        b"#HttpOnly_a.test\tFALSE\t/\tFALSE\t0\tsession\t3",
        b"b.test\tFALSE\t/\tFALSE\t0\tother\t4",
    )
    url = "http://www.a.test/page"
    assert cookies(jar).readable(Url(url, 0)) == [
        {"name": "member", "value": "1", "path": "/x", "secure": True, "domain": ".a.test"},
        {"name": "own", "value": "fran\u00e7ais", "path": "/", "secure": False, "url": url},
    ]
    assert cookies(jar, "http://www.a.test").readable(Url(url, 0)) == [], "those of a login"


@pytest.mark.parametrize(
    ("accepted", "seen"), [("de,en;q=0.5", "de,en"), (" de-CH ; q=1 , , en", "de-CH,en"), ("", "")]
)
def test_pages_see_the_languages_that_the_crawl_asks_for(accepted: str, seen: str) -> None:
    assert languages_of(accepted) == seen
