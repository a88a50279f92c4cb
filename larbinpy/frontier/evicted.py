"""What is left of the sites and addresses that were let go.

Not the last word about them: one that is needed again comes back with the time until which
it is to be left alone. Each entry lasts only as long as what it says.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from larbinpy.outcome import Outcome

#: Entries that are looked at in one turn, to drop those that have passed.
_LOOKS = 100
#: And in one piece of those that are left alone (10 ms).
_PAUSES = 50_000
#: Bits by which those that were let go are recognised, in 2 MiB: of a million met once
#: each, some 4,000 are taken for others that came back.
_BITS = 1 << 24


class ExpiringTimes(dict[str, float]):
    """Times by key, each dropped some time after it has passed.

    `lapse` goes round all entries, some at each call, and keeps no order of its own: an
    entry costs what it costs in a dict.
    """

    def __init__(self) -> None:
        super().__init__()
        self._round: list[str] = []

    def lapse(self, now: float) -> None:
        """Drop what has passed, of the next some entries."""
        if not self._round:
            self._round = list(self)
        for key in self._round[-_LOOKS:]:
            if self.get(key, now) <= now:
                self.pop(key, None)
        del self._round[-_LOOKS:]


class Waiting(Protocol):
    """What is left alone until some time: a site or an address."""

    @property
    def key(self) -> str: ...

    @property
    def next_at(self) -> float: ...


def pauses(
    here: Iterable[Waiting], gone: Mapping[str, float], after: float
) -> Iterator[dict[str, float]]:
    """Who of them is left alone beyond the time `after`, and until when; some at a time."""
    those = list(here)
    for start in range(0, len(those), _PAUSES):
        some = those[start : start + _PAUSES]
        yield {each.key: each.next_at for each in some if each.next_at > after}
    yield {key: until for key, until in gone.items() if until > after}


class DistinctCounter:
    """How many were met, although most of them are forgotten."""

    def __init__(self) -> None:
        self.count = 0
        # Nothing is marked before the first is forgotten; pages never touched cost nothing.
        self._marks = bytearray()

    def __repr__(self) -> str:
        return f"<Met {self.count}>"

    def meet(self, key: str) -> None:
        """Count `key`, which is new or comes back."""
        marks = self._marks
        known = bool(marks) and all(marks[at] & bit for at, bit in _bits(key))
        self.count += not known

    def forget(self, key: str) -> None:
        """See to it that `key` does not count again."""
        if not self._marks:
            self._marks = bytearray(_BITS // 8)
        for at, bit in _bits(key):
            self._marks[at] |= bit


def _bits(key: str) -> Iterator[tuple[int, int]]:
    # A str keeps its hash, and Python's is keyed: nobody can choose names that collide.
    number = hash(key)
    for part in (number, number >> 32):
        yield part % _BITS >> 3, 1 << (part & 7)


class ClosedSites:
    """Why sites that were let go are closed, and until when."""

    def __init__(self) -> None:
        self._closed: dict[Outcome, ExpiringTimes] = {}

    def __len__(self) -> int:
        return sum(map(len, self._closed.values()))

    def put(self, key: str, verdict: Outcome, until: float) -> None:
        self._closed.setdefault(verdict, ExpiringTimes())[key] = until

    def get(self, key: str, now: float) -> Outcome | None:
        """Why the site `key` is closed at `now`; None where it is not, as far as is known."""
        for verdict, closed in self._closed.items():
            if closed.get(key, now) > now:
                return verdict
        return None

    def lapse(self, now: float) -> None:
        """Drop what has passed, of the next some entries."""
        for closed in self._closed.values():
            closed.lapse(now)
