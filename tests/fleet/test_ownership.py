"""Shards that a node takes, and those that others were faster to take."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from larbinpy.fleet.journal import pack
from larbinpy.fleet.ownership import LINES
from larbinpy.fleet.vault import Away
from tests.support.fleetmodel import SHARDS, World
from tests.support.memoryvault import Data


def owe(world: World, lines: int) -> None:
    """Let each shard owe so many lines."""

    def command(data: Data, now: float) -> None:
        for k in range(SHARDS):
            data.shard(k).owing = lines

    world.engine.execute(0, command)


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
    owe(world, owing)
    while crawl.node.served < SHARDS:
        assert world.now < 60.0, (len(refused), crawl.node)
        world.step()
    assert len(refused) == 3 * SHARDS


@pytest.mark.parametrize(("owing", "most"), [(0, SHARDS), (LINES // 2, 2), (2 * LINES, 1)])
def test_few_large_shards_are_loaded_at_once(
    monkeypatch: pytest.MonkeyPatch, owing: int, most: int
) -> None:
    world = World(7)
    world.start(0.0)
    [crawl] = world.crawls
    owe(world, owing)
    loads: list[int] = []
    monkeypatch.setattr(crawl.vault, "load", lambda shard, *rest: loads.append(shard))
    while world.now < 8.0:
        world.step()
    assert len(loads) == most


def test_shards_are_taken_however_late_the_news_of_members_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(7)
    world.start(0.0)
    [crawl] = world.crawls
    beat = crawl.vault.beat
    late: deque[tuple[float, Callable[[], None]]] = deque()

    def beat_late(session: str, then: Callable[[Any], None]) -> None:
        beat(session, lambda answer: late.append((world.now + 1.5, partial(then, answer))))

    monkeypatch.setattr(crawl.vault, "beat", beat_late)
    while crawl.node.served < SHARDS:
        assert world.now < 15.0
        world.step()
        while late and late[0][0] <= world.now:
            late.popleft()[1]()


def test_a_part_that_was_not_answered_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(7)
    world.start(0.0)
    [crawl] = world.crawls
    load = crawl.vault.load
    lost: list[str] = []
    loaded: list[str] = []

    def fill(data: Data, now: float) -> None:
        data.shard(3).blocks = {block: pack([f"line {block}"]) for block in range(10)}

    def load_some(shard: int, cursor: str, then: Callable[[Any], None]) -> None:
        if cursor and cursor not in lost:
            lost.append(cursor)
            crawl.vault.look(lambda look: then(Away("the connection was lost")))
        else:
            load(shard, cursor, then)

    world.engine.execute(0, fill)
    monkeypatch.setattr(crawl.vault, "load", load_some)
    monkeypatch.setattr(
        crawl, "loaded", lambda shard, part, lines: loaded.extend(line for _, line in lines)
    )
    while crawl.node.served < SHARDS:
        assert world.now < 15.0
        world.step()
    assert len(lost) == 2
    assert sorted(loaded) == sorted(f"line {block}" for block in range(10))
