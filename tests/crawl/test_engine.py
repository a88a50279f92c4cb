"""The engine's turn, with values in place of sockets: its stages, their order and their limits."""

import errno
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.crawl.engine import Engine
from larbinpy.crawl.intake import Intake, Judge
from larbinpy.crawl.link_check import CheckRequests, LinkCheck
from larbinpy.crawl.mode import ROOM_WAIT, Mode
from larbinpy.crawl.requests import ROBOTS_SIZE, Requests, SiteConfigs
from larbinpy.fetch.options import Refusal
from larbinpy.frontier.scope import Scope
from larbinpy.output.links import NO_LINK_NOTES
from larbinpy.output.plug import NullOutput
from larbinpy.page import Outcome
from larbinpy.url import GUESS, SITEMAP, Aim, Purpose, Url
from tests.support.contexts import make_context
from tests.support.enginefakes import (
    HTML,
    Clock,
    FakeFetcher,
    FakeNames,
    FakePoller,
    Listener,
)
from tests.support.fakefeeder import FakeFeeder
from tests.support.frontiers import all_pages, make_frontier
from tests.support.webserver import OPTIONS


class Setup:
    """An engine, its frontier, and fakes of all that would do input or output."""

    def __init__(
        self,
        folder: Path,
        *,
        size: int = 10,
        pages: int = 32,
        **frontier: Any,
    ) -> None:
        self.calls: list[str] = []
        self.clock = Clock()
        self.mode = Mode()
        given = {"connexions": 1000, "ignore_robots": True, **frontier}
        self.frontier = make_frontier(folder, **given)
        self.poller = FakePoller(self.calls)
        context = make_context(poller=self.poller, clock=self.clock, pages_a_turn=pages)
        self.stats = context.stats
        self.names = FakeNames(self.calls)
        self.fetcher = FakeFetcher(self.calls, size)
        self.listener = Listener(self.calls)
        self.feeder = FakeFeeder()
        output = NullOutput()
        self.intake = Intake(
            context,
            SiteConfigs(context.config),
            self.frontier,
            Judge(self.frontier),
            output,
            NO_LINK_NOTES,
            [],
            self.names.expect,
        )
        network: Any = SimpleNamespace(
            names=self.names,
            fetching=self.fetcher,
            fetcher=self.fetcher,
            on_found=output.resolved,
        )
        self.engine = Engine(
            context,
            self.mode,
            self.frontier,
            network,
            Requests(HTML, Scope(all_pages()), lambda _url: 1000, lambda _url: OPTIONS),
            self.intake,
            self.feeder,
            [self.listener],
        )

    def seed(self, count: int) -> None:
        for number in range(count):
            assert self.frontier.seed(f"http://a.test/{number}") is None

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.engine.turn()


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def test_a_turn_goes_through_the_stages_in_their_order(setup: Setup) -> None:
    setup.seed(1)
    setup.turn()
    assert setup.calls == ["input", "dns", "fetch", "poll"]
    assert setup.names.asked == ["a.test"]
    # Name, request and all within one turn, as the answer was at hand.
    assert setup.fetcher.started == ["http://a.test/0"]


def test_a_url_is_fetched_and_its_fate_decided(setup: Setup) -> None:
    setup.names.at_once = False
    setup.seed(1)
    setup.turn()
    assert setup.fetcher.started == []
    setup.turn()
    assert not setup.engine.idle
    setup.fetcher.ready = 1
    setup.turn()
    assert setup.engine.out_of_work
    assert setup.stats.success == 1


def test_requests_are_bounded_by_the_handles(setup: Setup) -> None:
    setup.seed(30)
    setup.turn(3)
    assert setup.fetcher.busy == 10


def test_pages_that_are_still_to_be_read_hold_back_requests(tmp_path: Path) -> None:
    """If reading is slower than fetching, pages must not pile up in memory."""
    setup = Setup(tmp_path, size=4, pages=1)
    setup.seed(40)
    most = 0
    for _ in range(60):
        setup.fetcher.ready = 4
        read = setup.stats.success
        setup.turn()
        most = max(most, len(setup.fetcher.started) - read)
    assert setup.stats.success == 40
    assert most == 4


