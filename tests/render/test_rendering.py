"""Which pages a browser reads, and what is said of them afterwards."""

import json
from pathlib import Path

import pytest

from larbinpy.config import Config
from larbinpy.crawl.rendering import Choice
from larbinpy.output.log import line
from larbinpy.output.warc.warc import WarcOutput
from larbinpy.page import Fate, Outcome, Page, Rendering
from larbinpy.url import PAGE, SITEMAP, Url, with_view
from tests.support.warcs import records

SHELL = b"<!doctype html><title>x</title><div id=app></div><script src=/app.js></script>"
TEXT = b"<!doctype html><title>x</title><p>" + b"words and more words " * 50
HTML = [("content-type", "text/html")]


def page(body: bytes = SHELL, href: str = "http://a.test/x", **more: object) -> Page:
    url = Url(href, 0, requisite=bool(more.pop("requisite", False)))
    url.purpose = more.pop("purpose", PAGE)  # type: ignore[assignment]
    values = {"status": 200, "headers": HTML, "body": body, **more}
    return Page(url, values.pop("outcome", Outcome.SUCCESS), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("render", "taken", "wanted"),
    [
        (("**",), page(), True),
        (("**",), page(TEXT), True),
        (("http://a.test/*",), page(), True),
        (("http://b.test/**",), page(), False),
        (("http://b.test/**", "auto"), page(), True),
        (("auto",), page(), True),
        (("auto",), page(TEXT), False),
        (("auto",), page(TEXT + b"<script>1</script>"), False),
        # A view is that of its page.
        (("http://a.test/x",), page(href="http://a.test/x#/view"), True),
        (("**",), page(headers=[("content-type", "text/plain")]), False),
        (("**",), page(outcome=Outcome.ERR_40X, status=404), False),
        (("**",), page(requisite=True), False),
        (("**",), page(purpose=SITEMAP), False),
        (("**",), page(truncated="length"), False),
        (("**",), page(status=304), False),
    ],
)
def test_which_pages_a_browser_reads(render: tuple[str, ...], taken: Page, wanted: bool) -> None:
    assert Choice(Config(render=render)).takes(taken, "larbinpy") is wanted


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://a.test/", "http://a.test/"),
        ("http://A.test/#top", "http://a.test/"),
        ("http://A.test/%7ex#/a/b?c", "http://a.test/~x#/a/b?c"),
        ("http://a.test#!a", "http://a.test/#!a"),
        ("http://a.test/#/" + "a" * 600, None),
        ("javascript:void(0)", None),
    ],
)
def test_views_keep_their_name(text: str, url: str | None) -> None:
    assert with_view(text) == url


def test_the_log_says_what_became_of_a_page() -> None:
    taken = page()
    assert "rendered" not in json.loads(line(Fate.of(taken, 0.0)))
    taken.rendering = Rendering(SHELL, 310, {"POST": 1})
    assert json.loads(line(Fate.of(taken, 0.0)))["rendered"] == {"ms": 310, "refused": {"POST": 1}}
    taken.rendering = Rendering(SHELL, 20, why="its process crashed")
    fate = Fate.of(taken, 0.0)
    assert fate.as_dict()["rendered"] == {"ms": 20, "why": "its process crashed"}


def test_an_archive_has_the_page_as_sent_and_what_it_became(tmp_path: Path) -> None:
    output = WarcOutput(tmp_path, {}, lambda: 1_700_000_000.0)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    rendered = page(b"<p>made", "http://a.test/#/view", head=head)
    rendered.rendering = Rendering(SHELL, 10)
    failed = page(SHELL, "http://a.test/y", head=head)
    failed.rendering = Rendering(SHELL, 10, why="its process crashed")
    output.loaded(rendered)
    output.loaded(failed)
    output.close()
    assert rendered.body == b"<p>made"
    found = [each for each in records(*tmp_path.glob("*.warc.gz")) if each.kind != "metadata"]
    assert [(each.kind, each.url, each.content) for each in found[1:]] == [
        ("response", "http://a.test/", SHELL),
        ("conversion", "http://a.test/#/view", b"<p>made"),
        ("revisit", "http://a.test/y", b""),
    ]
    response, conversion = found[1:3]
    assert conversion.fields["WARC-Refers-To"] == response.fields["WARC-Record-ID"]
    assert conversion.fields["Content-Type"] == "text/html; charset=utf-8"
