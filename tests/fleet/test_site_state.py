"""The state of a site goes with its shard, from one frontier to another."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from larbinpy.crawl.fleet.frontier import SharedAdmission, SharedFrontier, SharedSequencer
from larbinpy.fleet.journal import ShardJournal
from larbinpy.fleet.vault import SiteWait
from larbinpy.frontier.lifecycle import Judgement
from larbinpy.frontier.politeness import SiteLimits
from larbinpy.page import Outcome
from larbinpy.url import Url
from tests.support.fakelogins import FakeLogins
from tests.support.frontiers import (
    SILENT,
    WALL,
    World,
    links,
    make_frontier,
    owed,
    reply,
    site_in,
    site_settings,
    taken,
)

KINDS = (SharedFrontier, SharedAdmission, SharedSequencer)
SHARD = 3
A = "http://a.test"


class Node:
    """A frontier with a journal that serves all hosts, in one shard."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        folder.mkdir()
        self.journal = ShardJournal()
        frontier = make_frontier(folder, kinds=KINDS, **settings)
        assert isinstance(frontier, SharedFrontier)
        self.frontier = frontier
        frontier.begin(self.journal, lambda site: SHARD)
        self.counts: Counter[str] = Counter()
        self.waits: dict[str, SiteWait] = {}

    def serve(self) -> None:
        self.journal.take_up(SHARD, 1)
        self.journal.serve(SHARD)

    def rounds(self, number: int = 2) -> None:
        """Write what changed."""
        for _ in range(number):
            self.journal.tidy(self.journal.cut())
            taken = self.journal.next_round()
            self.journal.settle(taken)
            for _, commit in taken.commits.values():
                self.counts.update(commit.counts)
                self.waits |= commit.waits

    def take_over(self, other: "Node", now: float) -> None:
        """Continue with what the other has written."""
        self.counts, self.waits = Counter(other.counts), dict(other.waits)
        self.frontier.take_over(other.counts, other.waits, now)
        self.serve()


def limited(**limits: int) -> dict[str, Any]:
    return {"by_host": {"a.test": site_settings(1.0, 60.0, limits=SiteLimits(**limits))}}


def crawl(node: Node, world: World, *numbers: int) -> list[str]:
    """Crawl pages of a.test; return the paths of those that were fetched."""
    world.fates.clear()
    for number in numbers:
        node.frontier.seed(f"{A}/{number}")
    return [f.href.removeprefix(A) for f in world.run() if f.outcome is Outcome.SUCCESS]


def test_pages_of_a_site_are_counted_over_all_nodes(tmp_path: Path) -> None:
    one, two = (Node(tmp_path / name, **limited(pages=5)) for name in "ab")
    one.serve()
    first = World(one.frontier)
    assert crawl(one, first, 1, 2, 3) == ["/1", "/2", "/3"]
    assert one.counts == {}
    one.rounds()
    assert one.counts["p" + A] == 3
    two.take_over(one, first.now)
    second = World(two.frontier, now=first.now)
    assert crawl(two, second, 4, 5, 6, 7) == ["/4", "/5"]
    assert second.outcomes()[f"{A}/7"] is Outcome.SITE_LIMIT
    # The first one has its site in memory, open, when the shard comes back.
    two.rounds()
    one.take_over(two, second.now)
    first.now = second.now
    assert crawl(one, first, 8) == []


def test_a_page_that_is_fetched_again_counts_once(tmp_path: Path) -> None:
    one, two = (Node(tmp_path / name, **limited(pages=2)) for name in "ab")
    one.serve()
    first = World(one.frontier)
    crawl(one, first, 1, 2)
    # The first round has the page's links; the node is killed before the second.
    one.rounds(1)
    assert not one.counts
    two.take_over(one, first.now)
    assert crawl(two, World(two.frontier, now=first.now), 1, 2) == ["/1", "/2"]


