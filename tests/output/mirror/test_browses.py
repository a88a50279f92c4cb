"""A mirror of odd pages: a walk over its files and a real browser find everything in it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from check_mirror import ABSOLUTE, BROKEN, LINK, REQUISITE, WORKING, walk
from experiments.mirrors import oddities

from larbinpy.loop.poller import Poller
from tests.support.browser import Browser, Tab
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

_TYPES = {".html": "text/html", ".css": "text/css", ".gif": "image/gif", ".woff2": "font/woff2"}


def describe(web: Web) -> None:
    """The page of oddities, as the experiment with mirrors serves it."""
    for name, body in oddities(web.url("b.test")).items():
        type_ = _TYPES.get(Path(name).suffix, "text/html")
        if name == "drawn":
            type_ = "image/svg+xml"
        if name == "latin":
            type_ = "text/html; charset=iso-8859-1"
        place = f"odd/{quote(name)}"
        queries = {"dot.gif": ["", "?size=2", "?size=3"], "s/a.css": ["?v=3"]}
        queries |= {"page": ["?id=1&x=a/b", "?id=2", "?id=3"], "font.woff2": ["?x"]}
        for query in queries.get(name, [""]):
            for host in ("a.test", "b.test"):
                web.file(f"{host}/{place}{query}", body, type_)
    web.put("a.test/odd/", *web.places["a.test/odd/index.html"])
    for old, new in [("odd", "odd/"), ("odd/moved", "odd/plain")]:
        web.put(f"a.test/{old}", Answer(status=302, headers=(f"Location: /{new}",)))


@pytest.fixture(params=["ascii", "unicode", "windows"])
def mirror(web: Web, crawl: Worlds, request: pytest.FixtureRequest) -> Path:
    """The folder of the site in a mirror of it, for each fileNames; the web is gone."""
    describe(web)
    far = "/odd/\u65e5\u672c/caf\u00e9?q=\u8a9e:1"
    web.page(f"a.test{quote(far, safe='/?=:')}", "/odd/plain")
    home = web.places["a.test/odd/index.html"][0]
    home.body += f'<a href="{far}">far</a>'.encode()
    world = crawl(
        "outputMode mirror rewriteLinks requisites everywhere getCGI lockSite anyType",
        f"depthInSite 20 fileNames {request.param}",
        seeds=["a.test/odd/"],
    )
    assert world.fetched == set(world.outcomes) - {"a.test/odd", "a.test/odd/moved"}
    # The owner may move a mirror.
    copy = world.folder / "copy"
    shutil.move(world.folder / "out", copy)
    readable = [path for path in copy.rglob("*.html") if "caf\u00e9?q=\u8a9e" in path.name]
    assert len(readable) == (request.param == "unicode")
    return copy / f"a.test{'+' if request.param == 'windows' else ':'}{web.port}"


def test_every_link_and_requisite_works(mirror: Path) -> None:
    found = walk(mirror / "odd/index.html")
    assert found.broken == []
    assert found.counts[LINK, ABSOLUTE] == found.counts[REQUISITE, ABSOLUTE] == 0
    assert found.pages == 9
    assert found.counts[REQUISITE, WORKING] == 11
    assert found.fragments == 0


def test_the_walk_finds_broken_references(mirror: Path) -> None:
    """Otherwise the other test would prove nothing."""
    (mirror / "odd/dot.gif").unlink()
    (mirror / "odd/plain.html").unlink()
    found = walk(mirror / "odd/index.html")
    assert found.counts[LINK, BROKEN] == 5
    assert found.counts[REQUISITE, BROKEN] == 2


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    poller = Poller()
    browser = Browser(tmp_path / "chromium", poller, lambda: None)
    yield browser.tab()
    browser.close()
    poller.close()


#: Pictures that did not come.
_MISSING = "[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"


def test_a_browser_shows_every_page_as_it_was(mirror: Path, tab: Tab) -> None:
    pages = [*mirror.rglob("*.html")]
    assert len(pages) == 9
    for page in pages:
        tab.go(page.as_uri())
        assert tab.complaints == [], page
        assert tab.run(_MISSING) == [], page
        assert not [url for url in tab.requests if not url.startswith(("file:", "data:"))]
    assert any(url.endswith("far.gif") for url in tab.requests)
    tab.go((mirror / "odd/latin.html").as_uri())
    assert tab.run("document.title") == "Gr\u00f6\u00dfe"
    tab.go((mirror / "odd/index.html").as_uri())
    assert "far.gif" in tab.run("getComputedStyle(document.body).backgroundImage")
    tab.run("document.querySelector('a[href*=part]').click()")
    tab.until("location.hash === '#part' && document.title === 'b'")
