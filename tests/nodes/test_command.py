"""The command that runs nodes: what it passes on to them, and what it adds up; they are scripts."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from larbinpy.console.terminal.progress import Snapshot
from larbinpy.exit_status import Ending
from larbinpy.fleet.identity import Identity
from larbinpy.fleet.settings import Renewal
from larbinpy.loop.clock import clock, wall
from larbinpy.nodes.node import Run
from larbinpy.nodes.supervisor import Plan, Supervisor
from larbinpy.storage.state import Saved, Start, State
from tests.nodes.test_ending import FINISHED, node
from tests.support.redisjoin import address
from tests.support.redisserver import RedisServer
from tests.support.redisvault import Asker

pytest_plugins = ["tests.support.ownredis"]

#: Ends with 11 at the signal named, and says so; after some seconds without it, with 2.
_UNTIL = """
trap 'echo {0} >&2; exit 11' {0}
echo ready >&2
for n in $(seq 300); do sleep 0.02; done
exit 2
"""
_NO_CHANGE = Renewal({}, {})


class Command:
    """`crawl --nodes 2` of a crawl that another one has made."""

    def __init__(self, folder: Path, redis: RedisServer) -> None:
        self._join = address(redis)
        asker = Asker(self._join)
        self.crawl: str = asker.open({"shards": "8"}).id
        asker.close()
        self.folder = folder / "state"
        self.folder.mkdir()
        self.said: list[str] = []
        self.script = "exit 0"
        #: Called with each line that the command says.
        self.heard: Callable[[str], None] = lambda line: None

    def run(self) -> Any:
        plan = Plan(
            ["1", "2"], self.folder, self._join, Start.AUTO, _NO_CHANGE, [], [], self._command
        )
        return Supervisor(plan, self, clock, wall).run()

    def _command(self, run: Run) -> Sequence[str]:
        return ["sh", "-c", self.script]

    def say(self, line: str) -> None:
        self.said.append(line.removeprefix("larbinpy: "))
        self.heard(self.said[-1])

    def update(self, snapshot: Snapshot) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def command(tmp_path: Path, redis: RedisServer) -> Command:
    return Command(tmp_path, redis)


@pytest.mark.parametrize("name", ["HUP", "USR1"])
def test_signals_reach_all_nodes(command: Command, name: str) -> None:
    def heard(line: str) -> None:
        if {"1: ready", "2: ready"} == set(command.said):
            os.kill(os.getpid(), signal.Signals[f"SIG{name}"])

    command.heard, command.script = heard, _UNTIL.format(name)
    assert command.run()["exit_code"] == 11
    assert sorted(command.said) == [f"1: {name}", "1: ready", f"2: {name}", "2: ready"]


def test_reports_of_another_crawl_do_not_count(command: Command) -> None:
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
    command.script = f"sleep 0.1; exit {Ending.STOPPED.code}"
    report = command.run()
    assert [each["node"] for each in report["nodes"]] == ["1", "2", "3"]
    assert report["success"] == 3
