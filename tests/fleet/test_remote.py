"""Commands about a crawl on Redis, asked for without a node."""

from collections.abc import Iterator

import pytest

from larbinpy.crawl.fleet.remote import Remote, status_of
from larbinpy.errors import UserError
from larbinpy.fleet.board import Board, NodeReport
from larbinpy.fleet.vault import FleetState, ShardLook
from tests.support.fleetworld import Boards
from tests.support.redisserver import RedisServer

pytest_plugins = ["tests.support.fleetcrawls"]

SETTINGS = {"shards": "8", "limitPage": "limitPage 100"}
NEW, RUNNING, PAUSED = FleetState.NEW, FleetState.RUNNING, FleetState.PAUSED
FINISHED, STOPPED = FleetState.FINISHED, FleetState.STOPPED


@pytest.fixture
def remote(boards: Boards, shared_redis: RedisServer) -> Iterator[Remote]:
    """A command about a crawl that was just made."""
    node = boards()
    node.open(SETTINGS)
    with Remote(f"redis://127.0.0.1:{shared_redis.port}/{node.vault.name}") as remote:
        yield remote


@pytest.mark.parametrize(
    ("verb", "before", "after", "why"),
    [
        *(("stop", state, STOPPED, "") for state in (NEW, RUNNING, PAUSED)),
        ("stop", FINISHED, FINISHED, "the crawl is finished"),
        ("pause", RUNNING, PAUSED, ""),
        ("pause", NEW, NEW, "the crawl is new"),
        ("pause", STOPPED, STOPPED, "the crawl is stopped"),
        ("resume", PAUSED, RUNNING, ""),
        ("resume", FINISHED, FINISHED, "the crawl is finished"),
    ],
)
def test_orders_and_states(
    boards: Boards, remote: Remote, verb: str, before: FleetState, after: FleetState, why: str
) -> None:
    node = boards()
    node.find()
    for _ in range(2):
        # They prove that there is nothing left.
        node.look()
    if before is not NEW:
        node.surely("declare", NEW, before)
    assert remote.declare(verb).get("error", "") == why
    assert remote.board().state is after


def test_what_was_set_is_known_and_kept(boards: Boards, remote: Remote) -> None:
    assert remote.config.limit_page == 100
    assert remote.set("limitPage", "50") == {"ok": True, "nodes": []}
    assert remote.set("waitDuration", "400")["ok"]
    assert not remote.set("stateDir", "x")["ok"]
    assert not remote.set("waitDuration", "often")["ok"]
    assert (remote.config.limit_page, remote.config.wait_duration) == (50, 400.0)
    board = remote.board()
    assert (board.limit, board.left) == (50, 50)
    assert boards().find().changed == {"limitPage": "50", "waitDuration": "400"}


def test_sessions_that_nobody_reports_for_are_watched_before_a_crawl_is_forgotten(
    boards: Boards, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = boards()
    node.begin("a.1", SETTINGS)
    watched: list[float] = []

    def beat(seconds: float) -> None:
        watched.append(seconds)
        node.beat("a.1")

    monkeypatch.setattr(remote, "rest", beat)
    with pytest.raises(UserError, match=r"nodes run; stop them first$"):
        remote.forget()
    monkeypatch.setattr(remote, "rest", watched.append)
    remote.forget()
    # A node beats each second.
    assert len(watched) == 2 and min(watched) >= 3.0
    with pytest.raises(UserError, match="there is no such crawl"):
        node.find()


def test_the_status_of_a_fleet() -> None:
    """Sums of all nodes, also of those that have left; what is done now, of those that live."""
    work = {"pages": 10, "pages_s": 1.5, "busy": 2, "outcomes": {"success": 10, "err40X": 1}}
    board = Board(
        RUNNING,
        {"a.1": 7, "b.1": 3},
        {
            "a": NodeReport(1.0, {**work, "session": "a.1"}),
            # It has reported nothing for long, and one has left.
            "b": NodeReport(60.0, {**work, "session": "b.1"}),
            "c": NodeReport(900.0, {**work, "session": "c.1", "pages": None}),
        },
        30,
        -20,
    )
    owners = ["a.1", "a.1", "b.1", "c.1", ""]
    shards = [ShardLook(own, 1, owing, owing + 1) for owing, own in enumerate(owners)]
    found = status_of("news", board, shards)
    assert {name: found[name] for name in ("name", "state", "running")} == {
        "name": "news",
        "state": "running",
        "running": 1,
    }
    assert (found["pages"], found["pages_s"], found["busy"]) == (20, 1.5, 2)
    assert found["outcomes"] == {"success": 30, "err40X": 3}
    assert (found["queued"], found["limit_page"], found["pages_left"]) == (10, 30, 0)
    assert found["shards"] == {
        "all": 5,
        "owned": 3,
        "without_owner": 2,
        "owned_by_dead": 1,
        "owed": 10,
        "inbox": 15,
    }
    assert [(node["name"], node["alive"]) for node in found["nodes"]] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]


def test_nobody_is_waited_for_where_no_node_is(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "rest", lambda seconds: pytest.fail("it waits"))
    remote.forget()
