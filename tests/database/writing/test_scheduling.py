"""When the plan of visits is made, by a clock that may be set."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.database.revisit.plan import Evidence, Schedule
from larbinpy.database.sqlite.file import connect
from larbinpy.database.writing.scheduling import Scheduling

DAY = 86_400.0


class Planned(Schedule):
    """Notes for how many new pages each plan was made."""

    def __init__(self) -> None:
        self.plans: list[int] = []
        super().__init__()
        self.plans.clear()

    def plan(self, new: int, visited: Iterable[Evidence]) -> None:
        self.plans.append(new)
        super().plan(new, visited)


@pytest.fixture(name="schedule")
def _schedule() -> Planned:
    return Planned()


@pytest.fixture(name="scheduling")
def _scheduling(tmp_path: Path, schedule: Planned) -> Iterator[Scheduling]:
    with closing(connect(tmp_path / "it.db", write=True)) as base:
        yield Scheduling(base, schedule)


def test_the_plan_is_made_again_after_ten_minutes(
    scheduling: Scheduling, schedule: Planned
) -> None:
    for now, plans in ((0.0, 1), (599.0, 1), (600.0, 2), (700.0, 2), (1200.0, 3)):
        scheduling.plan(now)
        assert len(schedule.plans) == plans


def test_a_clock_that_was_set_back_counts_as_time(
    scheduling: Scheduling, schedule: Planned
) -> None:
    scheduling.plan(10 * DAY)
    scheduling.plan(10 * DAY - 60)
    assert len(schedule.plans) == 1
    scheduling.plan(9 * DAY)
    scheduling.plan(9 * DAY + 60)
    assert len(schedule.plans) == 2
