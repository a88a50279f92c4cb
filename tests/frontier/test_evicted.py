import pytest

from larbinpy.frontier import evicted
from larbinpy.frontier.evicted import ClosedSites, DistinctCounter, ExpiringTimes, pauses
from larbinpy.outcome import Outcome
from tests.support.frontiers import together


def test_times_that_have_passed_are_dropped_bit_by_bit(monkeypatch):
    monkeypatch.setattr(evicted, "_LOOKS", 10)
    times = ExpiringTimes()
    times.update((str(number), float(number)) for number in range(100))
    for _ in range(10):
        before = len(times)
        times.lapse(49.0)
        assert before - len(times) <= 10
    assert sorted(times.values()) == [float(number) for number in range(50, 100)]
    assert together(pauses([], times, 97)) == {"98": 98.0, "99": 99.0}


def test_to_lapse_minds_no_changes(monkeypatch):
    monkeypatch.setattr(evicted, "_LOOKS", 1)
    times = ExpiringTimes()
    times.update(a=1.0, b=1.0, c=9.0)
    times.lapse(2.0)
    times.pop("b", None)
    times["d"] = 1.0
    times["a"] = 9.0
    for _ in range(9):
        times.lapse(2.0)
    assert set(times) == {"a", "c"}
    times.clear()
    times.lapse(100.0)
    times.lapse(100.0)


def test_those_who_come_back_are_not_counted_again():
    met = DistinctCounter()
    keys = [f"http://s{number}.test" for number in range(5000)]
    for key in keys:
        met.meet(key)
    for key in keys[:4000]:
        met.forget(key)
    for key in keys[:4000]:
        met.meet(key)
    assert met.count == 5000
    new = 2000
    for number in range(new):
        met.meet(f"http://n{number}.test")
    assert 5000 + new - 2 <= met.count <= 5000 + new
    assert repr(met) == f"<DistinctCounter {met.count}>"


def test_without_anything_forgotten_the_count_takes_no_room():
    met = DistinctCounter()
    met.meet("a")
    assert not met._evicted


def test_what_is_forgotten_takes_two_megabytes():
    assert DistinctCounter()._evicted.size_bytes == pytest.approx(2 << 20, rel=0.01)


def test_verdicts_last_for_their_time():
    verdicts = ClosedSites()
    verdicts.put("http://a.test", Outcome.NO_DNS, 10.0)
    verdicts.put("http://b.test", Outcome.TIMEOUT, 20.0)
    assert verdicts.get("http://a.test", 9.9) is Outcome.NO_DNS
    assert verdicts.get("http://a.test", 10.0) is None
    verdicts.put("http://a.test", Outcome.TIMEOUT, 30.0)
    assert verdicts.get("http://a.test", 10.0) is Outcome.TIMEOUT
    assert verdicts.get("http://c.test", 0.0) is None
    verdicts.lapse(20.0)
    assert len(verdicts) == 1
