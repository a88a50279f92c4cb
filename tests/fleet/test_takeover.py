"""The state of a site outlives the node that had it: whole crawls on a real Redis."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.crawling import Asked, World
from tests.support.fleetweb import HOSTS, FleetWeb
from tests.support.redisjoin import address
from tests.support.redisserver import RedisServer
from tests.support.webserver import Step, reply

pytest_plugins = ["tests.support.crawlworld", "tests.support.ownredis"]
pytestmark = pytest.mark.slow

#: Seconds of a pause: longer than it takes to replace a node that was killed.
PAUSE = 10
#: limitPageBySite.
LIMIT = 8


class BusyWeb(FleetWeb):
    """The first host asks for a pause when it is asked for its second page."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.paused_at = 0.0
        #: Times of later requests to that host.
        self.later: list[float] = []

    def _answer(self, asked: Asked) -> Iterator[Step]:
        if asked.host == HOSTS[0] and self.paused_at:
            self.later.append(time.monotonic())
        elif asked.host == HOSTS[0] and asked.path == "/1":
            self.paused_at = time.monotonic()
            yield reply(b"", f"Retry-After: {PAUSE}", status="503 Service Unavailable")
            return
        yield from super()._answer(asked)


def test_a_pause_outlives_a_kill_of_the_node_that_was_asked_for_it(
    world: World, redis: RedisServer
) -> None:
    web = BusyWeb(world)
    join = ("--join", address(redis))
    first = web.start(*join, lines=("maxWait 60",))
    # Other hosts are asked for their pages, and the round with the pause is written.
    world.until(lambda: bool(web.paused_at) and time.monotonic() > web.paused_at + 2.0)
    first.signal(signal.SIGKILL)
    world.finish(first)
    second = web.start(*join, "--node", "b", lines=("maxWait 60",))
    assert web.finish(second) == 0, second.err
    assert set(web.fetched()) == web.urls
    assert web.later[0] >= web.paused_at + PAUSE
    # Nor longer than a round, a turn and what other machines need.
    assert web.later[0] < web.paused_at + PAUSE + 15.0


def test_the_limit_of_a_site_is_exact_while_nodes_come_and_go(
    world: World, redis: RedisServer
) -> None:
    web = FleetWeb(world)
    join, lines = ("--join", address(redis)), (f"limitPageBySite {LIMIT}",)
    nodes = [web.start(*join, "--node", "a", wait=1.5, lines=lines)]
    for name, pages in (("b", 10), ("c", 25), ("d", 40)):
        web.until_fetched(pages)
        if len(nodes) > 1:
            nodes.pop(0).signal(signal.SIGTERM)
        nodes.append(web.start(*join, "--node", name, wait=1.5, lines=lines))
    for node in nodes:
        assert web.finish(node) == 0, node.err
    fetched = web.fetched()
    assert set(fetched.values()) == {1}
    by_host = Counter(urlsplit(url).hostname for url in fetched)
    assert by_host == dict.fromkeys(HOSTS, LIMIT)
    asked = Counter(each.host for each in web.web.asked if each.path != "/robots.txt")
    assert asked == by_host
    # The outcome of the others is the limit.
    assert set(Counter(outcome for _, outcome in web.outcomes())) == {"success", "siteLimit"}
