import errno
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from larbinpy.frontier.sequencer import LIMIT, Sequencer
from larbinpy.storage.queues import Store, decode, encode
from larbinpy.storage.sizes import FrontierSizes, StoreSizes
from larbinpy.url import Url
from tests.support.faultydisk import READS, FaultyDisk

MANY = 10**6


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path)
    yield opened
    opened.close()


def url(site: str, number: int = 0, *, priority: bool = False) -> Url:
    return Url(f"http://{site}.test/{number}", 3, priority=priority)


def put(sequencer: Sequencer, sites: Any, *, priority: bool = False) -> None:
    """A URL of each of `sites`, numbered from 0."""
    for number, site in enumerate(sites):
        sequencer.put(url(site, number, priority=priority))


def take_all(sequencer: Sequencer) -> list[Url]:
    taken: list[Url] = []
    while sequencer.can_take:
        taken += sequencer.take(MANY)
    assert list(sequencer.take(MANY)) == []
    return taken


def sites(urls: Iterable[Url]) -> str:
    return "".join(each.host[0] for each in urls)


def numbers(urls: Iterable[Url]) -> list[int]:
    return [int(each.href.rsplit("/", 1)[1]) for each in urls]


def waiting(store: Store) -> int:
    lengths = store.lengths()
    return lengths["priority_wait"] + lengths["ordinary_wait"]


@pytest.mark.parametrize(
    ("max_urls", "share"),
    [(10_000, 400), (415, 400), (414, 399), (40, 25), (20, 10), (2, 1), (1, 1), (0, 1)],
)
def test_a_sites_share_leaves_room_in_its_queue(store: Store, max_urls: int, share: int) -> None:
    sequencer = Sequencer(store, max_urls)
    put(sequencer, "a" * (share + 5))
    assert numbers(take_all(sequencer)) == list(range(share))
    assert store.lengths() == {
        "priority": 0,
        "ordinary": 0,
        "priority_wait": 0,
        "ordinary_wait": 5,
    }
    assert LIMIT > 1


def test_priority_goes_first_and_each_queue_in_its_order(store: Store) -> None:
    sequencer = Sequencer(store, 100)
    put(sequencer, "aaa")
    put(sequencer, "bbb", priority=True)
    taken = take_all(sequencer)
    assert sites(taken) == "bbbaaa"
    assert numbers(taken) == [0, 1, 2] * 2


def test_no_more_is_taken_than_was_asked_for(store: Store) -> None:
    sequencer = Sequencer(store, 100)
    put(sequencer, "abcdefg")
    assert sites(sequencer.take(3)) == "abc"
    assert sequencer.in_memory == 3
    assert sites(sequencer.take(0)) == ""
    assert sites(sequencer.take(3)) == "def"
    assert sequencer.in_memory == 6 == sequencer.by_site.total()


def test_a_hot_site_does_not_delay_others(store: Store) -> None:
    sequencer = Sequencer(store, 4)
    put(sequencer, "h" * 100 + "abab")
    assert sorted(sites(take_all(sequencer))) == sorted("hhabab")
    assert sequencer.gate() == (False, "http://h.test has 2 URLs")
    sequencer.put(url("c"))
    assert sequencer.can_take
    assert sites(take_all(sequencer)) == "c"


def test_a_hot_site_that_waits_does_not_delay_others(store: Store) -> None:
    sequencer = Sequencer(store, 2)
    put(sequencer, "hhhaaabbb")
    taken = take_all(sequencer)
    assert sites(taken) == "hab"
    for each in taken[1:]:
        sequencer.done(each)
    # All that h has is still in memory, and its next URL came first.
    assert sorted(sites(take_all(sequencer))) == ["a", "b"]
    assert not sequencer.can_take
    assert store.lengths()["ordinary_wait"] == 4


def test_a_hungry_site_is_served_when_half_of_its_share_is_used_up(store: Store) -> None:
    sequencer = Sequencer(store, 20)
    put(sequencer, "h" * 40)
    taken = take_all(sequencer)
    assert len(taken) == 10
    for each in taken[:4]:
        sequencer.done(each)
        assert not sequencer.can_take
        assert sequencer.gate() == (False, f"http://h.test has {sequencer.by_site.total()} URLs")
    sequencer.done(taken[4])
    assert sequencer.can_take
    assert sequencer.gate() == (True, "")
    assert numbers(take_all(sequencer)) == [10, 11, 12, 13, 14]
    assert sequencer.by_site == {"http://h.test": 10}


