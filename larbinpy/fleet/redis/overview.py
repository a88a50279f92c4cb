"""Looks at a crawl on Redis without joining it, and forgets one that nobody runs."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from larbinpy.fleet.redis.board_scripts import CLEARED
from larbinpy.fleet.redis.forgetting import Forgetting
from larbinpy.fleet.redis.keys import Keys
from larbinpy.fleet.redis.servers import Servers
from larbinpy.fleet.redis.wire import Address, pack
from larbinpy.fleet.vault import Away, CrawlState, Then
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller

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

    def resume(self) -> None:
        """Go on after Redis may have forgotten something."""
        self._servers.lost = ""

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
        """Remove all keys of the crawl. It is cleared first, so that no node can join the rest."""
        data = pack("HSET", self._keys.crawl, "id", "-", "format", CLEARED)

        def cleared(reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
            else:
                Forgetting(self._servers, self._keys, self._name, then)

        self._servers.send(self._keys.slot, data, cleared)
