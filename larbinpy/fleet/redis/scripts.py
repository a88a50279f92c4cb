"""The keys of a crawl, the slots that a Cluster has them in, and the scripts that change them.

Redis executes a script as one step. A Cluster has 16,384 slots (`SlotMap`).

lb:{N}:crawl     hash: format, id, settings, state, and the runs of Redis that it was made in
lb:{N}:beats     hash: session -> counter
lb:{N}:orders    stream of orders to all nodes
lb:{N.K}:h       hash of shard K: own, n, owed; and in, the elements that its inbox must have
lb:{N.K}:s       list: packed fingerprints
lb:{N.K}:b       hash: b7 -> packed lines of block 7, o7 -> its owed bits
lb:{N.K}:i       list: the inbox
lb:{N.K}:c       hash: c and name -> what was counted of a site; w and site -> its waits
lb:{N.K}:w       written for a second, to see what has reached a replica
lb:N:a:ADDRESS   a turn, as in `vault`
lb:N:n:BUCKET    hash: a part of the names, packed as in `board`
lb:N:n:absent    stream of names that do not exist
"""

from binascii import crc_hqx
from collections.abc import Sequence
from hashlib import sha1
from typing import Any, NamedTuple, Self

from larbinpy.fleet.redis.wire import Argument, Endpoint, pack

SLOTS = 16384


def slot_of(key: bytes) -> int:
    """The slot of a key: CRC16 (XMODEM) of its hash tag, or of all of it without one.

    The tag stands between the first `{` and the next `}`, if something is there (Redis cluster
    specification, "Hash tags").
    """
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return crc_hqx(key, 0) % SLOTS


class Master(NamedTuple):
    """A master: `id` is that of its node, which it keeps when its address changes."""

    id: str
    server: Endpoint
    replicas: tuple[Endpoint, ...]


class SlotMap:
    """Owners of slots, as one node of the Cluster knows them."""

    def __init__(self) -> None:
        self.masters: dict[Endpoint, Master] = {}
        self.owners: list[Endpoint | None] = [None] * SLOTS

    @classmethod
    def of(cls, reply: Any, asked: Endpoint) -> Self:
        """Parse the reply to CLUSTER SLOTS of the server `asked`.

        Raises ValueError if it is no such reply.
        """
        made = cls()
        try:
            for first, last, *nodes in reply:
                servers = [_server(node, asked) for node in nodes]
                master = Master(bytes(nodes[0][2]).decode(), servers[0], tuple(servers[1:]))
                made.masters[master.server] = master
                made.owners[first : last + 1] = [master.server] * (last - first + 1)
        except (TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"not a reply to CLUSTER SLOTS: {error}") from None
        if len(made.owners) != SLOTS:
            raise ValueError("a slot that does not exist")
        return made

    @property
    def uncovered(self) -> int:
        """The number of slots that no master has."""
        return self.owners.count(None)

    def newcomers(self, before: "SlotMap") -> list[Master]:
        """The masters that were none `before`: a replica that took over, or a new node."""
        known = {master.id for master in before.masters.values()}
        return [master for master in self.masters.values() if master.id not in known]


class Moved(NamedTuple):
    """MOVED or ASK: the server that has the slot, or gets it."""

    slot: int
    server: Endpoint

    @classmethod
    def of(cls, error: str, asked: Endpoint) -> Self:
        """Parse `MOVED 3999 127.0.0.1:6381`; without a host it is that of the server `asked`."""
        _, slot, place = error.split(" ")[:3]
        host, _, port = place.rpartition(":")
        return cls(int(slot), Endpoint(host.strip("[]") or asked.host, int(port)))


def _server(node: Any, asked: Endpoint) -> Endpoint:
    # A node that does not know its own address leaves it out: it is the one that was asked.
    host = bytes(node[0] or b"").decode()
    return Endpoint(asked.host if host in ("", "?") else host, int(node[1]))


class KeyKind(NamedTuple):
    """The type of a key, as Redis calls it, and in words."""

    type: str
    content: str


