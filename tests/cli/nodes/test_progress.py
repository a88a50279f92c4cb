"""The reports of all nodes as one snapshot."""

import socket
from pathlib import Path
from typing import Any

from larbinpy.cli.nodes.supervisor import ReportWatch, Sums, at_end
from larbinpy.console.terminal.progress import status_line
from larbinpy.fleet.board import Board, NodeReport
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import FleetState
from larbinpy.loop.poller import Poller
from tests.cli.nodes.test_ending import FINISHED, node


def report(name: str, pages: int, age: float = 1.0, **given: Any) -> NodeReport:
    status = {
        "session": f"{name}.0",
        "pages": pages,
        "pages_s": 2.5,
        "replies": pages + 1,
        "links": 7,
        "sites": 2,
        "bytes": 100,
        "bytes_s": 10,
        "queued": 4,
        "trouble": "",
        **given,
    }
    return NodeReport(age, status)


def board(**reports: NodeReport) -> Board:
    sessions = {f"{name}.0": 1 for name in reports}
    return Board(FleetState.RUNNING, sessions, reports, 0, 0)


def test_all_nodes_are_one_crawl() -> None:
    # The third node is gone; its pages count, and its queue is that of others now.
    now = board(a=report("a", 10), b=report("b", 20), c=report("c", 5, age=60.0))
    snapshot = Sums().snapshot(now, 8.0, "")
    assert status_line(snapshot) == (
        "0:00:08 running  pages 35 (5.0/s)  replies 38  links 21  queued 8  sites 6  "
        "received 300 B (20 B/s)"
    )


def test_pages_that_are_fetched_again_count_once() -> None:
    sums = Sums()
    counts = [
        sums.snapshot(board(a=report("a", pages)), 8.0, "")["totals"]["success"]
        for pages in (10, 7, 9, 12)
    ]
    assert counts == [10, 10, 10, 12]


def test_pages_of_earlier_runs_are_not_those_of_this_one() -> None:
    sums = Sums()
    sums.snapshot(board(a=report("a", 10)), 1.0, "")
    later = sums.snapshot(board(a=report("a", 14)), 2.0, "")
    assert later["run"] == {"elapsed_s": 2.0, "success": 4, "bytes_received": 0}


def test_a_line_says_what_the_crawl_waits_for() -> None:
    of_node = board(a=report("a", 1), b=report("b", 1, trouble="Redis x is full"))
    assert Sums().snapshot(of_node, 1.0, "")["waits_for"] == "Redis x is full"
    assert Sums().snapshot(of_node, 1.0, "Redis y is away")["waits_for"] == "Redis y is away"


def test_the_last_line_has_the_report() -> None:
    line = status_line(at_end(node(FINISHED).report, 4.0))
    assert line.startswith("0:00:04 finished  pages 3 (0/s)  replies 5  links 7  queued 0")


def test_a_redis_that_is_silent_is_not_asked_in_each_turn(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        poller = Poller()
        client = Client(poller, lambda: 100.0, CrawlAddress.of(f"unix:{tmp_path}/s?crawl=x"))
        watch = ReportWatch(client)
        watch.begin(100.0)
        for now in (100.0, 100.5, 101.0, 102.0):
            client.step(now)
            watch.step(now)
            poller.wait(0.0)
        watch.step(102.0)
        assert min(watch.deadline, client.deadline) > 102.0
        client.close()
        poller.close()
