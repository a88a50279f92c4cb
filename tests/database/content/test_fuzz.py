"""No bytes make `larbinpy.database.content.read` raise, and none take it long."""

from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.database.content import read
from larbinpy.database.content.content import LONGEST_REST, LONGEST_TEXT, LONGEST_TITLE, Content
from larbinpy.database.preparation import prepare
from tests.support.contents import AT, page, pdf

TYPES = ["text/html", "application/xhtml+xml", "application/rss+xml", "text/plain", ""]
TYPES += ["text/markdown", "application/pdf", "image/png", "text/html; charset=utf-16"]
SEEDS = [
    b"""<!doctype html><html lang=en><meta charset=utf-8><title>One | Site</title><base href=/b/>
    <meta property=og:title content=One><meta name=date content=2026-01-01><link rel=canonical
    href=c><script type=application/ld+json>{"@graph":[{"@type":["Article"],"author":[{"name":
    "A"}],"image":{"url":"i.png"},"interactionStatistic":[{"interactionType":"x/WatchAction",
    "userInteractionCount":"1,0"}]}]}</script><body><h1>One<br>two</h1><svg><title>d</title></svg>
    <a href=x rel=nofollow>the <b>x</b></a><a href=y><img alt=pic src=p.png></a><time datetime=
    2026-02-02>then</time><p style=display:none>unseen<table><tr><td>cell<ul><li>item</ul>
    <noscript>no</noscript><!-- c --><textarea>t</textarea><select><option>o</select>""",
    b"""<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html [<!ENTITY a "b">]><html
    xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>T &a; &#xD800;</title></head>
    <body><p>x</p><script src="a"/><![CDATA[ <b> ]]><?pi x?></body></html>""",
    b"""<rss version="2.0"><channel><title>T &amp; &lt;b&gt;</title><language>en</language>
    <lastBuildDate>Mon, 21 Sep 2026 08:00:00 GMT</lastBuildDate><item><title>a</title><link>/a
    </link><description>&lt;p&gt;x</description></item></channel></rss>""",
    b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://x.test/"><title>T</title>
    <entry><title type="html">a</title><link rel="alternate" href="/a"/><content>x</content>
    </entry></feed>""",
    "# \u041f\u0440\u0438\u0432\u0435\u0442\n\n\u7f51\u7edc\u722c\u866b text\r\n## b #\n".encode(),
    pdf("First line\nsecond", "Page", Title="T", CreationDate="D:20260101", Author="A"),
]
PIECES = [
    b"<",
    b">",
    b'"',
    b"</",
    b"<!--",
    b"&#0;",
    b"&#xD800;",
    b"\0",
    b"\xff",
    b"]]>",
    b"<a href=",
]
PIECES += [b"<title>", b"<h1>", b"<svg>", b"<template>", b"<table>", b"{", b"[", b"-", b"99999999"]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A page with parts that were moved, lost, repeated or replaced."""
    body = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(body)))
        end = draw(st.integers(start, min(len(body), start + 60)))
        other = draw(st.integers(0, len(body)))
        new = draw(st.sampled_from([b"", body[start:end], body[other : other + 40], *PIECES]))
        body = body[: draw(st.sampled_from([start, end]))] + new + body[end:]
    return body


def check(body: bytes, kind: str) -> Content:
    fetched = page(body, kind)
    found = read(fetched, AT)
    texts = [found.title, found.author, found.site_name, found.summary, *found.headings]
    texts += [link.anchor for link in found.links] + [image.alt for image in found.images]
    for text in texts:
        assert text == " ".join(text.split())
        text.encode()
    assert all(link.url.startswith(("http://", "https://")) for link in found.links)
    assert max(map(len, texts)) <= 1000
    assert len(found.title) <= LONGEST_TITLE
    assert len(found.text) <= LONGEST_TEXT
    assert len(found.rest) <= LONGEST_REST
    for date in (found.published, found.modified):
        assert date is None or "1995" <= date[:10] <= "2026-09-22"
    prepare(fetched, "2026-09-21T00:00:00Z", found).pack()
    return found


@settings(max_examples=400, deadline=None)
@given(mutated(), st.sampled_from(TYPES))
def test_mutated_pages_are_read(body: bytes, kind: str) -> None:
    check(body, kind)


@given(st.binary(max_size=2000), st.sampled_from(TYPES))
def test_bytes_are_read(body: bytes, kind: str) -> None:
    check(body, kind)


