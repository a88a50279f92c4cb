from pathlib import Path

import pytest

from larbinpy.dns.lookup import Answer
from larbinpy.frontier.frontier import Frontier
from larbinpy.storage.sizes import FrontierSizes
from tests.support.frontiers import WALL, make_frontier, named, reply, taken


@pytest.fixture
def frontier(tmp_path: Path) -> Frontier:
    return make_frontier(tmp_path)


def test_queues_count_urls_where_they_are(frontier: Frontier) -> None:
    for number in range(4):
        frontier.seed(f"http://a.test/{number}")
    frontier.seed("http://b.test/", priority=True)
    assert frontier.queues()["ordinary"] == 4
    assert frontier.queues()["priority"] == 1
    frontier.sequence(0.0)
    assert frontier.queues()["named_sites"] == 5
    for _ in range(2):
        name = named(frontier)
        frontier.resolved(Answer(name, (name,), None), 0.0)
    # The requests for two robots.txt files are ready; they are no URLs of the crawl.
    queues = frontier.queues()
    assert (queues["named_sites"], queues["ip_sites"], frontier.owed) == (5, 0, 5)
    waiting = [str(site.describe(0.0)["waiting"]) for site in frontier.registry]
    assert sorted(waiting) == ["1", "4"]
    first = taken(frontier, 0.0)
    frontier.replied(reply(first, 404), 0.0, WALL)
    frontier.take(0.0)
    queues = frontier.queues()
    assert queues["in_flight"] == 1
    assert queues["named_sites"] + queues["ip_sites"] + queues["in_flight"] == 5


def test_queues_count_urls_set_aside(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, max_urls=4)
    for number in range(5):
        frontier.seed(f"http://a.test/{number}")
        frontier.seed(f"http://b.test/{number}", priority=True)
    frontier.sequence(0.0)
    assert frontier.queues() == {
        "priority": 0,
        "ordinary": 0,
        "priority_wait": 3,
        "ordinary_wait": 3,
        "named_sites": 4,
        "ip_sites": 0,
        "in_flight": 0,
    }
    frontier.close()


def test_the_gate(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, max_urls=2)
    assert frontier.sequencer.gate() == (True, "")
    for number in range(3):
        frontier.seed(f"http://a.test/{number}")
    assert frontier.sequencer.gate() == (True, "")
    frontier.sequence(0.0)
    assert frontier.sequencer.gate() == (False, "http://a.test has 1 URLs")
    frontier.close()


def test_the_gate_of_a_full_memory(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, frontier_sizes=FrontierSizes(ram_urls=1))
    for number in range(3):
        frontier.seed(f"http://a.test/{number}")
    frontier.sequence(0.0)
    assert frontier.sequencer.gate() == (False, "1 URLs in memory")
    frontier.close()
