"""A Cluster of three masters and three replicas: redirects, moves of slots, failovers."""

import signal
from collections.abc import Callable

import pytest

from larbinpy.fleet.redis.scripts import Keys
from larbinpy.fleet.vault import Answered, Away, Behind, Gained
from tests.support.redisserver import ENGINES, Cluster, RedisServer, begin_move
from tests.support.redisvault import Asker, commit_of

pytestmark = pytest.mark.slow

Connect = Callable[..., Asker]

on_each_engine = pytest.mark.parametrize("cluster", sorted(ENGINES), indirect=True)

SHARDS = 64
KEYS = Keys("news")


def member(cluster: Cluster, connect: Connect, session: str = "one.1") -> Asker:
    asker = connect(cluster.nodes[0].port, "news")
    asker.begin(session, {"shards": str(SHARDS)})
    return asker


def take_all(asker: Asker, session: str = "one.1") -> None:
    answers = [asker.start("take", shard, "", 0, session) for shard in range(SHARDS)]
    asker.until(lambda: all(answers))
    assert answers == [[Gained(1)]] * SHARDS


def master_of(cluster: Cluster, slot: int) -> RedisServer:
    """The master that the other nodes take for that of a slot."""
    port = cluster.owner(slot, cluster.nodes[-1])
    return next(node for node in cluster.nodes if node.port == port)


@on_each_engine
def test_all_verbs_reach_the_right_masters(cluster: Cluster, connect: Connect) -> None:
    one = member(cluster, connect)
    take_all(one)
    commits = [
        one.start("commit", shard, "one.1", 1, commit_of(b"%08d" % shard, {0: b"x"}, owing=1))
        for shard in range(SHARDS)
    ]
    one.until(lambda: all(commits))
    assert commits == [[Answered.DONE]] * SHARDS
    assert one.post(dict.fromkeys(range(SHARDS), b"letter")) is Answered.DONE
    assert one.flush() is Answered.DONE
    letters = one.collect(dict.fromkeys(range(SHARDS), 0))
    assert letters == {shard: [b"letter"] for shard in range(SHARDS)}
    assert [tuple(standing) for standing in one.look()] == [("one.1", 2, 1, 1)] * SHARDS
    assert one.load(63, "").fingerprints == b"00000063"
    assert {one.turn(f"192.0.2.{k}", 9000) for k in range(30)} == {0}
    assert all(node("DBSIZE") > 0 for node in cluster.nodes)

    other = connect(cluster.nodes[4].port, "news")
    assert not other.open({}).created, "a replica leads to the masters"
    assert other.turn("192.0.2.3", 1) > 1


def test_a_flush_waits_for_a_replica(cluster: Cluster, connect: Connect) -> None:
    one = member(cluster, connect)
    take_all(one)
    assert one.flush() is Answered.DONE
    master = master_of(cluster, KEYS.shard(0).slot)
    replicas = [node for node in cluster.nodes if node.info("role") == "slave"]
    replica = next(node for node in replicas if node.info("master_port") == str(master.port))
    replica.signal(signal.SIGSTOP)
    one.leave(0, "one.1", 1)
    flushed = one.start("flush")
    one.run(0.7)
    assert flushed == []
    replica.signal(signal.SIGCONT)
    one.until(lambda: flushed)
    assert flushed == [Answered.DONE]
    one.leave(0, "one.1", 1)
    replica.end()
    # As soon as the Cluster takes it for dead there is nothing to wait for.
    assert one.flush() is Answered.DONE


@on_each_engine
def test_a_failover_is_recognised_and_nothing_that_was_flushed_is_gone(
    cluster: Cluster, connect: Connect
) -> None:
    one = member(cluster, connect)
    take_all(one)
    done = {}
    for shard in range(SHARDS):
        done[shard] = one.start("commit", shard, "one.1", 1, commit_of(b"%08d" % shard))
    one.until(lambda: all(done.values()))
    assert one.flush() is Answered.DONE
    killed = master_of(cluster, KEYS.shard(0).slot)
    killed.end()
    answers = [
        one.start("commit", shard, "one.1", 2, commit_of(b"%08d" % shard))
        for shard in range(SHARDS)
    ]
    one.until(lambda: one.vault.lost)
    assert "became a master" in one.vault.lost
    one.until(lambda: all(answers))
    assert isinstance(one.beat("one.1"), Away)

    assert "one.2" in one.surely("join", "one.2").sessions
    assert one.vault.lost == "" and one.vault.up < 20
    for shard, standing in enumerate(one.surely("look")):
        taken = one.surely("take", shard, "one.1", standing.n, "one.2")
        assert taken == Gained(standing.n + 1)
        assert one.load(shard, "").fingerprints.startswith(b"%08d" % shard)
    assert one.surely("flush") is Answered.DONE

    two = connect(cluster.nodes[-1].port, "news")
    assert not two.open({}).created
    assert two.vault.up < 5, "longer ago it may not have been a master"

    killed.start()
    one.run(1.0)
    assert one.vault.lost == "", "the old master came back as a replica"
    assert one.beat("one.2").sessions


