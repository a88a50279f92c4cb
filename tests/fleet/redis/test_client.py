"""The client by a told clock: redirects, what is put off, looks at a Cluster, what is forgotten."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from larbinpy.errors import UserError
from larbinpy.fleet.redis.client import LATER, SOON, RedisAway, Settling
from larbinpy.fleet.redis.link import AWAY, RedisCall
from larbinpy.fleet.redis.overview import Asker
from larbinpy.fleet.redis.vault import RedisVault
from larbinpy.fleet.redis.wire import pack
from larbinpy.fleet.vault import Answered, Away, ShardLook
from tests.support.scriptedredis import CUT, SILENCE, ScriptedRedis, ScriptedWorld, owned

PING = pack("PING")
#: Seconds between two looks at a Cluster in which nothing happens.
USUALLY = 5.0
LAST = 16383

Make = Callable[..., ScriptedWorld]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes worlds: `make(servers, FIELD=...)`."""
    made: list[ScriptedWorld] = []

    def make(count: int = 1, **info: str) -> ScriptedWorld:
        made.append(ScriptedWorld(info, count))
        return made[-1]

    yield make
    for world in made:
        world.close()


def cluster(make: Make, count: int = 2) -> ScriptedWorld:
    """Servers of a Cluster, of which the first has all slots."""
    world = make(count, cluster_enabled="1")
    tell(world, (0, LAST, world.servers[0]))
    return world


def tell(world: ScriptedWorld, *ranges: tuple[int, int, ScriptedRedis]) -> None:
    """Let all servers tell these owners."""
    for server in world.servers:
        server.slots = owned(*ranges)


def replies(*texts: Any) -> Callable[[list[bytes]], Any]:
    """These replies in turn, then OK."""
    left = list(texts)
    return lambda command: left.pop(0) if left else "OK"


def names(server: ScriptedRedis) -> list[bytes]:
    return [command[0] for command in server.said]


# Errors.


@pytest.mark.parametrize(
    ("error", "after", "shown"),
    [
        ("-TRYAGAIN Multiple keys request", SOON, ""),
        ("-LOADING Redis is loading", LATER, "is loading its data"),
        ("-BUSY Redis is busy", LATER, "is busy with a script of somebody"),
        ("-OOM command not allowed", LATER, "is full (maxmemory): give it more memory"),
        ("-MISCONF Redis is configured to", LATER, "cannot write its data to the disk"),
        ("-NOREPLICAS Not enough good", LATER, "has too few replicas (min-replicas-to-write)"),
        ("-ERR Error running script (call to f_1): @user_script:3: -OOM x", LATER, "is full"),
    ],
)
def test_an_error_that_passes_is_tried_again_after_its_time(
    make: Make, error: str, after: float, shown: str
) -> None:
    world = make()
    world.open()
    [server] = world.servers
    server.reply = replies(error)
    answers = world.ask(PING)
    world.rest()
    assert len(server.said) == 1
    assert shown in world.client.trouble and bool(world.client.trouble) == bool(shown)
    assert world.client.deadline == world.now + after
    world.rest(after - 0.01)
    assert (len(server.said), answers) == (1, [])
    world.rest(0.01)
    assert (len(server.said), answers) == (2, [b"OK"])
    # It is shown while it lasts, and some time longer: it may come again.
    assert bool(world.client.trouble) == bool(shown)
    world.rest(2 * LATER)
    assert world.client.trouble == ""


@pytest.mark.parametrize(
    ("error", "is_told_at_once"),
    [("-OOM command not allowed", True), ("-MISCONF Redis is", True), ("-NOREPLICAS x", False)],
)
def test_a_command_that_begins_waits_for_no_operator(
    make: Make, error: str, is_told_at_once: bool
) -> None:
    world = make()
    world.open()
    world.servers[0].reply = lambda command: error
    turns = itertools.count()
    asker = Asker(world.client, world.poller, lambda: world.now, lambda: next(turns) > 20)
    with pytest.raises(RedisAway if is_told_at_once else KeyboardInterrupt):
        asker.ask(lambda then: world.client.send(0, PING, then))


def test_scripts_that_are_not_there_are_loaded_before_it_is_tried_again(make: Make) -> None:
    world = make()
    world.open()
    [server] = world.servers
    server.heard.clear()
    server.reply = replies("-NOSCRIPT No matching script")
    answers = world.ask(pack("EVALSHA", "a", 0))
    world.rest()
    assert answers == [b"OK"]
    assert server.heard[0] == server.heard[-1] == "EVALSHA"
    assert set(server.heard[1:-1]) == {"SCRIPT"}


