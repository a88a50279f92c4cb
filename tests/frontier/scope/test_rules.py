import re
import subprocess
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from larbinpy.config.patterns import registered_domain
from larbinpy.config.rule import Domain, Glob, Host, Number, Regex, Rule, Type, parse_rule
from larbinpy.frontier.rules import Headers, Rules, UrlPatterns, Verdict, matches, required_segments
from larbinpy.url import split

PAGE = "http://a.test/docs/old/page.html?sort=up"


def rules(*lines: str) -> list[Rule]:
    """Rules as in a file."""
    words = [line.split(maxsplit=1) for line in lines]
    return [parse_rule(word == "accept", rest.strip('"')) for word, rest in words]


def verdict(
    url: str,
    *lines: str,
    depth: int | None = 1,
    hops: int | None = 0,
    headers: Headers | None = None,
) -> Verdict:
    return Rules(rules(*lines)).decide(url, depth, hops, headers)


def decided(url: str, *lines: str, depth: int = 1, hops: int = 0) -> str | None:
    """The rule that decides about a link."""
    found = verdict(url, *lines, depth=depth, hops=hops)
    assert not found.open
    return None if found.rule is None else found.rule.text


def test_the_first_rule_that_matches_decides() -> None:
    lines = ("reject **/old/**", "accept **/docs/**", "reject **")
    assert decided(PAGE, *lines) == "reject **/old/**"
    assert decided("http://a.test/docs/new", *lines) == "accept **/docs/**"
    assert decided("http://a.test/", *lines) == "reject **"
    assert decided(PAGE, *lines[::-1]) == "reject **"
    assert decided("http://a.test/", *lines[:2]) is None
    assert decided(PAGE) is None


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("**.html", "http://a.test/x.html", True),
        ("**.html", "http://a.test/x.html?y", False),
        ("**.html", "http://a.test/x.HTML", False),
        ("**/docs/**", "http://a.test/docs/", True),
        ("**/docs/**", "http://a.test/docs", False),
        ("**/docs/**", "http://a.test/mydocs/x", False),
        ("http://a.test/*", "http://a.test/x", True),
        ("http://a.test/*", "http://a.test/x/", False),
        ("http://a.test/**", "http://a.test/x/y?z=/", True),
        ("http://a.test/**", "https://a.test/x", False),
        ("*://a.test/**", "https://a.test/x", True),
        ("*://*.test/**", "https://www.a.test/x", True),
        ("*://a.test/**", "http://a.test:8080/x", False),
        ("*://a.test:*/**", "http://a.test:8080/x", True),
        ("**/page?.html", "http://a.test/page7.html", True),
        ("**/page?.html", "http://a.test/page/.html", False),
        ("**/page?.html", "http://a.test/page77.html", False),
        (r"**\?*", "http://a.test/x?y=1", True),
        (r"**\?*", "http://a.test/x", False),
        (r"**/a\*b", "http://a.test/a*b", True),
        (r"**/a\*b", "http://a.test/axb", False),
        ("HTTP://A.TEST/Ä/**", "http://a.test/%C3%84/x", True),
        ("**/%e4", "http://a.test/%E4", True),
        ("*://bücher.test/**", "http://xn--bcher-kva.test/", True),
        ("**/a.c/**", "http://a.test/abc/", False),
        ("/(docs)/", "http://a.test/mydocs/x", True),
        ("/(docs/old)/", PAGE, True),
        (r"/\.html$/", "http://a.test/x.html", True),
        (r"/^http:..a\.test.docs/", PAGE, True),
        ("/(?i)PAGE/", PAGE, True),
        ("/(PAGE)/", PAGE, False),
        ("host:a.test", PAGE, True),
        ("host:a.test", "http://www.a.test:81/", True),
        ("host:a.test", "http://nota.test/", False),
        ("host:*.a.test", PAGE, False),
        ("host:www*.test", "http://www7.test/", True),
        ("host:a.test:81", "http://a.test:81/", True),
        ("host:a.test:81", PAGE, False),
        ("domain:example.co.uk", "http://www.example.co.uk/", True),
        ("domain:example.co.uk", "http://other.co.uk/", False),
        ("domain:a.test", "http://x.y.a.test/", True),
        ("**/docs/** host:a.test", PAGE, True),
        ("**/docs/** host:b.test", PAGE, False),
        ("**/docs/** **.html", PAGE, False),
        ("**/docs/** /sort=/ **/page*", PAGE, True),
        ("host:a.test domain:a.test", PAGE, True),
        ("host:a.test domain:b.test", PAGE, False),
    ],
)  # fmt: skip
def test_what_a_pattern_matches(pattern: str, url: str, expected: bool) -> None:
    assert decided(url, f"reject {pattern}") == (f"reject {parsed(pattern)}" if expected else None)


