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
        #: The settings of sites that no block matches.
        self.usual = self._settings(configs.usual)

    def __repr__(self) -> str:
        return f"<SettingsBySite {self._configs!r}>"

    def of(self, key: str) -> SiteSettings:
        """The settings of the site `key`."""
        found = self._configs.of(key)
        settings = self._made.get(found)
        return self._settings(found) if settings is None else settings

    def _settings(self, site: SiteConfig) -> SiteSettings:
        config = self._in_force(site)
        deciders = (site.decider("wait_duration"), site.decider("max_wait"))
        connexions = config.max_connexions_by_site
        group = self._group(site)
        fewer = not group and connexions < self._config.max_connexions_by_site
        settings = self._made[site] = SiteSettings(
            waits=self._waits.setdefault(deciders, Waits(config.wait_duration, config.max_wait)),
            agent=config.user_agent,
            retries=config.retries,
            retry_wait=config.retry_wait,
            ignore_robots=config.ignore_robots,
            # Offline, pages are reached by links alone; a link check reports a link to a sitemap
            # that is not there.
            guess_sitemap=config.guess_sitemap and not (config.rewrite_links or config.check_links),
            connexions=connexions,
            group=group,
            limits=SiteLimits(
                config.limit_page_by_site,
                config.limit_bytes_by_site,
                connexions if fewer else 0,
            ),
            depth=config.depth_in_site,
            hours=self._hours.setdefault(config.hours, SiteHours(Hours(config.hours))),
            sources={value.row.keyword: value.source for _, value in site.decided.values()},
        )
        return settings

    def _group(self, site: SiteConfig) -> str:
        """The group of a site that may be asked more often than others; empty for the others.

        The configuration at the start decides, so that sites stay in their groups.
        """
        own, usual = site.config, self._configs.usual.config
        sooner = own.wait_duration < usual.wait_duration
        if not sooner and own.max_connexions_by_site <= usual.max_connexions_by_site:
            return ""
        blocks = (site.decider("wait_duration"), site.decider("max_connexions_by_site"))
        return ",".join(block.pattern.show() if block else "" for block in blocks).strip(",")

    def _in_force(self, site: SiteConfig) -> Config:
        """The configuration of a site, with the changes while the crawl runs."""
        return merged(self._config, (value for _, value in site.decided.values()))

    def change(self, config: Config) -> None:
        """Take new values of settings that may change while the crawl runs."""
        self._config = config
        for site, settings in self._made.items():
            changed = self._in_force(site)
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
