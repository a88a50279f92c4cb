import itertools
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from larbinpy.crawl.on_disk import saved_by
from larbinpy.dns.lookup import Answer
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.site import State
from larbinpy.page import Outcome
from larbinpy.parse import Kind, Link
from larbinpy.storage.queues import decode, owed_urls
from larbinpy.storage.sizes import DEFAULT_SIZES, StoreSizes
from larbinpy.storage.state import Checkpoints, SavedPart
from larbinpy.storage.state import State as Folder
from larbinpy.url import Url, host_of
from tests.support.faultydisk import FaultyDisk
from tests.support.frontiers import (
    AGENT,
    DEAD,
    MANY,
    WALL,
    World,
    in_memory,
    links,
    make_frontier,
    named,
    owed,
    queued,
    reply,
    states_of,
    waits_of,
)

HERE = "http://a.test/"
PARENT = Url(HERE, 3)


@pytest.fixture
def frontier(tmp_path: Path) -> Frontier:
    return make_frontier(tmp_path)


# URLs come in.


def test_what_a_redirect_leads_to_comes_with_what_the_redirect_had(frontier: Frontier) -> None:
    page = reply(Url(HERE, 3, seed=True, label="mine"), 301)
    frontier.redirect(page, Link(f"{HERE}to", Kind.PAGE), 0.0)
    [url] = queued(frontier)
    assert (url.href, url.depth, url.hops) == (f"{HERE}to", 3, 1)
    assert (url.redirect, url.seed, url.label) == (True, True, "mine")


def test_a_seed_is_queued_once(frontier: Frontier) -> None:
    assert frontier.seed(" HTTP://A.test/#x ") is None
    assert frontier.seed(HERE) is Outcome.URL_DUP
    assert frontier.seed(HERE, again=True) is None
    assert queued(frontier) == [Url(HERE, 5, seed=True)] * 2
    assert frontier.owed == 2


@pytest.mark.parametrize("text", ["", "nonsense", "ftp://a.test/", "http://a.test:25/", "http://"])
def test_a_seed_that_cannot_be_crawled_is_refused(frontier: Frontier, text: str) -> None:
    assert frontier.seed(text) is Outcome.BAD_URL
    assert frontier.owed == 0


def test_a_seeds_depth_and_priority_are_the_operators(frontier: Frontier) -> None:
    frontier.seed(HERE, depth=0, priority=True)
    [url] = queued(frontier)
    assert (url.depth, url.priority) == (0, True)


def test_scope_does_not_bind_seeds(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, limit_to_domain=("fr",), get_cgi=False)
    assert frontier.seed("http://a.test/?x") is None


def test_links_are_taken_once_and_know_their_parent(frontier: Frontier) -> None:
    found = links("http://a.test/1", "http://b.test/", "http://a.test/1")
    assert frontier.admit(PARENT, found, 0.0) == ["a.test", "b.test"]
    assert frontier.admit(PARENT, found, 0.0) == []
    assert queued(frontier) == [
        Url("http://a.test/1", 2, via=HERE),
        Url("http://b.test/", 2, via=HERE),
    ]
    assert frontier.admission.refused == {Outcome.URL_DUP: 4}


def test_the_names_that_links_will_want(tmp_path: Path) -> None:
    """Each once; not those whose address is known, or whose site is to be left alone."""
    names = {"dead.test": "nxdomain"}
    world = World(make_frontier(tmp_path, address_time=50.0, retries=0), names=names)
    world.frontier.seed(HERE)
    world.frontier.seed("http://dead.test/")
    world.run()
    assert world.frontier.admit(PARENT, links(f"{HERE}1"), world.now) == []
    found = links(f"{HERE}2", "http://b.test/", "http://b.test/2", "http://dead.test/2")
    assert world.frontier.admit(PARENT, found, world.now) == ["b.test"]
    assert world.frontier.admit(PARENT, links(f"{HERE}3"), world.now + 50) == ["a.test"]
    found = links("http://b.test:8000/", "http://dead.test/3")
    assert world.frontier.admit(PARENT, found, world.now + 3600) == ["b.test", "dead.test"]


