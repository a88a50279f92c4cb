"""The masters that have the keys: one Redis, or those of a Cluster, followed through failovers.

`Topology` keeps a link to each master. It looks which one has which slot at the start, when a
request was sent to the wrong one, when a link ended, and from time to time.

The runs of the servers: one that was started anew may have forgotten what it acknowledged.

Which servers can hold a crawl, by their INFO.
"""

from collections.abc import Callable, Iterable, Mapping
from math import inf

import hiredis

from larbinpy.errors import UserError
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.link import AWAY, Failed, RedisCall, RedisLink
from larbinpy.fleet.redis.scripts import Moved, SlotMap
from larbinpy.fleet.redis.wire import CrawlAddress, Endpoint, pack, read_info
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
        if self._map is not None:
            if link.server not in self._map.masters:
                self._retire(link)
            self._look_in(LATER)
        elif link is self._single:
            for server in self._address.servers:
                self.link(server).start()

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