def test_a_master_that_restarts_before_a_replica_takes_over(
    cluster: Cluster, connect: Connect
) -> None:
    one = member(cluster, connect)
    master = master_of(cluster, KEYS.shard(0).slot)
    take_all(one)
    master.end()
    master.start()
    one.until(lambda: one.vault.lost)
    assert one.vault.lost == f"Redis 127.0.0.1:{master.port} was started anew"
    assert one.join("one.2").sessions and one.take(0, "one.1", 1, "one.2") == Gained(2)


def test_an_orderly_failover_is_recognised(cluster: Cluster, connect: Connect) -> None:
    one = member(cluster, connect)
    take_all(one)
    replica = next(node for node in cluster.nodes if node.info("role") == "slave")
    replica("CLUSTER", "FAILOVER")
    Cluster.wait(lambda: replica.info("role") == "master")
    for shard in range(SHARDS):
        one.leave(shard, "one.1", 1)
    one.until(lambda: one.vault.lost)
    assert "became a master" in one.vault.lost


@on_each_engine
def test_slots_move_while_commits_run(cluster: Cluster, connect: Connect) -> None:
    """Each commit counts once, also those that met a slot half moved."""
    one = member(cluster, connect)
    take_all(one)
    prints: dict[int, list[bytes]] = {shard: [] for shard in range(SHARDS)}
    waiting: dict[int, list[object]] = {}
    numbers = dict.fromkeys(range(SHARDS), 1)

    def go_on() -> None:
        """Answers are taken, and the next commits sent."""
        for shard in range(SHARDS):
            answers = waiting.get(shard)
            if answers is not None and not answers:
                continue
            if answers:
                assert answers in ([Answered.DONE], [Behind(numbers[shard] + 1)]), answers
                numbers[shard] += 1
            one_print = b"%02d%06d" % (shard, numbers[shard])
            prints[shard].append(one_print)
            commit = commit_of(one_print, {numbers[shard]: one_print}, owing=1)
            waiting[shard] = one.start("commit", shard, "one.1", numbers[shard], commit)
        one.pump()

    moved = [KEYS.shard(shard).slot for shard in range(0, SHARDS, 8)]
    for slot in moved:
        source = master_of(cluster, slot)
        masters = [node for node in cluster.nodes[:3] if node is not source]
        target = masters[slot % 2]
        begin_move(cluster, slot, source, target)
        for _ in range(3):
            go_on()
        keys = source("CLUSTER", "GETKEYSINSLOT", slot, 10)
        for key in keys:
            source("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
            for _ in range(3):
                go_on()
        cluster.end_move(slot, target, meanwhile=go_on)
        for _ in range(10):
            go_on()
    while min(map(len, prints.values())) <= 5:
        go_on()
    one.until(lambda: all(waiting.values()))
    assert one.flush() is Answered.DONE
    assert one.vault.lost == "" and one.client.trouble == ""
    for shard in range(SHARDS):
        assert one.load(shard, "").fingerprints == b"".join(prints[shard])


def test_letters_reach_a_slot_that_is_moving(cluster: Cluster, connect: Connect) -> None:
    one = member(cluster, connect)
    slot = KEYS.shard(5).slot
    source = master_of(cluster, slot)
    target = next(node for node in cluster.nodes[:3] if node is not source)
    begin_move(cluster, slot, source, target)
    assert one.take(5, "", 0, "one.1") == Gained(1), "by ASK, since the key is not at the source"
    posted = one.start("post", {5: b"a"})
    one.run(0.3)
    assert posted == [], "its keys may be at two servers"
    cluster.move_slot(slot, source, target)
    one.until(lambda: posted)
    assert one.post({5: b"b"}) is Answered.DONE
    assert one.collect({5: 0}) == {5: [b"a", b"b"]}
    assert one.vault.lost == ""
