"""One exit status and one report for all nodes."""

from typing import Any

import pytest

from larbinpy.cli.nodes.node import NodeEnd, ending_of, merged
from larbinpy.errors import Ending
from larbinpy.page import Outcome


def node(
    ending: Ending | None, name: str = "1", status: int | None = None, **given: Any
) -> NodeEnd:
    """A node that ended by `ending`, or without a report."""
    if ending is None:
        return NodeEnd(name, -9 if status is None else status, 1, {})
    outcomes = {outcome.value: 0 for outcome in Outcome} | given.pop("outcomes", {"success": 3})
    report = {
        "started": "2026-01-02T03:04:05Z",
        "elapsed_s": 10.0,
        "cpu_s": 1.5,
        "peak_rss_bytes": 1000,
        "stop_reason": ending.reason,
        "exit_code": ending.code,
        "pages": 5,
        "success": outcomes["success"],
        "outcomes": outcomes,
        "links": 7,
        "urls_seen": 9,
        "urls_queued": 0,
        "bytes_received": 100,
        "sites": 2,
        "addresses": 1,
        "robots": {"fetched": 2, "denied": 1},
        "dns": {"asked": 2, "sent": 3, "answered": 2, "cached": 0, "failed": 1},
        "retries": 1,
        "left_out": {"robots": 1, "rules": {"reject **": 2}, "limits": {}, "links": {"trap": 3}},
        **given,
    }
    return NodeEnd(name, ending.code if status is None else status, 1, report)


FINISHED, STOPPED, NOTHING = Ending.FINISHED, Ending.STOPPED, Ending.NOTHING
NO_PAGE = {"success": 0, "err40X": 2}


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ([node(FINISHED), node(FINISHED)], 0),
        # A node may have no page of its own.
        ([node(FINISHED), node(NOTHING, outcomes=NO_PAGE)], 0),
        ([node(NOTHING, outcomes=NO_PAGE), node(FINISHED, outcomes={"success": 0})], 4),
        ([node(FINISHED, outcomes={"success": 0})], 0),
        # The others have done the work of one that was stopped, or died.
        ([node(FINISHED), node(STOPPED)], 0),
        ([node(FINISHED), node(None)], 0),
        ([node(STOPPED), node(None)], 11),
        # It was killed after it had written its report, and its state is that of before.
        ([node(STOPPED), node(FINISHED, status=-9)], 11),
        ([node(Ending.LIMIT_PAGE), node(Ending.LIMIT_PAGE)], 0),
        ([node(Ending.LIMIT_TIME, outcomes=NO_PAGE)], 0),
        ([node(FINISHED, outcomes=NO_PAGE), node(Ending.UNKEPT)], 4),
        ([node(FINISHED), node(Ending.UNKEPT)], 0),
        ([node(FINISHED), node(Ending.DISK)], 3),
        # A login that failed is the end of all only if the crawl came to its end.
        ([node(FINISHED), node(Ending.LOGIN)], Ending.LOGIN.code),
        ([node(Ending.LOGIN), node(Ending.DISK)], 3),
        ([node(Ending.LIMIT_PAGE), node(Ending.LOGIN)], Ending.LOGIN.code),
        ([node(Ending.DISK), node(None, status=2)], 2),
        ([node(STOPPED), node(Ending.FORCED)], 13),
        ([node(None), node(None, status=1)], 1),
    ],
)
def test_the_exit_status_of_all(nodes: list[NodeEnd], code: int) -> None:
    assert ending_of(nodes)[1] == code
    assert merged(nodes, "2026-01-01T00:00:00Z", 1.0, 0)["exit_code"] == code


def test_a_report_has_sums_and_a_list_of_nodes() -> None:
    first = node(FINISHED, started="2026-01-02T00:00:00Z")
    second = node(FINISHED, "2", elapsed_s=20.0, outcomes={"success": 4, "noDNS": 1})
    report = merged([first, second, node(None, "3")], "", 0.0, 12)
    assert report["started"] == "2026-01-02T00:00:00Z"
    assert (report["elapsed_s"], report["cpu_s"], report["peak_rss_bytes"]) == (20.0, 3.0, 2000)
    assert (report["pages"], report["success"], report["urls_queued"]) == (10, 7, 12)
    assert (report["outcomes"]["success"], report["outcomes"]["noDNS"]) == (7, 1)
    assert set(report["outcomes"]) == {outcome.value for outcome in Outcome}
    assert (report["robots"], report["dns"]["sent"]) == ({"fetched": 4, "denied": 2}, 6)
    assert report["left_out"]["robots"] == 2
    assert report["left_out"]["rules"] == {"reject **": 4}
    assert report["left_out"]["links"] == {"trap": 6}
    assert [each["node"] for each in report["nodes"]] == ["1", "2", "3"]
    assert report["nodes"][2]["pages"] is None
    assert report["nodes"][2]["exit_code"] == -9


def test_a_report_without_any_of_a_node() -> None:
    report = merged([node(None)], "2026-01-01T00:00:00Z", 1.0, 0)
    assert (report["started"], report["success"]) == ("2026-01-01T00:00:00Z", 0)
    assert report["dns"]["sent"] == 0


def test_pages_of_nodes_of_earlier_runs_count_but_not_their_ends() -> None:
    earlier = NodeEnd("2", 2, 0, node(STOPPED).report)
    report = merged([node(FINISHED, outcomes=NO_PAGE), earlier], "", 0.0, 0)
    assert (report["exit_code"], report["success"]) == (0, 3)
    assert [each["starts"] for each in report["nodes"]] == [1, 0]
