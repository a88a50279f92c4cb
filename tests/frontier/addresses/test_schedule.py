import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier.addresses import IPSite, IPSites
from larbinpy.frontier.politeness import SiteSettings
from larbinpy.frontier.site import NamedSite, UrlTotals
from larbinpy.page import Outcome
from larbinpy.url import Url
from tests.support.frontiers import DEAD, MANY, SILENT, left_alone, reply, site_settings, together

ONE, TWO = "198.51.100.1", "198.51.100.2"
WALL = 1_700_000_000.0


class Ground:
    """IPSites and the sites on them."""

    def __init__(
        self,
        least: float = 10.0,
        most: float = 600.0,
        wait_by: str = "ip",
        connexions: int = 1,
        pool: int = MANY,
    ) -> None:
        self.settings = site_settings(least, most, connexions=connexions)
        self.ip_sites = IPSites(self.settings, wait_by, pool)
        self.sites: dict[str, NamedSite] = {}
        self.totals = UrlTotals()

    def add(
        self,
        name: str,
        urls: Any = 1,
        address: str = ONE,
        settings: SiteSettings | None = None,
    ) -> NamedSite:
        site = self.sites.get(name)
        if site is None:
            settings = settings or self.settings
            site = self.sites[name] = NamedSite(f"http://{name}.test", settings, self.totals)
            self.ip_sites.move(site, (address,))
        for number in range(urls):
            self.ip_sites.add(site, Url(f"{site.key}/{number}", 1))
        return site

    def take(self, now: float) -> Url | None:
        taken = self.ip_sites.take(now)
        return None if taken is None else taken[0]

    def host(self, now: float) -> str:
        """The host of the URL that may be fetched at `now`."""
        url = self.take(now)
        assert url is not None
        return url.host

    def land(self, url: Url | None, now: float, status: int = 200, **more: Any) -> NamedSite:
        assert url is not None
        return self.ip_sites.landed(reply(url, status, **more), now, WALL)

    def fetch(self, now: float, **more: Any) -> str:
        """Take a URL and bring it home at once; its site's letter."""
        url = self.take(now)
        if url is None:
            return "-"
        self.land(url, now, **more)
        return url.host[0]


def test_one_request_at_a_time_and_the_wait_counts_from_its_end() -> None:
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


def test_the_address_that_was_checked_is_the_one_to_ask() -> None:
    ground = Ground()
    ground.add("a", address=TWO)
    assert ground.ip_sites.take(0) == (Url("http://a.test/0", 1), TWO)


def test_sites_of_one_address_share_its_waits() -> None:
    ground = Ground(least=10)
    ground.add("a")
    ground.add("b")
    ground.add("c", address=TWO)
    assert [ground.fetch(0) for _ in range(3)] == ["a", "c", "-"]
    assert ground.fetch(10) == "b"


@pytest.mark.parametrize("landing", [(), (0,), (1,), (2,), (2, 1), (0, 2)])
def test_the_newest_request_is_the_last_of_those_in_flight(landing: tuple[int, ...]) -> None:
    ground = Ground(wait_by="site")
    for name in "abc":
        ground.add(name)
    urls = [ground.take(now) for now in (5.0, 6.0, 7.0)]
    for place in landing:
        ground.land(urls[place], 9.0)
    flying = {n: url for n, url in enumerate(urls) if n not in landing}
    assert [*ground.ip_sites.flying()] == [*flying.values()]
    assert ground.ip_sites.newest == (flying[max(flying)], 5.0 + max(flying))


def test_wait_by_site_lets_each_site_be_asked() -> None:
    ground = Ground(least=10, wait_by="site")
    ground.add("a", 2)
    ground.add("b", 2)
    assert [ground.fetch(0) for _ in range(3)] == ["a", "b", "-"]
    assert [ground.fetch(10) for _ in range(3)] == ["a", "b", "-"]
    assert ground.ip_sites.registry.distinct_keys.count == 2


def test_wait_by_both_counts_for_the_site_when_it_moves() -> None:
    both, by_ip = Ground(least=10, wait_by="both"), Ground(least=10)
    for ground in (both, by_ip):
        site = ground.add("a", 2)
        assert ground.fetch(0) == "a"
        ground.ip_sites.move(site, (TWO,))
    assert both.fetch(1) == "-" and both.fetch(10) == "a"
    assert by_ip.fetch(1) == "a"


