"""When a page is due next: after a visit, and after one that failed."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import Self

from larbinpy.page import timestamp
from larbinpy.revisit.plan import Plan, bucket, optimal
from larbinpy.revisit.rate import NEW, Evidence, rate

_DAY = 86_400.0
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

    def __repr__(self) -> str:
        return f"<Schedule {self._settings}>"

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
