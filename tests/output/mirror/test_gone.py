"""Which pages of a mirror are gone, against a model; any refresh of a small site."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.config import Config
from larbinpy.output.mirror.browsable import BrowsableMirror
from larbinpy.output.mirror.catalog import Catalog
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.contexts import make_context

pytestmark = pytest.mark.slow

#: A site: page -> the pages it links to; None fails for now, a page that is missing is a 404.
Site = Mapping[int, frozenset[int] | None]
Links = dict[int, frozenset[int]]

_PAGES = range(6)
_links = st.frozensets(st.sampled_from(_PAGES), max_size=3)
_site = st.dictionaries(st.sampled_from(_PAGES), st.one_of(_links, _links, st.none()), max_size=6)


def url(number: int) -> str:
    return f"http://h/{number}"


def mirror_in(root: Path) -> BrowsableMirror:
    return BrowsableMirror(make_context(Config(output_dir=str(root), purge=True)))


def crawl(root: Path, site: Site) -> set[int]:
    """A complete crawl of `site` from page 0; return the pages that it asked for."""
    mirror = mirror_in(root)
    mirror.begin()
    queue, seen = [0], {0}
    while queue:
        number = queue.pop()
        here = Url(url(number), 1, via=url(0) if number else None)
        links = site.get(number, frozenset())
        if number in site and links is not None:
            body = "".join(f'<a href="/{link}">x</a>' for link in sorted(links)) + str(number)
            headers = [("content-type", "text/html")]
            mirror.loaded(Page(here, Outcome.SUCCESS, 200, headers, body.encode()))
            queue += links - seen
            seen |= links
        elif number in site:
            mirror.missed(Page(here, Outcome.ERR_50X, 500))
        else:
            mirror.missed(Page(here, Outcome.ERR_40X, 404))
    for _ in mirror.finish(complete=True):
        pass
    mirror.close()
    return seen


def expected(kept: Links, site: Site, asked: set[int]) -> set[int]:
    """The pages in the mirror after a crawl of `site`; `kept`: before it, with their links."""
    there = kept | loaded(site, asked)
    if site.get(0) is None:
        return {*there}
    missing = asked - site.keys()
    reached: set[int] = set()
    found = {0} | (asked - missing)
    while found - reached:
        number = (found - reached).pop()
        reached.add(number)
        found |= there.get(number, frozenset()) - missing
    return there.keys() & reached


def loaded(site: Site, asked: set[int]) -> Links:
    """The pages that were fetched, with their links."""
    return {number: links for number in asked if (links := site.get(number)) is not None}


@settings(max_examples=150, deadline=None)
@given(st.lists(_site, min_size=2, max_size=4))
def test_exactly_the_pages_that_are_gone_are_removed(sites: list[Site]) -> None:
    with TemporaryDirectory() as name:
        root = Path(name)
        kept: Links = {}
        emptied = False
        for site in sites:
            if start := site.get(0):
                emptied = False
            elif start is not None:
                emptied = emptied or bool(kept.get(0))
            asked = crawl(root, site)
            wanted = expected(kept, site, asked)
            now = kept | loaded(site, asked)
            if emptied and start is not None and len(now.keys() - wanted) > 3:
                wanted = {*now}
            kept = {number: links for number, links in now.items() if number in wanted}
            there = {int(path.stem) for path in (root / "h").glob("*.html")}
            with closing(Catalog(root)) as catalog:
                listed = {entry.url for entry in catalog.pages()}
            assert there == wanted
            assert listed == {url(number) for number in wanted}
            assert sum(path.is_file() for path in root.glob(".larbinpy-originals/*/*")) == len(
                wanted
            )


def test_a_host_that_is_down_keeps_what_nothing_leads_to(tmp_path: Path) -> None:
    """The page that links to it may be gone for the same reason."""

    def refresh(*paths: str, status: int) -> None:
        with closing(
            BrowsableMirror(make_context(Config(output_dir=str(tmp_path), purge=True)))
        ) as mirror:
            mirror.begin()
            body = "".join(f'<img src="http://c/{path}">' for path in paths).encode()
            headers = [("content-type", "text/html")]
            mirror.loaded(Page(Url(url(0), 1), Outcome.SUCCESS, 200, headers, body))
            for path in paths:
                image = Url(f"http://c/{path}", 1, via=url(0))
                if status == 200:
                    mirror.loaded(Page(image, Outcome.SUCCESS, 200, [], path.encode()))
                else:
                    mirror.missed(Page(image, Outcome.ERR_50X, status))
            for _ in mirror.finish(complete=True):
                pass

    refresh("one", "two", status=200)
    refresh("one", status=503)
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"one", "two"}
    refresh("one", status=200)
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"one"}
