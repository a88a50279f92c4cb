"""What people may do to a running crawl: the verbs of the console."""

from collections.abc import Callable

from larbinpy.config import Config, ConfigError, change
from larbinpy.engine import Mode
from larbinpy.fetch import Fetcher
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.politeness import Waits
from larbinpy.frontier.view import explain

#: Why a URL is refused, where the outcome's name does not say it.
_REASONS = {"badURL": "not a URL that can be crawled", "urlDup": "already seen"}


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
        save: Callable[[], None],
        stop: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        self.config = config
        self._mode = mode
        self._waits = waits
        self._frontier = frontier
        self._fetcher = fetcher
        self.status = status
        self.save = save
        self.stop = stop
        self._now = now
        self._has_news = False

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
        return None if refused is None else _REASONS.get(refused.value, refused.value)

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
        try:
            self.config = change(self.config, key, value)
        except ConfigError as error:
            return str(error)
        self._waits.least = self.config.wait_duration
        self._waits.most = self.config.max_wait
        self._mode.limit_page = self.config.limit_page
        self._fetcher.resize(self.config.pages_connexions)
        self._frontier.ip_sites.pool = self.config.pages_connexions
        self._fetcher.limit(self.config.bond_width, self._now())
        return None

    def explain(self, url: str) -> dict[str, object]:
        return explain(self._frontier, url, self._now())
