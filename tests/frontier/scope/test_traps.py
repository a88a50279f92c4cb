"""Guards against traps: which URLs they refuse, and what they leave alone."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config import Config
from larbinpy.frontier.traps import BoundedCounter, Traps, is_ahead, shape_of
from larbinpy.parse import Kind

#: 14 November 2023.
NOW = 1_700_000_000.0
A = "http://a.test"


def traps(**settings: Any) -> Traps:
    return Traps(Config(**settings), NOW)


def admitted(traps: Traps, urls: list[str]) -> int:
    return sum(traps.admits(url, Kind.PAGE) for url in urls)


@pytest.mark.parametrize(
    ("path", "via"),
    [
        ("/a/b/" * 7, "/a/b/" * 6),
        ("/x" * 7, "/X/x"),
        ("/a/b/c/d/e/f/g" * 3, "/a/b/c/d/e/f/g" * 2),
        ("/de" + "/www.c.test/intl/de" * 4 + "/privacy", "/de" + "/www.c.test/intl/de" * 2),
        ("/" + "/".join(map(str, range(41))), "/"),
        ("/calendar" + "/next" * 100 + "?day=1", "/calendar"),
        ("/list?" + "&".join(["lang=en"] * 7), "/list?lang=en&lang=en"),
    ],
)
def test_repeats(path: str, via: str) -> None:
    guards = traps()
    trapped = guards.refusing(A + path)
    assert trapped is not None and trapped.guard == "repeats"
    for kind in (Kind.PAGE, Kind.IMAGE):
        assert not guards.admits(A + path, kind, A + via)
    assert guards.refused == {"repeats": 2}
    guards.change(Config(traps=("calendars",)))
    assert guards.refusing(A + path) is None
    assert guards.admits(A + path, Kind.PAGE, A + via)


@pytest.mark.parametrize(
    ("path", "via"),
    [
        ("/products" + "/all" * 7, "/"),
        ("/products" + "/all" * 7, "/products" + "/all" * 6 + "/red"),
        ("/products" + "/all" * 7 + "/shoes", "/products" + "/all" * 7),
        ("/tiles" + "/0" * 8 + "/1.png", "/tiles" + "/0" * 8),
        ("/tiles/0/1/0/0/0/0/0/0/0", "/tiles/0/0/0/0/0/0/0/0/0"),
        ("/x" * 20, "/robots.txt"),
        ("/search?" + "&".join(["tag=a"] * 9), "/"),
    ],
)
def test_paths_that_repeat_in_themselves_are_no_traps(path: str, via: str) -> None:
    assert traps().admits(A + path, Kind.PAGE, A + via)


def test_a_chain_of_paths_that_repeat_ends_whatever_its_steps_are() -> None:
    for step in ("x/", "a/b/", "loop/x/", "a/b/c/d/e/f/g/h/"):
        guards, path = traps(), f"{A}/{step}"
        pages = 0
        while guards.admits(path + step, Kind.PAGE, path):
            path, pages = path + step, pages + 1
        assert 1 <= pages <= 6


@pytest.mark.parametrize(
    "path", ["/x" * 6, "/a/a/b/b/c/c/d/d", "/" + "/".join(map(str, range(40))), "//////////////"]
)
def test_deep_or_repetitive_paths_below_the_limits(path: str) -> None:
    assert traps().admits(A + path, Kind.PAGE)


@pytest.mark.parametrize(
    "url",
    [
        "/calendar/2031/05/",
        "/calendar/2031/5/",
        "/2031/05",
        "/events/2031-05-17",
        "/events/20310517",
        "/?date=05/2031",
        "/?date=17.05.2031",
        "/x?month=5&year=2031",
        "/x?cal_year=2031&cal_month=5",
        "/x?tx_cal%5Byear%5D=3031",
        "/agenda?m=2031-5",
        "/2019/05/to/2031/06/",
    ],
)
def test_dates_far_ahead(url: str) -> None:
    assert is_ahead(A + url, 2025)


@pytest.mark.parametrize(
    "url",
    [
        "/calendar/2025/12/",
        "/calendar/1890/05/",
        "/2019/05/12/title",
        "/forum/5123/3/",
        "/topic/2051/9",
        "/p/20310512",
        "/plan-2050.pdf",
        "/rfc/rfc2616.html",
        "/?id=2050&page=05",
        "/x?year=2024&month=5",
        "/120315/06",
        "/calendar/",
    ],
)
def test_other_numbers(url: str) -> None:
    assert not is_ahead(A + url, 2025)


def test_a_calendar_ends() -> None:
    guards = traps()
    months = [f"{A}/cal/{year}/{month:02}/" for year in range(2023, 2200) for month in range(1, 13)]
    taken = admitted(guards, months)
    assert 36 + 100 <= taken <= 36 + 300  # the months of three years, and those that may be ahead
    assert guards.refused == {"calendars": len(months) - taken}
    trapped = guards.refusing(months[-1])
    assert trapped is not None and trapped.guard == "calendars" and "2025" in trapped.why
    # The past of that site, and the future of another, are as open as before.
    assert guards.admits(f"{A}/cal/2020/01/", Kind.PAGE)
    assert guards.admits(months[-1].replace("a.test", "b.test"), Kind.PAGE)
    guards.change(Config(traps=("repeats",)))
    assert guards.admits(months[-1], Kind.PAGE)


@pytest.mark.parametrize(
    ("url", "shape"),
    [
        ("/a/b.html", "/a/b.html"),
        ("/p/1234", "/p/0"),
        ("/2019/05/12/title-2", "/0/0/0/title-0"),
        ("/p/3f2a9c81d04b/x", "/p/0/x"),
        ("/p/0b4f7c3e-9d1a-4c5b-8e2f-112233445566", "/p/0-0-0-0-0"),
        ("/a7f3/B81C/81ce", "/0/B0C/0"),
        ("/face/cafe1/h264/2nd", "/face/0/h0/0nd"),
        ("/l?page=2&sort=a", "/l?page&sort"),
        ("/l?sort=b&page=31", "/l?page&sort"),
        ("/l?f[1]=2&f[22]=3", "/l?f[0]"),
        ("/l?a=1&b=2&c=3", "/l?*"),
        ("/l?c=3&d=4&e=5&f=6", "/l?*"),
        ("/wiki/%E4%B8%AD%E6%96%87-12", "/wiki/%E4%B8%AD%E6%96%87-0"),
        ("/classllvm_1_1MachineFunctionPass.html", "/classllvm_0_0MachineFunctionPass.html"),
    ],
)
def test_shapes(url: str, shape: str) -> None:
    assert shape_of(f"http://a1.test:8080{url}") == f"http://a1.test:8080{shape}"


@given(st.integers(1, 300), st.integers(0, 50))
def test_a_site_has_so_many_urls_of_a_shape(limit: int, more: int) -> None:
    guards = traps(limit_by_shape=limit)
    pages = [f"{A}/p/{number}" for number in range(limit + more)]
    assert admitted(guards, pages) == limit
    assert guards.refused == ({"shapes": more} if more else {})
    assert (guards.refusing(pages[-1]) is not None) is True
    # Other sites, other shapes, what pages need, and URLs without a number.
    for url in ("http://b.test/p/1", f"{A}/p/1/x", f"{A}/p/x"):
        assert guards.refusing(url) is None
        assert guards.admits(url, Kind.PAGE)
    assert guards.admits(pages[-1], Kind.IMAGE)


def test_the_limit_of_a_shape_can_change() -> None:
    guards = traps(limit_by_shape=10)
    pages = [f"{A}/l?page={number}" for number in range(100)]
    assert admitted(guards, pages) == 10
    trapped = guards.refusing(pages[-1])
    assert trapped is not None
    assert trapped.guard == "shapes" and f"10 URLs of the shape {A}/l?page" in trapped.why
    guards.change(Config(limit_by_shape=18))
    assert admitted(guards, pages[10:]) == 8
    guards.change(Config(limit_by_shape=0))
    assert admitted(guards, pages[18:]) == 82


def test_a_later_run_goes_on_counting() -> None:
    first, second = traps(limit_by_shape=10), traps(limit_by_shape=10)
    assert admitted(first, [f"{A}/p/{number}" for number in range(8)]) == 8
    second.count_from(first.counts())
    assert admitted(second, [f"{A}/p/{number}" for number in range(8, 100)]) == 2


@pytest.mark.parametrize("limit", [40, 20000])
def test_another_node_goes_on_counting_what_was_reported(limit: int) -> None:
    first, second = traps(limit_by_shape=limit), traps(limit_by_shape=limit)
    reported: Counter[str] = Counter()

    def report(site: str, key: str, growth: int) -> None:
        assert site == A and key.startswith(A)
        reported[key] += growth

    first.report = report
    assert admitted(first, [f"{A}/p/{number}" for number in range(limit - 8)]) == limit - 8
    assert set(reported) == {A, f"{A}/p/0"}
    # It has found some links to that site itself, and they are not counted twice.
    second.count_from({f"{A}/p/0": 5})
    second.count_from(reported)
    left = admitted(second, [f"{A}/p/{number}" for number in range(limit - 8, limit + 200)])
    assert 8 <= left <= 8 + max(1, limit // 200)


def test_a_site_with_few_urls_reports_nothing() -> None:
    guards = traps()
    guards.report = lambda *_: pytest.fail("reported")
    assert admitted(guards, [f"{A}/p/{number}" for number in range(200)]) == 200


@given(st.lists(st.text("ab0?&=[%/;.-2", max_size=30), max_size=8))
def test_any_url_is_taken_or_refused(paths: list[str]) -> None:
    guards = traps(limit_by_shape=1)
    for path in paths:
        url = f"{A}/{path}"
        refusing = guards.refusing(url) is not None
        assert guards.admits(url, Kind.PAGE) is not refusing


@given(st.lists(st.text("abc", max_size=2)))
def test_counts_are_never_too_large_and_bounded(keys: list[str]) -> None:
    counter = BoundedCounter(6)
    for key in keys:
        before = counter[key]
        assert counter.add(key) == counter[key] == before + 1 <= keys.count(key)
        assert len(counter) <= 6


def test_what_is_counted_again_and_again_is_remembered() -> None:
    counter = BoundedCounter(10)
    for number in range(1000):
        counter.add("often")
        counter.add(str(number))
    assert counter["often"] == 1000
    assert counter.at_least(2) == {"often": 1000}
