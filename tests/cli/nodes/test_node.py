"""A node as a process: its lines, its deaths, and when it is started again."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.cli.nodes import node
from larbinpy.cli.nodes.node import NodeEnd, NodeProcess, NodeStart, earlier_end
from larbinpy.loop.poller import Poller


@pytest.fixture
def poller() -> Iterator[Poller]:
    made = Poller()
    yield made
    made.close()


class World:
    """A node whose process is a program of the test."""

    def __init__(self, folder: Path, poller: Poller) -> None:
        self.report = folder / "report.json"
        self.said: list[str] = []
        self.runs: list[NodeStart] = []
        self.program = ""
        self._poller = poller
        self.node = NodeProcess("7", self._command, {}, self.report, poller, self.said.append)

    def _command(self, run: NodeStart) -> list[str]:
        self.runs.append(run)
        return [sys.executable, "-c", self.program]

    def run(self, program: str, now: float, *, stops: bool = False) -> None:
        """Start the node, and let it end."""
        self.program = program
        self.node.start(now, seeds=True)
        self.until_ended()
        self.node.step(now, stops=stops)
        self.node.step(now, stops=stops)

    def until_ended(self) -> None:
        for _ in range(1000):
            if self.node.pid is None:
                return
            self._poller.wait(0.05)
        raise TimeoutError


@pytest.fixture
def world(tmp_path: Path, poller: Poller) -> Iterator[World]:
    made = World(tmp_path, poller)
    yield made
    made.node.kill()


def says(*lines: str) -> str:
    return f"import sys; sys.stderr.write({''.join(lines)!r}); sys.exit(0)"


def test_its_lines_begin_with_its_name(world: World) -> None:
    world.run(says("larbinpy: one\n", "two\n", "torn"), 0.0)
    assert world.said == ["7: one", "7: two", "7: torn"]


@pytest.mark.parametrize("status", [0, 2, 3, 4, 11, 13])
def test_a_node_that_ended_is_not_started_again(world: World, status: int) -> None:
    world.run(f"raise SystemExit({status})", 0.0)
    assert world.node.over
    assert (world.node.end().status, world.said) == (status, [])


def test_a_node_that_died_is_started_again_and_given_up_at_last(world: World) -> None:
    now = 100.0
    waits = []
    for _ in range(4):
        world.run("raise SystemExit(1)", now)
        assert not world.node.over
        waits.append(world.node.due - now)
        now = world.node.due
    assert waits == [1.0, 2.0, 4.0, 8.0]
    world.run("raise SystemExit(1)", now)
    assert world.node.over
    assert world.said[0] == "node 7 died with status 1; it is started again in 1 s"
    assert world.said[-1] == "node 7 died with status 1, for the 5th time in a row: given up"
    assert [run.is_first for run in world.runs] == [True, False, False, False, False]
    assert (world.node.end().status, world.node.end().starts) == (1, 5)


def test_a_node_that_lived_for_a_while_may_die_as_often_as_a_new_one(world: World) -> None:
    for number in range(8):
        world.program = "import time; time.sleep(60)"
        now = 1000.0 * number
        world.node.start(now, seeds=False)
        world.node.signal(signal.SIGKILL)
        world.until_ended()
        world.node.step(now + 61, stops=False)
        assert world.node.due == now + 62
    assert set(world.said) == {"node 7 was killed by SIGKILL; it is started again in 1 s"}


def test_a_node_is_not_started_again_when_the_crawl_ends(world: World) -> None:
    world.run("raise SystemExit(1)", 0.0, stops=True)
    assert world.node.over


def test_the_report_of_its_last_start_counts(world: World, tmp_path: Path) -> None:
    world.report.write_text(json.dumps({"stop_reason": "old", "exit_code": 0}))
    assert earlier_end(tmp_path / "report.json") is not None
    world.run("raise SystemExit(11)", 0.0)
    assert world.node.end().report == {}
    assert earlier_end(tmp_path / "report.json") is None


class Process:
    """A process that ends when the test says so."""

    def __init__(self, poller: Poller, command: list[str], **given: Any) -> None:
        self.command = command
        self.given = given
        self.status: int | None = None
        self.pid = 4711
        self.signals: list[int] = []

    def signal(self, number: int) -> None:
        self.signals.append(number)

    def wait(self) -> int:
        self.status = -9
        return self.status


def test_a_node_from_its_first_start_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "Child", Process)
    said: list[str] = []
    unused: Any = None
    report = tmp_path / "report.json"
    one = NodeProcess("7", lambda run: list(map(str, run)), {"A": "b"}, report, unused, said.append)
    # It is due from the beginning, and is no process yet.
    assert (one.pid, one.over, one.due) == (None, False, float("-inf"))
    one.signal(signal.SIGTERM)
    one.kill()
    one.step(0.0, stops=False)
    assert one.end() == NodeEnd("7", -9, 0, {})
    one.start(10.0, seeds=True)
    child: Any = one._child
    assert child.command == ["7", str(report), "True", "True"]
    assert child.given.pop("say")("larbinpy: hello") is None
    assert said == ["7: hello"]
    assert child.given == {"at_death": signal.SIGKILL, "holds": (), "variables": {"A": "b"}}
    # While it runs, it is neither over nor given up.
    one.give_up()
    one.step(11.0, stops=False)
    one.signal(signal.SIGHUP)
    assert (one.pid, one.over, one.due) == (4711, False, float("inf"))
    assert (child.signals, one.end().status) == ([signal.SIGHUP], -9)
    # Its end counts once it was noticed, and its death leads to another start.
    child.status = 1
    assert (one.pid, one.over) == (None, False)
    one.step(12.0, stops=False)
    assert (one.over, one.due, one.end().status) == (False, 13.0, 1)
    one.step(12.5, stops=False)
    assert one.due == 13.0
    one.start(13.0, seeds=False)
    child = one._child
    assert child.command == ["7", str(report), "False", "False"]
    report.write_text('{"stop_reason": "stopped"}')
    one.kill()
    assert child.signals == [signal.SIGKILL]
    one.step(14.0, stops=False)
    assert one.due == 16.0
    # Nobody needs it any more.
    one.give_up()
    assert one.over
    assert one.end() == NodeEnd("7", -9, 2, {"stop_reason": "stopped"})
    assert one.end().reason == "stopped"


def test_the_end_of_a_node_of_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "3").mkdir()
    report = tmp_path / "3" / "report.json"
    assert earlier_end(report) is None
    report.write_text("torn")
    assert earlier_end(report) is None
    found = {"exit_code": 11, "stop_reason": "stopped"}
    report.write_text(json.dumps(found))
    assert earlier_end(report) == NodeEnd("3", 11, 0, found)
