"""How a site comes to its address and its robots.txt, and what its failures lead to."""

import gzip
import itertools
from pathlib import Path
from typing import Any

import pytest

from larbinpy.dns.lookup import Answer, is_public
from larbinpy.fetch.robots import MAX_SIZE, Rules
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.politeness import SiteLimits
from larbinpy.frontier.site import NamedSite, State
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.frontiers import (
    DEAD,
    MANY,
    SILENT,
    WALL,
    MakeWorld,
    World,
    links,
    make_frontier,
    named,
    reply,
    site_in,
    site_settings,
    states_of,
    taken,
)

ROBOTS = "http://a.test/robots.txt"
PAGE = "http://a.test/page"
DENY = b"User-agent: *\nDisallow: /\n"
CLOSED, SHUT = "http://a.test/closed", b"User-agent: *\nDisallow: /closed\n"


@pytest.fixture
def world(tmp_path: Path) -> MakeWorld:
    """A function that makes a world around a frontier with seeds."""

    def make(
        *seeds: str,
        names: dict[str, Any] | None = None,
        replies: dict[str, Any] | None = None,
        latency: float = 0.1,
        **settings: Any,
    ) -> World:
        frontier = make_frontier(tmp_path, **settings)
        for seed in seeds:
            assert frontier.seed(seed) is None
        return World(frontier, names, replies, latency=latency)

    return make


def site_of(world: World, key: str = "http://a.test") -> NamedSite:
    site = world.frontier.registry.at(f"{key}/")
    assert site is not None
    return site


def test_the_way_of_a_site(world: MakeWorld) -> None:
    here = world(PAGE)
    here.run()
    assert here.asked == [("a.test", False)]
    assert [start.href for start in here.starts] == [ROBOTS, PAGE]
    assert here.outcomes() == {PAGE: Outcome.SUCCESS}
    assert here.fates[0].attempt == 1
    assert site_of(here).state is State.OPEN


# robots.txt.


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 200, 204])
def test_without_a_robots_txt_everything_is_allowed(world: MakeWorld, status: int) -> None:
    here = world(PAGE, replies={ROBOTS: {"status": status}})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS}
    assert here.frontier.lifecycle.robots_fetched == 1


def test_without_rules_everything_is_allowed(world: MakeWorld) -> None:
    here = world(PAGE, replies={ROBOTS: {"body": b"User-agent: larbinpy\nDisallow: /private"}})
    here.frontier.sequence(here.now)
    rules, site = here.frontier.lifecycle.rules, site_of(here)
    assert rules.allows(site, "http://a.test/private")
    here.run()
    assert not rules.allows(site, "http://a.test/private")
    assert rules.allows(site, PAGE)


@pytest.mark.parametrize(
    "more", [{}, {"outcome": Outcome.TOO_BIG, "truncated": "length"}, {"truncated": "disconnect"}]
)
def test_robots_txt_is_obeyed(world: MakeWorld, more: Any) -> None:
    body = b"User-agent: larbinpy\nDisallow: /private\n"
    other = "http://a.test/private/x"
    here = world(PAGE, other, replies={ROBOTS: {"body": body, **more}})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS, other: Outcome.FORBIDDEN_ROBOTS}
    assert here.pages() == [PAGE]


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(SHUT),
        gzip.compress(gzip.compress(SHUT)),
        gzip.compress(SHUT + b"Disallow: /" + b"#" * MAX_SIZE),
        # It ends before its end: half a rule does not count.
        gzip.compress(SHUT + b"Disallow: /private\n", compresslevel=0)[:-16],
    ],
)
def test_a_robots_txt_may_be_a_gzip_file_without_a_label(world: MakeWorld, packed: Any) -> None:
    here = world(PAGE, CLOSED, replies={ROBOTS: {"body": packed}})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS, CLOSED: Outcome.FORBIDDEN_ROBOTS}


@pytest.mark.parametrize("half", [b"Disallow: /", b"Allow: /closed"])
def test_half_a_rule_at_the_end_of_a_cut_robots_txt_does_not_count(
    world: MakeWorld, half: Any
) -> None:
    """Half of "Disallow: /private" would forbid everything."""
    text = b"User-agent: *\nDisallow: /closed\n"
    body = text + b"#" * (MAX_SIZE - len(text) - len(half) - 1) + b"\n" + half
    assert len(body) == MAX_SIZE
    closed = "http://a.test/closed"
    cut = {"body": body, "outcome": Outcome.TOO_BIG, "truncated": "length"}
    here = world(PAGE, closed, replies={ROBOTS: cut})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS, closed: Outcome.FORBIDDEN_ROBOTS}


def test_robots_txt_is_not_asked_for_when_it_is_ignored(world: MakeWorld) -> None:
    here = world(PAGE, replies={ROBOTS: {"body": DENY}}, ignore_robots=True)
    here.run()
    assert [start.href for start in here.starts] == [PAGE]


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 500},
        {"status": 502},
        {"status": 503},
        {"status": 429},
        SILENT,
        {"status": 200, "outcome": Outcome.EARLY_STOP},
    ],
    ids=str,
)
def test_an_unreachable_robots_txt_forbids_after_three_more_tries(
    world: MakeWorld, failure: dict[str, Any]
) -> None:
    here = world(PAGE, replies={ROBOTS: failure})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.FORBIDDEN_ROBOTS}
    assert [start.href for start in here.starts] == [ROBOTS] * 4
    assert here.asked == [("a.test", False)] + [("a.test", True)] * 3
    times = [start.at for start in here.starts]
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(wait >= 15 for wait in waits)


