import random

import pytest
from frontiers import reply
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier.ip_site import IPSite, IPSites
from larbinpy.frontier.named_site import NamedSite
from larbinpy.frontier.politeness import Pace, Waits
from larbinpy.url import Url

ONE, TWO = "198.51.100.1", "198.51.100.2"
WALL = 1_700_000_000.0


class Ground:
    """IPSites and the sites on them."""

    def __init__(self, least=10.0, most=600.0, wait_by="ip", connexions=1):
        self.waits = Waits(least, most)
        self.ip_sites = IPSites(self.waits, wait_by, connexions)
        self.sites = {}

    def add(self, name, urls=1, address=ONE):
        site = self.sites.get(name)
        if site is None:
            site = self.sites[name] = NamedSite(f"http://{name}.test", Pace(self.waits))
            self.ip_sites.move(site, (address,))
        for number in range(urls):
            site.ready.append(Url(f"{site.key}/{number}", 1))
        self.ip_sites.enlist(site)
        return site

    def take(self, now):
        taken = self.ip_sites.take(now)
        return None if taken is None else taken[0]

    def land(self, url, now, status=200, **more):
        return self.ip_sites.landed(reply(url, status, **more), now, WALL)

    def fetch(self, now, **more):
        """Take a URL and bring it home at once; its site's letter."""
        url = self.take(now)
        if url is None:
            return "-"
        self.land(url, now, **more)
        return url.host[0]


def test_one_request_at_a_time_and_the_wait_counts_from_its_end():
    ground = Ground(least=10)
    ground.add("a", 3)
    first = ground.take(100)
    assert first is not None
    assert ground.take(1000) is None
    assert ground.ip_sites.deadline is None
    ground.land(first, 1000)
    assert ground.ip_sites.deadline == 1010
    assert ground.take(1009.9) is None
    assert ground.take(1010) is not None


def test_the_address_that_was_checked_is_the_one_to_ask():
    ground = Ground()
    ground.add("a", address=TWO)
    assert ground.ip_sites.take(0) == (Url("http://a.test/0", 1), TWO)


def test_sites_of_one_address_share_its_waits():
    ground = Ground(least=10)
    ground.add("a")
    ground.add("b")
    ground.add("c", address=TWO)
    assert [ground.fetch(0) for _ in range(3)] == ["a", "c", "-"]
    assert ground.fetch(10) == "b"


def test_wait_by_site_lets_each_site_be_asked():
    ground = Ground(least=10, wait_by="site")
    ground.add("a", 2)
    ground.add("b", 2)
    assert [ground.fetch(0) for _ in range(3)] == ["a", "b", "-"]
    assert [ground.fetch(10) for _ in range(3)] == ["a", "b", "-"]
    assert len(ground.ip_sites) == 2


def test_wait_by_both_counts_for_the_site_when_it_moves():
    both, by_ip = Ground(least=10, wait_by="both"), Ground(least=10)
    for ground in (both, by_ip):
        site = ground.add("a", 2)
        assert ground.fetch(0) == "a"
        ground.ip_sites.move(site, (TWO,))
    assert both.fetch(1) == "-" and both.fetch(10) == "a"
    assert by_ip.fetch(1) == "a"


def test_sites_take_turns():
    ground = Ground(least=1)
    for name in "abc":
        ground.add(name, 3)
    assert "".join(ground.fetch(now) for now in range(10)) == "abcabcabc-"


def test_a_site_that_waits_longer_gets_its_turn_too():
    """A Crawl-delay must not put a site behind neighbours that are always ready."""
    ground = Ground(least=1)
    ground.add("a", 100)
    ground.add("b", 100)
    slow = ground.add("s", 100)
    slow.pace.crawl_delay(5)
    turns = "".join(ground.fetch(now) for now in range(60))
    assert turns.count("s") >= 9
    assert turns.count("a") >= 20 and turns.count("b") >= 20


def test_a_site_that_comes_later_does_not_wait_for_the_others_to_end():
    ground = Ground(least=1)
    ground.add("a", 50)
    ground.add("b", 50)
    turns = "".join(ground.fetch(now) for now in range(10))
    ground.add("c", 1).next_at = 10
    turns = "".join(ground.fetch(now) for now in range(10, 14))
    assert "c" in turns


def test_a_pause_for_one_site_leaves_the_others_alone():
    ground = Ground(least=1)
    ground.add("a", 2)
    ground.add("b", 3)
    assert ground.fetch(0, status=503, headers={"retry-after": "100"}) == "a"
    assert "".join(ground.fetch(now) for now in range(1, 6)) == "bbb--"
    assert ground.ip_sites.deadline == 100
    assert ground.fetch(99.9) == "-"
    assert ground.fetch(100) == "a"


def test_a_pause_goes_with_the_site_to_another_address():
    ground = Ground(least=1)
    site = ground.add("a", 2)
    ground.fetch(0, status=503, headers={"retry-after": "100"})
    ground.ip_sites.move(site, (TWO,))
    assert ground.fetch(50) == "-"
    assert ground.fetch(100) == "a"


