"""Hours: which moments they contain, across midnight and changes of the clock."""

import os
import re
import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from larbinpy.config.kinds import ALWAYS, Hours
from larbinpy.frontier.politeness import SiteHours


@pytest.fixture(autouse=True, scope="module")
def in_berlin() -> Iterator[None]:
    """Clocks go forward on 29 March 2026 at 2:00, and back on 25 October at 3:00."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def at(text: str, fold: int = 0) -> float:
    """The Unix time of a local time in 2026 such as "03-29 01:30"."""
    return datetime.fromisoformat(f"2026-{text}").replace(fold=fold).timestamp()


NIGHT = Hours.parse("22:00-06:00")


@pytest.mark.parametrize(
    ("moment", "opens", "closes"),
    [
        ("07-01 12:00", "07-01 22:00", "07-02 06:00"),
        ("07-01 22:00", "07-01 22:00", "07-02 06:00"),
        ("07-01 23:59", "07-01 23:59", "07-02 06:00"),
        ("07-02 05:59", "07-02 05:59", "07-02 06:00"),
        ("07-02 06:00", "07-02 22:00", "07-03 06:00"),
        ("12-31 20:00", "12-31 22:00", "12-31 20:00"),
        ("03-28 23:00", "03-28 23:00", "03-29 06:00"),
    ],
)
def test_night_hours(moment: str, opens: str, closes: str) -> None:
    assert NIGHT.open_at(at(moment)) == at(opens)
    if closes > moment:
        assert NIGHT.close_at(at(moment)) == at(closes)


def test_a_night_with_a_change_of_the_clock_is_an_hour_shorter_or_longer() -> None:
    assert NIGHT.close_at(at("03-28 22:00")) - at("03-28 22:00") == 7 * 3600
    assert NIGHT.close_at(at("10-24 22:00")) - at("10-24 22:00") == 9 * 3600


def test_a_range_in_the_hour_that_is_left_out_has_no_such_day() -> None:
    hours = Hours.parse("02:15-02:45")
    assert hours.open_at(at("03-29 00:00")) == at("03-30 02:15")


def test_a_range_in_the_hour_that_comes_twice_is_open_twice() -> None:
    hours = Hours.parse("02:15-02:45")
    assert hours.open_at(at("10-25 02:50")) == at("10-25 02:15", fold=1)
    assert hours.are_open(at("10-25 02:30", fold=1))


@pytest.mark.parametrize("day", ["03-29", "10-25"])
@pytest.mark.parametrize("ranges", ["22:00-02:30", "01:00-02:15,03:15-04:00", "02:10-02:50"])
def test_sites_open_and_close_in_time_when_the_clock_changes(day: str, ranges: str) -> None:
    hours = Hours.parse(ranges)
    site = SiteHours(hours)
    start = int(at(f"{day} 00:50"))
    for wall in range(start, start + 5 * 3600, 60):
        site.look(wall - start, wall)
        assert site.closed is not hours.are_open(wall), datetime.fromtimestamp(wall)


def test_several_ranges() -> None:
    hours = Hours.parse("12:00-13:00, 22:30-24:00")
    assert hours.show() == "12:00-13:00,22:30-24:00"
    assert hours.open_at(at("07-01 13:00")) == at("07-01 22:30")
    assert hours.open_at(at("07-02 00:00")) == at("07-02 12:00")
    assert hours.close_at(at("07-01 22:30")) == at("07-02 00:00")


@pytest.mark.parametrize(
    "text", ["", "22-6", "22:00", "24:00-01:00", "22:00-25:00", "10:60-11:00", "22:00-06:00,"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a range of the day such as 22:00-06:00"):
        Hours.parse(text)


@pytest.mark.parametrize("text", ["10:00-10:00", "00:00-00:00"])
def test_an_empty_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{text!r} is empty; 00:00-24:00 is the whole")):
        Hours.parse(text)


_RANGES = st.tuples(st.integers(0, 1439), st.integers(0, 1440)).filter(
    lambda pair: pair[0] != pair[1] % 1440 or pair == (0, 1440)
)
_MOMENTS = st.integers(1767225600, 1767225600 + 365 * 86400)


# The night on which an hour comes twice.
@example(((125, 0),), 1792879200)
@example(((60, 150),), 1792889100)
@given(st.lists(_RANGES, min_size=1, max_size=3).map(tuple), _MOMENTS)
def test_they_are_open_when_they_say_and_not_before(
    ranges: tuple[tuple[int, int], ...], wall: int
) -> None:
    hours = Hours(ranges)
    assert Hours.parse(hours.show()) == hours
    opens = hours.open_at(wall)
    assert hours.are_open(opens)
    assert wall <= opens <= wall + 2 * 86400 + 3600
    if opens > wall:
        assert not any(hours.are_open(wall + (opens - wall) * n / 50) for n in range(50))
    closes = hours.close_at(opens)
    assert all(hours.are_open(opens + (closes - opens) * n / 50) for n in range(50))


@given(_MOMENTS)
def test_the_whole_day_is_always_open(wall: int) -> None:
    assert ALWAYS.are_open(wall)
