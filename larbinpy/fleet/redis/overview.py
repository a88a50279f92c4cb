"""Looks at a crawl on Redis without joining it, and forgets one that nobody runs."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from larbinpy.fleet.identity import node_of
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.board_scripts import CLEARED
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.forgetting import Forgetting
from larbinpy.fleet.redis.keys import Keys
from larbinpy.fleet.redis.wire import pack
from larbinpy.fleet.vault import Away, CrawlState, Then

#: crawl: its settings.
_RENEW = """
local has = redis.call('HGET', KEYS[1], 'settings')
if not has then return 0 end
local settings = cjson.decode(ARGV[1])
settings['shards'] = cjson.decode(has)['shards']
redis.call('HSET', KEYS[1], 'settings', cjson.encode(settings))
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
            node_of(session)
            for session, counter in self.sessions.items()
            if counter > counters.get(session, counter)
        ]


class Overview:
    """The crawl that the address of `client` names, if there is one."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._name = client.address.name
        self._keys = Keys(self._name)

    def __repr__(self) -> str:
        return f"<Overview {self._client.address}>"

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
            self._client.send(keys.slot, command, came)

    def renew(self, settings: Mapping[str, str], then: Then[None]) -> None:
        """Change the settings that nodes share; the number of shards stays."""
        text = json.dumps(dict(settings), sort_keys=True)
        data = pack("EVAL", _RENEW, 1, self._keys.crawl, text)
        self._client.send(
            self._keys.slot, data, lambda reply: then(reply if isinstance(reply, Away) else None)
        )

    def bury(self, session: str, counter: int, then: Then[None]) -> None:
        """Remove a session whose counter is still `counter`."""
        data = scripts.BURY.call(self._keys.beats, session, counter)
        self._client.send(
            self._keys.slot, data, lambda reply: then(reply if isinstance(reply, Away) else None)
        )

    def forget(self, then: Then[None]) -> None:
        """Remove all keys of the crawl. It is cleared first, so that no node can join the rest."""
        data = pack("HSET", self._keys.crawl, "id", "-", "format", CLEARED)

        def cleared(reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
            else:
                Forgetting(self._client, self._keys, self._name, then)

        self._client.send(self._keys.slot, data, cleared)
