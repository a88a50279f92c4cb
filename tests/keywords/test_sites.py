"""Site blocks, the limits by site and the hours, in whole crawls. Times in seconds."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from larbinpy import Start
from larbinpy.console.status.overview import Level, findings
from tests.support.keywords import effect_of
from tests.support.ports import free_port
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Client, World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

SEEDS = ["a.test/", "b.test/"]


@pytest.fixture
def pair(web: Web) -> Web:
    """Two sites at one address, of eight pages each."""
    for host in ("a.test", "b.test"):
        web.page(f"{host}/", *[f"/{n}" for n in range(1, 8)])
        web.pages(*[f"{host}/{n}" for n in range(1, 8)])
    return web


def of(world: World, host: str) -> list[Any]:
    return [asked for asked in world.asked if asked.host == host]


def headers(world: World, host: str, name: str) -> set[str | None]:
    return {asked.headers.get(name) for asked in of(world, host)}


# Site blocks.


@effect_of("site")
def test_two_sites_have_the_settings_of_their_blocks(pair: Web, crawl: Worlds) -> None:
    pair.robots("a.test", "User-agent: weaver", "Disallow: /3", "User-agent: *", "Disallow: /4")
    pair.robots("b.test", "User-agent: *", "Disallow: /5")
    pair.put("a.test/1", Answer(status=500))
    pair.put("b.test/1", Answer(status=500))
    world = crawl(
        "waitDuration 10",
        "retryWait 1",
        'header "X-Reason: study"',
        'site a.test UserAgent weaver/1.0 waitDuration 2 retries 1 header "X-Reason: other" end',
        "site *.test retries 0 UserAgent spider From b@b.test end",
        "site b.test ignoreRobots limitPageBySite 3 end",
        seeds=SEEDS,
    )
    assert headers(world, "a.test", "user-agent") == {"weaver/1.0"}
    assert headers(world, "b.test", "user-agent") == {"spider"}
    assert headers(world, "a.test", "x-reason") == {"other"}
    assert headers(world, "b.test", "x-reason") == {"study"}
    assert world.outcomes["a.test/3"] == "fastRobots"
    assert world.outcomes["a.test/4"] == "success"
    assert "/robots.txt" not in {asked.path for asked in of(world, "b.test")}
    assert world.fates["a.test/1"]["attempt"] == 2
    assert world.fates["b.test/1"]["attempt"] == 1
    assert min(world.gaps(of(world, "a.test"))) == pytest.approx(2, abs=0.02)
    assert min(world.gaps(of(world, "b.test"))) >= 10
    assert sum(place.startswith("b.test") for place in world.fetched) == 3


@effect_of("site")
def test_the_first_block_that_sets_a_keyword_decides(pair: Web, crawl: Worlds) -> None:
    blocks = ["site a.* From first@a end", "site *.test From 2@a UserAgent two end"]
    world = crawl("site a.test From third@a UserAgent three depthInSite 0 end", *blocks[::-1])
    assert headers(world, "a.test", "from") == {"third@a"}
    assert headers(world, "a.test", "user-agent") == {"three"}
    assert world.fetched == {"a.test/"}
    world = crawl(*blocks, "site a.test From third@a UserAgent three depthInSite 0 end")
    assert headers(world, "a.test", "from") == {"first@a"}
    assert headers(world, "a.test", "user-agent") == {"two"}
    assert world.fetched == {"a.test/"}


@effect_of("site")
def test_a_block_is_for_a_port(pair: Web, crawl: Worlds) -> None:
    here = crawl(f"site a.test:{pair.port} From here@a end")
    assert headers(here, "a.test", "from") == {"here@a"}
    other = crawl(f"site a.test:{pair.port + 1} From here@a end")
    assert headers(other, "a.test", "from") == {"me@larbinpy.invalid"}


def test_depth_by_site(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/1", "//b.test/")
    web.page("a.test/1", "/2")
    web.page("a.test/2", "/3")
    web.page("b.test/", "/1")
    web.page("b.test/1", "/2")
    web.pages("a.test/3", "b.test/2")
    world = crawl("depthInSite 9", "site a.test depthInSite 2 end", "site b.test depthInSite 0 end")
    assert world.fetched == {"a.test/", "a.test/1", "a.test/2", "b.test/"}


def test_the_largest_page_by_site(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "//b.test/")
    web.put("b.test/", Answer(b"<p>" + b"x" * 5000))
    world = crawl("site b.test maxPageSize 1000 end")
    assert world.outcomes == {"a.test/": "success", "b.test/": "tooBig"}


def test_nofollow_and_noindex_are_ignored_by_site(web: Web, crawl: Worlds) -> None:
    for host in ("a.test", "b.test"):
        lines = ("X-Robots-Tag: noindex, nofollow",)
        web.page(f"{host}/", "/1", headers=lines)
        web.pages(f"{host}/1")
    world = crawl("site b.test ignoreRobots end", seeds=SEEDS)
    assert world.fetched == {"a.test/", "b.test/", "b.test/1"}
    assert world.kept == {"b.test/", "b.test/1"}


def test_robots_meta_tags_mean_the_name_of_the_site_block(web: Web, crawl: Worlds) -> None:
    for host in ("a.test", "b.test"):
        web.page(f"{host}/", "/1", headers=("X-Robots-Tag: weaver: nofollow",))
        web.pages(f"{host}/1")
    world = crawl("site b.test UserAgent weaver/2 end", seeds=SEEDS)
    assert world.fetched == {"a.test/", "a.test/1", "b.test/"}


def test_a_name_that_needs_no_proxy_in_a_block_is_an_error_before_anything_starts(
    pair: Web, crawl: Worlds
) -> None:
    with pytest.raises(ValueError, match=r"proxy nowhere\.invalid: no address found"):
        crawl("site b.test proxy nowhere.invalid 8080 end")


def test_waits_that_change_live_do_not_change_those_of_a_block(pair: Web, crawl: Worlds) -> None:
    port = free_port()
    client = Client(crawl, port, "console", "set waitDuration 1", "quit")

    def shorten(world: World) -> None:
        if len(world.asked) >= 6:
            client.done()

    lines = "waitDuration 20", "site b.test waitDuration 5 end", f"inputPort {port}"
    world = crawl(*lines, seeds=SEEDS, watch=shorten)
    assert min(world.gaps(of(world, "b.test"))) == pytest.approx(5, abs=0.02)
    gaps = world.gaps(of(world, "a.test"))
    assert (gaps[0], gaps[-1]) == pytest.approx((20, 1), abs=0.02)


def test_explain_names_the_lines_that_set_the_settings_of_a_site(pair: Web, crawl: Worlds) -> None:
    port = free_port()
    client = Client(crawl, port, "console", f"explain {pair.url('b.test/7')}", "quit")

    def ask(world: World) -> None:
        if len(world.asked) > 4:
            client.done()

    site = "site *.test waitDuration 7 retries 0 end"
    world = crawl("waitDuration 20", site, f"inputPort {port}", seeds=SEEDS, watch=ask)
    [answer] = [each for each in client.answers if "url" in each]
    file = world.folder / "larbin.conf"
    line = f"{file}:{1 + file.read_text().splitlines().index(site)}"
    assert answer["why"] == f"its address gets a request every 7 s (waitDuration, {line})"
    assert answer["site"]["set_by"] == {"waitDuration": line, "retries": line}


def test_the_snapshot_shows_the_blocks_and_the_sites_that_they_match(
    pair: Web, crawl: Worlds
) -> None:
    found: list[Any] = []
    crawl(
        "site *.test retries 0 end",
        "site b.test retries 1 From b@b.test end",
        "site c.test From c@c.test end",
        seeds=SEEDS,
        watch=lambda world: found.append(world.snapshot("site_blocks")),
    )
    first = crawl.world.folder / "larbin.conf"
    line = 1 + first.read_text().splitlines().index("site *.test retries 0 end")
    assert found[-1] == [
        {
            "pattern": "*.test",
            "source": f"{first}:{line}",
            "settings": {"retries": "0"},
            "sites": 2,
        },
        {
            "pattern": "b.test",
            "source": f"{first}:{line + 1}",
            "settings": {"retries": "1", "From": "b@b.test"},
            "sites": 1,
        },
        {
            "pattern": "c.test",
            "source": f"{first}:{line + 2}",
            "settings": {"From": "c@c.test"},
            "sites": 0,
        },
    ]


# Limits.


@effect_of("limitPageBySite")
def test_limit_page_by_site_is_reached_and_not_exceeded(pair: Web, crawl: Worlds) -> None:
    for connexions in (1, 5):
        lines = "limitPageBySite 3", f"maxConnexionsBySite {connexions}"
        world = crawl(*lines, "site b.test limitPageBySite 0 end", seeds=SEEDS)
        assert len(of(world, "a.test")) == 4  # with robots.txt
        assert Counter(world.outcomes.values()) == {"success": 11, "siteLimit": 5}
        assert world.fates["a.test/7"]["detail"] == "limitPageBySite 3"
        assert world.code == 0


@effect_of("limitPageBySite")
def test_limit_page_by_site_goes_on_counting_after_a_stop(
    pair: Web, crawl: Worlds, tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    first = crawl("limitPageBySite 5", "limitPage 7", folder=folder, seeds=SEEDS)
    assert len(first.fetched) == 7
    world = crawl("limitPageBySite 5", folder=folder, start=Start.RESUME, seeds=())
    assert Counter(world.outcomes.values()) == {"success": 10, "siteLimit": 6}
    assert len(world.pages_asked) == 3


@effect_of("limitBytesBySite")
def test_limit_bytes_by_site(pair: Web, crawl: Worlds) -> None:
    for n in range(1, 8):
        pair.put(f"a.test/{n}", Answer(b"<p>" + b"x" * 5000))
    world = crawl("site a.test limitBytesBySite 12K end", seeds=SEEDS)
    assert [world.outcomes[f"a.test/{n}"] for n in range(1, 8)] == ["success"] * 3 + [
        "siteLimit"
    ] * 4
    assert world.fates["a.test/7"]["detail"].startswith("limitBytesBySite 12K, ")
    assert sum(place.startswith("b.test") for place in world.fetched) == 8


# Hours.


class Wall:
    """A clock on the wall, at a time of day at the start; it shows a minute for each second.

    A crawl has a turn each second, so many hours would take long.
    """

    def __init__(self, crawl: Worlds, hour: int) -> None:
        self._crawl = crawl
        self._began = datetime(2026, 7, 1, hour).timestamp()

    def __call__(self) -> float:
        world = self._crawl.world
        return self._began + (world.clock.now - world.started) * 60


@effect_of("hours")
def test_the_crawl_idles_outside_of_its_hours(pair: Web, crawl: Worlds) -> None:
    pair.robots("a.test", "User-agent: *")
    lines = "hours 20:30-22:00,23:00-24:00", "waitDuration 15"
    world = crawl(*lines, wall=Wall(crawl, 20))
    minutes = [asked.time - world.started for asked in world.asked]
    assert minutes == pytest.approx([30, 45, 60, 75, 90, 105, 180, 195, 210], abs=1.1)


def test_the_status_page_knows_the_hours(pair: Web, crawl: Worlds) -> None:
    at: dict[int, Any] = {}

    def watch(world: World) -> None:
        second = round(world.clock.now - world.started)
        at[second] = world.crawl.snapshot()

    pair.robots("a.test", "User-agent: *")
    crawl("hours 20:30-24:00", "waitDuration 15", wall=Wall(crawl, 20), watch=watch)
    assert [finding.level for finding in findings(at[25])] == [Level.NOTE]
    assert [finding.level for finding in findings(at[50])] == [Level.GOOD]
    for status in at.values():
        queues = status["queues"]
        robots = status["robots"]["fetched"] == 0 and queues["in_flight"]
        assert sum(queues.values()) - robots == status["totals"]["urls_queued"]


@effect_of("hours")
def test_hours_by_site(pair: Web, crawl: Worlds) -> None:
    lines = "hours 00:00-23:00", "site b.test hours 13:00-14:00,21:30-22:00 end"
    world = crawl(*lines, seeds=SEEDS, wall=Wall(crawl, 20))
    assert max(asked.time for asked in of(world, "a.test")) - world.started < 5
    first = min(asked.time for asked in of(world, "b.test")) - world.started
    assert first == pytest.approx(90, abs=1.1)
    assert len(world.fetched) == 16
