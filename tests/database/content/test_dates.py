"""`larbinpy.database.content.dates`: dates as pages spell them."""

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.content.dates import day_first, from_mail, in_text, in_tree, iso

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
        ("03.05.2024", "2024-05-03"),
        ("3. 5. 2024", "2024-05-03"),
        ("12 ao\u00fbt 2024", "2024-08-12"),
        ("1er janv. 2024", "2024-01-01"),
        ("12. Dezember 2024", "2024-12-12"),
        ("Montag, den 4. M\u00e4rz 2024, 12.30 Uhr", "2024-03-04"),
        ("5 de enero de 2024", "2024-01-05"),
        ("7 maggio 2024", "2024-05-07"),
        ("3 de fevereiro de 2024", "2024-02-03"),
        ("5 \u043c\u0430\u044f 2024 \u0433.", "2024-05-05"),
        ("9 pa\u017adziernika 2024", "2024-10-09"),
        ("14 maart 2024", "2024-03-14"),
        ("2024. m\u00e1jus 3.", "2024-05-03"),
        ("3 \u0645\u0627\u064a\u0648 2024", "2024-05-03"),
        ("\u0663 \u0645\u0627\u064a\u0648 \u0662\u0660\u0662\u0664", "2024-05-03"),
        ("3 \u0e1e\u0e24\u0e29\u0e20\u0e32\u0e04\u0e21 2567", "2024-05-03"),
        ("ng\u00e0y 3 th\u00e1ng 5 n\u0103m 2024", "2024-05-03"),
        ("2024\ub144 5\uc6d4 3\uc77c", "2024-05-03"),
        ("3 May\u0131s 2024", "2024-05-03"),
        ("3 KASIM 2023", "2023-11-03"),
        ("3 \u039c\u0391\u03aa\u039f\u03a5 2024", "2024-05-03"),
        ("3 \u092e\u0908 2024", "2024-05-03"),
        ("3 \u043c\u0430\u0458 2024", "2024-05-03"),
        ("3 \u0e1e.\u0e04. 2567", "2024-05-03"),
        ("\u4ee4\u548c6\u5e745\u67083\u65e5", "2024-05-03"),
        ("the 3rd of May, 2024", "2024-05-03"),
        ("Mar 3, 2024", "2024-03-03"),
        ("2025 m. birželio 3 d.", "2025-06-03"),
        ("2025. gada 3. jūnijs", "2025-06-03"),
        ("2025(e)ko ekainaren 3a", "2025-06-03"),
        ("3 чэрвеня 2025", "2025-06-03"),
        ("2025 жылғы 3 маусым", "2025-06-03"),
        ("հունիսի 3, 2025", "2025-06-03"),
        ("3 تشرين الأول 2025", "2025-10-03"),
        ("3 غشت 2025", "2025-08-03"),
        ("۱۳ خرداد ۱۴۰۴", "2025-06-03"),
        ("۱۴۰۴/۰۳/۱۳", "2025-06-03"),
        ("30 اسفند 1403", "2025-03-20"),
        ("30 اسفند 1404", None),
        ("3 יוני 2025", "2025-06-03"),
        ("ஜூன் 3, 2025", "2025-06-03"),
        ("Hunyo 3, 2025", "2025-06-03"),
        ("3 Ogos 2025", "2025-08-03"),
        ("民國114年6月3日", "2025-06-03"),
        ("二〇二五年十月三十一日", "2025-10-31"),
        ("2025 оны 6-\u0440 сарын 3", "2025-06-03"),
        ("June 3,2025", "2025-06-03"),
        ("Tue Jun  3 10:00:00 UTC 2025", "2025-06-03"),
        ("Tue Jun 03 10:00:00 +0000 2025", "2025-06-03"),
        ("03/Jun/2025:10:00:00", "2025-06-03"),
        ("03.Jun.2025", "2025-06-03"),
        ("3 มิถุนายน พ.ศ. 2568", "2025-06-03"),
        ("1714730400", "2024-05-03T10:00:00Z"),
        ("1714730400000", "2024-05-03T10:00:00Z"),
        ("Version 3 Released 2024", None),
        ("30. Februar 2024", None),
        ("2025-02-30", None),
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
        # Nearest to the heading, and not of a list, a comment or a change.
        "<ul><li>A story <time>2026-01-01</time></ul><h1>A</h1><p class=posted>June 13, 2025",
        "<time>2026-01-01</time><time>2025-06-13</time><h1>A</h1><p>Text.",
        "<h1>A</h1><p>Published June 13, 2025 by the editors of the gazette</p><p>Text.",
        "<h1>A</h1><div id=comments><time>2026-01-01</time></div><time>2025-06-13</time>",
        "<div class=comments><h1>A</h1><time>2025-06-13</time></div>",
        "<h1>A</h1><p class=date>Updated: June 13, 2025",
        "<h1>A</h1><p class=date>Updated: June 19, 2025<p class=date>Published: June 13, 2025",
        "<h1>A</h1><p class=meta-date>Updated June 19, 2025 | Published June 13, 2025",
        "<h1>A</h1><p>Updated <time>2025-06-19</time>, first <time pubdate>2025-06-13</time>",
        "<h1>A</h1><abbr class=published title=2025-06-13>a year ago</abbr>",
        "<h1>A</h1><span class=date data-timestamp=2025-06-13>a year ago</span>",
        "<h1>A</h1><p class=event-date>On 12 June 2026<p class=date>Posted June 13, 2025",
        "<p class=current-date>June 17, 2025</p><h1>A</h1><p>Published: June 13, 2025",
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
        "<h1>A</h1><p>Text.<section id=comments><time>2025-10-17</time><p>Nice.</section>",
        f"<h1>A</h1>{'<p>Text.' * 99}<div class=comment-list><p class=date>2025-10-17",
        f"<h1>A</h1>{'<p>Text.' * 99}<div class=sidebar><p class=date>2025-10-17",
        f"<h1>A</h1>{'<p>Text.' * 99}<div><a>What the other story says</a><time>2025-10-17",
        "<h1>A</h1><h2>2025-10-17</h2><p>It was 2025-10-17 in the morning when we left.",
    ],
)
def test_dates_of_something_else_are_not_the_page_s(markup: str) -> None:
    assert in_tree(turbohtml.parse(markup), URL, LATEST) is None


