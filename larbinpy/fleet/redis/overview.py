"""Looks at a crawl on Redis without joining it, and forgets one that nobody runs.

`Places` says where Redis itself is, so that no page can direct the crawl there. `Asker` waits for
an answer, where there is nothing else to do: before and after a crawl.
"""

import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from math import ceil
from typing import Any, NamedTuple

from larbinpy.fleet.identity import node_of
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.board import CLEARED, Forgetting
from larbinpy.fleet.redis.client import Client, RedisAway, Topology
from larbinpy.fleet.redis.scripts import Keys
from larbinpy.fleet.redis.wire import Endpoint, pack
from larbinpy.fleet.vault import DEAD, Away, FleetState, Then
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller


class Places:
    """The addresses and ports of all servers that a crawl is on."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        # By server, with the addresses that its name had when it was first seen.
        self._known: dict[Endpoint, frozenset[str]] = {}

    def has(self, address: str, port: int) -> bool:
        """Whether one of the servers is at this port of `address`, or of this machine with it."""
        for server in self._topology.servers:
            if server.port == port:
                address = _plain(address)
                there = self._addresses(server)
                if address in there or (_is_here(address) and any(map(_is_here, there))):
                    return True
        return False

    def _addresses(self, server: Endpoint) -> frozenset[str]:
        known = self._known.get(server)
        if known is None:
            found = [server.host]
            with suppress(OSError):
                infos = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
                found += [str(info[4][0]) for info in infos]
            known = self._known[server] = frozenset(map(_plain, found))
        return known


def _plain(address: str) -> str:
    """An address in its one spelling, without the IPv6 that stands for IPv4; a name as it is."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _is_here(address: str) -> bool:
    """Whether `address`, in its plain spelling, is one of this machine."""
    with suppress(ValueError, OSError):
        if ip_address(address).is_loopback:
            return True
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as test:
            # The system binds to its own addresses alone, and to none ("0.0.0.0").
            test.bind((address, 0))
        return True
    return False


#: crawl: its settings.
_RENEW = """
local has = redis.call('HGET', KEYS[1], 'settings')
if not has then return 0 end
local settings = cjson.decode(ARGV[1])
settings['shards'] = cjson.decode(has)['shards']
redis.call('HSET', KEYS[1], 'settings', cjson.encode(settings))
return 1
"""


class SeenCrawl(NamedTuple):
    """A crawl that exists."""

    id: str
    state: FleetState
    #: Counter of beats by session; that of a living one grows each second.
    sessions: dict[str, int]

    @property
    def is_new(self) -> bool:
        """Whether it has no seeds yet, as the first node could not start."""
        return self.state is FleetState.NEW

    def living(self, before: "SeenCrawl | None") -> list[str]:
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

    def find(self, then: Then[SeenCrawl | None]) -> None:
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
            then(SeenCrawl(own.decode(), FleetState(state.decode()), sessions))

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


#: Seconds for Redis to answer.
PATIENCE = 30.0
#: Seconds in which a living session beats, even if an answer is late; and between two looks.
_WATCHED = 2.5
_LOOK = 0.5
#: Seconds between two looks for a signal.
_TICK = 0.1


class Asker:
    """Asks, and waits in a loop of its own. `is_stopped` ends the wait by KeyboardInterrupt."""

    def __init__(
        self,
        client: Client,
        poller: Poller,
        clock: Clock,
        is_stopped: Callable[[], bool] = lambda: False,
        patience: float = PATIENCE,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """With `say`, Redis is waited for as long as it is away, and `say` gets the reasons."""
        self._client = client
        self._poller = poller
        self._clock = clock
        self._is_stopped = is_stopped
        self._patience = patience
        self._say = say
        self._said = ""

    def ask(self, verb: Callable[[Callable[[Any], None]], None]) -> Any:
        """The answer to `verb`; it is asked again if the connection ended before.

        Raises RedisAway if none comes, UserError.
        """
        answers: list[Any] = []
        until = self._clock() + self._patience
        self._client.resume()
        verb(answers.append)
        while True:
            self._turn(until)
            if answers and not isinstance(answers[0], Away):
                return answers[0]
            if answers:
                answers.clear()
                self._client.resume()
                verb(answers.append)
            if self._client.refusal:
                self._away(RedisAway(self._client.refusal))
            if self._clock() >= until:
                self._away(RedisAway(self._client.trouble or "Redis does not answer"))
                until += self._patience

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        until = self._clock() + seconds
        while self._clock() < until:
            self._turn(until)

    def living(
        self, overview: Overview, first: SeenCrawl, *, until_dead: bool = False
    ) -> list[str]:
        """The nodes of a crawl that was found that beat, after watching them for a while.

        `until_dead`: as long as nodes watch before they bury one.
        """
        if not first.sessions:
            return []
        living: list[str] = []
        for _ in range(ceil((DEAD if until_dead else _WATCHED) / _LOOK)):
            self.wait(_LOOK)
            now: SeenCrawl | None = self.ask(overview.find)
            if now is not None and (living := now.living(first)):
                break
        return living

    def _turn(self, until: float) -> None:
        if self._is_stopped():
            raise KeyboardInterrupt
        try:
            self._client.step(self._clock())
        except RedisAway as away:
            self._away(away)
        now = self._clock()
        self._poller.wait(min(max(0.0, self._client.deadline - now), max(0.0, until - now), _TICK))

    def _away(self, away: RedisAway) -> None:
        """Say why Redis is waited for, once; or raise it."""
        if self._say is None:
            raise away
        if str(away) != self._said:
            self._said = str(away)
            self._say(f"{away}; this node waits")
