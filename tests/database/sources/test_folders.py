"""Mirrors and saved pages as sources."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.config import Config
from larbinpy.database.indexer.reader import ReadOptions, read_page
from larbinpy.database.preparation import Prepared
from larbinpy.database.sources import DAMAGED, Payloads, find, media_type, page_in, url_at
from larbinpy.output.mirror.browsable import BrowsableMirror
from larbinpy.output.mirror.mirror import MirrorOutput
from larbinpy.output.mirror.paths import CATALOG, locate, original_beside
from larbinpy.output.save import SaveOutput
from larbinpy.page import Outcome, Page
from larbinpy.storage.spool import Spooled
from larbinpy.url import Url, canonical
from tests.support.contexts import make_context

URLS = (
    *("http://h/", "http://h/a", "http://h/a/", "http://h/a/b?q=/x#", "http://h:81/x//y"),
    *("https://h/", "https://h/s", "https://s/", "https://s/index.html", "http://s/caf%C3%A9"),
    *("http://i/d/index.html", "http://i/d/", "http://i/index.html/x", "http://.odd/%2E%2E"),
    *("http://h/a.b?c&d=%2F", "http://h/?", "http://h/x/?q", 'http://h/x?"<>'),
)


def page(url: str, body: str = "", kind: str = "text/html") -> Page:
    href = canonical(url)
    content = (body or f"<p>{href}").encode()
    return Page(Url(href, 1), Outcome.SUCCESS, 200, [("content-type", kind)], content)


def taken(folder: Path, most: int = 1 << 20) -> tuple[list[Spooled], dict[str, int]]:
    payloads = Payloads()
    (source,) = find([str(folder)], payloads, most)
    pages = [*source.pages()]
    payloads.close()
    assert not pages or pages[-1].done <= source.size
    return [each.spooled for each in pages], dict(source.left_out)


def check(folder: Path, urls: tuple[str, ...]) -> None:
    pages, left_out = taken(folder)
    assert left_out == {}
    assert {each.page.url.href: each.page.body.decode() for each in pages} == {
        canonical(url): f"<p>{canonical(url)}" for url in urls
    }
    assert {each.page.type for each in pages} == {"text/html"}


def test_the_paths_of_a_mirror_show_its_urls(tmp_path: Path) -> None:
    mirror = MirrorOutput(tmp_path)
    for url in URLS:
        mirror.loaded(page(url))
    mirror.close()
    check(tmp_path, URLS)


@settings(max_examples=300)
@given(st.text(st.sampled_from("ab/?#.%2F&=~ :é\\index.html"), max_size=12))
def test_each_path_leads_back(text: str) -> None:
    url = canonical(f"http://h/{text}")
    place = locate(url)
    assert url_at(place.plain, {f"{place.kind} {place.plain}"}) == url
    own = "/".join((place.own_site, *place.folders, place.own_name))
    assert url_at(own, ()) == url


def test_what_is_no_page_is_left_out(tmp_path: Path) -> None:
    mirror = MirrorOutput(tmp_path)
    mirror.loaded(page("http://h/a"))
    mirror.loaded(page("http://h/" + "x" * 300))
    mirror.close()
    (tmp_path / "h" / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "h" / "pipe")
    (tmp_path / "h" / "of nobody").touch()
    (tmp_path / "loose").touch()
    pages, left_out = taken(tmp_path)
    assert [each.page.url.href for each in pages if each.page.body] == ["http://h/a"]
    assert left_out == {"its path does not show a URL": 2, "cannot be read": 2}


@pytest.mark.parametrize("keep", [False, True])
def test_a_mirror_that_browses_offline(tmp_path: Path, keep: bool) -> None:
    mirror = BrowsableMirror(make_context(Config(output_dir=str(tmp_path), keep_originals=keep)))
    bodies = {url: f'<a href="{URLS[1]}">{url}</a>' for url in map(canonical, URLS)}
    for url, body in bodies.items():
        mirror.loaded(page(url, body))
    mirror.loaded(page("http://h/s.css", "p {}", "text/css"))
    for _ in mirror.finish(complete=True):
        pass
    mirror.close()
    before = sorted(path.name for path in tmp_path.iterdir())
    pages, left_out = taken(tmp_path)
    got = {each.page.url.href: (each.page.type, each.page.body.decode()) for each in pages}
    assert got.pop("http://h/s.css") == ("text/css", "p {}")
    assert got == {url: ("text/html", body) for url, body in bodies.items()}
    assert left_out == {}
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_mirror_is_read_while_a_crawl_writes_it(tmp_path: Path) -> None:
    """What the catalog has is in SQLite's log then, not in its file."""
    mirror = BrowsableMirror(make_context(Config(output_dir=str(tmp_path))))
    mirror.loaded(page("http://h/a", "<p>one"))
    mirror.cut()
    pages, left_out = taken(tmp_path)
    mirror.close()
    assert ([each.page.url.href for each in pages], left_out) == (["http://h/a"], {})