def test_urls_of_a_site_stay_in_their_order(store: Store) -> None:
    """URLs that were set aside get free places before later ones."""
    sequencer = Sequencer(store, 8)
    put(sequencer, "h" * 6)
    taken = take_all(sequencer)
    assert numbers(taken) == [0, 1, 2, 3]
    sequencer.done(taken[0])
    sequencer.put(url("h", 6))
    assert take_all(sequencer) == []
    assert store.lengths()["ordinary_wait"] == 3
    sequencer.done(taken[1])
    assert numbers(take_all(sequencer)) == [4, 5]
    for each in taken[2:]:
        sequencer.done(each)
    assert numbers(take_all(sequencer)) == [6]
    # Nobody waits any more: the next one need not either.
    sequencer.put(url("h", 7))
    assert numbers(sequencer.take(1)) == [7]


def test_urls_with_priority_wait_before_the_others(store: Store) -> None:
    sequencer = Sequencer(store, 2)
    for number in range(3):
        sequencer.put(url("h", number))
        sequencer.put(url("h", number, priority=True))
    order = []
    while sequencer.can_take:
        for each in sequencer.take(MANY):
            order.append((each.priority, numbers([each])[0]))
            sequencer.done(each)
    assert order == [(True, 0), (True, 1), (True, 2), (False, 0), (False, 1), (False, 2)]


def test_waiting_and_new_urls_alternate(store: Store) -> None:
    """Else a hot site would take each place that it frees, for ever, or none of them."""
    sequencer = Sequencer(store, 40)
    put(sequencer, "h" * 75)
    taken = take_all(sequencer)
    assert waiting(store) == 50
    for each in taken:
        sequencer.done(each)
    put(sequencer, "abcdefghij")
    served = sites(sequencer.take(10))
    assert served.count("h") == 5
    assert "hh" not in served
    for name in "abcde":
        assert name in served


def test_all_hungry_sites_come_to_their_share(store: Store) -> None:
    sequencer = Sequencer(store, 4)
    put(sequencer, "abcd" * 10)
    for _ in range(10):
        taken = take_all(sequencer)
        assert sorted(sites(taken)) == sorted("abcd" * 2 if len(taken) == 8 else "")
        for each in taken:
            sequencer.done(each)
    assert len(store) == 0


def test_memory_is_bounded(store: Store) -> None:
    sequencer = Sequencer(store, 100, FrontierSizes(ram_urls=3))
    put(sequencer, "abcde")
    taken = take_all(sequencer)
    assert sites(taken) == "abc"
    assert not sequencer.can_take
    assert sequencer.gate() == (False, "3 URLs in memory")
    sequencer.done(taken[1])
    assert sequencer.gate() == (True, "")
    assert sites(take_all(sequencer)) == "d"


def test_memory_is_bounded_however_long_urls_are(store: Store) -> None:
    """A URL may have 8,000 characters, and the page that it was found on as many."""
    sequencer = Sequencer(store, 100, FrontierSizes(ram_size=1500))
    for name in "abcde":
        each = url(name)
        each.via = "http://z.test/" + 600 * "v"
        sequencer.put(each)
    put(sequencer, "fg")
    taken = take_all(sequencer)
    assert sites(taken) == "abc"
    assert not sequencer.can_take
    assert sequencer.gate() == (False, "3 URLs in memory")
    sequencer.done(taken[1])
    assert sequencer.gate() == (True, "")
    taken += take_all(sequencer)
    assert sites(taken) == "abcd"
    for each in [taken[0], *taken[2:]]:
        sequencer.done(each)
    assert sites(take_all(sequencer)) == "efg"


def test_shares_shrink_as_the_memory_fills_with_long_urls(store: Store) -> None:
    """So that it ends with many sites then, too."""
    sequencer = Sequencer(store, 10_000, FrontierSizes(ram_size=20_000))
    first = url("a")
    first.via = "http://z.test/"
    first.via += (10_000 - len(encode(first))) * "v"
    sequencer.put(first)
    assert len(take_all(sequencer)) == 1
    put(sequencer, "h" * 500)
    assert len(list(sequencer.take(500))) == 200


@pytest.mark.parametrize(
    ("in_memory", "share"), [(0, 400), (250, 300), (500, 200), (900, 39), (970, 16), (980, 16)]
)
def test_shares_shrink_as_the_memory_fills(store: Store, in_memory: int, share: int) -> None:
    sequencer = Sequencer(store, 10_000, FrontierSizes(ram_urls=1000))
    for number in range(in_memory):
        sequencer.put(url(f"s{number}"))
    assert len(take_all(sequencer)) == in_memory
    put(sequencer, "h" * 500)
    took = sequencer.take(500)
    assert len(list(took)) == share
    assert sequencer.by_site["http://h.test"] == share


