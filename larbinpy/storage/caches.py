"""Bounded memories: a Bloom filter, and a budget that evicts the least recently used things.

A text that was added to a `BloomFilter` is always found; one that was not added is found with the
probability for which the filter was made, at 29 bits for each text for one in a million. Single
texts cannot be removed (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM
13(7), 1970).
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from math import ceil, log, log2
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Generic, TypeVar

# Bits of the smallest filter. With fewer bits two texts share first bit and step too often: with
# 2,876 bits for a hundred texts the error was 4 in 10^4 instead of one in 10^6.
_LEAST = 1 << 20

# Prefix of a text for its second hash.
_OTHER = "\0"


class BloomFilter:
    """A set of texts: with `capacity` of them, the share `error` of all others is found, too.

    A full filter has half of its bits set. -log2(`error`) bits are examined for each text, and
    the filter has 1.44 times as many for each. They lie at equal steps from the first one; first
    bit and step have a hash each (Kirsch and Mitzenmacher, "Less Hashing, Same Performance", ESA
    2006), as 64-bit hashes have no bias over the 2^32 bits and more of a filter for a hundred
    million. Python keys its hash anew in each process, so outsiders cannot construct false
    positives unless PYTHONHASHSEED is set.

    The system provides zeroed memory page by page as bits are set, so an empty filter takes
    none, and clearing gives the memory back.
    """

    def __init__(self, capacity: int, error: float = 1e-6) -> None:
        if capacity < 1 or not 0 < error < 1:
            raise ValueError(f"no filter of {capacity} texts with an error of {error}")
        self.capacity = capacity
        self._size = max(ceil(capacity * -log(error) / log(2) ** 2), _LEAST)
        self._probes = ceil(-log2(error))
        self.clear()

    def __len__(self) -> int:
        """The number of texts added, without those that were found before they were added."""
        return self._added

    def __repr__(self) -> str:
        return f"<BloomFilter {self._added} of {self.capacity}>"

    @property
    def size_bytes(self) -> int:
        """The memory of a full filter."""
        return len(self._bits)

    def clear(self) -> None:
        self._bits = mmap(-1, self._size // 8 + 1, flags=MAP_PRIVATE | MAP_ANONYMOUS)
        self._added = 0

    def add(self, text: str) -> None:
        bits, size = self._bits, self._size
        is_new = False
        first = hash(text) % size
        step = hash(_OTHER + text) % size + 1
        for place in range(first, first + self._probes * step, step):
            place %= size
            if not bits[place >> 3] & 1 << (place & 7):
                bits[place >> 3] |= 1 << (place & 7)
                is_new = True
        self._added += is_new

    def __contains__(self, text: str) -> bool:
        bits, size = self._bits, self._size
        first = hash(text) % size
        # The first bit decides for half of the texts in a full filter, for all in an empty one.
        if not bits[first >> 3] & 1 << (first & 7):
            return False
        step = hash(_OTHER + text) % size + 1
        for place in range(first + step, first + self._probes * step, step):
            place %= size
            if not bits[place >> 3] & 1 << (place & 7):
                return False
        return True


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
