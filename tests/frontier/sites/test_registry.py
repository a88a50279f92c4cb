"""Which sites stay in memory, which are evicted, and which of their properties come back."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import invariant

from larbinpy.dns.lookup import Answer
from larbinpy.frontier.site import State, number_of_pages
from larbinpy.observe import explain
from larbinpy.observe.snapshot import site_tables
from larbinpy.page import Outcome
from larbinpy.storage.sizes import FrontierSizes
from larbinpy.url import Url
from tests.frontier.test_frontier import Crawl
from tests.support.frontiers import (
    DEAD,
    MANY,
    SILENT,
    WALL,
    MakeWorld,
    World,
    left_alone,
    links,
    make_frontier,
    named,
    reply,
    states_of,
    taken,
    together,
    wait_settings,
)

PARENT = Url("http://parent.test/", 5)
HERE = "http://a.test/"
ROBOTS = "http://a.test/robots.txt"

SMALL = FrontierSizes(idle_sites=2)
#: Most robots.txt files are expensive, and two of them too many.
EXPENSIVE = FrontierSizes(idle_sites=2, expensive_robots=10, expensive_total=60)


@pytest.fixture
def world(tmp_path: Path) -> MakeWorld:
    """A function that makes a world in which two idle sites are kept."""

    def make(
        *seeds: str,
        names: dict[str, Any] | None = None,
        replies: dict[str, Any] | None = None,
        latency: float = 0.1,
        frontier_sizes: FrontierSizes = SMALL,
        **settings: Any,
    ) -> World:
        frontier = make_frontier(tmp_path, frontier_sizes=frontier_sizes, **settings)
        for seed in seeds:
            assert frontier.seed(seed) is None
        return World(frontier, names, replies, latency=latency)

    return make


def visit(here: World, *urls: str) -> None:
    """Crawl to the end, one URL after the other."""
    for url in urls:
        here.frontier.admit(PARENT, links(url), here.now)
        here.run()
        here.frontier.sequence(here.now)


def others(count: int = 3, start: Any = 0) -> list[str]:
    return [f"http://o{number}.test/" for number in range(start, start + count)]


def here_now(here: World) -> set[str]:
    return {site.key for site in here.frontier.registry}


def test_the_last_used_of_the_idle_sites_stay(world: MakeWorld) -> None:
    here = world()
    visit(here, HERE, "http://b.test/", f"{HERE}2", "http://c.test/", f"{HERE}3")
    assert here_now(here) == {"http://a.test", "http://c.test"}
    robots = [start.href for start in here.starts if start.href.endswith("robots.txt")]
    assert len(robots) == 3, "what stayed was not asked for again"
    visit(here, "http://b.test/2")
    robots = [start.href for start in here.starts if start.href.endswith("robots.txt")]
    assert robots.count("http://b.test/robots.txt") == 2


def test_states_and_counts_go_with_them(world: MakeWorld) -> None:
    here = world()
    visit(here, *others(9))
    sites = here.frontier.registry
    assert (len(sites), sites.distinct, here.frontier.addresses.distinct_keys.new) == (2, 9, 1)
    assert states_of(sites) == {State.OPEN: 2}
    visit(here, *[f"{url}again" for url in others(9)])
    assert sites.distinct == 9
    assert site_tables(here.frontier.registry, here.now)["total"] == 9


def test_a_wait_comes_back_with_the_site(world: MakeWorld) -> None:
    body = b"User-agent: *\nCrawl-delay: 500\n"
    here = world(replies={ROBOTS: {"body": body}}, most=1000)
    visit(here, HERE)
    asked = here.starts[-1].at
    visit(here, *others())
    assert "http://a.test" not in here_now(here)
    sites = here.frontier.registry
    assert left_alone(sites).keys() == {"http://a.test"}
    assert together(sites.pauses(here.now))["http://a.test"] == pytest.approx(asked + 500.1)
    assert together(sites.pauses(asked + 501)) == {}
    visit(here, f"{HERE}2")
    [again] = [start.at for start in here.starts[1:] if start.href == ROBOTS]
    assert again >= asked + 500
    assert "http://a.test" not in left_alone(sites)


def test_a_wait_that_a_site_requested_comes_back_with_it(world: MakeWorld) -> None:
    """A shorter waitDuration does not shorten it."""
    slow = {"status": 429, "headers": {"retry-after": "300"}}
    names = {f"o{number}.test": (f"198.51.100.{2 + number}",) for number in range(3)}
    here = world(replies={HERE: slow}, names=names, least=20, retries=0)
    visit(here, HERE)
    asked = here.starts[-1].at
    visit(here, *others())
    assert "http://a.test" not in here_now(here)
    here.frontier.admit(PARENT, links(f"{HERE}2"), here.now)
    here.frontier.sequence(here.now)
    assert "http://a.test" in here_now(here)
    assert here.now < asked + 200
    wait_settings(here.frontier).least = 1
    here.frontier.shorten_waits(here.now)
    here.run()
    assert here.pages()[-1] == f"{HERE}2"
    assert here.starts[-1].at >= asked + 300


def test_waits_that_have_passed_are_dropped(world: MakeWorld) -> None:
    here = world(*others(30), least=20, wait_by="site")
    here.run()
    here.frontier.sequence(here.now)
    sites, ip_sites = here.frontier.registry, here.frontier.addresses
    assert (len(left_alone(sites)), len(left_alone(ip_sites))) == (28, 30)
    here.now += 1000
    for _ in range(3):
        here.frontier.sequence(here.now)
    assert (left_alone(sites), left_alone(ip_sites)) == ({}, {})


@pytest.mark.parametrize(
    ("names", "robots", "verdict", "fast"),
    [
        ({"a.test": "nxdomain"}, {}, Outcome.NO_DNS, Outcome.FAST_NO_DNS),
        ({}, DEAD, Outcome.NO_CONNECTION, Outcome.FAST_NO_CONN),
        ({}, {"status": 500}, Outcome.FORBIDDEN_ROBOTS, Outcome.FAST_ROBOTS),
        ({}, SILENT, Outcome.FORBIDDEN_ROBOTS, Outcome.FAST_ROBOTS),
    ],
    ids=["no name", "dead", "no robots.txt", "silent"],
)
def test_a_verdict_stays_behind(
    world: MakeWorld, names: dict[str, Any] | None, robots: Any, verdict: Any, fast: Any
) -> None:
    here = world(names=names, replies={ROBOTS: robots})
    visit(here, HERE)
    closed_at = here.now
    visit(here, *others())
    frontier = here.frontier
    assert here.outcomes()[HERE] is verdict
    assert "http://a.test" not in here_now(here)
    assert not frontier.registry.wants_address("http://a.test", here.now)
    refusal = explain.refusal(frontier, f"{HERE}x", here.now)
    assert refusal is not None and refusal["reason"] == verdict.value
    assert site_tables(frontier.registry, here.now)["by_state"]["closed"] == 1
    asked, started = len(here.asked), len(here.starts)
    visit(here, f"{HERE}soon")
    assert here.outcomes()[f"{HERE}soon"] is fast
    assert (len(here.asked), len(here.starts)) == (asked, started)
    here.now = closed_at + 3600
    assert frontier.registry.wants_address("http://a.test", here.now)
    here.names["a.test"], here.replies[ROBOTS] = ("198.51.100.1",), {"body": b""}
    visit(here, f"{HERE}later")
    assert here.outcomes()[f"{HERE}later"] is Outcome.SUCCESS
    for _ in range(5):
        frontier.sequence(here.now)
    assert site_tables(frontier.registry, here.now)["by_state"]["closed"] == 0


def test_closed_sites_are_evicted_first(world: MakeWorld) -> None:
    here = world(names={f"o{number}.test": "nxdomain" for number in range(20)}, retries=0)
    visit(here, HERE, "http://b.test/", *others(20))
    assert here_now(here) == {"http://a.test", "http://b.test"}
    assert site_tables(here.frontier.registry, here.now)["by_state"]["closed"] == 20
    held = site_tables(here.frontier.registry, here.now)["suspended"]
    assert len(held) == 20 and {each["reason"] for each in held} == {"noDNS"}


def test_a_redirect_of_robots_txt_to_a_site_that_was_given_up(world: MakeWorld) -> None:
    there = "http://b.test/robots.txt"
    here = world(
        names={"b.test": "nxdomain"},
        replies={ROBOTS: {"status": 301, "headers": {"location": there}}},
        retries=0,
    )
    visit(here, "http://b.test/", *others())
    assert "http://b.test" not in here_now(here)
    asked = len(here.asked)
    visit(here, HERE)
    assert here.outcomes()[HERE] is Outcome.FORBIDDEN_ROBOTS
    assert len(here.asked) == asked + 1


def test_a_site_stays_while_its_robots_txt_is_fetched_elsewhere(world: MakeWorld) -> None:
    there = "http://b.test/robots.txt"
    replies = {
        ROBOTS: {"status": 301, "headers": {"location": there}},
        there: {"body": b"User-agent: *\nDisallow: /no"},
    }
    here = world(HERE, f"{HERE}no", *others(9), replies=replies, latency=30, least=5)
    here.run()
    assert here.outcomes()[HERE] is Outcome.SUCCESS
    assert here.outcomes()[f"{HERE}no"] is Outcome.FORBIDDEN_ROBOTS


def test_a_site_stays_while_it_waits_for_another_try(world: MakeWorld) -> None:
    here = world(HERE, replies={HERE: [{"status": 500}, {}]}, retry_wait=1000)
    here.run(here.now + 1)
    for number in range(5):
        here.frontier.admit(PARENT, links(*others(1, number)), here.now)
        here.run(here.now + 10)
    assert "http://a.test" in here_now(here)
    here.run()
    assert here.outcomes()[HERE] is Outcome.SUCCESS


# Rules that are expensive.


def test_rules_that_were_dropped_are_asked_for_again(world: MakeWorld) -> None:
    body = b"User-agent: *\nDisallow: /no\n"
    robots = [ROBOTS, "http://b.test/robots.txt"]
    replies = {url: {"body": body + b"Disallow: /%d" % n} for n, url in enumerate(robots)}
    here = world(replies=replies, frontier_sizes=EXPENSIVE)
    visit(here, HERE, f"{HERE}2", "http://b.test/", f"{HERE}3", f"{HERE}no")
    assert [start.href for start in here.starts].count(ROBOTS) == 2
    assert here.outcomes()[f"{HERE}no"] is Outcome.FAST_ROBOTS


def test_urls_whose_rules_are_dropped_while_they_are_admitted(world: MakeWorld) -> None:
    """URLs that are not admitted yet wait until the rules are fetched again."""
    body = b"User-agent: *\nDisallow: /1\n"
    robots = [ROBOTS, "http://b.test/robots.txt"]
    replies = {url: {"body": body + b"Disallow: /x%d" % n} for n, url in enumerate(robots)}
    here = world(
        replies=replies, names={"b.test": ("198.51.100.2",)}, latency=0, frontier_sizes=EXPENSIVE
    )
    found = [f"{HERE}{number}" for number in range(1000)]
    here.frontier.admit(PARENT, links(*found, "http://b.test/"), here.now)
    for _ in range(11):
        here.frontier.sequence(here.now)
    here.run()
    assert [start.href for start in here.starts].count(ROBOTS) >= 2
    forbidden = {url for url, outcome in here.outcomes().items() if "Robots" in outcome.value}
    assert forbidden == {url for url in found if url.startswith(f"{HERE}1")}


def test_dropped_rules_are_fetched_before_more_urls_are_admitted(world: MakeWorld) -> None:
    """The site waits with most of its URLs when another one's robots.txt displaces its own."""
    names = {"b.test": ("198.51.100.2",)}
    here = world(names=names, frontier_sizes=EXPENSIVE)
    frontier = here.frontier
    found = [f"{HERE}{number}" for number in range(300)]
    frontier.admit(PARENT, links(*found, "http://b.test/"), here.now)
    for _ in range(4):
        frontier.sequence(here.now)
    while question := frontier.next_name():
        frontier.resolved(Answer(question[0], names.get(question[0], ("::1",)), None), here.now)
    robots = [taken(frontier, here.now) for _ in range(2)]
    assert [url.host for url in robots] == ["a.test", "b.test"]
    for url in robots:
        body = b"User-agent: *\nDisallow: /1\nDisallow: /only-%s\n" % url.host.encode()
        frontier.replied(reply(url, body=body), here.now, WALL)
    site = frontier.registry.at(HERE)
    assert (site.state, site.rules, len(site.waiting)) == (State.OPEN, None, 100)
    frontier.sequence(here.now)
    assert (site.state, len(site.waiting)) == (State.RESOLVING, 100)
    here.replies = {ROBOTS: {"body": b"User-agent: *\nDisallow: /\n"}}
    here.run()
    late = {href for href, outcome in here.outcomes().items() if href in found[200:]}
    assert len(late) == 100
    assert {here.outcomes()[href] for href in late} == {Outcome.FORBIDDEN_ROBOTS}


