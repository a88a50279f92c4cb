"""`larbinpy.database.preparation`: pages as the writer takes them."""

import json
from base64 import b64decode, b85encode

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.content import read
from larbinpy.database.preparation import (
    Anchor,
    Dated,
    Packed,
    Prepared,
    packed_markdown,
    prepare,
    target_of,
    unpacked_markdown,
)
from larbinpy.database.search.fingerprint import keys
from larbinpy.page import Outcome, Page, timestamp
from larbinpy.url import Url, fingerprint

URL = "http://a.test/p"
AT = 1_790_000_000.0


def page(body: str, *headers: tuple[str, str]) -> Page:
    sent = [("content-type", "text/html; charset=utf-8"), *headers]
    return Page(Url(URL, 3), Outcome.SUCCESS, 200, sent, body.encode())


def prepared(
    body: str,
    *headers: tuple[str, str],
    keep_bodies: bool = False,
    find_near: bool = False,
) -> Prepared:
    fetched = page(body, *headers)
    return prepare(fetched, timestamp(AT), read(fetched, AT), keep_bodies, find_near)


def test_a_page_is_prepared() -> None:
    found = prepared(
        "<title>One</title><p>Some words <a href=/b>the other</a><a href=#x>below</a>",
        ("etag", '"7"'),
    )
    assert (found.url, found.fetched) == (URL, "2026-09-21T14:13:20Z")
    assert found.columns["title"] == "One"
    assert (found.columns["etag"], found.columns["depth"], found.columns["status"]) == (
        '"7"',
        3,
        200,
    )
    assert "Some words" in found.text.text()
    assert "words" in found.tokens["body"].split()
    assert found.anchors == [Anchor(target_of("http://a.test/b"), "the other")]
    assert found.body is None
    assert -(2**63) <= found.text_hash < 2**63 and found.text_hash != 0


def test_headers_with_secrets_are_left_out() -> None:
    sent = [("server", "x"), ("set-cookie", "id=7"), ("proxy-authorization", "y"), ("age", "1")]
    found = prepared("<p>x", *sent)
    kept = [name for name, _ in json.loads(found.more)["headers"]]
    assert kept == ["content-type", "server", "age"]


def test_anchors_say_something() -> None:
    found = prepared(
        "<a href=/b>Read more \u2192</a><a href=/b>1</a><a href=/b>The other</a>"
        "<a href=/c>The other</a><a href=/b rel=nofollow>The other</a><a href=/p>Self</a>"
    )
    assert found.anchors == [
        Anchor(target_of("http://a.test/b"), "The other"),
        Anchor(target_of("http://a.test/c"), "The other"),
    ]


@pytest.mark.parametrize("end", ["", " \u2192", " \xbb", ":", "..."])
@pytest.mark.parametrize("text", ["More", "Skip to main content", "zur\xfcck"])
def test_anchors_that_say_nothing_end_as_they_like(text: str, end: str) -> None:
    found = prepared(f"<a href=/b>{text}{end}</a><a href=/c>{text} of the museum</a>")
    assert found.anchors == [Anchor(target_of("http://a.test/c"), f"{text} of the museum")]


def test_targets_are_fingerprints_as_signed_numbers() -> None:
    for url in (URL, "http://b.test/"):
        assert target_of(url) % 2**64 == fingerprint(url)


def test_bodies_are_kept_on_wish() -> None:
    found = prepared("<p>x", keep_bodies=True)
    assert found.body is not None
    assert zstandard.decompress(found.body) == b"<p>x"


def test_keys_of_near_copies_are_made_on_wish() -> None:
    markup = f"<title>T</title><p>{' '.join(f'word{number}' for number in range(90))}"
    found = prepared(markup, find_near=True)
    assert [key % 2**64 for key in found.near_keys] == [*keys("T", found.text.text())]
    assert all(-(2**63) <= key < 2**63 for key in found.near_keys)
    assert Prepared.unpack(found.pack()) == found
    assert prepared(markup).near_keys == ()
    assert prepared("<p>x", find_near=True).near_keys == ()


@given(st.text(), st.text(), st.booleans())
def test_packing_loses_nothing(title: str, text: str, keep: bool) -> None:
    found = prepared(f"<title>{title}</title><a href=/c>{text}</a>{text}", keep_bodies=keep)
    assert Prepared.unpack(found.pack()) == found


@given(st.text(st.characters(codec="utf-8")))
def test_packed_texts_come_back(text: str) -> None:
    packed = Packed.of(text)
    assert packed.text() == text
    # sqlar_uncompress takes data of the length `size` for not compressed.
    assert len(packed.data) != packed.size or not text


def test_dates_are_those_of_pages_of_the_same_host() -> None:
    entry = "<url><loc>{}</loc><lastmod>{}</lastmod></url>"
    entries = (
        entry.format("http://a.test/1", "2026-09-01"),
        entry.format("https://a.test/2", "2999-01-01"),
        entry.format("http://b.test/3", "2026-09-01"),
        entry.format("http://a.test:81/4", "2026-09-01"),
    )
    found = prepared(f"<urlset>{''.join(entries)}</urlset>")
    assert found.announced == [
        Dated(target_of("http://a.test/1"), "2026-09-01"),
        Dated(target_of("https://a.test/2"), ""),
    ]
    assert Prepared.unpack(found.pack()) == found


def test_a_page_that_cannot_be_read_announces_nothing() -> None:
    assert prepared("<urlset><url><loc>http://a.test/1").announced == []


def test_markdown_is_packed_with_what_the_page_has() -> None:
    text, links = (
        "A text of some words. " * 20,
        [("http://a.test/one", "some"), ("http://b.test/", "")],
    )
    markdown = text.replace("some", "[some](http://a.test/one)")
    packed = packed_markdown(markdown, text, links)
    assert len(packed) < len(markdown) / 5
    assert unpacked_markdown(packed, text, links) == markdown
    assert unpacked_markdown(packed, text[:-1], links) == "", "the text was cut"
    assert unpacked_markdown("no", text, links) == ""
    earlier = b85encode(b64decode(packed)).decode()
    assert unpacked_markdown(earlier, text, links) == markdown, "as earlier versions pack it"