#: By the part of a key after the name of the crawl, and the shard.
_KINDS = {
    "crawl": KeyKind("hash", "the crawl"),
    "beats": KeyKind("hash", "the list of nodes"),
    "orders": KeyKind("stream", "orders to nodes"),
    "nodes": KeyKind("hash", "reports of nodes"),
    "answer": KeyKind("list", "answers of nodes"),
    "pages": KeyKind("hash", "what was drawn of limitPage"),
    "hosts": KeyKind("zset", "the area of the seeds"),
    "h": KeyKind("hash", "the owner of some hosts"),
    "s": KeyKind("list", "URLs seen of some hosts"),
    "b": KeyKind("hash", "queued URLs of some hosts"),
    "i": KeyKind("list", "links between nodes"),
    "c": KeyKind("hash", "limits and pauses of some hosts"),
    "w": KeyKind("string", "a mark"),
    "a": KeyKind("string", "the turn at an address"),
    "n": KeyKind("hash", "addresses of names"),
    "absent": KeyKind("stream", "names that do not exist"),
}


def wrong_type(key: bytes, type: str) -> str:
    """Why a key of a type cannot be used, to be read after the server; "" if it can."""
    parts = key.decode().split(":", 3)
    kind = _KINDS["absent" if parts[2:] == ["n", "absent"] else parts[2]]
    if type in (kind.type, "none"):
        return ""
    return (
        f"has a {type} as {key.decode()}, which must be a {kind.type}: another program wrote it. "
        f"Restore the data of Redis, or go on without {kind.content}: DEL {key.decode()}"
    )


def lost(key: str, left: str) -> str:
    """What the loss of a key means, to be read after the server; `left` is that of `LOOK`."""
    stem, _, kind = key.rpartition(":")
    fields = {"h": f"n 1 owed {left}", "b": "owed 0", "i": f"in {left}"}[kind]
    return (
        f"has lost {key}, or a part of it: {_KINDS[kind].content}; pages would be missing. "
        f"Restore the data of Redis, or go on without: HSET {stem}:h {fields}"
    )


class ShardKeys:
    """The keys of one shard, which are in one slot."""

    __slots__ = ("b", "c", "h", "i", "s", "slot", "w")

    def __init__(self, name: str, shard: int) -> None:
        stem = b"lb:{%s.%d}:" % (name.encode(), shard)
        self.slot = slot_of(stem)
        self.h, self.s, self.b, self.i, self.c, self.w = (
            stem + each for each in (b"h", b"s", b"b", b"i", b"c", b"w")
        )


class Keys:
    """The keys of the crawl `name`."""

    def __init__(self, name: str) -> None:
        self._name = name
        stem = b"lb:{%s}:" % name.encode()
        self.slot = slot_of(stem)
        self.crawl = stem + b"crawl"
        self.beats = stem + b"beats"
        self.orders = stem + b"orders"
        self._turn = f"lb:{name}:a:"
        self._names = f"lb:{name}:n:".encode()
        self.absent = self._names + b"absent"
        self._shards: dict[int, ShardKeys] = {}

    def shard(self, number: int) -> ShardKeys:
        keys = self._shards.get(number)
        if keys is None:
            keys = self._shards[number] = ShardKeys(self._name, number)
        return keys

    def turn(self, address: str) -> bytes:
        return (self._turn + address).encode()

    def names(self, bucket: int) -> bytes:
        return b"%b%x" % (self._names, bucket)


class LuaScript:
    """Lua for EVALSHA, with the number of its keys; it touches no others."""

    def __init__(self, keys: int, text: str) -> None:
        self.load = pack("SCRIPT", "LOAD", text)
        # SHA-1 is the name that Redis gives a script.
        sha = sha1(text.encode(), usedforsecurity=False).hexdigest().encode()
        self._sha = sha
        self._head: tuple[Argument, ...] = (b"EVALSHA", sha, keys)

    def call(self, *arguments: Argument) -> bytes:
        """The command with its keys, then its other arguments."""
        return pack(*self._head, *arguments)

    def call_with(self, keys: Sequence[bytes], *arguments: Argument) -> bytes:
        """The command for a script that takes any number of keys."""
        return pack(b"EVALSHA", self._sha, len(keys), *keys, *arguments)


#: Makes the crawl, or finds it: id, settings, state, run ids of its time, whether it was made.
OPEN = LuaScript(
    1,
    """
local made = 0
if redis.call('HEXISTS', KEYS[1], 'id') == 0 then
  redis.call('HSET', KEYS[1], 'id', ARGV[1], 'settings', ARGV[2], 'state', ARGV[3], 'runs', ARGV[4],
    'format', ARGV[5])
  made = 1
end
local has = redis.call('HMGET', KEYS[1], 'id', 'settings', 'state', 'runs', 'format')
return {has[1], has[2], has[3], has[4], has[5], made}
""",
)

