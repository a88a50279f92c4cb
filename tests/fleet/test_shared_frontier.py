"""The frontier of a node: what it takes, what it passes on, and what it drops."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from larbinpy.crawl.fleet.frontier import (
    FULL_DEPTH,
    SharedAdmission,
    SharedFrontier,
    SharedSequencer,
)
from larbinpy.page import Outcome
from larbinpy.storage.queues import decode, encode
from larbinpy.url import Url, fingerprint
from tests.support.frontiers import World, links, make_frontier, owed, queued

KINDS = (SharedFrontier, SharedAdmission, SharedSequencer)
SITES = {"http://a.test": 1, "http://b.test": 2, "http://c.test": 3}


class FakeJournal:
    """Shards by a table of sites, each of one site."""

    def __init__(self, *shards: int) -> None:
        self.here = set(shards)
        self.leaving: set[int] = set()
        self.noted: dict[int, tuple[int, str]] = {}
        self.passed_on: list[tuple[int, str]] = []
        self.decided: list[int] = []

    def serves(self, shard: int) -> bool:
        return shard in self.here - self.leaving

    def holds(self, origin: int) -> bool:
        return self.serves(origin >> 8)

    def put(self, shard: int, key: int, line: str) -> int:
        origin = shard << 8 | len(self.noted) + 1
        self.noted[origin] = (key, line)
        return origin

    def letter(self, shard: int, line: str) -> None:
        self.passed_on.append((shard, line))

    def done(self, origin: int) -> None:
        self.decided.append(origin)

    def count(self, shard: int, counts: Mapping[str, int]) -> None:
        assert self.serves(shard) and counts


@pytest.fixture
def journal() -> FakeJournal:
    return FakeJournal(1)


@pytest.fixture
def frontier(tmp_path: Path, journal: FakeJournal) -> SharedFrontier:
    return make(tmp_path, journal)


def make(folder: Path, journal: FakeJournal, **settings: object) -> SharedFrontier:
    frontier = make_frontier(folder, kinds=KINDS, **settings)  # type: ignore[arg-type]
    assert isinstance(frontier, SharedFrontier)
    frontier.begin(journal, SITES.__getitem__)  # type: ignore[arg-type]
    return frontier


PARENT = Url("http://a.test/", 5)


def test_links_go_to_the_node_that_has_their_host(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    found = links("http://a.test/1", "http://b.test/1", "http://a.test/1", "http://b.test/1")
    frontier.admit(PARENT, found, 0.0)
    [url] = queued(frontier)
    assert url.href == "http://a.test/1"
    assert journal.noted == {
        url.origin: (fingerprint(url.href), encode(Url(url.href, 4, PARENT.href)))
    }
    [(shard, line)] = journal.passed_on
    assert (shard, decode(line).href, decode(line).depth) == (2, "http://b.test/1", 4)
    # Each is passed on once.
    frontier.admit(Url("http://a.test/1", 4), found, 0.0)
    frontier.admit(Url("http://a.test/2", 4), links("http://b.test/1", "http://c.test/1"), 0.0)
    assert [shard for shard, _ in journal.passed_on] == [2, 3]


def test_a_link_passed_on_is_queued_here_when_its_shard_comes(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    frontier.admit(PARENT, links("http://b.test/1"), 0.0)
    journal.here.add(2)
    [(_, line)] = journal.passed_on
    frontier.receive([line, line])
    assert owed(frontier) == ["http://b.test/1"]
    frontier.admit(PARENT, links("http://b.test/1"), 0.0)
    assert owed(frontier) == ["http://b.test/1"]


def test_a_link_whose_letter_was_lost_is_queued_when_it_is_found_again(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    """The node that got the letter was killed before it wrote the URL down."""
    frontier.admit(PARENT, links("http://b.test/1"), 0.0)
    assert len(journal.passed_on) == 1
    journal.here.add(2)
    frontier.load([], [])
    frontier.admit(PARENT, links("http://b.test/1"), 0.0)
    assert owed(frontier) == ["http://b.test/1"]


def test_a_seed_without_a_depth_has_that_of_its_site_where_it_arrives(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    frontier.receive([encode(Url("http://a.test/x", FULL_DEPTH, seed=True))])
    [seed] = queued(frontier)
    assert seed.depth == 5
    frontier.admit(seed, links("http://a.test/y"), 0.0)
    found = {url.href: url.depth for url in queued(frontier)}
    assert found == {"http://a.test/x": 5, "http://a.test/y": 4}


def test_seeds_go_to_the_node_that_has_their_host(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    assert frontier.seed("a.test/x") is None
    assert [url.seed for url in queued(frontier)] == [True]
    assert frontier.seed("b.test/x") is None
    assert [decode(line).seed for _, line in journal.passed_on] == [True]
    assert frontier.seed("http://") is Outcome.BAD_URL
    assert frontier.seed("a.test/x") is Outcome.URL_DUP
    assert frontier.seed("b.test/x", again=True) is None
    assert owed(frontier) == ["http://a.test/x"]
    # Links to the seeds' hosts count as within the crawl on each node.
    assert set(frontier.scope.area.hosts) == {"a.test", "b.test"}
    journal.here.add(2)
    frontier.receive([line for _, line in journal.passed_on])
    assert owed(frontier) == ["http://a.test/x", "http://b.test/x", "http://b.test/x"]


def test_the_seeds_of_others_belong_to_the_crawl(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    frontier.receive([encode(Url("http://a.test/x", 5, seed=True))])
    assert set(frontier.scope.area.hosts) == {"a.test"}


def test_a_trap_is_recognised_where_its_host_is(tmp_path: Path, journal: FakeJournal) -> None:
    frontier = make(tmp_path, journal, limit_by_shape=10)
    lines = [encode(Url(f"http://a.test/{number}", 5)) for number in range(30)]
    frontier.receive(lines + lines)
    assert len(owed(frontier)) == 10


def test_a_url_that_is_fetched_again_is_no_trap(tmp_path: Path, journal: FakeJournal) -> None:
    frontier = make(tmp_path, journal, limit_by_shape=10)
    lines = [encode(Url(f"http://a.test/{number}", 5)) for number in range(10)]
    frontier.receive(lines)
    assert not frontier.admission.has_repeats
    frontier.receive([f"!{line}" for line in lines])
    assert len(owed(frontier)) == 20
    assert frontier.admission.has_repeats


def test_a_decided_url_is_queued_again_where_its_host_is(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    frontier.seed("a.test/x")
    World(frontier).run()
    frontier.put_back(Url("http://a.test/x", 5))
    frontier.put_back(Url("http://b.test/x", 5))
    assert owed(frontier) == ["http://a.test/x"]
    [(_, line)] = journal.passed_on
    journal.here.add(2)
    frontier.receive([line, line])
    assert owed(frontier) == ["http://a.test/x", "http://b.test/x", "http://b.test/x"]


def test_what_was_found_before_is_taken_over(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    keys = [fingerprint(f"http://a.test/{number}") for number in range(5)]
    line = encode(Url("http://a.test/3", 2, "http://a.test/"))
    frontier.load(keys, [(1 << 8 | 7, line)])
    [url] = queued(frontier)
    assert (url.href, url.depth, url.origin) == ("http://a.test/3", 2, 1 << 8 | 7)
    frontier.admit(PARENT, links(*(f"http://a.test/{number}" for number in range(6))), 0.0)
    assert owed(frontier) == ["http://a.test/3", "http://a.test/5"]


def test_decided_urls_are_noted(frontier: SharedFrontier, journal: FakeJournal) -> None:
    frontier.seed("a.test/x")
    World(frontier).run()
    assert journal.decided == list(journal.noted)


def test_urls_of_a_shard_that_leaves_are_dropped(
    frontier: SharedFrontier, journal: FakeJournal
) -> None:
    journal.here.add(2)
    for number in range(200):
        frontier.seed(f"a.test/{number}")
        frontier.seed(f"b.test/{number}")
    frontier.sequence(0.0)
    assert 2 in frontier.in_memory()
    journal.leaving.add(2)
    journal.here.discard(2)
    withdrawal = frontier.withdrawal()
    while not withdrawal.over:
        withdrawal.step()
    for turn in range(20):
        frontier.sequence(float(turn))
    assert 2 not in frontier.in_memory()
    assert 1 in frontier.in_memory()
    assert all(href.startswith("http://a.test/") for href in owed(frontier))
    assert len(owed(frontier)) == 200
    assert journal.decided == []


def test_the_operators_plug_is_asked_before_a_link_is_noted(
    tmp_path: Path, journal: FakeJournal
) -> None:
    asked: list[str] = []

    def is_odd(url: Url) -> bool:
        asked.append(url.href)
        return url.href.endswith("1")

    frontier = make(tmp_path, journal, wants=is_odd)
    found = [f"http://{host}/{number}" for host in ("a.test", "b.test") for number in (1, 2)]
    for _ in range(2):
        frontier.admit(PARENT, links(*found), 0.0)
    assert asked == found
    assert owed(frontier) == ["http://a.test/1"]
    assert len(journal.noted) == 1
    [(_, line)] = journal.passed_on
    assert decode(line).href == "http://b.test/1"
    # The node that gets it does not ask again.
    journal.here.add(2)
    frontier.receive([encode(Url("http://b.test/4", 3))])
    assert asked == found
    assert owed(frontier) == ["http://a.test/1", "http://b.test/4"]
    refused = frontier.admission.refused
    assert (refused[Outcome.REJECTED], refused[Outcome.URL_DUP]) == (2, 4)
