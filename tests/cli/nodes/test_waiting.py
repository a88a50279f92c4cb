"""The wait for processes that a killed command has left."""

import fcntl
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from larbinpy.cli.nodes.supervisor import NodesPlan, Supervisor
from larbinpy.config import Given
from larbinpy.console.terminal.progress import Snapshot
from larbinpy.storage.state import Start, StateError

_NOTHING = Given(None, [])


class Said:
    """A terminal that notes its lines, and does something after each."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.lines: list[str] = []
        self._then = then

    def say(self, line: str) -> None:
        self.lines.append(line)
        self._then()

    def update(self, snapshot: Snapshot) -> None:
        raise AssertionError

    def close(self) -> None:
        pass


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[int]:
    """The number of a process that has ended, whose lock is still held."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(process.pid))
        lock.flush()
        yield process.pid


def supervisor(folder: Path, said: Said, *times: float) -> tuple[Supervisor, list[float]]:
    """One whose clock shows these `times`, one after the other, and then fails; those left."""
    plan = NodesPlan(["1"], folder, "", Start.AUTO, {}, _NOTHING, [], [], lambda run: [])
    left = list(times)
    return Supervisor(plan, said, lambda: left.pop(0), lambda: 0.0), left


def test_it_is_said_and_ends(tmp_path: Path, owner: int) -> None:
    said = Said()
    left = f"{tmp_path}: in use by processes that process {owner} left when it died"
    waiting, times = supervisor(tmp_path, said, 0.0, 10.0, 19.9, 20.0)
    with pytest.raises(StateError, match=f"^{left}$"):
        waiting.run()
    assert times == []
    assert said.lines == [f"larbinpy: {left}; waiting for their end"]


def test_it_can_be_stopped(tmp_path: Path, owner: int) -> None:
    said = Said(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        supervisor(tmp_path, said, 0.0)[0].run()
    assert len(said.lines) == 1
