"""How a tab leads a page from its bytes to its document; the browser replies as it is told."""

from collections.abc import Callable
from typing import Any

import pytest

from larbinpy.page import Outcome, Page
from larbinpy.render.document import DRAWN, READ, SETTLE
from larbinpy.render.tab import Identity, Tab, Visit
from larbinpy.url import Url

PAGE = "http://a.test/app"
#: Virtual seconds of a page.
BUDGET = 8.0
#: The crawl shows this to the site.
ME: Identity = ({"userAgent": "me"}, ())


class Sent:
    """A command, and who waits for its reply."""

    def __init__(self, method: str, values: Any, session: str, replied: Any) -> None:
        self.method, self.values, self.session, self._replied = method, values, session, replied

    def reply(self, result: Any) -> None:
        if self._replied is not None:
            self._replied(result)


class DevTools:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    def send(self, method: str, values: Any, session: str = "", replied: Any = None) -> None:
        self.sent.append(Sent(method, values, session, replied))

    def take(self, method: str) -> Sent:
        """The first command of this name that was not taken, which is there."""
        found = next(each for each in self.sent if each.method == method)
        self.sent.remove(found)
        return found

    def count(self, method: str) -> int:
        return sum(each.method == method for each in self.sent)


class Tabs:
    """A tab with a page, and what came of it."""

    def __init__(self) -> None:
        self.devtools = DevTools()
        self.ended: list[tuple[str | None, str]] = []
        self.asked: list[str] = []
        devtools: Any = self.devtools
        self.tab = Tab(devtools, "http://a.test", BUDGET, self._asked, self._ended, 0.0)
        self.devtools.take("Target.createBrowserContext").reply({"browserContextId": "C"})
        self.tab.attached("S", {"type": "page", "targetId": "T"})
        self.devtools.take("Runtime.runIfWaitingForDebugger").reply({})
        self.devtools.sent.clear()

    def _asked(self, tab: Tab, session: str, values: Any) -> None:
        self.asked.append(values["request"]["url"])

    def _ended(self, visit: Visit, document: str | None, why: str) -> None:
        self.last = visit
        self.ended.append((document, why))

    @property
    def state(self) -> str:
        return self.tab.state.name

    @property
    def visit(self) -> Visit:
        assert self.tab.visit is not None
        return self.tab.visit

    def happen(self, method: str, session: str = "S", **values: Any) -> None:
        self.tab.happened(session, method, values)

    def load(self, href: str = PAGE, now: float = 0.0) -> None:
        """Begin with a page, up to its commit."""
        self.tab.render(Page(Url(href, 0), Outcome.SUCCESS, status=200), ME, now)
        navigation = self.devtools.take("Page.navigate")
        if navigation.values["url"] == "about:blank":
            navigation.reply({})
            navigation = self.devtools.take("Page.navigate")
        assert navigation.values["url"] == href
        self.devtools.take("Emulation.setVirtualTimePolicy")
        self.commit()

    def commit(self) -> None:
        self.happen("Page.frameNavigated", frame={"id": "T", "url": PAGE})

    def given(self) -> float:
        """The virtual seconds that the page was just given."""
        values = self.devtools.take("Emulation.setVirtualTimePolicy").values
        assert values["policy"] == "pauseIfNetworkFetchesPending"
        return float(values["budget"]) / 1000

    def time_over(self) -> float:
        seconds = self.given()
        self.happen("Emulation.virtualTimeBudgetExpired")
        return seconds

    def evaluated(self, script: str) -> Sent:
        """The call of a script, in the world that is apart from that of the page."""
        if self.devtools.count("Page.createIsolatedWorld"):
            world = self.devtools.take("Page.createIsolatedWorld")
            assert world.values["frameId"] == "T"
            world.reply({"executionContextId": 7})
        call = self.devtools.take("Runtime.evaluate")
        assert (call.values["expression"], call.values["contextId"]) == (script, 7)
        return call

    def returns(self, script: str, value: Any) -> None:
        self.evaluated(script).reply({"result": {"value": value}})

    def round(self, shape: str, now: float, under: int = 0) -> None:
        """The page is as `shape` says, and is drawn; then its time comes."""
        self.time_over()
        self.returns(SETTLE, [shape, under])
        if not under:
            self.returns(DRAWN, 1)
        assert self.tab.due is not None
        self.tab.step(max(now, self.tab.due))


@pytest.fixture
def tabs() -> Tabs:
    return Tabs()


