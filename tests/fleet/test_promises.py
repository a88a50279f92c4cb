"""A fleet keeps its promises through faults: nothing lost, no early end, politeness."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.fleetmodel import World

KINDS = ("start", "kill", "leave", "stop", "cut", "stall", "forget")
EVENTS = st.lists(
    st.tuples(
        st.floats(0, 8),
        st.sampled_from(KINDS),
        st.integers(0, 4),
        st.sampled_from((0.1, 1.0, 3.0, 8.0, 20.0)),
    ),
    max_size=8,
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from((1, 3)), EVENTS)
def test_a_fleet_keeps_its_promises(
    seed: int, nodes: int, masters: int, events: list[tuple[float, str, int, float]]
) -> None:
    world = World(seed, masters=masters)
    for _ in range(nodes):
        world.start()
    world.run(events)


@pytest.mark.slow
@pytest.mark.parametrize("masters", [1, 3])
def test_a_fleet_keeps_its_promises_for_long(masters: int) -> None:
    for seed in range(20):
        random = Random(seed)
        world = World(seed, pages=300, masters=masters)
        for _ in range(random.randrange(1, 5)):
            world.start()
        world.run(
            [
                (
                    random.uniform(0, 8),
                    random.choice(KINDS),
                    random.randrange(5),
                    random.choice((0.1, 1.0, 3.0, 8.0, 20.0)),
                )
                for _ in range(20)
            ]
        )
