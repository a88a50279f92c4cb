"""The way of a page to output and frontier, with values: its order, and refusals."""

import errno
import zlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.crawl.intake import Intake, Judge
from larbinpy.crawl.requests import SiteConfigs
from larbinpy.frontier.soft404.probes import Probes
from larbinpy.output.links import NO_LINK_NOTES
from larbinpy.output.plug import NoRefresh, NullOutput
from larbinpy.page import Fate, Outcome, Page, of_status
from larbinpy.parse import Kind, Link, Parsed
from larbinpy.url import GUESS, Url, hash64
from tests.support.contexts import make_context
from tests.support.enginefakes import Clock, FakeNames
from tests.support.fakefeeder import FakeFeeder
from tests.support.fakeprobes import PROBE, FakeProbes
from tests.support.frontiers import links as plain_links
from tests.support.frontiers import make_frontier, owed, queued

FULL = OSError(errno.ENOSPC, "No space left on device")


class Plug(NullOutput):
    """Notes what it is given; raises the errors that a test has put there."""

    def __init__(self) -> None:
        self.errors: list[OSError] = []
        self.given: list[tuple[str, str]] = []
        #: Called with each page before it is taken.
        self.check: Callable[[Page], None] = lambda page: None

    def _take(self, kind: str, href: str) -> None:
        if self.errors:
            raise self.errors.pop()
        self.given.append((kind, href.removeprefix("http://a.test")))

    def loaded(self, page: Page) -> None:
        self.check(page)
        self._take("loaded", page.url.href)

    def replied(self, page: Page) -> None:
        self._take("replied", page.url.href)

    def failed(self, url: Url, outcome: Outcome) -> None:
        self._take("failed", url.href)


class Fates:
    def __init__(self) -> None:
        self.written: list[Fate] = []

    def write(self, fate: Fate) -> None:
        self.written.append(fate)


class Refresher(NoRefresh):
    """Notes its calls; makes a page of a 304."""

    def __init__(self) -> None:
        self.errors: list[OSError] = []
        self.notes: list[str] = []

    def unchanged(self, page: Page) -> None:
        if self.errors:
            raise self.errors.pop()
        self.notes.append(page.url.href)
        page.outcome = Outcome.SUCCESS

    def moved(self, url: str, target: str) -> None:
        if self.errors:
            raise self.errors.pop()
        self.notes.append(f"{url} -> {target}")


class Names(FakeNames):
    def __init__(self) -> None:
        super().__init__([])
        self.expected: list[str] = []

    def expect(self, names: Any, now: float) -> None:
        self.expected += names


class ReadIntake(Intake):
    """Its pages are read by `read`."""

    read: Callable[[Page], Generator[None, None, Parsed]]

    def _read(self, page: Page) -> Generator[None, None, Parsed]:
        return self.read(page)


