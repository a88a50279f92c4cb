"""Dates that sites announce: which say that a page has changed, and whether they count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.revisit.plan import Trust, age_of_change, moment, says_changed
from larbinpy.page import timestamp

SINCE, UNTIL = "2026-11-24T08:00:00Z", "2026-11-26T08:00:00Z"
trusts = st.builds(Trust, st.integers(0, 100), st.integers(0, 100))


def after(trust: Trust, *, agreed: int = 0, contradicted: int = 0) -> Trust:
    for changed in [True] * agreed + [False] * contradicted:
        trust = trust.after(changed=changed)
    return trust


@pytest.mark.parametrize(
    ("date", "says"),
    [
        ("", False),
        ("2026-11-23T09:00:00Z", False),
        ("2026-11-24T08:00:00Z", False),
        ("2026-11-24T08:00:01Z", True),
        ("2026-11-26T08:00:00Z", True),
        ("2026-11-26T08:00:01Z", False),
        # Days: the one of the visit says nothing.
        ("2026-11-24", False),
        ("2026-11-25", True),
        ("2026-11-26", True),
        ("2026-11-27", False),
    ],
)
def test_dates_that_say_that_a_page_has_changed(date: str, says: bool) -> None:
    assert says_changed(date, SINCE, UNTIL) is says
    assert (age_of_change(date, SINCE, UNTIL) is not None) is says


def test_the_age_of_a_change() -> None:
    assert age_of_change("2026-11-26T07:59:00Z", SINCE, UNTIL) == 60.0
    assert age_of_change("2026-11-26", SINCE, UNTIL) == 8 * 3600.0


def test_the_time_of_a_date() -> None:
    assert moment("2026-11-26") == "2026-11-26T00:00:00Z"
    assert moment("2026-11-26T07:59:00Z") == "2026-11-26T07:59:00Z"


def test_dates_count_until_they_are_false() -> None:
    assert Trust().holds
    assert after(Trust(), contradicted=1).holds
    assert not after(Trust(), contradicted=2).holds


def test_some_false_dates_are_forgiven() -> None:
    assert after(Trust(), agreed=40, contradicted=11).holds
    assert not after(Trust(), agreed=40, contradicted=12).holds


@given(trusts)
def test_a_site_that_changes_its_ways_is_noticed(trust: Trust) -> None:
    assert after(trust, agreed=250).holds
    assert not after(trust, contradicted=60).holds


@given(trusts, st.booleans())
def test_counts_are_bounded(trust: Trust, changed: bool) -> None:
    later = trust.after(changed=changed)
    assert later.agreed + later.contradicted <= 100
    assert min(later) >= 0


@given(trusts)
def test_a_true_date_never_costs_trust_and_a_false_one_never_gains_it(trust: Trust) -> None:
    if trust.agreed + trust.contradicted < 100:
        assert trust.after(changed=True).holds >= trust.holds
        assert trust.after(changed=False).holds <= trust.holds


times = st.integers(800_000_000, 2_000_000_000)


@given(times, times, times, st.booleans())
def test_an_age_fits_into_the_time_between_two_visits(
    change: int, since: int, until: int, is_day: bool
) -> None:
    date, one, other = map(timestamp, (change, since, until))
    found = age_of_change(date[:10] if is_day else date, one, other)
    assert found is None or 0.0 <= found <= until - since
    if not is_day:
        assert (found is not None) is (since < change <= until)
