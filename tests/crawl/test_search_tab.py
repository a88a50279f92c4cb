"""The search of a crawl that runs: on its status page, by a process of its own."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.support.crawling import Asked, Crawler, World, html
from tests.support.ports import free_port
from tests.support.processes import children, command
from tests.support.webserver import Until

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow


class Running:
    """A crawl with a status page that waits for the reply to its last request."""

    def __init__(self, world: World, modes: str) -> None:
        self._world = world
        self.port = free_port()
        web = world.web(self._answer, "site.test")
        world.conf(
            f"outputMode {modes}", f"httpPort {self.port}", "timeoutPage 60 limitTime 0",
            f"startUrl {web.url()}",
        )  # fmt: skip
        self.is_over = False
        self.crawler: Crawler = world.crawl()
        world.until(lambda: web.count("/last") > 0)

    def _answer(self, asked: Asked) -> Iterator[Any]:
        if asked.path == "/last":
            yield Until(lambda: self.is_over)
        yield html("/moon", "/last", text=f"The moon <b>{asked.path[1:]}</b> rises.")

    def get(self, path: str) -> str:
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as reply:
            return str(reply.read().decode())

    def total(self) -> int:
        """The number of pages that are found; 0 as long as there is no database."""
        try:
            return int(json.loads(self.get("/search.json?q=moon"))["total"])
        except HTTPError as error:
            assert error.code == 503
            assert "there is no database" in json.load(error)["error"]
            return 0

    def searchers(self) -> list[int]:
        beside = children(self.crawler.process.pid)
        return [pid for pid in beside if "console.search" in command(pid)]


def test_pages_are_found_while_the_crawl_runs(world: World) -> None:
    running = Running(world, "mirror,database")
    world.until(lambda: running.total() == 2)
    page = running.get("/search.html?q=moon+rises")
    assert "2 pages" in page and ">running</span>" in page and ">Overview</a>" in page
    assert page.count("<h3") == 2 and "/moon</bdi>" in page
    assert 'href="search.html"' in running.get("/")
    [searcher] = running.searchers()
    # Ctrl-C at a terminal reaches all processes; the search goes on until the crawl has ended.
    os.kill(searcher, signal.SIGINT)
    assert running.total() == 2
    assert running.searchers() == [searcher]
    running.is_over = True
    assert world.finish(running.crawler) == 0
    assert running.crawler.err == ""
    with pytest.raises(ProcessLookupError):
        os.kill(searcher, 0)


def test_without_a_database_there_is_no_search(world: World) -> None:
    running = Running(world, "mirror")
    assert "/search.html" not in running.get("/")
    with pytest.raises(HTTPError, match="404"):
        running.get("/search.html")


def test_the_search_ends_with_a_crawl_that_is_killed(world: World) -> None:
    running = Running(world, "database")
    world.until(lambda: running.total() == 2)
    [searcher] = running.searchers()
    running.crawler.process.kill()
    world.finish(running.crawler)
    world.until(lambda: not os.path.exists(f"/proc/{searcher}"))