class Case:
    """An intake, and the frontier with URLs of a.test in flight."""

    def __init__(
        self,
        folder: Path,
        *,
        pages: int = 32,
        ignore_robots: bool = True,
        ask_robots: bool = False,
        probes: Probes | None = None,
        **settings: Any,
    ) -> None:
        self.clock = Clock()
        self.frontier = make_frontier(
            folder, connexions=99, ignore_robots=not ask_robots, retries=1, probes=probes
        )
        #: The results of reading pages, by URL.
        self.parsed: dict[str, Parsed] = {}
        self.steps = 0
        self.names = Names()
        self.plug = Plug()
        self.fates = Fates()
        self.refresher = self.plug.refresher = Refresher()
        config = Config(ignore_robots=ignore_robots, **settings)
        context = make_context(config, clock=self.clock, pages_a_turn=pages)
        self.stats = context.stats
        self.intake = ReadIntake(
            context,
            SiteConfigs(config),
            self.frontier,
            Judge(self.frontier),
            self.plug,
            NO_LINK_NOTES,
            [self.fates],
            self.names.expect,
        )
        self.intake.read = self.read

    def read(self, page: Page) -> Generator[None, None, Parsed]:
        """In as many steps as `steps` says."""
        yield from [None] * self.steps
        return self.parsed.get(page.url.href) or Parsed([], "utf-8")

    def fly(self, *paths: str) -> list[Url]:
        """Seed URLs and bring them into flight."""
        for path in paths:
            assert self.frontier.seed(f"http://a.test{path}") is None
        now = self.clock.now
        self.frontier.sequence(now)
        while question := self.frontier.next_name():
            answer = self.names.ask(question[0], now)
            assert answer is not None
            self.frontier.resolved(answer, now)
        flying = []
        while due := self.frontier.take(now):
            flying.append(due[0])
        return flying

    def land(self, url: Url, status: int = 200, body: bytes = b"x", **more: Any) -> Page:
        page = Page(url, more.pop("outcome", of_status(status)), status=status, body=body, **more)
        self.intake.land([page])
        return page

    def step_refused(self) -> None:
        """A step in which the disk refuses something."""
        with pytest.raises(OSError) as refused:
            self.intake.step()
        assert refused.value.errno == errno.ENOSPC

    def contents(self, path: str, *links: Link | str, **more: Any) -> None:
        found = [plain_links(link)[0] if isinstance(link, str) else link for link in links]
        self.parsed[f"http://a.test{path}"] = Parsed(found, "utf-8", **more)

    @property
    def outcomes(self) -> dict[str, str]:
        return {f.url.removeprefix("http://a.test"): f.outcome for f in self.fates.written}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_a_page_goes_to_the_output_and_its_links_to_the_frontier(case: Case) -> None:
    [url] = case.fly("/")
    case.contents("/", "http://a.test/next", "http://b.test/")
    page = case.land(url)
    case.intake.step()
    assert case.plug.given == [("loaded", "/")]
    assert (page.charset, page.links) == ("utf-8", ["http://a.test/next", "http://b.test/"])
    assert case.outcomes == {"/": "success"}
    assert owed(case.frontier) == ["http://a.test/next", "http://b.test/"]
    # The address of a.test is known.
    assert case.names.expected == ["b.test"]
    assert (case.stats.success, case.stats.links, case.intake.busy) == (1, 2, 0)


def test_a_failure_is_tried_again_and_then_reported(case: Case) -> None:
    [url] = case.fly("/")
    case.land(url, 500)
    case.intake.step()
    assert case.plug.given == [("replied", "/")]
    assert case.outcomes == {}
    case.clock.now += 100.0
    [url] = case.fly()
    case.land(url, 500)
    case.intake.step()
    assert case.plug.given[1:] == [("replied", "/"), ("failed", "/")]
    assert case.outcomes == {"/": "err50X"}


def test_a_page_that_could_not_be_decoded_is_asked_for_again_at_once(case: Case) -> None:
    [url] = case.fly("/")
    case.land(url, outcome=Outcome.EARLY_STOP, misread=True)
    case.intake.step()
    # Its reply is known to the outputs; it is no failure, and the site gets no pause.
    assert case.plug.given == [("replied", "/")]
    assert (case.outcomes, case.frontier.lifecycle.retried) == ({}, 0)
    [again] = case.fly()
    assert (again, again.attempt) == (url, 1)
    case.land(again, outcome=Outcome.EARLY_STOP, misread=True)
    case.intake.step()
    assert (case.fly(), case.outcomes) == ([], {"/": "earlyStop"})


def test_without_a_reply_there_is_no_output(case: Case) -> None:
    [url] = case.fly("/")
    case.land(url, 0, outcome=Outcome.TIMEOUT)
    case.intake.step()
    assert case.plug.given == []


def test_a_redirect_is_a_link(case: Case) -> None:
    [url] = case.fly("/")
    case.land(url, 302, headers=[("location", "/there")])
    case.intake.step()
    assert case.outcomes == {"/": "err30X"}
    assert owed(case.frontier) == ["http://a.test/there"]
    assert case.refresher.notes == ["http://a.test/ -> http://a.test/there"]


