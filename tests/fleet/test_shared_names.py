"""How often a fleet asks for a name, by the questions that its name server got."""

from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest

from tests.support.crawling import Asked, Crawler, World, html, read_log
from tests.support.redisjoin import address
from tests.support.redisserver import RedisServer
from tests.support.webserver import Step

pytest_plugins = ["tests.support.crawlworld", "tests.support.ownredis"]
pytestmark = pytest.mark.slow

NODES = 4
HOSTS = 300
#: Names that do not exist, and pages of each host beside its first.
DEAD = 60
PAGES = 4
LONG = 200.0


class NamesWeb:
    """Hosts with some pages each, which link to other hosts and to names that do not exist."""

    def __init__(self, world: World, redis: RedisServer) -> None:
        self.world = world
        self._redis = redis
        self._hosts = [f"h{k}.test" for k in range(HOSTS)]
        self._web = world.web(self._answer, *self._hosts)
        self.names = {*self._hosts, *(f"d{k}.test" for k in range(DEAD))}
        self._numbers = count(1)

    def _answer(self, asked: Asked) -> Iterator[Step]:
        number, links = int(asked.host.partition(".")[0][1:]), list[str]()
        if asked.path == "/":
            others = [3 * number + k for k in (1, 2, 3)]
            links = [self._url("h", k) for k in others if k < HOSTS]
            links += [f"/{k}" for k in range(PAGES)]
        elif asked.path != "/robots.txt":
            # Late links to what is known, and to what does not exist.
            page = int(asked.path[1:])
            links = [self._url("h", (7 * number + page) % HOSTS)]
            links += [self._url("d", (number + 11 * page) % DEAD)]
        yield html(*links, text=f"{asked.host} {asked.path}")

    def _url(self, kind: str, number: int) -> str:
        return self._web.url("/", f"{kind}{number}.test")

    def start(self, node: str) -> Crawler:
        self.world.conf(
            f"startUrl {self._url('h', 0)} waitDuration 1 outputMode none roundTime 0.5s",
            # On a busy machine the answers are late, and a name must not be asked for again.
            "depthInSite 1000 limitTime 190 retries 0 dnsTimeout 30",
        )
        join = ("--join", address(self._redis), "--node", node, "--progress", "log")
        return self.world.start("crawl", *join)

    def run(self, kills: int = 0) -> None:
        """Crawl it with all nodes; kill some of them on the way."""
        nodes = [self.start(f"n{k}") for k in range(NODES)]
        for k in range(kills):
            self._until_fetched((k + 1) * len(self.names) * PAGES // (kills + 1))
            nodes[k].process.kill()
        for node in nodes:
            assert self.world.finish(node, LONG) == (-9 if node in nodes[:kills] else 0), node.err

    def _until_fetched(self, most: int) -> None:
        def fetched() -> int:
            logs = self.world.state.glob("*/crawl.jsonl")
            return sum(len(path.read_bytes().splitlines()) for path in logs)

        self.world.until(lambda: fetched() > most, LONG)

    def asked(self) -> Counter[str]:
        return Counter(name for name, kind in self.world.names.asked if name in self.names)

    def check_all_fetched(self) -> None:
        logs = self.world.state.glob("*/crawl.jsonl")
        fates = [fate for path in logs for fate in read_log(path)]
        urls = {fate["url"] for fate in fates if fate["outcome"] == "success"}
        assert len(urls) == HOSTS * (1 + PAGES)


@pytest.fixture
def web(world: World, redis: RedisServer) -> NamesWeb:
    return NamesWeb(world, redis)


def test_four_nodes_ask_each_name_once(web: NamesWeb) -> None:
    web.run()
    web.check_all_fetched()
    asked = web.asked()
    assert set(asked) == web.names
    assert asked.total() <= 1.02 * len(web.names), asked.most_common(10)


def test_after_a_kill_names_are_not_asked_again(web: NamesWeb) -> None:
    """Without sharing, a fifth of them were."""
    web.run(kills=1)
    web.check_all_fetched()
    asked = web.asked()
    assert set(asked) == web.names
    assert asked.total() <= 1.01 * len(web.names), asked.most_common(10)
