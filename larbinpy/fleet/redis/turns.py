"""Turns on Redis, and what its clock has to do with them.

Redis ends a turn by its time of day, which may be set. The own clock, which never goes back, sees
both: a turn that has outlasted its time is taken over, since the clock was put back; and none is
used for a while after the clock was put ahead, since others may have lost theirs too early.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from math import ceil, inf
from typing import Any

from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.keys import Keys
from larbinpy.fleet.redis.slots import slot_of
from larbinpy.fleet.redis.wire import Server
from larbinpy.fleet.vault import Away, Then

#: Seconds by which a clock may be away from the last answer that told it, and the part of the time
#: since then by which it may be wrong: some are set right in small steps.
_INEXACT = 0.25
_DRIFT = 0.1
#: What that costs: a turn lasts for 10 s and waitDuration at most, and rests for waitDuration.
_AHEAD = "ahead: addresses rest for 10 s and waitDuration"
_BACK = "back: requests wait for up to waitDuration more"


class ServerClock:
    """The time of day of a server, as it was told, beside the own clock."""

    __slots__ = ("_asked", "_time", "ahead_at")

    def __init__(self) -> None:
        self._time: float | None = None
        # When the server was asked for that time, by the own clock.
        self._asked = 0.0
        #: When it was noticed to be put ahead, by the own clock.
        self.ahead_at = -inf

    def __repr__(self) -> str:
        return f"<ServerClock {self._time}>"

    def told(self, time: float, asked: float, now: float) -> float:
        """Take the answer that came `now` to a question of the time `asked`.

        Returns the seconds by which the clock was put ahead, or back (negative), about; else 0.
        """
        before, at = self._time, self._asked
        self._time, self._asked = time, asked
        if before is None:
            return 0.0
        # No more time than that has passed between the two, by the own clock.
        most = now - at
        if time - before > most * (1 + _DRIFT) + _INEXACT:
            self.ahead_at = now
            return time - before - most
        return time - before - most if time < before - _INEXACT else 0.0


class RedisTurns:
    """The turns of a session. `keys` names them.

    The value of a turn is new each time that it is written, and ends with its milliseconds.
    """

    def __init__(self, client: Client, keys: Keys) -> None:
        self._client = client
        self._keys = keys
        self._session = ""
        self._numbers = count(1)
        # The begin of the value of each turn that was asked for and not ended.
        self._own: dict[str, bytes] = {}
        # The value of each turn that others have, and when its time is over by the own clock.
        self._others: dict[str, tuple[bytes, float]] = {}
        self._clocks: dict[Server, ServerClock] = {}
        self._news: list[str] = []

    def __repr__(self) -> str:
        return f"<RedisTurns {len(self._own)}>"

    def begin(self, session: str) -> None:
        """Take turns for this session; those of the one before are forgotten."""
        self._session = session
        self._own.clear()
        self._others.clear()

    def news(self) -> Iterator[str]:
        """Lines for the user since the last call."""
        while self._news:
            yield self._news.pop(0)

    def told(self, slot: int, time: float, asked: float) -> None:
        """Take the Unix time of the master of `slot`, which was asked for it at `asked`."""
        if (link := self._client.topology.owner(slot)) is None:
            return
        clock = self._clocks.setdefault(link.server, ServerClock())
        step = clock.told(time, asked, self._client.clock())
        if step:
            costs = _AHEAD if step > 0 else _BACK
            self._news.append(f"the clock of Redis {link.server} was put {abs(step):.0f} s {costs}")

    def turn(self, address: str, ms: int, then: Then[int]) -> None:
        key = self._keys.turn(address)
        slot = slot_of(key)
        asked = self._client.clock()
        if left := self._doubt(slot, ms, asked):
            self._client.call_soon(lambda: then(left))
            return
        value, until = self._others.get(address, (b"", inf))
        token = f"{self._session}:{next(self._numbers)}:".encode()

        def turned(reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
            elif isinstance(reply, int):
                self._others.pop(address, None)
                self._own[address] = token
                self.told(slot, reply / 1000, asked)
                left = self._doubt(slot, ms, self._client.clock())
                if left:
                    self.rest(address, 0)
                then(left)
            else:
                held, left = reply
                then(self._left(address, held, left, ms))

        over = value if asked >= until else b""
        data = scripts.TURN.call(key, self._value(token, ms), ms, over)
        self._client.send(slot, data, turned)

    def _doubt(self, slot: int, ms: int, now: float) -> int:
        """Milliseconds for which no turn is used: none that others had can be older than `ms`."""
        link = self._client.topology.owner(slot)
        clock = self._clocks.get(link.server) if link is not None else None
        left = clock.ahead_at + ms / 1000 - now if clock is not None else 0.0
        return ceil(max(left, 0.0) * 1000)

    def _left(self, address: str, value: bytes, left: int, ms: int) -> int:
        """Milliseconds until the turn that another has may be free; Redis says `left`.

        A value that tells no time, as it is somebody else's, has `ms`.
        """
        now = self._client.clock()
        known, until = self._others.get(address, (b"", 0.0))
        if value != known:
            promised = value.rpartition(b":")[2]
            until = now + int(promised if promised.isdigit() else ms) / 1000
            self._others[address] = value, until
        own = ceil((until - now) * 1000)
        return max(1, own if left < 0 else min(left, own))

    def _value(self, token: bytes, ms: int) -> bytes:
        return b"%b%d:%d" % (token, next(self._numbers), ms)

    def renew(self, addresses: Sequence[str], ms: int) -> None:
        for address in addresses:
            token = self._own.get(address)
            if token is not None:
                self._extend(scripts.RENEW, address, token, self._value(token, ms), ms)

    def rest(self, address: str, ms: int) -> None:
        token = self._own.pop(address, None)
        if token is not None:
            # It begins with no session, so it is nobody's.
            self._extend(scripts.REST, address, token, b":" + self._value(token, ms), ms)

    def _extend(
        self, script: scripts.Script, address: str, token: bytes, value: bytes, ms: int
    ) -> None:
        key = self._keys.turn(address)
        self._client.send(slot_of(key), script.call(key, token, value, ms), _ignore)


def _ignore(_reply: object) -> None:
    pass