def test_a_redirect_has_the_spelling_of_its_server(case: Case) -> None:
    [url] = case.fly("/")
    case.land(url, 302, headers=[("location", "/%7eme?")])
    case.intake.step()
    [there] = queued(case.frontier)
    assert (there.href, there.spelling) == ("http://a.test/~me", "http://a.test/%7eme?")


def test_a_url_that_wants_another_spelling_is_asked_for_again(case: Case) -> None:
    [url] = case.fly("/~me")
    case.land(url, 302, headers=[("location", "/%7Eme")])
    case.intake.step()
    [again] = case.fly()
    assert (again.href, again.spelling) == ("http://a.test/~me", "http://a.test/%7Eme")
    case.land(again)
    case.intake.step()
    assert case.outcomes == {"/~me": "success"}
    assert case.plug.given == [("replied", "/~me"), ("loaded", "/~me")]


def test_a_url_that_is_asked_for_again_comes_once_if_the_disk_refuses_it(case: Case) -> None:
    [url] = case.fly("/~me")
    case.plug.errors = [FULL]
    case.land(url, 302, headers=[("location", "/%7Eme")])
    case.step_refused()
    case.intake.step()
    [again] = case.fly()
    assert (again.hops, again.spelling) == (1, "http://a.test/%7Eme")


@pytest.mark.parametrize(
    ("cookies", "detail"),
    [
        ([], "it redirects to itself"),
        (
            [("set-cookie", "a=1")],
            "it redirects to itself, to set a cookie (useCookies keeps it)",
        ),
    ],
)
def test_a_redirect_to_itself_says_so(
    case: Case, cookies: list[tuple[str, str]], detail: str
) -> None:
    [url] = case.fly("/")
    case.land(url, 302, headers=[("location", "/"), *cookies])
    case.intake.step()
    assert [(fate.outcome, fate.detail) for fate in case.fates.written] == [("err30X", detail)]
    assert owed(case.frontier) == []


@pytest.mark.parametrize(
    ("cookies", "detail"),
    [
        ([], "its redirects go in a circle: its URLs differ in the slash at the end"),
        (
            [("set-cookie", "a=1")],
            "its redirects go in a circle, to set a cookie (useCookies keeps it): "
            "its URLs differ in the slash at the end",
        ),
    ],
)
def test_a_redirect_to_where_it_came_from_says_so(
    case: Case, cookies: list[tuple[str, str]], detail: str
) -> None:
    [url] = case.fly("/x")
    case.land(url, 302, headers=[("location", "/x/")])
    case.intake.step()
    [there] = case.fly()
    case.land(there, 302, headers=[("location", "/x"), *cookies])
    case.intake.step()
    assert [fate.detail for fate in case.fates.written] == ["http://a.test/x/", detail]
    assert owed(case.frontier) == []


def test_a_redirect_leads_back_to_a_url_that_wanted_a_cookie(case: Case) -> None:
    asked = []
    flying = case.fly("/")
    # The cookie does not help, so this is a circle.
    ways = [("/?set", False), ("/", True), ("/?set", False), ("/", False)]
    for location, new_cookies in ways:
        [url] = flying
        asked.append(url.href.removeprefix("http://a.test"))
        case.land(url, 302, headers=[("location", location)], new_cookies=new_cookies)
        case.intake.step()
        flying = case.fly()
    assert (asked, flying) == (["/", "/?set", "/", "/?set"], [])
    assert owed(case.frontier) == []


# A full disk.


def test_a_page_that_the_disk_refuses_comes_first_again(case: Case) -> None:
    first, second = case.fly("/1", "/2")
    case.contents("/1", "http://b.test/")
    case.plug.errors = [FULL]
    case.land(first)
    case.land(second)
    case.step_refused()
    # Nothing has followed from it.
    assert (case.plug.given, case.intake.busy, case.stats.success) == ([], 2, 0)
    assert owed(case.frontier) == ["http://a.test/1", "http://a.test/2"]
    case.intake.step()
    assert case.plug.given == [("loaded", "/1"), ("loaded", "/2")]
    assert case.outcomes == {"/1": "success", "/2": "success"}


