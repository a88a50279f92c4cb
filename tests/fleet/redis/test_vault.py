"""Each verb on real servers of each engine."""

import json
from array import array
from collections.abc import Callable
from math import inf
from time import monotonic

import pytest

from larbinpy.errors import UserError
from larbinpy.fleet.redis.scripts import wrong_type
from larbinpy.fleet.vault import (
    Answered,
    Away,
    Behind,
    FleetState,
    Gained,
    Owned,
    ShardLook,
    SiteWait,
)
from tests.support.redisserver import RedisServer
from tests.support.redisvault import SETTINGS, Asker, commit_of

Connect = Callable[..., Asker]


def test_the_first_makes_the_crawl_and_others_find_it(
    engine: RedisServer, connect: Connect
) -> None:
    first, second = connect(engine.port, "found"), connect(engine.port, "found")
    made = first.open({"shards": "8", "maxDepth": "3"})
    found = second.open({"shards": "16"})
    assert made.created and not found.created
    assert (found.id, found.settings) == (made.id, {"shards": "8", "maxDepth": "3"})
    assert found.state is FleetState.NEW
    assert first.vault.up == second.vault.up == inf
    assert first.declare(FleetState.NEW, FleetState.RUNNING) is FleetState.RUNNING
    assert second.declare(FleetState.NEW, FleetState.STOPPED) is FleetState.RUNNING
    assert second.client.warnings == [] and second.client.trouble == ""


def test_members_beat_and_are_buried(engine: RedisServer, connect: Connect) -> None:
    name = f"members{engine.port}"
    one, two = connect(engine.port, name), connect(engine.port, name)
    one.open(SETTINGS)
    two.open(SETTINGS)
    assert list(one.join("one.1").sessions) == ["one.1"]
    assert sorted(two.join("two.1").sessions) == ["one.1", "two.1"]
    before = two.beat("two.1").sessions
    after = one.beat("one.1").sessions
    assert after["one.1"] == before["one.1"] + 1 and after["two.1"] == before["two.1"]

    two.bury("one.1", before["one.1"])
    assert "one.1" in two.beat("two.1").sessions, "it has beaten meanwhile"
    assert two.bury("one.1", after["one.1"]) is Answered.DONE
    assert one.beat("one.1") is Answered.GONE
    assert list(two.beat("two.1").sessions) == ["two.1"]
    assert two.quit("two.1") is Answered.DONE
    assert two.beat("two.1") is Answered.GONE


def test_a_name_has_one_node_at_a_time(engine: RedisServer, connect: Connect) -> None:
    one, two = (connect(engine.port, f"names{engine.port}") for _ in range(2))
    one.open(SETTINGS)
    two.open(SETTINGS)
    assert list(one.join("a.b.1f-1").sessions) == ["a.b.1f-1"]
    assert two.join("a.b.2f-1") is Answered.TAKEN
    assert two.beat("a.b.2f-1") is Answered.GONE
    # The same node again, and others.
    for session in ("a.b.1f-2", "b.2f-1", "a.2f-1", "a.b.c.2f-1"):
        assert session in two.join(session).sessions
    one.bury("a.b.1f-1", 0)
    one.bury("a.b.1f-2", 0)
    assert "a.b.2f-1" in two.join("a.b.2f-1").sessions


def test_orders_come_once_to_each_member(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port, f"orders{engine.port}")
    orders = f"lb:{{orders{engine.port}}}:orders"
    engine("XADD", orders, "*", "text", "of another time")
    one.begin("one.1")
    assert one.beat("one.1").orders == []
    engine("XADD", orders, "*", "text", "pause")
    engine("XADD", orders, "*", "text", "resume")
    assert [text for _, text in one.beat("one.1").orders] == ["pause", "resume"]
    assert one.beat("one.1").orders == []


def test_a_crawl_that_was_removed_is_not_made_again(engine: RedisServer, connect: Connect) -> None:
    name = f"removed{engine.port}"
    one = connect(engine.port, name)
    one.begin("one.1")
    engine("DEL", f"lb:{{{name}}}:crawl")
    assert one.beat("one.1") is Answered.GONE
    assert one.join("one.2") is Answered.GONE


