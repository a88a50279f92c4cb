"""The commands to a running crawl, from the console or POST /control."""

from dataclasses import replace
from typing import Any

from larbinpy.config import texts
from larbinpy.console.ports.commands import CommandSteps, Result, Wait
from larbinpy.console.ports.watching import Watcher, Watchers
from larbinpy.crawl.control.disk_pause import DiskPause
from larbinpy.crawl.control.live_settings import LiveSettings
from larbinpy.crawl.control.mode import Mode
from larbinpy.crawl.control.searches import Searches
from larbinpy.crawl.saving import Saving
from larbinpy.crawl.sites.logins import Logins
from larbinpy.errors import what_failed
from larbinpy.exit_status import Ending
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import Clock
from larbinpy.observe.explain import explain
from larbinpy.observe.report.log_files import first_time
from larbinpy.observe.snapshot import Snapshots
from larbinpy.observe.totals import Totals
from larbinpy.outcome import Outcome
from larbinpy.output.log import CrawlLog
from larbinpy.page import timestamp
from larbinpy.reason import SEED_AGAIN
from larbinpy.url import fault


class Control:
    """One method for each command; a returned text is the reason of a refusal."""

    def __init__(
        self,
        settings: LiveSettings,
        mode: Mode,
        disk_pause: DiskPause,
        frontier: Frontier,
        logins: Logins,
        snapshots: Snapshots,
        saving: Saving,
        log: CrawlLog,
        totals: Totals,
        *,
        clock: Clock,
        wall: Clock,
    ) -> None:
        self._settings = settings
        self._mode = mode
        self._disk_pause = disk_pause
        self._frontier = frontier
        self._logins = logins
        self._snapshots = snapshots
        self._saving = saving
        self._log = log
        self._totals = totals
        self._clock = clock
        self._wall = wall
        #: The clients that follow the crawl (`watch`).
        self.watchers = Watchers()
        self._searches = Searches(clock)

    def status(self, ending: Ending | None = None) -> dict[str, object]:
        """A snapshot; at the end of the crawl, its state is the reason of the `ending`."""
        return self._snapshots.take(
            self.state if ending is None else ending.reason,
            texts(replace(self._settings.config, rules=self._frontier.view.rules)),
            # How fast all nodes of a fleet fetch is not known here.
            limit_page=self._mode.limit_page if self._mode.share is None else 0,
            limit_time=self._settings.config.limit_time,
        )

    @property
    def state(self) -> str:
        """The state of the crawl."""
        return self._mode.state(self._frontier.owed, disk_full=self._disk_pause.full).value

    def add(
        self,
        url: str,
        *,
        depth: int | None = None,
        priority: bool = False,
        again: bool = False,
    ) -> str | None:
        if self._mode.draining:
            return "the crawl is ending"
        self._logins.learn(url)
        refused = self._frontier.seed(url, depth=depth, priority=priority, again=again)
        if refused is not None:
            why = fault(url) or refused.words
            return f"{why}; {SEED_AGAIN} it" if refused is Outcome.URL_DUP else why
        self._saving.request()
        return None

    def pause(self) -> None:
        self._mode.paused = True

    def resume(self) -> None:
        self._mode.paused = False

    def stop(self) -> None:
        self._mode.stop = True

    def set(self, key: str, value: str) -> str | None:
        """Change a setting that may change while the crawl runs, from the next request on."""
        return self._settings.set(key, value)

    def add_rule(self, accept: bool, pattern: str) -> str | None:
        try:
            self._frontier.add_rule(accept, pattern)
        except ValueError as error:
            return f"{'accept' if accept else 'reject'}: {error}"
        self._saving.request()
        return None

    def drop_rule(self, word: str) -> int | str:
        try:
            rule = self._frontier.drop_rule(word)
        except ValueError as error:
            return str(error)
        self._saving.request()
        return 0 if rule.accept else self._totals.counts()["rules"][rule.text]

    def rules(self) -> list[dict[str, object]]:
        decided = self._totals.counts()["rules"]
        return [
            {
                "number": number,
                "rule": rule.text,
                "source": rule.source,
                "decided": decided[rule.text],
            }
            for number, rule in enumerate(self._frontier.view.rules, 1)
        ]

    def explain(self, url: str) -> CommandSteps:
        """Return the status of a URL; a search on the disk takes a slice of several turns."""
        began = first_time(self._totals.started)
        search = explain(self._frontier.view, self._log, url, self._clock, began)
        try:
            for found in self._searches.run(search):
                yield found if isinstance(found, Wait) else {"ok": True, **self._dated(found)}
        except OSError as error:
            yield {"ok": False, "error": what_failed(error)}

    def _dated(self, found: dict[str, Any]) -> Result:
        """Add the time when a wait ends, and whether all requests are paused."""
        if "in_s" in found:
            found["until"] = timestamp(self._wall() + found["in_s"])
        if self._mode.paused:
            found["paused"] = True
        return found

    def save(self) -> CommandSteps:
        """Save the present state while the crawl continues."""
        for saved in self._saving.save_now():
            if saved is None:
                yield Wait.EVENT
            elif saved:
                yield {"ok": True}
            else:
                yield {
                    "ok": False,
                    "error": "not saved: the disk refused it; it is tried again later",
                }

    def watch(self, word: str) -> Watcher:
        return self.watchers.join(word)
