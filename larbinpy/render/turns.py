"""When requests of pages in the browser are sent: by the same sites and addresses as all others.

What a page asks for goes through the steps of any URL: name, address, robots.txt, login. Only its
wait is another: `renderWait` after the last request to its site and to its address, since a page
and its parts are one visit. Pages wait their whole time after the last of these.
"""

from collections import deque
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from larbinpy.frontier.addresses import IPSite, IPSites
from larbinpy.frontier.lifecycle import SiteLifecycle, Step
from larbinpy.frontier.site import NamedSite, State
from larbinpy.frontier.sites import ExpiringTimes
from larbinpy.page import Outcome, Page
from larbinpy.url import Aim, Url


class RenderingIPSites(IPSites):
    """Addresses whose sites also have parts of pages to send, in queues of their own.

    A page that is rendered ends its request when it arrives, and is decided later (`land`).
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        #: Seconds that a part waits for, by its site; the crawl sets it.
        self.part_wait: Callable[[NamedSite], float] = lambda site: site.pace.delay
        # The parts that are ready, by site; a site that had a turn comes last.
        self._parts: dict[NamedSite, deque[Url]] = {}
        # When a part may follow the last request to a site or an address.
        self._after = ExpiringTimes()
        # The sites of pages whose request has ended, by the id of their URL.
        self._landed: dict[int, tuple[Url, NamedSite]] = {}

    def add(self, site: NamedSite, url: Url, *, first: bool = False) -> None:
        if url.purpose.aim is Aim.PART:
            self._parts.setdefault(site, deque()).append(url)
        else:
            super().add(site, url, first=first)

    def _hold_back(self, site: NamedSite, ip_site: IPSite, now: float) -> None:
        super()._hold_back(site, ip_site, now)
        self._after.expire(now)
        until = now + self.part_wait(site)
        for key in (site.key, ip_site.key, *site.addresses[:1]):
            self._after[key] = until

    def landed(self, page: Page, now: float, wall: float) -> NamedSite:
        known = self._landed.pop(id(page.url), None)
        return super().landed(page, now, wall) if known is None else known[1]

    def land(self, page: Page, now: float, wall: float) -> None:
        """Process the end of the request for a page that is decided later."""
        self._landed[id(page.url)] = page.url, super().landed(page, now, wall)

    def in_browser(self) -> Iterator[Url]:
        return (url for url, _ in self._landed.values())

    # Parts.

    def _due(self, site: NamedSite) -> float:
        """The time from which a part of `site` may be asked for."""
        if not site.addresses:
            return 0.0
        ip_site = self.registry.behind(site)
        if ip_site is not None and not ip_site.free:
            return inf
        after = self._after.get
        last = max(after(site.key, 0.0), after(site.addresses[0], 0.0))
        return max(last, site.held_until)

    @property
    def next_part(self) -> float | None:
        """The time of the next part; None while there is none, or its address is busy."""
        due = min(map(self._due, self._parts), default=inf)
        return None if due == inf else due

    def take_part(self, now: float) -> tuple[NamedSite, Url] | None:
        """A part whose wait is over, with the site that it was ready at; it leaves its queue."""
        site = next((site for site in self._parts if self._due(site) <= now), None)
        if site is None:
            return None
        urls = self._parts.pop(site)
        url = urls.popleft()
        if urls:
            self._parts[site] = urls
        return site, url

    def send_part(self, site: NamedSite, url: Url, now: float) -> tuple[Url, str]:
        """Note the request for a part, which begins now."""
        ip_site = self.registry.obtain(site)
        if site.enlisted:
            ip_site.dismiss(site)
        site.make_ready(url, first=True)
        ip_site.in_flight += 1
        return self._request(site, ip_site, now)


class PartStep(Step):
    """Leads the parts of pages through the sites that they are on, and gives their replies."""

    def __init__(self, way: SiteLifecycle, ip_sites: RenderingIPSites) -> None:
        super().__init__(way)
        self._turns = ip_sites
        #: Gets the reply to a part, or why there is none.
        self.arrived: Callable[[Page], None] = lambda page: None

    def ask(self, url: Url, now: float) -> None:
        """Ask for a part when its site is open and its turn has come."""
        self._way.join(url, now)

    def take(self, now: float) -> tuple[Url, str] | None:
        """A part that is asked for now, and the address; None while there is none."""
        while (due := self._turns.take_part(now)) is not None:
            site, url = due
            is_open = site.state is State.OPEN and self._registry.get(site.key) is site
            if not is_open or now >= min(site.address_until, site.rules_until):
                self._way.join(url, now)
            elif not self._rules.allows(site, url.href):
                self._way.end(url, Outcome.FORBIDDEN_ROBOTS, now, self._rules.why_denied(site))
                self._registry.touch(site)
            elif site.settings.hours.closed:
                self._way.end(url, Outcome.SITE_LIMIT, now, site.settings.source("hours"))
            else:
                return self._turns.send_part(site, url, now)
        return None

    def is_stuck(self, url: Url) -> bool:
        """Whether the site of a part is not open, so that the part has to wait."""
        site = self._registry.at(url.href)
        return site is None or site.state is not State.OPEN

    def replied(self, page: Page, now: float) -> None:
        """As `Step.replied`."""
        self.arrived(page)
