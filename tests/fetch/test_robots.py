"""robots.txt: whose rules count, which paths they match, and what odd files cost."""

import gc
import json
import time
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from larbinpy.errors import product_token
from larbinpy.fetch.robots import MAX_SIZE, Rules, whole_lines
from tests.support.suites import suite

ME = "larbinpy/0.1 (+http://us.test/)"


def allowed(text: str, path: str, agent: str = ME) -> bool:
    return Rules.parse(text.encode()).allowed(agent, f"http://site.test{path}")


# These cases pass a URL that is not percent-encoded, or an escape of an unreserved character,
# and expect it to differ from its other spelling, as callers of Google's parser encode URLs
# first. In RFC 9309, 2.2.2 both spellings are equal, and so they are in our canonical URLs.
WAIVED_URLS = {"http://foo.bar/foo/bar/ツ", "http://foo.bar/foo/bar/baz"}


def waived(case: dict[str, Any]) -> bool:
    encoded = "ツ" in case["url"] or "%62%61%7A" in case["robots"]
    return case["test"] == "ID_Encoding" and case["url"] in WAIVED_URLS and encoded


def google_cases() -> list[dict[str, Any]]:
    try:
        path = suite("google-robotstxt") / "cases.json"
    except pytest.skip.Exception:
        return []
    return [case for case in json.loads(path.read_text())["cases"] if case["kind"] == "allowed"]


def test_google_robotstxt() -> None:
    suite("google-robotstxt")
    wrong = []
    for case in google_cases():
        rules = Rules.parse(case["robots"].encode())
        if rules.allowed(case["ua"], case["url"]) != case["expect"]:
            wrong.append(case)
    assert len(google_cases()) == 145
    assert [case for case in wrong if not waived(case)] == []
    assert len(wrong) == 3


def test_the_longest_rule_wins_and_allow_wins_a_tie() -> None:
    text = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /x\nDisallow: /x\n"
    assert [allowed(text, path) for path in ("/a", "/a/b", "/a/b/c", "/x", "/")] == [
        False,
        True,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("rules", "forbidden", "free"),
    [
        ("Disallow:", "", "/ /x"),
        ("Disallow: /x", "/x /xy /x/y /x?y", "/X /ax"),
        ("Disallow: x", "", "/x"),
        ("Disallow: /a?b", "/a?b /a?bc", "/a /a?c"),
        ("Disallow: /fish*.php", "/fish.php /fishheads/a.php?id", "/Fish.php /fish.PHP"),
        ("Disallow: /*.php$", "/a.php /a/b.php", "/a.php?x /a.php5 /a.phP"),
        ("Disallow: /a*", "/a /ab /a/b", "/b"),
        ("Disallow: /a**b", "/ab /axb", "/a"),
        ("Disallow: *x", "/x /ax", "/a"),
        ("Disallow: /a$b", "/a$b /a$bc", "/a"),
        ("Disallow: /a%2fb", "/a%2Fb", "/a/b"),
        ("disallow : /x # all of it", "/x", "/"),
        ("Dissallow: /x", "/x", "/"),
        ("Disallow /x", "/x", "/"),
        ("Disallow: /\nAllow: /p", "/ /x", "/p /page"),
        ("Disallow: /\nAllow: /$", "/x", "/"),
        ("Disallow: /*.htm\nAllow: /page", "/page.htm", "/page"),
        ("Allow: /\nDisallow: /x$", "/x", "/xy /"),
        ("Allow: /folder\nDisallow: /folder", "", "/folder/page"),
        ("Disallow: /a\nAllow: /a/", "/a /ab", "/a/ /a/b"),
    ],
)
def test_paths_that_rules_match(rules: str, forbidden: str, free: str) -> None:
    text = f"User-agent: *\n{rules}\n"
    paths = [*forbidden.split(), *free.split()]
    assert [path for path in paths if not allowed(text, path)] == forbidden.split()


