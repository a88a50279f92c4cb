import json
from pathlib import Path
from typing import Any

import pytest

from larbinpy.dns.lookup import Answer
from larbinpy.observe.snapshot import site_tables
from larbinpy.storage.sizes import FrontierSizes
from tests.support.frontiers import DEAD, WALL, MakeWorld, World, make_frontier, named, reply, taken

HERE = "http://a.test/"
ROBOTS = "http://a.test/robots.txt"


@pytest.fixture
def world(tmp_path: Path) -> MakeWorld:
    """A function that makes a world around a frontier with seeds."""

    def make(
        *seeds: str,
        names: dict[str, Any] | None = None,
        replies: dict[str, Any] | None = None,
        **settings: Any,
    ) -> World:
        frontier = make_frontier(tmp_path, **settings)
        for seed in seeds:
            assert frontier.seed(seed) is None
        return World(frontier, names, replies)

    return make


def test_sites_without_any(world: MakeWorld) -> None:
    states = ["new", "resolving", "robots", "login", "probing", "open", "waiting", "closed"]
    assert site_tables(world().frontier.registry, 0.0) == {
        "total": 0,
        "by_state": dict.fromkeys(states, 0),
        "busiest": [],
        "slowest": [],
        "suspended": [],
    }


def test_sites_by_state_and_the_busiest_first(world: MakeWorld) -> None:
    seeds = [HERE, *[f"http://b.test/{number}" for number in range(3)], "http://c.test/"]
    here = world(*seeds, names={"c.test": "nxdomain"}, least=60)
    here.run(here.now + 5)
    shown = site_tables(here.frontier.registry, here.now)
    assert shown["total"] == 3
    assert (shown["by_state"]["waiting"], shown["by_state"]["closed"]) == (1, 0)
    assert sum(shown["by_state"].values()) == 3
    busiest = shown["busiest"]
    assert busiest[0] == here.frontier.registry.at("http://b.test/").describe(here.now)
    assert [each["site"] for each in busiest[:1]] == ["http://b.test"]
    assert {each["site"] for each in busiest} == {f"http://{name}.test" for name in "abc"}
    json.dumps(shown)


def test_the_slowest_of_those_that_have_urls_come_first(world: MakeWorld) -> None:
    hosts = "abcd"
    seeds = [f"http://{name}.test/{number}" for name in hosts for number in range(3)]
    names = {f"{name}.test": (f"198.51.100.{at}",) for at, name in enumerate(hosts)}
    here = world(*seeds, names=names, least=60)
    here.run(here.now + 70)
    frontier = here.frontier
    for name, seconds in (("a", 0.2), ("b", 7.0), ("c", 1.5), ("d", None)):
        frontier.registry.at(f"http://{name}.test/").pace.usual = seconds
    slowest = site_tables(here.frontier.registry, here.now)["slowest"]
    assert [(each["site"], each["answers_in_s"]) for each in slowest] == [
        ("http://b.test", 7.0),
        ("http://c.test", 1.5),
        ("http://a.test", 0.2),
    ]


def test_sites_that_are_done_are_not_busy(world: MakeWorld) -> None:
    here = world(HERE)
    here.run()
    shown = site_tables(here.frontier.registry, here.now)
    assert (shown["total"], shown["busiest"], shown["suspended"]) == (1, [], [])


def test_tables_have_an_end(world: MakeWorld) -> None:
    here = world(*[f"http://s{number}.test/" for number in range(50)], retries=0)
    here.names = {f"s{number}.test": "nxdomain" for number in range(50)}
    here.frontier.sequence(here.now)
    assert len(site_tables(here.frontier.registry, here.now)["busiest"]) == 20
    here.run()
    shown = site_tables(here.frontier.registry, here.now)
    assert (shown["by_state"]["closed"], len(shown["suspended"])) == (50, 20)


def test_of_very_many_sites_the_busiest_are_found_after_some_turns(world: MakeWorld) -> None:
    busy = [f"http://s7.test/{number}" for number in range(30)]
    sizes = FrontierSizes(watched_directly=50)
    here = world(*[f"http://s{number}.test/" for number in range(300)], *busy, frontier_sizes=sizes)
    for _ in range(4):
        here.frontier.sequence(here.now)
    for _ in range(2 * 300 // 50):
        here.now += 0.02
        here.frontier.sequence(here.now)
    shown = site_tables(here.frontier.registry, here.now)
    assert (shown["total"], len(shown["busiest"])) == (300, 20)
    assert (shown["busiest"][0]["site"], shown["busiest"][0]["waiting"]) == ("http://s7.test", 31)
    assert here.frontier.queues()["named_sites"] == 330


def suspended(here: World) -> list[tuple[str, float, str]]:
    shown = site_tables(here.frontier.registry, here.now)["suspended"]
    return [(each["site"], each["until_s"], each["reason"]) for each in shown]


def test_why_sites_are_left_alone(world: MakeWorld) -> None:
    here = world(
        HERE,
        "http://b.test/",
        "http://c.test/",
        "http://d.test/",
        names={"b.test": "nxdomain", "c.test": ("198.51.100.3",), "d.test": ("198.51.100.4",)},
        replies={
            ROBOTS: {"status": 503, "headers": {"retry-after": "400"}},
            "http://c.test/": {"status": 429, "headers": {"retry-after": "200"}},
        },
        retry_wait=40,
        least=2,
    )
    begun = here.now
    here.run(begun + 10)
    shown = suspended(here)
    assert ("http://b.test", 30.0, "try 1 failed") in shown
    assert [each[2] for each in shown if each[0] == "http://a.test"] == ["try 1 failed"]
    [c] = [each for each in shown if each[0] == "http://c.test"]
    assert (c[2], 185 < c[1] < 200) == ("asked for a pause", True)
    # d waits no longer than anybody.
    assert len(shown) == 3


def test_a_closed_site_is_shown_once_until_it_may_be_tried_again(world: MakeWorld) -> None:
    here = world(HERE, names={"a.test": "nxdomain"}, retries=0)
    here.run()
    assert suspended(here) == [("http://a.test", 3600.0, "noDNS")]
    here.now += 3600
    assert suspended(here) == []
    here.frontier.seed(f"{HERE}again")
    here.run()
    assert suspended(here) == [("http://a.test", 3600.0, "noDNS")]


def test_a_site_closed_during_a_request_is_shown_once(world: MakeWorld) -> None:
    pages = [f"{HERE}{number}" for number in range(13)]
    frontier = world(*pages, connexions=13, ignore_robots=True).frontier
    frontier.sequence(1.0)
    frontier.resolved(Answer(named(frontier), ("198.51.100.1",), None), 1.0)
    flown = [taken(frontier, 1.0) for _ in pages]
    for url in flown[:12]:
        frontier.replied(reply(url, **DEAD), 10.0, WALL)
    shown = site_tables(frontier.registry, 10.0)
    assert [each["in_flight"] for each in shown["busiest"]] == [1]
    assert [each["reason"] for each in shown["suspended"]] == ["noConnection"]