def test_a_shard_is_taken_by_owner_and_number(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    assert one.take(3, "", 0, "one.1") == Gained(1)
    assert one.take(3, "", 0, "one.1") == Gained(1), "asked again after a lost answer"
    assert one.take(3, "", 0, "two.1") == Owned("one.1", 1)
    assert one.take(3, "", 1, "two.1") == Owned("one.1", 1)
    assert one.take(3, "one.1", 0, "two.1") == Owned("one.1", 1), "looked at before it changed"
    assert one.take(3, "one.1", 1, "two.1") == Gained(2)
    assert one.leave(3, "one.1", 2) is Answered.FENCED
    assert one.leave(3, "two.1", 1) == Behind(2)
    assert one.leave(3, "two.1", 2) is Answered.DONE
    assert one.leave(3, "two.1", 2) is Answered.FENCED, "done before"
    assert one.look()[2:4] == [ShardLook("", 0, 0, 0), ShardLook("", 2, 0, 0)]


def test_a_commit_is_applied_once(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    assert one.commit(5, "one.1", 0, commit_of(b"x" * 8, owing=1)) is Answered.FENCED
    one.take(5, "", 0, "one.1")
    assert one.commit(5, "two.1", 1, commit_of(b"x" * 8)) is Answered.FENCED
    commit = commit_of(b"y" * 16, {1: b"lines"}, owing=2, counts={"pa": 2})
    assert one.commit(5, "one.1", 1, commit) is Answered.DONE
    assert one.commit(5, "one.1", 1, commit) == Behind(2)
    assert one.look()[5] == ShardLook("one.1", 2, 2, 0)
    part = one.load(5, "")
    assert (part.fingerprints, part.counts) == (b"y" * 16, {"pa": 2})


def test_what_was_committed_is_loaded(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    one.take(0, "", 0, "one.1")
    prints = array("Q", range(3000)).tobytes()
    n = 1
    # More elements than one part has, and more fields than one call of Lua takes.
    for start in range(0, len(prints), 32):
        assert one.commit(0, "one.1", n, commit_of(prints[start : start + 32])) is Answered.DONE
        n += 1
    blocks = {number: b"lines %d" % number for number in range(700)}
    owed = {number: b"%d" % number for number in range(0, 700, 2)}
    sites = {f"phttp://s{number}.test": number for number in range(1500)}
    held = {f"http://s{number}.test": SiteWait(number) for number in range(1, 700)}
    commit = commit_of(b"", blocks, owed, counts=sites, waits=held)
    assert one.commit(0, "one.1", n, commit) is Answered.DONE
    finished = tuple(range(1, 660))
    assert one.commit(0, "one.1", n + 1, commit_of(finished=finished)) is Answered.DONE

    cursor: str | None = ""
    found = b""
    loaded: list[tuple[int, bytes, bytes]] = []
    counts: dict[str, int] = {}
    waits: dict[str, SiteWait] = {}
    while cursor is not None:
        part = one.load(0, cursor)
        found += part.fingerprints
        assert not (loaded and (part.counts or part.waits))
        loaded += part.blocks
        counts |= part.counts
        waits |= part.waits
        cursor = part.cursor
    assert found == prints
    left = [0, *range(660, 700)]
    assert loaded == [(number, blocks[number], owed.get(number, b"")) for number in left]
    assert counts == sites
    assert waits.keys() == held.keys()
    assert all(wait.seconds <= held[site].seconds for site, wait in waits.items())
    assert one.read_blocks(0, [699, 5, 0]) == [(699, blocks[699], b""), (0, blocks[0], owed[0])]


def test_an_empty_shard_is_loaded_in_one_part(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    part = one.load(1, "")
    assert (part.fingerprints, list(part.blocks), part.cursor) == (b"", [], None)
    assert (part.counts, part.waits) == ({}, {})


def test_the_state_of_sites_is_added_up_and_waits_pass(
    engine: RedisServer, connect: Connect
) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    one.take(0, "", 0, "one.1")
    a, b = "http://a.test", "http://[::1]:81"
    first = commit_of(counts={"p" + a: 1, "b" + b: 2**40}, waits={a: SiteWait(60.0, 0.25, 0.125)})
    assert one.commit(0, "one.1", 1, first) is Answered.DONE
    assert one.commit(0, "one.1", 1, first) == Behind(2), "done before"
    later = commit_of(counts={"p" + a: 2, "b" + b: 5}, waits={b: SiteWait(-3.0)})
    assert one.commit(0, "one.1", 2, later) is Answered.DONE
    one.run(0.2)
    part = one.load(0, "")
    assert part.counts == {"p" + a: 3, "b" + b: 2**40 + 5}
    assert 55.0 < part.waits[a].seconds < 59.9
    assert part.waits[a][1:] == (0.25, 0.125)
    assert part.waits[b].seconds < -3.0


def test_a_wait_is_no_longer_than_it_was_written(engine: RedisServer, connect: Connect) -> None:
    """The clock of Redis was put back since then."""
    name = f"waits{engine.port}"
    one = connect(engine.port, name)
    one.begin("one.1")
    one.take(0, "", 0, "one.1")
    waits = {"http://a.test": SiteWait(60.0, 0.25, 0.125)}
    assert one.commit(0, "one.1", 1, commit_of(waits=waits)) is Answered.DONE
    key = f"lb:{{{name}.0}}:c"
    ends, _, rest = engine("HGET", key, "whttp://a.test").partition(b" ")
    engine("HSET", key, "whttp://a.test", b"%d %b" % (int(ends) + 3_600_000, rest))
    assert one.load(0, "").waits == waits


def test_letters_stay_until_a_commit_has_them(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    assert one.collect({}) == {}
    assert one.post({}) is Answered.DONE
    assert one.post({1: b"a", 6: b"b"}) is Answered.DONE
    assert one.post({6: b"c"}) is Answered.DONE
    assert one.collect({1: 0, 2: 0, 6: 0}) == {1: [b"a"], 6: [b"b", b"c"]}
    assert one.collect({1: 1, 6: 1}) == {6: [b"c"]}
    assert one.look()[6].inbox == 2
    one.take(6, "", 0, "one.1")
    assert one.commit(6, "one.1", 1, commit_of(received=1)) is Answered.DONE
    assert one.collect({6: 0}) == {6: [b"c"]}
    assert one.flush() is Answered.DONE


def test_a_turn_has_one_holder(engine: RedisServer, connect: Connect) -> None:
    name = f"turns{engine.port}"
    one, two = connect(engine.port, name), connect(engine.port, name)
    one.begin("one.1")
    two.begin("two.1")
    key = f"lb:{name}:a:192.0.2.1"
    assert one.turn("192.0.2.1", 50_000) == 0
    assert 30_000 < two.turn("192.0.2.1", 50_000) <= 50_000
    assert two.turn("192.0.2.2", 5000) == 0

    two.vault.renew(["192.0.2.1"], 90000)
    two.vault.rest("192.0.2.1", 90000)
    two.turn("192.0.2.1", 1)
    assert engine("PTTL", key) <= 50_000, "another's turn was changed"
    one.vault.renew(["192.0.2.1"], 80_000)
    assert 50_000 < one.turn("192.0.2.1", 1) <= 80_000
    rested = monotonic()
    one.vault.rest("192.0.2.1", 700)
    one.turn("192.0.2.3", 1)
    assert two.turn("192.0.2.1", 5000) <= 700
    two.until(lambda: two.turn("192.0.2.1", 5000) == 0)
    assert monotonic() - rested >= 0.6
    two.vault.rest("192.0.2.1", 0)
    two.turn("192.0.2.3", 1)
    assert one.turn("192.0.2.1", 5000) == 0


def test_a_turn_that_went_to_another_is_left_alone(engine: RedisServer, connect: Connect) -> None:
    name = f"expired{engine.port}"
    one, two = connect(engine.port, name), connect(engine.port, name)
    one.begin("one.1")
    two.begin("two.1")
    assert one.turn("192.0.2.1", 20) == 0
    two.until(lambda: two.turn("192.0.2.1", 5000) == 0)
    one.vault.renew(["192.0.2.1"], 90000)
    assert 0 < one.turn("192.0.2.1", 1) <= 5000
    one.vault.rest("192.0.2.1", 90000)
    assert 0 < one.turn("192.0.2.1", 1) <= 5000


def test_a_turn_that_redis_keeps_too_long_is_taken_over(
    engine: RedisServer, connect: Connect
) -> None:
    """As it does when its clock is put back."""
    name = f"late{engine.port}"
    one, two = connect(engine.port, name), connect(engine.port, name)
    one.begin("one.1")
    two.begin("two.1")
    key = f"lb:{name}:a:192.0.2.1"
    assert one.turn("192.0.2.1", 60_000) == 0
    engine("PEXPIRE", key, 3_600_000)
    # It is renewed, so its node lives.
    for _ in range(4):
        assert 0 < two.turn("192.0.2.1", 60_000) <= 60_000
        one.vault.renew(["192.0.2.1"], 60_000)
        one.turn("192.0.2.2", 1)
        engine("PEXPIRE", key, 3_600_000)
        two.leap(20.0)
    one.vault.rest("192.0.2.1", 60_000)
    one.turn("192.0.2.2", 1)
    engine("PEXPIRE", key, 3_600_000)
    assert 0 < two.turn("192.0.2.1", 60_000) <= 60_000
    two.leap(30.0)
    assert 0 < two.turn("192.0.2.1", 60_000) <= 30_000
    two.leap(30.0)
    assert two.turn("192.0.2.1", 60_000) == 0
    assert 0 < engine("PTTL", key) <= 60_000


def test_a_turn_that_was_forgotten_rests_all_the_same(
    engine: RedisServer, connect: Connect
) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    assert one.turn("192.0.2.1", 5000) == 0
    key = next(key for key in engine("KEYS", "lb:*:a:192.0.2.1") if engine("PTTL", key) > 0)
    engine("DEL", key)
    one.vault.rest("192.0.2.1", 60000)
    assert one.turn("192.0.2.1", 5000) > 5000


def test_a_turn_that_was_forgotten_is_granted_again_by_its_renewal(
    engine: RedisServer, connect: Connect
) -> None:
    name = f"renewed{engine.port}"
    one, two = connect(engine.port, name), connect(engine.port, name)
    one.begin("one.1")
    two.begin("two.1")
    assert one.turn("192.0.2.1", 5000) == 0
    assert engine("DEL", f"lb:{name}:a:192.0.2.1") == 1
    one.vault.renew(["192.0.2.1"], 60000)
    one.turn("192.0.2.2", 1)
    assert 55000 < two.turn("192.0.2.1", 5000) <= 60000


def test_a_shard_is_taken_with_its_number_alone(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    assert one.take(0, "", 0, "one.1") == Gained(1)
    assert one.take(0, "", 0, "one.1") == Gained(1), "the answer to the first was lost"
    assert one.commit(0, "one.1", 1, commit_of()) is Answered.DONE
    for n in (0, 2, 5):
        assert one.take(0, "", n, "one.1") == Owned("one.1", 2)
    assert one.take(0, "one.1", 1, "two.1") == Owned("one.1", 2)
    assert one.take(0, "one.1", 2, "two.1") == Gained(3)


def test_scripts_that_the_server_forgot_are_loaded_again(
    engine: RedisServer, connect: Connect
) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    engine("SCRIPT", "FLUSH")
    answers = [one.start("take", shard, "", 0, "one.1") for shard in range(8)]
    one.until(lambda: all(answers))
    assert answers == [[Gained(1)]] * 8


def test_a_server_that_is_full_is_waited_for(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    one.take(0, "", 0, "one.1")
    engine("CONFIG", "SET", "maxmemory", "1")
    try:
        answers = one.start("commit", 0, "one.1", 1, commit_of(b"x" * 8, {0: b"y"}, owing=1))
        one.until(lambda: one.client.trouble)
        assert "is full (maxmemory)" in one.client.trouble
        one.run(1.2)
        assert "is full (maxmemory)" in one.client.trouble and answers == []
    finally:
        engine("CONFIG", "SET", "maxmemory", "0")
    one.until(lambda: answers)
    assert answers == [Answered.DONE]
    one.until(lambda: not one.client.trouble)
    part = one.load(0, "")
    assert part.fingerprints == b"x" * 8


def test_a_crawl_of_another_version_is_refused(engine: RedisServer, connect: Connect) -> None:
    name = f"other{engine.port}"
    key = f"lb:{{{name}}}:crawl"
    engine("HSET", key, "id", "x", "settings", json.dumps({}), "state", "new", "runs", "")
    engine("HSET", key, "format", "99")
    one = connect(engine.port, name)
    with pytest.raises(Exception, match="format 99, not 2"):
        one.open(SETTINGS)


def test_an_error_that_nobody_expects_ends_the_crawl_in_one_line(
    engine: RedisServer, connect: Connect
) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    engine("ACL", "SETUSER", "default", "-rpush")
    try:
        with pytest.raises(
            UserError, match=r"^Redis 127\.0\.0\.1:\d+: .*(can.t|permissions to) run "
        ):
            one.surely("post", {2: b"=letter"})
    finally:
        engine("ACL", "SETUSER", "default", "+rpush")
    assert not isinstance(one.vault.lost, Away)


@pytest.mark.parametrize("kind", "hsbic")
def test_a_key_of_another_type_is_named_with_the_remedy(
    engine: RedisServer, connect: Connect, kind: str
) -> None:
    name = f"foreign{kind}{engine.port}"
    one = connect(engine.port, name)
    one.begin("one.1")
    one.take(2, "", 0, "one.1")
    key = f"lb:{{{name}.2}}:{kind}"
    engine("SET", key, "somebody else's")
    commit = commit_of(b"x" * 8, {0: b"y"}, owing=1, received=1, counts={"p": 1})
    with pytest.raises(UserError) as raised:
        one.surely("commit", 2, "one.1", 1, commit)
    line = str(raised.value)
    assert line.startswith(f"Redis 127.0.0.1:{engine.port} has a string as {key}, which must be a ")
    assert line.endswith(f": DEL {key}")
    # That helps.
    engine("DEL", key)
    assert connect(engine.port, name).open(SETTINGS).created is False


def test_each_key_that_may_have_another_type_is_known() -> None:
    for key in (b"lb:{n}:crawl", b"lb:{n}:answer:1-0", b"lb:n:a:http://[::1]:81", b"lb:n:n:1f"):
        assert "has a zset as lb:" in wrong_type(key, "zset")
    assert wrong_type(b"lb:n:n:absent", "stream") == wrong_type(b"lb:n:n:1f", "hash") == ""
    assert wrong_type(b"lb:{n}:orders", "none") == ""


@pytest.mark.parametrize(
    ("kind", "remedy", "after"),
    [
        ("i", "in 0", ShardLook("one.1", 2, 1, 0)),
        ("b", "owed 0", ShardLook("one.1", 2, 0, 2)),
        ("h", "n 1 owed 1", ShardLook("", 1, 1, 2)),
    ],
)
def test_a_lost_key_is_named_with_the_remedy(
    engine: RedisServer, connect: Connect, kind: str, remedy: str, after: ShardLook
) -> None:
    name = f"lost{kind}{engine.port}"
    one = connect(engine.port, name)
    one.begin("one.1")
    one.take(2, "", 0, "one.1")
    for _ in range(3):
        one.post({2: b"=letter"})
    commit = commit_of(b"x" * 8, {0: b"y"}, owing=1, received=1)
    assert one.commit(2, "one.1", 1, commit) is Answered.DONE
    assert one.look()[2] == ShardLook("one.1", 2, 1, 2)
    stem = f"lb:{{{name}.2}}"
    engine("DEL", f"{stem}:{kind}")
    with pytest.raises(UserError) as raised:
        one.surely("look")
    line = str(raised.value)
    assert line.startswith(f"Redis 127.0.0.1:{engine.port} has lost {stem}:{kind}, or a part of it")
    assert line.endswith(f"go on without: HSET {stem}:h {remedy}")
    engine("HSET", *line.rpartition("HSET ")[2].split())
    other = connect(engine.port, name)
    other.open(SETTINGS)
    assert other.look()[2] == after


def test_letters_that_came_after_a_loss_do_not_hide_it(
    engine: RedisServer, connect: Connect
) -> None:
    name = f"hidden{engine.port}"
    one = connect(engine.port, name)
    one.begin("one.1")
    one.take(2, "", 0, "one.1")
    one.post({2: b"=letter"})
    engine("DEL", f"lb:{{{name}.2}}:i")
    one.post({2: b"=letter"})
    with pytest.raises(UserError, match=r"in 1$"):
        one.surely("look")
