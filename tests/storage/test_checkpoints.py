import errno
import re
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from larbinpy.crawl.on_disk import saved_by
from larbinpy.errors import NotSavedError, what_failed
from larbinpy.frontier.frontier import Frontier
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import Checkpoints, SavedPart, SavedValue, State, StateError
from larbinpy.storage.syncing import Syncing
from tests.support.faultydisk import CHANGES, FaultyDisk
from tests.support.frontiers import make_frontier


class Part(SavedPart):
    """A part of the state that records the calls of its methods."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self.name = name
        self.calls = calls

    def cut(self) -> dict[str, int]:
        self.calls.append(f"{self.name} cut")
        return {"length": 7}

    def sync(self) -> None:
        self.calls.append(f"{self.name} sync")

    def load(self, mark: Any) -> None:
        assert mark == {"length": 7}
        self.calls.append(f"{self.name} load")


class Disk(Syncing):
    """The disk of the outputs; it is done after `looks` checks of `done`."""

    def __init__(self, looks: int, calls: list[str], error: OSError | None = None) -> None:
        self.looks = looks
        self.calls = calls
        self.error = error
        self._left = 0

    def begin(self, written: object) -> None:
        assert written == {"length": 7}
        self.calls.append("disk begin")
        self._left = self.looks

    @property
    def done(self) -> bool:
        self._left -= 1
        return self._left < 0

    def wait(self) -> None:
        self.calls.append("disk wait")
        self._left = 0


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[Frontier]:
    frontier = make_frontier(tmp_path)
    seed(frontier, 0, 1, 2)
    yield frontier
    frontier.close()


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def checkpoints(frontier: Frontier, tmp_path: Path, calls: list[str]) -> Checkpoints:
    return Checkpoints(State(tmp_path), saved_by(frontier, Part("log", calls)), 5.0)


def seed(frontier: Frontier, *numbers: int) -> None:
    for number in numbers:
        frontier.seed(f"http://a.test/{number}")


def saved(folder: Path) -> list[int] | None:
    """The numbers of the URLs that the state on disk owes; None without a state."""
    try:
        return sorted(int(url.href[-1]) for url in owed_urls(State(folder)))
    except StateError:
        return None


def finish(checkpoints: Checkpoints) -> int:
    steps = 0
    while checkpoints.under_way:
        checkpoints.step()
        steps += 1
        assert steps < 50
    return steps


def test_the_first_is_due_at_once_and_the_others_every_so_often(checkpoints: Checkpoints) -> None:
    assert checkpoints.is_due(-100.0)
    assert not checkpoints.under_way
    checkpoints.begin(10.0)
    assert checkpoints.under_way
    assert not checkpoints.is_due(99.0), "one is under way"
    finish(checkpoints)
    for now, is_due in ((10.0, False), (14.9, False), (15.0, True), (99.0, True)):
        assert checkpoints.is_due(now) == is_due
    checkpoints.save(20.0)
    assert not checkpoints.is_due(24.9)
    assert checkpoints.is_due(25.0)


def test_one_counts_with_its_last_steps_and_not_before(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path
) -> None:
    """Changes made between its steps are not part of it."""
    checkpoints.begin(0.0)
    assert saved(tmp_path) is None, "to begin is no step"
    seed(frontier, 3)
    checkpoints.step()
    seed(frontier, 4)
    seen = []
    while checkpoints.under_way:
        seen.append(saved(tmp_path))
        checkpoints.step()
        frontier.sequence(0.0)
    assert seen == [None] * (len(seen) - 1) + [[0, 1, 2, 3]]
    assert len(seen) == 10
    checkpoints.save(1.0)
    assert saved(tmp_path) == [0, 1, 2, 3, 4]


def test_each_step_waits_for_the_disk_once_at_most(
    checkpoints: Checkpoints, frontier: Frontier
) -> None:
    checkpoints.save(0.0)
    seed(frontier, 3)
    checkpoints.begin(1.0)
    waits = []
    while checkpoints.under_way:
        with FaultyDisk().under("fsync") as disk:
            checkpoints.step()
        waits.append(disk.count)
    # The manifest takes two, for its file and its folder.
    assert waits == [0, 0, 1, 1, 0, 0, 0, 0, 2, 0]


def test_a_long_state_is_written_down_in_steps(
    frontier: Frontier, tmp_path: Path, calls: list[str]
) -> None:
    saved_parts = saved_by(frontier, Part("log", calls))
    checkpoints = Checkpoints(State(tmp_path, entries=2, long=10), saved_parts, 5.0)
    seed(frontier, 3)
    checkpoints.begin(1.0)
    assert finish(checkpoints) > 10
    assert saved(tmp_path) == [0, 1, 2, 3]


def test_a_step_without_one_under_way_does_nothing(
    checkpoints: Checkpoints, tmp_path: Path
) -> None:
    checkpoints.step()
    assert not checkpoints.under_way
    assert saved(tmp_path) is None
    assert repr(checkpoints) == "<Checkpoints none under way>"
    checkpoints.begin(0.0)
    assert repr(checkpoints) == "<Checkpoints one under way>"


def test_to_begin_while_one_is_under_way_changes_nothing(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path
) -> None:
    checkpoints.begin(0.0)
    checkpoints.step()
    seed(frontier, 3)
    checkpoints.begin(3.0)
    finish(checkpoints)
    assert saved(tmp_path) == [0, 1, 2]
    assert checkpoints.is_due(5.0)


@pytest.mark.parametrize("steps", range(8))
def test_a_save_while_one_is_under_way_is_whole(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path, steps: int
) -> None:
    checkpoints.begin(0.0)
    for _ in range(steps):
        checkpoints.step()
    seed(frontier, 3)
    checkpoints.save(2.0)
    assert not checkpoints.under_way
    assert saved(tmp_path) == [0, 1, 2, 3]
    assert not checkpoints.is_due(6.9) and checkpoints.is_due(7.0)
    seed(frontier, 4)
    checkpoints.begin(7.0)
    finish(checkpoints)
    assert saved(tmp_path) == [0, 1, 2, 3, 4]


def test_after_an_error_in_a_step_none_is_under_way(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path
) -> None:
    """The next begins when it is due, and holds all that the failed one should have held."""
    checkpoints.save(0.0)
    seed(frontier, 3)
    nth, now = 1, 10.0
    while True:
        disk = FaultyDisk()
        disk.fail(nth, torn=True)
        checkpoints.begin(now)
        with disk.under(*CHANGES):
            try:
                finish(checkpoints)
                break
            except OSError as error:
                assert error.errno == errno.ENOSPC
        assert not checkpoints.under_way
        assert saved(tmp_path) in ([0, 1, 2], [0, 1, 2, 3])
        assert not checkpoints.is_due(now + 4.9)
        assert checkpoints.is_due(now + 5.0)
        nth, now = nth + 1, now + 10.0
    assert nth > 5
    assert saved(tmp_path) == [0, 1, 2, 3]


def test_an_error_in_a_save_leaves_none_under_way(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path
) -> None:
    checkpoints.begin(0.0)
    checkpoints.step()
    disk = FaultyDisk()
    disk.fail(1)
    seed(frontier, 3)
    with disk.under("fsync"), pytest.raises(OSError):
        checkpoints.save(2.0)
    assert not checkpoints.under_way
    assert not checkpoints.is_due(6.9) and checkpoints.is_due(7.0)
    checkpoints.save(3.0)
    assert saved(tmp_path) == [0, 1, 2, 3]


def test_only_the_last_is_ended(checkpoints: Checkpoints, tmp_path: Path) -> None:
    """The run after a kill must know that it was a kill, to leave addresses alone."""
    for ended in (False, True, False):
        checkpoints.save(0.0, ended=ended)
        text = (tmp_path / "state.json").read_text()
        assert f'"ended":{"true" if ended else "false"}' in text


class Broken(SavedValue):
    """A value with a bug that shows in `cut`, in a step of it, or in what it returns."""

    def __init__(self, when: str, error: Exception) -> None:
        self.when = when
        self.error = error

    def cut(self, now: float, *, ended: bool) -> Any:
        if self.when == "cut":
            raise self.error
        return self._in_steps() if self.when == "step" else {("a", "tuple"): 1}

    def _in_steps(self) -> Iterator[None]:
        yield
        raise self.error

    def load(self, value: Any, now: float) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("when", ["cut", "step", "value"])
@pytest.mark.parametrize("error", [TypeError("odd"), RecursionError(), MemoryError(), KeyError(1)])
def test_a_bug_keeps_the_state_that_was_saved_before(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path, when: str, error: Exception
) -> None:
    checkpoints.save(0.0)
    seed(frontier, 3)
    parts = saved_by(frontier, Part("log", []), values={"new": Broken(when, error)})
    wrong = Checkpoints(State(tmp_path), parts, 5.0)
    name = TypeError if when == "value" else type(error)
    said = rf"{tmp_path}/state.json'?: .*{name.__name__}.*\.py:\d+\), a bug"
    wrong.begin(10.0)
    with pytest.raises(NotSavedError) as raised:
        finish(wrong)
    assert re.search(said, what_failed(raised.value))
    assert not wrong.under_way
    assert saved(tmp_path) == [0, 1, 2]
    with pytest.raises(NotSavedError):
        wrong.save(20.0, ended=True)
    assert saved(tmp_path) == [0, 1, 2]
    assert list(tmp_path.glob(".*.part")) == []
    checkpoints.save(30.0)
    assert saved(tmp_path) == [0, 1, 2, 3]


# The log and the outputs.


def test_the_log_is_cut_before_the_state_and_synced_before_it_counts(
    checkpoints: Checkpoints, calls: list[str], tmp_path: Path
) -> None:
    checkpoints.begin(0.0)
    checkpoints.step()
    assert calls == ["log cut"]
    checkpoints.step()
    assert calls == ["log cut", "log sync"]
    assert saved(tmp_path) is None
    finish(checkpoints)
    assert calls == ["log cut", "log sync"]
    assert saved(tmp_path) == [0, 1, 2]


Make = Callable[..., Checkpoints]


@pytest.fixture
def with_outputs(frontier: Frontier, tmp_path: Path, calls: list[str]) -> Make:
    """A function that makes checkpoints of a crawl with outputs, on a disk of the test."""

    def make(disk: Disk | None = None) -> Checkpoints:
        log, outputs = Part("log", calls), Part("outputs", calls)
        return Checkpoints(State(tmp_path), saved_by(frontier, log, outputs, disk), 5.0)

    return make


def test_the_pages_are_on_the_disk_before_the_state_counts(
    with_outputs: Make, calls: list[str], tmp_path: Path
) -> None:
    checkpoints = with_outputs(Disk(3, calls))
    checkpoints.begin(0.0)
    at_once, seen = [], []
    while checkpoints.under_way:
        at_once.append(checkpoints.deadline == -inf)
        seen.append(saved(tmp_path))
        checkpoints.step()
    assert calls == ["log cut", "outputs cut", "disk begin", "log sync", "outputs sync"]
    # While the disk is busy, the next step is not due at once.
    assert at_once == [
        True,
        True,
        False,
        False,
        False,
        True,
        True,
        True,
        True,
        True,
        True,
        True,
        True,
        True,
    ]
    assert seen[:-1] == [None] * 13
    assert checkpoints.deadline != -inf
    assert saved(tmp_path) == [0, 1, 2]


def test_a_save_waits_for_the_pages(with_outputs: Make, calls: list[str], tmp_path: Path) -> None:
    checkpoints = with_outputs(Disk(3, calls))
    checkpoints.save(0.0)
    assert calls[:4] == ["log cut", "outputs cut", "disk begin", "disk wait"]
    assert calls.count("disk wait") == 1
    assert saved(tmp_path) == [0, 1, 2]


@pytest.mark.parametrize("looks", [0, 2])
def test_a_page_that_cannot_be_written_ends_the_checkpoint(
    with_outputs: Make, calls: list[str], tmp_path: Path, looks: int
) -> None:
    checkpoints = with_outputs(Disk(looks, calls, OSError(errno.EIO, "lost")))
    for _ in range(2):
        checkpoints.begin(0.0)
        with pytest.raises(OSError, match="lost"):
            finish(checkpoints)
        assert not checkpoints.under_way
        with pytest.raises(OSError, match="lost"):
            checkpoints.save(0.0)
    assert saved(tmp_path) is None


def test_the_log_and_the_outputs_get_their_marks_back(
    with_outputs: Make, calls: list[str], tmp_path: Path
) -> None:
    with_outputs().save(0.0)
    calls.clear()
    again = make_frontier(tmp_path)
    saved_parts = saved_by(again, Part("log", calls), Part("outputs", calls))
    State(tmp_path).load(saved_parts, 0.0)
    assert calls == ["outputs load", "log load"]
    calls.clear()
    State(tmp_path).load(saved_by(make_frontier(tmp_path), Part("log", calls)), 0.0)
    assert calls == ["log load"]


# Checkpoints on request.


def steps_of(saving: Iterator[bool | None], checkpoints: Checkpoints) -> tuple[int, bool]:
    """The number of steps until there was an answer, and the answer."""
    for count, answer in enumerate(saving):
        if answer is not None:
            return count, answer
        checkpoints.step()
    raise AssertionError("no answer")


def test_save_now_is_a_checkpoint_in_steps(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path
) -> None:
    count, answer = steps_of(checkpoints.save_now(lambda: 100.0), checkpoints)
    assert (count > 3, answer) == (True, True)
    assert saved(tmp_path) == [0, 1, 2]
    assert not checkpoints.under_way


def test_save_now_holds_what_came_after_the_cut_of_another(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path
) -> None:
    checkpoints.begin(100.0)
    checkpoints.step()
    seed(frontier, 3)
    _, answer = steps_of(checkpoints.save_now(lambda: 101.0), checkpoints)
    assert answer is True
    assert saved(tmp_path) == [0, 1, 2, 3]


def test_two_requests_at_once_share_one(
    checkpoints: Checkpoints, frontier: Frontier, tmp_path: Path, calls: list[str]
) -> None:
    first, second = (checkpoints.save_now(lambda: 100.0) for _ in range(2))
    assert next(first) is next(second) is None
    while checkpoints.under_way:
        checkpoints.step()
    assert next(first) is True
    assert calls.count("log cut") == 1
    while (answer := next(second)) is None:
        checkpoints.step()
    assert answer is True


def test_save_now_reports_a_failure(checkpoints: Checkpoints) -> None:
    saving = checkpoints.save_now(lambda: 100.0)
    assert next(saving) is None
    disk = FaultyDisk()
    disk.fail(1)
    with disk.under("rename"), pytest.raises(OSError, match="No space left"):
        while checkpoints.under_way:
            checkpoints.step()
    assert next(saving) is False
