"""A budget for cached things: the least recently used ones are evicted when it is exceeded."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class LruBudget(Generic[K]):
    """Keys in the order of their last use, each with its cost, in units of the caller."""

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
        return f"<LruBudget {self.total} of {self.most}, {len(self)} keys>"

    def use(self, key: K, cost: int = 1, *, first_to_go: bool = False) -> None:
        """`key` was used just now and costs `cost` from now on.

        `first_to_go`: it is evicted before all others.
        """
        self.total += cost - self._costs.get(key, 0)
        self._costs[key] = cost
        self._costs.move_to_end(key, last=not first_to_go)

    def touch(self, key: K) -> None:
        """`key` was used just now; its cost stays."""
        self._costs.move_to_end(key)

    def discard(self, key: K) -> None:
        """Remove `key` and its cost."""
        self.total -= self._costs.pop(key, 0)

    def surplus(self) -> Iterator[K]:
        """Evict keys until the budget is kept; the last one stays, whatever it costs."""
        while self.total > self.most and len(self._costs) > 1:
            key, cost = self._costs.popitem(last=False)
            self.total -= cost
            yield key