#: crawl: old state, new one, id -> the state afterwards.
DECLARE = LuaScript(
    1,
    """
local has = redis.call('HMGET', KEYS[1], 'state', 'id')
if has[1] == ARGV[1] and has[2] == ARGV[3] then
  redis.call('HSET', KEYS[1], 'state', ARGV[2])
  return ARGV[2]
end
return has[1]
""",
)

#: The answer of `JOIN` if another node has the name.
TAKEN = 0

#: crawl, beats, orders: id, session -> counters, state, id of the last order; or 0, if a node of
#: this name has a session of another share; or nothing.
JOIN = LuaScript(
    3,
    """
local has = redis.call('HMGET', KEYS[1], 'id', 'state')
if has[1] ~= ARGV[1] then return false end
local parts = '^(.*)%.(%x*)%-%x+$'
local name, share = string.match(ARGV[2], parts)
for _, session in ipairs(name and redis.call('HKEYS', KEYS[2]) or {}) do
  local other, its = string.match(session, parts)
  if other == name and its ~= share then return 0 end
end
redis.call('HSETNX', KEYS[2], ARGV[2], 0)
local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)
return {redis.call('HGETALL', KEYS[2]), has[2], last[1] and last[1][1] or '0-0'}
""",
)

#: crawl, beats, orders: id, session, id of the last order that was read -> counters, state,
#: orders, time of Redis (ms); or nothing.
BEAT = LuaScript(
    3,
    """
local has = redis.call('HMGET', KEYS[1], 'id', 'state')
if has[1] ~= ARGV[1] or redis.call('HEXISTS', KEYS[2], ARGV[2]) == 0 then return false end
redis.call('HINCRBY', KEYS[2], ARGV[2], 1)
local time = redis.call('TIME')
return {redis.call('HGETALL', KEYS[2]), has[2],
  redis.call('XRANGE', KEYS[3], '(' .. ARGV[3], '+', 'COUNT', 100),
  time[1] * 1000 + math.floor(time[2] / 1000)}
""",
)

#: beats: session, counter; an empty counter stands for any.
BURY = LuaScript(
    1,
    """
if ARGV[2] == '' or redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return 1
""",
)

#: For several shards, h, s, b and i of each -> owner, number, owed lines, inbox elements of each.
#: The error LOST names a key that must have more, and what the shard has left: whether there are
#: owed lines, or the elements of its inbox.
LOOK = LuaScript(
    4,
    """
local found = {}
for k = 1, #KEYS, 4 do
  local h = redis.call('HMGET', KEYS[k], 'own', 'n', 'owed', 'in')
  local blocks, inbox = redis.call('EXISTS', KEYS[k + 2]), redis.call('LLEN', KEYS[k + 3])
  if not h[2] and blocks + redis.call('EXISTS', KEYS[k + 1]) > 0 then
    return redis.error_reply('LOST ' .. KEYS[k] .. ' ' .. blocks)
  elseif tonumber(h[3] or 0) > 0 and blocks == 0 then
    return redis.error_reply('LOST ' .. KEYS[k + 2] .. ' 0')
  elseif tonumber(h[4] or 0) > inbox then
    return redis.error_reply('LOST ' .. KEYS[k + 3] .. ' ' .. inbox)
  end
  found[#found + 1] = h[1] or ''
  found[#found + 1] = h[2] or 0
  found[#found + 1] = h[3] or 0
  found[#found + 1] = inbox
end
return found
""",
)

#: h, i: an element for the inbox.
POST = LuaScript(
    2,
    """
redis.call('HINCRBY', KEYS[1], 'in', 1)
return redis.call('RPUSH', KEYS[2], ARGV[1])
""",
)

#: For several shards, i of each: position in each -> places among KEYS and elements of those
#: that have some.
COLLECT = LuaScript(
    1,
    """
local found = {}
for k = 1, #KEYS do
  local more = redis.call('LRANGE', KEYS[k], ARGV[k], ARGV[k] + 63)
  if more[1] then
    found[#found + 1] = k
    found[#found + 1] = more
  end
end
return found
""",
)

#: h: owner, number, session -> 1, new number; or 0, number, owner.
TAKE = LuaScript(
    1,
    """
local h = redis.call('HMGET', KEYS[1], 'own', 'n')
local own, n = h[1] or '', tonumber(h[2] or 0)
local after = tonumber(ARGV[2]) + 1
if own == ARGV[1] and n + 1 == after then
  redis.call('HSET', KEYS[1], 'own', ARGV[3], 'n', after)
  return {1, after}
end
if own == ARGV[3] and n == after then return {1, n} end
return {0, n, own}
""",
)

