"""Which tab gets which page, and what becomes of pages whose tab or browser fails."""

from collections.abc import Callable
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.page import Outcome, Page
from larbinpy.render import renderer
from larbinpy.render.renderer import TABS, Renderer
from larbinpy.render.tab import Tab, TabState, Visit
from larbinpy.url import Url
from tests.support.contexts import make_context


class DevTools:
    """Notes the names of the commands."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def send(self, method: str, values: Any, session: str = "", replied: Any = None) -> None:
        self.sent.append((method, values))

    def count(self, method: str) -> int:
        return sum(name == method for name, _ in self.sent)


class Browser:
    """A browser that does what the test says."""

    def __init__(self, context: Any, named: Any, happened: Any, gone: Any) -> None:
        self.devtools = DevTools()
        self.happened, self.gone = happened, gone
        self.ready, self.why, self.failures = True, "", 0
        self.memory = self.starts = 0
        self.is_alone = True
        self.deadline = 1000.0

    def step(self, now: float) -> None:
        pass

    def close(self) -> None:
        pass


class Rendering:
    """A renderer of pages, those that came back, and the time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.back: list[Page] = []
        parts: Any = type("Parts", (), {"fetched": 1, "shared": 2, "refused": 3})()
        context = make_context(config=Config(render=("**",)), clock=lambda: self.now)
        self.renderer = Renderer(
            context,
            parts,
            self.back.append,
            lambda now: None,
            lambda page: ({"a": page.url.site}, ()),
        )
        self.browser: Any = self.renderer.browser

    @property
    def tabs(self) -> list[Tab]:
        return self.renderer._tabs

    def put(self, *hrefs: str) -> None:
        for href in hrefs:
            self.renderer.put(Page(Url(href, 0), Outcome.SUCCESS, status=200, body=b"raw"))
        self.step()

    def step(self, now: float | None = None) -> None:
        self.now = self.now if now is None else now
        self.renderer.step(self.now)

    def open(self) -> None:
        """All tabs that open are open, and get their pages."""
        for tab in self.tabs:
            if tab.state is TabState.OPENING:
                tab._is_open({})
        self.step()

    def end(self, tab: Tab, document: str | None, why: str = "") -> None:
        """The page of a tab is done, or failed and closed it."""
        if document is None:
            tab.fail(why)
            self.step()
            return
        visit, tab.visit = tab.visit, None
        assert isinstance(visit, Visit)
        tab.state = TabState.IDLE
        tab._ended(visit, document, why)
        self.step()

    @property
    def ends(self) -> list[tuple[str, bytes, str | None]]:
        return [(page.url.href, page.body, page.detail) for page in self.back]


@pytest.fixture
def rendering(monkeypatch: pytest.MonkeyPatch) -> Rendering:
    monkeypatch.setattr(renderer, "Browser", Browser)
    return Rendering()


def test_pages_of_a_site_follow_one_another_in_its_tab(rendering: Rendering) -> None:
    rendering.put("http://a.test/1")
    assert [tab.site for tab in rendering.tabs] == ["http://a.test"]
    assert rendering.renderer.away == 1
    rendering.open()
    (tab,) = rendering.tabs
    assert rendering.renderer.away == 1
    assert tab.visit is not None and not tab.visit.follows
    rendering.end(tab, "<p>one")
    assert rendering.renderer.deadline is None
    rendering.put("http://a.test/2")
    assert rendering.tabs == [tab] and tab.visit is not None and tab.visit.follows
    rendering.end(tab, "<p>two")
    assert rendering.ends == [
        ("http://a.test/1", b"\xef\xbb\xbf<p>one", ""),
        ("http://a.test/2", b"\xef\xbb\xbf<p>two", ""),
    ]
    assert rendering.back[0].rendering is not None and rendering.back[0].rendering.raw == b"raw"
    assert rendering.renderer.describe()["rendered"] == 2
    assert rendering.renderer.describe()["pages_per_s"] == 0.2
    rendering.now = 10.1
    assert rendering.renderer.describe()["pages_per_s"] == 0.0
    assert rendering.renderer.away == 0


def test_there_are_eight_tabs_and_the_one_that_was_used_longest_ago_goes(
    rendering: Rendering,
) -> None:
    rendering.put(*(f"http://{n}.test/" for n in range(TABS + 1)))
    rendering.open()
    assert (len(rendering.tabs), rendering.renderer.describe()["waiting"]) == (TABS, 1)
    for number, tab in enumerate(list(rendering.tabs)):
        tab.used = float(number != 3)
    rendering.end(rendering.tabs[5], "<p>")
    assert [tab.site for tab in rendering.tabs[-1:]] == [f"http://{TABS}.test"]
    assert len(rendering.tabs) == TABS
    assert "http://5.test" not in {tab.site for tab in rendering.tabs}


def test_idle_and_old_tabs_are_closed(rendering: Rendering) -> None:
    rendering.put("http://a.test/", "http://b.test/")
    rendering.open()
    first, second = rendering.tabs
    rendering.end(first, "<p>")
    second.pages = 100
    rendering.end(second, "<p>")
    rendering.step()
    assert rendering.tabs == [first]
    rendering.step(60.0)
    assert rendering.tabs == [first]
    rendering.step(60.1)
    rendering.step()
    assert rendering.tabs == []
    assert rendering.browser.devtools.count("Target.disposeBrowserContext") == 0


