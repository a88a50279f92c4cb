"""Makes the frontier of a crawl from its configuration."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from larbinpy.config import Config
from larbinpy.crawl.media_types import specific
from larbinpy.crawl.resources.network import permitting
from larbinpy.crawl.sites.settings import SettingsBySite
from larbinpy.frontier.address_settings import AddressSettings
from larbinpy.frontier.addresses.schedule import IPSites
from larbinpy.frontier.admission import Admission
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.lifecycle import SiteLifecycle
from larbinpy.frontier.login_step import NO_LOGINS, SiteLogins
from larbinpy.frontier.probe_step import NO_PROBES, SiteProbes
from larbinpy.frontier.scope.folding import Folding
from larbinpy.frontier.scope.scope import Scope, ScopeSettings
from larbinpy.frontier.scope.traps import Traps, TrapSettings
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.storage.seen import Seen
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.store import Store
from larbinpy.url import Url


class Sessions(SiteLogins, Protocol):
    """Logs in to sites, and knows the links that a session has no use for."""

    def avoids(self, href: str) -> bool:
        """Whether a link is not asked for: it ends the session of its site, or is a login page."""


class Kinds(NamedTuple):
    """The classes that a frontier is made of."""

    frontier: type[Frontier] = Frontier
    admission: type[Admission] = Admission
    sequencer: Callable[[Store, int, FrontierSizes], Sequencer] = Sequencer
    counts: type[SiteCounts] = SiteCounts
    seen: type[Seen] = Seen


#: Those of a crawl of one process.
KINDS = Kinds()


def make_frontier(
    config: Config,
    folder: Path,
    site_settings: SettingsBySite,
    is_public: Callable[[str], bool],
    wall: float,
    sizes: FrontierSizes = DEFAULT_SIZES,
    wants: Callable[[Url], bool] | None = None,
    kinds: Kinds = KINDS,
    is_own: Callable[[str, int], bool] | None = None,
    sessions: Sessions | None = None,
    probes: SiteProbes = NO_PROBES,
) -> Frontier:
    """The frontier of a crawl that begins at the Unix time `wall`, with its queues in `folder`.

    `wants`, if given, decides on the links that nothing else refuses; `is_own` is whether a server
    that the crawl itself relies on is at an address and port; `sessions` logs in to sites;
    `probes` asks them for names that do not exist.
    """
    ip_sites = IPSites(site_settings.usual, config.wait_by, config.pages_connexions, sizes)
    counts = kinds.counts(folder)
    addresses = AddressSettings(config.dns_cache_time, permitting(config, is_public), is_own)
    logins = NO_LOGINS if sessions is None else sessions
    sites = SiteLifecycle(site_settings.of, addresses, counts, ip_sites, sizes, logins, probes)
    store, seen = Store(folder), kinds.seen(folder, "seen")
    scope = _make_scope(config, site_settings, sessions)
    traps = Traps(TrapSettings(config.traps, config.limit_by_shape), wall)
    return kinds.frontier(
        scope,
        traps,
        kinds.admission(scope, seen, traps, Folding(config.drop_parameters), wants),
        store,
        seen,
        Seen(folder, "digests"),
        kinds.sequencer(store, config.max_urls_by_site, sizes),
        sites,
        ip_sites,
        counts,
        sizes,
    )


def _make_scope(config: Config, site_settings: SettingsBySite, sessions: Sessions | None) -> Scope:
    return Scope(
        ScopeSettings(
            depth_in_site=config.depth_in_site,
            depth_of=(lambda key: site_settings.of(key).depth) if config.site_blocks else None,
            depth_by_site=config.depth_by_site,
            no_external_links=config.no_external_links,
            lock_site=config.lock_site,
            get_cgi=config.get_cgi,
            get_image=config.get_image,
            any_type=config.any_type,
            limit_to_domain=config.limit_to_domain,
            forbidden_extensions=config.forbidden_extensions,
            privileged_extensions=[ext for _, ext in specific(config)],
            requisites=config.requisites,
            stay=config.stay,
            check_links=config.check_links,
            rules=config.rules,
            avoids=None if sessions is None else sessions.avoids,
        )
    )
