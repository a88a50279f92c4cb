"""The settings of sites, which site blocks may decide, and how much was fetched from a site."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from larbinpy.config.kinds import show_size
from larbinpy.frontier.sites.hours import SiteHours
from larbinpy.frontier.sites.politeness import Waits
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.storage.site_counts import SiteCounts


@dataclass(slots=True, frozen=True)
class SiteLimits:
    """The most that one site is asked for; 0 for no limit."""

    #: limitPageBySite.
    pages: int = 0
    #: limitBytesBySite.
    received: int = 0
    #: maxConnexionsBySite, if that is fewer than its address has.
    at_once: int = 0

    @property
    def counted(self) -> bool:
        """Whether they apply to pages or bytes."""
        return bool(self.pages or self.received)

    def __bool__(self) -> bool:
        return bool(self.counted or self.at_once)


@dataclass(slots=True, eq=False)
class SiteSettings:
    """The settings of a site. Times in seconds. Sites with the same settings share one object."""

    waits: Waits
    #: UserAgent, whose group of robots.txt applies.
    agent: str = ""
    retries: int = 3
    retry_wait: float = 15.0
    ignore_robots: bool = False
    #: maxConnexionsBySite.
    connexions: int = 1
    #: The sites of a group wait together, apart from the other sites at their address. Empty for
    #: those that wait with their address, and longer if `waits` are longer.
    group: str = ""
    limits: SiteLimits = SiteLimits()
    #: depthInSite.
    depth: int = 5
    hours: SiteHours = field(default_factory=SiteHours)
    #: Keyword -> the line of the site block that sets it.
    sources: Mapping[str, str] = field(default_factory=dict)
    #: Different sites so far.
    sites: int = 0
    #: guessSitemap.
    guess_sitemap: bool = False

    def source(self, keyword: str, value: str = "") -> str:
        """A setting with its value, and the line if a site block sets it."""
        shown, line = f"{keyword} {value}".rstrip(), self.sources.get(keyword)
        return shown if line is None else f"{shown}, {line}"


#: The settings of a site, by its key.
SettingsOf = Callable[[str], SiteSettings]


def is_counted(page: Page) -> bool:
    """Whether limitPageBySite counts a reply: not one that nobody asked for."""
    asked = page.url.owner is None and not page.url.guess
    return asked and page.outcome is Outcome.SUCCESS


class Quota:
    """The pages and bytes of one site with limits, in all runs of the crawl.

    They are counted only if there is a limit to them.
    """

    __slots__ = ("_counts", "_key", "limits", "pages", "received")

    def __init__(self, key: str, limits: SiteLimits, counts: SiteCounts) -> None:
        self._key = key
        self._counts = counts
        self.limits = limits
        self.load()

    def __repr__(self) -> str:
        return f"<Quota {self.pages} pages, {self.received} bytes of {self.limits}>"

    def load(self) -> None:
        """Take the counts as they are stored."""
        self.pages, self.received = self._counts.get(self._key)

    def count(self, page: Page) -> None:
        """Count a reply."""
        if not self.limits.counted:
            return
        self.pages += is_counted(page)
        self.received += page.received
        self._counts.put(self._key, self.pages, self.received)

    @property
    def spent(self) -> bool:
        """Whether a limit is reached."""
        return not self.has_room(0)

    def has_room(self, in_flight: int) -> bool:
        """Whether one more request may be sent while `in_flight` are under way."""
        limits = self.limits
        if limits.pages and self.pages + in_flight >= limits.pages:
            return False
        if limits.at_once and in_flight >= limits.at_once:
            return False
        return not limits.received or self.received < limits.received

    def reason(self, settings: SiteSettings) -> str:
        """The limit that is reached, and where it was set."""
        limits = self.limits
        if limits.pages and self.pages >= limits.pages:
            return settings.source("limitPageBySite", str(limits.pages))
        return settings.source("limitBytesBySite", show_size(limits.received))
