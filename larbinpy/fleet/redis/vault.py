"""The vault on Redis: each verb is one command or script, or some that go out together."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from math import inf
from secrets import token_hex
from typing import Any, TypeVar

from larbinpy.errors import UserError
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.keys import Keys
from larbinpy.fleet.redis.servers import Servers
from larbinpy.fleet.redis.settling import Settling
from larbinpy.fleet.redis.slots import slot_of
from larbinpy.fleet.redis.wire import Address, Argument, pack
from larbinpy.fleet.vault import (
    Away,
    Behind,
    Commit,
    Crawl,
    CrawlState,
    Owned,
    Part,
    Present,
    Standing,
    Taken,
    Then,
    Verdict,
)
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller

#: Version of the keys and their content.
FORMAT = "1"
#: Elements of fingerprints, and blocks, of one part of a shard.
_FINGERPRINTS = 500
_BLOCKS = 32
#: Shards that a script looks at in one call.
_TOGETHER = 128

T = TypeVar("T")


class RedisVault:
    """The crawl that `address` names; `step` has to be called in each turn of the loop."""

    def __init__(self, poller: Poller, clock: Clock, address: Address) -> None:
        self._clock = clock
        self._address = address
        self._servers = Servers(poller, clock, address)
        self._keys = Keys(address.name)
        self._id = ""
        self._shards = 0
        self._session = ""
        # Id of the last order that was read.
        self._order = "0-0"
        # The runs of Redis that the crawl was made in: they have forgotten no turn of it.
        self._runs: set[str] = set()
        self._numbers = count(1)
        # Token of each turn that was asked for and not ended.
        self._turns: dict[str, bytes] = {}
        # Slots that were written to since the last flush, with a key of each.
        self._written: dict[int, bytes] = {}

    def __repr__(self) -> str:
        return f"<RedisVault {self._address}>"

    # -- the loop

    def step(self, now: float) -> None:
        """Send and connect. Raises UserError, one line, for what the user must correct."""
        self._servers.step(now)

    @property
    def deadline(self) -> float:
        """When `step` has something to do at the latest; -inf: now."""
        return self._servers.deadline

    @property
    def trouble(self) -> str:
        """One line while the crawl has to wait for Redis; "" otherwise."""
        return self._servers.trouble

    @property
    def warnings(self) -> list[str]:
        """Lines for the user about how safe this Redis is."""
        return self._servers.warnings

    def close(self) -> None:
        self._servers.close()

    @property
    def lost(self) -> str:
        return self._servers.lost

    def resume(self) -> None:
        """Go on after Redis may have forgotten something; for those that keep nothing of it."""
        self._servers.lost = ""

    @property
    def up(self) -> float:
        runs = self._servers.runs
        if len(runs) == len(self._servers.masters) and runs <= self._runs:
            return inf
        return self._clock() - self._servers.youngest

    # -- the crawl

    def open(self, settings: Mapping[str, str], then: Then[Crawl]) -> None:
        def opened(reply: Any) -> Crawl:
            own, told, state, runs, form, made = reply
            if form.decode() != FORMAT:
                text = f"{self._address}: made by another version of larbinpy"
                raise UserError(f"{text} (format {form.decode()}, not {FORMAT})")
            self._id = own.decode()
            self._runs = set(runs.decode().split())
            found = json.loads(told)
            self._shards = int(found["shards"])
            return Crawl(self._id, found, CrawlState(state.decode()), bool(made))

        def call() -> None:
            # The runs are known when all servers are.
            runs = " ".join(sorted(self._servers.runs))
            text = json.dumps(dict(settings), sort_keys=True)
            arguments = (token_hex(8), text, CrawlState.NEW.value, runs, FORMAT)
            self._send(scripts.OPEN.call(self._keys.crawl, *arguments), then, opened)

        self._servers.when_open(call)

    def declare(self, old: CrawlState, new: CrawlState, then: Then[CrawlState]) -> None:
        data = scripts.DECLARE.call(self._keys.crawl, old.value, new.value, self._id)
        self._send(data, then, lambda reply: CrawlState(reply.decode()))

    # -- members

    def join(self, session: str, then: Then[Present | Verdict]) -> None:
        keys = self._keys
        self._servers.lost = ""
        self._session = session
        self._turns.clear()
        self._written.clear()

        def joined(reply: Any) -> Present | Verdict:
            if reply is None:
                return Verdict.GONE
            self._order = reply[2].decode()
            return _present(reply[0], reply[1], ())

        data = scripts.JOIN.call(keys.crawl, keys.beats, keys.orders, self._id, session)
        self._send(data, then, joined)

    def beat(self, session: str, told: bytes | None, then: Then[Present | Verdict]) -> None:
        keys = self._keys

        def beaten(reply: Any) -> Present | Verdict:
            if reply is None:
                return Verdict.GONE
            if reply[2]:
                self._order = reply[2][-1][0].decode()
            orders = [(each.decode(), fields[1].decode()) for each, fields in reply[2]]
            return _present(reply[0], reply[1], orders)

        names = (keys.crawl, keys.beats, keys.told, keys.orders)
        data = scripts.BEAT.call(*names, self._id, session, told or b"", self._order)
        self._send(data, then, beaten)

    def bury(self, session: str, counter: int, then: Then[Verdict]) -> None:
        self._remove(session, str(counter), then)

    def quit(self, session: str, then: Then[Verdict]) -> None:
        self._remove(session, "", then)

    def _remove(self, session: str, counter: str, then: Then[Verdict]) -> None:
        data = scripts.BURY.call(self._keys.beats, self._keys.told, session, counter)
        self._send(data, then, _done)

    # -- shards

    def look(self, then: Then[Sequence[Standing]]) -> None:
        groups = self._groups(range(self._shards))

        def looked(replies: list[Any]) -> Sequence[Standing]:
            return [
                Standing(own.decode(), int(n), int(owed), inbox)
                for reply in replies
                for own, n, owed, inbox in zip(*[iter(reply)] * 4, strict=True)
            ]

        gather = _Gather(len(groups), then, looked)
        for place, group in enumerate(groups):
            shards = [self._keys.shard(shard) for shard in group]
            keys = [key for shard in shards for key in (shard.h, shard.i)]
            data = scripts.LOOK.call_with(keys)
            self._servers.send(shards[0].slot, data, partial(gather.take, place))

    def _groups(self, shards: Sequence[int]) -> list[Sequence[int]]:
        """Shards that one script may look at; those of a Cluster are in slots of their own."""
        size = 1 if self._servers.is_cluster else _TOGETHER
        return [shards[start : start + size] for start in range(0, len(shards), size)]

    def take(self, shard: int, own: str, n: int, session: str, then: Then[Taken | Owned]) -> None:
        def taken(reply: Any) -> Taken | Owned:
            return Taken(reply[1]) if reply[0] else Owned(reply[2].decode(), reply[1])

        self._write(
            shard, scripts.TAKE.call(self._keys.shard(shard).h, own, n, session), then, taken
        )

    def load(self, shard: int, cursor: str, then: Then[Part]) -> None:
        # A cursor is "s" and a place in the list of fingerprints, or "b" and block numbers.
        if cursor.startswith("b"):
            self._load_blocks(shard, cursor[1:].split(","), then)
            return
        start = int(cursor[1:] or 0)

        def loaded(replies: list[Any]) -> Part:
            found, waits, fields = replies
            numbers = sorted(int(field[1:]) for field in fields if field.startswith(b"b"))
            after = "b" + ",".join(map(str, numbers)) if numbers else None
            if len(found) == _FINGERPRINTS:
                after = f"s{start + _FINGERPRINTS}"
            return Part(b"".join(found), (), (waits or b"").decode(), after)

        keys = self._keys.shard(shard)
        gather = _Gather(3, then, loaded)
        commands: list[tuple[Argument, ...]] = [
            (b"LRANGE", keys.s, start, start + _FINGERPRINTS - 1),
            (b"HGET", keys.h, b"waits"),
            (b"HKEYS", keys.b),
        ]
        for place, command in enumerate(commands):
            self._servers.send(keys.slot, pack(*command), partial(gather.take, place))

    def _load_blocks(self, shard: int, numbers: list[str], then: Then[Part]) -> None:
        now, later = numbers[:_BLOCKS], numbers[_BLOCKS:]

        def loaded(reply: Any) -> Part:
            pairs = zip(now, reply[::2], reply[1::2], strict=True)
            blocks = [(int(number), lines, owed or b"") for number, lines, owed in pairs if lines]
            return Part(b"", blocks, "", "b" + ",".join(later) if later else None)

        keys = self._keys.shard(shard)
        fields = [kind + number for number in now for kind in "bo"]
        self._servers.send(keys.slot, pack(b"HMGET", keys.b, *fields), _decode(then, loaded))

    def commit(
        self, shard: int, session: str, n: int, commit: Commit, then: Then[Verdict | Behind]
    ) -> None:
        keys = self._keys.shard(shard)
        fields: list[Argument] = []
        for number, lines in commit.blocks.items():
            fields += (b"b%d" % number, lines)
        for number, owed in commit.owed.items():
            fields += (b"o%d" % number, owed)
        data = scripts.COMMIT.call(
            *(keys.h, keys.s, keys.b, keys.i),
            *(session, n, commit.owing, commit.received, commit.fingerprints),
            *(len(fields) // 2, *fields),
            *(kind % number for number in commit.finished for kind in (b"b%d", b"o%d")),
            b"" if commit.waits is None else "=" + commit.waits,
        )
        self._write(shard, data, then, _fenced)

    def leave(self, shard: int, session: str, n: int, then: Then[Verdict | Behind]) -> None:
        data = scripts.LEAVE.call(self._keys.shard(shard).h, session, n)
        self._write(shard, data, then, _fenced)

    # -- letters

    def post(self, letters: Mapping[int, bytes], then: Then[Verdict]) -> None:
        gather = _Gather(len(letters), then, _done)
        for place, (shard, letter) in enumerate(letters.items()):
            keys = self._keys.shard(shard)
            self._written[keys.slot] = keys.w
            data = pack(b"RPUSH", keys.i, letter)
            self._servers.send(keys.slot, data, partial(gather.take, place))
        if not letters:
            self._servers.call_soon(partial(then, Verdict.DONE))

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
            self._servers.send(shards[0].slot, data, partial(gather.take, place))
        if not groups:
            self._servers.call_soon(partial(then, {}))

    def flush(self, then: Then[Verdict]) -> None:
        written, self._written = self._written, {}

        def settled(answer: Away | None) -> None:
            if answer is not None:
                self._written = written | self._written
            then(answer or Verdict.DONE)

        self._servers.call_soon(Settling(self._servers, written, settled).begin)

    # -- turns

    def turn(self, address: str, ms: int, then: Then[int]) -> None:
        key = self._keys.turn(address)
        slot = slot_of(key)
        token = f"{self._session}:{next(self._numbers)}".encode()

        def turned(reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
            elif reply is not None:
                self._turns[address] = token
                then(0)
            else:
                self._servers.send(
                    slot, pack(b"PTTL", key), _decode(then, lambda left: max(left, 1))
                )

        self._servers.send(slot, pack(b"SET", key, token, b"NX", b"PX", ms), turned)

    def renew(self, addresses: Sequence[str], ms: int) -> None:
        for address in addresses:
            token = self._turns.get(address)
            if token is not None:
                self._extend(scripts.RENEW, address, token, ms)

    def rest(self, address: str, ms: int) -> None:
        token = self._turns.pop(address, None)
        if token is not None:
            self._extend(scripts.REST, address, token, ms)

    def _extend(self, script: scripts.Script, address: str, token: bytes, ms: int) -> None:
        key = self._keys.turn(address)
        self._servers.send(slot_of(key), script.call(key, token, ms), _ignore)

    # -- sending

    def _send(self, data: bytes, then: Then[T], decode: Callable[[Any], T]) -> None:
        """A command about the crawl itself."""
        self._servers.send(self._keys.slot, data, _decode(then, decode))

    def _write(self, shard: int, data: bytes, then: Then[T], decode: Callable[[Any], T]) -> None:
        """A change of a shard, which a flush waits for."""
        keys = self._keys.shard(shard)
        self._written[keys.slot] = keys.w
        self._servers.send(keys.slot, data, _decode(then, decode))


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
    return Present(sessions, CrawlState(state.decode()), orders)


def _fenced(reply: int) -> Verdict | Behind:
    if reply == scripts.DONE:
        return Verdict.DONE
    return Verdict.FENCED if reply == scripts.FENCED else Behind(reply)


def _done(_replies: object) -> Verdict:
    return Verdict.DONE


def _ignore(_reply: object) -> None:
    pass
