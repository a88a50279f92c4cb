"""The board and the shared names of a crawl on Redis, beside the vault.

lb:{N}:crawl     more fields: started, seeded (number of additions), `set:KEY` -> changed settings
lb:{N}:nodes     hash: name of a node -> time of its report, and the report
lb:{N}:answer:I  list: answers to order I
lb:{N}:pages     hash: limit, left, `of:SHARE` -> pages that a node has drawn
lb:{N}:hosts     sorted set: entries of the area of seeds, by the order in which they came

Its scripts are seldom executed, so their text is sent each time. `Forgetting` removes the keys of a
crawl.

`RedisNames` has addresses in hashes of some hundred names, which Redis keeps as compact lists: 21 B
a name (Redis 7.0, a million names). A name is identified by its bucket and 7 B of a hash, 69 bits
with 256 shards: of 10 million names, two share theirs with a probability of 10^-7. The hash has the
crawl's id as its key, so outsiders cannot choose names that collide. The value is the minute of
expiry in 3 B, from 2020 on, and one to three addresses; four octets each, or sixteen. Names have
either IPv4 or IPv6 addresses, and no three of 4 B are as long as one of 16 B.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import Any, NamedTuple

from larbinpy.errors import UserError
from larbinpy.fleet.board import AreaLog, Board, Drawn, FoundCrawl, NodeReport
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.link import AWAY, RedisCall, RedisLink
from larbinpy.fleet.redis.scripts import Keys, slot_of
from larbinpy.fleet.redis.vault import FORMAT, RedisVault
from larbinpy.fleet.redis.wire import Argument, pack
from larbinpy.fleet.vault import (
    Answered,
    Away,
    FleetState,
    Part,
    Present,
    ShardLook,
    SharedCrawl,
    Then,
)

#: Keys that a server looks at in one call.
_SCANNED = 1000


class Forgetting:
    """Walks through the keys of all masters, and removes those of a crawl that was cleared.

    The key that says so is the last one: until then no crawl of this name can be made.
    """

    def __init__(self, client: Client, keys: Keys, name: str, then: Then[None]) -> None:
        own = re.escape(name.encode())
        # A crawl whose name is this one, a dot and a number has other keys than a shard.
        self._is_own = re.compile(
            rb"lb:(?:\{%b\}:.*|\{%b\.\d+\}:[hsbicw]|%b:.*)" % (own, own, own), re.DOTALL
        ).fullmatch
        self._client = client
        self._keys = keys
        self._then = then
        masters = client.topology.masters
        self._open = len(masters)
        self._away = False
        for link in masters:
            self._scan(link, b"0")

    def _scan(self, link: RedisLink, cursor: bytes) -> None:
        data = pack("SCAN", cursor, "MATCH", "lb:*", "COUNT", _SCANNED)
        link.send(RedisCall(data, partial(self._scanned, link)))

    def _scanned(self, link: RedisLink, reply: Any) -> None:
        if not isinstance(reply, list):
            self._away = True
            self._end()
            return
        cursor, keys = reply
        for key in filter(self._is_own, keys):
            if key == self._keys.crawl:
                continue
            self._open += 1
            # One by one: the keys of a Cluster's master are in different slots.
            self._client.send(slot_of(key), pack("UNLINK", key), self._removed)
        if cursor == b"0":
            self._end()
        else:
            self._scan(link, cursor)

    def _removed(self, reply: Any) -> None:
        self._away = self._away or isinstance(reply, Away)
        self._end()

    def _end(self) -> None:
        self._open -= 1
        if self._open:
            return
        if self._away:
            self._then(Away())
            return
        data = pack("DEL", self._keys.crawl)
        self._client.send(
            self._keys.slot, data, lambda reply: self._then(reply if reply is AWAY else None)
        )


class RareScript:
    """Lua for EVAL, with the number of its keys."""

    def __init__(self, keys: int, text: str) -> None:
        self._head: tuple[Argument, ...] = (b"EVAL", text, keys)

    def call(self, *arguments: Argument) -> bytes:
        """The command with its keys, then its other arguments."""
        return pack(*self._head, *arguments)


#: crawl: 1 to begin its time -> its fields, Unix time.
FIND = RareScript(
    1,
    """
local now = redis.call('TIME')[1]
if ARGV[1] == '1' and redis.call('HEXISTS', KEYS[1], 'id') == 1 then
  redis.call('HSETNX', KEYS[1], 'started', now)
end
return {redis.call('HGETALL', KEYS[1]), now}
""",
)

#: crawl, beats, nodes, pages: id, name, report or "" -> state, counters, reports, limit, pages
#: left, Unix time.
READ = RareScript(
    4,
    """
