"""Commands about a crawl on Redis, asked for without a node."""

from collections.abc import Iterator

import pytest

from larbinpy.crawl.fleet.remote import Remote
from larbinpy.errors import UserError
from larbinpy.fleet.vault import FleetState
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


def test_nobody_is_waited_for_where_no_node_is(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "rest", lambda seconds: pytest.fail("it waits"))
    remote.forget()