def test_a_page_is_scrolled_and_read(tabs: Tabs) -> None:
    tabs.load()
    assert tabs.state == "RUNNING"
    assert tabs.time_over() == BUDGET
    assert tabs.state == "SETTLING"
    tabs.returns(SETTLE, ["a", 0])
    tabs.returns(DRAWN, 1)
    assert tabs.tab.due == pytest.approx(0.02)
    tabs.tab.step(0.01)
    assert tabs.devtools.count("Emulation.setVirtualTimePolicy") == 0
    tabs.tab.step(0.02)
    assert tabs.time_over() == 0.5
    tabs.returns(SETTLE, ["a", 0])
    assert tabs.state == "READING"
    tabs.returns(READ, ["<p>text", "http://a.test/#/view"])
    assert tabs.ended == [("<p>text", "")]
    assert list(tabs.last.leads) == ["http://a.test/#/view"]
    assert (tabs.last.refused, tabs.state) == ({}, "IDLE")


def test_a_page_that_changes_is_given_more_time(tabs: Tabs) -> None:
    tabs.load()
    for number in range(3):
        tabs.round(str(number), number)
    tabs.time_over()
    tabs.returns(SETTLE, ["2", 0])
    assert tabs.state == "READING"
    assert tabs.visit.refused == {}


def test_a_page_that_asks_for_something_has_changed(tabs: Tabs) -> None:
    tabs.load()
    tabs.round("a", 0.0)
    tabs.happen("Fetch.requestPaused", requestId="1", request={"url": "http://a.test/x"})
    assert (tabs.asked, tabs.visit.pending) == (["http://a.test/x"], 1)
    # Nothing goes on until there is an answer.
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    tabs.returns(DRAWN, 1)
    assert tabs.tab.due is None
    tabs.tab.answer("S", {"requestId": "1"}, tabs.visit, {"responseCode": 200})
    answer = tabs.devtools.take("Fetch.fulfillRequest")
    assert answer.values == {"requestId": "1", "responseCode": 200}
    assert tabs.tab.due is not None


def test_a_page_without_end_is_read_after_twelve_rounds(tabs: Tabs) -> None:
    tabs.load()
    for number in range(12):
        tabs.round(str(number), number / 10)
    tabs.time_over()
    tabs.returns(SETTLE, ["13", 0])
    assert tabs.state == "READING"
    assert tabs.visit.refused == {"more scrolling": 1}


def test_what_goes_on_elsewhere_is_waited_for(tabs: Tabs) -> None:
    tabs.load()
    for number in range(3):
        tabs.round("a", number / 10, under=2)
    assert tabs.visit.rounds == 0
    tabs.round("b", 1.0)
    tabs.time_over()
    tabs.returns(SETTLE, ["b", 0])
    assert tabs.state == "READING"


def test_what_never_ends_elsewhere_is_waited_for_some_time(tabs: Tabs) -> None:
    tabs.load()
    for number in range(40):
        tabs.round("a", number / 10, under=1)
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 1])
    tabs.returns(DRAWN, 1)
    assert (tabs.visit.waits, tabs.visit.rounds) == (40, 1)


def test_workers_end_what_they_were_asked(tabs: Tabs) -> None:
    tabs.load()
    for session in ("W1", "W2", "W3"):
        tabs.tab.attached(session, {"type": "worker", "targetId": session})
    tabs.tab.detached("W3")
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    tabs.returns(DRAWN, 1)
    asked = [tabs.devtools.take("Runtime.evaluate")]
    assert tabs.tab.due == 4.0
    asked[0].reply({})
    asked.append(tabs.devtools.take("Runtime.evaluate"))
    asked[1].reply({})
    assert {each.session for each in asked} == {"W1", "W2"}
    assert tabs.tab.due == pytest.approx(0.25)
    # It began with another worker, so it has changed.
    tabs.tab.step(1.0)
    tabs.tab.attached("W4", {"type": "worker", "targetId": "W4"})
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    assert tabs.state == "SETTLING"


def test_a_page_that_is_not_drawn_goes_on_later(tabs: Tabs) -> None:
    tabs.load()
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    tabs.evaluated(DRAWN)
    tabs.tab.step(3.9)
    assert tabs.devtools.count("Emulation.setVirtualTimePolicy") == 0
    tabs.tab.step(4.0)
    assert tabs.given() == 0.5


def test_a_page_that_turns_to_another_does_not_wait_to_be_drawn(tabs: Tabs) -> None:
    tabs.load()
    tabs.visit.refuse("navigation")
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    assert tabs.tab.due == pytest.approx(0.1)


def test_a_document_that_replaces_the_page_is_read_in_its_own_world(tabs: Tabs) -> None:
    tabs.load()
    tabs.round("a", 0.0)
    tabs.commit()
    tabs.given()
    assert tabs.time_over() == BUDGET
    assert tabs.devtools.count("Page.createIsolatedWorld") == 1


