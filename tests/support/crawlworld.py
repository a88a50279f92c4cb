"""The fixture `world`; in a module of its own, as pytest plugins must not be imported before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crawling import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()