@pytest.mark.parametrize(
    ("text", "is_allowed"),
    [
        ("user-agent: larbinpy\ndisallow: /", False),
        ("User-Agent: LarbinPy/3.0\nDisallow: /", False),
        ("User-agent larbinpy\nDisallow: /", False),
        ("User-agent: a\nUser-agent: larbinpy\nDisallow: /", False),
        ("User-agent: larbinpy\n\n\nDisallow: /", False),
        ("Disallow: /\nUser-agent: *", True),
        ("User-agent: larbin\nDisallow: /\nUser-agent: *\nAllow: /", True),
        ("User-agent: *\nDisallow: /\nUser-agent: larbinpy", True),
        ("User-agent: *\nAllow: /\nUser-agent: larbinpy\nDisallow: /", False),
    ],
)
def test_groups_that_count(text: str, is_allowed: bool) -> None:
    assert allowed(text, "/x") is is_allowed


def test_the_end_of_the_path_counts_as_a_character() -> None:
    text = "User-agent: *\nAllow: /ab\nDisallow: /ab$\n"
    assert not allowed(text, "/ab")
    assert allowed(text, "/abc")


@pytest.mark.parametrize(
    ("rules", "forbidden", "free"),
    [
        # A "?" is one character, although it is compared as %3F.
        ("Disallow: /*?\nAllow: /en/", "/x?q", "/en/c?q"),
        ("Disallow: /cart/\nAllow: /*?p=", "/cart/?p=2", "/list?p=2"),
        ("Disallow: /*?*&\nAllow: /list/", "/x?a&b", "/list/?a&b"),
        # An escape is three, although it may be compared as one.
        ("Disallow: /~m\nAllow: /%7E", "", "/~me"),
        ("Disallow: /%7Eme\nAllow: /~me/", "/~me/a", "/~you"),
        # So are octets that are not ASCII.
        ("Disallow: /ä\nAllow: /*a=1", "/%C3%A4?a=1", "/b?a=1"),
        ("Allow: /x**\nDisallow: /xy", "", "/xyz"),
        ("Allow: /index.html\nDisallow: /", "/a /index", "/ /index.html"),
        ("Allow: /a/index.htm\nDisallow: /a/", "/a/b", "/a/ /a/index.htm"),
    ],
)
def test_patterns_are_weighed_as_they_are_written(rules: str, forbidden: str, free: str) -> None:
    text = f"User-agent: *\n{rules}\n"
    paths = [*forbidden.split(), *free.split()]
    assert [path for path in paths if not allowed(text, path)] == forbidden.split()


@pytest.mark.parametrize("line", ["*", "* # all", "*#all", "*\t", "*x", "**"])
def test_a_group_of_everyone(line: str) -> None:
    assert allowed(f"User-agent: {line}\nDisallow: /\n", "/") is (line in ("*x", "**"))


def test_our_group_replaces_everyones() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: Larbinpy\nDisallow: /a\n"
    assert allowed(text, "/b")
    assert not allowed(text, "/a")
    assert not allowed(text, "/b", agent="other")


def test_groups_of_one_agent_are_joined() -> None:
    ours = "User-agent: larbinpy\nDisallow: /a\n", "User-agent: larbinpy\nDisallow: /b\n"
    text = "User-agent: x\nDisallow: /c\n".join(ours)
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]


@pytest.mark.parametrize(
    "name",
    ["larbin", "larbinpy2x", "larbinpy-", "larbinpy_ # us", "my-larbinpy", "py", "larbinpyx"],
)
def test_a_name_is_matched_whole(name: str) -> None:
    # A product token has no digits: it ends before them, and hyphens at its end do not count.
    matches = name in ("larbinpy2x", "larbinpy-", "larbinpy_ # us")
    assert allowed(f"User-agent: {name}\nDisallow: /\n", "/") is not matches


@pytest.mark.parametrize(
    ("agent", "matches"),
    [
        ("larbinpy", True),
        ("LARBINPY/9", True),
        ("larbinpy (x)", True),
        ("larbinpy_2.6.3", True),
        ("Mozilla/5.0 (larbinpy)", False),
        ("larbinpy spider", False),
        ("", False),
    ],
)
def test_the_agent_is_a_product(agent: str, matches: bool) -> None:
    assert allowed("User-agent: larbinpy\nDisallow: /\n", "/", agent) is not matches


