import math
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.dns.cache import Known, NameCache

ONE = ("192.0.2.1",)
TWO = ("192.0.2.2", "2001:db8::2")
DAY = 86400
STATM = Path("/proc/self/statm")


def number_as_address(number: int) -> tuple[str]:
    return (f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",)


def resident_bytes() -> int:
    return int(STATM.read_text().split()[1]) * 4096


# -- addresses


def test_an_address_is_kept_for_its_time() -> None:
    cache = NameCache(10)
    assert cache.get("a.test", 0) is None
    cache.put("a.test", ONE, 1800, 100)
    assert cache.get("a.test", 1899.9) == Known(ONE, None)
    assert cache.get("a.test", 1900) is None


@pytest.mark.parametrize(
    ("seconds", "kept"),
    [(0, 60), (1, 60), (60, 60), (61, 120), (1800, 1800), (1801, 1860), (10**9, 65535 * 60)],
)
def test_times_are_whole_minutes_from_the_first_name(seconds: float, kept: float) -> None:
    cache = NameCache(10)
    cache.put("a.test", ONE, seconds, 1000.5)
    assert cache.get("a.test", 1000.5 + kept - 0.1) == Known(ONE, None)
    assert cache.get("a.test", 1000.5 + kept) is None


def test_a_time_is_rounded_up_from_where_it_begins() -> None:
    cache = NameCache(10)
    cache.put("a.test", ONE, 600, 0)
    cache.put("b.test", ONE, 600, 59)
    assert cache.get("b.test", 659.9) == Known(ONE, None)
    assert cache.get("b.test", 660) is None


def test_a_new_address_takes_the_place_of_the_old() -> None:
    cache = NameCache(10)
    cache.put("a.test", TWO, 1800, 0)
    cache.put("a.test", ONE, 60, 10)
    assert cache.get("a.test", 60) == Known(ONE, None)
    assert cache.get("a.test", 120) is None
    assert len(cache) == 1


@pytest.mark.parametrize(
    "addresses",
    [
        ("0.0.0.0",),
        ("0.1.2.3",),
        ("255.255.255.255",),
        ("::",),
        ("2001:db8::1:0:0:1",),
        ("::ffff:192.0.2.1",),
        TWO,
        ("192.0.2.9", "192.0.2.1", "192.0.2.5"),
        tuple(f"2001:db8:1111:2222:3333:4444:5555:{number:x}" for number in range(1, 17)),
        (),
    ],
)
def test_addresses_come_back_in_order_and_as_they_were_spelled(addresses: tuple[str, ...]) -> None:
    cache = NameCache(2)
    cache.put("a.test", addresses, 1800, 0)
    assert cache.get("a.test", 1) == Known(addresses, None)
    cache.put("a.test", ONE, 1800, 2)
    assert cache.get("a.test", 3) == Known(ONE, None)


def test_addresses_without_end_are_cut_off() -> None:
    cache = NameCache(2)
    addresses = tuple(f"192.0.2.{number}" for number in range(100))
    cache.put("a.test", addresses, 1800, 0)
    assert cache.get("a.test", 1) == Known(addresses[:16], None)


def test_several_addresses_leave_with_their_name() -> None:
    cache = NameCache(1)
    cache.put("a.test", TWO, 1800, 0)
    alone = cache.stats()["bytes"]
    cache.put("b.test", ("0.0.0.0",), 1800, 0)
    assert cache.get("b.test", 1) == Known(("0.0.0.0",), None)
    assert cache.stats()["bytes"] < alone


NAMES = [
    *("com", "com.com", "com.com.com", "org.com", "a", "b", "localhost"),
    *("example.com", "www.example.com", "www.example.org", "example.org", "www.other.com"),
    *("co.uk", "example.co.uk", "www.example.co.uk", "a.b.c.d.e.com"),
]


def test_names_differ_by_every_part() -> None:
    cache = NameCache(len(NAMES))
    for number, name in enumerate(NAMES):
        cache.put(name, number_as_address(number), 1800, 0)
        assert cache.get(f"{name}x", 0) is cache.get(f"x{name}", 0) is None
    found = [cache.get(name, 1) for name in NAMES]
    assert found == [Known(number_as_address(number), None) for number in range(len(NAMES))]


def test_more_top_levels_than_there_are_codes() -> None:
    cache = NameCache(6000)
    names = [f"www.example.t{number}" for number in range(5000)]
    for number, name in enumerate(names):
        cache.put(name, number_as_address(number), 1800, 0)
    for number, name in enumerate(names):
        assert cache.get(name, 1) == Known(number_as_address(number), None)
    assert [cache._found._code(f"t{n}") for n in (4094, 4095, 4096)] == [4094, 4095, 4095]
    cache.put_absence(names[-1], 2)
    assert cache.get(names[-1], 3) == Known((), "nxdomain")
    assert cache.get(names[-2], 3) == Known(number_as_address(4998), None)
    assert cache.get("www.example.t5000", 3) is None


def test_after_45_days_the_count_of_minutes_begins_anew() -> None:
    cache = NameCache(10)
    start, end = 5000.0, 5000.0 + 65535 * 60
    cache.put("a.test", TWO, 1800, start)
    cache.put("b.test", ONE, 10**9, end - 600)
    assert cache.get("b.test", end - 1) == Known(ONE, None)
    assert cache.get("b.test", end) is None
    assert len(cache) == 2
    cache.put("c.test", ONE, 1800, end - 30)
    assert cache.get("a.test", end) is cache.get("b.test", end) is None
    assert cache.get("c.test", end + 1769) == Known(ONE, None)
    assert cache.get("c.test", end + 1770) is None
    assert len(cache) == 1


def test_the_least_recently_used_goes_first() -> None:
    cache = NameCache(3)
    for name in "abc":
        cache.put(name, ONE, 1800, 0)
    cache.get("a", 1)
    cache.put("d", ONE, 1800, 1)
    assert [name for name in "abcd" if cache.get(name, 2)] == ["a", "c", "d"]
    assert cache.stats()["evicted"] == 1


def test_a_cache_of_no_size_remembers_nothing() -> None:
    cache = NameCache(0)
    cache.put("a", ONE, 1800, 0)
    cache.put_absence("b", 0)
    cache.put_nodata("c", "nodata", 300, 0)
    assert cache.put_failure("d", "timeout", 0) == Known((), "timeout")
    assert [cache.get(name, 0) for name in "abcd"] == [None] * 4
    assert len(cache) == 0


# -- absences


def test_an_absence_is_kept_until_all_are_forgotten() -> None:
    cache = NameCache(10, 100, 1800)
    cache.put_absence("a.test", 100)
    cache.put_absence("b.test", 1800)
    assert cache.get("a.test", 1899.9) == cache.get("b.test", 1899.9) == Known((), "nxdomain")
    assert cache.get("a.test", 1900) is cache.get("b.test", 1900) is None
    cache.put_absence("b.test", 2000)
    assert cache.get("a.test", 2001) is None
    assert cache.get("b.test", 3799) == Known((), "nxdomain")
    assert cache.get("b.test", 3800) is None


def test_absences_are_forgotten_when_no_more_fit() -> None:
    cache = NameCache(10, 100, 1800)
    for number in range(100):
        cache.put_absence(f"{number}.test", 0)
    assert all(cache.get(f"{number}.test", 1) for number in range(100))
    cache.put_absence("one.more.test", 1000)
    assert not any(cache.get(f"{number}.test", 1000) for number in range(100))
    assert cache.get("one.more.test", 2799) == Known((), "nxdomain")
    assert cache.stats()["absent"] == 1


def test_the_latest_entry_holds() -> None:
    cache = NameCache(10)
    cache.put_failure("a.test", "timeout", 0)
    cache.put("a.test", ONE, 1800, 1)
    assert cache.get("a.test", 2) == Known(ONE, None)
    assert len(cache) == 1
    cache.put_absence("a.test", 3)
    assert cache.get("a.test", 4) == Known((), "nxdomain")
    assert len(cache) == 0
    cache.put_nodata("a.test", "nodata", None, 5)
    assert cache.get("a.test", 6) == Known((), "nodata")
    cache.put_absence("a.test", 7)
    assert cache.get("a.test", 8) == Known((), "nxdomain")
    cache.put("a.test", TWO, 1800, 9)
    assert cache.get("a.test", 10) == Known(TWO, None)
    cache.put_nodata("a.test", "cnameloop", None, 11)
    assert cache.get("a.test", 12) == Known((), "cnameloop")


def test_a_name_found_after_it_was_absent_is_asked_for_when_it_expires() -> None:
    cache = NameCache(10)
    cache.put_absence("a.test", 0)
    cache.put("a.test", ONE, 60, 1)
    assert cache.get("a.test", 62) is None
    assert cache.put_failure("a.test", "timeout", 63) == Known(ONE, None)


# -- failures


@pytest.mark.parametrize(
    ("ttl", "kept"), [(None, 30), (0, 30), (5, 30), (300, 300), (900, 900), (2**31, 900)]
)
def test_a_lack_of_addresses_is_kept_within_bounds(ttl: float | None, kept: float) -> None:
    cache = NameCache(10)
    cache.put("a.test", ONE, 1800, 0)
    cache.put_nodata("a.test", "nodata", ttl, 0)
    assert cache.get("a.test", kept - 0.1) == Known((), "nodata")
    assert cache.get("a.test", kept) is None


def test_a_failure_is_kept_for_a_short_time() -> None:
    cache = NameCache(10)
    assert cache.put_failure("a.test", "servfail", 0) == Known((), "servfail")
    assert cache.get("a.test", 29) == Known((), "servfail")
    assert cache.get("a.test", 30) is None
    assert cache.stats()["stale_served"] == 0


@pytest.mark.parametrize("addresses", [ONE, TWO])
def test_the_last_addresses_are_used_for_a_day_while_lookups_fail(
    addresses: tuple[str, ...],
) -> None:
    cache = NameCache(10)
    cache.put("a.test", addresses, 1800, 0)
    assert cache.put_failure("a.test", "timeout", 1000) == Known(addresses, None)
    assert cache.stats()["stale_served"] == 0
    assert cache.put_failure("a.test", "timeout", 1800) == Known(addresses, None)
    assert cache.get("a.test", 1829) == Known(addresses, None)
    assert cache.stats()["stale_served"] == 2
    assert cache.get("a.test", 1830) is None
    assert cache.put_failure("a.test", "timeout", 1799 + DAY) == Known(addresses, None)
    assert cache.put_failure("a.test", "timeout", 1800 + DAY) == Known((), "timeout")


def test_failures_are_bounded_and_the_oldest_go_first() -> None:
    cache = NameCache(1)
    cache.put("good", ONE, 1800, 0)
    for number in range(10_000):
        cache.put_failure(f"bad{number}", "timeout", 0)
    cache.put_failure("bad0", "servfail", 1)
    cache.put_nodata("bad10000", "nodata", None, 1)
    assert cache.get("good", 2) == Known(ONE, None)
    assert cache.get("bad0", 2) == Known((), "servfail")
    assert cache.get("bad1", 2) is None
    assert cache.get("bad2", 2) == Known((), "timeout")
    assert len(cache) == 10_001


# -- against a model


class Model:
    """A plain model of the cache; exact while all times are whole minutes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.found: OrderedDict[str, tuple[float, Known]] = OrderedDict()
        self.failed: dict[str, tuple[float, Known]] = {}
        self.absent: set[str] = set()
        self.evicted = 0

    def fresh(self, name: str, now: float) -> Known | None:
        expires, known = self.found.get(name, (-math.inf, None))
        if now >= expires:
            return None
        self.found.move_to_end(name)
        return known

    def get(self, name: str, now: float) -> Known | None:
        known = self.fresh(name, now)
        until, failure = self.failed.get(name, (0, None))
        if known is None and now < until:
            return failure
        if known is None and name in self.absent and name not in self.found:
            return Known((), "nxdomain")
        return known

    def put(self, name: str, addresses: tuple[str, ...], seconds: float, now: float) -> None:
        self.failed.pop(name, None)
        self.found[name] = (now + seconds, Known(addresses, None))
        self.found.move_to_end(name)
        if len(self.found) > self.size:
            self.found.popitem(last=False)
            self.evicted += 1

    def put_absence(self, name: str, now: float) -> None:
        self.failed.pop(name, None)
        self.found.pop(name, None)
        self.absent.add(name)

    def put_nodata(self, name: str, reason: str, ttl: float, now: float) -> None:
        self.found.pop(name, None)
        self.failed[name] = (now + ttl, Known((), reason))

    def put_failure(self, name: str, reason: str, now: float) -> Known:
        known = self.fresh(name, now - DAY) or Known((), reason)
        self.failed[name] = (now + 30, known)
        return known


minutes = st.sampled_from([0, 0, 0, 1, 5, 1440])
steps = st.one_of(
    st.tuples(st.just("get"), st.sampled_from(NAMES)),
    st.tuples(
        st.just("put"),
        st.sampled_from(NAMES),
        st.sampled_from([ONE, TWO, ("192.0.2.3",), ("0.0.0.0",)]),
        st.sampled_from([60, 300, 86400]),
    ),
    st.tuples(st.just("put_absence"), st.sampled_from(NAMES)),
    st.tuples(st.just("put_nodata"), st.sampled_from(NAMES), st.just("nodata"), st.just(300)),
    st.tuples(st.just("put_failure"), st.sampled_from(NAMES), st.just("timeout")),
)


@given(st.integers(1, 6), st.lists(st.tuples(minutes, steps), max_size=60))
def test_the_cache_does_as_its_model(size: int, turns: list[tuple[int, tuple[Any, ...]]]) -> None:
    cache, model = NameCache(size, 100, 1e9), Model(size)
    now = 0
    for elapsed, (verb, *values) in turns:
        now += 60 * elapsed
        assert getattr(cache, verb)(*values, now) == getattr(model, verb)(*values, now)
        assert len(cache) == len(model.found) + len(model.failed)
    assert cache.stats()["evicted"] == model.evicted
    assert [cache.get(name, now) for name in NAMES] == [model.get(name, now) for name in NAMES]


@given(st.integers(1, 5), st.lists(st.tuples(st.booleans(), st.sampled_from(NAMES)), min_size=8))
def test_the_order_of_use_is_exact(size: int, turns: list[tuple[bool, str]]) -> None:
    cache = NameCache(size)
    order: OrderedDict[str, None] = OrderedDict()
    for is_put, name in turns:
        if is_put:
            cache.put(name, ONE, 1800, 0)
            order[name] = None
        assert (cache.get(name, 0) is not None) == (name in order)
        if name in order:
            order.move_to_end(name)
        if len(order) > size:
            order.popitem(last=False)
        assert {other for other in NAMES if other in cache._found} == order.keys()


def test_many_names_evicted_and_added_again() -> None:
    cache = NameCache(1000)
    for number in range(5000):
        cache.put(f"www{number}.example.test", number_as_address(number), 1800, 0)
        if number % 3 == 0:
            cache.put_absence(f"www{number // 2}.example.test", 0)
    for number in range(5000):
        known = cache.get(f"www{number}.example.test", 1)
        assert known in (None, Known((), "nxdomain"), Known(number_as_address(number), None))
    assert cache.stats()["names"] == len(cache) == 1000
    assert cache.get("www4999.example.test", 1) == Known(number_as_address(4999), None)


def test_stats() -> None:
    cache = NameCache(2, 1000)
    for name in "abc":
        cache.put(name, ONE, 60, 0)
    cache.put_absence("d", 0)
    cache.put_failure("c", "timeout", 60)
    stats = cache.stats()
    assert 0 < stats.pop("bytes") < 20_000
    assert stats == {
        "names": 2,
        "size": 2,
        "evicted": 1,
        "absent": 1,
        "absent_size": 1000,
        "absent_bytes": 131073,
        "failures": 1,
        "stale_served": 1,
    }
    assert repr(cache) == "<NameCache 2 found, 1 failed, <BloomFilter 1 of 1000>>"


# -- cost

COUNT = 200_000


@pytest.fixture(scope="module")
def full() -> tuple[NameCache, list[str], float]:
    """A full cache, its names, and the resident bytes that it grew by."""
    names = [f"www{number}.example{number % 7}.test" for number in range(COUNT)]
    before = resident_bytes() if STATM.exists() else 0
    cache = NameCache(COUNT)
    for name in names:
        cache.put(name, ONE, 1800, 0)
    return cache, names, resident_bytes() - before if STATM.exists() else 0


def test_a_name_costs_at_most_40_bytes(full: tuple[NameCache, list[str], float]) -> None:
    cache, _, grown = full
    assert cache.stats()["bytes"] / COUNT <= 40
    assert grown / COUNT <= 40


def test_a_lookup_takes_the_same_time_at_any_size(
    full: tuple[NameCache, list[str], float],
) -> None:
    """Some 2 us; the bound only notices a search through many names."""
    cache, names, _ = full
    begin = time.process_time()
    for name in names[::20]:
        assert cache.get(name, 1) is not None
        assert cache.get(f"{name}.org", 1) is None
    assert (time.process_time() - begin) / 2 / len(names[::20]) < 50e-6


@pytest.mark.skipif(not STATM.exists(), reason="no /proc to read the memory from")
def test_a_large_cache_costs_nothing_before_its_use() -> None:
    before = resident_bytes()
    cache = NameCache(10_000_000, 10_000_000)
    for number in range(100):
        cache.put(f"www{number}.example.test", ONE, 1800, 0)
    assert resident_bytes() - before < 2_000_000
    assert cache.stats()["bytes"] < 2_000_000
