"""The assembly of a crawl: makes its parts from a configuration and connects them.

Five steps: the network, the frontier, the state on the disk, the ports, the engine.

How this process takes part in the crawl is decided once: alone, or as a node of a fleet. The
assembly asks a `Participation` before the frontier and the outputs are made, and then the `Member`
that it gets from it, and does not know which kind they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeAlias

from larbinpy.config import UNKNOWN, Config, Given, Origins
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.context import Context
from larbinpy.crawl.control import Control, LiveSettings, Ports
from larbinpy.crawl.ending import Finishing, Stopping
from larbinpy.crawl.engine import Engine, Housekeeping, Listener
from larbinpy.crawl.intake import Intake, Judge
from larbinpy.crawl.kept_options import KeptOptions
from larbinpy.crawl.mode import Mode, Room, SavedPause
from larbinpy.crawl.network import Network, unshared
from larbinpy.crawl.on_disk import NO_PARTS, OnDisk, SavedSessions, check_folder, locked
from larbinpy.crawl.own_plug import LinkFilter, RequestChanger
from larbinpy.crawl.parts import (
    KINDS,
    Display,
    HoursListener,
    Kinds,
    SettingsBySite,
    make_frontier,
    open_sessions,
    options_of,
    read_logins,
)
from larbinpy.crawl.requests import (
    ChangedRequests,
    Logins,
    RequestMaker,
    Requests,
    SiteConfigs,
    Types,
)
from larbinpy.crawl.resumed import CookieExport, PutBack, cookie_notes
from larbinpy.fetch.cookies import SavedCookies
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.soft404.probes import Probes, SavedProbes
from larbinpy.observe.snapshot import Snapshots, Totals, unanswered
from larbinpy.output.modes import open_outputs
from larbinpy.output.plug import NO_REFRESH, Feeder, Output
from larbinpy.storage.files import Reserve
from larbinpy.storage.state import SavedValue, Start, State, StateError
from larbinpy.url import Url

if TYPE_CHECKING:
    from larbinpy.crawl.fleet.membership import Fleet, Membership
    from larbinpy.crawl.revisiting import Revisiting


class Alone:
    """The only process of a crawl, before and after it has a frontier and outputs."""

    #: Keywords whose values come from the members of the crawl.
    changed = ()
    #: Parts of the state beside those of the crawl itself.
    parts = NO_PARTS
    #: Whether a server that the crawl relies on is at an address and port; None for no server.
    is_own = None
    #: Makes a resolver; returns it with the names that are shared with other members.
    share_names = staticmethod(unshared)
    #: The classes of the frontier.
    kinds = KINDS
    #: Whether this process has made the crawl, and has the queue of URLs in its folder.
    is_new = keeps_queue = True
    #: Whether the seeds may be needed again after the assembly.
    keeps_seeds = False
    #: Work that is stepped in each turn.
    listeners: Sequence[Listener] = ()
    #: Describes the fleet for the snapshot.
    describe = None
    #: That of the outputs; that of a node is around it.
    feeder: Feeder

    def __init__(self, config: Config) -> None:
        self.config = config

    def start(self, context: Context, start: Start) -> Start:
        """How to start in the folder of this process. Raises StateError."""
        check_folder(context.folder, start)
        return start

    def logins(self, context: Context) -> Logins:
        """The logins of seeds that are known at the start."""
        return Logins(context.folder)

    def values(self, mode: Mode, frontier: Frontier) -> Mapping[str, SavedValue]:
        """Values of the state beside those of the crawl itself."""
        return {"paused": SavedPause(mode, lambda: frontier.owed)}

    def enter(self) -> list[str]:
        """Begin, after all that can fail and before the first change; lines for the user."""
        return []

    def about(self, start: Start) -> list[str]:
        """Lines for the user about the crawl that was begun by `start`."""
        return []

    def is_finished(self, frontier: Frontier) -> bool:
        """Whether the crawl that is resumed in the folder of this process has nothing to do."""
        return not frontier.owed

    def limit_at(self, started: float) -> float:
        """When limitTime ends the crawl; this process has begun with it at `started`."""
        return started + (self.config.limit_time or inf)

    def member(self, frontier: Frontier, mode: Mode, feeder: Feeder) -> "Alone":
        """This process as a member; `feeder` is that of the outputs."""
        self.feeder = feeder
        return self

    # As a member of the crawl:

    def control(self, *arguments: Any) -> Control:
        """The commands, made as a `Control` is."""
        return Control(*arguments)

    def begin(
        self, context: Context, totals: Totals, network: Network, finder: FinderProcess | None
    ) -> None:
        """The state was taken up. `finder` searches the content database, if there is one."""

    def seed(self, seeds: Sequence[str], disk: OnDisk) -> None:
        """Queue seeds, now or as soon as that is possible."""
        disk.seed(seeds)

    def take_turns(self, network: Network, wait: Callable[[], float], wait_by: str) -> None:
        """Let requests wait for other members. `wait` returns waitDuration; `wait_by` is waitBy."""

    def turn_of(self, url: Url) -> str:
        """The place whose turn a request waits for; empty if it is sent, or needs none."""
        return ""

    def woken(self) -> None:
        """The process waited, and may have been stopped meanwhile."""

    def has_others(self) -> bool:
        """Whether URLs may still come from other members."""
        return False


Participation: TypeAlias = "Alone | Fleet"
Member: TypeAlias = "Alone | Membership"


class Assembly:
    """The parts of a crawl, made in five steps; each is a method.

    Every step that can fail comes before the first change to the state of an earlier crawl,
    beyond repairing what a kill left torn: the last line of the log, temporary files of a mirror,
    the token.
    Raises ConfigError, StateError or OSError.
    """

    def __init__(
        self,
        context: Context,
        part: Participation,
        start: Start,
        seeds: Sequence[str],
        own_output: Output | None,
        display: Display,
        origins: Origins = UNKNOWN,
    ) -> None:
        self._context = context
        self._part = part
        self._own_output = own_output
        self.display = display
        start = part.start(context, start)
        state, self._start = locked(context.folder, start, context.closing)
        config = context.config
        self.mode = Mode(limit_page=config.limit_page, limit_kept=config.limit_kept)
        self.logins = part.logins(context)
        self._site_configs = SiteConfigs(context.config)
        self._site_settings = SettingsBySite(context.config, self._site_configs)
        self._open_network()
        self._make_frontier(origins)
        self._open_disk(state, origins.given)
        self._open_ports()
        self.notes = [*part.enter(), *self._ports.notes]
        self.mode.limit_at = part.limit_at(context.stats.started)
        # From here on the state of an earlier crawl is changed.
        self._on_disk.take_up(context.clock())
        self._member.begin(context, self.totals, self._network, self._ports.finder)
        self._check_pause()
        self.frontier.was_answered = not unanswered(self.totals.counts())
        is_resumed = self._start is Start.RESUME
        put_back = self._put_back.run() if is_resumed and part.keeps_queue else []
        self._member.seed(seeds, self._on_disk)
        self.notes += part.about(self._start)
        if is_resumed:
            self.notes += [*self._resumed(), *put_back]
        self.notes += self._about_cookies()
        if start is not self._start is Start.SCRATCH:
            self.notes.append(f"{context.folder}: replaces a crawl that got no reply at all")
        config, free = context.config, context.tuning.free_bytes
        self.room = Room((config.output_dir, config.state_dir), config.min_free, free)
        self.reserve = Reserve(context.folder / "reserve")
        context.closing.callback(self.reserve.release)
        self._make_loop()

    def _open_network(self) -> None:
        logins = read_logins(self._context.config)
        self._network = Network(
            self._context,
            self.logins,
            self._site_configs,
            self._part.share_names,
            options_of(logins),
        )
        #: None without loginFile.
        self.sessions = open_sessions(logins, self._network, self._context.wall, self._own_output)
        # From here on pagesConnexions is the number that the limit of open files permits.
        self.handles = self._network.fetcher.size
        config = replace(self._context.config, pages_connexions=self.handles)
        self._context = replace(self._context, config=config)

    def _make_frontier(self, origins: Origins) -> None:
        """Make the frontier, and the objects beside it that the state has values of."""
        context, own, network = self._context, self._own_output, self._network
        is_probing = context.config.probe_soft_404
        self._probes = Probes(_impossible_name, self._is_read) if is_probing else None
        self.frontier = make_frontier(
            context,
            self._site_settings,
            own.wants if isinstance(own, LinkFilter) else None,
            self._kinds(),
            self._part.is_own,
            self.sessions,
            self._probes,
        )
        self.totals = Totals(context, self.frontier, network.resolver)
        self._put_back = PutBack(context, self.frontier, self.totals)
        self._revisiting = self._make_revisiting()
        self._settings = LiveSettings(
            context,
            origins,
            self._part.changed,
            self.mode,
            self._site_settings,
            self.frontier,
            network.fetcher,
        )

    def _kinds(self) -> Kinds:
        if not self._context.config.render:
            return self._part.kinds
        from larbinpy.render.turns import RenderingIPSites

        return self._part.kinds._replace(ip_sites=RenderingIPSites)

    def _is_read(self, url: Url) -> bool:
        """Whether the reply to `url` is read: a check of links only asks for most URLs."""
        if not self._context.config.check_links:
            return True
        from larbinpy.crawl.link_check import LinkCheck

        return not LinkCheck(self.frontier.scope.area).only_asks(url)

    def _make_revisiting(self) -> "Revisiting | None":
        if self._context.config.revisit == "off":
            return None
        # Here, since only such crawls need these modules.
        from larbinpy.crawl.revisiting import make_revisiting

        return make_revisiting(self._context, self.frontier, self.mode)

    def _check_pause(self) -> None:
        """Raise StateError if the crawl is paused, and nothing could end that."""
        if self.mode.paused and not self._ports.listeners:
            raise StateError(
                f"{self._context.folder}: this crawl was paused, and no port is open to continue "
                "it; set inputPort, and give the command resume to larbinpy console"
            )

    def _resumed(self) -> list[str]:
        """Lines about a resumed crawl that differs from what its configuration says."""
        notes = []
        if self.mode.paused:
            notes.append("still paused; the command resume of larbinpy console continues")
        notes += self._settings.notes
        if self._part.is_finished(self.frontier) and not self._revisiting:
            folder = self._context.config.state_dir
            notes.append(f"{folder}: this crawl is finished; --scratch starts anew")
        return notes

    def _about_cookies(self) -> list[str]:
        path = self._context.config.cookie_file
        hosts = self.frontier.scope.area.hosts
        return cookie_notes(path, hosts, self._context.wall()) if path else []

    def _open_disk(self, state: State, given: Given | None) -> None:
        context, folder, part = self._context, self._context.folder, self._part
        self._output = open_outputs(
            context,
            self._own_output,
            lambda href: self.frontier.admission.folding.fold(href),
            None if self._revisiting is None else self._revisiting.visits,
        )
        if self._revisiting is not None:
            self._revisiting.attach(self._output.feeder)
        self._network.on_found = self._output.resolved
        probes = SavedProbes(folder, self._probes)
        context.closing.callback(probes.close)
        self._on_disk = OnDisk(
            context,
            state,
            self._start,
            self.frontier,
            self._output,
            self.logins,
            {
                "cookies": SavedCookies(folder, self._network.fetcher.jars.common),
                "sessions": SavedSessions(folder, self.sessions),
                "probes": probes,
                "options": KeptOptions(folder, given),
                **part.parts,
            },
            {
                "put_back": self._put_back,
                "totals": self.totals,
                "settings": self._settings,
                **({"revisit": self._revisiting} if self._revisiting else {}),
                **part.values(self.mode, self.frontier),
            },
        )
        self._member: Member = part.member(self.frontier, self.mode, self._output.feeder)
        self.log = self._on_disk.log
        self.saving = self._on_disk.saving
        if self.sessions is not None:
            self.sessions.on_login = self.saving.request

    def _open_ports(self) -> None:
        """Make the ports, and the commands and snapshots that they and the terminal use."""
        context, network = self._context, self._network
        self.snapshots = Snapshots(
            context,
            self.totals,
            self.frontier,
            network.resolver,
            network.fetcher,
            self._output,
            self._member,
            self._site_settings.describe,
        )
        self.control = self._member.control(
            context,
            self._settings,
            self.mode,
            self.frontier,
            self.logins,
            self._on_disk,
            self.totals,
            self.snapshots,
        )
        self._ports = Ports(context, self.control)
        self.display.status = self.control.status

    def _make_page_stages(self) -> tuple[RequestMaker, Intake]:
        """Make the stages at both ends of a fetch: the request for a URL, and a page's way in."""
        context, config, network = self._context, self._context.config, self._network
        # A page is asked for whole if a browser may read it: it may not be all that has changed.
        refresher = NO_REFRESH if config.render else self._output.refresher
        types = Types(config)
        scope, options = self.frontier.scope, network.options.for_url
        login_headers = None if self.sessions is None else self.sessions.headers
        requests: RequestMaker = Requests(
            types,
            scope,
            self._site_configs.most_bytes,
            options,
            refresher,
            login_headers,
            self._site_configs.names_referer,
        )
        judging = self.frontier, self.sessions, self._probes
        judge = Judge(*judging)
        intake: type[Intake] = Intake
        if config.check_links:
            from larbinpy.crawl.link_check import CheckIntake, CheckJudge, CheckRequests

            judge = checking = CheckJudge(*judging)
            requests, intake = CheckRequests(requests, checking.check), CheckIntake
        if isinstance(self._own_output, RequestChanger):
            requests = ChangedRequests(requests, self._own_output)
        if config.render:
            from larbinpy.crawl.rendering import PartRequests, rendering

            requests = PartRequests(requests, network, self._site_configs.most_bytes, login_headers)
            intake = rendering(intake)
        visits = [self._revisiting] if self._revisiting else []
        return requests, intake(
            context,
            self._site_configs,
            self.frontier,
            judge,
            self._output,
            self._on_disk.link_notes,
            [*visits, self.log, self.control.watchers, *self.display.sinks],
            network.names.expect,
        )

    def _make_loop(self) -> None:
        """Make the engine with its stages, and the work between turns."""
        context, member, network = self._context, self._member, self._network
        listeners = [*self._ports.listeners, *member.listeners]
        context.poller.woken = member.woken
        has_others = member.has_others
        if self._revisiting is not None:
            # It is never a node.
            listeners.append(self._revisiting)
            has_others = self._revisiting.may_go_on
        if self._site_settings.has_hours:
            listeners.append(HoursListener(self._site_settings, context.wall))
        member.take_turns(network, self._wait_duration, context.config.wait_by)
        requests, intake = self._make_page_stages()
        if context.config.render:
            from larbinpy.crawl.rendering import make_renderer

            renderer = make_renderer(context, self.frontier, network, self.mode, requests, intake)
            listeners.append(renderer)
            self.snapshots.browser = renderer.describe
        self.engine = Engine(
            context,
            self.mode,
            self.frontier,
            network,
            requests,
            intake,
            member.feeder,
            listeners,
        )
        self.stopping = Stopping(
            context,
            self.mode,
            self.engine,
            self._ports,
            Finishing(
                self._output.refresher,
                context.clock,
                context.tuning.grace,
                self.totals.left_out_reasons,
            ),
            member.feeder,
            has_others,
            had_work=self._start is Start.RESUME or self.engine.has_work,
        )
        self.housekeeping = Housekeeping(
            context,
            self.frontier,
            network,
            self._on_disk,
            self.display,
            member.feeder,
            tuple if self.sessions is None else self.sessions.take_notices,
            self.engine if context.config.debug else None,
        )
        self.cookie_export = CookieExport(context.config, network.fetcher.jars)

    def _wait_duration(self) -> float:
        """waitDuration, which commands change."""
        return self._settings.config.wait_duration


def _impossible_name() -> str:
    """A name that exists at no site, and says in the logs of servers where it comes from."""
    return f"larbinpy-{token_hex(8)}"
