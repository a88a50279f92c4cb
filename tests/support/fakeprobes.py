"""Probes for tests of the frontier: fixed requests."""

from collections.abc import Sequence

from larbinpy.frontier.soft404.probes import Probes
from larbinpy.page import Page
from larbinpy.url import Url
from tests.support.fakelogins import DOOR

PROBE = f"{DOOR}/larbinpy-1"


class FakeProbes(Probes):
    """Probes of `sites`: each of them gets a request for each of `urls`."""

    def __init__(self, urls: Sequence[str] = (PROBE,), sites: Sequence[str] = (DOOR,)) -> None:
        super().__init__(lambda: "")
        self.wanted = set(sites)
        self.pages: list[Page] = []
        self.waiting: list[str] = []
        #: Sites that get no more.
        self.ended: list[str] = []
        self._urls = list(urls)

    def wants(self, url: Url) -> bool:
        return url.site in self.wanted

    def next(self, site: str, waiting: Sequence[str]) -> str | None:
        self.wanted.discard(site)
        self.waiting = list(waiting)
        return self._urls.pop(0) if self._urls else None

    def replied(self, site: str, page: Page) -> None:
        self.pages.append(page)

    def end(self, site: str) -> None:
        self.ended.append(site)
