"""Redis as one thing to send to, whether it is a single server or a Cluster.

`Client` sends each request to the master that has the slot of its key. It follows redirects, and
sends again what a server cannot execute just now. When writes that were acknowledged may have been
forgotten, because a server was started anew or a replica took over, it says so in `lost`, and
answers all requests with AWAY until `resume`: they may rely on such writes.

Waits until what was written has reached a replica, where a master has replicas.

WAIT counts the replicas that have the writes of its own connection, and a connection may be newer
than the writes. So a small write goes first, to each master: a replica that has it has all before.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf

import hiredis

from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.link import AWAY, Connection, RedisCall, RedisLink, Then
from larbinpy.fleet.redis.scripts import Moved, lost, wrong_type
from larbinpy.fleet.redis.topology import LATER, SOON, Topology
from larbinpy.fleet.redis.wire import CrawlAddress, keys_of, pack
from larbinpy.fleet.vault import Away
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller

#: Errors that pass by themselves, or by the operator of Redis: what the user reads; "" for
#: nothing, as they are short.
_PASSING = {
    "TRYAGAIN": "",
    "LOADING": "is loading its data",
    "BUSY": "is busy with a script of somebody",
    "CLUSTERDOWN": "has a Cluster that is down",
    "MASTERDOWN": "has lost its master",
    "READONLY": "",
    "OOM": "is full (maxmemory): give it more memory",
    "MISCONF": "cannot write its data to the disk",
    "NOREPLICAS": "has too few replicas (min-replicas-to-write)",
}
# Before version 7 the error of a command within a script is the end of another one.
_IN_SCRIPT = re.compile(r"ERR Error running script .*?: -?([A-Z]+) ").match
_ASKING = pack("ASKING")


class Client:
    """The client of the Redis at `address`; `step` has to be called in each turn of the loop."""

    def __init__(self, poller: Poller, clock: Clock, address: CrawlAddress) -> None:
        self.clock = clock
        #: The address, with the name of the crawl.
        self.address = address
        #: Why acknowledged writes may have been forgotten; "" as long as that is not known.
        self.lost = ""
        # Requests whose master is not known, those to be sent again at a time, and those to be
        # answered with AWAY.
        self._held: list[RedisCall] = []
        self._again: list[tuple[float, RedisCall]] = []
        self._dropped: list[RedisCall] = []
        # Called when all masters have been reached, and at the next step.
        self._waiting: list[Callable[[], None]] = []
        self._soon: list[Callable[[], None]] = []
        # An error that passes, and until when it is shown.
        self._passing = ""
        self._passing_until = -inf
        #: The masters, and the links to them.
        self.topology = Topology(poller, clock, address, self.reroute, self._forget, self._failed)

    # -- the loop

    def step(self, now: float) -> None:
        """Send and connect. Raises UserError, one line, for what the user must correct."""
        dropped, self._dropped = self._dropped, []
        for request in dropped:
            request.then(AWAY)
        if self._waiting and self.topology.is_open:
            self._soon += self._waiting
            self._waiting.clear()
        soon, self._soon = self._soon, []
        for call in soon:
            call()
        if self._again:
            due = [request for time, request in self._again if time <= now]
            self._again = [each for each in self._again if each[0] > now]
            for request in due:
                self.route(request)
        self.topology.step(now)

    @property
    def deadline(self) -> float:
        """When `step` has something to do at the latest; -inf: now."""
        if self._dropped or self._soon or (self._waiting and self.topology.is_open):
            return -inf
        return min([self.topology.deadline, *(time for time, _ in self._again)])

    @property
    def trouble(self) -> str:
        """One line while Redis has to be waited for; "" otherwise."""
        passing = self._passing if self.clock() < self._passing_until else ""
        return self.topology.trouble or passing

    @property
    def warnings(self) -> list[str]:
        """Lines for the user about how safe this Redis is."""
        return self.topology.warnings

    def resume(self) -> None:
        """Send again: nothing that is asked from now on relies on what may be forgotten."""
        self.lost = ""

    def close(self) -> None:
        self.topology.close()

    # -- requests

    def send(self, slot: int, data: bytes, then: Then) -> None:
        """Send a command to the master of `slot` at the next step."""
        self.route(RedisCall(data, then, slot))

    def route(self, request: RedisCall) -> None:
        """Send a request to the master of its slot at the next step."""
        if self.lost:
            self._dropped.append(request)
            return
        link = self.topology.owner(request.slot)
        if link is None:
            self._held.append(request)
        else:
            link.send(request)

    def call_soon(self, call: Callable[[], None]) -> None:
        """Call at the next step."""
        self._soon.append(call)

    def when_open(self, call: Callable[[], None]) -> None:
        """Call at the next step at which all masters have been reached once."""
        self._waiting.append(call)

    # -- what the topology reports

    def reroute(self, requests: Iterable[RedisCall]) -> None:
        held, self._held = self._held, []
        for request in (*requests, *held):
            if request.slot < 0:
                self._dropped.append(request)
            else:
                self.route(request)

    def _forget(self, why: str) -> None:
        """Answer what was not sent: it relies on what may be forgotten."""
        if not self.topology.is_open:
            return
        self.lost = self.lost or why
        again, self._again = self._again, []
        unsent = [request for link in self.topology.links for request in link.take_unsent()]
        self.reroute([*unsent, *(request for _, request in again)])

    def _failed(self, link: RedisLink, request: RedisCall, error: hiredis.ReplyError) -> None:
        """Send the request to another server or later, or give up."""
        text = str(error)
        inner = _IN_SCRIPT(text)
        word = inner[1] if inner else text.partition(" ")[0]
        if request.slot < 0:
            request.then(error)
        elif word == "MOVED":
            if self.topology.moved(Moved.of(text, link.server)):
                self.route(request)
            else:
                self._send_in(SOON, request)
        elif word == "ASK":
            target = self.topology.link(Moved.of(text, link.server).server)
            target.start()
            target.send(RedisCall(_ASKING, _ignore))
            target.send(request)
        elif word == "NOSCRIPT":
            for load in scripts.LOADS:
                link.send(RedisCall(load, partial(self._loaded, link)))
            link.send(request)
        elif word in _PASSING:
            self._put_off(link, request, word)
        elif word == "WRONGTYPE":
            self._find_wrong(link, request)
        elif word == "LOST":
            self._give_up(link, " " + lost(*text.split()[1:3]))
            request.then(AWAY)
        else:
            self._give_up(link, f": {text[:200]}")
            request.then(AWAY)

    def _send_in(self, seconds: float, request: RedisCall) -> None:
        self._again.append((self.clock() + seconds, request))

    def _loaded(self, link: RedisLink, reply: object) -> None:
        """Without the scripts, requests would be sent again and again."""
        if isinstance(reply, hiredis.ReplyError):
            self._give_up(link, f": {str(reply)[:200]}")

    def _find_wrong(self, link: RedisLink, request: RedisCall) -> None:
        """Name the key that has another type than it must: Redis does not."""

        def typed(key: bytes, reply: object) -> None:
            why = wrong_type(key, reply.decode()) if isinstance(reply, bytes) else ""
            if why:
                self._give_up(link, f" {why}")

        for key in keys_of(request.data):
            link.send(RedisCall(pack("TYPE", key), partial(typed, key)))
        # Whoever asked will ask again, until the next step says why not.
        request.then(AWAY)

    def _give_up(self, link: RedisLink, why: str) -> None:
        self.topology.fail(f"Redis {link.server}{why}")

    def _put_off(self, link: RedisLink, request: RedisCall, word: str) -> None:
        self._send_in(LATER if _PASSING[word] else SOON, request)
        if _PASSING[word]:
            self._passing = f"Redis {link.server} {_PASSING[word]}"
            self._passing_until = self.clock() + 2 * LATER
        if self.topology.is_cluster:
            self.topology.look_soon()
        elif word == "READONLY":
            link.drop("is a replica")


def _ignore(_reply: object) -> None:
    pass


#: Milliseconds of one WAIT: the commands behind it wait as long, while no replica answers.
_PATIENCE = 200
_WAIT = pack("WAIT", 1, _PATIENCE)


class Settling:
    """Calls `then` with None once a replica of each master of the slots has what is there now.

    `keys` has a key that may be written for each slot; it is gone after a second.
    """

    def __init__(
        self, client: Client, keys: Mapping[int, bytes], then: Callable[[Away | None], None]
    ) -> None:
        self._client = client
        self._keys = keys
        self._then = then
        self._open = 0
        self._again = False
        self._away = False

    def begin(self) -> None:
        """Write to each master, each by one of its slots."""
        topology = self._client.topology
        first: dict[RedisLink | None, int] = {}
        for slot in self._keys:
            link = topology.owner(slot)
            first.setdefault(link if link is not None and link.is_ready else None, slot)
        self._again = self._away = False
        self._open = 1
        if not topology.is_cluster:
            # So that the next time a replica is known that came, or gone.
            topology.look_soon()
        for link, slot in first.items():
            if link is None or topology.replicas(link):
                self._open += 1
                self._write(link, slot)
        self._end()

    def _write(self, link: RedisLink | None, slot: int) -> None:
        data = pack("SET", self._keys[slot], "", "PX", 1000)
        request = RedisCall(data, lambda reply: self._written(reply, link, request), slot)
        self._client.route(request)

    def _written(self, reply: object, planned: RedisLink | None, request: RedisCall) -> None:
        if reply is AWAY:
            self._away = True
        elif planned is None or request.link is not planned:
            # The slot has moved, so the owners of others may have changed, too.
            self._again = True
        else:
            connection = planned.connection
            planned.send(RedisCall(_WAIT, lambda reply: self._waited(reply, planned, connection)))
            return
        self._end()

    def _waited(self, reply: object, link: RedisLink, connection: Connection | None) -> None:
        if reply is AWAY:
            self._away = True
        elif not isinstance(reply, int) or not reply or link.connection is not connection:
            self._again = True
            self._client.topology.look_soon()
        self._end()

    def _end(self) -> None:
        self._open -= 1
        if self._open:
            return
        if self._away:
            self._then(AWAY)
        elif self._again:
            self.begin()
        else:
            self._then(None)
