"""Settings by site: groups of waits at an address, limits, hours, retries and robots.txt."""

from contextlib import closing
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config.kinds import Hours
from larbinpy.frontier.politeness import Quota, SiteHours, SiteLimits, SiteSettings
from larbinpy.observe import explain
from larbinpy.page import Outcome
from larbinpy.parse import Kind, Link
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.sizes import FrontierSizes
from larbinpy.url import Aim, Purpose, Url
from tests.support.frontiers import (
    DEAD,
    SILENT,
    MakeWorld,
    World,
    make_frontier,
    reply,
    site_in,
    site_settings,
)

ONE = "198.51.100.1"
DAY = 86400.0


def times(world: World, host: str) -> list[float]:
    return [round(s.at - 5000, 1) for s in world.starts if f"//{host}" in s.href]


def urls(host: str, count: int) -> list[str]:
    return [f"http://{host}/{number}" for number in range(count)]


# Waits.


def test_a_group_with_a_shorter_wait_is_not_held_up_by_others(make: MakeWorld) -> None:
    """Nor does it hold up the others at its address."""
    fast = site_settings(least=1.0, group="fast.test")
    by_host = {"fast.test": fast, "also.test": fast}
    seeds = [*urls("fast.test", 3), *urls("also.test", 3), *urls("a.test", 2)]
    world = make(*seeds, least=30.0, by_host=by_host)
    world.run()
    together = sorted(times(world, "fast.test") + times(world, "also.test"))
    assert len(together) == 8  # with two robots.txt
    gaps = [b - a for a, b in pairwise(together)]
    assert gaps == pytest.approx([1.1] * 7, abs=0.11)
    assert times(world, "a.test") == pytest.approx([0, 30.1, 60.2], abs=0.2)


def test_a_longer_wait_slows_down_its_site_alone(make: MakeWorld) -> None:
    """It counts besides that of its address, which gets no more requests because of it."""
    slow = site_settings(least=100.0)
    world = make(*urls("slow.test", 2), *urls("a.test", 4), least=1.0, by_host={"slow.test": slow})
    world.run()
    assert times(world, "slow.test") == pytest.approx([0, 100.1, 200.2], abs=0.2)
    assert max(times(world, "a.test")) < 8
    assert min(b.at - a.at for a, b in pairwise(world.starts)) >= 1


def test_a_group_has_connexions_of_its_own(make: MakeWorld) -> None:
    wide = site_settings(connexions=3, group="wide.test", ignore_robots=True)
    world = make(*urls("wide.test", 6), *urls("a.test", 2), by_host={"wide.test": wide})
    world.turn()
    world.turn()
    assert len(times(world, "wide.test")) == 3
    assert len(times(world, "a.test")) == 1


def test_after_a_kill_groups_and_sites_are_left_alone_for_their_own_waits(make: MakeWorld) -> None:
    slow = site_settings(least=100.0, ignore_robots=True)
    fast = site_settings(least=1.0, group="fast.test", ignore_robots=True)
    seeds = [*urls("slow.test", 1), *urls("fast.test", 1), *urls("a.test", 1)]
    by_host = {"slow.test": slow, "fast.test": fast}
    world = make(*seeds, least=30.0, ignore_robots=True, by_host=by_host)
    world.frontier.resume(world.now, ended=False)
    world.run()
    assert times(world, "fast.test") == [1.0]
    assert times(world, "a.test") == [30.0]
    assert times(world, "slow.test") == [100.0]


# Retries and robots.txt.


