"""An order to all nodes, and their answers."""

from collections.abc import Callable, Collection
from typing import Any

from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.vault import Away, Then

#: Seconds between two looks for answers.
_EVERY = 0.1

Answer = dict[str, Any]


class Gathering:
    """Gives an order, and waits for the answers of some nodes, for `patience` seconds at most."""

    def __init__(
        self,
        board: RedisBoard,
        give: Callable[[Then[str]], None],
        nodes: Collection[str],
        until: float,
    ) -> None:
        self._board = board
        self._give = give
        self._nodes = set(nodes)
        self._until = until
        self._order = ""
        self._is_asking = False
        self._next = float("-inf")
        #: By node.
        self.answers: dict[str, Answer] = {}
        #: Whether no more answers are waited for.
        self.is_over = False

    def __repr__(self) -> str:
        return f"<Gathering {len(self.answers)} of {len(self._nodes)}>"

    @property
    def silent(self) -> list[str]:
        """The nodes that have not answered."""
        return sorted(self._nodes - self.answers.keys())

    def step(self, now: float) -> None:
        """Ask for answers when it is time."""
        if now >= self._until:
            self.is_over = True
        elif not self._is_asking and now >= self._next:
            self._is_asking = True
            self._next = now + _EVERY
            if self._order:
                self._board.answers(self._order, self._answered)
            else:
                self._give(self._given)

    def _given(self, order: str | Away) -> None:
        self._is_asking = False
        if not isinstance(order, Away):
            self._order = order
            self.is_over = not self._nodes

    def _answered(self, answers: list[Answer] | Away) -> None:
        self._is_asking = False
        if not isinstance(answers, Away):
            self.answers = {str(each.pop("node", "")): each for each in answers}
            self.is_over = self.is_over or self.answers.keys() >= self._nodes
