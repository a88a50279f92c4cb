"""Redis as one thing to send to, whether it is a single server or a Cluster.

`Client` sends each request to the master that has the slot of its key. It follows redirects, and
sends again what a server cannot execute just now. When writes that were acknowledged may have been
forgotten, because a server was started anew (`Runs`) or a replica took over, it says so in `lost`,
and answers all requests with AWAY until `resume`: they may rely on such writes.

`Topology` keeps a link to each master: one Redis, or those of a Cluster, followed through
failovers. It looks which one has which slot at the start, when a request was sent to the wrong one,
when a link ended, and from time to time. `refusal` says by its INFO whether a server can hold a
crawl.

`Settling` waits until what was written has reached a replica, where a master has replicas. WAIT
counts the replicas that have the writes of its own connection, and a connection may be newer than
the writes. So a small write goes first, to each master: a replica that has it has all before.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf

import hiredis

from larbinpy.errors import UserError
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.link import AWAY, Connection, Failed, RedisCall, RedisLink, Then
from larbinpy.fleet.redis.scripts import Moved, SlotMap, lost, wrong_type
from larbinpy.fleet.redis.wire import CrawlAddress, Endpoint, keys_of, pack, read_info
from larbinpy.fleet.vault import Away
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller


class Runs:
    """The run of each server that was connected last, by our clock."""

    def __init__(self) -> None:
        self._ids: dict[Endpoint, str] = {}
        # Since when each remembers all turns; never earlier than in truth.
        self._since: dict[Endpoint, float] = {}

    def connected(self, server: Endpoint, info: Mapping[str, str], now: float) -> bool:
        """Note a server that is connected now; whether it was started anew since the last time."""
        before, run = self._ids.get(server), info["run_id"]
        if before == run:
            return False
        self._ids[server] = run
        # Nothing says when a replica took over: it may have been just now.
        uptime = 0.0 if has_taken_over(info) else float(info.get("uptime_in_seconds", "0"))
        # It is measured by the time of day, which may have been put back.
        self._since[server] = now - max(0.0, uptime)
        return before is not None

    def took_over(self, server: Endpoint, now: float) -> None:
        """Note a server that has become a master."""
        self._since[server] = now

    def since(self, server: Endpoint) -> float:
        """When a server started or took over; inf if it was never connected."""
        return self._since.get(server, inf)


def has_taken_over(info: Mapping[str, str]) -> bool:
    """Whether a master was a replica since it was started."""
    return info.get("second_repl_offset", "-1") != "-1"


_OLDEST = (6, 2)


def refusal(info: Mapping[str, str]) -> str:
    """Why a server cannot hold a crawl, to be read after its name; "" if it can."""
    version = info["redis_version"]
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
        return f"has version {version}; 6.2 or newer is needed"
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction" and info.get("role") == "master":
        return (
            "would forget parts of the crawl when it is full: "
            f"set its maxmemory-policy to noeviction (it is {policy})"
        )
    return ""


def risk(info: Mapping[str, str]) -> str:
    """How a server may lose a crawl, to be read after its name; "" if nothing is known."""
    if info.get("aof_enabled") == "0":
        return "has no append-only file (appendonly no): if it is restarted, the crawl may be lost"
    return ""


#: Seconds before a look, after a request was refused or a link has ended.
SOON = 0.1
LATER = 0.5
#: Seconds between two looks if nothing has happened: a flush has to know of new replicas.
_USUALLY = 5.0
_CLUSTER_SLOTS = pack("CLUSTER", "SLOTS")
_INFO_REPLICATION = pack("INFO", "replication")


class RedisAway(UserError):
    """Redis does not answer now, but may later."""


class Topology:
    """The servers at `address`, and the masters among them.

    When masters have changed, `reroute` sends requests, and those without a master, to the new
    ones. `forget` hears why writes that were acknowledged may be gone. `failed` is as in a link.
    """

    def __init__(
        self,
        poller: Poller,
        clock: Clock,
        address: CrawlAddress,
        reroute: Callable[[Iterable[RedisCall]], None],
        forget: Callable[[str], None],
        failed: Failed,
    ) -> None:
        self._poller = poller
        self._clock = clock
        self._address = address
        self._reroute = reroute
        self._forget = forget
        self._failed = failed
        self._links: dict[Endpoint, RedisLink] = {}
        # The connected master of a single Redis, or the owners of the slots of a Cluster.
        self._single: RedisLink | None = None
        self._map: SlotMap | None = None
        self._runs = Runs()
        self._is_looking = False
        self._look_due = inf
        self._failure: UserError | None = None
        # Why a Cluster could not be taken in so far.
        self._down = ""
        #: Whether all masters have been reached once.
        self.is_open = False
        #: Warnings for the user, once each.
        self.warnings: list[str] = []
        for server in address.servers:
            self.link(server).start()

    # -- what is known

    @property
    def is_cluster(self) -> bool:
        return self._map is not None

    @property
    def masters(self) -> list[RedisLink]:
        """The links to the masters, connected or not."""
        if self._map is not None:
            return [self.link(server) for server in self._map.masters]
        return [self._single] if self._single is not None else []

    @property
    def links(self) -> list[RedisLink]:
        return list(self._links.values())

    @property
    def servers(self) -> set[Endpoint]:
        """All servers, with the replicas of a Cluster."""
        return {*self._links, *self._replicas}

    @property
    def _replicas(self) -> set[Endpoint]:
        masters = self._map.masters.values() if self._map is not None else ()
        return {replica for master in masters for replica in master.replicas}

    def owner(self, slot: int) -> RedisLink | None:
        """The link to the master of `slot`, if that is known."""
        if self._map is None:
            return self._single
        server = self._map.owners[slot]
        return self.link(server) if server is not None else None

    def replicas(self, link: RedisLink) -> int:
        """The number of replicas that a master has."""
        if self._map is not None and link.server in self._map.masters:
            return len(self._map.masters[link.server].replicas)
        return int(link.info.get("connected_slaves", "0"))

    @property
    def run_ids(self) -> set[str]:
        """The runs of the masters; one that took over from another is not among them."""
        return {link.run_id for link in self.masters if not has_taken_over(link.info)}

    @property
    def age(self) -> float:
        """Seconds since the last of the masters started or took over; -inf if none is known."""
        since = max((self._runs.since(link.server) for link in self.masters), default=inf)
        return self._clock() - since

    @property
    def trouble(self) -> str:
        """One line about a server that is not connected; "" otherwise."""
        for link in self.masters or self._links.values():
            if not link.is_ready and link.trouble:
                return f"Redis {link.server} {link.trouble}"
        return ""

    # -- steps

    @property
    def deadline(self) -> float:
        """When `step` has something to do at the latest; -inf: now."""
        links = self._links.values()
        if any(link.has_unsent for link in links):
            return -inf
        times = [link.deadline for link in links]
        return min([self._look_due, *(time for time in times if time is not None)])

    def step(self, now: float) -> None:
        """Look, connect and send. Raises UserError for what the user must correct."""
        if now >= self._look_due:
            self._look()
        for link in self.links:
            link.step(now)
        if self._failure is not None:
            raise self._failure
        if not self.is_open:
            self._open_or_fail()

    def close(self) -> None:
        for link in self._links.values():
            link.stop()

    def link(self, server: Endpoint) -> RedisLink:
        """The link to a server, which is made if there is none."""
        link = self._links.get(server)
        if link is None:
            login = self._address.login
            link = RedisLink(
                self._poller,
                self._clock,
                server,
                login,
                scripts.LOADS,
                self._changed,
                self._failed,
            )
            self._links[server] = link
        return link

    def fail(self, why: str) -> None:
        """Let the next step raise UserError."""
        self._failure = self._failure or UserError(why)

    def _open_or_fail(self) -> None:
        links = self.masters or [self.link(server) for server in self._address.servers]
        if self._down and not self.masters:
            raise RedisAway(self._down)
        if self.masters and all(link.is_ready for link in links):
            self.is_open = True
            return
        failed = [link for link in links if link.trouble and not link.loading]
        if failed and (self.masters or len(failed) == len(links)):
            kind = UserError if failed[0].refuses else RedisAway
            raise kind(f"Redis {failed[0].server} {failed[0].trouble}")

    def _release(self) -> None:
        """Send what waited for the masters to be known."""
        if self.masters and all(link.is_ready for link in self.masters):
            self.is_open = True
        self._reroute(())

    # -- what links report

    def _changed(self, link: RedisLink) -> None:
        if link.is_ready:
            self._take_in(link)
        else:
            self._miss(link)

    def _take_in(self, link: RedisLink) -> None:
        """Check a connected server, and take it in."""
        info, server = link.info, link.server
        if why := refusal(info):
            self.fail(f"Redis {server} {why}")
        warning = f"Redis {server} {risk(info)}"
        if risk(info) and warning not in self.warnings:
            self.warnings.append(warning)
        is_clustered = info.get("cluster_enabled") == "1"
        if not is_clustered and info.get("role") != "master":
            link.drop("is a replica")
            return
        is_anew = self._runs.connected(server, info, self._clock())
        if is_anew:
            self._forget(f"Redis {server} was started anew")
        if is_clustered:
            self._look(link)
        else:
            self._take_single(link, is_anew=is_anew)

    def _take_single(self, link: RedisLink, *, is_anew: bool) -> None:
        last, self._single = self._single, link
        if last not in (None, link) and not is_anew:
            self._forget(f"Redis {link.server} took over")
        for other in self.links:
            if other is not link:
                self._retire(other)
        self._release()

    def _retire(self, link: RedisLink) -> None:
        """End a link to a server that is no master."""
        self._reroute(link.take_unsent())
        link.stop()

    def _miss(self, link: RedisLink) -> None:
        """Look for who has taken over."""
        if link is self._single:
            for server in self._address.servers:
                self.link(server).start()
            return
        # A look that waited for this server could find no other.
        self._reroute(link.take_unsent())
        if self._map is not None:
            if link.server not in self._map.masters:
                self._retire(link)
            self._look_in(LATER)

    # -- looks

    def look_soon(self) -> None:
        """Look again for the slots of a Cluster, or for the replicas of a single Redis."""
        if self._map is not None:
            self._look_in(SOON)
        elif self._single is not None:
            link = self._single
            link.send(RedisCall(_INFO_REPLICATION, lambda reply: _note_replicas(link, reply)))

    def moved(self, to: Moved) -> bool:
        """Note that a slot is at another master; whether that one is known."""
        is_known = self._map is not None and to.server in self._map.masters
        if self._map is not None and is_known:
            self._map.owners[to.slot] = to.server
        self.look_soon()
        return is_known

    def _look_in(self, seconds: float) -> None:
        self._look_due = min(self._look_due, self._clock() + seconds)

    def _look(self, at: RedisLink | None = None) -> None:
        """Ask a server for the owners of all slots."""
        self._look_due = inf
        if self._is_looking:
            return
        links = [link for link in self._links.values() if link.is_ready]
        # The one that has answered everything is the least likely to be silent.
        asked = at or min(links, key=lambda link: link.unanswered, default=None)
        if asked is None:
            for server in {*self._address.servers, *self._replicas}:
                self.link(server).start()
            self._look_in(LATER)
            return
        self._is_looking = True
        asked.send(RedisCall(_CLUSTER_SLOTS, lambda reply: self._looked(asked, reply)))

    def _looked(self, asked: RedisLink, reply: object) -> None:
        self._is_looking = False
        if reply is AWAY or isinstance(reply, hiredis.ReplyError):
            self._look_in(LATER)
            return
        fresh = SlotMap.of(reply, asked.server)
        if fresh.uncovered:
            if self._map is None:
                lacks = f"{fresh.uncovered} slots have no master"
                self._down = f"Redis {asked.server} has a Cluster that is down: {lacks}"
            self._look_in(LATER)
            return
        self._look_in(_USUALLY)
        self._take_map(fresh)

    def _take_map(self, fresh: SlotMap) -> None:
        last, self._map = self._map, fresh
        for server in fresh.masters:
            self.link(server).start()
        for new in fresh.newcomers(last) if last is not None else ():
            self._runs.took_over(new.server, self._clock())
            self._forget(f"Redis {new.server} became a master")
        for link in self.links:
            if link.server not in fresh.masters:
                self._retire(link)
        if last is not None:
            for link in self.masters:
                if not link.is_ready:
                    # Its slots may have gone to others.
                    self._reroute(link.take_unsent())
                    self._look_in(LATER)
        self._release()


def _note_replicas(link: RedisLink, reply: object) -> None:
    if isinstance(reply, bytes):
        link.info["connected_slaves"] = read_info(reply).get("connected_slaves", "0")


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
#: Those of them that do not pass by themselves.
_LASTING = {"OOM", "MISCONF"}
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
        #: Why Redis refuses what it is asked, until its operator does something; "" if it does not.
        self.refusal = ""
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
        self.lost = self.refusal = ""

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
            is_known = self.topology.moved(Moved.of(text, link.server))
            # Two masters name each other for as long as they have not agreed.
            request.has_moved = is_known and not request.has_moved
            if request.has_moved:
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
        if word in _LASTING:
            self.refusal = self._passing
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
