"""Names on real servers of each engine, and what they take there."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from larbinpy.fleet.redis.board import RedisNames, Shared, pack_value, unpack_value
from tests.support.redisserver import Cluster, RedisServer
from tests.support.redisvault import Asker

Connect = Callable[..., Asker]

NOW = 1_800_000_000.0


class Sharer:
    """The names of one node on a server."""

    def __init__(self, asker: Asker, shards: int = 8) -> None:
        self.asker = asker
        crawl = asker.open({"shards": str(shards)})
        self.wall = NOW
        self.names = RedisNames(asker.client, crawl.id, shards, lambda: self.wall)

    def ask(self, verb: Callable[..., None], *arguments: Any) -> Any:
        answers: list[Any] = []
        verb(*arguments, answers.append)
        assert answers == [], "answered at once"
        self.asker.until(lambda: answers)
        return answers[0]

    def find(self, name: str) -> Shared | None:
        found: Shared | None = self.ask(self.names.find, name)
        return found

    def absent(self, cursor: str) -> tuple[str, Sequence[str]]:
        answer: tuple[str, Sequence[str]] = self.ask(self.names.absent, cursor)
        return answer


@pytest.mark.parametrize(
    "addresses",
    [
        ("192.0.2.1",),
        ("192.0.2.1", "192.0.2.2", "192.0.2.3"),
        ("2001:db8::1",),
        ("2001:db8::1", "2001:db8::2", "2001:db8::3"),
    ],
)
def test_values(addresses: tuple[str, ...]) -> None:
    value = pack_value(Shared(addresses, NOW + 59))
    assert unpack_value(value) == Shared(addresses, NOW)
    # With 7 B of a name this is short enough for the compact form (hash-max-listpack-value).
    assert len(value) <= 64
    assert len(pack_value(Shared(("192.0.2.1",), NOW))) == 7


def test_no_more_addresses_than_three_and_no_time_out_of_range() -> None:
    many = tuple(f"192.0.2.{n}" for n in range(9))
    assert unpack_value(pack_value(Shared(many, 0.0))) == Shared(many[:3], 1_577_836_800)
    assert unpack_value(pack_value(Shared(many, 1e12))).until > 2.5e9


def test_what_one_learns_the_other_finds(engine: RedisServer, connect: Connect) -> None:
    name = f"learn{engine.port}"
    one, two = Sharer(connect(engine.port, name)), Sharer(connect(engine.port, name))
    assert two.find("www.test") is None
    shared = Shared(("192.0.2.1",), NOW + 1800)
    one.names.learn("www.test", shared)
    assert one.find("www.test") == two.find("www.test") == shared
    later = Shared(("2001:db8::7",), NOW + 3600)
    two.names.learn("www.test", later)
    assert two.find("www.test") == one.find("www.test") == later
    assert two.find("ww.test") is None
    # Another crawl has other names, with other hashes.
    assert Sharer(connect(engine.port)).find("www.test") is None


def test_absent_names_are_read_from_a_cursor_on(engine: RedisServer, connect: Connect) -> None:
    name = f"absent{engine.port}"
    one, two = Sharer(connect(engine.port, name)), Sharer(connect(engine.port, name))
    first = str(int((time.time() - 60) * 1000))
    assert two.absent(first) == (first, [])
    one.names.learn_absent(["a.test", "b.test"])
    one.names.learn_absent(["c.test"])
    one.find("x.test")
    cursor, names = two.absent(first)
    assert names == ["a.test", "b.test", "c.test"]
    assert two.absent(cursor) == (cursor, [])
    assert two.absent(str(int((time.time() + 60) * 1000)))[1] == []


def test_expired_names_go_and_buckets_stay_small(engine: RedisServer, connect: Connect) -> None:
    name = f"room{engine.port}"
    one = Sharer(connect(engine.port, name), shards=1)

    def count() -> int:
        one.find("x.test")
        return sum(engine("HLEN", f"lb:{name}:n:{bucket:x}") for bucket in range(32))

    def learn(first: int, most: int) -> None:
        for number in range(first, first + most):
            one.names.learn(f"{number}.test", Shared(("192.0.2.1",), one.wall + 600))

    learn(0, 24_000)
    # A bucket that is full gives one for each that comes.
    assert count() == 32 * 500
    # All of these expire; while others come, most are found and removed.
    one.wall += 3600
    learn(100_000, 16_000)
    left = sum(one.find(f"{number}.test") is not None for number in range(0, 24_000, 40))
    assert left < 80 and 8000 < count() <= 32 * 500


def test_names_in_a_cluster(cluster: Cluster, connect: Connect) -> None:
    one, two = (Sharer(connect(cluster.nodes[0].port, "many")) for _ in range(2))
    shared = Shared(("192.0.2.1",), NOW + 1800)
    for number in range(50):
        one.names.learn(f"{number}.test", shared)
    one.names.learn_absent(["no.test"])
    assert all(one.find(f"{number}.test") == shared for number in range(50))
    assert all(two.find(f"{number}.test") == shared for number in range(50))
    assert two.absent("0")[1] == ["no.test"]


def test_the_memory_of_a_name(redis: RedisServer, connect: Connect) -> None:
    """At the number of names by bucket that a million have with 256 shards."""
    one = Sharer(connect(redis.port, "news"), shards=16)
    before, count = 0, 122 * 32 * 16
    for number in range(count):
        one.names.learn(f"www.site{number}.test", Shared(("192.0.2.1",), NOW + 1800))
        if number % 1000 == 0:
            one.find("x.test")
            # The first have the buffers of the connection, too.
            before = before or int(redis.info("used_memory"))
    assert one.find(f"www.site{count - 1}.test") is not None
    assert redis("OBJECT", "ENCODING", "lb:news:n:1") in (b"listpack", b"ziplist")
    assert (int(redis.info("used_memory")) - before) / count < 22
