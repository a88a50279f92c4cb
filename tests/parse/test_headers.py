"""Links and directives in HTTP headers."""

import pytest

from larbinpy.page import Outcome, Page
from larbinpy.parse import read, redirect_target, reloaded
from larbinpy.url import Url

#: URLs, without the page's folder, and the names of their kinds.
Found = list[tuple[str, str]]


def page(*headers: tuple[str, str], status: int = 200, body: bytes = b"") -> Page:
    return Page(Url("http://h.example/dir/", 5), Outcome.SUCCESS, status, list(headers), body)


def found(*headers: tuple[str, str], status: int = 200) -> Found:
    links = read(page(*headers, status=status), "larbinpy").links
    return [(link.url.removeprefix("http://h.example/dir/"), link.kind.name) for link in links]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<x>; rel=next", [("x", "PAGE")]),
        ('<x>; rel="prev next", <y>; rel=stylesheet', [("x", "PAGE"), ("y", "SHEET")]),
        ("<x>;rel=preload;as=image", [("x", "IMAGE")]),
        ('<x>; title="a, <no>; b"; rel=icon', [("x", "IMAGE")]),
        ('<x>; title="\\", <no>"; REL=icon', [("x", "IMAGE")]),
        ("<x>; rel=next; rel=stylesheet", [("x", "PAGE")]),
        ("<//no>; rel=preconnect", []),
        ("<x,y>; rel=next", [("x,y", "PAGE")]),
        ('<x>; rel=preload; as=image; imagesrcset="y 1x, z 2x"', [(n, "IMAGE") for n in "xyz"]),
        ("<javascript:x>, garbage, <", []),
        ("", []),
    ],
)
def test_link(value: str, expected: Found) -> None:
    assert found(("link", value)) == expected


def test_several_lines_and_nofollow() -> None:
    links = read(page(("link", "<x>; rel=nofollow"), ("link", "<y>")), "larbinpy").links
    assert [(link.url[-1], link.nofollow) for link in links] == [("x", True), ("y", False)]


def test_refresh() -> None:
    assert found(("refresh", "5; url=x")) == [("x", "PAGE")]
    assert found(("refresh", "5")) == []


def test_content_location_counts_if_something_was_created() -> None:
    assert found(("content-location", "x"), status=201) == [("x", "PAGE")]
    assert found(("content-location", "x"), status=200) == []


@pytest.mark.parametrize("status", [201, 301, 302, 303, 307, 308])
def test_location(status: int) -> None:
    assert found(("location", "x"), status=status) == [("x", "PAGE")]


def test_location_of_other_replies_means_nothing() -> None:
    assert found(("location", "x"), status=200) == []


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("x#part", ["http://h.example/dir/x"]),
        ("//o.example", ["http://o.example/"]),
        # The header came as Latin-1: these are the bytes of UTF-8.
        ("/ж?ж".encode().decode("latin-1"), ["http://h.example/%D0%B6?%D0%B6"]),
        ("//bücher.example/".encode().decode("latin-1"), ["http://xn--bcher-kva.example/"]),
        # And these are of no UTF-8.
        ("/\xe9", ["http://h.example/%E9"]),
        ("/\xc7\xd1?q=\xb1\xdb", ["http://h.example/%C7%D1?q=%B1%DB"]),
        ("javascript:x", []),
        ("file:///etc/passwd", []),
        ("http://h.example:25/", []),
        ("http://[", []),
    ],
)
def test_redirect_target(location: str, expected: list[str]) -> None:
    links = redirect_target(page(("location", location), status=302))
    assert [link.url for link in links] == expected


def test_the_first_location_that_is_not_empty_counts() -> None:
    links = redirect_target(page(("location", ""), ("location", "/a"), status=302))
    assert [link.url for link in links] == ["http://h.example/a"]


def test_no_location_leads_nowhere() -> None:
    assert redirect_target(page(status=302)) == []


def test_bodies_of_redirects_are_not_read() -> None:
    reply = page(("content-type", "text/html"), status=302, body=b"<a href=x>")
    assert len(read(reply, "larbinpy").links) == 1  # It leads nowhere, so its body is the page.
    reply.outcome = Outcome.ERR_30X
    assert read(reply, "larbinpy").links == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["noindex"], (True, False)),
        (["NOINDEX, nofollow"], (True, True)),
        (["none"], (True, True)),
        (["larbinpy: none"], (True, True)),
        (["otherbot: none"], (False, False)),
        (["otherbot: noindex, nofollow"], (False, False)),
        (["otherbot: noindex, larbinpy: nofollow"], (False, True)),
        (["*: noindex"], (True, False)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST", "nofollow"], (False, True)),
        (["max-snippet: 5, noindex"], (True, False)),
        (["otherbot: noindex", "nofollow"], (False, True)),
        (["", ",,", ":"], (False, False)),
    ],
)
def test_x_robots_tag(lines: list[str], expected: tuple[bool, bool]) -> None:
    parsed = read(page(*(("x-robots-tag", line) for line in lines)), "larbinpy/0.1")
    assert (parsed.noindex, parsed.nofollow) == expected


@pytest.mark.parametrize(
    ("header", "body", "target"),
    [
        ("0; url=/x", b"", "http://h.example/x"),
        ("3", b"", "http://h.example/dir/"),
        ("", b'<META content="0;URL=x" HTTP-EQUIV=Refresh>', "http://h.example/dir/x"),
        ("", b'<meta http-equiv="refresh" content="1">', "http://h.example/dir/"),
        ("", b'<meta http-equiv="refresh" content="60">', None),
        ("", b'<meta http-equiv="refresh" content="1">' + b"text " * 2000, None),
        ("", b'<meta http-equiv="refresh" content="x">', None),
        ("", b"<p>refresh</p>", None),
        ("", b"", None),
    ],
)
def test_a_short_page_may_load_another_soon(header: str, body: bytes, target: str | None) -> None:
    assert reloaded(page(("refresh", header), body=body)) == target
