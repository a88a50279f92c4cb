"""The delay between two requests to one site (`Pace`), which adapts to the answers.

Beside it, what else site blocks may decide: the settings of a site, the hours in which it is asked,
and how much may be fetched from it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf

from larbinpy.config import Config
from larbinpy.config.kinds import ALWAYS, Hours, show_size
from larbinpy.page import Outcome, Page, Trait, asks_for_less, having
from larbinpy.storage.site_counts import SiteCounts

#: First delay of an overloaded site if there was no delay before (s).
_FIRST_STEP = 0.25
#: An answer this many times slower than usual is a sign of overload.
_SLOW = 3.0
#: Below this (s) a slow answer may be noise of the network or of the program's own loop.
_NOTICEABLE = 0.5
#: An added delay below this is dropped (s).
_NOTHING = 0.02
#: Weight of the newest answer in the usual response time.
_WEIGHT = 0.1

_OVERLOADED = having(Trait.OVERLOADED)


@dataclass(slots=True)
class Waits:
    """The configured bounds of waits, in seconds; one object that all sites share."""

    #: waitDuration: the least time between two requests.
    least: float
    #: maxWait: the longest wait that a site can cause.
    most: float


class Pace:
    """The delay between two requests to one site, in seconds.

    The delay is `least` (waitDuration or the site's Crawl-delay, whichever is longer) plus an
    extra delay that adapts to the site's answers. A refusal or a timeout doubles the delay, once
    for all requests that were under way. Any other answer halves the extra part, but after a slow
    answer the delay is no less than the time that it took. (Scrapy's AutoThrottle is similar: it
    aims at one request in flight per response time.) Always least <= delay <= max(least, maxWait).
    """

    __slots__ = ("_asked", "_extra", "_slowed_at", "_waits", "usual")

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._asked = 0.0
        self._extra = 0.0
        # When the delay was doubled last.
        self._slowed_at = -inf
        #: Smoothed seconds to the first byte of a good answer; None before the first.
        self.usual: float | None = None

    @property
    def least(self) -> float:
        """waitDuration, or the site's Crawl-delay within maxWait, whichever is longer."""
        return max(self._waits.least, min(self._asked, self._waits.most))

    @property
    def delay(self) -> float:
        least = self.least
        return max(least, min(least + self._extra, self._waits.most)) if self._extra else least

    @property
    def cause(self) -> str:
        """Why the delay is as long as it is, in a few words."""
        if self._extra:
            return "slow or overloaded"
        return "Crawl-delay" if self.least > self._waits.least else "waitDuration"

    def crawl_delay(self, seconds: float | None) -> None:
        """Set robots.txt's Crawl-delay, which can only lengthen the delay, up to maxWait."""
        self._asked = seconds or 0.0

    @property
    def adapted(self) -> tuple[float, float]:
        """The extra delay, and the usual time of an answer, 0 if that is unknown."""
        return self._extra, self.usual or 0.0

    def adapt(self, extra: float, usual: float) -> None:
        """Continue as `adapted` was for a pace of the same site."""
        self._extra, self.usual = extra, usual or None

    def answered(self, page: Page, since: float = inf, now: float = 0.0) -> bool:
        """Adapt the delay to the result of a request that left at the time `since`.

        Returns whether it says something new: not if it left before the delay was doubled.
        """
        if since < self._slowed_at:
            return False
        seconds = page.first_byte_ms / 1000
        is_overloaded = page.outcome in _OVERLOADED and not page.misread
        if is_overloaded or asks_for_less(page.status):
            self._extra = self._above_least(max(self.delay * 2, _FIRST_STEP))
            self._slowed_at = now
        elif page.status:
            self._ease(seconds)
        return True

    def _ease(self, seconds: float) -> None:
        self._extra = self._extra / 2 if self._extra > _NOTHING else 0.0
        if self.usual is not None and seconds > max(self.usual * _SLOW, _NOTICEABLE):
            self._extra = max(self._extra, self._above_least(seconds))
        else:
            self.usual = seconds + (1 - _WEIGHT) * ((self.usual or seconds) - seconds)

    def _above_least(self, seconds: float) -> float:
        return max(0.0, min(seconds, self._waits.most) - self.least)

    def hold_for(self, page: Page, wall: float) -> float:
        """Seconds to pause the site after a 429 or 503, at most maxWait.

        They are those of Retry-After if it was sent (RFC 9110, 10.2.3: seconds or a date, hence
        the wall clock); else the delay, which has just been doubled.
        """
        asked = retry_after(page.header("retry-after"), wall)
        return min(self.delay if asked is None else asked, self._waits.most)


#: Some servers send fractions, a unit, or a list, as of two lines.
_SECONDS = re.compile(
    r"(\d{1,12})\d*(\.\d{1,12})?\s*(?:s|sec|seconds?)?(?:,.*)?", re.ASCII | re.IGNORECASE
).fullmatch


def retry_after(value: str | None, wall: float) -> float | None:
    """Seconds that a Retry-After header asks for at the Unix time `wall`; None if there is none."""
    if value is None:
        return None
    if seconds := _SECONDS(value.strip()):
        return float(seconds[1] + (seconds[2] or ""))
    moment = _http_date(value.strip())
    return None if moment is None else max(0.0, moment - wall)


def _http_date(value: str) -> float | None:
    # Loaded here, as dates are rare and email.utils loads socket code.
    from email.utils import mktime_tz, parsedate_tz

    parsed = parsedate_tz(value)
    try:
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError):
        return None


