"""The engines that are measured beside larbinpy's do the same work."""

import random
from collections import deque
from pathlib import Path
from typing import cast

import pytest

pytest.importorskip("lmdb", reason="lmdb is not installed (extra: bench)")

from experiments.engines import QUEUES, SETS, Queue

from larbinpy.frontier.sequencer import Sequencer
from larbinpy.storage.store import Store
from larbinpy.url import Url

#: URLs of a site that may be in memory: few, so that many are set aside.
MOST = 20


def crawl(engine: str, folder: Path) -> tuple[list[str], Queue, int]:
    """Put, take and decide URLs of three sites; those taken, and how many are in memory."""
    queue, rng = QUEUES[engine](folder), random.Random(1)
    sequencer = Sequencer(cast(Store, queue), MOST)
    taken: list[str] = []
    held: deque[Url] = deque()
    for turn in range(300):
        for number in range(25):
            site = rng.choice("aaaab")
            sequencer.put(Url(f"http://{site}.test/{turn}-{number}", 5))
        sequencer.put(Url(f"http://c.test/{turn}", 5))
        queue.spill()
        for url in sequencer.take(20):
            taken.append(url.href)
            held.append(url)
        while len(held) > 15:
            sequencer.done(held.popleft())
        if turn % 40 == 39:
            list(queue.save())
    list(queue.save())
    return taken, queue, len(held)


def rest(queue: Queue) -> list[str]:
    """All URLs that `queue` still gives."""
    sequencer = Sequencer(cast(Store, queue), MOST)
    sequencer.resume()
    taken: list[str] = []
    while some := list(sequencer.take(100)):
        taken += [url.href for url in some]
        for url in some:
            sequencer.done(url)
    return taken


@pytest.mark.parametrize("engine", ["sqlite", "lmdb"])
def test_urls_come_in_the_same_order_and_none_is_lost(engine: str, tmp_path: Path) -> None:
    left: dict[str, list[str]] = {}
    orders: dict[str, list[str]] = {}
    for name in ("larbinpy", engine):
        folder = tmp_path / name
        folder.mkdir()
        orders[name], queue, held = crawl(name, folder)
        length = len(queue) + held
        queue.close()
        again = QUEUES[name](folder)
        assert len(again) == length
        left[name] = rest(again)
        again.close()
        assert len(left[name]) == length > 1000
    assert orders[engine] == orders["larbinpy"]
    assert sorted(left[engine]) == sorted(left["larbinpy"])


@pytest.mark.parametrize("engine", SETS)
def test_fingerprints_are_new_once(engine: str, tmp_path: Path) -> None:
    seen, rng = SETS[engine](tmp_path), random.Random(1)
    old = [rng.getrandbits(64) for _ in range(250)]
    assert all(seen.add(old))
    new = [rng.getrandbits(64) for _ in range(50)]
    assert seen.add([*old, *new]) == [False] * len(old) + [True] * len(new)
    list(seen.save())
    seen.close()
    again = SETS[engine](tmp_path)
    assert not any(again.add([*old, *new]))
    again.close()