# The work of one turn.


def test_a_name_with_many_ports_is_answered_bit_by_bit(world: MakeWorld) -> None:
    urls = [f"http://a.test:{port}/" for port in range(20_000, 20_500)]
    here = world(*urls, ignore_robots=True)
    frontier = here.frontier
    for _ in range(5):
        frontier.sequence(here.now)
    assert frontier.next_name() == ("a.test", False)
    assert frontier.next_name() is None
    frontier.resolved(Answer("a.test", ("198.51.100.1",), None), here.now)
    assert states_of(frontier.registry)[State.OPEN] == 10
    assert frontier.deadline(here.now, can_open=False, can_ask=False) <= here.now
    frontier.sequence(here.now)
    assert states_of(frontier.registry)[State.OPEN] == 210
    here.run()
    assert set(here.outcomes().values()) == {Outcome.SUCCESS}


def test_waits_that_end_together_end_bit_by_bit(world: MakeWorld) -> None:
    here = world(*others(500))
    frontier = here.frontier
    for _ in range(5):
        frontier.sequence(here.now)
    while question := frontier.next_name():
        frontier.resolved(Answer(question[0], (), "timeout"), here.now)
    assert states_of(frontier.registry)[State.WAITING] == 500
    here.now += 15
    frontier.sequence(here.now)
    assert states_of(frontier.registry)[State.WAITING] == 300
    assert frontier.deadline(here.now, can_open=False, can_ask=False) <= here.now
    here.run()
    assert set(here.outcomes().values()) == {Outcome.SUCCESS}


