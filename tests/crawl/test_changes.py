"""Whole crawls, one after the other, into one database: the changes that it reports."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.crawling import Asked, World, html, missing, moved
from tests.support.webserver import Act, reply

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow

TEXT = "There is a text of some length here, so that it looks like one that people would read."
GONE = reply(b"", status="410 Gone")
ERROR = reply(b"", status="500 Internal Server Error")
FORBIDDEN = reply(b"", status="403 Forbidden")
PERMANENT = "301 Moved Permanently"
LEAVES = [f"/{number}" for number in range(60)]


class Site:
    """Pages with a shell that differs in each reply; `pages` has those that are otherwise."""

    def __init__(self, world: World) -> None:
        self.links = list(LEAVES)
        self.pages: dict[str, Any] = {}
        self._replies = 0
        self.web = world.web(self._answer, "site.test")

    def _answer(self, asked: Asked) -> Iterator[Any]:
        path = asked.path
        self._replies += 1
        answer = self.pages.get(path, f"The page {path} as it was.")
        if path == "/":
            links = "".join(f"<a href={link}>{link}</a> " for link in self.links)
            yield html(text=f"the root of all<nav>{links}</nav>")
        elif path == "/robots.txt" or answer is None:
            yield missing()
        elif isinstance(answer, str):
            yield self._page(path, answer)
        else:
            yield answer

    def _page(self, path: str, text: str) -> bytes:
        number = self._replies
        return html(
            text=f"""<header><nav><a href=/>Home</a> {number} pages</nav></header>
            <main><h1>Page {path}</h1><p>{TEXT}</p><p>{text}</p></main>
            <aside><p>Today is day {number}. <b>{number * 7}</b> visitors.</p></aside>
            <div class=ads><p>Buy {number} things.</p></div>
            <footer>Made in {number} ms by <a href=/>us</a>.</footer>"""
        )


@pytest.fixture
def site(world: World) -> Site:
    made = Site(world)
    world.conf(
        "outputMode database", "noExternalLinks", "limitTime 0", "retries 0",
        f"startUrl {made.web.url()}",
    )  # fmt: skip
    assert world.run().process.returncode == 0
    return made


def base(world: World) -> Any:
    return closing(sqlite3.connect(world.out / "larbinpy.db"))


def age(world: World, hours: int) -> None:
    """Let all that the database has be older by some hours."""
    times = {
        "page": ("fetched", "first_seen", "changed", "missing", "gone"),
        "change": ("at",),
    }
    with base(world) as tables:
        for table, columns in times.items():
            older = (f"{each} = strftime('%Y-%m-%dT%H:%M:%SZ', {each}, ?)" for each in columns)
            values = [f"-{hours} hours"] * len(columns)
            tables.execute(f"UPDATE {table} SET {', '.join(older)}", values)
        tables.commit()


def again(world: World, hours: int = 25) -> dict[str, set[str]]:
    """Crawl again after some hours; return the paths of the changes since, by their kinds."""
    age(world, hours)
    crawler = world.run("--scratch")
    assert (crawler.process.returncode, crawler.err) == (0, "")
    found: dict[str, set[str]] = defaultdict(set)
    for line in world.larbinpy("changes", "--since", "1h", "--json").out.splitlines():
        change = json.loads(line)
        path = f"/{change['url'].split('/', 3)[3]}"
        assert path not in found[change["kind"]]
        found[change["kind"]].add(path)
    return dict(found)


def paths(*numbers: int) -> set[str]:
    return {f"/{number}" for number in numbers}


def finds(world: World, words: str) -> int:
    """The number of pages that a search finds."""
    lines = world.larbinpy("search", "--json", "-n", "100", *words.split()).out.splitlines()
    return len(lines)


def test_shells_that_change_are_no_changes(world: World, site: Site) -> None:
    assert again(world) == {}
    with base(world) as tables:
        assert tables.execute("SELECT DISTINCT visits, changes FROM page").fetchall() == [(2, 0)]


def test_the_report_is_exact(world: World, site: Site) -> None:
    for number in range(10):
        site.pages[f"/{number}"] = f"A new text of page {number}."
    site.links += ["/a", "/b"]
    site.pages |= {"/10": GONE, "/11": GONE, "/12": None, "/13": None}
    site.pages |= {"/14": moved("/a", PERMANENT), "/15": moved("/b", PERMANENT)}
    site.pages |= {"/16": moved("/1", PERMANENT), "/17": moved("http://b.test/", PERMANENT)}
    site.pages |= {"/18": moved("/1"), "/19": moved("/19", PERMANENT)}
    failing = {"/20": ERROR, "/21": FORBIDDEN, "/22": Act.RESET}
    site.pages |= failing
    assert again(world) == {
        "changed": paths(*range(10)),
        "new": {"/a", "/b"},
        "gone": paths(10, 11),
        "moved": paths(14, 15, 16),
    }
    # All other copies stand, also of those that are missing.
    assert finds(world, "page") == len(LEAVES) + 2 - 2 - 3
    with base(world) as tables:
        missing = tables.execute("SELECT url FROM page WHERE missing IS NOT NULL AND gone IS NULL")
        assert {url for (url,) in missing} == {
            *(site.web.url(f"/{number}") for number in (12, 13, 17, 18)),
        }
        for path in failing:
            kept = tables.execute(
                "SELECT visits, status, gone FROM page WHERE url = ?", (site.web.url(path),)
            )
            assert kept.fetchall() == [(1, 200, None)]

    # Some hours later it is not a day yet.
    assert again(world, hours=5) == {}
    site.pages["/13"] = "The page /13 as it was."
    for path in failing:
        del site.pages[path]
    assert again(world, hours=20) == {"gone": {"/12"}, "moved": {"/17", "/18"}}
    assert again(world) == {}

    site.pages |= {path: f"The page {path} as it was." for path in ("/10", "/12", "/14", "/17")}
    assert again(world) == {"back": paths(10, 12, 14, 17)}


def test_a_page_that_alternates(world: World, site: Site) -> None:
    found = []
    for number in range(4):
        site.pages["/1"] = f"Version {'AB'[number % 2]}."
        found.append(again(world))
    assert found == [{"changed": {"/1"}}, {"changed": {"/1"}}, {}, {}]
    assert finds(world, "version B") == 1


def test_a_site_that_is_down_loses_nothing(world: World, site: Site) -> None:
    before = finds(world, "page")
    for answer in (ERROR, FORBIDDEN, reply(b"", status="503 Service Unavailable")):
        site.pages |= dict.fromkeys(LEAVES, answer)
        assert again(world) == {}
        assert finds(world, "page") == before


def test_the_history_of_a_page(world: World, site: Site) -> None:
    site.pages["/1"] = moved("/2", PERMANENT)
    again(world)
    lines = world.larbinpy("show", site.web.url("/1"), "--history").out.splitlines()
    assert [line.split()[1:] for line in lines[:2]] == [["new"], ["moved", site.web.url("/2")]]
    assert lines[2].startswith("2 visits, ")
