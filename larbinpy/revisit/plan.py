"""Intervals that keep the most pages fresh with the visits there are.

A page with the change rate L that is visited f times a second is fresh, which is to say equal to
its copy, in the part F(L, f) = f/L * (1 - exp(-L/f)) of the time. The optimum maximises the sum of
F under a budget for the sum of f (Cho and Garcia-Molina, "Effective page refresh policies for Web
crawlers", ACM TODS 28(4), 2003). There, one visit more a second gains the same for each page: the
price. With r = L/f, the changes in an interval,

    dF/df = (1 - exp(-r) * (1 + r)) / L = price

A visit to a page with L >= 1/price gains less than the price however rare it is: the page would be
stale again too soon. Such pages are given up, and get the fewest visits allowed. Bounds of the
interval cut f off; as F is concave in f, the price stays the same for all pages within bounds.

Pages are counted in buckets of equal rates, so that the time does not depend on their number.
Times are in seconds, rates in changes a second, budgets in visits a second.
"""

import math
from collections.abc import Mapping

from larbinpy.revisit.rate import LEAST, MOST

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
