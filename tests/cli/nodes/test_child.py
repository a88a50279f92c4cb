"""A process that is watched, and does not outlive the one that started it."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from larbinpy.cli.nodes.node import Child, _end_with
from larbinpy.loop.poller import Poller


@pytest.mark.parametrize(
    "parent, status", [(os.getpid(), 0), (0, -signal.SIGKILL)], ids=["alive", "dead"]
)
def test_one_whose_parent_died_before_it_could_know_does_not_begin(
    parent: int, status: int
) -> None:
    prepare = partial(_end_with, parent, signal.SIGTERM)
    with subprocess.Popen(["true"], preexec_fn=prepare) as process:
        assert process.wait(20.0) == status


def test_what_was_written_before_the_end_is_shown() -> None:
    said: list[str] = []
    poller = Poller()
    child = Child(poller, ["sh", "-c", "echo last >&2"], at_death=signal.SIGKILL, say=said.append)
    child.wait()
    poller.close()
    assert said == ["last"]


def test_a_line_without_end_is_shown_in_pieces() -> None:
    """What a process writes fills no memory."""
    said: list[str] = []
    poller = Poller()
    write = "import sys; sys.stderr.write('x' * 1_000_000 + '\\nend')"
    child = Child(poller, [sys.executable, "-c", write], at_death=signal.SIGKILL, say=said.append)
    for _ in range(1000):
        if child.status is None:
            poller.wait(0.05)
    child.wait()
    poller.close()
    assert "".join(said) == "x" * 1_000_000 + "end"
    assert said[-1] == "end"
    assert max(map(len, said)) <= 2 * 65536


#: An option of prctl(2): PR_GET_PDEATHSIG.
_TELLS = """
import ctypes, json, os, sys
signal = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(signal))
held = int(sys.argv[1])
print(json.dumps({
    "at_death": signal.value,
    "leads": os.getsid(0) == os.getpid(),
    "folder": os.getcwd(),
    "secret": os.environ.get("TOKEN"),
    "join": os.environ.get("LARBINPY_JOIN"),
    "input": os.read(0, 9).decode(),
    "has": os.path.exists(f"/proc/self/fd/{held}"),
    "others": [os.path.exists(f"/proc/self/fd/{int(fd)}") for fd in sys.argv[2:]],
}), file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("is_said", [True, False])
def test_what_a_child_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_said: bool
) -> None:
    """A session of its own, as Ctrl-C is for this process alone, and no descriptors but `holds`."""
    monkeypatch.setenv("TOKEN", "s3cret")
    said: list[str] = []
    poller = Poller()
    with (tmp_path / "held").open("w") as held, (tmp_path / "log").open("w+b") as log:
        given: dict[str, Any] = {"say": said.append} if is_said else {"log": log}
        child = Child(
            poller,
            [sys.executable, "-c", _TELLS, str(held.fileno()), str(log.fileno())],
            at_death=signal.SIGTERM,
            holds=[held.fileno()],
            variables={"LARBINPY_JOIN": "redis://x/y"},
            folder=str(tmp_path),
            **given,
        )
        assert child.pid == child._process.pid
        assert child.wait() == child.status == 0
        # It has ended: nobody else may have its number by now.
        child.signal(signal.SIGKILL)
        log.seek(0)
        [line] = said or log.read().decode().splitlines()
    # Nothing of it is left to be watched.
    assert poller.wait(0.0) == 0
    poller.close()
    assert json.loads(line) == {
        "at_death": signal.SIGTERM,
        "leads": True,
        "folder": str(tmp_path),
        "secret": None,
        "join": "redis://x/y",
        "input": "",
        "has": True,
        "others": [False],
    }


def test_the_end_of_a_child_is_noticed_in_the_loop() -> None:
    poller = Poller()
    child = Child(poller, ["sh", "-c", "exit 7"], at_death=signal.SIGKILL)
    assert child.status is None
    for _ in range(100):
        if child.status is None:
            poller.wait(1.0)
    assert child.status == 7
    assert poller.wait(0.0) == 0
    poller.close()


@pytest.mark.parametrize("script", ["yes >&2", "yes >&2 &"], ids=["itself", "its child"])
def test_one_that_writes_on_and_on_does_not_stop_the_loop(script: str) -> None:
    shown = 0

    def say(line: str) -> None:
        nonlocal shown
        shown += 1
        assert shown < 1_000_000

    poller = Poller()
    child = Child(poller, ["sh", "-c", script], at_death=signal.SIGKILL, say=say)
    poller.wait(20.0)
    child.signal(signal.SIGKILL)
    child.wait()
    poller.close()
