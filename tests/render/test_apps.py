"""Twelve small applications: with `render` all their pages and words are found, without it none.

One crawl of each kind takes all of them.
"""

from pathlib import Path

import pytest

from tests.support import renderweb
from tests.support.rendercrawl import Rendered, by_host, crawl
from tests.support.renderweb import APPS, PATHS, paths_of, texts_of

pytestmark = pytest.mark.slow

_LOGIN = """
[[login]]
site = "http://login.test:{PORT}"
method = "form"
page = "/login"
user = "me"
password = "of-a-member"
loggedOut = 'name="password"'
"""
_CONF = ("loginFile logins.toml", "noExternalLinks", "renderWait 0.01")
_HOSTS = [f"{app}.test" for app in APPS]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    folder = tmp_path_factory.mktemp("rendered")
    return _crawl(folder, "render **")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    return _crawl(tmp_path_factory.mktemp("plain"))


def _crawl(folder: Path, *lines: str) -> Rendered:
    files = {"logins.toml": _LOGIN}
    return crawl(folder, renderweb.answer, _HOSTS, *_CONF, *lines, files=files)


# Each of these is one test: two workers that had a part of it would both crawl.


def test_all_words_are_found(rendered: Rendered) -> None:
    found = {app: rendered.of(f"{app}.test") for app in APPS}
    assert [(app, text) for app in APPS for text in texts_of(app) if text not in found[app]] == []


def test_each_page_has_its_own_words(rendered: Rendered) -> None:
    pages = {url.removeprefix("http://"): text for url, text in rendered.pages.items()}
    texts = {
        f"{app}.test{path}": text
        for app in APPS
        for path, text in zip(paths_of(app), texts_of(app), strict=False)
    }
    assert [url for url, text in texts.items() if text not in pages.get(url, "")] == []


def test_nothing_is_found_without_a_browser(plain: Rendered) -> None:
    found = {app: plain.of(f"{app}.test") for app in APPS}
    assert [text for app in APPS for text in texts_of(app) if text in found[app]] == []
    asked = by_host(plain.asked)
    assert [(app, path) for app in APPS for path in asked[f"{app}.test"] if path in PATHS[1:]] == []


def test_scripts_of_a_site_are_fetched_once(rendered: Rendered) -> None:
    paths = by_host(rendered.asked)
    for app in set(APPS) - {"angular"}:
        assert paths[f"{app}.test"].count("/app.js") == 1, app
    assert paths["angular.test"].count("/main.js") == 1


def test_each_page_has_one_fate(rendered: Rendered) -> None:
    urls = [fate["url"] for fate in rendered.fates if fate["outcome"] == "success"]
    assert len(urls) == len(set(urls))
    assert rendered.code == 0