@pytest.mark.parametrize("failure", [{"status": 503}, {"status": 429}, DEAD, SILENT], ids=str)
def test_a_robots_txt_that_comes_in_time_is_obeyed(
    world: MakeWorld, failure: dict[str, Any]
) -> None:
    here = world(PAGE, replies={ROBOTS: [failure, failure, {"body": b""}]})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS}


def test_robots_txt_waits_as_long_as_the_server_requests(world: MakeWorld) -> None:
    busy = {"status": 503, "headers": {"retry-after": "400"}}
    here = world(PAGE, replies={ROBOTS: [busy, {"body": b""}]})
    here.run()
    first, second, _ = here.starts
    assert second.at >= first.at + 400


def test_a_site_without_a_reachable_robots_txt_is_tried_again_later(
    world: MakeWorld,
) -> None:
    here = world(PAGE, replies={ROBOTS: [{"status": 500}] * 4 + [{"body": b""}]})
    here.run()
    frontier, parent = here.frontier, Url("http://b.test/", 5)
    frontier.admit(parent, links("http://a.test/soon"), here.now)
    here.run()
    assert here.outcomes()["http://a.test/soon"] is Outcome.FAST_ROBOTS
    here.now += 3600
    frontier.admit(parent, links("http://a.test/later"), here.now)
    here.run()
    assert here.outcomes()["http://a.test/later"] is Outcome.SUCCESS


def test_a_site_whose_robots_txt_does_not_connect_is_closed(world: MakeWorld) -> None:
    here = world(PAGE, replies={ROBOTS: DEAD})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.NO_CONNECTION}
    assert len(here.starts) == 4
    assert here.fates[0].attempt == 4
    assert here.frontier.lifecycle.robots_fetched == 0, "no server replied"


def test_bad_tls_is_final(world: MakeWorld) -> None:
    here = world(
        "https://a.test/",
        replies={"https://a.test/robots.txt": {"status": 0, "outcome": Outcome.BAD_TLS}},
    )
    here.run()
    assert here.outcomes() == {"https://a.test/": Outcome.BAD_TLS}
    assert len(here.starts) == 1


def moved(*steps: str, last: Any = None) -> dict[str, Any]:
    """Replies by which robots.txt moves from step to step."""
    replies = {ROBOTS: {"status": 301, "headers": {"location": steps[0]}}}
    for here, there in itertools.pairwise(steps):
        replies[here] = {"status": 302, "headers": {"location": there}}
    if last is not None:
        replies[steps[-1]] = last
    return replies


def test_five_redirects_of_robots_txt_are_followed(world: MakeWorld) -> None:
    steps = [f"http://a.test/{number}/robots.txt" for number in range(5)]
    here = world(PAGE, replies=moved(*steps, last={"body": DENY}))
    here.run()
    assert [start.href for start in here.starts] == [ROBOTS, *steps]
    assert here.outcomes() == {PAGE: Outcome.FORBIDDEN_ROBOTS}


def test_a_redirect_of_robots_txt_is_read_as_any_other(world: MakeWorld) -> None:
    location = "//b.test/r\xe9gles?#part"
    there = "http://b.test/r%E9gles"
    here = world(PAGE, replies=moved(location) | {there: {"body": DENY}})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.FORBIDDEN_ROBOTS}


def test_more_redirects_of_robots_txt_are_none(world: MakeWorld) -> None:
    steps = [f"http://a.test/{number}/robots.txt" for number in range(6)]
    here = world(PAGE, replies=moved(*steps, last={"body": DENY}))
    here.run()
    assert [start.href for start in here.starts] == [ROBOTS, *steps[:5], PAGE]
    assert here.outcomes() == {PAGE: Outcome.SUCCESS}


def test_a_redirect_loop_ends(world: MakeWorld) -> None:
    here = world(PAGE, replies=moved(ROBOTS))
    here.run()
    assert [start.href for start in here.starts] == [ROBOTS] * 6 + [PAGE]


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://a.test:25/", "http://", ""])
def test_a_redirect_to_nowhere_is_no_robots_txt(world: MakeWorld, location: Any) -> None:
    replies = {ROBOTS: {"status": 301, "headers": {"location": location} if location else {}}}
    here = world(PAGE, replies=replies)
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS}


def test_robots_txt_may_be_on_another_site(world: MakeWorld) -> None:
    there = "https://b.test/robots.txt"
    here = world(PAGE, replies=moved(there, last={"body": DENY}))
    here.run()
    assert there in [start.href for start in here.starts]
    assert here.outcomes() == {PAGE: Outcome.FORBIDDEN_ROBOTS}


def test_two_sites_may_hold_each_others_robots_txt(world: MakeWorld) -> None:
    there, page = "http://b.test/robots.txt", "http://b.test/page"
    replies = moved(there) | {there: {"status": 301, "headers": {"location": ROBOTS}}}
    here = world(PAGE, page, replies=replies)
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS, page: Outcome.SUCCESS}


@pytest.mark.parametrize(
    ("names", "answer"),
    [
        ({"b.test": "nxdomain"}, None),
        ({"b.test": ("127.0.0.1",)}, None),
        ({}, DEAD),
        ({}, SILENT),
        ({}, {"status": 0, "outcome": Outcome.BAD_TLS}),
        ({}, {"status": 500}),
    ],
    ids=str,
)
def test_a_robots_txt_that_is_unreachable_elsewhere_forbids(
    world: MakeWorld, names: dict[str, Any], answer: Any
) -> None:
    """It says nothing against the site itself, which answers."""
    replies = moved("https://b.test/robots.txt", last=answer)
    here = world(
        PAGE,
        names={"a.test": ("93.184.215.14",), "b.test": ("93.184.215.15",)} | names,
        replies=replies,
        permit=is_public,
    )
    here.run()
    assert here.outcomes() == {PAGE: Outcome.FORBIDDEN_ROBOTS}


