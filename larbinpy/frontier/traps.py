"""Guards against spider traps: sites whose pages have new links without end.

    repeats     paths that grow by repeating their segments from page to page, or are too deep:
                relative links that go wrong
    calendars   dates far ahead: calendars with a link to the next month
    shapes      too many URLs of a site that differ in numbers only (limitByShape)

Heritrix and Nutch refuse repeated segments wherever they are, and leave calendars to patterns of
the operator. A path that repeats in itself, as of a tile or a filter (/all/all/all/), is no trap.
Katana and Arachni limit the URLs of one shape as well; with 10 by default, which leaves out most of
a forum or a shop. The limit here is meant for what has no end.
"""

import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from larbinpy.config import Config
from larbinpy.parse import Kind

_PAGE = Kind.PAGE

#: A chain of URLs that repeats this many segments is a spider trap (BUbiNG allows two
#: repetitions of a segment in a row; relative-link loops make dozens).
_REPEATS = 6
#: URLs with as many slashes have too few segments to repeat so many; most URLs have no more.
_SLASHES = 2 + _REPEATS
#: No ordinary site is nested this deep.
_SEGMENTS = 40

#: Events are announced this many years ahead, and so many pages of a site may have dates beyond,
#: such as a plan for 2050.
_YEARS_AHEAD, _DATES_AHEAD = 2, 100

#: The first URLs of a site with a number or a query are only counted: these many, or one in 20 of
#: limitByShape. So the many sites of which a crawl takes a few pages cost next to nothing.
_UNWATCHED, _UNWATCHED_PART = 200, 20

#: Sites and shapes that are counted, and characters of the longest shape: 10 MB at most.
_COUNTED, _LONGEST = 40_000, 200
#: Smaller counts are not saved: a site can have shapes without end.
_LEAST_SAVED = 100
#: A count is reported in steps of so many, or of one in 20 of its limit, and of two at least. So
#: a shape that is reported has several URLs, and a count that is lost is a small part of a limit.
_STEP, _STEP_PART, _LEAST_STEP = 100, 20, 2

_ANY_YEAR = re.compile("(?<![0-9])[2-9][0-9]{3}")
_YEAR, _MONTH, _DAY = "(2[0-9]{3})", "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_DATES = (
    # A year and a month of two digits, in any order, as in /2031/05/ or ?date=05-2031.
    re.compile(f"(?<![0-9]){_YEAR}[-/.]{_MONTH}(?![0-9])"),
    re.compile(f"(?<![0-9]){_MONTH}[-/.]{_YEAR}(?![0-9])"),
    # A parameter that is a year, as in ?month=5&year=2031.
    re.compile(r"(?:year|yr|jahr|annee)[\w.%\]-]{0,20}=([2-9][0-9]{3})(?![0-9])", re.IGNORECASE),
)
#: Other dates count in URLs that name a calendar: elsewhere, 5123/3 is page 3 of a topic.
_NAMED = re.compile("calend|kalend|agenda|event|month|termin|schedule", re.IGNORECASE)
_LOOSE_DATE = re.compile(f"(?<![0-9]){_YEAR}(?:[-/._](?:1[0-2]|[1-9])|{_MONTH}{_DAY})(?![0-9])")

#: The site of a URL with a number or a query. A URL without is the only one of its shape.
_site_of_variable = re.compile("(https?://[^/]++)/[^0-9?]*+[0-9?]").match
#: An ID: a run of letters and digits, eight or more and three of them digits; or four or more that
#: are a hexadecimal number, as in the random names of traps for crawlers (/a7f3/b81c).
_ID = re.compile(
    "(?<![A-Za-z0-9%])(?:(?=(?:[A-Za-z]*[0-9]){3})[A-Za-z0-9]{8,}"
    "|(?=[a-f]*[0-9])(?=[0-9]*[a-f])[a-f0-9]{4,}(?![A-Za-z0-9]))"
)
#: Digits, except for those of escapes: texts of other scripts consist of escapes.
_NUMBER = re.compile("(?<!%)(?<!%[0-9A-F])[0-9]+")
#: With more parameters, their names do not count: filters can be combined without end.
_PARAMETERS = 2


def may_repeat(url: str) -> bool:
    """Whether `url` is long enough to repeat its parts; most URLs are not."""
    return url.count("/") > _SLASHES or url.count("&") >= _REPEATS


def repeated(url: str) -> tuple[int, int]:
    """The parts of `url`: segments of its path and parameters of its query.

    First, how many repeat earlier ones; then, how many there are.
    """
    path, mark, query = url.lower().partition("?")
    segments = [segment for segment in path.split("/")[3:] if segment]
    parameters = query.split("&") if mark else []
    parts = len(segments) + len(parameters)
    return parts - len(set(segments)) - len(set(parameters)), parts


def is_too_deep(url: str) -> bool:
    """Whether the path of `url` has more segments than any ordinary one."""
    return sum(map(bool, url.partition("?")[0].split("/")[3:])) > _SEGMENTS


def grows(url: str, via: str) -> bool:
    """Whether `url` is longer than the page `via` and repeats more parts, as that does: a chain."""
    repeats, parts = repeated(url)
    if repeats < _REPEATS:
        return False
    before, parts_before = repeated(via)
    return 0 < before < repeats and parts_before < parts


def is_ahead(url: str, last_year: int) -> bool:
    """Whether `url` has a date in a year after `last_year`."""
    if all(int(year) <= last_year for year in _ANY_YEAR.findall(url)):
        return False
    dates = (*_DATES, _LOOSE_DATE) if _NAMED.search(url) else _DATES
    return any(int(date[1]) > last_year for each in dates for date in each.finditer(url))


