"""The fixtures `web` and `crawl`, a pytest plugin for the tests that name it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.smallweb import Web
from tests.support.smallworld import Worlds


@pytest.fixture
def web() -> Iterator[Web]:
    """An empty web."""
    web = Web()
    yield web
    web.close()


@pytest.fixture
def crawl(web: Web, tmp_path: Path) -> Iterator[Worlds]:
    """A function that crawls `web`: ``crawl("getCGI", "depthInSite 2")``."""
    worlds = Worlds(web, tmp_path)
    yield worlds
    for client in worlds.clients:
        client.close()