def test_an_error_that_nobody_expects_is_one_line_for_the_user(make: Make) -> None:
    world = make()
    world.open()
    [server] = world.servers
    server.reply = replies("-WHAT is this")
    answers = world.ask(PING)
    with pytest.raises(UserError, match=rf"^Redis 127\.0\.0\.1:{server.port}: WHAT is this$"):
        world.rest()
    assert answers == [AWAY]


def test_errors_of_a_question_to_one_server_are_its_answer(make: Make) -> None:
    world = make()
    world.open()
    answers: list[Any] = []
    world.servers[0].reply = replies("-OOM is full")
    [link] = world.client.topology.masters
    link.send(RedisCall(PING, answers.append))
    world.rest()
    assert str(answers[0]) == "OOM is full"
    assert world.client.trouble == ""


def test_an_error_of_a_slot_that_moves_brings_a_look(make: Make) -> None:
    world = cluster(make, 1)
    world.open()
    [server] = world.servers
    server.reply = replies("-TRYAGAIN Multiple keys request")
    before = looks(world)
    answers = world.ask(PING)
    world.rest()
    world.rest(SOON)
    assert (answers, looks(world)) == ([b"OK"], before + 1)


def test_a_server_that_was_never_reached_is_named(make: Make) -> None:
    world = make(2)
    for server in world.servers:
        server.close()
    world.until(lambda: world.away)
    assert world.client.trouble.startswith(f"Redis {world.servers[0].server} does not answer")


def test_a_master_whose_connection_ended_is_connected_again_at_once(make: Make) -> None:
    world = cluster(make)
    first, second = world.servers
    tell(world, (0, 99, first), (100, LAST, second))
    world.open()
    second.cut()
    world.come_back(second)
    answers = world.ask(PING, 100)
    world.rest()
    assert (answers, world.client.lost) == ([b"OK"], "")


# Redirects.


def test_a_slot_that_is_being_moved_is_asked_at_its_target(make: Make) -> None:
    world = cluster(make)
    world.open()
    first, second = world.servers
    first.reply = replies(f"-ASK 7 127.0.0.1:{second.port}")
    answers = world.ask(PING, 7)
    world.rest()
    assert answers == [b"OK"]
    assert names(second) == [b"ASKING", b"PING"], "it would send it back"
    # The slot is not its own yet.
    assert world.ask(PING, 7) == []
    world.rest()
    assert names(first) == [b"PING", b"PING"]


def test_a_slot_that_has_moved_to_a_known_master_is_asked_there_at_once(make: Make) -> None:
    world = cluster(make)
    first, second = world.servers
    tell(world, (0, 99, first), (100, LAST, second))
    world.open()
    first.reply = replies(f"-MOVED 7 127.0.0.1:{second.port}")
    answers = world.ask(PING, 7)
    world.rest()
    assert answers == [b"OK"]
    world.ask(PING, 7)
    world.ask(PING, 8)
    world.rest()
    assert (names(second), names(first)) == ([b"PING"] * 2, [b"PING"] * 2)


def test_a_slot_that_has_moved_to_an_unknown_master_waits_for_a_look(make: Make) -> None:
    world = cluster(make)
    world.open()
    first, second = world.servers
    first.reply = replies(*[f"-MOVED 7 127.0.0.1:{second.port}"] * 2)
    answers = world.ask(PING, 7)
    world.rest()
    assert answers == [] and names(second) == []
    tell(world, (0, 6, first), (7, LAST, second))
    world.rest(SOON)
    world.rest(SOON)
    assert world.client.lost, "a new master may have forgotten writes"
    assert answers == [AWAY]


def test_two_masters_that_name_each_other_are_not_asked_without_a_pause(make: Make) -> None:
    world = cluster(make)
    first, second = world.servers
    tell(world, (0, 99, first), (100, LAST, second))
    world.open()
    first.reply = lambda command: f"-MOVED 7 127.0.0.1:{second.port}"
    second.reply = lambda command: f"-MOVED 7 127.0.0.1:{first.port}"
    answers = world.ask(PING, 7)
    world.rest()
    assert (len(first.said), len(second.said)) == (1, 1)
    assert world.client.deadline == world.now + SOON
    second.reply = lambda command: "OK"
    for _ in range(2):
        world.rest(SOON)
    assert answers == [b"OK"]


# Looks at a Cluster.


def looks(world: ScriptedWorld) -> int:
    return sum(server.heard.count("CLUSTER") for server in world.servers)


def test_a_cluster_is_looked_at_every_five_seconds(make: Make) -> None:
    world = cluster(make, 1)
    world.open()
    for _ in range(3):
        before = looks(world)
        assert world.client.deadline == world.now + USUALLY
        world.rest(USUALLY - 0.01)
        assert looks(world) == before
        world.rest(0.01)
        assert looks(world) == before + 1


