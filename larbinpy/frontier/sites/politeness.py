"""The delay between two requests to one site, and how it adapts to the answers."""

from dataclasses import dataclass

from larbinpy.outcome import Trait, asks_for_less, having
from larbinpy.page import Page

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
    extra delay that adapts to the site's answers. A refusal or a timeout doubles the delay. Any
    other answer halves the extra part, but after a slow answer the delay is no less than the
    time that it took. (Scrapy's AutoThrottle is similar: it aims at one request in flight per
    response time.) Always least <= delay <= max(least, maxWait).
    """

    __slots__ = ("_asked", "_extra", "_waits", "usual")

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._asked = 0.0
        self._extra = 0.0
        #: Smoothed seconds to the first byte of a good answer; None before the first.
        self.usual: float | None = None

    def __repr__(self) -> str:
        return f"<Pace {self.delay:g} s, at least {self.least:g}>"

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

    def answered(self, page: Page) -> None:
        """Adapt the delay to the result of a request."""
        seconds = page.first_byte_ms / 1000
        is_overloaded = page.outcome in _OVERLOADED and not page.misread
        if is_overloaded or asks_for_less(page.status):
            self._extra = self._above_least(max(self.delay * 2, _FIRST_STEP))
        elif page.status:
            self._ease(seconds)

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


def retry_after(value: str | None, wall: float) -> float | None:
    """Seconds that a Retry-After header asks for at the Unix time `wall`; None if there is none."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    moment = _http_date(value)
    return None if moment is None else max(0.0, moment - wall)


def _http_date(value: str) -> float | None:
    # Loaded here, as dates are rare and email.utils loads socket code.
    from email.utils import mktime_tz, parsedate_tz

    parsed = parsedate_tz(value)
    try:
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError):
        return None
