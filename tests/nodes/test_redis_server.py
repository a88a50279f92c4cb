"""The Redis that `--nodes` starts for itself."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from larbinpy.errors import UserError
from larbinpy.loop.poller import Poller
from larbinpy.nodes.redis_server import RedisServer, running_in
from tests.support.redisserver import program_of


@pytest.fixture
def poller() -> Iterator[Poller]:
    program_of("redis")
    made = Poller()
    yield made
    made.close()


def never() -> bool:
    return False


def test_it_has_a_socket_for_its_user_alone(
    tmp_path: Path, poller: Poller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = RedisServer(poller, Path("state/redis"))
    assert server.address == "unix:state/redis/socket?crawl=crawl"
    server.start()
    try:
        server.wait(never)
        assert Path("state/redis").stat().st_mode & 0o777 == 0o700
        assert Path("state/redis/socket").stat().st_mode & 0o777 == 0o700
        assert server.status is None
        assert running_in(Path("state/redis")) == server.address
    finally:
        server.stop()
    assert server.status == 0
    assert running_in(Path("state/redis")) == ""
    server.stop()


def test_one_that_cannot_start_says_why(tmp_path: Path, poller: Poller) -> None:
    folder = tmp_path / "redis"
    (folder / "appendonlydir").mkdir(parents=True)
    manifest = folder / "appendonlydir" / "appendonly.aof.manifest"
    manifest.write_text("damaged\n")
    server = RedisServer(poller, folder)
    server.start()
    try:
        with pytest.raises(
            UserError, match=r"^redis-server did not start: it died with status 1: .+ has more\)$"
        ):
            server.wait(never)
            for _ in range(200):
                server.check()
                poller.wait(0.05)
    finally:
        server.stop()


def test_a_wait_for_it_can_be_stopped(tmp_path: Path, poller: Poller) -> None:
    server = RedisServer(poller, tmp_path / "redis")
    server.start()
    try:
        if not os.path.exists(tmp_path / "redis" / "socket"):
            with pytest.raises(KeyboardInterrupt):
                server.wait(lambda: True)
    finally:
        server.stop()


def test_one_that_was_killed_left_no_reason(tmp_path: Path, poller: Poller) -> None:
    server = RedisServer(poller, tmp_path / "redis")
    server.start()
    server.wait(never)
    os.kill(server.pid, signal.SIGKILL)
    for _ in range(200):
        if server.status is None:
            poller.wait(0.05)
    log = tmp_path / "redis" / "log"
    assert server.reason == f"it was killed by SIGKILL ({log} has its log)"
    server.stop()