def test_another_view_of_a_page_is_loaded_anew(tabs: Tabs) -> None:
    tabs.load()
    tabs.round("a", 0.0)
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    tabs.returns(READ, ["<p>text"])
    tabs.tab.render(Page(Url(f"{PAGE}#/b", 0), Outcome.SUCCESS, status=200), ME, 1.0)
    navigation = tabs.devtools.take("Page.navigate")
    assert navigation.values == {"url": "about:blank"}
    navigation.reply({})
    assert tabs.devtools.take("Page.navigate").values == {"url": f"{PAGE}#/b"}


@pytest.mark.parametrize(
    ("value", "why"),
    [(None, "its document cannot be read"), ([""], "it leaves no document")],
)
def test_a_page_without_a_document_fails(tabs: Tabs, value: Any, why: str) -> None:
    tabs.load()
    tabs.round("a", 0.0)
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    tabs.returns(READ, value)
    assert tabs.ended == [(None, why)]


def test_scripts_that_do_not_end_are_stopped(tabs: Tabs) -> None:
    tabs.load()
    tabs.tab.step(2 * BUDGET + 8.0)
    assert tabs.state == "RUNNING"
    tabs.tab.step(2 * BUDGET + 8.1)
    assert tabs.devtools.count("Runtime.terminateExecution") == 1
    assert (tabs.state, tabs.visit.refused) == ("READING", {"time": 1})
    tabs.tab.step(2 * BUDGET + 16.0)
    assert tabs.ended == []
    tabs.tab.step(2 * BUDGET + 16.2)
    assert tabs.ended == [(None, "its scripts do not end")]
    assert tabs.state == "CLOSED"


def test_waits_for_answers_do_not_count_but_for_ten_minutes(tabs: Tabs) -> None:
    tabs.load()
    tabs.happen("Fetch.requestPaused", requestId="1", request={"url": "http://a.test/x"})
    tabs.tab.step(599.0)
    assert tabs.state == "RUNNING"
    tabs.tab.step(601.0)
    assert tabs.visit.refused == {"time": 1}


def test_a_page_that_does_not_load_fails(tabs: Tabs) -> None:
    tabs.tab.render(Page(Url(PAGE, 0), Outcome.SUCCESS, status=200), ME, 0.0)
    tabs.tab.step(2 * BUDGET + 8.0)
    assert tabs.ended == []
    tabs.tab.step(2 * BUDGET + 8.1)
    assert tabs.ended == [(None, "it does not load in time")]


def test_a_page_that_is_not_loaded_after_another_is_given_back_soon(tabs: Tabs) -> None:
    tabs.load()
    assert not tabs.visit.follows
    tabs.round("a", 0.0)
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    tabs.returns(READ, ["<p>text"])
    tabs.tab.render(Page(Url("http://a.test/b", 0), Outcome.SUCCESS, status=200), ME, 1.0)
    assert tabs.visit.follows
    tabs.tab.step(9.0)
    assert tabs.state == "LOADING"
    tabs.tab.step(9.1)
    assert tabs.ended == [("<p>text", ""), (None, "it does not load in time")]


def test_a_load_that_fails_is_tried_three_times(tabs: Tabs) -> None:
    tabs.tab.render(Page(Url(PAGE, 0), Outcome.SUCCESS, status=200), ME, 0.0)
    for _ in range(3):
        assert tabs.ended == []
        tabs.devtools.take("Page.navigate").reply({"errorText": "net::ERR_ABORTED"})
    assert tabs.ended == [(None, "it cannot be loaded (net::ERR_ABORTED)")]


def test_dialogs_are_answered_up_to_a_hundred(tabs: Tabs) -> None:
    tabs.load()
    tabs.happen("Page.javascriptDialogOpening", type="beforeunload")
    tabs.happen("Page.javascriptDialogOpening", type="alert")
    answers = [tabs.devtools.take("Page.handleJavaScriptDialog").values for _ in range(2)]
    assert answers == [{"accept": True}, {"accept": False}]
    for _ in range(98):
        tabs.happen("Page.javascriptDialogOpening", type="alert")
    assert tabs.ended == []
    tabs.happen("Page.javascriptDialogOpening", type="alert")
    assert tabs.ended == [(None, "it opens dialogs without end")]


def test_windows_are_closed_and_lead_on(tabs: Tabs) -> None:
    tabs.load()
    tabs.happen("Page.windowOpen", url="http://a.test/window")
    tabs.tab.attached("P", {"type": "page", "targetId": "window"})
    assert tabs.devtools.take("Target.closeTarget").values == {"targetId": "window"}
    assert list(tabs.visit.leads) == ["http://a.test/window"]
    assert tabs.visit.refused == {"window": 1}


