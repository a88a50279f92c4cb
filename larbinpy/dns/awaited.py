"""The questions whose answers are awaited: by port and id, and by when their time is up."""

from collections import OrderedDict
from collections.abc import Iterator

from larbinpy.dns.lookup import TRIES, Lookup

# Waits grow by half from one try to the next, up to five times the first: 1, 1.5, 2.3, 3.4
# and three times 5 s for a time-out of 1 s. Doubling (RFC 1536) would keep a name whose
# answer was lost four times waiting for as long as most pages take.
_GROWTH = 1.5
_LONGEST_WAIT = 5


class Awaited:
    """Look-ups that wait for a datagram, or only for their time.

    `timeout` is the first wait, in seconds. Each look-up here is on the rung of its try; it
    is found by port and id while an answer counts. All waits of a rung are equally long, so
    that each rung is in the order of its dues by itself.
    """

    def __init__(self, timeout: float) -> None:
        self._by_key: dict[tuple[int, bytes], Lookup] = {}
        self._rungs: list[OrderedDict[str, Lookup]] = [OrderedDict() for _ in range(TRIES)]
        self._waits = [timeout * min(_GROWTH**rung, _LONGEST_WAIT) for rung in range(TRIES)]
        #: No look-up stays longer on its rung (s).
        self.longest = self._waits[-1]

    def __repr__(self) -> str:
        return f"<Awaited {self.fresh} fresh, {self.overdue} overdue>"

    @property
    def fresh(self) -> int:
        """How many are in their first wait."""
        return len(self._rungs[0])

    @property
    def overdue(self) -> int:
        """How many have waited in vain before."""
        return sum(map(len, self._rungs[1:]))

    @property
    def deadline(self) -> float | None:
        """When the first one's time is up."""
        dues = [next(iter(rung.values())).due for rung in self._rungs if rung]
        return min(dues, default=None)

    def add(self, lookup: Lookup, key: tuple[int, bytes] | None, now: float) -> None:
        """Begin the next try's wait: for an answer to `key`, its port and id, or for none."""
        lookup.key = key
        if key is not None:
            self._by_key[key] = lookup
        lookup.due = now + self._waits[lookup.tries]
        self._rungs[lookup.tries][lookup.name] = lookup
        lookup.tries += 1

    def find(self, key: tuple[int, bytes]) -> Lookup | None:
        """Who waits for an answer to `key`."""
        return self._by_key.get(key)

    def remove(self, lookup: Lookup) -> None:
        del self._rungs[lookup.tries - 1][lookup.name]
        if lookup.key is not None:
            del self._by_key[lookup.key]
            lookup.key = None

    def expired(self, now: float) -> Iterator[tuple[Lookup, bool]]:
        """Those whose time is up, taken off, and whether they waited for an answer."""
        for rung in self._rungs:
            while rung:
                lookup = next(iter(rung.values()))
                if lookup.due > now:
                    break
                was_asked = lookup.key is not None
                self.remove(lookup)
                yield lookup, was_asked
