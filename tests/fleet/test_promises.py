"""A fleet keeps its promises through faults: nothing lost, no early end, politeness."""

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from larbinpy.fleet.vault import NOBODY, FleetState
from tests.support.fleetmodel import SHARDS, World

KINDS = ("start", "kill", "leave", "stop", "cut", "stall", "forget")
#: Some worlds have only these.
FEW = (
    ("start", "leave"),
    ("start", "cut", "stall"),
    ("start", "kill", "cut"),
    ("start", "kill"),
    ("start", "forget"),
)
SECONDS = (0.1, 1.0, 3.0, 8.0, 20.0)
EVENTS = st.lists(
    st.tuples(st.floats(0, 8), st.sampled_from(KINDS), st.integers(0, 4), st.sampled_from(SECONDS)),
    max_size=8,
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from((1, 3)), st.booleans(), EVENTS)
def test_a_fleet_keeps_its_promises(
    seed: int,
    nodes: int,
    masters: int,
    turns: bool,
    events: list[tuple[float, str, int, float]],
) -> None:
    world = World(seed, hosts=20, masters=masters, turns=turns)
    for _ in range(nodes):
        world.start()
    world.run(events)


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.integers(1, 3), st.lists(st.floats(0, 8), min_size=1, max_size=3))
def test_a_join_leaves_no_shard_without_an_owner_for_long(
    seed: int, nodes: int, joins: list[float]
) -> None:
    world = World(seed, pages=800, hosts=20)
    for _ in range(nodes):
        world.start(0.01)
    while NOBODY in owners(world):
        world.step()
    for delay in joins:
        go_watching(world, delay)
        world.start(0.01)
    # A request takes 14 s at most, and a node gets its share in two or three steps.
    go_watching(world, 60.0)
    if world.engine.state is not FleetState.FINISHED:
        assert max(Counter(owners(world)).values()) <= -(-SHARDS // (nodes + len(joins)))


def owners(world: World) -> list[str]:
    return [shard.own for shard in world.engine.standings]


def go_watching(world: World, seconds: float) -> None:
    """Let time go on, until the crawl is finished, and watch for how long shards are free.

    Mostly it is half a second: a look, and the way of the messages. It is up to a second more if a
    node hears of another one later than the owner of its shards.
    """
    until = world.now + seconds
    owned = dict.fromkeys(range(SHARDS), world.now)
    while world.now < until and world.engine.state is not FleetState.FINISHED:
        world.step()
        for shard, own in enumerate(owners(world)):
            if own != NOBODY:
                owned[shard] = world.now
            assert world.now - owned[shard] < 1.5, f"shard {shard} has no owner"


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 6), EVENTS)
def test_a_fleet_keeps_limits_and_pauses_of_its_hosts(
    seed: int, nodes: int, limit: int, events: list[tuple[float, str, int, float]]
) -> None:
    world = World(seed, pages=80, hosts=10, limit=limit, pausing=0.1)
    for _ in range(nodes):
        world.start()
    world.run(events, most=600.0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_many_fleets_keep_their_promises(first: int) -> None:
    for seed in range(first, first + 50):
        random = Random(seed)
        masters, turns = random.choice((1, 3)), seed % 3 > 0
        if seed % 2:
            world = World(seed, hosts=20, masters=masters, turns=turns)
        else:
            limit = random.choice((1, 2, 5))
            world = World(seed, hosts=8, masters=masters, turns=turns, limit=limit, pausing=0.1)
        for _ in range(random.randrange(1, 5)):
            world.start()
        kinds = random.choice((KINDS, KINDS, *FEW))
        longest = random.choice((0.5, 3.0, 6.0))
        world.run(
            [
                (
                    random.uniform(0, longest),
                    random.choice(kinds),
                    random.randrange(5),
                    random.choice(SECONDS),
                )
                for _ in range(20)
            ],
            most=600.0,
        )
