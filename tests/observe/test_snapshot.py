"""The snapshot of a crawl and its report, from parts that hold values."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.errors import Ending
from larbinpy.observe.snapshot import Snapshots, Totals
from larbinpy.page import Fate, Outcome, Page
from larbinpy.stats import NAME, Histogram, Stats
from larbinpy.url import Url
from tests.support.contexts import make_context
from tests.support.fakefeeder import FakeFeeder
from tests.support.frontiers import make_frontier

DNS = {"asked": 5, "sent": 4, "answered": 3, "cached": 2, "failed": 1, "queued": 0}
DNS |= {"early": 0, "resent": 0, "rejected": 0}


class Crawl:
    """A crawl that began at 100 by its clock and at 1000 by the wall's, 40 seconds ago."""

    def __init__(self, folder: Path) -> None:
        self.stats = Stats(100.0, 1000.0)
        self.feeder = FakeFeeder()
        self.frontier = make_frontier(folder)
        resolver: Any = SimpleNamespace(stats=lambda: dict(DNS), times=Histogram(NAME))
        fetcher: Any = SimpleNamespace(busy=3, free=7)
        output: Any = SimpleNamespace(stats=lambda: {"own": {"seen": 8}})
        member: Any = SimpleNamespace(feeder=self.feeder, describe=None, turn_of=lambda url: "")
        context = make_context(clock=lambda: 140.0, wall=lambda: 1040.5, stats=self.stats)
        totals = Totals(context, self.frontier, resolver)
        self.snapshots = Snapshots(
            context, totals, self.frontier, resolver, fetcher, output, member
        )

    def decide(self, outcome: Outcome, path: str = "/") -> None:
        page = Page(Url(f"http://a.test{path}", 1), outcome)
        self.stats.decided(outcome, Fate.of(page, 1001.0))

    def take(self, state: str = "running") -> Any:
        return self.snapshots.take(state, {"waitDuration": "30s"})


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def test_times_and_state(crawl: Crawl) -> None:
    shown = crawl.take("paused")
    assert (shown["started"], shown["now"], shown["elapsed_s"]) == (1000.0, 1040.5, 40.0)
    assert (shown["state"], shown["config"]) == ("paused", {"waitDuration": "30s"})


def test_all_of_it_is_json(crawl: Crawl) -> None:
    assert crawl.frontier.seed("http://a.test/") is None
    crawl.decide(Outcome.TIMEOUT)
    json.dumps(crawl.take())
    json.dumps(crawl.snapshots.report(Ending.FINISHED))


def test_the_totals_are_those_of_the_parts(crawl: Crawl) -> None:
    crawl.stats.received(Page(Url("http://a.test/", 1), Outcome.SUCCESS, 200, received=900))
    crawl.stats.links = 12
    crawl.decide(Outcome.SUCCESS)
    for path in ("1", "2"):
        assert crawl.frontier.seed(f"http://a.test/{path}") is None
    totals = crawl.take()["totals"]
    assert totals == {
        "pages": 1,
        "success": 1,
        "links": 12,
        "urls_seen": 2,
        "urls_queued": 2,
        "bytes_received": 900,
        "retries": 0,
        "sites": 0,
        "addresses": 0,
    }


def test_outcomes_count_urls_and_links_that_were_left_out(crawl: Crawl) -> None:
    crawl.decide(Outcome.SUCCESS)
    crawl.decide(Outcome.TRAP)
    crawl.frontier.admission.refused[Outcome.TRAP] += 2
    crawl.frontier.admission.refused[Outcome.URL_DUP] += 5
    report: Any = crawl.snapshots.report(Ending.FINISHED)
    for counted in (crawl.take()["outcomes"], report["outcomes"]):
        assert [*counted] == [outcome.value for outcome in Outcome]
        counts = {name: count for name, count in counted.items() if count}
        assert counts == {"success": 1, "trap": 3, "urlDup": 5}


def test_robots_count_both_ways_to_be_refused(crawl: Crawl) -> None:
    crawl.frontier.lifecycle._robots.fetched = 4
    crawl.decide(Outcome.FORBIDDEN_ROBOTS)
    crawl.decide(Outcome.FAST_ROBOTS)
    crawl.frontier.admission.refused[Outcome.FAST_ROBOTS] += 1
    crawl.decide(Outcome.ERR_40X)
    report: Any = crawl.snapshots.report(Ending.FINISHED)
    for robots in (crawl.take()["robots"], report["robots"]):
        assert robots == {"fetched": 4, "denied": 3}


def test_the_newest_comes_first(crawl: Crawl) -> None:
    crawl.decide(Outcome.SUCCESS, "/1")
    crawl.decide(Outcome.TIMEOUT, "/2")
    crawl.decide(Outcome.FORBIDDEN_ROBOTS, "/3")
    shown = crawl.take()

    def urls(name: str) -> list[str]:
        return [fate["url"].removeprefix("http://a.test") for fate in shown[name]]

    assert urls("recent") == ["/3", "/2", "/1"]
    assert (urls("failures"), urls("refusals")) == (["/2"], ["/3"])


def test_the_system_and_the_outputs(crawl: Crawl) -> None:
    crawl.stats.turn_took(0.25)
    shown = crawl.take()
    assert (shown["system"]["handles"], shown["system"]["busy"]) == (10, 3)
    assert shown["system"]["loop_lag_max_ms"] == 250.0
    assert shown["system"]["fds"] > 0
    assert shown["output"] == {"own": {"seen": 8}}
    assert shown["dns"] == DNS
    assert {*shown["histograms"]} == {"fetch", "dns", "turn"}
    assert shown["histograms"]["turn"]["count"] == 1


def test_the_report_says_how_the_crawl_ended(crawl: Crawl) -> None:
    report = crawl.snapshots.report(Ending.LIMIT_PAGE)
    assert (report["stop_reason"], report["exit_code"]) == ("limitPage", 0)
    assert (report["started"], report["elapsed_s"]) == ("1970-01-01T00:16:40Z", 40.0)
    assert report["dns"] == {
        key: DNS[key] for key in ("asked", "sent", "answered", "cached", "failed")
    }
    assert report["urls_queued"] == 0


def test_an_output_that_cannot_take_pages_closes_the_gate(crawl: Crawl) -> None:
    assert crawl.take()["gate"]["open"]
    crawl.feeder.holds = "900 pages wait for the database (spoolMax)"
    shown = crawl.take()
    assert shown["gate"] == {"open": False, "reason": crawl.feeder.holds}
    assert shown["waits_for"] == crawl.feeder.holds


def test_the_end_of_a_crawl_says_that_pages_wait(crawl: Crawl) -> None:
    assert crawl.take("stopping")["waits_for"] == "the database has yet to take 7 pages"
