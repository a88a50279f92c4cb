"""The time that a crawl will still take, and when there is no estimate."""

from collections.abc import Callable

import pytest

from larbinpy.stats import Forecast


def watched(
    seconds: int, success: Callable[[float], float], queued: Callable[[float], float]
) -> Forecast:
    """A forecast after so many seconds, of counts that are functions of the time."""
    forecast = Forecast()
    for second in range(seconds + 1):
        pages = int(success(second))
        forecast.add(float(second), pages, pages, int(queued(second)))
    return forecast


def test_a_steady_pace_gives_the_time() -> None:
    forecast = watched(60, lambda t: 2 * t, lambda t: 1000 - 2 * t)
    assert forecast.to_pages(120) == pytest.approx(60)
    assert forecast.to_end() == pytest.approx((1000 - 120) / 2)


def test_a_slow_pace_gives_it_too() -> None:
    """waitDuration 30: two pages a minute."""
    forecast = watched(600, lambda t: t // 30, lambda t: 100 - t // 30)
    assert forecast.to_end() == pytest.approx(80 * 30, rel=0.1)


@pytest.mark.parametrize(
    ("seconds", "success", "queued"),
    [
        (15, lambda t: 5 * t, lambda t: 1000 - 5 * t),
        (60, lambda t: t // 10, lambda t: 1000 - t // 10),
        # New links are found nearly as fast as pages are fetched, or faster.
        (60, lambda t: 5 * t, lambda t: 1000 - t),
        (60, lambda t: 5 * t, lambda t: 1000 + t),
        # It becomes slower.
        (60, lambda t: min(5 * t, 150 + t), lambda t: 1000 - min(5 * t, 150 + t)),
        # Months.
        (60, lambda t: t, lambda t: 10**8 - t),
    ],
    ids=["young", "few pages", "many links", "more links", "unsteady", "months"],
)
def test_no_estimate_is_better_than_a_wrong_one(
    seconds: int, success: Callable[[float], float], queued: Callable[[float], float]
) -> None:
    assert watched(seconds, success, queued).to_end() is None


def test_without_samples_there_is_none() -> None:
    assert Forecast().to_end() is Forecast().to_pages(5) is None


def test_the_pace_is_that_of_the_last_minutes() -> None:
    forecast = watched(3600, lambda t: min(t, 1000) * 9 + t, lambda t: 10**6)
    assert forecast.to_pages(100) == pytest.approx(100)