def parsed(pattern: str) -> str:
    return parse_rule(False, pattern).pattern


@pytest.mark.parametrize(
    ("pattern", "true", "false"),
    [
        ("depth:>2", [3, 9], [2, 0]),
        ("depth:>=2", [2, 3], [1]),
        ("depth:<2", [0, 1], [2]),
        ("depth:<=2", [2], [3]),
        ("depth:2", [2], [1, 3]),
    ],
)
def test_depth_and_hops(pattern: str, true: list[int], false: list[int]) -> None:
    for depth in true + false:
        assert (decided(PAGE, f"reject {pattern}", depth=depth) is not None) == (depth in true)
        hops = pattern.replace("depth", "hops")
        assert (decided(PAGE, f"reject {hops}", hops=depth) is not None) == (depth in true)


def test_a_rule_for_types_is_open_until_the_headers_are_there() -> None:
    lines = ("reject type:image/*", 'accept "**/docs/** size:>1K"')
    before = verdict(PAGE, *lines)
    assert before.rule is None and before.may_accept and before.late
    assert [rule.text for rule in before.open] == list(lines)
    assert [rule.text for rule in verdict("http://a.test/", *lines).open] == [lines[0]]
    for headers, expected in [
        (Headers("image/png", 9), lines[0]),
        (Headers("text/html", 9), None),
        (Headers("text/html", 1025), lines[1]),
        (Headers("text/html", None), None),
        (Headers("", None), None),
    ]:
        found = verdict(PAGE, *lines, headers=headers)
        assert (found.rule and found.rule.text, found.open) == (expected, ())
        assert found.late


def test_headers_change_nothing_about_earlier_rules() -> None:
    lines = ("accept **/docs/**", "reject type:*")
    assert not verdict(PAGE, *lines).late
    assert not verdict(PAGE, *lines, headers=Headers("text/html", 1)).late
    assert verdict("http://a.test/", *lines).late


def test_what_may_accept() -> None:
    assert verdict(PAGE, "reject type:a/b", "accept **").may_accept
    assert not verdict(PAGE, "reject type:a/b", "reject **").may_accept
    assert verdict(PAGE, "accept type:a/b", "reject **").may_accept
    assert not verdict(PAGE, "reject type:a/b").may_accept


def test_without_a_page_depth_is_open() -> None:
    found = verdict(PAGE, "reject depth:>3", "accept **", depth=None, hops=None)
    assert [rule.text for rule in found.open] == ["reject depth:>3"]
    assert found.rule is not None and not found.late


# Many patterns at once.


def numbers(patterns: Sequence[Glob | Regex], url: str, memory: int = 1 << 20) -> set[int]:
    found = UrlPatterns(patterns, memory).matching(url, url.split("/"))
    assert len(found) == len(set(found))
    return set(found)


PIECES = st.sampled_from(["*", "**", "?", "a", "b", "/", ".", "\\?", "http://h/", "/a?/", "/(ab)/"])
GLOBS = st.lists(PIECES, min_size=1, max_size=8).map("".join).map(Glob)
REGEXES = st.sampled_from(["a", "a$", "^http", "(a|b)+/", "a.*b", "[^/]a", "", "b?", r"\."]).map(
    Regex
)
URLS = st.lists(st.sampled_from("ab/.?"), max_size=12).map(lambda end: "http://h/" + "".join(end))


