"""A page of the spool as the writer takes it: what it says of the URL, and the hash of its text."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from larbinpy.database.indexer.reader import (
    FRAME,
    GONE,
    UNCHANGED,
    ReadOptions,
    frame,
    read_page,
    unreadable,
)
from larbinpy.database.preparation import Dated, Gone, Prepared, Unchanged, Visit, target_of
from larbinpy.page import Outcome, Page
from larbinpy.storage.spool import Position, Spooled
from larbinpy.url import Url

URL, AT = "http://a.test/dir/page", "2026-11-23T08:00:00Z"
NOW = 1795420800.0


def visit(
    outcome: Outcome = Outcome.SUCCESS, status: int = 200, body: str = "", **headers: str
) -> Visit:
    fields = [("content-type", "text/html")]
    fields += [(name.replace("_", "-"), value) for name, value in headers.items()]
    page = Page(Url(URL, 1), outcome, status, fields, body.encode())
    return read_page(Spooled(NOW, page), ReadOptions(obey_noindex=True))


def test_a_page_that_needs_too_much_memory_is_read_again_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Earlier pages may have left too little."""

    def fails(error: BaseException) -> None:
        def read(page: Page, at: str) -> None:
            raise error

        monkeypatch.setattr("larbinpy.database.indexer.reader.read", read)

    fails(MemoryError())
    with pytest.raises(MemoryError):
        visit(body="<p>Text")
    fails(ZeroDivisionError())
    result = visit(body="<p>Text")
    assert isinstance(result, Prepared)
    assert json.loads(result.more)["trouble"] == "cannot be read: ZeroDivisionError"


def as_gone(result: Visit) -> Gone:
    assert isinstance(result, Gone)
    return result


def test_replies_without_a_page() -> None:
    assert visit(Outcome.ERR_40X, 404, location="/elsewhere") == Gone(URL, AT, 404, depth=1)
    assert visit(Outcome.FORBIDDEN_ROBOTS) == Gone(URL, AT, 200, depth=1)
    assert visit(body="<meta name=robots content=noindex>x") == Gone(URL, AT, 200, depth=1)
    assert visit(Outcome.ERR_30X, 301) == Gone(URL, AT, 301)
    moved = visit(Outcome.ERR_30X, 301, location="other#part")
    assert moved == Gone(URL, AT, 301, "http://a.test/dir/other")


def test_a_page_that_has_not_changed() -> None:
    assert visit(status=304) == Unchanged(URL, AT)
    # The mirror has given it the body: it may be one that the database lacks.
    page = visit(status=304, body="<p>text", etag="x")
    assert isinstance(page, Prepared)
    assert (page.columns["status"], page.columns["etag"]) == (200, "x")


MAP = "<urlset><url><loc>/1</loc><lastmod>2026-11-02</lastmod></url></urlset>"
DATED = Gone(URL, AT, 200, None, [Dated(target_of("http://a.test/1"), "2026-11-02")], 1)


def test_a_sitemap_that_asks_not_to_be_indexed_has_dates_alone() -> None:
    assert visit(Outcome.FORBIDDEN_ROBOTS, body=MAP) == DATED
    assert visit(body=MAP, x_robots_tag="noindex, follow") == DATED
    assert visit(Outcome.FORBIDDEN_ROBOTS, body=MAP[:20]) == DATED._replace(announced=[])
    assert as_gone(visit(Outcome.FORBIDDEN_ROBOTS, body="<p>text")).announced is None


def test_a_page_that_asks_not_to_be_indexed_stays_out_if_no_reader_survives_it() -> None:
    page = Page(Url(URL, 1), Outcome.FORBIDDEN_ROBOTS, 200, [], MAP.encode())
    assert unreadable(Spooled(NOW, page), False, "it takes too long") == Gone(URL, AT, 200)


