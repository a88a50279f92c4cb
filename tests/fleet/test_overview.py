"""A crawl on Redis as it is seen before it is joined, and where Redis is."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.fleet.identity import shared
from larbinpy.fleet.redis.client import Client, RedisAway
from larbinpy.fleet.redis.overview import Asker, Overview, Places, SeenCrawl
from larbinpy.fleet.redis.vault import RedisVault
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import FleetState, SharedCrawl
from larbinpy.loop.poller import Poller
from tests.support.redisjoin import address, settings_of
from tests.support.redisserver import RedisServer

pytest_plugins = ["tests.support.ownredis"]


class End:
    """An end of a crawl on Redis: to look at it, and to be its node."""

    def __init__(self, redis: RedisServer, name: str, **options: Any) -> None:
        self._poller = Poller()
        self.client = Client(self._poller, time.monotonic, CrawlAddress.of(address(redis, name)))
        self.ask = Asker(self.client, self._poller, time.monotonic, **options).ask
        self.overview = Overview(self.client)
        self.vault = RedisVault(self.client)

    def open(self) -> SharedCrawl:
        crawl: SharedCrawl = self.ask(partial(self.vault.open, {"shards": "8"}))
        return crawl

    def close(self) -> None:
        self.client.close()
        self._poller.close()


Ends = Callable[..., End]


@pytest.fixture
def ends(redis: RedisServer) -> Iterator[Ends]:
    """Makes ends; `ends(name)`, with options of their askers."""
    made: list[End] = []

    def make(name: str = "news", **options: Any) -> End:
        made.append(End(redis, name, **options))
        return made[-1]

    yield make
    for end in made:
        end.close()


def test_a_crawl_is_found(redis: RedisServer, ends: Ends) -> None:
    looking, node = ends(), ends()
    assert looking.ask(looking.overview.find) is None
    node.open()
    node.ask(partial(node.vault.join, "a.1"))
    found = looking.ask(looking.overview.find)
    assert found == SeenCrawl(settings_of(redis)["id"], FleetState.NEW, {"a.1": 0})


def test_a_crawl_is_made_under_an_id_of_the_maker(ends: Ends) -> None:
    end = ends()
    # After a lost answer, the maker asks again.
    for _ in range(2):
        crawl = end.ask(partial(end.vault.open, {"shards": "8"}, id="mine"))
        assert (crawl.id, crawl.created) == ("mine", True)
    crawl = end.ask(partial(end.vault.open, {"shards": "9"}, id="theirs"))
    assert (crawl.id, crawl.created, crawl.settings) == ("mine", False, {"shards": "8"})


def test_a_full_redis_gets_no_crawl(redis: RedisServer, ends: Ends) -> None:
    end = ends(patience=1.5)
    redis("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(RedisAway, match=r"is full \(maxmemory\): give it more memory$"):
        end.open()
    assert settings_of(redis) == {}


def test_a_node_that_was_there_waits_for_a_full_redis(redis: RedisServer, ends: Ends) -> None:
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        redis("CONFIG", "SET", "maxmemory", "0")

    end = ends(patience=1.0, say=say)
    redis("CONFIG", "SET", "maxmemory", "1")
    assert end.open().created
    [line] = said
    assert line.endswith("is full (maxmemory): give it more memory; this node waits")


def test_who_beats_is_alive() -> None:
    first = SeenCrawl("x", FleetState.RUNNING, {"a.1": 5, "b.c.2": 7, "d.3": 1})
    later = SeenCrawl("x", FleetState.RUNNING, {"a.1": 5, "b.c.2": 8, "e.4": 1})
    assert later.living(first) == ["b.c"]


class Watching(Asker):
    """Looks at a node `a` that beats again after so many seconds; no time passes."""

    def __init__(self, late: float) -> None:
        self._late = late
        self.waited = 0.0

    def wait(self, seconds: float) -> None:
        self.waited += seconds

    def ask(self, verb: object) -> SeenCrawl:
        beats = 7 if self.waited >= self._late else 6
        return SeenCrawl("x", FleetState.RUNNING, {"a.1-2": beats})


@pytest.mark.parametrize(
    ("late", "until_dead", "living"),
    [
        (1.5, False, ["a"]),
        (4.0, False, []),
        (4.0, True, ["a"]),
        (5.5, True, ["a"]),
        (7.0, True, []),
    ],
)
def test_how_long_nodes_are_watched(late: float, until_dead: bool, living: list[str]) -> None:
    """Those that may be dead as long as nodes watch them before they bury one."""
    watching = Watching(late)
    overview: Any = SimpleNamespace(find=None)
    first = SeenCrawl("x", FleetState.RUNNING, {"a.1-2": 6})
    assert watching.living(overview, first, until_dead=until_dead) == living
    assert Watching(late).living(overview, first._replace(sessions={})) == []


def test_settings_change_but_for_the_shards(ends: Ends) -> None:
    end = ends()
    end.open()

    def renewed(config: Config) -> dict[str, str]:
        end.ask(partial(end.overview.renew, shared(config)))
        return end.open().settings

    assert renewed(Config(stay="host")) == {"stay": "stay host", "shards": "8"}
    depth = Config(depth_in_site=3, output_dir="pages", shards=3)
    assert renewed(depth) == {"depthInSite": "depthInSite 3", "shards": "8"}
    assert renewed(Config()) == {"shards": "8"}


def test_a_crawl_is_forgotten_and_no_other(redis: RedisServer, ends: Ends) -> None:
    others = ["news2", "new", "news.5", "n.ws"]
    for name in ["news", *others]:
        node = ends(name)
        node.open()
        node.ask(partial(node.vault.join, "a.1"))
        for shard in range(8):
            node.ask(partial(node.vault.take, shard, "", 0, "a.1"))
        node.ask(partial(node.vault.turn, "127.0.0.1", 60_000))
    redis("SET", "lb", "of others")
    all_keys = set(redis("KEYS", "*"))
    looking = ends()
    looking.ask(looking.overview.forget)
    left = set(redis("KEYS", "*"))
    gone = all_keys - left
    assert len(gone) == 2 + 8 + 1  # crawl, beats, shards, a turn
    assert all(key.startswith((b"lb:{news}:", b"lb:{news.", b"lb:news:")) for key in gone)
    assert [name for name in others if settings_of(redis, name)] == others
    assert {key for key in all_keys if key.startswith(b"lb:{news.5}:")} & left == {
        b"lb:{news.5}:crawl",
        b"lb:{news.5}:beats",
    }


def test_redis_is_known_by_its_address_and_port(redis: RedisServer, ends: Ends) -> None:
    end = ends()
    end.open()
    places = Places(end.client.topology)
    for here in ("127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1", "0.0.0.0"):
        assert places.has(here, redis.port)
        assert not places.has(here, redis.port + 1)
    assert not places.has("192.0.2.1", redis.port)
    assert not places.has("proxy:a.test", redis.port)