local now = redis.call('TIME')[1]
local has = redis.call('HMGET', KEYS[1], 'id', 'state')
if ARGV[3] ~= '' and has[1] == ARGV[1] then
  redis.call('HSET', KEYS[3], ARGV[2], now .. ' ' .. ARGV[3])
end
local pages = redis.call('HMGET', KEYS[4], 'limit', 'left')
return {has[2] or 'stopped', redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]),
  pages[1] or '0', pages[2] or '0', now}
""",
)

#: crawl, orders: id, text -> id of the order.
ORDER = RareScript(
    2,
    """
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return '' end
return redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 'o', ARGV[2])
""",
)

#: If the settings of the crawl have another limitPage than before, that is the limit.
_LIMIT = """
local function begin(key, first)
  local has = redis.call('HMGET', key, 'first', 'limit')
  if has[1] == first then return end
  redis.call('HINCRBY', key, 'left', first - (has[2] or 0))
  redis.call('HSET', key, 'first', first, 'limit', first)
end
"""

#: crawl, orders, pages: id, keyword, value, order, limitPage or "", limitPage at the beginning
#: -> id of the order.
CHANGE = RareScript(
    3,
    _LIMIT
    + """
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return '' end
redis.call('HSET', KEYS[1], 'set:' .. ARGV[2], ARGV[3])
if ARGV[5] ~= '' then
  begin(KEYS[3], ARGV[6])
  redis.call('HINCRBY', KEYS[3], 'left', ARGV[5] - redis.call('HGET', KEYS[3], 'limit'))
  redis.call('HSET', KEYS[3], 'limit', ARGV[5])
end
return redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 'o', ARGV[4])
""",
)

#: Answers to an order: one more.
ANSWER = RareScript(
    1,
    """
redis.call('RPUSH', KEYS[1], ARGV[1])
return redis.call('EXPIRE', KEYS[1], 60)
""",
)

#: crawl, pages: id, share, wanted total, limitPage at the beginning -> total, pages left, limit.
#: A repeated call changes nothing. Without a limit it notes what was fetched, for one that comes.
DRAW = RareScript(
    2,
    _LIMIT
    + """
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return false end
begin(KEYS[2], ARGV[4])
local pages = redis.call('HMGET', KEYS[2], 'limit', 'left', 'of:' .. ARGV[2])
local limit, left, had = tonumber(pages[1]), tonumber(pages[2]), tonumber(pages[3] or 0)
local more = ARGV[3] - had
if limit > 0 then more = math.min(more, math.max(left, 0)) end
if more ~= 0 then
  redis.call('HINCRBY', KEYS[2], 'left', -more)
  redis.call('HINCRBY', KEYS[2], 'of:' .. ARGV[2], more)
end
return {had + more, left - more, limit}
""",
)

#: crawl: id -> state; the inboxes have more seeds.
SEEDED = RareScript(
    1,
    """
local has = redis.call('HMGET', KEYS[1], 'id', 'state')
if has[1] ~= ARGV[1] then return 'stopped' end
redis.call('HINCRBY', KEYS[1], 'seeded', 1)
if has[2] ~= 'finished' then return has[2] end
redis.call('HSET', KEYS[1], 'state', 'running')
return 'running'
""",
)

#: crawl: id, old state, new one, additions of seeds -> the state afterwards.
FINISH = RareScript(
    1,
    """
local has = redis.call('HMGET', KEYS[1], 'id', 'state', 'seeded')
if has[1] ~= ARGV[1] or has[2] ~= ARGV[2] or (has[3] or '0') ~= ARGV[4] then return has[2] end
redis.call('HSET', KEYS[1], 'state', ARGV[3])
return ARGV[3]
""",
)

#: crawl, hosts: id, entries -> number of those that are new.
EXTEND = RareScript(
    2,
    """
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
local size = redis.call('ZCARD', KEYS[2])
local before = size
for k = 2, #ARGV do
  size = size + redis.call('ZADD', KEYS[2], 'NX', size + 1, ARGV[k])
end
return size - before
""",
)

#: The format of a crawl that is being removed.
CLEARED = "cleared"
#: crawl, beats: id, sessions and counters -> 1 if these are the sessions.
CLEAR = RareScript(
    2,
    """