def test_bytes_of_a_site_are_counted_over_all_nodes(tmp_path: Path) -> None:
    one, two = (Node(tmp_path / name, **limited(received=1000)) for name in "ab")
    one.serve()
    large = {f"{A}/{number}": {"received": 400} for number in range(9)}
    first = World(one.frontier, replies={**large, f"{A}/robots.txt": {"received": 100}})
    assert crawl(one, first, 1) == ["/1"]
    one.rounds()
    assert one.counts == {"b" + A: 500}
    two.take_over(one, first.now)
    assert crawl(two, World(two.frontier, replies=large, now=first.now), 2, 3, 4) == ["/2", "/3"]


def test_counts_of_a_site_may_come_in_two_parts(tmp_path: Path) -> None:
    large = {f"{A}/{number}": {"received": 400} for number in range(9)}
    for number, order in enumerate((("b", "p"), ("p", "b"))):
        node = Node(tmp_path / f"{number}", **limited(pages=5, received=1000))
        for kind in order:
            node.frontier.take_over({kind + A: {"b": 500, "p": 1}[kind]}, {}, 0.0)
        node.serve()
        assert crawl(node, World(node.frontier, replies=large), 2, 3, 4) == ["/2", "/3"]


def test_counts_of_a_crawl_that_had_limits_do_no_harm(tmp_path: Path) -> None:
    """The limit was taken away, and the shard comes from a node that counted before."""
    node = Node(tmp_path / "a")
    node.serve()
    world = World(node.frontier)
    assert crawl(node, world, 1) == ["/1"]
    node.frontier.take_over({"p" + A: 7, "b" + A: 500}, {}, world.now)
    assert crawl(node, world, 2) == ["/2"]


def test_a_pause_that_a_site_asked_for_goes_on(tmp_path: Path) -> None:
    one, two = (Node(tmp_path / name, least=1.0, most=600.0) for name in "ab")
    one.serve()
    busy = {"status": 503, "headers": {"retry-after": "60"}}
    first = World(one.frontier, replies={f"{A}/1": busy})
    one.frontier.seed(f"{A}/1")
    first.run(until=first.now + 10)
    one.rounds()
    assert list(one.waits) == [A]
    assert one.waits[A].seconds == pytest.approx(60.0)
    two.take_over(one, first.now)
    second = World(two.frontier, now=first.now)
    crawl(two, second, 1)
    assert {start.at - first.now for start in second.starts[:1]} == {60.0}
    # A site that is in memory is left alone, too.
    one.waits[A] = SiteWait(90.0)
    two.take_over(one, second.now)
    came_back = second.now
    second.starts.clear()
    crawl(two, second, 2)
    assert second.starts[0].at == came_back + 90.0


@pytest.mark.parametrize("judgement", [Judgement.AGAIN, Judgement.LOST])
def test_the_pause_of_a_page_that_is_fetched_again_goes_on(
    tmp_path: Path, judgement: Judgement
) -> None:
    """It is asked for in another way, or after another login."""
    node = Node(tmp_path / "a", least=1.0, most=600.0)
    node.serve()
    world = World(node.frontier)
    crawl(node, world, 1)
    node.frontier.seed(f"{A}/2")
    world.now += 10.0
    node.frontier.sequence(world.now)
    url = taken(node.frontier, world.now)
    busy = reply(url, 503, headers={"retry-after": "60"})
    node.frontier.replied(busy, world.now, WALL, judgement)
    node.rounds()
    assert node.waits[A].seconds == pytest.approx(60.0)


@pytest.mark.parametrize("path", ["/robots.txt", "/login"])
def test_a_pause_asked_for_before_the_first_page_goes_on(tmp_path: Path, path: str) -> None:
    logins = FakeLogins([f"{A}/login"], [A])
    node = Node(tmp_path / "a", least=1.0, most=600.0, logins=logins)
    node.serve()
    busy = {"status": 503, "headers": {"retry-after": "60"}}
    world = World(node.frontier, replies={A + path: busy})
    node.frontier.seed(f"{A}/1")
    while not any(start.href == A + path for start in world.starts):
        world.run(world.now + 1.0)
    world.run(world.now + 1.0)
    node.rounds()
    assert 57.0 < node.waits[A].seconds <= 60.0


