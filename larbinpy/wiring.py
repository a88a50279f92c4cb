"""From the configuration to the rooms: who gets which part of it."""

import resource
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from larbinpy.config import Config, ConfigError
from larbinpy.dns import is_public
from larbinpy.engine import BY_PROXY, EngineSettings
from larbinpy.fetch import CONNECTIONS_PER_HANDLE, Fetcher, FetchSettings
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.ip_site import IPSites
from larbinpy.frontier.politeness import Waits
from larbinpy.frontier.scope import Scope, ScopeSettings
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.sites import Sites, SiteSettings
from larbinpy.frontier.store import Store
from larbinpy.frontier.types import Types
from larbinpy.poller import Poller

#: Descriptors that are not for pages: standard streams, log and lock, a page being written
#: and its folders, people at the ports, and the resolver's ports: 64 for each address
#: family, and some that were replaced.
_OTHER_FILES = 200
#: Open files that are asked of the system, so that pagesConnexions may still grow.
_FILES = 1 << 14


def make_frontier(config: Config, folder: Path, waits: Waits) -> Frontier:
    """The frontier of a crawl, with its queues in `folder`."""
    # Behind a proxy all sites have one address, which is not theirs.
    wait_by = "site" if config.proxy else config.wait_by
    ip_sites = IPSites(waits, wait_by, config.max_connexions_by_site)
    sites = Sites(
        SiteSettings(
            agent=config.user_agent,
            waits=waits,
            retries=config.retries,
            retry_wait=config.retry_wait,
            address_time=config.dns_cache_time,
            ignore_robots=config.ignore_robots,
            permit=_anything if config.allow_private else _public,
        ),
        ip_sites,
    )
    store = Store(folder)
    return Frontier(
        make_scope(config),
        store,
        Sequencer(store, config.max_urls_by_site),
        sites,
        ip_sites,
        retries=config.retries,
        depth_in_site=config.depth_in_site,
    )


def _anything(address: str) -> bool:
    return True


def _public(address: str) -> bool:
    return address == BY_PROXY or is_public(address)


def make_scope(config: Config) -> Scope:
    return Scope(
        ScopeSettings(
            depth_in_site=config.depth_in_site,
            depth_by_site=config.depth_by_site,
            no_external_links=config.no_external_links,
            lock_site=config.lock_site,
            get_cgi=config.get_cgi,
            get_image=config.get_image,
            any_type=config.any_type,
            limit_to_domain=config.limit_to_domain,
            forbidden_extensions=config.forbidden_extensions,
            privileged_extensions=[ext for _, ext in _specific(config)],
        )
    )


def make_types(config: Config) -> Types:
    return Types(
        any_type=config.any_type,
        get_image=config.get_image,
        specific=[media_type for media_type, _ in _specific(config)],
    )


def _specific(config: Config) -> Sequence[tuple[str, str]]:
    return config.specific_set if config.specific_search else ()


def make_fetcher(config: Config, poller: Poller, proxy_address: str | None) -> Fetcher:
    proxy_url = None
    if config.proxy is not None and proxy_address is not None:
        host = f"[{proxy_address}]" if ":" in proxy_address else proxy_address
        proxy_url = f"http://{host}:{config.proxy[1]}"
    settings = FetchSettings(
        handles=config.pages_connexions,
        user_agent=config.user_agent,
        most_handles=_most_handles(config.pages_connexions),
        sender=config.sender,
        timeout_page=config.timeout_page,
        timeout_connect=config.timeout_connect,
        proxy_url=proxy_url,
        bond_width=config.bond_width,
        use_cookies=config.use_cookies,
        ca_file=config.ca_file,
        insecure_tls=config.insecure_tls,
    )
    return Fetcher(poller, replace(settings, accept="*/*") if config.any_type else settings)


def _most_handles(wanted: int) -> int:
    """How many handles the limit of open files allows, once it is as high as it may be."""
    enough = max(_FILES, _OTHER_FILES + wanted * CONNECTIONS_PER_HANDLE)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit, most = (enough if n == resource.RLIM_INFINITY else n for n in (soft, hard))
    if limit < enough:
        limit = min(enough, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(1, (limit - _OTHER_FILES) // CONNECTIONS_PER_HANDLE)


def proxy_address(config: Config) -> str | None:
    """The address of the configured proxy; asked for once, at the start, as Larbin does."""
    if config.proxy is None:
        return None
    host, port = config.proxy
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(f"proxy {host}: no address found ({error.strerror})") from None
    return str(found[0][4][0])


def make_engine_settings(config: Config) -> EngineSettings:
    return EngineSettings(
        agent=config.user_agent,
        max_page_size=config.max_page_size,
        ignore_robots=config.ignore_robots,
        no_duplicate=config.page_no_duplicate,
        specific_search=config.specific_search,
        proxied=config.proxy is not None,
    )
