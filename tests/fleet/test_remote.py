"""Commands about a crawl on Redis, asked for without a node."""

from collections.abc import Iterator
from typing import Any

import pytest

from larbinpy.console.ports.commands import Wait
from larbinpy.crawl.fleet.orders import Order
from larbinpy.crawl.fleet.remote import (
    VERBS,
    Remote,
    fleet_lines,
    redis_of,
    status_lines,
    status_of,
)
from larbinpy.errors import UserError
from larbinpy.fleet.board import ASKED, Board, NodeReport
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


def status_with(*reports: NodeReport, state: FleetState = RUNNING, limit: int = 0) -> Any:
    """The status of a crawl with nodes a, b ...; those whose reports are young are alive."""
    names = "abc"[: len(reports)]
    sessions = {f"{name}.1": 1 for name in names}
    board = Board(state, sessions, dict(zip(names, reports, strict=True)), limit, 1500)
    return status_of("news", board, [ShardLook("a.1", 1, 1200, 1), ShardLook("", 1, 34, 0)])


WORK = {
    "pages": 1234,
    "pages_s": 12.5,
    "replies": 1500,
    "bytes": 2_000_000,
    "bytes_s": 3000,
    "shards": 7,
    "lag_s": 0.25,
    "joined_s": 3600.0,
    "http": "127.0.0.1:8081",
    "state": "running",
}
GONE = NodeReport(7200.0, {"pages": 5, "session": "b.1", "trouble": "its disk is full"})


def test_the_status_of_a_fleet_as_lines() -> None:
    live = NodeReport(1.0, {**WORK, "session": "a.1", "trouble": "Redis is slow"})
    assert status_lines(status_with(live, GONE, limit=3000)) == [
        "news: running, 1 node  pages 1,239 (12.5/s)  replies 1,500  received 2.0 MB (3.0 kB/s)  "
        "queued 1,234  limitPage 3,000, 1,500 not given to nodes",
        "  a: running  pages 1,234 (12.5/s)  replies 1,500  received 2.0 MB (3.0 kB/s)  shards 7  "
        "Redis is slow",
        "  b: gone for 2 h  pages 5",
    ]


def test_a_fleet_as_tables() -> None:
    live = NodeReport(1.0, {**WORK, "session": "a.1"})
    bare = NodeReport(1.0, {"session": "c.1", "trouble": "Redis is slow"})
    info = {"server": "127.0.0.1:6379", "redis_version": "7.0.15", "used_memory": "1000000"}
    servers = [
        info | {"aof_enabled": "1", "maxmemory": "2000000", "connected_slaves": "1"},
        info | {"aof_enabled": "1", "aof_last_write_status": "err"},
        info | {"rdb_last_bgsave_status": "err"},
    ]
    here = "Redis 127.0.0.1:6379 7.0.15: memory 1.0 MB"
    assert fleet_lines(status_with(live, GONE, bare), redis_of(servers)) == [
        "news: running, 2 nodes",
        "node  since    pages  pages/s  shards  lag     page            trouble",
        "a     1:00:01  1,234  12.5     7       250 ms  127.0.0.1:8081  -",
        "b     -        5      -        -       -       -               gone for 2 h",
        "c     0:00:01  0      0        0       0 ms    -               Redis is slow",
        "shards: 1 of 2 owned, 1 without owner, 1,234 URLs owed, 1 letter waiting",
        f"{here} of 2.0 MB; append-only file; 1 replica",
        f"{here}, no limit; append-only file, its last write failed; 0 replicas",
        f"{here}, no limit; no append-only file: a restart may lose the crawl, its last write"
        " failed; 0 replicas",
    ]


@pytest.mark.parametrize(
    ("state", "first"),
    [
        (NEW, "news: new, 0 nodes"),
        (RUNNING, "news: unfinished, 0 nodes"),
        (FINISHED, "news: finished, 0 nodes"),
    ],
)
def test_a_fleet_without_nodes(state: FleetState, first: str) -> None:
    lines = fleet_lines(status_with(state=state), [])
    assert lines[:2] == [first, "no node has joined yet"]


class Gathered:
    """The answers to an order, which come in the second step."""

    silent: tuple[str, ...] = ()

    def __init__(self, number: int) -> None:
        self.answers = {"a": {"number": number}}
        self.is_over = False

    def step(self, now: float) -> None:
        self.is_over = True


@pytest.mark.parametrize(("settled", "given"), [(3, 3), (99, int(ASKED))])
def test_an_order_is_given_again_until_it_is_settled_or_its_time_is_over(
    settled: int, given: int
) -> None:
    """An order a second, here."""
    gathered: list[Gathered] = []

    def gather() -> Gathered:
        gathered.append(Gathered(len(gathered) + 1))
        return gathered[-1]

    order = Order(
        lambda answers, silent: answers,
        9.0,
        lambda answers, silent: answers["a"]["number"] >= settled,
    )
    found = list(order.steps(gather, lambda: float(len(gathered))))  # type: ignore[arg-type]
    assert found == [Wait.EVENT] * given + [{"a": {"number": given}}]


def test_nobody_is_waited_for_where_no_node_is(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "rest", lambda seconds: pytest.fail("it waits"))
    remote.forget()


def test_seeds_that_are_added_are_counted_without_those_that_are_refused(remote: Remote) -> None:
    urls = ["http://a.test/", "ftp://a.test/", "http://b.test/"]
    answer = VERBS["add"].run(remote, urls)
    assert (answer["ok"], answer["accepted"]) == (False, 2)
    assert [each["url"] for each in answer["refused"]] == ["ftp://a.test/"]
    assert VERBS["add"].run(remote, urls[::2]) == {"ok": True, "accepted": 2, "refused": []}