def test_a_robots_txt_elsewhere_may_come_later(world: MakeWorld) -> None:
    there = "http://b.test/robots.txt"
    here = world(PAGE, replies=moved(there, last=[{"status": 500}] * 3 + [{"body": b""}]))
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS}


def test_many_sites_may_send_us_to_one_robots_txt(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As parked domains do: the work must not grow with their square."""
    hosts = [f"h{number}.test" for number in range(30)]
    there = "http://b.test/robots.txt"
    location = {"status": 301, "headers": {"location": there}}
    here = world(
        *[f"http://{host}/" for host in ["b.test", *hosts]],
        names={host: (f"198.51.100.{number}",) for number, host in enumerate(hosts)},
        replies={f"http://{host}/robots.txt": location for host in hosts},
    )
    here.names["b.test"] = "timeout"
    here.run(here.now + 14)
    assert len(site_of(here, "http://b.test").waiting) == 31
    here.names["b.test"] = ("203.0.113.1",)

    def compared(self: Any, other: Any) -> None:
        pytest.fail("a URL was searched for")

    monkeypatch.setattr(Url, "__eq__", compared)
    here.run()
    assert set(here.outcomes().values()) == {Outcome.SUCCESS}


def test_a_chain_of_sites_falls_without_depth(world: MakeWorld) -> None:
    """Each sends us to the next one's robots.txt; the last one is not there."""
    keys = [f"http://h{number}.test" for number in range(400)]
    replies = {
        f"{key}/robots.txt": {"status": 301, "headers": {"location": f"{after}/robots.txt"}}
        for key, after in itertools.pairwise(keys)
    }
    here = world(
        *[f"{key}/" for key in keys],
        names={f"h{n}.test": (f"198.51.{n // 250}.{n % 250}",) for n in range(len(keys))},
        replies=replies | {f"{keys[-1]}/robots.txt": DEAD},
        retries=0,
        least=30,
        latency=1,
    )
    outcomes = {outcome.href: outcome.outcome for outcome in here.run()}
    assert outcomes.pop(f"{keys[-1]}/") is Outcome.NO_CONNECTION
    assert len(outcomes) == 399


def test_robots_txt_is_kept_for_a_day(world: MakeWorld) -> None:
    here = world(PAGE, address_time=10**9)
    here.run()
    parent = Url("http://b.test/", 5)

    def fetch(path: str) -> Any:
        here.frontier.admit(parent, links(f"http://a.test/{path}"), here.now)
        here.run()
        return [start.href for start in here.starts].count(ROBOTS)

    fetched_at = here.starts[0].at
    here.now = fetched_at + 24 * 3600
    assert fetch("within") == 1
    here.now += 1
    here.replies[ROBOTS] = {"body": DENY}
    assert fetch("after") == 2
    assert here.outcomes()["http://a.test/after"] is Outcome.FORBIDDEN_ROBOTS


def test_new_rules_bind_urls_that_came_before(world: MakeWorld) -> None:
    here = world(PAGE, address_time=10**9, least=100, most=1000)
    here.run(here.now + 1000)
    here.now += 24 * 3600
    here.replies[ROBOTS] = {"body": b"User-agent: *\nDisallow: /b\n"}
    parent = Url("http://b.test/", 5)
    here.frontier.admit(parent, links("http://a.test/b", "http://a.test/c"), here.now)
    here.run()
    assert here.outcomes()["http://a.test/b"] is Outcome.FORBIDDEN_ROBOTS
    assert here.outcomes()["http://a.test/c"] is Outcome.SUCCESS


def test_a_retry_does_not_ask_the_rules_about_the_others_again(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [f"http://a.test/{number}" for number in range(20)]
    rules = {"body": b"User-agent: *\nDisallow: /no\n"}
    here = world(*pages, replies={ROBOTS: rules, pages[0]: [{"status": 500}, {}]}, least=5)
    asked = []
    allowed = Rules.allowed

    def watch(self: Any, agent: Any, url: str) -> Any:
        asked.append(url)
        return allowed(self, agent, url)

    monkeypatch.setattr(Rules, "allowed", watch)
    here.run()
    assert set(here.outcomes().values()) == {Outcome.SUCCESS}
    assert sorted(asked) == sorted([*pages, pages[0]])


@pytest.mark.parametrize(("asked", "gap"), [(b"3", 3), (b"100000", 60), (b"0.1", 1), (b"x", 1)])
def test_crawl_delay_is_kept_within_max_wait(world: MakeWorld, asked: Any, gap: Any) -> None:
    body = b"User-agent: *\nCrawl-delay: " + asked
    pages = [f"http://a.test/{number}" for number in range(4)]
    here = world(*pages, replies={ROBOTS: {"body": body}}, least=1, most=60, latency=0)
    here.run()
    times = [start.at for start in here.starts[1:]]
    for earlier, later in itertools.pairwise(times):
        assert later - earlier == pytest.approx(gap)


def sitemap(depth: int, *, address: str = "http://a.test/map.xml") -> Any:
    body = f"Sitemap: {address}\nSitemap: /relative.xml\nSitemap: ftp://x/\n".encode()
    return {ROBOTS: {"body": body}}, depth


@pytest.mark.parametrize(("depth", "found"), [(2, 2), (1, 1)])
def test_sitemaps_have_the_depth_of_the_page_that_goes_deepest(
    world: MakeWorld, depth: int, found: Any
) -> None:
    replies, _ = sitemap(depth)
    here = world(replies=replies)
    here.frontier.seed(PAGE, depth=depth)
    here.frontier.seed("http://a.test/other", depth=0)
    depths = {}
    take = here.frontier.take

    def watch(now: float) -> Any:
        due = take(now)
        if due:
            depths[due[0].href] = due[0].depth
        return due

    here.frontier.take = watch
    here.run()
    assert depths["http://a.test/map.xml"] == found
    assert depths["http://a.test/relative.xml"] == found
    assert here.outcomes()["http://a.test/map.xml"] is Outcome.SUCCESS


def test_a_sitemap_is_not_fetched_for_pages_without_depth(world: MakeWorld) -> None:
    replies, _ = sitemap(0)
    here = world(replies=replies)
    here.frontier.seed(PAGE, depth=0)
    here.run()
    assert here.pages() == [PAGE]
    assert here.frontier.admission.refused[Outcome.TOO_DEEP] == 2


ELSEWHERE = "http://other.test/map.xml?of=a"


@pytest.mark.parametrize(
    "limit",
    [
        {"lock_site": True},
        {"no_external_links": True},
        {"limit_to_domain": ("a.test",)},
        {"get_cgi": False, "forbidden_extensions": (".xml",)},
    ],
)
def test_a_sitemap_that_robots_txt_names_may_be_anywhere(world: MakeWorld, limit: Any) -> None:
    replies, _ = sitemap(3, address=ELSEWHERE)
    # A site of which only the sitemap of another one is wanted.
    replies["http://other.test/robots.txt"] = {"body": b"Sitemap: /own.xml"}
    here = world(PAGE, replies=replies, **limit)
    here.run()
    outcomes = here.outcomes()
    assert ELSEWHERE in outcomes and "http://a.test/relative.xml" in outcomes
    assert ("http://other.test/own.xml" in outcomes) is ("get_cgi" in limit)


def test_sitemaps_belong_to_the_site_whose_robots_txt_was_redirected(world: MakeWorld) -> None:
    replies: Any = {
        ROBOTS: {"status": 301, "headers": {"location": "http://other.test/robots"}},
        "http://other.test/robots": {"body": b"Sitemap: /map.xml"},
    }
    here = world(PAGE, replies=replies, no_external_links=True)
    here.run()
    assert "http://other.test/map.xml" in here.outcomes()


# Private addresses.

PRIVATE = [
    ("127.0.0.1",),
    ("10.0.0.1", "192.168.1.1"),
    ("169.254.169.254",),
    ("::1",),
    ("::ffff:127.0.0.1",),
    ("64:ff9b::7f00:1",),
    ("2002:7f00:1::",),
    ("fd00::1",),
]
PUBLIC = "93.184.215.14"


@pytest.mark.parametrize("addresses", PRIVATE)
def test_private_addresses_are_not_asked(world: MakeWorld, addresses: Any) -> None:
    here = world(PAGE, names={"a.test": addresses}, permit=is_public)
    here.run()
    assert here.outcomes() == {PAGE: Outcome.PRIVATE_ADDRESS}
    assert here.starts == []


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "0x7f.1", "2130706433", "127.1"])
def test_private_addresses_in_urls_are_not_asked(world: MakeWorld, host: str) -> None:
    here = world(f"http://{host}/", permit=is_public)
    here.frontier.sequence(here.now)
    name, _ = here.frontier.next_name()
    here.frontier.resolved(Answer(name, (name.strip("[]"),), None), here.now)
    here.run()
    assert list(here.outcomes().values()) == [Outcome.PRIVATE_ADDRESS]
    assert here.starts == []


