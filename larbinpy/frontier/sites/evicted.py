"""The little that is kept of sites and addresses that were evicted from memory.

The time before which a site or address gets no request ("left alone") outlives its eviction.
Each entry is kept only until that time.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from larbinpy.frontier.sizes import DEFAULT_SIZES
from larbinpy.outcome import Outcome
from larbinpy.storage.bloom import BloomFilter
from larbinpy.storage.seen import Seen
from larbinpy.url import fingerprints

#: Entries that `pauses` yields at a time (10 ms).
_PAUSES = 50_000
#: Capacity of the filter of evicted keys (2 MiB), and its error when full: after a million
#: evictions one new key in 230 is mistaken for an evicted one, after five million one in 5.
_EVICTED, _EVICTED_ERROR = 5_000_000, 0.2
#: Keys that wait to be compared with those of earlier runs: one by one takes three times as long.
_WAITING = 500


class ExpiringTimes(dict[str, float]):
    """Times by key, each dropped some time after it has passed.

    `expire` examines all entries in turn, `step` of them at each call. So an entry takes no more
    memory than in a dict, as no order has to be kept.
    """

    def __init__(self, step: int = DEFAULT_SIZES.expiry_step) -> None:
        super().__init__()
        self._step = step
        self._round: list[str] = []

    def expire(self, now: float) -> None:
        """Examine the next entries, and drop those whose time has passed."""
        if not self._round:
            self._round = list(self)
        for key in self._round[-self._step :]:
            if self.get(key, now) <= now:
                self.pop(key, None)
        del self._round[-self._step :]


class Waiting(Protocol):
    """A site or an address that gets no request before some time."""

    @property
    def key(self) -> str: ...

    @property
    def next_at(self) -> float: ...


def pauses(
    here: Iterable[Waiting], gone: Mapping[str, float], after: float
) -> Iterator[dict[str, float]]:
    """The keys that get no request until a time beyond `after`, with that time; some at a time.

    `here` are in memory, `gone` are evicted.
    """
    those = list(here)
    for start in range(0, len(those), _PAUSES):
        some = those[start : start + _PAUSES]
        yield {each.key: each.next_at for each in some if each.next_at > after}
    yield {key: until for key, until in gone.items() if until > after}


class DistinctCounter:
    """Counts distinct keys, although most of them are evicted from memory.

    `prefix` tells the keys of this counter from others in `compare_with`.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._known: Seen | None = None
        #: Keys in this run.
        self.count = 0
        self._new = 0
        # Keys that were counted and not compared yet.
        self._waiting: list[str] = []
        self._evicted = BloomFilter(_EVICTED, _EVICTED_ERROR)

    def __repr__(self) -> str:
        return f"<DistinctCounter {self.count}>"

    def add(self, key: str) -> bool:
        """Count `key`, unless it was evicted before; return whether it is new."""
        if self._evicted and key in self._evicted:
            return False
        self.count += 1
        self._waiting.append(key)
        if len(self._waiting) >= _WAITING:
            self.compare()
        return True

    def compare_with(self, known: Seen) -> None:
        """Count as `new` the keys that are not in `known`, and add them to it."""
        self._known = known

    def compare(self) -> None:
        """Compare the keys that wait. `known` is saved after this."""
        if self._known is not None and self._waiting:
            keys = fingerprints([self._prefix + key for key in self._waiting])
            self._new += sum(self._known.add(keys))
        self._waiting.clear()

    @property
    def new(self) -> int:
        """The keys of this run that no earlier run had."""
        self.compare()
        return self._new

    def forget(self, key: str) -> None:
        """Note that `key` is evicted, so that it is not counted again when it comes back."""
        self._evicted.add(key)


class ClosedSites:
    """The verdicts of evicted sites that are closed, and until when."""

    def __init__(self, step: int = DEFAULT_SIZES.expiry_step) -> None:
        self._step = step
        self._closed: dict[Outcome, ExpiringTimes] = {}

    def __len__(self) -> int:
        return sum(map(len, self._closed.values()))

    def put(self, key: str, verdict: Outcome, until: float) -> None:
        self._closed.setdefault(verdict, ExpiringTimes(self._step))[key] = until

    def get(self, key: str, now: float) -> Outcome | None:
        """The verdict of the site `key` if it is known to be closed at `now`, else None."""
        for verdict, closed in self._closed.items():
            if closed.get(key, now) > now:
                return verdict
        return None

    def expire(self, now: float) -> None:
        """Examine the next entries of each verdict, and drop those whose time has passed."""
        for closed in self._closed.values():
            closed.expire(now)
