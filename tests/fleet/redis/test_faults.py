"""Answers that are lost, connections that end, servers that restart or fall silent."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

from larbinpy.fleet.vault import Answered, Away, Behind, Gained
from tests.support.cuttingproxy import CuttingProxy
from tests.support.ports import free_port
from tests.support.redisserver import Cluster, RedisServer, program_of
from tests.support.redisvault import Asker, commit_of

Connect = Callable[..., Asker]


@contextmanager
def proxied(connect: Connect, server: RedisServer) -> Iterator[tuple[Asker, CuttingProxy]]:
    """The end of a node behind a proxy, as a member with shard 0."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    asker = connect(port)
    proxy = CuttingProxy(asker.poller, server.port, port)
    try:
        asker.begin("one.1")
        assert asker.take(0, "", 0, "one.1") == Gained(1)
        yield asker, proxy
    finally:
        proxy.close()


def test_a_commit_whose_answer_was_lost_is_recognised(
    engine: RedisServer, connect: Connect
) -> None:
    with proxied(connect, engine) as (one, proxy):
        commit = commit_of(b"x" * 8, owing=1)
        proxy.loses_answers = True
        assert isinstance(one.commit(0, "one.1", 1, commit), Away)
        assert one.surely("commit", 0, "one.1", 1, commit) == Behind(2)
        assert one.load(0, "").fingerprints == b"x" * 8
        assert one.vault.lost == ""


def test_a_letter_whose_answer_was_lost_comes_twice(engine: RedisServer, connect: Connect) -> None:
    with proxied(connect, engine) as (one, proxy):
        proxy.loses_answers = True
        assert isinstance(one.post({1: b"a", 2: b"b"}), Away)
        assert one.surely("post", {1: b"a", 2: b"b"}) is Answered.DONE
        assert one.collect({1: 0, 2: 0}) == {1: [b"a", b"a"], 2: [b"b", b"b"]}


def test_a_take_whose_answer_was_lost_is_taken(engine: RedisServer, connect: Connect) -> None:
    with proxied(connect, engine) as (one, proxy):
        proxy.loses_answers = True
        assert isinstance(one.take(3, "", 0, "one.1"), Away)
        assert one.surely("take", 3, "", 0, "one.1") == Gained(1)


def test_every_verb_is_answered_once_when_the_connection_ends(
    engine: RedisServer, connect: Connect
) -> None:
    with proxied(connect, engine) as (one, proxy):
        asked = {
            "open": ({"shards": "8"},),
            "beat": ("one.1",),
            "bury": ("nobody", 3),
            "look": (),
            "load": (0, ""),
            "leave": (0, "two.1", 1),
            "collect": ({0: 0, 5: 0},),
            "turn": ("192.0.2.1", 10),
        }
        proxy.loses_answers = True
        answers = {verb: one.start(verb, *arguments) for verb, arguments in asked.items()}
        one.until(lambda: all(answers.values()))
        one.run(0.3)
        assert {verb: len(answer) for verb, answer in answers.items()} == dict.fromkeys(asked, 1)
        assert all(isinstance(answer[0], Away) for answer in answers.values())
        assert one.flush() is Answered.DONE
        assert one.client.trouble == "" and one.vault.lost == ""


def test_a_silent_network_counts_as_away_after_five_seconds(
    redis: RedisServer, connect: Connect
) -> None:
    with proxied(connect, redis) as (one, proxy):
        proxy.is_silent = True
        answers = one.start("beat", "one.1")
        one.run(0.1)
        one.leap(4.0)
        one.run(0.1)
        assert answers == []
        one.leap(1.0)
        one.until(lambda: answers, 1.5)
        assert isinstance(answers[0], Away)
        assert one.client.trouble.endswith("does not answer")
        proxy.is_silent = False
        assert not isinstance(one.surely("beat", "one.1"), Away)
        assert one.vault.lost == ""


def test_what_was_not_sent_waits_for_the_next_connection(
    redis: RedisServer, connect: Connect
) -> None:
    """So nobody asks in circles while Redis is away."""
    one = connect(redis.port)
    one.begin("one.1")
    redis.end()
    one.until(lambda: one.client.trouble)
    answers = one.start("beat", "one.1")
    one.run(0.5)
    assert answers == []
    assert one.client.trouble.startswith(f"Redis 127.0.0.1:{redis.port} does not answer")
    redis.start()
    one.until(lambda: answers)
    assert one.client.trouble == ""


def test_a_restart_is_recognised_and_nothing_is_sent_until_the_next_join(
    redis: RedisServer, connect: Connect
) -> None:
    one = connect(redis.port)
    one.begin("one.1")
    one.take(0, "", 0, "one.1")
    assert one.commit(0, "one.1", 1, commit_of(b"x" * 8, counts={"p": 1})) is Answered.DONE
    assert one.vault.up == inf and one.vault.lost == ""
    redis.end()
    one.until(lambda: one.client.trouble)
    relies_on_what_is_gone = one.start("commit", 0, "one.1", 2, commit_of(b"y" * 8))
    redis.start()
    one.until(lambda: one.vault.lost)
    assert "was started anew" in one.vault.lost
    one.until(lambda: relies_on_what_is_gone)
    assert isinstance(relies_on_what_is_gone[0], Away)
    assert isinstance(one.commit(0, "one.1", 2, commit_of(b"y" * 8)), Away)

    assert "one.2" in one.join("one.2").sessions
    assert one.vault.lost == "" and one.vault.up < 10
    assert one.take(0, "one.1", 2, "one.2") == Gained(3)
    part = one.load(0, "")
    assert (part.fingerprints, part.counts) == (b"x" * 8, {"p": 1})


