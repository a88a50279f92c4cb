"""The keywords of the two ports: the status page, and the port that takes URLs."""

import json
import os
import signal
from typing import Any

import pytest

from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import State
from tests.support import promlint
from tests.support.keywords import effect_of
from tests.support.ports import free_port
from tests.support.smallweb import ADDRESSES, Web
from tests.support.smallworld import Client, World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


def request(path: str, host: str = ADDRESSES[0]) -> tuple[str, ...]:
    return f"GET {path} HTTP/1.1", f"Host: {host}", ""


@pytest.fixture
def port() -> int:
    return free_port()


def visit(web: Web, crawl: Worlds, client: Client, *lines: str) -> bytes:
    """The lines to `client` of a crawl that waits for it before its last page."""
    web.page("a.test/", "/last")
    web.pages("a.test/last", until=client.done)
    crawl(*lines)
    return client.said


@effect_of("httpPort")
def test_http_port_has_the_status_page(web: Web, crawl: Worlds, port: int) -> None:
    page = Client(crawl, port, *request("/status.json"))
    said = visit(web, crawl, page, f"httpPort {port}")
    snapshot = json.loads(said.partition(b"\r\n\r\n")[2])
    assert (snapshot["state"], snapshot["totals"]["success"]) == ("running", 1)
    without = Client(crawl, port, *request("/"))
    visit(web, crawl, without)
    assert without.refused


def test_the_metrics_of_a_crawl_are_right(web: Web, crawl: Worlds, port: int) -> None:
    client = Client(crawl, port, *request("/metrics"))
    said = visit(web, crawl, client, f"httpPort {port}", "outputMode stats")
    samples = promlint.read(said.partition(b"\r\n\r\n")[2].decode())
    assert samples["larbinpy_pages_total", ()] == 1
    # A robots.txt and a page, at least.
    assert samples["larbinpy_fetch_duration_seconds_count", ()] >= 2
    assert samples["larbinpy_loop_lag_seconds_count", ()] >= 2
    assert samples["process_open_fds", ()] < samples["process_max_fds", ()]
    assert samples["process_start_time_seconds", ()] > 1_700_000_000


@effect_of("httpHost")
def test_http_host_is_the_address_of_the_status_page(web: Web, crawl: Worlds, port: int) -> None:
    for host, other in (ADDRESSES[:2], ADDRESSES[1::-1]):
        lines = [f"httpPort {port}", f"httpHost {host}"]
        here = Client(crawl, port, *request("/", host), host=host)
        assert visit(web, crawl, here, *lines).startswith(b"HTTP/1.1 200")
        there = Client(crawl, port, *request("/", other), host=other)
        visit(web, crawl, there, *lines)
        assert there.refused


@effect_of("histograms")
def test_histograms_are_on_the_status_page(web: Web, crawl: Worlds, port: int) -> None:
    def page(*lines: str) -> bytes:
        client = Client(crawl, port, *request("/histograms.html"))
        return visit(web, crawl, client, f"httpPort {port}", *lines)

    assert page("histograms").count(b"<figure>") >= 4
    assert page().count(b"<figure>") == 0


@effect_of("inputPort")
def test_input_port_takes_urls(web: Web, crawl: Worlds, port: int) -> None:
    web.page("b.test/", "/deeper")
    web.pages("b.test/deeper")
    lines = ("priority:0 depth:0 test:1", web.url("b.test/"), web.url("a.test/"), "nonsense")

    def seed(*config: str) -> Client:
        client = Client(crawl, port, *lines)
        client.hang_up = True
        visit(web, crawl, client, *config)
        return client

    client = seed(f"inputPort {port}")
    assert crawl.world.fetched == {"a.test/", "a.test/last", "b.test/"}
    assert client.said.count(b"refused") == 2
    assert seed().refused


