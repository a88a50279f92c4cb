"""A login as the state of its site: what waits for it, what it waits for, how it fails."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from larbinpy.frontier.lifecycle import Judgement
from larbinpy.frontier.site import State
from larbinpy.page import Outcome, Page
from larbinpy.url import Ask, Url
from tests.support.fakelogins import DOOR, FakeLogins
from tests.support.frontiers import DEAD, WALL, MakeWorld, World, reply, site_in, site_settings

ROBOTS, LOGIN = f"{DOOR}/robots.txt", f"{DOOR}/login"
PAGES = [f"{DOOR}/{number}" for number in range(6)]


def hrefs(world: World) -> list[str]:
    return [start.href for start in world.starts]


def test_a_login_comes_after_robots_txt_and_before_the_pages(make: MakeWorld) -> None:
    logins = FakeLogins([LOGIN, f"{DOOR}/session"])
    world = make(*PAGES[:2], logins=logins)
    world.run()
    assert hrefs(world) == [ROBOTS, LOGIN, f"{DOOR}/session", *PAGES[:2]]
    assert set(world.outcomes().values()) == {Outcome.SUCCESS}
    assert logins.begun == [DOOR]
    assert site_in(world.frontier, PAGES[0]).state is State.OPEN


def test_a_site_without_a_login_has_none(make: MakeWorld) -> None:
    world = make("http://b.test/", PAGES[0], logins=FakeLogins())
    world.run()
    assert [href for href in hrefs(world) if "b.test" in href] == [
        "http://b.test/robots.txt",
        "http://b.test/",
    ]


def test_the_requests_of_a_login_are_polite_and_count_as_no_url(make: MakeWorld) -> None:
    world = make(PAGES[0], logins=FakeLogins([LOGIN, LOGIN]), least=10.0)
    world.run(until=5015.0)
    assert world.frontier.queues()["ip_sites"] == 0
    world.run()
    times = [start.at for start in world.starts]
    assert all(later - earlier >= 10.0 for earlier, later in pairwise(times))
    assert list(world.outcomes()) == [PAGES[0]]


def test_robots_txt_does_not_bind_a_login(make: MakeWorld) -> None:
    rules = {"body": b"User-agent: *\nDisallow: /login\n"}
    world = make(PAGES[0], LOGIN + "?2", logins=FakeLogins(), replies={ROBOTS: rules})
    world.run()
    assert world.outcomes() == {PAGES[0]: Outcome.SUCCESS, LOGIN + "?2": Outcome.FORBIDDEN_ROBOTS}
    assert LOGIN in hrefs(world)


class SlowLogins(FakeLogins):
    """Each of its requests has to wait."""

    wait = 30.0

    def _next(self, site: str) -> Ask | None:
        ask = super()._next(site)
        return None if ask is None else replace(ask, wait=self.wait)


def test_a_request_of_a_login_waits_as_long_as_it_asks_for(make: MakeWorld) -> None:
    world = make(PAGES[0], logins=SlowLogins([LOGIN, f"{DOOR}/session"]))
    world.run()
    assert hrefs(world) == [ROBOTS, LOGIN, f"{DOOR}/session", PAGES[0]]
    robots, login, session, _ = [start.at for start in world.starts]
    assert login - robots == pytest.approx(30.1, abs=0.1)
    assert session - login == pytest.approx(30.1, abs=0.1)


def test_a_wait_of_a_login_ends_on_time(make: MakeWorld) -> None:
    world = make(PAGES[0], logins=SlowLogins([LOGIN]))
    world.run(until=5010.0)
    lifecycle = world.frontier.lifecycle
    site, due = site_in(world.frontier, PAGES[0]), lifecycle.deadline
    assert due is not None and 5030.0 <= due <= 5031.0
    before = world.frontier.owed
    lifecycle._login.wait_over(site, due - 0.01)
    assert not site.ready
    lifecycle._login.wait_over(site, due)
    assert site.ready and world.frontier.owed == before
    lifecycle._login.wait_over(site, due)
    assert len(site.ready) == 1


# A login elsewhere.


def test_a_login_leads_over_another_host_before_that_is_open(make: MakeWorld) -> None:
    sso = "http://sso.test/form"
    world = make(PAGES[0], logins=FakeLogins([LOGIN, sso, f"{DOOR}/back"]))
    world.run()
    assert [href for href in hrefs(world) if not href.endswith("sso.test/robots.txt")] == [
        *(ROBOTS, LOGIN, sso, f"{DOOR}/back"),
        PAGES[0],
    ]


def test_a_login_over_a_host_that_is_open(make: MakeWorld) -> None:
    sso = "http://sso.test/form"
    world = make("http://sso.test/", PAGES[0], logins=FakeLogins([sso]), least=1.0)
    world.run()
    assert set(world.outcomes().values()) == {Outcome.SUCCESS}
    assert hrefs(world).count("http://sso.test/robots.txt") == 1


def test_a_login_over_a_host_that_has_a_login_of_its_own(make: MakeWorld) -> None:
    other = "http://sso.test"
    logins = FakeLogins([f"{other}/form", f"{DOOR}/back"], [DOOR, other])
    world = make(PAGES[0], f"{other}/page", logins=logins, least=1.0)
    world.run()
    assert set(world.outcomes().values()) == {Outcome.SUCCESS}
    assert Counter(logins.begun) == {DOOR: 1, other: 1}


def test_a_login_over_a_host_without_an_address_fails(make: MakeWorld) -> None:
    names = {"sso.test": "nxdomain"}
    logins = FakeLogins(["http://sso.test/form"])
    world = make(PAGES[0], logins=logins, names=names, retries=0)
    world.run()
    assert world.outcomes() == {PAGES[0]: Outcome.LOGIN_FAILED}
    assert {page.outcome for page in logins.pages} <= {Outcome.NO_DNS, Outcome.FAST_NO_DNS}


def test_a_request_that_no_crawl_can_send_fails(make: MakeWorld) -> None:
    logins = FakeLogins(["ftp://a.test/"])
    world = make(PAGES[0], logins=logins)
    world.run()
    assert world.outcomes() == {PAGES[0]: Outcome.LOGIN_FAILED}
    assert [page.outcome for page in logins.pages] == [Outcome.BAD_URL] * 3


# Failures.


@pytest.mark.parametrize("failure", [{"status": 403}, {"status": 500}, DEAD])
def test_a_site_is_closed_after_three_failures(make: MakeWorld, failure: dict[str, Any]) -> None:
    logins = FakeLogins()
    world = make(*PAGES, logins=logins, retry_wait=15.0, replies={LOGIN: failure})
    world.run()
    assert set(world.outcomes().values()) == {Outcome.LOGIN_FAILED}
    assert len({fate.detail for fate in world.fates}) == 1
    assert world.fates[0].detail
    assert len(logins.begun) == 3
    times = [start.at for start in world.starts if start.href == LOGIN]
    assert times[1] - times[0] >= 15.0 <= times[2] - times[1]
    site = site_in(world.frontier, DOOR + "/")
    assert (site.state, site.suspension(world.now)) == (
        State.CLOSED,
        f"loginFailed: {world.fates[0].detail}",
    )


def test_a_later_url_of_a_closed_site_ends_without_another_login(make: MakeWorld) -> None:
    logins = FakeLogins()
    world = make(PAGES[0], logins=logins, replies={LOGIN: {"status": 403}})
    world.run()
    world.now += 23 * 3600
    world.frontier.seed(PAGES[1])
    world.run()
    assert len(logins.begun) == 3
    world.now += 2 * 3600
    world.frontier.seed(PAGES[2])
    world.replies = {}
    world.run()
    assert world.outcomes() == {
        PAGES[0]: Outcome.LOGIN_FAILED,
        PAGES[1]: Outcome.LOGIN_FAILED,
        PAGES[2]: Outcome.SUCCESS,
    }


def test_a_login_that_fails_once_is_tried_again(make: MakeWorld) -> None:
    logins = FakeLogins()
    world = make(PAGES[0], logins=logins, replies={LOGIN: [{"status": 503}, {}]})
    world.turn()
    world.run(until=5010.0)
    assert site_in(world.frontier, PAGES[0]).suspension(world.now) == "try 1 failed"
    world.run()
    assert world.outcomes() == {PAGES[0]: Outcome.SUCCESS}


def test_a_site_at_its_limit_in_the_middle_of_a_login(make: MakeWorld) -> None:
    from larbinpy.frontier.politeness import SiteLimits

    few = site_settings(0.0, 600, limits=SiteLimits(received=100))
    logins = FakeLogins([LOGIN, LOGIN])
    replies = {LOGIN: {"received": 200}}
    world = make(PAGES[0], logins=logins, by_host={"a.test": few}, replies=replies)
    world.run()
    assert world.outcomes() == {PAGES[0]: Outcome.SITE_LIMIT}
    assert len(logins.begun) == 1


# A session that ends.


class Sessions(FakeLogins):
    """A site that forgets its sessions after some pages each."""

    def __init__(self, lasting: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.lasting = lasting
        self._left_here = 0
        self.lost = 0

    def _next(self, site: str) -> Any:
        ask = super()._next(site)
        if ask is None:
            self._left_here = self.lasting
        return ask

    def judge(self, page: Page) -> bool:
        """Whether the session has ended, for which the site sends another page."""
        self._left_here -= 1
        if self._left_here >= 0:
            return False
        self.lost += 1
        self.needed.add(page.url.site)
        return True


@pytest.mark.parametrize("connexions", [1, 3])
@pytest.mark.parametrize("least", [0.0, 1.0])
def test_a_lost_session_wastes_few_requests_and_no_try(
    make: MakeWorld, connexions: int, least: float
) -> None:
    logins = Sessions(2)
    world = make(*PAGES, logins=logins, connexions=connexions, least=least)
    world.judge = logins.judge
    world.run()
    assert set(world.outcomes().values()) == {Outcome.SUCCESS}
    assert {fate.attempt for fate in world.fates} == {1}
    assert len(logins.begun) == 3
    assert logins.lost <= 2 * (connexions if not least else 1)
    assert len(world.pages()) - 3 - logins.lost == len(PAGES)


def test_no_login_begins_while_a_request_of_its_site_is_in_flight(make: MakeWorld) -> None:
    logins = FakeLogins()
    world = make(*PAGES, logins=logins, connexions=2)
    first, second = flights(world, 2)
    frontier, now = world.frontier, world.now
    logins.needed.add(DOOR)
    frontier.replied(reply(first), now, WALL, Judgement.LOST)
    site = site_in(frontier, DOOR + "/")
    assert (site.state, site.ready, len(logins.begun)) == (State.LOGIN, [], 1)
    frontier.replied(reply(second), now, WALL)
    assert [url.href for url in site.ready] == [LOGIN]
    assert len(logins.begun) == 2


def flights(world: World, count: int) -> list[Url]:
    """Continue until `count` requests for pages are in flight; return these."""
    while True:
        flying = [url for url in world.frontier.ip_sites.flying() if url.purpose.owner is None]
        if len(flying) == count:
            return flying
        world.run(until=world.now + 0.02)


def test_a_site_whose_session_ends_while_it_is_looked_up_holds_its_urls(make: MakeWorld) -> None:
    logins = FakeLogins()
    world = make(*PAGES, logins=logins, least=1.0, address_time=0.5)
    [url] = flights(world, 1)
    frontier, now = world.frontier, world.now
    site = site_in(frontier, DOOR + "/")
    frontier.seed(f"{DOOR}/late")
    frontier.sequence(now)
    assert (site.state, bool(site.ready)) == (State.RESOLVING, True)
    logins.needed.add(DOOR)
    frontier.replied(reply(url), now, WALL, Judgement.LOST)
    assert (site.state, site.ready) == (State.RESOLVING, [])
    world._flights.clear()
    world.run()
    assert set(world.outcomes().values()) == {Outcome.SUCCESS}
    assert len(logins.begun) == 2


def test_a_lost_url_of_a_closed_site_ends(make: MakeWorld) -> None:
    logins = FakeLogins()
    world = make(*PAGES[:2], logins=logins)
    world.judge = lambda page: not logins.needed.add(DOOR)  # type: ignore[func-returns-value]
    world.replies = {LOGIN: [{}, {"status": 403}]}
    world.run()
    assert set(world.outcomes().values()) == {Outcome.LOGIN_FAILED}


# A login that lasts for some time.


def test_a_login_is_renewed_in_time(make: MakeWorld) -> None:
    logins = FakeLogins(seconds=3.0)
    world = make(*PAGES, logins=logins, least=1.0)

    def expire() -> None:
        logins.needed.add(DOOR)

    world.run(until=5004.0)
    expire()
    world.run()
    assert set(world.outcomes().values()) == {Outcome.SUCCESS}
    assert logins.begun == [DOOR, DOOR]
    place = hrefs(world).index(LOGIN, 3)
    assert 3 < place < len(hrefs(world)) - 1


def test_an_idle_site_renews_its_login_when_it_gets_a_url(make: MakeWorld) -> None:
    logins = FakeLogins(seconds=3.0)
    world = make(PAGES[0], logins=logins)
    world.run()
    logins.needed.add(DOOR)
    world.now += 10
    world.turn()
    assert len(logins.begun) == 1
    world.frontier.seed(PAGES[1])
    world.run()
    assert logins.begun == [DOOR, DOOR]
    assert hrefs(world)[-2:] == [LOGIN, PAGES[1]]
