"""URLs: parsing, the canonical spelling, parts and fingerprints."""

import json
import string
from typing import Any

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from larbinpy.url import (
    MAX_LENGTH,
    SECRET_HEADER,
    Base,
    Url,
    as_sent,
    canonical,
    fault,
    fingerprint,
    fingerprints,
    host_of,
    masked_line,
    masked_typed,
    parse,
    resolve,
    site_of,
    split,
    typed,
)
from tests.support.suites import suite


def wpt_cases() -> list[dict[str, Any]]:
    cases = json.loads((suite("wpt-url") / "urltestdata.json").read_text())
    return [case for case in cases if isinstance(case, dict)]


def test_wpt_urltestdata() -> None:
    cases = wpt_cases()
    wrong = [case for case in cases if parse(case["input"], case["base"]) != case.get("href")]
    assert len(cases) == 891
    assert wrong == []


def test_wpt_toascii() -> None:
    cases = json.loads((suite("wpt-url") / "toascii.json").read_text())
    cases = [case for case in cases if isinstance(case, dict)]
    wrong = []
    for case in cases:
        href = parse(f"https://{case['input']}/x")
        expected = None if case["output"] is None else f"https://{case['output']}/x"
        if href != expected:
            wrong.append(case)
    assert len(cases) == 87
    assert wrong == []


def test_wpt_inputs_have_one_canonical_spelling() -> None:
    texts = {case["input"] for case in wpt_cases()}
    texts |= {case["base"] for case in wpt_cases() if case["base"]}
    texts |= {case["href"] for case in wpt_cases() if case.get("href")}
    assert [text for text in texts if canonical(canonical(text)) != canonical(text)] == []


