"""The mirror that browses offline, on a disk: names, refreshing, kills, and a disk that refuses."""

import errno
import gzip
import os
import sqlite3
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count, pairwise, permutations
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.config import Config
from larbinpy.errors import UserError
from larbinpy.output.mirror.browsable import BrowsableMirror
from larbinpy.output.mirror.catalog import NAME, Catalog, is_rewritten
from larbinpy.output.mirror.paths import Spelling, original_of
from larbinpy.output.modes import open_outputs
from larbinpy.output.plug import Outputs
from larbinpy.page import Outcome, Page
from larbinpy.parse import Form, form_of
from larbinpy.url import Url, canonical
from tests.output.mirror.test_mirror import killed_at, near_urls, victim
from tests.support.contexts import make_context
from tests.support.moments import moments
from tests.support.smallfiles import small_files

pytestmark = pytest.mark.slow

__all__ = ["victim"]  # a fixture


def mirror_in(root: Path, **settings: Any) -> BrowsableMirror:
    """A mirror in `root`; `settings` are fields of its `Config`."""
    return BrowsableMirror(make_context(Config(output_dir=str(root), **settings)))


def page(url: str, body: str | bytes = "", type_: str = "text/html", *headers: str) -> Page:
    content = body.encode() if isinstance(body, str) else body
    pairs = [("content-type", type_), *(h.split(": ", 1) for h in headers)]
    return Page(
        Url(url, 1), Outcome.SUCCESS, 200, [(n, v) for n, v in pairs], content or url.encode()
    )


def opened(root: Path, **settings: Any) -> Outputs:
    """The mode mirror in `root`, with rewriteLinks or without."""
    return open_outputs(
        make_context(Config(output_mode=("mirror",), output_dir=str(root), **settings))
    )


def write(root: Path, *pages: Page, **settings: Any) -> None:
    """Crawl `pages`."""
    mirror = mirror_in(root, **settings)
    for each in pages:
        mirror.loaded(each)
    for _ in mirror.finish(complete=True):
        pass
    mirror.close()


def files(root: Path) -> dict[str, str]:
    """Paths and texts, without the files of its own."""
    return {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*")
        if path.is_file()
        and not str(path.relative_to(root)).startswith((".larbinpy", "index.html"))
    }


def test_links_lead_to_stored_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        page("http://h/", '<a href=x>x</a><a href="x?a">q</a><a href=y>y</a><img src=//i/p>'),
        page("http://h/x", "<a href=/#top>up</a>"),
        page("http://h/x?a", "<link rel=stylesheet href=s.css?v>"),
        page("http://h/s.css?v", "a{b:url(/d/svg)}", "text/css"),
        page("http://h/d/svg", '<svg><a href="../x"/></svg>', "image/svg+xml"),
        page("http://i/p", "GIF", "image/gif"),
    )
    assert files(tmp_path) == {
        "h/index.html": '<a href="x.html">x</a><a href="x%3Fa.html">q</a>'
        '<a href="http://h/y">y</a><img src="../i/p.gif">',
        "h/x.html": '<a href="index.html#top">up</a>',
        "h/x?a.html": '<link rel=stylesheet href="s.css%3Fv.css">',
        "h/s.css?v.css": "a{b:url(d/svg.svg)}",
        "h/d/svg.svg": '<svg><a href="../x.html"/></svg>',
        "i/p.gif": "GIF",
    }