def test_many_sites_are_in_memory_when_it_is_full(store: Store) -> None:
    sequencer = Sequencer(store, 10_000, FrontierSizes(ram_urls=1000))
    for number in range(40):
        put(sequencer, [f"s{number}"] * 500)
    for _ in range(100):
        list(sequencer.take(100))  # a batch of the frontier
    assert sequencer.in_memory == 1000
    loads = list(sequencer.by_site.values())
    assert len(loads) == 10
    assert loads == sorted(loads, reverse=True)


def test_the_work_of_one_turn_is_bounded(store: Store) -> None:
    sequencer = Sequencer(store, 2)
    put(sequencer, "h" * 3500 + "a")
    assert sites(sequencer.take(100)) == "h"
    for left in (2500, 1500, 500):
        assert store.lengths()["ordinary"] == left
        assert waiting(store) == 3500 - left
        taken = sites(sequencer.take(100))
    assert taken == "a"
    assert store.lengths() == {
        "priority": 0,
        "ordinary": 0,
        "priority_wait": 0,
        "ordinary_wait": 3499,
    }


def test_counts_are_forgotten_with_the_last_url(store: Store) -> None:
    sequencer = Sequencer(store, 100)
    sequencer.put(url("a"))
    [taken] = sequencer.take(MANY)
    assert sequencer.by_site == {"http://a.test": 1}
    sequencer.done(taken)
    assert sequencer.by_site == {}
    assert sequencer.in_memory == 0
    assert repr(sequencer) == f"<Sequencer in_memory=0 {store!r}>"


def test_to_ask_is_not_to_count(store: Store) -> None:
    sequencer = Sequencer(store, 100)
    put(sequencer, "abc")
    list(sequencer.take(1))
    sequencer.gate()
    assert set(sequencer.by_site) == {"http://a.test"}


def test_an_empty_sequencer(store: Store) -> None:
    sequencer = Sequencer(store, 100)
    assert not sequencer.can_take
    assert list(sequencer.take(10)) == []
    assert sequencer.gate() == (True, "")


