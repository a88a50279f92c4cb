"""How this process takes part in a crawl: alone, or as a node of a fleet.

The assembly has one `Participation`, and then its `Member`, and does not know which kind they are.
Those of a fleet are `crawl.fleet.joining.Fleet` and `crawl.fleet.membership.Membership`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, Protocol

from larbinpy.config import Config
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.crawl.control import Control
from larbinpy.crawl.engine import Fetching, Listener
from larbinpy.crawl.mode import Mode, SavedPause
from larbinpy.crawl.network import NameSharing
from larbinpy.crawl.on_disk import OnDisk, refuse_nodes
from larbinpy.crawl.parts import KINDS, Kinds
from larbinpy.crawl.request_options import Logins
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import Clock
from larbinpy.observe.snapshot import Totals
from larbinpy.output.plug import Feeder
from larbinpy.stats import Stats
from larbinpy.storage.state import SavedPart, SavedValue, Start
from larbinpy.url import Url


class Member(Protocol):
    """This process as a member of its crawl, which has a frontier and outputs."""

    @property
    def feeder(self) -> Feeder:
        """The feeder of the crawl: that of its outputs, or one around it."""

    @property
    def listeners(self) -> Sequence[Listener]:
        """Work that is stepped in each turn."""

    @property
    def describe(self) -> Callable[[], dict[str, Any]] | None:
        """Describes the fleet for the snapshot."""

    def control(self, *arguments: Any, **times: Any) -> Control:
        """The commands, made as a `Control` is."""

    def begin(
        self,
        control: Control,
        totals: Totals,
        stats: Stats,
        frontier: Frontier,
        fetcher: Fetcher,
        finder: FinderProcess | None,
    ) -> None:
        """The state was taken up. `finder` searches the content database, if there is one."""

    def seed(self, seeds: Sequence[str], disk: OnDisk) -> None:
        """Queue seeds, now or as soon as that is possible."""

    def fetching(self, fetcher: Fetcher, wait: Callable[[], float], wait_by: str) -> Fetching:
        """The fetcher of the crawl. `wait` returns waitDuration, and `wait_by` is waitBy."""

    def turn_of(self, url: Url) -> str:
        """The place whose turn a request waits for; empty if it is sent, or needs none."""

    def woken(self) -> None:
        """The process waited, and may have been stopped meanwhile."""

    def has_others(self) -> bool:
        """Whether URLs may still come from other members."""


class Participation(Protocol):
    """The part in a crawl that differs before the frontier and the outputs are made."""

    @property
    def config(self) -> Config:
        """The configuration of this process."""

    @property
    def changed(self) -> Collection[str]:
        """Keywords whose values come from the members of the crawl."""

    @property
    def kinds(self) -> Kinds:
        """The classes of the frontier."""

    @property
    def journal(self) -> SavedPart | None:
        """The journal of a node."""

    @property
    def is_own(self) -> Callable[[str, int], bool] | None:
        """Whether a server that the crawl relies on is at an address and port."""

    @property
    def is_new(self) -> bool:
        """Whether this process has made the crawl."""

    @property
    def keeps_queue(self) -> bool:
        """Whether the queue of URLs is in the folder of this process."""

    @property
    def keeps_seeds(self) -> bool:
        """Whether the seeds may be needed again after the assembly."""

    def start(self, start: Start) -> Start:
        """How to start in the folder of this process. Raises StateError."""

    def logins(self) -> Logins:
        """The logins of seeds that are known at the start."""

    def names(self, wall: Clock) -> NameSharing | None:
        """How names are shared with other members."""

    def values(self, mode: Mode, frontier: Frontier) -> Mapping[str, SavedValue]:
        """Values of the state beside those of the crawl itself."""

    def enter(self) -> list[str]:
        """Begin, after all that can fail and before the first change; lines for the user."""

    def about(self, start: Start) -> list[str]:
        """Lines for the user about the crawl that was begun by `start`."""

    def is_finished(self, frontier: Frontier) -> bool:
        """Whether the crawl that is resumed in the folder of this process has nothing to do."""

    def limit_at(self, started: float) -> float:
        """When limitTime ends the crawl; this process has begun with it at `started`."""

    def member(self, frontier: Frontier, mode: Mode, feeder: Feeder) -> Member:
        """This process as a member; `feeder` is that of the outputs."""


class Alone:
    """The only process of a crawl."""

    changed = ()
    journal = is_own = None
    is_new = keeps_queue = True
    keeps_seeds = False

    def __init__(self, config: Config, kinds: Kinds = KINDS) -> None:
        self.config = config
        self.kinds = kinds

    def start(self, start: Start) -> Start:
        refuse_nodes(Path(self.config.state_dir))
        return start

    def logins(self) -> Logins:
        return Logins(Path(self.config.state_dir))

    def names(self, wall: Clock) -> None:
        return None

    def values(self, mode: Mode, frontier: Frontier) -> Mapping[str, SavedValue]:
        return {"paused": SavedPause(mode, lambda: frontier.owed)}

    def enter(self) -> list[str]:
        return []

    def about(self, start: Start) -> list[str]:
        return []

    def is_finished(self, frontier: Frontier) -> bool:
        return not frontier.owed

    def limit_at(self, started: float) -> float:
        return started + (self.config.limit_time or inf)

    def member(self, frontier: Frontier, mode: Mode, feeder: Feeder) -> Member:
        return SoleMember(feeder)


class SoleMember:
    """The member of a crawl that has no other."""

    listeners = ()
    describe = None

    def __init__(self, feeder: Feeder) -> None:
        self.feeder = feeder

    def control(self, *arguments: Any, **times: Any) -> Control:
        return Control(*arguments, **times)

    def begin(
        self,
        control: Control,
        totals: Totals,
        stats: Stats,
        frontier: Frontier,
        fetcher: Fetcher,
        finder: FinderProcess | None,
    ) -> None:
        pass

    def seed(self, seeds: Sequence[str], disk: OnDisk) -> None:
        disk.seed(seeds)

    def fetching(self, fetcher: Fetcher, wait: Callable[[], float], wait_by: str) -> Fetching:
        return fetcher

    def turn_of(self, url: Url) -> str:
        return ""

    def woken(self) -> None:
        pass

    def has_others(self) -> bool:
        return False
