"""Makes the frontier of a crawl from its configuration."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from larbinpy.config import Config
from larbinpy.crawl.media_types import specific
from larbinpy.crawl.resources.network import permitting
from larbinpy.crawl.sites.settings import SettingsBySite
from larbinpy.frontier.address_settings import AddressSettings
from larbinpy.frontier.addresses.schedule import IPSites
from larbinpy.frontier.admission import Admission, AskingAdmission
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.lifecycle import SiteLifecycle
from larbinpy.frontier.scope.folding import Folding
from larbinpy.frontier.scope.scope import Scope, ScopeSettings
from larbinpy.frontier.scope.traps import Traps, TrapSettings
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.storage.seen import Seen
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.store import Store
from larbinpy.url import Url

if TYPE_CHECKING:
    from larbinpy.crawl.fleet.joining import Fleet


def make_frontier(
    config: Config,
    folder: Path,
    site_settings: SettingsBySite,
    is_public: Callable[[str], bool],
    wall: float,
    sizes: FrontierSizes = DEFAULT_SIZES,
    wants: Callable[[Url], bool] | None = None,
    fleet: "Fleet | None" = None,
) -> Frontier:
    """The frontier of a crawl that begins at the Unix time `wall`, with its queues in `folder`.

    `wants`, if given, decides on the links that nothing else refuses. `fleet`: that of a node.
    """
    frontier, admits, sequencer = Frontier, Admission, Sequencer
    asks: Callable[..., Admission] = AskingAdmission
    if fleet is not None:
        # Here, since only a node needs these modules.
        from larbinpy.crawl.fleet import frontier as of_node

        frontier, sequencer = of_node.SharedFrontier, of_node.SharedSequencer
        admits, asks = of_node.SharedAdmission, of_node.SharedAskingAdmission
    ip_sites = IPSites(site_settings.usual, config.wait_by, config.pages_connexions, sizes)
    counts = SiteCounts(folder)
    is_own = None if fleet is None else fleet.is_redis
    addresses = AddressSettings(config.dns_cache_time, permitting(config, is_public), is_own)
    sites = SiteLifecycle(site_settings.of, addresses, counts, ip_sites, sizes)
    store, seen = Store(folder), Seen(folder, "seen")
    scope = _make_scope(config, site_settings)
    traps = Traps(TrapSettings(config.traps, config.limit_by_shape), wall)
    folding = Folding(config.drop_parameters)
    admission = admits(scope, seen, traps, folding)
    if wants is not None:
        admission = asks(scope, seen, traps, folding, wants)
    return frontier(
        scope,
        traps,
        admission,
        store,
        seen,
        Seen(folder, "digests"),
        sequencer(store, config.max_urls_by_site, sizes),
        sites,
        ip_sites,
        counts,
        sizes,
    )


def _make_scope(config: Config, site_settings: SettingsBySite) -> Scope:
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
        )
    )
