"""Name servers that die: for a minute, or for good. Whole crawls, by a simulated clock."""

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from larbinpy.dns.resolver import Outage
from tests.support.nameserver import NameServer, PlainServer, address_of
from tests.support.resolverworld import World as Names
from tests.support.resolverworld import found
from tests.support.smallweb import ADDRESSES, Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

PAGES = 100
#: By the crawl's clock, in seconds from its start.
DIES, RETURNS = 20.0, 80.0

#: A page a second from each site.
PACE = ("waitDuration 1", "waitBy site", f"depthInSite {PAGES}")


@pytest.fixture
def chain(web: Web) -> set[str]:
    """A site whose pages are found one after another, each with a link to a host of its own."""
    for number in range(PAGES):
        links = [f"/{number + 1}"] if number + 1 < PAGES else []
        web.page(f"known.test/{number}", *links, f"//host{number}.test/")
        web.page(f"host{number}.test/")
        web.zone[f"host{number}.test"] = [ADDRESSES[1]]
    return set(web.places)


class DyingServer:
    """A name server that is off from `dies` to `returns`, and the questions that come to it."""

    def __init__(self, dies: float, returns: float = float("inf")) -> None:
        self._dies, self._returns = dies, returns
        self._seen = 0
        #: Questions in each second of the crawl.
        self.rate: Counter[int] = Counter()

    def watch(self, world: World) -> None:
        self.apply(world.names, world.elapsed)

    def apply(self, server: NameServer, elapsed: float) -> None:
        server.down = self._dies <= elapsed < self._returns
        self.rate[int(elapsed)] += len(server.sources) - self._seen
        self._seen = len(server.sources)

    def during(self) -> list[int]:
        """Questions in each second of the outage."""
        return [self.rate[second] for second in range(int(self._dies), int(self._returns))]


def check_cap(outage: DyingServer, connexions: int) -> None:
    """The most that a dead server is asked, however many names wait for it.

    First questions leave whether or not it answers, `dnsConnexions` for each `dnsTimeout`
    of a second, and are repeated up to two times until it is known to be dead. From then on
    it is asked `dnsConnexions` first questions in five time-outs, and one more to see whether
    it is back.
    """
    during = outage.during()
    assert max(during) <= 3 * connexions
    later = during[5:]
    assert all(sum(later[n : n + 5]) <= connexions + 2 for n in range(len(later)))


def known_pages(world: World, since: float, until: float) -> int:
    """Number of requests for pages of known.test between these times."""
    times = [
        asked.time - world.started for asked in world.pages_asked if asked.host == "known.test"
    ]
    return sum(since <= time < until for time in times)


def test_a_minute_without_names_costs_no_url(chain: set[str], crawl: Worlds) -> None:
    outage = DyingServer(DIES, RETURNS)
    world = crawl(*PACE, seeds=["known.test/0"], watch=outage.watch)
    assert world.fetched == chain
    # Names that are known go on being fetched at their pace.
    assert known_pages(world, DIES, RETURNS) >= 58
    # Each page brings one new name: a first question for it, and those that follow until the
    # server is known to be dead, or by which it is found out that it is alive again.
    assert max(outage.during()) <= 4
    assert sum(outage.during()) < 1.5 * (RETURNS - DIES)
    # And soon after the outage all are found.
    assert world.elapsed < RETURNS + 40


def lines_of(world: World) -> list[str]:
    return world.stderr.getvalue().splitlines()


def test_an_outage_and_its_end_are_printed(chain: set[str], crawl: Worlds) -> None:
    outage = DyingServer(DIES, RETURNS)
    world = crawl(*PACE, seeds=["known.test/0"], watch=outage.watch)
    host, port = world.names.address
    assert lines_of(world) == [
        f"larbinpy: no name server answers ({host}:{port}); look at dnsServer, or at the network",
        "larbinpy: name servers answer again",
    ]


