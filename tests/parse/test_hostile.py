"""Bodies and headers made to break or to stall a parser."""

import gzip
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.page import Outcome, Page
from larbinpy.parse import links, read, sniff
from larbinpy.url import Url

MEGABYTE = 1_000_000
#: Seconds that one hostile megabyte may take: 0.1 on an idle machine, and some for a busy one.
LIMIT = 0.4

TYPES = [
    "text/html",
    "text/css",
    "text/xml",
    "application/xhtml+xml",
    "application/rss+xml",
    "application/manifest+json",
    "application/gzip",
    "",
]


def page(body: bytes, type_: str = "text/html", *headers: tuple[str, str]) -> Page:
    fields = [("content-type", type_), *headers]
    return Page(Url("http://h.example/sitemap.xml", 5), Outcome.SUCCESS, 200, fields, body)


def megabyte_of(unit: bytes) -> bytes:
    return unit * (MEGABYTE // len(unit))


def bomb(start: bytes, unit: bytes, size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(start)]
    parts += [packer.compress(unit) for _ in range(size // len(unit))]
    return b"".join(parts) + packer.flush()


LAUGHS = (
    b"<!DOCTYPE l [<!ENTITY e0 'ha'>"
    + b"".join(b"<!ENTITY e%d '%s'>" % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 12))
    + b"]><urlset><loc>&e11;</loc><loc>http://h.example/ok</loc></urlset>"
)


def seconds_to_read(hostile: Page) -> float:
    """The least of three tries: what else runs here may cost one of them several times as much."""
    tries = []
    for _ in range(3):
        start = time.process_time()
        read(hostile, "larbinpy")
        tries.append(time.process_time() - start)
    return min(tries)


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("text/html", b"<div>" * 100_000),
        ("text/html", b"<a><b><font>" * 30_000),
        ("text/html", b"<table><tr><td>" * 50_000),
        ("text/html", megabyte_of(b"<a ")),
        ("text/html", b"<a " + b" ".join(b"a%d" % n for n in range(1_000_000)) + b" href=x>"),
        ("text/html", b"<a " + b"x=y " * 1_000_000 + b"href=x>"),
        ("text/html", b"<img srcset='" + megabyte_of(b",") + b"'>"),
        ("text/html", b"<img srcset='" + megabyte_of(b"a (,") + b"'>"),
        ("text/html", b"<img srcset='a " + megabyte_of(b"1x ") + b"'>"),
        ("text/html", b"<style>" + megabyte_of(b"url(((")),
        ("text/html", b"<meta http-equiv=refresh content='1" + megabyte_of(b" ") + b"'>"),
        ("text/html", megabyte_of(b"<!--")),
        ("text/html", megabyte_of(b"\xff\xc0")),
        ("text/html", megabyte_of(b"\0")),
        ("text/css", megabyte_of(b"url(((")),
        ("text/css", megabyte_of(b"url('")),
        ("text/css", megabyte_of(b"(")),
        ("text/css", megabyte_of(b"@import/*")),
        ("text/css", megabyte_of(b"@import ")),
        ("text/css", megabyte_of(b"\\(")),
        ("text/css", megabyte_of(b"(\"'\n")),
        ("text/css", megabyte_of(b"a" * 50 + b"(")),
        ("text/xml", b"<a>" * 100_000),
        ("text/xml", LAUGHS),
        ("text/xml", b"<svg>" + b"<g id='g'><path d='M1'/></g>\n" * 14_000 + b"</svg>"),
        ("text/xml", b"<urlset>" + megabyte_of(b"<b/>") * 10),
        ("text/xml", b"<urlset><loc>" + megabyte_of(b"&")),
        ("application/gzip", gzip.compress(b"", mtime=0) * 40_000),
        ("application/manifest+json", b"[" * MEGABYTE),
        ("application/manifest+json", b'{"icons":' * 100_000),
        ("application/manifest+json", b'{"icons":' + b"1" * MEGABYTE + b"}"),
    ],
    ids=lambda value: value[:12].decode("latin-1") if isinstance(value, bytes) else value,
)
def test_no_body_stalls_the_crawl(type_: str, body: bytes) -> None:
    assert seconds_to_read(page(body, type_)) < LIMIT


