"""Host patterns: their semantics, their spelling, and the table that finds them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config.patterns import HostPattern, HostPatterns

_HOSTS = ("docs.test", "www.docs.test", "a.b.docs.test", "mydocs.test", "test", "1.2.3.4", "[::1]")


@pytest.mark.parametrize(
    ("text", "matched"),
    [
        ("docs.test", {"docs.test", "www.docs.test", "a.b.docs.test"}),
        ("*.docs.test", {"www.docs.test", "a.b.docs.test"}),
        ("w*.docs.test", {"www.docs.test"}),
        ("*docs.test", {"docs.test", "www.docs.test", "a.b.docs.test", "mydocs.test"}),
        ("???.docs.*", {"www.docs.test", "a.b.docs.test"}),
        ("test", {"docs.test", "www.docs.test", "a.b.docs.test", "mydocs.test", "test"}),
        ("1.2.*", {"1.2.3.4"}),
        ("1.2.3.4", {"1.2.3.4"}),
        ("[0::1]", {"[::1]"}),
        ("*", set(_HOSTS)),
    ],
)
def test_a_pattern_matches_hosts(text: str, matched: set[str]) -> None:
    pattern = HostPattern.parse(text)
    assert {host for host in _HOSTS if pattern.match(host, 80)} == matched
    assert {host for host in _HOSTS if HostPatterns([(pattern, 1)]).first(host, 80)} == matched


@pytest.mark.parametrize(
    ("text", "matched"),
    [
        (".docs.test", {"docs.test", "www.docs.test", "a.b.docs.test"}),
        ("docs.test.", {"docs.test", "www.docs.test", "a.b.docs.test"}),
        ("1.2.0.0/16", {"1.2.3.4"}),
        ("1.2.3.4/32", {"1.2.3.4"}),
        ("1.2.4.0/24", set()),
        ("::/64", {"[::1]"}),
        ("[::]/64", {"[::1]"}),
        ("::1", {"[::1]"}),
        ("/var/run/docker.sock", set()),
        ("*", set(_HOSTS)),
    ],
)
def test_what_no_proxy_of_other_programs_holds(text: str, matched: set[str]) -> None:
    pattern = HostPattern.of_no_proxy(text)
    assert {host for host in _HOSTS if pattern.match(host, 80)} == matched
    assert {host for host in _HOSTS if HostPatterns([(pattern, 1)]).first(host, 80)} == matched
    assert HostPattern.of_no_proxy(pattern.show()) == pattern


def test_a_network_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"'10.0.0.0/40' is not a network such as 10\.0"):
        HostPattern.of_no_proxy("10.0.0.0/40")


@pytest.mark.parametrize("text", ["docs.test:8080", "*.docs.test:8080", "*:8080", "w?w.*:8080"])
def test_a_port_is_matched(text: str) -> None:
    pattern = HostPattern.parse(text)
    assert pattern.match("www.docs.test", 8080)
    assert not pattern.match("www.docs.test", 80)
    assert pattern.show() == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("DOCS.Test", "docs.test"),
        ("*.BÜCHER.test", "*.xn--bcher-kva.test"),
        ("w*.bücher.test", "w*.xn--bcher-kva.test"),
        ("[::1]:80", "[::1]:80"),
    ],
)
def test_a_pattern_has_one_spelling(text: str, shown: str) -> None:
    pattern = HostPattern.parse(text)
    assert pattern.show() == shown
    assert HostPattern.parse(shown) == pattern


@pytest.mark.parametrize(
    "text",
    [
        *("", "http://docs.test/", "docs.test/a", "docs.test:", "docs.test:0", "docs.test:65536"),
        *("a:b", "*.", "*./", ".docs.test", "w*[a].test", "w*ü.test", "a b", "10.0.0.0/8"),
        "!docs.test",
    ],
)
def test_what_is_not_a_pattern_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        HostPattern.parse(text)


_LABELS = st.lists(st.sampled_from(["a", "b", "ab", "x-1"]), min_size=1, max_size=4)
_NAMES = _LABELS.map(".".join)
_PATTERNS = st.builds(
    lambda head, name, port: HostPattern.parse(head + name + port),
    st.sampled_from(["", "*.", "*", "?."]),
    _NAMES,
    st.sampled_from(["", ":80", ":81"]),
)


@given(st.lists(_PATTERNS, max_size=8), _NAMES, st.sampled_from([80, 81]))
def test_the_table_finds_what_each_pattern_matches_in_order(
    patterns: list[HostPattern], host: str, port: int
) -> None:
    table = HostPatterns(list(zip(patterns, range(len(patterns)), strict=True)))
    one_by_one = [rank for rank, pattern in enumerate(patterns) if pattern.match(host, port)]
    assert table.matching(host, port) == one_by_one


@given(_PATTERNS)
def test_a_pattern_reads_what_it_shows(pattern: HostPattern) -> None:
    assert HostPattern.parse(pattern.show()) == pattern