class SiteHours:
    """The hours that some sites have in common, compared with the clock on the wall by `look`."""

    __slots__ = ("_changes_at", "_looked_at", "closed", "configured", "opens_at")

    def __init__(self, hours: Hours = ALWAYS) -> None:
        self.configured = hours
        self.closed = False
        #: The time of the next opening, by the engine's clock, while it is closed.
        self.opens_at = 0.0
        # The Unix times of the last computation and of the change that it found.
        self._looked_at = self._changes_at = 0.0

    def look(self, now: float, wall: float) -> None:
        """Open or close at the Unix time `wall`, which may have gone back or jumped."""
        if not self._looked_at <= wall < self._changes_at:
            self._looked_at = wall
            self.closed = not self.configured.are_open(wall)
            change = self.configured.open_at if self.closed else self.configured.close_at
            self._changes_at = change(wall)
        if self.closed:
            self.opens_at = now + self._changes_at - wall


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
    """The settings of a site. Sites with the same settings share one object."""

    #: That of the crawl, with the site blocks for it put in.
    config: Config
    #: These may change while the crawl runs.
    waits: Waits
    #: The sites of a group wait together, apart from the other sites at their address. Empty for
    #: those that wait with their address, and longer if `waits` are longer.
    group: str = ""
    limits: SiteLimits = SiteLimits()
    hours: SiteHours = field(default_factory=SiteHours)
    #: Keyword -> the line of the site block that sets it.
    sources: Mapping[str, str] = field(default_factory=dict)
    #: Different sites so far.
    sites: int = 0

    @property
    def guesses_sitemap(self) -> bool:
        """Whether a sitemap is looked for that nothing names (guessSitemap).

        Offline, pages are reached by links alone; a link check reports a link to a sitemap that is
        not there.
        """
        config = self.config
        return config.guess_sitemap and not (config.rewrite_links or config.check_links)

    def source(self, keyword: str, value: str = "") -> str:
        """A setting with its value, and the line if a site block sets it."""
        shown, line = f"{keyword} {value}".rstrip(), self.sources.get(keyword)
        return shown if line is None else f"{shown}, {line}"


#: The settings of a site, by its key.
SettingsOf = Callable[[str], SiteSettings]


def is_counted(page: Page) -> bool:
    """Whether limitPageBySite counts a reply: not one that nobody asked for."""
    return page.url.is_named and page.outcome is Outcome.SUCCESS


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
