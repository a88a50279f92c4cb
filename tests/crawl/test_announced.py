"""Whole crawls of sites whose sitemaps and feeds say which pages have changed."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from larbinpy.page import timestamp
from tests.support.crawling import Asked, Web, World, missing
from tests.support.webserver import reply

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow

#: A page is due days after its visit, unless a test makes it due.
CONF = ("outputMode database", "limitTime 0", "revisitMin 1s", "revisitMax 90d")
PAGES = [f"/{number}" for number in range(8)]


class Site:
    """A site of pages with a sitemap and a feed, neither of which is linked to by the pages."""

    def __init__(self, world: World) -> None:
        self.versions = dict.fromkeys(PAGES, 0)
        #: Path -> the date that the document gives.
        self.sitemap: dict[str, str] = dict.fromkeys(PAGES, "2026-01-02")
        self.feed: dict[str, str] = {}
        #: Further headers of both.
        self.headers: tuple[str, ...] = ()
        self.asked: Counter[str] = Counter()
        self.web: Web = world.web(self._answer, "site.test")
        self._world = world

    def _answer(self, asked: Asked) -> Iterator[Any]:
        yield self._reply(asked)

    def _reply(self, asked: Asked) -> bytes:
        path = asked.path
        if path == "/robots.txt":
            named = f"Sitemap: {self.web.url('/sitemap.xml')}\n"
            return reply(named.encode(), "Content-Type: text/plain")
        self.asked[path] += 1
        if path == "/sitemap.xml":
            return self._xml(self._sitemap())
        if path == "/feed":
            return self._xml(self._feed())
        if path not in self.versions:
            return missing()
        text = f"the text of {path}, version {self.versions[path]}, which is long enough. " * 9
        feed = '<link rel="alternate" type="application/atom+xml" href="/feed">'
        body = f"<!DOCTYPE html>{feed}<title>{path}</title><main><p>{text}</p></main>"
        return reply(body.encode(), "Content-Type: text/html")

    def _xml(self, text: str) -> bytes:
        return reply(text.encode(), "Content-Type: application/xml", *self.headers)

    def _sitemap(self) -> str:
        entries = (
            f"<url><loc>{self.web.url(path)}</loc><lastmod>{date}</lastmod></url>"
            for path, date in self.sitemap.items()
        )
        return f"<urlset>{''.join(entries)}</urlset>"

    def _feed(self) -> str:
        entries = (
            f"<entry><title>{path}</title><link href='{self.web.url(path)}'/>"
            f"<updated>{date}</updated></entry>"
            for path, date in self.feed.items()
        )
        return f"<feed xmlns='http://www.w3.org/2005/Atom'>{''.join(entries)}</feed>"

    def crawl(self) -> None:
        self._world.conf(*CONF, f"startUrl {self.web.url('/0')}")
        crawler = self._world.run()
        assert (crawler.process.returncode, crawler.err) == (0, "")
        assert self.asked.keys() == {*PAGES, "/sitemap.xml", "/feed"}

    def round(self, *due: str, arguments: Sequence[str] = ()) -> Counter[str]:
        """A round, a week after the last one; `due` are paths that are due then.

        Returns the pages that were asked for.
        """
        with closing(sqlite3.connect(self._world.out / "larbinpy.db")) as base, base:
            base.execute("UPDATE page SET fetched = ?, due = ?", (ago(7), ago(-7)))
            past = [(ago(1), self.web.url(path)) for path in due]
            base.executemany("UPDATE page SET due = ? WHERE url = ?", past)
        self.asked.clear()
        options = ("--progress", "none", "--report", str(self._world.report))
        crawler = self._world.start("revisit", *options, *arguments)
        assert self._world.finish(crawler) == 0
        assert crawler.err == ""
        return Counter(self.asked)

    def change(self, *paths: str) -> None:
        for path in paths:
            self.versions[path] += 1

    def trust(self) -> Any:
        with closing(sqlite3.connect(self._world.out / "larbinpy.db")) as base:
            return base.execute("SELECT agreed, contradicted FROM host").fetchone()

    def has_version(self, path: str) -> bool:
        """Whether the database has the page as it is now."""
        shown = self._world.larbinpy("show", "--text", self.web.url(path)).out
        return f"version {self.versions[path]}," in shown


def ago(days: float) -> str:
    return timestamp(time.time() - days * 86_400)


@pytest.fixture
def site(world: World) -> Site:
    """After its first crawl."""
    made = Site(world)
    made.crawl()
    return made


def test_a_page_that_a_sitemap_says_has_changed_is_visited_in_the_same_round(site: Site) -> None:
    site.change("/3", "/4")
    site.sitemap["/3"] = ago(2)
    assert site.round("/sitemap.xml") == {"/sitemap.xml": 1, "/3": 1}
    assert site.has_version("/3")
    # Nobody said so of this one.
    assert not site.has_version("/4")
    assert site.trust() == (1, 0)
    assert site.round() == {}


def test_a_sitemap_that_says_that_all_pages_are_new_is_believed_once(site: Site) -> None:
    site.sitemap = dict.fromkeys(PAGES, ago(6))
    assert site.round("/sitemap.xml") == dict.fromkeys(["/sitemap.xml", *PAGES], 1)
    assert site.trust() == (0, len(PAGES))
    for days in (5, 4, 3):
        site.sitemap = dict.fromkeys(PAGES, ago(days))
        assert site.round("/sitemap.xml", "/0") == {"/sitemap.xml": 1, "/0": 1}
    assert site.trust() == (0, len(PAGES) + 3)
    # Nor does a date count that is true for once.
    site.change("/5")
    site.sitemap["/5"] = ago(0.5)
    assert site.round("/sitemap.xml") == {"/sitemap.xml": 1}


def test_a_feed_announces_changes(site: Site) -> None:
    site.change("/6")
    site.feed = {"/6": ago(3), "/7": ago(9)}
    assert site.round("/feed") == {"/feed": 1, "/6": 1}
    assert site.has_version("/6")
    assert site.trust() == (1, 0)


def test_a_page_that_is_new_in_a_sitemap_is_fetched(site: Site) -> None:
    site.versions["/new"] = 0
    site.sitemap["/new"] = ago(2)
    assert site.round("/sitemap.xml") == {"/sitemap.xml": 1, "/new": 1}
    assert site.round() == {}


def test_a_budget_holds_for_announced_changes(site: Site) -> None:
    site.change(*PAGES)
    site.sitemap = dict.fromkeys(PAGES, ago(2))
    assert site.round("/sitemap.xml", arguments=("--budget", "4")).total() == 4


def test_a_sitemap_that_is_not_to_be_indexed_counts_and_is_not_found(world: World) -> None:
    site = Site(world)
    site.headers = ("X-Robots-Tag: noindex, follow",)
    site.crawl()
    site.change("/3", "/6")
    site.versions["/new"] = 0
    site.sitemap |= {"/3": ago(2), "/new": ago(2)}
    site.feed = {"/6": ago(3)}
    assert site.round("/sitemap.xml", "/feed") == dict.fromkeys(
        ["/sitemap.xml", "/feed", "/3", "/6", "/new"], 1
    )
    assert site.has_version("/3")
    assert site.has_version("/6")
    assert site.trust() == (2, 0)
    lines = world.larbinpy("export", "--format", "jsonl").out.splitlines()
    exported = {json.loads(line)["url"] for line in lines}
    assert exported == set(map(site.web.url, site.versions))
    assert world.larbinpy("search", "inurl:sitemap", "--json").out == ""
