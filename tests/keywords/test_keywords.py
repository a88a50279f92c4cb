"""Each keyword of larbin.conf has an effect: a crawl with it differs from one without.

The tests are in this folder, by theme; the first one here checks that they are complete.
"""

from importlib import import_module
from pathlib import Path

from larbinpy.config import SETTINGS
from tests.support.keywords import TESTED, effect_of
from tests.support.smallweb import Answer, Asked, Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]


def test_every_keyword_has_a_test_of_its_effect() -> None:
    for path in Path(__file__).parent.glob("test_*.py"):
        import_module(f"tests.keywords.{path.stem}")
    assert set(TESTED) == {row.keyword for row in SETTINGS.values()}
    assert [keyword for keyword, tests in TESTED.items() if not tests] == []


# The name of the crawler.


@effect_of("From")
def test_from_is_sent_to_every_site(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "//b.test/")
    web.pages("b.test/")
    seen = crawl("From spider@example.org").asked
    assert {asked.headers.get("from") for asked in seen} == {"spider@example.org"}
    assert len(seen) == 4  # two robots.txt, two pages
    assert {asked.headers.get("from") for asked in crawl('From ""').asked} == {None}


@effect_of("UserAgent")
def test_user_agent_is_sent_and_is_the_name_that_robots_txt_means(web: Web, crawl: Worlds) -> None:
    web.robots("a.test", "User-agent: weaver", "Disallow: /web")
    web.page("a.test/", "/web")
    web.pages("a.test/web")
    spider, weaver = crawl("UserAgent spider/1.0"), crawl("UserAgent weaver/1.0")
    assert {asked.headers["user-agent"] for asked in spider.asked} == {"spider/1.0"}
    assert {asked.headers["user-agent"] for asked in weaver.asked} == {"weaver/1.0"}
    assert spider.outcomes["a.test/web"] == "success"
    assert weaver.outcomes["a.test/web"] == "fastRobots"


@effect_of("useCookies")
def test_cookies_are_sent_back_where_they_came_from(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/next", "//b.test/", headers=("Set-Cookie: thread=silk; Path=/",))
    web.pages("a.test/next", "b.test/")
    sent = {asked.place: asked.headers.get("cookie") for asked in crawl("useCookies").asked}
    assert (sent["a.test/next"], sent["b.test/"]) == ("thread=silk", None)
    assert {asked.headers.get("cookie") for asked in crawl().asked} == {None}


def test_pages_behind_a_cookie_are_reached_with_cookies(web: Web, crawl: Worlds) -> None:
    def walled(asked: Asked, answer: Answer) -> Answer:
        """A redirect to itself, or by way of another URL, sets the cookie."""
        if asked.path == "/robots.txt" or "in=1" in asked.headers.get("cookie", ""):
            return answer
        cookie = ("Set-Cookie: in=1; Path=/",) if asked.path != "/round" else ()
        there = {"/round": "/round?set", "/round?set": "/round"}.get(asked.path, asked.path)
        return Answer(status=302, headers=(f"Location: {there}", *cookie))

    web.page("a.test/", "//b.test/round")
    web.pages("b.test/round")
    web.answer = walled
    kept = crawl("useCookies", "getCGI")
    assert kept.outcomes["a.test/"] == kept.outcomes["b.test/round"] == "success"
    assert crawl("getCGI").outcomes == {"a.test/": "err30X"}


# The first URLs.


@effect_of("startUrl")
def test_start_urls_are_where_it_begins(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/", "b.test/")
    assert crawl(seeds=["a.test/"]).fetched == {"a.test/"}
    assert crawl(seeds=["b.test/", "a.test/"]).fetched == {"a.test/", "b.test/"}


@effect_of("punycode")
def test_international_host_names_are_understood_with_and_without_punycode(
    web: Web, crawl: Worlds
) -> None:
    web.page("a.test/", "//b\u00fccher.test/")
    web.page("xn--bcher-kva.test/", "/\u00fc")
    web.put("xn--bcher-kva.test/%C3%BC", Answer(b"<p>umlaut"))
    with_it, without = crawl("punycode"), crawl()
    assert with_it.outcomes == without.outcomes
    assert with_it.fetched == {"a.test/", "xn--bcher-kva.test/", "xn--bcher-kva.test/%C3%BC"}
    assert {name for name, _ in with_it.names.asked} == {"a.test", "xn--bcher-kva.test"}
