"""Nodes as processes: they join, leave, and wait for Redis."""

import signal

import pytest

from tests.support.crawling import World
from tests.support.fleetweb import FleetWeb
from tests.support.redisjoin import address, settings_of
from tests.support.redisserver import RedisServer

pytest_plugins = ["tests.support.crawlworld", "tests.support.ownredis"]
pytestmark = pytest.mark.slow


@pytest.fixture
def web(world: World) -> FleetWeb:
    return FleetWeb(world)


def test_a_node_leaves_in_order_and_resumes_its_folder(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    crawler = web.start(*join)
    web.until_fetched(20)
    crawler.signal(signal.SIGINT)
    web.world.until(lambda: crawler.ended, 8.0)
    assert crawler.process.wait() == 11
    assert redis("HGETALL", "lb:{news}:beats") == []
    assert settings_of(redis)["state"] == "running"
    assert web.run(*join) == 0, web.crawler.err
    assert web.fetched() == dict.fromkeys(web.urls, 1)
    assert web.world.reported()["success"] == len(web.urls)
    # A finished crawl goes on with new seeds, and ends at once without.
    assert web.run(*join, seeded=False) == 0
    assert "this crawl is finished; --scratch starts anew" in web.crawler.err
    more = web.web.url("/more")
    assert web.run(*join, more) == 0, web.crawler.err
    assert web.fetched() == dict.fromkeys({*web.urls, more}, 1)


def test_scratch_begins_anew_in_redis(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    assert web.run(*join, wait=0.0) == 0
    first = settings_of(redis)["id"]
    assert web.run(*join, "--scratch", wait=0.0) == 0, web.crawler.err
    assert settings_of(redis)["id"] != first
    assert web.fetched() == dict.fromkeys(web.urls, 1)
    # The folder of another node belongs to the crawl that is gone.
    second = settings_of(redis)["id"]
    (web.world.state / "a").rename(web.world.state / "b")
    redis("HSET", "lb:{news}:crawl", "id", "other")
    assert web.run(*join, "--node", "b", wait=0.0) == 2
    assert "state/b: holds a node of another crawl; --scratch forgets it" in web.crawler.err
    redis("HSET", "lb:{news}:crawl", "id", second)


def test_two_nodes_of_one_name(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    first = web.start(*join, wait=0.5)
    web.until_fetched(3)
    other = web.start(*join, "--set", "stateDir=elsewhere", wait=0.5)
    assert web.finish(other) == 2
    assert other.err == (
        f"larbinpy: {address(redis)}: has a node a already; give this one another name (--node)\n"
    )
    # Its folder is in use.
    other = web.start(*join, "--set", "stateDir=state", "--scratch", wait=0.5)
    assert web.finish(other) == 2
    assert "in use by a; stop all of its nodes first" in other.err
    assert web.finish(first) == 0, first.err
    assert web.fetched() == dict.fromkeys(web.urls, 1)


def test_other_settings_than_the_crawls(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    first = web.start(*join, wait=0.5)
    web.until_fetched(1)
    for keyword, value in (("depthInSite", "3"), ("shards", "7")):
        web.start(*join, "--node", "b", "--set", f"{keyword}={value}", wait=0.5)
        assert web.finish(web.crawler) == 2
        was = {"depthInSite": 10, "shards": 1024}[keyword]
        assert web.crawler.err == (
            f"larbinpy: {keyword}: the crawl that this node joins has another value ({was}); "
            "leave the setting out\n"
        )
    first.signal(signal.SIGTERM)
    assert web.finish(first) == 11


def test_a_full_redis_is_waited_for(web: FleetWeb, redis: RedisServer) -> None:
    crawler = web.start("--join", address(redis), wait=1.0)
    web.until_fetched(10)
    redis("CONFIG", "SET", "maxmemory", "1mb")
    web.world.until(lambda: "is full (maxmemory): give it more memory" in crawler.err, 30.0)
    asked = len(web.web.asked)
    redis("CONFIG", "SET", "maxmemory", "0")
    web.world.until(lambda: len(web.web.asked) > asked, 30.0)
    assert web.finish(crawler) == 0, crawler.err
    assert set(web.fetched()) == web.urls


def test_a_redis_that_was_emptied_ends_its_nodes(web: FleetWeb, redis: RedisServer) -> None:
    crawler = web.start("--join", address(redis), wait=0.5)
    web.until_fetched(10)
    redis("FLUSHALL")
    assert web.finish(crawler) == 2
    assert f"{address(redis)}: there is no such crawl" in crawler.err
    assert settings_of(redis) == {}
    assert "Traceback" not in crawler.err


def test_nothing_is_fetched_from_redis_itself(web: FleetWeb, redis: RedisServer) -> None:
    port = redis.port
    own = [f"http://127.0.0.1:{port}/", f"http://127.0.0.2:{port}/x", f"http://a.test:{port}/"]
    web.more = own
    before = int(redis.info("total_connections_received"))
    assert web.run("--join", address(redis), wait=0.0) == 0, web.crawler.err
    assert dict(web.outcomes()) == dict.fromkeys(web.urls, "success") | dict.fromkeys(
        own, "privateAddress"
    )
    # The node's two, those of this test, and none with a request.
    assert int(redis.info("total_connections_received")) <= before + 4


def test_a_crawl_without_a_page_says_so_again(web: FleetWeb, redis: RedisServer) -> None:
    web.web.close()
    for _ in range(2):
        assert web.run("--join", address(redis), wait=0.0, lines=("retries 0",)) == 4
        assert "no page could be fetched" in web.crawler.err
        assert "tried again" not in web.crawler.err
