"""Ids, ports and letter case are as random as they can be, and forged replies do not count.

The bounds are such that a right implementation misses each of them once in ten million
runs: the dice are the system's, as in a crawl.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import sqrt
from random import SystemRandom

import pytest

from tests.support.forgery import ask_in_vain, forge
from tests.support.nameserver import PlainServer, address_of
from tests.support.resolverworld import World, found

QUESTIONS = 20_000

#: Standard deviations that a normal variable exceeds once in a thousand million; chi-square's
#: tail is somewhat heavier.
RARE = 6.0


@pytest.fixture
def world() -> Iterator[World]:
    with World() as it:
        yield it


@pytest.fixture(scope="module")
def asked() -> Iterator[PlainServer]:
    """A server that a resolver has asked all its questions."""
    with World() as world:
        yield ask_many(world, QUESTIONS)


def ask_many(world: World, count: int) -> PlainServer:
    server = world.server(kind=PlainServer)
    assert isinstance(server, PlainServer)
    world.resolver(in_flight=1000, send_queue=1000, rng=SystemRandom())
    world.resolve_all(f"www.host{number}.test" for number in range(count))
    assert len(server.ids) == count
    return server


def is_uniform(values: Iterable[object], kinds: int) -> bool:
    """Pearson's chi-square test that each of `kinds` values is as likely as any other."""
    counts = Counter(values)
    expected = counts.total() / kinds
    assert expected >= 4.5, "too few for the test to mean anything"
    found = sum((count - expected) ** 2 for count in counts.values()) / expected
    found += (kinds - len(counts)) * expected
    # The bound by Wilson and Hilferty's approximation.
    freedom = kinds - 1
    spread = 2 / (9 * freedom)
    return found < freedom * (1 - spread + RARE * sqrt(spread)) ** 3


def test_ids_are_uniform(asked: PlainServer) -> None:
    assert is_uniform((ident >> 8 for ident in asked.ids), 256)
    assert is_uniform((ident & 255 for ident in asked.ids), 256)


def test_an_id_does_not_predict_the_next(asked: PlainServer) -> None:
    steps = [(after - before) % 65536 for before, after in pairwise(asked.ids)]
    assert is_uniform((step >> 8 for step in steps), 256)
    # 0.3 of each are expected.
    assert max(Counter(steps).values()) < 12
    assert is_uniform(((a >> 10, b >> 10) for a, b in pairwise(asked.ids)), 64 * 64)


def test_ports_are_uniform(asked: PlainServer) -> None:
    ports = [port for _, port in asked.sources]
    assert len(set(ports)) >= 64
    assert is_uniform(ports, len(set(ports)))


def test_a_port_predicts_neither_the_next_nor_the_id(asked: PlainServer) -> None:
    ports = [port for _, port in asked.sources]
    assert is_uniform(pairwise(ports), len(set(ports)) ** 2)
    together = zip(ports, (ident >> 12 for ident in asked.ids), strict=True)
    assert is_uniform(together, len(set(ports)) * 16)


def test_the_case_is_uniform(asked: PlainServer) -> None:
    """Each letter of "www.host" is upper case in half of the questions, independently."""
    letters = [packet[13:16] + packet[17:21] for packet in asked.packets]
    capitals = (tuple(octet < 0x60 for octet in name) for name in letters)
    assert is_uniform(capitals, 2**7)
    together = (name[0] < 0x60 for name in letters)
    assert is_uniform(zip(together, (ident >> 12 for ident in asked.ids), strict=True), 2 * 16)


def test_two_resolvers_draw_different_numbers() -> None:
    with World() as one, World() as two:
        servers = [ask_many(world, 2000) for world in (one, two)]
        ids, others = (server.ids for server in servers)
        # 2000/65536 = 0.03 are expected; five come once in 5 x 10**9 runs.
        assert sum(map(int.__eq__, ids, others)) < 5
        places, others = (ranks(port for _, port in server.sources) for server in servers)
        # 2000/64 = 31 are expected.
        assert abs(sum(map(int.__eq__, places, others)) - 31) < RARE * sqrt(31)


def ranks(ports: Iterable[int]) -> list[int]:
    """Each port's place in the numerical order of all."""
    ports = list(ports)
    order = {port: place for place, port in enumerate(sorted(set(ports)))}
    return [order[port] for port in ports]


# -- ports age


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_ports_are_replaced_as_they_age(world: World) -> None:
    server = ask_many(world, 1000)
    before = descriptors()
    used = {port for _, port in server.sources}
    server.forget()
    world.now += 3600
    world.resolve_all(f"later{number}.test" for number in range(1000))
    # The system may give the same number again: to 64 of some 28,000 for each of 64.
    assert len({port for _, port in server.sources} & used) < 8
    # The old ones are closed in the end.
    for _ in range(20):
        world.now += 1
        world.it.step(world.now)
    assert 64 <= world.it.stats()["ports"] < 64 + 10
    assert descriptors() < before + 10


def test_ports_are_replaced_one_by_one(world: World) -> None:
    server = ask_many(world, 1000)
    it = world.it
    most = 0
    seen: list[set[int]] = []
    for minute in range(8):
        server.forget()
        for second in range(60):
            world.now += 1
            world.resolve_all(f"n{minute}-{second}-{number}.test" for number in range(20))
            most = max(most, it.stats()["ports"])
        seen.append({port for _, port in server.sources})
    assert 64 < most < 80
    for before, after in pairwise(seen):
        assert 30 < len(after - before) <= 80
    assert it.stats()["resent"] == 0


def test_answers_to_a_port_that_was_replaced_meanwhile_count(world: World) -> None:
    server = ask_many(world, 1)
    names = [f"kept{number}.test" for number in range(500)]
    world.now += 0.5
    ask_in_vain(world, server, names)
    ports = world.it.stats()["ports"]
    for _ in range(9):
        # No question times out before a whole second has passed.
        world.now += 0.11
        assert world.it.step(world.now) == []
    assert world.it.stats()["ports"] > ports
    server.answer_all()
    assert sorted(world.run()) == sorted(found(name, address_of(name)) for name in names)
    assert world.it.stats()["resent"] == 0


# -- forgeries


def test_no_forgery_counts_and_the_truth_still_does() -> None:
    """A longer run is `scripts/fuzz-dns forgeries`."""
    outcome = forge(20_000, names=300, seed=1)
    assert outcome.fooled == []
    assert outcome.rejected == outcome.sent
    assert outcome.resolved == 300
