"""The settings in force, of which the console may change some while the crawl runs."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from larbinpy.config import SETTINGS, Config, ConfigError, change
from larbinpy.crawl.control.mode import Mode
from larbinpy.crawl.sites.settings import SettingsBySite
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.scope.traps import TrapSettings
from larbinpy.loop.clock import Clock
from larbinpy.storage.state import SavedValue


class LiveSettings(SavedValue):
    """The configuration of a run, with the changes by `set`, which outlive the run.

    `fixed` are the keywords that the command line gives: a change made in an earlier run does
    not override them.
    """

    def __init__(
        self,
        config: Config,
        fixed: Collection[str],
        mode: Mode,
        site_settings: SettingsBySite,
        frontier: Frontier,
        fetcher: Fetcher,
        *,
        clock: Clock,
    ) -> None:
        self.config = config
        self._fixed = {keyword.lower() for keyword in fixed}
        self._mode = mode
        self._site_settings = site_settings
        self._frontier = frontier
        self._fetcher = fetcher
        self._clock = clock
        # The configured maxWait. The one in force is longer while waitDuration is longer.
        self._max_wait = config.max_wait
        #: Keyword -> value, as set by the console, in this run or before.
        self._changed: dict[str, str] = {}
        #: Lines about the changes of an earlier run.
        self.notes: list[str] = []

    def __repr__(self) -> str:
        return f"<LiveSettings {self._changed}>"

    def set(self, key: str, value: str) -> str | None:
        """Change a setting from the next request on; return the reason if that is refused."""
        before = self._site_settings.usual.waits.least
        try:
            config = change(replace(self.config, max_wait=self._max_wait), key, value)
        except ConfigError as error:
            return str(error)
        if config.pages_connexions > self._fetcher.most:
            most = f"at most {self._fetcher.most}: the limit of open files (ulimit -n)"
            return f"pagesConnexions {value}: {most}"
        if config.drop_parameters != self.config.drop_parameters:
            self._frontier.drop_parameters(config.drop_parameters)
        self.config = config
        self._changed[SETTINGS[key.lower()].keyword] = value
        self._site_settings.change(config)
        if config.wait_duration < before:
            self._frontier.shorten_waits(self._clock())
        self._frontier.guard(TrapSettings(config.traps, config.limit_by_shape))
        self._mode.limit_page = config.limit_page
        self._fetcher.resize(config.pages_connexions)
        self._frontier.resize(config.pages_connexions)
        self._fetcher.limit(config.bond_width, self._clock())
        return None

    # As a part of the state:

    def cut(self, now: float, *, ended: bool) -> dict[str, str]:
        return dict(self._changed)

    def load(self, value: Mapping[str, str], now: float) -> None:
        restored = []
        for key, text in dict(value).items():
            if key.lower() in self._fixed:
                continue
            # A value may be refused now, as another machine has other limits.
            refused = self.set(key, str(text))
            if refused is None:
                restored.append(f"{key} {text}")
            else:
                self.notes.append(f"not as set earlier: {refused}")
        if restored:
            self.notes.append(f"set earlier: {', '.join(restored)}; --set changes it")