def test_a_page_that_the_disk_refused_is_no_duplicate_of_itself(tmp_path: Path) -> None:
    case = Case(tmp_path, page_no_duplicate=True)
    [url] = case.fly("/")
    case.plug.errors = [FULL]
    known: list[bool] = []
    case.plug.check = lambda page: known.append(case.frontier.is_duplicate([hash64(page.body)]))
    case.land(url, body=b"the same")
    case.step_refused()
    case.intake.step()
    assert known == [False, False]
    assert case.outcomes == {"/": "success"}
    assert case.frontier.is_duplicate([hash64(b"the same")])


def test_a_reply_and_a_redirect_that_the_disk_refuses_come_again(case: Case) -> None:
    gone, moved = case.fly("/gone", "/moved")
    case.plug.errors = [FULL]
    case.land(gone, 404)
    case.step_refused()
    case.refresher.errors = [FULL]
    case.land(moved, 302, headers=[("location", "/there")])
    case.step_refused()
    assert case.refresher.notes == []
    case.intake.step()
    assert case.outcomes == {"/gone": "err40X", "/moved": "err30X"}
    assert [kind for kind, href in case.plug.given if kind == "replied"] == ["replied"] * 2


def test_a_fate_is_written_once_though_a_plug_refused_it(case: Case) -> None:
    [url] = case.fly("/")
    case.land(url, 404)
    take = case.plug._take
    errors = [FULL]

    def refuse_failed(kind: str, href: str) -> None:
        if kind == "failed" and errors:
            raise errors.pop()
        take(kind, href)

    case.plug._take = refuse_failed  # type: ignore[method-assign]
    case.step_refused()
    assert owed(case.frontier) == ["http://a.test/"]
    case.intake.step()
    assert [fate.outcome for fate in case.fates.written] == ["err40X"]
    assert owed(case.frontier) == []


# Sitemaps that are long.

SITEMAP = b"<urlset><url><loc>http://a.test/x</loc></url>"
REST = zlib.compress(b"</urlset>")


def test_a_page_that_takes_long_is_read_in_several_turns(case: Case) -> None:
    first, second = case.fly("/1", "/2")
    case.steps, case.clock.cost = 10, 0.015
    case.land(first)
    case.land(second)
    turns = 0
    while case.intake.busy:
        case.intake.step()
        turns += 1
        if case.intake.busy == 2:
            assert case.plug.given == []
    assert turns > 10
    assert case.plug.given == [("loaded", "/1"), ("loaded", "/2")]


def test_very_many_links_are_passed_on_in_several_turns(case: Case) -> None:
    [url] = case.fly("/")
    case.contents("/", *(f"http://b.test/{n}" for n in range(2500)))
    case.clock.cost = 0.03
    case.land(url)
    counts = []
    while case.intake.busy:
        case.intake.step()
        counts.append(case.frontier.owed)
    # The page is owed until its last links are known.
    assert counts == [1001, 2001, 2500]
    assert (case.names.expected, case.stats.links) == (["b.test"] * 3, 2500)
    assert case.plug.given == [("loaded", "/")]


def test_a_long_sitemap_is_read_and_not_stored(case: Case) -> None:
    [url] = case.fly("/map")
    case.contents("/map", "http://a.test/x")
    page = case.land(url, body=SITEMAP, rest=REST)
    case.intake.step()
    assert case.plug.given == [("replied", "/map")]
    assert case.outcomes == {"/map": "success"}
    assert page.detail.startswith("a sitemap longer than maxPageSize")
    assert owed(case.frontier) == ["http://a.test/x"]


def test_a_sitemap_that_was_cut_is_read_in_part_and_says_so(case: Case) -> None:
    [url] = case.fly("/map")
    case.contents("/map", "http://a.test/x")
    case.land(url, outcome=Outcome.TOO_BIG, detail="cut at 99 bytes", body=SITEMAP, rest=REST)
    case.intake.step()
    [fate] = case.fates.written
    assert (fate.outcome, fate.detail) == ("tooBig", "read in part: cut at 99 bytes")
    assert owed(case.frontier) == ["http://a.test/x"]


