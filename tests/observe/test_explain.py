"""Where a URL stands: in memory, in the queues on disk, in the crawl log, or refused, and why."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.frontier.frontier import Frontier
from larbinpy.observe.explain import explain
from larbinpy.observe.report.log import _PIECE
from larbinpy.output.log import CrawlLog
from larbinpy.page import Fate, Outcome, Page, soft_404
from larbinpy.storage.sizes import StoreSizes
from larbinpy.url import Url
from tests.support.fakeprobes import PROBE, FakeProbes
from tests.support.frontiers import WALL, MakeWorld, World, make_frontier

HERE = "http://a.test/"
ROBOTS = "http://a.test/robots.txt"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[CrawlLog]:
    log = CrawlLog(tmp_path / "crawl.jsonl")
    yield log
    log.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[MakeWorld]:
    """A function that makes a world around a frontier with seeds."""
    made = []

    def make(
        *seeds: str,
        names: dict[str, Any] | None = None,
        replies: dict[str, Any] | None = None,
        **settings: Any,
    ) -> World:
        frontier = make_frontier(tmp_path, **settings)
        made.append(frontier)
        for seed in seeds:
            assert frontier.seed(seed) is None
        return World(frontier, names, replies)

    yield make
    for frontier in made:
        frontier.close()


@pytest.fixture
def ask(log: CrawlLog) -> "Ask":
    return Ask(log)


class Ask:
    """Asks for the status of a URL; `steps` says how many steps the last answer took."""

    def __init__(self, log: CrawlLog) -> None:
        self._log = log
        self.steps = 0

    def __call__(
        self,
        frontier: Frontier,
        url: str,
        now: float,
        between: Callable[[], object] = lambda: None,
    ) -> dict[str, Any]:
        self.steps = 0
        for answer in explain(frontier, self._log, url, lambda: now):
            if answer is not None:
                json.dumps(answer)
                assert answer["why"]
                return answer
            self.steps += 1
            between()
        raise AssertionError("no answer")


def write(log: CrawlLog, href: str, outcome: Outcome = Outcome.SUCCESS, **more: Any) -> None:
    log.write(Fate.of(Page(Url(href, 3), outcome, **more), WALL))


# In memory.


def test_a_url_on_its_way(world: MakeWorld, ask: Ask) -> None:
    replies = {ROBOTS: {"body": b"User-agent: *\nDisallow: /no"}}
    here = world(replies=replies, least=10)
    frontier = here.frontier

    def facts(url: str, *keys: str) -> Any:
        answer = ask(frontier, url, here.now)
        return (answer["state"], *[answer.get(key) for key in keys])

    assert facts(HERE) == ("never seen",)
    frontier.seed(HERE)
    frontier.seed("http://a.test/2")
    assert facts("HTTP://A.TEST#x", "queue", "ahead") == ("queued", "ordinary", 0)
    assert facts("http://a.test/2", "ahead") == ("queued", 1)
    frontier.sequence(here.now)
    assert facts("http://a.test/2", "waits_for", "ahead") == ("waiting", "address", 1)
    here.turn()
    assert facts(HERE, "waits_for") == ("waiting", "robots.txt")
    here.run(here.now + 5)
    assert facts(HERE, "waits_for", "in_s") == ("ready", "politeness", pytest.approx(5.1))
    here.run(here.now + 5.1)
    here.turn()
    assert facts(HERE, "address", "attempt") == ("in flight", "198.51.100.1", 0)
    assert facts("http://a.test/2", "waits_for") == ("ready", "politeness")
    answer = ask(frontier, "http://a.test/no", here.now)
    assert (answer["state"], answer["reason"]) == ("refused", "forbiddenRobots")
    assert (answer["rule"], answer["line"]) == ("robots.txt", "Disallow: /no")
    assert answer["site"]["state"] == "open"


def test_a_url_that_failed_is_to_be_tried_again(world: MakeWorld, ask: Ask) -> None:
    here = world(HERE, replies={HERE: {"status": 500}})
    here.run(here.now + 5)
    answer = ask(here.frontier, HERE, here.now)
    assert (answer["state"], answer["attempt"]) == ("to be tried again", 1)
    assert 0 < answer["in_s"] <= 15


def test_a_site_that_is_asked_to_leave_alone(world: MakeWorld, ask: Ask) -> None:
    slow = {"status": 429, "headers": {"retry-after": "300"}}
    here = world(HERE, "http://a.test/2", replies={HERE: slow}, least=1)
    here.run(here.now + 5)
    answer = ask(here.frontier, "http://a.test/2", here.now)
    assert (answer["state"], answer["waits_for"]) == ("ready", "pause")
    assert 290 < answer["in_s"] < 300


def test_a_site_whose_robots_txt_fails(world: MakeWorld, ask: Ask) -> None:
    here = world(HERE, replies={ROBOTS: {"status": 500}})
    here.run(here.now + 5)
    answer = ask(here.frontier, HERE, here.now)
    assert (answer["state"], answer["waits_for"]) == ("waiting", "retryWait")
    assert "try 1" in answer["why"]
    here.run(here.now + 60)
    answer = ask(here.frontier, f"{HERE}x", here.now)
    assert (answer["reason"], answer["rule"]) == ("forbiddenRobots", "robots.txt")
    assert 3000 < answer["in_s"] <= 3600


def test_the_address_is_busy_or_the_turn_is_near(world: MakeWorld, ask: Ask) -> None:
    here = world(HERE, f"{HERE}2")
    here.run(here.now + 0.15)
    here.turn()
    assert ask(here.frontier, HERE, here.now)["state"] == "in flight"
    answer = ask(here.frontier, f"{HERE}2", here.now)
    assert (answer["state"], answer["waits_for"]) == ("ready", "connexion")
    # Nobody takes a URL that may go.
    here.run(here.now + 0.1)
    here.frontier.seed(f"{HERE}3")
    here.frontier.sequence(here.now + 1)
    answer = ask(here.frontier, f"{HERE}3", here.now + 1)
    assert (answer["state"], answer["waits_for"]) == ("ready", "connexion")


# In the store.


def test_urls_of_every_queue(tmp_path: Path, world: MakeWorld, ask: Ask) -> None:
    here = world(max_urls=4, sizes=StoreSizes(lines=10))
    frontier = here.frontier
    for number in range(35):
        frontier.seed(f"http://a.test/{number}")
        frontier.seed(f"http://b.test/{number}", priority=True)
    for number in range(7):
        frontier.seed(f"http://c.test/{number}")

    def place(url: str) -> Any:
        answer = ask(frontier, url, here.now)
        return answer.get("queue"), answer.get("ahead")

    assert place("http://b.test/30") == ("priority", 30)
    assert place("http://a.test/30") == ("ordinary", 30 + 35)
    frontier.store.spill()
    assert place("http://b.test/30") == ("priority", 30)
    assert place("http://c.test/6") == ("ordinary", 35 + 6 + 35)
    # Two each are in memory, the others were set aside.
    frontier.sequence(here.now)
    assert place("http://a.test/30") == ("ordinary_wait", 28)
    assert place("http://b.test/2") == ("priority_wait", 0)
    answer = ask(frontier, "http://a.test/30", here.now)
    assert (answer["state"], answer["waits_for"]) == ("queued", "room")
    assert "2 URLs in memory" in answer["why"]
    # The same text as a part of others is none.
    assert ask(frontier, "http://a.test/3", here.now)["ahead"] == 1


def test_a_search_of_many_blocks_takes_many_steps(world: MakeWorld, ask: Ask) -> None:
    here = world(sizes=StoreSizes(lines=10))
    for number in range(5000):
        here.frontier.seed(f"http://a.test/{number}")
    here.frontier.store.spill()
    assert ask(here.frontier, "http://a.test/4995", here.now)["ahead"] == 4995
    assert ask.steps >= 499


def test_a_url_that_moves_on_while_it_is_looked_for(world: MakeWorld, ask: Ask) -> None:
    here = world(sizes=StoreSizes(lines=10))
    for number in range(100):
        here.frontier.seed(f"http://a.test/{number}")
    here.frontier.store.spill()
    answer = ask(here.frontier, "http://a.test/95", here.now, here.turn)
    assert answer["state"] in {"waiting", "ready"}


def test_a_url_whose_fate_is_decided_while_it_is_looked_for(
    world: MakeWorld, ask: Ask, log: CrawlLog
) -> None:
    here = world(HERE)
    here.run()

    def decide() -> None:
        if ask.steps == 1:
            write(log, HERE, status=200)
            log.flush()

    assert ask(here.frontier, HERE, here.now, decide)["state"] == "decided"


def test_blocks_that_are_gone_hold_nothing(world: MakeWorld, ask: Ask, tmp_path: Path) -> None:
    here = world(sizes=StoreSizes(lines=10))
    for number in range(100):
        here.frontier.seed(f"http://a.test/{number}")
    here.frontier.store.spill()

    def remove() -> None:
        for path in tmp_path.glob("urls.*"):
            path.unlink()

    assert ask(here.frontier, "http://a.test/70", here.now, remove)["state"] == "seen"


# In the log.


def test_a_url_that_is_decided(world: MakeWorld, ask: Ask, log: CrawlLog) -> None:
    here = world(HERE)
    here.run()
    write(log, HERE, Outcome.ERR_40X, status=404)
    answer = ask(here.frontier, HERE, here.now)
    assert (answer["state"], answer["reason"], answer["seen"]) == ("decided", "err40X", True)
    assert answer["fate"]["ts"].startswith("2023-")
    assert "HTTP 404" in answer["why"]
    log.flush()
    assert ask(here.frontier, HERE, here.now) == answer
    # The last word counts.
    write(log, HERE, status=200)
    assert ask(here.frontier, HERE, here.now)["reason"] == "success"


def test_a_log_of_many_pieces_is_searched_from_its_end(
    world: MakeWorld, ask: Ask, log: CrawlLog
) -> None:
    here = world(HERE)
    here.run()
    urls = [f"{HERE}{number}" for number in range(0, 8000, 1999)]
    for url in urls:
        here.frontier.seed(url)
    here.run()
    for number in range(8000):
        write(log, f"{HERE}{number}")
    log.flush()
    assert log.size > 3 * _PIECE
    steps = []
    for url in urls:
        assert ask(here.frontier, url, here.now)["fate"]["url"] == url
        steps.append(ask.steps)
    assert steps == sorted(steps, reverse=True)
    assert ask(here.frontier, HERE, here.now)["state"] == "seen"


def test_a_server_cannot_make_a_line_too_long_to_be_found(
    world: MakeWorld, ask: Ask, log: CrawlLog
) -> None:
    here = world(HERE)
    here.run()
    write(log, HERE, status=200, headers=[("content-type", "\xfe" * 100_000)])
    log.flush()
    assert log.size < 2_000
    assert ask(here.frontier, HERE, here.now)["reason"] == "success"


def test_lines_that_only_resemble_the_line_of_a_url(
    world: MakeWorld, ask: Ask, log: CrawlLog
) -> None:
    here = world(HERE)
    here.run()
    log.write(Fate.of(Page(Url(f"{HERE}other", 3, via=HERE), Outcome.SUCCESS), WALL))
    forged = [("content-type", f'x", "url": "{HERE}"')]
    log.write(Fate.of(Page(Url(f"{HERE}x", 3), Outcome.SUCCESS, headers=forged), WALL))
    log.flush()
    assert ask(here.frontier, HERE, here.now)["state"] == "seen"


def test_a_url_that_is_queued_again(world: MakeWorld, ask: Ask, log: CrawlLog) -> None:
    here = world(HERE)
    here.run()
    write(log, HERE)
    log.flush()
    assert here.frontier.seed(HERE, again=True) is None
    assert ask(here.frontier, HERE, here.now)["state"] == "queued"


@pytest.mark.parametrize(
    ("outcome", "rule", "why"),
    [
        (Outcome.BAD_TYPE, "type", "image/png"),
        (Outcome.FORBIDDEN_ROBOTS, "robots.txt", "Disallow: /"),
        (Outcome.DUPLICATE, None, "same content"),
        (Outcome.PRIVATE_ADDRESS, None, "allowPrivate"),
    ],
)
def test_the_rule_that_ended_a_url(
    world: MakeWorld, ask: Ask, log: CrawlLog, outcome: Outcome, rule: str, why: Any
) -> None:
    here = world(HERE, replies={ROBOTS: {"body": b"User-agent: *\nDisallow: /"}})
    here.run()
    write(log, HERE, outcome, headers=[("content-type", "image/png")])
    answer = ask(here.frontier, HERE, here.now)
    assert (answer["state"], answer["reason"], answer.get("rule")) == (
        "decided",
        outcome.value,
        rule,
    )
    assert why in answer["why"]


def test_a_type_that_is_not_wanted_names_the_keywords_for_types(
    world: MakeWorld, ask: Ask, log: CrawlLog
) -> None:
    for extensions, keywords in (
        ((), "(anyType, getImage, requisites)"),
        ((".pdf",), "(specificSet, anyType, getImage, requisites)"),
    ):
        here = world(HERE, privileged_extensions=extensions)
        here.run()
        write(log, HERE, Outcome.BAD_TYPE)
        assert keywords in ask(here.frontier, HERE, here.now)["why"]


def test_details_beyond_the_outcome(world: MakeWorld, ask: Ask, log: CrawlLog) -> None:
    here = world(HERE)
    here.run()
    write(log, HERE, Outcome.NO_DNS, detail="servfail")
    why = ask(here.frontier, HERE, here.now)["why"]
    assert why == "its host has no address: the name server failed (servfail)"


def test_a_soft_404_names_the_probe(world: MakeWorld, ask: Ask, log: CrawlLog) -> None:
    here = world(HERE)
    here.run()
    log.write(Fate.of(Page(Url(HERE, 3), Outcome.ERR_40X, 200, detail=soft_404(PROBE)), WALL))
    answer = ask(here.frontier, HERE, here.now)
    assert (answer["state"], answer["reason"]) == ("decided", "err40X")
    assert answer["why"] == f"soft 404: it is like {PROBE}, which cannot exist (HTTP 200)"


def test_a_url_that_waits_for_a_probe(world: MakeWorld, ask: Ask) -> None:
    here = world(HERE, f"{HERE}2", probes=FakeProbes(), least=10)
    here.run(here.now + 5)
    answer = ask(here.frontier, HERE, here.now)
    assert (answer["state"], answer["waits_for"]) == ("waiting", "probe")
    assert "(probeSoft404)" in answer["why"]


# Left out.


def test_no_url(world: MakeWorld, ask: Ask) -> None:
    answer = ask(world().frontier, "nonsense", 0.0)
    assert (answer["url"], answer["state"], answer["reason"]) == ("nonsense", "refused", "badURL")


@pytest.mark.parametrize(
    ("url", "outcome", "rule"),
    [
        ("http://a.test/?x", Outcome.BAD_URL, "getCGI"),
        ("http://b.test/", Outcome.OUT_SITE, "lockSite"),
        ("http://a.other/", Outcome.OUT_SITE, "limitToDomain"),
        ("http://a.test/x.zip", Outcome.BAD_TYPE, "forbiddenExtensions"),
        ("http://a.test" + "/x" * 50, Outcome.TRAP, "trap"),
        ("http://a.test/x", None, None),
    ],
)
def test_the_rule_that_would_leave_a_url_out(
    world: MakeWorld, ask: Ask, url: str, outcome: Outcome, rule: str
) -> None:
    rules = {"get_cgi": False, "lock_site": True, "forbidden_extensions": (".zip",)}
    here = world(HERE, limit_to_domain=("test",), **rules)
    answer = ask(here.frontier, url, here.now)
    assert answer["seen"] is False
    if outcome is None:
        assert (answer["state"], "reason" in answer) == ("never seen", False)
    else:
        found = (answer["state"], answer["reason"], answer["rule"])
        assert found == ("refused", outcome.value, rule)


def test_rules_that_leave_out_links_of_some_pages_only(world: MakeWorld, ask: Ask) -> None:
    here = world(HERE, no_external_links=True)
    assert "noExternalLinks" in ask(here.frontier, "http://b.test/", here.now)["why"]
    assert "depthInSite" not in ask(here.frontier, "http://b.test/", here.now)["why"]
    here.frontier.admission.refused[Outcome.TOO_DEEP] += 3
    assert "depthInSite" in ask(here.frontier, "http://b.test/", here.now)["why"]


@pytest.mark.parametrize(
    ("url", "settings", "named"),
    [
        ("http://a.test/i.PNG?v=2", {}, "getImage or requisites"),
        ("http://a.test/i.png", {"get_image": True}, ""),
        ("http://a.test/s.css", {"get_image": True}, "requisites"),
        ("http://a.test/s.css", {"requisites": "site"}, ""),
        ("http://a.test/f.woff2", {}, "requisites"),
        ("http://a.test/css", {}, ""),
    ],
)
def test_what_pages_need_is_not_followed(
    world: MakeWorld, ask: Ask, url: str, settings: dict[str, Any], named: str
) -> None:
    here = world(HERE, **settings)
    answer = ask(here.frontier, url, here.now)
    need = f", or only ones that need it to be displayed ({named} fetches it then)" if named else ""
    assert answer["why"] == f"no page that was read links to it{need}"


def test_seeds_are_not_called_refused(world: MakeWorld, ask: Ask) -> None:
    """Scope does not bind seeds."""
    here = world("http://a.test/?x", get_cgi=False)
    answer = ask(here.frontier, "http://a.test/?x", here.now)
    assert (answer["state"], answer["seen"]) == ("queued", True)


def test_links_of_a_closed_site_would_be_left_out_for_a_while(world: MakeWorld, ask: Ask) -> None:
    here = world(HERE, names={"a.test": "nxdomain"})
    here.run()
    answer = ask(here.frontier, f"{HERE}x", here.now)
    assert (answer["state"], answer["reason"], answer["rule"]) == ("refused", "noDNS", "site")
    assert 0 < answer["in_s"] <= 3600
    assert ask(here.frontier, f"{HERE}x", here.now + 3600)["state"] == "never seen"


def test_rules_that_are_out_of_date_refuse_nothing(world: MakeWorld, ask: Ask) -> None:
    here = world(HERE, replies={ROBOTS: {"body": b"User-agent: *\nDisallow: /no"}})
    here.run()
    url = f"{HERE}no"
    assert ask(here.frontier, url, here.now)["reason"] == "forbiddenRobots"
    assert ask(here.frontier, url, here.now + 25 * 3600)["state"] == "never seen"


@pytest.mark.parametrize(
    ("requisites", "url", "fetched"),
    [
        ("everywhere", "http://cdn.test/i.png", True),
        ("everywhere", "http://a.test/s.css?v=1", True),
        ("site", "http://cdn.test/i.png", False),
        ("site", "http://a.test/s.css?v=1", True),
        ("off", "http://a.test/s.css?v=1", False),
    ],
)
def test_requisites_are_not_called_refused_for_good(
    tmp_path: Path, requisites: Any, url: str, fetched: Any
) -> None:
    frontier = make_frontier(tmp_path, lock_site=True, get_cgi=False, requisites=requisites)
    frontier.seed("http://a.test/")
    *_, facts = filter(
        None, explain(frontier, CrawlLog(tmp_path / "crawl.jsonl"), url, lambda: 1.0)
    )
    assert facts["state"] == "refused"
    assert ("if a page needs it" in str(facts["why"])) is fetched
