"""From the configuration to the rooms: who gets which part of it."""

import os
import resource
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TextIO

from larbinpy._version import __version__
from larbinpy.config import Config, ConfigError
from larbinpy.console.ports import token
from larbinpy.console.ports.commands import Verbs
from larbinpy.console.ports.http import StatusServer
from larbinpy.console.ports.input_port import InputPort
from larbinpy.console.ports.posting import Posting
from larbinpy.console.ports.watching import Watchers
from larbinpy.console.terminal.fetch_info import FetchInfo
from larbinpy.crawl.engine import BY_PROXY, EngineSettings, FateSink
from larbinpy.dns.address import is_public
from larbinpy.fetch.fetcher import CONNECTIONS_PER_HANDLE, Fetcher
from larbinpy.fetch.settings import FetchSettings
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.ip_sites import IPSites
from larbinpy.frontier.lifecycle import SiteLifecycle, SiteSettings
from larbinpy.frontier.media_types import Types
from larbinpy.frontier.politeness import Waits
from larbinpy.frontier.scope import Scope, ScopeSettings
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.loop.clock import wall
from larbinpy.loop.poller import Poller
from larbinpy.output import Output
from larbinpy.output.log import CrawlLog
from larbinpy.output.mirror.browsable import MirrorSettings
from larbinpy.output.modes import open_output
from larbinpy.output.plug import Outputs
from larbinpy.storage.checkpoints import Checkpoints
from larbinpy.storage.seen import Seen
from larbinpy.storage.state import Saved, State
from larbinpy.storage.store import Store
from larbinpy.storage.syncing import Syncing
from larbinpy.workers.pool import InlineReader, Reader, ReaderPool

#: Descriptors that are not for pages: standard streams, log and lock, a page being written
#: and its folders, people at the ports, and the resolver's ports: 64 for each address
#: family, and some that were replaced.
_OTHER_FILES = 250
#: Open files that are asked of the system, so that pagesConnexions may still grow.
_FILES = 1 << 14
#: The state is saved this often (s); a kill then costs so much work, and no URL.
_CHECKPOINT = 5.0
#: And this often with canReload.
_CAN_RELOAD = 1.0


def make_frontier(config: Config, folder: Path, waits: Waits) -> Frontier:
    """The frontier of a crawl, with its queues in `folder`."""
    # Behind a proxy all sites have one address, which is not theirs.
    wait_by = "site" if config.proxy else config.wait_by
    ip_sites = IPSites(waits, wait_by, config.max_connexions_by_site, config.pages_connexions)
    sites = SiteLifecycle(
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
        Seen(folder, "seen"),
        Seen(folder, "digests"),
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
            requisites=config.requisites,
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
        most_handles=_allow_handles(config.pages_connexions, config.readers),
        sender=config.sender,
        timeout_page=config.timeout_page,
        timeout_connect=config.timeout_connect,
        proxy_url=proxy_url,
        bond_width=config.bond_width,
        use_cookies=config.use_cookies,
        ca_file=config.ca_file,
        insecure_tls=config.insecure_tls,
        keep_requests="warc" in config.output_mode,
    )
    return Fetcher(poller, replace(settings, accept="*/*") if config.any_type else settings)


def make_reader(config: Config, poller: Poller) -> Reader:
    if not config.readers:
        return InlineReader(config.user_agent)
    try:
        return ReaderPool(poller, config.readers, config.user_agent)
    except OSError as error:
        raise ConfigError(f"readers {config.readers}: {error.strerror}") from error


def make_output(config: Config, own: Output | None) -> Outputs:
    """What outputMode asks for, and the plug of a program's `own`."""
    more = {} if own is None else {"own": own}
    # An archive of a crawl holds all of its pages, also those that an earlier one has.
    conditional = "warc" not in config.output_mode
    whole = "save" in config.output_mode
    browsable = MirrorSettings(config.keep_originals, config.lower_case_names, conditional, whole)
    return open_output(
        config.output_mode,
        config.output_dir,
        more,
        archive=partial(_archive, config),
        browsable=browsable if config.rewrite_links else None,
    )


def _archive(config: Config, directory: str) -> Output:
    # Loaded where it is wanted, as half of what it stands on is needed for nothing else.
    from larbinpy.output.warc.warc import WarcOutput

    about = {
        "software": f"larbinpy/{__version__}",
        "robots": "ignore" if config.ignore_robots else "obey (RFC 9309)",
        "operator": config.sender,
        "http-header-from": config.sender,
        "http-header-user-agent": config.user_agent,
    }
    return WarcOutput(directory, about, wall)


def make_syncing(config: Config, poller: Poller, closing: ExitStack) -> Syncing:
    """The disk of the output modes that write files."""
    writes = {"save", "mirror", "warc"}.intersection(config.output_mode)
    syncing = Syncing(poller, [config.output_dir] if writes else [])
    closing.callback(syncing.wait)
    return syncing


def make_checkpoints(config: Config, state: State, saved: Saved) -> Checkpoints:
    return Checkpoints(state, saved, _CAN_RELOAD if config.can_reload else _CHECKPOINT)


def _allow_handles(wanted: int, readers: int) -> int:
    """Raise the limit of open files as far as it may be; how many handles it allows then."""
    others = _OTHER_FILES + readers
    enough = max(_FILES, others + wanted * CONNECTIONS_PER_HANDLE)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit, most = (enough if n == resource.RLIM_INFINITY else n for n in (soft, hard))
    if limit < enough:
        limit = min(enough, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(1, (limit - others) // CONNECTIONS_PER_HANDLE)


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


def make_registers(
    config: Config, log: CrawlLog, watchers: Watchers, stdout: TextIO
) -> list[FateSink]:
    """Where fates are written down."""
    told: list[FateSink] = [FetchInfo(stdout)] if config.fetch_info else []
    return [log, watchers, *told]


def make_engine_settings(config: Config) -> EngineSettings:
    return EngineSettings(
        max_page_size=config.max_page_size,
        ignore_robots=config.ignore_robots,
        no_duplicate=config.page_no_duplicate,
        specific_search=config.specific_search,
        proxied=config.proxy is not None,
    )


def open_input_port(
    config: Config, poller: Poller, control: Verbs, closing: ExitStack
) -> InputPort | None:
    """The port for seeds and commands, where one is wanted."""
    if not config.input_port:
        return None
    with _naming("inputPort", config.input_port):
        port = InputPort(poller, control, config.input_host, config.input_port)
    closing.callback(port.close)
    return port


def open_status_server(
    config: Config,
    poller: Poller,
    snapshot: Callable[[], dict[str, object]],
    control: Verbs,
    closing: ExitStack,
) -> StatusServer | None:
    """The status pages, where they are wanted, and with them what can be posted."""
    if not config.http_port:
        return None
    folder = Path(config.state_dir)
    posting = Posting(control, token.issue(folder))
    closing.callback(token.withdraw, folder)
    with _naming("httpPort", config.http_port):
        server = StatusServer(
            poller, snapshot, config.http_host, config.http_port, config.histograms, posting
        )
    closing.callback(server.close)
    return server


@contextmanager
def _naming(keyword: str, port: int) -> Iterator[None]:
    """Say which setting it is whose port cannot be had."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigError(f"{keyword} {port}: {reason}; set another port") from error
