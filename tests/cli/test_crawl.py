"""`larbinpy crawl`: the line it ends with."""

from pathlib import Path
from typing import Any

import pytest

from larbinpy.cli.crawl import search_command, search_of_nodes, summary
from larbinpy.config import Config
from larbinpy.page import Outcome, left_out_lines


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
    line = search_command(Config(output_dir="my save"))
    assert line == "to search the pages: larbinpy search -d 'my save/larbinpy.db' WORDS"


def test_the_command_that_searches_the_databases_of_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LARBINPY_JOIN", raising=False)
    Path("my.conf").write_text("outputDir there\n")
    plain, there, server = "", "-d there/NODE/larbinpy.db ", "mysql://127.0.0.1/pages"
    for config, file, options in (
        (Config(), None, plain),
        (Config(output_dir="there"), None, there),
        (Config(output_dir="there"), "my.conf", "-c my.conf "),
        (Config(database=server), None, f"-d {server} "),
    ):
        line = f"to search the pages: larbinpy search {options}WORDS"
        assert search_of_nodes(config, file) == line
    # The nodes that --join asks have ended.
    monkeypatch.setenv("LARBINPY_JOIN", "redis://127.0.0.1/news")
    line = "to search the pages: larbinpy search -d save/NODE/larbinpy.db WORDS"
    assert search_of_nodes(Config(), None) == line


def test_the_summary_of_a_crawl_is_one_line() -> None:
    outcomes = {"success": 9, "err40X": 2, "noDNS": 1, "urlDup": 7, "outSite": 5, "err30X": 1}
    assert summary(report(outcomes=outcomes)) == (
        "finished: 1,234 pages, 5.0 MB in 12 s; 3 failed, 2 refused by robots.txt"
    )
    stopped = summary(report(stop_reason="stopped", exit_code=11, urls_queued=1500))
    assert stopped.endswith("; 1,500 still queued, --resume continues")


def test_what_was_left_out_has_its_number_and_the_way_out() -> None:
    limits = {"noindex": 3, "lockSite": 4000, "shapes": 1}
    left = {"robots": 2, "rules": {"reject **.zip": 1}, "limits": limits, "links": {}}
    assert [*left_out_lines(report(outcomes={"siteLimit": 5})["outcomes"], left)] == [
        "Left out:",
        "           2  by robots.txt",
        "           5  by limits by site (limitPageBySite, limitBytesBySite)",
        "           1  by reject **.zip",
        "           3  pages: they ask not to be indexed (noindex); robotsMeta off keeps them",
        "       4,000  links: they are on other hosts than the seeds, and lockSite is on",
        "           1  links: their sites have too many URLs of one shape (limitByShape)",
    ]
    nothing = {"robots": 0, "rules": {}, "limits": {}, "links": {"outSite": 1}}
    assert [*left_out_lines(report()["outcomes"], nothing)] == []
