"""Refreshes of a mirror: what they count as new, changed and gone, and what --purge removes."""

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import process_time

import pytest

from larbinpy import Start
from larbinpy.output.mirror.catalog import NAME, Account, Catalog, Refreshed
from larbinpy.output.mirror.paths import original_of
from larbinpy.output.mirror.tree import Tree
from larbinpy.page import UNASKED
from larbinpy.parse.grammars import title_in
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

BROWSE = "outputMode mirror rewriteLinks requisites everywhere lockSite anyType getCGI retries 0"
PURGE = f"{BROWSE} purge"


def files(world: World) -> set[str]:
    """Files of pages, without the port."""
    root = world.folder / "out"
    return {
        str(path.relative_to(root)).replace(f":{world.web.port}", "")
        for path in root.rglob("*")
        if path.is_file() and path.parent != root and ".larbinpy" not in str(path)
    }


@contextmanager
def account(world: World) -> Iterator[Account]:
    with closing(Catalog(world.folder / "out")) as catalog:
        yield catalog.account


def counts(world: World) -> dict[str, int]:
    with account(world) as found:
        return found.counts()


def refusal(world: World) -> str:
    with account(world) as found:
        return found.refusal


def originals(world: World) -> int:
    return sum(path.is_file() for path in (world.folder / "out/.larbinpy-originals").rglob("*"))


def catalogued(world: World) -> set[str]:
    with closing(Catalog(world.folder / "out")) as catalog:
        paths = (entry.path for entry in catalog.pages(linking=False))
        return {path.replace(f":{world.web.port}", "") for path in paths}


@pytest.fixture
def first(web: Web, crawl: Worlds) -> World:
    """A mirror of five pages, an image and a style sheet of another host."""
    sheet = web.url("c.test/s.css")
    home = f'<link rel=stylesheet href="{sheet}">' + "".join(
        f'<a href="/{name}">x</a>' for name in ("a", "b", "d/")
    )
    web.put("a.test/", Answer(home.encode()))
    web.page("a.test/a", "/deep/1", images=["/i.gif"])
    web.pages("a.test/b", "a.test/d/", "a.test/deep/1")
    web.file("a.test/i.gif", b"GIF", "image/gif")
    web.file("c.test/s.css", b"a { }", "text/css")
    world = crawl(BROWSE)
    assert files(world) == ALL
    assert counts(world)["new"] == len(ALL)
    return world


PAGES = {f"a.test/{name}" for name in ("index.html", "a.html", "b.html", "d/index.html")}
ALL = PAGES | {"a.test/deep/1.html", "a.test/i.gif", "c.test/s.css"}


def refresh(crawl: Worlds, first: World, lines: str) -> World:
    return crawl(lines, folder=first.folder, start=Start.SCRATCH)