def test_only_the_public_ones_of_several_addresses_are_asked(world: MakeWorld) -> None:
    here = world(PAGE, names={"a.test": ("10.0.0.1", PUBLIC, "::1")}, permit=is_public)
    here.run()
    assert {start.address for start in here.starts} == {PUBLIC}
    assert site_of(here).addresses == (PUBLIC,)


def test_private_addresses_behind_links_redirects_and_sitemaps(world: MakeWorld) -> None:
    body = b"Sitemap: http://private.test/map.xml\n"
    replies = {
        ROBOTS: {"body": body},
        PAGE: {"links": ["http://private.test/link"]},
        "http://a.test/moved": {
            "status": 302,
            "headers": {"location": "http://private.test/redirect"},
        },
    }
    here = world(
        PAGE,
        "http://a.test/moved",
        names={"private.test": ("192.168.0.1",)},
        replies=replies,
        permit=lambda address: address != "192.168.0.1",
    )
    here.run()
    assert {start.address for start in here.starts} == {"198.51.100.1"}
    private = {url: o for url, o in here.outcomes().items() if "private" in url}
    assert set(private.values()) == {Outcome.PRIVATE_ADDRESS}
    assert {url.rpartition("/")[2] for url in private} == {"map.xml", "link", "redirect"}


def test_a_name_that_turns_private_is_refused_from_then_on(world: MakeWorld) -> None:
    here = world(PAGE, names={"a.test": (PUBLIC,)}, permit=is_public)
    here.run()
    here.names["a.test"] = ("127.0.0.1",)
    here.now += 1800
    here.frontier.seed("http://a.test/later")
    here.run()
    assert here.outcomes()["http://a.test/later"] is Outcome.PRIVATE_ADDRESS
    assert {start.address for start in here.starts} == {PUBLIC}


