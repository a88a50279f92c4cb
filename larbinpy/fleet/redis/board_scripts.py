"""The scripts of the board. They are seldom executed, so their text is sent each time."""

from larbinpy.fleet.redis.wire import Argument, pack


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
