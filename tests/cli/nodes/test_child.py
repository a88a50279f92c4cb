"""A process that is watched, and does not outlive the one that started it."""

import os
import signal
import subprocess
import sys
from functools import partial

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
