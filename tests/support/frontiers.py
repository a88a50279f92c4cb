"""A frontier with simulated surroundings: names, servers and a clock, all of them values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from larbinpy.config import Config
from larbinpy.dns.lookup import Answer
from larbinpy.frontier.addresses import IPSiteRegistry, IPSites
from larbinpy.frontier.admission import Admission, Folding
from larbinpy.frontier.frontier import Frontier, SavedWaits
from larbinpy.frontier.lifecycle import Judgement, SiteLifecycle, SiteLogins
from larbinpy.frontier.politeness import SiteSettings, Waits
from larbinpy.frontier.scope import Scope
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.site import NamedSite, State
from larbinpy.frontier.sites import SiteRegistry
from larbinpy.frontier.soft404.probes import Probes
from larbinpy.frontier.traps import Traps
from larbinpy.page import Outcome, Page, of_status
from larbinpy.parse import Kind, Link, redirect_target
from larbinpy.storage.queues import Store, decode
from larbinpy.storage.seen import Seen
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.sizes import (
    DEFAULT_SIZES,
    SEEN_SIZES,
    STORE_SIZES,
    FrontierSizes,
    SeenSizes,
    StoreSizes,
)
from larbinpy.url import Url, host_of

AGENT = "larbinpy/0.1 (+http://us.test/)"
WALL = 1_700_000_000.0
#: More decided URLs, and more requests in flight, than any test has.
MANY = 10**6
KINDS = (Frontier, Admission, Sequencer)


def everyone(address: str) -> bool:
    return True


def all_pages(**changes: Any) -> Config:
    """A configuration that wants all pages, except for `changes`, and audio with some endings."""
    if endings := changes.pop("privileged_extensions", ()):
        changes["specific_search"] = True
        changes["specific_set"] = tuple(("audio/mpeg", each) for each in endings)
    return Config(**{"get_cgi": True, "forbidden_extensions": (), **changes})


def site_settings(
    least: float = 0.0, most: float = 600.0, connexions: int = 1, **changes: Any
) -> SiteSettings:
    """The settings of a site; `changes` are of them, or of its configuration."""
    others = ("group", "limits", "hours", "sources")
    own = {name: changes.pop(name) for name in others if name in changes}
    changes = {"user_agent": AGENT, "guess_sitemap": False, **changes}
    config = Config(max_connexions_by_site=connexions, **changes)
    return SiteSettings(config, Waits(least, most), **own)


def make_frontier(
    folder: Path,
    *,
    least: float = 0.0,
    most: float = 600.0,
    wait_by: str = "ip",
    connexions: int = 1,
    retries: int = 3,
    retry_wait: float = 15.0,
    address_time: float = 1800.0,
    max_urls: int = 10_000,
    ignore_robots: bool = False,
    permit: Callable[[str], bool] = everyone,
    sizes: StoreSizes = STORE_SIZES,
    seen_sizes: SeenSizes = SEEN_SIZES,
    frontier_sizes: FrontierSizes = DEFAULT_SIZES,
    pool: int = MANY,
    dropped: Sequence[str] = (),
    by_host: Mapping[str, SiteSettings] = MappingProxyType({}),
    kinds: tuple[type[Frontier], type[Admission], type[Sequencer]] = KINDS,
    addresses: type[IPSites] = IPSites,
    wants: Callable[[Url], bool] | None = None,
    depth_of: Callable[[str], int] | None = None,
    avoids: Callable[[str], bool] | None = None,
    logins: SiteLogins | None = None,
    probes: Probes | None = None,
    **scope: Any,
) -> Frontier:
    """A frontier with the same settings for all sites, except for the hosts in `by_host`.

    `kinds` are the classes of the frontier, its admission and its sequencer.
    """
    frontier_kind, admission_kind, sequencer_kind = kinds
    usual = site_settings(
        least,
        most,
        retries=retries,
        retry_wait=retry_wait,
        ignore_robots=ignore_robots,
        connexions=connexions,
    )
    ip_sites = addresses(usual, wait_by, pool, frontier_sizes)
    counts = SiteCounts(folder)

    def settings_of(key: str) -> SiteSettings:
        return by_host.get(host_of(f"{key}/"), usual)

    store, seen = Store(folder, sizes), Seen(folder, "seen", seen_sizes)
    config = all_pages(**scope)
    around, guards = Scope(config, depth_of, avoids), Traps(config, WALL)
    return frontier_kind(
        admission_kind(around, seen, guards, Folding(dropped), wants),
        sequencer_kind(store, max_urls, frontier_sizes),
        SiteLifecycle(
            settings_of,
            address_time,
            lambda address, _port: permit(address),
            counts,
            ip_sites,
            frontier_sizes,
            logins or SiteLogins(),
            probes,
        ),
        Seen(folder, "digests", seen_sizes),
        frontier_sizes,
    )


# The parts of a frontier, for tests that look into it.


def digests_of(frontier: Frontier) -> Seen:
    return frontier._digests


def left_alone(registry: SiteRegistry | IPSiteRegistry) -> dict[str, float]:
    """The times before which evicted sites or idle addresses get no request."""
    return registry._left_alone


def states_of(registry: SiteRegistry) -> dict[State, int]:
    """The number of sites in memory in each state that has any."""
    return +registry._states


def wait_settings(frontier: Frontier) -> Waits:
    """The waits of sites that have none of their own."""
    return frontier.addresses._usual.waits


def pool_of(frontier: Frontier) -> int:
    """The most requests in flight."""
    return frontier.ip_sites._pool


def site_in(frontier: Frontier, href: str) -> NamedSite:
    """The site of `href`, which is in memory."""
    site = frontier.registry.at(href)
    assert site is not None
    return site


def taken(frontier: Frontier, now: float) -> Url:
    """A URL that may be fetched at `now`."""
    due = frontier.take(now)
    assert due is not None
    return due[0]


def named(frontier: Frontier) -> str:
    """A name that is to be looked up."""
    question = frontier.next_name()
    assert question is not None
    return question[0]


def deadline(frontier: Frontier, now: float, *, can_open: bool, can_ask: bool) -> float:
    """When it next has something to do; it has."""
    time = frontier.deadline(now, can_open=can_open, can_ask=can_ask)
    assert time is not None
    return time


def in_memory(frontier: Frontier) -> list[Url]:
    """The URLs that left the queues and are owed."""
    held = (url for site in frontier.registry for url in held_by(site))
    decided = (page.url for page in frontier.to_write())
    return [
        url for url in (*frontier.ip_sites.flying(), *held, *decided) if url.purpose.owner is None
    ]


def waits_of(frontier: Frontier, now: float) -> dict[str, float]:
    """The waits that are saved when a crawl ends."""
    steps = SavedWaits(frontier.lifecycle).cut(now, ended=True)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            waits: dict[str, float] = end.value
            return waits


def held_by(site: NamedSite) -> list[Url]:
    """All URLs of `site` in memory, except those in flight."""
    return [*site.ready, *site.waiting, *(url for _, url in site.retries)]


def together(pieces: Iterable[dict[str, float]]) -> dict[str, float]:
    """The longest wait of each."""
    longest: dict[str, float] = {}
    for some in pieces:
        longest |= {key: max(wait, longest.get(key, 0.0)) for key, wait in some.items()}
    return longest


def queued(frontier: Frontier) -> list[Url]:
    """The URLs that are in the queues."""
    return [decode(line) for line in frontier.store.lines()]


def owed(frontier: Frontier) -> list[str]:
    """All URLs that are owed, sorted."""
    return sorted(url.href for url in [*queued(frontier), *in_memory(frontier)])


def links(*urls: str) -> list[Link]:
    return [Link(url, Kind.PAGE) for url in urls]


def reply(url: Url, status: int = 200, **more: Any) -> Page:
    """A page of `status`; 0 needs an outcome. Headers as a dict."""
    headers = list(more.pop("headers", {}).items())
    more.setdefault("outcome", of_status(status))
    return Page(url, status=status, headers=headers, **more)


class Start(NamedTuple):
    """A request as it left the frontier."""

    at: float
    href: str
    address: str


class Fate(NamedTuple):
    href: str
    outcome: Outcome
    attempt: int
    detail: str


class World:
    """Answers names at once and requests after `latency`; its clock jumps to deadlines.

    `names`: the addresses of a name, or the reason why it has none; other names have one address
    of their own. `replies`: by URL, the other arguments of `reply`, or a list of them for
    successive requests, of which the last is repeated. The default is 404 for a robots.txt and
    200 for a page. "links" are the URLs that a page links to. `judge` says whether a page shows
    that its session has ended.
    """

    def __init__(
        self,
        frontier: Frontier,
        names: Mapping[str, tuple[str, ...] | str] | None = None,
        replies: Mapping[str, Any] | None = None,
        *,
        now: float = 5000.0,
        latency: float = 0.1,
        judge: Callable[[Page], bool] | None = None,
    ) -> None:
        self.frontier = frontier
        self.judge = judge
        self.names = dict(names or {})
        self.replies = dict(replies or {})
        self.now = now
        self.latency = latency
        self.asked: list[tuple[str, bool]] = []
        self.starts: list[Start] = []
        self.fates: list[Fate] = []
        self._flights: list[tuple[float, Url, str]] = []

    def run(self, until: float = float("inf")) -> list[Fate]:
        """Continue until no URL is owed, or to the time `until`; return all outcomes so far."""
        turns = 0
        while self.now < until:
            self.turn()
            if self.frontier.owed == 0 and not self._flights:
                break
            due = self._due()
            assert due is not None, f"nothing to wait for: {self.frontier!r}"
            turns = 0 if due > self.now else turns + 1
            assert turns < 1000, f"no way forward: {self.frontier!r}"
            self.now = max(self.now, min(due, until))
        return self.fates

    def _due(self) -> float | None:
        deadline = self.frontier.deadline(self.now, can_open=True, can_ask=True)
        landings = [at for at, _, _ in self._flights]
        return min([*landings, *([] if deadline is None else [deadline])], default=None)

    def turn(self) -> None:
        frontier = self.frontier
        frontier.sequence(self.now)
        while question := frontier.next_name():
            self.asked.append(question)
            frontier.resolved(self._answer(question[0]), self.now)
        while due := frontier.take(self.now):
            self.starts.append(Start(self.now, due[0].href, due[1]))
            self._flights.append((self.now + self.latency, *due))
        landing = [flight for flight in self._flights if flight[0] <= self.now]
        self._flights = [flight for flight in self._flights if flight[0] > self.now]
        for _, url, address in landing:
            self._land(url, address)
        for page in frontier.decided(10**6):
            self.fates.append(Fate(page.url.href, page.outcome, page.url.attempt, page.detail))

    def _answer(self, name: str) -> Answer:
        known = self.names.get(name, ("198.51.100.1",))
        return Answer(name, (), known) if isinstance(known, str) else Answer(name, known, None)

    def _land(self, url: Url, address: str) -> None:
        said = self.replies.get(url.href, {"status": 404} if url.robots_for else {})
        if callable(said):
            said = said(address)
        if isinstance(said, list):
            said = said.pop(0) if len(said) > 1 else said[0]
        said = dict(said)
        found = said.pop("links", ())
        page = reply(url, **said)
        is_named = url.purpose.owner is None
        is_lost = is_named and self.judge is not None and self.judge(page)
        judgement = Judgement.LOST if is_lost else Judgement.KEEP
        if self.frontier.replied(page, self.now, WALL + self.now, judgement):
            if page.outcome is Outcome.ERR_30X:
                self.frontier.admit(url, redirect_target(page), self.now, redirect=True)
            self.frontier.admit(url, links(*found), self.now)

    def outcomes(self) -> dict[str, Outcome]:
        """The outcome of each URL; asserts that each has one."""
        assert len({fate.href for fate in self.fates}) == len(self.fates)
        return {fate.href: fate.outcome for fate in self.fates}

    def pages(self) -> list[str]:
        """The URLs that were requested, in order, without robots.txt."""
        return [start.href for start in self.starts if not start.href.endswith("/robots.txt")]


#: Makes a `World` around a frontier with the seeds that it is called with.
MakeWorld = Callable[..., Any]

#: A request that no server answered.
DEAD: dict[str, Any] = {"status": 0, "outcome": Outcome.NO_CONNECTION}
SILENT: dict[str, Any] = {"status": 0, "outcome": Outcome.TIMEOUT}
