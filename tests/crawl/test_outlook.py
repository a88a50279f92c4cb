"""Whole crawls: what the progress says they wait for, and how long they will take."""

from typing import Any

import pytest

from tests.support.smallweb import Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


class Outlook:
    """Collects, once for each second of the crawl, one value of its snapshot."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._next = 0.0
        self.seen: list[tuple[float, Any]] = []

    def __call__(self, world: World) -> None:
        if world.elapsed >= self._next:
            self._next = world.elapsed + 0.5
            self.seen.append((world.elapsed, world.snapshot(self._key)))

    @property
    def values(self) -> list[Any]:
        return [value for _, value in self.seen]


def test_the_sentence_says_what_a_slow_crawl_waits_for(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/1")
    web.page("a.test/1", delay=9)
    outlook = Outlook("waits_for")
    world = crawl("waitDuration 30", watch=outlook)
    assert len(world.fetched) == 2
    waits = [value for value in outlook.values if "waitDuration" in value]
    assert len(waits) > 20
    port = web.port
    assert waits[0].startswith(f"a.test:{port}: waitDuration, next request in ")
    assert any("no whole reply yet, " in value for value in outlook.values)


def test_the_sentence_counts_the_tries(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    outlook = Outlook("waits_for")
    world = crawl("startUrl http://nowhere.test/", watch=outlook)
    assert world.code == 0
    said = [value for value in outlook.values if value.startswith("nowhere.test: no such name")]
    for number in (2, 3, 4):
        assert any(f", try {number} of 4 in " in value for value in said), said


def test_limit_time_is_the_time_left(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(30)])
    web.pages(*[f"a.test/{n}" for n in range(30)])
    outlook = Outlook("left_s")
    crawl("waitDuration 10", "limitTime 1", watch=outlook)
    running = [(at, left) for at, left in outlook.seen if left is not None]
    assert all(at + left == pytest.approx(60, abs=0.1) for at, left in running)
    assert len(running) > 40


def test_a_single_site_at_a_steady_pace_has_an_estimate(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(200)])
    web.pages(*[f"a.test/{n}" for n in range(200)])
    outlook = Outlook("left_s")
    world = crawl("waitDuration 1", watch=outlook)
    known = [(at, left) for at, left in outlook.seen if left is not None]
    assert known[0][0] > 20, "not before the pace is known"
    assert len(known) > 100
    for at, left in known:
        assert at + left == pytest.approx(world.elapsed, rel=0.15)


def test_limit_page_has_an_estimate_too(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(200)])
    web.pages(*[f"a.test/{n}" for n in range(200)])
    web.page("b.test/")
    outlook = Outlook("left_s")
    world = crawl("waitDuration 1", "limitPage 100", watch=outlook, seeds=["a.test/", "b.test/"])
    assert world.code == 0
    known = [(at, left) for at, left in outlook.seen if left is not None]
    assert len(known) > 50
    for at, left in known:
        assert at + left == pytest.approx(world.elapsed, rel=0.15)


def test_pages_mean_the_same_everywhere(web: Web, crawl: Worlds) -> None:
    """Redirects, errors and robots.txt files are replies, but no pages."""
    web.page("a.test/", "/1", "/2", "/gone", "/moved")
    web.pages("a.test/1", "a.test/2")
    web.page("a.test/moved", status=302, headers=("Location: /1",))
    web.robots("a.test", "User-agent: *")
    shown: list[Any] = []
    world = crawl("limitPage 3", watch=lambda world: shown.append(world.snapshot("totals")))
    report = world.crawl.report
    assert report["stop_reason"] in ("finished", "limitPage")
    assert report["success"] == shown[-1]["success"] == len(world.fetched) == 3
    assert report["pages"] == shown[-1]["pages"] >= 3


def test_a_crawl_is_named_by_its_seeds(web: Web, crawl: Worlds) -> None:
    web.page("b.test/", "//a.test/")
    web.page("a.test/")
    name = Outlook("name")
    crawl(watch=name, seeds=["b.test/"])
    assert set(name.values) == {"b.test"}
    both = Outlook("name")
    crawl(watch=both, seeds=["b.test/", "a.test/"])
    assert both.values[-1] == "b.test and 1 more"
