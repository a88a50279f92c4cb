from collections.abc import Iterator
from random import Random, SystemRandom
from typing import Any

import pytest

from larbinpy.dns.lookup import TRIES, Answer
from larbinpy.dns.resolver import Resolver
from tests.support import nameserver as ns
from tests.support.resolverworld import ZONE, World, failed, found


@pytest.fixture
def world() -> Iterator[World]:
    with World() as it:
        yield it


# -- answers without a question


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("192.0.2.5", found("192.0.2.5", "192.0.2.5")),
        ("[2001:DB8::5]", found("[2001:DB8::5]", "2001:db8::5")),
        ("::1", found("::1", "::1")),
        ("known.test", found("known.test", "192.0.2.99")),
        ("KNOWN.test.", found("KNOWN.test.", "192.0.2.99")),
        ("localhost", found("localhost", "127.0.0.1", "::1")),
        ("a.localhost.", found("a.localhost.", "127.0.0.1", "::1")),
        ("a/b.test", failed("a/b.test", "badname")),
        ("<script>.test", failed("<script>.test", "badname")),
        ("a..test", failed("a..test", "badname")),
        ("", failed("", "badname")),
        ("[::1", failed("[::1", "badname")),
        ("x" * 64 + ".test", failed("x" * 64 + ".test", "badname")),
        ("x." * 127 + "test", failed("x." * 127 + "test", "badname")),
        ("nul\0.test", failed("nul\0.test", "badname")),
    ],
)
def test_no_question_is_sent_for(world: World, name: str, answer: Answer) -> None:
    assert world.resolver().ask(name, 0) == answer
    world.turn()
    assert world.servers[0].asked == []


# -- ordinary answers


@pytest.mark.parametrize(
    ("name", "answer", "questions"),
    [
        ("www.test", found("www.test", "192.0.2.1"), ["A"]),
        ("WWW.Test.", found("WWW.Test.", "192.0.2.1"), ["A"]),
        ("many.test", found("many.test", *ZONE["many.test"]), ["A"]),
        ("both.test", found("both.test", "192.0.2.7"), ["A"]),
        ("six.test", found("six.test", "2001:db8::1"), ["A", "AAAA"]),
        ("alias.test", found("alias.test", "192.0.2.1"), ["A"]),
        ("alias6.test", found("alias6.test", "2001:db8::1"), ["A", "AAAA"]),
        ("chain9.test", found("chain9.test", "192.0.2.20"), ["A"]),
        ("chain0.test", failed("chain0.test", "cnameloop"), ["A"]),
        ("loop.test", failed("loop.test", "cnameloop"), ["A"]),
        ("none.test", failed("none.test", "nxdomain"), ["A"]),
        ("empty.test", failed("empty.test", "nodata"), ["A", "AAAA"]),
    ],
)
def test_names(world: World, name: str, answer: Answer, questions: list[str]) -> None:
    world.resolver()
    assert world.resolve(name) == answer
    assert [kind for _, kind in world.servers[0].asked] == questions
    assert world.now == 1000


@pytest.mark.parametrize(
    ("name", "reason", "questions"),
    [
        ("alias.test", None, 3),
        ("alias6.test", None, 3),
        ("chain9.test", None, 12),
        ("chain0.test", "cnameloop", 12),
        ("loop.test", "cnameloop", 12),
    ],
)
def test_aliases_one_at_a_time(world: World, name: str, reason: str | None, questions: int) -> None:
    world.server().follows_aliases = False
    world.resolver()
    assert world.resolve(name).reason == reason
    assert len(world.servers[0].asked) == questions


def test_the_cache_answers_until_the_entry_expires(world: World) -> None:
    it = world.resolver()
    world.resolve("www.test")
    assert it.ask("WWW.test", world.now + 1799) == found("WWW.test", "192.0.2.1")
    assert it.ask("www.test", world.now + 1800) is None


