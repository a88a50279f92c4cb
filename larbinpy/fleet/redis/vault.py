"""The vault on Redis: each verb is one command or script, or some that go out together.

`RedisTurns` bears the clock of Redis, by which a turn ends and which may be set. The own clock,
which never goes back, sees both: a turn that has outlasted its time is taken over, since the clock
was put back; and none is used for a while after the clock was put ahead, since others may have lost
theirs too early.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from math import ceil, inf
from secrets import token_hex
from typing import Any, TypeVar

from larbinpy.errors import UserError
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.client import Client, Settling
from larbinpy.fleet.redis.scripts import Keys, slot_of
from larbinpy.fleet.redis.wire import Argument, Endpoint, pack
from larbinpy.fleet.vault import (
    Answered,
    Away,
    Behind,
    Commit,
    FleetState,
    Gained,
    Owned,
    Part,
    Present,
    ShardLook,
    SharedCrawl,
    SiteWait,
    Then,
)

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
        self._clocks: dict[Endpoint, ServerClock] = {}
        self._news: list[str] = []

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
        self, script: scripts.LuaScript, address: str, token: bytes, value: bytes, ms: int
    ) -> None:
        key = self._keys.turn(address)
        self._client.send(slot_of(key), script.call(key, token, value, ms), _ignore)


#: Version of the keys and their content.
FORMAT = "2"
#: Elements of fingerprints, about as many fields of sites, and blocks, of one part of a shard.
_FINGERPRINTS = 500
_BLOCKS = 32
#: Shards that a script looks at in one call.
_TOGETHER = 128

T = TypeVar("T")


class RedisVault:
    """The crawl that the address of `client` names."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._keys = Keys(client.address.name)
        self._id = ""
        self._shards = 0
        # Id of the last order that was read.
        self._order = "0-0"
        # The runs of Redis that the crawl was made in: they have forgotten no turn of it.
        self._runs: set[str] = set()
        self._turns = RedisTurns(client, self._keys)
        # Slots that were written to since the last flush, with a key of each.
        self._written: dict[int, bytes] = {}

    @property
    def lost(self) -> str:
        return self.client.lost

    @property
    def up(self) -> float:
        topology = self.client.topology
        runs = topology.run_ids
        if len(runs) == len(topology.masters) and runs <= self._runs:
            return inf
        return topology.age

    # -- the crawl

    def open(self, settings: Mapping[str, str], then: Then[SharedCrawl], id: str = "") -> None:
        fresh = id or token_hex(8)

        def opened(reply: Any) -> SharedCrawl:
            own, text, state, runs, form, made = reply
            if form.decode() != FORMAT:
                why = f"{self.client.address}: made by another version of larbinpy"
                raise UserError(f"{why} (format {form.decode()}, not {FORMAT})")
            self._id = own.decode()
            self._runs = set(runs.decode().split())
            found = json.loads(text)
            self._shards = int(found["shards"])
            # After a lost answer it was made by this node all the same.
            created = bool(made) or self._id == fresh
            return SharedCrawl(self._id, found, FleetState(state.decode()), created)

        def call() -> None:
            # The runs are known when all servers are.
            runs = " ".join(sorted(self.client.topology.run_ids))
            text = json.dumps(dict(settings), sort_keys=True)
            arguments = (fresh, text, FleetState.NEW.value, runs, FORMAT)
            self._send(scripts.OPEN.call(self._keys.crawl, *arguments), then, opened)

        self.client.when_open(call)

    def declare(self, old: FleetState, new: FleetState, then: Then[FleetState]) -> None:
        data = scripts.DECLARE.call(self._keys.crawl, old.value, new.value, self._id)
        self._send(data, then, lambda reply: FleetState(reply.decode()))

    # -- members

    def join(self, session: str, then: Then[Present | Answered]) -> None:
        keys = self._keys
        self.client.resume()
        self._turns.begin(session)
        self._written.clear()

        def joined(reply: Any) -> Present | Answered:
            if reply is None:
                return Answered.GONE
            if reply == scripts.TAKEN:
                return Answered.TAKEN
            self._order = reply[2].decode()
            return _present(reply[0], reply[1], ())

        data = scripts.JOIN.call(keys.crawl, keys.beats, keys.orders, self._id, session)
        self._send(data, then, joined)

    def beat(self, session: str, then: Then[Present | Answered]) -> None:
        keys, asked = self._keys, self.client.clock()

        def beaten(reply: Any) -> Present | Answered:
            if reply is None:
                return Answered.GONE
            self._turns.told(keys.slot, reply[3] / 1000, asked)
            if reply[2]:
                self._order = reply[2][-1][0].decode()
            orders = [(each.decode(), fields[1].decode()) for each, fields in reply[2]]
            return _present(reply[0], reply[1], orders)

        names = (keys.crawl, keys.beats, keys.orders)
        data = scripts.BEAT.call(*names, self._id, session, self._order)
        self._send(data, then, beaten)

    def bury(self, session: str, counter: int, then: Then[Answered]) -> None:
        self._remove(session, str(counter), then)

    def quit(self, session: str, then: Then[Answered]) -> None:
        self._remove(session, "", then)

    def _remove(self, session: str, counter: str, then: Then[Answered]) -> None:
        data = scripts.BURY.call(self._keys.beats, session, counter)
        self._send(data, then, _done)

    # -- shards

    def look(self, then: Then[Sequence[ShardLook]]) -> None:
        groups = self._groups(range(self._shards))

        def looked(replies: list[Any]) -> Sequence[ShardLook]:
            return [
                ShardLook(own.decode(), int(n), int(owed), inbox)
                for reply in replies
                for own, n, owed, inbox in zip(*[iter(reply)] * 4, strict=True)
            ]

        gather = _Gather(len(groups), then, looked)
        for place, group in enumerate(groups):
            shards = [self._keys.shard(shard) for shard in group]
            keys = [key for each in shards for key in (each.h, each.s, each.b, each.i)]
            data = scripts.LOOK.call_with(keys)
            self.client.send(shards[0].slot, data, partial(gather.take, place))

    def _groups(self, shards: Sequence[int]) -> list[Sequence[int]]:
        """Shards that one script may look at; those of a Cluster are in slots of their own."""
        size = 1 if self.client.topology.is_cluster else _TOGETHER
        return [shards[start : start + size] for start in range(0, len(shards), size)]

    def take(self, shard: int, own: str, n: int, session: str, then: Then[Gained | Owned]) -> None:
        def taken(reply: Any) -> Gained | Owned:
            return Gained(reply[1]) if reply[0] else Owned(reply[2].decode(), reply[1])

        self._write(
            shard, scripts.TAKE.call(self._keys.shard(shard).h, own, n, session), then, taken
        )

    def load(self, shard: int, cursor: str, then: Then[Part]) -> None:
        # A cursor is "s", a place in the list of fingerprints and a cursor of the sites' fields,
        # "-" after the last; or "b" and block numbers.
        if cursor.startswith("b"):
            self._load_blocks(shard, cursor[1:].split(","), then)
            return
        start, _, scanned = cursor[1:].partition(",")
        first = int(start or 0)

        def loaded(replies: list[Any]) -> Part:
            found, blocks, [seconds, microseconds], *scans = replies
            scan, fields = scans[0] if scans else (b"0", [])
            counts, waits = _of_sites(fields, int(seconds) + int(microseconds) / 1e6)
            numbers = sorted(int(field[1:]) for field in blocks if field.startswith(b"b"))
            after = "b" + ",".join(map(str, numbers)) if numbers else None
            if len(found) == _FINGERPRINTS or scan != b"0":
                after = f"s{first + _FINGERPRINTS},{scan.decode() if scan != b'0' else '-'}"
            return Part(b"".join(found), (), counts, waits, after)

        keys = self._keys.shard(shard)
        commands: list[tuple[Argument, ...]] = [
            (b"LRANGE", keys.s, first, first + _FINGERPRINTS - 1),
            (b"HKEYS", keys.b),
            (b"TIME",),
        ]
        if scanned != "-":
            commands.append((b"HSCAN", keys.c, scanned or b"0", b"COUNT", _FINGERPRINTS))
        gather = _Gather(len(commands), then, loaded)
        for place, command in enumerate(commands):
            self.client.send(keys.slot, pack(*command), partial(gather.take, place))

    def _load_blocks(self, shard: int, numbers: list[str], then: Then[Part]) -> None:
        now, later = numbers[:_BLOCKS], numbers[_BLOCKS:]
        cursor = "b" + ",".join(later) if later else None
        made = _decode(then, lambda blocks: Part(b"", blocks, {}, {}, cursor))
        self.read_blocks(shard, [int(number) for number in now], made)

    def read_blocks(
        self, shard: int, blocks: Sequence[int], then: Then[Sequence[tuple[int, bytes, bytes]]]
    ) -> None:
        def found(reply: Any) -> Sequence[tuple[int, bytes, bytes]]:
            parts = zip(blocks, reply[::2], reply[1::2], strict=True)
            return [(block, lines, owed or b"") for block, lines, owed in parts if lines]

        keys = self._keys.shard(shard)
        fields = [field % block for block in blocks for field in (b"b%d", b"o%d")]
        self.client.send(keys.slot, pack(b"HMGET", keys.b, *fields), _decode(then, found))

    def commit(
        self, shard: int, session: str, n: int, commit: Commit, then: Then[Answered | Behind]
    ) -> None:
        keys = self._keys.shard(shard)
        fields: list[Argument] = []
        for number, lines in commit.blocks.items():
            fields += (b"b%d" % number, lines)
        for number, owed in commit.owed.items():
            fields += (b"o%d" % number, owed)
        sizes = (len(fields) // 2, len(commit.counts), len(commit.waits))
        for name, number in commit.counts.items():
            fields += ("c" + name, number)
        for site, wait in commit.waits.items():
            adapted = f"{wait.extra:.3f} {wait.usual:.3f}"
            fields += ("w" + site, int(wait.seconds * 1000), adapted)
        data = scripts.COMMIT.call(
            *(keys.h, keys.s, keys.b, keys.i, keys.c),
            *(session, n, commit.owing, commit.received, commit.fingerprints),
            *(*sizes, *fields),
            *(kind % number for number in commit.finished for kind in (b"b%d", b"o%d")),
        )
        self._write(shard, data, then, _fenced)

    def leave(self, shard: int, session: str, n: int, then: Then[Answered | Behind]) -> None:
        data = scripts.LEAVE.call(self._keys.shard(shard).h, session, n)
        self._write(shard, data, then, _fenced)

    # -- letters

    def post(self, letters: Mapping[int, bytes], then: Then[Answered]) -> None:
        gather = _Gather(len(letters), then, _done)
        for place, (shard, letter) in enumerate(letters.items()):
            keys = self._keys.shard(shard)
            self._written[keys.slot] = keys.w
            data = scripts.POST.call(keys.h, keys.i, letter)
            self.client.send(keys.slot, data, partial(gather.take, place))
        if not letters:
            self.client.call_soon(partial(then, Answered.DONE))

    def collect(
        self, positions: Mapping[int, int], then: Then[Mapping[int, Sequence[bytes]]]
    ) -> None:
        groups = self._groups(list(positions))

        def collected(replies: list[Any]) -> Mapping[int, Sequence[bytes]]:
            return {
                group[place - 1]: elements
                for group, reply in zip(groups, replies, strict=True)
                for place, elements in zip(reply[::2], reply[1::2], strict=True)
            }

        gather = _Gather(len(groups), then, collected)
        for place, group in enumerate(groups):
            shards = [self._keys.shard(shard) for shard in group]
            at = [positions[shard] for shard in group]
            data = scripts.COLLECT.call_with([shard.i for shard in shards], *at)
            self.client.send(shards[0].slot, data, partial(gather.take, place))
        if not groups:
            self.client.call_soon(partial(then, {}))

    def flush(self, then: Then[Answered]) -> None:
        written, self._written = self._written, {}

        def settled(answer: Away | None) -> None:
            if answer is not None:
                self._written = written | self._written
            then(answer or Answered.DONE)

        self.client.call_soon(Settling(self.client, written, settled).begin)

    # -- turns

    def turn(self, address: str, ms: int, then: Then[int]) -> None:
        self._turns.turn(address, ms, then)

    def renew(self, addresses: Sequence[str], ms: int) -> None:
        self._turns.renew(addresses, ms)

    def rest(self, address: str, ms: int) -> None:
        self._turns.rest(address, ms)

    def news(self) -> Iterator[str]:
        """Lines for the user about the clock of Redis, since the last call."""
        return self._turns.news()

    # -- sending

    def _send(self, data: bytes, then: Then[T], decode: Callable[[Any], T]) -> None:
        """A command about the crawl itself."""
        self.client.send(self._keys.slot, data, _decode(then, decode))

    def _write(self, shard: int, data: bytes, then: Then[T], decode: Callable[[Any], T]) -> None:
        """A change of a shard, which a flush waits for."""
        keys = self._keys.shard(shard)
        self._written[keys.slot] = keys.w
        self.client.send(keys.slot, data, _decode(then, decode))


class _Gather:
    """Collects the replies to several commands; `then` gets their value, or one Away for all."""

    __slots__ = ("_away", "_decode", "_left", "_replies", "_then")

    def __init__(self, size: int, then: Then[T], decode: Callable[[list[Any]], T]) -> None:
        self._left = size
        self._replies: list[Any] = [None] * size
        self._then: Then[Any] = then
        self._decode: Callable[[list[Any]], Any] = decode
        self._away: Away | None = None

    def take(self, place: int, reply: Any) -> None:
        if isinstance(reply, Away):
            self._away = reply
        self._replies[place] = reply
        self._left -= 1
        if not self._left:
            self._then(self._away or self._decode(self._replies))


def _decode(then: Then[T], decode: Callable[[Any], T]) -> Callable[[Any], None]:
    return lambda reply: then(reply if isinstance(reply, Away) else decode(reply))


def _present(counters: list[bytes], state: bytes, orders: Sequence[tuple[str, str]]) -> Present:
    pairs = zip(counters[::2], counters[1::2], strict=True)
    sessions = {session.decode(): int(counter) for session, counter in pairs}
    return Present(sessions, FleetState(state.decode()), orders)


def _of_sites(fields: list[bytes], now: float) -> tuple[dict[str, int], dict[str, SiteWait]]:
    """The counts and the waits of some sites at a time of Redis, which may have been put back."""
    counts, waits = {}, {}
    for field, value in zip(fields[::2], fields[1::2], strict=True):
        name = field[1:].decode()
        if field.startswith(b"c"):
            counts[name] = int(value)
        else:
            ends, longest, extra, usual = map(float, value.split())
            waits[name] = SiteWait(min(ends / 1000 - now, longest / 1000), extra, usual)
    return counts, waits


def _fenced(reply: int) -> Answered | Behind:
    if reply == scripts.DONE:
        return Answered.DONE
    return Answered.FENCED if reply == scripts.FENCED else Behind(reply)


def _done(_replies: object) -> Answered:
    return Answered.DONE


def _ignore(_reply: object) -> None:
    pass
