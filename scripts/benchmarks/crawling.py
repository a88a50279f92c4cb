"""Runs one scenario: all programs in turn, and a profile of larbinpy."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from experiments.report import Table
from experiments.runs import PYTHON, Spread, run, say

from benchmarks.building import Site
from benchmarks.corpora import Source
from benchmarks.plans import ALL_CORES, serving
from benchmarks.programs import FETCH, Ground, measure, settings
from benchmarks.ratios import Done, Found, Ratio
from benchmarks.scenarios import SCENARIOS, Given, Outcome, Scenario, Size
from benchmarks.serving import nginx
from benchmarks.web import Web

#: Pages of the crawl with the profile.
_PROFILED = 4000
#: Functions shown of the profile.
_SHOWN_FUNCTIONS = 12


def crawl(name: str, size: Size, source: Source, given: Given, folder: Path) -> Outcome:
    """Run the rounds of a scenario, then a crawl with the profile, which is not compared."""
    scenario = SCENARIOS[name]
    web = scenario.web_of(source.corpus)
    hosts = size.of(scenario.hosts, web)
    site = source.site(web, hosts)
    with nginx(site.folder, folder) as server, _names(web) as dns_port:
        ground = Ground(site, server, dns_port, folder)
        done = _rounds(scenario, size, hosts, given, ground)
        profiled = min(hosts, web.closed(max(1, _PROFILED // web.pages)))
        profile = _profile(profiled, scenario.output, ground)
    outcome = Outcome(_title(f"{name}, {source.corpus.name}", scenario, site, hosts))
    outcome.ratios = [ratio.found(done) for ratio in scenario.ratios if ratio.other in done]
    programs = programs_table(outcome.about, done)
    outcome.tables = [programs, ratios_table(outcome.ratios), *_profile_tables(profile)]
    outcome.raw = {
        "hosts": hosts,
        "site": {"size": site.size, "links": site.links, "urls": site.urls},
        "programs": {key: [one.as_json() for one in values] for key, values in done.items()},
        "profile": profile,
    }
    return outcome


@contextmanager
def _names(web: Web) -> Iterator[int]:
    """Run a name server if the web has names; gives its port."""
    if not web.tls:
        yield 9
        return
    with serving("names") as port:
        yield int(port)


def _rounds(
    scenario: Scenario, size: Size, hosts: int, given: Given, ground: Ground
) -> dict[str, list[Done]]:
    programs = scenario.programs(given, size.share)
    done: dict[str, list[Done]] = {program.name: [] for program in programs}
    # Reads all files into the page cache; otherwise the first program would pay for that.
    measure(FETCH, hosts, ground)
    for number in range(size.rounds):
        for program in programs:
            found = measure(program, hosts, ground)
            done[program.name].append(found)
            rate = f"{found.rate:,.0f} pages/s"
            say(f"  round {number + 1}, {program.name}: {rate} {found.remark}")
    return done


def _profile(hosts: int, output: str, ground: Ground) -> dict[str, Any]:
    job = ground.job(hosts)
    result = job.folder / "samples"
    command = [PYTHON, "-m", "benchmarks.sampled", result, *settings(job, output)]
    run(command, job.folder / "out", ALL_CORES)
    found: dict[str, Any] = json.loads(result.read_text())
    return {**found, "pages": job.expected}


def mean_page(size: float, links: float, urls: float) -> str:
    return f"mean page {size / 1000:.1f} kB with {links:.0f} links to {urls:.0f} URLs"


def _title(name: str, scenario: Scenario, site: Site, hosts: int) -> str:
    page = mean_page(site.size, site.links, site.urls)
    about = f"{hosts:,} hosts of {site.web.pages} pages, {page}"
    return f"{name}: {scenario.about}; {about}"


def programs_table(title: str, done: Mapping[str, Sequence[Done]]) -> Table:
    columns = ("pages/s", "CPU us/page", "user", "system", "times larbinpy's CPU", "peak MB")
    table = Table(title, "program", "pages", *columns, "remark")
    for program, values in done.items():
        rates, cpu = (Spread.of([getattr(one, of) for one in values]) for of in ("rate", "cpu"))
        user, system = (median(getattr(one, of) for one in values) for of in ("user", "system"))
        beside = Ratio("", program, "cpu", inverse=True).found(done).spread.median
        memory = max(one.max_rss for one in values) / 1e6
        remarks = "; ".join(dict.fromkeys(one.remark for one in values if one.remark))
        table.add(program, values[0].pages, rates, cpu, user, system, beside, memory, remarks)
    return table


def ratios_table(ratios: Sequence[Found]) -> Table:
    table = Table("larbinpy", "ratio", "median (least - greatest)", "promised")
    for found in ratios:
        table.add(found.label, found.spread, found.verdict())
    return table


def _profile_tables(profile: Mapping[str, Any]) -> Iterator[Table]:
    each = profile["cpu"] / profile["pages"] * 1e6
    collecting = profile["collecting"] / profile["cpu"]
    title = (
        f"larbinpy by stage, sampled in a separate run: {each:,.0f} us/page after "
        f"{profile['loading']:.2f} s of loading; the garbage collector took {collecting:.1%}"
    )
    for name, heading, most in (
        ("stages", title, None),
        ("functions", "its most expensive functions, with library calls", _SHOWN_FUNCTIONS),
    ):
        table = Table(heading, name.removesuffix("s"), "share, %", "CPU us/page")
        for what, count in list(profile[name].items())[:most]:
            share = count / profile["samples"]
            table.add(what, round(share * 100, 1), round(share * each, 1))
        yield table
