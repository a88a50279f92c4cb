"""The name cache: what is known about names, and until when.

Addresses and failures live in two tables, each with its own replacement of the least
recently used: pages full of dead names cannot push out the live ones. An address is asked
for again after one fixed time, whatever its record's TTL says: a crawl connects to the
same hosts for days, and one that moved shows by not answering. The expired entry stays
until it is pushed out, to serve when the asking fails (RFC 8767).
"""

from collections import OrderedDict
from typing import NamedTuple

#: Bounds on how long an absence (NXDOMAIN, NODATA) is remembered, in seconds, around
#: what the zone's SOA asks for (RFC 2308 section 5). Below the lower one a page full of
#: links to a dead host would ask again and again; the upper one is a typical SOA's word.
NEGATIVE_MIN = 30.0
NEGATIVE_MAX = 900.0

#: How long a failure to ask (no answer, SERVFAIL, REFUSED) is remembered. RFC 9520
#: section 3.2: at least 1 s, at most 5 min.
FAILURE_TIME = 30.0

#: How long after its time an address may serve when asking fails; RFC 8767 section 5
#: suggests 1 to 3 days.
_STALE_MAX = 86400.0


class Known(NamedTuple):
    """What the cache says of a name: addresses, or the reason why there are none."""

    addresses: tuple[str, ...]
    reason: str | None


class _Entry(NamedTuple):
    expires: float
    known: Known


class NameCache:
    """At most `size` names with addresses for `time` seconds, and `size` failures.

    Names are spelled as `wire.host_name` spells them.
    """

    def __init__(self, size: int, time: float) -> None:
        self._size = size
        self._time = time
        self._found: OrderedDict[str, _Entry] = OrderedDict()
        self._failed: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found) + len(self._failed)

    def __repr__(self) -> str:
        return f"<NameCache {len(self._found)} found, {len(self._failed)} failed>"

    def get(self, name: str, now: float) -> Known | None:
        """What is known and has not expired; None to ask."""
        for table in (self._found, self._failed):
            entry = table.get(name)
            if entry is not None and now < entry.expires:
                table.move_to_end(name)
                return entry.known
        return None

    def put(self, name: str, addresses: tuple[str, ...], now: float) -> None:
        self._failed.pop(name, None)
        self._keep(self._found, name, _Entry(now + self._time, Known(addresses, None)))

    def put_absence(self, name: str, reason: str, ttl: float | None, now: float) -> None:
        """Remember that there is nothing: for `ttl` seconds within bounds, the least for None."""
        self._found.pop(name, None)
        expires = now + min(max(ttl or 0, NEGATIVE_MIN), NEGATIVE_MAX)
        self._keep(self._failed, name, _Entry(expires, Known((), reason)))

    def put_failure(self, name: str, reason: str, now: float) -> Known:
        """Remember that asking failed; returns what holds meanwhile.

        That is the last known addresses, if there are any, and the reason otherwise.
        """
        entry = self._found.get(name)
        if entry is None or now >= entry.expires + _STALE_MAX:
            known = Known((), reason)
        else:
            known = entry.known
        self._keep(self._failed, name, _Entry(now + FAILURE_TIME, known))
        return known

    def _keep(self, table: OrderedDict[str, _Entry], name: str, entry: _Entry) -> None:
        table[name] = entry
        table.move_to_end(name)
        if len(table) > self._size:
            table.popitem(last=False)