def test_retries_and_robots_txt_are_by_site(make: MakeWorld) -> None:
    forbidden = {"body": b"User-agent: spider\nDisallow: /\n"}
    broken = {"status": 500}
    world = make(
        *("http://a.test/", "http://b.test/", "http://c.test/", "http://d.test/"),
        replies={
            **{f"http://{host}.test/robots.txt": forbidden for host in "abc"},
            **{f"http://{host}.test/": broken for host in "bd"},
        },
        by_host={
            "a.test": site_settings(user_agent="spider/1.0"),
            "b.test": site_settings(user_agent="spider/1.0", ignore_robots=True, retries=0),
        },
        retries=2,
        retry_wait=1.0,
    )
    world.run()
    attempts = {fate.href: (fate.outcome, fate.attempt) for fate in world.fates}
    assert attempts == {
        "http://a.test/": (Outcome.FORBIDDEN_ROBOTS, 0),
        "http://b.test/": (Outcome.ERR_50X, 1),
        "http://c.test/": (Outcome.SUCCESS, 1),
        "http://d.test/": (Outcome.ERR_50X, 3),
    }


# Limits.


def limited(pages: int = 0, received: int = 0, **changes: Any) -> SiteSettings:
    return site_settings(limits=SiteLimits(pages, received), ignore_robots=True, **changes)


def test_a_quota_counts_pages_and_bytes(tmp_path: Path) -> None:
    counts = SiteCounts(tmp_path)
    quota = Quota("http://a.test", SiteLimits(2, 1000), counts)
    page = Url("http://a.test/1", 1)
    quota.count(reply(page, 404, received=100))
    quota.count(
        reply(
            Url("http://a.test/robots.txt", 0, purpose=Purpose(Aim.ROBOTS, "http://a.test")),
            received=200,
        )
    )
    assert (quota.pages, quota.received) == (0, 300)
    assert quota.has_room(1) and not quota.has_room(2)
    quota.count(reply(page, received=300))
    assert quota.has_room(0) and not quota.has_room(1)
    assert not quota.spent
    quota.count(reply(page, 404, received=400))
    assert quota.spent
    again = Quota("http://a.test", SiteLimits(2, 2000), counts)
    assert (again.pages, again.received, again.spent) == (1, 1000, False)


@pytest.mark.parametrize("connexions", [1, 3, 10])
def test_pages_and_requests_under_way_never_exceed_the_limit(
    make: MakeWorld, connexions: int
) -> None:
    """Also if some of them fail, so that others take their places."""
    failing = {f"http://a.test/{number}": {"status": 404} for number in range(0, 12, 2)}
    by_host = {"a.test": limited(pages=4, connexions=connexions)}
    world = make(*urls("a.test", 12), "http://b.test/", replies=failing, by_host=by_host)
    while world.frontier.owed:
        world.turn()
        done = sum(fate.outcome is Outcome.SUCCESS for fate in world.fates if "a.test" in fate.href)
        flying = sum(url.host == "a.test" for url in world.frontier.ip_sites.flying())
        assert done + flying <= 4
        world.now += 0.05
    outcomes = [fate.outcome for fate in world.fates if "a.test" in fate.href]
    assert outcomes.count(Outcome.SUCCESS) == 4
    assert outcomes.count(Outcome.ERR_40X) >= 3
    assert outcomes.count(Outcome.SITE_LIMIT) == 12 - len(world.pages()) + 1
    details = {fate.detail for fate in world.fates if fate.outcome is Outcome.SITE_LIMIT}
    assert details == {"limitPageBySite 4"}


def test_no_request_goes_to_a_site_that_has_sent_enough(make: MakeWorld) -> None:
    by_host = {"a.test": limited(received=1000, sources={"limitBytesBySite": "t.conf:3"})}
    replies = {url: {"received": 400} for url in urls("a.test", 6)}
    world = make(*urls("a.test", 6), replies=replies, by_host=by_host)
    world.run()
    outcomes = [fate.outcome for fate in world.fates]
    assert outcomes.count(Outcome.SUCCESS) == 3
    assert outcomes.count(Outcome.SITE_LIMIT) == 3
    assert {fate.detail for fate in world.fates} == {"", "limitBytesBySite 1000, t.conf:3"}


