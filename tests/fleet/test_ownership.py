"""Shards that a node takes, and those that others were faster to take."""

from typing import Any

import pytest

from larbinpy.fleet.holding import LINES
from larbinpy.fleet.memory.engine import Data
from tests.support.fleetmodel import SHARDS, World


@pytest.mark.parametrize("owing", [0, LINES], ids=["small", "large"])
def test_takes_that_are_refused_make_room_for_the_next(
    monkeypatch: pytest.MonkeyPatch, owing: int
) -> None:
    """Others took and left the shards between the look and the take, time and again."""
    world = World(7)
    world.start(0.0)
    [crawl] = world.crawls
    take = crawl.vault.take
    refused: list[int] = []

    def too_late(shard: int, own: str, n: int, *rest: Any) -> None:
        if len(refused) < 3 * SHARDS:
            refused.append(shard)
            own = "faster.1"
        take(shard, own, n, *rest)

    monkeypatch.setattr(crawl.vault, "take", too_late)

    def owe(data: Data, now: float) -> None:
        for k in range(SHARDS):
            data.shard(k).owing = owing

    world.engine.execute(0, owe)
    while crawl.node.served < SHARDS:
        assert world.now < 60.0, (len(refused), crawl.node)
        world.step()
    assert len(refused) == 3 * SHARDS
