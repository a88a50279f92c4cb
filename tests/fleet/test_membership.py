"""A crawl as a node: its turns in the vault, its shards that leave, and its end."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.crawl.fleet.frontier import SharedAdmission, SharedFrontier, SharedSequencer
from larbinpy.crawl.fleet.membership import LocalShards, Membership
from larbinpy.crawl.fleet.steering import Work
from larbinpy.crawl.mode import Mode, Restart
from larbinpy.fetch.options import Request, RequestOptions
from larbinpy.fleet.identity import Identity
from larbinpy.fleet.journal import ShardJournal, pack, unpack
from larbinpy.fleet.ownership import shard_of
from larbinpy.fleet.vault import FleetState
from larbinpy.output.plug import NoFeeder
from larbinpy.storage.queues import encode
from larbinpy.url import Url
from tests.support.enginefakes import Clock, FakeFetcher
from tests.support.frontiers import World, make_frontier
from tests.support.memoryboard import MemoryBoard, Pages, Posted
from tests.support.memoryvault import Engine

KINDS = (SharedFrontier, SharedAdmission, SharedSequencer)
SHARDS = 4
WAIT = 2.0
STEP = 0.05
ADDRESS = "192.0.2.1"
OWED = encode(Url("http://owed.test/", 5))


class Fleet:
    """Nodes of one crawl, at a time that is told."""

    def __init__(self, folder: Path, limit: int = 0, window: float = 0.0) -> None:
        self.folder = folder
        self.engine = Engine(SHARDS, window=window)
        self.pages = Pages(limit)
        self.posted = Posted(self.pages)
        self.clock = Clock()
        self.nodes: list[Node] = []
        opening = MemoryBoard(self.engine, self.posted)
        opening.open({}, lambda answer: None)
        opening.declare(FleetState.NEW, FleetState.RUNNING, lambda answer: None)
        # Something that is owed, so that the crawl goes on.
        opening.post({shard_of("owed.test", SHARDS): pack([OWED])}, lambda answer: None)
        opening.step()

    @property
    def now(self) -> float:
        return self.clock.now

    def node(self, name: str, **settings: Any) -> "Node":
        self.nodes.append(Node(name, self, **settings))
        return self.nodes[-1]

    def go(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.clock.now += STEP
            self.engine.step(self.now)
            for node in self.nodes:
                node.step(self.now)


class Outputs(NoFeeder):
    """Outputs that have finished when the test says so."""

    has_finished = True
    awaits = "the outputs"

    def finish(self) -> bool:
        return self.has_finished


class Node:
    """A node whose requests the test gives and ends."""

    def __init__(self, name: str, fleet: Fleet, wait_by: str = "ip", latency: float = 0.0) -> None:
        self.name = name
        self.mode = Mode()
        self.outputs = Outputs()
        self.board = MemoryBoard(fleet.engine, fleet.posted, lambda: latency)
        folder = fleet.folder / name
        folder.mkdir()
        frontier = make_frontier(folder, kinds=KINDS)
        assert isinstance(frontier, SharedFrontier)
        self.frontier = frontier
        self.journal = ShardJournal()
        config = Config(shards=SHARDS, wait_duration=WAIT, limit_page=fleet.pages.limit, node=name)
        self.member = Membership(
            self.board,  # type: ignore[arg-type]
            self.journal,
            frontier,
            config,
            Identity("crawl", "crawl", folder),
            self.mode,
            fleet.clock,
            self.outputs,
        )
        self.fetcher = FakeFetcher([], 4)
        network: Any = SimpleNamespace(fetcher=self.fetcher)
        self.member.take_turns(network, lambda: WAIT, wait_by)
        self.turns = network.fetching

    def step(self, now: float) -> None:
        self.member.step(now)
        self.turns.step(now)
        # All is on the disk at once.
        self.journal.tidy(self.journal.cut())

    def fetch(self, site: str, now: float) -> None:
        url = Url(f"{site}/", 1)
        request = Request(url, ADDRESS, lambda *_: None, 100, RequestOptions("us/1"))
        self.turns.start(request, now)

    def land(self) -> None:
        self.fetcher.ready = 1

    def works(self, pages: int = 0) -> None:
        """Let it be a crawl that has fetched so many pages."""
        self.stats = SimpleNamespace(success=pages, rates=lambda: {"success": 0.0, "bytes": 0.0})
        totals = SimpleNamespace(counts=self._counts)
        work = Work(
            totals,  # type: ignore[arg-type]
            self.stats,  # type: ignore[arg-type]
            state=lambda: "running",
            queued=lambda: 0,
            seen=lambda: 0,
            busy=lambda: 0,
            handles=lambda: 4,
        )
        self.member.steering.begin(work, self.name)

    def _counts(self) -> dict[str, dict[str, int]]:
        totals = {"success": self.stats.success, "pages": 0, "bytes_received": 0, "links": 0}
        return {"totals": totals, "outcomes": {}, "known": {"sites": 0}}


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_an_address_has_one_turn_for_all_nodes(fleet: Fleet) -> None:
    """Until waitDuration after the end of a request, however long that took."""
    one, two = fleet.node("a"), fleet.node("b")
    fleet.go(5.0)
    one.fetch("http://a.test", fleet.now)
    fleet.go(1.0)
    assert one.fetcher.busy == 1
    two.fetch("http://b.test", fleet.now)
    fleet.go(60.3)
    assert two.fetcher.started == []
    one.land()
    fleet.go(WAIT)
    assert two.fetcher.started == []
    # It asks when the turn ends.
    fleet.go(4 * STEP)
    assert two.fetcher.started == ["http://b.test/"]


def test_a_turn_is_kept_until_its_request_is_opened(fleet: Fleet) -> None:
    one, two = fleet.node("a"), fleet.node("b")
    fleet.go(5.0)
    one.fetcher.size = 0
    one.fetch("http://a.test", fleet.now)
    fleet.go(0.5)
    two.fetch("http://b.test", fleet.now)
    fleet.go(3.0)
    one.fetcher.size = 4
    fleet.go(1.0)
    assert (one.fetcher.busy, two.fetcher.busy) == (1, 0)


def test_a_turn_of_a_node_that_is_silent_ends(fleet: Fleet) -> None:
    """Its request may have lasted as long as the turn, without waitDuration."""
    one, two = fleet.node("a"), fleet.node("b")
    fleet.go(5.0)
    one.fetch("http://a.test", fleet.now)
    fleet.go(1.0)
    fleet.nodes.remove(one)
    two.fetch("http://b.test", fleet.now)
    fleet.go(6.0 + WAIT)
    assert two.fetcher.started == []
    fleet.go(5.0)
    assert two.fetcher.started == ["http://b.test/"]


def test_by_site_two_sites_of_an_address_have_turns_of_their_own(fleet: Fleet) -> None:
    one, two = fleet.node("a", wait_by="site"), fleet.node("b", wait_by="site")
    fleet.go(5.0)
    one.fetch("http://a.test", fleet.now)
    two.fetch("http://b.test", fleet.now)
    fleet.go(1.0)
    assert (one.fetcher.busy, two.fetcher.busy) == (1, 1)
    two.fetch("http://a.test", fleet.now)
    fleet.go(10.0)
    assert two.fetcher.busy == 1


def test_what_was_given_while_redis_was_away_is_passed_on_before_a_restart(tmp_path: Path) -> None:
    """The crawl that is assembled then does not have it."""
    fleet = Fleet(tmp_path, window=1.0)
    node = fleet.node("a", latency=0.3)
    fleet.go(5.0)
    node.board.cut(fleet.now + 2.0, lambda: None)
    node.member.steering.declare("pause")
    fleet.engine.forget(0, 0.0)
    with pytest.raises(Restart, match="Redis was restarted"):
        fleet.go(10.0)
    assert fleet.engine.state is FleetState.PAUSED


def test_a_node_that_leaves_gives_back_the_rest_of_its_share(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, limit=1000)
    node = fleet.node("a")
    node.works()
    assert node.member.steering.holds == "this node waits for its share of limitPage"
    fleet.go(5.0)
    assert fleet.pages.left < 1000
    assert not node.member.holds
    node.stats.success = 20
    until = fleet.now + 10.0
    while not node.member.finish():
        assert fleet.now < until
        fleet.go(STEP)
    assert fleet.pages.left + 20 == 1000
    # It reports once more, as there were more pages.
    assert fleet.posted.reports["a"][1]["pages"] == 20


def test_a_shard_that_leaves_is_busy_until_its_requests_have_landed(tmp_path: Path) -> None:
    """Its owner leaves it when it is not busy, and another node may ask its hosts."""
    frontier = make_frontier(tmp_path, kinds=KINDS, ignore_robots=True)
    assert isinstance(frontier, SharedFrontier)
    journal, clock = ShardJournal(), Clock()
    frontier.begin(journal, lambda site: 1)
    local = LocalShards(frontier, clock)
    journal.take_up(1, 1)
    journal.serve(1)
    assert not local.busy(1), "all sites were examined"
    frontier.seed("http://a.test/")
    world = World(frontier, now=clock.now, latency=5.0)
    clock.now += 0.1
    world.run(until=clock.now)
    journal.withdraw(1)
    local.withdraw(1)
    while world.run(until=clock.now) == []:
        assert local.busy(1)
        clock.now += STEP
    assert clock.now >= 105.0
    clock.now += 0.5
    for _ in range(3):
        clock.now += STEP
        local.busy(1)
    assert not local.busy(1)


class Examining:
    """A search for URLs of shards that leave, of three steps; `frontier` has none after it."""

    def __init__(self) -> None:
        self.steps: list[float] = []
        self.clock = Clock()
        self.frontier: Any = SimpleNamespace(withdrawal=lambda: self, in_memory=set)

    @property
    def over(self) -> bool:
        return len(self.steps) % 3 == 0

    def step(self) -> None:
        self.steps.append(self.clock.now)


def test_a_shard_is_busy_until_all_sites_were_examined() -> None:
    examining = Examining()
    clock = examining.clock
    local = LocalShards(examining.frontier, clock)
    local.withdraw(1)
    begin = clock.now
    found = []
    for _ in range(80):
        found.append(local.busy(1))
        clock.now += 0.003
    assert found == [True] * 8 + [False] * 72
    # A step each 10 ms, and the next search 0.2 s after the last one.
    assert [round(step - begin, 3) for step in examining.steps] == [0.0, 0.012, 0.024, 0.225, 0.237]


def test_a_node_that_was_away_begins_anew_once_it_may_open_requests(fleet: Fleet) -> None:
    """What was in flight was aborted, so that its frontier lacks these URLs."""
    node = fleet.node("a")
    fleet.go(5.0)
    node.fetch("http://a.test", fleet.now)
    fleet.go(1.0)
    node.board.cut(fleet.now + 60.0, lambda: None)
    fleet.go(59.0)
    assert node.fetcher.busy == 0
    # Nothing of the old session goes on while its seeds are still passed on.
    stepped: list[float] = []
    node.member.node.step = lambda now: stepped.append(now)  # type: ignore[method-assign]
    node.member.steering.pass_on = lambda: False  # type: ignore[method-assign]
    node.member._must_restart = lambda now: True  # type: ignore[method-assign]
    fleet.go(1.0)
    assert stepped == []
    node.member.steering.pass_on = lambda: True  # type: ignore[method-assign]
    with pytest.raises(Restart, match="this node was away from Redis"):
        fleet.go(3.0)


def test_a_node_whose_session_is_lost_begins_anew(fleet: Fleet) -> None:
    node = fleet.node("a")
    fleet.go(5.0)
    session = node.member.node.session
    node.board.bury(session, 5, lambda answer: None)
    node.board.quit(session, lambda answer: None)
    with pytest.raises(Restart, match="others took this node for dead"):
        fleet.go(3.0)


def test_a_node_that_cannot_join_begins_anew(fleet: Fleet) -> None:
    """The next try says why, as at the first start."""
    fleet.engine.remove()
    fleet.node("a")
    with pytest.raises(Restart, match="the crawl is gone"):
        fleet.go(3.0)


def test_a_node_of_a_stopped_crawl_stops(fleet: Fleet) -> None:
    node = fleet.node("a")
    fleet.go(5.0)
    assert not node.mode.stop
    node.board.declare(FleetState.RUNNING, FleetState.STOPPED, lambda state: None)
    fleet.go(2.0)
    assert node.mode.stop


def test_nodes_are_paused_as_long_as_their_fleet(fleet: Fleet) -> None:
    node = fleet.node("a")
    node.works()
    running, paused = FleetState.RUNNING, FleetState.PAUSED
    lines: list[str] = []
    assert node.member.holds == "this node joins the fleet"
    for old, new in ((running, paused), (paused, running), (running, paused)):
        fleet.go(5.0)
        assert node.mode.paused == (old is paused)
        assert node.member.holds == ("the fleet is paused" if old is paused else "")
        lines += [*node.member.second(fleet.now), *node.member.second(fleet.now)]
        node.board.declare(old, new, lambda state: None)
    assert lines == ["the fleet is paused", "this node has joined the fleet"]
    # A node that ends does not say that it waits.
    node.member.finish()
    fleet.go(5.0)
    assert list(node.member.second(fleet.now)) == []


def test_a_node_tells_what_it_waits_for(fleet: Fleet) -> None:
    node = fleet.node("a")
    node.works()
    assert node.member.holds == "this node joins the fleet"
    fleet.go(5.0)
    assert node.member.holds == ""
    node.board.cut(fleet.now + 60.0, lambda: None)
    fleet.go(8.0)
    assert node.member.holds == "this node waits until it is certain of its shards"
    client: Any = SimpleNamespace(trouble="Redis does not answer")
    node.member._client = client
    assert node.member.holds == "Redis does not answer"


def test_a_node_tells_what_its_outputs_and_its_vault_tell(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = fleet.node("a")
    node.works()
    fleet.go(5.0)
    list(node.member.second(fleet.now))
    monkeypatch.setattr(node.outputs, "second", lambda now: ["the database is down"])
    monkeypatch.setattr(node.board, "news", lambda: iter(["a clock was put"]), raising=False)
    assert list(node.member.second(fleet.now)) == ["the database is down", "a clock was put"]
    assert node.member.holds == ""
    monkeypatch.setattr(node.outputs, "holds", "7 pages wait for the database", raising=False)
    assert node.member.holds == "7 pages wait for the database"
    assert node.member.idle == "other nodes are at work"


def test_the_loop_wakes_for_what_redis_has_to_be_sent(fleet: Fleet) -> None:
    node = fleet.node("a")
    fleet.go(5.0)
    assert node.member.deadline > fleet.now
    node.board.client.deadline = fleet.now - 1.0
    assert node.member.deadline == fleet.now - 1.0


def test_a_node_leaves_when_its_outputs_have_finished(fleet: Fleet) -> None:
    node = fleet.node("a")
    node.works()
    fleet.go(5.0)
    node.outputs.has_finished = False
    for _ in range(100):
        assert not node.member.finish()
        fleet.go(STEP)
    assert node.member.node.session
    assert node.member.awaits == "the outputs"
    node.outputs.has_finished = True
    while not node.member.finish():
        fleet.go(STEP)
    assert not fleet.engine.sessions


def test_reports_go_on_after_redis_was_away(fleet: Fleet) -> None:
    nodes = [fleet.node(name) for name in "ab"]
    for node in nodes:
        node.works()
    fleet.go(20.0)
    session, other = nodes
    session.board.cut(fleet.now + 2.0, lambda: None)
    fleet.go(6.0)
    at, report = fleet.posted.reports["a"]
    assert fleet.now - at < 3.0
    assert report["joined_s"] == pytest.approx(26.0, abs=4.0)
    assert other.member.describe()["shards_served"] == SHARDS
    fleet.nodes.remove(session)
    fleet.go(20.0)
    described = other.member.describe()
    assert [node["alive"] for node in described["nodes"]] == [False, True]
    assert described["shards_served"] == described["shards"] == SHARDS


def test_blocks_that_are_mostly_done_are_thinned_out(fleet: Fleet) -> None:
    node = fleet.node("a")
    fleet.go(5.0)
    origins = [node.journal.put(0, number, f"line {number}") for number in range(500)]
    for origin in origins[::2] + origins[1::4]:
        node.journal.done(origin)
    fleet.go(3.0)
    answers: list[Any] = []
    node.board.read_blocks(0, range(3), answers.append)
    fleet.go(STEP)
    [blocks] = answers
    assert [sum(map(bool, unpack(packed))) for _, packed, _ in blocks] == [32, 32, 32]