@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5, 6])
def test_urls_taken_before_an_error_count(tmp_path: Path, nth: int) -> None:
    store = Store(tmp_path, StoreSizes(lines=2))
    sequencer = Sequencer(store, 100)
    put(sequencer, "abcdef")
    store.spill()
    given = []
    with FaultyDisk().under(*READS) as disk:
        disk.fail(nth, errno.EIO)
        with pytest.raises(OSError):
            for each in sequencer.take(MANY):
                given.append(each)  # noqa: PERF402 - a list is not extended by what raises
    # Three operations a block: one opens the file, and two read.
    assert numbers(given) == list(range((nth - 1) // 3 * 2))
    assert sequencer.in_memory == sequencer.by_site.total() == len(given) == 6 - len(store)
    assert numbers([*given, *sequencer.take(MANY)]) == list(range(6))


def test_urls_set_aside_are_set_aside_after_a_restart(tmp_path: Path) -> None:
    store = Store(tmp_path, StoreSizes(site_lines=2))
    sequencer = Sequencer(store, 6)
    put(sequencer, "h" * 8)
    assert numbers(take_all(sequencer)) == [0, 1, 2]
    again = Store(tmp_path)
    again.load(store.cut())
    # URLs that were at the site, and one that waited to be written with the next of its site.
    assert again.lengths()["ordinary"] == 4
    assert again.lengths()["ordinary_wait"] == 4
    later = Sequencer(again, 6)
    later.resume()
    assert (later.by_site, later.in_memory) == ({}, 0)
    assert later.can_take
    taken = []
    while later.can_take:
        for each in later.take(MANY):
            taken.append(each)
            later.done(each)
    assert sorted(numbers(taken)) == list(range(8))
    again.close()


# The whole, at random.

SITES = "abcd"
SIZES = FrontierSizes(ram_urls=16, share=6, least_share=2, moves=5)
SMALL = StoreSizes(lines=3, file_size=150, site_lines=2, most_tails=550, forget=2)


class Gate(RuleBasedStateMachine):
    """URLs come, go to their sites and are done, on a disk that fails now and then."""

    @initialize(max_urls=st.integers(1, 20))
    def begin(self, max_urls: int) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.max_urls = max_urls
        self.disk = FaultyDisk()
        self.store = Store(self.folder, SMALL)
        self.sequencer = Sequencer(self.store, max_urls, SIZES)
        self.most = max(1, max_urls - min(LIMIT, max_urls // 2))
        self.owed: set[str] = set()
        self.out: list[Url] = []
        self.count = 0
        self.last: dict[tuple[str, bool], int] = {}
        self.mixed: set[tuple[str, bool]] = set()

    @rule(sites=st.lists(st.sampled_from(SITES), min_size=1, max_size=12), priority=st.booleans())
    def put(self, sites: Any, priority: bool) -> None:
        for site in sites:
            self.count += 1
            each = url(site, self.count, priority=priority)
            self.sequencer.put(each)
            self.owed.add(each.href)

    @rule(most=st.integers(1, 20))
    def take(self, most: int) -> None:
        before = waiting(self.store)
        taken = 0
        for each in self.sequencer.take(most):
            assert each.place
            self.out.append(each)
            taken += 1
            self.in_order(each)
        assert taken <= most
        assert waiting(self.store) <= before + SIZES.moves

    def in_order(self, each: Url) -> None:
        """URLs of a site and a kind come in the order in which they were put."""
        lane = each.site, each.priority
        [number] = numbers([each])
        if lane not in self.mixed:
            assert number > self.last.get(lane, 0)
            self.last[lane] = number

    @rule(most=st.integers(1, 20), nth=st.integers(1, 6), torn=st.booleans())
    def take_from_a_bad_disk(self, most: int, nth: int, torn: bool) -> None:
        """Nothing is lost or doubled, and the same call may be made again."""
        self.disk.fail(nth, torn=torn)
        with self.disk.under("open", "pread", "pwrite"):
            try:
                self.store.spill()
                self.take(most)
            except OSError:
                self.nothing_is_lost_and_nothing_is_twice()
                self.counts_are_right()
        self.disk.heal()
        self.take(most)

    @precondition(lambda self: self.out)
    @rule(data=st.data(), number=st.integers(1, 8))
    def done(self, data: st.DataObject, number: int) -> None:
        for _ in range(min(number, len(self.out))):
            each = self.out.pop(data.draw(st.integers(0, len(self.out) - 1)))
            self.sequencer.done(each)
            self.owed.remove(each.href)

    @rule()
    def spill(self) -> None:
        self.store.spill()

    @rule()
    def restart(self) -> None:
        """URLs that were at the sites come again, after those set aside."""
        mark = self.store.cut()
        self.store.close()
        self.store = Store(self.folder, SMALL)
        self.store.load(mark)
        self.sequencer = Sequencer(self.store, self.max_urls, SIZES)
        self.sequencer.resume()
        self.out = []
        urls = map(decode, self.store.lines())
        self.mixed = {(each.site, each.priority) for each in urls}

    @invariant()
    def nothing_is_lost_and_nothing_is_twice(self) -> None:
        queued = [decode(line).href for line in self.store.lines()]
        assert Counter([*queued, *(each.href for each in self.out)]) == Counter(self.owed)
        assert len(self.store) == len(queued)

    @invariant()
    def counts_are_right(self) -> None:
        sequencer = self.sequencer
        assert sequencer.in_memory == len(self.out) <= SIZES.ram_urls
        assert sequencer.by_site == Counter(each.site for each in self.out)
        assert all(sequencer.by_site.values())
        assert max(sequencer.by_site.values(), default=0) <= min(self.most, SIZES.share)

    @invariant()
    def sites_that_wait_and_have_little_are_hungry(self) -> None:
        """Little is half of the least share, because shares grow between two turns."""
        sequencer = self.sequencer
        little = min(self.most, SIZES.least_share) // 2
        for site in self.store.waiting_sites():
            if sequencer.by_site[site] <= little:
                assert site in sequencer._hungry
        if self.owed and not self.out:
            assert sequencer.can_take

    @invariant()
    def the_gate_tells_why_it_is_shut(self) -> None:
        is_open, reason = self.sequencer.gate()
        assert bool(reason) != is_open
        if not is_open:
            assert not self.sequencer.can_take

    def teardown(self) -> None:
        """All URLs come out in the end."""
        if not hasattr(self, "store"):
            return
        turns = 0
        while self.owed:
            turns += 1
            assert turns < 5000, repr(self.sequencer)
            self.take(3)
            for each in self.out[::2]:
                self.sequencer.done(each)
                self.owed.remove(each.href)
            self.out = self.out[1::2]
            self.nothing_is_lost_and_nothing_is_twice()
        assert len(self.store) == 0
        assert not self.sequencer.by_site
        self.store.close()
        self.temporary.cleanup()


class TestGate(Gate.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