def test_links_out_of_scope_are_counted_and_not_remembered(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, no_external_links=True)
    found = links("http://b.test/", "http://a.test" + "/x" * 50)
    assert frontier.admit(PARENT, found, 0.0) == []
    assert frontier.admit(Url(HERE, 0), links("http://a.test/deep"), 0.0) == []
    assert frontier.admission.refused == {
        Outcome.OUT_SITE: 1,
        Outcome.TRAP: 1,
        Outcome.TOO_DEEP: 1,
        Outcome.URL_DUP: 0,
    }
    assert len(frontier.seen) == 0


def test_images_are_links_only_where_they_are_wanted(tmp_path: Path) -> None:
    image = [Link("http://a.test/i.png", Kind.IMAGE)]
    assert make_frontier(tmp_path).admit(PARENT, image, 0.0) == []
    frontier = make_frontier(tmp_path, get_image=True)
    assert frontier.admit(Url(HERE, 0), image, 0.0) == ["a.test"]
    assert queued(frontier)[0].depth == 0


def test_privileged_extensions_go_first(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, privileged_extensions=(".mp3",))
    frontier.admit(PARENT, links("http://a.test/a.mp3", "http://a.test/b"), 0.0)
    assert [url.href for url in queued(frontier) if url.priority] == ["http://a.test/a.mp3"]
    assert frontier.queues()["priority"] == 1


def test_a_redirect_costs_no_depth_and_keeps_priority_and_seed(frontier: Frontier) -> None:
    parent = Url(HERE, 0, hops=2, priority=True, seed=True)
    frontier.admit(parent, links("http://b.test/"), 0.0, redirect=True)
    assert queued(frontier) == [
        Url("http://b.test/", 0, via=HERE, hops=3, priority=True, seed=True, redirect=True)
    ]


def test_links_of_a_redirected_page_count_hops_anew(frontier: Frontier) -> None:
    frontier.admit(Url(HERE, 3, hops=9, seed=True), links("http://b.test/"), 0.0)
    assert queued(frontier) == [Url("http://b.test/", 2, via=HERE)]


def test_a_chain_of_redirects_ends(tmp_path: Path) -> None:
    def step(number: int) -> Any:
        location = {"location": f"http://a.test/{number + 1}"}
        return {"status": 302, "headers": location}

    replies = {f"http://a.test/{number}": step(number) for number in range(100)}
    world = World(make_frontier(tmp_path), replies=replies)
    world.frontier.seed("http://a.test/0")
    world.run()
    assert world.pages() == [f"http://a.test/{number}" for number in range(11)]
    assert set(world.outcomes().values()) == {Outcome.ERR_30X}
    assert world.frontier.admission.refused[Outcome.ERR_30X] == 1


def test_a_redirect_to_itself_ends(tmp_path: Path) -> None:
    replies = {HERE: {"status": 301, "headers": {"location": HERE}}}
    world = World(make_frontier(tmp_path), replies=replies)
    world.frontier.seed(HERE)
    world.run()
    assert world.pages() == [HERE]


def test_lock_site_follows_where_a_seed_itself_leads(tmp_path: Path) -> None:
    replies = {
        HERE: {"status": 301, "headers": {"location": "http://www.a.test/"}},
        "http://www.a.test/": {"links": ["http://www.a.test/x", "http://b.test/"]},
    }
    world = World(make_frontier(tmp_path, lock_site=True), replies=replies)
    world.frontier.seed(HERE)
    world.run()
    assert world.pages() == [HERE, "http://www.a.test/", "http://www.a.test/x"]


def test_lock_site_is_about_all_seeds(tmp_path: Path) -> None:
    replies = {
        HERE: {"links": ["http://b.test/1", "http://c.test/", "https://a.test/2"]},
        "http://b.test/1": {"links": [f"{HERE}3", "http://c.test/"]},
    }
    world = World(make_frontier(tmp_path, lock_site=True), replies=replies)
    world.frontier.seed(HERE)
    world.frontier.seed("http://b.test/")
    world.run()
    assert set(world.pages()) == {
        HERE,
        "http://b.test/",
        "http://b.test/1",
        "https://a.test/2",
        f"{HERE}3",
    }
    assert world.frontier.scope.area.hosts == {"a.test", "b.test"}


def test_lock_site_does_not_follow_where_a_link_leads(tmp_path: Path) -> None:
    replies = {
        HERE: {"links": [f"{HERE}link"]},
        f"{HERE}link": {"status": 301, "headers": {"location": "http://b.test/"}},
    }
    world = World(make_frontier(tmp_path, lock_site=True), replies=replies)
    world.frontier.seed(HERE)
    world.run()
    assert world.pages() == [HERE, f"{HERE}link"]
    assert world.frontier.admission.refused[Outcome.OUT_SITE] == 1


