"""Logins for tests of the frontier: fixed sequences of requests."""

from collections.abc import Sequence

from larbinpy.frontier.lifecycle import SiteLogins
from larbinpy.page import Page
from larbinpy.url import Ask

DOOR = "http://a.test"


class FakeLogins(SiteLogins):
    """Sites that need a login: it takes a request to each of `urls`, all of which answer 200.

    After `most` failures in a row it is final. A login lasts `seconds`.
    """

    def __init__(
        self,
        urls: Sequence[str] = (f"{DOOR}/login",),
        sites: Sequence[str] = (DOOR,),
        *,
        most: int = 3,
        seconds: float | None = None,
    ) -> None:
        self.urls = list(urls)
        self.needed = set(sites)
        self.most = most
        self.seconds = seconds
        #: Sites that have begun a login, in order.
        self.begun: list[str] = []
        self.pages: list[Page] = []
        self._why: dict[str, str] = {}
        self._failed: dict[str, int] = {}
        self._left: dict[str, list[str]] = {}

    def needs(self, site: str) -> bool:
        return site in self.needed

    def begin(self, site: str) -> Ask | None:
        self.begun.append(site)
        self._left[site] = list(self.urls)
        return self._next(site)

    def replied(self, site: str, page: Page) -> Ask | None:
        self.pages.append(page)
        if page.status != 200:
            self._failed[site] = self._failed.get(site, 0) + 1
            self._why[site] = f"{page.outcome.value} {page.status}"
            return None
        return self._next(site)

    def _next(self, site: str) -> Ask | None:
        if self._left[site]:
            return Ask(self._left[site].pop(0))
        self._why[site] = ""
        self._failed[site] = 0
        self.needed.discard(site)
        return None

    def failure(self, site: str) -> str:
        return self._why[site]

    def is_final(self, site: str) -> bool:
        return self._failed[site] >= self.most

    def lasts(self, site: str) -> float | None:
        return self.seconds if site == DOOR and site not in self.needed else None