def test_a_page_that_fails_is_kept_as_it_was_sent(rendering: Rendering) -> None:
    rendering.put("http://a.test/")
    rendering.open()
    rendering.end(rendering.tabs[0], None, "it does not load in time")
    assert rendering.ends == [("http://a.test/", b"raw", "not rendered: it does not load in time")]
    assert rendering.renderer.describe()["kept_as_sent"] == 1


def test_a_page_that_does_not_load_after_another_begins_anew_three_times(
    rendering: Rendering,
) -> None:
    rendering.put("http://a.test/loops")
    rendering.open()
    rendering.end(rendering.tabs[0], "<p>")
    rendering.put("http://a.test/next")
    for _ in range(2):
        (tab,) = rendering.tabs
        assert tab.visit is not None
        tab.visit.follows = True
        rendering.end(tab, None, "it does not load in time")
        assert len(rendering.ends) == 1
        rendering.open()
    (tab,) = rendering.tabs
    assert tab.visit is not None and not tab.visit.follows
    rendering.end(tab, "<p>next")
    assert rendering.ends[1] == ("http://a.test/next", b"\xef\xbb\xbf<p>next", "")


def test_it_ends_if_each_tab_had_another_page_before(rendering: Rendering) -> None:
    rendering.put("http://a.test/next")
    for _ in range(3):
        assert rendering.ends == []
        rendering.open()
        assert rendering.tabs[0].visit is not None
        rendering.tabs[0].visit.follows = True
        rendering.end(rendering.tabs[0], None, "it does not load in time")
    assert [detail for *_, detail in rendering.ends] == ["not rendered: it does not load in time"]


def gone(rendering: Rendering, why: str = "it ended") -> None:
    rendering.browser.why = why
    rendering.browser.failures += 1
    rendering.browser.gone(why)
    rendering.step()


def test_pages_begin_anew_when_the_browser_ends_three_times_at_most(rendering: Rendering) -> None:
    rendering.put("http://a.test/")
    for _ in range(3):
        assert rendering.ends == []
        rendering.open()
        gone(rendering)
    assert rendering.ends == [("http://a.test/", b"raw", "not rendered: it ended")]


def test_no_page_waits_for_a_browser_that_does_not_start(rendering: Rendering) -> None:
    rendering.browser.ready = False
    rendering.put("http://a.test/")
    for _ in range(3):
        gone(rendering)
    assert rendering.ends == []
    gone(rendering)
    why = "not rendered: the browser does not start: it ended"
    assert rendering.ends == [("http://a.test/", b"raw", why)]
    assert rendering.back[0].rendering is not None and rendering.back[0].rendering.ms == 0


@pytest.mark.parametrize(
    ("target", "calls"),
    [
        (lambda tab: {"type": "page", "targetId": "t", "browserContextId": tab.context}, 0),
        (lambda tab: {"type": "page", "targetId": "t", "browserContextId": "other"}, 1),
    ],
)
def test_a_target_is_given_to_the_tab_of_its_context(
    rendering: Rendering, target: Callable[[Tab], Any], calls: int
) -> None:
    rendering.put("http://a.test/")
    (tab,) = rendering.tabs
    tab._has_context({"browserContextId": "C"})
    values = {"sessionId": "S", "targetInfo": target(tab)}
    rendering.browser.happened("", "Target.attachedToTarget", values)
    assert rendering.browser.devtools.count("Target.closeTarget") == calls
    assert tab.session == ("" if calls else "S")
    rendering.open()
    rendering.browser.happened("S", "Inspector.targetCrashed", {})
    assert len(rendering.ends) == 1 - calls


def test_of_idle_tabs_the_one_that_was_used_longest_ago_is_closed(rendering: Rendering) -> None:
    rendering.put(*(f"http://{n}.test/" for n in range(TABS)))
    rendering.open()
    tabs = list(rendering.tabs)
    for number in (4, 6, 2):
        rendering.end(tabs[number], "<p>")
    for number, used in ((4, 3.0), (6, 1.0), (2, 2.0)):
        tabs[number].used = used
    rendering.put("http://new.test/")
    assert tabs[6].state is TabState.CLOSED
    assert [tabs[number].state for number in (4, 2)] == [TabState.IDLE] * 2
    assert [tab.site for tab in rendering.tabs if tab not in tabs] == ["http://new.test"]


def test_a_tab_has_a_hundred_pages_and_ends_the_last_one(rendering: Rendering) -> None:
    rendering.put("http://a.test/1")
    rendering.open()
    (tab,) = rendering.tabs
    tab.pages = 100
    rendering.step()
    assert tab.state is TabState.LOADING
    rendering.end(tab, "<p>")
    tab.state = TabState.IDLE
    rendering.renderer._tabs = [tab]
    rendering.put("http://a.test/2")
    assert [each.visit for each in rendering.tabs] == [None] * len(rendering.tabs)


def test_pages_wait_for_the_browser(rendering: Rendering) -> None:
    rendering.browser.ready = False
    rendering.put("http://a.test/")
    assert rendering.tabs == []
    rendering.browser.ready = True
    rendering.step()
    assert len(rendering.tabs) == 1
