"""When the state is saved, and the pause while the disk is full, with values."""

import errno
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from larbinpy.context import free_bytes
from larbinpy.crawl.mode import DiskPause, Mode, Room
from larbinpy.crawl.on_disk import Saving
from larbinpy.errors import CrawlState, DamagedError, passes
from larbinpy.page import Outcome
from larbinpy.stats import Stats


class Checkpoints:
    """Each takes three steps; one is due every ten seconds."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.saved: list[tuple[float, bool]] = []
        self.left = 0
        self.error: OSError | None = None

    @property
    def under_way(self) -> bool:
        return self.left > 0

    @property
    def deadline(self) -> float:
        return -inf if self.left else (self.begun or [0.0])[-1] + 10.0

    def is_due(self, now: float) -> bool:
        return now >= self.deadline

    def begin(self, now: float) -> None:
        self.begun.append(now)
        self.left = 3

    def step(self) -> None:
        self.left -= 1
        if self.error is not None:
            self.left = 0
            raise self.error

    def save_now(self, clock: Any) -> Iterator[bool | None]:
        yield None
        yield True

    def save(self, now: float, *, ended: bool = False) -> None:
        self.saved.append((now, ended))


class Case:
    def __init__(self) -> None:
        self.checkpoints = Checkpoints()
        self.stats = Stats(0.0, 0.0)
        fake: Any = self.checkpoints
        self.saving = Saving(fake, self.stats, lambda: 7.0)

    def step(self, now: float, *, all_decided: bool = False) -> list[float]:
        self.saving.step(now, all_decided=all_decided)
        return self.checkpoints.begun

    def decide(self) -> None:
        self.stats.outcomes[Outcome.SUCCESS] += 1


def test_a_checkpoint_begins_on_time_and_goes_on_a_step_a_turn() -> None:
    case = Case()
    assert case.step(9.9) == []
    assert case.saving.deadline == 10.0
    assert case.step(10.0) == [10.0]
    assert (case.checkpoints.left, case.saving.deadline) == (3, -inf)
    for left in (2, 1, 0):
        case.step(11.0)
        assert case.checkpoints.left == left
    assert case.saving.deadline == 20.0
    assert case.step(12.0) == [10.0]


def test_seeds_of_people_are_saved_at_once() -> None:
    case = Case()
    case.saving.request()
    assert case.step(1.0) == [1.0]
    for _ in range(5):
        case.step(1.0)
    # Once.
    assert case.checkpoints.begun == [1.0]


def test_seeds_that_come_during_a_checkpoint_are_in_the_next() -> None:
    case = Case()
    case.saving.request()
    case.step(1.0)
    case.saving.request()
    for _ in range(3):
        case.step(1.5)
    assert case.step(2.0) == [1.0, 2.0]


def test_the_last_fates_are_saved_at_once() -> None:
    case = Case()
    assert case.step(1.0, all_decided=True) == []
    case.decide()
    assert case.step(2.0, all_decided=False) == []
    assert case.step(3.0, all_decided=True) == [3.0]
    for _ in range(5):
        case.step(4.0, all_decided=True)
    assert case.checkpoints.begun == [3.0]


def test_a_whole_checkpoint_says_whether_the_crawl_has_ended() -> None:
    case = Case()
    case.decide()
    case.saving.save()
    case.saving.save(ended=True)
    assert case.checkpoints.saved == [(7.0, False), (7.0, True)]
    # All that was decided is in it.
    assert case.step(1.0, all_decided=True) == []


def test_a_checkpoint_that_fails_is_said_once_and_tried_again_when_the_next_is_due() -> None:
    case = Case()
    case.checkpoints.error = OSError(errno.EIO, "Input/output error", "/d")
    times = (10.0, 10.1, 19.9, 20.0, 20.1)
    said = [case.saving.step(now, all_decided=False) for now in times]
    lost = "the state could not be saved; the crawl goes on, and tries again"
    assert said == [None, f"/d: Input/output error: {lost}", None, None, None]
    assert case.checkpoints.begun == [10.0, 20.0]
    case.checkpoints.error = None
    said = [case.saving.step(30.0, all_decided=False) for _ in range(6)]
    assert said == [None, None, None, "the state is saved again", None, None]
    case.checkpoints.error = OSError(errno.EROFS, "Read-only file system")
    said = [case.saving.step(40.0, all_decided=False) for _ in range(2)]
    assert said == [None, f"Read-only file system: {lost}"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        DamagedError(errno.EIO, "damaged", "/d"),
    ],
)
def test_a_full_disk_and_damage_are_no_matter_of_trying_again_later(error: OSError) -> None:
    case = Case()
    case.step(10.0)
    case.checkpoints.error = error
    with pytest.raises(type(error)):
        case.step(10.0)


# A full disk.


@pytest.mark.parametrize(
    ("number", "passing"),
    [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EFBIG, False), (errno.EIO, False)],
)
def test_some_errors_pass_when_there_is_room(number: int, passing: bool) -> None:
    assert passes(OSError(number, "")) is passing


def test_a_pause_is_said_once_and_ends_with_a_turn_without_errors() -> None:
    pause = DiskPause()
    error = OSError(errno.ENOSPC, "No space left on device", "/d")
    said = pause.begin(error, 100.0)
    assert said == "/d: No space left on device; the crawl waits until there is room"
    assert (pause.full, pause.until) == (True, 101.0)
    assert [pause.stalls(seconds) for seconds in (100.9, 101.0)] == [True, False]
    # A turn without an error proves nothing while nothing is written.
    assert pause.turned(100.5) is None
    assert pause.full
    assert pause.begin(error, 101.0) is None
    assert pause.until == 102.0
    assert pause.turned(102.0) == "there is room again; the crawl continues"
    assert not pause.full
    assert pause.turned(103.0) is None


def test_a_stop_cancels_the_wait_but_the_disk_stays_full_until_a_turn() -> None:
    pause = DiskPause()
    pause.begin(OSError(errno.ENOSPC, "full"), 100.0)
    pause.cancel()
    assert pause.full
    assert not pause.stalls(100.0)
    assert pause.turned(100.0) is not None


# The state that people see.


def test_the_state_of_a_crawl() -> None:
    def state(urls_owed: int = 0, *, disk_full: bool = False, **switches: bool) -> CrawlState:
        values: dict[str, Any] = {**switches}
        mode = Mode(**values)
        mode.disk_pause.full = disk_full
        return mode.state(urls_owed)

    assert state() is CrawlState.RUNNING
    assert state(staying=True) is CrawlState.WAITING
    assert state(1, staying=True) is CrawlState.RUNNING
    assert state(paused=True, staying=True) is CrawlState.PAUSED
    assert state(paused=True, draining=True) is CrawlState.STOPPING
    assert state(draining=True, over=True) is CrawlState.FINISHED
    assert state(draining=True, disk_full=True) is CrawlState.DISK_FULL


def test_room_is_left_on_the_disk_of_each_folder() -> None:
    free = {"out": 2 << 30, "state": 1 << 30}
    asked: list[str] = []

    def look(folder: str) -> int:
        asked.append(folder)
        return free[folder]

    room = Room(("out", "state"), 1 << 30, look)
    room.check(100.0)
    free["state"] -= 1 << 20
    room.check(100.9)
    assert asked == ["out", "state"], "once a second"
    with pytest.raises(OSError, match="1023M free, less than minFree 1G") as raised:
        room.check(101.0)
    assert passes(raised.value) and raised.value.filename == "state"
    Room(("out",), 0, look).check(0.0)
    assert asked == ["out", "state"] * 2


def test_a_folder_that_is_not_there_yet_has_the_room_of_the_one_above(tmp_path: Path) -> None:
    assert free_bytes(str(tmp_path / "new" / "folder")) > 0
