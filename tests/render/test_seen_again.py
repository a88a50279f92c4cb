"""A site that scripts make, seen again: its mirror without a network, and its archive by pywb.

Both have the words of each page, and look as the page itself does.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import renderweb
from tests.support.browser import Browser, Tab, chromium
from tests.support.crawling import Asked, World, ok
from tests.support.renderweb import PATHS, text_of
from tests.support.replaying import replayed
from tests.support.webserver import Step

pytestmark = pytest.mark.slow

_APPS = ("react", "vue", "shadow", "modules")
#: Their scripts are no modules: pywb 2.10 puts code of its own before imports, which breaks these.
_CLASSIC = ("react", "shadow")
#: The words of a page, with those of its shadow roots. The page itself closes some.
_WORDS = """
(() => {
  const words = (root) => [...root.childNodes].map((each) => each.nodeType === 3
    ? each.data : (each.shadowRoot ? words(each.shadowRoot) : "") + words(each)).join(" ");
  return words(document.body);
})()
"""
_OPEN = """
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (init) {
  return attach.call(this, {...init, mode: "open"});
};
"""


def _answer(asked: Asked) -> Iterator[Step]:
    app = asked.host.removesuffix(".test")
    for step in renderweb.answer(asked):
        plain = app in _CLASSIC and isinstance(step, bytes) and b'type="module"' in step
        yield _classic(step) if plain else step


def _classic(page: Step) -> bytes:
    """A page whose scripts are no modules."""
    assert isinstance(page, bytes)
    body = page.partition(b"\r\n\r\n")[2].replace(b'type="module"', b"defer")
    return ok(body, "text/html; charset=utf-8")


class Site:
    """The applications, crawled, while their server is still there."""

    def __init__(self, folder: Path) -> None:
        chromium()
        hosts = [f"{app}.test" for app in _APPS]
        self.world = World(folder)
        self.web = self.world.web(_answer, *hosts)
        seeds = [f"startUrl {self.web.url('/', host)}" for host in hosts]
        self.world.conf(
            "noExternalLinks rewriteLinks", "render **", "renderWait 0.01", "limitTime 3", *seeds
        )
        crawler = self.world.crawl("--set", "outputMode=mirror,warc")
        assert self.world.finish(crawler, 150) == 0, crawler.err
        here = "--host-resolver-rules=MAP *.test 127.0.0.1"
        self.browser = Browser(folder / "profile", self.world.poller, lambda: None, here)

    def seen(self, url: str, text: str) -> tuple[Tab, bytes]:
        """A tab with the page of `url`, which shows `text`, and its picture."""
        tab = self.browser.tab()
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=_OPEN)
        tab.go(url)
        tab.until(f"{_WORDS}.includes({text!r})")
        return tab, tab.picture(600)

    def close(self) -> None:
        self.browser.close()
        self.world.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.close()


@pytest.fixture(scope="module")
def archive(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with replayed(site.world.out, tmp_path_factory.mktemp("pywb")) as where:
        yield where


@pytest.mark.parametrize("app", _APPS)
def test_the_mirror_opens_offline_as_it_was_seen(site: Site, app: str) -> None:
    for path in PATHS:
        _, picture = site.seen(site.web.url(path, f"{app}.test"), text_of(app, path))
        (file,) = (
            file
            for file in site.world.out.rglob("*.html")
            if text_of(app, path) in file.read_text() and f"{app}.test" in str(file)
        )
        tab, mirrored = site.seen(file.as_uri(), text_of(app, path))
        assert [url for url in tab.requests if not url.startswith("file:")] == []
        assert mirrored == picture, path


@pytest.mark.parametrize("app", _CLASSIC)
def test_pywb_shows_the_page_as_it_was_seen(site: Site, archive: str, app: str) -> None:
    url = site.web.url("/", f"{app}.test")
    _, picture = site.seen(url, text_of(app, "/"))
    _, replay = site.seen(f"{archive}/mp_/{url}", text_of(app, "/"))
    assert replay == picture