def test_limit_page_is_reached_and_not_exceeded(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.mode.limit_page = 3
    setup.seed(20)
    for _ in range(20):
        setup.fetcher.ready = 1
        setup.turn()
    assert setup.engine.limit_reached
    assert len(setup.fetcher.started) == 3


def test_limit_page_counts_pages_that_wait_for_a_later_turn(tmp_path: Path) -> None:
    setup = Setup(tmp_path, pages=1)
    setup.mode.limit_page = 3
    setup.seed(20)
    setup.fetcher.ready = 20
    setup.turn(2)
    assert (setup.fetcher.busy, setup.intake.busy, setup.stats.success) == (0, 1, 2)
    assert len(setup.fetcher.started) == 3
    setup.turn()
    assert setup.engine.limit_reached
    assert setup.stats.success == 3


def test_no_request_is_opened_in_a_pause_or_at_the_end(setup: Setup) -> None:
    setup.seed(1)
    setup.mode.paused = True
    setup.turn(2)
    assert setup.fetcher.started == []
    setup.mode.paused, setup.mode.draining = False, True
    setup.turn(2)
    assert setup.fetcher.started == []
    setup.mode.draining = False
    setup.turn()
    assert len(setup.fetcher.started) == 1


def test_without_room_on_the_disk_pages_wait(setup: Setup) -> None:
    setup.seed(2)
    setup.turn()
    setup.mode.disk_pause.begin(OSError(errno.ENOSPC, "full"), setup.clock.now)
    setup.fetcher.ready = 2
    setup.turn()
    assert (setup.intake.busy, setup.stats.success) == (2, 0)
    # It wakes up when the disk is to be tried again, and not before.
    assert setup.poller.waits[-1] == pytest.approx(ROOM_WAIT)
    setup.clock.now += ROOM_WAIT
    setup.turn()
    assert (setup.intake.busy, setup.stats.success) == (0, 2)


def test_the_loop_waits_until_something_is_due(setup: Setup) -> None:
    setup.mode.staying = True

    def wait(**deadlines: float) -> float:
        setup.names.deadline = deadlines.get("names")
        setup.fetcher.deadline = deadlines.get("fetcher")
        setup.listener.deadline = deadlines.get("listener")
        setup.engine.turn(deadlines.get("wake_by", inf))
        return round(setup.poller.waits[-1], 3)

    now = setup.clock.now
    assert wait() == 1.0
    for name in ("wake_by", "names", "fetcher", "listener"):
        assert wait(**{name: now + 0.25}) == 0.25, name
    assert wait(names=now + 50.0) == 1.0


def test_the_loop_does_not_wait_when_a_page_can_be_taken(tmp_path: Path) -> None:
    setup = Setup(tmp_path, pages=1)
    setup.seed(3)
    setup.turn()
    setup.fetcher.ready = 3
    setup.turn()
    assert (setup.intake.busy, setup.poller.waits[-1]) == (2, 0.0)


def test_the_loop_does_not_wait_at_the_end(setup: Setup) -> None:
    setup.turn()
    assert setup.poller.waits[-1] == 0.0
    setup.mode.staying = True
    setup.turn()
    assert setup.poller.waits[-1] == 1.0


def test_transfers_are_told_how_long_the_process_stood_still(setup: Setup) -> None:
    """As after SIGSTOP or in a paused container; a busy machine is no reason."""
    setup.mode.staying = True

    def sleep(seconds: float) -> float:
        setup.fetcher.stood = 0.0

        def pass_time() -> None:
            setup.clock.now += seconds

        setup.poller.meanwhile = pass_time
        setup.turn()
        return setup.fetcher.stood

    sleep(0.0)
    assert [sleep(seconds) for seconds in (0.5, 1.0, 2.9)] == [0.0, 0.0, 0.0]
    assert sleep(3601.0) == 3600.0


def test_waits_count_from_when_a_page_arrived(tmp_path: Path) -> None:
    """A long turn must not shorten the wait: it has begun before the transfer ended."""
    setup = Setup(tmp_path, least=10.0, connexions=1)
    setup.seed(2)
    setup.turn()
    began = setup.clock.now
    setup.fetcher.ready = 1
    landed = 0.0

    def busy_input(now: float) -> None:
        nonlocal landed
        setup.clock.now += 3.0
        landed = setup.clock.now

    setup.listener.step = busy_input  # type: ignore[method-assign]
    setup.turn()
    setup.listener.step = lambda now: None  # type: ignore[method-assign]
    assert landed == began + 3.0
    setup.clock.now = began + 12.9
    setup.turn()
    assert len(setup.fetcher.started) == 1
    setup.clock.now = landed + 10.1
    setup.turn()
    assert len(setup.fetcher.started) == 2


def test_the_request_for_a_robots_txt_takes_500_kib_whatever_the_page_size() -> None:
    """RFC 9309, 2.5; and one byte more than counts, so that a cut is seen."""
    requests = Requests(HTML, Scope(all_pages()), lambda _url: 1000, lambda _url: OPTIONS)
    robots = requests.make(
        Url("http://a.test/robots.txt", 0, purpose=Purpose(Aim.ROBOTS, "a")), "198.51.100.1"
    )
    assert robots.max_size == ROBOTS_SIZE > 512 * 1024
    assert robots.accept("image/png", 10**9) is None
    page = requests.make(Url("http://a.test/", 0), "198.51.100.1")
    assert page.max_size == 1000
    assert page.accept("image/png", 9) == Refusal(Outcome.BAD_TYPE)
    assert page.accept("text/html", 1000) is None
    too_long = Refusal(Outcome.TOO_BIG, "1001 bytes, and maxPageSize is 1000")
    assert page.accept("text/html", 1001) == too_long
    image = requests.make(Url("http://a.test/i.png", 0, requisite=True), "198.51.100.1")
    assert image.accept("image/png", None) is None


@pytest.mark.parametrize(
    ("url", "is_sitemap"),
    [
        (Url("http://a.test/map", 1, purpose=SITEMAP), True),
        (Url("http://a.test/sitemap.xml", 1, purpose=GUESS), True),
        (Url("http://a.test/map.xml.gz", 1, seed=True), True),
        (Url("http://a.test/map.html", 1, seed=True), False),
        (Url("http://a.test/map.xml", 1), False),
    ],
)
def test_sitemaps_have_a_size_of_their_own(url: Url, is_sitemap: bool) -> None:
    """50 MB, as the protocol says, unless maxPageSize is more."""
    most = [1000]
    requests = Requests(HTML, Scope(all_pages()), lambda _url: most[0], lambda _url: OPTIONS)
    request = requests.make(url, "198.51.100.1")
    sizes = request.max_size, request.most_beyond
    assert sizes == (1000, 52_428_800 - 1000 if is_sitemap else 0)
    refusal = Refusal(Outcome.TOO_BIG, "99000000 bytes, and maxPageSize is 1000")
    assert request.accept("text/html", 99_000_000) == (None if is_sitemap else refusal)
    most[0] = 60 << 20
    request = requests.make(url, "198.51.100.1")
    assert (request.max_size, request.most_beyond) == (60 << 20, 0)
    assert request.accept("text/html", 99_000_000) is not None


@pytest.mark.parametrize(
    ("media_type", "is_taken"),
    [
        ("gzip", True),
        ("application/pdf", True),
        ("binary/octet-stream", True),
        ("video/mp4", False),
    ],
)
def test_sitemaps_may_have_any_type_of_a_text(media_type: str, is_taken: bool) -> None:
    url = Url("http://a.test/map", 1, purpose=SITEMAP)
    requests = Requests(HTML, Scope(all_pages()), lambda _url: 1000, lambda _url: OPTIONS)
    accept = requests.make(url, "192.0.2.1").accept
    assert (accept(media_type, None) is None) is is_taken


def test_a_link_check_asks_for_no_more_of_a_sitemap_than_of_others() -> None:
    scope = Scope(all_pages(stay="host"))
    scope.area.add(["http://a.test/"])
    requests = Requests(HTML, scope, lambda _url: 1000, lambda _url: OPTIONS)
    elsewhere = Url("http://b.test/map.xml", 1, purpose=SITEMAP)
    check = LinkCheck(scope.area)
    assert check.only_asks(elsewhere)
    request = CheckRequests(requests, check).make(elsewhere, "198.51.100.1")
    assert (request.max_size, request.most_beyond) == (1, 0)


def test_no_page_is_requested_while_an_output_cannot_take_any(setup: Setup) -> None:
    setup.seed(2)
    setup.feeder.holds = "9 pages wait"
    setup.turn(3)
    assert setup.fetcher.started == []
    # It does not spin: whoever makes room says so.
    assert setup.poller.waits[-1] > 0
    setup.feeder.holds = ""
    setup.turn()
    assert len(setup.fetcher.started) == 2


def test_a_crawl_that_waits_for_its_database_does_not_spin(setup: Setup) -> None:
    setup.mode.draining = True
    setup.turn()
    assert setup.poller.waits[-1] == 0
    setup.mode.settling = True
    setup.turn()
    assert setup.poller.waits[-1] > 0
