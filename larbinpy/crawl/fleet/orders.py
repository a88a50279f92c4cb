"""Orders to all nodes of a crawl on Redis.

An `Order` of a command or of a node goes to all nodes; `Gathering` waits for their answers. A node
has `Orders`, which executes what it gets.
"""

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from larbinpy.config import Config
from larbinpy.console.ports.commands import CommandSteps, Wait
from larbinpy.fleet.board import ASKED, Answers, Board, all_did, explained, is_settled
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.vault import Away, FleetState, NodeSession, Then
from larbinpy.loop.clock import Clock

#: Seconds between two looks for answers.
_EVERY = 0.1
#: Seconds between two looks at the nodes: one that died, or joined anew, does not answer.
_LOOK = 1.0
Answer = dict[str, Any]
T = TypeVar("T")


class Gathering:
    """Gives an order, and waits for the answers of some nodes until a time at most.

    `nodes` have their sessions: those that end are no longer waited for.
    """

    def __init__(
        self,
        board: RedisBoard,
        give: Callable[[Then[str]], None],
        nodes: Mapping[str, str],
        until: float,
    ) -> None:
        self._board = board
        self._give = give
        self._nodes = dict(nodes)
        self._gone: set[str] = set()
        self._until = until
        self._order = ""
        self._is_asking = False
        self._next = self._look_at = float("-inf")
        #: By node.
        self.answers: dict[str, Answer] = {}
        #: Whether no more answers are waited for.
        self.is_over = False

    @property
    def silent(self) -> list[str]:
        """The nodes that have not answered."""
        return sorted(self._nodes.keys() - self.answers.keys())

    def step(self, now: float) -> None:
        """Ask for answers when it is time."""
        if now >= self._until:
            self.is_over = True
        elif not self._is_asking and now >= self._next:
            self._is_asking = True
            if not self._order:
                self._next = now + _EVERY
                self._give(self._given)
            elif now >= self._look_at:
                # Its answers are looked for once more, after this.
                self._look_at = now + _LOOK
                self._board.read(self._looked)
            else:
                self._next = now + _EVERY
                self._board.answers(self._order, self._answered)

    def _given(self, order: str | Away) -> None:
        self._is_asking = False
        if not isinstance(order, Away):
            self._order = order
            self.is_over = not self._nodes

    def _looked(self, board: Board | Away) -> None:
        self._is_asking = False
        if not isinstance(board, Away):
            alive = board.alive.items()
            self._gone = {name for name, _ in self._nodes.items() - alive}

    def _answered(self, answers: list[Answer] | Away) -> None:
        self._is_asking = False
        if not isinstance(answers, Away):
            self.answers = {str(each.pop("node", "")): each for each in answers}
            awaited = self._nodes.keys() - self._gone
            self.is_over = self.is_over or self.answers.keys() >= awaited


#: Seconds for the answers of nodes: they ask for orders each second. Searches and disks take long.
_PATIENCE = 10.0
_LONG = 600.0


class Order(NamedTuple, Generic[T]):
    """An order to all nodes: how their answers become one.

    It is given again until the question `is_settled`, for `ASKED` seconds at most.
    """

    merge: Callable[[Answers, Sequence[str]], T]
    #: Seconds for the answers, if a command waits for nothing else.
    patience: float = _PATIENCE
    is_settled: Callable[[Answers, Sequence[str]], bool] = lambda answers, silent: True

    def steps(self, gather: Callable[[], Gathering], clock: Clock) -> Iterator[T | Wait]:
        """`Wait` until nodes have answered, then the answer. `gather` gives the order."""
        until = clock() + ASKED
        while True:
            gathering = gather()
            while not gathering.is_over:
                gathering.step(clock())
                yield Wait.EVENT
            found = gathering.answers, gathering.silent
            if self.is_settled(*found) or clock() >= until:
                break
        yield self.merge(*found)


SET = Order(all_did)
SAVE = Order(all_did, _LONG)
EXPLAIN = Order(explained, _LONG, is_settled)
#: The state that a command brings, and those that it ends.
STATES = {
    "pause": (FleetState.PAUSED, (FleetState.RUNNING,)),
    "resume": (FleetState.RUNNING, (FleetState.PAUSED,)),
    "stop": (FleetState.STOPPED, (FleetState.PAUSED, FleetState.NEW, FleetState.RUNNING)),
}
#: Stands for a database that is a file of its node.
OWN_FILE = "file"


def shown_database(config: Config) -> str:
    """The content database of a node, as other machines have to name it; "" for none."""
    if not config.fills_database:
        return ""
    # A crawl that fills none does without the code of search.
    from larbinpy.database.base import Address, is_server

    if not is_server(config.content_database):
        return OWN_FILE
    address = Address.of(config.content_database)
    is_here = address.host in ("localhost", "::1") or address.host.startswith("127.")
    return str(address._replace(host=socket.gethostname()) if is_here else address)


@dataclass(slots=True)
class _Open:
    order: str
    steps: CommandSteps
    answer: Mapping[str, Any] = field(default_factory=dict)


class Orders:
    """Executes orders, each once and all at the same time, a step of each in a turn."""

    def __init__(self, board: RedisBoard, node: str) -> None:
        """`node` is the name under which the answers are given."""
        self._board = board
        self._node = node
        self._asked = NodeSession()
        self._last = (0, 0)
        self._open: list[_Open] = []
        #: Executes an order; the steps end with the answer.
        self.execute: Callable[[str], CommandSteps] = lambda text: iter(())

    def begin(self) -> None:
        """Take orders from now on."""
        self._board.on_order = self._ordered

    def step(self) -> None:
        """One step of each order; answers that were lost are given again."""
        self._asked.resend()
        for order in list(self._open):
            found = next(order.steps, None)
            if isinstance(found, Wait):
                continue
            if found is None:
                self._open.remove(order)
                self._answer(order.order, {"node": self._node, **order.answer})
            else:
                order.answer = found

    def _answer(self, order: str, answer: Mapping[str, Any]) -> None:
        again = partial(self._answer, order, answer)
        self._board.answer(order, answer, self._asked.then(ignored, again))

    def _ordered(self, order: str, text: str) -> None:
        """Begin with an order. After a lost answer it comes again."""
        first, _, second = order.partition("-")
        number = int(first), int(second or 0)
        if number > self._last:
            self._last = number
            self._open.append(_Open(order, self.execute(text)))


def ignored(_: object) -> None:
    """For answers that change nothing."""