@pytest.mark.parametrize("unit", [bytes(65536), b"<b/>" * 16384], ids=["zeros", "elements"])
def test_no_packed_body_stalls_the_crawl(unit: bytes) -> None:
    body = bomb(b"<urlset>", unit, 200 << 20)
    assert seconds_to_read(page(body, "application/gzip")) < LIMIT


@pytest.mark.parametrize("unit", ["<", "<>", "<a>;", '<a>;x="', ";x=", '"\\', ",", ": ,"])
@pytest.mark.parametrize("name", ["link", "refresh", "location", "x-robots-tag"])
def test_no_header_stalls_the_crawl(name: str, unit: str) -> None:
    header = name, "<a>" + unit * (MEGABYTE // len(unit))
    assert seconds_to_read(page(b"", "text/html", header)) < LIMIT


def test_entities_are_neither_expanded_nor_fetched() -> None:
    body = b"<!DOCTYPE l [<!ENTITY x SYSTEM 'file:///etc/hostname'><!ENTITY y 'http://y/'>]>"
    body += b"<urlset><loc>http://h.example/&x;</loc><loc>&y;z</loc><loc>http://h.example/b</loc>"
    found = read(page(body + b"</urlset>", "text/xml"), "larbinpy").links
    assert [link.url for link in found] == ["http://h.example/b"]
    assert not any("ha" in link.url for link in read(page(LAUGHS, "text/xml"), "x").links)


def test_control_characters_never_reach_a_url() -> None:
    body = b"<a href='/\0\r\n\t\x1b[2J&#10;&#13;x'><a href='/%0d%0a'><a href='/\xe2\x80\xae'>"
    for url in links(body, "http://h.example/"):
        assert url.isascii()
        assert url.isprintable()


_PIECES = st.sampled_from(
    b"<a href=|<|>|'|\"|<?xml ?>|<urlset>|<loc>|</|&|]]>|<svg |xlink:href=|style='|url(|<base href="
    b"|<meta |charset=|utf-16|<style>|<!DOCTYPE [|\x1f\x8b\x08|\xff\xfe|\0|\xef\xbb\xbf".split(b"|")
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES | st.binary(max_size=6), max_size=30).map(b"".join), st.sampled_from(TYPES))
def test_no_bytes_raise(body: bytes, type_: str) -> None:
    read(page(body, type_), "larbinpy")
    assert len(set(links(body, "http://h.example/"))) == len(links(body, "http://h.example/"))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.text(max_size=12))
def test_no_label_raises(body: bytes, label: str) -> None:
    assert sniff(body, label)
    for type_ in ("text/css", "text/xml", "text/html"):
        read(page(body, f"{type_}; charset={label}"), label)


def test_a_long_base_does_not_multiply_memory() -> None:
    base = "/x" * 3900 + "/"
    body = f"<base href='{base}'>" + "".join(f"<a href={n}>" for n in range(48_000))
    found = links(body.encode(), "http://a.test/")
    assert 1000 < len(found) < 5000
    assert sum(map(len, found)) < 17 << 20


def test_ampersands_without_number_cost_little() -> None:
    body = b"<x>" + b"&" * 4_000_000
    started = time.process_time()
    links(b"<?xml version='1.0'?>" + body, "http://a.test/")
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize("type_", ["image/svg+xml", "application/xml"])
def test_limits_of_libxml2_stay_on(type_: str) -> None:
    """An element deeper than 256 levels, and a text longer than 10 MB, are not read."""
    deep = "<svg>" + "<g>" * 300 + "<a href='/deep'/>" + "</g>" * 300 + "</svg>"
    flat = deep.replace("<g>" * 300, "<g>" * 200).replace("</g>" * 300, "</g>" * 200)
    assert links_of(flat, type_) == ["http://h.example/deep"]
    assert links_of(deep, type_) == []
    long = "<svg><a href='/before'/><g>{}</g><a href='/after'/></svg>"
    assert links_of(long.format("x" * 9_000_000), type_)[1:] == ["http://h.example/after"]
    assert links_of(long.format("x" * 11_000_000), type_)[1:] == []


def links_of(text: str, type_: str) -> list[str]:
    return [link.url for link in read(page(text.encode(), type_), "larbinpy").links]