def test_a_page_that_is_given_up_counts_once_it_is_known_as_done(tmp_path: Path) -> None:
    """It has ended each session of its site, and has come."""
    node = Node(tmp_path / "a", **limited(pages=5))
    node.serve()
    world = World(node.frontier)
    crawl(node, world, 1)
    node.rounds()
    assert node.counts["p" + A] == 1
    node.frontier.seed(f"{A}/2")
    world.now += 10.0
    node.frontier.sequence(world.now)
    page = reply(taken(node.frontier, world.now))
    node.frontier.replied(page, world.now, WALL, Judgement.DROP)
    assert [page.url.href for page in node.frontier.decided(9)] == [f"{A}/2"]
    node.rounds(1)
    assert node.counts["p" + A] == 1, "it would count twice if the node were killed now"
    node.rounds(1)
    assert node.counts["p" + A] == 2


def test_a_delay_that_adapted_goes_on(tmp_path: Path) -> None:
    one, two = (Node(tmp_path / name, least=1.0, most=60.0, retries=0) for name in "ab")
    one.serve()
    first = World(one.frontier, replies={f"{A}/{number}": SILENT for number in (2, 3, 4)})
    crawl(one, first, 1, 2, 3, 4)
    one.rounds()
    two.take_over(one, first.now)
    two.frontier.seed(f"{A}/5")
    two.frontier.sequence(first.now)
    before, after = (site_in(node.frontier, f"{A}/").pace for node in (one, two))
    assert after.delay == before.delay == 8.0
    # In memory, too.
    one.waits[A] = one.waits[A]._replace(extra=2.0, usual=0.5)
    two.take_over(one, first.now)
    assert (after.delay, after.usual) == (3.0, 0.5)


def test_ordinary_waits_are_not_written(tmp_path: Path) -> None:
    settings: list[dict[str, Any]] = [{}, {"wait_by": "site"}, {"least": 0.0}]
    for number, how in enumerate(settings):
        node = Node(tmp_path / f"{number}", **how)
        node.serve()
        crawl(node, World(node.frontier), 1, 2, 3)
        node.rounds()
        assert (node.counts, node.waits) == ({}, {})


def test_a_longer_crawl_delay_is_kept_until_robots_txt_is_known_again(tmp_path: Path) -> None:
    one, two = (Node(tmp_path / name, least=1.0, most=60.0) for name in "ab")
    one.serve()
    robots = {"body": b"User-agent: *\nCrawl-delay: 20"}
    first = World(one.frontier, replies={f"{A}/robots.txt": robots})
    crawl(one, first, 1, 2)
    one.rounds()
    two.take_over(one, first.now)
    second = World(two.frontier, now=first.now)
    crawl(two, second, 3)
    assert second.starts[0].at == pytest.approx(first.now + 20.0)


def test_shapes_are_counted_over_all_nodes(tmp_path: Path) -> None:
    one, two = (Node(tmp_path / name, limit_by_shape=100) for name in "ab")
    parent = Url(f"{A}/", 5)
    one.serve()
    one.frontier.admit(parent, links(*(f"{A}/p/{number}" for number in range(80))), 0.0)
    # The other one has found some of them, and passed them on.
    two.frontier.admit(parent, links(*(f"{A}/p/{number}" for number in range(10))), 0.0)
    one.rounds()
    two.rounds()
    assert not two.counts
    two.take_over(one, 0.0)
    two.frontier.admit(parent, links(*(f"{A}/p/{number}" for number in range(80, 200))), 0.0)
    assert 20 <= len(owed(two.frontier)) <= 24


def test_a_shard_that_left_is_not_written(tmp_path: Path) -> None:
    node = Node(tmp_path / "a", **limited(pages=5))
    node.serve()
    crawl(node, World(node.frontier), 1)
    node.journal.withdraw(SHARD)
    node.rounds()
    assert node.counts["p" + A] == 1
    node.journal.drop(SHARD)
    World(node.frontier).run()
    assert not node.journal.has_news
