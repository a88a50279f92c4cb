"""A small web for crawls by nodes, in the loop of a world: some hosts with some pages each."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.support.crawling import Asked, Crawler, World, html, read_log
from tests.support.webserver import Step, reply

HOSTS = tuple(f"{letter}.test" for letter in "abcdefgh")
#: Pages of a host beside its first.
PAGES = 12
#: Seconds for a whole crawl: nodes join within some seconds, and after a death within ten.
LONG = 90.0


class FleetWeb:
    """The web, and commands that crawl it from its first page."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.web = world.web(self._answer, *HOSTS)
        self._roots = [self.web.url("/", host) for host in HOSTS]
        paths = [f"/{number}" for number in range(PAGES)]
        self.urls = {*self._roots, *(self.web.url(path, host) for host in HOSTS for path in paths)}
        #: More links of the first pages.
        self.more: list[str] = []
        #: Whether all pages need a login.
        self.is_locked = False
        self.crawler: Crawler

    def _answer(self, asked: Asked) -> Iterator[Step]:
        if self.is_locked and "authorization" not in asked.headers:
            head = 'WWW-Authenticate: Basic realm="x"'
            yield reply(b"", head, status="401 Unauthorized")
            return
        links = [*self._roots, *(f"/{number}" for number in range(PAGES)), *self.more]
        yield html(*(links if asked.path == "/" else ()), text=asked.host)

    def start(
        self,
        *arguments: str,
        wait: float = 0.2,
        lines: tuple[str, ...] = (),
        seeded: bool = True,
    ) -> Crawler:
        """Start `larbinpy crawl`; without seeds, if it is not `seeded`."""
        self.world.conf(
            *([f"startUrl {self._roots[0]}"] if seeded else []),
            f"waitDuration {wait} outputMode none roundTime 0.2s limitTime 10",
            *lines,
        )
        options = ("--report", str(self.world.report), "--progress", "log")
        self.crawler = self.world.start("crawl", *arguments, *options)
        return self.crawler

    def run(self, *arguments: str, **given: Any) -> int:
        return self.finish(self.start(*arguments, **given))

    def finish(self, crawler: Crawler) -> int:
        return self.world.finish(crawler, LONG)

    def until_fetched(self, count: int) -> None:
        """Wait until so many pages are in the logs of the nodes."""
        self.world.until(lambda: len(self.fetched()) >= count or self.crawler.ended, LONG)
        assert not self.crawler.ended, self.crawler.err

    def fetched(self) -> Counter[str]:
        """How often each URL is in the logs of all nodes as a success."""
        return Counter(url for url, outcome in self.outcomes() if outcome == "success")

    def outcomes(self) -> list[tuple[str, str]]:
        """URL and outcome of each line in the logs of all nodes."""
        logs = self.world.state.glob("*/crawl.jsonl")
        return [(fate["url"], fate["outcome"]) for log in logs for fate in read_log(log)]