def test_a_redirect_leads_to_a_part_of_a_page(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    for url, target in [("a", "b#part"), ("b", "c"), ("c", "d#last"), ("d", "x"), ("e", "d")]:
        mirror.moved(f"http://h/{url}", f"http://h/{target}")
    mirror.loaded(page("http://h/x"))
    mirror.loaded(page("http://h/", "<a href=a><a href=b><a href=a#own><a href=e>"))
    assert [*mirror.finish(complete=True)]
    parts = ("#last", "#last", "#own", "")
    text = "".join(f'<a href="x.html{part}">' for part in parts)
    assert files(tmp_path)["h/index.html"] == text
    mirror.close()


def test_a_script_says_its_encoding_if_it_is_not_that_of_the_page(tmp_path: Path) -> None:
    body = (
        "<meta charset=big5><script src=a></script><script src=b></script><script src=c></script>"
    )
    write(
        tmp_path,
        page("http://h/", body),
        page("http://h/a", "x", "text/javascript; charset=UTF8"),
        page("http://h/b", "x", "text/javascript; charset=big5"),
        page("http://h/c", "x", "text/javascript"),
    )
    after = '<meta charset=big5><script charset="utf-8" src="a.js"></script>'
    after += '<script src="b.js"></script><script src="c.js"></script>'
    assert files(tmp_path)["h/index.html"] == after


def test_a_refresh_of_the_header_is_in_the_page(tmp_path: Path) -> None:
    body = "<!doctype html><p>x"
    write(
        tmp_path,
        page("http://h/", body, "text/html", "refresh: 0; url=/x?a"),
        page("http://h/away", body, "text/html", "refresh: 5; url=http://o/?a&b"),
        page("http://h/again", body, "text/html", "refresh: 30"),
        page("http://h/x?a", "x"),
    )
    empty = page("http://h/empty", "", "", "refresh: 0; url=away")
    empty.body = b""
    write(tmp_path, empty)
    found = files(tmp_path)
    assert found["h/empty.html"] == '<meta http-equiv="refresh" content="0; url=away.html">'
    said = '<!doctype html><meta http-equiv="refresh" content="{}"><p>x'
    assert found["h/index.html"] == said.format("0; url=x%3Fa.html")
    assert found["h/away.html"] == said.format("5; url=http://o/?a&amp;b")
    assert found["h/again.html"] == body


def test_links_to_redirects_lead_to_their_targets(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    for url, target in [("old", "older"), ("older", "new"), ("a", "b"), ("b", "a"), ("x", "gone")]:
        mirror.moved(f"http://h/{url}", f"http://h/{target}")
    mirror.loaded(page("http://h/new"))
    mirror.loaded(page("http://h/", "<a href=old><a href=a><a href=x>"))
    mirror.cut()
    assert [*mirror.finish(complete=True)]
    text = '<a href="new.html"><a href="http://h/a"><a href="http://h/x">'
    assert files(tmp_path)["h/index.html"] == text
    # The redirect becomes a page again.
    mirror.loaded(page("http://h/old", "back"))
    assert [*mirror.finish(complete=True)]
    assert files(tmp_path)["h/index.html"].startswith('<a href="old.html">')
    mirror.close()


@pytest.mark.parametrize(
    ("url", "type_", "path"),
    [
        ("http://h/a", "text/html", "h/a.html"),
        ("http://h/a.HTM", "text/html", "h/a.HTM"),
        ("http://h/a.php", "text/html", "h/a.php.html"),
        ("http://h/a/", "text/css", "h/a/index.css"),
        ("http://h/a.html?x.html", "text/html", "h/a.html?x.html"),
        ("http://h/a?x", "image/png", "h/a?x.png"),
        ("http://h/a.js?x", "text/javascript", "h/a.js?x.js"),
        ("http://h/a", "application/xhtml+xml", "h/a.xhtml"),
        ("http://h/a", "", "h/a"),
        # What is no page is not called one.
        ("http://h/feed/", "application/rss+xml", "h/feed/index.xml"),
        ("http://h/api/", "application/json", "h/api/index.json"),
        ("http://h/api/?a=1", "application/json", "h/api/index?a=1.json"),
        ("http://h/print/", "application/pdf", "h/print/index.pdf"),
        ("http://h/print.html", "application/pdf", "h/print.html.pdf"),
        ("http://h/odd/", "application/x-odd", "h/odd/index"),
        ("http://h/odd.htm", "application/x-odd", "h/odd.htm.bin"),
        ("http://h/raw/", "text/plain", "h/raw/index.txt"),
        ("http://h/a.xml", "application/xml", "h/a.xml"),
        ("http://h/a", "text/xml; charset=utf-8", "h/a.xml"),
        # A name that has an ending keeps it.
        ("http://h/a.tar.gz", "application/gzip", "h/a.tar.gz"),
        ("http://h/a.docx", "application/zip", "h/a.docx"),
        ("http://h/LICENSE", "text/plain", "h/LICENSE"),
        ("http://h/v1.2", "application/json", "h/v1.2.json"),
        ("http://h/photo.jpeg", "image/png", "h/photo.jpeg"),
        ("http://h/site.webmanifest", "application/manifest+json", "h/site.webmanifest"),
    ],
)
def test_names_end_as_browsers_and_servers_expect(
    url: str, type_: str, path: str, tmp_path: Path
) -> None:
    write(tmp_path, page(url, "x", type_))
    assert files(tmp_path) == {path: "x"}


@pytest.mark.parametrize(
    ("url", "name", "path"),
    [
        ("http://h/d.php?id=7", 'filename="minutes.docx"', "h/minutes.docx"),
        ("http://h/d/9/", "filename=data.csv", "h/d/9/data.csv"),
        ("http://h/d", 'filename="C:\\\\a\\\\..\\\\b c.ods"', "h/b%20c.ods"),
        ("http://h/d", "filename=../../etc/x.conf", "h/x.conf"),
        ("http://h/d", "filename=.hidden", "h/hidden"),
        ("http://h/d", "filename=\"a;b.csv\"; filename*=UTF-8''%e2%82%ac.csv", "h/%E2%82%AC.csv"),
        ("http://h/d", "filename*=no-such'x'%20.csv; filename=b.csv", "h/b.csv"),
        ("http://h/d.bin", "filename=..", "h/d.bin"),
        ("http://h/d.bin", "filename=index.html", "h/d.bin"),
        ("http://h/d.bin", "", "h/d.bin"),
    ],
)
def test_a_download_has_its_own_name(url: str, name: str, path: str, tmp_path: Path) -> None:
    asked = page(url, "x", "application/octet-stream", f"content-disposition: attachment; {name}")
    write(tmp_path, asked)
    assert files(tmp_path) == {path: "x"}


def test_downloads_of_one_name_have_a_file_each(tmp_path: Path) -> None:
    header = "content-disposition: attachment; filename=a.csv"
    urls = [f"http://h/d?{number}" for number in range(3)]
    for _ in range(2):
        pages = [page(url, url, "text/csv", header) for url in urls]
        write(tmp_path, page("http://h/", "".join(f"<a href='{url}'>" for url in urls)), *pages)
        found = files(tmp_path)
        home = found.pop("h/index.html")
        assert sorted(found.values()) == urls
        assert all(path.startswith("h/a") and path.endswith(".csv") for path in found)
        assert all(quote(path.removeprefix("h/")) in home for path in found)


@pytest.mark.parametrize(
    ("body", "type_", "path"),
    [
        (b"\x89PNG\r\n\x1a\n<a href=x>", "text/html", "h/b.html.png"),
        (b"%PDF-1.4 <a href=x>", "text/html; charset=utf-8", "h/b.html.pdf"),
        (b"%PDF-1.4 <a href=x>", "application/octet-stream", "h/b.html.pdf"),
        (b"wOF2<a href=x>", "text/plain", "h/b.html.woff2"),
        (b"\0<a href=x>\0", "text/html", "h/b.html.bin"),
        (b' {"a": "<a href=/>"}', "text/html", "h/b.html.json"),
        (b"<?xml version='1.0'?><rss><a href='x'/></rss>", "text/html", "h/b.html.xml"),
    ],
)
def test_what_is_no_page_by_its_bytes_is_none(
    body: bytes, type_: str, path: str, tmp_path: Path
) -> None:
    write(tmp_path, page("http://h/b.html", body, type_))
    assert (tmp_path / path).read_bytes() == body


@pytest.mark.parametrize(
    ("url", "body", "is_page"),
    [
        ("http://h/f.html", "Hello <a href=/>home</a>", True),
        ("http://h/f.html", "1", True),
        ("http://h/f.html?x", "f(a) = <a href=/>b</a>", True),
        ("http://h/f.php", "It's here: <img src=/>", True),
        ("http://h/f", "Hello <li><a href=/>home</a>", True),
        ("http://h/", "Hello", True),
        ("http://h/f.php", "write('<a href=/>')", False),
        ("http://h/f", "a = b < c; d = '<a href=/>'", False),
        ("http://h/f.vtt", "WEBVTT <a href=/>", False),
        ("http://h/f.js", "Hello <a href=/>home</a>", False),
    ],
)
def test_what_a_frame_shows_is_a_page_without_the_tags_of_one(
    url: str, body: str, *, is_page: bool
) -> None:
    framed = page(url, body, "text/html")
    framed.url = replace(framed.url, requisite=True)
    assert (form_of(framed) is Form.HTML) is is_page


def test_what_is_no_page_by_its_place_is_none(tmp_path: Path) -> None:
    script, sheet = (page(f"http://h/{name}", "", "text/html") for name in "sc")
    script.body = "var a = '<a href=/>\u041f';".encode("cp1251")
    script.url = replace(script.url, requisite=True)
    sheet.body, sheet.headers = b"a{b:url(/s)}", []
    sheet.url = replace(sheet.url, requisite=True, sheet=True)
    frame = page("http://h/f", "<!-- x --><p><a href=/>", "text/html")
    frame.url = replace(frame.url, requisite=True)
    write(tmp_path, page("http://h/"), script, sheet, frame)
    assert (tmp_path / "h/s").read_bytes() == script.body
    assert (tmp_path / "h/c.css").read_bytes() == b"a{b:url(s)}"
    assert (tmp_path / "h/f.html").read_text() == '<!-- x --><p><a href="index.html">'


def test_a_refreshed_mirror_keeps_names_that_open(tmp_path: Path) -> None:
    """Of a mirror whose names an earlier version chose."""
    named = {"i?x": "image/png", "f/": "application/pdf", "s?x": "text/css"}
    pages = [page(f"http://h/{name}", "x", type_) for name, type_ in named.items()]
    write(tmp_path, *pages)
    with closing(Catalog(tmp_path)) as catalog:
        for old, new in {"i?x": "h/i?x", "f/": "h/f/index.html", "s?x": "h/s?x"}.items():
            entry = catalog.get(f"http://h/{old}")
            assert entry is not None
            (tmp_path / entry.path).rename(tmp_path / new)
            catalog.rename(entry.url, new)
    write(tmp_path, *pages)
    assert sorted(files(tmp_path)) == ["h/f/index.pdf", "h/i?x", "h/s?x.css"]


def test_the_first_of_two_pages_keeps_a_name(tmp_path: Path) -> None:
    urls = ("http://h/a", "http://h/a.html", "https://h/a")
    for number, order in enumerate(permutations(urls)):
        root = tmp_path / str(number)
        write(root, *(page(url) for url in order))
        names = {body: path for path, body in files(root).items()}
        assert names[order[0]] == "h/a.html"
        write(root, *(page(url, url + " again") for url in reversed(order)))
        assert {body: path for path, body in files(root).items()} == {
            body + " again": path for body, path in names.items()
        }


def test_a_page_and_its_twin_have_one_file(tmp_path: Path) -> None:
    """As the page of a folder and its index mostly have."""
    home = "<a href=/index.html>1</a><a href=/>2</a>"
    write(tmp_path, page("http://h/index.html", home), page("http://h/", home))
    text = '<a href="index.html">1</a><a href="index.html">2</a>'
    assert files(tmp_path) == {"h/index.html": text}
    with closing(Catalog(tmp_path)) as catalog:
        assert catalog.account.counts()["new"] == 2
    mirror = mirror_in(tmp_path)
    mirror.begin()
    for url in ("http://h/", "http://h/index.html"):
        mirror.loaded(page(url, home))
    mirror.close()
    with closing(Catalog(tmp_path)) as catalog:
        assert catalog.account.counts()["unchanged"] == 2
    # Once they differ each has its own.
    write(tmp_path, page("http://h/", "other"))
    assert files(tmp_path)["h/index.html#folder.html"] == "other"


@pytest.mark.parametrize("type_", ["text/html", "image/x-test"])
@pytest.mark.parametrize("first", ["twin", "gone"])
@pytest.mark.parametrize("status", [404, 500])
@pytest.mark.parametrize("known", [True, False])
def test_a_page_outlives_its_twin(
    tmp_path: Path, type_: str, first: str, status: int, known: bool
) -> None:
    """A folder's page is gone, or fails, and its index, which had no file of its own, is not.

    If it is not `known`, the index comes for the first time.
    """
    start = Url("http://h/", 1)
    home = page(start.href, "<a href=/d/index.html>1</a><a href=/d/>2</a>")
    folder, index = (page(f"http://h/d/{name}", "same", type_) for name in ("", "index.html"))
    for each in (folder, index):
        each.url = replace(each.url, via=start.href)
    write(tmp_path, home, folder, *([index] if known else []))
    mirror = mirror_in(tmp_path, purge=True)
    mirror.begin()
    mirror.loaded(home)
    ends: list[Callable[[], None]] = [
        lambda: mirror.loaded(index),
        lambda: mirror.missed(Page(folder.url, Outcome.ERR_40X, status)),
    ]
    for end in ends if first == "twin" else reversed(ends):
        end()
    for _ in mirror.finish(complete=True):
        pass
    mirror.close()
    with closing(Catalog(tmp_path)) as catalog:
        assert catalog.account.counts()["purged"] == (status == 404)
        assert catalog.account.counts()["new"] == (not known)
        path = catalog.path_of("http://h/d/index.html")
        gone = catalog.path_of("http://h/d/")
    assert path is not None
    assert (tmp_path / path).read_text() == "same"
    assert (gone is None) == (status == 404)
    assert "index.html" in (tmp_path / "h/index.html").read_text()


def ignore_case(patch: pytest.MonkeyPatch) -> None:
    """Have the disk spell all names below open folders in lower case."""

    def lower(name: object) -> object:
        return name.lower() if isinstance(name, str) and not name.startswith("/") else name

    def folding(call: Callable[..., object]) -> Callable[..., object]:
        return lambda *names, **more: call(*map(lower, names), **more)

    for name in ("open", "stat", "unlink", "rename", "mkdir", "rmdir"):
        patch.setattr(os, name, folding(getattr(os, name)))


def test_on_a_disk_that_ignores_case_the_file_of_another_page_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/A and /a have one file there; /A is gone."""
    ignore_case(monkeypatch)
    home = page("http://h/", "<a href=/A>1</a><a href=/a>2</a><a href=/B>3</a>")
    others = [page(f"http://h/{name}", "same", "image/x-test") for name in "BAa"]
    for each in others:
        each.url = replace(each.url, via="http://h/")
    write(tmp_path, home, *others)
    assert {*files(tmp_path)} == {"h/index.html", "h/a", "h/b"}
    mirror = mirror_in(tmp_path, purge=True)
    mirror.begin()
    mirror.loaded(home)
    mirror.loaded(others[-1])
    for each in others[:2]:
        mirror.missed(Page(each.url, Outcome.ERR_40X, 404))
    for _ in mirror.finish(complete=True):
        pass
    mirror.close()
    assert {*files(tmp_path)} == {"h/index.html", "h/a"}


def test_a_file_makes_way_for_a_folder_and_links_know(tmp_path: Path) -> None:
    pages = (
        page("http://h/a", "GIF", "image/x-test"),
        page("http://h/a/b", "PNG", "image/x-test"),
        page("http://h/", "<img src=a><img src=a/b>"),
    )
    for number, order in enumerate(permutations(pages)):
        root = tmp_path / str(number)
        write(root, *order)
        assert files(root) == {
            "h/a#file": "GIF",
            "h/a/b": "PNG",
            "h/index.html": '<img src="a%23file"><img src=a/b>',
        }


def test_no_names_differ_in_case_alone_on_request(tmp_path: Path) -> None:
    urls = [f"http://h/{path}" for path in ("A/x", "a/X", "a/x", "B", "b/c", "%C3%89", "%C3%A9")]
    pages = [page(url, url, "image/x-test") for url in urls]
    write(tmp_path, *pages, lower_case_names=True)
    found = files(tmp_path)
    assert sorted(found.values()) == sorted(urls)
    assert len({path.lower() for path in found}) == len(urls)
    folders = {str(path) for path in tmp_path.rglob("*")}
    assert len({path.lower() for path in folders}) == len(folders)


def test_originals_are_kept_on_request(tmp_path: Path) -> None:
    long = "x" * 255
    pages = [page("http://h/", "<a href=x>"), page(f"http://h/{long}", "<a href=/>")]
    pages += [page("http://h/same", "no link")]
    write(tmp_path, *pages, keep_originals=True)
    found = files(tmp_path)
    assert found["h/index.html#.orig"] == "<a href=x>"
    assert len(found) == 5
    assert max(len(path.rpartition("/")[2]) for path in found) <= 255


def test_files_are_as_old_as_their_pages(tmp_path: Path) -> None:
    old, wrong = "last-modified: Sun, 06 Nov 1994 08:49:37 GMT", "last-modified: yesterday"
    write(
        tmp_path,
        page("http://h/a", "<a href=b>", "text/html", old),
        page("http://h/p", "GIF", "image/x-test", old),
        page("http://h/w", "GIF", "image/x-test", wrong),
    )
    dates = [(tmp_path / "h" / name).stat().st_mtime for name in ("a.html", "p", "w")]
    assert dates[:2] == [784111777, 784111777]
    assert dates[2] > 1e9


@settings(max_examples=20, deadline=None)
@given(
    st.lists(near_urls, min_size=1, max_size=10),
    st.integers(0, 10),
    st.booleans(),
    st.sampled_from(Spelling),
)
def test_every_url_has_one_file_in_any_order(
    urls: list[str], stop: int, low: bool, spelling: Spelling
) -> None:
    with TemporaryDirectory() as name:
        root = Path(name)
        how = {"lower_case_names": low, "file_names": spelling.value}
        for suffix in (" once", " again"):
            for part in (urls[:stop], urls[stop:]):
                write(root, *(page(url, url + suffix) for url in part), **how)
            assert sorted(files(root).values()) == sorted(url + suffix for url in set(urls))


@settings(max_examples=20, deadline=None)
@given(
    st.text("./\\%2eEfF0~\x00 \u202eh:?#@", max_size=30),
    st.sampled_from(["text/html", "text/css", "image/x-test", "../../x", ""]),
)
def test_hostile_paths_stay_inside(text: str, type_: str) -> None:
    urls = {canonical("http://h/" + text), canonical("http://h/x?" + text)}
    with TemporaryDirectory() as name:
        root = Path(name) / "out"
        write(root, *(page(url, url, type_) for url in urls))
        assert os.listdir(name) == ["out"]
        assert {text.lstrip("\ufeff") for text in files(root).values()} == urls


def test_planted_links_are_not_followed(tmp_path: Path, victim: Path) -> None:
    root = tmp_path / "out"
    (root / "h").mkdir(parents=True)
    (root / "h" / "p").symlink_to(victim)
    (root / "h" / "d").symlink_to(victim.parent)
    (root / "h" / "index.html").symlink_to(victim)
    (root / ".larbinpy-part").symlink_to(victim)
    (root / ".larbinpy-originals").symlink_to(victim.parent)
    pages = [page(f"http://h/{name}", name, "image/x-test") for name in ("p", "d/passwd", "d")]
    write(root, *pages, page("http://h/", "<a href=p>"))
    assert (root / "h/p").read_text() == "p"
    # Nor in the next crawl.
    (root / "h" / "index.html").unlink()
    (root / "h" / "index.html").symlink_to(victim)
    write(root)
    assert files(root)["h/index.html"] == "<a href=p>"
    assert (root / "h/d/passwd").read_text() == "d/passwd"


@pytest.mark.parametrize("name", [NAME, ".larbinpy-names"])
def test_links_planted_for_the_mirrors_own_files(name: str, tmp_path: Path, victim: Path) -> None:
    root = tmp_path / "out"
    root.mkdir()
    (root / name).symlink_to(victim)
    with pytest.raises(OSError):
        write(root, page("http://h/", "<a href=x>"))


def test_a_second_crawl_is_refused(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    with pytest.raises(BlockingIOError):
        mirror_in(tmp_path)
    mirror.close()


def test_a_mirror_without_rewriting_leaves_it_alone(tmp_path: Path) -> None:
    write(tmp_path, page("http://h/"))
    with pytest.raises(FileExistsError, match="rewriteLinks"):
        opened(tmp_path)
    opened(tmp_path, rewrite_links=True).close()


def test_a_file_that_is_no_catalog_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"nonsense" * 1000)
    with pytest.raises(OSError, match="not a database"):
        mirror_in(tmp_path)
    assert not is_rewritten(tmp_path)


# Refreshing.

TAGGED = ('etag: "1"', "last-modified: Sun, 06 Nov 1994 08:49:37 GMT")
ASKED = ['If-None-Match: "1"', "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"]


def not_modified(url: str) -> Page:
    return Page(Url(url, 1), Outcome.ERR_30X, 304, [("etag", '"1"')])


@pytest.mark.parametrize("type_", ["text/html", "image/x-test"])
def test_an_unchanged_page_stays_and_is_read_as_it_came(type_: str, tmp_path: Path) -> None:
    write(tmp_path, page("http://h/", "<a href=b>", type_, *TAGGED, "link: <c>; rel=next"))
    before = files(tmp_path)
    mirror = mirror_in(tmp_path)
    assert mirror.conditions("http://h/") == ASKED
    again = not_modified("http://h/")
    mirror.unchanged(again)
    assert (again.outcome, again.body, again.type) == (Outcome.SUCCESS, b"<a href=b>", type_)
    assert again.header("link") == "<c>; rel=next"
    mirror.loaded(again)
    assert mirror.stats()["unchanged"] == 1
    mirror.close()
    assert files(tmp_path) == before


@pytest.mark.parametrize("type_", ["text/html", "image/x-test"])
def test_a_missing_file_is_fetched_without_conditions(type_: str, tmp_path: Path) -> None:
    write(tmp_path, page("http://h/x", "body", type_, *TAGGED))
    mirror = mirror_in(tmp_path)
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name not in (NAME, ".larbinpy-names"):
            path.unlink(missing_ok=True) if not path.name.startswith(NAME) else None
    assert mirror.conditions("http://h/x") == []
    again = not_modified("http://h/x")
    mirror.unchanged(again)
    assert again.outcome is Outcome.EARLY_STOP
    mirror.close()


def test_a_damaged_file_is_fetched_once_more(tmp_path: Path) -> None:
    """A power cut or its owner may have changed it."""
    write(tmp_path, page("http://h/p", "GIF", "image/x-test", *TAGGED))
    (tmp_path / "h/p").write_text("PNG")
    mirror = mirror_in(tmp_path)
    assert mirror.conditions("http://h/p") == ASKED
    again = not_modified("http://h/p")
    mirror.unchanged(again)
    assert again.outcome is Outcome.EARLY_STOP
    assert mirror.conditions("http://h/p") == []
    mirror.close()


def test_a_large_unchanged_file_without_links_is_not_read(tmp_path: Path) -> None:
    size = 3 << 20
    bodies = {
        ("video/mp4", b"\0"): False,
        ("application/octet-stream", b"\0"): False,
        ("application/gzip", b"\x1f\x8b\x08"): False,
        ("application/json", b"{"): False,
        ("text/plain", b"x"): False,
        ("text/html", b"<a href=x>"): True,
        ("application/rss+xml", b"<rss>"): True,
        ("application/octet-stream", b"<?xml version='1.0'?><rss>"): True,
        ("application/x-gzip", gzip.compress(b"<urlset>" + os.urandom(size))): True,
    }
    pages = [
        page(f"http://h/{number}", start.ljust(size, b" "), type_, *TAGGED)
        for number, (type_, start) in enumerate(bodies)
    ]
    write(tmp_path, *pages)
    for is_whole in (False, True):
        mirror = mirror_in(tmp_path, output_mode=("mirror", "save") if is_whole else ("mirror",))
        for old, is_read in zip(pages, bodies.values(), strict=True):
            again = not_modified(old.url.href)
            mirror.unchanged(again)
            assert again.outcome is Outcome.SUCCESS
            assert again.body == (old.body if is_read or is_whole else b""), old.type
        mirror.close()
    # Its size is still checked.
    os.truncate(tmp_path / "h/0.mp4", size - 1)
    mirror = mirror_in(tmp_path)
    gone = not_modified("http://h/0")
    mirror.unchanged(gone)
    assert gone.outcome is Outcome.EARLY_STOP
    mirror.close()


@pytest.mark.parametrize("path", ["h/x", ".larbinpy-originals"])
def test_a_replaced_file_is_read_up_to_the_size_of_its_page(path: str, tmp_path: Path) -> None:
    """It may unpack to more than the memory holds."""
    type_ = "image/x-test" if path == "h/x" else "text/html"
    write(tmp_path, page("http://h/x", "body", type_, *TAGGED))
    for file in (tmp_path / path).rglob("*") if type_ == "text/html" else [tmp_path / path]:
        if file.is_file():
            file.write_bytes(zlib.compress(bytes(1 << 26), 1))
    mirror = mirror_in(tmp_path)
    again = not_modified("http://h/x")
    tracemalloc.start()
    mirror.unchanged(again)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert again.outcome is Outcome.EARLY_STOP
    assert most < 1_000_000
    mirror.close()


def test_unsafe_headers_are_not_sent_back(tmp_path: Path) -> None:
    write(tmp_path, page("http://h/a", "x", "text/html", 'etag: "\u00e9"'))
    write(tmp_path, page("http://h/b", "x", "text/html", f'etag: "{"x" * 5000}"'))
    write(tmp_path, page("http://h/c", "x", "text/html", 'etag: "\x01"'))
    mirror = mirror_in(tmp_path)
    assert [mirror.conditions(f"http://h/{name}") for name in "abcd"] == [[]] * 4
    mirror.close()


def test_a_failure_leaves_the_copy(tmp_path: Path) -> None:
    write(tmp_path, page("http://h/"), page("http://h/x", "old"))
    mirror = mirror_in(tmp_path)
    mirror.loaded(page("http://h/", "<a href=x>"))
    mirror.failed(Url("http://h/x", 1), Outcome.ERR_40X)
    assert [*mirror.finish(complete=True)]
    mirror.close()
    assert files(tmp_path) == {"h/index.html": '<a href="x.html">', "h/x.html": "old"}


def test_a_page_of_another_type_moves(tmp_path: Path) -> None:
    write(tmp_path, page("http://h/x", "<p>"), page("http://h/", "<a href=x>"))
    write(tmp_path, page("http://h/x", "PDF", "application/x-test"))
    assert files(tmp_path) == {"h/index.html": "<a href=x>", "h/x": "PDF"}


def test_a_page_of_another_type_is_kept_until_the_new_one_is_there(tmp_path: Path) -> None:
    write(tmp_path, page("http://h/x", "text", "text/plain", *TAGGED))
    mirror = mirror_in(tmp_path)
    with small_files(100_000), pytest.raises(OSError):
        mirror.loaded(page("http://h/x", os.urandom(200_000)))
    assert files(tmp_path) == {"h/x": "text"}
    assert mirror.conditions("http://h/x") == ASKED
    # Also if the page becomes the same as before again.
    mirror.loaded(page("http://h/x", "text", "application/xhtml+xml"))
    mirror.loaded(page("http://h/x", "text"))
    assert files(tmp_path) == {"h/x.html": "text"}
    mirror.close()


def test_a_page_that_redirected_once_is_itself_again(tmp_path: Path) -> None:
    """In three crawls: a page, a redirect, and the page as it was."""
    home, own = page("http://h/", "<a href=u>"), page("http://h/u", "u", "text/html", *TAGGED)
    write(tmp_path, home, own, page("http://h/t", "t"))
    for redirects, link in ((True, "t.html"), (False, "u.html")):
        mirror = mirror_in(tmp_path)
        mirror.begin()
        mirror.loaded(home)
        if redirects:
            mirror.moved("http://h/u", "http://h/t")
            mirror.missed(Page(own.url, Outcome.ERR_30X, 301))
        else:
            again = not_modified("http://h/u")
            mirror.unchanged(again)
            mirror.loaded(again)
        assert [*mirror.finish(complete=True)]
        mirror.close()
        assert files(tmp_path)["h/index.html"] == f'<a href="{link}">'


def redirected(mirror: BrowsableMirror, url: str, target: str) -> Page:
    """The page `url`, which redirects to `target`, as the output has noted it."""
    mirror.moved(url, target)
    moved = Page(Url(url, 1), Outcome.ERR_30X, 302)
    moved.detail = target
    mirror.missed(moved)
    return moved


def test_a_circle_of_redirects_is_a_failure(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    mirror.begin()
    urls = [f"http://h/{name}" for name in "abc"]
    moved = [redirected(mirror, url, urls[(n + 1) % 3]) for n, url in enumerate(urls)]
    assert moved[2].detail == "its redirects go in a circle: its URLs differ in the path"
    nowhere = Page(Url("http://h/d", 1), Outcome.ERR_30X, 302)
    nowhere.detail = "it names no URL that can be crawled"
    mirror.missed(nowhere)
    stats = mirror.stats()
    assert stats["failed"] == 2
    mirror.close()


def test_redirects_of_an_earlier_crawl_make_no_circle(tmp_path: Path) -> None:
    write(tmp_path, page("http://h/", "<a href=a>"))
    for way in (("http://h/a", "http://h/b"), ("http://h/b", "http://h/a")):
        mirror = mirror_in(tmp_path)
        mirror.begin()
        assert redirected(mirror, *way).detail == way[1]
        assert mirror.stats()["failed"] == 0
        mirror.cut()
        mirror.close()


def test_a_redirect_that_became_a_page_is_forgotten(tmp_path: Path) -> None:
    pages = [page("http://h/", "<a href=u>"), page("http://h/u", "u", "text/html", *TAGGED)]
    write(tmp_path, *pages, page("http://h/t", "t"))
    mirror = mirror_in(tmp_path)
    mirror.moved("http://h/u", "http://h/t")
    assert [*mirror.finish(complete=True)]
    assert files(tmp_path)["h/index.html"] == '<a href="t.html">'
    again = not_modified("http://h/u")
    mirror.unchanged(again)
    mirror.loaded(again)
    assert [*mirror.finish(complete=True)]
    assert files(tmp_path)["h/index.html"] == '<a href="u.html">'
    mirror.close()


def test_an_archive_beside_it_gets_all_pages(tmp_path: Path) -> None:
    write(tmp_path, page("http://h/", "x", "text/html", *TAGGED))
    mirror = mirror_in(tmp_path, output_mode=("mirror", "warc"))
    assert mirror.conditions("http://h/") == []
    unasked = not_modified("http://h/")
    mirror.unchanged(unasked)
    assert (unasked.outcome, unasked.body) == (Outcome.ERR_30X, b"")
    mirror.close()


@pytest.mark.parametrize("path", ["h/d/p", ".larbinpy-originals"])
def test_nothing_is_read_or_removed_through_a_planted_link(path: str, tmp_path: Path) -> None:
    root, away = tmp_path / "out", tmp_path / "away"
    type_ = "image/x-test" if path == "h/d/p" else "text/html"
    write(root, page("http://h/d/p", "body", type_, *TAGGED))
    folder = (root / path).parent if type_ == "image/x-test" else root / path
    folder.rename(away)
    folder.symlink_to(away)
    mirror = mirror_in(root)
    assert mirror.conditions("http://h/d/p") == []
    again = not_modified("http://h/d/p")
    mirror.unchanged(again)
    assert again.outcome is Outcome.EARLY_STOP
    before = [file.read_bytes() for file in away.rglob("*") if file.is_file()]
    mirror.loaded(page("http://h/d/p", "{}", "application/json"))
    mirror.loaded(page("http://h/d/p", "a{}", "text/css"))
    mirror.close()
    assert [file.read_bytes() for file in away.rglob("*") if file.is_file()] == before


def test_unchanged_files_are_not_written_again(tmp_path: Path) -> None:
    pages = [page("http://h/", "<a href=p>"), page("http://h/p", "GIF", "image/x-test")]
    write(tmp_path, *pages)
    inodes = [(tmp_path / "h" / name).stat().st_ino for name in ("index.html", "p")]
    write(tmp_path, *pages)
    assert [(tmp_path / "h" / name).stat().st_ino for name in ("index.html", "p")] == inodes


def test_a_file_that_the_owner_removed_is_made_again(tmp_path: Path) -> None:
    write(tmp_path, page("http://h/", "<a href=x>"))
    before = files(tmp_path)
    (tmp_path / "h/index.html").unlink()
    write(tmp_path)
    assert files(tmp_path) == before


# Kills and disks.

SITE = (
    page("http://h/", "<a href=a><a href=a/b>"),
    page("http://h/a", "GIF", "image/x-test"),
    page("http://h/a/b", "<a href=..><a href=/c>"),
    page("http://h/c", "<a href=a>"),
)


def test_a_kill_at_any_moment_and_the_same_mirror_in_the_end(tmp_path: Path) -> None:
    write(tmp_path / "whole", *SITE)
    whole = files(tmp_path / "whole")
    step, died = 0, True
    while died:
        root = tmp_path / str(step)
        died = killed_at(step, lambda root=root: write(root, *SITE))  # type: ignore[misc]
        for path, text in files(root).items():
            assert text in {*whole.values(), *(p.body.decode() for p in SITE)}, path
        write(root, *SITE)
        # The first name of "/a" is lost by a kill, so names may differ.
        assert sorted(files(root).values()) == sorted(whole.values())
        step += 5
    assert step > 60


@pytest.mark.parametrize("type_", ["image/x-test", "text/html"])
def test_a_kill_after_a_file_made_way_for_a_folder(type_: str, tmp_path: Path) -> None:
    first, second = page("http://h/a.html", "a", type_, *TAGGED), page("http://h/a.html/b", "b")

    def crawl() -> None:
        mirror = mirror_in(root)
        mirror.loaded(first)
        mirror.cut()
        mirror.loaded(second)

    for step in moments():
        root = tmp_path / str(step)
        died = killed_at(step, crawl)
        if (root / "h/a.html#file.html").exists() or (root / "h/a.html#file").exists():
            # Pages from before the checkpoint do not come again.
            write(root, second)
            mirror = mirror_in(root)
            assert mirror.conditions("http://h/a.html") == ASKED
            mirror.loaded(first)
            mirror.close()
            assert sorted(files(root).values()) == ["a", "b"]
        if not died:
            break
    assert step > 30


def test_no_page_is_made_from_half_an_original(tmp_path: Path) -> None:
    """After a power cut the page stays as it is, and comes anew the next time."""
    body = "".join(f"<a href=/{number}>" for number in range(1000))
    write(tmp_path, page("http://h/", body, "text/html", *TAGGED))
    before = files(tmp_path)
    [original] = (p for p in (tmp_path / ".larbinpy-originals").rglob("*") if p.is_file())
    os.truncate(original, original.stat().st_size // 2)
    write(tmp_path, page("http://h/5", "5"))
    assert files(tmp_path).items() >= before.items()
    mirror = mirror_in(tmp_path)
    again = not_modified("http://h/")
    mirror.unchanged(again)
    assert again.outcome is Outcome.EARLY_STOP
    mirror.close()


def test_a_kill_while_pages_change_leaves_a_mirror_that_can_be_finished(tmp_path: Path) -> None:
    """It is marked as not rewritten while links are raw, and each name in it has its file."""
    changed = (
        page("http://h/", "<a href=a><a href=a/b><a href=/c>"),
        page("http://h/a", "<a href=/c>"),
        page("http://h/c", "GIF", "image/x-test"),
        page("http://h/c/d", "<a href=..>"),
    )
    raw = {each.body.decode() for each in (*SITE, *changed) if each.body.startswith(b"<")}

    def crawl() -> None:
        mirror = mirror_in(root)
        for each in changed:
            mirror.loaded(each)
        mirror.cut()
        for _ in mirror.finish(complete=True):
            pass
        mirror.close()

    write(tmp_path / "before", *SITE)
    assert is_rewritten(tmp_path / "before")
    to_be_rewritten = 0
    # All of them: some faults show at one moment in three.
    for step in count():
        root = tmp_path / str(step)
        copytree(tmp_path / "before", root)
        died = killed_at(step, crawl)
        if raw & {*files(root).values()}:
            assert not is_rewritten(root), step
            to_be_rewritten += 1
        # The next start finishes the removals that a kill prevented.
        mirror_in(root).close()
        assert files(root).keys() >= {*named(root).values()}, step
        if not died:
            break
    assert step > 60
    assert to_be_rewritten > 30


def named(root: Path) -> dict[str, str]:
    """Return the file of each URL in the catalog."""
    if not (root / NAME).exists():
        return {}
    with closing(sqlite3.connect(root / NAME)) as base, suppress(sqlite3.OperationalError):
        return dict(base.execute("SELECT url, path FROM page").fetchall())
    return {}


@pytest.mark.parametrize("type_", ["image/x-test", "text/html"])
def test_a_kill_leaves_no_file_that_the_catalog_does_not_name(type_: str, tmp_path: Path) -> None:
    """A page may get another name, or its file may make way for a folder."""
    before, way = page("http://h/x", "text", "text/plain"), page("http://h/a.html", "a", type_)
    after, inside = page("http://h/x", "x", type_), page("http://h/a.html/b", "b")

    def crawl() -> None:
        mirror = mirror_in(root)
        mirror.loaded(before)
        mirror.loaded(way)
        mirror.cut()
        mirror.loaded(after)
        mirror.loaded(inside)
        mirror.cut()

    for step in moments():
        root = tmp_path / str(step)
        died = killed_at(step, crawl)
        # Pages without a fate at the last checkpoint come again.
        checked = "http://h/a.html" in named(root)
        write(root, *([] if checked else [before, way]), *([after, inside] if died else []))
        assert files(root).keys() == {*named(root).values()}, step
        if not died:
            break
    assert step > 60


@pytest.mark.parametrize("url", ["http://h/d/", "http://h/d/index.html"])
@pytest.mark.parametrize("type_", ["text/html", "image/x-test"])
def test_a_page_that_comes_while_another_is_removed_keeps_its_file(
    tmp_path: Path, type_: str, url: str
) -> None:
    """The catalog has forgotten a page, but a kill has left its files to the next start. By then
    its place may belong to a page, `url`, which is another one or the same."""
    write(tmp_path, page("http://h/d/", "text", type_))
    with closing(Catalog(tmp_path)) as catalog:
        entry = catalog.get("http://h/d/")
        assert entry is not None
        catalog.purge(entry.url, [original_of(entry.url), entry.path])
        catalog.put(replace(entry, url=url))
    mirror_in(tmp_path).close()
    assert (tmp_path / entry.path).read_text() == "text"
    is_same, has_original = url == entry.url, type_ == "text/html"
    assert (tmp_path / original_of(entry.url)).exists() == (is_same and has_original)
    with closing(Catalog(tmp_path)) as catalog:
        assert catalog.purging() == []


def test_a_page_that_took_the_name_of_another_keeps_it(tmp_path: Path) -> None:
    """A kill came after the name was given up and before the catalog forgot that."""
    write(tmp_path, page("http://h/a", "GIF", "image/x-test"))
    with closing(Catalog(tmp_path)) as catalog:
        catalog.leave("h/a", "h/b")
    mirror_in(tmp_path).close()
    assert files(tmp_path) == {"h/a": "GIF"}
    with closing(Catalog(tmp_path)) as catalog:
        assert catalog.leaving() == []


def test_a_folder_in_the_place_of_a_page_is_no_obstacle(tmp_path: Path) -> None:
    """As after a power cut that lost the catalog's note of a move, but not the move."""
    pages = [page("http://h/p", "<p>"), page("http://h/q", "GIF", "image/x-test")]
    write(tmp_path, *pages, page("http://h/", "<a href=p>"))
    for name in ("p.html", "q"):
        (tmp_path / "h" / name).unlink()
        (tmp_path / "h" / name).mkdir()
    write(tmp_path, pages[1])
    assert files(tmp_path) == {
        "h/p#file.html": "<p>",
        "h/q#file": "GIF",
        "h/index.html": '<a href="p%23file.html">',
    }


def test_pages_that_come_while_links_are_rewritten_are_rewritten_too(tmp_path: Path) -> None:
    pages = [page(f"http://h/{name}", "<a href=/>") for name in ("", "x", "t")]
    write(tmp_path, *pages)
    mirror = mirror_in(tmp_path)
    steps = mirror.finish(complete=True)
    next(steps)
    mirror.loaded(page("http://h/", "<a href=x><a href=y><a href=z>"))
    next(steps)
    mirror.loaded(page("http://h/y", "y"))
    mirror.loaded(page("http://h/t", "text", "text/plain"))
    mirror.moved("http://h/z", "http://h/y")
    assert [*steps]
    mirror.close()
    text = '<a href="x.html"><a href="y.html"><a href="y.html">'
    assert files(tmp_path) == {
        "h/index.html": text,
        "h/x.html": '<a href="index.html">',
        "h/y.html": "y",
        "h/t": "text",
    }
    assert is_rewritten(tmp_path)


def test_a_mark_differs_after_each_change(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    marks = [mirror.cut()]
    mirror.loaded(page("http://h/", "<a href=/>"))
    marks.append(mirror.cut())
    assert [*mirror.finish(complete=True)]
    marks.append(mirror.cut())
    mirror.moved("http://h/x", "http://h/")
    marks.append(mirror.cut())
    assert all(a != b for a, b in pairwise(marks))
    assert mirror.cut() == marks[-1]
    mirror.close()


def test_a_mirror_that_began_without_rewriting_goes_on_without_it(tmp_path: Path) -> None:
    plain = opened(tmp_path)
    before = plain.cut()
    plain.loaded(page("http://h/", "x"))
    mark = plain.cut()
    plain.close()
    mirror = opened(tmp_path, rewrite_links=True)
    with pytest.raises(UserError, match="rewriteLinks"):
        mirror.load(mark)
    mirror.close()
    assert not [*tmp_path.glob(NAME + "*")]
    plain = opened(tmp_path)
    plain.load(mark)
    plain.close()
    # Before the first page either may go on.
    mirror = opened(tmp_path, rewrite_links=True)
    mirror.load(before)
    mirror.loaded(page("http://h/", "x"))
    mirror.load(mirror.cut())
    mirror.close()


def test_rewriting_that_was_killed_is_noted_and_done_again(tmp_path: Path) -> None:
    assert is_rewritten(tmp_path)
    mirror = mirror_in(tmp_path)
    for each in SITE:
        mirror.loaded(each)
    assert not is_rewritten(tmp_path)
    mirror.cut()
    next(mirror.finish(complete=True))
    mirror.close()
    assert not is_rewritten(tmp_path)
    write(tmp_path)
    assert is_rewritten(tmp_path)
    assert files(tmp_path)["h/c.html"] == '<a href="a%23file">'


def test_a_disk_that_refuses_leaves_what_was_there(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    mirror.loaded(page("http://h/p", "old", "image/x-test"))
    mirror.cut()
    big = page("http://h/p", os.urandom(200_000), "image/x-test")
    with small_files(100_000), pytest.raises(OSError) as caught:
        mirror.loaded(big)
    assert caught.value.errno == errno.EFBIG
    assert files(tmp_path) == {"h/p": "old"}
    mirror.loaded(page("http://h/p", "new", "image/x-test"))
    assert files(tmp_path) == {"h/p": "new"}
    assert mirror.stats()["pages"] == 2
    mirror.close()


def test_a_catalog_that_is_full_is_an_os_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = mirror_in(tmp_path)
    base = mirror._catalog.base._base
    base.execute("PRAGMA max_page_count=6")
    with pytest.raises(OSError) as caught:
        for number in range(1000):
            mirror.loaded(page(f"http://h/{number}", "x" * 100))
    assert caught.value.errno == errno.ENOSPC
    base.execute("PRAGMA max_page_count=100000")
    mirror.close()


def test_the_catalog_is_whole_after_a_kill(tmp_path: Path) -> None:
    def crawl() -> None:
        mirror = mirror_in(tmp_path)
        for number in range(100):
            mirror.loaded(page(f"http://h/{number}", "GIF", "image/x-test"))
            if number == 50:
                mirror.cut()

    killed_at(1500, crawl)
    with sqlite3.connect(tmp_path / NAME) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        [[count]] = base.execute("SELECT count(*) FROM page")
    base.close()
    assert count >= 51
