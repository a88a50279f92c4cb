"""The assembly of a crawl: makes its parts from a configuration and connects them.

Four steps: the network, the frontier, the state on the disk, the ports and the terminal.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TextIO

from larbinpy.config import Config, ConfigError
from larbinpy.console.ports import token
from larbinpy.console.ports.http import StatusServer
from larbinpy.console.ports.input_port import InputPort
from larbinpy.console.ports.posting import Posting
from larbinpy.console.terminal.fetch_info import FetchInfo
from larbinpy.console.terminal.progress import PrintStats, Progress, Terminal, make_progress
from larbinpy.crawl.control import Control
from larbinpy.crawl.display import Display
from larbinpy.crawl.ending import Finishing, Stopping
from larbinpy.crawl.engine import Engine, Listener
from larbinpy.crawl.housekeeping import Housekeeping
from larbinpy.crawl.intake import FateSink, Intake, IntakeSettings
from larbinpy.crawl.mode import Mode
from larbinpy.crawl.network import BY_PROXY, Network
from larbinpy.crawl.on_disk import OnDisk, locked
from larbinpy.crawl.requests import Requests
from larbinpy.crawl.surroundings import Surroundings
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.ip_sites import IPSites
from larbinpy.frontier.lifecycle import SiteLifecycle, SiteSettings
from larbinpy.frontier.media_types import Types
from larbinpy.frontier.politeness import Waits
from larbinpy.frontier.scope import Scope, ScopeSettings
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.loop.poller import Poller
from larbinpy.observe.snapshot import Snapshots
from larbinpy.output import Output
from larbinpy.output.log import CrawlLog
from larbinpy.stats.counters import Stats
from larbinpy.storage.files import Reserve
from larbinpy.storage.seen import Seen
from larbinpy.storage.state import Start
from larbinpy.storage.store import Store
from larbinpy.workers.pool import InlineReader, Reader, ReaderPool


class Assembly:
    """The parts of a crawl.

    Every step that can fail comes before the first change to the state of an earlier crawl.
    Raises ConfigError, StateError or OSError.
    """

    def __init__(
        self,
        config: Config,
        start: Start,
        seeds: Iterable[str],
        own_output: Output | None,
        progress: str,
        around: Surroundings,
    ) -> None:
        poller, clock, wall = around.poller, around.clock, around.wall
        folder = Path(config.state_dir)
        terminal = make_progress(progress, around.stderr, config.limit_page)
        around.closing.callback(terminal.close)
        state = locked(folder, start, around.closing)
        self.mode = Mode(limit_page=config.limit_page)
        self.stats = Stats(clock(), wall())

        # The network.
        network = Network(config, poller, around.closing, around.tuning.open_files)
        # From here on pagesConnexions is the number that the limit of open files permits.
        config = replace(config, pages_connexions=network.fetcher.size)
        self.handles = config.pages_connexions
        reader = _open_reader(config, poller, around.closing)

        # The frontier.
        waits = Waits(config.wait_duration, config.max_wait)
        frontier = self.frontier = make_frontier(
            config, folder, waits, around.tuning.is_public, around.tuning.frontier
        )

        # The state on the disk.
        on_disk = OnDisk(config, state, frontier, own_output, self.mode, self.stats, around)
        output, self.log, self.saving = on_disk.output, on_disk.log, on_disk.saving

        # The ports and the terminal.
        self.snapshots = Snapshots(
            self.stats,
            frontier.view,
            network.resolver,
            network.fetcher,
            output,
            clock=clock,
            wall=wall,
        )
        self.control = Control(
            config,
            self.mode,
            waits,
            frontier,
            network.fetcher,
            self.snapshots,
            self.saving,
            self.log,
            clock=clock,
            wall=wall,
        )
        ports = Ports(config, poller, self.control, around.closing)
        shown = _open_progress(config, progress, terminal, around)
        self.display = Display(terminal, shown, self.control.status)

        # From here on the state of an earlier crawl is changed.
        on_disk.take_up(start, seeds, clock())
        self.reserve = Reserve(folder / "reserve")
        around.closing.callback(self.reserve.release)

        types = _make_types(config)
        intake = Intake(
            _intake_settings(config),
            frontier,
            reader,
            network.names,
            types,
            output,
            _make_sinks(config, self.log, self.control, around.stdout),
            self.stats,
            output.refresher,
            clock=clock,
            wall=wall,
            pages=around.tuning.pages_a_turn,
        )
        requests = Requests(types, config.max_page_size, output.refresher)
        self.engine = Engine(
            self.mode,
            poller,
            frontier,
            network.names,
            requests,
            network.fetcher,
            intake,
            output,
            self.stats,
            ports.listeners,
            clock=clock,
        )
        limit_time = config.limit_time or inf
        self.stopping = Stopping(
            self.engine,
            self.mode,
            frontier,
            ports.input,
            Finishing(output.refresher, clock, around.tuning.grace),
            outlives=config.high_level_web_server and ports.status is not None,
            limit_at=self.stats.started + limit_time,
            had_work=start is Start.RESUME or frontier.owed > 0,
            grace=around.tuning.grace,
        )
        self.housekeeping = Housekeeping(
            self.stats,
            network,
            frontier,
            reader,
            self.log,
            self.display,
            debug=self.engine if config.debug else None,
        )

    def __repr__(self) -> str:
        return f"<Assembly {self.engine!r}>"


# The network.


def _open_reader(config: Config, poller: Poller, closing: ExitStack) -> Reader:
    if not config.readers:
        return InlineReader(config.user_agent)
    try:
        pool = ReaderPool(poller, config.readers, config.user_agent)
    except OSError as error:
        raise ConfigError(f"readers {config.readers}: {error.strerror}") from error
    closing.callback(pool.close)
    return pool


# The frontier.


def make_frontier(
    config: Config,
    folder: Path,
    waits: Waits,
    is_public: Callable[[str], bool],
    sizes: FrontierSizes = DEFAULT_SIZES,
) -> Frontier:
    """The frontier of a crawl, with its queues in `folder`."""
    # Behind a proxy all sites seem to have the address of the proxy.
    wait_by = "site" if config.proxy else config.wait_by
    connexions = config.max_connexions_by_site
    ip_sites = IPSites(waits, wait_by, connexions, config.pages_connexions, sizes)

    def permit(address: str) -> bool:
        return config.allow_private or address == BY_PROXY or is_public(address)

    sites = SiteLifecycle(
        SiteSettings(
            agent=config.user_agent,
            waits=waits,
            retries=config.retries,
            retry_wait=config.retry_wait,
            address_time=config.dns_cache_time,
            ignore_robots=config.ignore_robots,
            permit=permit,
        ),
        ip_sites,
        sizes,
    )
    store = Store(folder)
    return Frontier(
        _make_scope(config),
        store,
        Seen(folder, "seen"),
        Seen(folder, "digests"),
        Sequencer(store, config.max_urls_by_site, sizes),
        sites,
        ip_sites,
        sizes,
    )


def _make_scope(config: Config) -> Scope:
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


def _make_types(config: Config) -> Types:
    return Types(
        any_type=config.any_type,
        get_image=config.get_image,
        specific=[media_type for media_type, _ in _specific(config)],
    )


def _specific(config: Config) -> Sequence[tuple[str, str]]:
    return config.specific_set if config.specific_search else ()


def _intake_settings(config: Config) -> IntakeSettings:
    return IntakeSettings(
        ignore_robots=config.ignore_robots,
        no_duplicate=config.page_no_duplicate,
        specific_search=config.specific_search,
    )


# The ports and the terminal.


class Ports:
    """The input port and the status server; each is None if it is not configured."""

    def __init__(
        self, config: Config, poller: Poller, control: Control, closing: ExitStack
    ) -> None:
        self.input: InputPort | None = None
        self.status: StatusServer | None = None
        if config.input_port:
            with _naming("inputPort", config.input_port):
                self.input = InputPort(poller, control, config.input_host, config.input_port)
            closing.callback(self.input.close)
        if config.http_port:
            self.status = _open_status_server(config, poller, control, closing)

    @property
    def listeners(self) -> list[Listener]:
        return [port for port in (self.input, self.status) if port is not None]


def _open_status_server(
    config: Config, poller: Poller, control: Control, closing: ExitStack
) -> StatusServer:
    folder = Path(config.state_dir)
    posting = Posting(control, token.issue(folder))
    closing.callback(token.withdraw, folder)
    where = config.http_host, config.http_port
    with _naming("httpPort", config.http_port):
        server = StatusServer(poller, control.status, *where, config.histograms, posting)
    closing.callback(server.close)
    return server


@contextmanager
def _naming(keyword: str, port: int) -> Iterator[None]:
    """Turn the error of a port that cannot be opened into one that names the setting."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigError(f"{keyword} {port}: {reason}; set another port") from error


def _open_progress(
    config: Config, mode: str, terminal: Terminal, around: Surroundings
) -> list[Progress]:
    """The kinds of progress that are shown."""
    shown: list[Progress] = [] if mode == "none" else [terminal]
    if config.print_stats:
        printed = PrintStats(around.stdout, config.limit_time)
        around.closing.callback(printed.close)
        shown.append(printed)
    return shown


def _make_sinks(config: Config, log: CrawlLog, control: Control, stdout: TextIO) -> list[FateSink]:
    printed: list[FateSink] = [FetchInfo(stdout)] if config.fetch_info else []
    return [log, control.watchers, *printed]