def test_frames_have_a_limit(tabs: Tabs) -> None:
    tabs.load()
    for _ in range(100):
        tabs.happen("Page.frameAttached")
    assert tabs.tab.takes_frames
    tabs.happen("Page.frameAttached")
    assert not tabs.tab.takes_frames


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (lambda tabs: tabs.happen("Inspector.targetCrashed"), "its process crashed"),
        (lambda tabs: tabs.tab.detached("S"), "its tab was closed"),
        (lambda tabs: tabs.tab.fail("the browser ended"), "the browser ended"),
    ],
)
def test_a_tab_that_breaks_gives_its_page_back(
    tabs: Tabs, break_it: Callable[[Tabs], None], why: str
) -> None:
    tabs.load()
    tabs.happen("Inspector.targetCrashed", session="W")
    tabs.tab.detached("W")
    assert tabs.ended == []
    break_it(tabs)
    break_it(tabs)
    assert tabs.ended == [(None, why)]
    assert tabs.devtools.count("Target.closeTarget") == 1
    assert tabs.devtools.take("Target.disposeBrowserContext").values == {"browserContextId": "C"}


def test_requests_between_pages_fail(tabs: Tabs) -> None:
    tabs.happen("Fetch.requestPaused", requestId="9", request={"url": "http://a.test/late"})
    failed = tabs.devtools.take("Fetch.failRequest")
    assert failed.values == {"requestId": "9", "errorReason": "BlockedByClient"}
    assert tabs.asked == []


def test_a_browser_that_opens_no_tab(tabs: Tabs) -> None:
    devtools: Any = DevTools()
    tab = Tab(devtools, "http://a.test", BUDGET, tabs._asked, tabs._ended, 0.0)
    tab.step(30.0)
    assert tab.state.name == "OPENING"
    tab.step(30.1)
    assert tab.state.name == "CLOSED"


def test_a_site_is_told_once_and_again_what_has_changed(tabs: Tabs) -> None:
    tabs.load()
    assert tabs.devtools.take("Emulation.setUserAgentOverride").values == {"userAgent": "me"}
    cookies = [{"name": name, "value": "1"} for name in "ab"]
    tabs.tab._tell(({"userAgent": "me"}, cookies))
    assert tabs.devtools.count("Emulation.setUserAgentOverride") == 0
    assert tabs.devtools.take("Network.setCookies").values == {"cookies": cookies}
    changed = {"name": "b", "value": "2"}
    tabs.tab._tell(({"userAgent": "you"}, [cookies[0], changed]))
    assert tabs.devtools.count("Emulation.setUserAgentOverride") == 1
    assert tabs.devtools.take("Network.setCookies").values == {"cookies": [changed]}


def test_frames_are_no_workers_and_their_documents_not_that_of_the_page(tabs: Tabs) -> None:
    tabs.load()
    tabs.given()
    tabs.tab.attached("F", {"type": "iframe", "targetId": "F"})
    assert tabs.visit.workers == 0
    tabs.happen("Page.frameNavigated", frame={"id": "F", "url": PAGE})
    tabs.happen("Emulation.virtualTimeBudgetExpired", session="F")
    assert (tabs.state, tabs.devtools.count("Emulation.setVirtualTimePolicy")) == ("RUNNING", 0)
    own = {"resourceType": "Document", "frameId": "T"}
    assert tabs.tab.is_own_document(own)
    assert not tabs.tab.is_own_document({**own, "frameId": "F"})
    assert not tabs.tab.is_own_document({**own, "resourceType": "Fetch"})


def test_a_page_runs_from_its_own_commit(tabs: Tabs) -> None:
    tabs.tab.render(Page(Url(PAGE, 0), Outcome.SUCCESS, status=200), ME, 0.0)
    tabs.devtools.take("Emulation.setVirtualTimePolicy")
    tabs.happen("Page.frameNavigated", frame={"id": "T", "url": "about:blank"})
    assert tabs.state == "LOADING"
    tabs.commit()
    assert (tabs.state, tabs.given()) == ("RUNNING", BUDGET)


def test_a_document_that_cannot_be_read_ends_whatever_is_pending(tabs: Tabs) -> None:
    tabs.load()
    tabs.round("a", 0.0)
    tabs.time_over()
    tabs.returns(SETTLE, ["a", 0])
    tabs.happen("Fetch.requestPaused", requestId="1", request={"url": "http://a.test/x"})
    tabs.tab.step(9.0)
    assert tabs.ended == [(None, "its scripts do not end")]


def test_a_tab_that_failed_does_not_open_later(tabs: Tabs) -> None:
    devtools = DevTools()
    late: Any = devtools
    tab = Tab(late, "http://a.test", BUDGET, tabs._asked, tabs._ended, 0.0)
    devtools.take("Target.createBrowserContext").reply({"browserContextId": "C"})
    tab.attached("S", {"type": "page", "targetId": "T"})
    tab.step(30.1)
    devtools.take("Runtime.runIfWaitingForDebugger").reply({})
    assert tab.state.name == "CLOSED"
