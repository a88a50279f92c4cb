"""Schedules of revisits compared: how many copies are fresh, with the same number of visits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from matplotlib.axes import Axes

from experiments.changerates import DAY, LOG_NORMAL, WEBS, Web
from experiments.freshness import Course, simulate
from experiments.plots import plot
from experiments.report import Report, Table, verdict
from experiments.runs import say
from experiments.schedules import (
    Announced,
    Nutch,
    Omniscient,
    Ours,
    Proportional,
    Schedule,
    StormCrawler,
    Uniform,
)

#: Makes a schedule for a number of pages and a budget in visits a second.
Maker = Callable[[int, float], Schedule]
SCHEDULES: dict[str, Maker] = {
    "omniscient": Omniscient,
    "larbinpy, true dates": Announced,
    "larbinpy": Ours,
    "StormCrawler": StormCrawler,
    "uniform": Uniform,
    "Nutch": Nutch,
    "proportional": Proportional,
}
#: Budgets: days for one visit a page. All bounds are for the second.
_BUDGETS = (2.0, 7.0, 14.0, 30.0)
_BUDGET = 7.0
#: Part of the omniscient schedule's freshness, and leads over others in a simulation before this.
_LEAST = 0.975
_LEADS = {"uniform": 0.781 - 0.757, "Nutch": 0.781 - 0.703, "StormCrawler": 0.781 - 0.777}

ABOUT = """\
All schedules get the same number of visits, and pages change at random at rates of their own.
Freshness is the part of the pages that equals its copy, as a mean over the whole time, which
includes the time in which a schedule learns. `scripts/experiments/changerates.py` has the sources
of the rates, `schedules.py` those of the schedules, and `freshness.py` the rules. "Omniscient" and
"proportional" know the true rates, the first one also at the moment when they change. With
"true dates" a sitemap, read once a day, says when each page changed; the others have none. The
estimator was tuned on the log-normal rates and the five groups, in smaller runs."""


@dataclass(frozen=True)
class Case:
    """Pages and visits."""

    web: Web
    pages: int
    seconds: float
    #: Days for one visit a page.
    days: float
    #: Whether each page gets another rate half way.
    changes: bool

    def run(self, maker: Maker, seed: int) -> Course:
        budget = self.pages / (self.days * DAY)
        rates = self.web.rates(self.pages, 2 * seed)
        later = self.web.rates(self.pages, 2 * seed + 1) if self.changes else None
        schedule = maker(self.pages, budget)
        return simulate(schedule, rates, budget, self.seconds, later=later, seed=seed)


def run(out: Path, *, quick: bool, pages: int, days: int, seeds: int) -> str:
    """Simulate all cases; returns the tables."""
    if quick:
        pages, seeds = 200, 1
    cases = [
        Case(web, pages, days * DAY, budget, changes)
        for web, changes, budget in product(WEBS, (False, True), _BUDGETS)
        if budget == _BUDGET or not changes
    ]
    courses = {case: _measure(case, seeds) for case in cases}
    report = Report(out, "revisit", ABOUT)
    title = f"Freshness, means of {seeds} runs with {pages:,} pages over {days} days"
    table = Table(title, "rates", "one visit in", "change half way", *SCHEDULES, "larbinpy's part")
    for case, found in courses.items():
        means = {name: _mean(course.mean for course in found[name]) for name in SCHEDULES}
        shown = (f"{means[name]:.3f}" for name in SCHEDULES)
        part = f"{means['larbinpy'] / means['omniscient']:.3f}"
        half = "yes" if case.changes else "no"
        table.add(case.web.name, f"{case.days:g} days", half, *shown, part)
        if case.web is LOG_NORMAL and case.days == _BUDGET:
            report.note("\n".join(_verdicts(means, half)))
    report.table(table)
    measured = {case: found for case, found in courses.items() if case.web is LOG_NORMAL}
    plot(report.path(".png"), partial(_draw_time, measured), partial(_draw_budgets, measured))
    return report.close()


def _measure(case: Case, seeds: int) -> dict[str, list[Course]]:
    say(f"  {case.web.name}, one visit in {case.days:g} days, change half way: {case.changes}")
    return {
        name: [case.run(maker, seed) for seed in range(seeds)] for name, maker in SCHEDULES.items()
    }


def _verdicts(means: dict[str, float], half: str) -> list[str]:
    ours = means["larbinpy"]
    part = ours / means["omniscient"]
    about = f"change half way: {half}; "
    return [
        verdict(part >= _LEAST, f"{about}at least {_LEAST} of the omniscient's: {part:.4f}"),
        *(
            verdict(ours - means[name] >= lead, f"{about}lead over {name} {ours - means[name]:.3f}")
            for name, lead in _LEADS.items()
        ),
    ]


def _draw_time(courses: dict[Case, dict[str, list[Course]]], axes: Axes) -> None:
    case, found = next(each for each in courses.items() if each[0].changes)
    for name in SCHEDULES:
        slices = list(zip(*(course.slices for course in found[name]), strict=True))
        length = case.seconds / DAY / len(slices)
        days = [(number + 0.5) * length for number in range(len(slices))]
        axes.plot(days, [_mean(values) for values in slices], label=name)
    axes.set(xlabel="days", ylabel="fresh copies", title="Rates change half way")
    axes.legend()


def _draw_budgets(courses: dict[Case, dict[str, list[Course]]], axes: Axes) -> None:
    cases = [case for case in courses if not case.changes]
    for name in SCHEDULES:
        means = [_mean(course.mean for course in courses[case][name]) for case in cases]
        axes.plot([case.days for case in cases], means, marker="o", label=name)
    axes.set(xlabel="days for one visit a page", ylabel="fresh copies", title="By budget")


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
