import itertools
import re
from typing import Any

import pytest

import larbinpy.frontier.site as states
from larbinpy.frontier.site import TRANSITIONS, Event, NamedSite, State, UrlTotals
from larbinpy.page import Outcome, Page
from larbinpy.url import GUESS, Aim, Purpose, Url
from tests.support.frontiers import held_by, site_settings


@pytest.fixture
def site() -> NamedSite:
    return NamedSite("https://[2001:db8::1]:8443", site_settings(30, 600), UrlTotals())


def drawn() -> list[tuple[tuple[State, Event], State]]:
    """The arrows of the picture: NEW --wanted--> RESOLVING."""
    arrow = r"(?=\b([A-Z]+) -+([a-z_]+)-+> ([A-Z]+)\b)"
    return [
        ((State[state], Event[event.upper()]), State[then])
        for state, event, then in re.findall(arrow, states.__doc__)
    ]


def test_the_picture_shows_the_table() -> None:
    assert dict(drawn()) == TRANSITIONS
    assert len(drawn()) == len(TRANSITIONS), "an arrow is drawn twice"


@pytest.mark.parametrize(
    ("state", "event"), list(itertools.product(State, Event)), ids=lambda value: value.name
)
def test_only_transitions_of_the_table_are_legal(
    site: NamedSite, state: State, event: Event
) -> None:
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
    assert held_by(site) == urls
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


def test_the_description_of_a_site(site: NamedSite) -> None:
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


# How URLs move.


def urls_of(site: NamedSite, count: int) -> list[Url]:
    return [Url(f"{site.key}/{number}", 1) for number in range(count)]


def opened(site: NamedSite) -> NamedSite:
    """`site`, with an address and OPEN."""
    site.use_addresses(("198.51.100.1",))
    for event in (Event.WANTED, Event.ADDRESS, Event.RULES):
        site.on(event)
    return site


def totals(site: NamedSite) -> tuple[int, int]:
    return site.totals.waiting, site.totals.ready


def test_urls_with_priority_come_before_all_others(site: NamedSite) -> None:
    def url(name: str, *, priority: bool = False) -> Url:
        return Url(f"http://a.test/{name}", 1, priority=priority)

    for name in ("1", "2.pdf", "3", "4.pdf"):
        site.park(url(name, priority=name.endswith("pdf")))
    assert [each.href[-5:] for each in site.waiting] == ["2.pdf", "4.pdf", "est/1", "est/3"]


def test_urls_are_admitted_in_order_and_some_at_a_time(site: NamedSite) -> None:
    urls = urls_of(site, 5)
    for url in urls:
        site.park(url)
    assert totals(site) == (5, 0)
    with pytest.raises(AssertionError):
        site.admit(3)
    opened(site).count_try()
    assert site.admit(3) == urls[:3]
    assert (site.waiting, site.tries, totals(site)) == (urls[3:], 0, (2, 0))
    assert site.admit(3) == urls[3:]
    assert (site.admit(3), totals(site)) == ([], (0, 0))


def test_only_the_robots_txt_of_others_is_fetched_before_the_rules_are_known(
    site: NamedSite,
) -> None:
    page, robots = (
        Url(f"{site.key}/", 1),
        Url(f"{site.key}/r", 0, purpose=Purpose(Aim.ROBOTS, "http://b.test")),
    )
    for url in (page, robots):
        site.park(url)
    for event in (Event.WANTED, Event.ADDRESS):
        site.on(event)
    assert site.admit_others() == [robots]
    assert (site.admit_others(), site.waiting, totals(site)) == ([], [page], (1, 0))


def test_a_ready_url_is_taken_and_lands(site: NamedSite) -> None:
    first, second = urls_of(site, 2)
    with pytest.raises(AssertionError):
        site.make_ready(first)
    opened(site).make_ready(second)
    site.make_ready(first, first=True)
    assert totals(site) == (0, 2)
    assert site.take() is first
    assert (site.in_flight, totals(site)) == (1, (0, 1))
    site.landed()
    assert (site.in_flight, site.asked) == (0, 1)
    with pytest.raises(AssertionError):
        site.landed()


def test_ready_urls_are_put_back_before_those_that_wait(site: NamedSite) -> None:
    first, second, third = urls_of(site, 3)
    opened(site).make_ready(first)
    site.make_ready(second)
    site.park(third)
    site.put_back()
    assert (site.waiting, site.ready, totals(site)) == ([first, second, third], [], (3, 0))
    site.enlisted = True
    with pytest.raises(AssertionError):
        site.put_back()