def test_refresh_ignores_the_cache(world: World) -> None:
    world.server(dict(ZONE))
    world.resolver()
    world.resolve("www.test")
    world.servers[0].zone["www.test"] = ["192.0.2.2"]
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")
    assert world.resolve("www.test", refresh=True) == found("www.test", "192.0.2.2")
    assert world.resolve("www.test") == found("www.test", "192.0.2.2")


def test_a_failure_is_remembered(world: World) -> None:
    it = world.resolver()
    world.resolve("none.test")
    assert it.ask("none.test", world.now + 1) == failed("none.test", "nxdomain")
    # An absence is kept for the cache's own time; the 120 s of the zone's SOA are for a name
    # without addresses.
    assert it.ask("none.test", world.now + 3599) == failed("none.test", "nxdomain")
    assert it.ask("none.test", world.now + 3600) is None
    world.run()
    world.resolve("empty.test")
    assert it.ask("empty.test", world.now + 119) == failed("empty.test", "nodata")
    assert it.ask("empty.test", world.now + 120) is None


def test_a_name_in_flight_is_asked_for_once(world: World) -> None:
    it = world.resolver()
    for spelling in ("www.test", "www.test", "WWW.test", "www.test."):
        assert it.ask(spelling, world.now) is None
    assert it.queued == 1
    world.turn()
    assert it.ask("www.test", world.now, refresh=True) is None
    answers = world.run()
    assert [answer.name for answer in answers] == ["www.test", "WWW.test", "www.test."]
    assert world.servers[0].asked == [("www.test", "A")]


def test_in_flight_and_queue_are_bounded(world: World) -> None:
    server = world.server({f"n{n}.test": ["192.0.2.1"] for n in range(60)})
    it = world.resolver(in_flight=10, send_queue=60)
    for number in range(60):
        assert it.room == 60 - number
        it.ask(f"n{number}.test", world.now)
    with pytest.raises(RuntimeError):
        it.ask("more.test", world.now)
    it.step(world.now)
    assert (it.in_flight, it.queued, it.room) == (10, 50, 10)
    assert it.deadline == world.now + 1
    world.run()
    assert len(server.asked) == 60
    assert it.deadline is None
    assert (it.in_flight, it.queued, it.room) == (0, 0, 60)


def test_the_durations_of_lookups_are_counted(world: World) -> None:
    server = world.server()
    server.script("www.test", ns.drop, ns.answer)
    it = world.resolver()
    for name in ("www.test", "www.test", "known.test", "none.test"):
        world.resolve(name)
    times = it.times.describe()
    assert times["count"] == 2, "answers at hand take no time"
    took = times["sum_s"]
    assert isinstance(took, float)
    assert 1.0 <= took < 1.5, "one question was lost, and asked again after a second"


def test_stats(world: World) -> None:
    server = world.server()
    server.script("www.test", ns.drop, ns.answer)
    it = world.resolver()
    for name in ("www.test", "www.test", "none.test", "none.test", "192.0.2.1"):
        world.resolve(name)
    assert it.stats() == {
        "asked": 5,
        "early": 0,
        "sent": 3,
        "answered": 1,
        "cached": 2,
        "failed": 1,
        "resent": 1,
        "rejected": 0,
        "in_flight": 0,
        "overdue": 0,
        "queued": 0,
        "ports": 65,  # one was replaced after a second
        "cache": world.cache.stats(),
        "servers": [
            {
                "address": f"127.0.0.1:{server.address[1]}",
                "sent": 3,
                "answered": 2,
                "lost": 1,
                "resting": False,
                "keeps_case": True,
                "rtt_ms": 0.0,
            }
        ],
    }


# -- early asking


def test_a_name_expected_is_known_when_it_is_asked_for(world: World) -> None:
    it = world.resolver()
    it.expect(["WWW.test", "none.test"], world.now)
    assert world.run() == []
    assert it.ask("www.test", world.now) == found("www.test", "192.0.2.1")
    assert it.ask("none.test", world.now) == failed("none.test", "nxdomain")
    assert len(world.servers[0].asked) == 2
    assert it.stats()["early"] == 2


