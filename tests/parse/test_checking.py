"""What a link check finds in a page beside its links: parts, places, and what is no link there."""

import pytest

from larbinpy.page import Outcome, Page
from larbinpy.parse import read
from larbinpy.parse.link import Checked, Parsed, part_named
from larbinpy.url import Url

HERE = "http://a.test/x/"


def parsed(body: str, kind: str = "text/html") -> Parsed:
    headers = [("content-type", kind)]
    return read(
        Page(Url(HERE, 5), Outcome.SUCCESS, 200, headers, body.encode()), "x", checking=True
    )


def checked(body: str, kind: str = "text/html") -> Checked:
    found = parsed(body, kind).checked
    assert found is not None
    return found


def urls(body: str) -> list[str]:
    return [link.url.removeprefix("http://a.test") for link in parsed(body).links]


def parts(body: str) -> list[str]:
    """The parts of pages that a page links to, and does not have."""
    return [part for parts in checked(body).places.values() for part in parts if part]


@pytest.mark.parametrize(
    "body",
    [
        '<form action="/find"><input name=q></form>',
        '<form action="/find" method=get><button formaction="/other">x</button></form>',
        '<form method=post action="/save"></form>',
        '<isindex action="/find">',
        *(
            f'<link rel="{relation}" href="/endpoint">'
            for relation in (
                *("pingback", "webmention", "micropub", "token_endpoint", "https://api.w.org/"),
                *("authorization_endpoint", "preconnect", "dns-prefetch", "EditURI", "hub"),
                *("openid2.provider", "WebMention pingback"),
            )
        ),
        '<link rev=made href="me@a.test">',
        '<object codebase="/classes/"></object>',
        """<script src="{{ url_for('static', filename='js/base.js') }}"></script>""",
        '<a href="{{ url }}">x</a>',
        '<a href="/a/{{url}}/b">x</a>',
        '<a href="/%7B%7Burl%7D%7D">x</a>',
        '<a href="/users/{id}">x</a>',
        '<img src="${picture}">',
        '<a href="<%= url %>">x</a>',
        '<template><a href="{{ url }}">x</a></template>',
    ],
)
def test_these_are_no_links_for_a_check(body: str) -> None:
    assert urls(body) == []


@pytest.mark.parametrize(
    "body",
    [
        '<link rel="webmention me" href="/x">',
        '<link rel=search href="/x">',
        '<link rel=alternate href="/x">',
        '<a href="/x">{{ text }}</a>',
    ],
)
def test_these_are_links(body: str) -> None:
    assert urls(body) == ["/x"]


def test_placeholders_are_counted_once_each() -> None:
    body = '<a href="{{ a }}">1</a><a href="{{ a }}">2</a><a href="/{b}">3</a>'
    assert checked(body).refused == {"templates": 2}


@pytest.mark.parametrize(
    ("reference", "part"),
    [
        *(("a", "a"), ("%C3%A9", "%C3%A9"), ("a:b", "a:b"), ("a/", "a/"), ("a.b-c", "a.b-c")),
        *(("top", ""), ("TOP", ""), ("t%6Fp", ""), ("topic", "topic"), ("top1", "top1")),
        *((":~:text=words", ""), ("a:~:text=words", "a"), ("/route", ""), ("!/route", "")),
        *(("t=30", ""), ("gid=0&x=1", ""), ("=a", "=a"), ("1=2", "1=2"), ("a(b=c)", "a(b=c)")),
        *((" a ", "a"), ("a\nb", "ab"), (" ", "")),
    ],
)
def test_the_part_of_a_reference(reference: str, part: str) -> None:
    assert part_named(reference) == part


@pytest.mark.parametrize(
    "body",
    [
        '<a href="#here">x</a><p id=here>',
        '<a href="#">x</a>',
        '<a href="#top">x</a>',
        '<a href="#menu" data-toggle=collapse>x</a>',
        '<a href="#menu" onclick="show()">x</a>',
        '<a href="#menu" role=button>x</a>',
        '<svg><use href="#icon"/></svg>',
        '<img src="/x.svg#icon">',
        '<iframe srcdoc="<a href=#within>x</a>"></iframe>',
    ],
)
def test_these_lead_to_no_part_that_could_be_missing(body: str) -> None:
    assert parts(body) == []


@pytest.mark.parametrize(
    "body",
    [
        '<a href="#gone">x</a>',
        '<map><area href="#gone"></map>',
        '<a href="/other#gone">x</a>',
        '<a href="/other">x</a><a href="/other#gone">x</a>',
        '<base href="/other"><p id=gone><a href="#gone">x</a>',
        '<a href="?">x</a><p id=there><a href="#there">x</a><a href="#gone">x</a>',
    ],
)
def test_these_lead_to_a_part(body: str) -> None:
    assert parts(body) == ["gone"]


def test_ids_and_names_of_anchors_are_parts() -> None:
    body = '<p id=a><a name=b><svg><g id=c></g></svg><meta name=d><input name=e id="">'
    assert checked(body).parts == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("body", "filled"),
    [
        ("<div id=root></div><script src=/app.js></script>", True),
        (
            "<body><noscript>" + "Turn on JavaScript. " * 20 + "</noscript><script>go()</script>",
            True,
        ),
        ("<script>" + "code();" * 99 + "</script><app-root>Loading</app-root>", True),
        ("<div id=root></div>", False),
        ("<h1>Title</h1><script src=/app.js></script>", False),
        ("<p>" + "words " * 99 + "<script src=/app.js></script>", False),
    ],
)
def test_a_page_that_a_script_fills(body: str, filled: bool) -> None:
    found = checked(body)
    assert found.filled is filled
    assert (found.parts is None) is filled


@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml"])
def test_where_links_are(kind: str) -> None:
    body = """<html xmlns="http://www.w3.org/1999/xhtml"><body>
<a href="/a" id="b">One
 <b>two</b></a>
<p><img src="/c.png" alt="a picture"/></p></body></html>"""
    found = checked(body, kind)
    assert found.places == {
        "http://a.test/a": {"": (2, "One two")},
        "http://a.test/c.png": {"": (4, "a picture")},
    }
    assert found.parts == {"b"}


def test_other_files_have_no_parts() -> None:
    assert checked("a { color: red }", "text/css").parts is None
