"""Whole crawls into a content database: its rows, the end, stops, kills, a spool that is full."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Any

import pytest

from larbinpy.database.indexer.process import drain
from larbinpy.database.indexer.reader import ReadOptions
from larbinpy.storage import spool
from tests.support.crawling import Asked, Web, World, html, missing, moved, ok, one_line
from tests.support.processes import indexer_of, kill, readers_of
from tests.support.smalldisk import small_disk
from tests.support.webserver import Until, reply

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow

LEAVES = [f"/{number}" for number in range(60)]
DATABASE = ("outputMode database", "noExternalLinks", "limitTime 0")


class Site:
    """A site whose pages a test changes; `budget` is the number of replies that it still sends."""

    def __init__(self, world: World) -> None:
        self.pages: dict[str, bytes] = {"/": html(*LEAVES, text="the root of all")}
        self.pages |= {leaf: html(text=f"leaf {leaf} alone") for leaf in LEAVES}
        self.budget = inf
        self.web: Web = world.web(self._answer, "site.test")

    def _answer(self, asked: Asked) -> Iterator[Any]:
        yield Until(lambda: self.budget > 0)
        self.budget -= 1
        yield self.pages.get(asked.path, missing())


@pytest.fixture
def site(world: World) -> Site:
    return Site(world)


def configured(world: World, site: Site, *lines: str) -> None:
    world.conf(*DATABASE, *lines, f"startUrl {site.web.url()}")


def ask(world: World, question: str) -> list[Any]:
    with closing(sqlite3.connect(world.out / "larbinpy.db")) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return base.execute(question).fetchall()


def rows(world: World) -> list[str]:
    """URLs of the pages that are not gone."""
    return [url for (url,) in ask(world, "SELECT url FROM page WHERE gone IS NULL ORDER BY url")]


def successes(world: World) -> list[str]:
    return sorted(fate["url"] for fate in world.fates if fate["outcome"] == "success")


def waiting(world: World) -> int:
    """Bytes of the spool on the disk."""
    folders = (world.state / "spool").iterdir()
    return sum(size for folder in folders for size in spool.segments(folder).values())


def test_the_database_has_the_pages_of_the_log(world: World, site: Site) -> None:
    site.pages["/1"] = moved("/2")
    site.pages["/3"] = ok(b"<meta name=robots content=noindex><p>secret")
    del site.pages["/4"]
    configured(world, site)
    crawler = world.run()
    assert (crawler.process.returncode, crawler.err) == (0, "")
    assert rows(world) == [url for url in successes(world) if not url.endswith("/3")]
    assert len(rows(world)) == 58
    # Everything was taken, so nothing waits.
    assert waiting(world) == 0
    assert world.reported()["stop_reason"] == "finished"


def test_pages_that_are_gone_the_next_time(world: World, site: Site) -> None:
    configured(world, site)
    world.run()
    assert len(rows(world)) == 61
    site.pages["/1"] = moved("/2", "301 Moved Permanently")
    site.pages["/3"] = ok(b"<meta name=robots content=noindex><p>secret")
    site.pages["/4"] = reply(b"", status="410 Gone")
    site.pages["/5"] = html(text="a new text")
    crawler = world.run("--scratch")
    assert (crawler.process.returncode, crawler.err) == (0, "")
    assert len(rows(world)) == 58
    gone = ask(world, "SELECT url FROM page WHERE gone IS NOT NULL ORDER BY url")
    assert [url for (url,) in gone] == [site.web.url(path) for path in ("/1", "/3", "/4")]
    history = "SELECT kind FROM change JOIN page ON page.id = change.page WHERE url = "
    assert ask(world, f"{history}'{site.web.url('/5')}' ORDER BY at") == [("new",), ("changed",)]


def test_a_stop_leaves_the_rest_to_the_resumed_crawl(world: World, site: Site) -> None:
    configured(world, site)
    site.budget = 20
    crawler = world.crawl()
    world.until(lambda: len(world.fates) > 10)
    # The indexer takes nothing any more, so the crawl leaves at the end of its grace.
    indexer = indexer_of(crawler.process.pid)
    assert indexer is not None
    os.kill(indexer, signal.SIGSTOP)
    crawler.signal(signal.SIGINT)
    assert world.finish(crawler) == 11
    assert crawler.err == ""
    site.budget = inf
    resumed = world.run("--resume")
    assert (resumed.process.returncode, resumed.err) == (0, "")
    assert rows(world) == successes(world)
    assert len(rows(world)) == 61


def test_a_stop_waits_a_moment_for_what_is_fetched(world: World, site: Site) -> None:
    configured(world, site)
    site.budget = 20
    crawler = world.crawl()
    world.until(lambda: len(world.fates) > 10)
    crawler.signal(signal.SIGINT)
    assert world.finish(crawler) == 11
    assert rows(world) == successes(world)
    assert 0 < len(rows(world)) < 61


def test_the_rest_of_a_stopped_crawl_is_taken_without_it(world: World, site: Site) -> None:
    configured(world, site)
    site.budget = 20
    crawler = world.crawl()
    world.until(lambda: len(world.fates) > 10)
    # Two of one kind may arrive as one.
    crawler.signal(signal.SIGINT)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 13
    report = drain(world.state, str(world.out / "larbinpy.db"), lambda report: None, ReadOptions())
    assert report.done
    covered = json.loads((world.state / "state.json").read_bytes())["log"]["length"]
    log = (world.state / "crawl.jsonl").read_bytes()[:covered].splitlines()
    assert rows(world) == sorted(
        fate["url"] for fate in map(json.loads, log) if fate["outcome"] == "success"
    )


@pytest.mark.parametrize("victim", ["indexer", "reader"])
def test_a_killed_child_costs_nothing(world: World, site: Site, victim: str) -> None:
    configured(world, site, "canReload")
    site.budget = 8
    crawler = world.crawl()
    world.until(lambda: len(world.fates) > 5)
    kills = 0
    while not crawler.ended and kills < 4:
        pid = crawler.process.pid
        victims = [indexer_of(pid)] if victim == "indexer" else readers_of(pid)
        kills += sum(map(kill, victims))
        site.budget += 5
        before = len(world.fates)
        world.until(lambda: crawler.ended or len(world.fates) > before + 3)  # noqa: B023
    site.budget = inf
    assert world.finish(crawler) == 0
    assert kills
    assert rows(world) == successes(world)
    assert len(rows(world)) == 61
    assert ask(world, "SELECT sum(visits) FROM page") == [(61,)]
    said = victim == "indexer"
    assert ("the indexer was killed by signal 9" in crawler.err) is said
    assert "Traceback" not in crawler.err


def test_a_full_spool_slows_the_crawl_down_and_loses_nothing(world: World, site: Site) -> None:
    # Nothing but a checkpoint lets the next pages in.
    configured(world, site, "canReload", "spoolMax 10K", "pagesConnexions 4")
    crawler = world.run()
    assert (crawler.process.returncode, crawler.err) == (0, "")
    assert rows(world) == successes(world)
    assert len(rows(world)) == 61


@pytest.mark.parametrize("content", [b"not a database, but a file of somebody", b""])
def test_a_foreign_file_stops_the_crawl_before_it_begins(
    world: World, site: Site, content: bytes
) -> None:
    world.out.mkdir()
    path = world.out / "larbinpy.db"
    if content:
        path.write_bytes(content)
    else:
        path.mkdir()
    configured(world, site)
    crawler = world.run()
    assert crawler.process.returncode == 2
    assert str(path.name) in one_line(crawler)
    assert not (world.state / "state.json").exists()


def test_a_path_that_can_be_no_file_stops_the_crawl_before_it_begins(
    world: World, site: Site
) -> None:
    configured(world, site)
    crawler = world.run("--set", "database=/proc/larbinpy.db")
    assert crawler.process.returncode == 2
    assert "/proc/larbinpy.db: cannot be written" in one_line(crawler)


def test_a_database_that_is_deleted_meanwhile_is_begun_anew(world: World, site: Site) -> None:
    configured(world, site)
    site.budget = 20
    crawler = world.crawl()

    def has_pages() -> bool:
        try:
            return len(rows(world)) > 5
        except sqlite3.OperationalError:
            return False  # no file or no tables yet

    world.until(has_pages)
    for path in Path(world.out).glob("larbinpy.db*"):
        path.unlink()
    # The next page to be written shows it; the crawl, which looks once a second, is still there.
    site.budget = 30
    world.until(lambda: "deleted or replaced" in crawler.err)
    site.budget = inf
    assert world.finish(crawler) == 0
    # The spool had all pages still.
    assert rows(world) == successes(world)
    assert [path.name for path in world.out.glob("larbinpy.db*")] == ["larbinpy.db"]


def test_two_crawls_share_a_database(world: World, site: Site) -> None:
    """The second waits until the first has ended."""
    configured(world, site)
    other = world.folder / "other"
    other.mkdir()
    site.budget = 5
    first = world.crawl()
    world.until(lambda: indexer_of(first.process.pid) is not None and len(world.fates) > 2)
    second = world.crawl("--set", f"stateDir={other}", "--set", "limitPage=5")
    world.until(lambda: "database: " in second.err)
    site.budget = inf
    assert world.finish(second, 60) == 0
    assert first.ended
    assert "database: " in second.err
    assert rows(world) == successes(world)


def test_scratch_drops_the_spool_and_not_the_database(world: World, site: Site) -> None:
    configured(world, site)
    world.run()
    names = os.listdir(world.state / "spool")
    site.pages["/"] = html("/1")
    world.run("--scratch")
    (name,) = os.listdir(world.state / "spool")
    assert name not in names
    assert len(rows(world)) == 61


def test_a_database_that_was_deleted_is_begun_anew(world: World, site: Site) -> None:
    configured(world, site)
    site.budget = 20
    crawler = world.crawl()
    world.until(lambda: len(world.fates) > 10)
    crawler.signal(signal.SIGTERM)
    world.finish(crawler)
    before = rows(world)
    for path in Path(world.out).glob("larbinpy.db*"):
        path.unlink()
    site.budget = inf
    assert world.run("--resume").process.returncode == 0
    # Pages that the spool still had are there again, and all that were fetched since.
    assert set(successes(world)) - set(before) <= set(rows(world))


@pytest.fixture(name="small_disk")
def _small_disk(world: World) -> Iterator[Path]:
    with small_disk(world.folder / "disk", megabytes=2) as disk:
        yield disk
        world.end_crawlers()


def test_a_full_disk_under_the_database_stops_the_indexer_alone(
    world: World, site: Site, small_disk: Path
) -> None:
    """The crawl goes on into its spool, and the rest is taken once there is room."""
    numbers = " ".join(map(str, range(8000)))
    site.pages |= {leaf: html(text=f"leaf {leaf} {numbers}{leaf}") for leaf in LEAVES}
    ballast = small_disk / "ballast"
    configured(world, site, f"database {small_disk / 'larbinpy.db'}", "canReload")
    site.budget = 5
    crawler = world.crawl()
    world.until(lambda: indexer_of(crawler.process.pid) is not None and len(world.fates) > 2)
    ballast.write_bytes(b"x" * (small_disk.stat().st_blksize * 350))
    site.budget = inf
    world.until(lambda: "database: " in crawler.err)
    world.until(lambda: len(successes(world)) == 61)
    assert not crawler.ended
    # Nothing is lost, neither by the full disk nor by a kill meanwhile.
    kill(indexer_of(crawler.process.pid))
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert world.finish(crawler, 60) == 0
    assert "Traceback" not in crawler.err
    shutil.copytree(small_disk, world.out, dirs_exist_ok=True)
    assert rows(world) == successes(world)
    assert len(rows(world)) == 61
    assert ask(world, "SELECT sum(visits) FROM page") == [(61,)]
