"""Sitemaps, in whole crawls: those that robots.txt or an index names, and those that are seeds."""

import gzip
import json
from collections.abc import Callable
from itertools import product

import pytest

from larbinpy.observe.report.formats import Report, json_pieces, whole
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


def listed(*urls: str, index: bool = False) -> Answer:
    """A sitemap, or an index of sitemaps."""
    outer, inner = ("sitemapindex", "sitemap") if index else ("urlset", "url")
    items = "".join(f"<{inner}><loc>{url}</loc></{inner}>" for url in urls)
    return Answer(f"<{outer}>{items}</{outer}>".encode(), "application/xml")


@pytest.fixture
def mapped(web: Web) -> Web:
    """A site whose robots.txt names an index of two sitemaps, all outside of /guide/."""
    web.robots("a.test", f"Sitemap: {web.url('a.test/index.xml')}")
    maps = [web.url(f"a.test/map{n}.xml") for n in (1, 2)]
    web.put("a.test/index.xml", listed(*maps, web.url("b.test/map.xml"), index=True))
    web.put("a.test/map1.xml", listed(web.url("a.test/guide/1"), web.url("a.test/blog/1")))
    web.put("a.test/map2.xml", listed(web.url("a.test/guide/2"), web.url("b.test/1")))
    web.put("b.test/map.xml", listed(web.url("b.test/2")))
    web.page("a.test/guide/")
    web.page("a.test/guide/1", "/guide/deeper")
    web.pages("a.test/guide/2", "a.test/guide/deeper", "a.test/blog/1", "b.test/1", "b.test/2")
    return web


MAPS = {"a.test/index.xml", "a.test/map1.xml", "a.test/map2.xml"}


def test_stay_prefix_reads_the_sitemaps_of_the_host_and_tests_their_links(
    mapped: Web, crawl: Worlds
) -> None:
    world = crawl("stay prefix", seeds=["a.test/guide/"])
    pages = {f"a.test/guide/{name}" for name in ("", "1", "2", "deeper")}
    assert world.fetched == MAPS | pages


def test_sitemaps_cost_no_depth(mapped: Web, crawl: Worlds) -> None:
    world = crawl("stay host", "depthInSite 1", seeds=["a.test/guide/"])
    pages = {f"a.test/{name}" for name in ("guide/", "guide/1", "guide/2", "blog/1")}
    assert world.fetched == MAPS | pages
    assert world.fates["a.test/map1.xml"]["depth"] == 1
    alone = crawl("stay host", "depthInSite 0", seeds=["a.test/guide/"])
    assert alone.fetched == {"a.test/guide/"}


def test_a_sitemap_as_a_seed_gives_its_pages(mapped: Web, crawl: Worlds) -> None:
    mapped.robots("a.test", "User-agent: *")
    pages = {f"a.test/{name}" for name in ("guide/1", "guide/2", "blog/1")}
    world = crawl("stay host", "depthInSite 1", seeds=["a.test/index.xml"])
    assert world.fetched == MAPS | pages


def test_an_index_that_names_itself_or_others_without_end_ends(web: Web, crawl: Worlds) -> None:
    for n in range(20):
        following = web.url(f"a.test/{n + 1}.xml")
        web.put(f"a.test/{n}.xml", listed(web.url("a.test/0.xml"), following, index=True))
    world = crawl("stay host", seeds=["a.test/0.xml"])
    assert len(world.fetched) == 11


def test_sitemaps_count_as_pages(mapped: Web, crawl: Worlds) -> None:
    world = crawl("stay host", "limitPageBySite 3", seeds=["a.test/guide/"])
    assert len(world.fetched) == 3
    assert "a.test/index.xml" in world.fetched


# A sitemap that nothing names.


@pytest.fixture
def unnamed(web: Web) -> Web:
    """A site whose sitemap has one page that no link leads to."""
    web.page("a.test/")
    web.page("a.test/hidden")
    web.put("a.test/sitemap.xml", listed(web.url("a.test/hidden")))
    return web


@pytest.mark.parametrize("robots", ["User-agent: *\nDisallow: /private", None])
def test_a_sitemap_is_looked_for_where_robots_txt_names_none(
    unnamed: Web, crawl: Worlds, robots: str | None
) -> None:
    if robots is not None:
        unnamed.robots("a.test", robots)
    world = crawl("stay host", "guessSitemap", seeds=["a.test/"])
    assert world.fetched == {"a.test/", "a.test/hidden", "a.test/sitemap.xml"}


