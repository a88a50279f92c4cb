"""How this process takes part in a crawl: alone, or as a node of a fleet.

That is decided once. The assembly asks a `Participation` before the frontier and the outputs are
made, and then the `Member` that it gets from it, and does not know which kind they are.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from larbinpy.config import Config
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.context import Context
from larbinpy.crawl.control import Control
from larbinpy.crawl.engine import Listener
from larbinpy.crawl.mode import Mode, SavedPause
from larbinpy.crawl.network import Network, unshared
from larbinpy.crawl.on_disk import NO_PARTS, OnDisk, refuse_nodes
from larbinpy.crawl.parts import KINDS
from larbinpy.crawl.request_options import Logins
from larbinpy.frontier.frontier import Frontier
from larbinpy.observe.snapshot import Totals
from larbinpy.output.plug import Feeder
from larbinpy.storage.state import SavedValue, Start
from larbinpy.url import Url

if TYPE_CHECKING:
    from larbinpy.crawl.fleet.joining import Fleet
    from larbinpy.crawl.fleet.membership import Membership


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
        refuse_nodes(context.folder)
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
