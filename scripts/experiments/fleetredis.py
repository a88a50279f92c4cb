"""The Redis of a fleet, and what happens to it: one server, or a Cluster."""

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

import hiredis

from experiments.fleetlog import Request
from tests.support.ports import free_port
from tests.support.redisserver import Cluster, RedisServer, program_of

#: A server, or a master, is killed; a replica takes over on request; slots move.
KILL, FAILOVER, MOVE = KINDS = ("redis kill", "failover", "move")
#: Seconds that a killed master is away: before a replica takes over, and after it has.
_AWAY = (0.3, 8.0)
#: The most seconds that a single server is away.
_SINGLE_AWAY = 2.0
#: Milliseconds of silence after which the Cluster takes a server for dead.
_NODE_TIMEOUT = 3000
#: Seconds after an outage after which all nodes have noticed it.
NOTICED = 8.0
#: Slots that move at once; one in 16 has a shard.
_SLOTS = 600
#: In the first 5 s of its life a replica does not take over, so until then nothing more happens.
_SETTLING = 6.0
#: Seconds between two looks at the servers.
_LOOK = 0.2


class Outage(NamedTuple):
    """The faults of Redis, by Unix times."""

    kind: str
    start: float
    #: When each slot had a master again.
    served: float
    #: When all servers were there again.
    end: float

    def silence(self, requests: Sequence[Request]) -> float:
        """The longest time without a request, in the outage or when nodes have noticed it.

        `requests` are sorted.
        """
        times = [request.start for request in requests]
        until = self.end + NOTICED
        gaps = (b - a for a, b in pairwise(times) if b > self.start and a < until)
        return max(gaps, default=0.0)


class FaultyRedis(Protocol):
    """One thing happens at a time."""

    @property
    def servers(self) -> str:
        """The servers, as in the address of a crawl."""

    @property
    def is_free(self) -> bool:
        """Whether something may happen."""

    def happen(self, kind: str) -> None:
        """Let it happen; `step` carries it on."""

    def step(self) -> Outage | None:
        """Go on; return an outage when it is over."""

    def close(self) -> None: ...


class FaultyServer:
    """One server."""

    def __init__(self, folder: Path, random: Random, fsync: str) -> None:
        self._server = RedisServer(folder, program_of("redis"), free_port(), appendfsync=fsync)
        self._random = random
        self._start = self._restart_at = 0.0
        self._server.start()

    def close(self) -> None:
        self._server.end()

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self._server.port}"

    @property
    def is_free(self) -> bool:
        return not self._start

    def happen(self, _kind: str) -> None:
        self._start = time.time()
        self._restart_at = self._start + self._random.uniform(0, _SINGLE_AWAY)
        self._server.end()

    def step(self) -> Outage | None:
        if self.is_free or time.time() < self._restart_at:
            return None
        self._server.start()
        now, start, self._start = time.time(), self._start, 0.0
        return Outage(KILL, start, now, now)


class FaultyCluster:
    """Three masters and three replicas; one thing happens at a time."""

    def __init__(self, folder: Path, random: Random) -> None:
        self._cluster = Cluster(folder, program_of("redis"), timeout=_NODE_TIMEOUT)
        self._random = random
        self._killed: RedisServer | None = None
        self._restart_at = 0.0
        self._promoted: RedisServer | None = None
        self._move: subprocess.Popen[bytes] | None = None
        self._log = folder / "redis-cli.out"
        self._look_at = 0.0
        self._kills = 0
        # Kind and start of the fault that happens now, and when each slot had a master again.
        self._kind, self._start, self._served = "", 0.0, 0.0
        self._cluster.start()
        self._free_at = time.time() + _SETTLING

    def close(self) -> None:
        if self._move is not None:
            self._move.kill()
            self._move.wait()
        self._cluster.end()

    @property
    def servers(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self._cluster.nodes)

    @property
    def is_free(self) -> bool:
        return not self._kind and time.time() >= self._free_at

    def happen(self, kind: str) -> None:
        self._kind, self._start, self._served = kind, time.time(), 0.0
        masters = [node for node in self._cluster.nodes if node.info("role") == "master"]
        if kind == KILL:
            self._killed = self._random.choice(masters)
            self._killed.end()
            self._restart_at = time.time() + _AWAY[self._kills % len(_AWAY)]
            self._kills += 1
        elif kind == FAILOVER:
            replicas = [node for node in self._cluster.nodes if node not in masters]
            self._promoted = self._random.choice(replicas)
            self._promoted("CLUSTER", "FAILOVER")
        else:
            source, target = self._random.sample(masters, 2)
            self._move = self._reshard(source, target)

    def _reshard(self, source: RedisServer, target: RedisServer) -> "subprocess.Popen[bytes]":
        command = ["redis-cli", "--cluster", "reshard", f"127.0.0.1:{source.port}"]
        command += ["--cluster-from", self._cluster.id_of(source)]
        command += ["--cluster-to", self._cluster.id_of(target)]
        command += ["--cluster-slots", str(_SLOTS), "--cluster-yes"]
        with self._log.open("ab") as out:
            return subprocess.Popen(command, stdout=out, stderr=out)

    def step(self) -> Outage | None:
        now = time.time()
        if not self._kind or now < self._look_at:
            return None
        self._look_at = now + _LOOK
        if self._killed is not None and now >= self._restart_at:
            self._killed.start(waits=False)
            self._killed = None
        self._served = self._served or now * self._is_served()
        if not self._is_over():
            return None
        outage = Outage(self._kind, self._start, self._served, now)
        self._kind, self._promoted, self._free_at = "", None, now + _SETTLING
        return outage

    def _is_served(self) -> bool:
        """Whether all masters of the slots are there."""
        there = {node.port for node in self._cluster.nodes if node is not self._killed}
        for node in self._cluster.nodes:
            with suppress(OSError, hiredis.ReplyError):
                if node is not self._killed and b"cluster_state:ok" in node("CLUSTER", "INFO"):
                    return all(each[2][1] in there for each in node("CLUSTER", "SLOTS"))
        return False

    def _is_over(self) -> bool:
        if self._killed is not None or not self._served:
            return False
        if self._move is not None:
            if self._move.poll() is None:
                return False
            if self._move.returncode:
                raise RuntimeError(f"redis-cli failed, see {self._log}")
            self._move = None
        with suppress(OSError, hiredis.ReplyError):
            if self._promoted is not None and self._promoted.info("role") != "master":
                return False
            return all(
                b"cluster_state:ok" in node("CLUSTER", "INFO") and self._cluster.is_synced(node)
                for node in self._cluster.nodes
            )
        return False
