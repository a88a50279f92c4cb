"""The status pages in a real browser."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from larbinpy.console.ports.commands import CommandSteps
from larbinpy.console.ports.http import Posting, StatusServer
from larbinpy.console.status.pages import PAGES
from larbinpy.loop.poller import Poller
from tests.support.browser import Browser, Tab
from tests.support.console_loop import FakeCrawl
from tests.support.snapshots import hostile, snapshot

pytestmark = pytest.mark.slow

TOKEN = "a-token_of-32-bytes"

#: All that may happen to markup in crawled text, tried at once.
PAYLOAD = (
    "<script>alert(1)</script><img src=//evil.example/i onerror=alert(2)>"
    "\"'><svg/onload=alert(3)><a href=javascript:alert(4)>x</a></main><base href=//evil.example>"
)


class Crawl(FakeCrawl):
    def explain(self, url: str) -> CommandSteps:
        why = "it is fetched when its turn comes\u202e"
        yield {"ok": True, "url": url, "state": "queued", "why": why}


class World:
    """A status server and a browser in one loop; `data` is what the server shows next."""

    def __init__(self, folder: Path) -> None:
        self.poller = Poller()
        self.data: dict[str, Any] = snapshot()
        self.crawl = Crawl()
        self.server = StatusServer(
            self.poller, lambda: self.data, "127.0.0.1", 0, True, Posting(self.crawl, TOKEN)
        )
        try:
            self.browser = Browser(folder, self.poller, self.step)
        except BaseException:
            self.server.close()
            self.poller.close()
            raise

    def step(self) -> None:
        self.server.step(time.monotonic())

    def show(self, data: dict[str, Any]) -> None:
        """Show `data` from now on, also to readers of a cached page."""
        self.data = data
        self.server._site._fresh_until = float("-inf")

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.server.port}{path}"

    def close(self) -> None:
        self.browser.close()
        self.server.close()
        self.poller.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("profile"))
    yield world
    world.close()


@pytest.fixture
def world(running: World) -> World:
    running.show(snapshot())
    running.crawl.calls.clear()
    return running


def at_rest(tab: Tab, world: World) -> None:
    """No script error, and no request to another server."""
    assert tab.complaints == []
    assert {urlsplit(url).netloc for url in tab.requests} == {f"127.0.0.1:{world.server.port}"}
    assert tab.run("window.alerts") is None


def opened(world: World, path: str = "/", width: int = 1280, *, dark: bool = False) -> Tab:
    tab = world.browser.tab(width, dark=dark)
    alert = "window.alert = (text) => { window.alerts = text; }"
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=alert)
    tab.go(world.url(path))
    return tab


def look_now(tab: Tab) -> None:
    """Run one update of the script."""
    tab.run("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_shown_without_complaint(world: World, path: str) -> None:
    tab = opened(world, path)
    for width in (1280, 390):
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=800, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        assert tab.run("document.documentElement.scrollWidth") == width, "it is too wide"
    assert tab.run("document.querySelectorAll('main section').length") > 0
    assert tab.run("document.querySelector('nav [aria-current=page]').pathname") == path
    at_rest(tab, world)
    tab.close()


@pytest.mark.parametrize("path", ["/", "/all.html"])
def test_long_names_do_not_make_a_page_too_wide(world: World, path: str) -> None:
    world.show(hostile("x" * 400))
    tab = opened(world, path, 390)
    assert tab.run("document.documentElement.scrollWidth") == 390
    tab.close()


def test_crawled_markup_stays_text(world: World) -> None:
    world.show(hostile(PAYLOAD))
    tab = opened(world, "/all.html")
    at_rest(tab, world)
    assert PAYLOAD in tab.run("document.querySelector('main').textContent")
    assert tab.run("document.querySelectorAll('img, iframe, base, main script').length") == 0
    assert tab.run("[...document.links].every(a => a.origin === location.origin)")
    tab.close()


def test_markup_that_comes_later_stays_text_too(world: World) -> None:
    tab = opened(world, "/all.html")
    world.show(hostile(PAYLOAD))
    look_now(tab)
    tab.until("document.querySelector('main').textContent.includes('onerror=alert(2)')")
    at_rest(tab, world)
    assert tab.run("document.querySelectorAll('img, iframe, base, main script').length") == 0
    assert "<script>" in tab.run("document.title"), "it is the title's text"
    tab.close()


def test_numbers_change_by_themselves_and_the_page_is_not_loaded_again(world: World) -> None:
    tab = opened(world, "/urls.html")
    tab.run("window.mark = document.querySelector('main table'), true")
    world.show(snapshot(state="paused", queues={"in_flight": 123_456}))
    tab.until("document.querySelector('main').textContent.includes('123,456')")
    assert tab.run("document.querySelector('.state').textContent") == "paused"
    assert "paused" in tab.run("document.title")
    assert tab.run("window.mark === document.querySelector('main table')")
    at_rest(tab, world)
    tab.close()


def test_selection_scroll_and_focus_survive_an_update(world: World) -> None:
    """An open part, the selection and the focus survive the next update."""
    tab = opened(world, "/system.html")
    tab.run(
        "document.querySelector('details').open = true,"
        "document.querySelector('summary').focus(),"
        "getSelection().selectAllChildren(document.querySelector('main h2')), true"
    )
    world.show(snapshot(queues={"in_flight": 123_456}))
    tab.until("document.querySelector('main').textContent.includes('123,456')")
    assert tab.run("document.querySelector('details').open")
    assert tab.run("document.activeElement.tagName") == "SUMMARY"
    assert tab.run("getSelection().toString()") == "Queues"
    tab.close()


def test_a_switch_holds_the_page(world: World) -> None:
    tab = opened(world)
    tab.run("document.getElementById('live').click()")
    asked = tab.requests.count(world.url())
    look_now(tab)
    assert tab.run("new Promise(done => setTimeout(() => done(true), 50))")
    assert tab.requests.count(world.url()) == asked
    world.show(snapshot(totals={"urls_seen": 987_654}))
    tab.run("document.getElementById('live').click()")
    tab.until("document.querySelector('main').textContent.includes('987,654')")
    tab.close()


def test_the_page_reports_the_end_of_the_crawl(world: World) -> None:
    tab = opened(world)
    assert tab.run("document.getElementById('lost').hidden")
    tab.run("window.fetch = () => Promise.reject(new TypeError('gone')), true")
    look_now(tab)
    tab.until("!document.getElementById('lost').hidden")
    assert "has not answered since" in tab.run("document.getElementById('lost').textContent")
    assert "48,213" in tab.run("document.querySelector('main').textContent")
    tab.close()


def test_without_scripts_a_page_is_complete(world: World) -> None:
    tab = world.browser.tab()
    tab.without_scripts()
    tab.go(world.url())
    assert "48,213" in tab.run("document.querySelector('main').textContent")
    for hidden in ("bar", "control"):
        assert tab.run(f"document.getElementById('{hidden}').checkVisibility()") is False
    assert tab.complaints == []
    tab.close()


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(world: World, dark: bool) -> None:
    tab = opened(world, dark=dark)
    red, green, blue = tab.run(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert (max(red, green, blue) < 64) is dark
    tab.close()


# Commands.


def enter(tab: Tab, form: str, field: str, value: str) -> None:
    """Type a value into a form and send it, as Enter does."""
    tab.run(f"document.getElementById('{field}').value = {value!r}")
    tab.run(f"document.querySelector('#{form} button').click()")


def click(tab: Tab, selector: str) -> None:
    """Click with the mouse: what scripts click counts as no gesture of the user."""
    box = tab.run(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")
    where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    for kind in ("mousePressed", "mouseReleased"):
        tab.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **where)


def answer(tab: Tab) -> str:
    return str(tab.run("document.getElementById('answer').textContent"))


def test_the_buttons_control_the_crawl_with_the_token_asked_for_once(world: World) -> None:
    tab = opened(world)
    assert tab.run("document.getElementById('ask').checkVisibility()") is False
    tab.run("document.getElementById('pause').click()")
    assert tab.run("document.activeElement.id") == "token"
    assert world.crawl.calls == []
    enter(tab, "ask", "token", TOKEN)
    tab.until("document.getElementById('answer').textContent === 'Done.'")
    assert world.crawl.calls == [("pause",)]
    # The page shows the new state, and offers what may follow.
    world.show(snapshot(state="paused"))
    tab.until("document.getElementById('pause').disabled")
    tab.run("document.getElementById('resume').click()")
    world.browser.until(lambda: world.crawl.calls[-1:] == [("resume",)])
    at_rest(tab, world)
    tab.close()


def test_the_token_stays_in_the_memory_of_the_page(world: World) -> None:
    tab = opened(world)
    tab.run("document.getElementById('pause').click()")
    enter(tab, "ask", "token", TOKEN)
    tab.until("document.getElementById('answer').textContent === 'Done.'")
    # Other pages are shown within the same document.
    click(tab, 'nav a[href="dns.html"]')
    tab.until("document.title.includes('DNS')")
    assert tab.run("location.pathname") == "/dns.html"
    tab.run("document.getElementById('resume').click()")
    tab.until("document.getElementById('ask').hidden")
    assert TOKEN not in tab.run("document.documentElement.outerHTML + location.href")
    assert TOKEN not in "".join(tab.requests)
    assert tab.run("document.getElementById('token').value") == ""
    tab.run("history.back()")
    tab.until("document.title.includes('Overview')")
    at_rest(tab, world)
    kept = "localStorage.length + sessionStorage.length + document.cookie.length"
    assert tab.run(kept) == 0
    # A new document has forgotten it.
    tab.go(world.url())
    tab.run("document.getElementById('pause').click()")
    assert tab.run("document.getElementById('ask').checkVisibility()")
    tab.close()


def test_a_wrong_token_is_asked_for_again(world: World) -> None:
    tab = opened(world)
    tab.run("document.getElementById('pause').click()")
    enter(tab, "ask", "token", "guessed")
    tab.until("document.getElementById('answer').textContent.includes('not the token')")
    assert tab.run("document.getElementById('ask').checkVisibility()")
    assert world.crawl.calls == []
    tab.close()


def test_stop_asks_before_it_stops(world: World) -> None:
    tab = opened(world)
    tab.run("window.confirm = () => false, true")
    tab.run("document.getElementById('stop').click()")
    assert tab.run("document.getElementById('ask').hidden")
    tab.run("window.confirm = () => true, true")
    tab.run("document.getElementById('stop').click()")
    enter(tab, "ask", "token", TOKEN)
    world.browser.until(lambda: world.crawl.calls == [("stop",)])
    tab.close()


def test_the_page_explains_a_url_and_its_text_stays_text(world: World) -> None:
    tab = opened(world, width=390)
    enter(tab, "explain", "url", f" http://a.test/{PAYLOAD} ")
    enter(tab, "ask", "token", TOKEN)
    tab.until("document.getElementById('answer').textContent.includes('its turn')")
    assert "onerror=alert(2)" in answer(tab)
    assert "\u202e" not in answer(tab)
    assert tab.run("document.getElementById('answer').children.length") == 0
    assert tab.run("document.documentElement.scrollWidth") == 390
    at_rest(tab, world)
    tab.close()


def test_the_page_changes_speed_seeds_and_rules(world: World) -> None:
    tab = opened(world, width=390)

    def change(what: str, value: str) -> None:
        chosen = "document.getElementById('what')"
        tab.run(f"{chosen}.value = {what!r}, {chosen}.dispatchEvent(new Event('change'))")
        enter(tab, "change", "value", value)

    change("set waitDuration", "2.5")
    enter(tab, "ask", "token", TOKEN)
    for what, value in (("add", " http://a.test/b c "), ("reject", "**/old/**"), ("drop", "1")):
        tab.until("document.getElementById('answer').textContent.startsWith('Done')")
        change(what, value)
    tab.until("document.getElementById('answer').textContent.startsWith('Done')")
    change("rules", "")
    tab.until("document.getElementById('answer').textContent.startsWith('1  reject')")
    assert answer(tab) == "1  reject **/x  (console, 1234 links)"
    told = [("set", "waitDuration", "2.5"), ("rule", "False", "**/old/**"), ("drop", "1")]
    assert world.crawl.calls == told
    assert world.crawl.seeds[-1][0] == "http://a.test/b%20c"
    change("set bondWidth", "")
    assert "Type its value" in answer(tab)
    assert tab.run("document.documentElement.scrollWidth") == 390
    at_rest(tab, world)
    change("set bondWidth", "x")
    tab.until("document.getElementById('answer').textContent.includes('cannot be set')")
    tab.close()


def test_a_page_of_another_origin_cannot_send_commands(world: World) -> None:
    """Not even one that knows the token."""
    tab = opened(world)
    url = world.url("/control").replace("127.0.0.1", "localhost")
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    for mode in ("cors", "no-cors"):
        sent = (
            f"fetch({url!r}, {{method: 'POST', mode: {mode!r}, headers: {headers}, body: '{{}}'}})"
        )
        assert tab.run(f"{sent}.then(() => 'sent', () => 'refused')") == "refused"
    assert world.crawl.calls == []
    tab.close()


@pytest.mark.parametrize("path", PAGES)
def test_no_table_scrolls_sideways_on_a_phone(world: World, path: str) -> None:
    """With all outcomes, whose names are long words, and large counts."""
    data = snapshot()
    data["outcomes"] = dict.fromkeys(data["outcomes"], 1234567)
    world.show(data)
    tab = opened(world, path, 360)
    wide = (
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        ".map(e => e.closest('section').querySelector('h2').textContent)"
    )
    assert tab.run(wide) == []