def test_a_sitemap_that_was_found_and_cut_is_not_in_vain() -> None:
    url = Url("http://a.test/sitemap.xml", 1, purpose=GUESS)
    assert not Page(url, Outcome.TOO_BIG).vain and not Page(url, Outcome.SUCCESS).vain
    assert Page(url, Outcome.BAD_TYPE).vain and Page(url, Outcome.ERR_40X, 404).vain


def test_a_sitemap_with_too_many_urls_says_so(case: Case) -> None:
    [url] = case.fly("/map")
    case.contents("/map", "http://a.test/x", cut="only its first 50,000 URLs")
    case.land(url, body=SITEMAP)
    case.intake.step()
    [fate] = case.fates.written
    why = "read in part: only its first 50,000 URLs"
    assert (fate.outcome, fate.detail) == ("success", why)
    assert case.plug.given == [("loaded", "/map")]


def test_a_long_page_where_a_sitemap_should_be_is_too_big(case: Case) -> None:
    [url] = case.fly("/map")
    case.contents("/map", "http://a.test/x")
    case.land(url, body=b"<!doctype html>", rest=REST)
    case.intake.step()
    [fate] = case.fates.written
    assert (fate.outcome, fate.detail) == ("tooBig", "cut at 15 bytes, as it is no sitemap")
    assert owed(case.frontier) == []


# Copies, and pages that stayed as they were.


def test_a_copy_is_a_duplicate(tmp_path: Path) -> None:
    case = Case(tmp_path, page_no_duplicate=True)
    first, second, other = case.fly("/1", "/2", "/3")
    case.contents("/2", "http://b.test/")
    case.land(first, body=b"the same")
    case.land(second, body=b"the same")
    case.land(other, body=b"another")
    case.intake.step()
    assert case.outcomes == {"/1": "success", "/2": "duplicate", "/3": "success"}
    assert ("replied", "/2") in case.plug.given
    assert owed(case.frontier) == []


def test_without_the_setting_copies_are_pages(case: Case) -> None:
    for url in case.fly("/1", "/2"):
        case.land(url, body=b"the same")
    case.intake.step()
    assert case.outcomes == {"/1": "success", "/2": "success"}


def test_an_unchanged_page_whose_body_is_on_the_disk_is_no_copy_of_another(tmp_path: Path) -> None:
    case = Case(tmp_path, page_no_duplicate=True)
    for url in case.fly("/1", "/2"):
        case.land(url, 304, body=b"")
    case.intake.step()
    assert case.outcomes == {"/1": "success", "/2": "success"}
    assert len(case.refresher.notes) == 2


# Pages and settings that forbid keeping or following.


@pytest.mark.parametrize("ignored", [False, True])
def test_a_page_may_ask_not_to_be_kept_or_followed(tmp_path: Path, ignored: bool) -> None:
    case = Case(tmp_path, ignore_robots=ignored)
    case.plug.feeder = feeder = FakeFeeder()
    private, sealed, mixed = case.fly("/private", "/sealed", "/mixed")
    case.contents("/private", "http://a.test/1", noindex=True)
    case.contents("/sealed", "http://a.test/2", nofollow=True)
    nofollow = Link("http://a.test/3", Kind.PAGE, nofollow=True)
    case.contents("/mixed", nofollow, "http://a.test/4")
    for url in (private, sealed, mixed):
        case.land(url)
    case.intake.step()
    kept = {href for how, href in case.plug.given if how == "loaded"}
    found = owed(case.frontier)
    assert kept == {"/sealed", "/mixed"} | ({"/private"} if ignored else set())
    assert feeder.withheld_pages == ([] if ignored else ["http://a.test/private"])
    numbers = "1234" if ignored else "14"
    assert found == [f"http://a.test/{number}" for number in numbers]
    assert case.stats.links == 4