WEB = "http://a.test/bot"
WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko"


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("FooBot 2.1", "foobot"),
        (f"FooBot +{WEB}", "foobot"),
        ("FooBot v2", "foobot"),
        ("Foo Bar/2", ""),
        ("LinkBot/1.0 (compatible; Mozilla/5.0)", "linkbot"),
        (f"Mozilla/5.0 (compatible; FooBot/2.1; +{WEB})", "foobot"),
        (f"Mozilla/5.0 (compatible;Foo;+{WEB})", "foo"),
        (f"Mozilla/5.0 (compatible; Foo +{WEB})", "foo"),
        ("Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.test/)", "mj"),
        (f"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; FooBot/1.0; +{WEB})", "foobot"),
        (f"Mozilla/5.0 {WEBKIT}; compatible; bingbot/2.0; +{WEB}) Chrome/1.2 Safari/3", "bingbot"),
        (
            f"Mozilla/5.0 (Linux) {WEBKIT}) Mobile Safari/5 (compatible; A-Mobile; +{WEB})",
            "a-mobile",
        ),
        (f"Mozilla/5.0 (Macintosh) Version/13.1 Safari/605 (Applebot/0.1; +{WEB})", "applebot"),
        (f"Mozilla/5.0 (X11; Linux x86_64; Storebot-G/1.0) {WEBKIT}) Chrome/1", "storebot-g"),
        (f"Mozilla/5.0 (X11) {WEBKIT}) Chrome/120.0 Safari/537.36 Foo/1.0 (+{WEB})", "foo"),
        ("Mozilla/5.0 (Foo/1.0; spider@foo.test; http://crawler.foo.test/)", "foo"),
        (f"Mozilla/5.0 (X11; Linux) {WEBKIT}) Chrome/120.0 Safari/537.36 Edg/120.0", "mozilla"),
        ("Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0)", "mozilla"),
        ("Mozilla/5.0 (X11; rv:109.0) Gecko/20100101 Firefox/115.0", "mozilla"),
        ("Mozilla/5.0 " + "-_" * 100_000, "mozilla"),
    ],
)
def test_the_name_of_a_crawler_that_begins_as_browsers_do(agent: str, token: str) -> None:
    assert product_token(agent) == token


def test_a_group_may_have_the_whole_agent_of_a_crawler() -> None:
    agent = f"Mozilla/5.0 (compatible; FooBot/2.1; +{WEB})"
    text = f"User-agent: {agent}\nDisallow: /\n\nUser-agent: *\nDisallow:\n"
    assert not allowed(text, "/", agent)
    assert not allowed(text, "/", "FooBot/3")
    assert allowed(text, "/", "Mozilla/5.0 (X11; rv:109.0) Gecko/20100101 Firefox/115.0")


@pytest.mark.parametrize(
    "line", ["Noindex: /x", "Content-Signal: search=no", "Sitemap: /s", "gibberish", "#"]
)
def test_other_lines_do_not_end_a_group(line: str) -> None:
    text = f"User-agent: larbinpy\n{line}\nUser-agent: other\nDisallow: /\n"
    assert not allowed(text, "/")


def test_crawl_delay_is_a_rule_of_its_group() -> None:
    text = "User-agent: *\nCrawl-delay: 2.5\n\nUser-agent: bad\nDisallow: /\n"
    rules = Rules.parse(text.encode())
    assert rules.delay(ME) == 2.5
    assert rules.delay("bad") is None
    assert rules.allowed(ME, "http://site.test/")
    assert not rules.allowed("bad", "http://site.test/")


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "soon", "", "1e999"])
def test_delays_that_are_ignored(value: str) -> None:
    assert Rules.parse(f"User-agent: *\nCrawl-delay: {value}\n".encode()).delay(ME) is None


def test_sitemaps_belong_to_no_group() -> None:
    body = b"Sitemap: http://a.test/1.xml # first\r\nUser-agent: x\rsitemap:http://a.test/\xc3\xa9\nSitemap:\n"
    assert Rules.parse(body).sitemaps == ["http://a.test/1.xml", "http://a.test/%C3%A9"]