def test_the_first_reply_may_reach_the_limit(make: MakeWorld) -> None:
    """That reply also proves the site, which changes its rotation."""
    by_host = {"a.test": limited(received=1)}
    replies = {url: {"received": 400} for url in urls("a.test", 6)}
    world = make(*urls("a.test", 6), replies=replies, by_host=by_host)
    world.run()
    outcomes = [fate.outcome for fate in world.fates]
    assert outcomes == [Outcome.SITE_LIMIT] * 5 + [Outcome.SUCCESS] or len(world.pages()) == 1


_REPLIES = st.lists(
    st.one_of(
        st.builds(
            lambda status, received: {"status": status, "received": received},
            st.sampled_from([200, 200, 404, 500, 429]),
            st.integers(0, 500),
        ),
        st.sampled_from([DEAD, SILENT]),
    ),
    min_size=1,
    max_size=3,
)


@given(st.data())
def test_limits_hold_and_all_urls_end_whatever_happens(data: st.DataObject) -> None:
    hosts = ["a.test", "b.test", "c.test"]
    by_host = {
        host: site_settings(
            limits=SiteLimits(data.draw(st.integers(0, 4)), data.draw(st.integers(0, 800))),
            connexions=data.draw(st.integers(1, 3)),
            ignore_robots=data.draw(st.booleans()),
            group=data.draw(st.sampled_from(["", host])),
            retries=data.draw(st.integers(0, 2)),
        )
        for host in hosts
    }
    seeds = [url for host in hosts for url in urls(host, data.draw(st.integers(0, 6)))]
    robots = [f"http://{host}/robots.txt" for host in hosts]
    moved = {"status": 301, "headers": {"location": robots[0]}}
    replies: dict[str, Any] = {url: data.draw(_REPLIES) for url in seeds}
    replies |= {url: data.draw(st.one_of(_REPLIES, st.just(moved))) for url in robots}
    sizes = FrontierSizes(idle_sites=data.draw(st.integers(0, 2)))
    with TemporaryDirectory() as folder:
        frontier = make_frontier(Path(folder), by_host=by_host, frontier_sizes=sizes)
        with closing(frontier):
            for seed in seeds:
                frontier.seed(seed)
            world = World(frontier, replies=replies)
            world.run()
            outcomes = world.outcomes()
            # Links that are found later meet sites in all states, and evicted ones.
            more = [f"http://{host}/{number}" for host in hosts for number in range(6, 9)]
            for seed in more:
                frontier.seed(seed)
            world.run()
            outcomes = world.outcomes()
    assert outcomes.keys() == {*seeds, *more}
    for host, site in by_host.items():
        pages = [outcomes[u] for u in outcomes if host in u].count(Outcome.SUCCESS)
        assert not site.limits.pages or pages <= site.limits.pages
        if not site.limits.pages and not site.limits.received:
            at_host = [outcome for url, outcome in outcomes.items() if host in url]
            # It may end with the limit of the site that has its robots.txt.
            assert (
                Outcome.SITE_LIMIT not in at_host or replies[f"http://{host}/robots.txt"] is moved
            )


def test_the_count_of_an_evicted_site_is_kept(make: MakeWorld) -> None:
    sizes = FrontierSizes(idle_sites=1)
    by_host = {f"{host}.test": limited(pages=2) for host in "abc"}
    world = make("http://a.test/0", frontier_sizes=sizes, by_host=by_host)
    world.run()
    for number in range(1, 4):
        for host in "abc":
            world.frontier.seed(f"http://{host}.test/{number}")
            world.run()
    assert [site.host for site in world.frontier.registry] == ["c.test"]
    got = {href: outcome.value for href, outcome in world.outcomes().items()}
    assert [got[f"http://a.test/{n}"] for n in range(4)] == ["success"] * 2 + ["siteLimit"] * 2
    assert [got[f"http://b.test/{n}"] for n in range(1, 4)] == ["success"] * 2 + ["siteLimit"]


