"""Which servers were started anew since they were connected, and which can hold a crawl."""

from math import inf

import pytest

from larbinpy.fleet.redis.client import Runs, refusal, risk
from larbinpy.fleet.redis.wire import Endpoint

HERE, THERE = Endpoint("127.0.0.1", 6379), Endpoint("127.0.0.1", 6380)


def test_another_run_of_a_server_is_noticed() -> None:
    runs = Runs()
    first = {"run_id": "a", "uptime_in_seconds": "30"}
    assert runs.since(HERE) == inf
    assert not runs.connected(HERE, first, 100.0)
    assert runs.since(HERE) == 70.0
    assert not runs.connected(HERE, {**first, "uptime_in_seconds": "50"}, 120.0)
    assert runs.since(HERE) == 70.0
    assert not runs.connected(THERE, {"run_id": "b", "uptime_in_seconds": "1"}, 120.0)
    assert runs.connected(HERE, {"run_id": "c", "uptime_in_seconds": "2"}, 130.0)
    assert runs.since(HERE) == 128.0


def test_a_server_whose_clock_was_put_back_is_up_since_it_is_seen() -> None:
    runs = Runs()
    assert not runs.connected(HERE, {"run_id": "a", "uptime_in_seconds": "-3590"}, 100.0)
    assert runs.since(HERE) == 100.0


def test_a_replica_that_took_over_remembers_since_it_is_seen() -> None:
    runs = Runs()
    info = {"run_id": "a", "uptime_in_seconds": "500", "second_repl_offset": "77"}
    assert not runs.connected(HERE, info, 100.0)
    assert runs.since(HERE) == 100.0
    runs.took_over(THERE, 110.0)
    assert runs.since(THERE) == 110.0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, ""),
        ({"redis_version": "6.2.5"}, ""),
        ({"redis_version": "6.0.16"}, "has version 6.0.16; 6.2 or newer is needed"),
        ({"maxmemory_policy": "allkeys-lru", "role": "slave"}, ""),
    ],
)
def test_servers_that_are_refused(fields: dict[str, str], why: str) -> None:
    assert refusal({"redis_version": "8.0.1", "role": "master", **fields}) == why


def test_a_master_that_evicts_keys_is_refused() -> None:
    info = {"redis_version": "7.0.15", "role": "master", "maxmemory_policy": "volatile-ttl"}
    assert refusal(info).endswith("set its maxmemory-policy to noeviction (it is volatile-ttl)")


def test_a_server_without_an_append_only_file_is_a_risk() -> None:
    assert risk({"aof_enabled": "1"}) == risk({}) == ""
    assert risk({"aof_enabled": "0"}).startswith("has no append-only file")