def requisite(url: str) -> list[Link]:
    return [Link(url, Kind.REQUISITE)]


def test_requisites_of_requisites_end(tmp_path: Path) -> None:
    """Style sheets may import each other without end, and cost no depth."""
    frontier = make_frontier(tmp_path, any_type=True)
    parent = Url(HERE, 0)
    for number in range(10):
        frontier.admit(parent, requisite(f"{HERE}{number}"), 0.0)
        assert frontier.owed == number + 1
        parent = queued(frontier)[-1]
        assert (parent.depth, parent.hops) == (0, number + 1)
    assert frontier.admit(parent, requisite(f"{HERE}more"), 0.0) == []
    assert frontier.admission.refused[Outcome.TOO_DEEP] == 1
    # A redirect from there is one hop too many as well.
    assert frontier.admit(parent, links(f"{HERE}more"), 0.0, redirect=True) == []
    assert frontier.admission.refused[Outcome.ERR_30X] == 1


# URLs go out.


def test_urls_leave_the_store_in_batches(frontier: Frontier) -> None:
    for number in range(250):
        frontier.seed(f"http://a.test/{number}")
    for left in (150, 50, 0):
        frontier.sequence(0.0)
        assert len(frontier.store) == left
        assert frontier.owed == 250


def test_fates_are_owed_until_they_are_written_down(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, retries=0)
    for number in range(3):
        frontier.seed(f"http://a.test/{number}")
    frontier.sequence(0.0)
    frontier.resolved(Answer(named(frontier), (), "nxdomain"), 0.0)
    frontier.admit(PARENT, links("http://a.test/link"), 0.0)
    assert (frontier.owed, len(in_memory(frontier))) == (4, 3)
    frontier.sequence(0.0)
    assert frontier.owed == len(in_memory(frontier)) == 4

    def write_down(room: Any) -> None:
        for page in frontier.decided(MANY):
            if len(written) == room:
                raise OSError("disk full")
            written.append((page.url.href, page.outcome))

    written: list[tuple[str, Outcome]] = []
    with pytest.raises(OSError):
        write_down(2)
    assert frontier.owed == len(in_memory(frontier)) == 2
    write_down(MANY)
    assert frontier.owed == 0
    assert written == [
        ("http://a.test/0", Outcome.NO_DNS),
        ("http://a.test/1", Outcome.NO_DNS),
        ("http://a.test/2", Outcome.NO_DNS),
        ("http://a.test/link", Outcome.FAST_NO_DNS),
    ]


def test_fates_come_no_more_than_asked_for_and_wake_the_engine(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, retries=0)
    for number in range(5):
        frontier.seed(f"http://a.test/{number}")
    frontier.sequence(0.0)
    frontier.resolved(Answer(named(frontier), (), "nxdomain"), 0.0)
    for most, left in ((0, 5), (2, 3), (2, 1), (2, 0)):
        assert frontier.deadline(9.0, can_open=False, can_ask=False) == 9.0
        assert len(list(frontier.decided(most))) <= most
        assert frontier.owed == left
    assert frontier.deadline(9.0, can_open=True, can_ask=True) is None


def test_a_full_disk_loses_no_link(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, sizes=StoreSizes(lines=2))
    found = [f"http://a.test/{number}" for number in range(7)]
    frontier.admit(PARENT, links(*found), 0.0)
    disk = FaultyDisk()
    disk.fail(1, times=MANY)
    with disk.under("pwrite"):
        for _ in range(2):
            with pytest.raises(OSError):
                frontier.sequence(0.0)
    assert [url.href for url in queued(frontier)] == found
    frontier.sequence(0.0)
    assert [url.href for url in in_memory(frontier)] == found
    frontier.close()


def test_the_deadline_is_now_while_there_is_work(frontier: Frontier) -> None:
    assert frontier.deadline(7.0, can_open=True, can_ask=True) is None
    frontier.seed(HERE)
    assert frontier.deadline(7.0, can_open=False, can_ask=False) == 7.0
    frontier.sequence(7.0)
    assert frontier.deadline(7.0, can_open=True, can_ask=True) == 7.0
    assert frontier.deadline(7.0, can_open=True, can_ask=False) is None
    frontier.resolved(Answer(named(frontier), ("198.51.100.1",), None), 7.0)
    due = frontier.deadline(8.0, can_open=True, can_ask=True)
    assert due is not None and due <= 8.0
    assert frontier.deadline(8.0, can_open=False, can_ask=True) is None


