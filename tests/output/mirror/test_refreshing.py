"""What a mirror that browses offline takes, and what it keeps of it: values, without a crawl."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.config import Config
from larbinpy.output.mirror.browsable import BrowsableMirror
from larbinpy.output.mirror.catalog import NAME, Account, Catalog, Refreshed
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.contexts import make_context

START = "http://h/"
FETCHED_IN_TURN = (Refreshed.NEW, Refreshed.UNCHANGED, Refreshed.CHANGED)


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[BrowsableMirror]:
    with closing(BrowsableMirror(make_context(Config(output_dir=str(tmp_path))))) as made:
        yield made


def page(body: str, url: str = START, *headers: tuple[str, str], via: str | None = None) -> Page:
    lines = [("content-type", "text/html"), *headers]
    return Page(Url(url, 1, via=via), Outcome.SUCCESS, 200, lines, body.encode())


def account(mirror: BrowsableMirror) -> Account:
    return mirror._account


def catalog(mirror: BrowsableMirror) -> Catalog:
    return mirror._catalog


def test_pages_and_bytes_are_counted(mirror: BrowsableMirror) -> None:
    mirror.loaded(page("12345"))
    mirror.loaded(page("123", f"{START}a"))
    mirror.missed(Page(Url(f"{START}b", 1), Outcome.ERR_40X, 404))
    assert mirror.stats() == {
        "pages": 2, "bytes": 8, "new": 2, "changed": 0, "unchanged": 0, "gone": 0, "failed": 1,
        "rewritten": 0,
    }  # fmt: skip
    assert mirror.cut()[0] == 2


@pytest.mark.parametrize(
    ("outcome", "status", "kind"),
    [
        (Outcome.ERR_30X, 301, Refreshed.MOVED),
        (Outcome.ERR_40X, 404, Refreshed.GONE),
        (Outcome.ERR_40X, 410, Refreshed.GONE),
        (Outcome.ERR_40X, 403, Refreshed.FAILED),
        (Outcome.ERR_50X, 500, Refreshed.FAILED),
        (Outcome.TIMEOUT, 0, Refreshed.FAILED),
        (Outcome.REJECTED, 200, Refreshed.OTHER),
    ],
)
def test_a_page_that_does_not_come_again(
    mirror: BrowsableMirror, outcome: Outcome, status: int, kind: Refreshed
) -> None:
    mirror.loaded(page("x"))
    mirror.begin()
    detail = f"{START}a" if outcome is Outcome.ERR_30X else ""
    mirror.missed(Page(Url(START, 1), outcome, status, detail=detail))
    assert account(mirror).kind(START) is kind
    # Nor one of which there is no copy.
    mirror.missed(Page(Url(f"{START}new", 1), outcome, status, detail=detail))
    other = {Refreshed.MOVED: Refreshed.OTHER, Refreshed.GONE: Refreshed.FAILED}
    assert account(mirror).kind(f"{START}new") is other.get(kind, kind)


@pytest.mark.parametrize(
    ("moved", "detail", "kind", "said"),
    [
        ((), f"{START}b", Refreshed.OTHER, f"{START}b"),
        ((), "no URL: x", Refreshed.FAILED, "no URL: x"),
        ((), "", Refreshed.OTHER, ""),
        ((), f"{START}a", Refreshed.FAILED, "it redirects to itself"),
        (
            ((f"{START}b", f"{START}a"),),
            f"{START}b",
            Refreshed.FAILED,
            "its redirects go in a circle: its URLs differ in the path",
        ),
        # It leads to a redirect that is no part of a circle.
        (((f"{START}b", f"{START}c"),), f"{START}b", Refreshed.OTHER, f"{START}b"),
    ],
)
def test_redirects_that_lead_nowhere_have_failed(
    mirror: BrowsableMirror,
    moved: tuple[tuple[str, str], ...],
    detail: str,
    kind: Refreshed,
    said: str,
) -> None:
    for url, target in moved:
        mirror.moved(url, target)
        mirror.missed(Page(Url(url, 1, via=START), Outcome.ERR_30X, 302, detail=target))
    if "http" in detail:
        mirror.moved(f"{START}a", detail)
    asked = Page(Url(f"{START}a", 1, via=START), Outcome.ERR_30X, 302, detail=detail)
    mirror.missed(asked)
    assert (account(mirror).kind(f"{START}a"), asked.detail) == (kind, said)


def test_a_redirect_of_an_earlier_crawl_makes_no_circle(mirror: BrowsableMirror) -> None:
    """Its page may have come in this one."""
    mirror.moved(f"{START}b", f"{START}a")
    mirror.moved(f"{START}a", f"{START}b")
    asked = Page(Url(f"{START}a", 1, via=START), Outcome.ERR_30X, 302, detail=f"{START}b")
    account(mirror).note(page("x", f"{START}b"), Refreshed.NEW, had=False)
    mirror.missed(asked)
    assert account(mirror).kind(f"{START}a") is Refreshed.OTHER


def test_a_start_page_without_links_is_remembered_until_it_has_some(
    mirror: BrowsableMirror,
) -> None:
    linked, bare, other = "<a href=/a>x</a>", "<p>maintenance", "<p>still"
    found = []
    for body in (linked, bare, other, linked, linked, bare):
        mirror.begin()
        mirror.loaded(page(body))
        found.append(account(mirror).is_emptied(START))
    assert found == [False, True, True, False, False, True]
    # Of other pages nobody minds.
    for body in (linked, bare):
        mirror.loaded(page(body, f"{START}p", via=START))
    assert not account(mirror).is_emptied(f"{START}p")
    # But a seed may redirect to one.
    mirror.moved(START, f"{START}q")
    for body in (linked, bare):
        mirror.loaded(page(body, f"{START}q", via=START))
    assert account(mirror).is_emptied(f"{START}q")


def test_a_start_page_whose_copy_is_lost_has_lost_no_links(
    mirror: BrowsableMirror, tmp_path: Path
) -> None:
    mirror.loaded(page("<a href=/a>x</a>"))
    [original] = (tmp_path / ".larbinpy-originals").rglob("??????????????")
    original.unlink()
    mirror.loaded(page("<p>bare"))
    assert not account(mirror).is_emptied(START)


def test_a_copy_of_a_page_is_what_that_is(mirror: BrowsableMirror) -> None:
    index = f"{START}index.html"
    found = []
    for body in ("one", "one", "two"):
        mirror.begin()
        for url in (index, START):
            mirror.loaded(page(body, url))
        found.append((account(mirror).kind(index), account(mirror).kind(START)))
    assert found == [(kind, kind) for kind in FETCHED_IN_TURN]


def test_a_new_copy_of_a_page_is_new(mirror: BrowsableMirror) -> None:
    index = f"{START}index.html"
    mirror.loaded(page("one", index))
    mirror.begin()
    for url in (index, START):
        mirror.loaded(page("one", url))
    assert account(mirror).kind(index) is Refreshed.UNCHANGED
    assert account(mirror).kind(START) is Refreshed.NEW


def test_a_mirror_that_is_closed_leaves_nothing_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    BrowsableMirror(make_context(Config(output_dir=str(tmp_path)))).close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_only_headers_that_describe_a_page_are_kept(mirror: BrowsableMirror) -> None:
    headers = [
        ("etag", '"1"'),
        ("set-cookie", "a=b"),
        ("date", "Mon"),
        ("last-modified", "x" * 2001),
        ("refresh", "x" * 2000),
        ("link", "caf\xe9"),
        ("content-disposition", "attachment; filename=caf\xe9"),
        ("x-robots-tag", "noindex"),
    ]
    mirror.loaded(page("x", START, *headers))
    entry = catalog(mirror).get(START)
    assert entry is not None
    kept = ("content-type", "etag", "refresh", "content-disposition", "x-robots-tag")
    assert [name for name, _ in entry.headers] == list(kept)


def test_a_new_refresh_is_begun_on_the_disk(mirror: BrowsableMirror, tmp_path: Path) -> None:
    mirror.loaded(page("x"))
    mirror.cut()
    mirror.begin()
    with closing(sqlite3.connect(tmp_path / NAME)) as other:
        assert other.execute("SELECT url FROM fate").fetchall() == []


def not_modified(*headers: tuple[str, str]) -> Page:
    return Page(Url(START, 1), Outcome.ERR_30X, 304, list(headers))


def test_a_damaged_file_is_written_again_by_the_same_page(
    mirror: BrowsableMirror, tmp_path: Path
) -> None:
    image = Page(Url(START, 1), Outcome.SUCCESS, 200, [("content-type", "image/gif")], b"GIF")
    mirror.loaded(image)
    (tmp_path / "h/index.gif").write_text("PNG")
    asked = not_modified()
    mirror.unchanged(asked)
    assert asked.outcome is Outcome.EARLY_STOP
    mirror.loaded(image)
    assert (tmp_path / "h/index.gif").read_text() == "GIF"


def test_names_for_windows_do_not_differ_in_case_alone(tmp_path: Path) -> None:
    config = Config(output_dir=str(tmp_path), file_names="windows")
    with closing(BrowsableMirror(make_context(config))) as mirror:
        for name in ("a", "A"):
            mirror.loaded(page(name, f"{START}{name}"))
        paths = [entry.path for entry in catalog(mirror).pages()]
    assert len({path.lower() for path in paths}) == len(paths) == 2


def test_links_are_rewritten_and_files_counted(mirror: BrowsableMirror, tmp_path: Path) -> None:
    mirror.loaded(page("<a href=a>x</a>"))
    mirror.loaded(page("no link", f"{START}a", via=START))
    for _ in range(2):
        for _ in mirror.finish(complete=True):
            pass
        assert mirror.stats()["rewritten"] == 1
    assert (tmp_path / "h/index.html").read_text() == '<a href="a.html">x</a>'


def test_headers_of_an_unchanged_page_replace_those_that_are_kept(
    mirror: BrowsableMirror,
) -> None:
    kept = [("etag", '"1"'), ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")]
    mirror.loaded(page("x", START, *kept))
    asked = not_modified(("etag", '"2"'), ("content-type", "text/plain"), ("x-a", "1"))
    mirror.unchanged(asked)
    assert (asked.outcome, asked.body) == (Outcome.SUCCESS, b"x")
    assert asked.headers == [
        ("etag", '"2"'), ("x-a", "1"), ("content-type", "text/html"), kept[1]
    ]  # fmt: skip


def test_a_page_that_is_not_there_cannot_be_unchanged(mirror: BrowsableMirror) -> None:
    asked = not_modified()
    mirror.unchanged(asked)
    assert asked.outcome is Outcome.ERR_30X
    assert mirror.conditions(START) == []


def test_an_unchanged_page_redirects_no_more(mirror: BrowsableMirror) -> None:
    mirror.loaded(page("x"))
    catalog(mirror).base.write("INSERT INTO moved VALUES (?, ?)", START, f"{START}a")
    mirror.unchanged(not_modified())
    assert catalog(mirror).chain(START) == [START]


@pytest.mark.parametrize(
    ("body", "charset", "kept"),
    [
        (b"\x89PNG\r\n\x1a\n", "; charset=koi8-r", "image/png; charset=koi8-r"),
        (b"\x89PNG\r\n\x1a\n", "", "image/png"),
        (b"\0<a href=x>\0", "", "application/octet-stream"),
        (b"<p>x", "; charset=koi8-r", "text/html; charset=koi8-r"),
    ],
)
def test_a_page_is_labelled_by_its_bytes(
    mirror: BrowsableMirror, body: bytes, charset: str, kept: str
) -> None:
    headers = [("content-type", f"text/html{charset}")]
    mirror.loaded(Page(Url(START, 1), Outcome.SUCCESS, 200, headers, body))
    entry = catalog(mirror).get(START)
    assert entry is not None
    assert entry.headers == [("content-type", kept)]
