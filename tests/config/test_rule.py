import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config import Config, ConfigError, check, describe, load
from larbinpy.config.patterns import matches_some_url, regex, registered_domain
from larbinpy.config.rule import Listed, Rule, parse_rule


def conf(tmp_path: Path, text: str) -> str:
    path = tmp_path / "larbin.conf"
    path.write_text(text)
    return str(path)


def described(path: str | None, environ: Any = (), *overrides: tuple[str, str]) -> list[str]:
    return [rule.described for rule in load(path, dict(environ), overrides).rules]


def test_rules_keep_their_order_and_their_places(tmp_path: Path) -> None:
    path = conf(tmp_path, 'reject **/old/**\n\naccept "**.zip size:>10M"\nREJECT /(x)/ # why\n')
    assert described(path) == [
        f"reject **/old/** ({path}:1)",
        f'accept "**.zip size:>10M" ({path}:3)',
        f"reject /(x)/ ({path}:4)",
    ]


def test_a_rule_that_stands_twice_counts_once(tmp_path: Path) -> None:
    path = conf(tmp_path, "reject **a\naccept **b\nreject **a\n")
    assert described(path) == [f"reject **a ({path}:1)", f"accept **b ({path}:2)"]


def test_equal_rules_keep_their_own_places() -> None:
    """Rules from elsewhere are equal, but messages name the line of each."""
    rules = [parse_rule(False, "**/old/**").at(f"larbin.conf:{line}") for line in (3, 12)]
    assert [Config(rules=(each,)).rules[0].source for each in rules] == [
        "larbin.conf:3",
        "larbin.conf:12",
    ]


def test_rules_of_stronger_sources_come_first(tmp_path: Path) -> None:
    path = conf(tmp_path, "reject **/file\n")
    environ = {"LARBINPY_REJECT": "**/e", "LARBINPY_ACCEPT": '"**/f" "**/g size:>1"'}
    assert described(path, environ, ("reject", "**.zip size:>10M"), ("accept", "**")) == [
        'reject "**.zip size:>10M" (command line)',
        "accept ** (command line)",
        "accept **/f (environment LARBINPY_ACCEPT)",
        'accept "**/g size:>1" (environment LARBINPY_ACCEPT)',
        "reject **/e (environment LARBINPY_REJECT)",
        f"reject **/file ({path}:1)",
    ]
    assert described(path, (), ("reject", "")) == []


def test_a_description_has_the_rules_in_their_order(tmp_path: Path) -> None:
    path = conf(tmp_path, "reject **/old/**\naccept host:a.test\nreject **\n")
    lines = [line.split(" # ") for line in describe(load(path, {}, []))]
    shown = [line for line in lines if line[0].startswith(("accept ", "reject "))]
    assert [line[0].strip() for line in shown] == Path(path).read_text().splitlines()
    assert "fetch URLs that match" in shown[1][1]
    only = [line.split()[0] for line in describe(load(None, {}, [("accept", "**")]))]
    assert "accept" in only and "#reject" in only


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("*.zip", "'*.zip' matches no URL, because it is compared with whole URLs; perhaps **.zip"),
        ("/docs/**", "perhaps **/docs/**"),
        ("example.org/**", "perhaps *://example.org/**"),
        ("example.org", "perhaps *://example.org/**"),
        ("http://example.org", "perhaps http://example.org/**"),
        ("docs", "perhaps **docs**"),
        ("ftp://a.test/**", "matches no URL"),
        ("http://a.test:80/**", "URLs do not show the default port; leave it out"),
        ('"http://a.test/#x"', "URLs are compared without their fragment; end it before #"),
        ("**\\", "ends with a backslash"),
        ("/(/", "/(/ is not a regular expression (RE2): missing ): ("),
        ("/docs/**/", "bad repetition operator: **; write a path as a glob: **/docs/**"),
        (r"/\pZ{1000}{1000}/", "is not a regular expression (RE2)"),
        ("/(?=a)/", "is not a regular expression (RE2)"),
        ("//", "the regular expression // is empty; ** matches every URL"),
        ('""', "its pattern is empty; expected one such as **/old/**"),
        ("dept:>3", "unknown condition 'dept:'; the nearest known one is depth:"),
        ("depth:x", "depth:x is not of the form depth:>3 or depth:<=2"),
        ("size:>x", "size:>x is not of the form size:>10M"),
        ("size:", "size: has no value"),
        ("type:pdf", "type:pdf has no slash; perhaps type:*/pdf"),
        ("host:a/b", "'a/b' is not a host pattern such as docs.test"),
        ("domain:www.example.org", "write domain:example.org, or host:www.example.org"),
        ("domain:co.uk", "is a suffix under which domains are registered; write host:co.uk"),
        ("!**.zip", "a pattern cannot be negated; put a rule with the other keyword before"),
        ("**.zip **.exe", 'one quoted word: reject "**.zip **.exe"'),
        ("**.zip size:>10M", 'one quoted word: reject "**.zip size:>10M"'),
        ('"**.zip size>10M"', "'size>10M' has no colon; write size:>10M"),
        ("/old/", "not a path; write **/old/** for the folder, or /(old)/"),
        ("/docs/v1.0/old_a-b/", "write **/docs/v1.0/old_a-b/** for the folder"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, pattern: str, message: str) -> None:
    path = conf(tmp_path, f"# a comment\nreject {pattern}\n")
    with pytest.raises(ConfigError) as caught:
        load(path, {}, [])
    assert str(caught.value).startswith(f"{path}:2: ") and "\n" not in str(caught.value)
    assert message in str(caught.value)


