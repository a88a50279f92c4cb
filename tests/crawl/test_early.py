"""Early asking: the names of a page's links are looked up before their URLs' turn comes."""

from collections import Counter
from collections.abc import Iterable

import dns.message
import pytest

from larbinpy.context import Tuning
from larbinpy.storage.sizes import FrontierSizes
from tests.support.nameserver import NameServer, answer
from tests.support.smallweb import ADDRESSES, Answer, Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]

#: Duration of the page that keeps the others in the store (s).
LONG = 20.0
#: One URL at a time leaves the store.
NARROW = Tuning(frontier=FrontierSizes(ram_urls=1))


@pytest.fixture
def asked_at(web: Web, crawl: Worlds) -> dict[str, float]:
    """Name -> when it was first asked for, since the start of the latest crawl."""
    times: dict[str, float] = {}

    def note(server: NameServer, query: dns.message.Message) -> Iterable[bytes]:
        name = query.question[0].name.to_text(omit_final_dot=True).lower()
        times.setdefault(name, crawl.world.elapsed)
        return answer(server, query)

    for name in ("a.test", "b.test", "c.test", "slow.test"):
        web.scripts[name] = [note]
    return times


def fetched_at(world: World, place: str) -> float:
    (time,) = (asked.time for asked in world.asked if asked.place == place)
    return time - world.started


def times_asked(world: World) -> Counter[str]:
    return Counter(name for name, _ in world.names.asked)


def test_the_names_of_links_are_asked_for_while_their_urls_are_in_the_store(
    web: Web, crawl: Worlds, asked_at: dict[str, float]
) -> None:
    web.page("a.test/", "//slow.test/", "/again", "//b.test/", "//b.test/2", "//c.test/")
    web.pages("slow.test/", delay=LONG)
    web.pages("a.test/again", "b.test/", "b.test/2", "c.test/")
    world = crawl("maxUrlsBySite 2", tuning=NARROW)
    assert len(world.fetched) == 6
    assert fetched_at(world, "b.test/") >= LONG
    assert max(asked_at.values()) < 1
    # Once each, though b.test was linked to twice and then wanted.
    assert set(times_asked(world).values()) == {1}
    assert world.snapshot("dns")["early"] == 3


def test_so_are_those_of_redirects(web: Web, crawl: Worlds, asked_at: dict[str, float]) -> None:
    web.page("a.test/", "//slow.test/", "//c.test/")
    web.put("slow.test/", Answer(status=302, headers=(f"Location: {web.url('b.test/')}",)))
    web.pages("b.test/")
    web.pages("c.test/", delay=LONG)
    world = crawl(tuning=NARROW)
    assert fetched_at(world, "b.test/") >= LONG
    assert asked_at["b.test"] < 1


def test_names_of_links_that_are_not_followed_are_not_asked_for(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "//out.example/", "//b.test/x.zip", "//b.test/?q", images=["//c.test/i"])
    web.pages("c.test/i")
    world = crawl("limitToDomain test end", "forbiddenExtensions .zip end")
    assert times_asked(world) == {"a.test": 1}
    assert crawl("depthInSite 0").names.asked == [("a.test", "A")]


def test_names_that_the_proxy_looks_up_are_not_asked_for(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "//b.test/")
    web.pages("b.test/")
    world = crawl(f"proxy {ADDRESSES[2]} {web.port}")
    assert world.fetched == {"a.test/", "b.test/"}
    assert (world.names.asked, world.snapshot("dns")["early"]) == ([], 0)


def test_names_that_the_site_knows_are_not_asked_for(web: Web, crawl: Worlds) -> None:
    """Even where the cache has forgotten it."""
    links = [f"/{number}" for number in range(3)]
    web.page("a.test/", "//b.test/", "/0")
    for link in links:
        web.page(f"a.test{link}", f"/{int(link[1:]) + 1}")
    web.pages("a.test/3", "b.test/")
    world = crawl("dnsCacheSize 1", "waitDuration 1")
    assert len(world.fetched) == 6
    assert times_asked(world) == {"a.test": 1, "b.test": 1}
