"""Many names through servers that lose, lie, refuse and spell as they like.

What one bad packet does to one name is in `test_dns_resolver`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from random import Random

import dns.message
import pytest

from larbinpy.dns.cache import FAILURE_TIME
from larbinpy.dns.lookup import TRIES, Answer
from tests.support import nameserver as ns
from tests.support.nameserver import FALSE_ADDRESS, NameServer, PlainServer, address_of
from tests.support.resolverworld import World, failed, found

pytestmark = pytest.mark.slow


@pytest.fixture
def world() -> Iterator[World]:
    with World() as it:
        yield it


def names(count: int) -> list[str]:
    return [f"www.host{n}.test" for n in range(count)]


def truth(count: int) -> dict[str, Answer]:
    """The answers of a `PlainServer` for `names`."""
    return {name: found(name, address_of(name)) for name in names(count)}


# -- losses


@pytest.mark.parametrize("servers", [1, 2])
def test_a_tenth_of_all_answers_lost(world: World, servers: int) -> None:
    for _ in range(servers):
        world.server(kind=PlainServer).drop_share = 0.1
    it = world.resolver(in_flight=1000, send_queue=1000)
    assert world.resolve_all(names(5000)) == truth(5000)
    # 5000 x 0.1 + 0.01 + ...; six sigma on each side.
    assert 410 < it.stats()["resent"] < 700
    assert it.stats()["rejected"] == 0


def test_three_tenths_of_all_answers_lost(world: World) -> None:
    world.server(kind=PlainServer).drop_share = 0.3
    it = world.resolver(in_flight=1000, send_queue=1000)
    answers = world.resolve_all(names(3000))
    lost = [name for name, answer in answers.items() if answer.reason]
    # Seven losses in a row come to 0.3**7 x 3000 = 0.7 names; nine are one in ten millions.
    assert TRIES == 7
    assert len(lost) < 9
    # The crawl asks for those again, after their failure is forgotten.
    world.now += FAILURE_TIME
    answers |= world.resolve_all(lost)
    assert answers == truth(3000)
    assert it.stats()["resent"] > 3000 * 0.3


# -- several servers, most of them bad


def test_five_bad_servers_and_a_good_one(world: World) -> None:
    zone = {name: [address_of(name)] for name in names(300)}
    lies = [ns.wrong_id, ns.wrong_question, ns.wrong_type, ns.wrong_source, ns.garbage]
    for action in (ns.refused, ns.all_of(*lies), ns.truncate, ns.drop, ns.echo):
        bad = world.server(zone)
        bad.refuse_tcp()
        for name in zone:
            bad.script(name, action)
    world.server(zone)
    it = world.resolver(in_flight=300, send_queue=300)
    assert world.resolve_all(zone) == truth(300)
    # The good one is the sixth to be asked, at worst: three of the others are waited for.
    assert world.now <= 1000 + 1.5 + 3.375 + 5
    assert it.stats()["rejected"] > 300


@pytest.mark.parametrize("seed", range(3))
def test_all_faults_in_place_of_replies(world: World, seed: int) -> None:
    """Each question gets another fault, or two; most get a true reply in the end."""
    faults = [
        ns.drop,
        ns.twice,
        ns.late,
        ns.truncate,
        ns.servfail,
        ns.echo,
        ns.all_of(ns.wrong_id, ns.wrong_question, ns.wrong_type, ns.answer),
        ns.all_of(ns.wrong_source, ns.garbage, ns.answer),
        ns.all_of(ns.wrong_id, ns.wrong_source),
        ns.with_records_of("n1.test"),
    ]
    live = {f"n{n}.test": [f"192.0.2.{n % 250}"] for n in range(300)}
    live |= {f"six{n}.test": [f"2001:db8::{n + 1:x}"] for n in range(30)}
    aliases = {f"alias{n}.test": [f"n{n}.test."] for n in range(30)}
    expected = {name: found(name, *values) for name, values in live.items()}
    expected |= {name: found(name, *live[ends[0][:-1]]) for name, ends in aliases.items()}
    expected |= {f"none{n}.test": failed(f"none{n}.test", "nxdomain") for n in range(30)}
    dice = Random(seed)

    def fault(server: NameServer, query: dns.message.Message) -> Iterator[bytes]:
        yield from dice.choice(faults if dice.random() < 0.3 else [ns.answer])(server, query)

    for follows in (True, False):
        server = world.server(live | aliases)
        server.follows_aliases = follows
        for name in expected:
            server.script(name, fault)
    world.resolver(in_flight=200, send_queue=100)
    assert world.resolve_all(expected) == expected


# -- records of other names


def test_records_of_other_names_are_not_believed(world: World) -> None:
    server = world.server({"www.test": ["192.0.2.1"], "bank.test": ["192.0.2.2"]})
    server.script("www.test", ns.with_records_of("bank.test"))
    world.resolver()
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")
    assert world.resolve("bank.test") == found("bank.test", "192.0.2.2")
    assert server.asked == [("www.test", "A"), ("bank.test", "A")]


def test_the_end_of_an_alias_counts_in_the_answer_only(world: World) -> None:
    server = world.server({"bank.test": ["192.0.2.2"]})
    server.script("www.test", ns.alias_and_false_glue("bank.test"))
    world.resolver()
    assert world.resolve("www.test") == found("www.test", "192.0.2.2")
    assert server.asked == [("www.test", "A"), ("bank.test", "A")]


def test_an_alias_caches_nothing_about_its_target(world: World) -> None:
    """The server of a name decides its target, but not the addresses of that target for others."""
    liar = world.server({"evil.test": ["bank.test."], "bank.test": [FALSE_ADDRESS]})
    world.resolver()
    assert world.resolve("evil.test") == found("evil.test", FALSE_ADDRESS)
    liar.zone["bank.test"] = ["192.0.2.2"]
    assert world.resolve("bank.test") == found("bank.test", "192.0.2.2")


# -- the case of the question


def spellings(server: NameServer) -> dict[bytes, list[bytes]]:
    """The questions as received, in order, by their lower-case name."""
    found = defaultdict(list)
    for packet in server.packets:
        found[packet[12:].lower()].append(packet[12:])
    return found


def keeps_case(world: World) -> bool:
    return bool(world.it.stats()["servers"][0]["keeps_case"])


def test_a_server_that_keeps_the_case(world: World) -> None:
    server = world.server(kind=PlainServer)
    it = world.resolver(in_flight=300, send_queue=300)
    assert world.resolve_all(names(300)) == truth(300)
    assert keeps_case(world)
    assert it.stats()["resent"] == 0
    assert len({packet[12:20] for packet in server.packets}) > 50


@pytest.mark.parametrize("name", ["none.test", "empty.test", "alias.test", "many.test"])
def test_any_answer_shows_that_the_case_is_kept(world: World, name: str) -> None:
    world.server()
    world.resolver()
    world.resolve(name)
    assert keeps_case(world)


def test_an_answer_to_a_question_in_lower_case_shows_nothing(world: World) -> None:
    """Otherwise replies of servers that do not keep it would be rejected from then on."""
    server = world.server()
    server.case = "lower"
    server.script("www.test", *[ns.drop] * 3, ns.answer)
    server.script("none.test", *[ns.drop] * 3, ns.nxdomain)
    world.resolver()
    assert world.resolve("www.test") == found("www.test", "192.0.2.1")
    assert world.resolve("none.test") == failed("none.test", "nxdomain")
    assert server.packets[3][12:] == server.packets[3][12:].lower()
    assert not keeps_case(world)


def test_a_server_that_answers_in_lower_case(world: World) -> None:
    server = world.server(kind=PlainServer)
    server.case = "lower"
    it = world.resolver(in_flight=300, send_queue=300)
    assert world.resolve_all(names(300)) == truth(300)
    assert not keeps_case(world)
    assert (it.stats()["resent"], it.stats()["rejected"]) == (0, 0)


def test_an_address_of_servers_that_keep_the_case_and_servers_that_do_not(world: World) -> None:
    server = world.server(kind=PlainServer)
    server.case = "mixed"
    it = world.resolver(in_flight=500, send_queue=500)
    assert world.resolve_all(names(500)) == truth(500)
    assert it.stats()["rejected"] > 100
    # The first three tries take 4.75 s; the fourth suits all.
    assert world.now <= 1004.75
    tries = spellings(server)
    assert max(map(len, tries.values())) == 4
    assert all(asked[3:] in ([], [plain]) for plain, asked in tries.items())


def test_a_server_that_no_longer_keeps_the_case(world: World) -> None:
    server = world.server(kind=PlainServer)
    world.resolver()
    world.resolve("first.test")
    server.case = "lower"
    assert world.resolve_all(names(50)) == truth(50)
    # The first few are asked again; by then it is known.
    assert world.now <= 1001
    assert not keeps_case(world)
    server.case = "kept"
    world.resolve("second.test")
    assert keeps_case(world)


def test_an_error_without_a_question_is_not_believed_where_the_case_is_kept(world: World) -> None:
    server = world.server()
    it = world.resolver()
    world.resolve("www.test")
    server.script("many.test", ns.all_of(ns.bare_formerr, ns.answer))
    assert world.resolve("many.test").reason is None
    assert it.stats()["rejected"] == 1


@pytest.mark.parametrize("change", [bytes.lower, bytes.upper, bytes.swapcase])
@pytest.mark.parametrize("lie", [ns.false_answer, ns.nxdomain, ns.refused, ns.truncate])
def test_a_forger_who_does_not_know_the_case(
    world: World, lie: ns.Action, change: Callable[[bytes], bytes]
) -> None:
    server = world.server()
    it = world.resolver()
    world.resolve("www.test")
    assert keeps_case(world)
    forged = ns.respelled(lie, change)
    server.script("with-many-letters.test", ns.all_of(forged, forged, forged, ns.answer))
    server.zone["with-many-letters.test"] = ["192.0.2.7"]
    answer = found("with-many-letters.test", "192.0.2.7")
    assert world.resolve("with-many-letters.test") == answer
    assert world.now == 1000
    assert (it.stats()["rejected"], it.stats()["resent"]) == (3, 0)
    assert it.ask("with-many-letters.test", world.now) == answer
    assert server.asked_by_tcp == []
