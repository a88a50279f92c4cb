"""Questions whose replies are awaited, by port and id and by when they time out."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from larbinpy.dns.lookup import Lookup
from larbinpy.dns.servers import Server

# Waits grow by half from one try to the next, up to five times the first: 1, 1.5, 2.3, 3.4
# and three times 5 s for a timeout of 1 s. Doubling (RFC 1536) would keep a name whose
# reply was lost four times waiting for as long as most pages take.
_GROWTH = 1.5
_LONGEST_WAIT = 5

#: A port, by its descriptor, and the id of a question.
Key = tuple[int, bytes]


@dataclass(slots=True, eq=False)
class Sent:
    """One try of a lookup: a question that was sent, or a wait without one."""

    lookup: Lookup
    #: The server that was asked; for a wait without a question, the last one asked.
    server: Server
    #: Port and id that the reply must have; None for a wait without a question.
    key: Key | None
    #: The question section as it left, in its random case.
    section: bytes
    #: When it was sent, and when it times out.
    at: float
    due: float
    #: Number of the try, from 0.
    rung: int
    #: Whether a reply arrived that matched except for its letter case.
    lost_case: bool = False


class Awaited:
    """Tries of lookups, one a lookup, each waiting for a datagram or only for its timeout.

    `timeout` is the first wait, in seconds, and `tries` the most tries of a question. All waits of
    one rung (the number of the try) are equally long, so each rung is in the order of its timeouts
    by itself.
    """

    def __init__(self, timeout: float, tries: int) -> None:
        self._by_key: dict[Key, Sent] = {}
        self._rungs: list[OrderedDict[str, Sent]] = [OrderedDict() for _ in range(tries)]
        self._waits = [timeout * min(_GROWTH**rung, _LONGEST_WAIT) for rung in range(tries)]
        #: The longest wait of any rung (s).
        self.longest = self._waits[-1]

    def __repr__(self) -> str:
        return f"<Awaited {self.fresh} fresh, {self.overdue} overdue>"

    @property
    def fresh(self) -> int:
        """Number of tries that are the first of their question."""
        return len(self._rungs[0])

    @property
    def overdue(self) -> int:
        """Number of tries that follow a timeout or an error."""
        return sum(map(len, self._rungs[1:]))

    @property
    def deadline(self) -> float | None:
        """The time of the first timeout; None if nothing is awaited."""
        dues = [next(iter(rung.values())).due for rung in self._rungs if rung]
        return min(dues, default=None)

    def add(
        self,
        lookup: Lookup,
        server: Server,
        now: float,
        key: Key | None = None,
        section: bytes = b"",
    ) -> None:
        """Begin the next try of `lookup`: a question sent to `server`, or a wait without `key`."""
        rung = lookup.begin_try()
        sent = Sent(lookup, server, key, section, now, now + self._waits[rung], rung)
        if key is not None:
            self._by_key[key] = sent
        self._rungs[rung][lookup.name] = sent

    def find(self, key: Key) -> Sent | None:
        """The question that awaits a reply to `key`."""
        return self._by_key.get(key)

    def remove(self, sent: Sent) -> None:
        del self._rungs[sent.rung][sent.lookup.name]
        if sent.key is not None:
            del self._by_key[sent.key]

    def expired(self, now: float) -> Iterator[Sent]:
        """Remove the tries that have timed out, one by one."""
        for rung in self._rungs:
            while rung:
                sent = next(iter(rung.values()))
                if sent.due > now:
                    break
                self.remove(sent)
                yield sent
