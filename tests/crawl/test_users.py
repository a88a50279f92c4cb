"""A running crawl and its users: the status page in a real browser, `status` and `watch`."""

import json
import signal
import socket
from collections.abc import Iterator

import pytest

from larbinpy.loop.poller import READ
from tests.support.browser import Browser, Tab
from tests.support.crawling import Asked, World, html, missing
from tests.support.ports import free_port
from tests.support.webserver import Step, Until

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow


def site(asked: Asked) -> Iterator[Step]:
    yield missing() if asked.path == "/robots.txt" else html()


def says(tab: Tab, text: str) -> str:
    return f"document.getElementById('answer').textContent.includes({text!r})"


def test_a_crawl_is_controlled_from_its_page(world: World) -> None:
    web = world.web(site, "site.test")
    port = free_port()
    seeds = [f"startUrl {web.url(path)}" for path in ("/", "/3")]
    world.conf(*seeds, f"httpPort {port}", "waitDuration 60", "limitTime 0")
    crawler = world.crawl()
    token = world.state / "token"
    world.until(lambda: token.exists() and web.count("/robots.txt") == 1)
    browser = Browser(world.folder / "profile", world.poller, lambda: None)
    try:
        tab = browser.tab()
        tab.go(f"http://127.0.0.1:{port}/")
        assert tab.run("document.title").startswith("site.test running: Overview")
        waits = "document.querySelector('main').textContent.includes('waitDuration, next request')"
        tab.until(waits)
        tab.run("document.getElementById('pause').click()")
        tab.run(f"document.getElementById('token').value = {token.read_text().strip()!r}")
        tab.run("document.querySelector('#ask button').click()")
        tab.until("document.querySelector('.state').textContent === 'paused'")
        tab.run(f"document.getElementById('url').value = {web.url('/3')!r}")
        tab.run("document.querySelector('#explain button').click()")
        tab.until(says(tab, "and the crawl is paused: its address gets a request every 60 s"))
        tab.run("document.getElementById('resume').click()")
        tab.until("document.querySelector('.state').textContent === 'running'")
        assert tab.complaints == []
        tab.run("window.confirm = () => true, document.getElementById('stop').click()")
        assert world.finish(crawler) == 11
    finally:
        browser.close()
    assert not token.exists()


def test_status_follows_a_crawl_to_its_end(world: World) -> None:
    web = world.web(site, "site.test")
    port = free_port()
    seeds = [f"startUrl {web.url(path)}" for path in ("/", "/3")]
    world.conf(*seeds, f"httpPort {port}", "waitDuration 60", "limitTime 0")
    crawler = world.crawl()
    world.until(lambda: web.count("/robots.txt") == 1)
    follower = world.start("status", "--follow")
    world.until(lambda: follower.out.count("\n") == 2)
    crawler.signal(signal.SIGINT)
    assert (world.finish(crawler), world.finish(follower)) == (11, 0)
    for line in follower.out.splitlines():
        assert " running  pages 0 (0/s)  replies 0 " in line
        assert "site.test" in line and "waitDuration, next request in " in line


def test_watch_shows_the_failures_of_a_crawl(world: World) -> None:
    """All of them, by a part of their outcomes."""
    gate = [False]

    def slow(asked: Asked) -> Iterator[Step]:
        if asked.path == "/robots.txt":
            yield missing()
        elif asked.path == "/":
            yield Until(lambda: gate[0])
            yield html("/gone", "/here")
        else:
            yield html() if asked.path == "/here" else missing()

    web = world.web(slow, "site.test")
    port = free_port()
    world.conf(f"startUrl {web.url()}", f"inputPort {port}")
    crawler = world.crawl()
    world.until(lambda: web.count("/") == 1)
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"console\nwatch err\n")
    said = bytearray()

    def hear(_fd: int, _events: int) -> None:
        said.extend(client.recv(1 << 16))

    world.poller.register(client.fileno(), READ, hear)
    world.until(lambda: b'"watching":"err"' in said)
    gate[0] = True
    world.until(lambda: b"err40X" in said)
    assert world.finish(crawler) == 0
    world.poller.unregister(client.fileno())
    client.close()
    fates = [json.loads(line) for line in said.splitlines() if b'"outcome"' in line]
    assert [(fate["url"], fate["status"]) for fate in fates] == [(web.url("/gone"), 404)]