def test_sites_take_turns() -> None:
    ground = Ground(least=1)
    for name in "abc":
        ground.add(name, 3)
    assert "".join(ground.fetch(now) for now in range(10)) == "abcabcabc-"


@pytest.mark.parametrize("addresses", [(ONE, ONE), (ONE, TWO)])
def test_without_waits_sites_take_turns_of_ten(addresses: Any) -> None:
    """So most requests find a connection open, however many sites there are."""
    ground = Ground(least=0)
    for name, address in zip("ab", addresses, strict=True):
        ground.add(name, 30, address)
    assert "".join(ground.fetch(now) for now in range(1, 43)) == "ab" + 2 * ("a" * 10 + "b" * 10)


def test_a_wait_of_its_own_ends_a_run() -> None:
    ground = Ground(least=0)
    site = ground.add("a", 30)
    assert [ground.fetch(0) for _ in range(3)] == ["a", "a", "a"]
    ground.land(ground.take(1), 1, status=503)
    assert ground.fetch(1) == "-"
    assert site.next_at > 1


def test_a_site_that_waits_longer_gets_its_turn_too() -> None:
    """A Crawl-delay must not put a site behind neighbours that are always ready."""
    ground = Ground(least=1)
    ground.add("a", 100)
    ground.add("b", 100)
    slow = ground.add("s", 100)
    slow.pace.crawl_delay(5)
    turns = "".join(ground.fetch(now) for now in range(60))
    assert turns.count("s") >= 9
    assert turns.count("a") >= 20 and turns.count("b") >= 20


def test_a_site_that_comes_later_does_not_wait_for_the_others_to_end() -> None:
    ground = Ground(least=1)
    ground.add("a", 50)
    ground.add("b", 50)
    turns = "".join(ground.fetch(now) for now in range(10))
    ground.add("c", 1).next_at = 10
    turns = "".join(ground.fetch(now) for now in range(10, 14))
    assert "c" in turns


def test_a_pause_for_one_site_leaves_the_others_alone() -> None:
    ground = Ground(least=1)
    ground.add("a", 2)
    ground.add("b", 3)
    assert ground.fetch(0, status=503, headers={"retry-after": "100"}) == "a"
    assert "".join(ground.fetch(now) for now in range(1, 6)) == "bbb--"
    assert ground.ip_sites.deadline == 100
    assert ground.fetch(99.9) == "-"
    assert ground.fetch(100) == "a"


def test_a_pause_goes_with_the_site_to_another_address() -> None:
    ground = Ground(least=1)
    site = ground.add("a", 2)
    ground.fetch(0, status=503, headers={"retry-after": "100"})
    ground.ip_sites.move(site, (TWO,))
    assert ground.fetch(50) == "-"
    assert ground.fetch(100) == "a"


@pytest.mark.parametrize(("headers", "until"), [({}, 100.25), ({"retry-after": "5"}, 107)])
def test_several_refusals_pause_a_site_once(headers: dict[str, str], until: float) -> None:
    ground = Ground(least=0, connexions=3)
    site = ground.add("a", 5)
    flights = [ground.take(99.0) for _ in range(3)]
    for number, url in enumerate(flights):
        ground.land(url, 100.0 + number, status=429, headers=headers)
    assert (site.pace.delay, site.held_until) == (0.25, until)


def test_a_pause_is_within_max_wait() -> None:
    ground = Ground(least=1, most=60)
    ground.add("a", 2)
    ground.fetch(0, status=429, headers={"retry-after": "1000000000"})
    assert ground.fetch(59.9) == "-"
    assert ground.fetch(60) == "a"


def test_several_connexions_at_once_still_keep_their_distance() -> None:
    ground = Ground(least=10, connexions=2)
    ground.add("a", 4)
    first = ground.take(0)
    assert ground.take(5) is None
    assert ground.take(10) is not None
    assert ground.take(1000) is None
    ground.land(first, 1000)
    assert ground.take(1010) is not None


def test_without_a_wait_the_connexions_are_the_limit() -> None:
    ground = Ground(least=0, connexions=3)
    ground.add("a", 5)
    flights = [ground.take(0) for _ in range(4)]
    assert flights[3] is None and None not in flights[:3]
    assert ground.ip_sites.in_flight == 3


