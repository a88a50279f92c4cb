"""What is read of a row: as Markdown, and which hosts are those of a site."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from larbinpy.database import base
from larbinpy.database.base import Address, Stored, markdown_of

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