def test_many_urls_of_a_limited_site_end_in_few_turns(make: MakeWorld) -> None:
    world = make(*urls("a.test", 3000), by_host={"a.test": limited(pages=1)})
    turns = 0
    while world.frontier.owed:
        world.turn()
        world.now += 1.0
        turns += 1
    assert turns < 50


def test_a_failure_that_reaches_the_limit_is_not_tried_again(make: MakeWorld) -> None:
    replies = {"http://a.test/0": {"status": 500, "received": 1000}}
    by_host = {"a.test": limited(received=1000)}
    world = make("http://a.test/0", replies=replies, by_host=by_host)
    world.run()
    assert [(fate.outcome, fate.attempt) for fate in world.fates] == [(Outcome.ERR_50X, 1)]


def test_robots_txt_may_be_the_reply_that_reaches_the_limit(make: MakeWorld) -> None:
    site = site_settings(limits=SiteLimits(0, 500))
    replies = {"http://a.test/robots.txt": {"received": 600}}
    world = make(*urls("a.test", 2), replies=replies, by_host={"a.test": site})
    world.run()
    assert set(world.outcomes().values()) == {Outcome.SITE_LIMIT}


def test_a_site_whose_robots_txt_is_on_a_limited_site_ends_with_it(make: MakeWorld) -> None:
    moved = {"status": 301, "headers": {"location": "http://a.test/robots.txt"}}
    world = make(
        "http://a.test/0",
        replies={"http://b.test/robots.txt": moved},
        by_host={"a.test": limited(pages=1)},
    )
    world.run()
    world.frontier.seed("http://b.test/")
    world.run()
    assert world.fates[-1].outcome is Outcome.SITE_LIMIT


def test_explain_names_the_block_that_sets_a_wait(make: MakeWorld) -> None:
    fast = site_settings(
        least=20.0,
        group="fast.test",
        sources={"waitDuration": "larbin.conf:4"},
        ignore_robots=True,
    )
    by_site = site_settings(
        least=9.0, sources={"waitDuration": "larbin.conf:6"}, ignore_robots=True
    )
    seeds = [*urls("fast.test", 2), *urls("a.test", 2)]
    names = {"a.test": ("198.51.100.7",)}
    world = make(*seeds, least=30.0, ignore_robots=True, by_host={"fast.test": fast}, names=names)
    world.run(world.now + 5)
    assert why(world, "http://fast.test/1") == (
        "its address gets a request every 20 s (waitDuration, larbin.conf:4)"
    )
    assert why(world, "http://a.test/1") == "its address gets a request every 30 s (waitDuration)"
    other = make(*urls("b.test", 2), wait_by="both", by_host={"b.test": by_site})
    other.run(other.now + 5)
    assert why(other, "http://b.test/1") == (
        "its site gets a request every 9 s (site block, larbin.conf:6)"
    )


def test_explain_names_the_block_that_sets_a_retry(make: MakeWorld) -> None:
    by_host = {"a.test": site_settings(ignore_robots=True, sources={"retryWait": "larbin.conf:5"})}
    world = make("http://a.test/", replies={"http://a.test/": {"status": 500}}, by_host=by_host)
    world.run(world.now + 5)
    assert why(world, "http://a.test/").endswith("after retryWait (site block, larbin.conf:5)")


def why(world: World, href: str) -> str:
    facts = explain.standing_of(world.frontier, href, world.now)
    assert facts is not None
    return str(facts["why"])


def test_explain_names_the_limit(make: MakeWorld) -> None:
    sources = {"limitPageBySite": "larbin.conf:7"}
    by_host = {"a.test": limited(pages=1, sources=sources)}
    world = make("http://a.test/0", by_host=by_host)
    world.run()
    assert explain.refusal(world.frontier, "http://a.test/new", world.now) == {
        "reason": "siteLimit",
        "rule": "site",
        "why": "its site has reached a limit: limitPageBySite 1, larbin.conf:7",
    }


