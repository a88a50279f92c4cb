"""`larbinpy.database.content.read` of all types but HTML, and which type a body is taken for."""

import json

import pytest

from larbinpy.database.content import Outlink, read
from larbinpy.parse import read as links_of
from tests.support.contents import AT, URL, content, page, pdf

XHTML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "xhtml1-strict.dtd" [
<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;&a;">]>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"><head><script src="x.js"/>
<title>Caf\xe9 &amp; tea</title></head><body><h1>Caf\xe9 &amp; tea</h1>
<p>Seen&nbsp;text &b;</p><a href="/next">Next thing</a></body></html>"""

RSS = """<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;">]>
<rss version="2.0"><channel><title>News &amp; more</title><link>http://www.example.test/</link>
<description>What happens &b;</description><language>en-us</language>
<lastBuildDate>Mon, 21 Sep 2026 08:00:00 GMT</lastBuildDate>
<item><title>First thing</title><link>/first</link>
<description>&lt;p&gt;It &lt;b&gt;happened&lt;/b&gt;.&lt;/p&gt;</description></item>
<item><title><![CDATA[Second <i>thing</i>]]></title><link>/second</link></item></channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Neues</title>
<updated>2026-09-20T08:00:00Z</updated><link rel="self" href="/feed"/>
<entry><title>Erstes</title><link rel="edit" href="/edit"/><link href="/erstes"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Das <b>war</b> es.</div></content>
</entry></feed>"""

MARKDOWN = """---

# The crawler #

It reads *pages*.

## Pages
"""


@pytest.mark.parametrize("kind", ["application/xhtml+xml", "text/xml", ""])
def test_xhtml_is_read(kind: str) -> None:
    found = content(XHTML.encode("latin-1"), kind)
    assert (found.title, found.charset, found.lang) == ("Caf\xe9 & tea", "ISO-8859-1", "en")
    assert {"Seen", "text"} <= set(found.text.split())
    assert "boom" not in found.text
    assert found.links == [Outlink("http://www.example.test/next", "Next thing", "")]


def test_malformed_xhtml_is_read_as_html() -> None:
    found = content("<html><title>One</title><p>It <b>is", "application/xhtml+xml")
    assert (found.title, "It is" in found.text) == ("One", True)


@pytest.mark.parametrize("kind", ["application/rss+xml", "text/xml", "text/html", ""])
def test_rss_is_read(kind: str) -> None:
    found = content(RSS, kind)
    assert found.title == "News & more"
    assert found.headings == ["First thing", "Second thing"]
    assert found.text.splitlines()[1:] == ["First thing", "It happened.", "Second thing"]
    assert found.links == [
        Outlink("http://www.example.test/first", "First thing", ""),
        Outlink("http://www.example.test/second", "Second thing", ""),
    ]
    assert (found.modified, found.lang) == ("2026-09-21T08:00:00Z", "en")
    assert "boom" not in found.text


@pytest.mark.parametrize(
    ("size", "trouble", "headings"),
    [
        (4 << 20, "", 2),
        ((4 << 20) + 1, "feed cut at 4194304 bytes", 2),
        (5 << 20, "feed cut at 4194304 bytes", 1),
    ],
)
def test_a_feed_is_read_to_its_bound(size: int, trouble: str, headings: int) -> None:
    before, item, after = RSS.partition("<item><title><![CDATA[")
    filling = "x" * (size - len(RSS) - len("<!---->"))
    found = content(f"{before}<!--{filling}-->{item}{after}", "application/rss+xml")
    assert (found.trouble, len(found.headings)) == (trouble, headings)


def test_atom_is_read() -> None:
    found = content(ATOM, "application/atom+xml")
    assert (found.title, found.text) == ("Neues", "Erstes\nDas war es.")
    assert found.links == [Outlink("http://www.example.test/erstes", "Erstes", "")]
    assert (found.modified, found.lang) == ("2026-09-20T08:00:00Z", "de")


def test_feeds_have_summaries_and_dates_in_their_own_words() -> None:
    found = content("<feed><title>A</title><subtitle>What it is</subtitle></feed>", "text/xml")
    assert found.summary == "What it is"
    for name in ("pubDate", "lastBuildDate"):
        date = f"<{name}>Mon, 21 Sep 2026 08:00:00 GMT</{name}>"
        found = content(f"<rss><channel><title>A</title>{date}</channel></rss>", "text/xml")
        assert found.modified == "2026-09-21T08:00:00Z"


@pytest.mark.parametrize(
    ("feed", "target"),
    [
        ("<rss><channel><item>{}<guid>http://b.test/1</guid></item>", "http://b.test/1"),
        ("<rss><channel><item><guid>http://b.test/1</guid>{}<link>/2</link></item>", "/2"),
        ('<rss><channel><item>{}<guid isPermaLink="false">http://b.test/1</guid></item>', None),
        ("<rss><channel><item>{}<guid>urn:uuid:1</guid></item>", None),
        ("<rss><channel><item>{}<guid>post-1</guid></item>", None),
        (
            '<feed xml:base="http://b.test/blog/"><entry>{}<link href="1.html"/></entry>',
            "http://b.test/blog/1.html",
        ),
        (
            '<feed xml:base="/blog/"><entry xml:base="2026/">{}<link href="1"/></entry>',
            "/blog/2026/1",
        ),
        (
            '<feed><entry>{}<link rel="self" href="/me"/><link rel="alternate" href="/1"/>'
            '<link href="/2"/></entry>',
            "/1",
        ),
    ],
)
def test_an_entry_leads_where_the_crawl_goes(feed: str, target: str | None) -> None:
    body = feed.format("<title>One</title>")
    found = content(body, "application/xml")
    url = target and (f"http://www.example.test{target}" if target.startswith("/") else target)
    assert found.links == ([Outlink(url, "One", "")] if url else [])
    assert [each.url for each in found.announced] == ([url] if url else [])
    crawled = [link.url for link in links_of(page(body, "application/xml"), "").links]
    assert url is None or url in crawled
    assert url is not None or not crawled


#: The namespace of Media RSS.
MEDIA = 'xmlns:media="http://search.yahoo.com/mrss/"'


def test_what_a_feed_says_of_media_counts_where_an_entry_says_nothing() -> None:
    group = (
        "<media:group><media:title>Film</media:title><media:content url='f.mp4'/>"
        "<media:description>About &lt;walruses&gt;</media:description></media:group>"
    )
    feed = (
        f"<feed xmlns='http://www.w3.org/2005/Atom' {MEDIA}><entry>{group}"
        "<title>Own</title></entry>"
        f"<entry>{group}<summary>Short</summary></entry></feed>"
    )
    found = content(feed, "application/atom+xml")
    assert found.text.splitlines() == ["Own", "About", "Film", "Short"]


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("<content type='application/pdf'>QUJD</content>", "T"),
        ("<content type='xhtml'><p>seen</p></content>", "T\nseen"),
        ("<content type='text/html' mode='escaped'>&lt;p>seen</content>", "T\nseen"),
        ("<content:encoded>&lt;p>seen</content:encoded>", "T\nseen"),
    ],
)
def test_the_text_of_an_entry(entry: str, text: str) -> None:
    """Its prefix need not be declared, and data of other types are no text."""
    assert content(f"<feed><entry><title>T</title>{entry}</entry></feed>", "text/xml").text == text


JSON_FEED = {
    "title": "The &lt;news&gt;",
    "description": "All of it",
    "home_page_url": "http://www.example.test/",
    "next_url": "?page=2",
    "icon": "i.png",
    "language": "en-GB",
    "authors": [{"name": "Ann", "url": "http://ann.test/"}, 5],
    "items": [
        {
            "id": "1",
            "url": "/1",
            "title": 'One < two & "three"',
            "content_html": "<p>First <b>words</b></p><script>x()</script>",
            "content_text": "not these",
            "date_published": "2026-09-20T10:00:00+02:00",
            "image": "p.png",
            "attachments": [{"url": "http://m.test/1.mp3"}],
            "author": {"url": "/bob"},
        },
        {
            "id": "http://www.example.test/2",
            "content_text": "Second a < b",
            "date_modified": "2026-09-21T10:00:00Z",
        },
        {"id": 3, "external_url": "http://other.test/", "title": "There", "summary": "About it"},
        {"id": "4", "title": None, "content_text": 5},
        None,
    ],
    "version": "https://jsonfeed.org/version/1.1",
}
JSON_TYPES = ("application/feed+json", "application/json", "text/html", "text/plain", "")


@pytest.mark.parametrize("kind", JSON_TYPES)
def test_json_feed_is_read(kind: str) -> None:
    found = content(f"\ufeff {json.dumps(JSON_FEED)}", kind)
    assert found.title == "The <news>"
    assert found.text.splitlines() == [
        *("All of it", 'One < two & "three"', "First words", "Second a < b", "There", "About it"),
    ]
    assert found.links == [
        Outlink("http://www.example.test/1", 'One < two & "three"', ""),
        Outlink("http://www.example.test/2", "", ""),
        Outlink("http://other.test/", "There", ""),
    ]
    assert found.headings == ['One < two & "three"', "There"]
    assert (found.modified, found.lang, found.charset) == ("2026-09-21T10:00:00Z", "en", "UTF-8")
    assert [(each.url, each.date) for each in found.announced] == [
        ("http://www.example.test/1", "2026-09-20T08:00:00Z"),
        ("http://www.example.test/2", "2026-09-21T10:00:00Z"),
        ("http://other.test/", ""),
    ]


@pytest.mark.parametrize("kind", JSON_TYPES[:-1])
def test_the_links_of_a_json_feed(kind: str) -> None:
    links = links_of(page(json.dumps(JSON_FEED), kind), "larbinpy").links
    assert {(each.url, each.kind.name) for each in links} == {
        ("http://www.example.test/", "PAGE"),
        ("http://www.example.test/a/page?page=2", "PAGE"),
        ("http://www.example.test/a/i.png", "IMAGE"),
        ("http://ann.test/", "PAGE"),
        ("http://www.example.test/1", "PAGE"),
        ("http://www.example.test/a/p.png", "IMAGE"),
        ("http://m.test/1.mp3", "REQUISITE"),
        ("http://www.example.test/bob", "PAGE"),
        ("http://www.example.test/2", "PAGE"),
        ("http://other.test/", "PAGE"),
    }


@pytest.mark.parametrize("body", ["[]", '{"version": "jsonfeed.org"', '{"a": "jsonfeed.org"}'])
def test_other_json_is_no_feed(body: str) -> None:
    found = content(body, "application/json")
    assert (found.text, found.links, found.trouble) == ("", [], "")
    assert not links_of(page(body, "application/json"), "larbinpy").links
    assert content(body, "application/feed+json").trouble == "damaged feed"


def test_a_json_feed_may_break_lines_within_its_texts() -> None:
    body = json.dumps(JSON_FEED).replace("First", "First\n")
    assert "First words" in content(body, "application/feed+json").text


def test_plain_text_is_read() -> None:
    found = content("\n=====\n\n  The title\nA line.\x07\n\nAnother\n", "text/plain")
    assert (found.title, found.text) == ("The title", "=====\n  The title\nA line.\nAnother")


def test_headers_tell_the_language_of_plain_text() -> None:
    short = page("Hotel", "text/plain")
    assert read(short, AT).lang is None
    short.headers.append(("content-language", "nl"))
    assert read(short, AT).lang == "nl"


def test_markdown_is_read() -> None:
    found = content(MARKDOWN, "text/markdown; charset=utf-8")
    assert (found.title, found.headings) == ("The crawler", ["The crawler", "Pages"])


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440".encode(), "utf-8"),
        ("Hello, world".encode("utf-16le"), "utf-16le"),
        ("Hello, world".encode("utf-16be"), "utf-16be"),
        ("Hello, world".encode("utf-16"), "utf-16le"),
        ("H\xe9llo, wor\xeeld".encode("latin-1"), "windows-1252"),
    ],
)
def test_the_encoding_of_plain_text_is_found(body: bytes, charset: str) -> None:
    found = content(body, "text/plain")
    assert (found.charset, "\ufffd" in found.text) == (charset, False)
    assert found.text


def test_binary_data_are_no_text() -> None:
    found = content(bytes(range(256)) * 9, "text/plain")
    assert (found.text, found.trouble) == ("", "binary data labelled as text")


def test_pdf_is_read() -> None:
    body = pdf("The first line\nand the sec-\nond", "Page two", Author="A. Writer")
    for kind in ("application/pdf", ""):
        found = content(body, kind)
        assert found.title == "The first line"
        assert found.text.splitlines()[-1] == "Page two"
        assert found.author == "A. Writer"
    body = pdf("Text", Title="The title", CreationDate="D:20250613120000Z")
    found = content(body, "application/pdf")
    assert (found.title, found.published, found.modified) == ("The title", "2025-06-13", None)
    found = content(pdf("Text", ModDate="D:20250701"), "application/pdf")
    assert (found.published, found.modified) == (None, "2025-07-01")


@pytest.mark.parametrize(
    ("pages", "trouble"), [(1000, ""), (1001, "text cut at 1000 of 1001 pages")]
)
def test_a_thousand_pages_of_a_pdf_are_read(pages: int, trouble: str) -> None:
    found = content(pdf(*(f"Page {number}" for number in range(pages))), "application/pdf")
    assert found.text.splitlines() == [f"Page {number}" for number in range(1000)]
    assert found.trouble == trouble


def test_the_first_line_of_a_pdf_with_a_word_is_its_title() -> None:
    assert content(pdf("- - -\nThe title\nText"), "application/pdf").title == "The title"


def test_the_title_of_a_feed_is_not_that_of_its_channel_in_another_place() -> None:
    """An RDF has its items beside the channel, and a channel may lie in another."""
    feed = (
        b"<rss version='2.0'><channel><channel><title>Inner</title></channel>"
        b"<title>Outer</title><item><title>One</title><link>/one</link></item></channel></rss>"
    )
    found = content(feed, "application/rss+xml")
    assert found.title == "Outer"
    assert "Inner" not in found.text


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("paper.docx", "Text"),
        ("Microsoft Word - Final version 2", "Text"),
        ("Microsoft PowerPoint - Talk", "Text"),
        ("PowerPoint Presentation", "Text"),
        ("PowerPoint-Pr\u00e4sentation", "Text"),
        ("Slide 1", "Text"),
        ("Document1", "Text"),
        ("(anonymous)", "Text"),
        ("untitled", "Text"),
        ("20240613-0001", "Text"),
        ("flyer_print.indd", "Text"),
        ("Documents of the harbour", "Documents of the harbour"),
        ("1984", "Text"),
        ("Page 12 of the diary", "Page 12 of the diary"),
    ],
)
def test_a_title_that_a_program_wrote_is_none(title: str, expected: str) -> None:
    assert content(pdf("Text", Title=title), "application/pdf").title == expected


@pytest.mark.parametrize("body", [b"", b"%PDF-1.4", b"%PDF-1.4\n" + b"x" * 999, b"no PDF"])
def test_a_damaged_pdf_is_trouble(body: bytes) -> None:
    found = content(body, "application/pdf", "http://www.example.test/the%20report.pdf?x")
    assert (found.title, found.text, found.trouble) == ("the report.pdf", "", "damaged PDF")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"\x89PNG\r\n", "image/png"),
        (b'{"a": "words"}', "application/json"),
        (b"\x1f\x8b\x08 truncated", "application/gzip"),
        (b"<urlset><url><loc>http://x.test/</loc></url></urlset>", "application/xml"),
        (b"some bytes", ""),
        (b"", "application/xml"),
    ],
)
def test_other_types_say_nothing(body: bytes, kind: str) -> None:
    found = content(body, kind)
    assert (found.title, found.text, found.rest, found.links) == ("page", "", "", [])
    assert content(body, kind, "http://www.example.test/").title == ""
    assert URL.endswith("page")


@pytest.mark.parametrize(
    ("description", "text"),
    [
        ("&lt;p&gt;the &lt;b&gt;anvil&lt;/b&gt;&lt;/p&gt;", "the anvil"),
        (
            "&amp;lt;p&amp;gt;the &amp;lt;b&amp;gt;anvil&amp;lt;/b&amp;gt;&amp;lt;/p&amp;gt;",
            "the anvil",
        ),
        ("<![CDATA[<p>the <b>anvil</b></p><script>x()</script>]]>", "the anvil"),
        ("<p>the <b>anvil</b></p>", "the anvil"),
        ("3 &amp;lt; 4 and &amp;lt;b&amp;gt;", "3 < 4 and <b>"),
        ("&lt;p&gt;Write &amp;lt;b&amp;gt;&lt;/p&gt;", "Write <b>"),
    ],
)
def test_entries_are_escaped_once_or_twice(description: str, text: str) -> None:
    entry = f"<item><title>T</title><description>{description}</description></item>"
    assert content(f"<rss><channel>{entry}</channel></rss>", "text/xml").text == f"T\n{text}"