def test_a_hot_site_does_not_hold_up_the_others(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, max_urls=4, least=30)
    world = World(frontier, names={f"{name}.test": (name,) for name in "habc"})
    for number in range(50):
        frontier.seed(f"http://h.test/{number}")
    others = [f"http://{name}.test/" for name in "abc"]
    for url in others:
        frontier.seed(url)
    begun = world.now
    world.run(begun + 32)
    assert {fate.href for fate in world.fates} >= set(others)
    assert frontier.queues()["ordinary_wait"] > 40
    world.run()
    assert len(world.outcomes()) == 53
    assert frontier.queues() == dict.fromkeys(frontier.queues(), 0)
    times = [start.at for start in world.starts if "//h." in start.href]
    assert all(later - earlier >= 30 for earlier, later in itertools.pairwise(times))


def resumed(folder: Path, waits: Any, now: float, **settings: Any) -> World:
    """A world that goes on at `now` after another run with these waits."""
    world = World(make_frontier(folder, **settings), now=now)
    world.frontier.values()["waits"].load(waits, now)
    world.frontier.resume(now, ended=True)
    return world


def test_waits_survive_a_restart(tmp_path: Path) -> None:
    replies = {HERE: {"status": 503, "headers": {"retry-after": "400"}}}
    world = World(make_frontier(tmp_path), replies=replies)
    world.frontier.seed(HERE)
    world.run(world.now + 5)
    waits = waits_of(world.frontier, world.now)
    assert waits.keys() == {"http://a.test"}
    assert 390 < waits["http://a.test"] <= 400
    again = resumed(tmp_path, waits, 9000.0)
    again.frontier.seed("http://b.test/")
    # Waits that have not ended by the next stop go on after it.
    assert waits_of(again.frontier, 9000.0) == waits
    later = waits_of(again.frontier, 9100.0)
    assert later == {"http://a.test": pytest.approx(waits["http://a.test"] - 100)}
    again.frontier.seed(HERE)
    again.run()
    assert min(start.at for start in again.starts if "//a." in start.href) >= 9390
    assert waits_of(again.frontier, again.now) == {}


@pytest.mark.parametrize("wait_by", ["ip", "site", "both"])
def test_an_address_asked_just_before_a_restart_is_left_alone_after_it(
    tmp_path: Path, wait_by: str
) -> None:
    names: dict[str, tuple[str, ...] | str] = {"a.test": ("198.51.100.1",)}
    names |= {"b.test": ("198.51.100.1",), "c.test": ("198.51.100.3",)}
    settings: dict[str, Any] = {"wait_by": wait_by, "least": 30}
    world = World(make_frontier(tmp_path, **settings), names)
    world.frontier.seed(HERE)
    world.run(world.now + 10)
    [asked] = world.starts
    waits = waits_of(world.frontier, world.now)
    address, site = {"198.51.100.1"}, {"http://a.test"}
    assert waits.keys() == {"ip": address, "site": site, "both": address | site}[wait_by]
    again = resumed(tmp_path, waits, 9000.0, **settings)
    again.names = names
    for name in "abc":
        again.frontier.seed(f"http://{name}.test/")
    again.run()
    first: dict[str, float] = {}
    for start in again.starts:
        key = start.href.split("/")[2] if wait_by == "site" else start.address
        first.setdefault(key, start.at)
    held = "a.test" if wait_by == "site" else "198.51.100.1"
    ended = asked.at + world.latency
    assert first.pop(held) - 9000.0 >= ended + 30 - world.now
    # Nobody else has to wait.
    assert set(first.values()) == {9000.0}


def test_repr_shows_the_counts(frontier: Frontier) -> None:
    frontier.seed(HERE)
    assert "in_memory=0" in repr(frontier) and "'ordinary': 1" in repr(frontier)


# The whole, at random.

SITES = ["http://a.test", "https://a.test", "http://b.test:81", "http://c.test"]
HOSTS = ["a.test", "b.test", "c.test"]
ADDRESSES = ["198.51.100.1", "198.51.100.2", "10.0.0.1"]
PATHS = [*"123456789", "no/1", "no/2"]
URLS = st.builds("{}/{}".format, st.sampled_from(SITES), st.sampled_from(PATHS))
ROBOTS = b"User-agent: *\nDisallow: /no/\nCrawl-delay: 4\nSitemap: /map.xml\n"

