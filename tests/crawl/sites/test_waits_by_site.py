"""Waits and connexions of site blocks, at addresses that several sites share. Times in seconds."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import larbinpy.config
from larbinpy.config import Config, change
from larbinpy.crawl.parts import SettingsBySite, make_frontier
from larbinpy.crawl.requests import SiteConfigs
from larbinpy.frontier.frontier import Frontier
from larbinpy.observe import explain
from tests.support.contexts import make_context
from tests.support.frontiers import WALL, World

ONE = "192.0.2.1"
HOSTS = ("a.test", "b.test", "c.test", "plain.test")
HOUR = 3600.0
#: Makes a world of `HOSTS` at one address, from lines of a configuration.
Make = Callable[..., World]


def configured(folder: Path, *lines: str) -> Config:
    file = folder / "larbin.conf"
    file.write_text("\n".join(("From me@us.test", "ignoreRobots", "allowPrivate", *lines)))
    return larbinpy.config.load(str(file), {}, [])


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Frontier] = []

    def make(*lines: str, pages: int = 60, wait: str = "", latency: float = 0.1) -> World:
        """`wait`: a later waitDuration, set before any site is made."""
        folder = tmp_path / str(len(made))
        folder.mkdir()
        config = replace(configured(tmp_path, *lines), state_dir=str(folder))
        settings = SettingsBySite(config, SiteConfigs(config))
        frontier = make_frontier(make_context(config, wall=lambda: WALL), settings)
        made.append(frontier)
        if wait:
            settings.change(change(config, "waitDuration", wait))
        for number in range(pages):
            for host in HOSTS:
                frontier.seed(f"http://{host}/{number}")
        return World(frontier, dict.fromkeys(HOSTS, (ONE,)), latency=latency)

    yield make
    for frontier in made:
        frontier.close()


def gaps(world: World, *hosts: str) -> list[float]:
    """The times between requests to `hosts`, to all if none are given."""
    times = [s.at for s in world.starts if not hosts or s.href.split("/")[2] in hosts]
    return [b - a for a, b in pairwise(times)]


# waitDuration as changed while the crawl runs.


@pytest.mark.parametrize("block", ["site a.test maxWait 300 end", "site a.test retries 0 end"])
def test_a_changed_wait_reaches_sites_of_a_block_that_are_made_later(
    make: Make, block: str
) -> None:
    world = make("waitDuration 1", block, wait="60")
    world.run(world.now + 600)
    assert len(world.starts) == 10
    assert min(gaps(world)) >= 60


def test_a_changed_wait_reaches_sites_that_wait_for_themselves(make: Make) -> None:
    world = make("waitDuration 1", "waitBy site", "site a.test maxWait 300 end", wait="60")
    world.run(world.now + 600)
    assert min(gaps(world, "a.test")) >= 60
    assert min(gaps(world, "b.test")) >= 60


def test_the_wait_of_a_block_stays_when_that_of_the_crawl_changes(make: Make) -> None:
    world = make("waitDuration 30", "site a.test waitDuration 2 end", wait="60")
    world.run(world.now + 60)
    assert 2 <= min(gaps(world, "a.test")) <= max(gaps(world, "a.test")) < 3


# Groups.


@pytest.mark.parametrize(
    "blocks",
    [
        ["site a.test waitDuration 60 end"],
        [f"site {host}.test waitDuration {60 + n} end" for n, host in enumerate("abc")],
        ["site a.test maxConnexionsBySite 1 waitDuration 60 end"],
    ],
)
def test_blocks_with_longer_waits_leave_an_address_no_busier(make: Make, blocks: list[str]) -> None:
    world = make("waitDuration 30", *blocks)
    world.run(world.now + HOUR)
    assert min(gaps(world)) >= 30
    assert min(gaps(world, "a.test")) >= 60
    assert len(world.starts) > 100


def test_a_block_with_a_shorter_wait_has_a_schedule_of_its_own(make: Make) -> None:
    world = make("waitDuration 30", "site a.test waitDuration 2 end", latency=0.0)
    world.run(world.now + 60)
    assert max(gaps(world, "a.test")) < 3
    assert min(gaps(world, "b.test", "c.test", "plain.test")) >= 30


def test_fewer_connexions_are_the_limit_of_a_site_at_its_address(make: Make) -> None:
    block = "site a.test maxConnexionsBySite 1 end"
    world = make("waitDuration 0", "maxConnexionsBySite 3", block, pages=20)
    most = 0
    while world.frontier.owed:
        world.turn()
        flying = [url.host for url in world.frontier.ip_sites.flying()]
        assert flying.count("a.test") <= 1
        assert len(flying) <= 3
        most = max(most, len(flying))
        world.now += 0.05
    assert most == 3


def test_more_connexions_are_those_of_a_group(make: Make) -> None:
    world = make("waitDuration 0", "site a.test maxConnexionsBySite 3 end", pages=20)
    for _ in range(3):
        world.turn()
    flying = [url.host for url in world.frontier.ip_sites.flying()]
    assert flying.count("a.test") == 3
    assert len(flying) == 4


def test_after_a_kill_a_site_is_left_alone_for_its_longer_wait(make: Make) -> None:
    world = make("waitDuration 1", "site a.test waitDuration 100 end", pages=2)
    began = world.now
    world.frontier.resume(world.now, ended=False)
    world.run()
    assert min(start.at for start in world.starts) == began + 1
    assert min(s.at for s in world.starts if "a.test" in s.href) == began + 100


# `explain`.


def why(world: World, href: str) -> str:
    facts = explain.standing_of(world.frontier, href, world.now)
    assert facts is not None
    return str(facts["why"])


def test_explain_tells_the_wait_of_a_site_from_that_of_its_address(
    make: Make, tmp_path: Path
) -> None:
    world = make("waitDuration 30", "site a.test waitDuration 50 end")
    world.run(world.now + 10)
    line = f"{tmp_path}/larbin.conf:5"
    assert why(world, "http://plain.test/2") == (
        "its address gets a request every 30 s (waitDuration)"
    )
    world.run(world.now + 100)
    # Whichever was asked last, its address or the site itself.
    assert why(world, "http://a.test/9") in (
        f"its site gets a request every 50 s (site block, {line})",
        "its address gets a request every 30 s (waitDuration)",
    )


def test_explain_names_the_connexions_that_a_url_waits_for(make: Make, tmp_path: Path) -> None:
    block = "site a.test maxConnexionsBySite 1 retries 1 end"
    world = make("waitDuration 0", "maxConnexionsBySite 3", block)
    for _ in range(3):
        world.turn()
    assert why(world, "http://a.test/9") == (
        f"its site is busy with other requests (maxConnexionsBySite 1, {tmp_path}/larbin.conf:6)"
    )
