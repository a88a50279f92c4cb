"""The small grammars: srcset, meta refresh, CSS."""

import json

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.parse import css_urls, meta_refresh, srcset
from larbinpy.url import parse
from tests.support.suites import suite


def test_meta_refresh_cases_of_web_platform_tests() -> None:
    cases = json.loads(suite("wpt-html/meta-refresh.json").read_text())["cases"]
    assert len(cases) == 69
    for case in cases:
        expected = case["expected"][1] if case["expected"] else None
        if expected == "refresh.sub.html":
            expected = ""
        assert meta_refresh(case["input"]) == expected, case


def test_srcset_cases_of_web_platform_tests() -> None:
    page = turbohtml.parse(suite("wpt-html/srcset.html").read_bytes())
    images = page.select("img")
    assert len(images) == 41
    for image in images:
        found = next(iter(srcset(image.attr("srcset") or "")), "")
        expected = image.attr("data-expect") or ""
        if "data-resolve" in image.attrs:
            assert parse(found, "http://h/") == parse(expected, "http://h/"), image.attr("srcset")
        else:
            assert found == expected, image.attr("srcset")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.png, b.png 2x", ["a.png", "b.png"]),
        ("a.png 100w 50h, b.png 50h", ["a.png"]),
        ("a 1x 1w, b 0w, c -1x, d 1.5e1x, e +1x, f 1.x", ["d"]),
        ("a,b 1x, c", ["a,b", "c"]),
        # Commas at its end are no part of a URL.
        ("a.png,", ["a.png"]),
        ("a.png,,, b.png,,", ["a.png", "b.png"]),
        (", ,a.png, ,", ["a.png"]),
        ("a.png, 2x", ["a.png", "2x"]),
        ("data:,a 1x, data:,b, c 2x", ["data:,a", "data:,b", "c"]),
        (",,,", []),
        ("", []),
        (" \t\n\f\ra 1x\t,\nb\f2x", ["a", "b"]),
        ("a (x, y) 1x, b", ["b"]),
        ("a (, b", []),
        ("a 1q", []),
        ("a 12", []),
    ],
)
def test_srcset_candidates(value: str, expected: list[str]) -> None:
    assert srcset(value) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=a", "a"),
        ("5;URL=a", "a"),
        ("5 url = a", "a"),
        ("5,a", "a"),
        ("5 a", "a"),
        ("5;a", "a"),
        ("5; url", "url"),
        ("5", ""),
        ("5;", ""),
        (".5; a", "a"),
        ("5.5.5; a", "a"),
        ("5; url='a b' c", "a b"),
        ('5; url="a', "a"),
        ("5; 'a'b", "a"),
        ("5; ur\tl=a\nb", "url=ab"),
        ("\n5\n;\n url=\n a \n", "a"),
        ("a", None),
        ("-5; a", None),
        ("5a", None),
        ("; a", None),
        ("", None),
    ],
)
def test_meta_refresh(content: str, expected: str | None) -> None:
    assert meta_refresh(content) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b:url(x.png)}", ["x.png"]),
        ("a{b:URL( 'x y.png' )}", ["x y.png"]),
        ('a{b:url("x(1).png")}', ["x(1).png"]),
        (
            "@import 'a.css'; @IMPORT/**/\"b.css\" screen; @import url(c.css);",
            ["a.css", "b.css", "c.css"],
        ),
        ("/* url(no) */ a{b:url(yes)} /* url(no)", ["yes"]),
        ('a{content:"url(no)"; b:url(yes)}', ["yes"]),
        ("a{b:myurl(no) my-url(no) url (no) urlx(no)}", []),
        ('a{b:u\\72l(yes)} \\"{c:url(too)}', ["yes", "too"]),
        ("url(a\\)b.png) url(\\62 c)", ["a)b.png", "bc"]),
        ("url(a b) url(c(d) url(e) url( ) url()", ["e"]),
        ("image-set('a' 1x, \"b\" type('image/png') 2x, url(c) 3x)", ["a", "b", "c"]),
        ("@namespace url(http://no/); @namespace x 'http://no/;'; a{b:url(yes)}", ["yes"]),
        ("url(end", ["end"]),
        ('@import "end', ["end"]),
        ("@IMPORT 'a'", ["a"]),
        ('a{b:url("cut\nc")} d{e:url(yes)}', []),
        ("url(\\0 \\d800 \\110000 x)", ["\ufffd\ufffd\ufffdx"]),
        ("url('a\\\nb')", ["ab"]),
    ],
)
def test_css_urls(text: str, expected: list[str]) -> None:
    assert css_urls(text) == expected


@given(st.text(alphabet="url('\")\\@importnamespace/* \n;{}", max_size=200))
def test_css_urls_takes_any_text(text: str) -> None:
    assert all(css_urls(text))


@given(st.text(st.sampled_from("ab ,()1xwh.\t"), max_size=60))
def test_srcset_candidates_are_words_of_the_value(value: str) -> None:
    assert all(url in value and not url.endswith(",") for url in srcset(value))


@given(st.text(max_size=60))
def test_meta_refresh_takes_any_text(content: str) -> None:
    url = meta_refresh(content)
    assert url is None or url == url.strip()