def test_all_errors_are_reported(tmp_path: Path) -> None:
    path = conf(tmp_path, "reject *.zip\naccept **/ok\nreject /(/\n")
    assert [str(error).split(": ")[0] for error in check(path, {}, [])] == [
        f"{path}:1",
        f"{path}:3",
    ]


def test_rules_of_a_program() -> None:
    config = Config(rules=("accept **/docs/**", "reject **"))  # type: ignore[arg-type]
    assert [rule.text for rule in config.rules] == ["accept **/docs/**", "reject **"]
    with pytest.raises(ConfigError, match="is a text, not a tuple of them"):
        Config(rules="reject **")  # type: ignore[arg-type]


@given(st.text("*?\\/:htp.s#%äZ a", max_size=12))
def test_any_text_is_a_rule_or_a_reason(text: str) -> None:
    try:
        rule = parse_rule(False, text)
    except ValueError as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert parse_rule(False, rule.pattern.strip('"')) == rule


@given(st.lists(st.sampled_from(["*", "**", "?", "h", "t", "p", "s", ":", "/", "a"]), max_size=9))
def test_whether_a_glob_matches_some_url(parts: list[str]) -> None:
    """Tried with URLs that have up to two more characters for each wildcard."""
    import re

    glob = "".join(parts)
    urls = [
        f"{scheme}://{host}/{path}"
        for scheme in ("http", "https")
        for host in ("a", "h", "p", "s", "t", "aa", "pt", "a:t")
        for path in ("", "a", "h", "p", "/", "a/", "s:", "tt", "a/h", "pst")
    ]
    if any(re.fullmatch(regex(glob), url) for url in urls):
        assert matches_some_url(glob)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("example.org", "example.org"),
        ("a.b.user.github.io", "user.github.io"),
        ("localhost", "localhost"),
        ("192.0.2.7", "192.0.2.7"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("co.uk", "co.uk"),
        ("www.docs.test", "docs.test"),
    ],
)
def test_registered_domains(host: str, domain: str) -> None:
    assert registered_domain(host) == domain


def listed(path: Path, *lines: str, codec: str = "utf-8") -> Listed:
    path.write_bytes("\r\n".join(lines).encode(codec))
    [found] = parse_rule(False, f"@{path}").conditions
    assert isinstance(found, Listed)
    return found


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_list_of_patterns(tmp_path: Path, codec: str) -> None:
    lines = [
        "# spam",
        "",
        "  bad.test  # hosts",
        "host:www.bad.test",
        "http://a.test/ads/**",
        "**.exe",
    ]
    found = listed(tmp_path / "spam.txt", *lines, "host:b.test:8080", codec=codec)
    assert found.keys == (b"test,a,)http/ads/", b"test,bad,")
    assert [each.show() for each in found.others] == ["**.exe", "host:b.test:8080"]
    assert found.show() == f"@{tmp_path / 'spam.txt'}"
    rule = Rule(False, (found,))
    assert parse_rule(False, rule.pattern) == rule
    assert rule.content != Rule(False, (listed(tmp_path / "spam.txt", "bad.test"),)).content


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("depth:>3", "2: 'depth:>3': a list has patterns of URLs and hosts only"),
        ("a.test b.test", "2: 'a.test b.test' is not one pattern"),
        ("@other.txt", "2: '@other.txt' is not one pattern"),
        ("/(/", "2: /(/ is not a regular expression"),
    ],
)
def test_a_wrong_line_of_a_list_is_named(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"spam.txt:{reason}")):
        listed(tmp_path / "spam.txt", "a.test", line)


def test_a_list_that_is_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'nowhere' cannot be read: No such file"):
        parse_rule(False, "@nowhere")
    with pytest.raises(ValueError, match=r"spam\.txt has no pattern"):
        listed(tmp_path / "spam.txt", "# nothing")


def test_a_pattern_may_have_any_length() -> None:
    assert parse_rule(False, "**/" + "x" * 50_000).text.endswith("xxx")
