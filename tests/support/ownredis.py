"""The fixture `redis`; in a module of its own, as plugins must not be imported before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.redisserver import RedisServer, program_of


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis", program_of("redis"), free_port())
    server.start()
    yield server
    server.end()
