"""The settings by which the frontier treats each site, made from its configuration."""

from larbinpy.config import Config
from larbinpy.config.hours import ALWAYS, Hours
from larbinpy.config.site_block import SiteBlock
from larbinpy.crawl.sites.configs import SiteConfig, SiteConfigs, merged
from larbinpy.frontier.sites.hours import SiteHours
from larbinpy.frontier.sites.politeness import Waits
from larbinpy.frontier.sites.settings import SiteLimits, SiteSettings
from larbinpy.loop.clock import Clock


class SettingsBySite:
    """The settings of sites; those that the same blocks match share one object."""

    def __init__(self, config: Config, configs: SiteConfigs) -> None:
        self._config = config
        self._configs = configs
        # By the blocks that decide waitDuration and maxWait, None for the crawl's own.
        self._waits: dict[tuple[SiteBlock | None, SiteBlock | None], Waits] = {}
        self._hours: dict[tuple[tuple[int, int], ...], SiteHours] = {}
        self._made: dict[SiteConfig, SiteSettings] = {}
        usual = self._settings(configs.usual)
        #: The waits of sites for which no block sets others.
        self.waits = usual.waits

    def __repr__(self) -> str:
        return f"<SettingsBySite {self._configs!r}>"

    def of(self, key: str) -> SiteSettings:
        """The settings of the site `key`."""
        found = self._configs.of(key)
        settings = self._made.get(found)
        return self._settings(found) if settings is None else settings

    def _settings(self, site: SiteConfig) -> SiteSettings:
        config = site.config
        deciders = (site.decider("wait_duration"), site.decider("max_wait"))
        groups = (deciders[0], site.decider("max_connexions_by_site"))
        settings = self._made[site] = SiteSettings(
            waits=self._waits.setdefault(deciders, Waits(config.wait_duration, config.max_wait)),
            agent=config.user_agent,
            retries=config.retries,
            retry_wait=config.retry_wait,
            ignore_robots=config.ignore_robots,
            connexions=config.max_connexions_by_site,
            group=",".join(block.pattern.show() if block else "" for block in groups).strip(","),
            limits=SiteLimits(config.limit_page_by_site, config.limit_bytes_by_site),
            depth=config.depth_in_site,
            hours=self._hours.setdefault(config.hours, SiteHours(Hours(config.hours))),
            sources={value.row.keyword: value.source for _, value in site.decided.values()},
        )
        return settings

    def change(self, config: Config) -> None:
        """Take new values of settings that may change while the crawl runs."""
        self._config = config
        for site, settings in self._made.items():
            changed = merged(config, (value for _, value in site.decided.values()))
            settings.waits.least, settings.waits.most = changed.wait_duration, changed.max_wait

    # Hours.

    @property
    def has_hours(self) -> bool:
        """Whether there are times of day when some sites are not asked."""
        configs = (self._config, *self._configs.each_block())
        return any(config.hours != ALWAYS.ranges for config in configs)

    def look(self, now: float, wall: float) -> None:
        """Open and close sites at the Unix time `wall`."""
        for hours in self._hours.values():
            hours.look(now, wall)

    # For the status page.

    def describe(self) -> list[dict[str, object]]:
        """The blocks in their order, with the number of different sites so far."""
        return list(map(self._describe, self._config.site_blocks))

    def _describe(self, block: SiteBlock) -> dict[str, object]:
        made = self._made.items()
        return {
            "pattern": block.pattern.show(),
            "source": block.source,
            "settings": {each.row.keyword: each.row.text(each.value) for each in block.values},
            "sites": sum(settings.sites for site, settings in made if block in site.blocks),
        }


class HoursListener:
    """Opens and closes sites by the clock on the wall, once a turn."""

    #: A turn comes at least once a second.
    deadline: float | None = None

    def __init__(self, site_settings: SettingsBySite, wall: Clock) -> None:
        self._site_settings = site_settings
        self._wall = wall

    def step(self, now: float) -> None:
        self._site_settings.look(now, self._wall())