def test_a_site_moves_with_its_urls() -> None:
    ground = Ground(least=10)
    site = ground.add("a", 2)
    ground.add("b", 2)
    ground.ip_sites.move(site, (TWO, ONE))
    due = [ground.ip_sites.take(0) for _ in range(2)]
    assert [taken and taken[1] for taken in due] == [ONE, TWO]
    assert len(ground.ip_sites.registry) == 2


def test_a_request_in_flight_comes_home_to_the_address_it_went_to() -> None:
    ground = Ground(least=10)
    site = ground.add("a", 2)
    ground.add("b")
    url = ground.take(0)
    ground.ip_sites.move(site, (TWO,))
    assert ground.host(20) == "a.test"
    assert ground.take(20) is None, "the first address is still busy"
    ground.land(url, 20)
    assert ground.host(30) == "b.test"


def test_a_withdrawn_site_is_not_asked() -> None:
    ground = Ground()
    site = ground.add("a", 2)
    site.park(Url("http://a.test/later", 1))
    assert (ground.totals.ready, ground.totals.waiting) == (2, 1)
    for _ in range(2):
        ground.ip_sites.withdraw(site)
        assert [url.href[14:] for url in site.waiting] == ["0", "1", "later"]
        assert (site.enlisted, ground.totals.ready, ground.totals.waiting) == (False, 0, 3)
    assert ground.take(0) is None
    ground.add("a", 1)
    assert ground.take(0) is not None


def test_a_url_added_first_is_fetched_first() -> None:
    ground = Ground()
    site = ground.add("a", 2)
    ground.ip_sites.add(site, Url("http://a.test/robots.txt", 0), first=True)
    assert ground.take(0) == Url("http://a.test/robots.txt", 0)


def test_a_shorter_wait_duration_counts_from_the_next_request() -> None:
    ground = Ground(least=30)
    ground.add("a", 3)
    assert ground.fetch(0) == "a"
    ground.settings.waits.least = 1
    assert ground.fetch(29) == "-"
    assert ground.fetch(30) == "a"
    assert ground.fetch(31) == "a"


def test_only_a_site_with_ready_urls_is_enlisted() -> None:
    ip_site = IPSite(ONE, site_settings(0, 0))
    with pytest.raises(AssertionError):
        ip_site.enlist(NamedSite("http://a.test", site_settings(0, 0), UrlTotals()), 1)
    assert repr(ip_site) == f"<IPSite {ONE} sites=0 in_flight=0>"


def test_repr() -> None:
    ground = Ground()
    ground.add("a", 2)
    ground.take(0)
    assert repr(ground.ip_sites) == "<IPSites 1 in_flight=1>"


# Addresses that have nothing to ask.


def test_an_idle_address_is_evicted_but_its_wait_is_kept() -> None:
    ground = Ground(least=10)
    ground.add("a")
    assert ground.fetch(100) == "a"
    assert (
        len(ground.ip_sites.registry),
        list(ground.ip_sites.registry),
        ground.ip_sites.registry.distinct_keys.count,
    ) == (0, [], 1)
    assert left_alone(ground.ip_sites.registry) == {ONE: 110}
    ground.add("b")
    assert left_alone(ground.ip_sites.registry) == {}
    assert (ground.fetch(109.9), ground.fetch(110)) == ("-", "b")
    assert ground.ip_sites.registry.distinct_keys.count == 1, "it is the same address"


def test_an_address_stays_while_a_request_is_in_flight() -> None:
    ground = Ground(least=10)
    site = ground.add("a", 2)
    url = ground.take(0)
    ground.ip_sites.withdraw(site)
    assert [one.key for one in ground.ip_sites.registry] == [ONE]
    ground.land(url, 5)
    assert (len(ground.ip_sites.registry), left_alone(ground.ip_sites.registry)) == (0, {ONE: 15})


def test_an_address_that_its_last_site_leaves_is_evicted() -> None:
    ground = Ground(least=10)
    site = ground.add("a", 2)
    ground.fetch(0)
    ground.ip_sites.move(site, (TWO,))
    assert [one.key for one in ground.ip_sites.registry] == [TWO]
    assert left_alone(ground.ip_sites.registry) == {ONE: 10}