# Names.


@pytest.mark.parametrize("reason", ["nxdomain", "timeout", "servfail"])
def test_a_name_without_an_address_is_asked_for_three_more_times(
    world: MakeWorld, reason: Any
) -> None:
    here = world(PAGE, "http://b.test/", names={"a.test": reason})
    here.run()
    assert here.outcomes() == {PAGE: Outcome.NO_DNS, "http://b.test/": Outcome.SUCCESS}
    [fate] = [fate for fate in here.fates if fate.href == PAGE]
    assert (fate.attempt, fate.detail) == (4, reason)
    asked = [question for question in here.asked if question[0] == "a.test"]
    assert asked == [("a.test", False)] + [("a.test", True)] * 3
    assert here.now >= 5000 + 3 * 15


@pytest.mark.parametrize(
    ("seeds", "missing", "tries"),
    [
        ([PAGE], ["a.test"], [1]),
        ([PAGE, "http://a.test/2", "https://a.test/"], ["a.test"], [1]),
        ([PAGE, "http://b.test/"], ["a.test", "b.test"], [1]),
        # It may be one of several seeds that is misspelled.
        ([PAGE, "http://b.test/"], ["a.test"], [4, 1]),
    ],
    ids=["one", "one name", "several", "one of two"],
)
def test_if_no_name_of_the_crawl_exists_it_ends_at_once(
    world: MakeWorld, seeds: list[str], missing: list[str], tries: list[int]
) -> None:
    here = world(*seeds, names=dict.fromkeys(missing, "nxdomain"))
    here.run()
    assert {fate.attempt for fate in here.fates} == set(tries)
    gone = [fate for fate in here.fates if Url(fate.href, 0).host in missing]
    assert {(fate.outcome, fate.detail) for fate in gone} == {(Outcome.NO_DNS, "nxdomain")}
    assert (here.now < 5001) is (tries == [1])


def test_a_name_that_does_not_exist_ends_no_other_site(world: MakeWorld) -> None:
    here = world(PAGE, "http://b.test/", names={"a.test": "servfail", "b.test": "nxdomain"})
    here.run()
    assert [fate.attempt for fate in here.fates] == [4, 4]


def test_a_later_name_that_does_not_exist_is_tried_again(world: MakeWorld) -> None:
    """Only a crawl that never had anything else to do ends at once."""
    here = world(PAGE, names={"b.test": "nxdomain"})
    here.run()
    here.frontier.seed("http://b.test/")
    here.run()
    assert here.fates[-1].attempt == 4


def test_a_name_whose_server_fails_is_tried_again_even_if_it_is_alone(world: MakeWorld) -> None:
    for reason in ("servfail", "timeout", "nodata"):
        here = world(f"http://{reason}.test/", names={f"{reason}.test": reason})
        here.run()
        assert here.fates[-1].attempt == 4
        here.frontier.close()


def test_an_address_is_used_for_its_time(world: MakeWorld) -> None:
    here = world(PAGE, address_time=100)
    here.run()
    resolved_at = here.starts[0].at
    for wait, asked in [(99.9, 1), (100, 2)]:
        here.now = resolved_at + wait
        here.frontier.seed(f"http://a.test/{wait}")
        here.run()
        assert len(here.asked) == asked


def test_an_old_address_is_better_than_none(world: MakeWorld) -> None:
    here = world(PAGE, address_time=100)
    here.run()
    here.names["a.test"] = "timeout"
    here.now += 200
    here.frontier.seed("http://a.test/later")
    here.run()
    assert here.outcomes()["http://a.test/later"] is Outcome.SUCCESS


def test_an_old_address_is_used_until_the_next_try_only(world: MakeWorld) -> None:
    here = world(PAGE, address_time=100, retry_wait=15)
    here.run()
    here.names["a.test"] = "timeout"
    failed_at = here.now = here.now + 200
    for wait, asked in [(0, 2), (14.9, 2), (15, 3)]:
        here.now = failed_at + wait
        here.frontier.seed(f"http://a.test/{wait}")
        here.run()
        assert len(here.asked) == asked


def test_sites_of_one_host_ask_for_its_name_once(world: MakeWorld) -> None:
    urls = ["http://a.test/", "https://a.test/", "http://a.test:8080/"]
    here = world(*urls)
    here.frontier.sequence(here.now)
    assert here.frontier.next_name() == ("a.test", False)
    assert here.frontier.next_name() is None
    assert not here.frontier.next_name()
    here.frontier.resolved(Answer("a.test", ("198.51.100.1",), None), here.now)
    here.run()
    assert here.asked == []
    assert set(here.outcomes().values()) == {Outcome.SUCCESS}


# Failures.


@pytest.mark.parametrize(
    "failure",
    [DEAD, SILENT, {"status": 500}, {"status": 200, "outcome": Outcome.EARLY_STOP}],
    ids=str,
)
def test_a_failed_url_is_tried_three_more_times_with_a_fresh_address(
    world: MakeWorld, failure: dict[str, Any]
) -> None:
    here = world(PAGE, replies={PAGE: failure})
    here.run()
    outcome = failure.get("outcome", Outcome.ERR_50X)
    assert here.fates == [(PAGE, outcome, 4, "")]
    assert here.pages() == [PAGE] * 4
    assert here.asked == [("a.test", False)] + [("a.test", True)] * 3
    assert here.frontier.lifecycle.retried == 3
    times = [start.at for start in here.starts[1:]]
    for earlier, later in itertools.pairwise(times):
        assert later - earlier >= 15