def test_a_pause_is_within_max_wait():
    ground = Ground(least=1, most=60)
    ground.add("a", 2)
    ground.fetch(0, status=429, headers={"retry-after": "1000000000"})
    assert ground.fetch(59.9) == "-"
    assert ground.fetch(60) == "a"


def test_several_connexions_at_once_still_keep_their_distance():
    ground = Ground(least=10, connexions=2)
    ground.add("a", 4)
    first = ground.take(0)
    assert ground.take(5) is None
    assert ground.take(10) is not None
    assert ground.take(1000) is None
    ground.land(first, 1000)
    assert ground.take(1010) is not None


def test_without_a_wait_the_connexions_are_the_limit():
    ground = Ground(least=0, connexions=3)
    ground.add("a", 5)
    flights = [ground.take(0) for _ in range(4)]
    assert flights[3] is None and None not in flights[:3]
    assert ground.ip_sites.in_flight == 3


def test_a_site_moves_with_its_urls():
    ground = Ground(least=10)
    site = ground.add("a", 2)
    ground.add("b", 2)
    ground.ip_sites.move(site, (TWO, ONE))
    assert [ground.ip_sites.take(0)[1] for _ in range(2)] == [ONE, TWO]
    assert len(ground.ip_sites) == 2


def test_a_request_in_flight_comes_home_to_the_address_it_went_to():
    ground = Ground(least=10)
    site = ground.add("a", 2)
    ground.add("b")
    url = ground.take(0)
    ground.ip_sites.move(site, (TWO,))
    assert ground.take(20).host == "a.test"
    assert ground.take(20) is None, "the first address is still busy"
    ground.land(url, 20)
    assert ground.take(30).host == "b.test"


def test_a_dismissed_site_is_not_asked():
    ground = Ground()
    site = ground.add("a", 2)
    ground.ip_sites.dismiss(site)
    ground.ip_sites.dismiss(site)
    assert not site.enlisted
    assert ground.take(0) is None
    ground.ip_sites.enlist(site)
    assert ground.take(0) is not None


def test_a_shorter_wait_set_by_people_counts_from_the_next_request():
    ground = Ground(least=30)
    ground.add("a", 3)
    assert ground.fetch(0) == "a"
    ground.waits.least = 1
    assert ground.fetch(29) == "-"
    assert ground.fetch(30) == "a"
    assert ground.fetch(31) == "a"


def test_only_a_site_with_ready_urls_is_enlisted():
    ip_site = IPSite(ONE, 1)
    with pytest.raises(AssertionError):
        ip_site.enlist(NamedSite("http://a.test", Pace(Waits(0, 0))))
    assert repr(ip_site) == f"<IPSite {ONE} sites=0 in_flight=0>"


def test_repr():
    ground = Ground()
    ground.add("a", 2)
    ground.take(0)
    assert repr(ground.ip_sites) == "<IPSites 1 in_flight=1 <Schedule 0 entries>>"


@given(
    st.integers(0, 10**6),
    st.sampled_from(["ip", "site", "both"]),
    st.integers(1, 3),
    st.sampled_from([0.0, 2.0]),
)
def test_nobody_is_asked_too_often_and_nothing_is_forgotten(seed, wait_by, connexions, least):
    """Random sites, addresses, answers and moves; time goes on by the deadlines alone."""
    rng = random.Random(seed)
    ground = Ground(least, 20.0, wait_by, connexions)
    addresses = [ONE, TWO]
    for name in "abcd":
        ground.add(name, rng.randrange(6), rng.choice(addresses))
    owed = sum(len(site.ready) for site in ground.sites.values())
    now, flights, last, done = 100.0, [], {}, 0
    while done < owed:
        while (taken := ground.ip_sites.take(now)) is not None:
            url, address = taken
            site = ground.sites[url.host[0]]
            for key in {"ip": [address], "site": [site.key]}.get(wait_by, [address, site.key]):
                assert now >= last.get(key, -100) + least
                last[key] = now
            server = site.key if wait_by == "site" else address
            flights.append((now + rng.choice([0, 0.5, 7]), server, url))
            assert sum(1 for _, other, _ in flights if other == server) <= connexions
            assert len(flights) == ground.ip_sites.in_flight
        if rng.random() < 0.2:
            ground.ip_sites.move(rng.choice(list(ground.sites.values())), (rng.choice(addresses),))
        times = [at for at, _, _ in flights]
        deadline = ground.ip_sites.deadline
        now = max(now, min([*times, *([] if deadline is None else [deadline])]))
        for flight in [flight for flight in flights if flight[0] <= now]:
            flights.remove(flight)
            ground.land(flight[2], now, rng.choice([200, 200, 404, 429, 503]))
            done += 1
    assert ground.ip_sites.in_flight == 0
    assert ground.take(now + 10_000) is None
