"""What people may do to a running crawl: the verbs of the console."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from larbinpy.config import Config, ConfigError, change
from larbinpy.console.ports.commands import CommandSteps, Result, Wait
from larbinpy.console.ports.watching import Watcher, Watchers
from larbinpy.crawl.engine import Mode
from larbinpy.errors import what_failed
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.politeness import Waits
from larbinpy.loop.clock import wall
from larbinpy.observe.explain import explain
from larbinpy.output.log import CrawlLog
from larbinpy.page import timestamp

#: Seconds that all searches together take of a turn at most, and that pass before they take
#: as much again.
_SLICE = 0.02


class Control:
    """One method a verb; a returned text is the reason of a refusal."""

    def __init__(
        self,
        config: Config,
        mode: Mode,
        waits: Waits,
        frontier: Frontier,
        fetcher: Fetcher,
        *,
        status: Callable[[], dict[str, object]],
        save: Callable[[], Iterator[bool | None]],
        stop: Callable[[], None],
        log: Callable[[], CrawlLog],
        now: Callable[[], float],
    ) -> None:
        self.config = config
        self._mode = mode
        self._waits = waits
        self._frontier = frontier
        self._fetcher = fetcher
        self.status = status
        self._save = save
        self.stop = stop
        self._log = log
        self._now = now
        # What was configured; waitDuration raises it for as long as it is longer.
        self._max_wait = config.max_wait
        #: Those who follow the crawl; a register of fates.
        self.watchers = Watchers()
        self._has_news = False
        self._search_at = 0.0

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
        refused = self._frontier.seed(url, depth=depth, priority=priority, again=again)
        self._has_news = self._has_news or refused is None
        return None if refused is None else refused.words

    def take_news(self) -> bool:
        """Were seeds added since the last call? No page brings them back if they are lost."""
        news, self._has_news = self._has_news, False
        return news

    def pause(self) -> None:
        self._mode.paused = True

    def resume(self) -> None:
        self._mode.paused = False

    def set(self, key: str, value: str) -> str | None:
        """Change a setting that may change while the crawl runs, from the next request on."""
        before = self._waits.least
        try:
            config = change(replace(self.config, max_wait=self._max_wait), key, value)
        except ConfigError as error:
            return str(error)
        if config.pages_connexions > self._fetcher.most:
            most = f"at most {self._fetcher.most}: the limit of open files (ulimit -n)"
            return f"pagesConnexions {value}: {most}"
        self.config = config
        self._waits.least = config.wait_duration
        self._waits.most = config.max_wait
        if config.wait_duration < before:
            self._frontier.hasten(self._now())
        self._mode.limit_page = config.limit_page
        self._fetcher.resize(config.pages_connexions)
        self._frontier.ip_sites.pool = config.pages_connexions
        self._fetcher.limit(config.bond_width, self._now())
        return None

    def explain(self, url: str) -> CommandSteps:
        """Where a URL stands; what must be searched for takes some turns, a slice of each."""
        try:
            yield from self._turn_to_search()
            until = self._now() + _SLICE
            for found in explain(self._frontier, self._log(), url, self._now):
                if found is not None:
                    self._search_at = self._now()
                    yield {"ok": True, **self._dated(found)}
                elif self._now() > until:
                    yield Wait.TURN
                    yield from self._turn_to_search()
                    until = self._now() + _SLICE
        except OSError as error:
            self._search_at = self._now()
            yield {"ok": False, "error": what_failed(error)}

    def _turn_to_search(self) -> CommandSteps:
        """Until no other search is at it, and the last slice is long enough ago."""
        while self._now() < self._search_at:
            yield Wait.TURN
        self._search_at = self._now() + 2 * _SLICE

    def _dated(self, found: dict[str, Any]) -> Result:
        """With the time when a wait ends, and what holds up all."""
        if "in_s" in found:
            found["until"] = timestamp(wall() + found["in_s"])
        if self._mode.paused:
            found["paused"] = True
        return found

    def save(self) -> CommandSteps:
        """Bring all that there is now to the disk, beside what the crawl does meanwhile."""
        for saved in self._save():
            if saved is None:
                yield Wait.EVENT
            elif saved:
                yield {"ok": True}
            else:
                yield {"ok": False, "error": "not saved: the disk refuses; it is tried again"}

    def watch(self, word: str) -> Watcher:
        return self.watchers.join(word)