#: `COMMIT` and `LEAVE` return this instead of the number of a shard that has another one.
DONE, FENCED = -1, -2

_FENCE = """
local h = redis.call('HMGET', KEYS[1], 'own', 'n')
if h[1] ~= ARGV[1] then return -2 end
local n = tonumber(h[2] or 0)
if n ~= tonumber(ARGV[2]) then return n end
"""

#: h, s, b, i, c: session, number, owed lines, inbox elements to remove, fingerprints, numbers of
#: the fields of b to set, of the fields of c to add to, and of the waits; then these: fields and
#: values, fields and numbers, fields with milliseconds and a text; then the fields of b to remove.
#: Waits are stored with the time when they end, by the clock of Redis, and with their length, since
#: that clock may be put back. A full Redis refuses the
#: first write, and once a script has written it refuses no more: the commit is done as a whole or
#: not at all.
COMMIT = LuaScript(
    5,
    _FENCE
    + """
redis.call('HSET', KEYS[1], 'n', n + 1, 'owed', ARGV[3])
if ARGV[5] ~= '' then redis.call('RPUSH', KEYS[2], ARGV[5]) end
local counts = 9 + 2 * ARGV[6]
local waits = counts + 2 * ARGV[7]
local removed = waits + 3 * ARGV[8]
for k = 9, counts - 1, 1000 do
  redis.call('HSET', KEYS[3], unpack(ARGV, k, math.min(k + 999, counts - 1)))
end
for k = counts, waits - 1, 2 do
  redis.call('HINCRBY', KEYS[5], ARGV[k], ARGV[k + 1])
end
if waits < removed then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  for k = waits, removed - 1, 3 do
    local ends = string.format('%.0f', now + ARGV[k + 1])
    redis.call('HSET', KEYS[5], ARGV[k], ends .. ' ' .. ARGV[k + 1] .. ' ' .. ARGV[k + 2])
  end
end
for k = removed, #ARGV, 1000 do
  redis.call('HDEL', KEYS[3], unpack(ARGV, k, math.min(k + 999, #ARGV)))
end
if ARGV[4] ~= '0' then
  redis.call('LTRIM', KEYS[4], ARGV[4], -1)
  redis.call('HINCRBY', KEYS[1], 'in', -ARGV[4])
end
return -1
""",
)

#: h: session, number.
LEAVE = LuaScript(
    1,
    _FENCE
    + """
redis.call('HSET', KEYS[1], 'own', '')
return -1
""",
)

#: Turn: value, ms, value that has outlasted its time -> the time of Redis (ms), if it is granted;
#: else the value that it has, and for how long (ms).
TURN = LuaScript(
    1,
    """
local has = redis.call('GET', KEYS[1])
if has and has ~= ARGV[3] then return {has, redis.call('PTTL', KEYS[1])} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
""",
)

#: Turn: begin of its value, new value, ms. Renews it; one that expired, or was forgotten, is
#: granted again.
RENEW = LuaScript(
    1,
    """
local has = redis.call('GET', KEYS[1])
if has and string.sub(has, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
""",
)

#: Turn: begin of its value, new value, ms. Ends it; one that expired, or was forgotten, rests all
#: the same.
REST = LuaScript(
    1,
    """
local has = redis.call('GET', KEYS[1])
if has and string.sub(has, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
return 1
""",
)

#: Names of a bucket: key, value, number of names at most, the minute now as in a value. Each new
#: name looks at two others at random, and removes them if they have expired: so no more than about
#: half of them have. If there are too many all the same, one of these two goes, too.
LEARN = LuaScript(
    1,
    """
if redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
local size = redis.call('HLEN', KEYS[1])
local some = redis.call('HRANDFIELD', KEYS[1], 2, 'WITHVALUES')
for k = 1, #some, 2 do
  local a, b, c = string.byte(some[k + 1], 1, 3)
  local over = (a * 256 + b) * 256 + c <= tonumber(ARGV[4])
  if some[k] ~= ARGV[1] and (over or size > tonumber(ARGV[3])) then
    redis.call('HDEL', KEYS[1], some[k])
    size = size - 1
  end
end
return 1
""",
)

_ALL = (
    *(OPEN, DECLARE, JOIN, BEAT, BURY, LOOK, TAKE, COMMIT, LEAVE, POST, COLLECT),
    *(TURN, RENEW, REST, LEARN),
)
#: The commands that load all of them.
LOADS = tuple(script.load for script in _ALL)