def test_a_refresh_counts_what_it_finds(web: Web, crawl: Worlds, first: World) -> None:
    web.page("a.test/b", "/new")
    web.pages("a.test/new")
    web.put("a.test/d/", Answer(status=503))
    web.put("a.test/i.gif", Answer(status=410))
    second = refresh(crawl, first, BROWSE)
    assert counts(second) == {
        "new": 1,
        "changed": 1,
        "unchanged": 4,
        "gone": 1,
        "purged": 0,
        "failed": 2,
        "refused": 0,
        "kept": 2,
    }
    assert files(second) == ALL | {"a.test/new.html"}
    with account(second) as found:
        assert found.urls(Refreshed.NEW, most=9) == [web.url("a.test/new")]
        failures = {each.url: (each.status, each.had) for each in found.failures(9)}
    assert failures == {web.url("a.test/d/"): (503, True), web.url("a.test/i.gif"): (410, True)}


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("text/css", '@import "t.css"; a { background: url(i/bg.png) } b { src: url(i/x.png) }'),
        (
            "image/svg+xml",
            '<svg xmlns:xlink="http://www.w3.org/1999/xlink"><image href="i/bg.png"/>'
            '<image xlink:href="i/x.png"/><use href="t.css"/></svg>',
        ),
        (
            "application/manifest+json",
            '{"start_url": "t.css", "icons": [{"src": "i/bg.png"}, {"src": "i/x.png"}]}',
        ),
    ],
)
@pytest.mark.parametrize("said", ["text/html", "text/plain", "image/png"])
def test_an_unchanged_file_is_read_as_the_type_that_it_came_with(
    web: Web, crawl: Worlds, type_: str, body: str, said: str
) -> None:
    """Some servers send a 304 with the type of their error pages, or their default."""
    tag = 'ETag: "1"'
    web.put("a.test/", Answer(b"<link rel=stylesheet href=/s>", headers=(tag,)))
    web.file("a.test/s", body.encode(), type_, headers=(tag,))
    web.file("a.test/t.css", b"c { }", "text/css")
    web.file("a.test/i/bg.png", b"old", "image/png")
    web.put("a.test/i/x.png", Answer(status=500))
    first = crawl(BROWSE)
    assert len(first.pages_asked) == 5
    web.put("a.test/", Answer(b"", said, 304))
    web.put("a.test/s", Answer(b"", said, 304))
    web.file("a.test/i/bg.png", b"new", "image/png")
    web.file("a.test/i/x.png", b"is back", "image/png")
    second = refresh(crawl, first, BROWSE)
    assert {asked.path for asked in second.pages_asked} == {
        *("/", "/s", "/t.css", "/i/bg.png", "/i/x.png")
    }
    assert second.fates["a.test/s"]["type"] == type_
    root = second.folder / f"out/a.test:{web.port}"
    assert (root / "i/bg.png").read_text() == "new"
    assert (root / "i/x.png").read_text() == "is back"
    count = counts(second)
    assert (count["new"], count["changed"], count["unchanged"], count["failed"]) == (1, 1, 3, 0)


def test_pages_that_are_gone_are_purged_with_their_folders(
    web: Web, crawl: Worlds, first: World
) -> None:
    """/b by its status; /a and all below it as nothing links to it any more."""
    web.page("a.test/", "/b", "/d/")
    web.put("a.test/b", Answer(status=404))
    (first.folder / "out/mine").write_text("mine")
    second = refresh(crawl, first, PURGE)
    assert refusal(second) == ""
    assert counts(second)["gone"] == counts(second)["purged"] == 5
    assert files(second) == catalogued(second) == {"a.test/index.html", "a.test/d/index.html"}
    assert originals(second) == 2
    assert not (second.folder / f"out/a.test:{web.port}/deep").exists()
    assert not (second.folder / f"out/c.test:{web.port}").exists()
    assert (second.folder / "out/mine").read_text() == "mine"
    home = (second.folder / f"out/a.test:{web.port}/index.html").read_text()
    assert f'href="{web.url("a.test/b")}"' in home  # to the web again
    # They are no news the next time.
    third = refresh(crawl, first, PURGE)
    assert counts(third)["gone"] == 0


def test_gone_pages_are_kept_without_purge(web: Web, crawl: Worlds, first: World) -> None:
    web.page("a.test/", "/b", "/d/")
    second = refresh(crawl, first, BROWSE)
    assert counts(second)["gone"] == 4
    assert files(second) == ALL
    # A later refresh still removes them.
    third = refresh(crawl, first, PURGE)
    assert files(third) == {f"a.test/{name}" for name in ("index.html", "b.html", "d/index.html")}


def test_a_failed_page_keeps_all_that_it_links_to(web: Web, crawl: Worlds, first: World) -> None:
    web.put("a.test/a", Answer(status=500))
    second = refresh(crawl, first, PURGE)
    assert files(second) == ALL
    assert counts(second)["gone"] == 0


def test_a_failed_page_with_a_damaged_copy_may_link_to_anything(
    web: Web, crawl: Worlds, first: World
) -> None:
    web.put("a.test/a", Answer(status=500))
    with closing(Catalog(first.folder / "out")) as catalog:
        entry = catalog.get(web.url("a.test/a"))
    assert entry is not None
    (first.folder / "out" / original_of(entry.url)).write_bytes(b"damaged")
    second = refresh(crawl, first, PURGE)
    assert "is damaged" in refusal(second)
    assert files(second) == ALL


