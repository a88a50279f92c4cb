"""A crawl on Redis as it is seen before it is joined, and where Redis is."""

import time
from collections.abc import Iterator
from functools import partial

import pytest

from larbinpy.fleet.redis.asking import Asker
from larbinpy.fleet.redis.overview import Found, Overview
from larbinpy.fleet.redis.places import Places
from larbinpy.fleet.redis.vault import RedisVault
from larbinpy.fleet.redis.wire import Address
from larbinpy.fleet.vault import CrawlState
from larbinpy.loop.poller import Poller
from tests.support.redisjoin import address, settings_of
from tests.support.redisserver import RedisServer

pytest_plugins = ["tests.support.ownredis"]


@pytest.fixture
def poller() -> Iterator[Poller]:
    made = Poller()
    yield made
    made.close()


@pytest.fixture
def asker(poller: Poller) -> Asker:
    return Asker(poller, time.monotonic)


@pytest.fixture
def overview(redis: RedisServer, poller: Poller) -> Iterator[Overview]:
    made = Overview(poller, time.monotonic, Address.of(address(redis)))
    yield made
    made.close()


def make(redis: RedisServer, poller: Poller, asker: Asker, name: str = "news") -> RedisVault:
    vault = RedisVault(poller, time.monotonic, Address.of(address(redis, name)))
    asker.ask(vault, partial(vault.open, {"shards": "8"}))
    return vault


def test_a_crawl_is_found(
    redis: RedisServer, poller: Poller, asker: Asker, overview: Overview
) -> None:
    assert asker.ask(overview, overview.find) is None
    vault = make(redis, poller, asker)
    asker.ask(vault, partial(vault.join, "a.1"))
    found = asker.ask(overview, overview.find)
    assert found == Found(settings_of(redis)["id"], CrawlState.NEW, {"a.1": 0})
    vault.close()


def test_who_beats_is_alive() -> None:
    first = Found("x", CrawlState.RUNNING, {"a.1": 5, "b.c.2": 7, "d.3": 1})
    later = Found("x", CrawlState.RUNNING, {"a.1": 5, "b.c.2": 8, "e.4": 1})
    assert later.living(first) == ["b.c"]


def test_settings_change_but_for_the_shards(
    redis: RedisServer, poller: Poller, asker: Asker, overview: Overview
) -> None:
    vault = make(redis, poller, asker)
    asker.ask(overview, partial(overview.renew, {"stay": "stay host"}))
    crawl = asker.ask(vault, partial(vault.open, {}))
    assert crawl.settings == {"stay": "stay host", "shards": "8"}
    vault.close()


def test_a_crawl_is_forgotten_and_no_other(
    redis: RedisServer, poller: Poller, asker: Asker, overview: Overview
) -> None:
    others = ["news2", "new", "news.5", "n.ws"]
    for name in ["news", *others]:
        vault = make(redis, poller, asker, name)
        asker.ask(vault, partial(vault.join, "a.1"))
        for shard in range(8):
            asker.ask(vault, partial(vault.take, shard, "", 0, "a.1"))
        asker.ask(vault, partial(vault.turn, "127.0.0.1", 60_000))
        vault.close()
    redis("SET", "lb", "of others")
    all_keys = set(redis("KEYS", "*"))
    asker.ask(overview, overview.forget)
    left = set(redis("KEYS", "*"))
    gone = all_keys - left
    assert len(gone) == 2 + 8 + 1  # crawl, beats, shards, a turn
    assert all(key.startswith((b"lb:{news}:", b"lb:{news.", b"lb:news:")) for key in gone)
    assert [name for name in others if settings_of(redis, name)] == others
    assert {key for key in all_keys if key.startswith(b"lb:{news.5}:")} & left == {
        b"lb:{news.5}:crawl",
        b"lb:{news.5}:beats",
    }


def test_redis_is_known_by_its_address_and_port(
    redis: RedisServer, poller: Poller, asker: Asker
) -> None:
    vault = make(redis, poller, asker)
    places = Places(vault)
    for here in ("127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1", "0.0.0.0"):
        assert places.has(here, redis.port)
        assert not places.has(here, redis.port + 1)
    assert not places.has("192.0.2.1", redis.port)
    assert not places.has("proxy:a.test", redis.port)
    vault.close()
