"""Whole crawls that visit the pages of their database again."""

import json
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Any

import pytest

from larbinpy.page import timestamp
from tests.support.crawling import Asked, Crawler, Web, World, missing, one_line
from tests.support.revisits import KilledRound, all_due, check_report, run, served
from tests.support.webserver import Until, reply

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow

#: Each page is due a second after its visit.
CONF = ("outputMode database", "limitTime 0", "revisitMin 1s", "revisitMax 1s")


class Site:
    """A site with ETags: its pages have a main text, and a shell around it."""

    def __init__(self, world: World, pages: int) -> None:
        self.texts = {f"/{number}": f"the text of page {number}" for number in range(pages)}
        #: Path -> another shell.
        self.shells: dict[str, str] = {}
        self.broken: set[str] = set()
        #: Path -> the status of a reply without a body.
        self.empty: dict[str, str] = {}
        self.noindex: set[str] = set()
        #: The ETag of all pages; None for one that depends on the page.
        self.etag: str | None = None
        #: The number of replies that it still sends.
        self.budget = inf
        #: Paths that were asked for, and those of which a body was sent.
        self.asked: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.web: Web = world.web(self._answer, "site.test")

    def _answer(self, asked: Asked) -> Iterator[Any]:
        yield Until(lambda: self.budget > 0)
        self.budget -= 1
        yield self._reply(asked)

    def _reply(self, asked: Asked) -> bytes:
        path = asked.path
        if path == "/robots.txt":
            return missing()
        self.asked[path] += 1
        if path in self.broken:
            return reply(b"", status="500 Internal Server Error")
        if path in self.empty:
            return reply(b"", "Content-Type: text/html", status=self.empty[path])
        if path != "/" and path not in self.texts:
            return missing()
        body = self._body(path)
        if path in self.noindex:
            return reply(body, "Content-Type: text/html", "X-Robots-Tag: noindex")
        etag = self.etag or f'"{hash(body)}"'
        if asked.headers.get("if-none-match") == etag:
            return reply(b"", f"ETag: {etag}", status="304 Not Modified")
        self.sent[path] += 1
        return reply(body, "Content-Type: text/html", f"ETag: {etag}")

    def _body(self, path: str) -> bytes:
        items = "".join(f'<li><a href="{each}">x</a></li>' for each in self.texts)
        menu = f"<ul>{items}</ul>" if path == "/" else self.shells.get(path, "menu")
        text = f"{self.texts.get(path, 'the root')}, {'which is long enough. ' * 20}"
        main = f"<main><h1>{path}</h1><p>{text}</p></main>"
        return f"<!DOCTYPE html><title>{path}</title><nav>{menu}</nav>{main}".encode()

    def forget(self) -> None:
        self.asked.clear()
        self.sent.clear()


def ask(world: World, question: str) -> list[Any]:
    with closing(sqlite3.connect(world.out / "larbinpy.db", timeout=10)) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return base.execute(question).fetchall()


def crawled(world: World, pages: int, *conf: str) -> Site:
    """A site of so many pages and a root, after its first crawl; all are due."""
    site = Site(world, pages)
    world.conf(*CONF, *conf, f"startUrl {site.web.url()}")
    crawler = world.run()
    assert (crawler.process.returncode, crawler.err) == (0, "")
    assert len(ask(world, "SELECT 1 FROM page")) == pages + 1
    site.forget()
    await_due(world)
    return site


def await_due(world: World) -> None:
    [(due,)] = ask(world, "SELECT max(due) FROM page")
    world.until(lambda: timestamp(time.time()) >= due)


def visiting(world: World, *arguments: str) -> Crawler:
    options = ("--progress", "none", "--report", str(world.report))
    return world.start("revisit", *options, *arguments)


def visit(world: World, *arguments: str) -> Crawler:
    crawler = visiting(world, *arguments)
    world.finish(crawler)
    return crawler


def changes(world: World) -> Counter[tuple[str, str]]:
    """Kinds and paths of all changes."""
    rows = ask(world, "SELECT c.kind, url FROM change AS c JOIN page ON page.id = c.page")
    return Counter((kind, f"/{url.rpartition('/')[2]}") for kind, url in rows)