def test_addresses_rest_after_a_crash_even_when_they_come_back() -> None:
    ground = Ground(least=10)
    ground.ip_sites.registry.let_rest(100)
    ground.ip_sites.registry.leave_alone({ONE: 105.0})
    ground.add("a")
    assert (ground.fetch(109), ground.fetch(110)) == ("-", "a")


def test_pauses_are_those_that_last_beyond_a_time() -> None:
    ground = Ground(least=10)
    ground.add("a")
    ground.add("b", 2, TWO)
    ground.fetch(0), ground.fetch(1)
    assert together(ground.ip_sites.registry.pauses(0)) == {ONE: 10, TWO: 11}
    assert together(ground.ip_sites.registry.pauses(10)) == {TWO: 11}


# Sites that have never answered.


def crowd(ground: Ground, count: int, *, urls: Any = 3) -> None:
    """Sites each at an address of its own."""
    for number in range(count):
        ground.add(f"s{number}", urls, f"203.0.113.{number}")


def take_all(ground: Ground, now: float) -> list[Url]:
    return list(iter(lambda: ground.take(now), None))


def test_unproven_sites_have_half_of_the_pool() -> None:
    ground = Ground(least=10, pool=8)
    crowd(ground, 20)
    flights = take_all(ground, 0)
    assert len(flights) == 4
    assert ground.ip_sites.deadline is None, "nothing to wait for but a landing"
    for url in flights:
        ground.land(url, 5)
    assert ground.ip_sites.deadline is not None and ground.ip_sites.deadline <= 5
    assert len(take_all(ground, 5)) == 4, "they keep their wait, others have theirs"
    assert ground.ip_sites.deadline == 15
    assert len(take_all(ground, 15)) == 4, "those that answered pass"
    assert ground.ip_sites.deadline is None


@pytest.mark.parametrize(
    ("pool", "share"), [(1, 1), (2, 1), (3, 1), (4, 2), (100, 50), (MANY, 200)]
)
def test_the_share_of_a_pool(pool: int, share: int) -> None:
    ground = Ground(pool=pool)
    crowd(ground, 200)
    assert len(take_all(ground, 0)) == share


def test_the_share_grows_with_the_pool() -> None:
    ground = Ground(pool=4)
    crowd(ground, 20)
    assert len(take_all(ground, 0)) == 2
    ground.ip_sites.resize(10)
    assert len(take_all(ground, 0)) == 3
    ground.ip_sites.resize(2)
    assert ground.ip_sites.deadline is None


@pytest.mark.parametrize(
    ("end", "proven"),
    [
        ({}, True),
        ({"status": 404}, True),
        ({"status": 503}, True),
        ({"status": 0, "outcome": Outcome.EARLY_STOP}, True),
        ({"status": 0, "outcome": Outcome.BAD_TLS}, True),
        (DEAD, False),
        (SILENT, False),
        ({"status": 200, "outcome": Outcome.TIMEOUT}, False),
    ],
    ids=str,
)
def test_a_site_is_proven_by_its_last_answer(end: Any, proven: Any) -> None:
    """A byte a second holds a request as long as none."""
    ground = Ground(least=0, pool=2)
    site = ground.add("a", 3)
    assert not site.proven
    ground.land(ground.take(0), 1, **end)
    assert site.proven is proven
    ground.land(ground.take(2), 3)
    assert site.proven
    ground.land(ground.take(4), 5, **end)
    assert site.proven is proven


def test_a_site_that_falls_silent_counts_with_the_unproven() -> None:
    ground = Ground(least=0, pool=4, connexions=3)
    ground.add("a", 1)
    ground.land(ground.take(0), 0)
    ground.add("a", 4)
    first = ground.take(1)
    ground.land(first, 2, **SILENT)
    assert ground.take(3) and ground.take(4)
    assert ground.take(5) is None, "there is a third connexion, but no share of the pool"
    crowd(ground, 3)
    assert ground.take(6) is None


def test_at_one_address_proven_sites_pass_unproven_ones() -> None:
    ground = Ground(least=1, pool=2)
    ground.add("a", 1)
    assert ground.fetch(0) == "a"
    ground.add("z", 1, TWO)
    held = ground.take(1)
    assert held is not None and held.host == "z.test"
    ground.add("b", 3)
    ground.add("a", 3)
    assert "".join(ground.fetch(now) for now in range(2, 7)) == "aaa--"
    ground.land(held, 7)
    assert "".join(ground.fetch(now) for now in range(8, 12)) == "bbb-"


