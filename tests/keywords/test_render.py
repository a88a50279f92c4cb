"""Keywords of pages that a browser reads, each with Debian's Chromium."""

from itertools import pairwise

import pytest

from larbinpy.config import ConfigError
from tests.support.browser import chromium
from tests.support.keywords import effect_of
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

SHELL = Answer(b"<!doctype html><title>x</title><div id=app></div><script src=/app.js></script>")


def script(text: str) -> Answer:
    return Answer(text.encode(), type="text/javascript")


def rendered(crawl: Worlds, *lines: str) -> World:
    """A crawl with a browser; its clock is the real one, as the browser's is."""
    chromium()
    return crawl(*lines, leaps=False)


@effect_of("render")
def test_render_follows_the_links_that_scripts_make(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", SHELL)
    web.put("a.test/app.js", script("app.innerHTML = '<a href=/made>made</a>'"))
    web.pages("a.test/made")
    assert set(crawl().outcomes) == {"a.test/"}
    for value in ("**", "auto"):
        assert set(rendered(crawl, f"render {value}").outcomes) == {"a.test/", "a.test/made"}
    assert set(rendered(crawl, "render http://b.test/**").outcomes) == {"a.test/"}


@effect_of("renderBrowser")
def test_render_browser_is_the_one_that_is_started(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/")
    with pytest.raises(ConfigError, match="/bin/false does not start"):
        rendered(crawl, "render **", "renderBrowser /bin/false")


@effect_of("renderTime")
def test_render_time_is_what_scripts_have(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", SHELL)
    late = "setTimeout(() => { app.innerHTML = '<a href=/late>late</a>' }, 3000)"
    web.put("a.test/app.js", script(late))
    web.pages("a.test/late")
    assert "a.test/late" in rendered(crawl, "render **").outcomes
    assert "a.test/late" not in rendered(crawl, "render **", "renderTime 1s").outcomes


@effect_of("renderWait")
def test_render_wait_is_between_the_requests_of_a_page(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", SHELL)
    web.put("a.test/app.js", script("for (const n of [1, 2, 3]) fetch('/' + n)"))
    web.pages("a.test/1", "a.test/2", "a.test/3")
    for line, least in (("renderWait 0.5s", 0.5), ("waitDuration 0", 0.1)):
        times = [asked.time for asked in rendered(crawl, "render **", line).asked]
        gaps = [after - before for before, after in pairwise(times[1:])]
        assert len(gaps) == 4
        assert min(gaps) >= least
        assert min(gaps) < 2 * least + 0.5


@effect_of("renderPost")
def test_render_post_lets_a_page_send_data_to_its_own_site(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", SHELL)
    send = (
        "for (const to of ['/post', 'http://b.test/post']) fetch(to, {method: 'POST', body: 'x'})"
    )
    web.put("a.test/app.js", script(send))
    web.pages("a.test/post", "b.test/post")
    posted = {
        lines: [asked.place for asked in rendered(crawl, *lines).asked if asked.method == "POST"]
        for lines in (("render **",), ("render **", "renderPost"))
    }
    assert list(posted.values()) == [[], ["a.test/post"]]
