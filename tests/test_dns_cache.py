import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.dns.cache import Known, NameCache

ONE = ("192.0.2.1",)
TWO = ("192.0.2.2", "2001:db8::2")


def test_an_address_is_kept_for_its_time() -> None:
    cache = NameCache(10, 1800)
    assert cache.get("a.test", 0) is None
    cache.put("a.test", TWO, 100)
    assert cache.get("a.test", 1899.9) == Known(TWO, None)
    assert cache.get("a.test", 1900) is None


@pytest.mark.parametrize(
    ("ttl", "kept"), [(None, 30), (0, 30), (5, 30), (300, 300), (900, 900), (2**31, 900)]
)
def test_an_absence_is_kept_within_bounds(ttl: float | None, kept: float) -> None:
    cache = NameCache(10, 1800)
    cache.put_absence("a.test", "nxdomain", ttl, 0)
    assert cache.get("a.test", kept - 0.1) == Known((), "nxdomain")
    assert cache.get("a.test", kept) is None


def test_a_failure_is_kept_for_a_short_time() -> None:
    cache = NameCache(10, 1800)
    assert cache.put_failure("a.test", "servfail", 0) == Known((), "servfail")
    assert cache.get("a.test", 29) == Known((), "servfail")
    assert cache.get("a.test", 30) is None


def test_an_address_ends_a_failure_and_an_absence_an_address() -> None:
    cache = NameCache(10, 1800)
    cache.put_failure("a.test", "timeout", 0)
    cache.put("a.test", ONE, 1)
    assert cache.get("a.test", 2) == Known(ONE, None)
    cache.put_absence("a.test", "nxdomain", None, 3)
    assert cache.get("a.test", 4) == Known((), "nxdomain")
    assert len(cache) == 1


def test_the_last_address_serves_while_asking_fails() -> None:
    cache = NameCache(10, 1800)
    cache.put("a.test", ONE, 0)
    assert cache.put_failure("a.test", "timeout", 1800) == Known(ONE, None)
    assert cache.get("a.test", 1829) == Known(ONE, None)
    assert cache.get("a.test", 1830) is None
    assert cache.put_failure("a.test", "timeout", 1800 + 86400) == Known((), "timeout")


def test_the_least_recently_used_goes_first() -> None:
    cache = NameCache(3, 1800)
    for name in "abc":
        cache.put(name, ONE, 0)
    cache.get("a", 1)
    cache.put("d", ONE, 1)
    assert [name for name in "abcd" if cache.get(name, 2)] == ["a", "c", "d"]


def test_failures_do_not_push_out_addresses() -> None:
    cache = NameCache(3, 1800)
    cache.put("good", ONE, 0)
    for number in range(1000):
        cache.put_absence(f"bad{number}", "nxdomain", None, 0)
    assert cache.get("good", 1) == Known(ONE, None)
    assert len(cache) == 4


def test_a_cache_of_no_size_keeps_nothing() -> None:
    cache = NameCache(0, 1800)
    cache.put("a", ONE, 0)
    cache.put_failure("b", "timeout", 0)
    assert (cache.get("a", 0), cache.get("b", 0), len(cache)) == (None, None, 0)


names = st.sampled_from("abcdef")


@given(st.lists(st.tuples(st.sampled_from(["put", "absent", "failed", "get"]), names)))
def test_what_is_known_was_said_last_and_is_bounded(steps: list[tuple[str, str]]) -> None:
    cache = NameCache(3, 100)
    said: dict[str, Known] = {}
    for now, (step, name) in enumerate(steps):
        if step == "put":
            cache.put(name, (str(now),), now)
            said[name] = Known((str(now),), None)
        elif step == "absent":
            cache.put_absence(name, "nxdomain", None, now)
            said[name] = Known((), "nxdomain")
        elif step == "failed":
            known = cache.put_failure(name, "timeout", now)
            assert known in (said.get(name), Known((), "timeout"))
            said[name] = known
        else:
            assert cache.get(name, now) in (None, said.get(name))
        assert len(cache) <= 6
