"""The fixtures `shared_redis`, `boards` and `fleet`, a pytest plugin for the tests that name it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from larbinpy.fleet.board import AreaLog
from tests.support.fleetworld import NUMBERS, BoardAsker, Boards, Fleet
from tests.support.ports import free_port
from tests.support.redisserver import RedisServer, program_of


@pytest.fixture(scope="module")
def shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that no test harms."""
    folder = tmp_path_factory.mktemp("redis")
    server = RedisServer(folder, program_of("redis"), free_port())
    server.start()
    yield server
    server.end()


@pytest.fixture
def boards(shared_redis: RedisServer) -> Iterator[Boards]:
    """Makes boards of one crawl: `boards(area)`."""
    name = f"it{next(NUMBERS)}"
    made: list[BoardAsker] = []

    def board(area: AreaLog | None = None) -> BoardAsker:
        made.append(BoardAsker(f"redis://127.0.0.1:{shared_redis.port}/{name}", area))
        return made[-1]

    yield board
    for each in made:
        each.close()


@pytest.fixture
def fleet(tmp_path: Path, shared_redis: RedisServer) -> Iterator[Fleet]:
    world = Fleet(tmp_path, shared_redis)
    yield world
    world.close()