@pytest.mark.parametrize("status", [404, 410, 403, 304])
def test_a_final_outcome_is_not_tried_again(world: MakeWorld, status: int) -> None:
    here = world(PAGE, replies={PAGE: {"status": status}})
    here.run()
    assert here.pages() == [PAGE]
    assert here.fates[0].attempt == 1


def test_a_failed_url_goes_to_the_tail(world: MakeWorld) -> None:
    pages = [f"http://a.test/{number}" for number in range(4)]
    here = world(*pages, replies={pages[0]: [{"status": 500}, {}]}, least=6)
    here.run()
    assert here.pages() == [*pages, pages[0]]


def test_a_success_after_failures(world: MakeWorld) -> None:
    here = world(PAGE, replies={PAGE: [DEAD, SILENT, {"status": 503}, {}]})
    here.run()
    assert here.fates == [(PAGE, Outcome.SUCCESS, 4, "")]


@pytest.mark.parametrize("retries", [0, 1, 7])
def test_the_number_of_tries_is_the_operators(world: MakeWorld, retries: int) -> None:
    here = world(
        PAGE,
        "http://b.test/",
        "http://c.test/",
        retries=retries,
        names={"b.test": "nxdomain", "c.test": ("198.51.100.9",)},
        replies={PAGE: {"status": 500}, "http://c.test/robots.txt": DEAD},
    )
    here.run()
    assert {fate.attempt for fate in here.fates} == {retries + 1}
    assert len(here.pages()) == retries + 1


TWO = ("198.51.100.1", "198.51.100.2")


@pytest.mark.parametrize("failure", [DEAD, SILENT], ids=["refused", "silent"])
@pytest.mark.parametrize("target", [ROBOTS, PAGE])
def test_a_dead_address_is_left_for_the_next_one(
    world: MakeWorld, failure: dict[str, Any], target: Any
) -> None:
    """The resolver says the same again; the retry must not go to the dead one again."""
    alive = {"status": 404} if target == ROBOTS else {}
    here = world(
        PAGE,
        names={"a.test": TWO},
        replies={target: lambda address: failure if address == TWO[0] else alive},
    )
    here.run()
    assert here.outcomes() == {PAGE: Outcome.SUCCESS}
    asked = [start.address for start in here.starts if start.href == target]
    assert asked == list(TWO)


def test_an_address_that_serves_is_kept_when_the_answers_order_changes(world: MakeWorld) -> None:
    here = world(PAGE, names={"a.test": TWO}, address_time=10)
    here.run()
    here.names["a.test"] = TWO[::-1]
    here.now += 20
    here.frontier.seed("http://a.test/later")
    here.run()
    assert {start.address for start in here.starts} == {TWO[0]}


def test_a_fresh_address_replaces_the_old_one(world: MakeWorld) -> None:
    here = world(PAGE, names={"a.test": (TWO[0],)}, replies={PAGE: [DEAD, {}]})
    here.run(here.now + 1)
    here.names["a.test"] = (TWO[1],)
    here.run()
    assert [start.address for start in here.starts][-1] == TWO[1]
    assert here.outcomes() == {PAGE: Outcome.SUCCESS}


def many(count: int) -> list[str]:
    return [f"http://a.test/{number}" for number in range(count)]


@pytest.mark.parametrize("failure", [DEAD, SILENT], ids=["refused", "silent"])
def test_a_site_that_no_longer_answers_is_closed(world: MakeWorld, failure: dict[str, Any]) -> None:
    pages = many(40)
    here = world(*pages, replies=dict.fromkeys(pages, failure), least=0)
    here.run()
    assert set(here.outcomes()) == set(pages)
    assert set(here.outcomes().values()) == {failure["outcome"]}
    assert len(here.pages()) == 12
    assert site_of(here).state is State.CLOSED


def test_an_answer_between_shows_that_the_site_is_there(world: MakeWorld) -> None:
    pages = many(40)
    replies = {page: {"status": 404} if i % 10 == 9 else DEAD for i, page in enumerate(pages)}
    here = world(*pages, replies=replies, retries=0)
    here.run()
    assert len(here.pages()) == 40


def test_the_standing_of_a_site_decides_its_links_at_once(world: MakeWorld) -> None:
    here = world(
        "http://a.test/",
        "http://b.test/",
        "http://c.test/",
        names={"a.test": "nxdomain", "b.test": ("198.51.100.2",)},
        replies={"http://b.test/robots.txt": DEAD, "http://c.test/robots.txt": {"body": DENY}},
    )
    here.run()
    asked = len(here.starts)
    found = [f"http://{site}.test/link" for site in "abc"]
    here.frontier.admit(Url("http://d.test/", 5), links(*found), here.now)
    here.run()
    assert [here.outcomes()[url] for url in found] == [
        Outcome.FAST_NO_DNS,
        Outcome.FAST_NO_CONN,
        Outcome.FAST_ROBOTS,
    ]
    assert len(here.starts) == asked
    assert {fate.attempt for fate in here.fates if fate.href in found} == {0}


def test_a_stale_address_is_no_fast_outcome(world: MakeWorld) -> None:
    """The rules in force still bind, but only once the site is open again."""
    here = world(PAGE, replies={ROBOTS: {"body": b"User-agent: *\nDisallow: /no"}})
    here.run()
    here.now += 1800
    here.frontier.seed("http://a.test/no")
    here.run()
    assert here.outcomes()["http://a.test/no"] is Outcome.FORBIDDEN_ROBOTS
    assert len(here.asked) == 2
    here.frontier.seed("http://a.test/no/2")
    here.run()
    assert here.outcomes()["http://a.test/no/2"] is Outcome.FAST_ROBOTS


