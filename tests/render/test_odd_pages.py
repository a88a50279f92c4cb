"""Pages on which browsers that crawl wait for ever or lose the text, and pages that harm a browser.

One crawl takes them all. Each has one outcome, and in the end the browser still renders.
"""

from urllib.parse import urlsplit

import pytest

from tests.support.rendercrawl import Rendered, crawl
from tests.support.scriptpages import (
    ATTACHED,
    DRAWN,
    FAULTS,
    ODD,
    OTHER,
    QUICK,
    SITE,
    STYLED,
    path_of,
    raw_words,
    site_of,
    words,
)

pytestmark = pytest.mark.slow

#: Why the browser gave nothing back.
_REASONS = {
    "fills the memory": ("its process crashed", "its scripts do not end"),
    "takes its page away": ("it leaves no document",),
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    folder = tmp_path_factory.mktemp("odd")
    lines = (f"render http://{SITE}:{{PORT}}/**", "renderWait 0.01", "acceptLanguage de,en;q=0.5")
    return crawl(folder, site_of(QUICK), [SITE, OTHER], "useCookies", *lines)


# Each of these is one test: two workers that had a part of it would both crawl.


def test_the_texts_are_found(odd: Rendered) -> None:
    pages = {name: odd.pages.get(f"http://{SITE}{path_of(name)}", "") for name in QUICK}
    assert [name for name in QUICK.keys() & ODD.keys() if words(name) not in pages[name]] == []


def test_one_outcome_and_the_page(odd: Rendered) -> None:
    for name in QUICK.keys() & FAULTS.keys():
        (fate,) = odd.fates_of(SITE, path_of(name))
        assert fate["outcome"] == "success", name
        text = odd.pages[f"http://{SITE}{path_of(name)}"]
        assert words(name) in text or raw_words(name) in text, name
        if name in _REASONS and "detail" in fate:
            assert fate["detail"] in [f"not rendered: {why}" for why in _REASONS[name]], name


def test_links_that_go_from_a_list_as_it_is_scrolled_are_found(odd: Rendered) -> None:
    rows = [urlsplit(fate["url"]).path for fate in odd.fates if "/row/" in fate["url"]]
    assert sorted(rows) == sorted(f"/row/{n}" for n in range(0, 20000, 2000))


def test_a_page_that_is_sent_as_a_download_is_read(odd: Rendered) -> None:
    assert words(ATTACHED) in odd.pages[f"http://{SITE}{path_of(ATTACHED)}"]


def test_what_scripts_draw_and_style_is_in_the_document(odd: Rendered) -> None:
    drawn, styled = (odd.pages[f"http://{SITE}{path_of(name)}"] for name in (DRAWN, STYLED))
    assert "background: url(&quot;data:image/png;base64," in drawn
    assert "b { color: red; }\n.added { color: blue; }" in styled