@effect_of("inputPort")
def test_a_crawl_with_an_input_port_waits_for_its_first_url(
    web: Web, crawl: Worlds, port: int
) -> None:
    web.pages("b.test/")
    client = Client(crawl, port, "priority:0 depth:0 test:1", web.url("b.test/"))
    client.hang_up = True

    states: list[str] = []

    def watch(world: World) -> None:
        if world.elapsed > 100:
            client.done()
        elif world.elapsed > 50:
            states.append(world.snapshot("state"))

    assert crawl(f"inputPort {port}", seeds=[], watch=watch).fetched == {"b.test/"}
    assert set(states) == {"waiting"}
    # Without visitors there is nothing to do, and it ends before it next looks at the clock.
    assert crawl(seeds=[]).elapsed < 0.5


@effect_of("inputHost")
def test_input_host_is_the_address_of_the_input_port(web: Web, crawl: Worlds, port: int) -> None:
    for host, other in (ADDRESSES[:2], ADDRESSES[1::-1]):
        lines = [f"inputPort {port}", f"inputHost {host}"]
        here = Client(crawl, port, "console", "quit", host=host)
        assert visit(web, crawl, here, *lines).startswith(b"Welcome")
        there = Client(crawl, port, "console", "quit", host=other)
        visit(web, crawl, there, *lines)
        assert there.refused


# The status page of a crawl that has ended.


def last_page(crawl: Worlds, port: int, *lines: str) -> dict[str, Any]:
    """The status page ten minutes after the start; then a signal stops the crawl."""
    page = Client(crawl, port, *request("/status.json"))
    stopped: list[bool] = []

    def watch(world: World) -> None:
        if world.elapsed > 600 and page.done() and not stopped:
            stopped.append(True)
            os.kill(os.getpid(), signal.SIGTERM)

    crawl(f"httpPort {port}", *lines, watch=watch)
    found: dict[str, Any] = json.loads(page.said.partition(b"\r\n\r\n")[2] or b"{}")
    return found


@effect_of("highLevelWebServer")
@pytest.mark.parametrize(
    ("limit", "reason", "state", "pages"),
    [
        # More seeds may come, by POST /control.
        ("", "finished", "waiting", 3),
        ("limitPage 2", "limitPage", "finished", 2),
        ("limitTime 25s", "limitTime", "finished", 2),
    ],
)
def test_high_level_web_server_stays_up_when_the_crawl_has_ended(
    web: Web, crawl: Worlds, port: int, limit: str, reason: str, state: str, pages: int
) -> None:
    web.page("a.test/", "/1", "/2")
    web.pages("a.test/1", "a.test/2")
    lines = ["waitDuration 10", limit]
    snapshot = last_page(crawl, port, *lines, "highLevelWebServer")
    assert (snapshot["state"], snapshot["totals"]["success"]) == (state, pages)
    # This stop is no interruption: the crawl had ended.
    assert (crawl.world.code, crawl.world.crawl.report["stop_reason"]) == (0, reason)
    assert crawl.world.stderr.getvalue() == ""
    assert last_page(crawl, port, *lines) == {}
    assert (crawl.world.code, crawl.world.crawl.report["stop_reason"]) == (0, reason)
    assert crawl.world.elapsed < 60


@effect_of("highLevelWebServer")
def test_a_crawl_that_stays_up_has_saved_its_state(web: Web, crawl: Worlds, port: int) -> None:
    web.page("a.test/", "/1", "/2")
    web.pages("a.test/1", "a.test/2")
    owed: list[list[str]] = []

    def watch(world: World) -> None:
        if world.elapsed > 20 and not owed:
            state = State(world.folder / "state")
            owed.append([url.href for url in owed_urls(state)])
            os.kill(os.getpid(), signal.SIGTERM)

    crawl(f"httpPort {port}", "highLevelWebServer", "limitPage 2", watch=watch)
    assert owed == [[web.url("a.test/2")]]


@effect_of("highLevelWebServer")
def test_high_level_web_server_without_a_web_server_is_nothing(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/")
    assert crawl("highLevelWebServer").elapsed < 10
