"""Scenarios without other programs: hanging transfers, reading alone, and single steps."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.report import Table
from experiments.runs import CLIENT, PYTHON, Spread, run, say

from benchmarks.building import CannotBuild, Site, pages_of
from benchmarks.corpora import Source
from benchmarks.crawling import mean_page, ratios_table
from benchmarks.plans import ALL_CORES, HangingPlan, serving
from benchmarks.ratios import Found
from benchmarks.scenarios import BROAD, Given, Outcome, Size
from benchmarks.serving import nginx

#: Hosts with measured pages, hanging transfers, and transfers at a time.
_HOSTS, _HANGING, _HANDLES = 100, 4900, 5000
#: Least number of rounds of the steps, which are short.
_LEAST_ROUNDS = 3
_LEAST_READ = 5
_PAGES = 200


def hang(size: Size, source: Source, _given: Given, folder: Path) -> Outcome:
    """The cost of hanging transfers for others."""
    hosts = BROAD.closed(size.hosts or _HOSTS)
    site = source.site(BROAD, hosts)
    seeds = [BROAD.base(host) for host in range(hosts)]
    costs: dict[int, list[float]] = {0: [], _HANGING: []}
    with nginx(site.folder, folder):
        for number in range(size.rounds):
            for hanging, found in costs.items():
                plan = HangingPlan(seeds, hosts * BROAD.pages, hanging, _HANDLES)
                values = _hanging("crawl", plan, folder)
                found.append(values["cpu"] / values["pages"] * 1e6)
                say(f"  round {number + 1}, {hanging:,} hang: {found[-1]:,.0f} us/page")
    return _hang_outcome(hosts, costs)


def _hanging(command: str, plan: HangingPlan, folder: Path) -> dict[str, float]:
    with TemporaryDirectory(prefix="hanging-", dir=folder) as name:
        file = Path(name) / "plan"
        plan.write(file)
        out = file.with_name("out")
        with serving("hanging", "serve", str(file)):
            run([PYTHON, "-m", "benchmarks.hanging", command, file], out, ALL_CORES)
        found: dict[str, float] = json.loads(out.read_text())
        return found


def _hang_outcome(hosts: int, costs: dict[int, list[float]]) -> Outcome:
    without, among = costs.values()
    ratio = Spread.of([a / b for a, b in zip(among, without, strict=True)])
    about = f"hang: {hosts} hosts of {BROAD.pages} pages, {_HANDLES:,} transfers at a time"
    outcome = Outcome(about)
    label = "times the CPU a page without hanging transfers"
    outcome.ratios = [Found(label, ratio, more_is_better=False, target=1.5)]
    table = Table(about, "hanging", "CPU us/page")
    for hanging, found in costs.items():
        table.add(hanging, Spread.of(found))
    outcome.tables = [table, ratios_table(outcome.ratios)]
    outcome.raw = {"without": without, "among": among}
    return outcome


def reading(size: Size, source: Source, _given: Given, folder: Path) -> Outcome:
    """`read` beside the tree alone, for the pages of the corpus as they are."""
    files = [str(file) for file, _ in pages_of(source.corpus.folders)][:: size.share]
    if not files:
        raise CannotBuild(f"corpus {source.corpus.name}: no pages")
    rounds = max(_LEAST_READ, size.rounds)
    say(f"  {rounds} rounds of {len(files):,} pages")
    plan, out = folder / "pages", folder / "read"
    plan.write_text(json.dumps(files))
    run([PYTHON, "-m", "benchmarks.reading", plan, str(rounds)], out, CLIENT)
    return reading_outcome(f"reading, {source.corpus.name}", json.loads(out.read_text()))


def reading_outcome(title: str, found: dict[str, Any]) -> Outcome:
    """The outcome of what `benchmarks.reading` printed."""
    page = mean_page(found["size"], found["links"], found["urls"])
    pages = f"{found['pages']:,} pages, {page}"
    outcome = Outcome(f"{title}: {pages}; the scan leaves {found['left']:.2%} of them to the tree")
    ratio = Spread.of([read / tree for read, tree in found["rounds"]])
    outcome.ratios = [Found("times the tree's CPU a page", ratio, False, None)]
    table = Table(outcome.about, "way", "CPU us/page, best times", "CPU us/page", "MB/s")
    for place, way in enumerate(("read", "tree")):
        best = found["best"][place]
        rounds = Spread.of([each[place] for each in found["rounds"]])
        table.add(way, best, rounds, found["size"] / best)
    outcome.tables = [table, ratios_table(outcome.ratios)]
    outcome.raw = found
    return outcome


def micro(size: Size, source: Source, _given: Given, folder: Path) -> Outcome:
    """Single steps, and a turn beside idle transfers."""
    found = _steps(source.site(BROAD, BROAD.group), max(_LEAST_ROUNDS, size.rounds), folder)
    for hanging in (1, 100, _HANDLES):
        say(f"  turns with {hanging:,} idle transfers")
        # One more transfer for the gate, which leads to no pages.
        plan = HangingPlan([], 0, hanging, hanging + 1)
        took = [_hanging("turn", plan, folder)["median"] * 1e6 for _ in range(size.rounds)]
        found[f"a turn with {hanging:,} idle transfers"] = took
    outcome = Outcome("micro: single steps")
    table = Table(outcome.about, "operation", "CPU us")
    for name, values in found.items():
        table.add(name, Spread.of(values))
    outcome.tables = [table]
    outcome.raw = {"microseconds": found}
    return outcome


def _steps(site: Site, rounds: int, folder: Path) -> dict[str, list[float]]:
    pages = [
        (site.web.base(host) + path, str(site.file(host, path)))
        for host, paths in enumerate(site.paths(_PAGES // site.web.pages))
        for path in paths
    ]
    file = folder / "pages"
    file.write_text(json.dumps(pages))
    run([PYTHON, "-m", "benchmarks.micro", file, str(rounds), folder], folder / "steps", ALL_CORES)
    found: dict[str, list[float]] = json.loads((folder / "steps").read_text())
    return found
