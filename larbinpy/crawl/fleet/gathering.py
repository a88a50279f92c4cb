"""An order to all nodes, and their answers."""

from collections.abc import Callable, Mapping
from typing import Any

from larbinpy.fleet.board import Board
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.vault import Away, Then

#: Seconds between two looks for answers.
_EVERY = 0.1
#: Seconds between two looks at the nodes: one that died, or joined anew, does not answer.
_LOOK = 1.0

Answer = dict[str, Any]


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

    def __repr__(self) -> str:
        return f"<Gathering {len(self.answers)} of {len(self._nodes)}>"

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
