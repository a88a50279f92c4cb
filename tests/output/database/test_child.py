"""The indexer's process seen from the crawl: start, messages, kills and restarts, end."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.database.indexer.indexer import Covered, Report
from larbinpy.database.revisit.round import DueAsk, DuePage
from larbinpy.errors import UserError
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller
from larbinpy.output.database import IndexerChild
from larbinpy.storage.spool import Position

PATIENCE = 30.0
COVERED = Covered("5p001", Position(2, 30), 7)


class Nursery:
    """Makes a child of each kind of `fakeindexer`, in the loop of the test."""

    def __init__(self, folder: Path) -> None:
        self.poller = Poller()
        self.now = 100.0
        self.reports: list[Report] = []
        self._log = folder / "log"
        self._made: list[IndexerChild] = []

    def child(self, kind: str = "good") -> IndexerChild:
        command = [sys.executable, "-m", "tests.support.fakeindexer", kind, str(self._log)]
        child = IndexerChild(command, self.poller, lambda: self.now, self.reports.append)
        self._made.append(child)
        return child

    def until(self, condition: Callable[[], Any]) -> None:
        while not condition():
            assert self.poller.wait(PATIENCE), "nothing happens"

    @property
    def heard(self) -> list[str]:
        """The messages that children got."""
        return self._log.read_text().splitlines()

    def close(self) -> None:
        for child in self._made:
            child.close()
        self.poller.close()


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    made = Nursery(tmp_path)
    yield made
    made.close()


def killed(child: IndexerChild) -> None:
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)


def test_what_a_checkpoint_covers_is_taken(nursery: Nursery) -> None:
    child = nursery.child()
    child.open()
    assert child.trouble == ""
    child.cover(COVERED)
    nursery.until(lambda: child.report.taken == 7)
    assert nursery.reports[-1] == Report(taken=7, pages=7, gone=2, kept=2)
    assert nursery.heard == ['{"spool": "5p001", "until": [2, 30], "records": 7}']


def test_the_end(nursery: Nursery) -> None:
    child = nursery.child()
    child.open()
    child.cover(COVERED)
    child.finish()
    child.finish()
    nursery.until(lambda: child.report.done)
    nursery.until(lambda: child.pid is None)
    child.second(nursery.now + 100)
    assert (child.pid, child.trouble) == (None, "")
    assert nursery.heard[1:] == ['{"finish": true}']


def test_one_that_ends_its_output_only_does_not_stop_the_crawl(nursery: Nursery) -> None:
    child = nursery.child("mute")
    child.open()
    begun = clock()
    nursery.until(lambda: child.pid is None)
    assert clock() - begun < 3.0
    assert "killed by signal 9" in child.trouble


def test_it_hears_of_the_end_of_the_crawl(nursery: Nursery) -> None:
    child = nursery.child()
    child.open()
    child.close()
    assert nursery.heard == ["end"]
    child.close()


@pytest.mark.parametrize(
    ("kind", "why"),
    [("foreign", "x.db: not a database"), ("broken", "the indexer ended with status 3")],
)
def test_one_that_is_of_no_use_from_the_start(nursery: Nursery, kind: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        nursery.child(kind).open()


def test_one_that_is_killed_as_it_starts_is_started_again(nursery: Nursery) -> None:
    child = nursery.child("killed")
    child.open()
    assert not child.trouble
    assert nursery.heard == ["killed", "killed"]


def test_a_command_that_does_not_exist(nursery: Nursery) -> None:
    child = IndexerChild(["/no/such/program"], nursery.poller, lambda: 1.0, nursery.reports.append)
    with pytest.raises(UserError, match="cannot be started: No such file"):
        child.open()


def test_a_database_that_is_down_at_the_start_does_not_stop_the_crawl(nursery: Nursery) -> None:
    child = nursery.child("down")
    child.open()
    assert child.trouble == "server down"


def test_a_killed_one_is_started_again_and_goes_on(nursery: Nursery) -> None:
    child = nursery.child()
    child.open()
    child.cover(COVERED)
    nursery.until(lambda: child.report.taken == 7)
    killed(child)
    nursery.until(lambda: child.down)
    assert child.down == "the indexer was killed by signal 9; it is started again in 1 s"
    assert child.report.taken == 7
    child.second(nursery.now + 0.9)
    assert child.pid is None
    child.second(nursery.now + 1.0)
    assert child.pid is not None and not child.trouble
    nursery.until(lambda: child.report.pages == 7)
    # The position of the database is its own business: it hears the same message.
    assert len(nursery.heard) == 2 and len(set(nursery.heard)) == 1
    assert (child.pages, child.gone) == (14, 4)
    # It has worked, so the next wait is as short.
    killed(child)
    nursery.until(lambda: child.down)
    assert child.down.endswith("it is started again in 1 s")


def test_the_end_is_said_once(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawl that ends asks for the end in each of its turns."""
    child, sent = nursery.child(), list[bytes]()
    monkeypatch.setattr(child, "_send", sent.append)
    for _ in range(3):
        child.finish()
    assert sent == [b'{"finish": true}\n']


def test_one_that_is_killed_at_the_end_ends_all_the_same(nursery: Nursery) -> None:
    child = nursery.child()
    child.open()
    killed(child)
    nursery.until(lambda: child.down)
    child.cover(COVERED)
    child.finish()
    child.second(nursery.now + 1)
    nursery.until(lambda: child.report.done)


def test_waits_grow_and_at_last_there_is_no_hope(nursery: Nursery) -> None:
    child = nursery.child("lame")
    child.open()
    for wait in (1, 2, 4, 8, 16):
        assert not child.hopeless
        child.cover(COVERED)
        nursery.until(lambda: child.down)
        assert f"again in {wait} s" in child.down
        nursery.now += wait
        child.second(nursery.now)
    assert child.hopeless


def test_ends_count_in_a_row(nursery: Nursery) -> None:
    child = nursery.child("moody")
    child.open()
    for _ in range(4):
        child.cover(COVERED)
        nursery.until(lambda: child.down)
        nursery.now += 100
        child.second(nursery.now)
    nursery.until(lambda: child.report.pages)
    killed(child)
    nursery.until(lambda: child.down)
    for _ in range(3):
        nursery.now += 100
        child.second(nursery.now)
        nursery.until(lambda: child.down)
        assert not child.hopeless
    nursery.now += 100
    child.second(nursery.now)
    nursery.until(lambda: child.down)
    assert child.hopeless


ASK = DueAsk("2026-11-24T08:00:00Z", ("2026-11-23T08:00:00Z", -3), 10, ["b.test"])


def test_pages_that_are_due(nursery: Nursery) -> None:
    child, answers = nursery.child(), list[list[DuePage]]()
    child.open()
    child.ask(ASK, answers.append)
    nursery.until(lambda: answers)
    assert answers == [[DuePage("http://a.test/", 1, None, ASK.until, 5, ["X: y"])]]
    child.ask(ASK, answers.append)
    nursery.until(lambda: len(answers) == 2)


def test_a_question_that_was_lost_with_a_process_is_asked_again(nursery: Nursery) -> None:
    child, answers = nursery.child(), list[list[DuePage]]()
    child.open()
    killed(child)
    nursery.until(lambda: child.down)
    child.ask(ASK, answers.append)
    nursery.now += 100
    child.second(nursery.now)
    nursery.until(lambda: answers)
    assert len(answers) == 1