def test_addresses_from_name_servers_are_reported_once(world: World) -> None:
    """Also those of `expect`; not cached ones, nor expired ones that are used meanwhile."""
    it = world.resolver()
    it.expect(["WWW.test.", "empty.test"], world.now)
    for name in ("both.test", "BOTH.test.", "none.test", "known.test", "192.0.2.5"):
        it.ask(name, world.now)
    world.run()
    assert sorted(world.reported) == [
        found("both.test", "192.0.2.7"),
        found("www.test", "192.0.2.1"),
    ]
    world.reported.clear()
    world.turn()
    assert it.ask("www.test", world.now) == found("www.test", "192.0.2.1")
    world.turn()
    world.answers.clear()
    world.servers[0].down = True
    world.now += 1800
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")
    assert world.reported == []


def test_expected_names_come_after_those_asked_for(world: World) -> None:
    zone = {f"{kind}{n}.test": ["192.0.2.1"] for kind in "ab" for n in range(20)}
    server = world.server(zone)
    it = world.resolver(in_flight=4)
    it.expect([name for name in zone if name.startswith("b")], world.now)
    for name in zone:
        if name.startswith("a"):
            it.ask(name, world.now)
    world.run(until=lambda: it.deadline is None)
    assert [name[0] for name, _ in server.asked] == ["a"] * 20 + ["b"] * 20


def test_expected_names_take_half_of_the_places(world: World) -> None:
    world.server().down = True
    it = world.resolver(in_flight=10)
    it.expect([f"n{n}.test" for n in range(50)], world.now)
    it.step(world.now)
    assert it.in_flight == 5
    for number in range(100, 110):
        it.ask(f"n{number}.test", world.now)
    it.step(world.now)
    assert it.in_flight == 10


def test_expected_names_are_bounded(world: World) -> None:
    it = world.resolver(send_queue=30)
    it.expect([f"n{n}.test" for n in range(100)], world.now)
    assert it.stats()["early"] == 30
    assert it.room == 30


def test_a_name_that_needs_no_question_is_not_expected(world: World) -> None:
    it = world.resolver()
    world.resolve("www.test")
    it.ask("many.test", world.now)
    it.expect(
        ["www.test", "many.test", "known.test", "192.0.2.1", "[::1]", "localhost", "a/b", ""],
        world.now,
    )
    assert it.stats()["early"] == 0
    it.expect(["six.test", "SIX.test."], world.now)
    assert it.stats()["early"] == 1


@pytest.mark.parametrize("under_way", [False, True])
def test_a_name_expected_and_then_asked_for_is_answered(world: World, under_way: bool) -> None:
    it = world.resolver()
    it.expect(["www.test"], world.now)
    if under_way:
        it.step(world.now)
    assert it.ask("www.test", world.now) is None
    assert world.run() == [found("www.test", "192.0.2.1")]
    assert world.servers[0].asked == [("www.test", "A")]


# -- losses


def test_waits_grow_and_end(world: World) -> None:
    server = world.server()
    server.down = True
    world.resolver()
    sent_at: list[float] = []
    world.it.ask("www.test", world.now)
    while len(sent_at) < TRIES:
        count = len(server.asked)
        world.turn()
        sent_at += [world.now - 1000] * (len(server.asked) - count)
    (answer,) = world.run()
    assert answer == failed("www.test", "timeout")
    assert sent_at == [0, 1, 2.5, 4.75, 8.125, 13.125, 18.125]
    assert world.now == 1023.125


def test_the_next_server_is_asked_after_a_loss(world: World) -> None:
    dead, good = world.server(), world.server()
    dead.down = True
    world.resolver()
    for name in ("www.test", "many.test", "both.test"):
        assert world.resolve(name).reason is None
    assert world.now <= 1003
    assert len(good.asked) == 3


