"""A fleet keeps its promises through faults: nothing lost, no early end, politeness."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.fleetmodel import World

KINDS = ("start", "kill", "leave", "stop", "cut", "stall", "forget")
#: Some worlds have only these.
FEW = (("start", "leave"), ("start", "cut", "stall"), ("start", "kill", "cut"))
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


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_many_fleets_keep_their_promises(first: int) -> None:
    for seed in range(first, first + 50):
        random = Random(seed)
        masters, turns = random.choice((1, 3)), seed % 3 > 0
        world = World(seed, hosts=20, masters=masters, turns=turns)
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
            ]
        )
