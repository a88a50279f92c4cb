"""The Redis that `--nodes` starts for itself."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.cli.nodes.redis_server import RedisServer, running_in
from larbinpy.errors import UserError
from larbinpy.loop.poller import Poller
from tests.support.processes import command
from tests.support.redisserver import Client, program_of


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


def test_it_keeps_all_that_it_has(tmp_path: Path, poller: Poller) -> None:
    server = RedisServer(poller, tmp_path / "redis")
    server.start()
    server.wait(never)
    client = Client(SimpleNamespace(port=0, path=tmp_path / "redis" / "socket"))  # type: ignore[arg-type]
    values = {name: client("CONFIG", "GET", name)[1] for name in ("maxmemory-policy", "appendonly")}
    client.close()
    server.stop()
    assert values == {"maxmemory-policy": b"noeviction", "appendonly": b"yes"}


def test_it_writes_its_data_when_its_command_is_killed(tmp_path: Path) -> None:
    program_of("redis")
    program = """
import os, sys
from pathlib import Path
from larbinpy.loop.poller import Poller
from larbinpy.cli.nodes.redis_server import RedisServer
server = RedisServer(Poller(), Path(sys.argv[1]))
server.start()
server.wait(lambda: False)
print(server.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    made = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, timeout=30
    )
    deadline = time.monotonic() + 20.0
    while command(int(made.stdout)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "SIGTERM" in (tmp_path / "log").read_text()


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


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("begins\nhas no memory\n", "has no memory"),
        ("7:M 26 Nov # is old\n7:M 26 Nov # Bad file\n7:M 26 Nov * ends\n", "Bad file"),
        ("", ""),
    ],
)
def test_the_reason_of_an_end_is_the_last_warning_or_line(
    tmp_path: Path, poller: Poller, log: str, why: str
) -> None:
    server = RedisServer(poller, tmp_path)
    ended: Any = SimpleNamespace(status=1)
    server._child = ended
    (tmp_path / "log").write_text(log)
    assert server.reason == f"it died with status 1: {why} ({tmp_path / 'log'} has more)"


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
