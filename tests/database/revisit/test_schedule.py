"""When a page is due next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.revisit.plan import (
    NEW,
    Evidence,
    Schedule,
    ScheduleSettings,
    seconds_between,
)

NOW = "2026-11-24T12:00:00Z"
DAY = 86_400.0


def wait(due: str) -> float:
    return seconds_between(NOW, due)


def test_a_page_that_changes_more_is_due_earlier() -> None:
    schedule = Schedule(ScheduleSettings(3600.0, 90 * DAY, 300))
    often, rarely = Evidence(5.0, 10 * DAY), Evidence(0.0, 200 * DAY)
    schedule.plan(1000, [often] * 500 + [rarely] * 500)
    waits = [wait(schedule.after(NOW, each)) for each in (often, NEW, rarely)]
    assert waits == sorted(waits)
    assert waits[0] < waits[2]


def test_without_a_budget_pages_are_visited_once_a_week_on_average() -> None:
    schedule = Schedule(ScheduleSettings())
    schedule.plan(1000, [])
    assert wait(schedule.after(NOW, NEW)) == pytest.approx(7 * DAY, rel=0.01)


def test_a_budget_decides() -> None:
    schedule = Schedule(ScheduleSettings(budget=100))
    schedule.plan(1000, [])
    assert wait(schedule.after(NOW, NEW)) == pytest.approx(10 * DAY, rel=0.01)


def test_a_schedule_without_pages_has_a_plan() -> None:
    schedule = Schedule()
    schedule.plan(0, [])
    assert wait(schedule.after(NOW, NEW)) == pytest.approx(7 * DAY, rel=0.01)
    budgeted = Schedule(ScheduleSettings(budget=10**6))
    assert wait(budgeted.after(NOW, NEW)) == pytest.approx(7 * DAY, rel=0.01)


@given(
    st.floats(1.0, 1e5), st.floats(1.0, 1e7), st.floats(0, 1e4), st.floats(0, 1e9), st.integers(0)
)
def test_the_bounds_hold(
    shortest: float, more: float, changes: float, exposure: float, budget: int
) -> None:
    schedule = Schedule(ScheduleSettings(shortest, shortest + more, budget))
    evidence = Evidence(changes, exposure)
    schedule.plan(3, [evidence])
    assert int(shortest) <= wait(schedule.after(NOW, evidence)) <= shortest + more + 1


def test_a_failed_visit_is_repeated_later_and_later() -> None:
    schedule = Schedule(ScheduleSettings(3600.0, 30 * DAY))
    good, waits = NOW, []
    visit = NOW
    for _ in range(20):
        due = schedule.after_failure(visit, good)
        waits.append(seconds_between(visit, due))
        visit = due
    assert waits[0] == 3600.0
    assert waits == sorted(waits)
    assert waits[-1] == 30 * DAY


def test_a_missing_page_is_looked_at_again_after_a_day() -> None:
    schedule = Schedule()
    assert wait(schedule.to_confirm(NOW, NOW)) == DAY
    assert wait(schedule.to_confirm(NOW, "2026-11-01T00:00:00Z")) == 3600.0


def test_a_page_that_is_gone_is_looked_at_rarely() -> None:
    assert wait(Schedule().at_last(NOW)) == 90 * DAY


def test_settings_as_arguments() -> None:
    settings = ScheduleSettings(1.5, 1000.0, 70)
    arguments = ["--keep-bodies", *settings.arguments()]
    assert ScheduleSettings.of(arguments) == settings
    assert ScheduleSettings.of([]) == ScheduleSettings()


def test_a_page_that_announces_changes_is_due_a_day_after_news_then_more_rarely() -> None:
    schedule = Schedule(ScheduleSettings(3600.0, 5 * DAY))
    fast = Evidence(1e6, 10 * DAY)
    schedule.plan(1000, [fast])
    # The plan gives it up.
    assert wait(schedule.after(NOW, fast)) == 5 * DAY
    assert not schedule.is_worth_it(fast)

    def after(waited: float, *, news: bool) -> float:
        return wait(schedule.after_announcement(NOW, fast, waited, news=news))

    assert after(3 * DAY, news=True) == DAY
    assert after(DAY, news=False) == 2 * DAY
    assert after(4 * DAY, news=False) == 5 * DAY
    assert after(0.0, news=False) == 3600.0


def test_the_plan_may_visit_a_page_that_announces_changes_more_often() -> None:
    schedule = Schedule(ScheduleSettings(3600.0, 90 * DAY, 100_000))
    schedule.plan(100, [])
    assert wait(schedule.after_announcement(NOW, NEW, DAY, news=True)) == 3600.0
    assert schedule.is_worth_it(NEW)
