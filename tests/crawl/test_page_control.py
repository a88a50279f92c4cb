"""A crawl that is paused, asked and stopped from its status page, in a real browser."""

from collections.abc import Iterator

import pytest

from tests.support.browser import Browser, Tab
from tests.support.crawling import Asked, World, free_port, html, missing
from tests.support.webserver import Step

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