@pytest.mark.parametrize("lines", ["depthInSite 1", "forbiddenExtensions .gif .css end"])
def test_what_new_settings_leave_out_is_not_gone(crawl: Worlds, first: World, lines: str) -> None:
    second = refresh(crawl, first, f"{PURGE} {lines}")
    assert len(second.outcomes) < len(ALL)
    assert files(second) == ALL


def test_a_redirect_that_is_new_costs_no_copy(web: Web, crawl: Worlds, first: World) -> None:
    """Most likely it leads to a login."""
    for name in ("a", "b"):
        web.put(f"a.test/{name}", Answer(status=302, headers=("Location: /login",)))
    web.pages("a.test/login")
    second = refresh(crawl, first, PURGE)
    assert files(second) == ALL | {"a.test/login.html"}


@pytest.mark.parametrize(
    ("status", "target", "stays"),
    [
        (301, "/new", False),
        (308, "/login", False),
        (302, "/new", False),
        (307, "/account/sign-in?next=/a", True),
        (301, "/none", True),
    ],
)
def test_a_page_that_redirects_now_leaves_its_file(
    web: Web, crawl: Worlds, first: World, status: int, target: str, stays: bool
) -> None:
    """Unless the target did not come, or is most likely a login."""
    web.put("a.test/a", Answer(status=status, headers=(f"Location: {target}",)))
    web.pages("a.test/new", "a.test/login", "a.test/account/sign-in?next=/a")
    kept = refresh(crawl, first, BROWSE)
    assert "a.test/a.html" in files(kept)
    assert (counts(kept)["gone"] == 0) is stays
    purged = refresh(crawl, kept, PURGE)
    assert ("a.test/a.html" in files(purged)) is stays
    assert refusal(purged) == ""


def test_redirects_of_many_pages_to_one_cost_no_copy(web: Web, crawl: Worlds, first: World) -> None:
    for name in ("a", "b"):
        location = f"Location: /wall?back={name}"
        web.put(f"a.test/{name}", Answer(status=302, headers=(location,)))
        web.pages(f"a.test/wall?back={name}")
    assert files(refresh(crawl, first, PURGE)) >= ALL


def start_fails(web: Web) -> None:
    web.put("a.test/", Answer(status=500))


def start_is_gone(web: Web) -> None:
    web.put("a.test/", Answer(status=404))


def start_redirects(web: Web) -> None:
    web.put("a.test/", Answer(status=302, headers=("Location: /login",)))
    web.pages("a.test/login")


def start_redirects_nowhere(web: Web) -> None:
    web.put("a.test/", Answer(status=302, headers=("Location: /login",)))


def host_is_gone(web: Web) -> None:
    web.zone.clear()


@pytest.mark.parametrize(
    "change", [start_fails, start_is_gone, start_redirects, start_redirects_nowhere, host_is_gone]
)
@pytest.mark.parametrize("times", [1, 2])
def test_nothing_is_purged_without_the_start_page(
    web: Web, crawl: Worlds, first: World, change: object, times: int
) -> None:
    assert callable(change)
    change(web)
    for _ in range(times):
        second = refresh(crawl, first, PURGE)
        assert second.code in (0, 4)
        assert web.url("a.test/") in refusal(second)
        assert files(second) >= ALL


def test_nothing_is_purged_without_any_start_page(web: Web, crawl: Worlds, first: World) -> None:
    """As when the seeds are to come by the input port, and none comes."""
    web.page("a.test/", "/b")
    refresh(crawl, first, BROWSE)
    second = crawl(PURGE, seeds=[], folder=first.folder, start=Start.SCRATCH)
    assert counts(second)["gone"] > 0
    assert refusal(second) == "no start page was fetched"
    assert files(second) == ALL


def test_a_page_stays_to_which_a_redirect_of_an_earlier_crawl_leads(
    web: Web, crawl: Worlds, first: World
) -> None:
    """The page with the link fails, so that nobody asks for the redirect."""
    web.page("a.test/a", "/old")
    web.put("a.test/old", Answer(status=301, headers=("Location: /moved",)))
    web.page("a.test/moved", "/below")
    web.pages("a.test/below")
    refresh(crawl, first, BROWSE)
    web.put("a.test/a", Answer(status=503))
    for _ in range(2):
        second = refresh(crawl, first, PURGE)
        assert refusal(second) == ""
        assert files(second) == PAGES | {f"a.test/{name}.html" for name in ("moved", "below")} | {
            "c.test/s.css"
        }


