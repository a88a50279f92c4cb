from larbinpy.frontier.site import NamedSite, State, UrlTotals
from larbinpy.frontier.sites import Watch
from larbinpy.storage.sizes import FrontierSizes
from larbinpy.url import Url
from tests.support.frontiers import site_settings

SIZES = FrontierSizes(watched_directly=10, watch_step=7, watch_kept=3)


def some(count: int) -> dict[NamedSite, None]:
    """Sites of which the n-th has n URLs."""
    sites: dict[NamedSite, None] = {}
    for number in range(count):
        site = NamedSite(f"http://s{number}.test", site_settings(0, 60), UrlTotals())
        park(site, number)
        sites[site] = None
    return sites


def park(site: NamedSite, count: int) -> None:
    for _ in range(count):
        site.park(Url(site.key + "/", 1))


def test_few_are_all_found() -> None:
    sites = some(10)
    it = Watch(SIZES)
    it.step(sites.keys(), 0.0)
    assert it.found(sites.keys()) == list(sites)


def test_of_many_the_busiest_and_the_left_alone_are_found_in_a_round() -> None:
    sites = some(100)
    paused = list(sites)[5]
    paused.state, paused.tries = State.WAITING, 1
    it = Watch(SIZES)
    assert it.found(sites.keys()) == []
    for _ in range(100 // 7 + 2):
        it.step(sites.keys(), 0.0)
    found = it.found(sites.keys())
    assert {site.held for site in found} == {99, 98, 97, 5}
    gone = found[0]
    del sites[gone]
    assert gone not in it.found(sites.keys()), "it has no URLs by now"
    assert repr(it) == f"<Watch 4 found, {100 - 7} to look at>"


def test_of_many_the_slowest_are_found_in_a_round() -> None:
    sites = some(100)
    for number, site in list(enumerate(sites))[10:20]:
        site.pace.usual = float(number)
    it = Watch(SIZES)
    for _ in range(100 // 7 + 2):
        it.step(sites.keys(), 0.0)
    slow = {site.slowness() for site in it.found(sites.keys())}
    assert slow == {19, 18, 17, 0}


def test_changes_are_seen_in_the_next_round() -> None:
    sites = some(100)
    first = next(iter(sites))
    it = Watch(SIZES)
    for _ in range(20):
        it.step(sites.keys(), 0.0)
    park(first, 500)
    for _ in range(30):
        it.step(sites.keys(), 0.0)
    assert first in it.found(sites.keys())
