"""Counters of a crawl: requests, fates, seconds and turns."""

from typing import Any

import pytest

from larbinpy.page import Fate, Outcome, Page
from larbinpy.stats import Stats
from larbinpy.url import Aim, Purpose, Url

HERE = Url("http://a.test/", 5)


@pytest.fixture
def stats() -> Stats:
    return Stats(100.0, 1_700_000_000.0)


def end(stats: Stats, outcome: Outcome, detail: str = "") -> None:
    page = Page(HERE, outcome, detail=detail)
    stats.decided(outcome, Fate.of(page, 1_700_000_001.0))


def minute(stats: Stats) -> Any:
    described: Any = stats.history.describe()
    return described["minute"]["series"]


def test_requests_are_counted_with_their_durations(stats: Stats) -> None:
    stats.received(Page(HERE, Outcome.SUCCESS, status=200, ms=30, received=1000))
    stats.received(Page(HERE, Outcome.TIMEOUT, ms=90_000))
    robots = Url("http://a.test/robots.txt", 0, purpose=Purpose(Aim.ROBOTS, "http://a.test"))
    stats.received(Page(robots, Outcome.SUCCESS, status=200, ms=10, received=50))
    assert (stats.pages, stats.bytes_received) == (1, 1050)
    described = stats.fetches.describe()
    assert (described["count"], described["sum_s"]) == (3, 90.04)


def test_failures_and_refusals_are_kept_apart(stats: Stats) -> None:
    for outcome in Outcome:
        end(stats, outcome, "why")
    failed = {fate.outcome for fate in stats.failures}
    refused = {fate.outcome for fate in stats.refusals}
    assert refused == {"forbiddenRobots", "fastRobots"}
    assert {"noDNS", "timeout", "err40X", "err50X", "badTLS", "tooBig", "fastNoDns"} <= failed
    assert not failed & {"success", "err30X", "duplicate", "badType", *refused}
    assert {fate.detail for fate in stats.failures} == {"why"}
    assert len(stats.recent) == len(Outcome)


def test_only_the_last_are_kept(stats: Stats) -> None:
    for _ in range(200):
        end(stats, Outcome.TIMEOUT)
    assert len(stats.recent) == len(stats.failures) == 50


def test_each_second_is_a_cell_of_the_history(stats: Stats) -> None:
    assert stats.rates() == dict.fromkeys(
        ("pages", "success", "failed", "bytes", "links", "names"), 0.0
    )
    stats.links += 40
    end(stats, Outcome.SUCCESS)
    end(stats, Outcome.NO_DNS)
    stats.turn_took(0.004)
    stats.turn_took(0.030)
    stats.second(101.0, names=3, queued=70, busy=9)
    stats.turn_took(0.002)
    stats.second(102.0, names=8, queued=60, busy=5)
    series = minute(stats)
    assert series["links"] == [40, 0]
    assert (series["success"], series["failed"]) == ([1, 0], [1, 0])
    assert series["names"] == [3, 5]
    assert (series["urls_queued"], series["busy"]) == ([70, 60], [9, 5])
    assert series["turn_ms"] == [30, 2]
    assert all(rss > 1_000_000 for rss in series["rss_bytes"])
    assert stats.rates()["names"] == 4


def test_a_count_may_begin_later(stats: Stats) -> None:
    """An outcome that is new counts from zero."""
    stats.second(101.0, names=0, queued=0, busy=0)
    end(stats, Outcome.ERR_50X)
    stats.second(102.0, names=0, queued=0, busy=0)
    assert minute(stats)["failed"] == [0, 1]


def test_the_longest_turn_is_known_before_the_second_is_over(stats: Stats) -> None:
    stats.turn_took(0.2)
    assert stats.lag_max == 0.2
    stats.second(101.0, names=0, queued=0, busy=0)
    stats.turn_took(0.1)
    assert stats.lag_max == 0.2
    assert stats.turns.describe()["count"] == 2


def test_lost_seeds_are_named_once_there_is_a_page(stats: Stats) -> None:
    stats.lost_seed("seed 1")
    assert stats.take_seed_lines() == []
    end(stats, Outcome.SUCCESS)
    assert stats.take_seed_lines() == ["seed 1"]
    assert stats.take_seed_lines() == []
    for number in range(2, 200):
        stats.lost_seed(f"seed {number}")
    *named, last = stats.take_seed_lines()
    assert named == [f"seed {number}" for number in range(2, 21)]
    assert last == "more seeds were not fetched; larbinpy log names all"


def test_lost_seeds_are_named_at_an_end_without_a_page(stats: Stats) -> None:
    stats.lost_seed("seed 1")
    assert stats.take_seed_lines(at_end=True) == ["seed 1"]