def test_no_sitemap_is_looked_for_if_that_is_off_or_robots_txt_names_one(
    unnamed: Web, crawl: Worlds
) -> None:
    world = crawl("stay host", "guessSitemap off", seeds=["a.test/"])
    assert [asked.path for asked in world.pages_asked] == ["/"]
    unnamed.robots("a.test", f"Sitemap: {unnamed.url('a.test/other.xml')}")
    unnamed.put("a.test/other.xml", listed())
    world = crawl("stay host", "guessSitemap", seeds=["a.test/"])
    assert {asked.path for asked in world.pages_asked} == {"/", "/other.xml"}


def test_no_sitemap_is_looked_for_where_robots_txt_forbids_it(unnamed: Web, crawl: Worlds) -> None:
    unnamed.robots("a.test", "User-agent: *\nDisallow: /*.xml")
    world = crawl("stay host", "guessSitemap", seeds=["a.test/"])
    assert [asked.path for asked in world.pages_asked] == ["/"]
    assert set(world.fates) == {"a.test/"}


def test_no_sitemap_is_looked_for_if_its_pages_would_be_too_deep(
    unnamed: Web, crawl: Worlds
) -> None:
    world = crawl("stay host", "guessSitemap", "depthInSite 0", seeds=["a.test/"])
    assert [asked.path for asked in world.pages_asked] == ["/"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"no", "text/plain", 404),
        Answer(b"no", "text/plain", 503),
        Answer(b"<!doctype html><title>Not found</title><a href=/x>x</a>", "text/html"),
        Answer(b"", "application/xml"),
    ],
)
def test_a_sitemap_that_is_not_there_leaves_no_trace(
    web: Web, crawl: Worlds, answer: Answer
) -> None:
    web.page("a.test/")
    web.put("a.test/sitemap.xml", answer)
    world = crawl("stay host", "guessSitemap", "retries 2", "waitDuration 5", seeds=["a.test/"])
    assert sorted(asked.path for asked in world.pages_asked) == ["/", "/sitemap.xml"]
    assert set(world.fates) == {"a.test/"}
    report = world.crawl.report
    assert (report["pages"], report["success"]) == (1, 1)
    assert sum(world.report_outcomes.values()) == 1
    assert report["retries"] == 0 and report["urls_queued"] == 0


@pytest.mark.parametrize("seed", ["a.test/", "a.test/sitemap.xml"])
def test_a_link_to_a_sitemap_that_was_looked_for_counts(web: Web, crawl: Worlds, seed: str) -> None:
    """It was asked for first, in vain; so the link to it is fetched as any other."""
    web.page("a.test/", "/1")
    web.page("a.test/1", "/2")
    web.page("a.test/2", "/sitemap.xml")
    web.page("a.test/sitemap.xml", "/3")
    web.page("a.test/3")
    world = crawl("stay host", "guessSitemap", seeds=[seed, "a.test/"])
    names = {"", "1", "2", "3", "sitemap.xml"}
    assert world.fetched == {f"a.test/{name}" for name in names}
    web.put("a.test/sitemap.xml", Answer(b"no", "text/plain", 404))
    world = crawl("stay host", "guessSitemap", seeds=[seed, "a.test/"])
    assert world.fates["a.test/sitemap.xml"]["outcome"] == "err40X"


@pytest.mark.parametrize("linked_at", ["a.test/", "a.test/2"])
@pytest.mark.parametrize("seed", ["a.test/", "a.test/2", "a.test/sitemap.xml"])
def test_a_sitemap_that_is_there_is_logged_once(
    unnamed: Web, crawl: Worlds, seed: str, linked_at: str
) -> None:
    links = {"a.test/": ["/1"], "a.test/1": ["/2"], "a.test/2": []}
    links[linked_at].append("/sitemap.xml")
    for page, targets in links.items():
        unnamed.page(page, *targets)
    world = crawl("stay host", "guessSitemap", seeds=[seed, "a.test/"])
    assert world.fetched == {*links, "a.test/hidden", "a.test/sitemap.xml"}
    assert world.crawl.report["success"] == 5


def test_a_link_to_a_sitemap_that_is_not_there_is_reported_by_a_link_check(
    web: Web, crawl: Worlds
) -> None:
    web.page("a.test/", "/sitemap.xml")
    world = crawl("checkLinks", "guessSitemap", seeds=["a.test/"])
    assert world.fates["a.test/sitemap.xml"]["outcome"] == "err40X"