def test_explain_names_the_limit_of_an_evicted_site(make: MakeWorld) -> None:
    sizes = FrontierSizes(idle_sites=1)
    seeds = "http://a.test/0", "http://b.test/"
    world = make(*seeds, by_host={"a.test": limited(pages=1)}, frontier_sizes=sizes)
    world.run()
    world.frontier.sequence(world.now)
    assert world.frontier.registry.at("http://a.test/") is None
    facts = explain.refusal(world.frontier, "http://a.test/new", world.now)
    assert facts is not None
    assert facts["why"] == "its site has reached a limit: limitPageBySite 1"


# Hours.

MIDNIGHT = 1_767_225_600.0


@pytest.fixture
def night() -> SiteHours:
    return SiteHours(Hours.parse("22:00-06:00"))


def clock_of(hours: SiteHours) -> float:
    """A Unix time at noon, local time."""
    noon = Hours.parse("12:00-13:00").open_at(MIDNIGHT)
    hours.look(5000.0, noon)
    return noon


def test_outside_of_its_hours_a_site_is_not_asked(make: MakeWorld, night: SiteHours) -> None:
    noon = clock_of(night)
    by_host = {"a.test": site_settings(hours=night, ignore_robots=True)}
    world = make(*urls("a.test", 3), "http://b.test/", by_host=by_host)

    def until(hour: float) -> list[float]:
        while world.now < 5000 + hour * 3600:
            night.look(world.now, noon + world.now - 5000)
            world.turn()
            world.now += 60
        return times(world, "a.test")

    assert until(9.9) == []
    assert times(world, "b.test")
    asked = until(11)
    assert len(asked) == 3
    assert min(asked) == pytest.approx(10 * 3600, abs=61)
    # It closes again.
    world.frontier.seed("http://a.test/late")
    assert until(17) == times(world, "a.test") and len(times(world, "a.test")) == 4
    world.now = 5000 + 19 * 3600
    night.look(world.now, noon + world.now - 5000)
    world.frontier.seed("http://a.test/later")
    assert len(until(33)) == 4
    assert len(until(35)) == 5


def test_a_closed_site_whose_urls_have_left_is_not_waited_for(
    make: MakeWorld, night: SiteHours
) -> None:
    clock_of(night)
    world = make(
        "http://b.test/", by_host={"a.test": site_settings(hours=night, ignore_robots=True)}
    )
    parent = Url("http://b.test/", 5)
    world.frontier.admit(parent, [Link("http://a.test/x", Kind.PAGE)], world.now, redirect=False)
    for _ in range(4):
        world.turn()
        world.now += 60
    sleeper = world.frontier.ip_sites.asleep()
    assert sleeper is not None and sleeper.key == "http://a.test"
    world.frontier.add_rule(False, "**/x")
    world.turn()
    assert world.frontier.ip_sites.asleep() is None


def test_explain_says_when_a_site_is_asked_next(make: MakeWorld, night: SiteHours) -> None:
    clock_of(night)
    sources = {"hours": "larbin.conf:9"}
    by_host = {"a.test": site_settings(hours=night, ignore_robots=True, sources=sources)}
    world = make("http://a.test/", by_host=by_host)
    world.turn()
    world.turn()
    facts = explain.standing_of(world.frontier, "http://a.test/", world.now)
    assert facts is not None
    assert (facts["waits_for"], facts["in_s"]) == ("hours", 36000.0)
    assert facts["why"] == (
        "its site is asked between 22:00 and 06:00 only, next in 10 h (site block, larbin.conf:9)"
    )


def test_explain_says_when_the_robots_txt_of_a_site_is_asked_for(
    make: MakeWorld, night: SiteHours
) -> None:
    clock_of(night)
    world = make("http://a.test/", by_host={"a.test": site_settings(hours=night)})
    world.turn()
    world.turn()
    assert why(world, "http://a.test/") == (
        "the site's robots.txt is to be fetched first; its site is asked between 22:00 and 06:00 "
        "only, next in 10 h"
    )


