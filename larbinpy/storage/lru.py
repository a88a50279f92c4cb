"""Budget: how much may be kept of what is good to have, and what goes when it is too much."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Budget(Generic[K]):
    """Keys in the order of their last use, each with its cost; the oldest are over first."""

    __slots__ = ("_costs", "most", "total")

    def __init__(self, most: int) -> None:
        self.most = most
        #: Sum of the costs.
        self.total = 0
        self._costs: OrderedDict[K, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._costs)

    def __contains__(self, key: K) -> bool:
        return key in self._costs

    def __repr__(self) -> str:
        return f"<Budget {self.total} of {self.most}, {len(self)} keys>"

    def use(self, key: K, cost: int = 1, *, first_to_go: bool = False) -> None:
        """`key` was used just now, and costs `cost` from now on."""
        self.total += cost - self._costs.get(key, 0)
        self._costs[key] = cost
        self._costs.move_to_end(key, last=not first_to_go)

    def touch(self, key: K) -> None:
        """`key` was used just now, at the cost that is known."""
        self._costs.move_to_end(key)

    def discard(self, key: K) -> None:
        """`key` costs nothing any more."""
        self.total -= self._costs.pop(key, 0)

    def surplus(self) -> Iterator[K]:
        """Take out what is above the budget; the last one stays, whatever it costs."""
        while self.total > self.most and len(self._costs) > 1:
            key, cost = self._costs.popitem(last=False)
            self.total -= cost
            yield key
