import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier.frontier import SavedSeedArea
from larbinpy.frontier.scope import Candidate, Scope, SeedArea
from larbinpy.parse import Kind
from tests.support.frontiers import all_pages

SEED = "http://www.a.test/docs/guide/index.html?x=/y/"
URLS = [
    SEED,
    "https://www.a.test:8080/docs/guide/index.html?x=/y/",
    "http://www.a.test/docs/guide/index.html",
    "http://www.a.test/docs/guide/",
    "http://www.a.test/docs/guide/deep/x?y=/",
    "http://www.a.test/docs/guide",
    "http://www.a.test/docs/guides/",
    "http://www.a.test/?/docs/guide/",
    "http://www.a.test/",
    "http://a.test/docs/guide/",
    "http://b.test/docs/guide/",
]


@pytest.mark.parametrize(
    ("stay", "within"), [("page", 2), ("prefix", 5), ("host", 9), ("domain", 10), ("any", 11)]
)
def test_which_urls_are_within(stay: str, within: int) -> None:
    area = SeedArea(stay)
    area.add([SEED])
    assert [url for url in URLS if area.has(url)] == URLS[:within]
    assert area.has_host(SEED) and not area.has_host(URLS[9])


def test_each_seed_widens_the_area() -> None:
    area = SeedArea("prefix")
    area.add(["http://a.test/x/1", "http://a.test/y/", "http://b.test/"])
    assert area.has("http://a.test/y/z") and area.has("http://b.test/any/thing")
    assert not area.has("http://a.test/z")
    assert list(area.hosts) == ["a.test", "b.test"]


def test_a_seed_that_redirects_to_its_own_folder_is_that_folder() -> None:
    area = SeedArea("prefix")
    area.add(["http://a.test/docs"])
    assert area.has("http://a.test/other")  # as far as is known
    area.redirect("http://a.test/docs", ["https://a.test/docs"])
    area.redirect("https://a.test/docs", ["https://www.a.test/docs/"])
    for host in ("a.test", "www.a.test"):
        assert area.has(f"http://{host}/docs/x")
        assert not area.has(f"http://{host}/other")
    # A resumed crawl is given its seeds again.
    area.add(["http://a.test/docs"], known=True)
    assert not area.has("http://a.test/other")


def test_one_of_several_targets_shows_that_a_seed_is_a_folder() -> None:
    area = SeedArea("prefix")
    area.add(["http://a.test/docs"])
    area.redirect("http://a.test/docs", ["https://a.test/docs/", "http://a.test/else/x"])
    assert area.has("http://a.test/docs/x") and area.has("http://a.test/else/y")
    assert not area.has("http://a.test/other")


@pytest.mark.parametrize("known", [False, True])
def test_the_folder_of_another_seed_stays(known: bool) -> None:
    area = SeedArea("prefix")
    area.add(["http://a.test/start.html", "http://a.test/docs"])
    saved = SavedSeedArea(area).cut(0, ended=True)
    again = SeedArea("prefix")
    SavedSeedArea(again).load(json.loads(json.dumps(saved)), 0)
    if known:
        again.add(["http://a.test/start.html", "http://a.test/docs"], known=True)
    for _ in range(2):
        again.redirect("http://a.test/docs", ["http://a.test/docs/"])
        assert again.has("http://a.test/other") and again.has("http://a.test/docs/x")
    again.redirect("http://a.test/start.html", ["http://a.test/start.html/"])
    assert not again.has("http://a.test/other")


def test_a_seed_that_redirects_elsewhere_keeps_its_folder() -> None:
    area = SeedArea("prefix")
    area.add(["http://a.test/docs"])
    area.redirect("http://a.test/docs", ["http://b.test/docs/x", "http://a.test/docs?x=/"])
    assert area.has("http://a.test/other") and area.has("http://b.test/docs/y")


@pytest.mark.parametrize("stay", ["prefix", "host", "domain"])
def test_a_redirect_to_another_domain_may_leave_the_area_as_it_is(stay: str) -> None:
    area = SeedArea(stay, follows=False)
    area.add(["http://a.test/"])
    area.redirect("http://a.test/", ["https://www.a.test/", "http://b.test/x/"])
    assert area.has("http://www.a.test/x") and not area.has("http://b.test/x/")
    again = SeedArea(stay, follows=False)
    SavedSeedArea(again).load(json.loads(json.dumps(SavedSeedArea(area).cut(0, ended=True))), 0)
    assert again.strangers == area.strangers == {"b.test"}


@pytest.mark.parametrize("stay", ["page", "prefix", "host", "domain", "any"])
def test_what_is_saved_is_the_same_area(stay: str) -> None:
    area, again = SeedArea(stay), SeedArea(stay)
    area.add([SEED, "http://c.test/"])
    SavedSeedArea(again).load(json.loads(json.dumps(SavedSeedArea(area).cut(0, ended=True))), 0)
    for url in [*URLS, "http://c.test/", "http://c.test/x", "http://x.c.test/"]:
        assert area.has(url) == again.has(url)
    assert list(area.hosts) == list(again.hosts)


HOSTS = st.sampled_from(["a.test", "b.test", "www.a.test", "a.test:81"])
ADDRESSES = st.builds(
    "{}://{}/{}".format, st.sampled_from(["http", "https"]), HOSTS, st.sampled_from(["", "x", "d/"])
)


@given(st.lists(ADDRESSES, min_size=1, max_size=3), ADDRESSES, st.booleans(), st.booleans())
def test_stay_host_is_lock_site(seeds: list[str], url: str, redirect: bool, needed: bool) -> None:
    found = []
    for settings in ({"stay": "host"}, {"lock_site": True}):
        for requisites in ("off", "site", "everywhere"):
            scope = Scope(all_pages(**settings, requisites=requisites))
            scope.area.add(seeds)
            kind = Kind.IMAGE if needed else Kind.PAGE
            candidate = Candidate(url, seeds[0], redirect, kind, needed and requisites != "off")
            found.append(scope.refuse(candidate, None))
    assert found[:3] == found[3:]


def test_a_url_of_many_folders_is_looked_up_at_once() -> None:
    """A page can have thousands of such links; each would take 5 ms if all folders were looked up.

    The limit is on this process's own time, a hundred times what the lookups need.
    """
    area = SeedArea("prefix")
    area.add(["http://a.test/g/x.html"])
    deep = "http://a.test/" + "a/" * 3900
    began = time.process_time()
    assert not any(area.has(deep) for _ in range(200))
    assert time.process_time() - began < 0.2
    area.load([], {"a.test/a/a/a/": 1})
    assert area.has(deep)


def test_a_seed_that_is_not_of_the_area_takes_no_folder_from_it() -> None:
    area = SeedArea("prefix")
    area.add(["http://a.test/x/1"])
    area.redirect("http://a.test/docs", ["http://a.test/docs/"])
    assert area.has("http://a.test/x/2") and area.has("http://a.test/docs/1")
    assert not area.has("http://a.test/other")