@pytest.mark.parametrize("servers", [1, 2])
def test_a_fifth_of_all_answers_lost(world: World, servers: int) -> None:
    zone = {f"n{n}.test": ["192.0.2.1"] for n in range(1000)}
    for _ in range(servers):
        world.server(zone).drop_share = 0.2
    it = world.resolver(in_flight=1000, send_queue=1000)
    for name in zone:
        it.ask(name, world.now)
    answers = world.run()
    assert {answer.name for answer in answers if answer.reason is None} == zone.keys()
    assert 200 < it.stats()["resent"] < 330


def test_dead_names_do_not_hold_up_the_others(world: World) -> None:
    zone = {f"n{n}.test": ["192.0.2.1"] for n in range(300)}
    server = world.server(zone)
    for number in range(40):
        server.script(f"dead{number}.test", ns.drop)
    it = world.resolver(in_flight=100, send_queue=400)
    for number in range(40):
        it.ask(f"dead{number}.test", world.now)
    for name in zone:
        it.ask(name, world.now)
    world.run(until=lambda: len(world.answers) >= 300)
    assert world.now == 1000
    world.run()


def test_a_live_name_among_many_dead_ones(world: World) -> None:
    """Names that no server answers for make it look dead, but no first question waits for that."""
    server = world.server({"www.test": ["192.0.2.1"]})
    it = world.resolver()
    for number in range(60):
        server.script(f"dead{number}.test", ns.drop)
        it.ask(f"dead{number}.test", world.now)
    world.run(until=lambda: bool(it.stats()["servers"][0]["resting"]))
    it.ask("www.test", world.now)
    asked_at = world.now
    assert world.run(until=lambda: len(world.answers) > 0) == [found("www.test", "192.0.2.1")]
    assert world.now == asked_at
    assert not it.stats()["servers"][0]["resting"]


def test_a_server_that_is_dead_for_a_minute(world: World) -> None:
    zone = {f"n{n}.test": ["192.0.2.1"] for n in range(200)}
    server = world.server(zone)
    it = world.resolver(in_flight=50, send_queue=200)
    assert world.resolve("n0.test").reason is None
    server.down = True
    owed = {name for name in zone if name != "n0.test"}
    sent_down = 0
    while owed:
        for name in sorted(owed)[: it.room]:
            it.ask(name, world.now, refresh=True)
        if world.now >= 1060 and server.down:
            server.down, sent_down = False, len(server.asked)
        if world.now < 1060:
            # Cached names are answered meanwhile, even if a refresh fails.
            assert it.ask("n0.test", world.now) == found("n0.test", "192.0.2.1")
        world.turn()
        owed -= {answer.name for answer in world.answers if answer.reason is None}
        world.answers.clear()
    # 60 s: for the three until it is known to be silent, 50 first questions a second, and
    # these again; then as many for each probe, one in 5 s.
    assert sent_down < 3 * 50 * 3 + 12 * 50
    assert world.now < 1060 + 10
    assert server.asked.count(("n1.test", "A")) < 20


def test_an_expired_address_is_used_while_lookups_fail(world: World) -> None:
    server = world.server()
    world.resolver()
    world.resolve("www.test")
    server.down = True
    world.now += 1800
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")
    assert len(server.asked) > 1


# -- errors of servers


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (ns.refused, "refused"),
        (ns.formerr, "formerr"),
        (ns.notimp, "notimp"),
        (ns.bare_formerr, "formerr"),
        (ns.servfail, "servfail"),
    ],
)
def test_errors(world: World, action: ns.Action, reason: str) -> None:
    bad, good = world.server(), world.server()
    bad.script("www.test", action)
    world.resolver()
    for _ in range(2):
        assert world.resolve("www.test", refresh=True) == found("www.test", "192.0.2.1")
    assert world.now == 1000
    good.script("both.test", action)
    bad.script("both.test", action)
    assert world.resolve("both.test") == failed("both.test", reason)
    assert world.it.ask("both.test", world.now + 29) == failed("both.test", reason)
    assert world.it.ask("both.test", world.now + 30) is None


def test_a_servfail_that_passes(world: World) -> None:
    world.server().script("www.test", ns.servfail, ns.answer)
    world.resolver()
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")
    assert world.now == 1001.5


