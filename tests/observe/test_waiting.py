"""The sentence about what a crawl waits for, at moments of a frontier."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.errors import CrawlState
from larbinpy.observe.snapshot import waits_for
from tests.support.fakefeeder import FakeFeeder
from tests.support.fakelogins import DOOR, FakeLogins
from tests.support.fakeprobes import FakeProbes
from tests.support.frontiers import DEAD, MakeWorld, World, make_frontier

PAGE = "http://a.test/page"
ROBOTS = "http://a.test/robots.txt"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[MakeWorld]:
    made = []

    def make(
        *seeds: str,
        names: dict[str, Any] | None = None,
        replies: dict[str, Any] | None = None,
        latency: float = 0.1,
        **settings: Any,
    ) -> World:
        frontier = make_frontier(tmp_path, **settings)
        made.append(frontier)
        for seed in seeds:
            assert frontier.seed(seed) is None
        return World(frontier, names, replies, latency=latency)

    yield make
    for frontier in made:
        frontier.close()


def shown(world: World, after: float, state: CrawlState = CrawlState.RUNNING) -> str:
    """The sentence so many seconds after the start."""
    began = 5000.0
    world.run(until=began + after)
    return waits_for(state.value, world.frontier, began + after)


def test_a_name_that_is_tried_again(world: MakeWorld) -> None:
    here = world(PAGE, "http://b.test/", names={"a.test": "nxdomain"})
    assert shown(here, 3) == "a.test: no such name, try 2 of 4 in 12 s"
    assert shown(here, 20) == "a.test: no such name, try 3 of 4 in 10 s"


def test_a_wait_between_requests(world: MakeWorld) -> None:
    here = world(PAGE, "http://a.test/2", least=30.0)
    assert shown(here, 8) == "a.test: waitDuration, next request in 22 s"
    assert shown(here, 29.9) == ""


def test_a_crawl_delay(world: MakeWorld) -> None:
    rules = {"body": b"User-agent: *\nCrawl-delay: 60\n"}
    here = world(PAGE, "http://a.test/2", least=1.0, replies={ROBOTS: rules})
    assert shown(here, 10).startswith("a.test: Crawl-delay, next request in 5")


def test_a_pause_that_was_asked_for(world: MakeWorld) -> None:
    busy = {"status": 503, "headers": {"retry-after": "120"}}
    here = world(PAGE, "http://a.test/2", least=1.0, replies={PAGE: [busy, {}]})
    # The URL that was refused is due sooner, and waits for the site as well.
    for after, left in ((10, "1.9 min"), (60, "1 min")):
        assert shown(here, after) == f"a.test: it asked for a pause, next request in {left}"


def test_a_page_that_is_tried_again(world: MakeWorld) -> None:
    here = world(PAGE, replies={PAGE: [{"status": 500}, {}]})
    assert shown(here, 5).startswith("a.test: 500 Internal Server Error, try 2 of 4 in ")


def test_a_robots_txt_that_is_tried_again(world: MakeWorld) -> None:
    here = world(PAGE, replies={ROBOTS: DEAD})
    assert shown(here, 5).startswith("a.test: no connection could be made, try 2 of 4 in ")


def test_a_login_that_failed(world: MakeWorld) -> None:
    """There are three of them, whatever retries is."""
    refused = {f"{DOOR}/login": {"status": 403}}
    here = world(PAGE, replies=refused, logins=FakeLogins())
    assert shown(here, 5).startswith("a.test: err40X 403, another login in ")


def test_a_retry_that_waits_for_the_delay_of_its_site(world: MakeWorld) -> None:
    """The delay grows with each failure, and is soon longer than retryWait."""
    here = world(PAGE, replies={ROBOTS: DEAD}, least=30.0)
    assert shown(here, 30) == "a.test: no connection could be made, try 2 of 4 in 30 s"
    here = world(
        "http://b.test/page",
        replies={"http://b.test/page": {**DEAD, "detail": "Connection refused"}},
        least=30.0,
        ignore_robots=True,
    )
    assert shown(here, 30) == "b.test: Connection refused, try 2 of 4 in 30 s"


def test_a_site_that_stopped_answering(world: MakeWorld) -> None:
    """Not only the URL that failed must wait for it."""
    dead = {**DEAD, "detail": "Connection refused"}
    seeds = [f"http://a.test/{n}" for n in range(4)]
    here = world(*seeds, replies=dict.fromkeys(seeds, dead), least=30.0, ignore_robots=True)
    assert shown(here, 30) == "a.test: Connection refused, next request in 30 s"


def test_a_robots_txt_under_way(world: MakeWorld) -> None:
    here = world(PAGE, latency=20.0)
    assert shown(here, 1) == "robots.txt of a.test is being fetched"
    assert shown(here, 12) == "robots.txt of a.test is being fetched, 12 s so far"


def test_a_probe_under_way(world: MakeWorld) -> None:
    more = {"probes": FakeProbes(), "ignore_robots": True, "latency": 20.0}
    here = world(PAGE, "http://a.test/other", **more)
    assert shown(here, 1) == "a.test: a name that cannot exist is being asked for"


def test_many_robots_txt_under_way_are_progress(world: MakeWorld) -> None:
    names = {"b.test": ("198.51.100.2",)}
    here = world(PAGE, "http://b.test/", names=names, latency=20.0)
    assert shown(here, 1) == ""
    later = shown(here, 12)
    assert later.endswith(".test is being fetched, 12 s so far (and 1 more)")


def test_a_reply_that_takes_long(world: MakeWorld) -> None:
    here = world(PAGE, latency=20.0, ignore_robots=True)
    assert shown(here, 1) == ""
    assert shown(here, 12) == "a.test: no whole reply yet, 12 s so far"


def test_while_one_site_is_busy_the_others_are_not_named(world: MakeWorld) -> None:
    names = {"a.test": "servfail"}
    here = world(PAGE, "http://b.test/", names=names, latency=2.0, ignore_robots=True)
    assert shown(here, 1) == ""
    assert shown(here, 3).startswith("a.test: the name server failed (servfail), try 2 of 4")


@pytest.mark.parametrize("ignore_robots", [False, True])
def test_a_request_that_waits_for_its_turn_is_not_out(
    world: MakeWorld, ignore_robots: bool
) -> None:
    here = world(PAGE, latency=20.0, ignore_robots=ignore_robots)
    here.run(until=5012.0)
    frontier, feeder = here.frontier, FakeFeeder()
    places = {frontier.ip_sites.newest[0].href: "192.0.2.1"}

    def said() -> str:
        state = CrawlState.RUNNING.value
        return waits_for(state, frontier, 5012.0, feeder, lambda url: places.get(url.href, ""))

    assert said() == (
        "a.test: it waits for its turn at 192.0.2.1, which other nodes ask, too, 12 s so far"
    )
    feeder.holds = "Redis does not answer"
    assert said() == "Redis does not answer"


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (CrawlState.PAUSED, "paused"),
        (CrawlState.DISK_FULL, "disk full"),
        (CrawlState.WAITING, "nothing left to fetch; it waits for seeds"),
        (CrawlState.FINISHED, ""),
        (CrawlState.STOPPING, "the outputs end their work; a mirror rewrites its links"),
    ],
)
def test_states_of_the_crawl(world: MakeWorld, state: CrawlState, sentence: str) -> None:
    assert shown(world(PAGE, least=30.0), 8, state) == sentence


def test_an_idle_crawl_waits_for_what_its_feeder_names(world: MakeWorld) -> None:
    feeder = FakeFeeder()
    feeder.idle = "other nodes are at work"
    frontier = world(PAGE).frontier
    sentence = waits_for(CrawlState.WAITING.value, frontier, 0.0, feeder)
    assert sentence == "nothing left to fetch; other nodes are at work"