def test_words_behind_a_sitemap_are_none_of_it_and_urls_are_further_ones() -> None:
    body = b"Sitemap: http://a.test/1.xml (new)\nSitemap: /2.xml\thttps://b.test/3.xml 4 # http://c.test"
    expected = ["http://a.test/1.xml", "/2.xml", "https://b.test/3.xml"]
    assert Rules.parse(body).sitemaps == expected


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n"])
def test_line_ends(end: str) -> None:
    assert not allowed(end.join(["User-agent: *", "Disallow: /a", ""]), "/a")


@pytest.mark.parametrize("char", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_characters_that_end_no_line(char: str) -> None:
    text = f"User-agent: *\nDisallow: /x{char}Disallow: /\n"
    assert allowed(text, "/")


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n",
        b"\xff\xfe" + "User-agent: *\nDisallow: /a\n".encode("utf-16-le"),
        b"\xfe\xff" + "User-agent: *\nDisallow: /a\n".encode("utf-16-be"),
        b"User-agent: *\0\nDis\0allow: /a\n",
    ],
)
def test_marks_and_nuls(body: bytes) -> None:
    rules = Rules.parse(body)
    assert not rules.allowed(ME, "http://site.test/a")
    assert rules.allowed(ME, "http://site.test/b")


def test_octets_are_compared_percent_encoded() -> None:
    rules = Rules.parse(
        "User-agent: *\nDisallow: /é\nDisallow: /%C3%A8\nDisallow: /".encode() + b"\xe9\n"
    )
    paths = ("/%C3%A9", "/%c3%a8", "/%E9x", "/e")
    assert [rules.allowed(ME, f"http://site.test{path}") for path in paths] == [
        False,
        False,
        False,
        True,
    ]


def test_a_body_that_is_no_robots_txt_forbids_nothing() -> None:
    for body in (
        b"",
        b"<!doctype html><p>Disallow: /</p>\nAllow me\n",
        bytes(range(256)) * 100,
        b"\x1f\x8b\x08",
    ):
        assert Rules.parse(body).allowed(ME, "http://site.test/")