def test_the_clock_may_jump(night: SiteHours) -> None:
    noon = clock_of(night)
    assert night.closed
    night.look(5001.0, noon + 11 * 3600)
    assert not night.closed
    night.look(5002.0, noon + 1)
    assert (night.closed, round(night.opens_at)) == (True, 5002 + 36000 - 1)


@pytest.mark.parametrize(("rules_are_old", "address_time"), [(True, DAY * 9), (False, 1800.0)])
def test_after_its_hours_a_site_has_a_fresh_address_and_fresh_rules(
    make: MakeWorld, night: SiteHours, rules_are_old: bool, address_time: float
) -> None:
    """Its URLs that were ready in the evening wait for both."""
    by_host = {"a.test": site_settings(least=3600.0, hours=night)}
    world = make(*urls("a.test", 12), by_host=by_host, address_time=address_time)
    world.run(world.now + 4 * 3600)
    asked = world.pages()
    assert len(asked) == 3 and site_in(world.frontier, "http://a.test/").ready
    night.closed = True
    world.turn()
    pause = 30 * 3600 if rules_are_old else 5 * 3600
    for _ in range(pause // 600):
        world.turn()
        world.now += 600
    lookups = len(world.asked)
    world.names["a.test"] = ("192.0.2.9",)
    world.replies["http://a.test/robots.txt"] = {"body": b"User-agent: *\nDisallow: /7\n"}
    night.closed = False
    world.run()
    assert len(world.asked) > lookups
    later = [start for start in world.starts if start.at > 5000 + pause]
    assert {start.address for start in later} == {"192.0.2.9"}
    assert later[0].href.endswith("robots.txt") == rules_are_old
    forbidden = [fate.href for fate in world.fates if fate.outcome is Outcome.FORBIDDEN_ROBOTS]
    assert forbidden == (["http://a.test/7"] if rules_are_old else [])
    assert len(world.outcomes()) == 12


def test_a_site_with_hours_has_fresh_rules_each_night(make: MakeWorld, night: SiteHours) -> None:
    """They would expire just after its hours have begun, when its URLs are ready by them."""
    by_host = {"a.test": site_settings(least=600.0, hours=night)}
    world = make(*urls("a.test", 60), by_host=by_host)
    for number in range(3):
        began = 5000 + number * DAY
        world.now = max(began, world.now)
        night.closed = False
        world.run(began + 3600)
        night.closed = True
        for _ in range(3):
            world.turn()
            world.now += 600
    robots = [start.at for start in world.starts if start.href.endswith("robots.txt")]
    assert robots == pytest.approx([5000, 5000 + DAY, 5000 + 2 * DAY], abs=1)


class CountedHours(SiteHours):
    """Counts how often it is asked whether it is closed."""

    asked = 0

    @property
    def closed(self) -> bool:
        self.asked += 1
        return self._is_closed

    @closed.setter
    def closed(self, value: bool) -> None:
        self._is_closed = value


def test_sites_that_are_asleep_take_no_time(make: MakeWorld) -> None:
    hours = CountedHours(Hours.parse("22:00-06:00"))
    hours.closed = True
    night = site_settings(hours=hours, ignore_robots=True)
    hosts = [f"n{number}.test" for number in range(300)]
    world = make(*(f"http://{host}/" for host in hosts), by_host=dict.fromkeys(hosts, night))
    for _ in range(5):
        world.turn()
        world.now += 1
    assert world.frontier.ip_sites.asleep() is not None
    hours.asked = 0
    for _ in range(10):
        world.turn()
        world.now += 1
    assert hours.asked <= 20
    hours.closed = False
    world.run()
    assert len(world.pages()) == 300
