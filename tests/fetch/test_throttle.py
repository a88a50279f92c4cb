"""The token bucket behind bondWidth."""

from hypothesis import given
from hypothesis import strategies as st

from larbinpy.fetch.brake import Throttle


def test_a_second_of_bytes_and_then_as_they_come() -> None:
    throttle = Throttle(1000, now=50.0)
    throttle.spend(999)
    assert not throttle.exhausted
    throttle.spend(1)
    assert throttle.exhausted
    throttle.refill(50.5)
    throttle.spend(499)
    assert not throttle.exhausted


def test_it_is_ready_when_a_tenth_of_a_second_has_gathered() -> None:
    throttle = Throttle(1000, now=0.0)
    throttle.spend(3000)
    assert throttle.ready_at == 2.1
    throttle.refill(2.1)
    assert not throttle.exhausted
    assert throttle.ready_at == 2.1


def test_it_holds_no_more_than_a_second() -> None:
    throttle = Throttle(1000, now=0.0)
    throttle.refill(3600.0)
    assert throttle.ready_at == 3600.0
    throttle.spend(1000)
    assert throttle.exhausted


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 5000)), max_size=50))
def test_no_more_than_the_rate_over_time(steps: list[tuple[float, int]]) -> None:
    rate, now, spent, last = 1000, 0.0, 0, 0
    throttle = Throttle(rate, now)
    for pause, size in steps:
        now += pause
        throttle.refill(now)
        if not throttle.exhausted:
            throttle.spend(size)
            spent, last = spent + size, size
    assert spent - last <= rate * (1 + now) + 1
