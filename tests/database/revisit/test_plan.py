"""Intervals within a budget."""

import math
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from larbinpy.database.revisit.plan import LEAST, MOST, bucket, freshness, optimal, rate_of

DAY = 86_400.0
HOUR = 3_600.0
LONGEST = 90 * DAY
rates = st.floats(math.log(LEAST), math.log(MOST)).map(math.exp)
webs = st.dictionaries(rates.map(bucket), st.integers(1, 1000), min_size=1, max_size=30)
#: Days from one visit to the next, on average.
budgets = st.floats(0.05, 89.0)


def per(pages: dict[int, int], days: float) -> float:
    """The budget for one visit a page in `days`."""
    return sum(pages.values()) / (days * DAY)


def gain(rate: float, interval: float) -> float:
    """The derivative of freshness with respect to visits, by a difference."""
    step = 1e-4 / interval
    more, less = (1.0 / (1.0 / interval + sign * step) for sign in (1, -1))
    return (freshness(rate, more) - freshness(rate, less)) / (2 * step)


@given(webs, budgets)
def test_the_budget_is_met(pages: dict[int, int], days: float) -> None:
    plan = optimal(pages, per(pages, days), HOUR, LONGEST)
    assert plan.visits(pages) == pytest.approx(per(pages, days), rel=1e-6)


@given(webs, budgets)
def test_one_visit_more_gains_the_same_for_all_pages_within_bounds(
    pages: dict[int, int], days: float
) -> None:
    plan = optimal(pages, per(pages, days), HOUR, LONGEST)
    within = []
    for number in pages:
        rate = rate_of(number)
        interval = plan.interval(rate)
        # Beyond, the difference is one of rounding errors.
        if HOUR < interval < LONGEST and 1e-3 < rate * interval < 15.0:
            within.append(gain(rate, interval))
    assume(len(within) > 1)
    assert max(within) == pytest.approx(min(within), rel=1e-3)


@given(webs, budgets, st.lists(st.floats(0.5, 2.0), min_size=30, max_size=30))
def test_no_other_plan_within_the_budget_keeps_more_fresh(
    pages: dict[int, int], days: float, factors: list[float]
) -> None:
    plan = optimal(pages, per(pages, days), HOUR, LONGEST)
    best = other = visits = 0.0
    for (number, count), factor in zip(pages.items(), factors, strict=False):
        rate = rate_of(number)
        interval = plan.interval(rate)
        best += count * freshness(rate, interval)
        changed = min(max(interval * factor, HOUR), LONGEST)
        other += count * freshness(rate, changed)
        visits += count / changed
    # The visits of the other plan above the budget are counted at the price that all pay.
    high = [gain(rate_of(n), plan.interval(rate_of(n))) for n in pages]
    spent = max(0.0, visits - per(pages, days)) * max(high)
    assert other - spent <= best * (1 + 1e-3)


@given(webs, budgets, rates)
def test_intervals_are_within_bounds(pages: dict[int, int], days: float, rate: float) -> None:
    plan = optimal(pages, per(pages, days), HOUR, LONGEST)
    assert HOUR * (1 - 1e-9) <= plan.interval(rate) <= LONGEST * (1 + 1e-9)


@given(webs, budgets, st.floats(1.05, 20.0), rates)
def test_more_visits_make_no_interval_longer(
    pages: dict[int, int], days: float, factor: float, rate: float
) -> None:
    few = optimal(pages, per(pages, days), HOUR, LONGEST)
    many = optimal(pages, per(pages, days) * factor, HOUR, LONGEST)
    assert many.interval(rate) <= few.interval(rate) * (1 + 1e-6)
    assert few.gives_up(rate) or not many.gives_up(rate)


def test_pages_that_change_too_fast_are_given_up() -> None:
    days = (0.02, 1.0, 10.0, 100.0, 1000.0)
    pages = Counter(bucket(1 / (each * DAY)) for each in days)
    plan = optimal(pages, per(pages, 30.0), HOUR, LONGEST)
    intervals = [plan.interval(1 / (each * DAY)) / DAY for each in days]
    assert intervals[0] == pytest.approx(90.0)
    assert plan.gives_up(1 / (0.02 * DAY)) and not plan.gives_up(1 / (100.0 * DAY))
    assert intervals[2] < intervals[3] < intervals[4]


@pytest.mark.parametrize("rate", [LEAST, 1e-9, 1e-6, 1e-3, MOST])
@pytest.mark.parametrize("pages", [1, 1_000_000])
def test_equal_pages_are_visited_uniformly(rate: float, pages: int) -> None:
    plan = optimal({bucket(rate): pages}, pages / (7 * DAY), HOUR, LONGEST)
    assert plan.interval(rate) == pytest.approx(7 * DAY)


def test_a_budget_for_more_visits_than_the_shortest_interval_allows() -> None:
    pages = {bucket(1 / DAY): 10, bucket(1 / (50 * DAY)): 10}
    plan = optimal(pages, 1.0, HOUR, LONGEST)
    assert {plan.interval(1 / (each * DAY)) for each in (1, 50, 5)} == {HOUR}
    assert not plan.gives_up(MOST)
    assert plan.visits(pages) == pytest.approx(20 / HOUR)


@pytest.mark.parametrize("budget", [0.0, 1e-9])
def test_a_budget_for_fewer_visits_than_the_longest_interval_needs(budget: float) -> None:
    pages = {bucket(1 / DAY): 10, bucket(1 / (50 * DAY)): 10}
    plan = optimal(pages, budget, HOUR, LONGEST)
    assert {plan.interval(1 / (each * DAY)) for each in (1, 50)} == {LONGEST}
    assert plan.visits(pages) == pytest.approx(20 / LONGEST)


def test_no_pages_yet() -> None:
    assert optimal({}, 1.0, HOUR, LONGEST).interval(1 / DAY) == HOUR
    assert optimal({bucket(1 / DAY): 0}, 1.0, HOUR, LONGEST).interval(1 / DAY) == HOUR


def test_the_only_interval_allowed() -> None:
    assert optimal({0: 5}, 1e-3, DAY, DAY).interval(1.0) == DAY


@given(rates)
def test_buckets_are_narrow(rate: float) -> None:
    assert rate_of(bucket(rate)) == pytest.approx(rate, rel=0.03)


def test_odd_rates_have_a_bucket() -> None:
    assert bucket(0.0) == bucket(LEAST) and bucket(1e300) == bucket(math.inf) == bucket(MOST)


def test_freshness() -> None:
    assert freshness(0.0, DAY) == freshness(1 / DAY, 0.0) == 1.0
    assert freshness(1 / DAY, DAY) == pytest.approx(1 - math.exp(-1))
    assert freshness(1.0, 1e6) == pytest.approx(1e-6)


def test_a_published_optimum() -> None:
    """Five pages that change 1 to 5 times a day, five visits (Cho and Garcia-Molina 2003, 4.3)."""
    pages = {bucket(each / DAY): 1 for each in (1, 2, 3, 4, 5)}
    plan = optimal(pages, 5 / DAY, 60.0, 1e9)
    visits = [DAY / plan.interval(each / DAY) for each in (1, 2, 3, 4, 5)]
    assert visits == pytest.approx([1.15, 1.36, 1.35, 1.14, 0.0], abs=0.03)