def test_a_round(world: World) -> None:
    site = crawled(world, 60)
    before, known = ask(world, "SELECT url, text_hash, fetched FROM page"), changes(world)
    changed = [f"/{number}" for number in range(5)]
    site.texts |= dict.fromkeys(changed, "a new text")
    site.shells = {f"/{number}": "another menu" for number in range(5, 8)}
    failing = [f"/{number}" for number in range(10, 14)]
    site.broken = set(failing)
    site.texts |= {f"/new{number}": "a text that is new" for number in range(3)}
    crawler = visit(world)
    assert (crawler.process.returncode, crawler.err) == (0, "")
    news = {("changed", path): 1 for path in changed}
    news |= {("new", f"/new{number}"): 1 for number in range(3)}
    assert changes(world) - known == news
    # A page that fails has its old copy, and four tries.
    asked = {path: 4 if path in site.broken else 1 for path in site.asked}
    assert site.asked == asked
    assert len(asked) == 64
    after = ask(world, "SELECT url, text_hash, fetched FROM page")
    assert {row for row in before if row in after} == {
        row for row in before if f"/{row[0].rpartition('/')[2]}" in failing
    }
    fates = {fate["url"]: fate for fate in world.fates}
    same = [fates[site.web.url(f"/{number}")] for number in range(14, 60)]
    assert {fate["outcome"] for fate in same} == {"success"}
    unsent = [fate["size"] for fate in same if fate["status"] == 304]
    # One visit in 32 asks for the whole page; which one, depends on the port of the site.
    assert len(unsent) > 30 and not any(unsent)
    assert len(site.sent.keys() - {"/", *news, *site.shells}) < 20
    assert world.reported()["stop_reason"] == "finished"


def test_the_last_line_of_a_round(world: World) -> None:
    """It counts the replies 304: the database says which texts have changed, as none has here."""
    crawled(world, 5, "outputMode database,mirror")
    crawler = world.larbinpy("revisit", "--progress", "log")
    assert crawler.err.splitlines()[-1] == (
        "larbinpy: finished: 6 pages visited (304 Not Modified: 0, failed: 0); "
        "larbinpy changes says which have changed"
    )


def test_a_page_that_answers_with_nothing_stays(world: World) -> None:
    site = crawled(world, 3)
    site.empty = {"/0": "204 No Content", "/1": "200 OK", "/2": "202 Accepted"}
    crawler = visit(world)
    assert crawler.process.returncode == 0
    assert site.asked.total() == 4
    texts = ask(world, "SELECT count(*) FROM page WHERE visits = 1 AND gone IS NULL")
    assert texts == [(3,)]
    # All are of the first crawl.
    assert ask(world, "SELECT count(*) FROM change") == [(4,)]


def test_explain_says_that_a_page_asks_not_to_be_indexed(world: World) -> None:
    site = crawled(world, 1)
    site.noindex = {"/0"}
    assert visit(world).process.returncode == 0
    answer = json.loads(world.larbinpy("explain", site.web.url("/0"), "--json").out)
    assert answer["reason"] == "success"
    assert answer["database"] == "it has left the index, as it asks not to be indexed (noindex)"
    assert "database" not in json.loads(world.larbinpy("explain", site.web.url(), "--json").out)


def test_a_round_when_nothing_is_due(world: World) -> None:
    site = Site(world, 3)
    world.conf("outputMode database", "limitTime 0", f"startUrl {site.web.url()}")
    world.run()
    site.forget()
    crawler = world.larbinpy("revisit", "--progress", "log")
    assert crawler.process.returncode == 0
    assert "no page was due" in crawler.err
    assert not site.asked


def test_a_budget_takes_the_first_that_are_due(world: World) -> None:
    site = crawled(world, 30)
    order = [url for (url,) in ask(world, "SELECT url FROM page ORDER BY due, key")]
    visit(world, "--budget", "10")
    assert {site.web.url(path) for path in site.asked} == set(order[:10])
    site.forget()
    visit(world, "--budget", "21")
    assert set(order[10:]) <= {site.web.url(path) for path in site.asked}
    assert site.asked.total() == 21


