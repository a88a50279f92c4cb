"""The pages of a crawl that a browser reads: their queue, its tabs, and what came of them."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from larbinpy.context import Context
from larbinpy.page import Page, Rendering
from larbinpy.render.browser import Browser
from larbinpy.render.document import body_of
from larbinpy.render.parts import RequestDesk
from larbinpy.render.pipe import Values
from larbinpy.render.tab import NOT_LOADED, Identity, Tab, TabState, Visit

#: Pages that are read at the same time; most of the time they wait for answers.
TABS = 8
#: Pages after which a tab is replaced, and seconds after which an idle one is closed.
_PAGES, _IDLE = 100, 60.0
#: Times that a page is begun with, if the browser ends meanwhile, or the page before bars the tab.
_TRIES = 3
#: Failed starts in a row after which pages do not wait for the browser.
_HOPELESS = 3
#: Seconds over which the pages a second are counted, and most of them.
_RECENTLY, _MOST_TIMES = 10.0, 1000
#: Seconds between two looks at pages under way.
_LOOK = 0.25


@dataclass(slots=True)
class PageInLine:
    """A page that waits for a tab."""

    page: Page
    since: float
    tries: int = 0


class Renderer:
    """Gives pages to tabs; a listener of the engine.

    `done` gets each page back, with the document for its body if it has one. `open_parts` begins
    the requests for parts that are due, and returns the time of the next one. `identity_of` says
    what the crawl tells a site of itself.
    """

    def __init__(
        self,
        context: Context,
        parts: RequestDesk,
        done: Callable[[Page], None],
        open_parts: Callable[[float], float | None],
        identity_of: Callable[[Page], Identity],
    ) -> None:
        config = context.config
        self._clock = context.clock
        self._budget = config.render_time
        self._identity_of = identity_of
        self._done = done
        self._open_parts = open_parts
        #: Started by the crawl.
        self.browser = Browser(context, config.render_browser, self._happened, self._browser_gone)
        context.closing.callback(self.browser.close)
        self._devtools = self.browser.devtools
        self.parts = parts
        self._queue: deque[PageInLine] = deque()
        self._tabs: list[Tab] = []
        # The jobs under way, by their visit's page.
        self._jobs: dict[int, PageInLine] = {}
        self._by_session: dict[str, Tab] = {}
        self._next_part: float | None = None
        #: Pages rendered, and those that were not although they were to be.
        self.rendered = self.failed = 0
        # When the last pages were rendered.
        self._times: deque[float] = deque(maxlen=_MOST_TIMES)

    @property
    def away(self) -> int:
        """The number of pages that are not back yet."""
        return len(self._queue) + len(self._jobs)

    def describe(self) -> dict[str, object]:
        """For the snapshot: pages, requests of pages, and the browser itself."""
        now, desk = self._clock(), self.parts
        while self._times and self._times[0] < now - _RECENTLY:
            self._times.popleft()
        return {
            "waiting": len(self._queue),
            "under_way": len(self._jobs),
            "rendered": self.rendered,
            "pages_per_s": round(len(self._times) / _RECENTLY, 2),
            "kept_as_sent": self.failed,
            "asked": desk.fetched,
            "shared": desk.shared,
            "refused": desk.refused,
            "memory_bytes": self.browser.memory,
            "starts": self.browser.starts,
            "ended_by": self.browser.why,
            "without_network": self.browser.is_alone,
        }

    def put(self, page: Page) -> None:
        """Take a page to be rendered."""
        self._queue.append(PageInLine(page, self._clock()))

    # A listener of the engine.

    @property
    def deadline(self) -> float | None:
        if not self.away:
            return None
        now = self._clock()
        times = [now + _LOOK, self.browser.deadline, self._next_part]
        times += [tab.due for tab in self._tabs]
        return min(each for each in times if each is not None)

    def step(self, now: float) -> None:
        if not self.away and not self._tabs:
            return
        self.browser.step(now)
        for tab in list(self._tabs):
            tab.step(now)
        self._tabs = [tab for tab in self._tabs if tab.state is not TabState.CLOSED]
        if self.browser.ready:
            self._assign(now)
        self._next_part = self._open_parts(now)

    # Tabs.

    def _assign(self, now: float) -> None:
        """Give waiting pages to tabs, those of the same site if there are some."""
        for _ in range(len(self._queue)):
            job = self._queue.popleft()
            tab = self._tab_for(job.page.url.site, now)
            if tab is None:
                self._queue.append(job)
            elif tab.state is TabState.IDLE:
                self._jobs[id(job.page)] = job
                tab.render(job.page, self._identity_of(job.page), now)
            else:
                self._queue.append(job)
        for tab in self._tabs:
            old = tab.pages >= _PAGES or now > tab.used + _IDLE
            if old and tab.state is TabState.IDLE:
                tab.close()

    def _tab_for(self, site: str, now: float) -> Tab | None:
        """A tab that takes a page of `site`, now or soon; None if all are busy."""
        own = [tab for tab in self._tabs if tab.site == site]
        for state in (TabState.IDLE, TabState.OPENING):
            for tab in own:
                if tab.state is state and tab.pages < _PAGES:
                    return tab
        if len(self._tabs) >= TABS:
            idle = [tab for tab in self._tabs if tab.state is TabState.IDLE]
            if not idle:
                return None
            oldest = min(idle, key=lambda tab: tab.used)
            oldest.close()
            self._tabs.remove(oldest)
        tab = Tab(self._devtools, site, self._budget, self._asked, self._ended, now)
        self._tabs.append(tab)
        return tab

    def _happened(self, session: str, method: str, values: Values) -> None:
        """Give an event to the tab that it belongs to."""
        if method == "Target.attachedToTarget":
            self._attached(session, values)
        elif method == "Target.detachedFromTarget":
            tab = self._by_session.pop(values["sessionId"], None)
            if tab is not None:
                tab.detached(values["sessionId"])
        elif (owner := self._by_session.get(session)) is not None:
            owner.happened(session, method, values)

    def _attached(self, session: str, values: Values) -> None:
        target = values["targetInfo"]
        tab = self._by_session.get(session)
        if tab is None:
            context = target.get("browserContextId")
            tab = next((each for each in self._tabs if each.context == context), None)
        if tab is None:
            # A window of the browser's own.
            self._devtools.send("Target.closeTarget", {"targetId": target["targetId"]})
            return
        self._by_session[values["sessionId"]] = tab
        tab.attached(values["sessionId"], target)

    def _asked(self, tab: Tab, session: str, values: Values) -> None:
        self.parts.asked(tab, session, values, self._clock())

    # Ends.

    def _ended(self, visit: Visit, document: str | None, why: str) -> None:
        """Give a page back, with its document, or as it was."""
        page, now = visit.page, self._clock()
        job = self._jobs.pop(id(page))
        innocent = visit.follows and why == NOT_LOADED
        job.tries += innocent
        if document is None and (innocent or self.browser.why == why) and job.tries < _TRIES:
            self._queue.append(job)
            return
        self._settle(page, document, why, visit, now)

    def _settle(
        self, page: Page, document: str | None, why: str, visit: Visit | None, now: float
    ) -> None:
        raw = page.body
        refused = {} if visit is None else dict(sorted(visit.refused.items()))
        leads = () if visit is None else tuple(visit.leads)
        ms = 0 if visit is None else round((now - visit.began) * 1000)
        page.rendering = Rendering(raw, ms, refused, leads, why)
        if document is None:
            self.failed += 1
            page.detail = f"not rendered: {why}"
        else:
            self.rendered += 1
            self._times.append(now)
            page.body = body_of(document)
        self._done(page)

    def _browser_gone(self, why: str) -> None:
        """The browser has ended: its tabs are gone, and their pages are begun with again."""
        for tab in self._tabs:
            if tab.visit is not None:
                self._jobs[id(tab.visit.page)].tries += 1
            tab.fail(why)
        self._tabs.clear()
        self._by_session.clear()
        while self._queue and self.browser.failures > _HOPELESS:
            page = self._queue.popleft().page
            self._settle(page, None, f"the browser does not start: {why}", None, self._clock())
