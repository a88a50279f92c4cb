"""A shorter waitDuration: old waits are shortened, those that sites requested stay."""

import pytest

from larbinpy.storage.sizes import FrontierSizes
from tests.support.frontiers import MakeWorld, World, wait_settings

SLOW = {"status": 429, "headers": {"retry-after": "300"}}


def shorten(world: World, least: float) -> None:
    wait_settings(world.frontier).least = least
    world.frontier.shorten_waits(world.now)


def times(world: World, host: str = "a.test") -> list[float]:
    return [s.at for s in world.starts if host in s.href and "robots" not in s.href]


@pytest.mark.parametrize("wait_by", ["ip", "site", "both"])
def test_a_wait_that_was_scheduled_is_shortened(make: MakeWorld, wait_by: str) -> None:
    seeds = [f"http://a.test/{number}" for number in range(3)]
    world = make(*seeds, least=3600, wait_by=wait_by)
    world.run(world.now + 3610)
    assert len(times(world)) == 1
    shorten(world, 2)
    now = world.now
    world.run()
    assert times(world)[1:] == [pytest.approx(now + 2), pytest.approx(now + 4.1)]


def test_a_wait_that_is_shorter_still_is_kept(make: MakeWorld) -> None:
    world = make("http://a.test/1", "http://a.test/2", least=10)
    world.run(world.now + 19.5)
    assert len(times(world)) == 1
    first = times(world)[0]
    shorten(world, 9)
    world.run()
    assert times(world)[1] == pytest.approx(first + 10.1)


def test_waits_that_a_site_requested_stay(make: MakeWorld) -> None:
    robots = {"body": b"User-agent: *\nCrawl-delay: 50"}
    world = make(
        "http://a.test/1", "http://a.test/2", "http://b.test/1", "http://b.test/2",
        replies={"http://a.test/1": SLOW, "http://b.test/robots.txt": robots},
        names={"b.test": ("198.51.100.2",)}, least=100, most=600,
    )  # fmt: skip
    world.run(world.now + 105)
    assert (len(times(world)), len(times(world, "b.test"))) == (1, 1)
    shorten(world, 1)
    now = world.now
    world.run()
    assert times(world)[1] - times(world)[0] >= 300
    assert times(world, "b.test")[1] == pytest.approx(now + 50)


def test_waits_of_idle_addresses_are_shortened_too(make: MakeWorld) -> None:
    world = make("http://a.test/1", least=1000)
    world.run()
    shorten(world, 2)
    now = world.now
    world.frontier.seed("http://a.test/2")
    world.run()
    assert times(world)[1] <= now + 2


def test_of_very_many_some_at_a_time(make: MakeWorld) -> None:
    hosts = [f"h{number}.test" for number in range(10)]
    seeds = [f"http://{host}/{number}" for host in hosts for number in range(2)]
    names = {host: (f"198.51.100.{number}",) for number, host in enumerate(hosts)}
    world = make(*seeds, names=names, least=1000, frontier_sizes=FrontierSizes(shortened=3))
    world.run(world.now + 1010)
    assert len(world.pages()) == 10
    shorten(world, 2)
    assert world.frontier._shortener is not None
    now = world.now
    fates = world.run()
    assert len(fates) == 20
    assert world.frontier._shortener is None
    assert max(start.at for start in world.starts) < now + 3
