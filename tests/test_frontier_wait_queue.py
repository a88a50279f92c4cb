import os
import tempfile
from collections import Counter, deque
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from larbinpy.frontier import wait_queue as wait_queue_module
from larbinpy.frontier.wait_queue import WaitQueue
from larbinpy.url import Url


def url(site, number=0):
    return Url(f"http://{site}.test/{number}", number % 7)


def lane(site, lanes=64):
    return crc32(f"http://{site}.test".encode()) % lanes


#: Sites in lanes of their own, and one that shares the lane of the first.
ALONE = ["a", "b", "c", "d"]
NEIGHBOUR = next(f"a{n}" for n in range(10_000) if lane(f"a{n}") == lane("a"))


def everyone(site):
    return True


def nobody(site):
    return False


def but(*closed):
    """All sites are open but these."""
    return lambda site: site not in {f"http://{name}.test" for name in closed}


@pytest.fixture
def queue(tmp_path):
    return WaitQueue(tmp_path, "wait")


def fill(queue, *sites, count=3):
    for number in range(count):
        for site in sites:
            queue.put(url(site, number))


def take_all(queue, is_open=everyone):
    taken = []
    while queue.has(is_open):
        taken.append(queue.get(is_open))
    assert queue.get(is_open) is None
    return taken


def test_the_sites_of_these_tests_are_where_they_are_meant_to_be():
    assert len({lane(site) for site in ALONE}) == len(ALONE)


def test_an_empty_queue(queue):
    assert (len(queue), list(queue), queue.blocked()) == (0, [], [])
    assert queue.get(everyone) is None
    assert not queue.has(everyone)
    assert repr(queue) == "<WaitQueue 0 URLs of 0 sites>"


def test_first_in_first_out_for_each_site(queue):
    fill(queue, *ALONE, NEIGHBOUR, count=5)
    taken = take_all(queue)
    assert len(taken) == 25
    for site in (*ALONE, NEIGHBOUR):
        of_site = [each for each in taken if each.site == f"http://{site}.test"]
        assert of_site == [url(site, number) for number in range(5)]


def test_a_hot_site_does_not_hold_up_those_in_other_lanes(queue):
    fill(queue, "a", count=100)
    fill(queue, "b", "c")
    taken = take_all(queue, but("a"))
    assert sorted(each.host for each in taken) == ["b.test"] * 3 + ["c.test"] * 3
    assert queue.sites == {"http://a.test": 100}


def test_it_holds_up_those_in_its_lane(queue):
    fill(queue, "a", NEIGHBOUR, count=1)
    assert not queue.has(but("a"))
    assert queue.get(but("a")) is None
    assert take_all(queue) == [url("a"), url(NEIGHBOUR)]


def test_each_lane_has_its_turn(queue):
    fill(queue, *ALONE, count=3)
    hosts = [each.host for each in take_all(queue)]
    for turn in range(3):
        assert set(hosts[4 * turn : 4 * turn + 4]) == {f"{site}.test" for site in ALONE}


def test_the_sites_that_stand_before_others(queue):
    fill(queue, "a", NEIGHBOUR, "b")
    assert sorted(queue.blocked()) == ["http://a.test", "http://b.test"]


def test_urls_are_counted_by_site(queue):
    fill(queue, "a", count=2)
    fill(queue, NEIGHBOUR, count=1)
    assert queue.sites == {"http://a.test": 2, f"http://{NEIGHBOUR}.test": 1}
    assert (len(queue), repr(queue)) == (3, "<WaitQueue 3 URLs of 2 sites>")
    for left in ({"http://a.test": 1}, {}):
        queue.get(everyone)
        assert queue.sites == left | {f"http://{NEIGHBOUR}.test": 1}
    assert queue.sites["http://nobody.test"] == 0
    assert len(queue.sites) == 1, "to ask is not to count"