def test_a_sitemap_that_is_found_takes_no_page_of_a_limit(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/1")
    web.pages("a.test/1", "a.test/2")
    web.put("a.test/sitemap.xml", listed(web.url("a.test/2")))
    world = crawl("stay host", "guessSitemap", "limitPageBySite 3", seeds=["a.test/"])
    assert world.fetched == {"a.test/", "a.test/1", "a.test/2", "a.test/sitemap.xml"}


def test_a_sitemap_is_no_reason_to_probe_a_site_of_one_page(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    world = crawl("guessSitemap", "probeSoft404", seeds=["a.test/"])
    assert sorted(asked.path for asked in world.pages_asked) == ["/", "/sitemap.xml"]


def test_a_redirect_of_a_sitemap_is_followed_to_sitemaps_alone(web: Web, crawl: Worlds) -> None:
    targets = {"a.test": "/wp-sitemap.xml", "b.test": "/start", "c.test": "/gone.xml"}
    for host, target in targets.items():
        web.page(f"{host}/", "/start")
        web.put(f"{host}/sitemap.xml", Answer(status=302, headers=(f"Location: {target}",)))
        web.page(f"{host}/start")
    web.put("a.test/wp-sitemap.xml", listed(web.url("a.test/hidden")))
    web.page("a.test/hidden")
    world = crawl("stay host", "guessSitemap", seeds=["a.test/", "b.test/", "c.test/"])
    pages = {f"{host}/{name}" for host in targets for name in ("", "start")}
    assert set(world.fates) == pages | {"a.test/wp-sitemap.xml", "a.test/hidden"}
    assert world.fetched == set(world.fates)
    assert "/gone.xml" in {asked.path for asked in world.pages_asked}


# Sitemaps that are longer than maxPageSize.


@pytest.fixture
def long_map(web: Web) -> Answer:
    """A site whose last page is named by a sitemap of 3 kB alone, beyond its first 2 kB."""
    web.page("a.test/")
    web.page("a.test/last")
    others = [web.url(f"b.test/{number}") for number in range(70)]
    return listed(*others, web.url("a.test/last"))


def xml(answer: Answer) -> Answer:
    return answer


def packed(answer: Answer) -> Answer:
    return Answer(gzip.compress(answer.body, mtime=0), "application/gzip")


def plain(answer: Answer) -> Answer:
    return Answer(answer.body.replace(b"<loc>", b"\n").replace(b"</loc>", b"\n"), "text/plain")


@pytest.mark.parametrize(
    ("path", "dress"),
    [
        *product(["sitemap.xml", "named.xml", "inner.xml"], [xml, packed, plain]),
        ("seed.xml", xml),
        ("seed.xml.gz", packed),
    ],
)
def test_a_sitemap_longer_than_a_page_is_read(
    web: Web, crawl: Worlds, long_map: Answer, path: str, dress: Callable[[Answer], Answer]
) -> None:
    web.put(f"a.test/{path}", dress(long_map))
    if path == "named.xml":
        web.robots("a.test", f"Sitemap: {web.url('a.test/named.xml')}")
    if path == "inner.xml":
        web.robots("a.test", f"Sitemap: {web.url('a.test/index.xml')}")
        web.put("a.test/index.xml", listed(web.url("a.test/inner.xml"), index=True))
    seeds = ["a.test/", *([f"a.test/{path}"] if path.startswith("seed") else [])]
    world = crawl("stay host", "guessSitemap", "maxPageSize 200", seeds=seeds)
    assert {"a.test/last", f"a.test/{path}"} <= world.fetched
    assert "longer than maxPageSize" in world.fates[f"a.test/{path}"]["detail"]


def test_a_sitemap_that_is_read_in_part_is_in_the_report(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    web.page("a.test/first")
    damaged = gzip.compress(listed(web.url("a.test/first"), *["x" * 99] * 99).body)[:-9]
    web.put("a.test/sitemap.xml", Answer(damaged, "application/gzip"))
    world = crawl("stay host", "guessSitemap", seeds=["a.test/"])
    assert "a.test/first" in world.fetched
    report = Report(world.folder / "state")
    url, why = web.url("a.test/sitemap.xml"), "read in part: its gzip file ends too early"
    assert report.summary.parts == {url: why}
    lines = list(whole(report, everything=False))
    start = lines.index("Sitemaps and feeds that were read in part: 1")
    assert lines[start + 1 : start + 3] == [f"  {url}", f"      {why}"]
    assert json.loads("".join(json_pieces(report)))["read_in_part"] == [{"url": url, "reason": why}]
