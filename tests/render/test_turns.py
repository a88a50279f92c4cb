"""Parts of pages in the browser: by which steps and at which times they are asked for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from larbinpy.config.kinds import Hours
from larbinpy.dns.lookup import Answer, is_public
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.politeness import SiteHours
from larbinpy.page import Outcome, Page
from larbinpy.render.turns import PartStep, RenderingIPSites
from larbinpy.url import Aim, Ask, Purpose, Url
from tests.support.frontiers import WALL, make_frontier, reply, site_settings

#: The wait of parts, and that of pages.
PART, PAGE = 0.5, 10.0


def part(href: str) -> Url:
    return Url(href, 0, requisite=True, purpose=Purpose(Aim.PART, "http://a.test", Ask(href)))


class Parts:
    """A frontier that takes parts, with its names and robots.txt as values."""

    def __init__(self, folder: Path, **settings: object) -> None:
        settings = {"least": PAGE, **settings}
        self.frontier: Frontier = make_frontier(folder, addresses=RenderingIPSites, **settings)  # type: ignore[arg-type]
        turns = self.frontier.ip_sites
        assert isinstance(turns, RenderingIPSites)
        self.turns = turns
        self.turns.part_wait = lambda site: PART
        self.step = PartStep(self.frontier.lifecycle, self.turns)
        self.frontier.lifecycle.serve(Aim.PART, self.step)
        self.arrived: list[Page] = []
        self.step.arrived = self.arrived.append

    def open(self, robots: bytes = b"", address: str = "192.0.2.1", at: float = 0.0) -> None:
        """Answer the next name, and the request for its robots.txt, at the time `at`."""
        name = self.frontier.next_name()
        assert name is not None
        self.frontier.resolved(Answer(name[0], (address,), None), at)
        taken = self.frontier.take(at)
        if taken is not None:
            assert taken[0].purpose.aim is Aim.ROBOTS
            self.frontier.replied(reply(taken[0], body=robots), at, WALL)

    def reply(self, url: Url, now: float, status: int = 200) -> None:
        self.frontier.replied(reply(url, status=status), now, WALL)


@pytest.fixture
def parts(tmp_path: Path) -> Callable[..., Parts]:
    return lambda **settings: Parts(tmp_path, **settings)


def test_a_part_waits_for_name_rules_and_its_turn(parts: Callable[..., Parts]) -> None:
    world = parts()
    url = part("http://b.test/app.js")
    world.step.ask(url, 0.0)
    assert world.step.take(0.0) is None
    world.open(at=1.0)
    assert world.step.take(1.0 + PART - 0.1) is None
    assert world.turns.next_part == 1.0 + PART
    assert world.step.take(1.0 + PART) == (url, "192.0.2.1")
    world.reply(url, 2.0)
    assert [page.url for page in world.arrived] == [url]
    assert world.frontier.ip_sites.in_flight == 0


def test_the_next_page_waits_its_whole_time_after_a_part(parts: Callable[..., Parts]) -> None:
    world = parts()
    assert world.frontier.seed("http://a.test/") is None
    world.frontier.sequence(0.0)
    world.open()
    url = part("http://a.test/app.js")
    world.step.ask(url, 0.0)
    assert world.step.take(PART) == (url, "192.0.2.1")
    world.reply(url, 1.0)
    assert world.frontier.take(PAGE + 0.5) is None
    taken = world.frontier.take(1.0 + PAGE)
    assert taken is not None
    assert taken[0].href == "http://a.test/"


def test_robots_txt_holds_for_parts(parts: Callable[..., Parts]) -> None:
    world = parts()
    urls = [part("http://b.test/private/x"), part("http://b.test/public")]
    for url in urls:
        world.step.ask(url, 0.0)
    world.open(b"User-agent: *\nDisallow: /private\n")
    assert world.step.take(PART) == (urls[1], "192.0.2.1")
    assert [(page.url, page.outcome) for page in world.arrived] == [
        (urls[0], Outcome.FORBIDDEN_ROBOTS)
    ]


def test_an_address_that_is_not_public_gets_no_part(parts: Callable[..., Parts]) -> None:
    world = parts(permit=is_public)
    world.step.ask(part("http://b.test/"), 0.0)
    world.open(address="10.0.0.1")
    assert [page.outcome for page in world.arrived] == [Outcome.PRIVATE_ADDRESS]
    assert world.step.take(1000.0) is None


def test_parts_are_asked_for_one_after_the_other(parts: Callable[..., Parts]) -> None:
    world = parts()
    urls = [part(f"http://b.test/{number}") for number in range(3)]
    for url in urls:
        world.step.ask(url, 0.0)
    world.open()
    assert world.step.take(1.0) == (urls[0], "192.0.2.1")
    assert world.turns.next_part is None
    assert world.step.take(9.0) is None
    world.reply(urls[0], 9.0)
    assert world.step.take(9.0 + PART / 2) is None
    assert world.step.take(9.0 + PART) == (urls[1], "192.0.2.1")


def test_sites_at_one_address_do_not_pass_by_its_wait(parts: Callable[..., Parts]) -> None:
    world = parts()
    urls = [part("http://b.test/"), part("http://c.test/")]
    for url in urls:
        world.step.ask(url, 0.0)
    world.open(at=0.0)
    world.open(at=PAGE)
    assert world.step.take(PAGE + PART) == (urls[0], "192.0.2.1")
    world.reply(urls[0], PAGE + PART)
    assert world.step.take(PAGE + PART) is None
    assert world.step.take(PAGE + 2 * PART) == (urls[1], "192.0.2.1")


def test_a_pause_that_a_site_asks_for_holds_for_parts(parts: Callable[..., Parts]) -> None:
    world = parts(most=600.0)
    urls = [part("http://b.test/1"), part("http://b.test/2")]
    for url in urls:
        world.step.ask(url, 0.0)
    world.open()
    assert world.step.take(1.0) is not None
    world.frontier.replied(reply(urls[0], status=429, headers={"retry-after": "60"}), 1.0, WALL)
    assert world.step.take(60.0) is None
    assert world.step.take(61.0) == (urls[1], "192.0.2.1")


def test_a_page_in_the_browser_is_owed_and_in_no_ones_way(parts: Callable[..., Parts]) -> None:
    world = parts()
    assert world.frontier.seed("http://a.test/") is None
    world.frontier.sequence(0.0)
    world.open()
    taken = world.frontier.take(PAGE)
    assert taken is not None
    page = reply(taken[0])
    world.turns.land(page, PAGE, WALL)
    assert [url.href for url in world.turns.in_browser()] == ["http://a.test/"]
    url = part("http://a.test/app.js")
    world.step.ask(url, PAGE)
    assert world.step.take(PAGE + PART) == (url, "192.0.2.1")
    world.reply(url, PAGE + PART)
    assert world.frontier.owed == 1
    assert world.frontier.replied(page, PAGE + 1, WALL)
    assert [each.url for each in world.frontier.decided(9)] == [page.url]
    assert world.frontier.owed == 0
    assert list(world.turns.in_browser()) == []


def test_a_part_of_a_site_that_is_not_open_is_stuck(parts: Callable[..., Parts]) -> None:
    world = parts()
    url = part("http://b.test/")
    world.step.ask(url, 0.0)
    assert world.step.is_stuck(url)
    world.open()
    assert not world.step.is_stuck(url)


def test_a_part_waits_for_the_rules_and_the_address_of_its_site_again(
    parts: Callable[..., Parts],
) -> None:
    world = parts()
    url = part("http://b.test/")
    world.step.ask(url, 0.0)
    world.open()
    late = 400 * 86_400.0
    assert world.step.take(late) is None
    assert world.frontier.next_name() is not None
    assert world.arrived == []


def test_a_part_is_not_asked_for_outside_of_the_hours_of_its_site(
    parts: Callable[..., Parts],
) -> None:
    night = SiteHours(Hours.parse("22:00-06:00"))
    world = parts(by_host={"b.test": site_settings(hours=night, ignore_robots=True)})
    url = part("http://b.test/")
    world.step.ask(url, 0.0)
    world.open()
    night.look(1.0, Hours.parse("12:00-13:00").open_at(WALL))
    assert world.step.take(1000.0) is None
    assert [(page.url, page.outcome) for page in world.arrived] == [(url, Outcome.SITE_LIMIT)]
