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

from larbinpy.cli.nodes import redis_server
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
    # One that was started might listen at once.
    with pytest.raises(KeyboardInterrupt):
        RedisServer(poller, tmp_path / "redis").wait(lambda: True)


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


@pytest.mark.parametrize(
    ("there", "name"),
    [
        (("redis-server", "valkey-server"), "redis-server"),
        (("valkey-server",), "valkey-server"),
        ((), None),
    ],
)
def test_redis_is_taken_before_valkey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], name: str | None
) -> None:
    unused: Any = None
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name in there else None)
    if name is None:
        with pytest.raises(UserError, match=r"^--nodes needs a Redis: .* --join redis://HOST/NAME"):
            RedisServer(unused, tmp_path)
    else:
        assert RedisServer(unused, tmp_path).name == name


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("x" * 100, True),
        ("x" * 101, False),
        ("\u00e9" * 50, True),
        ("\u00e9" * 50 + "x", False),
        ("a?b", False),
    ],
    ids=["long", "too long", "bytes", "too many bytes", "mark"],
)
def test_a_socket_needs_a_path_that_the_system_and_its_address_can_have(
    monkeypatch: pytest.MonkeyPatch, name: str, *, fits: bool
) -> None:
    """107 bytes; the shorter one of its two paths counts."""
    unused: Any = None
    monkeypatch.setattr("shutil.which", lambda name: "/bin/redis-server")
    monkeypatch.chdir("/tmp")
    if fits:
        assert RedisServer(unused, Path(name)).address == f"unix:{name}/socket?crawl=crawl"
    else:
        with pytest.raises(UserError, match="no path for a socket; set a shorter stateDir"):
            RedisServer(unused, Path(name))


class Process:
    """A server that ends after so many turns of the loop; its loop, too."""

    def __init__(self, turns: int) -> None:
        self.status: int | None = None
        self.signals: list[int] = []
        self.waits: list[float] = []
        self._turns = turns

    def signal(self, number: int) -> None:
        self.signals.append(number)

    def wait(self, seconds: float = 0.0) -> None:
        if self.signals[-1] == signal.SIGKILL:
            return
        self.waits.append(seconds)
        if len(self.waits) == self._turns:
            self.status = 0


@pytest.mark.parametrize(("turns", "waited"), [(3, 3), (300, 200)])
def test_one_that_writes_its_data_has_20_seconds_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: int, waited: int
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/bin/redis-server")
    process: Any = Process(turns)
    server = RedisServer(process, tmp_path)
    server.stop()
    assert process.signals == []
    server._child = process
    server.stop()
    assert (process.waits, process.signals) == ([0.1] * waited, [signal.SIGTERM, signal.SIGKILL])


def test_how_a_server_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def child(poller: Any, command: list[str], **given: Any) -> Any:
        given["log"].write(b"new\n")
        made.extend((command, given))
        return SimpleNamespace(status=None, pid=7)

    monkeypatch.setattr(redis_server, "Child", child)
    monkeypatch.setattr("shutil.which", lambda name: "/bin/redis-server")
    (tmp_path / "redis").mkdir(mode=0o755)
    (tmp_path / "redis" / "log").write_text("old\n")
    unused: Any = None
    server = RedisServer(unused, tmp_path / "redis", (5, 6))
    assert server.status is None
    server.start()
    assert (server.pid, server.status) == (7, None)
    assert (tmp_path / "redis").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "redis" / "log").read_text() == "old\nnew\n"
    [command, given] = made
    assert command[0] == "/bin/redis-server"
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert {name: options[f"--{name}"] for name in ("port", "appendfsync", "save")} == {
        "port": "0",
        "appendfsync": "everysec",
        "save": "",
    }
    assert (given["at_death"], given["holds"]) == (signal.SIGTERM, (5, 6))
    assert given["folder"] == str(tmp_path / "redis")


def test_a_server_that_does_not_listen_is_waited_for_until_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/bin/redis-server")
    waits: list[float] = []
    loop: Any = SimpleNamespace(wait=waits.append)
    server = RedisServer(loop, tmp_path)
    ended: Any = SimpleNamespace(status=None)
    server._child = ended
    with pytest.raises(KeyboardInterrupt):
        server.wait(lambda: len(waits) > 6)
    assert max(waits) < 0.1
    ended.status = 1
    with pytest.raises(UserError, match=r"^redis-server did not start: it died with status 1"):
        server.wait(never)
