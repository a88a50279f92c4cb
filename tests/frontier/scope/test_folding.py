"""Links without the parameters that are dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config import Config
from larbinpy.frontier.admission import Folding
from larbinpy.url import canonical

A = "http://a.test"
DEFAULT = Folding(Config().drop_parameters)


@pytest.mark.parametrize(
    ("url", "folded", "dropped"),
    [
        ("/x?utm_source=news&utm_medium=mail", "/x", ["utm_source", "utm_medium"]),
        ("/x?id=3&utm_source=news&page=2", "/x?id=3&page=2", ["utm_source"]),
        ("/x?fbclid=A&id=3", "/x?id=3", ["fbclid"]),
        ("/x?PHPSESSID=1a2b", "/x", ["PHPSESSID"]),
        ("/x?phpsessid=1a2b", "/x", ["phpsessid"]),
        ("/x?ASPSESSIONIDQQ=1", "/x", ["ASPSESSIONIDQQ"]),
        ("/x;jsessionid=1A2B?a=b", "/x?a=b", ["jsessionid"]),
        ("/s;JSESSIONID=1/x;v=2;jsessionid=3", "/s/x;v=2", ["JSESSIONID", "jsessionid"]),
        ("/x?a=1;PHPSESSID=2;b=3", "/x?a=1;b=3", ["PHPSESSID"]),
        ("/x?gclid", "/x", ["gclid"]),
        ("/a/..;jsessionid=1/b", "/b", ["jsessionid"]),
        # Not dropped: other names, names within names and values, and other URLs.
        ("/x?id=3&sid=4", "/x?id=3&sid=4", []),
        ("/x?my_utm_source=1", "/x?my_utm_source=1", []),
        ("/x?a=utm_source", "/x?a=utm_source", []),
        ("/x;v=2", "/x;v=2", []),
        ("/utm_source=1", "/utm_source=1", []),
        ("/x?", "/x?", []),
    ],
)
def test_the_default_list(url: str, folded: str, dropped: list[str]) -> None:
    assert DEFAULT.fold(A + url) == A + folded
    assert DEFAULT.dropped(A + url) == dropped


def test_a_host_is_left_as_it_is() -> None:
    url = "http://a;jsessionid=1.test/x"
    assert DEFAULT.fold(url) == url
    assert DEFAULT.dropped(url) == []


def test_globs_match_whole_names_in_any_case() -> None:
    folding = Folding(["s?d", "X[*"])
    assert folding.fold(f"{A}/?sid=1&SAD=2&side=3") == f"{A}/?side=3"
    assert folding.fold(f"{A}/?x[1]=1&x=2&x1=3") == f"{A}/?x=2&x1=3"


def test_nothing_is_dropped_without_names() -> None:
    url = f"{A}/x;jsessionid=1?utm_source=1"
    assert Folding(()).fold(url) == url
    assert Folding(()).dropped(url) == []


PIECES = st.sampled_from(
    ["utm_a=1", "utm_a", "a=1", "gclid=2", "=", "", "&", ";", "?", "/", "..", ".", ";jsessionid=3"]
)


@given(st.lists(PIECES).map("".join))
def test_folding_twice_changes_nothing(path: str) -> None:
    url = canonical(f"{A}/{path}")
    folded = DEFAULT.fold(url)
    assert DEFAULT.fold(folded) == folded == canonical(folded)
    assert (folded != url) == bool(DEFAULT.dropped(url))


def test_names_beyond_what_is_remembered() -> None:
    folding = Folding(["utm_*"])
    for name in [*(f"n{number}" for number in range(20_000)), "u" * 100]:
        assert folding.fold(f"{A}/?{name}=1&utm_x=2") == f"{A}/?{name}=1"
    assert folding.fold(f"{A}/?utm_{'x' * 100}=1") == f"{A}/"