def test_a_site_with_many_urls_is_given_up_at_once(world: MakeWorld) -> None:
    urls = [f"{HERE}{number}" for number in range(300)]
    here = world(*urls, ignore_robots=True, connexions=12)
    frontier = here.frontier
    for _ in range(10):
        frontier.sequence(here.now)
    frontier.resolved(Answer(named(frontier), ("198.51.100.1",), None), here.now)
    flown = [taken(frontier, here.now) for _ in range(12)]
    for url in flown:
        frontier.replied(reply(url, **DEAD), here.now, WALL)
    assert len(list(frontier.decided(MANY))) == 300
    queues = frontier.queues()
    assert (queues["named_sites"], queues["ip_sites"]) == (0, 0)


# Everything together.


class SmallCrawl(Crawl):
    """The crawl of test_frontier where nothing is kept that need not be."""

    sizes = FrontierSizes(
        idle_sites=1,
        expensive_robots=0,
        expensive_total=1,
        robots_lines=1,
        arrivals=1,
        wakes=1,
        admitted=1,
        expiry_step=1,
    )
    drops_rules = True

    @invariant()
    def urls_are_counted_where_they_are(self) -> None:
        self.frontier.resize(2)
        sites = self.frontier.registry
        waiting = sum(number_of_pages(site.waiting) + len(site.retries) for site in sites)
        assert sites.lengths()["named_sites"] == waiting
        assert sites.lengths()["ip_sites"] == sum(number_of_pages(site.ready) for site in sites)
        assert all(len(one) or one.in_flight for one in self.frontier.addresses)

    @invariant()
    def the_idle_are_known(self) -> None:
        sites = self.frontier.registry
        sites.notable()
        assert {site for site in sites if site in sites._idle} == {s for s in sites if s.idle}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.mark.usefixtures("small")
class TestSmallCrawl(SmallCrawl.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=40, stateful_step_count=50, deadline=None)