# -- packets that do not count


@pytest.mark.parametrize(
    "bad",
    [ns.wrong_id, ns.wrong_question, ns.garbage, ns.echo, ns.wrong_source],
    ids=lambda action: action.__name__,
)
def test_bad_packets_are_counted_and_the_question_stays_open(world: World, bad: ns.Action) -> None:
    server = world.server()
    server.script("www.test", ns.all_of(*[bad] * 5), ns.answer)
    it = world.resolver()
    it.ask("www.test", world.now)
    world.run(until=lambda: it.stats()["rejected"] == 5)
    assert it.in_flight == 1
    assert world.now == 1000
    assert world.run() == [found("www.test", "192.0.2.1")]
    assert world.now == 1001
    assert it.ask("www.test", world.now) == found("www.test", "192.0.2.1")


def test_five_bad_packets_and_then_the_right_one(world: World) -> None:
    bad = [ns.wrong_id, ns.wrong_question, ns.garbage, ns.echo, ns.wrong_id]
    world.server().script("www.test", ns.all_of(*bad, ns.answer))
    it = world.resolver()
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")
    assert world.now == 1000
    assert it.stats()["rejected"] == 5


def test_a_repeated_reply_counts_once(world: World) -> None:
    world.server().script("www.test", ns.twice)
    it = world.resolver()
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")
    world.turn()
    world.turn()
    assert (it.stats()["rejected"], it.stats()["answered"]) == (1, 1)


def test_a_late_reply_does_not_count(world: World) -> None:
    server = world.server()
    server.script("www.test", ns.late)
    it = world.resolver()
    assert world.resolve("www.test") == failed("www.test", "timeout")
    server.release()
    world.turn()
    world.turn()
    # Ports of the first tries may be closed by now.
    assert 1 <= it.stats()["rejected"] <= TRIES
    assert it.ask("www.test", world.now) == failed("www.test", "timeout")


def test_a_reply_from_another_of_our_servers(world: World) -> None:
    """The id and the port are right, but not the server that was asked."""
    one, two = world.server(), world.server()
    it = world.resolver()
    for server in (one, two):
        server.script("www.test", ns.late)
    it.ask("www.test", world.now)
    it.step(world.now)
    world.poller.wait(0.1)
    asked, other = (one, two) if one.asked else (two, one)
    other._late, asked._late = asked._late, []
    other.release()
    world.turn()
    world.turn()
    assert (it.stats()["rejected"], it.in_flight) == (1, 1)


def test_packets_that_wait_for_a_step_are_bounded(world: World) -> None:
    server = world.server()
    server.script("www.test", ns.all_of(*[ns.wrong_id] * 100))
    it = world.resolver()
    it.ask("www.test", world.now)
    it.step(world.now)
    world.poller.wait(0.1)
    port = server.sources[0][1]
    for _ in range(20):
        for _ in range(100):
            server.send(b"x" * 12, port)
        for _ in range(3):
            world.poller.wait(0)
    assert len(it._questions._ports.waiting) == 1024


def test_no_two_questions_have_the_same_id_and_port(world: World) -> None:
    """The second takes another id, even if the generator repeats itself for a while."""

    class Repeating(Random):
        drawn = 0

        def randbytes(self, n: int) -> bytes:
            self.drawn += 1
            return bytes(n) if self.drawn == 1 else super().randbytes(n)

    world.server({"a.test": ["192.0.2.1"], "b.test": ["192.0.2.2"]})
    it = world.resolver(rng=Repeating(1))
    for name in ("a.test", "b.test"):
        it.ask(name, world.now)
    assert sorted(world.run()) == [found("a.test", "192.0.2.1"), found("b.test", "192.0.2.2")]
    assert it.stats()["resent"] == 0
    assert len(set(world.servers[0].ids)) == 2


def test_a_step_sends_a_bounded_number_of_questions(world: World) -> None:
    it = world.resolver(in_flight=1000, send_queue=1000)
    for number in range(600):
        it.ask(f"n{number}.test", world.now)
    sent = []
    for _ in range(3):
        it.step(world.now)
        sent.append(it.stats()["sent"])
    assert sent == [256, 512, 600]


