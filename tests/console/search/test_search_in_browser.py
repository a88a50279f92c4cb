"""The search pages in a real browser."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.console.ports.http import StatusServer
from larbinpy.loop.poller import Poller
from tests.support.browser import Browser, Tab
from tests.support.searchable import COMMAND, PAYLOAD
from tests.support.snapshots import snapshot

pytestmark = pytest.mark.slow

LONG = "http://long.example/" + "x" * 5000
PATHS = {
    "empty": "/search.html",
    "hits": "/search.html?q=energy",
    "nothing": "/search.html?q=" + "w" * 3000,
    "long": "/search.html?q=long",
    "evil": "/search.html?q=evil",
    "right to left": "/search.html?q=solar+2026",
    "stored": "/page.html?q=energy&url=http://www.site0.example/0",
    "stored long": f"/page.html?url={LONG}",
    "stored evil": "/page.html?url=" + quote("http://evil.example/?<b>"),
    "message": "/search.html?q=please+fail",
}


class World:
    """A status server with a search, and a browser, in one loop."""

    def __init__(self, folder: Path) -> None:
        self.poller = Poller()
        self.finder = FinderProcess(self.poller, COMMAND)
        self.server = StatusServer(self.poller, snapshot, "127.0.0.1", 0, finder=self.finder)
        try:
            self.browser = Browser(folder, self.poller, self.step)
        except BaseException:
            self.server.close()
            self.poller.close()
            raise

    def step(self) -> None:
        self.server.step(time.monotonic())

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server.port}{path}"

    def opened(self, path: str, width: int = 1280, *, dark: bool = False) -> Tab:
        tab = self.browser.tab(width, dark=dark)
        alert = "window.alert = (text) => { window.alerts = text; }"
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=alert)
        tab.go(self.url(path))
        return tab

    def close(self) -> None:
        self.browser.close()
        self.server.close()
        self.poller.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("profile"))
    yield world
    world.close()


def without_refusal(tab: Tab) -> list[str]:
    """The complaints, but for the browser's own about a reply with status 503."""
    return [each for each in tab.complaints if "status of 503" not in each]


def at_rest(tab: Tab, world: World) -> None:
    """No script ran, no policy was broken, and no other server was asked."""
    assert without_refusal(tab) == []
    assert {urlsplit(url).netloc for url in tab.requests} == {f"127.0.0.1:{world.server.port}"}
    assert tab.run("window.alerts") is None


def text(tab: Tab) -> str:
    return str(tab.run("document.querySelector('main').textContent"))


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_each_page_fits_the_window_without_complaint(world: World, path: str) -> None:
    tab = world.opened(path)
    for width in (1280, 360):
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=800, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        assert tab.run("document.documentElement.scrollWidth") == width, "it is too wide"
    assert tab.run("document.querySelectorAll('main section').length") > 0
    at_rest(tab, world)
    tab.close()


@pytest.mark.parametrize(
    "path", [PATHS["evil"], PATHS["stored evil"], "/page.html?url=javascript:alert(7)"]
)
def test_stored_markup_stays_text(world: World, path: str) -> None:
    tab = world.opened(path)
    at_rest(tab, world)
    assert PAYLOAD.split("\u202e")[0] in text(tab)
    assert (
        tab.run("document.querySelectorAll('img, iframe, base, svg, script, main style').length")
        == 0
    )
    assert tab.run("document.forms.length") == 1
    schemes = tab.run("[...new Set([...document.links].map(a => a.protocol))]")
    assert schemes == ["http:"]
    tab.close()


def searched(tab: Tab, q: str) -> None:
    """Type a query and press the button, as a user does."""
    tab.run("document.querySelector('input[name=q]').focus()")
    tab.run("document.querySelector('input[name=q]').value = ''")
    tab.call("Input.insertText", text=q)
    click(tab, "form button")


def click(tab: Tab, selector: str) -> None:
    found = f"document.querySelector({selector!r})"
    tab.run(f"{found}.scrollIntoView({{block: 'center'}})")
    box = tab.run(f"{found}.getBoundingClientRect().toJSON()")
    where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    for kind in ("mousePressed", "mouseReleased"):
        tab.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **where)


