"""Change rates of pages, drawn from distributions that were measured on the Web.

All three are mixtures of Poisson processes: a page changes at its own rate, in changes a second.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

DAY = 86_400.0

#: Days between the changes of a page, and per cent of the pages: Cho and Garcia-Molina watched
#: 270 sites daily for four months ("The evolution of the Web and implications for an incremental
#: crawler", VLDB 2000), and computed with these five groups ("Effective page refresh policies for
#: Web crawlers", ACM TODS 28(4), 2003). Visits every 30 days gave them a freshness of 0.57 if
#: uniform, 0.12 if proportional and 0.62 at best.
GROUPS = {1.0: 23, 7.0: 15, 30.0: 16, 120.0: 16, 365.0: 30}
#: Within a group, the logarithms of the rates have this standard deviation: a factor of two.
_SPREAD = math.log(2.0)
#: Days between changes follow this Weibull distribution, fitted to two million pages that a
#: notification service watched for seven months (Brewington and Cybenko, "How dynamic is the
#: Web?", WWW9, 2000).
_WEIBULL_DAYS, _WEIBULL_SHAPE = 152.2, 1.4
#: A log-normal distribution that no study published, wider than the groups. A third of the pages
#: change within a week of the visit, as in Fetterly et al., "A large-scale study of the evolution
#: of Web pages", WWW 2003.
_MEDIAN_DAYS, _SIGMA = 30.0, 2.2


@dataclass(frozen=True)
class Web:
    """A distribution of change rates."""

    name: str
    draw: Callable[[Random], float]

    def rates(self, count: int, seed: int) -> list[float]:
        random = Random(f"{self.name} {seed}")
        return [self.draw(random) for _ in range(count)]


def _of_groups(random: Random) -> float:
    days = random.choices(tuple(GROUPS), tuple(GROUPS.values()))[0]
    return math.exp(random.gauss(0.0, _SPREAD)) / (days * DAY)


def _weibull(random: Random) -> float:
    return 1.0 / (random.weibullvariate(_WEIBULL_DAYS, _WEIBULL_SHAPE) * DAY)


def _log_normal(random: Random) -> float:
    return math.exp(random.gauss(0.0, _SIGMA)) / (_MEDIAN_DAYS * DAY)


FIVE_GROUPS = Web("five groups", _of_groups)
WEIBULL = Web("Weibull", _weibull)
LOG_NORMAL = Web("log-normal", _log_normal)
WEBS = (LOG_NORMAL, FIVE_GROUPS, WEIBULL)