def test_a_name_that_only_ends_like_localhost_is_asked_for(world: World) -> None:
    world.server({"xlocalhost": ["192.0.2.1"]})
    world.resolver()
    assert world.resolve("xlocalhost") == found("xlocalhost", "192.0.2.1")


def test_a_flood_of_packets_is_read_in_portions(world: World) -> None:
    server = world.server()
    server.script("www.test", ns.all_of(*[ns.wrong_id] * 300))
    it = world.resolver()
    it.ask("www.test", world.now)
    it.step(world.now)
    world.poller.wait(0.1)
    world.poller.wait(0.1)
    assert 0 < len(it._questions._ports.waiting) <= 64
    assert it.deadline == 0.0


# -- TCP


def test_a_truncated_answer_comes_by_tcp(world: World) -> None:
    zone = {"big.test": [f"10.{n >> 8}.{n & 255}.1" for n in range(4000)]}
    server = world.server(zone)
    server.script("big.test", ns.truncate)
    world.resolver()
    assert world.resolve("big.test") == found("big.test", *zone["big.test"][:16])
    assert server.asked_by_tcp == [("big.test", "A")]
    assert world.now == 1000


def test_truncated_garbage_goes_to_tcp_too(world: World) -> None:
    world.server().script("www.test", ns.truncated_garbage)
    world.resolver()
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")


@pytest.mark.parametrize(
    "mode", ["silent", "cut", "garbage", "refused", "wrong_id", "wrong_question", "truncate"]
)
def test_tcp_that_does_not_work(world: World, mode: str) -> None:
    bad, good = world.server(), world.server()
    for name in ("www.test", "both.test"):
        bad.script(name, ns.truncate)
    if mode == "refused":
        bad.refuse_tcp()
    bad.tcp_mode = mode
    world.resolver()
    for _ in range(2):
        assert world.resolve("www.test", refresh=True) == found("www.test", "192.0.2.1")
    assert world.now == (1005 if mode == "silent" else 1000)
    good.down = True
    assert world.resolve("both.test").reason in ("truncated", "timeout")
    assert world.it.deadline is None
    assert world.it._questions._streams == {}


def test_tcp_a_byte_at_a_time(world: World) -> None:
    server = world.server()
    server.script("many.test", ns.truncate)
    server.tcp_mode = "drip"
    world.resolver()
    assert world.resolve("many.test") == found("many.test", *ZONE["many.test"])
    assert world.now == 1000


def test_tcp_connections_are_bounded(world: World) -> None:
    zone = {f"n{n}.test": ["192.0.2.1"] for n in range(100)}
    server = world.server(zone)
    server.tcp_mode = "silent"
    it = world.resolver()
    for name in zone:
        server.script(name, ns.truncate)
        it.ask(name, world.now)
    world.run(until=lambda: len(server.asked) == 100 and len(it._questions._streams) > 0)
    assert len(it._questions._streams) == 64
    server.tcp_mode = "answer"
    assert {answer.reason for answer in world.run()} == {None}


def test_close_leaves_nothing_open(world: World) -> None:
    server = world.server()
    server.script("www.test", ns.truncate)
    server.tcp_mode = "silent"
    it = world.resolver()
    it.ask("www.test", world.now)
    world.run(until=lambda: len(it._questions._streams) == 1)
    before = len(world.poller._callbacks)
    it.close()
    assert len(world.poller._callbacks) == before - 65


def test_questions_use_the_systems_random_generator(world: World) -> None:
    """Predictable ids, ports and letter case give no protection."""
    address = world.server().address
    options: dict[str, Any] = {
        "in_flight": 1,
        "send_queue": 1,
        "timeout": 1.0,
        "address_time": 60.0,
    }
    world.it = Resolver(world.poller, [address], world.cache, {}, **options)
    assert isinstance(world.it._questions._random._rng, SystemRandom)
