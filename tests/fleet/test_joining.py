"""Nodes as processes: they join, leave, and wait for Redis."""

import signal
import socket

import pytest

from tests.support.crawling import World, one_line, read_log
from tests.support.fleetweb import LONG, FleetWeb
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
    explained = web.world.larbinpy("explain", web.web.url("/3"))
    hint = "give its address (--join or LARBINPY_JOIN) while it runs, or read its log"
    assert f"state: a crawl by nodes; {hint}" in one_line(explained)
    assert web.run(*join) == 0, web.crawler.err
    assert web.fetched() == dict.fromkeys(web.urls, 1)
    assert web.world.reported()["success"] == len(web.urls)
    # A finished crawl goes on with new seeds, and ends at once without.
    assert web.run(*join, seeded=False) == 0
    assert "this crawl is finished; larbinpy fleet --forget removes it" in web.crawler.err
    more = web.web.url("/more")
    assert web.run(*join, more) == 0, web.crawler.err
    assert web.fetched() == dict.fromkeys({*web.urls, more}, 1)


def test_scratch_empties_the_folder_of_a_node_and_nothing_else(
    web: FleetWeb, redis: RedisServer
) -> None:
    join = ("--join", address(redis))
    assert web.run(*join, wait=0.0) == 0
    first = settings_of(redis)["id"]
    assert web.run(*join, "--scratch", wait=0.0) == 0, web.crawler.err
    assert settings_of(redis)["id"] == first
    assert (
        f"{address(redis)}: this crawl was finished, only state/a was emptied; "
        "larbinpy fleet --forget removes it" in web.crawler.err
    )
    assert web.fetched() == {}
    # The crawl is removed by its own command; then the folders of its nodes must go, too.
    removed = web.world.larbinpy("fleet", "--join", address(redis), "--forget", "--yes")
    assert removed.process.returncode == 0, removed.err
    assert web.run(*join, wait=0.0) == 2
    assert one_line(web.crawler) == (
        f"larbinpy: {address(redis)}: this crawl is gone: it was forgotten, or Redis has lost its "
        "data; --scratch begins anew\n"
    )
    assert settings_of(redis) == {}
    assert web.run(*join, "--scratch", wait=0.0) == 0, web.crawler.err
    assert settings_of(redis)["id"] != first
    assert web.fetched() == dict.fromkeys(web.urls, 1)