def test_the_form_and_the_links_work_without_scripts(world: World) -> None:
    tab = world.browser.tab()
    tab.without_scripts()
    tab.go(world.url("/"))
    click(tab, "nav a[href='search.html']")
    tab.until("location.pathname === '/search.html' && !!document.querySelector('dl.examples')")
    searched(tab, 'energy "<b>')
    tab.until("!!document.querySelector('.summary')")
    assert tab.run("location.search") == "?q=energy+%22%3Cb%3E"
    searched(tab, "energy")
    tab.until("document.querySelectorAll('.hits li').length === 10")
    click(tab, "a[rel=next]")
    tab.until("document.querySelector('.hits')?.start === 11")
    click(tab, ".hits .none a")
    tab.until("location.pathname === '/page.html' && !!document.querySelector('.text')")
    assert "Solar energy, 10." in text(tab)
    click(tab, ".back a")
    tab.until("location.pathname === '/search.html' && !!document.querySelector('.hits')")
    click(tab, ".facets a")
    tab.until("location.search.includes('site%3Awww.site0.example')")
    assert tab.complaints == []
    tab.close()


def test_the_script_of_the_status_page_leaves_searches_alone(world: World) -> None:
    """It shows the other pages within one document, and asks for them every second."""
    tab = world.opened("/dns.html")
    click(tab, "nav a[href='search.html']")
    tab.until("location.pathname === '/search.html' && document.forms.length === 1")
    assert tab.run("document.scripts.length") == 0
    searched(tab, "太阳能")
    tab.until("!!document.querySelector('.hits')")
    assert "太阳能是一种能源" in text(tab)
    click(tab, "nav a[href='./']")
    tab.until("location.pathname === '/' && document.scripts.length === 1")
    at_rest(tab, world)
    tab.close()


def test_controls_of_direction_are_left_out_and_names_isolated(world: World) -> None:
    tab = world.opened(PATHS["right to left"])
    assert tab.run("getComputedStyle(document.querySelector('.hits h3')).direction") == "rtl"
    assert tab.run("getComputedStyle(document.querySelector('.hits .url')).direction") == "ltr"
    tab.go(world.url(PATHS["evil"]))
    assert "\u202e" not in tab.run("document.documentElement.outerHTML")
    tab.close()


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(world: World, dark: bool) -> None:
    tab = world.opened(PATHS["hits"], dark=dark)
    for what in ("document.body", "document.querySelector('input[name=q]')"):
        colours: Any = tab.run(
            f"getComputedStyle({what}).backgroundColor.match(/\\d+/g).map(Number)"
        )
        assert (max(colours) < 64) is dark
    tab.close()


def test_another_site_can_neither_search_nor_read(world: World) -> None:
    """An empty page has no origin, so to a browser it is another site."""
    tab = world.browser.tab()
    asked: list[str] = []
    ask, world.finder.ask = world.finder.ask, lambda *a: asked.append(a[1]) or ask(*a)  # type: ignore
    url = world.url("/search.json?q=secret")
    for mode in ("cors", "no-cors"):
        sent = f"fetch({url!r}, {{mode: {mode!r}, referrerPolicy: 'no-referrer'}})"
        assert tab.run(f"{sent}.then(() => 'read', () => 'refused')") == "refused"
    tab.run(
        "new Promise(done => { const frame = document.createElement('iframe');"
        f"frame.src = {url!r}; frame.onload = () => done(true); document.body.append(frame); }})"
    )
    assert asked == []
    # A link that leads the user here fills in the form; the user decides.
    tab.run(f"location.href = {world.url('/search.html?q=secret')!r}, true")
    tab.until("document.querySelector('input[name=q]')?.value === 'secret'")
    assert "press Search" in text(tab)
    assert asked == []
    click(tab, "form button")
    tab.until("!!document.querySelector('.summary')")
    assert asked == ["q=secret"]
    world.finder.ask = ask  # type: ignore[method-assign]
    tab.close()
