"""The visits that are under way."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.revisit.round import DuePage, Visits


def page(number: int, conditions: tuple[str, ...] = ()) -> DuePage:
    return DuePage(
        f"http://a.test:81/{number}", 3, None, "2026-11-24T00:00:00Z", number, conditions
    )


def test_a_page_is_open_then_recorded_then_gone() -> None:
    visits = Visits()
    assert visits.add(page(1, ("If-None-Match: x",)))
    assert not visits.add(page(1))
    url = page(1).url
    assert visits.conditions(url) == ("If-None-Match: x",)
    visits.recorded(url, 7)
    assert not visits.is_open(url)
    assert visits.conditions(url) == ()
    assert url in visits
    assert not visits.add(page(1))
    visits.taken(7)
    assert url in visits
    visits.taken(8)
    assert url not in visits
    assert len(visits) == 0


def test_other_pages_are_of_no_concern() -> None:
    visits = Visits()
    visits.recorded("http://a.test/", 1)
    assert len(visits) == 0
    assert visits.conditions("http://a.test/") == ()


def test_room_and_full_hosts() -> None:
    visits = Visits(most=3, by_host=2)
    for number in (1, 2):
        visits.add(page(number))
    assert visits.room == 1
    assert visits.full_hosts == ["a.test:81"]
    visits.recorded(page(1).url, 1)
    assert visits.full_hosts == []
    assert visits.room == 1
    visits.taken(2)
    assert visits.room == 2


@given(st.lists(st.tuples(st.sampled_from(["add", "record", "take"]), st.integers(0, 9))))
def test_it_is_saved_and_loaded_as_it_is(steps: list[tuple[str, int]]) -> None:
    visits = Visits(by_host=3)
    for record, (step, number) in enumerate(steps):
        if step == "add":
            visits.add(page(number, (f"If-None-Match: {number}",)))
        elif step == "record":
            visits.recorded(page(number).url, record)
        else:
            visits.taken(record)
    loaded = Visits(by_host=3)
    loaded.load(json.loads(json.dumps(visits.cut())))
    assert loaded.cut() == visits.cut()
    assert (loaded.open, len(loaded), loaded.full_hosts) == (
        visits.open,
        len(visits),
        visits.full_hosts,
    )
    for number in range(10):
        url = page(number).url
        assert (url in loaded) == (url in visits)
        assert tuple(loaded.conditions(url)) == tuple(visits.conditions(url))


@pytest.mark.parametrize(
    "value",
    [{}, {"open": [], "recorded": []}, {"open": {}, "recorded": [[2, "u"], [1, "v"]]}],
)
def test_a_damaged_state_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
        Visits().load(value)
