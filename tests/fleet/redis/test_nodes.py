"""Nodes with the real deciders on real servers: a small crawl that goes on through faults."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pytest

from larbinpy.fleet.node import Node
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.vault import RedisVault
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import Away, FleetState
from larbinpy.loop.poller import Poller
from tests.support.fleetmodel import SHARDS, TURN, WAIT, Crawl, Request, World
from tests.support.redisserver import ClockedRedis, Cluster, RedisServer
from tests.support.redisvault import Asker

pytestmark = pytest.mark.slow

_NUMBERS = count(1)
#: Seconds for all of a crawl.
_PATIENCE = 120.0


class Brisk(Random):
    """No page takes longer than a second, since it is one of this world."""

    def uniform(self, a: float, b: float) -> float:
        return super().uniform(a, min(b, 1.0))


class DrivenVault(RedisVault):
    """A vault with a loop of its own, driven as that of the model is."""

    def __init__(self, address: str) -> None:
        self.poller = Poller()
        super().__init__(Client(self.poller, time.monotonic, CrawlAddress.of(address)))

    def step(self, now: float | None = None) -> None:
        self.client.step(time.monotonic())
        self.poller.wait(0.0)

    def cut(self, _until: float, _fate: Callable[[], float | None]) -> None:
        self.client.close()
        self.poller.close()


class RealCrawl(Crawl):
    """A node of the model on a vault that is real, at the times of a clock."""

    def __init__(self, name: str, world: "RealWorld") -> None:
        super().__init__(name, world, 0.0)
        self.random = Brisk(name)
        self.real = DrivenVault(world.address)
        self.vault: Any = self.real
        self.node = Node(
            self.real, self, self.journal, self.name_session, self.has_ended, SHARDS, WAIT
        )
        self.opened: list[object] = []
        self.real.open({"shards": str(SHARDS)}, self.opened.append)

    def step(self, now: float) -> None:
        if self.opened:
            super().step(now)
        else:
            self.real.step()

    def turn(self, request: Request, answer: int | Away) -> None:
        # The turn may have been granted since this step of the world began.
        self.world.now = time.monotonic()
        super().turn(request, answer)


class RealWorld(World):
    """The web, and nodes that share the crawl at `address`."""

    def __init__(self, address: str) -> None:
        super().__init__(1, pages=120, hosts=40)
        self.address = address
        for name in ("a", "b", "c"):
            self.add(name)

    def add(self, name: str) -> None:
        self.crawls.append(RealCrawl(name, self))

    @property
    def real(self) -> list[RealCrawl]:
        return [crawl for crawl in self.crawls if isinstance(crawl, RealCrawl)]

    def run_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not holds():
            for crawl in self.real:
                self.now = time.monotonic()
                assert self.now < deadline, [crawl.real.client.trouble for crawl in self.real]
                if not crawl.node.is_over:
                    crawl.step(self.now)
            time.sleep(0.005)

    def has(self, pages: int) -> bool:
        """Whether so many pages were fetched."""
        return len(self.log.fetches) >= pages

    def state(self) -> FleetState:
        """The state of the crawl, asked by somebody else."""
        asker = Asker(self.address)
        found: FleetState = asker.open({}).state
        asker.close()
        return found

    def is_done(self) -> bool:
        return all(crawl.node.is_over for crawl in self.real)

    def has_lost_sessions(self, why: str) -> bool:
        """Whether each node has ended a session for this reason."""
        return all(why in crawl.node.lost for crawl in self.real)


@contextmanager
def world_at(port: int) -> Iterator[RealWorld]:
    world = RealWorld(f"redis://127.0.0.1:{port}/nodes{next(_NUMBERS)}")
    try:
        yield world
        world.run_until(world.is_done)
        assert all(world.log.fetches[url] for url in world.web.links)
        assert world.state() is FleetState.FINISHED
        world.check()
    finally:
        for crawl in world.real:
            crawl.real.cut(0.0, lambda: None)


def test_a_crawl_comes_to_its_end(redis: RedisServer) -> None:
    with world_at(redis.port) as world:
        world.run_until(partial(world.has, 20))
        assert len({crawl.node.session for crawl in world.real} - {""}) == 3
    assert world.log.again == 0


def test_a_node_ends_and_another_comes(redis: RedisServer) -> None:
    with world_at(redis.port) as world:
        world.has_faults = True
        world.run_until(partial(world.has, 30))
        world.kill(world.real[0])
        world.run_until(partial(world.has, 60))
        world.add("d")


def test_a_server_is_killed_and_started_again(redis: RedisServer) -> None:
    with world_at(redis.port) as world:
        world.has_faults = True
        for pages in (30, 70):
            world.run_until(partial(world.has, pages))
            redis.end()
            world.forgot.append(world.now)
            world.run_until(lambda: all(crawl.real.client.trouble for crawl in world.real))
            redis.start()
            world.run_until(partial(world.has_lost_sessions, "anew"))


def test_the_clock_of_redis_is_put_ahead_and_back(clocked: ClockedRedis) -> None:
    """`world_at` proves that no address was asked too soon, two hosts of which share one."""
    with world_at(clocked.port) as world:
        world.has_faults = True
        for number, (seconds, most) in enumerate(
            [(3600, TURN), (0, WAIT), (-3600, WAIT), (0, TURN)]
        ):
            world.run_until(partial(world.has, 20 * (number + 1)))
            clocked.put_clock(seconds)
            stepped, fetched = world.now, len(world.log.fetches)
            world.run_until(partial(world.has, fetched + 5))
            assert world.now - stepped < most + 5


def test_a_master_of_a_cluster_is_killed(cluster: Cluster) -> None:
    with world_at(cluster.nodes[0].port) as world:
        world.has_faults = True
        world.run_until(partial(world.has, 40))
        cluster.nodes[1].end()
        world.forgot.append(world.now)
        world.run_until(partial(world.has_lost_sessions, "master"))
