"""The front page of a mirror: what it lists, and whose file it is."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.config import Config
from larbinpy.output.mirror.browsable import BrowsableMirror
from larbinpy.output.mirror.catalog import NAME
from larbinpy.output.mirror.tree import Tree
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.contexts import make_context

HTML = [("content-type", "text/html")]


class Killed(BaseException):
    """The process ends here."""


def refresh(root: Path, markup: str) -> str:
    """Refresh a mirror whose start page is `markup`; returns its front page."""
    with closing(BrowsableMirror(make_context(Config(output_dir=str(root))))) as mirror:
        mirror.begin()
        start = Url("http://h/?a&b", 1)
        mirror.loaded(Page(start, Outcome.SUCCESS, 200, HTML, markup.encode()))
        for _ in mirror.finish(complete=True):
            pass
    return (root / "index.html").read_text()


def test_a_start_page_is_called_by_its_title_or_its_url(tmp_path: Path) -> None:
    text = refresh(tmp_path, "<title>The &lt;b&gt; element</title>")
    assert ">The &lt;b&gt; element</a> &ndash; http://h/?a&amp;b</li>" in text
    text = refresh(tmp_path, "<title> </title><p>No title")
    assert ">http://h/?a&amp;b</a></li>" in text


def facts(root: Path) -> list[tuple[str]]:
    """The catalog's note as another process sees it: a kill leaves that."""
    with closing(sqlite3.connect(root / NAME)) as other:
        return other.execute("SELECT value FROM fact WHERE name = 'front page'").fetchall()


def test_a_kill_before_the_page_is_written_leaves_it_larbinpys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for title in ("Zero", "One"):
        refresh(tmp_path, f"<title>{title}</title>")
    [(before,)] = facts(tmp_path)
    write = Tree.write
    noted: list[tuple[str]] = []

    def killed(tree: Tree, path: str, body: bytes, modified: float | None = None) -> None:
        if path == "index.html":
            noted.extend(facts(tmp_path))
            raise Killed
        write(tree, path, body, modified)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Tree, "write", killed)
        refresh(tmp_path, "<title>Two</title>")
    [(own,)] = noted
    # The digests of the page that comes, and of the one that is there.
    assert own.split()[1:] == before.split()[:1] and own.split()[0] not in before.split()
    assert ">One</a>" in (tmp_path / "index.html").read_text()
    assert ">Three</a>" in refresh(tmp_path, "<title>Three</title>")


def test_it_says_what_is_missing(tmp_path: Path) -> None:
    with closing(BrowsableMirror(make_context(Config(output_dir=str(tmp_path))))) as mirror:
        mirror.begin()
        mirror.loaded(Page(Url("http://h/", 1), Outcome.SUCCESS, 200, HTML, b"x"))
        for name, outcome in [
            ("a", Outcome.ERR_40X), ("b", Outcome.ERR_50X), ("c", Outcome.FORBIDDEN_ROBOTS)
        ]:  # fmt: skip
            mirror.missed(Page(Url(f"http://h/{name}", 0, via="http://h/"), outcome))
        for _ in mirror.finish(complete=True, left_out=[(1200, "links: they are <deep>")]):
            pass
    text = (tmp_path / "index.html").read_text()
    # What robots.txt refuses is told as left out.
    failed, left = "<li>2 could not be fetched</li>", "<li>1,200 links: they are &lt;deep&gt;</li>"
    assert f"<h2>Not in this mirror</h2>\n<ul>\n{failed}\n{left}\n</ul>" in text
    assert "Not in" not in refresh(tmp_path, "<title>One</title>")


def test_a_mirror_without_a_start_page_has_none(tmp_path: Path) -> None:
    with closing(BrowsableMirror(make_context(Config(output_dir=str(tmp_path))))) as mirror:
        mirror.loaded(Page(Url("http://h/a", 0, via="http://h/"), Outcome.SUCCESS, 200, HTML, b"x"))
        mirror.missed(Page(Url("http://h/", 1), Outcome.TIMEOUT))
        for _ in mirror.finish(complete=True):
            pass
    assert not (tmp_path / "index.html").exists()


def test_long_titles_are_cut(tmp_path: Path) -> None:
    for length, shown in ((200, "t" * 200), (201, "t" * 197 + "...")):
        assert f">{shown}</a>" in refresh(tmp_path, f"<title>{'t' * length}</title>")


def test_a_page_of_the_users_own_stays(tmp_path: Path) -> None:
    refresh(tmp_path, "<title>One</title>")
    (tmp_path / "index.html").write_text("mine")
    assert refresh(tmp_path, "<title>Two</title>") == "mine"
