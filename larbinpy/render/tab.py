"""A tab of the browser: leads one page after the other of a site from its bytes to its document.

    OPENING --attached--> IDLE --render--> LOADING --committed--> RUNNING <--more time-- SETTLING
                                                                  RUNNING --time over--> SETTLING
                          IDLE <--document-- READING <--nothing new--------------------- SETTLING

While a page is LOADING no virtual time passes, and while it is RUNNING none passes as long as one
of its requests is under way. What does not depend on the timers of the page (its workers, its
stores, the frames that are drawn) goes on in real time: SETTLING leaves it some, scrolls, and gives
the page more virtual time, as long as it changes by that. A tab in which anything goes wrong is
CLOSED; another is opened for the next page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from larbinpy.page import Page
from larbinpy.render.document import CLOCK, DRAWN, ELSEWHERE, FRAMES, OPEN_ROOTS, READ, SETTLE
from larbinpy.render.pipe import DevTools, Values

#: Pixels. Most pages fit into this, so that what they show only when it is in view is shown.
WIDTH, HEIGHT = 1280, 8000
#: Pixels of that which are drawn: nobody looks at them, and they cost time.
_DRAWN_HEIGHT = 800
#: Real seconds that a page may take besides twice its virtual time, and to read its document.
_PATIENCE, _READING = 8.0, 8.0
#: Times that a page is scrolled on and given more time; the virtual seconds of each, and the real
#: seconds before it, after it was drawn, with workers, whose messages take their time, or if it is
#: not drawn.
_ROUNDS, _MORE, _PAUSE, _WORKERS_PAUSE, _LONGEST_PAUSE = 12, 0.5, 0.02, 0.25, 4.0
#: Times that it is waited for what goes on elsewhere, and the seconds of each, real and virtual.
_WAITS, _WAIT = 40, 0.1
#: Views of a page (``#/a``), and links that went as it was scrolled, which are taken.
_MOST_LEADS = 5000
#: Why a page fails whose document is never shown. One before it may be the reason.
NOT_LOADED = "it does not load in time"
#: Real seconds of a page in all, its waits for answers included.
_LONGEST = 600.0
#: Seconds for a tab to open.
_OPENING = 30.0
#: Times that a page is loaded: browsers may end the first load of a new tab, and pages reload.
_LOADS = 3
#: Requests of a page, frames in it, and dialogs that are answered.
MOST_REQUESTS = 500
_MOST_FRAMES = 100
_MOST_DIALOGS = 100
#: Targets that a page may have beside itself.
_PARTS = frozenset({"iframe", "worker"})


class TabState(Enum):
    OPENING = auto()
    IDLE = auto()
    LOADING = auto()
    RUNNING = auto()
    SETTLING = auto()
    READING = auto()
    CLOSED = auto()


@dataclass(slots=True)
class Visit:
    """A page in the browser."""

    page: Page
    began: float
    #: Whether its tab had another page before.
    follows: bool = False
    #: Requests that wait for an answer, and all so far.
    pending: int = 0
    requests: int = 0
    frames: int = 0
    workers: int = 0
    dialogs: int = 0
    loads: int = 0
    #: Times that its own bytes were given, and that it asked for itself again.
    shown: int = 0
    reloads: int = 0
    #: Times that it was given more time, and that it was waited for; what was seen then, how much
    #: time is next, and when.
    rounds: int = 0
    waits: int = 0
    shape: str = ""
    more: float = 0.0
    due: float | None = None
    #: Real seconds in which no request was pending, up to `seen`.
    spent: float = 0.0
    seen: float = 0.0
    #: What was refused: the number of requests by reason.
    refused: dict[str, int] = field(default_factory=dict)
    #: Where it leads by itself: windows that it opens, other pages that it turns to.
    leads: dict[str, None] = field(default_factory=dict)

    def refuse(self, why: str) -> None:
        self.refused[why] = self.refused.get(why, 0) + 1


#: The crawl shows it to a site: the values of Emulation.setUserAgentOverride, and those of
#: Network.setCookies for each cookie that scripts may read.
Identity = tuple[Values, Sequence[Values]]
#: Gets a visit that has ended: with the document, or None and the reason.
Ended = Callable[[Visit, str | None, str], None]
#: Gets a request of a page: its session and what the browser says of it.
Asked = Callable[["Tab", str, Values], None]


class Tab:
    """A tab for the pages of one `site`, in a context of its own: cookies and stores."""

    def __init__(
        self,
        devtools: DevTools,
        site: str,
        budget: float,
        asked: Asked,
        ended: Ended,
        now: float,
    ) -> None:
        """`budget` are the virtual seconds of a page."""
        self._devtools = devtools
        self.site = site
        self._budget = budget
        self._asked = asked
        self._ended = ended
        self.state = TabState.OPENING
        self._since = self.used = now
        self.context = ""
        self.target = ""
        # The session of the page itself, and those of its frames and workers.
        self.session = ""
        self._workers: set[str] = set()
        # Its site was shown this.
        self._told: Identity = ({}, ())
        # The context of our scripts in the document that is shown, while it is known.
        self._world: int | None = None
        self.visit: Visit | None = None
        #: Pages so far, and the URL of the last one without the name of its view.
        self.pages = 0
        self._shown = ""
        self._events: Mapping[str, Callable[[str, Values], None]] = {
            "Fetch.requestPaused": self._on_request,
            "Page.frameNavigated": self._on_navigated,
            "Emulation.virtualTimeBudgetExpired": self._on_time_over,
            "Page.javascriptDialogOpening": self._on_dialog,
            "Page.frameAttached": self._on_frame,
            "Page.windowOpen": self._on_window,
            "Inspector.targetCrashed": self._on_crash,
        }
        devtools.send("Target.createBrowserContext", {}, replied=self._has_context)

    def __repr__(self) -> str:
        return f"<Tab {self.site} {self.state.name}>"

    # Opening.

    def _has_context(self, result: Values | None) -> None:
        if result is None or self.state is not TabState.OPENING:
            return self.fail("the browser opens no tab")
        self.context = result["browserContextId"]
        place = {"browserContextId": self.context}
        self._devtools.send("Browser.setDownloadBehavior", {"behavior": "deny", **place})
        size = {"newWindow": True, "width": WIDTH, "height": _DRAWN_HEIGHT}
        self._devtools.send("Target.createTarget", {"url": "about:blank", **place, **size})
        return None

    def attached(self, session: str, target: Values) -> None:
        """A target of this tab's context, which waits for its start, is at `session`."""
        if target["type"] == "page" and not self.session:
            self.session, self.target = session, target["targetId"]
            self._set_up(session)
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            self._send("Emulation.setDeviceMetricsOverride", {**size, "dontSetVisibleSize": True})
            for source in (OPEN_ROOTS, FRAMES, CLOCK, ELSEWHERE):
                script = {"source": source, "runImmediately": True}
                self._send("Page.addScriptToEvaluateOnNewDocument", script)
            self._send("Runtime.runIfWaitingForDebugger", {}, self._is_open)
        elif target["type"] in _PARTS:
            self._set_up(session)
            self._devtools.send("Runtime.runIfWaitingForDebugger", {}, session)
            if target["type"] == "worker" and self.visit is not None:
                self.visit.workers += 1
                self._workers.add(session)
        else:
            # A window that it opened, a worker that would outlive it.
            self._devtools.send("Target.closeTarget", {"targetId": target["targetId"]})

    def detached(self, session: str) -> None:
        """The target at `session` is gone."""
        self._workers.discard(session)
        if session == self.session:
            self.fail("its tab was closed")

    def _set_up(self, session: str) -> None:
        attach = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        patterns = {"patterns": [{"urlPattern": "*"}]}
        for method, values in (
            ("Fetch.enable", patterns),
            ("Page.enable", {}),
            ("Target.setAutoAttach", attach),
        ):
            self._devtools.send(method, values, session)

    def _send(
        self, method: str, values: Values, replied: Callable[[Values | None], None] | None = None
    ) -> None:
        self._devtools.send(method, values, self.session, replied)

    def _is_open(self, result: Values | None) -> None:
        if result is not None and self.state is TabState.OPENING:
            self.state = TabState.IDLE
        elif result is None:
            self.fail("the browser opens no tab")

    # A page.

    def render(self, page: Page, identity: Identity, now: float) -> None:
        """Begin with a page of its site; it must be IDLE."""
        assert self.state is TabState.IDLE, self
        self._tell(identity)
        self.state = TabState.LOADING
        self._since = now
        self.visit = Visit(page, now, follows=self.pages > 0, seen=now)
        self.pages += 1
        href, before = self._href(page), self._shown
        self._shown = href.partition("#")[0]
        if before == self._shown:
            # Another view of the same page would be shown without loading it.
            self._send("Page.navigate", {"url": "about:blank"}, lambda _: self._load())
        else:
            self._load()

    def _tell(self, identity: Identity) -> None:
        """Give the browser what is new in `identity`: its scripts may have changed the rest."""
        (before, known), self._told = self._told, identity
        agent, cookies = identity
        if agent != before:
            self._send("Emulation.setUserAgentOverride", agent)
        new = [each for each in cookies if each not in known]
        if new:
            self._send("Network.setCookies", {"cookies": new})

    def _load(self) -> None:
        if self.visit is None or self.state is not TabState.LOADING:
            return
        self.visit.loads += 1
        self._send("Emulation.setVirtualTimePolicy", {"policy": "pause"})
        visit = self.visit

        def loaded(result: Values | None) -> None:
            if self.visit is not visit or self.state is not TabState.LOADING:
                return
            why = "the tab is gone" if result is None else result.get("errorText")
            if why and visit.loads < _LOADS:
                self._load()
            elif why:
                self.fail(f"it cannot be loaded ({why})")

        self._send("Page.navigate", {"url": self._href(visit.page)}, loaded)

    @staticmethod
    def _href(page: Page) -> str:
        return page.url.spelling or page.url.href

    def happened(self, session: str, method: str, values: Values) -> None:
        """Take an event of one of its sessions."""
        event = self._events.get(method)
        if event is not None and self.state is not TabState.CLOSED:
            event(session, values)

    def _on_request(self, session: str, values: Values) -> None:
        if self.visit is not None:
            self.visit.pending += 1
            self.visit.requests += 1
            self._asked(self, session, values)
        else:
            self.refuse(session, values, None)

    def is_own_document(self, values: Values) -> bool:
        """Whether a request is for the document of the page itself, or of one that replaces it."""
        return values.get("resourceType") == "Document" and values.get("frameId") == self.target

    def answer(
        self, session: str, values: Values, visit: Visit | None, answer: Mapping[str, Any]
    ) -> None:
        """Answer a request of a page."""
        request = {"requestId": values["requestId"]}
        self._devtools.send("Fetch.fulfillRequest", {**request, **answer}, session)
        self._answered(visit)

    def refuse(
        self, session: str, values: Values, visit: Visit | None, error: str = "BlockedByClient"
    ) -> None:
        """Let a request of a page fail."""
        request = {"requestId": values["requestId"], "errorReason": error}
        self._devtools.send("Fetch.failRequest", request, session)
        self._answered(visit)

    @staticmethod
    def _answered(visit: Visit | None) -> None:
        if visit is not None:
            visit.pending -= 1

    def _on_navigated(self, session: str, values: Values) -> None:
        frame = values["frame"]
        if frame["id"] != self.target:
            return
        self._world = None
        if frame["url"] == "about:blank":
            return
        if self.state in (TabState.LOADING, TabState.RUNNING, TabState.SETTLING):
            self._run(self._budget)

    def _run(self, seconds: float) -> None:
        """Let the page have so much virtual time."""
        self.state = TabState.RUNNING
        budget = {"policy": "pauseIfNetworkFetchesPending", "budget": seconds * 1000}
        self._send("Emulation.setVirtualTimePolicy", budget)

    def _on_frame(self, session: str, values: Values) -> None:
        if self.visit is not None:
            self.visit.frames += 1

    @property
    def takes_frames(self) -> bool:
        """Whether the page may load another frame."""
        return self.visit is not None and self.visit.frames <= _MOST_FRAMES

    def _on_window(self, session: str, values: Values) -> None:
        if self.visit is not None:
            self.visit.refuse("window")
            self.visit.leads[str(values.get("url"))] = None

    def _on_dialog(self, session: str, values: Values) -> None:
        accept = values.get("type") == "beforeunload"
        self._devtools.send("Page.handleJavaScriptDialog", {"accept": accept}, session)
        if self.visit is not None:
            self.visit.dialogs += 1
            if self.visit.dialogs > _MOST_DIALOGS:
                self.fail("it opens dialogs without end")

    def _on_crash(self, session: str, values: Values) -> None:
        # That of a shared worker says so, too, when its target is closed.
        if session == self.session:
            self.fail("its process crashed")

    # The document.

    def _on_time_over(self, session: str, values: Values) -> None:
        if self.state is TabState.RUNNING and session == self.session:
            self.state = TabState.SETTLING
            self._evaluate(SETTLE, self._has_shape)

    def _has_shape(self, found: object) -> None:
        visit = self.visit
        if visit is None or self.state is not TabState.SETTLING:
            return
        shape, under = found if isinstance(found, list) else ("", 0)
        seen = f"{shape} {visit.requests} {visit.workers}"
        if under and visit.waits < _WAITS:
            visit.waits += 1
            visit.more, visit.due = _WAIT, visit.seen + _WAIT
        elif not visit.rounds or (seen != visit.shape and visit.rounds < _ROUNDS):
            visit.rounds += 1
            # A page that turns to another one at once is never drawn.
            leaves = "navigation" in visit.refused
            visit.more, visit.due = _MORE, visit.seen + (_WAIT if leaves else _LONGEST_PAUSE)
            self._evaluate(DRAWN, lambda _: self._await(list(self._workers)))
            visit.shape = seen
        else:
            if seen != visit.shape:
                visit.refuse("more scrolling")
            self._read()

    def _await(self, workers: list[str]) -> None:
        """Give the page more time when its workers have done what they were asked."""
        if workers:
            idle = {"expression": "0"}
            session = workers.pop()
            self._devtools.send("Runtime.evaluate", idle, session, lambda _: self._await(workers))
        elif self.visit is not None and self.visit.due is not None:
            pause = _WORKERS_PAUSE if self._workers else _PAUSE
            self.visit.due = self.visit.seen + pause

    @property
    def due(self) -> float | None:
        """When to call `step` again, for the sake of the page that is SETTLING."""
        return None if self.visit is None or self.visit.pending else self.visit.due

    def _read(self) -> None:
        self.state = TabState.READING
        if self.visit is not None:
            self.visit.spent = 0.0
        self._evaluate(READ, self._has_document)

    def _evaluate(self, script: str, replied: Callable[[object], None]) -> None:
        """Run a script within the page, apart from its own; `replied` gets None if it fails."""

        def has_world(result: Values | None) -> None:
            if result is None:
                return replied(None)
            self._world = result["executionContextId"]
            values = {"expression": script, "contextId": self._world, "returnByValue": True}
            values["awaitPromise"] = True
            return self._send("Runtime.evaluate", values, has_value)

        def has_value(result: Values | None) -> None:
            replied(((result or {}).get("result") or {}).get("value"))

        if self._world is not None:
            has_world({"executionContextId": self._world})
        else:
            world = {"frameId": self.target, "worldName": "larbinpy"}
            self._send("Page.createIsolatedWorld", world, has_world)

    def _has_document(self, value: object) -> None:
        if self.state is not TabState.READING or self.visit is None:
            return
        if not isinstance(value, list):
            self.fail("its document cannot be read")
            return
        visit, self.visit = self.visit, None
        text, *leads = map(str, value)
        visit.leads.update(dict.fromkeys(leads[:_MOST_LEADS]))
        self.state = TabState.IDLE
        self._ended(visit, text or None, "" if text else "it leaves no document")

    # Time, and the end.

    def step(self, now: float) -> None:
        """Look at the time."""
        visit = self.visit
        if self.state is TabState.OPENING and now > self._since + _OPENING:
            self.fail("the browser opens no tab")
        if visit is None:
            return
        self.used = now
        if not visit.pending or self.state is TabState.READING:
            visit.spent += now - visit.seen
        visit.seen = now
        if self.state is TabState.SETTLING and self.due is not None and now >= self.due:
            visit.due = None
            self._run(visit.more)
        self._look(visit, now)

    def _look(self, visit: Visit, now: float) -> None:
        """End a page that takes too long."""
        if self.state is TabState.READING:
            if visit.spent > _READING:
                self.fail("its scripts do not end")
        elif self.state is TabState.LOADING and visit.follows and visit.spent > _PATIENCE:
            # Scripts of the page before may not end, which run when it is left.
            self.fail(NOT_LOADED)
        elif visit.spent > 2 * self._budget + _PATIENCE or now > visit.began + _LONGEST:
            if self.state is TabState.LOADING:
                self.fail(NOT_LOADED)
            else:
                visit.refuse("time")
                self._send("Runtime.terminateExecution", {})
                self._read()

    def fail(self, why: str) -> None:
        """End its page, if it has one, without a document; and the tab."""
        if self.state is TabState.CLOSED:
            return
        self.close()
        visit, self.visit = self.visit, None
        if visit is not None:
            self._ended(visit, None, why)

    def close(self) -> None:
        """Close it, with all that its pages have stored."""
        if self.state is TabState.CLOSED:
            return
        self.state = TabState.CLOSED
        if self.target:
            self._devtools.send("Target.closeTarget", {"targetId": self.target})
        if self.context:
            context = {"browserContextId": self.context}
            self._devtools.send("Target.disposeBrowserContext", context)
