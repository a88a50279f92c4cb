"""The fixtures `web` and `crawl`; a pytest plugin, to be named by the tests that want them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.smallweb import Web
from tests.support.smallworld import Worlds


@pytest.fixture
def web() -> Iterator[Web]:
    """A web with nothing in it."""
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
