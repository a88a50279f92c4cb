"""Servers of several engines, and the ends of nodes."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.redisserver import ENGINES, ClockedRedis, Cluster, RedisServer, program_of
from tests.support.redisvault import Asker

_NUMBERS = count(1)

Connect = Callable[..., Asker]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RedisServer]]:
    """Servers of this process of the tests, which no test harms."""
    running: dict[str, RedisServer] = {}
    yield running
    for server in running.values():
        server.end()


@pytest.fixture(params=sorted(ENGINES))
def engine(
    request: pytest.FixtureRequest,
    programs: dict[str, RedisServer],
    tmp_path_factory: pytest.TempPathFactory,
) -> RedisServer:
    """A server of each engine."""
    name = request.param
    if name not in programs:
        server = RedisServer(tmp_path_factory.mktemp(name), program_of(name), free_port())
        server.start()
        programs[name] = server
    return programs[name]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that the test may kill."""
    server = RedisServer(tmp_path / "redis", program_of("redis"), free_port())
    server.start()
    yield server
    server.end()


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[ClockedRedis]:
    """A server whose clock the test may set."""
    server = ClockedRedis(tmp_path / "redis", program_of("redis"), free_port())
    server.start()
    yield server
    server.end()


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Three masters and three replicas that the test may kill; a parameter names their engine."""
    made = Cluster(tmp_path / "cluster", program_of(getattr(request, "param", "redis")))
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes the ends of nodes; `connect(port, name)`, by default of a new crawl."""
    made: list[Asker] = []

    def connect(port: int | str, name: str = "") -> Asker:
        name = name or f"it{next(_NUMBERS)}"
        place = port if isinstance(port, str) else f"127.0.0.1:{port}"
        made.append(Asker(f"redis://{place}/{name}"))
        return made[-1]

    yield connect
    for asker in made:
        asker.close()
