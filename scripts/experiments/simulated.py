"""A crawl of the sites in simulated time: the real frontier without a network.

The frontier decides without I/O and takes the time as an argument, so hours of a crawl take
seconds.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments import larbin
from experiments.sitesweb import Hosts, Place, SitesWeb, Spelling
from larbinpy.config import Config
from larbinpy.crawl.resources.frontier import KINDS, make_frontier
from larbinpy.crawl.sites.configs import SiteConfigs
from larbinpy.crawl.sites.settings import SettingsBySite
from larbinpy.dns import Answer, is_public
from larbinpy.frontier.frontier import Frontier
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.parse import Kind, Link
from larbinpy.url import Url, split

#: Longest turn (s) of Larbin's loop, and of larbinpy's while there is something to do.
_TURN = 0.01
_LONGEST_TURN = 1.0
#: The Unix time at the start; no date in a URL is far from it.
_WALL = 1.7e9
_SPELLING = Spelling(Hosts.ADDRESSES, "127.0.1.", 8080)


@dataclass
class Simulated:
    """Totals of a crawl."""

    pages: int = 0
    links: int = 0
    #: Distinct URLs found.
    urls: int = 0


def simulate(
    web: SitesWeb,
    seconds: float,
    *,
    wait_duration: float,
    max_urls_by_site: int,
    larbin_period: float | None = None,
) -> Simulated:
    """Crawl `web` for `seconds`; with a `larbin_period`, by Larbin's sequencer."""
    config = Config(
        wait_duration=wait_duration,
        max_urls_by_site=max_urls_by_site,
        depth_in_site=10**6,
        ignore_robots=True,
        allow_private=True,
    )
    with TemporaryDirectory(prefix="simulated-") as folder:
        simulation = _Simulation(web)
        kinds = KINDS
        if larbin_period is not None:
            kinds = larbin.kinds(lambda: simulation.now, larbin_period)
        settings = SettingsBySite(config, SiteConfigs(config))
        frontier = make_frontier(config, Path(folder), settings, is_public, _WALL, kinds=kinds)
        return simulation.run(frontier, seconds)


class _Simulation:
    def __init__(self, web: SitesWeb) -> None:
        self._web = web
        self.now = 0.0
        self._flying: list[tuple[float, int, Url]] = []
        self._order = count()
        self._done = Simulated()

    def run(self, frontier: Frontier, seconds: float) -> Simulated:
        for place in self._web.fronts():
            frontier.seed(_SPELLING.url(place))
        while self.now < seconds and frontier.owed:
            self._turn(frontier)
        self._done.urls = frontier.view.urls_seen
        return self._done

    def _turn(self, frontier: Frontier) -> None:
        """The steps of the engine's turn in order. Hosts are addresses; all replies are pages."""
        frontier.sequence(self.now)
        while (question := frontier.next_name()) is not None:
            frontier.resolved(Answer(question[0], (question[0],), None), self.now)
        while (due := frontier.take(self.now)) is not None:
            end = self.now + self._web.delay(_place(due[0]))
            heappush(self._flying, (end, next(self._order), due[0]))
        while self._flying and self._flying[0][0] <= self.now:
            self._land(frontier, heappop(self._flying)[2])
        self.now = self._next_time(frontier)

    def _land(self, frontier: Frontier, url: Url) -> None:
        links = self._web.links(_place(url))
        page = Page(url, Outcome.SUCCESS, status=200)
        frontier.finished(page, self.now, 0.0)
        frontier.admit(url, [Link(_SPELLING.url(place), Kind.PAGE) for place in links], self.now)
        list(frontier.decided(1))
        self._done.pages += 1
        self._done.links += len(links)

    def _next_time(self, frontier: Frontier) -> float:
        times = [self.now + _LONGEST_TURN]
        deadline = frontier.deadline(self.now, can_open=True, can_ask=True)
        if deadline is not None:
            times.append(deadline if deadline > self.now else self.now + _TURN)
        if self._flying:
            times.append(self._flying[0][0])
        return max(self.now, min(times))


def _place(url: Url) -> Place:
    host, path = split(url.href)[1::2]
    place = _SPELLING.place(str(host), str(path))
    assert place is not None
    return place