MEGA = 1 << 20
CHINESE = "\u7f51\u7edc\u722c\u866b\u7684\u8bbe\u8ba1"
BOMB = b"".join(b'<!ENTITY a%d "%s">' % (n + 1, b"&a%d;" % n * 10) for n in range(10))
#: Made when they are read: together they take 300 MB.
BOMBS: dict[str, Callable[[], bytes]] = {
    "a line of 8 MB": lambda: b"word " * (8 * MEGA // 5),
    "tags in a line of 8 MB": lambda: b"<b>word</b> " * (8 * MEGA // 12),
    "many paragraphs": lambda: b"<p>some words in it " * (8 * MEGA // 20),
    "a word of a million characters": lambda: b"<p>" + b"x" * MEGA,
    "nested elements": lambda: b"<div>" * 100_000 + b"x",
    "nested elements, closed": lambda: b"<div>" * 100_000 + b"x" + b"</div>" * 100_000,
    "nested formatting": lambda: b"<b>" * 100_000 + b"x",
    "nested links": lambda: b"<div><a href=/x>t" * 100_000,
    "nested lists": lambda: b"<ul><li>x" * 100_000,
    "nested tables": lambda: b"<table><tr><td>x" * 100_000,
    "nested headings": lambda: b"<section><h1>x" * 50_000,
    "nested articles": lambda: b"<article><h1>x" * 50_000,
    "nested hidden elements": lambda: b"<div style=display:none>x" * 100_000,
    "nested drawings": lambda: b"<svg>" * 100_000 + b"<title>x",
    "many links": lambda: b"".join(b"<a href=/%d>t%d</a>" % (n, n) for n in range(300_000)),
    "the same link": lambda: b"<a href=/x>text</a>" * 400_000,
    "a long base": lambda: b"<base href=/" + b"x" * 7000 + b"/>" + b"<a href=1>t</a>" * 100_000,
    "many attributes": lambda: b"<p " + b" ".join(b"a%d=1" % n for n in range(500_000)) + b">x",
    "many descriptions": lambda: b"<meta name=description content=x>" * 200_000,
    "a long date": lambda: b"<meta name=date content='" + b"1 " * MEGA + b"'>",
    "a long title": lambda: b"<title>" + b"a | " * MEGA,
    "many titles": lambda: b"<title>a</title>" * 500_000,
    "many headings": lambda: b"<h1>a <b>b</b></h1>" * 300_000,
    "many images": lambda: b"<h2>a</h2><img src=a.png alt=x>" * 200_000,
    "many facts": lambda: b"<script type=application/ld+json>{}</script>" * 150_000,
    "a deep fact": lambda: b"<script type=application/ld+json>" + b"[" * MEGA,
    "many classes": lambda: b"<div class='cookie share nav'>x</div>" * 200_000,
    "many times": lambda: b"<time datetime=x>y</time>" * 300_000,
    "comments": lambda: b"<!-- x -->" * 800_000,
    "zero bytes": lambda: b"\0" * 8 * MEGA,
    "zero bytes in paragraphs": lambda: b"<p>\0x" * MEGA,
    "no text": lambda: b"\xff" * 8 * MEGA,
    "blanks": lambda: b"<p>x" + b" " * 8 * MEGA + b"y",
    "line breaks": lambda: b"<pre>" + b"<b>\n</b>" * MEGA,
    "entities": lambda: b"<p>" + b"&nbsp;" * MEGA,
    "UTF-16 without a mark": lambda: ("<title>x</title>" + "w\xf6rd " * 800_000).encode("utf-16le"),
    "Chinese": lambda: ("<p>" + CHINESE * 200_000).encode(),
    "combining characters": lambda: ("<p>a" + "\u0301" * 2 * MEGA).encode(),
    "directions": lambda: ("<p>" + "\u202e\u200b" * MEGA).encode(),
    "a truncated gzip file": lambda: b"\x1f\x8b\x08" + b"x" * 1000,
}
OTHERS: dict[str, Callable[[], tuple[bytes, str]]] = {
    "an entity bomb": lambda: (
        b'<!DOCTYPE html [<!ENTITY a0 "aaaaaaaaaa">' + BOMB + b"]><html><p>&a9;</p></html>",
        "application/xhtml+xml",
    ),
    "deep XHTML": lambda: (b"<html>" + b"<p>" * 100_000, "application/xhtml+xml"),
    "wide XHTML": lambda: (b"<html>" + b"<p>x</p>" * 800_000 + b"</html>", "application/xhtml+xml"),
    "many entries": lambda: (b"<rss>" + b"<item><title>a</title></item>" * 200_000, "text/xml"),
    "a long entry": lambda: (b"<rss><item><title>" + b"x" * 8 * MEGA, "text/xml"),
    "deep entries": lambda: (
        b"<rss>" + (b"<item><description>" + b"&lt;div>" * 9999 + b"</description></item>") * 50,
        "text/xml",
    ),
    "a long text": lambda: (b"word " * (8 * MEGA // 5), "text/plain"),
    "empty lines": lambda: (b"\n" * 8 * MEGA, "text/plain"),
    "Markdown headings": lambda: (b"# a\n" * 2 * MEGA, "text/markdown"),
    "one Markdown heading": lambda: (b"#" * 8 * MEGA, "text/markdown"),
    "objects of a PDF": lambda: (b"%PDF-1.4\n" + b"1 0 obj\n" * MEGA, "application/pdf"),
    "a deep PDF": lambda: (b"%PDF-1.4\n1 0 obj\n" + b"[" * MEGA, "application/pdf"),
}


def hostile(name: str) -> tuple[bytes, str]:
    return OTHERS[name]() if name in OTHERS else (BOMBS[name]()[: 8 * MEGA], "text/html")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BOMBS, *OTHERS])
def test_hostile_pages_are_read_in_bounded_time(name: str) -> None:
    """Each takes less than 1.5 s on an idle core; this bound is for busy ones."""
    body, kind = hostile(name)
    start = process_time()
    check(body, kind)
    assert process_time() - start < 10