def test_a_server_that_sleeps_is_waited_for(redis: RedisServer, connect: Connect) -> None:
    one = connect(redis.port)
    one.begin("one.1")
    redis.signal(signal.SIGSTOP)
    answers = one.start("beat", "one.1")
    one.run(1.0)
    redis.signal(signal.SIGCONT)
    one.until(lambda: answers)
    assert not isinstance(answers[0], Away) and one.vault.lost == ""


def test_much_goes_through_small_buffers(engine: RedisServer, connect: Connect) -> None:
    """More than the system takes at once, in both directions."""
    one = connect(engine.port)
    one.begin("one.1")
    one.take(0, "", 0, "one.1")
    blocks = {number: bytes([number]) * 1_000_000 for number in range(16)}
    assert one.commit(0, "one.1", 1, commit_of(blocks=blocks)) is Answered.DONE
    found: list[tuple[int, bytes, bytes]] = []
    cursor: str | None = one.load(0, "").cursor
    while cursor is not None:
        part = one.load(0, cursor)
        found += part.blocks
        cursor = part.cursor
    assert [(number, lines) for number, lines, _ in found] == list(blocks.items())


def test_more_is_asked_than_may_be_unanswered(engine: RedisServer, connect: Connect) -> None:
    one = connect(engine.port)
    one.begin("one.1")
    answers: list[int | Away] = []
    for number in range(10_000):
        one.vault.turn(f"10.0.{number >> 8}.{number & 255}", 10, answers.append)
    one.until(lambda: len(answers) == 10_000)
    assert set(answers) == {0}


def test_loading_is_waited_for(redis: RedisServer, connect: Connect) -> None:
    one = connect(redis.port)
    one.begin("one.1")
    filler = "for k = 1, 10000 do redis.call('SET', 'filler' .. k, 'x') end"
    redis("EVAL", filler, 0)
    redis.end()
    # Microseconds for each command.
    redis.options["key-load-delay"] = "100"
    redis.start(waits=False)
    one.until(lambda: one.client.trouble.endswith("is loading its data"))
    late = connect(redis.port)
    opened = late.start("open", {"shards": "8"})
    late.until(lambda: late.client.trouble.endswith("is loading its data"))
    one.until(lambda: one.vault.lost)
    late.until(lambda: opened)
    assert one.join("one.2").sessions and one.client.trouble == ""


def test_a_replica_that_is_promoted_by_hand_takes_over(
    redis: RedisServer, tmp_path: Path, connect: Connect
) -> None:
    options = {"replicaof": f"127.0.0.1 {redis.port}"}
    replica = RedisServer(tmp_path / "replica", program_of("redis"), free_port(), **options)
    replica.start()
    try:
        Cluster.wait(lambda: replica.info("master_link_status") == "up")
        one = connect(f"127.0.0.1:{redis.port},127.0.0.1:{replica.port}")
        one.begin("one.1")
        assert one.take(0, "", 0, "one.1") == Gained(1)
        assert one.flush() is Answered.DONE
        redis.end()
        one.until(lambda: one.client.trouble)
        replica("REPLICAOF", "NO", "ONE")
        one.until(lambda: one.vault.lost)
        assert one.vault.lost == f"Redis 127.0.0.1:{replica.port} took over"
        assert one.join("one.2").sessions and one.vault.up < 5
        assert one.take(0, "one.1", 1, "one.2") == Gained(2)

        # And back, while it runs: now it refuses to write.
        redis.start()
        replica("REPLICAOF", "127.0.0.1", redis.port)
        answers = one.start("leave", 0, "one.2", 2)
        one.until(lambda: one.vault.lost)
        one.until(lambda: answers)
        assert one.vault.lost == f"Redis 127.0.0.1:{redis.port} was started anew"
        assert isinstance(answers[0], Away)
    finally:
        replica.end()


def test_a_flush_waits_for_the_replica_of_a_single_server(
    redis: RedisServer, tmp_path: Path, connect: Connect
) -> None:
    options = {"replicaof": f"127.0.0.1 {redis.port}"}
    replica = RedisServer(tmp_path / "replica", program_of("redis"), free_port(), **options)
    replica.start()
    try:
        Cluster.wait(lambda: redis.info("connected_slaves") == "1")
        Cluster.wait(lambda: replica.info("master_link_status") == "up")
        one = connect(redis.port)
        one.begin("one.1")
        one.take(0, "", 0, "one.1")
        replica.signal(signal.SIGSTOP)
        flushed = one.start("flush")
        one.run(0.7)
        assert flushed == []
        replica.signal(signal.SIGCONT)
        one.until(lambda: flushed)
        one.take(1, "", 0, "one.1")
        replica.end()
        assert one.flush() is Answered.DONE, "there is no replica any more"
    finally:
        replica.end()
