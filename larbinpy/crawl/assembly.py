"""The assembly of a crawl: makes its parts from a configuration and connects them.

Five steps: the network, the frontier, the state on the disk, the ports and the terminal, the
engine.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, TextIO

from larbinpy.config import Config, Given
from larbinpy.console.terminal.layout import FetchInfo
from larbinpy.console.terminal.progress import PrintStats, Progress, Terminal, make_progress
from larbinpy.crawl.control import Control, LiveSettings
from larbinpy.crawl.ending import Finishing, Stopping
from larbinpy.crawl.engine import Engine, Housekeeping
from larbinpy.crawl.intake import NO_SOFT_JUDGE, FateSink, Intake, IntakeSettings
from larbinpy.crawl.kept_options import KeptOptions
from larbinpy.crawl.mode import DiskPause, Mode
from larbinpy.crawl.network import Network
from larbinpy.crawl.on_disk import OnDisk, locked
from larbinpy.crawl.own_plug import LinkFilter, RequestChanger
from larbinpy.crawl.participation import Participation
from larbinpy.crawl.parts import (
    Display,
    HoursListener,
    SettingsBySite,
    Surroundings,
    make_frontier,
    open_sessions,
    options_of,
    read_logins,
)
from larbinpy.crawl.ports import Ports
from larbinpy.crawl.request_options import make_types
from larbinpy.crawl.requests import ChangedRequests, RequestMaker, Requests
from larbinpy.crawl.resumed import CookieExport, PutBack, cookie_notes
from larbinpy.crawl.sites import SiteConfigs
from larbinpy.frontier.steps import NO_PROBES
from larbinpy.observe.snapshot import Snapshots, Totals, unanswered
from larbinpy.output import Output
from larbinpy.output.log import CrawlLog
from larbinpy.parse import read_in_steps
from larbinpy.soft404.probes import Probes
from larbinpy.stats import Stats
from larbinpy.storage.files import Reserve
from larbinpy.storage.state import Start, State, StateError
from larbinpy.url import Url

if TYPE_CHECKING:
    from larbinpy.crawl.revisiting import Revisiting


class Assembly:
    """The parts of a crawl, made in five steps; each is a method.

    Every step that can fail comes before the first change to the state of an earlier crawl,
    beyond repairing what a kill left torn: the last line of the log, temporary files of a mirror,
    the token.
    Raises ConfigError, StateError or OSError.
    """

    def __init__(
        self,
        part: Participation,
        start: Start,
        seeds: Sequence[str],
        own_output: Output | None,
        progress: str,
        around: Surroundings,
        fixed: Collection[str] = (),
        given: Given | None = None,
    ) -> None:
        self._config = config = part.config
        self._around = around
        self._part = part
        start = part.start(start)
        terminal = make_progress(progress, around.stderr, config.limit_page)
        around.closing.callback(terminal.close)
        state, self._start = locked(Path(config.state_dir), start, around.closing)
        self.mode = Mode(limit_page=config.limit_page)
        self.disk_pause = DiskPause(around.clock)
        self.stats = Stats(around.clock(), around.wall())
        self.logins = part.logins()
        self._site_logins = read_logins(config)
        self._site_configs = SiteConfigs(config)
        self._site_settings = SettingsBySite(config, self._site_configs)
        self._probes = Probes(_impossible_name, self._is_read) if config.probe_soft_404 else None
        self._open_network(own_output)
        self._make_frontier(own_output)
        self._make_saved_values([*fixed, *part.changed])
        self._open_disk(state, own_output, given)
        self._open_ports(progress, terminal)
        self.notes = part.enter()
        # From here on the state of an earlier crawl is changed.
        self._on_disk.take_up(around.clock())
        fetcher = self._network.fetcher
        finder = self._ports.finder
        self._member.begin(self.control, self.totals, self.stats, self.frontier, fetcher, finder)
        self._check_pause()
        self.frontier.was_answered = not unanswered(self.totals.counts())
        is_resumed = self._start is Start.RESUME
        put_back = self._put_back.run() if is_resumed and part.keeps_queue else []
        self._member.seed(seeds, self._on_disk)
        self.notes += part.about(self._start)
        if is_resumed:
            self.notes += [*self._resumed(), *put_back]
        if config.cookie_file:
            hosts, wall = self.frontier.scope.area.hosts, around.wall()
            self.notes += cookie_notes(config.cookie_file, hosts, wall)
        if start is not self._start is Start.SCRATCH:
            self.notes.append(f"{config.state_dir}: replaces a crawl that got no reply at all")
        self.reserve = Reserve(Path(config.state_dir) / "reserve")
        around.closing.callback(self.reserve.release)
        self._make_loop()

    def _open_network(self, own_output: Output | None) -> None:
        around, config = self._around, self._config
        tuning = around.tuning
        self._network = Network(
            config,
            self.logins,
            self._site_configs,
            around.poller,
            around.closing,
            tuning.open_files,
            tuning.dns_tries,
            self._part.names(around.wall),
            options_of(self._site_logins),
        )
        #: None without loginFile.
        self.sessions = open_sessions(self._site_logins, self._network, around.wall, own_output)
        # From here on pagesConnexions is the number that the limit of open files permits.
        self.handles = self._network.fetcher.size
        self._config = replace(config, pages_connexions=self.handles)

    def _make_frontier(self, own_output: Output | None) -> None:
        config, tuning = self._config, self._around.tuning
        folder = Path(config.state_dir)
        wants = own_output.wants if isinstance(own_output, LinkFilter) else None
        self.frontier = make_frontier(
            config,
            folder,
            self._site_settings,
            tuning.is_public,
            self._around.wall(),
            tuning.frontier,
            wants,
            self._part.kinds,
            self._part.is_own,
            self.sessions,
            NO_PROBES if self._probes is None else self._probes,
        )

    def _is_read(self, url: Url) -> bool:
        """Whether the reply to `url` is read: a check of links only asks for most URLs."""
        if not self._config.check_links:
            return True
        from larbinpy.crawl.link_check import LinkCheck

        return not LinkCheck(self.frontier.scope.area).only_asks(url)

    def _make_saved_values(self, fixed: Collection[str]) -> None:
        """Make the objects beside the frontier that the state has values of."""
        clock, network, folder = self._around.clock, self._network, Path(self._config.state_dir)
        self.totals = Totals(self.stats, self.frontier, network.resolver, clock=clock)
        self._put_back = PutBack(
            self._config, folder, self.frontier, self.totals, self._around.wall
        )
        self._revisiting = self._make_revisiting()
        self._settings = LiveSettings(
            self._config,
            fixed,
            self.mode,
            self._site_settings,
            self.frontier,
            network.fetcher,
            clock=clock,
        )

    def _make_revisiting(self) -> "Revisiting | None":
        if self._config.revisit == "off":
            return None
        # Here, since only such crawls need these modules.
        from larbinpy.crawl.revisiting import make_revisiting

        return make_revisiting(self._config, self.frontier, self.mode, self._around.wall)

    def _check_pause(self) -> None:
        """Raise StateError if the crawl is paused, and nothing could end that."""
        if self.mode.paused and not self._ports.listeners:
            raise StateError(
                f"{self._config.state_dir}: this crawl was paused, and no port is open to continue "
                "it; set inputPort, and give the command resume to larbinpy console"
            )

    def _resumed(self) -> list[str]:
        """Lines about a resumed crawl that differs from what its configuration says."""
        folder, notes = self._config.state_dir, []
        if self.mode.paused:
            notes.append("still paused; the command resume of larbinpy console continues")
        notes += self._settings.notes
        if self._part.is_finished(self.frontier) and not self._revisiting:
            notes.append(f"{folder}: this crawl is finished; --scratch starts anew")
        return notes

    def _open_disk(self, state: State, own_output: Output | None, given: Given | None) -> None:
        around, journal = self._around, self._part.journal
        self._on_disk = OnDisk(
            self._config,
            state,
            self.frontier,
            self.logins,
            self._network.fetcher.jars.common,
            {
                "put_back": self._put_back,
                "totals": self.totals,
                "settings": self._settings,
                **({"revisit": self._revisiting} if self._revisiting else {}),
                **self._part.values(self.mode, self.frontier),
            },
            own_output,
            self.stats,
            self._start,
            poller=around.poller,
            clock=around.clock,
            wall=around.wall,
            tuning=around.tuning,
            closing=around.closing,
            more={
                "options": KeptOptions(Path(self._config.state_dir), given),
                **({} if journal is None else {"journal": journal}),
            },
            sessions=self.sessions,
            probes=self._probes,
            revisiting=self._revisiting,
        )
        self._output = self._on_disk.output
        self._member = self._part.member(self.frontier, self.mode, self._output.feeder)
        self._feeder = self._member.feeder
        self._changer = own_output if isinstance(own_output, RequestChanger) else None
        self.log = self._on_disk.log
        self.saving = self._on_disk.saving
        if self.sessions is not None:
            self.sessions.on_login = self.saving.request

    def _open_ports(self, progress: str, terminal: Terminal) -> None:
        """Make the ports, the terminal, and the commands and snapshots that they use."""
        around, config, network = self._around, self._config, self._network
        self.snapshots = Snapshots(
            self.stats,
            self.totals,
            self.frontier,
            network.resolver,
            network.fetcher,
            self._output,
            clock=around.clock,
            wall=around.wall,
            site_blocks=self._site_settings.describe,
            folder=config.state_dir,
            feeder=self._feeder,
            fleet=self._member.describe,
            turn_of=self._member.turn_of,
        )
        self.control = self._member.control(
            self._settings,
            self.mode,
            self.disk_pause,
            self.frontier,
            self.logins,
            self.snapshots,
            self.saving,
            self.log,
            self.totals,
            clock=around.clock,
            wall=around.wall,
        )
        self._ports = Ports(config, around.poller, self.control, around.closing)
        shown = _open_progress(config, progress, terminal, around)
        self.display = Display(terminal, shown, self.control.status)

    def _make_page_stages(self) -> tuple[RequestMaker, Intake]:
        """Make the stages at both ends of a fetch: the request for a URL, and a page's way in."""
        around, config, network = self._around, self._config, self._network
        refresher, types = self._output.refresher, make_types(config)
        scope, options = self.frontier.scope, network.options.for_url
        login_headers = None if self.sessions is None else self.sessions.headers
        requests: RequestMaker = Requests(
            types, scope, self._site_configs.most_bytes, options, refresher, login_headers
        )
        make_intake: Callable[..., Intake] = Intake
        if config.check_links:
            from larbinpy.crawl.link_check import CheckIntake, CheckRequests, LinkCheck

            check = LinkCheck(scope.area)
            requests = CheckRequests(requests, check)
            make_intake = partial(CheckIntake, check, scope.left_out)
        if self._changer is not None:
            requests = ChangedRequests(requests, self._changer)
        intake = make_intake(
            IntakeSettings(
                ignores_robots=self._site_configs.ignores_robots,
                no_duplicate=config.page_no_duplicate,
                specific_search=config.specific_search,
            ),
            self.frontier,
            lambda page: read_in_steps(
                page, self._site_configs.agent(page.url), malformed=config.check_links
            ),
            network.names,
            types,
            self._output,
            _make_sinks(config, self.log, self.control, around.stdout, self._revisiting),
            self.stats,
            refresher,
            self._on_disk.link_notes,
            self.sessions,
            NO_SOFT_JUDGE if self._probes is None else self._probes,
            clock=around.clock,
            wall=around.wall,
            pages=around.tuning.pages_a_turn,
        )
        return requests, intake

    def _make_loop(self) -> None:
        """Make the engine with its stages, and the work between turns."""
        around, config, network = self._around, self._config, self._network
        refresher, tuning = self._output.refresher, around.tuning
        listeners = [*self._ports.listeners, *self._member.listeners]
        around.poller.woken = self._member.woken
        has_others = self._member.has_others
        if self._revisiting is not None:
            # It is never a node.
            listeners.append(self._revisiting)
            has_others = self._revisiting.may_go_on
        if self._site_settings.has_hours:
            listeners.append(HoursListener(self._site_settings, around.wall))
        requests, intake = self._make_page_stages()
        self.engine = Engine(
            self.mode,
            self.disk_pause,
            around.poller,
            self.frontier,
            network.names,
            requests,
            self._member.fetching(network.fetcher, self._wait_duration, config.wait_by),
            intake,
            self._output,
            self.stats,
            listeners,
            self._feeder,
            clock=around.clock,
        )
        self.stopping = Stopping(
            self.engine,
            self.mode,
            self.disk_pause,
            self.frontier,
            self._ports.input,
            Finishing(refresher, around.clock, tuning.grace),
            self._feeder,
            outlives=config.high_level_web_server and self._ports.status is not None,
            limit_at=self._part.limit_at(self.stats.started),
            had_work=self._start is Start.RESUME or self.frontier.owed > 0,
            grace=tuning.grace,
            has_others=has_others,
        )
        self.housekeeping = Housekeeping(
            self.stats,
            network,
            self.frontier,
            self._on_disk.journals,
            self.display,
            self._feeder,
            self.saving.request,
            debug=self.engine if config.debug else None,
            notices=tuple if self.sessions is None else self.sessions.take_notices,
        )
        self.cookie_export = CookieExport(config, network.fetcher.jars)

    def _wait_duration(self) -> float:
        """waitDuration, which commands change."""
        return self._settings.config.wait_duration


# The ports and the terminal.


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


def _impossible_name() -> str:
    """A name that exists at no site, and says in the logs of servers where it comes from."""
    return f"larbinpy-{token_hex(8)}"


def _make_sinks(
    config: Config,
    log: CrawlLog,
    control: Control,
    stdout: TextIO,
    revisiting: "Revisiting | None",
) -> list[FateSink]:
    printed: list[FateSink] = [FetchInfo(stdout)] if config.fetch_info else []
    visits: list[FateSink] = [revisiting] if revisiting else []
    return [*visits, log, control.watchers, *printed]