def test_a_round_that_was_stopped_goes_on(world: World) -> None:
    site = crawled(world, 40)
    site.budget = 15
    crawler = visiting(world)
    world.until(lambda: site.asked.total() >= 14)
    crawler.signal(signal.SIGINT)
    assert world.finish(crawler) == 11
    site.budget = inf
    # Those that it has visited are due, but not in this round.
    await_due(world)
    crawler = visit(world)
    assert (crawler.process.returncode, crawler.err) == (0, "")
    # A request that was in flight is repeated.
    assert len(site.asked) == 41
    assert site.asked.total() <= 41 + 2
    assert ask(world, "SELECT visits, count(*) FROM page GROUP BY visits") == [(2, 41)]


def test_following(world: World) -> None:
    site = crawled(world, 5)
    crawler = visiting(world, "--follow")
    world.until(lambda: min(site.asked[path] for path in ("/", *site.texts)) >= 2)
    site.texts["/0"] = "another text"
    site.texts["/new"] = "a text that is new"
    wanted = {("changed", "/0"), ("new", "/new")}
    world.until(lambda: wanted <= changes(world).keys())
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 11
    assert crawler.err == ""


def test_a_site_whose_etags_are_wrong_is_asked_without_them(world: World) -> None:
    # One visit in 32 asks for the whole page, by a hash of URLs that have the port in them: of so
    # many pages some do.
    site = Site(world, 500)
    site.etag = '"always"'
    world.conf(*CONF, f"startUrl {site.web.url()}")
    world.run()
    await_due(world)
    site.texts = dict.fromkeys(site.texts, "all are new")
    site.forget()
    visit(world)
    noticed = [path for kind, path in changes(world) if kind == "changed"]
    assert 0 < len(noticed) < 100
    assert set(noticed) == site.sent.keys() & site.texts.keys()
    await_due(world)
    visit(world)
    assert sum(kind == "changed" for kind, _ in changes(world)) == 500


def test_pages_are_fetched_whole_for_other_outputs(world: World) -> None:
    site = crawled(world, 5, "outputMode database,mirror")
    visit(world)
    assert site.sent == site.asked
    assert site.asked.total() == 6


def test_a_page_that_a_rule_rejects_now_keeps_its_copy(world: World) -> None:
    site = crawled(world, 5)
    crawler = visit(world, "--set", "reject=**/3")
    assert (crawler.process.returncode, crawler.err) == (0, "")
    assert "/3" not in site.asked
    assert site.asked.total() == 5
    url = site.web.url("/3")
    assert ask(world, f"SELECT gone, visits, due > fetched FROM page WHERE url = '{url}'") == [
        (None, 1, 1)
    ]


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("outputMode=mirror", "revisit: needs outputMode database"),
        ("pageNoDuplicate=on", "revisit and pageNoDuplicate cannot be used together"),
        ("checkLinks=on", "revisit and checkLinks cannot be used together"),
        ("join=redis://127.0.0.1/x", "revisit and join cannot be used together"),
        ("revisitMin=2d", "revisitMin 2d is longer than revisitMax 1s; set"),
        ("stateDir=nowhere", "nowhere: no saved crawl here"),
    ],
)
def test_settings_that_do_not_go_together(world: World, setting: str, reason: str) -> None:
    world.conf(*CONF)
    crawler = visit(world, "--set", setting)
    assert crawler.process.returncode == 2
    assert reason in one_line(crawler)


@pytest.mark.parametrize("left", [None, b""])
def test_a_lost_database_is_no_round_without_pages(world: World, left: bytes | None) -> None:
    site = crawled(world, 2)
    path = world.out / "larbinpy.db"
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    crawler = visit(world)
    assert crawler.process.returncode == 2
    assert "no database here, so no page is due; put the file back" in one_line(crawler)
    assert path.exists() is (left is not None)
    assert not site.asked


def test_a_round_with_kills(tmp_path: Path) -> None:
    """``scripts/revisit-test`` does this for minutes."""
    with served(tmp_path, 1000) as site:
        run(tmp_path, "crawl", "--progress", "none")
        all_due(tmp_path)
        site.set(1, rate=70)
        test = KilledRound(tmp_path, site, kills=5, seed=1)
        test.run()
        assert test.findings == []
        assert test.kills["crawl"]
        check_report(tmp_path, site.web, test.began)