@pytest.mark.parametrize(
    ("text", "lang", "host", "expected"),
    [
        ("03/05/2024", "en-GB", "a.test", "2024-05-03"),
        ("03/05/2024", "en", "a.co.uk", "2024-05-03"),
        ("05/03/2024", "en-US", "a.co.uk", "2024-05-03"),
        ("05/03/2024", "en", "a.test", "2024-05-03"),
        ("le 03/05/2024 \xe0 10h00", "fr", "a.test", "2024-05-03"),
        ("03-05-2024", None, "a.it", "2024-05-03"),
        ("03.05.24", "de", "a.test", "2024-05-03"),
        ("03.05.98", "de", "a.test", "1998-05-03"),
        ("03/05/2024", None, "a.test", None),
    ],
)
def test_the_order_of_numbers_is_that_of_the_country(
    text: str, lang: str | None, host: str, expected: str | None
) -> None:
    assert iso(text, LATEST, day_first(lang, f"http://{host}/")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Posted on: 3 May 2024 by Ann", "2024-05-03"),
        ("Ver\xf6ffentlicht am 3. Mai 2024", "2024-05-03"),
        ("\u53d1\u5e03\u65f6\u95f4\uff1a2024-05-03 10:00", "2024-05-03"),
        ("We met on 3 May 2024.", None),
        ("Updated: 3 May 2024", None),
    ],
)
def test_texts_say_when_they_were_published(text: str, expected: str | None) -> None:
    assert in_text(f"First.\n{text}\nLast.", URL, LATEST, True) == expected


def test_a_url_shows_a_date() -> None:
    tree = turbohtml.parse("<time>2025-06-14</time>")
    assert in_tree(tree, "http://www.example.test/2025/06/13/story.html", LATEST) == "2025-06-13"
    assert in_tree(tree, "http://www.example.test/2025/46/13/story.html", LATEST) == "2025-06-14"
    assert in_tree(tree, "http://www.example.test/", LATEST) is None
    for path in ("2025/jun/13/a", "news/20250613/a.html", "a-20250613.html"):
        assert in_tree(tree, f"http://www.example.test/{path}", LATEST) == "2025-06-13"


@given(st.text(st.characters(codec="utf-8")) | st.from_regex(r"[\dTZ:/. +-]{0,40}"))
def test_nothing_raises(text: str) -> None:
    for read in (iso, from_mail):
        found = read(text, LATEST)
        assert found is None or "1995" <= found[:10] <= LATEST