def test_the_first_512_kib_count_without_half_a_rule() -> None:
    line = b"Disallow: /abcdefghi\n"
    body = b"User-agent: *\n" + line * (MAX_SIZE // len(line) - 3)
    body += b"#" * (MAX_SIZE - len(body) - 15) + b"\nDisallow: /only/half\nDisallow: /late\n"
    assert body[:MAX_SIZE].endswith(b"\nDisallow: /onl")
    rules = Rules.parse(body)
    assert not rules.allowed(ME, "http://site.test/abcdefghi")
    assert rules.allowed(ME, "http://site.test/only/half")
    assert rules.allowed(ME, "http://site.test/late")


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_body_that_was_cut_has_whole_lines(end: bytes) -> None:
    rules = b"User-agent: *" + end + b"Disallow: /a" + end
    assert Rules.parse(whole_lines(rules + b"Disallow: /")).allowed(ME, "http://site.test/b")
    assert not Rules.parse(whole_lines(rules + b"Allow: /")).allowed(ME, "http://site.test/a")
    assert whole_lines(b"Disallow: /") == whole_lines(b"") == b""


def test_a_long_line_is_cut() -> None:
    """At the octet where Google's parser cuts it."""
    path = "/" + "a" * (2083 * 8 - len("Disallow: /"))
    assert not allowed(f"User-agent: *\nDisallow: {path}bc\n", path[:-1])
    assert allowed(f"User-agent: *\nDisallow: {path}bc\n", path[:-2])


def test_robots_txt_itself_is_always_allowed() -> None:
    nothing = Rules.parse(b"User-agent: *\nDisallow: /\n")
    assert nothing.allowed(ME, "http://site.test/robots.txt")
    assert not nothing.allowed(ME, "http://site.test/")
    assert Rules.parse(b"").allowed(ME, "http://site.test/")
    assert nothing.allowed(ME, "http://site.test/robots.txt?x")
    assert not nothing.allowed(ME, "http://site.test/robots.txt.bak")
    assert not nothing.allowed(ME, "http://site.test/a/robots.txt")


#: Protego weighs a pattern by its escaped form, which is as long as what was written for these.
_EVEN = [*"/ab*=#~.1", "%2F", "%2f", "%2A", "%C3%A9", "/index.html"]
_ODD = [*"$%?&: ", "%41", "%3D", "%24"]
_OTHERS = ["Crawl-delay", "Noindex", "Sitemap"]


def _lines(fields: list[str], parts: list[str]) -> st.SearchStrategy[list[str]]:
    value = st.lists(st.sampled_from(parts), max_size=6).map("".join)
    start = st.sampled_from(["/", "", "*", "/*"])
    colon = st.sampled_from([": ", ":", " : ", " ", "\t"])
    line = st.tuples(st.sampled_from(fields + _OTHERS), colon, start, value).map("".join)
    return st.lists(line, max_size=6)


_ALLOW, _DISALLOW = ["Allow", "allow"], ["Disallow", "Dissallow"]
_LINES = st.one_of(
    _lines(_ALLOW + _DISALLOW, _EVEN),
    _lines(_DISALLOW, _EVEN + _ODD),
    _lines(_ALLOW, _EVEN + _ODD).map(lambda lines: ["Disallow: /", *lines]),
)
_PATHS = st.lists(
    st.sampled_from([*"/ab*$?=&:~.1", "%2F", "%41", "%C3%A9", "%3D", "%25", "/index.html"]),
    max_size=6,
).map("".join)


@given(_LINES, st.lists(_PATHS, min_size=1, max_size=5))
def test_rules_agree_with_protego(lines: list[str], paths: list[str]) -> None:
    text = "\n".join(["User-agent: *", *lines])
    ours, theirs = Rules.parse(text.encode()), Protego.parse(text)
    for path in paths:
        url = f"http://site.test/{path}"
        assert ours.allowed(ME, url) is theirs.can_fetch(url, "larbinpy"), url
        assert ours.allowed(ME, url) is (ours.forbidding(ME, url) is None)
    assert ours.delay(ME) == theirs.crawl_delay("larbinpy")


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\nDisallow: " + b"*a" * 1000 + b"b\n",
        b"User-agent: *\n" + (b"Disallow: " + b"*a" * 8000 + b"b\n") * 32,
        b"User-agent: *\n" + b"Disallow:*zz%d\n" * 5000,
    ],
    ids=["one pattern", "long patterns", "many patterns"],
)
def test_patterns_cost_little(body: bytes) -> None:
    rules = Rules.parse(body)
    rules.allowed(ME, "http://site.test/")
    start = time.process_time()
    rules.allowed(ME, "http://site.test/" + "a" * 2000)
    assert time.process_time() - start < 0.1


@pytest.mark.parametrize(
    "body",
    [
        b"".join(b"User-agent: a%d\n" % n for n in range(12_000)) + b"Disallow: /a\n" * 12_000,
        b"User-agent: larbinpy\nUser-agent: *\n" * 7000 + b"Disallow: /a\n" * 12_000,
        (b" " * 16_000 + b"x\n") * 32,
        (b"user" * 4000 + b"\n") * 32,
        b"<html><a href=x>" * 32_768,
    ],
    ids=["agents by rules", "one agent often", "blanks", "no colon", "html"],
)
def test_parsing_costs_little(body: bytes) -> None:
    start = time.process_time()
    Rules.parse(body).allowed(ME, "http://site.test/")
    assert time.process_time() - start < 1  # quadratic: minutes


@given(st.binary(max_size=300))
def test_any_bytes_are_rules(body: bytes) -> None:
    rules = Rules.parse(b"User-agent: *\n" + body)
    assert rules.allowed(ME, "http://site.test/a?b") in (True, False)
    assert (rules.delay(ME) or 0) >= 0
    assert "robots" not in repr(rules)


@pytest.mark.parametrize("pattern", ["/p{}/*q*z", "/p{}" + "/*z" * 200])
def test_many_patterns_cost_no_more_than_a_thousand_wildcards(pattern: str) -> None:
    """Beyond those a Disallow forbids all that begins as it does up to its "*"."""
    lines = [f"Disallow: {pattern.format(n)}" for n in range(800)]
    rules = Rules.parse("\n".join(["User-agent: *", *lines]).encode())
    url = f"https://www.example.org/{{}}{'qz/' * 2500}"
    started = time.process_time()
    for n in range(200):
        rules.allowed("larbinpy", url.format(n))
    assert time.process_time() - started < 1.0
    assert rules.allowed("larbinpy", "https://www.example.org/p3/other")
    assert not rules.allowed("larbinpy", "https://www.example.org/p700/other")