def test_what_a_redirect_leads_to_stays_if_it_fails(web: Web, crawl: Worlds, first: World) -> None:
    web.page("a.test/", "/old", "/b")
    web.put("a.test/old", Answer(status=301, headers=("Location: /hub",)))
    web.page("a.test/hub", "/below")
    web.pages("a.test/below")
    refresh(crawl, first, PURGE)
    for name in ("hub", "old"):
        web.put(f"a.test/{name}", Answer(status=503))
        for _ in range(2):
            second = refresh(crawl, first, PURGE)
            assert refusal(second) == ""
            assert {"a.test/hub.html", "a.test/below.html"} <= files(second)


def test_a_start_that_always_redirected_must_lead_to_the_same_page(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", Answer(status=302, headers=("Location: /home",)))
    web.page("a.test/home", "/x")
    web.pages("a.test/x")
    first = crawl(BROWSE)
    assert refusal(refresh(crawl, first, PURGE)) == ""
    web.put("a.test/", Answer(status=302, headers=("Location: /login",)))
    web.pages("a.test/login")
    second = refresh(crawl, first, PURGE)
    assert "redirects to another page now" in refusal(second)
    assert "a.test/x.html" in files(second)


def test_nothing_is_purged_by_a_crawl_that_was_cut_short(
    web: Web, crawl: Worlds, first: World
) -> None:
    web.page("a.test/", "/b", "/d/", "/a")
    web.put("a.test/a", Answer(status=404))
    second = refresh(crawl, first, f"{PURGE} limitPage 2")
    assert "did not come to its end" in refusal(second)
    assert files(second) == ALL
    third = crawl(PURGE, folder=first.folder, start=Start.RESUME)
    assert refusal(third) == ""
    assert files(third) == PAGES - {"a.test/a.html"}
    assert counts(third)["purged"] == 4  # a style sheet, an image and /deep/1 with it


def test_a_large_loss_is_refused(web: Web, crawl: Worlds) -> None:
    names = [f"/{number}" for number in range(20)]
    web.page("a.test/", *names)
    web.pages(*(f"a.test{name}" for name in names))
    first = crawl(BROWSE)
    web.page("a.test/")  # closed for today
    second = refresh(crawl, first, PURGE)
    assert refusal(second) == "20 of 21 files would be removed, more than half"
    assert len(files(second)) == 21
    web.page("a.test/", *names[:11])
    assert refusal(refresh(crawl, first, PURGE)) == ""
    assert len(files(second)) == 12


@pytest.mark.parametrize("redirected", [False, True])
def test_a_start_page_without_links_is_not_trusted(
    web: Web, crawl: Worlds, redirected: bool
) -> None:
    home = "a.test/"
    if redirected:
        web.put(home, Answer(status=302, headers=("Location: /home",)))
        home = "a.test/home"
    names = [f"/{number}" for number in range(6)]
    web.page(home, *names)
    web.pages(*(f"a.test{name}" for name in names))
    first = crawl(BROWSE)
    web.put(home, Answer(b"We are down for maintenance"))
    for _ in range(2):
        second = refresh(crawl, first, PURGE)
        assert refusal(second) == (
            f"{web.url(home)} has no links any more, and 6 files would be removed"
        )
        assert len(files(second)) == 7
    web.page(home, *names[:1])
    assert refusal(refresh(crawl, first, PURGE)) == ""
    assert len(files(second)) == 2


def test_files_of_a_host_that_is_lost_stay(web: Web, crawl: Worlds, first: World) -> None:
    web.put("c.test/s.css", Answer(status=404))
    web.put("a.test/i.gif", Answer(status=404))
    second = refresh(crawl, first, PURGE)
    assert files(second) == ALL - {"a.test/i.gif"}
    assert (counts(second)["gone"], counts(second)["purged"]) == (2, 1)
    with account(second) as found:
        assert found.lost_hosts(most=9) == ["c.test"]


def test_pages_of_an_earlier_start_stay(web: Web, crawl: Worlds, first: World) -> None:
    web.page("b.test/", "/x")
    web.pages("b.test/x")
    crawl(BROWSE, seeds=["b.test/"], folder=first.folder, start=Start.SCRATCH)
    second = crawl(PURGE, seeds=["b.test/"], folder=first.folder, start=Start.SCRATCH)
    assert refusal(second) == ""
    assert files(second) == ALL | {"b.test/index.html", "b.test/x.html"}
    assert "a.test:" in (first.folder / "out/index.html").read_text()


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("after", range(16))
def test_a_kill_while_purging_leaves_files_and_catalog_in_agreement(
    web: Web, crawl: Worlds, first: World, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    web.page("a.test/", "/b")
    root = first.folder / "out"
    purge = Tree.purge

    def killed(tree: Tree, paths: Iterable[str]) -> dict[str, str]:
        """Killed when some of the files are removed, or all of them."""
        files = [*paths]
        if files:
            purge(tree, files[:after])
            # The end of the process would commit nothing more.
            with closing(sqlite3.connect(root / NAME)) as base:
                for (path,) in base.execute("SELECT path FROM page"):
                    assert (root / path).exists()
            raise Killed
        return {}

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Tree, "purge", killed)
        refresh(crawl, first, PURGE)
    second = crawl(PURGE, folder=first.folder, start=Start.RESUME)
    assert files(second) == catalogued(second) == {"a.test/index.html", "a.test/b.html"}
    assert originals(second) == 2
    left = {path.name for path in root.iterdir() if path.name[0] != "."}
    assert left == {f"a.test:{web.port}", "index.html"}
    assert not (root / f"a.test:{web.port}/deep").exists()


def spared(world: World) -> dict[str, str]:
    with account(world) as found:
        return {path.replace(f":{world.web.port}", ""): why for path, why in found.spared(9)}


@pytest.mark.parametrize("name", ["b.html", "i.gif"])
@pytest.mark.parametrize("text", ["mine", "GIM"])  # also of the same size
def test_a_file_of_the_users_own_in_the_place_of_a_page_stays(
    web: Web, crawl: Worlds, first: World, name: str, text: str
) -> None:
    (file := first.folder / f"out/a.test:{web.port}" / name).write_text(text)
    web.page("a.test/", "/d/")
    second = refresh(crawl, first, PURGE)
    assert file.read_text() == text
    assert files(second) == {"a.test/index.html", "a.test/d/index.html", f"a.test/{name}"}
    assert spared(second) == {f"a.test/{name}": "it is not as larbinpy wrote it"}
    assert counts(second)["gone"] - 1 == counts(second)["purged"] == 4
    # It is no page of the mirror any more.
    third = refresh(crawl, first, PURGE)
    assert (file.read_text(), spared(third), counts(third)["gone"]) == (text, {}, 0)


def test_a_page_that_an_earlier_version_wrote_is_removed_by_the_next_refresh(
    web: Web, crawl: Worlds, first: World
) -> None:
    """The catalog does not know what that version wrote with other links."""
    with closing(sqlite3.connect(first.folder / "out" / NAME)) as base:
        base.execute("DROP TABLE written")
    web.page("a.test/", "/b", "/d/")
    second = refresh(crawl, first, PURGE)
    assert files(second) == PAGES
    assert [*spared(second)] == ["a.test/a.html"]
    assert files(refresh(crawl, first, PURGE)) == PAGES - {"a.test/a.html"}


@pytest.mark.parametrize("name", ["b.html", "i.gif"])
def test_a_file_that_cannot_be_removed_is_no_obstacle(
    web: Web, crawl: Worlds, first: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refused(file: str, *, dir_fd: int | None = None) -> None:
        if file == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file)
        unlink(file, dir_fd=dir_fd)

    unlink = os.unlink
    web.page("a.test/", "/d/")
    left = {"a.test/index.html", "a.test/d/index.html"}
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refused)
        for gone in (5, 0):
            second = refresh(crawl, first, PURGE)
            assert files(second) == {*left, f"a.test/{name}"}
            assert spared(second) == {f"a.test/{name}": "Permission denied"}
            assert counts(second)["gone"] == gone
            assert counts(second)["purged"] == max(gone - 1, 0)
        assert refresh(crawl, first, BROWSE).code == 0
    assert files(refresh(crawl, first, PURGE)) == left


