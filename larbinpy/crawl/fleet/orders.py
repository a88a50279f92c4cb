"""The orders that a node gets from operators and other nodes, and its answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from larbinpy.console.ports.commands import CommandSteps, Wait
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.session import Session


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
        self._asked = Session()
        self._last = (0, 0)
        self._open: list[_Open] = []
        #: Executes an order; the steps end with the answer.
        self.execute: Callable[[str], CommandSteps] = lambda text: iter(())

    def __repr__(self) -> str:
        return f"<Orders {len(self._open)} open>"

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
        self._board.answer(order, answer, self._asked.then(_ignore, again))

    def _ordered(self, order: str, text: str) -> None:
        """Begin with an order. After a lost answer it comes again."""
        first, _, second = order.partition("-")
        number = int(first), int(second or 0)
        if number > self._last:
            self._last = number
            self._open.append(_Open(order, self.execute(text)))


def _ignore(_: object) -> None:
    """For answers that change nothing."""
