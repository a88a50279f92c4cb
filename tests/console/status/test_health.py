from collections.abc import Sequence
from typing import Any

import pytest

from larbinpy.console.status.overview import Finding, Level, findings
from tests.support.snapshots import history, snapshot


def crawl(**changes: Any) -> dict[str, Any]:
    """A crawl without findings, except for `changes`."""
    series: dict[str, Sequence[float]] = {
        "pages": [5] * 60,
        "success": [5] * 60,
        "busy": [9] * 60,
        "turn_ms": [3] * 60,
    }
    well = {"dns": {"servers": [server(), server()]}, "history": history(**series)}
    return snapshot(**(well | changes))


def server(resting: bool = False, address: str = "192.0.2.53:53") -> dict[str, Any]:
    return {"address": address, "resting": resting}


def minute(**series: Sequence[float]) -> dict[str, Any]:
    well: dict[str, Sequence[float]] = {"pages": [5] * 60, "success": [5] * 60}
    return {"history": history(**(well | series))}


def only(data: dict[str, Any]) -> Finding:
    [finding] = findings(data)
    return finding


def test_all_is_well() -> None:
    assert only(crawl()).level is Level.GOOD


@pytest.mark.parametrize("data", [{}, dict.fromkeys(snapshot()), {"history": {"minute": None}}])
def test_missing_keys_make_no_finding(data: dict[str, Any]) -> None:
    assert [finding.level for finding in findings(data)] == [Level.GOOD]


@pytest.mark.parametrize(
    ("state", "level", "word"),
    [
        ("paused", Level.NOTE, "paused"),
        ("waiting", Level.NOTE, "seeds"),
        ("stopping", Level.NOTE, "stopping"),
        ("finished", Level.NOTE, "ended"),
        ("disk full", Level.TROUBLE, "disk"),
    ],
)
def test_states(state: str, level: Level, word: str) -> None:
    finding = only(crawl(state=state))
    assert (finding.level, word in finding.text) == (level, True)


def test_a_crawl_outside_of_its_hours_is_not_well() -> None:
    data = crawl(outside_hours=True, **minute(pages=[0] * 60, success=[0] * 60))
    finding = only(data)
    assert (finding.level, "hours" in finding.text) == (Level.NOTE, True)


def test_name_servers() -> None:
    some = only(crawl(dns={"servers": [server(), server(True, "192.0.2.9:53")]}))
    assert (some.level, "192.0.2.9:53" in some.text) == (Level.WARNING, True)
    assert only(crawl(dns={"servers": [server(True)]})).level is Level.TROUBLE


def test_a_minute_without_pages() -> None:
    still = minute(pages=[0] * 60, success=[0] * 60)
    assert only(crawl(**still)).text.startswith("No reply came in the last minute")
    assert only(crawl(**still, elapsed_s=30)).level is Level.GOOD, "it has just begun"
    assert only(crawl(**still, totals={"urls_queued": 0})).level is Level.GOOD, "nothing waits"
    assert only(crawl(**still, state="paused")).level is Level.NOTE


def test_many_failures() -> None:
    assert "50 %" in only(crawl(**minute(failed=[5] * 60))).text
    assert only(crawl(**minute(failed=[1] * 60))).level is Level.GOOD
    few = minute(success=[0] * 60, failed=[0] * 51 + [1] * 9)
    assert only(crawl(**few)).level is Level.GOOD, "too few to say anything"


def test_all_transfers_in_use() -> None:
    assert "pagesConnexions" in only(crawl(**minute(busy=[100] * 60))).text
    assert only(crawl(**minute(busy=[100] * 59 + [99]))).level is Level.GOOD


def test_a_long_turn() -> None:
    assert "310 ms" in only(crawl(**minute(turn_ms=[2.0, 310.0, 3.0]))).text


def test_descriptors() -> None:
    assert "950 of 1,000" in only(crawl(system={"fds": 950, "fds_limit": 1000})).text
    assert only(crawl(system={"fds": 850, "fds_limit": 1000})).level is Level.GOOD
    assert only(crawl(system={"fds": 850, "fds_limit": -1})).level is Level.GOOD, "no limit"


def test_the_most_urgent_comes_first() -> None:
    data = crawl(
        state="disk full",
        dns={"servers": [server(), server(True)]},
        **minute(busy=[100] * 60),
    )
    levels = [finding.level for finding in findings(data)]
    assert levels == [Level.TROUBLE, Level.WARNING]
    assert [f.level for f in findings({**data, "state": "running"})] == [Level.WARNING, Level.NOTE]


def test_a_database_that_takes_no_pages() -> None:
    trouble = {"database": {"trouble": "server down; tried again in 8 s"}}
    finding = only(crawl(output=trouble))
    assert finding.level is Level.WARNING
    assert "server down; tried again in 8 s" in finding.text


def test_a_full_spool() -> None:
    gate = {"open": False, "reason": "900 pages wait for the database (spoolMax)"}
    finding = only(crawl(output={"database": {"trouble": ""}}, gate=gate))
    assert finding.level is Level.NOTE
    assert "900 pages wait" in finding.text


def test_a_node_that_waits_for_redis_says_so() -> None:
    trouble = "Redis 192.0.2.9:6379 does not answer"
    finding = only(crawl(fleet={"trouble": trouble}))
    assert finding == Finding(Level.WARNING, f"This node waits for Redis: {trouble}.")