def test_a_fast_outcome_costs_no_more_than_a_batch_a_turn(world: MakeWorld) -> None:
    here = world(PAGE, names={"a.test": "nxdomain"}, retries=0)
    here.run()
    found = [f"http://a.test/{number}" for number in range(250)]
    here.frontier.admit(Url("http://b.test/", 5), links(*found), here.now)
    for decided in (100, 100, 50):
        here.frontier.sequence(here.now)
        fates = list(here.frontier.decided(MANY))
        assert [page.outcome for page in fates] == [Outcome.FAST_NO_DNS] * decided


def test_a_closed_site_is_tried_again_after_an_hour(world: MakeWorld) -> None:
    here = world(PAGE, names={"a.test": "nxdomain"})
    here.run()
    here.frontier.seed("http://a.test/soon")
    here.run()
    assert here.outcomes()["http://a.test/soon"] is Outcome.FAST_NO_DNS
    here.names["a.test"] = ("198.51.100.1",)
    here.now += 3600
    here.frontier.seed("http://a.test/later")
    here.run()
    assert here.outcomes()["http://a.test/later"] is Outcome.SUCCESS


def test_a_site_that_is_tried_again_has_all_its_tries_again(world: MakeWorld) -> None:
    here = world(PAGE, names={"a.test": "servfail"})
    here.run()
    here.now += 3600
    here.frontier.seed("http://a.test/later")
    here.run()
    assert len(here.asked) == 8


def test_requests_that_end_after_their_site_was_closed(world: MakeWorld) -> None:
    pages = many(14)
    frontier, urls = make_frontier_flying(world, pages)

    def decided() -> list[Page]:
        return list(frontier.decided(MANY))

    for url in urls[:12]:
        frontier.replied(reply(url, **DEAD), 10.0, WALL)
    assert site_in(frontier, "http://a.test/").state is State.CLOSED
    assert len(decided()) == 12
    assert frontier.replied(reply(urls[12]), 11.0, WALL)
    assert not frontier.replied(reply(urls[13], **DEAD), 11.0, WALL)
    frontier.sequence(26.0)
    # It was asked for and failed by itself, so its fate is no fast one.
    assert [(page.url, page.outcome) for page in decided()] == [
        (urls[12], Outcome.SUCCESS),
        (urls[13], Outcome.NO_CONNECTION),
    ]
    assert frontier.owed == 0


def make_frontier_flying(world: MakeWorld, pages: list[str]) -> tuple[Frontier, list[Url]]:
    """A frontier with all `pages` in flight at once, and their URLs."""
    frontier: Frontier = world(*pages, connexions=len(pages), ignore_robots=True).frontier
    frontier.sequence(1.0)
    frontier.resolved(Answer(named(frontier), ("198.51.100.1",), None), 1.0)
    return frontier, [taken(frontier, 1.0) for _ in pages]


# Counts.


def test_the_sites_with_urls_and_their_states(world: MakeWorld) -> None:
    here = world(
        PAGE,
        "http://b.test/",
        names={"b.test": "nxdomain"},
        replies={ROBOTS: {"body": b""}, PAGE: {"status": 500}},
        retries=1,
    )
    sites = here.frontier.registry
    assert (sites.notable(), states_of(sites)) == ([], {})
    here.run(here.now + 1)
    a, b = site_of(here), site_of(here, "http://b.test")
    assert sites.notable() == [a, b]
    assert states_of(sites) == {State.OPEN: 1, State.WAITING: 1}
    assert sites.closed() == []
    here.run()
    assert sites.notable() == []
    assert states_of(sites) == {State.OPEN: 1, State.CLOSED: 1}
    assert sites.closed() == [b]


def test_a_site_is_active_while_it_holds_the_robots_txt_of_another(world: MakeWorld) -> None:
    here = world("http://b.test/", least=20)
    here.run()
    here.replies |= moved("http://b.test/robots.txt", last={"body": b""})
    assert here.frontier.registry.notable() == []
    here.frontier.seed(PAGE)
    here.names["a.test"] = ("198.51.100.7",)
    here.run(here.now + 1)
    assert here.frontier.registry.notable() == [site_of(here), site_of(here, "http://b.test")]


def test_repr(world: MakeWorld) -> None:
    here = world(PAGE)
    here.run()
    assert repr(here.frontier).startswith("<Frontier <SiteLifecycle <SiteRegistry 1 sites, ")


def test_a_crowd_is_let_in_bit_by_bit(world: MakeWorld) -> None:
    """Each URL is matched with all rules, and sockets must not wait for all of them."""
    here = world(PAGE, names={"a.test": ("198.51.100.1",)})
    found = [f"http://a.test/{number}" for number in range(350)]
    here.frontier.admit(Url("http://b.test/", 5), links(*found), here.now)
    for _ in range(4):
        here.frontier.sequence(here.now)
    site = site_of(here)
    assert len(site.waiting) == 351
    here.turn()
    here.now += 0.1
    here.turn()
    assert (site.state, len(site.waiting)) == (State.OPEN, 151)
    assert here.frontier.deadline(here.now, can_open=False, can_ask=False) <= here.now
    here.run()
    assert len(here.outcomes()) == 351


def test_a_crawl_delay_counts_from_the_robots_txt(world: MakeWorld) -> None:
    body = b"User-agent: *\nCrawl-delay: 20\n"
    here = world(PAGE, replies={ROBOTS: {"body": body}}, least=1)
    here.run()
    first, second = here.starts
    assert second.at - first.at >= 20


