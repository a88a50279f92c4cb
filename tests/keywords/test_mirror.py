"""The keywords of a mirror that browses offline, and how crawls refresh one."""

import errno
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

import pytest

from larbinpy import Start
from larbinpy.output.mirror.browsable import BrowsableMirror
from larbinpy.output.mirror.catalog import Catalog, is_rewritten
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import State, StateError
from tests.support.keywords import effect_of
from tests.support.ports import free_port
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Client, World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

MIRROR = "outputMode mirror getImage"
BROWSE = f"{MIRROR} rewriteLinks"
TAG = 'ETag: "1"'


def mirrored(world: World) -> dict[str, str]:
    """The files of a mirror, without those of its own."""
    root = world.folder / "out"
    return {
        str(path.relative_to(root)).replace(f":{world.web.port}", ""): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and path.parent != root
        if not path.relative_to(root).parts[0].startswith(".")
    }


@effect_of("rewriteLinks")
def test_rewrite_links_makes_a_mirror_that_browses(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x?q", "//b.test/")
    web.page("a.test/x?q", "/old")
    web.put("a.test/old", Answer(status=302, headers=("Location: /new",)))
    web.pages("a.test/new", "b.test/")
    lines = "getCGI noExternalLinks"
    plain, browses = crawl(lines, MIRROR), crawl(lines, BROWSE)
    assert set(mirrored(plain)) == {"a.test/index.html", "a.test/x?q", "a.test/new"}
    assert f'href="{web.url("b.test/")}"' in mirrored(plain)["a.test/index.html"]
    found = mirrored(browses)
    assert set(found) == {"a.test/index.html", "a.test/x?q.html", "a.test/new.html"}
    assert 'href="x%3Fq.html"' in found["a.test/index.html"]
    assert f'href="{web.url("b.test/")}"' in found["a.test/index.html"]
    assert 'href="new.html"' in found["a.test/x?q.html"]
    assert browses.snapshot("output")["mirror"]["rewritten"] == 2


@effect_of("dropParameters")
def test_links_with_dropped_parameters_lead_to_the_files(web: Web, crawl: Worlds) -> None:
    """Seeds and targets of redirects, too; and a redirect that sets a session."""
    web.page("a.test/?utm_source=seed", "/x?utm_source=a", "/x?id=1&fbclid=2", "/old?gclid=3")
    web.page("a.test/x", "/?utm_source=seed", "/y;jsessionid=7", "/in?PHPSESSID=3")
    web.page("a.test/x?id=1", "/x?utm_medium=b&id=1", "/gone?utm_source=c")
    web.put("a.test/old", Answer(status=302, headers=("Location: /new?utm_source=d",)))
    web.put("a.test/in", Answer(status=302, headers=("Location: /in?PHPSESSID=1",)))
    web.page("a.test/in?PHPSESSID=1", "/in?PHPSESSID=2", "/new?utm_source=e")
    web.pages("a.test/y", "a.test/new")
    found = mirrored(crawl("getCGI", BROWSE, seeds=["a.test/?utm_source=seed"]))
    links = {name: re.findall('href="([^"]*)"', text) for name, text in found.items()}
    seed, session = "index.html%3Futm_source%3Dseed.html", "in%3FPHPSESSID%3D1.html"
    assert links == {
        f"a.test/{unquote(seed)}": ["x.html", "x%3Fid%3D1.html", "new.html"],
        "a.test/x.html": [seed, "y.html", session],
        "a.test/x?id=1.html": ["x%3Fid%3D1.html", web.url("a.test/gone?utm_source=c")],
        f"a.test/{unquote(session)}": [session, "new.html"],
        "a.test/y.html": [],
        "a.test/new.html": [],
    }


def test_parameters_that_the_console_drops_are_dropped_in_the_mirror(
    web: Web, crawl: Worlds
) -> None:
    port = free_port()
    console = Client(crawl, port, "console", "set dropParameters sort", "quit")
    web.put("a.test/robots.txt", Answer(status=404, until=console.done))
    web.page("a.test/", "/x?sort=up")
    web.page("a.test/x", "/x?sort=down", "/?sort=up")
    found = mirrored(crawl(BROWSE, f"inputPort {port}"))
    assert 'href="x.html"' in found["a.test/index.html"]
    assert re.findall('href="([^"]*)"', found["a.test/x.html"]) == ["x.html", "index.html"]


@effect_of("keepOriginals")
def test_keep_originals_keeps_what_was_rewritten(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x")
    web.pages("a.test/x")
    assert len(mirrored(crawl(BROWSE))) == 2
    found = mirrored(crawl(f"{BROWSE} keepOriginals"))
    assert '"/x"' in found["a.test/index.html#.orig"]
    assert len(found) == 3


@effect_of("lowerCaseNames")
def test_lower_case_names_are_for_disks_that_ignore_case(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/X", "/x")
    web.pages("a.test/X", "a.test/x")
    assert {"a.test/X.html", "a.test/x.html"} < set(mirrored(crawl(BROWSE)))
    names = set(mirrored(crawl(f"{BROWSE} lowerCaseNames")))
    assert {"a.test/x.html", "a.test/x#file.html"} < names


@effect_of("fileNames")
def test_file_names_are_spelled_as_asked(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/caf%C3%A9?x:y")
    web.pages("a.test/caf%C3%A9?x:y")
    found = {how: mirrored(crawl(f"{BROWSE} getCGI fileNames {how}")) for how in NAMES}
    for how, name in NAMES.items():
        [(path, home)] = [each for each in found[how].items() if each[0].endswith("/index.html")]
        folder = path.removesuffix("index.html")
        assert set(found[how]) == {path, folder + name}
        assert f'href="{quote(name)}"' in home
        assert (":" in path) is False or how != "windows"


NAMES = {
    "ascii": "caf%C3%A9?x:y.html",
    "unicode": "caf\u00e9?x:y.html",
    "windows": "caf%c3%a9#3fx#3ay.html",
}


@effect_of("purge")
def test_purge_removes_pages_that_are_gone(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x")
    web.pages("a.test/x")
    for lines, left in ((BROWSE, 2), (f"{BROWSE} purge", 1)):
        web.pages("a.test/x")
        first = crawl(BROWSE)
        del web.places["a.test/x"]
        second = crawl(lines, folder=first.folder, start=Start.SCRATCH)
        assert len(mirrored(second)) == left


# Requisites.


@pytest.fixture
def dressed(web: Web) -> Web:
    """A page with a style sheet of its own and one of another host, each with its needs."""
    far = web.url("b.test")
    body = f'<link rel=stylesheet href="s.css?1"><img src="{far}/i.gif"><a href="{far}/p">x</a>'
    web.put("a.test/", Answer(body.encode() + b"<img src=/moved><a href=deep>"))
    web.put("a.test/moved", Answer(status=302, headers=(f"Location: {far}/m.gif",)))
    web.put("a.test/deep", Answer(b"<img src=deep.gif><a href=deeper>"))
    web.file("a.test/deep.gif", b"GIF", "image/gif")
    web.file("a.test/s.css?1", f'@import "{far}/t.css";'.encode(), "text/css")
    web.file("b.test/t.css", b"a{b:url(f.woff);c:url(page)}", "text/css")
    web.file("b.test/f.woff", b"FONT", "font/woff")
    web.put("b.test/page", Answer(b"<a href=/p>it has gone</a>"))
    for name in ("i", "m"):
        web.file(f"b.test/{name}.gif", b"GIF", "image/gif")
    web.pages("b.test/p")
    return web


OWN = {"a.test/", "a.test/deep"}
SITE = OWN | {"a.test/s.css?1", "a.test/deep.gif"}
EVERYWHERE = SITE | {f"b.test/{name}" for name in ("i.gif", "m.gif", "t.css", "f.woff", "page")}


@effect_of("requisites")
@pytest.mark.parametrize(
    ("requisites", "fetched"), [("off", OWN), ("site", SITE), ("everywhere", EVERYWHERE)]
)
@pytest.mark.parametrize("bounds", ["lockSite", "noExternalLinks", "limitToDomain a.test end"])
def test_requisites_are_what_pages_need_to_be_shown(
    dressed: Web, crawl: Worlds, requisites: str, fetched: set[str], bounds: str
) -> None:
    """Beyond the last depth too, and with a query; pages on other hosts stay unvisited."""
    world = crawl(f"requisites {requisites} {bounds} depthInSite 1")
    redirects = set() if bounds != "noExternalLinks" else {"b.test/m.gif"} & world.fetched
    assert world.fetched - redirects == fetched - redirects


def test_requisites_obey_robots_txt_and_forbidden_extensions(dressed: Web, crawl: Worlds) -> None:
    dressed.robots("b.test", "User-agent: *", "Disallow: /t.css")
    world = crawl("requisites everywhere lockSite forbiddenExtensions .gif end depthInSite 1")
    assert world.fetched == {"a.test/", "a.test/deep", "a.test/s.css?1"}


def test_requisites_are_still_wanted_after_a_kill(dressed: Web, crawl: Worlds) -> None:
    """A queued URL is known as a requisite."""
    lines = "requisites everywhere lockSite depthInSite 1"
    first = crawl(f"{lines} limitPage 3")
    assert len(first.fetched) == 3
    second = crawl(lines, folder=first.folder, start=Start.RESUME)
    assert second.fetched == EVERYWHERE


# Refreshing.


def test_unchanged_pages_are_not_sent_again_and_their_links_count(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x", headers=(TAG,))
    since = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
    web.page("a.test/x", "/y", headers=(since,))
    web.pages("a.test/y")
    first = crawl(BROWSE)
    before = mirrored(first)
    for place in ("a.test/", "a.test/x"):
        web.put(place, Answer(status=304))
    web.put("a.test/y", Answer(b"<a href=/>news</a>"))
    second = crawl(BROWSE, folder=first.folder, start=Start.SCRATCH)
    sent = {asked.place: asked.headers for asked in second.pages_asked}
    assert sent["a.test/"]["if-none-match"] == '"1"'
    assert sent["a.test/x"]["if-modified-since"] == since.partition(": ")[2]
    assert not {"if-none-match", "if-modified-since"} & sent["a.test/y"].keys()
    assert second.outcomes == dict.fromkeys(("a.test/", "a.test/x", "a.test/y"), "success")
    assert second.fates["a.test/"]["status"] == 304
    assert mirrored(second) == before | {"a.test/y.html": '<a href="index.html">news</a>'}


def test_an_archive_holds_what_did_not_change_too(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", headers=(TAG,))
    first = crawl(BROWSE)
    second = crawl("outputMode mirror,warc rewriteLinks", folder=first.folder, start=Start.SCRATCH)
    [asked] = second.pages_asked
    assert "if-none-match" not in asked.headers
    assert second.snapshot("output")["warc"]["captures"] == 2  # with robots.txt


def test_saved_pages_are_whole_beside_a_mirror_that_is_refreshed(web: Web, crawl: Worlds) -> None:
    """The mirror by itself does not read a large file that did not change."""
    body = b"GIF" + bytes(3 << 19)
    web.page("a.test/", images=["/i.gif"])
    web.file("a.test/i.gif", body, "image/gif", headers=(TAG,))
    lines = "getImage rewriteLinks maxPageSize 2M"
    first = crawl(f"outputMode mirror {lines}")
    web.put("a.test/i.gif", Answer(status=304))
    second = crawl(f"outputMode save,mirror {lines}", folder=first.folder, start=Start.SCRATCH)
    assert second.fates["a.test/i.gif"]["status"] == 304
    saved = [file.read_bytes() for file in sorted((second.folder / "out").glob("d*/f*"))]
    assert len(saved) == 2
    assert saved[1] == body
    assert mirrored(second)["a.test/i.gif"].encode() == body


def test_a_copy_outlives_failures_of_its_refresh(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x", "/y")
    web.pages("a.test/x", "a.test/y")
    first = crawl(BROWSE)
    web.put("a.test/x", Answer(status=404))
    web.put("a.test/y", Answer(status=500))
    second = crawl(f"{BROWSE} retries 0", folder=first.folder, start=Start.SCRATCH)
    assert mirrored(second) == mirrored(first)
    assert second.outcomes["a.test/y"] == "err50X"


def test_a_copy_that_is_damaged_comes_anew(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", images=["/i.gif"])
    web.file("a.test/i.gif", b"GIF", "image/gif", headers=(TAG,))
    first = crawl(BROWSE)
    (first.folder / f"out/a.test:{web.port}/i.gif").write_text("XXX")
    good = Answer(b"GIF", "image/gif", headers=(TAG,))
    web.put("a.test/i.gif", Answer(status=304), good)
    second = crawl(BROWSE, folder=first.folder, start=Start.SCRATCH)
    assert mirrored(second)["a.test/i.gif"] == "GIF"
    assert second.fates["a.test/i.gif"]["outcome"] == "success"


def test_a_304_that_nobody_asked_for_is_no_page(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", Answer(status=304))
    assert crawl(BROWSE, "retries 0").outcomes == {"a.test/": "err50X"}
    assert crawl(MIRROR, "retries 0").outcomes == {"a.test/": "err50X"}


def test_a_full_disk_costs_no_redirect(
    web: Web, crawl: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.page("a.test/", "/old")
    web.put("a.test/old", Answer(status=302, headers=("Location: /new",)))
    web.pages("a.test/new")
    move, errors = Catalog.move, [OSError(errno.ENOSPC, "full")] * 2

    def refused(catalog: Catalog, url: str, target: str) -> None:
        if errors:
            raise errors.pop()
        move(catalog, url, target)

    monkeypatch.setattr(Catalog, "move", refused)
    world = crawl(BROWSE)
    assert not errors
    assert world.fetched == {"a.test/", "a.test/new"}
    assert 'href="new.html"' in mirrored(world)["a.test/index.html"]


# Ends.


def test_a_crawl_that_is_stopped_by_a_limit_browses_and_goes_on(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x")
    web.pages("a.test/x")
    first = crawl(f"{BROWSE} limitPage 1")
    assert f'href="{web.url("a.test/x")}"' in mirrored(first)["a.test/index.html"]
    second = crawl(BROWSE, folder=first.folder, start=Start.RESUME)
    assert 'href="x.html"' in mirrored(second)["a.test/index.html"]


def test_a_crawl_is_not_finished_while_links_are_rewritten(
    web: Web, crawl: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.page("a.test/", "/x")
    web.pages("a.test/x")
    finish, states = BrowsableMirror.finish, []

    def noted(mirror: BrowsableMirror, **of: Any) -> Iterator[None]:
        for step in finish(mirror, **of):
            states.append(crawl.world.snapshot("state"))
            yield step

    monkeypatch.setattr(BrowsableMirror, "finish", noted)
    assert crawl(BROWSE).code == 0
    assert set(states) == {"stopping"}


def test_rewriting_that_the_crawl_began_without_is_refused(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x")
    web.pages("a.test/x")
    first = crawl(f"{MIRROR} limitPage 1")
    with pytest.raises(StateError, match="rewriteLinks as they were"):
        crawl(BROWSE, folder=first.folder, start=Start.RESUME)
    second = crawl(MIRROR, folder=first.folder, start=Start.RESUME)
    assert len(mirrored(second)) == 2


def test_rewriting_is_a_part_of_resume(
    web: Web, crawl: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.page("a.test/", "/x", "/y")
    web.pages("a.test/x", "a.test/y")

    def killed(_mirror: BrowsableMirror, **of: Any) -> Iterator[None]:
        """Killed once the state says that no URL is owed; each step takes a turn."""
        while [*owed_urls(State(crawl.world.folder / "state"))]:
            crawl.world.clock.now += 0.03
            yield
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(BrowsableMirror, "finish", killed)
        crawl(BROWSE)
    folder = crawl.world.folder
    assert not is_rewritten(folder / "out")
    second = crawl(BROWSE, folder=folder, start=Start.RESUME)
    assert second.pages_asked == []
    assert is_rewritten(folder / "out")
    assert 'href="x.html"' in mirrored(second)["a.test/index.html"]
