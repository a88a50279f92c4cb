"""Schedules of revisits: when a page is visited next. Times are in seconds, rates a second."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from larbinpy.database.revisit.plan import NEW, Evidence, bucket, optimal, rate, updated

_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0


class Schedule(Protocol):
    """Intervals for pages that are known by number. Only two of them look at the true rates."""

    def learn(self, rates: Sequence[float]) -> bool:
        """Hear the true rates, at the start and when they change; whether they matter."""
        ...

    def first(self, page: int) -> float:
        """The interval after the first visit."""
        ...

    def next(self, page: int, interval: float, changed: bool, now: float) -> float:
        """The interval after a visit `interval` after the one before."""
        ...


class Uniform:
    """The same interval for all pages."""

    def __init__(self, pages: int, budget: float) -> None:
        self._interval = pages / budget

    def learn(self, rates: Sequence[float]) -> bool:
        return False

    def first(self, page: int) -> float:
        return self._interval

    def next(self, page: int, interval: float, changed: bool, now: float) -> float:
        return self._interval


class Proportional:
    """As many visits as changes, from the true rates."""

    def __init__(self, pages: int, budget: float) -> None:
        self._budget = budget
        self._rates: Sequence[float] = ()
        self._sum = 0.0

    def learn(self, rates: Sequence[float]) -> bool:
        self._rates, self._sum = rates, sum(rates)
        return True

    def first(self, page: int) -> float:
        return self._sum / (self._rates[page] * self._budget)

    def next(self, page: int, interval: float, changed: bool, now: float) -> float:
        return self.first(page)


class Nutch:
    """AdaptiveFetchSchedule of Apache Nutch 1.20 with its defaults.

    The interval grows and shrinks by factors; then the next visit moves towards the change.
    """

    def __init__(self, pages: int, budget: float) -> None:
        self._intervals = [pages / budget] * pages
        self._modified = [0.0] * pages

    def learn(self, rates: Sequence[float]) -> bool:
        return False

    def first(self, page: int) -> float:
        return self._intervals[page]

    def next(self, page: int, interval: float, changed: bool, now: float) -> float:
        wanted = self._intervals[page]
        if changed:
            wanted *= 1.0 - 0.2
            self._modified[page] = now
        else:
            wanted *= 1.0 + 0.4
        since = now - self._modified[page]
        wanted = min(max(wanted, since, _MINUTE), 365 * _DAY)
        self._intervals[page] = wanted
        return wanted - min(0.3 * since, 365 * _DAY)


class StormCrawler:
    """AdaptiveScheduler of StormCrawler with its defaults."""

    def __init__(self, pages: int, budget: float) -> None:
        self._intervals = [pages / budget] * pages

    def learn(self, rates: Sequence[float]) -> bool:
        return False

    def first(self, page: int) -> float:
        return self._intervals[page]

    def next(self, page: int, interval: float, changed: bool, now: float) -> float:
        wanted = self._intervals[page]
        wanted = (wanted + _HOUR) / 2 if changed else min(wanted * 1.5, 14 * _DAY)
        self._intervals[page] = wanted
        return wanted


class Ours:
    """larbinpy's estimator and plan, made again every other day, as pages become known."""

    def __init__(self, pages: int, budget: float) -> None:
        self._budget = budget
        self._evidence = [NEW] * pages
        self._buckets = [bucket(rate(NEW))] * pages
        self._counts = Counter(self._buckets)
        self._make(0.0)

    def learn(self, rates: Sequence[float]) -> bool:
        return False

    def first(self, page: int) -> float:
        return self._plan.interval(rate(NEW))

    def next(self, page: int, interval: float, changed: bool, now: float) -> float:
        evidence = self._evidence[page] = self._updated(page, interval, changed)
        estimate = rate(evidence)
        number = bucket(estimate)
        if number != self._buckets[page]:
            self._counts[self._buckets[page]] -= 1
            self._counts[number] += 1
            self._buckets[page] = number
        if now >= self._replan:
            self._make(now)
        return self._plan.interval(estimate)

    def _updated(self, page: int, interval: float, changed: bool) -> Evidence:
        return updated(self._evidence[page], interval, changed)

    def _make(self, now: float) -> None:
        self._plan = optimal(self._counts, self._budget, _HOUR, 90 * _DAY)
        self._replan = now + 2 * _DAY


class Announced(Ours):
    """larbinpy's, of a site whose sitemap says truly when each page has changed.

    The sitemap is read once a day.
    """

    reads = _DAY

    def __init__(self, pages: int, budget: float) -> None:
        super().__init__(pages, budget)
        self._age: float | None = None

    def is_worth_it(self, page: int) -> bool:
        """Whether a page that has changed is visited at once."""
        return not self._plan.gives_up(rate(self._evidence[page]))

    def hear(self, age: float | None) -> None:
        """The page that is visited next last changed `age` seconds before; None: not known."""
        self._age = age

    def _updated(self, page: int, interval: float, changed: bool) -> Evidence:
        return updated(self._evidence[page], interval, changed, age=self._age)


class Omniscient:
    """The optimal intervals for the true rates, without bounds."""

    def __init__(self, pages: int, budget: float) -> None:
        self._budget = budget
        self._rates: Sequence[float] = ()

    def learn(self, rates: Sequence[float]) -> bool:
        self._rates = rates
        self._plan = optimal(Counter(map(bucket, rates)), self._budget, _MINUTE, 1e6 * _DAY)
        return True

    def first(self, page: int) -> float:
        return self._plan.interval(self._rates[page])

    def next(self, page: int, interval: float, changed: bool, now: float) -> float:
        return self.first(page)
