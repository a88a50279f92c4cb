"""`larbinpy.database.content.dates`: dates as pages spell them."""

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.content.dates import from_mail, in_tree, iso

LATEST = "2026-11-24"
URL = "http://www.example.test/a/page"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-06-13", "2025-06-13"),
        ("2025-6-3", "2025-06-03"),
        ("2025-06-13T08:05:00Z", "2025-06-13T08:05:00Z"),
        ("2025-06-13T08:05+0000", "2025-06-13T08:05:00Z"),
        ("2025-06-13T22:05:09.123-07:00", "2025-06-13T22:05:09-07:00"),
        ("2025-06-13 22:05:09", "2025-06-13"),
        ("2018-06-08 09:28:03Z", "2018-06-08T09:28:03Z"),
        ("June 3rd, 2025", "2025-06-03"),
        ("Posted on 3 Sept. 2025 by A", "2025-09-03"),
        ("2025/06/13", "2025-06-13"),
        ("20250613", "2025-06-13"),
        ("2025\u5e746\u670813\u65e5", "2025-06-13"),
        ("13.06.2025", "2025-06-13"),
        ("06/13/2025", "2025-06-13"),
        # The third of June, or the sixth of March.
        ("03/06/2025", None),
        ("2025-13-01", None),
        ("1994-12-31", None),
        ("2026-11-24T00:00:00Z", "2026-11-24T00:00:00Z"),
        ("2026-11-25", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_read(text: str, expected: str | None) -> None:
    assert iso(text, LATEST) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mon, 23 Nov 2026 08:00:00 GMT", "2026-11-23T08:00:00Z"),
        ("Mon, 23 Nov 2026 08:00:00 +0100", "2026-11-23T08:00:00+01:00"),
        ("2026-11-23", "2026-11-23"),
        ("Mon, 99 Nov 2026 08:00:00 GMT", None),
        ("nonsense", None),
    ],
)
def test_dates_of_mail_are_read(text: str, expected: str | None) -> None:
    assert from_mail(text, LATEST) == expected


@pytest.mark.parametrize(
    "markup",
    [
        "<p><time datetime=2025-06-13>then</time><p>In 2020 we said",
        "<time>June 13, 2025</time>",
        "<h1>A</h1><div class=postDate>June 13, 2025</div>",
        "<span class='entry-date published'>June 13, 2025</span>",
        "<span class=relativetime title=x>Jun 13, 2025</span>",
        "<span class=post_date>2025-06-13 (This post was last modified: 2025-06-14)</span>",
        "<meta itemprop=datePublished content=2025-06-13>",
        "<p>Last updated <time>2026-01-01</time><p>Posted <time>2025-06-13</time>",
        "<nav><time>2026-01-01</time></nav><time>2025-06-13</time>",
        # A byline: after the heading, and no more than a date.
        "<h1>A</h1><div><div>By Me</div><div>Jun 13, 2025</div></div>",
        "<h1>A</h1><p>Published: June 13, 2025<p>In May 2, 2020 we said",
    ],
)
def test_elements_show_dates(markup: str) -> None:
    assert in_tree(turbohtml.parse(markup), URL, LATEST) == "2025-06-13"


@pytest.mark.parametrize(
    "markup",
    [
        "<p>On June 13, 2025 we said",
        "<h1>logging</h1><section id=the-date-time><p>As<pre>2010-12-12 11:41 when</pre>",
        "<h1>logging</h1><pre><span class=date>2010-12-12</span></pre>",
        "<h1>logging</h1><p>See <code>2010-12-12</code> there",
        "<dl><dt class=sig id=datetime.datetime.time>datetime(2010, 12, 12)</dt></dl>",
        "<div class=timeline>2010-12-12</div><p class=updates>2010-12-12",
        "<p class=last-modified-date>This page was last modified on <time>2025-10-17</time>",
        "<aside><time>2025-10-17</time></aside>",
        "<h1>A</h1><h2>2025-10-17</h2><p>It was 2025-10-17 in the morning when we left.",
    ],
)
def test_dates_of_something_else_are_not_the_page_s(markup: str) -> None:
    assert in_tree(turbohtml.parse(markup), URL, LATEST) is None


def test_a_url_shows_a_date() -> None:
    tree = turbohtml.parse("<time>2025-06-14</time>")
    assert in_tree(tree, "http://www.example.test/2025/06/13/story.html", LATEST) == "2025-06-13"
    assert in_tree(tree, "http://www.example.test/2025/46/13/story.html", LATEST) == "2025-06-14"
    assert in_tree(tree, "http://www.example.test/", LATEST) is None


@given(st.text(st.characters(codec="utf-8")) | st.from_regex(r"[\dTZ:/. +-]{0,40}"))
def test_nothing_raises(text: str) -> None:
    for read in (iso, from_mail):
        found = read(text, LATEST)
        assert found is None or "1995" <= found[:10] <= LATEST