local has = redis.call('HMGET', KEYS[1], 'id', 'format')
if has[2] == 'cleared' then return 1 end
if has[1] ~= ARGV[1] then return 0 end
local counters = redis.call('HGETALL', KEYS[2])
if #counters ~= #ARGV - 1 then return 0 end
for k = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[k]) ~= ARGV[k + 1] then return 0 end
end
redis.call('HSET', KEYS[1], 'id', '-', 'format', 'cleared')
redis.call('DEL', KEYS[2])
return 1
""",
)


#: Entries of the area in one command.
_ENTRIES = 1000
_NO_CRAWL = "there is no such crawl; larbinpy crawl --join makes one"


class RedisBoard(RedisVault):
    """A vault with its board.

    `area`, if given, is kept the same on all nodes: news go out before letters, and those of
    others come in before the letters and shards that this node takes.
    """

    def __init__(self, client: Client, area: AreaLog | None = None) -> None:
        super().__init__(client)
        self.area = area
        #: limitPage as the crawl was made with it.
        self.first_limit = 0
        #: Called with the id and the text of each order.
        self.on_order: Callable[[str, str], None] = lambda order, text: None
        stem = self._keys.crawl.removesuffix(b"crawl")
        self._nodes, self._pages, self._hosts = (
            stem + name for name in (b"nodes", b"pages", b"hosts")
        )
        self._answer = stem + b"answer:"
        # Numbers of additions of seeds, read before the last look and before the one before.
        self._additions: tuple[bytes, bytes] = (b"", b"")

    # -- the crawl

    def find(self, then: Then[FoundCrawl], *, begin: bool = False, cleared: bool = False) -> None:
        """Find the crawl. `step` raises UserError if there is none.

        `begin`: its time begins now, if it has not; `cleared`: find also what `clear` has left.
        """

        def found(reply: Any) -> FoundCrawl:
            fields = _table(reply[0])
            if not fields.get("id"):
                raise UserError(f"{self.client.address}: {_NO_CRAWL}")
            if fields["format"] != FORMAT and not (cleared and fields["format"] == CLEARED):
                raise UserError(f"{self.client.address}: {_of_format(fields['format'])}")
            settings = json.loads(fields["settings"])
            self._id, self._shards = fields["id"], int(settings["shards"])
            self._runs = set(fields.get("runs", "").split())
            crawl = SharedCrawl(self._id, settings, FleetState(fields["state"]), created=False)
            changed = {
                name.removeprefix("set:"): text
                for name, text in fields.items()
                if name.startswith("set:")
            }
            return FoundCrawl(crawl, changed, float(fields.get("started", 0)), float(reply[1]))

        data = FIND.call(self._keys.crawl, int(begin))
        self.client.when_open(partial(self._send, data, then, found))

    @property
    def name(self) -> str:
        """The name of the crawl."""
        return self.client.address.name

    # -- reports

    def read(
        self, then: Then[Board], name: str = "", report: Mapping[str, Any] | None = None
    ) -> None:
        """All reports; before that, put up the `report` of the node `name`."""

        def board(reply: Any) -> Board:
            state, sessions, reports, limit, left, now = reply
            return Board(
                FleetState(state.decode()),
                {session: int(counter) for session, counter in _table(sessions).items()},
                {node: _report(text, float(now)) for node, text in sorted(_table(reports).items())},
                int(limit or 0),
                int(left or 0),
            )

        keys = (self._keys.crawl, self._keys.beats, self._nodes, self._pages)
        text = "" if report is None else json.dumps(report, separators=(",", ":"))
        self._send(READ.call(*keys, self._id, name, text), then, board)

    # -- orders

    def beat(self, session: str, then: Then[Present | Answered]) -> None:
        def beaten(answer: Present | Answered | Away) -> None:
            if isinstance(answer, Present):
                for order, text in answer.orders:
                    self.on_order(order, text)
            then(answer)

        super().beat(session, beaten)
        self._after_area(_ignore)(None)

    def order(self, text: str, then: Then[str]) -> None:
        """Give an order to all nodes; the answer is its id."""
        data = ORDER.call(self._keys.crawl, self._keys.orders, self._id, text)
        self._send(data, then, bytes.decode)

    def change(self, keyword: str, value: str, limit: int, then: Then[str]) -> None:
        """Change a setting of all nodes, with which limitPage is `limit`; as `order`."""
        keys = (self._keys.crawl, self._keys.orders, self._pages)
        text = f"set {keyword} {value}"
        pages = limit if keyword == "limitPage" else ""
        data = CHANGE.call(*keys, self._id, keyword, value, text, pages, self.first_limit)
        self._send(data, then, bytes.decode)

    def answer(self, order: str, answer: Mapping[str, Any], then: Then[None]) -> None:
        """Put up an answer for a minute; one that comes twice counts once."""
        data = ANSWER.call(self._answer + order.encode(), json.dumps(answer))
        self._send(data, then, _ignore)

    def answers(self, order: str, then: Then[list[dict[str, Any]]]) -> None:
        data = pack("LRANGE", self._answer + order.encode(), 0, -1)
        self._send(data, then, lambda found: [json.loads(text) for text in found])

    # -- limits

    def draw(self, share: str, total: int, then: Then[Drawn | None]) -> None:
        """Draw pages of limitPage until the share has `total`, or give back those above.

        None if the crawl does not exist.
        """
        data = DRAW.call(self._keys.crawl, self._pages, self._id, share, total, self.first_limit)
        self._send(data, then, lambda reply: None if reply is None else Drawn(*reply))

    # -- seeds, and the end

    def seed(self, letters: Mapping[int, bytes], then: Then[FleetState]) -> None:
        """Post seeds; a finished crawl then runs again."""

        def posted(answer: Answered | Away) -> None:
            if isinstance(answer, Away):
                then(answer)
                return
            data = SEEDED.call(self._keys.crawl, self._id)
            self._send(data, then, lambda reply: FleetState(reply.decode()))

        self.post(letters, posted)

    def look(self, then: Then[Sequence[ShardLook]]) -> None:
        def known(number: Any) -> None:
            def looked(answer: Sequence[ShardLook] | Away) -> None:
                if not isinstance(answer, Away):
                    self._additions = self._additions[1], number or b"0"
                then(answer)

            if isinstance(number, Away):
                then(number)
            else:
                RedisVault.look(self, looked)

        data = pack("HGET", self._keys.crawl, "seeded")
        self._send(data, known, lambda number: number)

    def declare(self, old: FleetState, new: FleetState, then: Then[FleetState]) -> None:
        if new is not FleetState.FINISHED:
            super().declare(old, new, then)
            return
        # Two looks have proven the end, unless seeds came since before the first of them.
        data = FINISH.call(self._keys.crawl, self._id, old.value, new.value, self._additions[0])
        self._send(data, then, lambda reply: FleetState(reply.decode()))

    # -- the area of the seeds

    def join(self, session: str, then: Then[Present | Answered]) -> None:
        if self.area is not None:
            self.area.begin()
        super().join(session, self._after_area(then))

    def load(self, shard: int, cursor: str, then: Then[Part]) -> None:
        super().load(shard, cursor, then if cursor else self._after_area(then))

    def collect(
        self, positions: Mapping[int, int], then: Then[Mapping[int, Sequence[bytes]]]
    ) -> None:
        after = self._after_area(then)

        def collected(letters: Mapping[int, Sequence[bytes]] | Away) -> None:
            (after if letters else then)(letters)

        super().collect(positions, collected)

    def post(self, letters: Mapping[int, bytes], then: Then[Answered]) -> None:
        def published(answer: Any) -> None:
            if isinstance(answer, Away):
                then(answer)
            else:
                RedisVault.post(self, letters, then)

        self._publish(published)

    def _publish(self, then: Then[None]) -> None:
        """Put up the news of the area."""
        news = self.area.news(_ENTRIES) if self.area is not None else []
        if self.area is None or not news:
            then(None)
            return
        area = self.area

        def added(answer: Any) -> None:
            if isinstance(answer, Away):
                then(answer)
            else:
                area.published(len(news))
                self._publish(then)

        data = EXTEND.call(self._keys.crawl, self._hosts, self._id, *news)
        self._send(data, added, lambda reply: reply)

    def _after_area(self, then: Then[Any]) -> Then[Any]:
        """`then`, which is called when the area has what other nodes have put up."""
        area = self.area
        if area is None:
            return then

        def read(answer: Any, reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
                return
            area.take([entry.decode() for entry in reply[::2]], int(reply[-1]) if reply else 0)
            if len(reply) == 2 * _ENTRIES:
                ask(answer)
            else:
                then(answer)

        def ask(answer: Any) -> None:
            if isinstance(answer, Away):
                then(answer)
                return
            place = (self._hosts, f"({area.position}", "+inf", "WITHSCORES", "LIMIT", 0, _ENTRIES)
            self._send(pack("ZRANGEBYSCORE", *place), partial(read, answer), lambda reply: reply)

        return ask

    # -- the last of a crawl

    def clear(self, sessions: Mapping[str, int], then: Then[bool]) -> None:
        """Remove what nodes need to join; False if the sessions are others than these by now.

        What is left is removed by `remove`; no crawl of this name can be made before.
        """
        pairs = [text for pair in sorted(sessions.items()) for text in pair]
        data = CLEAR.call(self._keys.crawl, self._keys.beats, self._id, *pairs)
        self._send(data, then, bool)

    def remove(self, then: Then[None]) -> None:
        """Remove all keys of a cleared crawl."""
        Forgetting(self.client, self._keys, self.name, then)


def _table(flat: Sequence[bytes]) -> dict[str, str]:
    texts = [text.decode() for text in flat]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _report(text: str, now: float) -> NodeReport:
    time, _, status = text.partition(" ")
    return NodeReport(max(0.0, now - float(time)), json.loads(status))


def _of_format(form: str) -> str:
    if form == CLEARED:
        return "is being forgotten; larbinpy fleet --forget goes on with that"
    return f"made by another version of larbinpy (format {form}, not {FORMAT})"


def _ignore(_: object) -> None:
    pass


#: Buckets for each shard: who expects more hosts gives the crawl more shards.
_BUCKETS = 32
#: Names of a bucket at most. Beyond 512 Redis would need four times as much for each
#: (hash-max-listpack-entries).
_MOST = 500
_KEY = 7
_ADDRESSES = 3
#: Minutes are counted from the begin of 2020, and last until 2051.
_BEGIN = 1_577_836_800
_LAST = (1 << 24) - 1
#: Messages about absent names that are kept, and read at a time. They have 50 names at most: a
#: million names, in 20 MB.
_KEPT = 20_000
_READ = 50


class Shared(NamedTuple):
    """The addresses of a name, and the Unix time until which they are used."""

    addresses: tuple[str, ...]
    until: float


class RedisNames:
    """Names of the crawl with this `id` and so many `shards`; `then` is as in a `Vault`."""

    def __init__(self, client: Client, id: str, shards: int, wall: Callable[[], float]) -> None:
        self._client = client
        self._keys = Keys(client.address.name)
        self._secret = id.encode()
        self._buckets = _BUCKETS * shards
        self._wall = wall
        self._absent_slot = slot_of(self._keys.absent)

    @property
    def trouble(self) -> str:
        """Why Redis has to be waited for; "" otherwise."""
        return self._client.lost or self._client.trouble

    def _place(self, name: str) -> tuple[bytes, bytes]:
        """The key of the hash that has a name, and its field there."""
        digest = blake2b(name.encode(), digest_size=_KEY + 4, key=self._secret).digest()
        bucket = int.from_bytes(digest[_KEY:]) % self._buckets
        return self._keys.names(bucket), digest[:_KEY]

    def find(self, name: str, then: Then[Shared | None]) -> None:
        """The answer that a node learned for `name`, even if it has expired."""
        key, field = self._place(name)

        def found(reply: Any) -> None:
            then(reply if reply is None or isinstance(reply, Away) else unpack_value(reply))

        self._client.send(slot_of(key), pack(b"HGET", key, field), found)

    def learn(self, name: str, shared: Shared) -> None:
        """Keep the addresses of a name; nobody hears whether it was done."""
        key, field = self._place(name)
        value, now = pack_value(shared), _minute(self._wall())
        data = scripts.LEARN.call(key, field, value, _MOST, now)
        self._client.send(slot_of(key), data, _ignore)

    def learn_absent(self, names: Sequence[str]) -> None:
        """Tell all nodes that these names do not exist."""
        key = self._keys.absent
        data = pack(b"XADD", key, b"MAXLEN", b"~", _KEPT, b"*", b"names", " ".join(names))
        self._client.send(self._absent_slot, data, _ignore)

    def absent(self, cursor: str, then: Then[tuple[str, Sequence[str]]]) -> None:
        """Some names that do not exist, and the next cursor; the first is a Unix time in ms."""

        def read(reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
                return
            names = [name for _, fields in reply for name in fields[1].decode().split()]
            then((reply[-1][0].decode() if reply else cursor, names))

        data = pack(b"XRANGE", self._keys.absent, f"({cursor}", b"+", b"COUNT", _READ)
        self._client.send(self._absent_slot, data, read)


def pack_value(shared: Shared) -> bytes:
    """The value of a name; expires up to a minute earlier."""
    kept = shared.addresses[:_ADDRESSES]
    packed = [inet_pton(AF_INET6 if ":" in address else AF_INET, address) for address in kept]
    return _minute(shared.until).to_bytes(3) + b"".join(packed)


def unpack_value(value: bytes) -> Shared:
    """The addresses and the time in a value."""
    until = _BEGIN + 60 * int.from_bytes(value[:3])
    size = 4 if len(value) < 3 + 16 else 16
    family = AF_INET if size == 4 else AF_INET6
    packed = (value[start : start + size] for start in range(3, len(value), size))
    return Shared(tuple(inet_ntop(family, each) for each in packed), until)


def _minute(time: float) -> int:
    return min(max(int(time - _BEGIN) // 60, 0), _LAST)
