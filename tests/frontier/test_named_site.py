import itertools
import re
from typing import Any

import pytest

from larbinpy.frontier import named_site
from larbinpy.frontier.named_site import TRANSITIONS, Event, NamedSite, State, UrlTotals
from larbinpy.frontier.politeness import Pace, Waits
from larbinpy.url import Url


@pytest.fixture
def site() -> NamedSite:
    return NamedSite("https://[2001:db8::1]:8443", Pace(Waits(30, 600)), UrlTotals())


def drawn() -> list[tuple[tuple[State, Event], State]]:
    """The arrows of the picture: NEW --wanted--> RESOLVING."""
    arrow = r"(?=\b([A-Z]+) -+([a-z_]+)-+> ([A-Z]+)\b)"
    return [
        ((State[state], Event[event.upper()]), State[then])
        for state, event, then in re.findall(arrow, named_site.__doc__)
    ]


def test_the_picture_shows_the_table() -> None:
    assert dict(drawn()) == TRANSITIONS
    assert len(drawn()) == len(TRANSITIONS), "an arrow is drawn twice"


@pytest.mark.parametrize(
    ("state", "event"), list(itertools.product(State, Event)), ids=lambda value: value.name
)
def test_only_what_is_in_the_table_may_happen(site: NamedSite, state: State, event: Event) -> None:
    site.state = state
    if (state, event) in TRANSITIONS:
        site.on(event)
        assert site.state is TRANSITIONS[state, event]
    else:
        with pytest.raises(KeyError):
            site.on(event)
        assert site.state is state


def reachable(start: Any) -> set[State]:
    found = {start}
    while True:
        more = {then for (state, _), then in TRANSITIONS.items() if state in found} - found
        if not more:
            return found
        found |= more


def test_no_state_is_a_dead_end() -> None:
    assert reachable(State.NEW) == set(State)
    for state in set(State) - {State.NEW}:
        assert reachable(state) == set(State) - {State.NEW}


def test_a_site_knows_its_host_and_what_it_holds(site: NamedSite) -> None:
    assert site.host == "[2001:db8::1]"
    urls = [Url(f"{site.key}/{number}", 1) for number in range(3)]
    site.use_addresses(("198.51.100.1",))
    site.make_ready(urls[0])
    site.park(urls[1])
    site.postpone(urls[2], 12.0)
    assert site.held == 3
    assert list(site.urls()) == urls
    assert repr(site) == (
        "<NamedSite https://[2001:db8::1]:8443 NEW waiting=1 retries=1 ready=1 in_flight=0>"
    )


@pytest.mark.parametrize("state", State)
def test_a_site_is_idle_when_nothing_is_under_way(site: NamedSite, state: State) -> None:
    site.state = state
    at_rest = state in (State.NEW, State.OPEN, State.CLOSED)
    assert site.idle is at_rest
    url = Url(f"{site.key}/", 1)
    site.use_addresses(("198.51.100.1",))
    site.make_ready(url)
    site.take()
    assert not site.idle
    site.landed()
    assert site.idle is at_rest
    site.postpone(url, 12.0)
    assert not site.idle


def test_what_people_are_told(site: NamedSite) -> None:
    site.wait_until(107.5)
    site.park(Url(f"{site.key}/", 1))
    assert site.describe(100.0) == {
        "site": site.key,
        "state": "new",
        "waiting": 1,
        "in_flight": 0,
        "delay_s": 30,
        "next_in_s": 7.5,
        "answers_in_s": None,
        "fetched": 0,
        "failed": 0,
    }
