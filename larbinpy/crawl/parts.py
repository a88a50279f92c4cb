"""The parts of a crawl that take several settings, made from its configuration.

They are the frontier, the settings by which it treats each site, the logins of loginFile, whose
modules are loaded only by a crawl that has some, and the display on the terminal.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TextIO

from larbinpy.config import Config, ConfigError
from larbinpy.config.grammar import SiteBlock
from larbinpy.config.kinds import ALWAYS, Hours
from larbinpy.console.terminal.layout import FetchInfo
from larbinpy.console.terminal.progress import PrintStats, Progress, make_progress, status_line
from larbinpy.context import Context
from larbinpy.crawl.network import Network, permitting
from larbinpy.crawl.requests import SiteConfig, SiteConfigs, merged
from larbinpy.errors import Ending
from larbinpy.fetch.options import RequestOptions
from larbinpy.frontier.addresses import IPSites
from larbinpy.frontier.admission import Admission, Folding
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.lifecycle import SiteLifecycle, SiteLogins
from larbinpy.frontier.politeness import SiteHours, SiteLimits, SiteSettings, Waits
from larbinpy.frontier.scope import Scope
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.soft404.probes import Probes
from larbinpy.frontier.traps import Traps
from larbinpy.loop.clock import Clock
from larbinpy.output.plug import Output
from larbinpy.storage.queues import Store
from larbinpy.storage.seen import Seen
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.sizes import FrontierSizes
from larbinpy.url import Url

if TYPE_CHECKING:
    from larbinpy.crawl.sessions import LoginLinks, SiteSessions
    from larbinpy.login.spec import Login


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
            config,
            self._waits.setdefault(deciders, Waits(config.wait_duration, config.max_wait)),
            group,
            SiteLimits(
                config.limit_page_by_site,
                config.limit_bytes_by_site,
                connexions if fewer else 0,
            ),
            self._hours.setdefault(config.hours, SiteHours(Hours(config.hours))),
            {value.row.keyword: value.source for _, value in site.decided.values()},
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


class Kinds(NamedTuple):
    """The classes that a frontier is made of."""

    frontier: type[Frontier] = Frontier
    admission: type[Admission] = Admission
    sequencer: Callable[[Store, int, FrontierSizes], Sequencer] = Sequencer
    counts: type[SiteCounts] = SiteCounts
    seen: type[Seen] = Seen
    ip_sites: type[IPSites] = IPSites


#: Those of a crawl of one process.
KINDS = Kinds()


def make_frontier(
    context: Context,
    site_settings: SettingsBySite,
    wants: Callable[[Url], bool] | None = None,
    kinds: Kinds = KINDS,
    is_own: Callable[[str, int], bool] | None = None,
    sessions: SiteLogins | None = None,
    probes: Probes | None = None,
) -> Frontier:
    """The frontier of a crawl, with its queues in stateDir.

    `wants`, if given, decides on the links that nothing else refuses; `is_own` is whether a server
    that the crawl itself relies on is at an address and port; `sessions` logs in to sites;
    `probes` asks them for names that do not exist.
    """
    config, folder, sizes = context.config, context.folder, context.tuning.frontier
    is_public = context.tuning.is_public
    ip_sites = kinds.ip_sites(site_settings.usual, config.wait_by, config.pages_connexions, sizes)
    counts = kinds.counts(folder)
    sites = SiteLifecycle(
        site_settings.of,
        config.dns_cache_time,
        permitting(config, is_public, is_own),
        counts,
        ip_sites,
        sizes,
        SiteLogins() if sessions is None else sessions,
        probes,
    )
    store, seen = Store(folder), kinds.seen(folder, "seen")
    depth_of = (
        (lambda key: site_settings.of(key).config.depth_in_site) if config.site_blocks else None
    )
    scope = Scope(config, depth_of, None if sessions is None else sessions.avoids)
    traps = Traps(config, context.wall())
    return kinds.frontier(
        kinds.admission(scope, seen, traps, Folding(config.drop_parameters), wants),
        kinds.sequencer(store, config.max_urls_by_site, sizes),
        sites,
        Seen(folder, "digests"),
        sizes,
    )


#: Returns a snapshot; after an ending, its reason is the state that is shown.
Status = Callable[[Ending | None], dict[str, object]]


class Display:
    """Shows progress and prints messages, until it is closed with the crawl."""

    def __init__(self, context: Context, progress: str, stdout: TextIO, stderr: TextIO) -> None:
        """`progress` is auto, bar, log or none."""
        config, closing = context.config, context.closing
        self._terminal = make_progress(progress, stderr, config.limit_page)
        closing.callback(self._terminal.close)
        self._shown: list[Progress] = [] if progress == "none" else [self._terminal]
        if config.print_stats:
            printed = PrintStats(stdout, config.limit_time)
            closing.callback(printed.close)
            self._shown.append(printed)
        #: Get the URLs whose outcome is decided.
        self.sinks = [FetchInfo(stdout)] if config.fetch_info else []
        #: Makes the snapshots that are shown; set before the first turn.
        self.status: Status

    def say(self, text: str) -> None:
        """Print a message, with the name of the program."""
        self._terminal.say(f"larbinpy: {text}")

    def say_plainly(self, line: str) -> None:
        """Print a line without the name of the program (for `debug`)."""
        self._terminal.say(line)

    def say_status(self) -> None:
        """Print the status of the crawl in one line (SIGUSR1)."""
        self._terminal.say(status_line(self.status(None)))

    def show(self, ending: Ending | None = None) -> None:
        """Update the progress; a snapshot is made only if any progress is shown."""
        if self._shown:
            snapshot = self.status(ending)
            for progress in self._shown:
                progress.update(snapshot)


#: Adds the login of a site, by its key, to the options of its requests.
WithLogin = Callable[[str, RequestOptions], RequestOptions]


def read_logins(config: Config) -> "Mapping[str, Login]":
    """The logins by site; none without loginFile. Raises ConfigError."""
    if config.login_file is None:
        return {}
    from larbinpy.login.file import read

    return {login.site: login for login in read(config.login_file)}


def read_login_links(config: Config) -> "LoginLinks | None":
    """The links that logins leave out; None without loginFile. Raises ConfigError."""
    if config.login_file is None:
        return None
    from larbinpy.crawl.sessions import LoginLinks
    from larbinpy.login.file import login_pages

    return LoginLinks(login_pages(config.login_file))


def options_of(logins: "Mapping[str, Login]") -> WithLogin | None:
    """Adds the logins to the options of requests; None if there are none."""
    if not logins:
        return None
    from larbinpy.crawl.sessions import with_login

    def added(site: str, options: RequestOptions) -> RequestOptions:
        return with_login(logins[site], options) if site in logins else options

    return added


def open_sessions(
    logins: "Mapping[str, Login]", network: Network, wall: Clock, own_output: Output | None
) -> "SiteSessions | None":
    """The sessions of the sites with a login; None if there are none.

    A login may be that of `own_output`, the plug of the operator; ConfigError if it has none.
    """
    if not logins:
        return None
    from larbinpy.crawl.sessions import SiteSessions
    from larbinpy.login.spec import MethodTrait

    hook = getattr(own_output, "user_login", None)
    for login in logins.values() if hook is None else ():
        if login.method.is_a(MethodTrait.PROGRAM):
            raise ConfigError(
                f"loginFile: the login of {login.site} is made by a program of yours (method hook);"
                " start the crawl by it"
            )
    jars, forget = network.fetcher.jars, network.options.forget
    return SiteSessions(logins.values(), jars, forget, wall, hook)
