"""Command of scripts/bench."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import click
from experiments.report import Table, machine
from experiments.runs import say, warn_of_load

from benchmarks import ratios
from benchmarks.building import CannotBuild
from benchmarks.corpora import CORPORA, Source, chosen
from benchmarks.crawling import crawl
from benchmarks.indexing import indexing
from benchmarks.scenarios import SCENARIOS, Given, Outcome, Size
from benchmarks.special import hang, micro, reading

_MEASURES: dict[str, Callable[[Size, Source, Given, Path], Outcome]] = {
    **{name: partial(crawl, name) for name in SCENARIOS},
    "database": indexing,
    "reading": reading,
    "hang": hang,
    "micro": micro,
}
#: Scenarios that run for every corpus; the others need only one.
_EVERY = {"reading", *(name for name, scenario in SCENARIOS.items() if scenario.every)}
_QUICK_SHARE = 20
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "larbinpy-bench"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(_MEASURES)), metavar="[SCENARIO]...")
@click.option("--rounds", type=click.IntRange(1), help="Runs of each program; 3, quick 1.")
@click.option("--hosts", type=click.IntRange(1), help="Hosts instead of the scenario's number.")
@click.option("--quick", is_flag=True, help="Crawl a twentieth of the hosts, as a try.")
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    type=click.Choice(list(CORPORA)),
    help="Documentation to take pages from; repeatable.  [default: all]",
)
@click.option(
    "--pages",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of HTML to take pages from instead; repeatable.",
)
@click.option(
    "--cache",
    default=_CACHE,
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder for the built pages.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all there.")
@click.option("--save", type=click.Path(path_type=Path), help="Write ratios there, for --check.")
@click.option(
    "--check",
    "baseline",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Exit with 1 if a ratio is more than 15 % worse than in this file.",
)
@click.option(
    "--larbin",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Binary of Larbin 2.6, for broad, big, large, tiny and above.",
)
@click.option("--scrapy", envvar="BENCH_SCRAPY", type=click.Path(path_type=Path), hidden=True)
def main(
    names: tuple[str, ...],
    rounds: int | None,
    hosts: int | None,
    quick: bool,
    corpora: tuple[str, ...],
    folders: tuple[Path, ...],
    cache: Path,
    json_file: Path | None,
    save: Path | None,
    baseline: Path | None,
    larbin: Path | None,
    scrapy: Path | None,
) -> None:
    """Crawl the same web with larbinpy, Scrapy, wget2, wget, Larbin and bare loops, and compare.

    Scenarios: broad, above, big, tls, large, tiny, mirror, warc, database, reading, hang, micro;
    by default all. broad, big, mirror and reading run for each corpus, the others for the first.
    """
    warn_of_load()
    size = Size(rounds or (1 if quick else 3), hosts, _QUICK_SHARE if quick else 1)
    found: dict[str, Outcome] = {}
    try:
        sources = [Source(corpus, cache) for corpus in chosen(corpora, folders)]
        cache.mkdir(parents=True, exist_ok=True)
        # Removed only after all measurements: see `Ground.job`.
        with TemporaryDirectory(prefix="runs-", dir=cache) as runs:
            for name, source in planned(names, sources):
                key = f"{name}, {source.corpus.name}"
                say(f"{key}:")
                folder = Path(mkdtemp(dir=runs))
                found[key] = _MEASURES[name](size, source, Given(scrapy, larbin), folder)
                print("\n\n".join(table.markdown() for table in found[key].tables), end="\n\n")
        print(machine())
        if json_file is not None:
            json_file.write_text(_as_json(found, quick))
        sys.exit(_compare(found, quick, save, baseline))
    except (CannotBuild, ratios.Unusable, RuntimeError, OSError) as error:
        raise click.ClickException(str(error)) from None


def planned(names: Sequence[str], sources: Sequence[Source]) -> Iterator[tuple[str, Source]]:
    """Each scenario, all if `names` is empty, with each corpus that it runs for."""
    for name in dict.fromkeys(names or _MEASURES):
        for source in sources if name in _EVERY else sources[:1]:
            yield name, source


def _as_json(found: dict[str, Outcome], quick: bool) -> str:
    scenarios = {
        name: {**outcome.raw, "ratios": {one.label: one.as_json() for one in outcome.ratios}}
        for name, outcome in found.items()
    }
    return json.dumps({"machine": machine(), "quick": quick, "scenarios": scenarios}, indent=1)


def _compare(
    found: dict[str, Outcome], quick: bool, save: Path | None, baseline: Path | None
) -> int:
    """Save the ratios and check them; returns the exit status."""
    results = {name: outcome.ratios for name, outcome in found.items() if outcome.ratios}
    if save is not None:
        save.write_text(ratios.baseline(results, quick))
    if baseline is None:
        return 0
    changes = ratios.changes(results, quick, baseline)
    table = Table(f"beside {baseline}", "scenario, corpus", "ratio", "before", "now", "")
    for one in changes:
        table.add(one.scenario, one.label, one.before, one.now, one.verdict())
    print(f"\n{table.markdown()}")
    return 1 if any(one.lost for one in changes) else 0


if __name__ == "__main__":
    main(prog_name="scripts/bench")