PAGES = st.sampled_from(
    [{}] * 3
    + [
        {"status": 404},
        {"status": 500},
        {"status": 503},
        {"status": 429, "headers": {"retry-after": "40"}},
        {"status": 0, "outcome": Outcome.TIMEOUT},
        {"status": 0, "outcome": Outcome.BAD_TLS},
        {"outcome": Outcome.BAD_TYPE},
        DEAD,
        DEAD,
        DEAD,
    ]
)
RULES = st.sampled_from(
    [{"body": ROBOTS}, {"body": b""}, {"status": 404}, {"status": 500}, {"status": 429}, DEAD]
    + [{"status": 0, "outcome": Outcome.BAD_TLS}]
    + [{"status": 301, "headers": {"location": f"{site}/robots.txt"}} for site in SITES]
)
GOOD_RULES = st.sampled_from([{"body": ROBOTS}, {"status": 404}])
ANSWERS = st.one_of(
    st.lists(st.sampled_from(ADDRESSES), min_size=1, max_size=3, unique=True).map(tuple),
    st.sampled_from(["nxdomain", "timeout"]),
)
LEAST = 2.0
MOST = 60.0


class Log(SavedPart):
    """A crawl log without a disk."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def cut(self) -> Any:
        return {"length": len(self.lines)}

    def sync(self) -> None:
        pass

    def load(self, mark: Any) -> None:
        del self.lines[mark["length"] :]


#: Blocks of two URLs, few of them to a file.
SMALL = StoreSizes(lines=2, file_size=200, site_lines=2, most_tails=550)


#: The URLs that are owed and those that are decided.
Moment = tuple[Counter[str], set[str]]


class Crawl(RuleBasedStateMachine):
    """Links, answers, pages and time in any order, and what must hold throughout.

    The model knows which URLs were admitted and which are decided, nothing else.
    """

    sizes = DEFAULT_SIZES
    #: Whether some rules are more than may be kept.
    drops_rules = False
    frontier: Frontier

    @initialize(
        wait_by=st.sampled_from(["ip", "site", "both"]),
        connexions=st.integers(1, 3),
        retries=st.integers(0, 3),
        max_urls=st.integers(1, 8),
    )
    def begin(self, **settings: Any) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.root = Path(self.temporary.name)
        self.settings = settings | {
            "least": LEAST,
            "most": MOST,
            "retry_wait": 5.0,
            "address_time": 50.0,
            "permit": lambda address: address != "10.0.0.1",
            "sizes": SMALL,
        }
        self.folder = Folder(self.root)
        self.log = Log()
        self.now = 100.0
        self.owed: Counter[str] = Counter()
        self.decided: set[str] = set()
        self.renew()
        self.begun: dict[str, float] = {}

    def renew(self) -> None:
        """Another run, without a state."""
        if hasattr(self, "frontier"):
            self.frontier.close()
        self.frontier = make_frontier(self.root, frontier_sizes=self.sizes, **self.settings)
        self.saved = saved_by(self.frontier, self.log)
        self.checkpoints = Checkpoints(self.folder, self.saved, 5.0)
        self.cut: Moment | None = None
        self.committed: Moment | None = None
        self.asked: list[str] = []
        self.flights: list[tuple[Url, str]] = []

    # The rules.

    @rule(url=URLS, priority=st.booleans(), depth=st.integers(0, 3))
    def seed(self, url: str, priority: bool, depth: int) -> None:
        refused = self.frontier.seed(url, priority=priority, depth=depth)
        known = url in self.owed or url in self.decided
        assert refused is (Outcome.URL_DUP if known else None)
        if not refused:
            self.owed[url] += 1

    @rule(urls=st.lists(URLS, min_size=1, max_size=12), depth=st.integers(0, 3))
    def link(self, urls: Any, depth: int) -> None:
        rejected = self.frontier.scope.verdict
        new = {u for u in urls if u not in self.owed and u not in self.decided} if depth else set()
        new = {u for u in new if rejected(u).rule is None}
        parent = Url("http://d.test/", depth)
        names = self.frontier.admit(parent, links(*urls), self.now)
        assert len(names) == len(set(names)) and set(names) <= {host_of(url) for url in new}
        self.owed.update(new)

    @rule(host=st.sampled_from(HOSTS))
    def reject(self, host: str) -> None:
        self.frontier.add_rule(False, f"host:{host}")

    @precondition(lambda self: self.frontier.scope.rules.current)
    @rule()
    def drop_a_rule(self) -> None:
        self.frontier.drop_rule("1")

    @rule()
    def sequence(self) -> None:
        self.frontier.sequence(self.now)

    @rule()
    def ask(self) -> None:
        while question := self.frontier.next_name():
            name, refresh = question
            assert name in HOSTS and name not in self.asked
            assert refresh in (False, True)
            self.asked.append(name)

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), answer=ANSWERS)
    def answer(self, data: st.DataObject, answer: Any) -> None:
        name = data.draw(st.sampled_from(self.asked))
        self.asked.remove(name)
        if isinstance(answer, str):
            self.frontier.resolved(Answer(name, (), answer), self.now)
        else:
            self.frontier.resolved(Answer(name, answer, None), self.now)

    @rule()
    def open(self) -> None:
        due = self.frontier.take(self.now)
        if due is None:
            return
        url, address = due
        assert address in ADDRESSES[:2]
        wait_by, limit = self.settings["wait_by"], self.settings["connexions"]
        server = url.site if wait_by == "site" else address
        for key in {server, url.site} if wait_by == "both" else {server}:
            assert self.now >= self.begun.get(key, 0) + LEAST
            self.begun[key] = self.now
        self.flights.append((url, server))
        assert sum(1 for _, other in self.flights if other == server) <= limit
        site = self.frontier.registry.at(url.href)
        if url.purpose.owner is None:
            assert url.href in self.owed
            assert site is not None
            if site.rules is None:
                # Expensive ones are dropped at the limit of all; its URLs were decided before.
                assert self.drops_rules
            else:
                assert site.rules.allowed(AGENT, url.href)

    @precondition(lambda self: self.flights)
    @rule(data=st.data(), page=PAGES, rules=RULES)
    def land(self, data: st.DataObject, page: dict[str, Any], rules: Any) -> None:
        flight = data.draw(st.sampled_from(self.flights))
        self.flights.remove(flight)
        self.came_home(flight[0], rules if flight[0].purpose.owner else page)

    @rule(url=URLS, rules=GOOD_RULES, pages=st.lists(PAGES, min_size=1, max_size=4))
    def visit(self, url: str, rules: dict[str, Any], pages: list[dict[str, Any]]) -> None:
        """All steps from a seed to its page, which chance hardly takes in a row."""
        self.seed(url, False, 3)
        for said in pages:
            self.sequence()
            self.ask()
            for name in self.asked:
                self.frontier.resolved(Answer(name, (ADDRESSES[0],), None), self.now)
            self.asked.clear()
            # Longer than each wait, and shorter than robots.txt is valid.
            self.now += 2 * MOST
            before = -1
            while before != len(self.flights):
                before = len(self.flights)
                self.open()
            flights, self.flights = self.flights, []
            for home, _ in flights:
                self.came_home(home, rules if home.purpose.owner else said)

    def came_home(self, url: Url, said: dict[str, Any]) -> None:
        page = reply(url, **said)
        if url.purpose.owner is None:
            if not self.frontier.replied(page, self.now, WALL):
                assert url.attempt <= self.settings["retries"]
            return
        before = self.frontier.owed
        self.frontier.replied(page, self.now, WALL)
        if self.frontier.owed > before:
            # The sitemap it names was new.
            known = self.owed.keys() | self.decided
            found = [u.href for u in self.everything() if u.href not in known]
            assert len(found) == 1 and found[0].endswith("/map.xml")
            self.owed.update(found)

    def decide(self, url: Url) -> None:
        assert self.owed[url.href] == 1
        del self.owed[url.href]
        self.decided.add(url.href)
        self.log.lines.append(url.href)

    @rule(number=st.integers(0, 4))
    def write_down(self, number: int) -> None:
        """As far as the disk has room; the rest is still owed."""
        for page in self.frontier.decided(MANY):
            assert isinstance(page.outcome, Outcome)
            if number == 0:
                return
            number -= 1
            self.decide(page.url)

    @rule(seconds=st.sampled_from([0.5, 2.0, 5.0, 30.0, 3600.0, 25 * 3600.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def save(self) -> None:
        self.checkpoints.save(self.now)
        self.committed = self.moment()
        assert Counter(url.href for url in owed_urls(self.folder)) == self.owed

    def moment(self) -> Moment:
        return self.owed.copy(), self.decided.copy()

    @rule(steps=st.integers(1, 7))
    def checkpoint(self, steps: Any) -> None:
        """A bit of one, which is of the moment of its first step."""
        for _ in range(steps):
            if not self.checkpoints.under_way:
                self.checkpoints.begin(self.now)
                self.cut = self.moment()
            self.checkpoints.step()
            if not self.checkpoints.under_way:
                self.committed = self.cut

    @rule(is_saved=st.booleans())
    def restart(self, is_saved: Any) -> None:
        """Another run goes on; without a save it is that of a kill."""
        if is_saved:
            self.save()
        moments = [self.committed, self.cut]
        if self.committed is None and not self.folder.exists:
            return
        self.renew()
        # A restart does not let an address be asked earlier: `begun` goes on.
        ended = self.folder.load(self.saved, self.now)
        self.frontier.resume(self.now, ended=ended)
        found = Counter(owed(self.frontier))
        self.committed = next(each for each in moments if each and each[0] == found)
        owed_then, decided_then = self.committed
        self.owed, self.decided = owed_then.copy(), decided_then.copy()
        assert self.decided == set(self.log.lines)
        assert self.frontier.owed == len(found)
        # URLs that are seen and not owed are in the log.
        assert len(self.frontier.seen) == len(self.owed.keys() | self.decided)

    # The invariants.

    def everything(self) -> list[Url]:
        return [*queued(self.frontier), *in_memory(self.frontier)]

    @invariant()
    def nothing_is_lost_and_nothing_is_twice(self) -> None:
        assert Counter(url.href for url in self.everything()) == self.owed
        assert self.frontier.owed == len(self.owed)

    @invariant()
    def counts_are_right(self) -> None:
        frontier = self.frontier
        sequencer, store = frontier.sequencer, frontier.store
        memory = in_memory(frontier)
        assert sequencer.in_memory == len(memory)
        assert sequencer.by_site == Counter(url.site for url in memory)
        assert max(sequencer.by_site.values(), default=0) <= sequencer._most
        assert len(list(frontier.ip_sites.flying())) == len(self.flights)
        for queue in (store.priority_wait, store.ordinary_wait):
            assert set(queue.sites) == {decode(line).site for line in queue.lines()}
        to_tell = len(list(frontier.to_write()))
        assert sum(frontier.queues().values()) >= frontier.owed - to_tell

    @invariant()
    def sites_are_in_order(self) -> None:
        sites = self.frontier.registry
        assert set(sites.notable()) == {site for site in sites if site.held or site.in_flight}
        assert states_of(sites) == Counter(site.state for site in sites)
        for site in sites:
            assert site.enlisted == bool(site.ready)
            if site.state in (State.NEW, State.CLOSED):
                assert not site.waiting and not site.ready
            if site.ready:
                assert site.addresses
            flying = sum(1 for url, _ in self.flights if url.site == site.key)
            assert site.in_flight == flying

    def teardown(self) -> None:
        """Time goes on and answers come: everything is decided in the end."""
        if not hasattr(self, "frontier"):
            return
        turns = 0
        while self.frontier.owed or self.flights:
            turns += 1
            assert turns < 3000, repr(self.frontier)
            self.sequence()
            self.ask()
            for name in self.asked:
                self.frontier.resolved(Answer(name, (ADDRESSES[0],), None), self.now)
            self.asked.clear()
            before = -1
            while before != len(self.flights):
                before = len(self.flights)
                self.open()
            for url, _ in self.flights:
                self.came_home(url, {})
            self.flights.clear()
            self.write_down(MANY)
            self.nothing_is_lost_and_nothing_is_twice()
            deadline = self.frontier.deadline(self.now, can_open=True, can_ask=True)
            assert deadline is not None or not self.frontier.owed, repr(self.frontier)
            self.now = max(self.now, deadline or 0)
        assert not self.frontier.sequencer.by_site
        assert len(self.frontier.store) == 0
        self.frontier.close()
        self.temporary.cleanup()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the disk."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.mark.usefixtures("quick")
class TestCrawl(Crawl.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