def shape_of(url: str) -> str:
    """The shape of `url`: numbers and IDs become 0, and parameters their sorted names."""
    address, mark, query = url.partition("?")
    origin = address.index("/", 8)
    shape = address[:origin] + _NUMBER.sub("0", _ID.sub("0", address[origin:]))
    if mark:
        names = sorted({_NUMBER.sub("0", part.partition("=")[0]) for part in query.split("&")})
        shape += "?" + ("*" if len(names) > _PARAMETERS else "&".join(names))
    return shape[:_LONGEST]


class Trapped(NamedTuple):
    """The reason why a URL looks like a spider trap."""

    #: Name of the guard.
    guard: str
    why: str


class BoundedCounter:
    """Counts keys. When there are too many, those that were not counted lately are forgotten.

    So a count may be too small, never too large.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._younger: dict[str, int] = {}
        self._elder: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._younger.keys() | self._elder.keys())

    def __getitem__(self, key: str) -> int:
        count = self._younger.get(key)
        return self._elder.get(key, 0) if count is None else count

    def add(self, key: str, number: int = 1) -> int:
        """Count `key`; returns its count."""
        younger = self._younger
        count = younger.get(key)
        if count is None:
            count = self._elder.get(key, 0)
            if len(younger) >= self._half:
                self._elder = younger
                self._younger = younger = {}
        younger[key] = count = count + number
        return count

    def at_least(self, count: int) -> dict[str, int]:
        """The keys that were counted so often, with their counts."""
        both = self._elder | self._younger
        return {key: number for key, number in both.items() if number >= count}


class Traps:
    """Refuses URLs that look like spider traps, and counts what it refuses and takes.

    A requisite of a page is no trap except for the repeats of its path.
    """

    def __init__(self, config: Config, now: float, most: int = _COUNTED) -> None:
        """`now` is the Unix time, which says which dates are far ahead."""
        self._last_year = datetime.fromtimestamp(now, UTC).year + _YEARS_AHEAD
        # URLs taken: with a number or a query by site, and if there are many of these by shape,
        # and by site with a date far ahead.
        self._taken = BoundedCounter(most)
        #: Number of links that were refused, by guard; links on many pages count once.
        self.refused: Counter[str] = Counter()
        #: Reports in steps what is counted: the site, and the key of `count_from` with its growth.
        self.report: Callable[[str, str, int], None] = lambda site, key, growth: None
        self._limit, self._repeats, self._calendars = -1, False, False
        self.change(config)

    def change(self, config: Config) -> bool:
        """Guard by `config` from now on; return whether that is new. The counts remain."""
        before = self._repeats, self._calendars, self._limit
        self._repeats, self._calendars = (name in config.traps for name in ("repeats", "calendars"))
        self._limit = config.limit_by_shape
        part = self._limit // _UNWATCHED_PART if self._limit else _UNWATCHED
        self._unwatched = min(_UNWATCHED, part)
        return before != (self._repeats, self._calendars, self._limit)

    def admits(self, url: str, kind: Kind, via: str = "") -> bool:
        """Whether a new link of the page `via` is no trap; counts it either way."""
        if self._repeats and may_repeat(url) and (grows(url, via) or is_too_deep(url)):
            self.refused["repeats"] += 1
            return False
        if kind is not _PAGE or (variable := _site_of_variable(url)) is None:
            return True
        site = variable[1]
        if (count := self._taken.add(site)) <= self._unwatched:
            return True
        if count == self._unwatched + 1:
            self.report(site, site, count)
        limits = self._limits(url, site)
        for guard, key, most in limits:
            if self._taken[key] >= most:
                self.refused[guard] += 1
                return False
        for _, key, most in limits:
            step = min(_STEP, max(_LEAST_STEP, most // _STEP_PART))
            if not self._taken.add(key) % step:
                self.report(site, key, step)
        return True

    def _limits(self, url: str, site: str) -> list[tuple[str, str, int]]:
        """The limits for `url`: guard, the key that is counted, and the most of it."""
        limits = []
        if self._calendars and is_ahead(url, self._last_year):
            limits.append(("calendars", f"{site} ahead", _DATES_AHEAD))
        if self._limit:
            # Those that were not watched may all be of this shape.
            limits.append(("shapes", shape_of(url), self._limit - self._unwatched))
        return limits

    def refusing(self, url: str) -> Trapped | None:
        """The reason why a link to the page `url` would be refused now; None if it would not.

        Where parts of it repeat, only links of pages that do so as well are refused.
        """
        if self._repeats and is_too_deep(url):
            return Trapped("repeats", f"its path has more than {_SEGMENTS} parts (traps)")
        if self._repeats and repeated(url)[0] >= _REPEATS:
            why = "parts of it repeat: a link counts unless its page repeats them, too (traps)"
            return Trapped("repeats", why)
        variable = _site_of_variable(url)
        if variable is None:
            return None
        for guard, key, most in self._limits(url, variable[1]):
            if self._taken[key] < most:
                continue
            if guard == "shapes":
                many = f"its site has reached {self._limit} URLs of the shape {key}"
                return Trapped(guard, f"{many} (limitByShape)")
            many = f"its site has more than {most} URLs with dates after {self._last_year}"
            return Trapped(guard, f"{many} (traps)")
        return None

    # The state that is saved.

    def counts(self) -> dict[str, int]:
        """The counts that a later run continues with."""
        return self._taken.at_least(min(_LEAST_SAVED, max(2, self._limit // 2)))

    def count_from(self, counts: dict[str, int]) -> None:
        """Continue with the `counts` of an earlier run, or of another node; none decreases."""
        for key, count in counts.items():
            missing = int(count) - self._taken[str(key)]
            if missing > 0:
                self._taken.add(str(key), missing)