def test_one_look_is_under_way_at_a_time(make: Make) -> None:
    world = cluster(make, 1)
    world.open()
    world.servers[0].slots = SILENCE
    world.rest(USUALLY)
    before = looks(world)
    for _ in range(5):
        world.client.topology.look_soon()
        world.rest(SOON)
    assert looks(world) == before


@pytest.mark.parametrize("failure", ["-ERR This instance has no map", CUT])
def test_a_look_that_failed_is_repeated(make: Make, failure: Any) -> None:
    world = cluster(make, 1)
    world.open()
    [server] = world.servers
    good, server.slots = server.slots, failure
    world.rest(USUALLY)
    before = looks(world)
    server.slots = good
    world.rest(LATER)
    world.rest(LATER)
    assert looks(world) > before
    # Again in its time.
    before = looks(world)
    world.rest(USUALLY)
    assert looks(world) == before + 1


def test_a_look_that_a_dead_server_was_never_sent_is_made_at_another(make: Make) -> None:
    world = cluster(make)
    first, second = world.servers
    tell(world, (0, 99, first), (100, LAST, second))
    world.open()
    first.reply = second.reply = lambda command: SILENCE
    world.ask(PING, 7)
    world.ask(PING, 100)
    world.rest()
    # The look is due in the step that takes both for dead.
    first.close()
    second.reply = lambda command: "OK"
    tell(world, (0, LAST, second))
    world.rest(USUALLY)
    for _ in range(3):
        world.rest(LATER)
    answers = world.ask(PING, 7)
    world.rest()
    assert answers == [b"OK"]


def test_a_cluster_without_a_master_for_each_slot_is_down(make: Make) -> None:
    world = cluster(make, 1)
    [server] = world.servers
    tell(world, (0, 99, server))
    world.until(lambda: world.away)
    assert world.away.endswith("has a Cluster that is down: 16284 slots have no master")
    tell(world, (0, LAST, server))
    world.now += LATER
    world.until(lambda: world.client.topology.is_open)


# What is forgotten.


def test_what_was_put_off_before_a_restart_is_never_sent(make: Make) -> None:
    world = make()
    world.open()
    [server] = world.servers
    server.reply = replies("-OOM is full")
    answers = world.ask(PING)
    world.rest()
    server.restart()
    world.come_back(server)
    world.rest()
    assert world.client.lost == f"Redis {server.server} was started anew"
    assert answers == [AWAY]
    world.client.resume()
    world.rest(LATER)
    assert names(server) == [b"PING"]
    again = world.ask(PING)
    world.rest()
    assert again == [b"OK"]


def test_a_restart_before_all_masters_were_reached_has_forgotten_nothing(make: Make) -> None:
    world = cluster(make, 1)
    [server] = world.servers
    server.slots = "-ERR not yet"
    answers = world.ask(PING)
    world.until(lambda: looks(world))
    server.restart()
    tell(world, (0, LAST, server))
    world.come_back(server)
    world.rest(LATER)
    assert (world.client.lost, answers) == ("", [b"OK"])


def test_a_request_for_one_server_goes_to_no_other(make: Make) -> None:
    world = cluster(make, 1)
    world.open()
    answers: list[Any] = []
    world.client.reroute([RedisCall(PING, answers.append)])
    assert world.client.deadline < world.now, "the loop would sleep"
    world.rest()
    assert answers == [AWAY]
    assert world.servers[0].said == []


def test_a_master_that_took_over_remembers_no_earlier_turns(make: Make) -> None:
    world = cluster(make)
    world.open()
    first, second = world.servers
    assert world.client.topology.age == 1000.0
    # It was asked as the first was, so its run is known.
    tell(world, (0, LAST, second))
    world.rest(USUALLY)
    world.until(lambda: world.client.lost)
    assert world.client.lost == f"Redis {second.server} became a master"
    assert 0.0 <= world.client.topology.age < 1.0
    assert first.said == []


def test_a_master_that_is_none_any_more_is_left(make: Make) -> None:
    world = cluster(make)
    first, second = world.servers
    tell(world, (0, 99, first), (100, LAST, second))
    world.open()
    assert {link.server for link in world.client.topology.links if link.is_ready} == {
        first.server,
        second.server,
    }
    tell(world, (0, LAST, first))
    world.rest(USUALLY)
    assert [link.server for link in world.client.topology.links if link.is_ready] == [first.server]
    second.close()
    world.rest(USUALLY)
    assert (world.client.trouble, world.client.lost) == ("", "")


def test_a_risk_is_warned_of_once(make: Make) -> None:
    world = make(aof_enabled="0")
    world.open()
    [server] = world.servers
    for _ in range(2):
        server.cut()
        world.come_back(server)
    assert len(world.client.warnings) == 1