def test_a_failed_url_comes_back_when_due_and_wants_a_fresh_address(site: NamedSite) -> None:
    [url] = urls_of(site, 1)
    site.trust_address(500.0)
    site.postpone(url, 30.0)
    assert (site.next_retry(29.9), site.refresh, totals(site)) == (None, False, (1, 0))
    assert site.next_retry(30.0) is url
    assert (site.refresh, site.address_until, totals(site)) == (True, 30.0, (0, 0))
    assert site.next_retry(1000.0) is None


def test_a_closed_site_gives_all_its_urls_away(site: NamedSite) -> None:
    waiting, failed = urls_of(site, 2)
    failed.attempt = 3
    site.park(waiting)
    site.postpone(failed, 30.0)
    site.use_addresses(("198.51.100.1",))
    assert [site.count_try(), site.count_try()] == [1, 2]
    for event in (Event.WANTED, Event.GIVE_UP):
        site.on(event)
    assert site.close(Outcome.NO_CONNECTION, 900.0) == [waiting, failed]
    assert (waiting.attempt, failed.attempt) == (2, 3)
    assert (site.verdict, site.until, site.tries) == (Outcome.NO_CONNECTION, 900.0, 0)
    assert (site.addresses, site.held, totals(site)) == ((), 0, (0, 0))


def test_a_ready_url_is_not_lost_when_a_site_is_drained(site: NamedSite) -> None:
    opened(site).make_ready(*urls_of(site, 1))
    with pytest.raises(AssertionError):
        site.drain()


def test_no_wait_ends_before_the_site_allows(site: NamedSite) -> None:
    site.wait_until(50.0)
    site.wait_until(40.0)
    assert site.next_at == 50.0
    site.shorten_wait(20.0)
    assert site.next_at == 20.0
    site.hold_until(70.0)
    site.hold_until(60.0)
    site.shorten_wait(30.0)
    assert (site.next_at, site.held_until) == (70.0, 70.0)


@pytest.mark.parametrize(
    ("outcome", "status", "silence"),
    [
        (Outcome.TIMEOUT, 0, 2),
        (Outcome.NO_CONNECTION, 0, 2),
        (Outcome.TIMEOUT, 200, 0),
        (Outcome.ERR_50X, 503, 0),
        (Outcome.SUCCESS, 200, 0),
        (Outcome.EARLY_STOP, 0, 1),
    ],
)
def test_a_reply_ends_the_silence(
    site: NamedSite, outcome: Outcome, status: int, silence: int
) -> None:
    url = Url("http://a.test/", 1)
    site.count_page(Page(url, Outcome.TIMEOUT))
    site.count_page(Page(url, outcome, status))
    success = outcome is Outcome.SUCCESS
    assert (site.fetched, site.failed, site.silence) == (success, 2 - success, silence)


def test_a_sitemap_that_is_not_there_is_no_failure_of_its_site(site: NamedSite) -> None:
    guessed = Url("http://a.test/sitemap.xml", 1, purpose=GUESS)
    site.count_page(Page(guessed, Outcome.ERR_40X, 404))
    assert (site.fetched, site.failed) == (0, 0)
    site.count_page(Page(guessed, Outcome.SUCCESS, 200))
    site.count_page(Page(Url(guessed.href, 1), Outcome.ERR_40X, 404))
    assert (site.fetched, site.failed) == (1, 1)


@pytest.mark.parametrize(
    ("least", "wait", "reason"),
    [
        (0.0, 1.0, None),
        (0.0, 1.1, "asked for a pause"),
        (2.0, 5.0, None),
        (2.0, 5.1, "asked for a pause"),
    ],
)
def test_a_wait_is_a_pause_if_it_is_much_longer_than_the_usual(
    least: float, wait: float, reason: str | None
) -> None:
    site = NamedSite("http://a.test", site_settings(least, 600), UrlTotals())
    site.next_at = 100.0 + wait
    assert site.suspension(100.0) == reason


def test_urls_that_are_not_wanted_are_removed_from_all_queues(site: NamedSite) -> None:
    site.use_addresses(("198.51.100.1",))
    urls = [Url(f"{site.key}/{number}", 1) for number in range(6)]
    robots = Url(f"{site.key}/robots.txt", 0, purpose=Purpose(Aim.ROBOTS, site.key))
    for url in (robots, *urls[:2]):
        site.make_ready(url)
    for url in urls[2:4]:
        site.park(url)
    for url in urls[4:]:
        site.postpone(url, 12.0)
    ready, waiting = site.totals.ready, site.totals.waiting
    assert site.remove(lambda url: url.href[-1] in "024t") == urls[::2]
    assert held_by(site) == [robots, *urls[1::2]]
    assert (ready - site.totals.ready, waiting - site.totals.waiting) == (1, 2)
    assert site.remove(lambda url: False) == []
