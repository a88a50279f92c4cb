"""The estimated change rate of a page."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.revisit.plan import DECAY, LEAST, MOST, NEW, Evidence, Prior, rate, updated

DAY = 86_400.0
#: Teaches next to nothing.
WEAK = Prior(1e-3, 1e-3 * DAY)
evidences = st.builds(Evidence, st.floats(0, 1e3), st.floats(0, 1e12))
anything = st.floats(allow_nan=True, allow_infinity=True)


def visited(changes: list[bool], interval: float) -> float:
    evidence = NEW
    for changed in changes:
        evidence = updated(evidence, interval, changed, prior=WEAK)
    return rate(evidence, WEAK)


def regular(visits: int, changed: int, interval: float) -> float:
    """The estimator of Cho and Garcia-Molina for regular visits, with its bias reduced."""
    return -math.log((visits - changed + 0.5) / (visits + 0.5)) / interval


@pytest.mark.parametrize("days", [1.0, 3.0, 10.0, 30.0])
def test_regular_visits_are_estimated_as_well_as_by_the_formula_for_them(days: float) -> None:
    """The formula for as many visits as weigh in: a mean of them has the same variance.

    So few visits leave a bias of about a tenth.
    """
    drawn = random.Random(1)
    weighing = round((1 + DECAY) / (1 - DECAY))
    ours, formula = [], []
    for _ in range(1000):
        changes = [drawn.random() < -math.expm1(-1.0 / days) for _ in range(60)]
        ours.append(visited(changes, DAY) * DAY * days)
        formula.append(regular(weighing, sum(changes[:weighing]), 1.0) * days)
    assert sum(ours) / 1000 == pytest.approx(1.0, abs=0.15)
    errors = [sum((each - 1.0) ** 2 for each in some) for some in (ours, formula)]
    assert errors[0] < 1.3 * errors[1]


@pytest.mark.parametrize("days", [0.3, 1.0, 3.0, 10.0])
def test_irregular_visits(days: float) -> None:
    drawn = random.Random(1)
    estimates = []
    for _ in range(400):
        evidence = NEW
        for _ in range(40):
            interval = drawn.choice((0.3, 1.0, 5.0))
            changed = drawn.random() < -math.expm1(-interval / days)
            evidence = updated(evidence, interval * DAY, changed, prior=WEAK)
        estimates.append(rate(evidence, WEAK) * DAY * days)
    assert sum(estimates) / 400 == pytest.approx(1.0, abs=0.15)


def test_changes_within_an_interval_are_not_taken_for_one() -> None:
    """A page that changes 5 times a day, with a copy of each day."""
    drawn = random.Random(1)
    changes = [drawn.random() < -math.expm1(-5.0) for _ in range(1000)]
    assert 3.0 < visited(changes, DAY) * DAY < 7.0


def test_known_times_of_changes_make_it_exact() -> None:
    drawn = random.Random(1)
    evidence = NEW
    for _ in range(1000):
        age = drawn.expovariate(20.0 / DAY)
        evidence = updated(evidence, 2 * DAY, age < 2 * DAY, age=age, prior=WEAK)
    assert rate(evidence, WEAK) * DAY == pytest.approx(20.0, rel=0.4)


def test_a_page_that_changes_its_ways_is_followed() -> None:
    evidence = NEW
    for _ in range(100):
        evidence = updated(evidence, DAY, False)
    assert rate(evidence) < 0.05 / DAY
    for _ in range(30):
        evidence = updated(evidence, DAY, True)
    assert rate(evidence) > 0.5 / DAY


def test_a_fast_page_that_stopped_is_noticed_at_once() -> None:
    evidence = NEW
    for _ in range(50):
        evidence = updated(evidence, DAY, True)
    assert rate(evidence) > 0.5 / DAY
    evidence = updated(evidence, 90 * DAY, False)
    assert rate(evidence) < 0.08 / DAY


def test_an_age_that_contradicts_the_visit_is_ignored() -> None:
    assert updated(NEW, DAY, True, age=2 * DAY) == updated(NEW, DAY, True)
    assert updated(NEW, DAY, True, age=-1.0) == updated(NEW, DAY, True)
    assert updated(NEW, DAY, True, age=math.nan) == updated(NEW, DAY, True)
    assert updated(NEW, DAY, False, age=1.0) == updated(NEW, DAY, False)
    assert updated(NEW, DAY, True, age=600.0) == Evidence(1.0, 600.0)


@given(evidences, st.one_of(st.floats(max_value=0.0), st.just(math.nan), st.just(math.inf)))
def test_an_interval_that_cannot_be_teaches_nothing(evidence: Evidence, interval: float) -> None:
    assert updated(evidence, interval, True) == updated(evidence, interval, False) == evidence


@given(evidences, anything, st.booleans(), st.one_of(st.none(), anything))
def test_estimates_stay_within_bounds(
    evidence: Evidence, interval: float, changed: bool, age: float | None
) -> None:
    after = updated(evidence, interval, changed, age=age)
    assert all(0.0 <= each < math.inf for each in after)
    for prior in (Prior(0.5, DAY), Prior(0.0, 0.0)):
        assert LEAST <= rate(after, prior) <= MOST


@given(evidences, st.floats(1e-3, 1e10))
def test_a_change_raises_the_estimate_and_no_change_lowers_it(
    evidence: Evidence, interval: float
) -> None:
    unchanged = rate(updated(evidence, interval, False))
    changed = rate(updated(evidence, interval, True))
    assert unchanged < changed or changed == unchanged in (LEAST, MOST)


@given(evidences, st.floats(1.0, 1e9), st.floats(1.01, 10.0))
def test_a_change_in_a_longer_interval_means_a_lower_rate(
    evidence: Evidence, interval: float, factor: float
) -> None:
    for changed in (True, False):
        rates = [rate(updated(evidence, each, changed)) for each in (interval, interval * factor)]
        assert rates[1] <= rates[0] * (1 + 1e-9)
