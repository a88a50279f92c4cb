"""The servers of a crawl: one Redis, or the masters of a Cluster, as one thing to send to.

`Servers` routes each request by the slot of its key, follows redirects, sends again what a server
cannot execute just now, and notices when what was answered may have been forgotten: a server was
started anew, or a replica took over. Errors that the user must correct are raised by `step`.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from math import inf

import hiredis

from larbinpy.errors import UserError
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.link import AWAY, Link, Request, Then
from larbinpy.fleet.redis.slots import Redirect, SlotMap
from larbinpy.fleet.redis.wire import Address, Server, pack, read_info
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller

_OLDEST = (6, 2)
#: Seconds between two looks at the slots of a Cluster, and before a request is sent again.
_SOON = 0.1
_LATER = 0.5
#: Seconds between two looks if nothing has happened: a flush has to know of new replicas.
_USUALLY = 5.0
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
_IN_SCRIPT = re.compile(r"ERR Error running script .* -([A-Z]+) ").match
_CLUSTER_SLOTS = pack("CLUSTER", "SLOTS")
_ASKING = pack("ASKING")
_INFO_REPLICATION = pack("INFO", "replication")


class Servers:
    """Connects to `address`, and sends to the master that has the slot."""

    def __init__(self, poller: Poller, clock: Clock, address: Address) -> None:
        self._poller = poller
        self._clock = clock
        self._address = address
        self._links: dict[Server, Link] = {}
        #: The connected master of a single Redis.
        self._single: Link | None = None
        self._map: SlotMap | None = None
        self._asking = False
        self._look_due = inf
        self._held: list[Request] = []
        self._again: list[tuple[float, Request]] = []
        self._dropped: list[Request] = []
        # Called when all servers have been reached, and at the next step.
        self._waiting: list[Callable[[], None]] = []
        self._soon: list[Callable[[], None]] = []
        self._reason = ""
        self._reason_until = -inf
        self._runs: dict[Server, str] = {}
        # When each master started or took over, by our clock; never earlier than in truth.
        self._since: dict[Server, float] = {}
        self._failure = ""
        #: Why acknowledged writes may have been forgotten; requests are answered AWAY meanwhile.
        self.lost = ""
        #: Whether all servers have been reached once.
        self.is_open = False
        #: Warnings for the user, once each.
        self.warnings: list[str] = []
        for server in address.servers:
            self._link(server).start()

    def __repr__(self) -> str:
        return f"<Servers {list(self._links.values())}>"

    # -- what callers see

    @property
    def is_cluster(self) -> bool:
        return self._map is not None

    @property
    def masters(self) -> list[Link]:
        """The links to the masters, connected or not."""
        if self._map is not None:
            return [self._link(server) for server in self._map.masters]
        return [self._single] if self._single is not None else []

    @property
    def runs(self) -> set[str]:
        """The run ids of the masters; a run that took over from another one is not among them."""
        return {link.run_id for link in self.masters if not _took_over(link)}

    @property
    def youngest(self) -> float:
        """When the last of the masters started or took over, by our clock."""
        return max((self._since.get(link.server, inf) for link in self.masters), default=inf)

    @property
    def trouble(self) -> str:
        """One line for the user while the crawl has to wait for Redis; "" otherwise."""
        links = self.masters or list(self._links.values())
        for link in links:
            if not link.is_ready and link.trouble:
                return f"Redis {link.server} {link.trouble}"
        return self._reason if self._clock() < self._reason_until else ""

    @property
    def deadline(self) -> float:
        """When `step` has something to do at the latest (by the clock); -inf: now."""
        if self._dropped or self._soon or any(link.has_unsent for link in self._links.values()):
            return -inf
        times = [time for time, _ in self._again]
        times += [link.deadline for link in self._links.values() if link.deadline is not None]
        return min(*times, self._look_due, inf)

    def send(self, slot: int, data: bytes, then: Then) -> None:
        """Send to the master of `slot` at the next step."""
        self.route(Request(data, then, slot))

    def route(self, request: Request) -> None:
        """Send a request to the master of its slot, now that it is known who that is."""
        if self.lost:
            self._dropped.append(request)
            return
        link = self._owner(request.slot)
        if link is None:
            self._held.append(request)
        else:
            link.send(request)

    def call_soon(self, call: Callable[[], None]) -> None:
        """Call at the next step."""
        self._soon.append(call)

    def when_open(self, call: Callable[[], None]) -> None:
        """Call at the next step at which all servers have been reached once."""
        (self._soon if self.is_open else self._waiting).append(call)

    def owner(self, slot: int) -> Link | None:
        """The link to the master of `slot`, if it is known and connected."""
        link = self._owner(slot)
        return link if link is not None and link.is_ready else None

    def replicas(self, link: Link) -> int:
        """The number of replicas that a master has."""
        if self._map is not None and link.server in self._map.masters:
            return len(self._map.masters[link.server].replicas)
        return int(link.info.get("connected_slaves", "0"))

    def look_soon(self) -> None:
        """Ask again for the slots of a Cluster, or for the replicas of a single Redis."""
        if self._map is not None:
            self._look_due = min(self._look_due, self._clock() + _SOON)
        elif self._single is not None:
            link = self._single
            link.send(Request(_INFO_REPLICATION, lambda reply: _note_replicas(link, reply)))

    def step(self, now: float) -> None:
        """Send, connect, look again. Raises UserError for what the user must correct."""
        dropped, self._dropped = self._dropped, []
        for request in dropped:
            request.then(AWAY)
        soon, self._soon = self._soon, []
        for call in soon:
            call()
        if self._again:
            due = [request for time, request in self._again if time <= now]
            self._again = [each for each in self._again if each[0] > now]
            for request in due:
                self.route(request)
        if now >= self._look_due:
            self._look()
        for link in list(self._links.values()):
            link.step(now)
        if self._failure:
            raise UserError(self._failure)
        if not self.is_open:
            self._open_or_fail()
        elif self._waiting:
            self._soon += self._waiting
            self._waiting.clear()

    def close(self) -> None:
        for link in self._links.values():
            link.stop()

    # -- routing

    def _link(self, server: Server) -> Link:
        link = self._links.get(server)
        if link is None:
            login = self._address.login
            link = Link(self._poller, self._clock, self, server, login, scripts.LOADS)
            self._links[server] = link
        return link

    def _owner(self, slot: int) -> Link | None:
        if self._map is None:
            return self._single
        server = self._map.owners[slot]
        return self._link(server) if server is not None else None

    def _reroute(self, requests: Iterable[Request]) -> None:
        for request in requests:
            if request.slot < 0:
                self._dropped.append(request)
            else:
                self.route(request)

    def _forget(self, why: str) -> None:
        """Acknowledged writes may be gone: what was not sent must not be, as it relies on them."""
        if not self.is_open:
            return
        self.lost = self.lost or why
        for link in self._links.values():
            self._reroute(link.take_unsent())
        again, self._again = self._again, []
        held, self._held = self._held, []
        self._reroute([request for _, request in again])
        self._reroute(held)

    # -- what links report

    def ready(self, link: Link) -> None:
        """Check a connected server, and take it in."""
        info, server = link.info, link.server
        self._check(link)
        clustered = info.get("cluster_enabled") == "1"
        if not clustered and info.get("role") != "master":
            link.drop("is a replica")
            return
        before = self._runs.get(server)
        started = self._clock() - float(info.get("uptime_in_seconds", "0"))
        if before != link.run_id:
            self._runs[server] = link.run_id
            # Nothing says when a replica took over: it may have been just now.
            self._since[server] = self._clock() if _took_over(link) else started
        if clustered:
            if before not in (None, link.run_id):
                self._forget(f"Redis {server} was started anew")
            self._look(link)
            return
        self._take_single(link, before)

    def _take_single(self, link: Link, before: str | None) -> None:
        last, self._single = self._single, link
        if before not in (None, link.run_id):
            self._forget(f"Redis {link.server} was started anew")
        elif last is not None and last is not link:
            self._forget(f"Redis {link.server} took over")
        for other in self._links.values():
            if other is not link:
                self._reroute(other.take_unsent())
                other.stop()
        self._release()

    def away(self, link: Link) -> None:
        """Look for who has taken over."""
        if self._map is not None:
            if link.server not in self._map.masters:
                self._reroute(link.take_unsent())
                link.stop()
            self._look_due = min(self._look_due, self._clock() + _LATER)
        elif link is self._single:
            for server in self._address.servers:
                self._link(server).start()

    def failed(self, link: Link, request: Request, error: hiredis.ReplyError) -> None:
        """Send the request to another server or later, or give up."""
        text = str(error)
        inner = _IN_SCRIPT(text)
        word = inner[1] if inner else text.partition(" ")[0]
        if request.slot < 0:
            request.then(error)
        elif word == "MOVED":
            self._moved(Redirect.of(text, link.server), request)
        elif word == "ASK":
            target = self._link(Redirect.of(text, link.server).server)
            target.start()
            target.send(Request(_ASKING, _ignore))
            target.send(request)
        elif word == "NOSCRIPT":
            for load in scripts.LOADS:
                link.send(Request(load, partial(self._loaded, link)))
            link.send(request)
        elif word in _PASSING:
            self._put_off(link, request, word)
        else:
            self._give_up(link, text)
            request.then(AWAY)

    def _loaded(self, link: Link, reply: object) -> None:
        """Without the scripts, requests would be sent again and again."""
        if isinstance(reply, hiredis.ReplyError):
            self._give_up(link, str(reply))

    def _give_up(self, link: Link, text: str) -> None:
        self._failure = self._failure or f"Redis {link.server}: {text[:200]}"

    def _moved(self, to: Redirect, request: Request) -> None:
        if self._map is not None and to.server in self._map.masters:
            self._map.owners[to.slot] = to.server
            self.route(request)
        else:
            self._again.append((self._clock() + _SOON, request))
        self.look_soon()

    def _put_off(self, link: Link, request: Request, word: str) -> None:
        wait = _LATER if _PASSING[word] else _SOON
        if _PASSING[word]:
            self._reason = f"Redis {link.server} {_PASSING[word]}"
            self._reason_until = self._clock() + 2 * _LATER
        self._again.append((self._clock() + wait, request))
        if self._map is not None:
            self.look_soon()
        if word == "READONLY" and self._map is None:
            link.drop("is a replica")

    # -- the slots of a Cluster

    def _look(self, at: Link | None = None) -> None:
        """Ask a server for the owners of all slots."""
        self._look_due = inf
        if self._asking:
            return
        links = [link for link in self._links.values() if link.is_ready]
        # The one that has answered everything is the least likely to be silent.
        asked = at or min(links, key=lambda link: link.unanswered, default=None)
        if asked is None:
            for server in {*self._address.servers, *self._known_replicas()}:
                self._link(server).start()
            self._look_due = self._clock() + _LATER
            return
        self._asking = True
        asked.send(Request(_CLUSTER_SLOTS, lambda reply: self._looked(asked, reply)))

    def _known_replicas(self) -> set[Server]:
        masters = self._map.masters.values() if self._map is not None else ()
        return {replica for master in masters for replica in master.replicas}

    def _looked(self, asked: Link, reply: object) -> None:
        self._asking = False
        if reply is AWAY or isinstance(reply, hiredis.ReplyError):
            self._look_due = min(self._look_due, self._clock() + _LATER)
            return
        self._look_due = min(self._look_due, self._clock() + _USUALLY)
        fresh, last = SlotMap.of(reply, asked.server), self._map
        if fresh.uncovered:
            if last is None:
                self._failure = f"Redis {asked.server} has a Cluster that is down: " + (
                    f"{fresh.uncovered} slots have no master"
                )
            self._look_due = min(self._look_due, self._clock() + _LATER)
            return
        self._map = fresh
        for server in fresh.masters:
            self._link(server).start()
        for new in fresh.newcomers(last) if last is not None else ():
            self._since[new.server] = self._clock()
            self._forget(f"Redis {new.server} became a master")
        for link in self._links.values():
            if link.server not in fresh.masters:
                self._reroute(link.take_unsent())
                link.stop()
        if last is not None:
            self._move_unsent()
            if any(not link.is_ready for link in self.masters):
                self._look_due = min(self._look_due, self._clock() + _LATER)
        self._release()

    def _move_unsent(self) -> None:
        for link in self.masters:
            if not link.is_ready:
                self._reroute(link.take_unsent())

    # -- the start

    def _release(self) -> None:
        """Send what waited for the servers to be known."""
        if self.masters and all(link.is_ready for link in self.masters):
            self.is_open = True
        held, self._held = self._held, []
        self._reroute(held)

    def _open_or_fail(self) -> None:
        links = self.masters or [self._link(server) for server in self._address.servers]
        if self.masters and all(link.is_ready for link in links):
            self.is_open = True
            return
        failed = [link for link in links if link.trouble and not link.loading]
        if failed and (self.masters or len(failed) == len(links)):
            raise UserError(f"Redis {failed[0].server} {failed[0].trouble}")

    def _check(self, link: Link) -> None:
        """Whether this server can hold a crawl."""
        info, server = link.info, link.server
        version = info["redis_version"]
        if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
            self._failure = f"Redis {server} has version {version}; 6.2 or newer is needed"
        policy = info.get("maxmemory_policy", "noeviction")
        if policy != "noeviction" and info.get("role") == "master":
            self._failure = (
                f"Redis {server} would forget parts of the crawl when it is full: "
                f"set its maxmemory-policy to noeviction (it is {policy})"
            )
        if info.get("aof_enabled") == "0":
            warning = (
                f"Redis {server} has no append-only file (appendonly no): "
                "if it is restarted, the crawl may be lost"
            )
            if warning not in self.warnings:
                self.warnings.append(warning)


def _took_over(link: Link) -> bool:
    """Whether this master was a replica since it was started."""
    return link.info.get("second_repl_offset", "-1") != "-1"


def _note_replicas(link: Link, reply: object) -> None:
    if isinstance(reply, bytes):
        link.info["connected_slaves"] = read_info(reply).get("connected_slaves", "0")


def _ignore(_reply: object) -> None:
    pass
