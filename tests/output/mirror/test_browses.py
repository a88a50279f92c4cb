"""A mirror of odd pages: a walk over its files and a real browser find everything in it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from check_mirror import ABSOLUTE, BROKEN, LINK, REQUISITE, WORKING, walk

from larbinpy.loop.poller import Poller
from tests.support.browser import Browser, Tab
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

_DOT = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,"
    b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)
_TYPES = {".html": "text/html", ".css": "text/css", ".gif": "image/gif", ".woff2": "font/woff2"}


def oddities(other: str) -> dict[str, bytes]:
    """File -> content: the page of oddities and the files that it needs."""
    index = f"""<!DOCTYPE html><title>odd</title><link rel=stylesheet href="s/a.css?v=3">
<img src="dot.gif?size=2"><img srcset="{other}/odd/far.gif 1x, dot.gif 2x" src=dot.gif>
<p style="background: url('dot.gif?size=3')"><svg><image href="drawn"/></svg>
<a href="page?id=1&amp;x=a/b">1</a> <a href="page?id=2">2</a> <a href=plain>plain</a>
<a href=moved>moved</a> <a href="a%20b%23c.html#part">blank</a> <a href=latin>latin</a>
<a href=based>based</a> <a href="../odd">folder</a>"""
    return {
        "index.html": index.encode(),
        "s/a.css": f'@import "b.css"; body {{ background: url({other}/odd/far.gif) }}'.encode(),
        "s/b.css": b"@font-face { font-family: x; src: url('../font.woff2?x#y') }",
        "font.woff2": b"wOF2",
        "dot.gif": _DOT,
        "far.gif": _DOT,
        "drawn": b'<svg xmlns="http://www.w3.org/2000/svg"><a href="plain"/></svg>',
        "page": b"<!DOCTYPE html><title>q</title><a href=page?id=3>3</a><a href='./'>up</a>",
        "plain": b"<!DOCTYPE html><title>plain</title><img src=dot.gif>",
        "a b#c.html": b"<!DOCTYPE html><title>b</title><p id=part><a href=index.html>i</a>",
        "latin": "<!DOCTYPE html><title>Größe</title><a href=plain>x</a>".encode("latin-1"),
        "based": b"<!DOCTYPE html><title>b</title><base href='/odd/s/'><a href='../plain'>x</a>",
    }


def describe(web: Web) -> None:
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    poller = Poller()
    browser = Browser(tmp_path_factory.mktemp("chromium"), poller, lambda: None)
    yield browser
    browser.close()
    poller.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    tab = browser.tab()
    yield tab
    tab.close()


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
