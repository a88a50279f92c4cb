"""Questions saved and stale answers caused by a minimum TTL, in a simulated crawl of some days.

All caches see the same names at the same times; each has another minimum. There is no network
and no real clock: a day takes as long as its lookups.
"""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from experiments import names
from experiments.plots import plot
from experiments.report import Report, Table
from experiments.runs import say
from larbinpy.dns import NameCache

#: Minutes.
MINIMUMS = (0, 1, 5, 15, 30, 60, 240, 1440)
#: The same time for all names, as in crawlers that ignore TTLs (s).
FIXED = 1800.0

# TTLs of A records in seconds, and their shares. Up to an hour they are those of 6.3 million
# names seen by OpenDNS (F. Denis, https://00f.net/2012/05/10/distribution-of-dns-ttls/): 9.84 %
# at most 1 minute, 16.32 % 2, 39.88 % 5, 70.07 % an hour, most at the round values. The longer
# ones are a guess from its text: 4 hours and 1 day are common, more is rare.
TTLS = {
    0: 0.0016,
    60: 0.0968,
    120: 0.0648,
    300: 0.2356,
    600: 0.1510,
    3600: 0.1509,
    14400: 0.1700,
    86400: 0.1200,
    172800: 0.0093,
}

_DAY = 86400.0
# Assumed mean times until an address changes. Half of the names with a TTL of at most 5 minutes
# are spread over many machines by their name server, and their old addresses continue to serve.
# The other names move, and their old addresses are wrong afterwards.
_SPREAD_TTL = 300
_SPREAD_SHARE = 0.5
_SPREAD_TIME = 3600.0
_MOVE_TIME = 30 * _DAY

ABOUT = f"""\
A simulated crawl looks up names with Zipf popularity (exponent {names.EXPONENT}, drawn from
{names.HOSTS:,} hosts, each lookup independent of the last) at random times. The cache keeps an
address for its TTL, or for the minimum if that is longer; "30 for all" keeps every address for
30 minutes. The cache counts in minutes, so shorter times are a minute, too. A TTL of 0 is not
kept unless there is a minimum.

TTLs up to an hour are from OpenDNS (https://00f.net/2012/05/10/distribution-of-dns-ttls/); the
shares above an hour are assumed. The changes of addresses are assumed, too: half of the names
with a TTL of at most {_SPREAD_TTL} s are spread over many machines and change every
{_SPREAD_TIME / 3600:.0f} h on average (the old address still serves); all others move every
{_MOVE_TIME / _DAY:.0f} days on average. An answer from the cache is stale if the name server
would no longer give it."""


class Host:
    """The record of a host at its name server, as of the last lookup."""

    __slots__ = ("_asked_at", "_rate", "address", "spread", "ttl")

    def __init__(self, rng: random.Random, now: float) -> None:
        self.ttl = rng.choices(list(TTLS), weights=list(TTLS.values()))[0]
        self.spread = self.ttl <= _SPREAD_TTL and rng.random() < _SPREAD_SHARE
        self._rate = 1 / (_SPREAD_TIME if self.spread else _MOVE_TIME)
        self._asked_at = now
        #: A number that is raised with each change of the address.
        self.address = 0

    def advance(self, now: float, rng: random.Random) -> None:
        """Change the address at random (Poisson process); several changes count as one."""
        if rng.random() > math.exp((self._asked_at - now) * self._rate):
            self.address += 1
        self._asked_at = now


@dataclass(slots=True)
class Tried:
    """A cache with its policy, and its counts."""

    label: str
    #: TTL -> time for which the cache keeps the address, both in seconds.
    kept: Callable[[int], float]
    cache: NameCache
    wanted: int = 0
    asked: int = 0
    #: Stale answers from the cache, and those for hosts that moved.
    stale: int = 0
    moved: int = 0

    def look_up(self, name: str, host: Host, now: float) -> None:
        self.wanted += 1
        address = f"10.{host.address >> 16}.{host.address >> 8 & 255}.{host.address & 255}"
        known = self.cache.get(name, now)
        if known is None:
            self.asked += 1
            kept = self.kept(host.ttl)
            if kept:
                self.cache.put(name, (address,), kept, now)
        elif known.addresses != (address,):
            self.stale += 1
            self.moved += not host.spread


def run(out: Path, *, quick: bool, days: float, rate: float, size: int) -> str:
    """`rate` lookups a second for `days`, with caches of `size` names; returns the tables."""
    if quick:
        days = min(days, 0.1)
    count = round(days * _DAY * rate)
    tried = [Tried(label, kept, NameCache(size, 1000, _DAY)) for label, kept in _policies().items()]
    say(f"  {count:,} lookups in {len(tried)} caches")
    crawl(tried, names.zipf(count), rate)
    scale = f"{days:g} days with {rate:g} lookups a second, caches of {size:,} names."
    return _report(out, tried, f"{ABOUT}\n\n{scale}")


def _policies() -> dict[str, Callable[[int], float]]:
    minimums = {str(minutes): partial(max, minutes * 60.0) for minutes in MINIMUMS}
    return {**minimums, f"{FIXED / 60:.0f} for all": lambda _ttl: FIXED}


def crawl(tried: Iterable[Tried], numbers: Iterable[int], rate: float) -> None:
    """Look up the hosts `numbers` in all caches, `rate` a second on average."""
    rng = random.Random(2)
    hosts: dict[int, Host] = {}
    now = 0.0
    for number in numbers:
        now += rng.expovariate(rate)
        host = hosts.get(number)
        if host is None:
            host = hosts[number] = Host(rng, now)
        else:
            host.advance(now, rng)
        name = names.host(number)
        for one in tried:
            one.look_up(name, host, now)


def _report(out: Path, tried: list[Tried], about: str) -> str:
    report = Report(out, "ttl", about)
    report.table(_results(tried))
    ttls = Table("TTLs of the simulated records", "seconds", "share")
    for ttl, share in TTLS.items():
        ttls.add(ttl, f"{share:.2%}")
    report.table(ttls)
    plot(report.path(".png"), partial(_draw_questions, tried), partial(_draw_stale, tried))
    return report.close()


def _results(tried: list[Tried]) -> Table:
    table = Table(
        "Minimum TTL",
        "minutes",
        "lookups",
        "questions",
        "answered by the cache, %",
        "stale, % of all answers",
        "of hosts that moved, %",
    )
    for one in tried:
        shares = (_percent(one, part) for part in (one.wanted - one.asked, one.stale, one.moved))
        table.add(one.label, one.wanted, one.asked, *shares)
    return table


def _percent(one: Tried, part: int) -> float:
    return 100 * part / one.wanted


def _draw_questions(tried: list[Tried], axes: Axes) -> None:
    axes.bar([one.label for one in tried], [one.asked for one in tried])
    axes.set(xlabel="minimum TTL, minutes", ylabel="questions asked")


def _draw_stale(tried: list[Tried], axes: Axes) -> None:
    labels = [one.label for one in tried]
    axes.plot(labels, [_percent(one, one.stale) for one in tried], "o", label="all")
    axes.plot(labels, [_percent(one, one.moved) for one in tried], "s", label="hosts that moved")
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="minimum TTL, minutes", ylabel="stale, % of all answers")
    axes.legend()