def reference(glob: str, url: str) -> bool:
    """Whether a glob matches, by its definition, without a regular expression."""
    if not glob:
        return not url
    if glob.startswith("**"):
        rest = glob.lstrip("*")
        return any(reference(rest, url[k:]) for k in range(len(url) + 1))
    if glob[0] == "*":
        end = (url + "/").index("/")
        return any(reference(glob[1:], url[k:]) for k in range(end + 1))
    if glob[0] == "?":
        return bool(url) and url[0] != "/" and reference(glob[1:], url[1:])
    glob = glob[1:] if glob[0] == "\\" else glob
    return url[:1] == glob[0] and reference(glob[1:], url[1:])


@given(st.lists(GLOBS | REGEXES, max_size=6, unique=True), st.lists(URLS, max_size=3))
def test_patterns_together_match_as_each_alone(
    patterns: list[Glob | Regex], urls: list[str]
) -> None:
    for url in urls:
        alone = {n for n, each in enumerate(patterns) if matches(each, url.encode())}
        assert numbers(patterns, url) == alone
        for number, each in enumerate(patterns):
            if isinstance(each, Glob):
                assert (number in alone) == reference(each.text, url), each


@given(GLOBS, URLS)
@example(Glob("**b/a"), "http://h/ab/a")
def test_a_url_that_a_glob_matches_has_its_segments(glob: Glob, url: str) -> None:
    if reference(glob.text, url):
        assert required_segments(glob.text) <= set(url.split("/"))


def test_a_set_without_enough_memory_lets_no_url_through() -> None:
    """RE2 then has no answer, which must not be taken for one (google/re2 issue 136)."""
    hard = [Regex(f"{letter}.{{12}}{letter}.*x") for letter in "abcdefgh"]
    url = "http://a.test/" + "abcdefghabcda" * 20
    for memory in (1000, 64 << 20):
        assert numbers(hard, url + "x", memory) == set(range(8))
        assert numbers(hard, url + "/", memory) == set()


def spent(pattern: Glob | Regex, url: str) -> float:
    """The least processor time of some tries (s)."""
    together = UrlPatterns([pattern])
    segments = url.split("/")
    together.matching(url, segments)
    times = []
    for _ in range(3):
        began = time.process_time()
        together.matching(url, segments)
        times.append(time.process_time() - began)
    return min(times)


#: Patterns for which the time of a backtracking engine grows exponentially, or by a power.
EVIL = st.sampled_from(
    ["(a+)+$", "(a|a)*b", "(a|b|ab)*c$", ".*.*.*x", "(.*a){9}", "a*a*a*a*b", "(?:a?){30}a{30}"]
).map(Regex) | st.lists(st.sampled_from(["**a", "*a", "**", "?"]), min_size=4, max_size=12).map(
    lambda parts: Glob("**" + "".join(parts) + "x")
)


@settings(max_examples=60, deadline=None)
@given(EVIL, st.sampled_from(["a", "ab", "a/", "ba.", "aaa?"]))
def test_no_pattern_takes_more_than_linear_time(pattern: Glob | Regex, unit: str) -> None:
    short, long = (f"http://a/{unit * (size // len(unit))}" for size in (1000, 8000))
    # Eight times as long; the allowance is for a machine with other work.
    assert spent(pattern, long) < 25 * spent(pattern, short) + 0.005


