"""The frontier's experiments: their web, their model of Larbin, simulated crawls."""

import dns.message
import pytest
from experiments.larbin import LarbinSequencer
from experiments.simulated import simulate
from experiments.siteserver import Server, Serving
from experiments.sitesweb import Hosts, SitesWeb, Spelling

from larbinpy.parse import links
from larbinpy.url import Url, host_of, resolve, split

SMALL = SitesWeb(sites=3, pages=(60, 20))


def test_all_links_of_the_web_lead_into_it() -> None:
    assert SMALL.counts == [60, 35, 20]
    for site, count in enumerate(SMALL.counts):
        for page in range(count):
            targets = SMALL.links((site, page))
            assert targets and all(map(SMALL.has, targets))
            assert len(set(targets)) == len(targets)


def test_two_crawls_see_the_same_web() -> None:
    again = SitesWeb(SMALL.sites, SMALL.pages)
    assert again.links((1, 7)) == SMALL.links((1, 7))
    assert again.body((1, 7), ["/"]) == SMALL.body((1, 7), ["/"])
    assert again.delay((1, 7)) == SMALL.delay((1, 7))


@pytest.mark.parametrize("hosts", Hosts)
def test_a_page_has_the_links_of_the_web(hosts: Hosts) -> None:
    spelling = Spelling(hosts, "127.0.1.", 8080)
    place = (0, 5)
    urls = [spelling.url(target) for target in SMALL.links(place)]
    body = SMALL.body(place, urls)
    assert 10_000 <= len(body) <= 31_000
    assert links(body, spelling.url(place)) == urls == list(map(resolve, urls))
    assert [spelling.place(host_of(url), split(url).path) for url in urls] == SMALL.links(place)


def test_names_have_the_address_of_their_site() -> None:
    serving = Serving(SMALL.pages, Hosts.PAGES, "10.77.0.")
    server = Server(serving.web, serving.spelling(80))
    reply = server.answer(dns.message.make_query("p5.S2.test", "A").to_wire())
    assert reply is not None
    assert dns.message.from_wire(reply).answer[0][0].to_text() == "10.77.0.3"
    assert server.answer(b"no question") is None
    assert Serving.of(serving.text()) == serving


class World:
    """A sequencer for 4 URLs of a site, and a clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sequencer = LarbinSequencer(
            lambda: self.now, max_urls_by_site=4, limit=1, period=300.0
        )

    def taken(self) -> int:
        """The number of URLs that leave the sequencer in some turns."""
        turns = [self.sequencer.take(100) for _ in range(10)]
        return sum(1 for turn in turns for _ in turn)


def test_larbin_puts_back_urls_of_a_full_site() -> None:
    world = World()
    for number in range(10):
        world.sequencer.put(Url(f"http://full/{number}", 5))
    world.sequencer.put(Url("http://other/", 5))
    # One more than four: the one in flight.
    assert world.taken() == 5 + 1
    assert world.sequencer.put_back == 5
    assert world.sequencer.owed == 11
    assert not world.sequencer.can_take


def test_larbin_reads_the_wait_queue_by_the_clock() -> None:
    world = World()
    for number in range(10):
        world.sequencer.put(Url(f"http://full/{number}", 5))
    assert world.taken() == 5
    for _ in range(5):
        world.sequencer.done(Url("http://full/", 5))
    world.now = 149.0
    assert world.taken() == 0 and not world.sequencer.can_take
    world.now = 150.0
    assert world.sequencer.can_take
    assert world.taken() == 5
    assert world.sequencer.owed == 5


def test_larbin_takes_a_hundred_urls_a_turn_and_stops_after_half_a_period() -> None:
    world = World()
    for number in range(400):
        world.sequencer.put(Url(f"http://full/{number}", 5))
    assert world.taken() == 5
    world.now = 150.0
    assert list(world.sequencer.take(100)) == []
    assert world.sequencer.put_back == 395 + 100
    world.now = 300.0
    assert not world.sequencer.can_take


@pytest.mark.parametrize("larbin_period", [None, 5.0])
def test_simulated_crawls_end_with_all_pages(larbin_period: float | None) -> None:
    done = simulate(
        SMALL, 600.0, wait_duration=0.1, max_urls_by_site=10, larbin_period=larbin_period
    )
    assert done.pages == done.urls == sum(SMALL.counts)


def test_larbin_is_idle_while_it_waits_for_the_clock() -> None:
    ours = simulate(SMALL, 6.0, wait_duration=0.1, max_urls_by_site=10)
    larbins = simulate(SMALL, 6.0, wait_duration=0.1, max_urls_by_site=10, larbin_period=300.0)
    assert ours.pages > 1.2 * larbins.pages
