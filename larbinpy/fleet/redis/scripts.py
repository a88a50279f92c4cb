"""The scripts that Redis executes as one step each, and how they are called."""

from collections.abc import Sequence
from hashlib import sha1

from larbinpy.fleet.redis.wire import Argument, pack


class Script:
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
OPEN = Script(
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
DECLARE = Script(
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
JOIN = Script(
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
BEAT = Script(
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
BURY = Script(
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
LOOK = Script(
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
POST = Script(
    2,
    """
redis.call('HINCRBY', KEYS[1], 'in', 1)
return redis.call('RPUSH', KEYS[2], ARGV[1])
""",
)

#: For several shards, i of each: position in each -> places among KEYS and elements of those
#: that have some.
COLLECT = Script(
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
TAKE = Script(
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
COMMIT = Script(
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
LEAVE = Script(
    1,
    _FENCE
    + """
redis.call('HSET', KEYS[1], 'own', '')
return -1
""",
)

#: Turn: value, ms, value that has outlasted its time -> the time of Redis (ms), if it is granted;
#: else the value that it has, and for how long (ms).
TURN = Script(
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
RENEW = Script(
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
REST = Script(
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
LEARN = Script(
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
