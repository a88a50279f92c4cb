"""Histograms of durations."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.stats import FETCH, NAME, TURN, Histogram


def test_a_duration_counts_up_to_and_with_its_bound() -> None:
    it = Histogram((0.1, 1.0))
    for seconds in (0.0, 0.1, 0.10001, 1.0, 1.5, 1000.0):
        it.observe(seconds)
    assert it.describe() == {
        "bounds_s": [0.1, 1.0],
        "counts": [2, 2, 2],
        "count": 6,
        "sum_s": 1002.70001,
    }
    assert repr(it) == "<Histogram 6 observations, 1002.700 s>"


@given(st.lists(st.floats(0, 1e6)), st.sampled_from([FETCH, NAME, TURN]))
def test_none_is_lost_and_none_counted_twice(times: list[float], bounds: tuple[float, ...]) -> None:
    it = Histogram(bounds)
    for seconds in times:
        it.observe(seconds)
    described: Any = it.describe()
    assert sum(described["counts"]) == described["count"] == len(times)
    assert described["sum_s"] == pytest.approx(sum(times), abs=1e-3)
    for at, bound in enumerate(bounds):
        assert sum(described["counts"][: at + 1]) == sum(seconds <= bound for seconds in times)


@pytest.mark.parametrize("bounds", [FETCH, NAME, TURN])
def test_bounds_go_up(bounds: tuple[float, ...]) -> None:
    assert list(bounds) == sorted(set(bounds))