def test_an_allow_beyond_the_thousand_wildcards_lets_nothing_in() -> None:
    many = b"Disallow: /x/*/y\n" * 1000
    rules = Rules.parse(
        b"User-agent: *\nDisallow: /private\n" + many + b"Allow: /private/open/*.html\n"
    )
    assert not rules.allowed(ME, "http://site.test/private/open/a.html")
    assert not rules.allowed(ME, "http://site.test/private/open/secret")
    assert rules.allowed(ME, "http://site.test/x/z")


def test_wildcards_of_other_agents_do_not_count() -> None:
    others = b"User-agent: other\n" + b"Disallow: /*/x\n" * 1001
    rules = Rules.parse(others + b"User-agent: *\nDisallow: /a/*/x\n")
    assert not rules.allowed(ME, "http://site.test/a/b/x")
    assert rules.allowed(ME, "http://site.test/a/b")


def test_rules_are_freed_with_their_last_user() -> None:
    """Without the garbage collector: a crawl makes and drops those of each of its sites."""
    rules = Rules.parse(b"User-agent: *\nDisallow: /private\n")
    assert not rules.allowed("larbinpy", "http://a.test/private")
    [matcher] = map(weakref.ref, rules._groups.values())
    gc.disable()
    try:
        del rules
        assert matcher() is None
    finally:
        gc.enable()


# The line that forbids


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/a/x", "Disallow: /a/"),
        ("/a/private/x", "Disallow: /a/private"),
        ("/a/private/open", None),
        ("/deep/x.pdf", "Disallow: /*.pdf$"),
        ("/end", "disallow:   /end$"),
        ("/q?a=1", "Disallow: /q?a"),
        ("/caf%C3%A9", "Disallow: /caf%C3%A9"),
        ("/other", None),
        ("/robots.txt", None),
    ],
)
def test_the_line_that_forbids(path: str, line: str | None) -> None:
    rules = Rules.parse(
        b"User-agent: *\nDisallow: /a/\nDisallow: /a/private\nAllow: /a/private/open\n"
        b"Disallow: /*.pdf$\ndisallow:   /end$\nDisallow: /q?a\nDisallow: /caf\xc3\xa9\n"
        b"User-agent: other\nDisallow: /other\n"
    )
    assert rules.forbidding("larbinpy/0.1", f"http://a.test{path}") == line
    assert rules.allowed("larbinpy/0.1", f"http://a.test{path}") is (line is None)


def test_the_line_that_forbids_is_of_ones_own_group() -> None:
    rules = Rules.parse(
        b"User-agent: *\nDisallow: /a\nUser-agent: x\nUser-agent: larbinpy\nDisallow: /b\n"
        b"\nUser-agent: y\nDisallow: /c\nUser-agent: larbinpy\nDisallow: /d\n"
    )
    found = [rules.forbidding("larbinpy", f"http://a.test/{name}") for name in "abcd"]
    assert found == [None, "Disallow: /b", None, "Disallow: /d"]


def test_the_rule_that_forbids_is_found_among_very_many() -> None:
    lines = b"".join(b"Disallow: *%d\n" % n for n in range(20_000))
    rules = Rules.parse(b"User-agent: *\n" + lines + b"Disallow: /x\n")
    assert rules.forbidding("larbinpy", "http://a.test/x") == "Disallow: /x"


def test_a_group_of_many_agents_is_soon_explained() -> None:
    names = b"".join(b"User-agent: bot%d\n" % number for number in range(20_000))
    rules = Rules.parse(names + b"User-agent: larbinpy\nDisallow: /private\n")
    began = time.process_time()
    assert rules.forbidding("larbinpy", "http://a.test/private") == "Disallow: /private"
    assert time.process_time() - began < 1
