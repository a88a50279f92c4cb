import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.stats.histogram import FETCH, NAME, TURN, Histogram


def test_each_is_counted_up_to_and_with_its_bound():
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
def test_none_is_lost_and_none_counted_twice(times, bounds):
    it = Histogram(bounds)
    for seconds in times:
        it.observe(seconds)
    told = it.describe()
    assert sum(told["counts"]) == told["count"] == len(times)
    assert told["sum_s"] == pytest.approx(sum(times), abs=1e-3)
    for at, bound in enumerate(bounds):
        assert sum(told["counts"][: at + 1]) == sum(seconds <= bound for seconds in times)


@pytest.mark.parametrize("bounds", [FETCH, NAME, TURN])
def test_bounds_go_up(bounds):
    assert list(bounds) == sorted(set(bounds))