def test_without_rules_the_engine_is_not_loaded() -> None:
    code = (
        "import sys, larbinpy.crawl.assembly; from larbinpy.config import load;"
        "from larbinpy.frontier.rules import Rules; load(None, {}, []); Rules(())\n"
        "print({'re2', 'publicsuffixlist'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "set()"


CONDITIONS = st.sampled_from(
    [
        "**/b/**",
        "**b",
        "*://a.test/**",
        "http://*/b/*",
        "/b$/",
        "/[?]b/",
        "host:a.test",
        "host:*",
        "host:*.a.test",
        "host:test",
        "host:w*",
        "host:a.test:81",
        "host:*.test:81",
        "host:[::1]",
        "host:localhost",
        "domain:a.test",
        "domain:b.test",
        "depth:>1",
        "hops:0",
        "type:text/*",
        "type:*",
        "size:>10",
    ]
)
LINES = st.builds(
    lambda accept, words: parse_rule(accept, " ".join(words)),
    st.booleans(),
    st.lists(CONDITIONS, min_size=1, max_size=3),
)
LINKS = st.builds(
    "http{}://{}{}/{}".format,
    st.sampled_from(["", "s"]),
    st.sampled_from(["a.test", "w.a.test", "b.test", "test", "localhost", "[::1]", "x.ba.test"]),
    st.sampled_from(["", ":81"]),
    st.sampled_from(["", "b", "b/", "b/b", "x?b", "b/?x", "a.test/"]),
)
REPLIES = st.sampled_from([None, Headers("text/html", 11), Headers("a/b", None), Headers("", 1)])


def holds(
    condition: object, url: str, depth: int | None, hops: int | None, headers: Headers | None
) -> bool | None:
    """Whether one condition holds, by its definition; None if that is not known."""
    parts = split(url)
    match condition:
        case Glob(text):
            return reference(text, url)
        case Regex(text):
            return re.search(text, url) is not None
        case Host(pattern):
            return pattern.match(parts.host, parts.port)
        case Domain(name):
            return registered_domain(parts.host) == name
        case Type(text):
            return None if headers is None else fnmatchcase(headers.media_type, text)
        case Number("size"):
            if headers is None:
                return None
            return headers.size is not None and condition.holds(headers.size)
        case Number(name):
            value = depth if name == "depth" else hops
            return None if value is None else condition.holds(value)
    raise AssertionError(condition)


@given(
    st.lists(LINES, max_size=8),
    st.lists(LINKS, min_size=1, max_size=4),
    st.none() | st.integers(0, 3),
    REPLIES,
)
def test_rules_decide_as_one_after_another(
    lines: list[Rule], urls: list[str], number: int | None, headers: Headers | None
) -> None:
    made = Rules(lines)
    for url in urls:
        first, possible = None, []
        for line in lines:
            found = [holds(each, url, number, number, headers) for each in line.conditions]
            if all(found):
                first = line
                break
            if not any(each is False for each in found):
                possible.append(line)
        verdict = made.decide(url, number, number, headers)
        assert (verdict.rule, list(verdict.open)) == (first, possible)


_SPELLED = (
    *("a.test", "host:b.a.test", "host:a.test:8080", "*://a.test/docs/**", "http://a.test/docs/**"),
    *("https://b.a.test/x/**", "http://a.test:8080/**", "host:*.a.test", "/[?]sort=/", "**.exe"),
    *(
        "http://aa.test/d**",
        "domain:other.test",
        "host:1.2.3.4",
        "host:[::1]",
        "http://1.2.3.4/a/**",
    ),
)
_URLS = (
    *("http://a.test/", "http://a.test/docs/", "http://a.test/docs/x", "http://a.test/docsx"),
    *(
        "http://a.test:8080/docs/",
        "https://a.test/docs/",
        "http://b.a.test/",
        "http://c.b.a.test/y",
    ),
    *(
        "https://b.a.test/x/",
        "http://ba.test/",
        "http://test/",
        "http://aa.test/docs",
        "http://z/f.exe",
    ),
    *(
        "http://w.other.test/",
        "http://1.2.3.4/a/b",
        "http://1.2.3.4/",
        "http://[::1]/",
        "http://a.test./",
    ),
    *("http://q.test/?sort=1", "http://a-a.test/", "http://a.test.evil.test/docs/"),
)


@given(st.sets(st.sampled_from(_SPELLED), min_size=1))
def test_a_list_matches_what_its_patterns_match(patterns: set[str]) -> None:
    with NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(patterns))
        file.flush()
        together = Rules([parse_rule(False, f"@{file.name}")])
    spelled = ("host:a.test" if each == "a.test" else each for each in patterns)
    apart = Rules([parse_rule(False, each) for each in spelled])
    for url in _URLS:
        expected = apart.decide(url, 1, 0).rule is not None
        assert (together.decide(url, 1, 0).rule is not None) == expected, url


def test_a_list_is_one_of_the_conditions_of_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "spam.txt"
    path.write_text("a.test\n")
    found = Rules([parse_rule(False, f"@{path} depth:>2")])
    assert found.decide("http://a.test/", 3, 0).rule is not None
    assert found.decide("http://a.test/", 1, 0).rule is None
    assert found.decide("http://b.test/", 3, 0).rule is None
