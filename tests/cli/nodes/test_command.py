"""The command that runs nodes: what it passes on to them, and what it adds up; they are scripts."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from larbinpy.cli.nodes.node import NodeStart
from larbinpy.cli.nodes.supervisor import NodesPlan, Supervisor
from larbinpy.config import Given
from larbinpy.console.terminal.progress import Snapshot
from larbinpy.errors import Ending
from larbinpy.fleet.identity import Identity
from larbinpy.fleet.vault import FleetState
from larbinpy.loop.clock import clock, wall
from larbinpy.storage.state import Saved, Start, State
from tests.cli.nodes.test_ending import FINISHED, node
from tests.support.processes import children, kill
from tests.support.processes import command as command_of
from tests.support.redisjoin import address
from tests.support.redisserver import RedisServer, program_of
from tests.support.redisvault import Asker

pytest_plugins = ["tests.support.ownredis"]

#: Ends with 11 at the signal named, and says so; after some seconds without it, with 2.
_UNTIL = """
trap 'echo {0} >&2; exit 11' {0}
echo ready >&2
for n in $(seq 1000); do sleep 0.02; done
exit 2
"""
_NOTHING = Given(None, [])
#: Seconds for a run.
_PATIENCE = 30.0


class Command:
    """`crawl --nodes 2`, in a Redis of its own, or on a crawl that another one has made."""

    def __init__(self, folder: Path, join: str = "") -> None:
        self._join = join
        self.folder = folder / "state"
        self.said: list[str] = []
        self.runs: list[NodeStart] = []
        #: By node.
        self.scripts = {"1": "exit 0", "2": "exit 0"}
        #: Called with each line that the command says, and when it shows its progress.
        self.heard: Callable[[str], None] = lambda line: None
        self.shown: Callable[[Snapshot], None] = lambda snapshot: None
        #: Seconds that its clock is ahead.
        self.ahead = 0.0
        self.until = clock() + _PATIENCE

    def run(self) -> Any:
        plan = NodesPlan(
            ["1", "2"],
            self.folder,
            self._join,
            Start.AUTO,
            {},
            _NOTHING,
            [],
            [],
            self._command,
        )
        return Supervisor(plan, self, self._clock, wall).run()

    def _clock(self) -> float:
        assert clock() < self.until, self.said
        return clock() + self.ahead

    def _command(self, run: NodeStart) -> Sequence[str]:
        self.runs.append(run)
        return ["sh", "-c", self.scripts[run.name]]

    def say(self, line: str) -> None:
        self.said.append(line.removeprefix("larbinpy: "))
        self.heard(self.said[-1])

    def update(self, snapshot: Snapshot) -> None:
        self.shown(snapshot)

    def close(self) -> None:
        pass


class Joined(Command):
    """On a crawl of which the test has an end, too."""

    def __init__(self, folder: Path, redis: RedisServer) -> None:
        super().__init__(folder, address(redis))
        self.asker = Asker(self._join)
        self.crawl: str = self.asker.open({"shards": "8"}).id
        self.declare(FleetState.NEW, FleetState.RUNNING)

    def declare(self, old: FleetState, new: FleetState) -> None:
        self.asker.declare(old, new)


def send(name: str) -> None:
    """Send a signal to the command, which is this process."""
    os.kill(os.getpid(), signal.Signals[f"SIG{name}"])


@pytest.fixture
def command(tmp_path: Path, redis: RedisServer) -> Iterator[Joined]:
    made = Joined(tmp_path, redis)
    yield made
    made.asker.close()


@pytest.mark.parametrize("name", ["HUP", "USR1"])
def test_signals_reach_all_nodes(command: Joined, name: str) -> None:
    def heard(line: str) -> None:
        if {"1: ready", "2: ready"} == set(command.said):
            send(name)

    command.heard, command.scripts = heard, dict.fromkeys("12", _UNTIL.format(name))
    assert command.run()["exit_code"] == 11
    assert sorted(command.said) == [f"1: {name}", "1: ready", f"2: {name}", "2: ready"]


def test_nodes_that_do_not_end_are_killed_after_a_second_signal(command: Joined) -> None:
    def heard(line: str) -> None:
        terms = command.said.count("2: term")
        if terms == 2:
            # The first one has had its signal, but may not have ended yet.
            while len(shells()) > 1:
                assert clock() < command.until
            command.ahead = 10.0
        elif terms == 1 or {"1: ready", "2: ready"} == set(command.said):
            send("TERM")

    def shells() -> list[int]:
        return [pid for pid in children(os.getpid()) if command_of(pid).startswith("sh -c")]

    command.scripts["2"] = _UNTIL.format("HUP").replace("trap", "trap 'echo term >&2' TERM\ntrap")
    command.scripts["1"] = _UNTIL.format("TERM")
    command.heard = heard
    report = command.run()
    assert [each["exit_code"] for each in report["nodes"]] == [11, -signal.SIGKILL]


def test_what_is_left_of_a_stop_is_shown(command: Joined) -> None:
    def shown(snapshot: Snapshot) -> None:
        states.append(snapshot["state"])
        if len(states) == 1:
            send("TERM")

    def heard(line: str) -> None:
        if line.endswith("TERM"):
            send("USR1")

    states: list[str] = []
    command.scripts = dict.fromkeys(
        "12", _UNTIL.format("TERM").replace("exit", "sleep 0.3; exit", 1)
    )
    command.shown, command.heard = shown, heard
    command.run()
    assert states[0] == "running"
    assert any(" stopping " in line for line in command.said)


def test_a_node_that_is_refused_ends_the_others(command: Joined) -> None:
    command.scripts = {"1": _UNTIL.format("TERM"), "2": "exit 2"}
    assert command.run()["exit_code"] == 2
    assert command.said == ["1: ready", "1: TERM"]


@pytest.mark.parametrize("is_new", [False, True])
def test_a_first_node_that_died_gives_its_seeds_until_they_are_safe(
    command: Joined, *, is_new: bool
) -> None:
    if is_new:
        command.declare(FleetState.RUNNING, FleetState.NEW)

    def heard(line: str) -> None:
        if line == "2: ready":
            # The second one is started when the command has seen the crawl.
            (command.folder / "dies").touch()
        elif "started again" in line:
            command.ahead += 2.0
            command.scripts["1"] = "exit 0"

    dies = f"test -e {command.folder}/dies && exit 1"
    command.scripts = {
        "1": f"for n in $(seq 300); do {dies}; sleep 0.02; done",
        "2": "echo ready >&2; exit 0",
    }
    command.heard = heard
    command.run()
    first = [(run.is_first, run.has_seeds) for run in command.runs if run.name == "1"]
    assert first == [(True, True), (False, is_new)]
    assert [run.has_seeds for run in command.runs if run.name == "2"] == [False]


def test_nodes_that_die_together_are_started_again(command: Joined) -> None:
    """No other one is left that could do their work."""

    def heard(line: str) -> None:
        if "started again" in line:
            command.ahead += 2.0
            command.scripts = dict.fromkeys("12", "exit 0")

    command.scripts = dict.fromkeys("12", "sleep 0.2; exit 1")
    command.heard = heard
    report = command.run()
    assert [(each["starts"], each["exit_code"]) for each in report["nodes"]] == [(2, 0), (2, 0)]


def test_a_node_that_waits_for_its_restart_is_not_started_after_a_stop(command: Joined) -> None:
    def heard(line: str) -> None:
        seen.append(line)
        if not any("in 8 s" in each for each in seen):
            command.ahead += 5.0 if "started again" in line else 0.0
        # A shell that is slow to start has no trap yet.
        elif not begun and "2: ready" in seen:
            begun.append(clock())
            send("TERM")

    seen: list[str] = []
    begun: list[float] = []
    command.scripts = {"1": "exit 1", "2": _UNTIL.format("TERM")}
    command.heard = heard
    assert command.run()["exit_code"] == 11
    assert clock() - begun[0] < 7.0
    assert len([run for run in command.runs if run.name == "1"]) == 4


def test_all_nodes_of_a_finished_crawl_look_at_it(command: Joined) -> None:
    """There may be new seeds."""
    command.declare(FleetState.RUNNING, FleetState.FINISHED)
    command.scripts = dict.fromkeys("12", "sleep 0.5; exit 0")
    command.run()
    assert [run.name for run in command.runs] == ["1", "2"]


def test_letters_are_queued_urls(command: Joined) -> None:
    command.asker.post({1: b"=http://a.test/", 5: b"=http://b.test/"})
    assert command.run()["urls_queued"] == 2


def test_reports_of_another_crawl_do_not_count(command: Joined) -> None:
    """Nodes 3 and 4 are of earlier runs, 4 of a crawl that was in this folder before."""
    for name, crawl in (("3", command.crawl), ("4", "another")):
        folder = command.folder / name
        state = State(folder)
        state.lock()
        identity = Identity(crawl, "news", folder)
        for _ in state.checkpoint(Saved({}, {"fleet": identity}), 0.0, ended=True):
            pass
        state.unlock()
        (folder / "report.json").write_text(json.dumps(node(FINISHED, name).report))
    command.scripts = dict.fromkeys("12", f"sleep 0.1; exit {Ending.STOPPED.code}")
    report = command.run()
    assert [each["node"] for each in report["nodes"]] == ["1", "2", "3"]
    assert report["success"] == 3


def test_a_redis_that_dies_now_and_then_is_started_each_time(tmp_path: Path) -> None:
    program_of("redis")
    command = Command(tmp_path)

    def heard(line: str) -> None:
        servers = [pid for pid in children(os.getpid()) if "redis" in command_of(pid)]
        deaths = sum(each.startswith("Redis died") for each in command.said)
        if line.startswith("Redis died"):
            command.ahead += 2.0
        elif deaths > 5:
            send("TERM")
        elif servers:
            command.ahead += 100.0
            kill(servers[0])

    command.scripts["1"] = _UNTIL.format("TERM").replace("do sleep", "do echo alive >&2; sleep")
    command.heard = heard
    assert command.run()["exit_code"] == 11
    deaths = [line for line in command.said if line.startswith("Redis died")]
    assert all("in 1 s" in line for line in deaths)
