"""Pages and dates that sitemaps and feeds name."""

import gzip
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.page import Outcome, Page
from larbinpy.parse.body import announced, date_of
from larbinpy.parse.link import MAX_LINKS
from larbinpy.url import Url

LATEST = "2026-11-24T12:00:00Z"
SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


def read(
    text: str | bytes, kind: str = "application/xml", url: str = "http://a.test/map"
) -> list[tuple[str, str]]:
    body = text if isinstance(text, bytes) else text.encode()
    page = Page(Url(url, 0), Outcome.SUCCESS, 200, [("content-type", kind)], body)
    return [(each.url, each.date) for each in announced(page, LATEST)]


def entry(path: str, date: str) -> str:
    return f"<url><loc>http://a.test{path}</loc><lastmod>{date}</lastmod></url>"


def test_a_sitemap() -> None:
    text = SITEMAP.format(
        """
        <url><loc> http://a.test/1 </loc><lastmod>2026-11-23T08:00:00+01:00</lastmod></url>
        <url><lastmod>2026-11-22</lastmod><loc>http://a.test/2#part</loc></url>
        <url><loc>http://a.test/3</loc><priority>0.5</priority></url>
        <url><lastmod>2026-11-22</lastmod></url>
        <url><loc>http://a.test/4</loc><image:image xmlns:image="http://image.test/">
            <image:loc>http://a.test/picture</image:loc></image:image></url>
        """
    )
    found = [
        ("http://a.test/1", "2026-11-23T07:00:00Z"),
        ("http://a.test/2", "2026-11-22"),
        ("http://a.test/3", ""),
        ("http://a.test/4", ""),
    ]
    assert read(text) == found
    assert read(gzip.compress(text.encode()), "application/x-gzip") == found
    assert read(text, "text/html") == found
    assert read(text.encode("utf-16")) == found


def test_an_index() -> None:
    text = """<sitemapindex><sitemap><loc>http://a.test/a.xml</loc><lastmod>2026-01-02</lastmod>
        </sitemap></sitemapindex>"""
    assert read(text) == [("http://a.test/a.xml", "2026-01-02")]


def test_atom() -> None:
    text = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/">
        <updated>2026-11-24T00:00:00Z</updated><link href="/"/>
        <entry><link rel="self" href="no"/><link href="one"/>
        <published>2026-01-01T00:00:00Z</published><updated>2026-02-01T00:00:00.5Z</updated>
        <source><link href="other"/><updated>2026-03-01T00:00:00Z</updated></source></entry>
        <entry><link rel="alternate" href="two"/><published>2026-01-01T00:00:00Z</published></entry>
        </feed>"""
    assert read(text) == [
        ("http://a.test/blog/one", "2026-02-01T00:00:00Z"),
        ("http://a.test/blog/two", "2026-01-01T00:00:00Z"),
    ]


def test_rss() -> None:
    text = """<rss><channel><link>http://a.test/</link><pubDate>no</pubDate>
        <item><link>http://a.test/1</link><guid isPermaLink="false">x</guid>
        <pubDate>Mon, 23 Nov 2026 08:00:00 -0100</pubDate></item>
        <item><guid>http://a.test/2</guid><dc:date xmlns:dc="http://dc.test/">2026-11-02</dc:date>
        </item></channel></rss>"""
    assert read(text, "application/rss+xml") == [
        ("http://a.test/1", "2026-11-23T09:00:00Z"),
        ("http://a.test/2", "2026-11-02"),
    ]


@pytest.mark.parametrize(
    "text", ["", "<html/>", "<p>", "<?xml version='1.0'?><svg/>", "\x1f\x8b\x08", "http://a.test/"]
)
def test_other_documents_name_nothing(text: str) -> None:
    assert read(text) == []


def test_entries_are_whole_wherever_a_document_is_cut_into_portions() -> None:
    text = SITEMAP.format(
        "".join(entry(f"/{n}", "2026-11-02") + " " * (n % 7) for n in range(5000))
    )
    assert read(text) == [(f"http://a.test/{n}", "2026-11-02") for n in range(5000)]


def test_no_more_than_the_protocol_allows() -> None:
    text = SITEMAP.format(entry("/", "2026-11-02") * (MAX_LINKS + 10))
    assert len(read(text)) == MAX_LINKS


@pytest.mark.parametrize(
    ("text", "date"),
    [
        (" 2026-11-24 ", "2026-11-24"),
        ("2026-11-24T12:00Z", "2026-11-24T12:00:00Z"),
        ("2026-11-24T13:30:01.25+02:00", "2026-11-24T11:30:01Z"),
        # The zone is missing.
        ("2026-11-24T10:00:00", "2026-11-24"),
        ("Tue, 24 Nov 2026 10:00:00 GMT", "2026-11-24T10:00:00Z"),
        ("24 Nov 26 10:00 +0100", "2026-11-24T09:00:00Z"),
        ("Tue, 24 Nov 2026 10:00:00 -0000", "2026-11-24"),
        # In the future.
        ("2026-11-25", ""),
        ("2026-11-24T12:00:01Z", ""),
        ("2999-01-01", ""),
        # Before the Web.
        ("1970-01-01", ""),
        # No dates.
        ("", ""),
        ("2026", ""),
        ("2026-11", ""),
        ("2026-02-30", ""),
        ("2026-11-24T25:00Z", ""),
        ("2026-11-24T10:00+99:00", ""),
        ("2026-11-24 10:00", ""),
        ("yesterday", ""),
        ("24.11.2026", ""),
        ("0001-01-01T00:00:00+14:00", ""),
        ("Tue, 24 Nov 2026 10:00:00 GMT" + " (x)" * 20, ""),
        ("\u0662\u0660\u0662\u0666-11-24", ""),
    ],
)
def test_dates(text: str, date: str) -> None:
    assert date_of(text, LATEST) == date


@given(
    st.datetimes(datetime(1991, 1, 1), datetime(2026, 11, 20)),
    st.integers(-14 * 60, 14 * 60),
)
def test_a_date_is_the_same_in_any_spelling(moment: datetime, offset: int) -> None:
    there = moment.replace(microsecond=0, tzinfo=UTC).astimezone(
        timezone(timedelta(minutes=offset))
    )
    wanted = f"{moment.isoformat(timespec='seconds')}Z"
    assert date_of(there.isoformat(), LATEST) == wanted
    assert date_of(format_datetime(there), LATEST) == wanted


@given(st.text(max_size=80))
def test_any_text_is_a_date_or_none(text: str) -> None:
    date = date_of(text, LATEST)
    assert date == "" or "1990" <= date <= LATEST
