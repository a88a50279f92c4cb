"""The result of a fetch, and its line in the crawl log."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.page import Fate, Outcome, Page, timestamp
from larbinpy.url import Url

URL = Url("http://a.test/b", 3, via="http://a.test/", attempt=2)


def page(*headers: tuple[str, str], **more: Any) -> Page:
    return Page(URL, Outcome.SUCCESS, 200, list(headers), **more)


def test_the_first_header_of_a_name_counts() -> None:
    found = page(("x", "1"), ("location", "/a"), ("location", "/b"))
    assert found.header("location") == "/a"
    assert found.header("refresh") is None


@pytest.mark.parametrize(
    ("value", "media_type", "charset"),
    [
        ("text/html", "text/html", None),
        (" Text/HTML ; Charset=UTF-8", "text/html", "UTF-8"),
        ('text/html;charset="iso-8859-1"', "text/html", "iso-8859-1"),
        ("text/html; a=b; charset='koi8-r'; charset=utf-8", "text/html", "koi8-r"),
        ("text/html; charset=", "text/html", None),
        ('text/html; charset="', "text/html", None),
        ("text/html; charset=; charset=utf-8", "text/html", "utf-8"),
        ("; charset=utf-8", "", "utf-8"),
        ("", "", None),
        ("text/html,text/html", "text/html", None),
        ("text/html; charset=utf-8, text/html", "text/html", "utf-8"),
        ("text/html; charset=utf-8, text/plain", "text/plain", None),
        ("text/html; charset=utf-8, text/html; charset=koi8-r", "text/html", "koi8-r"),
        ("text/plain, text/html, */*, none", "text/html", None),
        ('text/html; a="b, c/d"; charset=utf-8', "text/html", "utf-8"),
        ('text/html; charset="utf-8, text/plain', "text/html", "utf-8, text/plain"),
        ("text/html;;charset=UTF-8", "text/html", "UTF-8"),
        ("text/html charset=utf-8", "text/html", None),
        ("text/html (a comment)", "text/html", None),
        ("html", "", None),
        ("html; charset=utf-8", "", "utf-8"),
        ("text/", "", None),
        ("/html", "", None),
        ("text/html/x", "", None),
        ("text/h<ml", "", None),
        ("*/*", "", None),
        ("text/html\x00", "", None),
    ],
)
def test_content_type(value: str, media_type: str, charset: str | None) -> None:
    found = page(("content-type", value))
    assert found.type == media_type
    assert found.http_charset == charset


def test_a_media_type_has_the_bounds_of_its_names() -> None:
    """RFC 6838, 4.2: 127 characters before the slash, and as many after it."""
    longest = f"{'a' * 127}/{'b' * 127}"
    assert page(("content-type", f"{longest}; charset=utf-8")).type == longest
    assert page(("content-type", f"{longest}{'c' * 100_000}; charset=utf-8")).type == longest


def test_without_content_type() -> None:
    assert (page().type, page().http_charset) == ("", None)


def test_a_fate_has_the_fields_of_the_crawl_log() -> None:
    found = page(("content-type", "text/html; charset=utf-8"), body=b"12345", ip="::1", ms=70)
    assert Fate.of(found, 1_700_000_000.0489) == Fate(
        ts="2023-11-14T22:13:20.048Z",
        url="http://a.test/b",
        outcome="success",
        status=200,
        size=5,
        type="text/html",
        depth=3,
        via="http://a.test/",
        ip="::1",
        ms=70,
        attempt=2,
    )


def test_a_fate_without_a_detail_has_no_such_key() -> None:
    fate = Fate.of(page(detail="cut at 5 bytes"), 0.0).as_dict()
    assert (fate["url"], fate["attempt"], fate["detail"]) == (URL.href, 2, "cut at 5 bytes")
    assert "detail" not in Fate.of(page(), 0.0).as_dict()


def test_the_fate_of_a_url_that_was_never_requested() -> None:
    fate = Fate.of(Page(Url("http://a.test/", 0), Outcome.PRIVATE_ADDRESS), 0.0)
    assert fate.ts == "1970-01-01T00:00:00.000Z"
    assert (fate.outcome, fate.status, fate.size, fate.type) == ("privateAddress", 0, 0, "")
    assert (fate.via, fate.ip, fate.attempt) == (None, None, 0)


@given(st.integers(0, 2**32 * 10**6))
def test_a_time_is_that_of_datetime(microseconds: int) -> None:
    wall = microseconds / 1e6
    moment = datetime.fromtimestamp(wall, UTC).replace(tzinfo=None)
    for timespec in ("seconds", "milliseconds"):
        assert timestamp(wall, timespec) == f"{moment.isoformat(timespec=timespec)}Z"
