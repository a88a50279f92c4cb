"""Looks at a crawl on Redis without joining it, and forgets one that nobody runs."""

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from larbinpy.fleet.redis.keys import Keys
from larbinpy.fleet.redis.link import Link, Request
from larbinpy.fleet.redis.servers import Servers
from larbinpy.fleet.redis.slots import slot_of
from larbinpy.fleet.redis.wire import Address, pack
from larbinpy.fleet.vault import Away, CrawlState, Then
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller

#: Keys that a server looks at in one call, while it looks for those of a crawl.
_SCANNED = 1000

_RENEW = """
local has = redis.call('HGET', KEYS[1], 'settings')
if not has then return 0 end
local fresh = cjson.decode(ARGV[1])
fresh.shards = cjson.decode(has).shards
redis.call('HSET', KEYS[1], 'settings', cjson.encode(fresh))
return 1
"""


class Found(NamedTuple):
    """A crawl that exists."""

    id: str
    state: CrawlState
    #: Counter of beats by session; that of a living one grows each second.
    sessions: dict[str, int]

    @property
    def is_new(self) -> bool:
        """Whether it has no seeds yet, as the first node could not start."""
        return self.state is CrawlState.NEW

    def living(self, before: "Found | None") -> list[str]:
        """The nodes that have beaten since an earlier look."""
        counters = {} if before is None else before.sessions
        return [
            session.rpartition(".")[0]
            for session, counter in self.sessions.items()
            if counter > counters.get(session, counter)
        ]


class Overview:
    """The crawl that `address` names, if there is one; `step` has to be called in each turn."""

    def __init__(self, poller: Poller, clock: Clock, address: Address) -> None:
        self._servers = Servers(poller, clock, address)
        self._keys = Keys(address.name)
        self._name = address.name

    def __repr__(self) -> str:
        return f"<Overview {self._servers!r}>"

    def step(self, now: float) -> None:
        """Send and connect. Raises UserError, one line, for what the user must correct."""
        self._servers.step(now)

    @property
    def deadline(self) -> float:
        """When `step` has something to do at the latest; -inf: now."""
        return self._servers.deadline

    @property
    def trouble(self) -> str:
        """One line while Redis has to be waited for; "" otherwise."""
        return self._servers.trouble

    def close(self) -> None:
        self._servers.close()

    def find(self, then: Then[Found | None]) -> None:
        """Look for the crawl; None if there is none."""
        replies: list[Any] = []

        def came(reply: Any) -> None:
            replies.append(reply)
            if len(replies) < 2:
                return
            if any(isinstance(each, Away) for each in replies):
                then(Away())
                return
            (own, state), counters = replies
            if own is None:
                then(None)
                return
            pairs = zip(counters[::2], counters[1::2], strict=True)
            sessions = {session.decode(): int(counter) for session, counter in pairs}
            then(Found(own.decode(), CrawlState(state.decode()), sessions))

        keys = self._keys
        for command in (pack("HMGET", keys.crawl, "id", "state"), pack("HGETALL", keys.beats)):
            self._servers.send(keys.slot, command, came)

    def renew(self, settings: Mapping[str, str], then: Then[None]) -> None:
        """Change the settings that nodes share; the number of shards stays."""
        text = json.dumps(dict(settings), sort_keys=True)
        data = pack("EVAL", _RENEW, 1, self._keys.crawl, text)
        self._servers.send(
            self._keys.slot, data, lambda reply: then(reply if isinstance(reply, Away) else None)
        )

    def forget(self, then: Then[None]) -> None:
        """Remove all keys of the crawl. Its name goes first, so that no node can join the rest."""
        data = pack("DEL", self._keys.crawl)

        def removed(reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
            else:
                _Forgetting(self._servers, self._name, then)

        self._servers.send(self._keys.slot, data, removed)


class _Forgetting:
    """Walks through the keys of all masters, and removes those of a crawl."""

    def __init__(self, servers: Servers, name: str, then: Then[None]) -> None:
        own = re.escape(name.encode())
        # A crawl whose name is this one, a dot and a number has other keys than a shard.
        self._is_own = re.compile(
            rb"lb:(?:\{%b\}:.*|\{%b\.\d+\}:[hsbiw]|%b:.*)" % (own, own, own), re.DOTALL
        ).fullmatch
        self._servers = servers
        self._then = then
        self._open = len(servers.masters)
        self._away = False
        for link in servers.masters:
            self._scan(link, b"0")

    def _scan(self, link: Link, cursor: bytes) -> None:
        data = pack("SCAN", cursor, "MATCH", "lb:*", "COUNT", _SCANNED)
        link.send(Request(data, partial(self._scanned, link)))

    def _scanned(self, link: Link, reply: Any) -> None:
        if not isinstance(reply, list):
            self._away = True
            self._end()
            return
        cursor, keys = reply
        for key in filter(self._is_own, keys):
            self._open += 1
            # One by one: the keys of a Cluster's master are in different slots.
            self._servers.send(slot_of(key), pack("UNLINK", key), self._removed)
        if cursor == b"0":
            self._end()
        else:
            self._scan(link, cursor)

    def _removed(self, reply: Any) -> None:
        self._away = self._away or isinstance(reply, Away)
        self._end()

    def _end(self) -> None:
        self._open -= 1
        if not self._open:
            self._then(Away() if self._away else None)
