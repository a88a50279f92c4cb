"""The little that remains of sites and addresses evicted from memory.

One that is needed again comes back with the time until which it is to be left alone. Each
entry is kept only while it matters.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from larbinpy.frontier.sizes import DEFAULT_SIZES
from larbinpy.outcome import Outcome
from larbinpy.storage.bloom import BloomFilter

#: Entries in one piece of what is left alone (10 ms).
_PAUSES = 50_000
#: Evicted keys recognised when they come back, in 2 MiB: with a million of them one new key in
#: 230 is taken for one that comes back, with five million one in 5.
_EVICTED, _EVICTED_ERROR = 5_000_000, 0.2


class ExpiringTimes(dict[str, float]):
    """Times by key, each dropped some time after it has passed.

    `expire` goes round all entries, `step` of them at each call, and keeps no order of its
    own: an entry costs no more than in a dict.
    """

    def __init__(self, step: int = DEFAULT_SIZES.expiry_step) -> None:
        super().__init__()
        self._step = step
        self._round: list[str] = []

    def expire(self, now: float) -> None:
        """Drop times that have passed, among the next entries."""
        if not self._round:
            self._round = list(self)
        for key in self._round[-self._step :]:
            if self.get(key, now) <= now:
                self.pop(key, None)
        del self._round[-self._step :]


class Waiting(Protocol):
    """A site or an address, left alone until some time."""

    @property
    def key(self) -> str: ...

    @property
    def next_at(self) -> float: ...


def pauses(
    here: Iterable[Waiting], gone: Mapping[str, float], after: float
) -> Iterator[dict[str, float]]:
    """The keys that are left alone beyond the time `after`, and until when; some at a time."""
    those = list(here)
    for start in range(0, len(those), _PAUSES):
        some = those[start : start + _PAUSES]
        yield {each.key: each.next_at for each in some if each.next_at > after}
    yield {key: until for key, until in gone.items() if until > after}


class DistinctCounter:
    """Counts distinct keys, although most of them are evicted from memory."""

    def __init__(self) -> None:
        self.count = 0
        self._evicted = BloomFilter(_EVICTED, _EVICTED_ERROR)

    def __repr__(self) -> str:
        return f"<DistinctCounter {self.count}>"

    def add(self, key: str) -> None:
        """Count `key`, which is new or comes back."""
        self.count += not (self._evicted and key in self._evicted)

    def forget(self, key: str) -> None:
        """`key` is evicted; it does not count again when it comes back."""
        self._evicted.add(key)


class ClosedSites:
    """Why evicted sites are closed, and until when."""

    def __init__(self, step: int = DEFAULT_SIZES.expiry_step) -> None:
        self._step = step
        self._closed: dict[Outcome, ExpiringTimes] = {}

    def __len__(self) -> int:
        return sum(map(len, self._closed.values()))

    def put(self, key: str, verdict: Outcome, until: float) -> None:
        self._closed.setdefault(verdict, ExpiringTimes(self._step))[key] = until

    def get(self, key: str, now: float) -> Outcome | None:
        """Why the site `key` is closed at `now`; None where it is not, as far as is known."""
        for verdict, closed in self._closed.items():
            if closed.get(key, now) > now:
                return verdict
        return None

    def expire(self, now: float) -> None:
        """Drop times that have passed, among the next entries of each verdict."""
        for closed in self._closed.values():
            closed.expire(now)
