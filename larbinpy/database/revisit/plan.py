"""When a page is due next, so that the visits there are keep the most pages fresh.

`optimal` finds the intervals. A page with the change rate L that is visited f times a second is
fresh, which is to say equal to its copy, in the part F(L, f) = f/L * (1 - exp(-L/f)) of the time.
The optimum maximises the sum of F under a budget for the sum of f (Cho and Garcia-Molina,
"Effective page refresh policies for Web crawlers", ACM TODS 28(4), 2003). There, one visit more a
second gains the same for each page: the price. With r = L/f, the changes in an interval,

    dF/df = (1 - exp(-r) * (1 + r)) / L = price

A visit to a page with L >= 1/price gains less than the price however rare it is: the page would be
stale again too soon. Such pages are given up, and get the fewest visits allowed. Bounds of the
interval cut f off; as F is concave in f, the price stays the same for all pages within bounds.
Pages are counted in buckets of equal rates, so that the time does not depend on their number.

`updated` estimates the change rate of a page from what its visits found. Pages change as Poisson
processes, each with its own rate (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT
3(3), 2003; Brewington and Cybenko, "How dynamic is the Web?", 2000). A visit tells whether a page
changed since the visit before, not how often. So changes that are counted divided by the time that
passed is too low, for a page that changes fast by orders of magnitude. The maximum likelihood has
no closed form for irregular visits. Here it is approached by one step of expectation maximisation a
visit, on two numbers that a row of a table can hold.

The likelihood looks back from each visit. The time since the last change is exponential, and it is
cut off at the visit before:

- no change in the interval t: the time is longer than t. No change in t seconds.
- a change whose time is known: one change in the seconds since then (section 5 of the paper).
- a change at an unknown time: one change in as many seconds as are expected for a change within
  t, 1/rate - t/(exp(rate*t) - 1).

The usual step looks forward instead and counts rate*t/(1 - exp(-rate*t)) changes in t. It has the
same fixed point, but more of what it assumes comes from the estimate itself, so it moves slower.

`Trust` judges the changes that a site announces by the dates in its sitemaps and feeds. Many sites
date all their pages by the time of the request, or by the last change of a template. So each date
that says that a page has changed since its last visit is judged by the next one, and the dates of a
site count as long as few of them were false. Only such dates are judged, as nothing else is
concluded from one. A date that stays as it is while its page changes asks for no visit, and tells
no age.

Times are in seconds, rates in changes a second, budgets in visits a second. Dates are those of
`parse.announced`: ISO 8601 in UTC, to the second.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, Self

from larbinpy.page import timestamp

#: Weight of a visit relative to the one after it, so the estimate rests on the last dozen visits.
#: With 0.97, as in other work, simulated copies are fresher by 0.3 % while rates stay, and less
#: fresh by 1 % in a year in which they change.
DECAY = 0.85
#: Bounds of a rate: one change in 3,000 years, which only means never, and one a second.
LEAST, MOST = 1e-11, 1.0

_DAY = 86_400.0
#: Below this, a difference of nearly equal terms is replaced by its series.
_NEARLY_EQUAL = 1e-3


class Evidence(NamedTuple):
    """Findings of the visits to a page, of which older ones count less."""

    #: Changes.
    changes: float
    #: Seconds in which they were counted.
    exposure: float


class Prior(NamedTuple):
    """Rates of pages before they are known: a gamma distribution.

    The mean is changes / exposure. With few changes, below one, rates differ by orders of
    magnitude, and the first visits decide.
    """

    #: Shape of the distribution.
    changes: float
    #: Inverse of its scale, in seconds.
    exposure: float


#: A page without visits.
NEW = Evidence(0.0, 0.0)
#: A page about which nothing is known. Rates on the Web spread over five orders of magnitude. As
#: older visits fade and the prior does not, rates above one change in a few days come out too low;
#: in simulations that did better than a prior that fades, whose plans give up pages too soon.
WEB = Prior(0.5, 10 * _DAY)


def rate(evidence: Evidence, prior: Prior = WEB) -> float:
    """The estimated changes a second, between `LEAST` and `MOST`: the mean of the posterior."""
    exposure = evidence.exposure + prior.exposure
    estimate = (evidence.changes + prior.changes) / exposure if exposure > 0.0 else MOST
    return min(max(estimate, LEAST), MOST)


def updated(
    evidence: Evidence,
    interval: float,
    changed: bool,
    *,
    age: float | None = None,
    prior: Prior = WEB,
) -> Evidence:
    """The evidence after a visit `interval` seconds after the one before.

    If the time of the last change is known, `age` is the seconds from then to this visit; an age
    that contradicts `changed` is ignored. An interval that is no positive number of seconds, as
    after a clock was set back, teaches nothing.
    """
    if not 0.0 < interval < math.inf:
        return evidence
    seconds = interval
    if changed and age is not None and 0.0 <= age <= interval:
        seconds = age
    elif changed:
        seconds = interval * _expected_age(rate(evidence, prior) * interval)
    return Evidence(DECAY * evidence.changes + changed, DECAY * evidence.exposure + seconds)


def _expected_age(changes: float) -> float:
    """Expected time since the last change as a part of the interval, in which there was one.

    `changes` is rate times interval: from a half, if the page changes rarely, to 1/changes.
    """
    if changes < _NEARLY_EQUAL:
        return 0.5 - changes / 12.0
    if changes > -math.log(2.0**-53):
        return 1.0 / changes
    return 1.0 / changes - 1.0 / math.expm1(changes)


#: Buckets by factors of 2 ** (1/16), so a rate differs by 2.2 % at most from that of its bucket.
#: The optimum is flat: this costs 5e-6 of the freshness.
_WIDTH = math.log(2.0) / 16
#: Relative precision of a price and of an interval.
_PRECISE = 1e-9
#: Below this, a difference of nearly equal terms is replaced by its series.
_SMALL = 1e-6


def freshness(rate: float, interval: float) -> float:
    """Part of the time in which a page is equal to its copy, if visited each `interval` seconds."""
    changes = rate * interval
    return -math.expm1(-changes) / changes if changes > 0.0 else 1.0


def bucket(rate: float) -> int:
    """The number of the bucket of `rate`; larger numbers are of faster pages."""
    return round(math.log(min(max(rate, LEAST), MOST)) / _WIDTH)


def rate_of(bucket: int) -> float:
    """The rate in the middle of a bucket."""
    return math.exp(bucket * _WIDTH)


class Plan:
    """Intervals for all rates, at one price."""

    def __init__(self, low: float, high: float, part: float, shortest: float, longest: float):
        """Made by `optimal`. Mixes the visits at two neighbouring prices, `part` of those at `low`.

        The visits of a bucket that is nearly given up fall steeply with the price, from one
        floating-point number to the next even, so that no single price meets the budget.
        """
        self._low = low
        self._high = high
        self._part = part
        self._shortest = shortest
        self._longest = longest
        self._intervals: dict[int, float] = {}

    def interval(self, rate: float) -> float:
        """Seconds from one visit to the next, for a page that changes at `rate`."""
        number = bucket(rate)
        found = self._intervals.get(number)
        if found is None:
            found = self._intervals[number] = self._solve(rate_of(number))
        return found

    def gives_up(self, rate: float) -> bool:
        """Whether a page changes too fast to be worth a visit, even when it is known to be stale.

        1/rate is the time for which such a visit makes it fresh.
        """
        return rate_of(bucket(rate)) * self._high >= 1.0

    def visits(self, pages: Mapping[int, int]) -> float:
        """Visits a second to `pages`, counted by bucket.

        More than the budget, if the longest interval allows no fewer; less, if the shortest allows
        no more.
        """
        return sum(count / self.interval(rate_of(number)) for number, count in pages.items())

    def _solve(self, rate: float) -> float:
        at_low = _interval(rate, self._low, self._shortest, self._longest)
        at_high = _interval(rate, self._high, self._shortest, self._longest)
        if at_low == at_high:
            return at_low
        return 1.0 / (self._part / at_low + (1.0 - self._part) / at_high)


def optimal(pages: Mapping[int, int], budget: float, shortest: float, longest: float) -> Plan:
    """The optimal plan for `pages`, counted by bucket, and `budget` visits a second.

    No interval is less than `shortest` or more than `longest` seconds. A budget for more visits
    than that leaves some unused; one for fewer visits is exceeded (see `Plan.visits`).
    """
    assert 0.0 < shortest <= longest < math.inf
    counts = [(rate_of(number), count) for number, count in pages.items() if count > 0]

    def visits(price: float) -> float:
        return sum(count / _interval(rate, price, shortest, longest) for rate, count in counts)

    at_low, at_high = (sum(count for _, count in counts) / each for each in (shortest, longest))
    if budget >= at_low:
        return Plan(0.0, 0.0, 1.0, shortest, longest)
    # At the first price, all pages have the shortest interval, at the last the longest.
    low = min(_gain(rate, shortest) for rate, _ in counts) * (1.0 - _PRECISE)
    high = max(_gain(rate, longest) for rate, _ in counts) * (1.0 + _PRECISE)
    if budget <= at_high:
        return Plan(high, high, 1.0, shortest, longest)
    while high > low * (1.0 + _PRECISE):
        middle = math.sqrt(low) * math.sqrt(high)
        at_middle = visits(middle)
        if at_middle >= budget:
            low, at_low = middle, at_middle
        else:
            high, at_high = middle, at_middle
    part = (budget - at_high) / (at_low - at_high)
    return Plan(low, high, part, shortest, longest)


def _gain(rate: float, interval: float) -> float:
    """Freshness gained by one visit more a second, for a page visited each `interval` seconds."""
    changes = rate * interval
    if changes < _SMALL:
        return changes * interval / 2.0
    return -math.expm1(math.log1p(changes) - changes) / rate


def _interval(rate: float, price: float, shortest: float, longest: float) -> float:
    """The interval within bounds at which one visit more a second gains `price`."""
    share = price * rate
    if share >= 1.0:
        return longest
    return min(max(_changes(share) / rate, shortest), longest)


def _changes(share: float) -> float:
    """The r > 0 for which 1 - exp(-r) * (1 + r) is `share`, which is less than 1.

    The equation is r - log(1 + r) = d with d = -log(1 - share), a branch of Lambert's W. Newton's
    steps begin at the upper bound sqrt(2d) + d (Chatzigeorgiou, "Bounds on the Lambert function",
    IEEE Communications Letters 17(8), 2013) and, as the left side is convex, fall to the root.
    """
    depth = -math.log1p(-share)
    root = math.sqrt(2.0 * depth)
    if share < _SMALL:
        return root * (1.0 + root / 3.0)
    found = root + depth
    while True:
        step = (found - math.log1p(found) - depth) * (1.0 + found) / found
        found -= step
        if step <= _PRECISE * found:
            return found


#: Without a budget each page is visited once in this time (s), on average.
_WEEK = 7 * _DAY
#: A failed visit is repeated after this part of the time since the last one that succeeded, so
#: that a site that stays away is asked more and more rarely.
_BACK_OFF = 0.5


@dataclass(slots=True, frozen=True)
class ScheduleSettings:
    """Bounds of the time between two visits, in seconds, and visits a day; 0 for no limit."""

    shortest: float = 3600.0
    longest: float = 90 * _DAY
    budget: int = 0

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Self:
        """The settings among the arguments of a process."""
        given = dict(each.removeprefix(_OPTION).split("=") for each in arguments if _OPTION in each)
        return cls(**{name: cls.__annotations__[name](value) for name, value in given.items()})

    def arguments(self) -> list[str]:
        """The arguments of a process with these settings."""
        return [f"{_OPTION}{each.name}={getattr(self, each.name)}" for each in fields(self)]


_OPTION = "--schedule-"


class Schedule:
    """Intervals between visits, by a plan for all pages of a database.

    Times are ISO 8601, to the second.
    """

    def __init__(self, settings: ScheduleSettings = ScheduleSettings()) -> None:
        self._settings = settings
        self.plan(0, ())

    def plan(self, new: int, visited: Iterable[Evidence]) -> None:
        """Make the plan for `new` pages, visited once, and those that were `visited` again."""
        settings = self._settings
        pages = Counter(bucket(rate(each)) for each in visited)
        pages[bucket(rate(NEW))] += new
        a_second = pages.total() / _WEEK
        if not pages.total():
            # A crawl that begins: a budget would be large for its first pages.
            pages, a_second = Counter({bucket(rate(NEW)): 1}), 1 / _WEEK
        elif settings.budget:
            a_second = settings.budget / _DAY
        self._plan: Plan = optimal(pages, a_second, settings.shortest, settings.longest)

    def after(self, visit: str, evidence: Evidence) -> str:
        """When a page with this `evidence` is due after a `visit`."""
        return _later(visit, self._plan.interval(rate(evidence)))

    def after_announcement(
        self, visit: str, evidence: Evidence, waited: float, *, news: bool
    ) -> str:
        """When a page is due after a `visit` that announces changes of others, in a site's name.

        `waited` is the time since the visit before, in seconds. The plan counts what one page
        gains, so it gives up those that change too fast. Such a page is due a day after its last
        `news`, and then after twice the time.
        """
        settings = self._settings
        wait = min(_DAY if news else 2 * waited, self._plan.interval(rate(evidence)))
        return _later(visit, min(max(wait, settings.shortest), settings.longest))

    def is_worth_it(self, evidence: Evidence) -> bool:
        """Whether a page with this `evidence` that has changed is worth a visit at once."""
        return not self._plan.gives_up(rate(evidence))

    def after_failure(self, visit: str, last: str) -> str:
        """When a page is due after a `visit` that failed; the `last` one did not."""
        wait = _BACK_OFF * seconds_between(last, visit)
        return _later(visit, min(max(wait, self._settings.shortest), self._settings.longest))

    def to_confirm(self, visit: str, missing: str) -> str:
        """When a page is due that was first `missing` then: a day after that it may leave."""
        confirmed = _later(missing, _DAY)
        return confirmed if confirmed > visit else _later(visit, self._settings.shortest)

    def at_last(self, visit: str) -> str:
        """When a page is due that is gone: it may come back."""
        return _later(visit, self._settings.longest)


def seconds_between(one: str, other: str) -> float:
    """Seconds from `one` time to the `other`."""
    return (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()


# Most pages of a crawl have been visited once, and many in the same second.
@lru_cache(1 << 8)
def _later(time: str, seconds: float) -> str:
    return timestamp(math.ceil(datetime.fromisoformat(time).timestamp() + seconds))


#: False dates that a site may have for each true one, and without any.
_SHARE, _SPARED = 0.25, 1
#: The number of judged dates from which older ones count half, so that a site can change its ways.
_MOST = 100


class Trust(NamedTuple):
    """How often a site's dates said truly, and falsely, that a page had changed."""

    agreed: int = 0
    contradicted: int = 0

    @property
    def holds(self) -> bool:
        """Whether the site's dates count."""
        return self.contradicted <= _SPARED + _SHARE * self.agreed

    def after(self, *, changed: bool) -> "Trust":
        """The trust after one more date that said that a page had changed."""
        if self.agreed + self.contradicted >= _MOST:
            return Trust(self.agreed // 2, self.contradicted // 2).after(changed=changed)
        return Trust(self.agreed + changed, self.contradicted + (not changed))


def says_changed(date: str, since: str, until: str) -> bool:
    """Whether `date` says that a page has changed after `since`, by `until`.

    A date without a time says so only from the next day on. An empty one says nothing.
    """
    return since < date <= until


def moment(date: str) -> str:
    """The time of a date; the beginning of the day, if that is all it has."""
    return date if "T" in date else f"{date}T00:00:00Z"


def age_of_change(date: str, since: str, visit: str) -> float | None:
    """Seconds from the last change of a page to its `visit`; None if `date` does not tell.

    `since` is the visit before.
    """
    if not says_changed(date, since, visit):
        return None
    return seconds_between(moment(date), visit)
