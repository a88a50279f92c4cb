from pathlib import Path

import pytest

from larbinpy.frontier.frontier import SavedDigests
from larbinpy.frontier.sites import ClosedSites, DistinctCounter, ExpiringTimes, pauses
from larbinpy.page import Outcome
from larbinpy.storage.seen import Seen
from tests.support.frontiers import together


def test_times_that_have_passed_are_dropped_bit_by_bit() -> None:
    times = ExpiringTimes(10)
    times.update((str(number), float(number)) for number in range(100))
    for _ in range(10):
        before = len(times)
        times.expire(49.0)
        assert before - len(times) <= 10
    assert sorted(times.values()) == [float(number) for number in range(50, 100)]
    assert together(pauses([], times, 97)) == {"98": 98.0, "99": 99.0}


def test_times_may_change_between_the_steps() -> None:
    times = ExpiringTimes(1)
    times.update(a=1.0, b=1.0, c=9.0)
    times.expire(2.0)
    times.pop("b", None)
    times["d"] = 1.0
    times["a"] = 9.0
    for _ in range(9):
        times.expire(2.0)
    assert set(times) == {"a", "c"}
    times.clear()
    times.expire(100.0)
    times.expire(100.0)


def test_keys_that_come_back_are_not_counted_again() -> None:
    counter = DistinctCounter()
    keys = [f"http://s{number}.test" for number in range(5000)]
    for key in keys:
        counter.add(key)
    for key in keys[:4000]:
        counter.forget(key)
    for key in keys[:4000]:
        counter.add(key)
    assert counter.count == 5000
    new = 2000
    for number in range(new):
        counter.add(f"http://n{number}.test")
    assert 5000 + new - 2 <= counter.count <= 5000 + new
    assert repr(counter) == f"<DistinctCounter {counter.count}>"


def test_without_anything_forgotten_the_count_takes_no_room() -> None:
    counter = DistinctCounter()
    counter.add("a")
    assert not counter._evicted


def test_new_keys_are_those_that_no_earlier_run_had(tmp_path: Path) -> None:
    known = Seen(tmp_path, "digests")
    for run, (count, new) in enumerate([(2, 2), (3, 1)]):
        sites, addresses = DistinctCounter("site "), DistinctCounter("address ")
        for counter in (sites, addresses):
            counter.compare_with(known)
        for key in ["a", "b", "c"][: run + 2]:
            sites.add(key)
        addresses.add("a")
        assert (sites.count, sites.new) == (count, new)
        assert (addresses.count, addresses.new) == (1, 1 - run)


def test_keys_are_compared_in_batches_and_before_they_are_saved(tmp_path: Path) -> None:
    known = Seen(tmp_path, "digests")
    counter = DistinctCounter()
    counter.compare_with(known)
    for number in range(700):
        counter.add(f"http://n{number}.test")
    assert 0 < len(known) < 700
    mark = SavedDigests(known, [counter]).cut()
    later = Seen(tmp_path, "digests")
    later.load(mark)
    assert len(later) == 700
    assert counter.new == 700


def test_evicted_keys_take_two_megabytes() -> None:
    assert DistinctCounter()._evicted.size_bytes == pytest.approx(2 << 20, rel=0.01)


def test_closed_last_for_their_time() -> None:
    closed = ClosedSites()
    closed.put("http://a.test", Outcome.NO_DNS, 10.0)
    closed.put("http://b.test", Outcome.TIMEOUT, 20.0)
    assert closed.get("http://a.test", 9.9) is Outcome.NO_DNS
    assert closed.get("http://a.test", 10.0) is None
    closed.put("http://a.test", Outcome.TIMEOUT, 30.0)
    assert closed.get("http://a.test", 10.0) is Outcome.TIMEOUT
    assert closed.get("http://c.test", 0.0) is None
    closed.expire(20.0)
    assert len(closed) == 1
