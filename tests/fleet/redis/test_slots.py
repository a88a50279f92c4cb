"""Slots of keys, and maps of slots."""

import pytest

from larbinpy.fleet.redis.scripts import SLOTS, Keys, Moved, SlotMap, slot_of
from larbinpy.fleet.redis.wire import Endpoint

HERE = Endpoint("10.0.0.1", 6379)
OTHER = Endpoint("10.0.0.2", 6379)
REPLICA = Endpoint("10.0.0.3", 6379)


def node(server: Endpoint, name: str) -> list[object]:
    return [server.host.encode(), server.port, name.encode(), []]


def halves(first: list[list[object]], second: list[list[object]]) -> SlotMap:
    return SlotMap.of([[0, 8191, *first], [8192, 16383, *second]], HERE)


@pytest.mark.parametrize(
    ("key", "tag"),
    [
        (b"{user1000}.following", b"user1000"),
        (b"foo{}{bar}", b"foo{}{bar}"),
        (b"{}bar", b"{}bar"),
        (b"foo{{bar}}zap", b"{bar"),
        (b"foo{bar}{zap}", b"bar"),
        (b"foo{bar", b"foo{bar"),
    ],
)
def test_hash_tags(key: bytes, tag: bytes) -> None:
    """The examples of the specification."""
    assert slot_of(key) == slot_of(tag)


def test_slots() -> None:
    """The specification's value of CRC16, and a slot that Redis says itself."""
    assert slot_of(b"123456789") == 0x31C3 % SLOTS
    assert slot_of(b"foo") == 12182


def test_the_keys_of_a_shard_are_in_one_slot() -> None:
    keys = Keys("news")
    shard = keys.shard(17)
    own = (shard.h, shard.s, shard.b, shard.i, shard.c, shard.w)
    assert {slot_of(key) for key in own} == {shard.slot}
    assert shard.h == b"lb:{news.17}:h" and keys.shard(17) is shard
    every = (keys.crawl, keys.beats, keys.orders)
    assert {slot_of(key) for key in every} == {keys.slot}
    assert keys.turn("192.0.2.1") == b"lb:news:a:192.0.2.1"


def test_a_map() -> None:
    found = halves([node(HERE, "a"), node(REPLICA, "c")], [node(OTHER, "b")])
    assert found.owners[0] == found.owners[8191] == HERE
    assert found.owners[8192] == found.owners[16383] == OTHER
    assert found.masters[HERE].replicas == (REPLICA,)
    assert found.uncovered == 0
    assert SlotMap.of([[0, 99, *[node(HERE, "a")]]], HERE).uncovered == SLOTS - 100


def test_a_node_that_does_not_know_its_address_is_the_one_asked() -> None:
    for host in (b"", None, b"?"):
        found = SlotMap.of([[0, 16383, [host, 7000, b"a"]]], HERE)
        assert found.owners[0] == Endpoint("10.0.0.1", 7000)


@pytest.mark.parametrize("reply", [None, 3, [[1]], [[0, 1]], [[0, 99999, [b"h", 1, b"a"]]]])
def test_what_is_no_map(reply: object) -> None:
    with pytest.raises(ValueError):
        SlotMap.of(reply, HERE)


def test_newcomers() -> None:
    before = halves([node(HERE, "a"), node(REPLICA, "c")], [node(OTHER, "b")])
    moved = halves([node(OTHER, "b")], [node(OTHER, "b"), node(REPLICA, "c")])
    assert moved.newcomers(before) == []
    failed_over = halves([node(REPLICA, "c")], [node(OTHER, "b")])
    assert [master.id for master in failed_over.newcomers(before)] == ["c"]
    other_address = halves([node(Endpoint("10.9.9.9", 1), "a")], [node(OTHER, "b")])
    assert other_address.newcomers(before) == []


def test_redirects() -> None:
    assert Moved.of("MOVED 3999 127.0.0.1:6381", HERE) == (3999, Endpoint("127.0.0.1", 6381))
    assert Moved.of("ASK 3999 :6381", HERE) == (3999, Endpoint("10.0.0.1", 6381))
    assert Moved.of("MOVED 1 ::1:6381", HERE) == (1, Endpoint("::1", 6381))
