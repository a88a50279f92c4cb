"""The commands at the ports of a node: they steer the whole crawl, as those of any other node."""

from larbinpy.config import SETTINGS, ConfigError, change
from larbinpy.console.ports.commands import CommandSteps, Result, Wait
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.crawl.control.control import Control
from larbinpy.crawl.fleet.searching import searched
from larbinpy.crawl.fleet.steering import Steering
from larbinpy.fleet.answers import ASKED, explained, is_settled
from larbinpy.fleet.vault import CrawlState
from larbinpy.observe.explain import decided
from larbinpy.observe.report.log_files import first_time
from larbinpy.url import fault, host_of, typed

_RULES = "rules of a fleet cannot change while it runs"


class FleetControl(Control):
    """The commands. Those that all nodes execute come back as orders."""

    # Attributes, since the constructor is that of `Control`.
    steering: Steering
    finder: FinderProcess | None = None

    def add(
        self, url: str, *, depth: int | None = None, priority: bool = False, again: bool = False
    ) -> str | None:
        if self._mode.draining:
            return "this node is ending; ask another one"
        if self.steering.is_stuck:
            return "Redis takes no seeds now; try again later"
        self._logins.learn(url)
        if not self.steering.seeding.add(url, depth=depth, priority=priority, again=again):
            return fault(url)
        return None

    def pause(self) -> None:
        self.steering.declare(CrawlState.RUNNING, CrawlState.PAUSED)

    def resume(self) -> None:
        self.steering.declare(CrawlState.PAUSED, CrawlState.RUNNING)

    def stop(self) -> None:
        for state in (CrawlState.PAUSED, CrawlState.NEW, CrawlState.RUNNING):
            self.steering.declare(state, CrawlState.STOPPED)

    def set(self, key: str, value: str) -> str | None:
        try:
            config = change(self._settings.config, key, value)
        except ConfigError as error:
            return str(error)
        keyword = SETTINGS[key.lower()].keyword
        pages = config.limit_page if keyword == "limitPage" else None
        self.steering.change(keyword, value, pages)
        return None

    def add_rule(self, accept: bool, pattern: str) -> str | None:
        return _RULES

    def drop_rule(self, word: str) -> int | str:
        return _RULES

    def explain(self, url: str) -> CommandSteps:
        until = self._clock() + ASKED
        while True:
            gathering = self.steering.gather(f"explain {url}")
            while not gathering.is_over:
                gathering.step(self._clock())
                yield Wait.EVENT
            found = gathering.answers, gathering.silent
            if is_settled(*found) or self._clock() >= until:
                break
        yield explained(*found)

    # -- orders

    def execute(self, text: str) -> CommandSteps:
        """Execute an order here."""
        word, *words = text.split()
        if word == "set" and len(words) > 1:
            reason = self._settings.set(words[0], " ".join(words[1:]))
            if words[0].lower() == "limitpage":
                self.steering.limited(self._settings.config.limit_page)
            yield {"ok": True} if reason is None else {"ok": False, "error": reason}
        elif word == "explain" and words:
            yield from self._explain(words[0])
        elif word == "save":
            yield from super().save()
        elif word == "search" and len(words) == 2:
            names, query = words
            if self._settings.config.node in names.split(","):
                yield from searched(self.finder, query, self._clock)
            else:
                yield {"ok": True}
        else:
            yield {"ok": False, "error": f"unknown order {word[:40]!r}"}

    def _explain(self, url: str) -> CommandSteps:
        """The owner knows where the URL stands; another node, if it has fetched it before."""
        href = typed(url)
        if href is None or self.steering.owns(host_of(href)):
            for found in super().explain(url):
                yield found if isinstance(found, Wait) else {"owner": True, **found}
            return
        began = first_time(self._totals.started)
        search = decided(self._frontier.view, self._log, href, self._clock, began)
        answer: Result = {"ok": True}
        for found in self._searches.run(search):
            if isinstance(found, Wait):
                yield found
            else:
                answer = {"ok": True, **found}
        yield answer