def test_a_specific_search_keeps_only_its_types(tmp_path: Path) -> None:
    case = Case(tmp_path, specific_search=True, specific_set=(("audio/", ".mp3"),))
    page, song = case.fly("/page", "/song")
    case.contents("/page", "http://a.test/more")
    case.land(page, headers=[("content-type", "text/html")])
    case.land(song, headers=[("content-type", "audio/ogg")])
    case.intake.step()
    assert case.plug.given == [("loaded", "/song")]
    assert case.outcomes == {"/page": "success", "/song": "success"}
    assert owed(case.frontier) == ["http://a.test/more"]


# Turns.


def test_some_pages_a_turn(tmp_path: Path) -> None:
    case = Case(tmp_path, pages=2)
    for url in case.fly("/1", "/2", "/3"):
        case.land(url)
    case.intake.step()
    assert case.intake.busy == 1
    case.intake.step()
    assert case.intake.busy == 0


def test_a_turn_of_expensive_pages_is_short(tmp_path: Path) -> None:
    """At least one page is taken, and after 20 ms no other."""
    case = Case(tmp_path)
    for url in case.fly("/1", "/2", "/3"):
        case.land(url)
    case.clock.cost = 0.015
    case.intake.step()
    assert case.intake.busy == 1


def test_a_robots_txt_is_for_the_frontier(tmp_path: Path) -> None:
    case = Case(tmp_path, ask_robots=True)
    assert case.frontier.seed("http://a.test/private") is None
    [robots] = case.fly()
    assert robots.purpose.owner is not None
    case.land(robots, body=b"User-agent: *\nDisallow: /private\n")
    case.intake.step()
    assert case.plug.given == [("replied", "/robots.txt"), ("failed", "/private")]
    assert case.outcomes == {"/private": "forbiddenRobots"}
    assert case.stats.pages == 0


def test_a_robots_txt_that_was_cut_off_is_asked_for_again_at_once(tmp_path: Path) -> None:
    case = Case(tmp_path, ask_robots=True)
    assert case.frontier.seed("http://a.test/private") is None
    [robots] = case.fly()
    case.land(robots, outcome=Outcome.EARLY_STOP, misread=True, truncated="disconnect")
    case.intake.step()
    assert case.frontier.lifecycle.retried == 0
    [again] = case.fly()
    assert again is robots
    case.land(again, body=b"User-agent: *\nDisallow: /private\nAll", truncated="disconnect")
    case.intake.step()
    assert case.outcomes == {"/private": "forbiddenRobots"}


def test_a_page_that_the_server_cut_off_says_so(case: Case) -> None:
    [url] = case.fly("/")
    case.land(url, truncated="disconnect", detail="why")
    case.intake.step()
    [fate] = case.fates.written
    assert (fate.outcome, fate.truncated, fate.detail) == ("success", "disconnect", "why")


def test_fates_say_what_came(case: Case) -> None:
    [url] = case.fly("/")
    case.land(url, body=b"12345", ip="198.51.100.1", ms=7)
    case.intake.step()
    [fate] = case.fates.written
    assert (fate.size, fate.ip, fate.ms, fate.status) == (5, "198.51.100.1", 7, 200)
    shown: Sequence[Fate] = [*case.stats.recent]
    assert shown == [fate]


def test_the_reply_to_a_probe_is_not_output(tmp_path: Path) -> None:
    case = Case(tmp_path, probes=FakeProbes())
    [probe] = case.fly("/0", "/1")
    assert probe.href == PROBE
    case.land(probe, 404)
    case.intake.step()
    assert (case.plug.given, case.outcomes) == ([], {})
    assert [url.href for url in case.fly()] == ["http://a.test/0", "http://a.test/1"]


def test_a_probe_that_was_cut_off_is_sent_again_and_not_output(tmp_path: Path) -> None:
    case = Case(tmp_path, probes=FakeProbes())
    [probe] = case.fly("/0", "/1")
    case.land(probe, outcome=Outcome.EARLY_STOP, misread=True)
    case.intake.step()
    assert (case.plug.given, case.fly()) == ([], [probe])
