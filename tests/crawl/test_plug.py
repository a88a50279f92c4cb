"""A plug that steers the crawl: it refuses and adds URLs, changes requests, and stops."""

from dataclasses import replace
from typing import Any

import pytest

import larbinpy
from larbinpy import PlugError, RequestOptions
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import State
from larbinpy.url import Url
from tests.support.ports import free_port
from tests.support.smallweb import Web
from tests.support.smallworld import Client, Pages, Worlds

pytest_plugins = ["tests.support.smallcrawls"]


@pytest.fixture
def site(web: Web) -> Web:
    web.page("a.test/", "/one", "/two", "/private/x", "//b.test/")
    web.pages("a.test/one", "a.test/two", "a.test/private/x", "a.test/hidden", "b.test/")
    return web


class Choosy(Pages):
    """Takes no private pages."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def wants(self, url: Url) -> bool:
        self.asked.append(url.href)
        return "/private/" not in url.href


def test_a_plug_refuses_links(site: Web, crawl: Worlds) -> None:
    plug = Choosy()
    world = crawl(output=plug)
    assert world.fetched == {"a.test/", "a.test/one", "a.test/two", "b.test/"}
    assert world.report_outcomes["rejected"] == 1
    # Not about the seed.
    assert site.url("a.test/") not in plug.asked
    assert sorted(set(plug.asked)) == sorted(plug.asked)


def test_explain_names_the_plug(site: Web, crawl: Worlds) -> None:
    port = free_port()
    url = site.url("a.test/private/x")
    client = Client(crawl, port, "console", f"explain {url}", "quit")
    site.places["a.test/two"][0].until = client.done
    crawl(f"inputPort {port}", "waitDuration 0", output=Choosy())
    [answer] = [line for line in client.answers if line.get("url") == url]
    assert (answer["reason"], answer["rule"]) == ("rejected", "plug")
    assert answer["why"] == "the plug of the program that runs the crawl does not want it"


class Marking(Pages):
    """Sends a header to one host."""

    def request(self, url: Url, options: RequestOptions) -> RequestOptions:
        if url.host != "b.test":
            return options
        return replace(options, headers=("X-Key: b",), user_agent="other")


def test_a_plug_changes_requests(site: Web, crawl: Worlds) -> None:
    """Also those for robots.txt; the next request by the same handle is as before."""
    world = crawl("pagesConnexions 1", output=Marking())
    sent = {(asked.host, asked.headers.get("x-key")) for asked in world.asked}
    assert sent == {("a.test", None), ("b.test", "b")}
    agents = {(asked.host, asked.headers["user-agent"]) for asked in world.asked}
    assert agents == {("a.test", "larbinpy"), ("b.test", "other")}


def test_a_header_cannot_hold_another(site: Web, crawl: Worlds) -> None:
    class Splitting(Pages):
        def request(self, url: Url, options: RequestOptions) -> RequestOptions:
            return replace(options, headers=("X-Key: b\r\nHost: c.test",))

    with pytest.raises(PlugError, match=r"Splitting\.request raised ValueError: a header has a"):
        crawl(output=Splitting())


@pytest.mark.usefixtures("site")
def test_a_plug_returns_options(crawl: Worlds) -> None:
    class Forgetful(Pages):
        def request(self, url: Url, options: RequestOptions) -> None:
            pass

    with pytest.raises(PlugError, match=r"Forgetful\.request returned NoneType instead of Req"):
        crawl(output=Forgetful())


class Steering(Pages):
    """Adds a URL at the first page, and stops after some."""

    def __init__(self, crawl: Worlds, most: int) -> None:
        super().__init__()
        self._crawl = crawl
        self._most = most
        self.answers: list[str | None] = []

    def loaded(self, page: Any) -> None:
        super().loaded(page)
        crawl, web = self._crawl.world.crawl, self._crawl.web
        if len(self.bodies) == 1:
            self.answers = [crawl.add(web.url("a.test/hidden"), depth=0), crawl.add("nonsense:")]
        if len(self.bodies) == self._most:
            crawl.stop()


def test_a_plug_adds_urls(site: Web, crawl: Worlds) -> None:
    plug = Steering(crawl, 100)
    world = crawl(output=plug)
    assert "a.test/hidden" in world.fetched
    assert plug.answers[0] is None
    assert "not a URL" in str(plug.answers[1])


def test_a_plug_stops_the_crawl(site: Web, crawl: Worlds) -> None:
    """The rest is saved for another run."""
    world = crawl("waitDuration 10", output=Steering(crawl, 2))
    assert (len(world.fetched), world.code) == (2, 11)
    owed = list(owed_urls(State(world.folder / "state")))
    assert len(owed) == 4


@pytest.mark.usefixtures("site")
def test_an_exception_of_each_method_is_one_line(crawl: Worlds) -> None:
    def raising(*_arguments: object) -> None:
        raise ZeroDivisionError

    for method in ("loaded", "close", "wants", "request", "replied", "resolved"):
        quiet = dict.fromkeys(("replied", "resolved"), lambda *_: None)
        plug = type("Broken", (Pages,), quiet | {method: raising})()
        with pytest.raises(
            PlugError, match=f"^Broken.{method} raised ZeroDivisionError \\("
        ) as got:
            crawl(output=plug)
        assert isinstance(got.value.__cause__, ZeroDivisionError)
        assert "\n" not in str(got.value)
        state = State(crawl.world.folder / "state")
        assert state.exists


def test_the_crawl_takes_no_commands_before_it_runs(crawl: Worlds) -> None:
    subject = larbinpy.Crawl(larbinpy.Config())
    with pytest.raises(RuntimeError, match="does not run yet; pass `seeds`"):
        subject.stop()


def test_all_public_names_are_there() -> None:
    assert all(getattr(larbinpy, name) for name in larbinpy.__all__)
    errors = (larbinpy.ConfigError, larbinpy.StateError, larbinpy.PlugError)
    assert all(issubclass(error, larbinpy.UserError) for error in errors)
