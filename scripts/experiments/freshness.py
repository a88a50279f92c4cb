"""Freshness of copies over simulated time: pages change, a schedule says which is visited next."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from random import Random

from experiments.schedules import Announced, Schedule


@dataclass(frozen=True)
class Course:
    """Freshness over time: the part of the pages that equals its copy, as a mean of each slice."""

    slices: tuple[float, ...]
    #: Part of the visits that were made. The others were left, as no page was due.
    used: float

    @property
    def mean(self) -> float:
        return sum(self.slices) / len(self.slices)


def simulate(
    schedule: Schedule,
    rates: Sequence[float],
    budget: float,
    seconds: float,
    *,
    later: Sequence[float] | None = None,
    slices: int = 52,
    seed: int = 1,
) -> Course:
    """Visit pages that change at `rates`, and from half of the time on at `later`, if given.

    A first crawl has just ended: all copies are fresh. There are `budget` visits a second, in
    equal distances. Each goes to the page that is due first. If none is due before the next visit,
    it is left: a visit ahead of time would distort what a schedule learns. The first visits are
    spread over the intervals at random. Reading a sitemap costs no visit.
    """
    return _Simulation(schedule, rates, budget, seconds, slices, Random(seed)).run(later)


class _Simulation:
    """The copies of the pages.

    Only the first change after a visit makes a difference. It is as far ahead of the visit as it is
    of any other time, so it is drawn at the visit, and drawn again if the rate changes before.
    """

    def __init__(
        self,
        schedule: Schedule,
        rates: Sequence[float],
        budget: float,
        seconds: float,
        slices: int,
        random: Random,
    ) -> None:
        self._schedule = schedule
        self._rates = rates
        self._budget = budget
        self._end = seconds
        self._random = random
        self._visited = [0.0] * len(rates)
        self._stale = [random.expovariate(rate) for rate in rates]
        self._fresh = [0.0] * slices
        self._made = 0
        self._announced = schedule if isinstance(schedule, Announced) else None
        self._read = 0.0
        schedule.learn(rates)
        self._due = [(schedule.first(p) * random.random(), p) for p in range(len(rates))]
        heapify(self._due)

    def run(self, later: Sequence[float] | None) -> Course:
        visits = int(self._end * self._budget)
        for number in range(1, visits + 1):
            now = number / self._budget
            if later is not None and now >= self._end / 2:
                self._change(later, now)
                later = None
            if self._announced is not None and now >= self._read + self._announced.reads:
                self._read_sitemap(self._announced, now)
            if self._due[0][0] <= now + 1.0 / self._budget:
                self._visit(now)
        for page in range(len(self._rates)):
            self._count(page, self._end)
        whole = self._end / len(self._fresh) * len(self._rates)
        return Course(tuple(each / whole for each in self._fresh), self._made / visits)

    def _visit(self, now: float) -> None:
        page = self._due[0][1]
        self._made += 1
        self._count(page, now)
        interval = now - self._visited[page]
        changed = self._stale[page] <= now
        if self._announced is not None:
            self._announced.hear(self._age(page, now) if changed else None)
        self._visited[page] = now
        self._stale[page] = now + self._random.expovariate(self._rates[page])
        then = now + self._schedule.next(page, interval, changed, now)
        heapreplace(self._due, (then, page))

    def _read_sitemap(self, schedule: Announced, now: float) -> None:
        """Make the pages due that have changed."""
        self._read = now
        self._due = [
            (min(due, self._stale[page]), page)
            if self._stale[page] <= now and schedule.is_worth_it(page)
            else (due, page)
            for due, page in self._due
        ]
        heapify(self._due)

    def _age(self, page: int, now: float) -> float:
        """The time since the last change of a page, not the first one after its last visit."""
        return min(self._random.expovariate(self._rates[page]), now - self._stale[page])

    def _count(self, page: int, now: float) -> None:
        """Add the time for which the copy was fresh since the visit."""
        begin, end = self._visited[page], min(self._stale[page], now)
        length = self._end / len(self._fresh)
        number = int(begin / length)
        while begin < end and number < len(self._fresh):
            until = min(end, (number + 1) * length)
            self._fresh[number] += until - begin
            begin, number = until, number + 1

    def _change(self, rates: Sequence[float], now: float) -> None:
        self._rates = rates
        for page, rate in enumerate(rates):
            if self._stale[page] > now:
                self._stale[page] = now + self._random.expovariate(rate)
        if self._schedule.learn(rates):
            first = self._schedule.first
            self._due = [(v + first(page), page) for page, v in enumerate(self._visited)]
            heapify(self._due)
