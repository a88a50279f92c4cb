import math
import time
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier.politeness import Pace, SiteHours, SiteLimits, Waits, retry_after
from larbinpy.page import Outcome, Page
from larbinpy.url import Url

URL = Url("http://a.test/", 0)
WALL = 1_700_000_000.0


def page(
    status: int = 200,
    first_byte: float = 0.1,
    outcome: Outcome = Outcome.SUCCESS,
    retry_after: str | None = None,
) -> Page:
    headers = [] if retry_after is None else [("retry-after", retry_after)]
    return Page(URL, outcome, status, headers, first_byte_ms=round(first_byte * 1000))


def pace(least: float = 1.0, most: float = 60.0) -> Pace:
    return Pace(Waits(least, most))


def test_the_delay_is_the_operators_wait() -> None:
    assert pace(30).delay == 30
    assert pace(0).delay == 0


def test_a_crawl_delay_slows_within_max_wait_and_never_hurries() -> None:
    ours = pace(1, 60)
    ours.crawl_delay(10)
    assert (ours.least, ours.delay) == (10, 10)
    ours.crawl_delay(0.1)
    assert ours.delay == 1
    ours.crawl_delay(10**9)
    assert ours.delay == 60
    ours.crawl_delay(None)
    assert ours.delay == 1


@pytest.mark.parametrize("asked", [math.nan, math.inf, -math.inf, -5.0])
def test_no_number_in_robots_txt_breaks_the_bounds(asked: Any) -> None:
    ours = pace(1, 60)
    ours.crawl_delay(asked)
    assert 1 <= ours.delay <= 60


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.NO_CONNECTION, Outcome.EARLY_STOP])
def test_a_refusal_doubles_the_delay_and_good_answers_take_it_back(outcome: Outcome) -> None:
    ours = pace(1, 60)
    delays = []
    for _ in range(8):
        ours.answered(page(0, outcome=outcome))
        delays.append(ours.delay)
    assert delays == [2, 4, 8, 16, 32, 60, 60, 60]
    for _ in range(30):
        before = ours.delay
        ours.answered(page())
        assert ours.delay < before or ours.delay == 1
    assert ours.delay == 1


def test_a_page_that_could_not_be_decoded_is_no_sign_of_overload() -> None:
    ours = pace(1, 60)
    misread = page(outcome=Outcome.EARLY_STOP)
    misread.misread = True
    ours.answered(misread)
    assert ours.delay == 1


@pytest.mark.parametrize("status", [429, 503])
def test_too_many_requests_is_a_refusal(status: int) -> None:
    ours = pace(0, 60)
    ours.answered(page(status, outcome=Outcome.ERR_40X))
    assert ours.delay == 0.25
    ours.answered(page(status, outcome=Outcome.ERR_40X))
    assert ours.delay == 0.5


def test_refusals_of_requests_that_were_under_way_count_once() -> None:
    ours = pace(1, 60)
    refusal = page(429, outcome=Outcome.ERR_40X)
    said = [ours.answered(refusal, since, 10.0) for since in (4.0, 5.0, 9.9)]
    assert (said, ours.delay) == ([True, False, False], 2)
    # Nor does a page that left before undo it.
    assert not ours.answered(page(), 9.0, 11.0)
    assert ours.delay == 2
    assert ours.answered(refusal, 12.0, 13.0)
    assert ours.delay == 4
    assert ours.answered(page(), 17.0, 18.0)
    assert ours.delay < 4


def test_a_slow_answer_raises_the_delay_to_its_time() -> None:
    ours = pace(1, 60)
    for _ in range(3):
        ours.answered(page(first_byte=0.2))
    assert ours.delay == 1
    ours.answered(page(first_byte=5))
    assert ours.delay == 5
    ours.answered(page(first_byte=0.2))
    assert ours.delay == 3


def test_the_first_answer_is_no_slow_one() -> None:
    ours = pace(1, 60)
    ours.answered(page(first_byte=20))
    assert ours.delay == 1


def test_noise_is_not_slowness() -> None:
    ours = pace(0, 60)
    ours.answered(page(first_byte=0.01))
    ours.answered(page(first_byte=0.4))
    assert ours.delay == 0


def test_a_site_that_became_slower_is_not_punished_for_one_bad_moment() -> None:
    ours = pace(0, 60)
    ours.answered(page(first_byte=0.1))
    ours.answered(page(first_byte=50))
    for _ in range(30):
        ours.answered(page(first_byte=1))
    assert ours.delay <= 1


def test_a_change_of_the_bounds_is_a_change_for_all() -> None:
    waits = Waits(30, 600)
    paces = [Pace(waits) for _ in range(2)]
    waits.least = 1
    assert [each.delay for each in paces] == [1, 1]


OUTCOMES = st.sampled_from(list(Outcome))


@given(
    st.floats(0, 100),
    st.floats(0, 1000),
    st.none() | st.floats(allow_nan=True),
    st.lists(st.tuples(OUTCOMES, st.sampled_from([0, 200, 404, 429, 503]), st.floats(0, 900))),
)
def test_the_delay_is_always_within_its_bounds(
    least: float, most: float, asked: Any, answers: Any
) -> None:
    ours = Pace(Waits(least, max(least, most)))
    ours.crawl_delay(asked)
    for outcome, status, seconds in answers:
        ours.answered(page(status, seconds, outcome))
        assert least <= ours.delay <= max(least, most)
        assert 0 <= ours.hold_for(page(503, retry_after="9" * 30), WALL) <= max(least, most)
    for _ in range(60):
        ours.answered(page(first_byte=0))
    assert ours.delay == ours.least


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0),
        (" 120 ", 120),
        ("1000000000", 10**9),
        ("9" * 400, 999_999_999_999),
        (formatdate(WALL + 90, usegmt=True), 90),
        (formatdate(WALL - 90, usegmt=True), 0),
        ("Tue Nov 14 22:15:20 2023", 120),
        ("Tuesday, 14-Nov-23 22:15:20 GMT", 120),
        ("", None),
        ("-1", None),
        ("1.5", 1.5),
        ("90 seconds", 90),
        ("90, 60", 90),
        ("1.2.3", None),
        ("90 minutes", None),
        ("soon", None),
        ("\N{FULLWIDTH DIGIT ONE}", None),
        ("\N{SUPERSCRIPT TWO}", None),
        ("Tue, 99 Foo 2023", None),
    ],
)
def test_retry_after(value: Any, seconds: float) -> None:
    assert retry_after(value, WALL) == seconds


