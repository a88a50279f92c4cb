"""The keywords of politeness: how often, how many at once, how often again. Times in seconds."""

import pytest

from tests.support.keywords import effect_of
from tests.support.smallweb import ADDRESSES, Answer, Web, at_once
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

FAILS = Answer(status=500)


@effect_of("waitDuration")
def test_wait_duration_is_between_two_requests_to_a_server(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/1", "/2")
    web.pages("a.test/1", "a.test/2")
    for wait in (0, 0.5, 30):
        world = crawl(f"waitDuration {wait}")
        # The request for robots.txt counts, too.
        assert world.gaps(world.asked) == pytest.approx([wait] * 3, abs=0.02)


@pytest.fixture
def neighbours(web: Web) -> Web:
    """Two sites at one address."""
    for host in ("a.test", "b.test"):
        web.page(f"{host}/", "/1", "/2")
        web.pages(f"{host}/1", f"{host}/2")
    return web


@effect_of("waitBy")
def test_wait_by_says_what_a_server_is(neighbours: Web, crawl: Worlds) -> None:
    def gaps(wait_by: str) -> list[float]:
        """The shortest time between two requests to the address, and to either site."""
        world = crawl(f"waitBy {wait_by}", "waitDuration 10", seeds=["a.test/", "b.test/"])
        assert len(world.fetched) == 6
        of_site = [[r for r in world.asked if r.host == host] for host in ("a.test", "b.test")]
        return [min(world.gaps(requests)) for requests in (world.asked, *of_site)]

    assert gaps("ip") == pytest.approx([10, 20, 20], abs=0.02)
    assert gaps("site") == pytest.approx([0, 10, 10], abs=0.02)
    assert gaps("both") == pytest.approx([10, 20, 20], abs=0.02)


@effect_of("waitBy")
def test_wait_by_both_waits_for_a_site_that_moves(web: Web, crawl: Worlds) -> None:
    """It takes as long for its first page as its address is believed at least."""
    web.page("a.test/", "/1", delay=130)
    web.pages("a.test/1")

    def move(world: World) -> None:
        web.zone["a.test"] = [ADDRESSES[1 if len(world.pages_asked) % 2 else 2]]

    def gap(wait_by: str) -> float:
        lines = "waitDuration 10m", "dnsCacheTime 0", "timeoutPage 200"
        world = crawl(f"waitBy {wait_by}", *lines, watch=move)
        assert len({request.address for request in world.pages_asked}) == 2
        return world.gaps()[0]

    assert gap("ip") == pytest.approx(130, abs=0.02)
    assert gap("both") >= 600


@effect_of("maxWait")
def test_max_wait_bounds_what_a_site_may_ask_for(web: Web, crawl: Worlds) -> None:
    web.robots("a.test", "User-agent: *", "Crawl-delay: 120")
    web.page("a.test/", "/1")
    web.pages("a.test/1")
    assert crawl("maxWait 20").gaps() == pytest.approx([20], abs=0.02)
    assert crawl("maxWait 10m").gaps() == pytest.approx([120], abs=0.02)


@effect_of("maxWait")
def test_max_wait_bounds_retry_after(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", Answer(status=503, headers=("Retry-After: 400",)), Answer(b"<p>"))
    assert crawl("maxWait 50", "retryWait 1").gaps() == pytest.approx([50], abs=0.02)
    assert crawl("maxWait 1h", "retryWait 1").gaps() == pytest.approx([400], abs=0.02)


@effect_of("maxConnexionsBySite")
def test_max_connexions_by_site(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(10)])
    web.pages(*[f"a.test/{n}" for n in range(10)], delay=5)
    for most in (1, 3, 10):
        world = crawl(f"maxConnexionsBySite {most}")
        assert (len(world.fetched), at_once(world.asked)) == (11, most)
    assert at_once(crawl().asked) == 1


@effect_of("pagesConnexions")
def test_pages_connexions_is_how_many_are_fetched_at_once(web: Web, crawl: Worlds) -> None:
    hosts = [f"h{n}.test" for n in range(12)]
    web.pages(*[f"{host}/" for host in hosts], delay=5)
    for most in (1, 5, 100):
        seeds = [f"{host}/" for host in hosts]
        world = crawl(f"pagesConnexions {most}", "waitBy site", seeds=seeds)
        assert (len(world.fetched), at_once(world.asked)) == (12, min(most, 12))


@effect_of("retries", "retryWait")
def test_retries_and_the_wait_before_them(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", FAILS)
    assert crawl().gaps() == pytest.approx([15, 15, 15], abs=0.02)
    world = crawl("retries 2", "retryWait 100")
    assert world.gaps() == pytest.approx([100, 100], abs=0.02)
    assert world.fates["a.test/"]["attempt"] == 3
    assert world.crawl.report["retries"] == 2
    assert len(crawl("retries 0").pages_asked) == 1


@effect_of("retries")
def test_a_page_that_comes_at_the_last_try_counts(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", FAILS, FAILS, Answer(b"<p>at last"))
    assert crawl("retries 2").fetched == {"a.test/"}
    assert crawl("retries 1").outcomes == {"a.test/": "err50X"}


@effect_of("maxUrlsBySite")
def test_max_urls_by_site_keeps_the_rest_on_disk(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(40)], "//b.test/")
    web.pages(*[f"a.test/{n}" for n in range(40)], "b.test/")
    peaks = {"held": 0, "waiting": 0}

    def watch(world: World) -> None:
        queues = world.snapshot("queues")
        held = queues["named_sites"] + queues["ip_sites"] + queues["in_flight"]
        peaks["held"] = max(peaks["held"], held)
        peaks["waiting"] = max(peaks["waiting"], queues["ordinary_wait"])

    world = crawl("maxUrlsBySite 10", watch=watch)
    assert len(world.fetched) == 42
    assert (peaks["held"] <= 10, peaks["waiting"] >= 30) == (True, True), peaks
    peaks |= {"held": 0, "waiting": 0}
    assert len(crawl(watch=watch).fetched) == 42
    assert (peaks["held"] >= 40, peaks["waiting"]) == (True, 0), peaks