def catalog(folder: Path, *rows: tuple[object, ...]) -> None:
    """Make a mirror with a catalog of `rows`: url, path, headers, form."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / CATALOG)) as base, base:
        base.execute("CREATE TABLE page (id INTEGER PRIMARY KEY, url, path, headers, form)")
        statement = "INSERT INTO page (url, path, headers, form) VALUES (?, ?, ?, ?)"
        base.executemany(statement, rows)


def test_a_catalog_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / original_beside("secret")).write_text("secret")
    inside = tmp_path / "it"
    paths = (
        *("", ".", "..", "/", "../secret", str(tmp_path / "secret"), "h/../../secret", "folder"),
        *("link", "up/secret", "h/../h/page", "pipe", "nul\0", "\ud83d", "n" * 300),
    )
    rows = [
        (f"http://h/{number}", path.encode("utf-8", "replace").decode(), "[]", form)
        for number, path in enumerate(paths)
        for form in (None, "f")
    ]
    catalog(inside, *rows, ("http://h/good", "h/page", "[]", None))
    for folder in (inside / "h", inside / "folder"):
        folder.mkdir()
    (inside / "h" / "page").write_text("<p>good")
    (inside / "link").symlink_to("../secret")
    (inside / "up").symlink_to("..")
    os.mkfifo(inside / "pipe")
    pages, left_out = taken(inside)
    assert [each.page.body for each in pages] == [b"<p>good"]
    assert left_out == {"no file": len(rows)}


def test_a_damaged_row_of_a_catalog_costs_its_page(tmp_path: Path) -> None:
    good = ("http://h/", "page", '[["etag", "\\u00e9"]]', None)
    damaged = [
        *((good[0], good[1], headers, None) for headers in (None, 5, "null", "5", '"ab"', "[5]")),
        *((good[0], good[1], headers, None) for headers in ('[["a"]]', '[["a", 1]]', '{"a": 1}')),
        *((good[0], good[1], headers, None) for headers in ('[["a", "\\ud83d"]]', "[" * 99999)),
        *((url, good[1], "[]", None) for url in (None, 5, "", "not a url", b"\xff", "ftp://h/")),
        *((good[0], path, "[]", None) for path in (None, 5, b"page")),
    ]
    folder = tmp_path / "it"
    catalog(folder, *damaged, good)
    (folder / "page").write_text("<p>good")
    with closing(sqlite3.connect(folder / CATALOG)) as base, base:
        base.execute("UPDATE page SET url = CAST(url AS TEXT) WHERE typeof(url) = 'blob'")
    pages, left_out = taken(folder)
    assert [each.page.header("etag") for each in pages] == ["\xe9"]
    assert left_out == {DAMAGED: len(damaged)}


@pytest.mark.parametrize(
    ("at", "fetched"), [(-1e12, "1970-01-01T00:00:00Z"), (1e13, "9999-12-31T23:59:59Z")]
)
def test_files_of_any_time(at: float, fetched: str) -> None:
    read = read_page(page_in("http://h/a", b"<p>Some words", at), ReadOptions())
    assert isinstance(read, Prepared)
    assert (read.fetched, read.text.text()) == (fetched, "Some words")


def test_saved_pages(tmp_path: Path) -> None:
    output = SaveOutput(tmp_path, files_per_folder=5)
    for url in URLS:
        output.loaded(page(url))
    output.close()
    check(tmp_path, URLS)
    (tmp_path / "d00001" / "f00001").unlink()
    with (tmp_path / "d00000" / "index").open("ab") as index:
        index.write(b"9 not-a-url\n\0\0\n")
    pages, left_out = taken(tmp_path)
    assert len(pages) == len(URLS) - 1
    assert left_out == {"no file": 1, "a line of an index without a URL": 2}


def test_types_are_guessed() -> None:
    for url, body, expected in (
        ("http://h/x.php", b"\xef\xbb\xbf <!-- c --><!DOCTYPE html>", "text/html"),
        ("http://h/x.txt", b"<html>", "text/html"),
        ("http://h/x.txt?y=.html", b"text", "text/plain"),
        ("http://h/x", b"%PDF-1.4", "application/pdf"),
        ("http://h/x", b'<?xml version="1.0"?><rss>', "application/xml"),
        ("http://h/x", b"a\0b", "application/octet-stream"),
        ("http://h/x", b"<p>text", "text/html"),
        ("http://h/x", b"text", "text/plain"),
        ("http://h/x.png", b"\x89PNG\0", "image/png"),
    ):
        assert media_type(url, body) == expected
