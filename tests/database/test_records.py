"""What is read of a row: as Markdown, and which hosts are those of a site."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from larbinpy.database import base
from larbinpy.database.base import Address, Stored, markdown_of
from larbinpy.database.search.query import Query

HOSTS = ["a.test", "www.a.test", "xa.test", "a.test:8080", "a.test.org", "www.a.test:8080"]


@pytest.mark.parametrize(
    ("site", "found"),
    [
        ("a.test", ["a.test", "www.a.test", "a.test:8080", "www.a.test:8080"]),
        ("a.test:8080", ["a.test:8080", "www.a.test:8080"]),
        ("www.a.test", ["www.a.test", "www.a.test:8080"]),
        ("b.test", []),
    ],
)
def test_the_hosts_of_a_site_are_itself_on_any_port_and_those_below(
    site: str, found: list[str]
) -> None:
    def rows(statement: str, arguments: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
        return [(number, name) for number, name in enumerate(HOSTS) if arguments[0] in name]

    assert [HOSTS[number] for number in base._hosts(rows, site)] == found


@pytest.mark.parametrize(
    ("kind", "own", "markdown"),
    [
        ("text/html", "", "## Title\n\nText.\n\n```\n  a = 1\n  b = 2\n```\n\nMore."),
        ("text/html", "# Own", "# Own"),
        ("text/markdown", "", "Title\nText.\n  a = 1\n  b = 2\n\nMore."),
    ],
)
def test_a_page_without_markdown_is_made_of_its_lines(kind: str, own: str, markdown: str) -> None:
    text = "Title\nText.\n  a = 1\n  b = 2\n\nMore."
    more = {"headings": ["Title"], "markdown": own}
    assert markdown_of(Stored({"type": kind}, text, more)) == markdown


@pytest.mark.parametrize(
    ("packed", "links"), [("", [["http://a.test/"]]), (7, []), ("text", "none"), (None, [])]
)
def test_parts_that_are_no_markdown_are_none(packed: Any, links: Any) -> None:
    parts = {"markdown": packed, "links": links}
    assert base._markdown(parts, "text") == ""
    assert "markdown" not in parts


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("mysql://host/name", Address(None, "host", None, "name")),
        ("mysql://me@host:3307/name", Address("me", "host", 3307, "name")),
        ("mysql://[::1]/name", Address(None, "::1", None, "name")),
    ],
)
def test_the_address_of_a_database(text: str, address: Address) -> None:
    assert Address.of(text) == address
    # The user is not shown.
    assert str(address) == text.replace("me@", "")


@pytest.mark.parametrize(
    ("observed", "exposure", "interval"),
    [(4.0, 8.0, 2.0), (0.0, 8.0, None), (4.0, 0.0, None), (None, None, None)],
)
def test_the_interval_between_two_changes(
    observed: float | None, exposure: float | None, interval: float | None
) -> None:
    columns = {"observed": observed, "exposure": exposure}
    assert Stored(columns, "", {}).change_interval == interval


@pytest.mark.parametrize(
    ("same_as", "near", "canonical", "has_text", "has_key", "kind"),
    [
        (None, None, None, None, None, None),
        (None, "http://a/2", None, None, None, "near"),
        ("http://a/1", None, None, True, False, "text"),
        ("http://a/1", None, "http://a/1", False, True, "canonical"),
        # It declares a URL that is a copy itself.
        ("http://a/1", None, "http://a/9", False, False, "canonical"),
        ("http://a/1", None, "http://a/9", False, True, "near"),
    ],
)
def test_why_a_page_is_a_copy(
    same_as: str | None,
    near: str | None,
    canonical: str | None,
    has_text: bool | None,
    has_key: bool | None,
    kind: str | None,
) -> None:
    columns = {"same_as": same_as, "near": near, "canonical": canonical}
    assert base._kind_of_copy(columns, has_text, has_key) == kind


@pytest.mark.parametrize(
    ("excluded", "site", "sql", "arguments"),
    [
        ((), "", "", []),
        ((("lang", "en"),), "", " AND NOT coalesce(page.lang = ?, 0)", ["en"]),
        ((("type", "text/html"),), "", " AND NOT coalesce(page.type = ?, 0)", ["text/html"]),
        (
            (("type", "pdf"),),
            "",
            " AND NOT coalesce(page.type IN (?), 0)",
            ["application/pdf"],
        ),
        ((("since", "2026"),), "", " AND NOT coalesce(page.fetched >= ?, 0)", ["2026"]),
        ((), "a.test", " AND page.host IN (?, ?, ?, ?)", [0, 1, 3, 5]),
        (
            (),
            "www.a.test/x",
            f" AND (page.host IN (?, ?) AND substr({base._PATH}, 1, ?) = ?)",
            [1, 5, 1, "x"],
        ),
        ((), "none.test", " AND page.host IN (?)", [None]),
    ],
)
def test_filters(excluded: Any, site: str, sql: str, arguments: list[Any]) -> None:
    def rows(statement: str, values: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
        return [(number, name) for number, name in enumerate(HOSTS) if values[0] in name]

    types = ["text/html", "application/pdf", "application/x-pdf"]
    wanted = Query(site=site or None, excluded=excluded)
    assert base.filters(wanted, rows, lambda: types, base.one_of) == (sql, arguments)


@pytest.mark.parametrize(
    ("data", "size", "text"),
    [
        (None, None, ""),
        (b"", None, ""),
        (zlib.compress(b"abc"), 3, "abc"),
        (zlib.compress(b"abc"), 2, None),
        (zlib.compress(b"abc"), -1, None),
        (zlib.compress(b"abc"), "3", None),
        ("abc", 3, None),
        (b"abc", 3, None),
    ],
)
def test_texts_of_rows_that_may_be_damaged(data: Any, size: Any, text: str | None) -> None:
    if text is not None:
        assert base.unpacked_text(data, size) == text
        return
    with pytest.raises(ValueError):
        base.unpacked_text(data, size)


def test_a_sample_has_a_bound() -> None:
    most = base.LONGEST_SAMPLE
    assert base.unpacked_sample(zlib.compress(b"a" * most), most) == b"a" * most
    with pytest.raises(ValueError, match="too long"):
        base.unpacked_sample(zlib.compress(b"a"), most + 1)