@pytest.mark.parametrize(
    ("text", "base", "href"),
    [
        ("http://Example.COM:80/a b?c d#e f", None, "http://example.com/a%20b?c%20d#e%20f"),
        ("http:\\\\h\\a", None, "http://h/a"),
        (" \n http://h \t", None, "http://h/"),
        ("ht\ntp://h/", None, "http://h/"),
        ("http://h/a/./b/../c/%2e%2E/d", None, "http://h/a/d"),
        ("http://1.2.3/", None, "http://1.2.0.3/"),
        ("http://0x7f000001/", None, "http://127.0.0.1/"),
        ("http://[::0:1]/", None, "http://[::1]/"),
        ("http://h:00080/", None, "http://h/"),
        ("http://fa\u00df.example/", None, "http://xn--fa-hia.example/"),
        ("http://h/\u00e9?\u00e9", None, "http://h/%C3%A9?%C3%A9"),
        ("", "http://h/a/b?c#d", "http://h/a/b?c"),
        ("?x", "http://h/a/b?c#d", "http://h/a/b?x"),
        ("#x", "http://h/a/b?c", "http://h/a/b?c#x"),
        ("../../x", "http://h/a/b", "http://h/x"),
        ("//o/x", "https://h/a", "https://o/x"),
        ("http:x", "http://h/a/b", "http://h/a/x"),
        ("mailto:x@y", "http://h/", "mailto:x@y"),
        ("x", None, None),
        ("x", "mailto:x@y", None),
        ("http://", None, None),
        ("http://h:65536/", None, None),
        ("http://h:a/", None, None),
        ("http://a b/", None, None),
        ("http://1.2.3.256/", None, None),
        ("http://[::1/", None, None),
        ("http://a%00b/", None, None),
        # References.
        ("", "http://h/a/b?c", "http://h/a/b?c"),
        (".", "http://h/a/b", "http://h/a/"),
        ("..", "http://h/a/b/c", "http://h/a/"),
        ("a?b#c", "http://h/x/y?z#w", "http://h/x/a?b#c"),
        ("///x/y", "http://h/a", "http://x/y"),
        ("/\\x", "http://h/a", "http://x/"),
        ("https:x", "http://h/a/b", "https://x/"),
        ("http:/x", "http://h/a/b", "http://h/x"),
        ("//", "http://h/", None),
        ("/x", "data:text/plain,y", None),
        # Paths and queries.
        ("http://h/a//../b", None, "http://h/a/b"),
        ("http://h/a/%2e", None, "http://h/a/"),
        ("http://h/%zz", None, "http://h/%zz"),
        ("http://h/'\"<>`{}|^", None, "http://h/'%22%3C%3E%60%7B%7D|%5E"),
        ("http://h/?'\"<>`{}|^\\", None, "http://h/?%27%22%3C%3E`{}|^\\"),
        # Users and ports.
        ("http://@h/", None, "http://h/"),
        ("http://u@@h/", None, "http://u%40@h/"),
        ("http://u:p@/x", None, None),
        ("http://h:/", None, "http://h/"),
        ("http://h: 80/", None, None),
        # Addresses.
        ("http://0300.0250.1/", None, "http://192.168.0.1/"),
        ("http://4294967295/", None, "http://255.255.255.255/"),
        ("http://4294967296/", None, None),
        ("http://1.2.3.4./", None, "http://1.2.3.4/"),
        ("http://1.2.3.4.5/", None, None),
        ("http://a.1/", None, None),
        ("http://0x/", None, "http://0.0.0.0/"),
        ("http://[::1.2.3.4]/", None, "http://[::102:304]/"),
        ("http://[1::2::3]/", None, None),
        ("http://[::1%25eth0]/", None, None),
        # Names.
        ("http://exa%6Dple.test/", None, "http://example.test/"),
        ("http://B\u00dcCHER.test/", None, "http://xn--bcher-kva.test/"),
        ("http://\u70b9\u770b\u3002test/", None, "http://xn--3pxu8k.test/"),
        ("http://\uff41.test/", None, "http://a.test/"),
        ("http://\uff11.\uff12.\uff13.\uff14/", None, "http://1.2.3.4/"),
        ("http://a\u00adb.test/", None, "http://ab.test/"),
        ("http://a\u0301.test/", None, "http://xn--1ca.test/"),
        ("http://\u0301a.test/", None, None),
        ("http://a\u200db.test/", None, None),
        ("http://1\u05d0.test/", None, None),
        ("http://a_b.test./", None, "http://a_b.test./"),
        ("http://h<x>/", None, None),
        ("http://h^x/", None, None),
        ("http://h|x/", None, None),
    ],
)
def test_urls_are_parsed_as_the_standard_has_it(
    text: str, base: str | None, href: str | None
) -> None:
    assert parse(text, base) == href
    if href is not None:
        assert canonical(canonical(href)) == canonical(href)
        agrees_with_ada(text, base)


def agrees_with_ada(text: str, base: str | None = None) -> bool:
    """Whether `text` can be crawled; if so, our parts of it are ada's."""
    url = resolve(text, base)
    if url is None:
        return False
    parsed = ada_url.URL(url)
    assert parsed.href == url, "the spelling must be one that WHATWG would write"
    assert not (parsed.username or parsed.password or parsed.hash)
    scheme = parsed.protocol.rstrip(":")
    port = int(parsed.port or {"http": 80, "https": 443}[scheme])
    assert split(url) == (scheme, parsed.hostname, port, parsed.pathname + parsed.search)
    assert host_of(url) == parsed.hostname
    assert site_of(url) == parsed.origin
    assert url.isascii() and url.isprintable() and " " not in url
    return True


def test_wpt_inputs_are_split_as_ada_splits_them() -> None:
    crawlable = [case for case in wpt_cases() if agrees_with_ada(case["input"], case["base"])]
    assert len(crawlable) > 200


