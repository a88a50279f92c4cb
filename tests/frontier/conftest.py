"""A world around a frontier, for the tests of its folders."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.frontier.frontier import Frontier
from tests.support.frontiers import MakeWorld, World, make_frontier


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeWorld]:
    """A function that makes a world around a frontier with seeds, closed at the end."""
    made: list[Frontier] = []

    def make(
        *seeds: str,
        replies: dict[str, Any] | None = None,
        names: dict[str, Any] | None = None,
        **settings: Any,
    ) -> World:
        frontier = make_frontier(tmp_path, **settings)
        made.append(frontier)
        for seed in seeds:
            frontier.seed(seed)
        return World(frontier, names, replies)

    yield make
    for frontier in made:
        frontier.close()