def test_the_folder_of_another_crawl(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    assert web.run(*join, wait=0.0) == 0
    redis("HSET", "lb:{news}:crawl", "id", "other")
    assert web.run(*join, wait=0.0) == 2
    expected = "larbinpy: state/a: holds a node of another crawl; --scratch forgets it\n"
    assert one_line(web.crawler) == expected
    assert web.run("--join", address(redis).replace("/news", "/other"), wait=0.0) == 2
    expected = "larbinpy: state/a: holds a node of another crawl, news; --scratch forgets it\n"
    assert one_line(web.crawler) == expected


def test_a_node_that_is_refused_here_makes_no_crawl(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert web.run(*join, lines=(f"httpPort {port}",)) == 2
        assert f"httpPort {port}: Address already in use" in one_line(web.crawler)
    assert settings_of(redis) == {}
    # So the first node may have other settings.
    assert web.run(*join, "--depth", "1", wait=0.0) == 0, web.crawler.err


def test_two_nodes_of_one_name(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    first = web.start(*join, wait=1.0)
    web.until_fetched(3)
    for options in (("--set", "stateDir=elsewhere"), ("--scratch",)):
        other = web.start(*join, *options, wait=1.0)
        assert web.finish(other) == 2
        assert one_line(other) == (
            f"larbinpy: {address(redis)}: has a node a already; "
            "give this one another name (--node)\n"
        )
    # Its folder is in use.
    other = web.start(*join, wait=1.0)
    assert web.finish(other) == 2
    assert f"state/a: in use by process {first.process.pid}" in one_line(other)
    assert web.finish(first) == 0, first.err
    assert web.fetched() == dict.fromkeys(web.urls, 1)


def test_two_nodes_of_one_name_start_together(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    pair = [web.start(*join, "--set", f"stateDir={name}", wait=0.3) for name in ("one", "two")]
    web.world.until(lambda: any(crawler.ended for crawler in pair), LONG)
    [refused] = [crawler for crawler in pair if crawler.ended]
    [other] = [crawler for crawler in pair if crawler is not refused]
    assert refused.process.wait() == 2
    assert refused.err.splitlines()[-1] == (
        f"larbinpy: {address(redis)}: has a node a already; give this one another name (--node)"
    )
    assert web.finish(other) == 0, other.err
    folders = ("one", "two")
    logs = [read_log(web.world.folder / name / "a" / "crawl.jsonl") for name in folders]
    assert sorted(fate["url"] for log in logs for fate in log) == sorted(web.urls)


def test_a_dead_node_does_not_keep_its_name(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    first = web.start(*join, wait=0.5)
    web.until_fetched(3)
    first.signal(signal.SIGKILL)
    assert web.run(*join, "--set", "stateDir=elsewhere", wait=0.0, seeded=False) == 2
    assert "waitDuration: the crawl that this node joins" in web.crawler.err
    assert web.run(*join, "--set", "stateDir=elsewhere", wait=0.5) == 0, web.crawler.err
    assert redis("HGETALL", "lb:{news}:beats") == []


def test_a_node_that_was_there_waits_for_redis(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    first = web.start(*join, wait=0.3)
    web.until_fetched(10)
    web.world.until(lambda: (web.world.state / "a" / "state.json").exists())
    first.signal(signal.SIGKILL)
    redis.end()
    away = f"larbinpy: Redis 127.0.0.1:{redis.port} does not answer: Connection refused"
    again = web.start(*join, wait=0.3)
    web.world.until(lambda: f"{away}; this node waits\n" in again.err)
    # Only a first start needs Redis at once.
    fresh = web.start(*join, "--node", "b", wait=0.3)
    assert web.finish(fresh) == 2
    assert one_line(fresh) == f"{away}\n"
    redis.start()
    assert web.finish(again) == 0, again.err
    assert again.err.count("this node waits") == 1
    assert set(web.fetched()) == web.urls


def test_a_node_that_waits_for_redis_can_be_stopped(web: FleetWeb, redis: RedisServer) -> None:
    crawler = web.start("--join", address(redis), wait=0.3)
    web.until_fetched(10)
    redis.end()
    redis.start()
    web.world.until(lambda: "was started anew: this node joins again" in crawler.err, LONG)
    redis.end()
    crawler.signal(signal.SIGTERM)
    assert web.finish(crawler) == 11, crawler.err


def test_other_settings_than_the_crawls(web: FleetWeb, redis: RedisServer) -> None:
    join = ("--join", address(redis))
    first = web.start(*join, wait=2.0)
    web.until_fetched(1)
    others = (("depthInSite", "3", 10), ("depthInSite", "5", 10), ("shards", "7", 256))
    for keyword, value, was in others:
        web.start(*join, "--node", "b", "--set", f"{keyword}={value}", wait=2.0)
        assert web.finish(web.crawler) == 2
        assert web.crawler.err == (
            f"larbinpy: {keyword}: the crawl that this node joins has another value ({was}); "
            "leave the setting out\n"
        )
    first.signal(signal.SIGTERM)
    assert web.finish(first) == 11


def test_a_later_node_needs_no_configuration(web: FleetWeb, redis: RedisServer) -> None:
    first = web.start("--join", address(redis), wait=0.5)
    web.until_fetched(1)
    # A URL alone would mean stay host, and outputMode mirror; it is a seed like any other.
    more = web.web.url("/more")
    (web.world.folder / "larbin.conf").unlink()
    servers = ":".join(map(str, web.world.names.address))
    options = ("--allow-private", "--progress", "none", "--set", f"dnsServer={servers}")
    second = web.world.start("crawl", "--join", address(redis), "--node", "c", *options, more)
    assert web.finish(first) == 0, first.err
    assert web.finish(second) == 0, second.err
    assert "staying on" not in second.err
    assert web.fetched() == dict.fromkeys({*web.urls, more}, 1)
    assert list(web.world.folder.glob("save/**/*")) == []


def test_a_full_redis_is_waited_for(web: FleetWeb, redis: RedisServer) -> None:
    crawler = web.start("--join", address(redis), wait=0.5)
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
    [line] = [line for line in crawler.err.splitlines() if line.startswith("larbinpy: redis")]
    assert "this crawl is gone: it was forgotten, or Redis has lost its data" in line
    assert "joins again" not in crawler.err
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
