"""A Bloom filter: a set of texts that errs on one side, at 29 bits for each (one in 10^6).

A text that was added is always found; one that was not is found by mistake with the
probability the filter was made for. Nothing can be taken out but everything (Bloom,
"Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 13(7), 1970).
"""

from math import ceil, log, log2
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap

# Bits of the smallest filter. In few bits two texts take the same steps too often: with
# 2,876 for a hundred texts the error was 4 in 10^4 instead of one in 10^6.
_LEAST = 1 << 20

# What makes the second hash of a text differ from the first.
_OTHER = "\0"


class BloomFilter:
    """Texts, of which `capacity` fit before more than `error` of all others are found, too.

    A full filter has half of its bits set: -log2(`error`) of them are looked at for each
    text, of 1.44 times as many there are for each. They stand at equal steps from the
    first one, a hash of its own each for the first and the step (Kirsch and Mitzenmacher,
    "Less Hashing, Same Performance", ESA 2006), since hashes of 64 bits leave no bias over
    the 2^32 bits and more of a filter of a hundred million. Python keys its hash anew in
    each process, so that nobody outside can make up texts that are found by mistake, unless
    PYTHONHASHSEED is set.

    The memory comes zeroed from the system, page by page as bits are set: a filter costs
    nothing before its use, and clearing it is giving the memory back.
    """

    def __init__(self, capacity: int, error: float = 1e-6) -> None:
        if capacity < 1 or not 0 < error < 1:
            raise ValueError(f"no filter of {capacity} texts with an error of {error}")
        self.capacity = capacity
        self._size = max(ceil(capacity * -log(error) / log(2) ** 2), _LEAST)
        self._probes = ceil(-log2(error))
        self.clear()

    def __len__(self) -> int:
        """How many were added; short of those that were found by mistake already."""
        return self._added

    def __repr__(self) -> str:
        return f"<BloomFilter {self._added} of {self.capacity}>"

    @property
    def size_bytes(self) -> int:
        """The memory of a filter that is full."""
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
        # Looked at alone: it settles every second text in a full filter, all in an empty one.
        if not bits[first >> 3] & 1 << (first & 7):
            return False
        step = hash(_OTHER + text) % size + 1
        for place in range(first + step, first + self._probes * step, step):
            place %= size
            if not bits[place >> 3] & 1 << (place & 7):
                return False
        return True
