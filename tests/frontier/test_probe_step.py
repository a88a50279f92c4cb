"""Probes as a state of their site: which URLs wait for them, and what comes of failures."""

import pytest

from larbinpy.frontier.site import State
from larbinpy.page import Outcome
from tests.support.fakelogins import DOOR, FakeLogins
from tests.support.fakeprobes import PROBE, FakeProbes
from tests.support.frontiers import DEAD, MakeWorld, World, site_in

ROBOTS = f"{DOOR}/robots.txt"
PAGES = [f"{DOOR}/{number}" for number in range(4)]


def hrefs(world: World) -> list[str]:
    return [start.href for start in world.starts]


def test_probes_come_after_robots_txt_and_before_the_pages(make: MakeWorld) -> None:
    probes = FakeProbes([PROBE, f"{DOOR}/b/larbinpy-2"])
    world = make(*PAGES, probes=probes, connexions=3)
    world.run()
    assert hrefs(world) == [ROBOTS, PROBE, f"{DOOR}/b/larbinpy-2", *PAGES]
    assert sorted(world.outcomes()) == PAGES
    assert probes.waiting == PAGES
    assert site_in(world.frontier, PAGES[0]).state is State.OPEN


def test_a_site_with_one_url_is_not_probed(make: MakeWorld) -> None:
    world = make(PAGES[0], probes=FakeProbes())
    world.run()
    assert hrefs(world) == [ROBOTS, PAGES[0]]


def test_a_second_url_waits_for_the_probe(make: MakeWorld) -> None:
    world = make(PAGES[0], probes=FakeProbes())
    world.run()
    world.frontier.seed(PAGES[1])
    world.run()
    assert hrefs(world) == [ROBOTS, PAGES[0], PROBE, PAGES[1]]


def test_a_login_comes_before_the_probe(make: MakeWorld) -> None:
    world = make(*PAGES[:2], probes=FakeProbes(), logins=FakeLogins())
    world.run()
    assert hrefs(world) == [ROBOTS, f"{DOOR}/login", PROBE, *PAGES[:2]]


def test_robots_txt_binds_probes(make: MakeWorld) -> None:
    rules = {"body": b"User-agent: *\nDisallow: /larbinpy\n"}
    probes = FakeProbes([PROBE, f"{DOOR}/b/larbinpy-2"])
    world = make(*PAGES, probes=probes, replies={ROBOTS: rules})
    world.run()
    assert hrefs(world) == [ROBOTS, f"{DOOR}/b/larbinpy-2", *PAGES]


@pytest.mark.parametrize("failure", [{"status": 404}, {"status": 500}, {"status": 503}, DEAD])
def test_a_probe_that_fails_is_not_repeated(make: MakeWorld, failure: dict[str, object]) -> None:
    probes = FakeProbes()
    world = make(*PAGES, probes=probes, replies={PROBE: failure})
    world.run()
    assert hrefs(world).count(PROBE) == 1
    assert set(world.outcomes().values()) == {Outcome.SUCCESS}
    assert len(probes.pages) == 1


def test_a_site_that_closes_meanwhile_takes_its_urls_along(make: MakeWorld) -> None:
    """Its limit is reached by the page that was in flight when the probe began."""
    probes = FakeProbes([PROBE] * 2)
    world = make(*PAGES, probes=probes, names={"a.test": "nxdomain"}, retries=0)
    world.run()
    assert set(world.outcomes().values()) <= {Outcome.NO_DNS, Outcome.FAST_NO_DNS}
    assert probes.pages == []


def test_a_site_that_closes_under_a_probe_gets_no_other(make: MakeWorld) -> None:
    probes = FakeProbes([PROBE] * 2)
    world = make(*PAGES, probes=probes)
    while PROBE not in hrefs(world):
        world.run(until=world.now + 0.1)
    site = site_in(world.frontier, PAGES[0])
    world.frontier.lifecycle.give_up(site, Outcome.NO_CONNECTION, world.now, "")
    world.run()
    assert hrefs(world).count(PROBE) == 1
    assert probes.ended == [DOOR]
