"""A node finds the crawl on Redis, or makes it, before anything of it runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Any

import pytest

from larbinpy.config import Config, ConfigError
from larbinpy.context import Context
from larbinpy.crawl.fleet.membership import Fleet
from larbinpy.crawl.mode import Restart
from larbinpy.errors import UserError
from larbinpy.fleet.vault import FleetState
from larbinpy.storage.state import Start
from tests.support.fleetworld import BoardAsker, Boards
from tests.support.redisserver import RedisServer

pytest_plugins = ["tests.support.fleetcrawls"]

Open = Callable[..., Fleet]


@pytest.fixture
def board(boards: Boards) -> BoardAsker:
    """The board of the crawl, which does not exist yet."""
    return boards()


@pytest.fixture
def open_fleet(board: BoardAsker, shared_redis: RedisServer, tmp_path: Path) -> Iterator[Open]:
    """Finds the crawl for a node: `open_fleet(SETTING=...)`."""
    with ExitStack() as closing:
        join = f"redis://127.0.0.1:{shared_redis.port}/{board.vault.name}"

        def open_fleet(
            start: Start = Start.AUTO,
            seeds: bool = True,
            written: tuple[str, ...] | None = None,
            **settings: Any,
        ) -> Fleet:
            settings |= {"state_dir": str(tmp_path / "state"), "output_dir": str(tmp_path / "save")}
            config = Config(join=join, node="a", shards=8, **settings)
            return Fleet.open(
                Context.open(config, closing),
                start=start,
                written=written,
                seeds=seeds,
                rejoins=False,
                is_stopped=lambda: False,
                say=lambda line: None,
            )

        yield open_fleet


def test_a_crawl_is_made_once_nothing_refuses(
    board: BoardAsker, open_fleet: Open, tmp_path: Path
) -> None:
    fleet = open_fleet(wait_duration=7.0)
    with pytest.raises(UserError, match="there is no such crawl"):
        board.find()
    assert fleet.is_new and fleet.keeps_seeds
    assert fleet.config.state_dir == str(tmp_path / "state/a")
    assert fleet.enter() == []
    crawl = board.find().crawl
    assert crawl.id == fleet.crawl.id
    assert crawl.settings == {"shards": "8", "waitDuration": "waitDuration 7s"}
    assert fleet.about(Start.AUTO) == []


@pytest.mark.parametrize(
    ("start", "seeds", "why"),
    [(Start.RESUME, True, "--resume needs one"), (Start.AUTO, False, "give a URL or startUrl")],
)
def test_what_there_must_be_to_make_a_crawl(
    open_fleet: Open, start: Start, seeds: bool, why: str
) -> None:
    with pytest.raises(UserError, match=why):
        open_fleet(start, seeds=seeds)


def test_a_crawl_that_is_there_is_joined_as_it_is_now(board: BoardAsker, open_fleet: Open) -> None:
    crawl = board.open({"shards": "16", "waitDuration": "waitDuration 7"})
    board.change("limitPage", "50", 50)
    fleet = open_fleet(seeds=False, written=())
    assert not fleet.is_new and fleet.crawl.id == crawl.id
    assert (fleet.config.shards, fleet.config.wait_duration, fleet.config.limit_page) == (16, 7, 50)
    assert list(fleet.changed) == ["limitPage"]
    with pytest.raises(ConfigError, match="waitDuration: the crawl that this node joins"):
        open_fleet(wait_duration=9.0, written=("wait_duration",))


def test_two_nodes_that_make_a_crawl_agree(board: BoardAsker, open_fleet: Open) -> None:
    fleet = open_fleet()
    board.open({"shards": "16"})
    with pytest.raises(Restart, match="another node has made the crawl"):
        fleet.enter()


FORGETS = "larbinpy fleet --forget removes it"


@pytest.mark.parametrize(
    ("start", "state", "line"),
    [
        (Start.AUTO, FleetState.RUNNING, ""),
        (Start.AUTO, FleetState.FINISHED, f"this crawl is finished; {FORGETS}"),
        (
            Start.SCRATCH,
            FleetState.RUNNING,
            f"this crawl goes on, only FOLDER was emptied; {FORGETS}",
        ),
        (
            Start.SCRATCH,
            FleetState.FINISHED,
            f"this crawl was finished, only FOLDER was emptied; {FORGETS}",
        ),
    ],
)
def test_what_is_said_about_a_crawl_that_is_there(
    board: BoardAsker,
    open_fleet: Open,
    shared_redis: RedisServer,
    start: Start,
    state: FleetState,
    line: str,
) -> None:
    board.open({"shards": "8"})
    shared_redis("HSET", f"lb:{{{board.vault.name}}}:crawl", "state", state.value)
    fleet = open_fleet(start)
    where = fleet.vault.client.address
    line = line.replace("FOLDER", fleet.config.state_dir)
    assert fleet.about(start) == ([f"{where}: {line}"] if line else [])


def test_a_crawl_that_was_replaced_is_not_entered(
    board: BoardAsker, open_fleet: Open, shared_redis: RedisServer
) -> None:
    board.open({"shards": "8"})
    fleet = open_fleet()
    shared_redis("HSET", f"lb:{{{board.vault.name}}}:crawl", "id", "other")
    with pytest.raises(Restart, match="replaced by another"):
        fleet.enter()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FleetState.STOPPED, FleetState.RUNNING),
        (FleetState.PAUSED, FleetState.PAUSED),
        (FleetState.FINISHED, FleetState.FINISHED),
        (FleetState.NEW, FleetState.NEW),
    ],
)
def test_a_node_that_joins_ends_a_stop_and_nothing_else(
    board: BoardAsker,
    open_fleet: Open,
    shared_redis: RedisServer,
    before: FleetState,
    after: FleetState,
) -> None:
    board.open({"shards": "8"})
    shared_redis("HSET", f"lb:{{{board.vault.name}}}:crawl", "state", before.value)
    fleet = open_fleet()
    fleet.enter()
    assert board.find().crawl.state is after
    assert fleet.keeps_seeds == (after is FleetState.NEW)
    assert bool(fleet.about(Start.AUTO)) == (after is FleetState.FINISHED)


def test_the_time_of_a_crawl_goes_on_for_a_node_that_joins_later(
    board: BoardAsker, open_fleet: Open, shared_redis: RedisServer
) -> None:
    first = open_fleet(limit_time=300.0)
    first.enter()
    left = first.limit_at(0.0) - time.monotonic()
    assert 290 < left <= 301
    key = f"lb:{{{board.vault.name}}}:crawl"
    shared_redis("HSET", key, "started", int(shared_redis("HGET", key, "started")) - 100)
    later = open_fleet()
    later.enter()
    left = later.limit_at(0.0) - time.monotonic()
    assert 190 < left <= 201


def test_without_a_limit_of_time_there_is_none(open_fleet: Open) -> None:
    fleet = open_fleet()
    fleet.enter()
    assert fleet.limit_at(0.0) == inf