@given(st.text(max_size=60))
@example("http://a/%%32e")
@example("http://a/%2%35")
@example("\ud800")
@example("http:a:@b?#")
def test_canonical_is_idempotent_on_any_text(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once


# Everything that a parser of URLs stops at, and enough letters to make names and escapes.
URLISH = st.text("htp:/\\@?#%[].&=;-_~ \t\n0125aAeEfFxzÄ\u3002\u2025\x00", max_size=40)


@given(st.sampled_from(["http://", "https:", "//", "http://u:p@h:81/", ""]), URLISH)
def test_canonical_is_idempotent_on_what_looks_like_a_url(start: str, rest: str) -> None:
    once = canonical(start + rest)
    assert canonical(once) == once
    agrees_with_ada(start + rest, "https://base.test:444/a/b?c")


@given(st.text("%0123456789aAbBcCdDeEfF", max_size=12))
def test_escapes_have_one_spelling(path: str) -> None:
    once = canonical(f"http://a/{path}")
    assert canonical(once) == once


@pytest.mark.parametrize(
    ("spelling", "url"),
    [
        ("HTTP://EXAMPLE.com:80", "http://example.com/"),
        ("https://example.com:443/a/../b", "https://example.com/b"),
        ("http://example.com/%7Eme/%41", "http://example.com/~me/A"),
        ("http://example.com/%c3%a4", "http://example.com/%C3%A4"),
        ("http://example.com/ä", "http://example.com/%C3%A4"),
        ("http://example.com/a%2Fb", "http://example.com/a%2Fb"),
        ("http://example.com/#here", "http://example.com/"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://example.com/a?", "http://example.com/a"),
        ("http://example.com/a?b?", "http://example.com/a?b?"),
        ("http://example.com/a??", "http://example.com/a??"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::FFFF:7f00:1]:80/", "http://[::ffff:7f00:1]/"),
        ("http://a;b@c/", "http://c/"),
        ("http://a\\@b/", "http://a/@b/"),
    ],
)
def test_spellings_of_one_resource(spelling: str, url: str) -> None:
    assert canonical(spelling) == resolve(spelling) == url


def test_urls_of_other_schemes_stay_as_they_are() -> None:
    assert canonical("no url") == "no url"
    assert canonical("mailto:me@example.com") == "mailto:me@example.com"
    assert resolve("mailto:me@example.com") is None
    assert resolve("ftp://example.com/") is None
    assert resolve("javascript:void(0)", "http://a/") is None
    assert resolve("file:///etc/passwd") is None


#: Bad ports of the Fetch standard, and of services that a crawled line could command.
REFUSED_PORTS = [
    *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101),
    *(102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389),
    *(427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636),
    *(993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665),
    *(6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211),
]


@pytest.mark.parametrize("port", REFUSED_PORTS)
def test_ports_of_other_protocols_are_refused(port: int) -> None:
    assert resolve(f"http://example.com:{port}/") is None
    assert resolve(f"https://[2001:db8::1]:{port}/") is None


def test_all_other_ports_are_taken() -> None:
    refused = [n for n in range(1, 1 << 16) if resolve(f"http://a:{n}/") is None]
    assert refused == REFUSED_PORTS


def test_length_is_bounded() -> None:
    longest = "http://example.com/" + "a" * (MAX_LENGTH - 19)
    assert resolve(longest) == longest
    assert resolve(longest + "a") is None
    # Escaping trebles it.
    assert resolve("http://example.com/" + "ä" * (MAX_LENGTH // 4)) is None


def test_a_url_knows_its_site() -> None:
    url = Url("https://[2001:db8::1]:8443/a?b", 3)
    assert (url.site, url.host) == ("https://[2001:db8::1]:8443", "[2001:db8::1]")
    url = Url("http://example.com/", 3)
    assert (url.site, url.host) == ("http://example.com", "example.com")
    assert Url("http://example.com:81/", 0).host == "example.com"


def test_fingerprints_are_stable_and_fit_64_bits() -> None:
    # They are on disk between runs, so they must not depend on the process.
    assert fingerprint("http://example.com/") == 0x6AD9D0C164122FB
    urls = [f"http://{letter}/{n}" for letter in string.ascii_letters for n in range(100)]
    prints = {fingerprint(url) for url in urls}
    assert len(prints) == len(urls)
    assert all(0 <= each < 2**64 for each in prints)
    assert fingerprints(urls) == [fingerprint(url) for url in urls]


BASES = st.sampled_from(
    [
        "http://h/",
        "http://h/a/b/c.html?x=/y/z",
        "https://h:8443/a/b/",
        "http://127.0.0.1:80/x/",
        "http://[::1]:81/p/q",
        "http://u:p@h/a/",
        "http://h/%7ea/b",
        "http://h/a%2Fb/c",
        "http://h:25/a/b",
        "ftp://h/a/b",
        "data:text/html,x",
        "http://h//a//b",
        "http://h/..b/c",
    ]
)
PIECES = st.sampled_from(
    [
        "/",
        "?",
        "&",
        ":",
        "..",
        ".",
        "...",
        "..a",
        "a",
        "b.html",
        "x:y",
        "~u",
        "%7e",
        "%2e",
        "a%zz",
        "é",
        "@",
        "(",
        "a;b",
        "\\",
        "'",
        "^",
        "|",
        "{",
        "xn--a",
        "HTTP:",
        "http:",
        "//",
        "http://",
        "http://127.1.2.3:80",
        "https://A.com",
        "http://a.b:25",
        "http://u@h",
        "h:443",
        "0x7f.1",
        "http://h",
        "https://h:8443",
        "c d",
        "\t",
        "/",
        "/",
    ]
)


@given(BASES, st.lists(PIECES, max_size=7).map("".join))
@example("http://h/", "..//")
@example("http://h/a/b", "../../../c")
@example("http://h/a/b/c", "../")
@example("http://h/", "../")
@example("http://h/" + "a/" * 20, "../" * 12 + "b")
@example("http://h/a/b", "//h/c")
@example("http://h/a/b", f"http://{'h.' * 200}/")
@example("http://h/a/b", "mailto:a@h")
@example("http://h/a/b", "File:///a")
@example("http://h/a/b", "?c")
@example("http://h/a/b", "")
@example("http://h/a", "x" * (MAX_LENGTH - len("http://h/") + 1))
def test_a_base_resolves_as_resolve_does(base: str, reference: str) -> None:
    assert Base(base).resolve(reference) == resolve(reference, base)


# URLs as people type them.


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("docs.test", "http://docs.test/"),
        (" docs.test:8080/path?q=1 ", "http://docs.test:8080/path?q=1"),
        ("LOCALHOST:8080", "http://localhost:8080/"),
        ("localhost", "http://localhost/"),
        ("web:8080", "http://web:8080/"),
        ("127.0.0.1:80/x", "http://127.0.0.1/x"),
        ("[::1]:8080", "http://[::1]:8080/"),
        ("bücher.example", "http://xn--bcher-kva.example/"),
        ("docs.test/larbin.conf", "http://docs.test/larbin.conf"),
        ("HTTPS://docs.test", "https://docs.test/"),
    ],
)
def test_a_host_without_a_scheme_is_http(text: str, href: str) -> None:
    assert (typed(text), fault(text)) == (href, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("htp://docs.test/a", "did you mean http://docs.test/a?"),
        ("htttps://docs.test", "did you mean https://docs.test?"),
        ("http//docs.test", "did you mean http://docs.test?"),
        ("http;//docs.test", "did you mean http://docs.test?"),
        ("larbin.conf", "http:// is missing if it is a host"),
        ("lists/seeds.txt", "http:// is missing if it is a host"),
        ("./docs.test", "http:// is missing if it is a host"),
        ("seeds", "http:// is missing if it is a host"),
        ("12345", "http:// is missing if it is a host"),
        ("me@docs.test", "http:// is missing if it is a host"),
        ("ftp://docs.test/", "http or https"),
        ("docs.test:25", "port 25 is that of another service"),
        ("docs.test/" + "x" * MAX_LENGTH, f"longer than {MAX_LENGTH} characters"),
        ("", "http or https"),
    ],
)
def test_other_texts_are_refused_with_a_reason(text: str, reason: str) -> None:
    assert typed(text) is None
    assert reason in fault(text)