def test_dates_without_a_zone_are_gmt(monkeypatch: pytest.MonkeyPatch) -> None:
    """asctime's format (RFC 9110, 5.6.7) must not be read as our local time."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert retry_after("Tue Nov 14 22:15:20 2023", WALL) == 120
    finally:
        monkeypatch.undo()
        time.tzset()


@given(
    st.text(max_size=40)
    | st.text(" ,:-+0123456789.ADFJMNOSTWabcdeghilnoprtuvyGMT", max_size=40)
    | st.builds(
        "{}, {} {} {} {}:{}:{} {}".format,
        st.sampled_from(["Sun", "Monday", ""]),
        *[st.integers(-1, 10**6)] * 1,
        st.sampled_from(["Jan", "Feb", "Foo"]),
        *[st.integers(-1, 10**20)] * 4,
        st.sampled_from(["GMT", "+9999999999", "-0000", ""]),
    )
)
def test_no_text_breaks_retry_after(text: str) -> None:
    seconds = retry_after(text, WALL)
    assert seconds is None or seconds >= 0


def test_hold_for() -> None:
    ours = pace(1, 60)
    refusal = page(503, outcome=Outcome.ERR_50X)
    ours.answered(refusal)
    assert ours.hold_for(refusal, WALL) == ours.delay == 2
    assert ours.hold_for(page(503, retry_after="7"), WALL) == 7
    assert ours.hold_for(page(503, retry_after="1000000000"), WALL) == 60
    assert ours.hold_for(page(503, retry_after="nonsense"), WALL) == 2
    assert ours.hold_for(page(503, retry_after=formatdate(WALL + 20, usegmt=True)), WALL) == 20


def test_why_the_delay_is_as_long_as_it_is() -> None:
    ours = pace(1, 60)
    assert ours.cause == "waitDuration"
    ours.crawl_delay(1.0)
    assert ours.cause == "waitDuration"
    ours.crawl_delay(5.0)
    assert ours.cause == "Crawl-delay"
    ours.answered(page(503, outcome=Outcome.ERR_50X))
    assert ours.cause == "slow or overloaded"


@dataclass(frozen=True)
class Night:
    """Hours that change at one time, and the times at which they were asked for."""

    changes: float
    asked: list[float]

    def are_open(self, wall: float) -> bool:
        self.asked.append(wall)
        return wall < self.changes

    def open_at(self, wall: float) -> float:
        return self.changes + 3600

    def close_at(self, wall: float) -> float:
        return self.changes


def test_hours_are_computed_at_their_change_and_when_the_clock_goes_back() -> None:
    morning = 900_000.0
    night = Night(morning + 400, [])
    hours = SiteHours(night)  # type: ignore[arg-type]
    assert (hours.opens_at, hours.closed) == (0.0, False)
    for wall in (morning + 10, morning + 399):
        hours.look(5.0, wall)
        assert (hours.closed, hours.opens_at) == (False, 0.0)
    assert night.asked == [morning + 10]
    hours.look(7.0, morning + 400)
    assert (hours.closed, hours.opens_at) == (True, 7.0 + 3600)
    hours.look(8.0, morning + 500)
    assert hours.opens_at == 8.0 + 3500
    assert night.asked == [morning + 10, morning + 400]
    hours.look(9.0, morning + 399)
    assert night.asked[2:] == [morning + 399]


@pytest.mark.parametrize(
    ("limits", "counted", "any_"),
    [
        (SiteLimits(), False, False),
        (SiteLimits(pages=1), True, True),
        (SiteLimits(received=1), True, True),
        (SiteLimits(at_once=1), False, True),
    ],
)
def test_limits_that_a_site_has(limits: SiteLimits, counted: bool, any_: bool) -> None:
    assert (limits.counted, bool(limits)) == (counted, any_)


def test_the_usual_time_follows_answers_that_are_not_slow() -> None:
    ours = pace(0, 60)
    usual = []
    for seconds in (1.0, 2.0, 4.0, 3.0):
        ours.answered(page(first_byte=seconds))
        usual.append(ours.usual)
    # A tenth of the newest; one that takes more than three times as long is a bad moment.
    assert usual == [pytest.approx(each) for each in (1.0, 1.1, 1.1, 1.29)]
    assert list(ours.adapted) == pytest.approx([2.0, 1.29])
    again = pace(0, 60)
    again.adapt(*ours.adapted)
    assert (again.delay, again.usual) == (ours.delay, ours.usual)
    again.adapt(0.0, 0.0)
    assert (again.delay, again.usual) == (0.0, None)


@pytest.mark.parametrize(("usual", "seconds", "is_slow"), [
    (0.1, 0.5, False), (0.1, 0.51, True), (1.0, 3.0, False), (1.0, 3.01, True),
])  # fmt: skip
def test_what_is_slow(usual: float, seconds: float, is_slow: bool) -> None:
    ours = pace(0, 60)
    for each in (usual, seconds):
        ours.answered(page(first_byte=each))
    assert (ours.delay == seconds) is is_slow
