"""References that are no URLs, or that the crawl refuses, for link checks."""

import pytest

from larbinpy.page import Outcome, Page
from larbinpy.parse import read
from larbinpy.parse.link import MOST, is_malformed, why_refused
from larbinpy.url import MAX_LENGTH, Url

BASE = "http://a.test/docs/"


@pytest.mark.parametrize(
    "reference",
    [
        *("http://[bad", "http://", "//", "https://a b/", "http://<host>/", " http://a.test:x/"),
        *("htp://a.test/", "ttp://a.test/", "hhtp://a.test/", "HTPS://a.test/", "htttps://a.test"),
    ],
)
def test_these_are_no_urls(reference: str) -> None:
    assert is_malformed(reference, BASE)


@pytest.mark.parametrize(
    "reference",
    [
        *("", "x", "../x", "//b.test", "http:x", "HTTP://b.test", "?q", "a:b", "www.b.test:80/"),
        *("mailto:a@b", "tel:1", "javascript:x", "data:,", "ftp://b.test", "sftp://b.test"),
        *("tftp://b.test/x", "about:blank", "urn:isbn:1", "magnet:?x", "vscode://x"),
        "rtmps://b.test",
    ],
)
def test_these_are_urls_or_links_for_other_programs(reference: str) -> None:
    assert not is_malformed(reference, BASE)


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("http://b.test:22/", "ports"),
        ("//b.test:9", "ports"),
        ("https://me:secret@b.test:25/x?y", "ports"),
        (f"http://b.test:22/{'x' * MAX_LENGTH}", "ports"),
        (f"/{'x' * MAX_LENGTH}", "length"),
        ("ftp://b.test:22/", ""),
        ("mailto:a@b", ""),
        (f"data:,{'x' * MAX_LENGTH}", ""),
        ("http://[bad", ""),
    ],
)
def test_these_are_urls_that_are_not_asked_for(reference: str, why: str) -> None:
    assert why_refused(reference, BASE) == why
    made = read(
        page(f'<a href="{reference}">1</a><a href="{reference}#x">2</a>'), "x", checking=True
    )
    assert made.checked is not None
    assert (made.checked.refused, made.links) == ({why: 1} if why else {}, [])


def page(body: str, kind: str = "text/html") -> Page:
    headers = [("content-type", kind)]
    return Page(Url(BASE, 5), Outcome.SUCCESS, status=200, headers=headers, body=body.encode())


def malformed(made: Page) -> list[str]:
    checked = read(made, "x", checking=True).checked
    assert checked is not None
    return list(checked.malformed)


def test_they_are_listed_on_demand_and_change_no_link() -> None:
    made = page('<a href="http://[bad#x">1</a><a href=/y>2</a><img src="htp://b.test/">')
    plain, asked = read(made, "x"), read(made, "x", checking=True)
    assert plain.checked is None
    assert malformed(made) == ["http://[bad", "htp://b.test/"]
    assert [link.url for link in plain.links] == [link.url for link in asked.links]


def test_few_of_a_page_are_listed_and_none_is_long() -> None:
    many = "".join(f'<a href="http://[{"x" * 999}{n}">1</a>' for n in range(99))
    found = malformed(page("".join(f'<a href="http://[{n}{"x" * 999}">1</a>' for n in range(99))))
    assert len(found) == MOST and max(map(len, found)) <= 200
    assert len(malformed(page(many))) == 1


def test_style_sheets_have_them_too() -> None:
    made = page("a { background: url(http://[bad) }", "text/css")
    assert malformed(made) == ["http://[bad"]
