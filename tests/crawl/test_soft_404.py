"""Whole crawls of sites that answer to names that do not exist as if they did."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from larbinpy import Start
from larbinpy.url import split
from tests.support.lastsoftsites import LAST_SITES
from tests.support.othersoftsites import OTHER_SITES
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import World, Worlds
from tests.support.softsites import SITES, SoftSite, framed_home, html, moved, pages, some, stub

pytest_plugins = ["tests.support.smallcrawls"]


@dataclass
class Judged:
    """How well the crawl of a site judged."""

    site: SoftSite
    world: World

    @property
    def found(self) -> list[str]:
        """Soft 404s that were found, or that redirect to one that was."""
        return [path for path in self.site.gone if self._is_soft(path)]

    def _is_soft(self, path: str) -> bool:
        fate = self.world.fates.get(f"{self.site.host}{path}", {})
        if fate.get("outcome") == "err30X":
            return self._is_soft(split(fate["detail"]).path)
        return fate.get("outcome") == "err40X" and fate["detail"].startswith("soft 404: ")

    @property
    def lost(self) -> list[str]:
        """Real pages that were not fetched or not kept."""
        places = {path: f"{self.site.host}{path}" for path in ["/", *self.site.real]}
        return [path for path, place in places.items() if place not in self.world.kept]

    @property
    def probes(self) -> list[str]:
        return [asked.path for asked in self.world.asked if "larbinpy-" in asked.path]

    def __str__(self) -> str:
        missed = sorted(set(self.site.gone) - set(self.found))
        found = f"{len(self.found)} of {len(self.site.gone)} found"
        return f"{self.site.name}: {found}, lost {self.lost}, probes {self.probes}, missed {missed}"


def judged(site: SoftSite, crawl: Worlds, *lines: str) -> Judged:
    site.put(crawl.web)
    settings = (*site.settings, "probeSoft404", "noExternalLinks", *lines)
    return Judged(site, crawl(*settings, seeds=[f"{site.host}/"]))


def share_found(sites: Sequence[SoftSite], crawl: Worlds) -> float:
    """The share of the soft 404s of `sites` that is found; no real page may be lost."""
    found = total = 0
    for site in sites:
        got = judged(site, crawl)
        print(got)
        assert got.lost == [], got
        assert len(got.probes) <= 2, got
        found, total = found + len(got.found), total + len(site.gone)
    return found / total


def test_soft_404s_are_found(crawl: Worlds) -> None:
    assert len(SITES) >= 20
    assert share_found(SITES, crawl) >= 0.95


def test_soft_404s_of_other_sites_are_found(crawl: Worlds) -> None:
    """Three of these ways are beyond it: see docs/filtering.md."""
    assert share_found(OTHER_SITES, crawl) >= 0.85


def test_soft_404s_of_the_last_sites_are_found(crawl: Worlds) -> None:
    assert share_found(LAST_SITES, crawl) >= 0.95


def small_site(web: Web, host: str = "a.test") -> None:
    """A site with a real page and a soft 404, whose links lead on."""
    web.put(f"{host}/", framed_home('<a href="/real">x</a><a href="/gone">y</a>'))
    web.put(f"{host}/real", stub("/real"))
    lost = html('<title>Lost</title><p>Lost.</p><a href="deeper/">z</a>')
    web.make = lambda place: None if place.endswith("/robots.txt") else lost


def test_nothing_is_asked_for_without_the_keyword(crawl: Worlds) -> None:
    small_site(crawl.web)
    world = crawl("depthInSite 1")
    assert {asked.path for asked in world.asked} == {"/robots.txt", "/", "/real", "/gone"}
    assert world.outcomes["a.test/gone"] == "success"


def test_a_soft_404_says_why_and_leads_nowhere(crawl: Worlds) -> None:
    small_site(crawl.web)
    world = crawl("probeSoft404")
    fate = world.fates["a.test/gone"]
    assert (fate["outcome"], fate["status"]) == ("err40X", 200)
    assert fate["detail"].startswith("soft 404: it is like http://a.test:")
    assert world.kept == {"a.test/", "a.test/real"}
    assert not any("deeper" in asked.path for asked in world.asked)


def test_probes_are_in_no_output_and_no_log_and_count_as_no_page(crawl: Worlds) -> None:
    small_site(crawl.web)
    world = crawl("probeSoft404")
    assert set(world.fates) == {"a.test/", "a.test/real", "a.test/gone"}
    assert world.crawl.report["pages"] == 3
    assert not any("larbinpy-" in place for place in world.kept)


def test_the_home_page_is_not_held_up_and_pages_wait_for_the_probes(crawl: Worlds) -> None:
    small_site(crawl.web)
    world = crawl("probeSoft404", "maxConnexionsBySite 4")
    paths = [asked.path.partition("-")[0] for asked in world.asked]
    assert paths[:4] == ["/robots.txt", "/", "/larbinpy", "/larbinpy"]
    last = [asked for asked in world.asked if "larbinpy-" in asked.path][-1]
    assert all(asked.time >= last.answered for asked in world.asked[4:])


def test_a_site_with_one_url_is_not_probed(crawl: Worlds) -> None:
    crawl.web.page("a.test/", "//b.test/page", images=["//c.test/1.png", "//c.test/2.png"])
    crawl.web.page("b.test/page")
    crawl.web.file("c.test/1.png", b"PNG", "image/png")
    crawl.web.file("c.test/2.png", b"PNG", "image/png")
    world = crawl("probeSoft404", "requisites everywhere")
    assert {"b.test/page", "c.test/1.png", "c.test/2.png"} <= world.kept
    assert not any("larbinpy-" in asked.path for asked in world.asked)


def test_probes_are_polite(crawl: Worlds) -> None:
    small_site(crawl.web)
    world = crawl("probeSoft404", "waitDuration 10")
    assert len(world.asked) == 6
    assert all(gap >= 10 for gap in world.gaps(world.asked[1:]))


def test_probes_obey_robots_txt(crawl: Worlds) -> None:
    small_site(crawl.web)
    crawl.web.robots("a.test", "User-agent: *", "Disallow: /larbinpy-", "Disallow: /gone")
    world = crawl("probeSoft404")
    assert [asked.path for asked in world.asked] == ["/robots.txt", "/", "/real"]
    assert world.outcomes["a.test/gone"] == "fastRobots"


@pytest.mark.parametrize("failure", [Answer(status=503), Answer(status=403), Answer(b"", "")])
def test_a_failed_probe_costs_no_page(crawl: Worlds, failure: Answer) -> None:
    crawl.web.page("a.test/", "/1", "/2")
    crawl.web.pages("a.test/1", "a.test/2")
    crawl.web.make = lambda place: failure if "larbinpy-" in place else None
    assert crawl("probeSoft404", "retryWait 1").kept == {"a.test/", "a.test/1", "a.test/2"}


def test_the_home_page_is_found_by_redirects_alone(crawl: Worlds) -> None:
    crawl.web.page("a.test/start", "/gone", "/real")
    crawl.web.page("a.test/real")
    crawl.web.page("a.test/", "/more")
    crawl.web.page("a.test/more")
    crawl.web.make = lambda place: None if "robots" in place else moved("/")
    world = crawl("probeSoft404", seeds=["a.test/start"])
    assert world.kept == {"a.test/start", "a.test/real", "a.test/", "a.test/more"}
    detail = world.fates["a.test/gone"]["detail"]
    assert detail.startswith(f"soft 404: it redirects to {crawl.web.url('a.test/')}, as does")


def test_links_that_are_only_checked_are_no_reason_for_a_probe(crawl: Worlds) -> None:
    small_site(crawl.web)
    crawl.web.page("a.test/real", "//b.test/1", "//b.test/2", "/gone")
    world = crawl("probeSoft404", "checkLinks")
    assert {asked.host for asked in world.asked if "larbinpy-" in asked.path} == {"a.test"}
    assert world.outcomes["a.test/gone"] == "err40X"


def test_each_site_is_probed_once(crawl: Worlds) -> None:
    """Also if its name is looked up anew meanwhile."""
    site = SoftSite("many", pages("/", count=20), some("/", 20), lambda p, r: html("Lost"))
    got = judged(site, crawl, "dnsCacheTime 5", "waitDuration 3")
    assert (len(got.probes), len(got.found), got.lost) == (2, 20, [])


def test_a_site_is_probed_once_however_often_its_crawl_is_stopped(crawl: Worlds) -> None:
    site = SITES[0]
    site.put(crawl.web)
    lines = (*site.settings, "probeSoft404", "noExternalLinks", "limitPage 1")
    runs = [crawl(*lines, seeds=[f"{site.host}/"])]
    while runs[-1].crawl.report["stop_reason"] != "finished":
        assert len(runs) < 50
        runs.append(crawl(*lines, folder=runs[0].folder, start=Start.RESUME, seeds=()))
    asked = [asked.path for run in runs for asked in run.asked if "larbinpy-" in asked.path]
    assert len(runs) > 5
    assert len(asked) <= 2
    assert set(Judged(site, runs[-1]).found) == set(site.gone)


@pytest.mark.slow
def test_a_site_is_probed_once_although_its_crawl_is_killed(crawl: Worlds, tmp_path: Path) -> None:
    """At each request in turn; a copy of its folder is all that a kill leaves."""
    site = SITES[0]
    site.put(crawl.web)
    lines = (*site.settings, "probeSoft404", "noExternalLinks")
    left: dict[int, Path] = {}

    def watch(world: World) -> None:
        if world.asked and len(world.asked) not in left:
            folder = left[len(world.asked)] = tmp_path / f"killed-{len(world.asked)}"
            # A socket cannot be copied; a new run makes its own.
            shutil.copytree(world.folder, folder, ignore=shutil.ignore_patterns("control"))

    whole = crawl(*lines, seeds=[f"{site.host}/"], watch=watch)
    before = [asked.path for asked in whole.asked]
    assert len(left) > 10
    for number, folder in left.items():
        again = crawl(*lines, folder=folder, start=Start.RESUME, seeds=())
        asked = [*before[:number], *(asked.path for asked in again.asked)]
        assert sum("larbinpy-" in path for path in asked) <= 2, number
        got = Judged(site, again)
        assert (set(got.found), got.lost) == (set(site.gone), []), number