@pytest.mark.parametrize(
    ("kind", "result", "unpack"),
    [
        (GONE, Gone(URL, AT, 301, "http://b/"), Gone.unpack),
        (GONE, DATED, Gone.unpack),
        (UNCHANGED, Unchanged(URL, AT), lambda data: Unchanged(*json.loads(data))),
    ],
)
def test_results_without_a_page_as_frames(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: int,
    result: Visit,
    unpack: Callable[[bytes], Visit],
) -> None:
    monkeypatch.setattr("larbinpy.storage.spool.read", lambda *_: None)
    answer = frame(tmp_path, Position(0, 0), lambda _: result)
    assert FRAME.unpack_from(answer)[0] == kind
    assert unpack(answer[FRAME.size :]) == result


TEXT = " ".join(f"Sentence {n} of the article says something about the sea." for n in range(6))


def article(n: int) -> str:
    """A page of today, with date, advertisements, lists of other articles, tokens and counters."""
    sections = "".join(f"<li><a href=/s{k}>Section {k} ({n + k})</a>" for k in range(5))
    others = "".join(f"<li><a href=/{k + n}>Article {k + n}</a>" for k in range(5))
    return f"""<!doctype html><title>The sea</title><meta name=csrf content={n}>
<script>var n = {n}</script><body class=v{n}>
<header><a href=/>Home</a><span>Today is day {n}</span><nav><ul>{sections}</ul></nav></header>
<div class="ad banner"><p>Buy {n} things now, which are as good as they are cheap.</p></div>
<main><article class=i{n}><h1>The sea</h1><p>{TEXT}<p>{TEXT}</article></main>
<aside><h2>Most read</h2><ol>{others}</ol></aside>
<form><input type=hidden value={n}></form>
<footer><p>{2000 + n} by us. Made in {n} ms. {n} users online.</p></footer>"""


def old(n: int) -> str:
    """A page without elements for its parts, which have names."""
    return f"""<title>The sea</title><div id=header>Welcome, it is day {n}</div>
<div id=menu><a href=/1>One {n}</a> <a href=/2>Two</a></div>
<div id=content><h1>The sea</h1><p>{TEXT}</p><p>{TEXT}</p></div>
<div class=sidebar><p>Weather: {n} degrees, and a few words more about what it may become.</p></div>
<div class=ads><p>Advertisement {n}: our wonderful things, which are cheap and last.</p></div>
<div id=footer><p>Made in {n} seconds, and seen {n * 7} times in all its time.</p></div>"""


def weblog(n: int) -> str:
    return f"""<header class=site-header><p class=tagline>{n} posts</p></header>
<article class=post><h1>The sea</h1><div class=entry-content><p>{TEXT}</p><p>{TEXT}</p></div>
<div class=share-buttons><a href=#>Share {n}</a></div>
<div class=related-posts><h3>Related</h3><ul><li><a href=/{n}>More {n}</a></ul></div></article>
<section id=newsletter><p>Join {n} readers of our newsletter, and miss no post.</p></section>"""


def bare(n: int) -> str:
    return f"<title>t</title><nav>day {n}</nav><p>A text of few words.<footer>{n}</footer>"


def text_hash(body: str) -> int:
    page = visit(body=body)
    assert isinstance(page, Prepared) and page.text_hash
    return page.text_hash


@pytest.mark.parametrize("made", [article, old, weblog, bare])
def test_the_shell_of_a_page_is_not_its_text(made: Callable[[int], str]) -> None:
    assert len({text_hash(made(n)) for n in (1, 2, 30, 400)}) == 1
    changed = made(1).replace("something", "nothing").replace("few words", "some words")
    assert text_hash(changed) != text_hash(made(1))


def test_a_counter_within_the_text_is_text() -> None:
    """A limit: no one can tell it from a price."""
    bodies = [article(1).replace("<h1>", f"<p>Read {n} times.<h1>") for n in (1, 2)]
    assert text_hash(bodies[0]) != text_hash(bodies[1])


def test_blanks_and_breaks_of_lines_do_not_count() -> None:
    one = "<p>A text   of\nfew words.</p><pre>if x:\n    y</pre>"
    other = "<div>A text of few\n\n  words.</div>\n\n<pre>if x:\n  y\n</pre>"
    assert text_hash(one) == text_hash(other)
    assert text_hash(one) != text_hash(one.replace("few words", "fewwords"))