@given(
    st.text()
    | st.sampled_from(["http", "localhost:", "[", "a.b"]).flatmap(
        lambda head: st.text(max_size=10).map(lambda rest: head + rest)
    )
)
def test_either_it_is_a_url_that_can_be_crawled_or_there_is_a_reason(text: str) -> None:
    href = typed(text)
    assert (href is None) == bool(fault(text))
    assert href is None or resolve(href) == href


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://me:pw@h.test/", "http://***@h.test/"),
        ("http://h.test/@me", "http://h.test/@me"),
        ("user:pw@docs.test/", "***@docs.test/"),
        ("http://user:pa/ss@h/", "http://***@h/"),
        ("http://user:p#ss@h/", "http://***@h/"),
        ("http://user:p@s@h:99999/", "http://***@h:99999/"),
        ("http:user:pw@h:99999/", "http:***@h:99999/"),
        ("gopher://user:p w@h/", "gopher://***@h/"),
        ("seeds.txt", "seeds.txt"),
    ],
)
def test_what_is_typed_is_shown_without_what_may_be_a_login(text: str, shown: str) -> None:
    assert masked_typed(text) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("http://me:s3c@h/ is no X", "http://***@h/ is no X"),
        ("redis://s3c@h: no answer", "redis://***@h: no answer"),
        ("unix://:s3c@/run/r.sock?crawl=n", "unix://***@/run/r.sock?crawl=n"),
        ("redis:/:s3c@h/n: no saved crawl", "redis:/***@h/n: no saved crawl"),
        ("pg://me:p/s3c@h/n: no", "pg://*** no"),
        ("x: 'http://me:s3c' is no URL", "x: 'http://***' is no URL"),
        ("x: 'me:s3c@h' is not one of a", "x: '***@h' is not one of a"),
        ("x: 'mysql:me:s3c@h/n' is no", "x: '***@h/n' is no"),
        # What is none.
        ("http://h:99999/ is no URL", None),
        ("http://h:80: no reply", None),
        ("no login for http://127.0.0.1:8080, only for http://h:81 (or https://h:82)", None),
        ("https://shop.example: the login failed", None),
        ("https://a.test/@me/x:y and https://a.test:81/@me", None),
        ("http://[::1]:8080/x", None),
        ("a.conf:3: 'me@h' is no X", None),
        ("'x' is not redis://[USER@]HOST[:PORT]/NAME", None),
        ("is not redis://[USER[:PASSWORD]@]HOST[:PORT][,HOST...]/NAME", None),
        ("(redis://:PASSWORD@HOST/NAME), http://USER:PASSWORD@HOST/", None),
        ("/srv/a:b/x@y: cannot be read", None),
    ],
)
def test_a_line_shows_no_login(line: str, shown: str | None) -> None:
    assert masked_line(line) == (line if shown is None else shown)
    assert "s3c" not in masked_line(line)


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "Set-Cookie",
        "X-Api-Key",
        "apikey",
        "PRIVATE-TOKEN",
        "X-Password",
        "X-Passphrase",
        "X-Pass",
        "X-Pwd",
        "X-Credentials",
        "X-Amz-Signature",
        "X-JWT-Assertion",
        "X-OTP",
        "X-Pin",
        "X-Sid",
    ],
)
def test_names_of_headers_that_speak_of_a_secret(name: str) -> None:
    assert SECRET_HEADER.search(name) and SECRET_HEADER.search(name.lower())


@pytest.mark.parametrize(
    "name",
    [
        "Accept",
        "Cache-Control",
        "Content-Type",
        "DNT",
        "Pragma",
        "Referer",
        "X-Bypass-Cache",
        "X-Pinned",
        "X-Requested-With",
        "X-Crawl-Reason",
        "X-Forwarded-For",
        "Side-Effects",
        "Design",
    ],
)
def test_names_of_headers_that_are_shown(name: str) -> None:
    assert not SECRET_HEADER.search(name)


def test_a_suggestion_has_no_login() -> None:
    assert "did you mean http://***@h.test/?" in fault("htp://me:pw@h.test/")


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("/%d0%7e#part", "http://a.test/%d0%7e"),
        ("/x?", "http://a.test/x?"),
        ("//me:secret@b.test", "http://b.test/"),
        ("/ä", "http://a.test/%C3%A4"),
        ("mailto:x", ""),
        ("http://a.test:25/", ""),
    ],
)
def test_the_spelling_of_a_server_is_kept(text: str, sent: str) -> None:
    assert as_sent(text, "http://a.test/folder/") == sent
