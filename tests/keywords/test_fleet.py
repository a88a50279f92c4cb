"""Keywords of nodes, each with a Redis of its own."""

import pytest

from larbinpy.fleet.ownership import shard_of
from tests.support.keywords import effect_of
from tests.support.redisjoin import settings_of
from tests.support.redisserver import RedisServer
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls", "tests.support.ownredis"]
pytestmark = pytest.mark.slow


def joined(crawl: Worlds, redis: RedisServer, *lines: str) -> World:
    """A crawl by one node; its clock is the real one, as Redis' is."""
    return crawl(f"join unix:{redis.path}?crawl=news", *lines, leaps=False)


def shards_written(redis: RedisServer) -> dict[int, int]:
    """The number of writes of each shard that has a URL."""
    keys = redis("KEYS", "lb:{news.*}:s")
    names = [key.decode().removesuffix(":s") for key in keys]
    return {
        int(name.rpartition(".")[2].rstrip("}")): int(redis("HGET", f"{name}:h", "n"))
        for name in names
    }


@effect_of("join", "node")
def test_a_node_has_folders_of_its_name_and_the_crawl_is_in_redis(
    web: Web, crawl: Worlds, redis: RedisServer
) -> None:
    web.page("a.test/", "/1", "//b.test/")
    web.pages("a.test/1", "b.test/")
    world = joined(crawl, redis, "node thread", "outputMode mirror")
    assert world.code == 0, world.stderr.getvalue()
    assert world.kept == {"a.test/", "a.test/1", "b.test/"}
    assert settings_of(redis)["state"] == "finished"
    assert {path.name for path in (world.folder / "state").iterdir()} == {"thread"}
    assert world.files() == {
        "thread/a.test/index.html",
        "thread/a.test/1",
        "thread/b.test/index.html",
    }
    # Another node finds nothing left to do.
    other = joined(crawl, redis, "node web", "outputMode mirror")
    assert (other.code, other.asked) == (0, [])


@effect_of("shards")
def test_the_web_is_divided_into_shards(web: Web, crawl: Worlds, redis: RedisServer) -> None:
    hosts = [f"{letter}.test" for letter in "abcdefgh"]
    web.page("a.test/", *(f"//{host}/" for host in hosts[1:]))
    web.pages(*(f"{host}/" for host in hosts[1:]))
    assert joined(crawl, redis, "shards 3").code == 0
    assert set(shards_written(redis)) == {shard_of(host, 3) for host in hosts}


@effect_of("roundTime")
def test_rounds_are_written_so_often(web: Web, crawl: Worlds, redis: RedisServer) -> None:
    """Each of a chain of pages changes the shard of its host."""
    for number in range(8):
        web.put(f"a.test/{number}", Answer(f'<a href="{number + 1}">x</a>'.encode(), delay=0.3))
    writes = []
    for round_time in ("0.1s", "2s"):
        redis("FLUSHALL")
        world = joined(crawl, redis, f"roundTime {round_time}", "startUrl " + web.url("a.test/0"))
        assert world.code == 0
        writes.append(shards_written(redis)[shard_of("a.test", 256)])
    assert writes[0] > writes[1] + 3