def test_a_file_that_was_replaced_by_something_else_is_left(
    web: Web, crawl: Worlds, first: World, tmp_path: Path
) -> None:
    """As a folder, or a link out of the mirror."""
    web.page("a.test/", "/d/")
    root = first.folder / f"out/a.test:{web.port}"
    (victim := tmp_path / "victim").write_text("mine")
    (root / "b.html").unlink()
    (root / "b.html").symlink_to(victim)
    (root / "deep/1.html").unlink()
    (root / "deep").rmdir()
    (folder := tmp_path / "folder").mkdir()
    (folder / "1.html").write_text("mine")
    (root / "deep").symlink_to(folder)
    refresh(crawl, first, PURGE)
    assert victim.read_text() == (folder / "1.html").read_text() == "mine"
    assert (root / "b.html").is_symlink()


def test_the_front_page_links_to_the_start_pages(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", Answer(b"<title>A &amp; <b>\n&lt;script></title>"))
    web.page("b.test/x?y", "/z")
    world = crawl(BROWSE, seeds=["a.test/", "b.test/x?y", "gone.test/"])
    text = (world.folder / "out/index.html").read_text()
    assert f'<a href="a.test%3A{web.port}/index.html">A &amp; &lt;b&gt; &lt;script&gt;</a>' in text
    assert f'<a href="b.test%3A{web.port}/x%3Fy.html">b.test/x?y</a>' in text
    assert "gone.test" not in text
    # It follows the titles.
    web.put("a.test/", Answer(b"<title>B</title>"))
    refresh(crawl, world, BROWSE)
    assert ">B</a>" in (world.folder / "out/index.html").read_text()


def test_a_304_that_nobody_asked_for_is_a_failure_that_may_pass(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/n", "/soon")
    web.put("a.test/n", Answer(status=304))
    web.put("a.test/soon", Answer(status=304), Answer(b"<p>soon"))
    world = crawl(BROWSE, "retries 1")
    assert world.outcomes == {"a.test/": "success", "a.test/n": "err50X", "a.test/soon": "success"}
    assert world.fates["a.test/n"]["detail"] == UNASKED
    assert counts(world)["failed"] == 1


def test_a_title_is_found_in_linear_time() -> None:
    head = (b"<title" * 11_000)[: 1 << 16]
    begin = process_time()
    for text in (head, b"<title>" * 9_000, b"<title x>" + head):
        assert title_in(text) == b""
    assert process_time() - begin < 0.1
    assert title_in(b"<head><TITLE lang=en>a\nb</Title>") == b"a\nb"


def test_a_front_page_of_the_users_own_stays(web: Web, crawl: Worlds, first: World) -> None:
    front = first.folder / "out/index.html"
    front.write_text(front.read_text() + "edited")
    before = front.read_text()
    web.put("a.test/", Answer(b"<title>B</title>"))
    refresh(crawl, first, BROWSE)
    assert front.read_text() == before
    front.unlink()
    refresh(crawl, first, BROWSE)
    assert ">B</a>" in front.read_text()


def test_a_mirror_keeps_the_spelling_of_its_names(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/%C3%A9")
    web.pages("a.test/%C3%A9")
    first = crawl(f"{BROWSE} fileNames unicode")
    web.page("a.test/%C3%A9", "/%C3%A4")
    web.pages("a.test/%C3%A4")
    second = refresh(crawl, first, f"{BROWSE} fileNames windows")
    assert files(second) == {"a.test/index.html", "a.test/\u00e9.html", "a.test/\u00e4.html"}


def test_a_crawl_without_pages_leaves_an_account(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", Answer(status=404))
    world = crawl(BROWSE)
    with account(world) as found:
        assert [each.status for each in found.failures(9)] == [404]
    assert (world.folder / "out" / NAME).exists()
