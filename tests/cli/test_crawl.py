"""`larbinpy crawl`: the line it ends with."""

from typing import Any

from larbinpy.cli.crawl import search_command, summary
from larbinpy.outcome import Outcome


def report(**values: Any) -> dict[str, Any]:
    outcomes = {outcome.value: 0 for outcome in Outcome} | values.pop("outcomes", {})
    return {
        "stop_reason": "finished",
        "exit_code": 0,
        "pages": 1500,
        "success": 1234,
        "bytes_received": 5_000_000,
        "elapsed_s": 12.3,
        "urls_queued": 0,
        "outcomes": outcomes,
        "robots": {"fetched": 3, "denied": 2},
        **values,
    }


def test_the_command_that_searches_the_database() -> None:
    line = search_command("my save/larbinpy.db")
    assert line == "to search the pages: larbinpy search -d 'my save/larbinpy.db' WORDS"


def test_the_summary_of_a_crawl_is_one_line() -> None:
    outcomes = {"success": 9, "err40X": 2, "noDNS": 1, "urlDup": 7, "outSite": 5, "err30X": 1}
    assert summary(report(outcomes=outcomes)) == (
        "finished: 1,234 pages, 5.0 MB in 12 s; 3 failed, 2 refused by robots.txt"
    )
    stopped = summary(report(stop_reason="stopped", exit_code=11, urls_queued=1500))
    assert stopped.endswith("; 1,500 still queued, --resume continues")