def test_a_wrong_name_server_is_reported_soon(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/")
    outage = DyingServer(0)
    when: list[float] = []

    def watch(world: World) -> None:
        outage.watch(world)
        if not when and lines_of(world):
            when.append(world.elapsed)

    crawl("retries 0", watch=watch)
    assert 5 < when[0] < 15


def test_a_crawl_without_an_outage_prints_nothing_about_servers(
    chain: set[str], crawl: Worlds
) -> None:
    assert lines_of(crawl(*PACE, seeds=["known.test/0"])) == []


def test_expired_addresses_are_used_during_an_outage(chain: set[str], crawl: Worlds) -> None:
    outage = DyingServer(DIES, RETURNS)
    world = crawl(*PACE, "dnsCacheTime 10", seeds=["known.test/0"], watch=outage.watch)
    assert world.fetched == chain
    assert known_pages(world, DIES, RETURNS) >= 30


def test_many_names_wait_for_the_server(web: Web, crawl: Worlds) -> None:
    """A page of 300 links just before: the questions in the outage are bounded all the same."""
    web.page("known.test/", *[f"//host{number}.test/" for number in range(300)], delay=DIES + 1)
    web.pages(*[f"host{number}.test/" for number in range(300)])
    outage = DyingServer(DIES, RETURNS)
    lines = ["dnsConnexions 20", "waitBy site"]
    world = crawl(*lines, seeds=["known.test/"], watch=outage.watch)
    assert world.fetched == set(web.places)
    check_cap(outage, 20)


@pytest.fixture
def seconds() -> Iterator[list[NameServer]]:
    """The second name servers of crawls."""
    made: list[NameServer] = []
    yield made
    for server in made:
        server.close()


def test_one_of_two_servers_dies_for_good(
    chain: set[str], web: Web, crawl: Worlds, seconds: list[NameServer]
) -> None:
    def with_another(world: World) -> Iterable[str]:
        seconds.append(NameServer(web.zone, world.poller))
        host, port = seconds[-1].address
        return [f"dnsServer {host}:{port}"]

    def run(outage: DyingServer) -> World:
        return crawl(*PACE, seeds=["known.test/0"], prepare=with_another, watch=outage.watch)

    well = run(DyingServer(float("inf")))
    outage = DyingServer(DIES)
    world = run(outage)
    assert world.fetched == well.fetched == chain
    assert world.elapsed < 1.05 * well.elapsed
    assert known_pages(world, DIES, RETURNS) >= 58
    # While it seems dead it is asked once in five seconds, after a few names at first.
    assert sum(outage.rate[second] for second in range(int(DIES), PAGES)) < 30


# -- without a crawl


def server(answered: int, lost: int, resting: bool = False) -> dict[str, object]:
    return {"address": "x:53", "answered": answered, "lost": lost, "resting": resting}


def words(*looks: list[dict[str, object]]) -> list[str]:
    """The lines printed at each of `looks`, one second after the other."""
    it = Outage()
    return [" ".join(it.look(servers, now))[:8] for now, servers in enumerate(looks)]


def test_lost_questions_alone_are_no_outage() -> None:
    """They are dead names, as long as the servers need no rest."""
    assert words([server(1, 0)], *([server(1, n)] for n in range(20))) == [""] * 21


def test_one_server_that_is_awake_is_enough() -> None:
    looks = ([server(1, n, True), server(1, n)] for n in range(20))
    assert words(*looks) == [""] * 20


def test_silence_without_questions_is_no_outage() -> None:
    assert words([server(1, 0)], *([server(1, 8, True)] for n in range(20))) == [""] * 21


def test_an_outage_is_reported_once_and_so_is_its_end() -> None:
    looks = [*([server(1, n, True)] for n in range(10)), [server(2, 10)], [server(2, 10)]]
    assert words([server(1, 0)], *looks) == [*[""] * 6, "no name ", *[""] * 4, "name ser", ""]


@pytest.fixture
def names() -> Iterator[Names]:
    with Names() as world:
        yield world


def test_one_of_two_servers_is_dead_from_the_start(names: Names) -> None:
    dead, alive = (names.server(kind=PlainServer) for _ in range(2))
    dead.down = True
    names.resolver(in_flight=100, send_queue=100)
    wanted = [f"host{number}.test" for number in range(3000)]
    answers = names.resolve_all(wanted)
    assert answers == {name: found(name, address_of(name)) for name in wanted}
    assert len(alive.sources) == 3000
    # 100 in its first wait at a time, until it has been silent for three seconds.
    assert len(dead.sources) < 4 * 100
    assert names.now < 1005


def test_a_server_is_dead_for_a_minute_and_thousands_of_names_wait(names: Names) -> None:
    """The caller asks again until there is an answer."""
    server = names.server(kind=PlainServer)
    it = names.resolver(in_flight=100, send_queue=100)
    outage = DyingServer(0, 60)
    owed = {f"host{number}.test": None for number in range(5000)}
    answered = 0
    while owed:
        for name in list(owed)[: it.room]:
            assert it.ask(name, names.now, refresh=True) is None
            del owed[name]
        outage.apply(server, names.now - 1000)
        names.turn()
        outage.apply(server, names.now - 1000)
        for answer in names.answers:
            if answer.reason is None:
                assert answer.addresses == (address_of(answer.name),)
                answered += 1
            else:
                owed[answer.name] = None
        names.answers.clear()
    assert answered + len(names.run()) == 5000
    check_cap(outage, 100)
    assert names.now < 1000 + 60 + 10
