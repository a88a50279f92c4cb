"""CPU time a page in crawls of few and of many sites."""

from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from experiments.plots import plot
from experiments.report import Report, Table
from experiments.runs import say
from experiments.soak import crawled

SITES = (10, 100, 1_000, 10_000, 100_000)
_QUICK_SITES = SITES[:2]

ABOUT = """\
Crawls of the soak's endless web with these numbers of sites, without waits, one after another.
The second half of each crawl counts, when most sites are known. The server has one core, the
crawl the other."""


def run(out: Path, *, quick: bool, seconds: float) -> str:
    """Crawl for `seconds` with each number of sites; returns the table."""
    sizes = _QUICK_SITES if quick else SITES
    seconds = min(seconds, 8) if quick else seconds
    report = Report(out, "growth", ABOUT)
    table = Table("Growth", "sites", "sites in memory", "pages/s", "CPU us/page", "MB")
    costs = []
    for sites in sizes:
        say(f"  {sites:,} sites")
        samples = list(crawled(sites, seconds, wait=0))
        first, last = samples[len(samples) // 2], samples[-1]
        pages = last["pages"] - first["pages"]
        costs.append((last["CPU"] - first["CPU"]) / pages * 1e6)
        rate = pages / (last["at"] - first["at"])
        table.add(sites, last["sites in memory"], rate, costs[-1], last["MB"])
    report.table(table)
    plot(report.path(".png"), partial(_draw, sizes, costs))
    return report.close()


def _draw(sizes: tuple[int, ...], costs: list[float], axes: Axes) -> None:
    axes.semilogx(sizes, costs, marker="o")
    axes.set(title="CPU a page", xlabel="sites", ylabel="us", ylim=(0, None))