def test_asking_takes_nothing(queue):
    fill(queue, *ALONE)
    for _ in range(3):
        assert queue.has(everyone) and not queue.has(nobody)
        assert queue.get(nobody) is None
        assert len(list(queue)) == len(queue) == 12


def test_what_cannot_be_read_is_not_counted_as_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(wait_queue_module, "_SEGMENT", 2)
    queue = WaitQueue(tmp_path, "wait")
    fill(queue, "a", count=2)
    for each in queue.lanes:
        each.spill()
    [segment] = tmp_path.iterdir()
    hidden = segment.rename(tmp_path / "hidden")
    with pytest.raises(OSError):
        queue.get(everyone)
    assert (len(queue), queue.sites) == (2, {"http://a.test": 2})
    hidden.rename(segment)
    assert take_all(queue) == [url("a", 0), url("a", 1)]


def test_what_was_saved_goes_on(tmp_path, queue):
    fill(queue, *ALONE, NEIGHBOUR, count=4)
    queue.get(everyone)
    again = WaitQueue(tmp_path, "wait")
    for mine, theirs in zip(again.lanes, queue.lanes, strict=True):
        mine.load(theirs.save())
    again.count_again()
    assert again.sites == queue.sites == Counter(each.site for each in queue)
    assert list(again) == list(queue)
    assert len(take_all(again)) == 19
    assert len(again) == 0


SITES = ["a", "b", "c", "d", "e", "f"]
LANES = 3


class Waiting(RuleBasedStateMachine):
    """A WaitQueue does what a deque for each lane does, whatever is spilled and saved."""

    @initialize()
    def begin(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.queue = WaitQueue(self.folder, "wait")
        self.model = [deque() for _ in range(LANES)]
        self.turns = [0] * LANES
        self.count = 0

    @rule(sites=st.lists(st.sampled_from(SITES), min_size=1, max_size=8))
    def put(self, sites):
        for site in sites:
            self.count += 1
            self.queue.put(url(site, self.count))
            self.model[lane(site, LANES)].append(url(site, self.count))

    @rule(closed=st.sets(st.sampled_from(SITES)), number=st.integers(1, 4))
    def get(self, closed, number):
        for _ in range(number):
            is_open = but(*closed)
            ready = [n for n, urls in enumerate(self.model) if urls and is_open(urls[0].site)]
            assert self.queue.has(is_open) == bool(ready)
            taken = self.queue.get(is_open)
            if taken is None:
                assert not ready
                return
            [turn] = [n for n in ready if self.model[n][0] == taken]
            self.model[turn].popleft()
            self.is_fair(turn, ready)

    def is_fair(self, turn, ready):
        """No lane is passed over more often than there are others."""
        for other in range(LANES):
            passed = other in ready and other != turn
            self.turns[other] = self.turns[other] + 1 if passed else 0
            assert self.turns[other] < LANES

    @rule()
    def spill(self):
        for each in self.queue.lanes:
            each.spill()

    @rule(stopped=st.booleans())
    def save(self, stopped):
        saved = [each.save() for each in self.queue.lanes]
        if stopped:
            self.queue = WaitQueue(self.folder, "wait")
            for each, state in zip(self.queue.lanes, saved, strict=True):
                each.load(state)
            self.queue.count_again()
            self.turns = [0] * LANES

    @invariant()
    def same(self):
        everything = [each for urls in self.model for each in urls]
        assert list(self.queue) == everything
        assert len(self.queue) == len(everything)
        assert self.queue.sites == Counter(each.site for each in everything)
        assert all(self.queue.sites.values())
        assert self.queue.blocked() == [urls[0].site for urls in self.model if urls]

    def teardown(self):
        self.temporary.cleanup()


@pytest.fixture
def small(monkeypatch):
    """Three lanes, segments of three URLs, and no waiting for the disk."""
    monkeypatch.setattr(wait_queue_module, "_LANES", LANES)
    monkeypatch.setattr(wait_queue_module, "_SEGMENT", 3)
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.mark.usefixtures("small")
class TestWaiting(Waiting.TestCase):
    pass