def test_at_one_address_the_unproven_are_not_put_off_for_ever() -> None:
    ground = Ground(least=1, most=1, pool=10)
    ground.add("a", 1)
    ground.fetch(0)
    ground.add("a", 100)
    ground.add("s", 100)
    ends: dict[str, dict[str, Any]] = {"a": {}, "s": DEAD}
    turns = ""
    for now in range(1, 41):
        url = ground.take(now)
        assert url is not None
        turns += url.host[0]
        ground.land(url, now, **ends[url.host[0]])
    assert turns.count("s") == 20


def good_fetches(silent: int, *, pool: int = 100, seconds: float = 300) -> int:
    """Fetches of ten good sites beside silent ones, which take 30 s each time."""
    ground = Ground(least=1, pool=pool)
    for number in range(silent):
        ground.add(f"z{number}", 50, f"203.0.113.{number}")
    for number in range(10):
        ground.add(f"a{number}", 1000, f"198.51.100.{number}")
    flights: list[tuple[float, Url]] = []
    good = 0
    for half in range(int(2 * seconds) + 1):
        now = half / 2
        for flight in [flight for flight in flights if flight[0] <= now]:
            flights.remove(flight)
            ground.land(flight[1], now, **(SILENT if flight[1].host[0] == "z" else {}))
        while len(flights) < pool and (url := ground.take(now)):
            good += url.host[0] == "a"
            flights.append((now + (30 if url.host[0] == "z" else 0.1), url))
    return good


def test_silent_sites_cannot_hold_the_whole_pool() -> None:
    """Once they have answered, the good ones are asked as if they were alone."""
    alone, among = good_fetches(0), good_fetches(150)
    # Three rounds of the silent go before their first request.
    assert alone * (300 - 3 * 30) / 300 * 0.95 <= among <= alone


@given(
    st.integers(0, 10**6),
    st.sampled_from(["ip", "site", "both"]),
    st.integers(1, 3),
    st.sampled_from([0.0, 2.0]),
    st.sampled_from([MANY, 1, 4]),
)
def test_no_server_is_asked_too_often_and_no_url_is_lost(
    seed: int, wait_by: str, connexions: int, least: float, pool: int
) -> None:
    """Random sites, addresses, answers and moves; time goes on by the deadlines alone."""
    rng = random.Random(seed)
    ground = Ground(least, 20.0, wait_by, connexions, pool)
    addresses = [ONE, TWO]
    for name in "abcd":
        ground.add(name, rng.randrange(6), rng.choice(addresses))
    owed = sum(len(site.ready) for site in ground.sites.values())
    now, done = 100.0, 0
    flights: list[tuple[float, str, Url]] = []
    last: dict[str, float] = {}
    unproven_flights: dict[str, bool] = {}
    while done < owed:
        while (taken := ground.ip_sites.take(now)) is not None:
            url, address = taken
            site = ground.sites[url.host[0]]
            for key in {"ip": [address], "site": [site.key]}.get(wait_by, [address, site.key]):
                assert now >= last.get(key, -100) + least
                last[key] = now
            server = site.key if wait_by == "site" else address
            flights.append((now + rng.choice([0, 0.5, 7]), server, url))
            unproven_flights[url.href] = not site.proven
            assert sum(unproven_flights.values()) <= max(1, pool // 2)
            assert sum(1 for _, other, _ in flights if other == server) <= connexions
            assert len(flights) == ground.ip_sites.in_flight
        if rng.random() < 0.2:
            ground.ip_sites.move(rng.choice(list(ground.sites.values())), (rng.choice(addresses),))
        times = [at for at, _, _ in flights]
        deadline = ground.ip_sites.deadline
        now = max(now, min([*times, *([] if deadline is None else [deadline])]))
        for flight in [flight for flight in flights if flight[0] <= now]:
            flights.remove(flight)
            del unproven_flights[flight[2].href]
            status = rng.choice([200, 200, 404, 429, 503, 0])
            ground.land(flight[2], now, **({"status": status} if status else SILENT))
            done += 1
    assert ground.ip_sites.in_flight == 0
    assert ground.take(now + 10_000) is None
    assert (len(ground.ip_sites.registry), ground.totals.ready) == (0, 0)