# Flushes.


def settling(world: ScriptedWorld) -> list[Any]:
    answers: list[Any] = []
    world.client.call_soon(Settling(world.client, {0: b"w"}, answers.append).begin)
    return answers


def test_a_flush_writes_before_it_waits(make: Make) -> None:
    world = make(connected_slaves="1")
    world.open()
    [server] = world.servers
    server.reply = lambda command: 1
    answers = settling(world)
    world.rest()
    assert answers == [None]
    assert server.said == [[b"SET", b"w", b"", b"PX", b"1000"], [b"WAIT", b"1", b"200"]]


@pytest.mark.parametrize("count", [0, "-ERR WAIT cannot be used"])
def test_a_flush_that_no_replica_has_begins_again(make: Make, count: Any) -> None:
    world = make(connected_slaves="1")
    world.open()
    [server] = world.servers
    server.reply = replies("OK", count, "OK", 1)
    answers = settling(world)
    world.rest()
    assert answers == [None]
    assert names(server) == [b"SET", b"WAIT"] * 2


def test_a_wait_on_another_connection_than_the_write_counts_for_nothing(make: Make) -> None:
    world = make(connected_slaves="1")
    world.open()
    [server] = world.servers
    # It has become a replica: the answer to what follows the write ends the connection.
    server.reply = replies("OK", "-READONLY", 1, "OK", "OK", 1)
    answers = settling(world)
    world.client.call_soon(lambda: world.client.send(0, PING, lambda _: None))
    world.come_back(server)
    world.rest(SOON)
    assert answers == [None]
    assert names(server) == [b"SET", b"PING", b"WAIT", b"PING", b"SET", b"WAIT"]


def test_a_flush_whose_wait_is_not_answered_is_away(make: Make) -> None:
    world = make(connected_slaves="1")
    world.open()
    [server] = world.servers
    server.reply = replies("OK", CUT)
    answers = settling(world)
    world.until(lambda: answers)
    assert answers == [AWAY]


def test_a_flush_that_was_lost_is_made_up_for_by_the_next(make: Make) -> None:
    world = make(connected_slaves="1")
    world.open()
    [server] = world.servers
    vault = RedisVault(world.client)
    left: list[Any] = []
    server.reply = lambda command: -1 if command[0] == b"EVALSHA" else 1
    vault.leave(3, "one.1", 1, left.append)
    world.rest()
    assert left == [Answered.DONE]
    flushes: list[Any] = []
    server.reply = lambda command: CUT
    vault.flush(flushes.append)
    world.until(lambda: flushes)
    assert isinstance(flushes.pop(), Away)
    world.come_back(server)
    server.said.clear()
    server.reply = lambda command: 1
    for waits in ([b"SET", b"WAIT"], []):
        vault.flush(flushes.append)
        world.until(lambda: flushes)
        assert flushes.pop() is Answered.DONE
        assert names(server) == waits
        server.said.clear()


def test_a_session_waits_for_its_own_writes_alone(make: Make) -> None:
    world = make(connected_slaves="1")
    world.open()
    [server] = world.servers
    vault = RedisVault(world.client)
    answers: list[Any] = []
    server.reply = replies(-1, [[], b"new", b"0-0"], 1)
    vault.leave(3, "one.1", 1, answers.append)
    vault.join("one.2", answers.append)
    vault.flush(answers.append)
    world.rest()
    assert len(answers) == 3
    assert b"WAIT" not in names(server)


def test_without_replicas_a_flush_waits_for_nothing(make: Make) -> None:
    world = make()
    world.open()
    answers = settling(world)
    world.rest()
    assert (answers, world.servers[0].said) == ([None], [])


# Verbs on a Cluster.


def test_each_script_on_a_cluster_has_the_keys_of_one_slot(make: Make) -> None:
    world = cluster(make, 1)
    [server] = world.servers
    made = [b"one", b'{"shards": "5"}', b"new", b"", b"2", 1]
    server.reply = lambda command: made
    vault = RedisVault(world.client)
    found: list[Any] = []
    vault.open({"shards": "5"}, found.append)
    world.until(lambda: found)
    server.said.clear()
    server.reply = lambda command: [b"", 0, 0, 0]
    looked: list[Any] = []
    vault.look(looked.append)
    world.until(lambda: looked)
    assert looked == [[ShardLook("", 0, 0, 0)] * 5]
    assert [command[2] for command in server.said] == [b"4"] * 5
    server.said.clear()
    server.reply = lambda command: []
    letters: list[Any] = []
    vault.collect(dict.fromkeys(range(5), 0), letters.append)
    world.until(lambda: letters)
    assert [command[2] for command in server.said] == [b"1"] * 5