# Requests that end in other states.


@pytest.mark.parametrize("state", [State.RESOLVING, State.WAITING])
def test_timeouts_in_another_state_do_not_close_the_site(world: MakeWorld, state: State) -> None:
    """A dozen end while its address is looked up, or while its robots.txt is waited for."""
    frontier = world(*many(12), connexions=13).frontier
    frontier.sequence(1.0)
    answer = Answer(named(frontier), ("198.51.100.1",), None)
    frontier.resolved(answer, 1.0)
    frontier.replied(reply(taken(frontier, 1.0), body=b""), 1.0, WALL)
    flown = [taken(frontier, 1.0) for _ in range(12)]
    # Address and robots.txt are out of date by then.
    now = 25 * 3600.0
    frontier.seed("http://a.test/later")
    frontier.sequence(now)
    if state is State.WAITING:
        frontier.next_name()
        frontier.resolved(answer, now)
        frontier.replied(reply(taken(frontier, now), **SILENT), now, WALL)
    site = site_in(frontier, "http://a.test/")
    for url in flown:
        assert not frontier.replied(reply(url, **SILENT), now, WALL)
    assert (site.state, site.silence) == (state, 12)
    here = World(frontier, now=now)
    here.run()
    assert set(here.outcomes().values()) == {Outcome.SUCCESS}
    assert len(here.outcomes()) == 13


def test_the_rules_of_a_site_do_not_bind_the_robots_txt_of_another(world: MakeWorld) -> None:
    """A robots.txt was redirected to a site that forbids everything, and waits there."""
    there = "http://b.test/robots.txt"
    replies = {there: {"body": DENY}}
    here = world("http://b.test/", replies=replies, address_time=10, names={"b.test": ("::2",)})
    here.run()
    here.now += 20
    frontier = here.frontier
    frontier.seed("http://b.test/later")
    frontier.seed(PAGE)
    frontier.sequence(here.now)
    assert {named(frontier), named(frontier)} == {"a.test", "b.test"}
    frontier.resolved(Answer("a.test", ("::1",), None), here.now)
    robots = taken(frontier, here.now)
    moved_there = reply(robots, 301, headers={"location": "http://b.test/robots-of-a.txt"})
    frontier.replied(moved_there, here.now, WALL)
    assert site_of(here, "http://b.test").state is State.RESOLVING
    frontier.resolved(Answer("b.test", ("::2",), None), here.now)
    here.run()
    assert here.starts[-2].href == "http://b.test/robots-of-a.txt"
    assert here.outcomes()[PAGE] is Outcome.SUCCESS
    assert here.outcomes()["http://b.test/later"] is Outcome.FORBIDDEN_ROBOTS


def test_a_site_that_refuses_everything_ends_its_urls_with_that_status(world: MakeWorld) -> None:
    made = world(PAGE, "http://a.test/2", "http://b.test/", latency=5.0)
    made.run(until=5000.1)
    frontier = made.frontier
    frontier.lifecycle.give_up_refusing("http://none.test", 403, made.now)
    frontier.lifecycle.give_up_refusing("http://b.test", 403, made.now)
    assert [*frontier.decided(9)] == []
    made.run(until=5006.0)
    frontier.lifecycle.give_up_refusing("http://a.test", 403, made.now)
    ended = {page.url.href: (page.outcome, page.status) for page in frontier.decided(9)}
    assert ended and {*ended.values()} == {(Outcome.ERR_40X, 403)}
    assert {href[:13] for href in ended} == {"http://a.test"}


def test_the_next_try_is_that_of_a_site_or_of_a_url(world: MakeWorld) -> None:
    lifecycle = world(PAGE, replies={PAGE: {"status": 503}}).frontier.lifecycle
    assert lifecycle.next_retry() is None
    made = World(world(PAGE, replies={}).frontier, None, {PAGE: {"status": 503}})
    made.run(until=5003.0)
    retry = made.frontier.lifecycle.next_retry()
    assert retry is not None
    when, site, url = retry
    assert (site.key, url and url.href) == ("http://a.test", PAGE)
    assert when == site.retries[0][0] > made.now


def test_the_next_try_of_a_site_is_named_without_a_url(world: MakeWorld) -> None:
    made = world(PAGE, names={"a.test": "servfail"})
    made.run(until=5003.0)
    site = site_of(made)
    assert site.state is State.WAITING
    assert made.frontier.lifecycle.next_retry() == (site.until, site, None)
    site.until += 1.0
    assert made.frontier.lifecycle.next_retry() is None


@pytest.mark.parametrize(
    ("pages", "state", "ends"),
    [(3, State.OPEN, False), (4, State.OPEN, True), (4, State.ROBOTS, False)],
)
def test_an_open_site_at_its_limit_is_closed_for_good(
    world: MakeWorld, pages: int, state: State, ends: bool
) -> None:
    """Its pages may have been counted elsewhere."""
    limited = {"a.test": site_settings(limits=SiteLimits(4))}
    made = world(*many(9), latency=50.0, by_host=limited)
    made.run(until=5000.0 + (60.0 if state is State.OPEN else 1.0))
    site = site_of(made)
    assert site.state is state and site.quota is not None
    made.frontier.registry.counts.put(site.key, pages, 0)
    site.quota.load()
    made.frontier.lifecycle.close_if_spent(site, made.now)
    assert (site.state is State.CLOSED) is ends
    decided = [*made.frontier.decided(99)]
    assert {page.outcome for page in decided} == ({Outcome.SITE_LIMIT} if ends else set())
    assert len(decided) == (8 if ends else 0)
