"""Larbin's study repeated: twenty sites with Larbin's settings and with larbinpy's.

Both crawls see the same web, keep the same waits, take the same time and run in the same
engine. They differ in the sequencer, which decides when a URL goes to its site.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from experiments import larbin
from experiments.crawls import Plan, Result, crawl
from experiments.plots import plot
from experiments.report import Report, Table, verdict
from experiments.runs import say, warn_of_load
from experiments.simulated import Simulated, simulate
from experiments.siteserver import Serving, serving
from experiments.sitesweb import PAGES, SitesWeb

#: Gains reported by the study.
PAGES_GAIN = 1.35
LINKS_GAIN = 1.2

_ROWS = 20
_HOUR = 3600.0
#: maxUrlsBySite of larbinpy, by default, and of the original.
_MANY = 10_000
_FEW = larbin.MAX_URLS_BY_SITE
#: Wait in the study (s).
_STUDY_WAIT = 30.0

ABOUT = f"""\
"Original" is a model of Larbin's sequencer with the settings at the start of the study: {_FEW}
URLs of a site in memory, a limit of {larbin.LIMIT}, no retries. URLs of a full site are put back
into a queue that is read every {larbin.PERIOD:.0f} s. "Ours" is larbinpy with its defaults.
`scripts/experiments/larbin.py` describes the model. Everything else is the same: web, time, wait
between two requests to an address, fetching, parsing, robots.txt."""

SIMULATED = f"""\
The gain depends on the wait. In the original, a site is idle if its {_FEW} URLs are fetched
before the queue is read again and the fetched pages link to no new URLs. So there is a gain
once most of a site is known, and only if the wait between two requests is shorter than
{larbin.PERIOD:.0f} / {_FEW} = {larbin.PERIOD / _FEW:.1f} s. With longer waits, such as the study's
{_STUDY_WAIT:.0f} s, these settings cost Larbin nothing.

The same crawls in simulated time (the real frontier without a network) show this. The first row
is the pair above. In the second row Larbin's period is shorter in proportion to the wait. The
others have longer waits with as many requests, and larger sites. "Distinct URLs" counts the
URLs found: ours fetches in the order of discovery, the original prefers new URLs, so it finds
more with the same number of pages."""


@dataclass(frozen=True)
class Case:
    """A pair of simulated crawls."""

    pages: tuple[int, int]
    wait: float
    seconds: float
    #: Seconds from one reading of the original's wait queue to the next.
    period: float = larbin.PERIOD

    def __str__(self) -> str:
        most, least = self.pages
        return (
            f"{self.seconds:,.0f} s, {self.wait:g} s between requests, sites of {least:,} to "
            f"{most:,} pages, queue read every {self.period:g} s"
        )


def run(out: Path, *, quick: bool, seconds: float, wait: float) -> str:
    """Run both crawls for `seconds` each, and the simulated ones; returns the tables."""
    case = Case(PAGES, wait, seconds)
    if quick:
        case = Case((300, 100), min(wait, 0.1), min(seconds, 12.0), period=6.0)
    warn_of_load()
    results = _crawl_both(case)
    report = Report(out, "study", ABOUT)
    report.table(_totals(results, f"Twenty sites, {case}"))
    if not quick:
        report.note("\n".join(_verdicts(results)))
    report.note(SIMULATED)
    report.table(_simulated([case] if quick else _cases(case)))
    report.table(_over_time(results))
    pictures = [partial(_draw, results, number, name) for number, name in enumerate(_COUNTED)]
    plot(report.path(".png"), *pictures)
    return report.close()


def _crawl_both(case: Case) -> dict[str, Result]:
    sites = Serving(case.pages)
    with serving(sites) as (port, _, _):
        seeds = [sites.spelling(port).url(place) for place in sites.web.fronts()]
        ours = Plan(seeds, case.seconds, case.wait, _MANY)
        original = replace(
            ours,
            max_urls_by_site=_FEW,
            retries=0,
            larbin_period=case.period,
        )
        return {"ours": _measure("ours", ours), "original": _measure("original", original)}


#: The values of a sample, in order.
_COUNTED = ("pages", "links", "distinct URLs")


def _measure(name: str, plan: Plan) -> Result:
    say(f"  {name}: {plan.seconds:g} s")
    result = crawl(plan)
    say(f"  {name}: {result.pages:,} pages, {result.links:,} links, {result.failed} failed")
    return result


def _totals(results: dict[str, Result], title: str) -> Table:
    table = Table(title, "", *results, "factor")
    ours, original = results.values()
    for number, name in enumerate(_COUNTED):
        mine, theirs = ours.samples[-1][number], original.samples[-1][number]
        table.add(name, mine, theirs, f"{mine / theirs:.2f}x")
    table.add("failed", ours.failed, original.failed, "")
    return table


def _verdicts(results: dict[str, Result]) -> list[str]:
    ours, original = results.values()
    bounds = (
        (PAGES_GAIN, "pages", ours.pages / original.pages),
        (LINKS_GAIN, "links", ours.links / original.links),
    )
    return [
        verdict(factor >= bound, f"at least {bound}x the {name}: {factor:.2f}x")
        for bound, name, factor in bounds
    ]


def _cases(measured: Case) -> list[Case]:
    """The measured case, then those that `SIMULATED` describes."""
    requests = measured.seconds / measured.wait
    waits = [
        Case(measured.pages, wait, requests * wait) for wait in (1.0, 2.0, 5.0, 10.0, _STUDY_WAIT)
    ]
    faster = replace(measured, period=larbin.PERIOD * measured.wait / _STUDY_WAIT)
    larger = replace(measured, pages=(3 * measured.pages[0], 3 * measured.pages[1]))
    return [measured, faster, *waits, larger, replace(larger, seconds=3 * measured.seconds)]


def _simulated(cases: list[Case]) -> Table:
    table = Table(
        "Simulated",
        "wait, s",
        "queue read every, s",
        "hours",
        "pages of a site",
        "pages, ours",
        "original",
        "factor",
        "links",
        "distinct URLs",
    )
    for case in cases:
        say(f"  simulated: {case}")
        ours, original = _pair(case)
        table.add(
            case.wait,
            case.period,
            case.seconds / _HOUR,
            f"{case.pages[1]:,} - {case.pages[0]:,}",
            ours.pages,
            original.pages,
            f"{ours.pages / original.pages:.2f}x",
            f"{ours.links / original.links:.2f}x",
            f"{ours.urls / original.urls:.2f}x",
        )
    return table


def _pair(case: Case) -> tuple[Simulated, Simulated]:
    crawl = partial(simulate, SitesWeb(pages=case.pages), case.seconds, wait_duration=case.wait)
    original = crawl(max_urls_by_site=_FEW, larbin_period=case.period)
    return crawl(max_urls_by_site=_MANY), original


def _over_time(results: dict[str, Result]) -> Table:
    columns = [f"{name}, {who}" for name in _COUNTED for who in results]
    table = Table("Over time", "seconds", *columns)
    last = min(len(result.samples) for result in results.values()) - 1
    for second in sorted({last * row // _ROWS for row in range(1, _ROWS + 1)}):
        samples = [result.samples[second] for result in results.values()]
        table.add(second, *(s[number] for number in range(len(_COUNTED)) for s in samples))
    return table


def _draw(results: dict[str, Result], number: int, name: str, axes: Axes) -> None:
    for who, result in results.items():
        axes.plot([sample[number] for sample in result.samples], label=who)
    axes.set(xlabel="seconds", ylabel=name)
    axes.legend()
