"""Command of scripts/bench."""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from experiments.report import machine
from experiments.runs import say, warn_of_load

from benchmarks import ratios
from benchmarks.building import DOCUMENTATION, CannotBuild, Site, site
from benchmarks.crawling import SiteOf, crawl
from benchmarks.scenarios import SCENARIOS, Outcome, Size
from benchmarks.special import hang, micro
from benchmarks.web import Web

_MEASURES: dict[str, Callable[[Size, SiteOf, Path | None, Path], Outcome]] = {
    **{name: partial(crawl, name) for name in SCENARIOS},
    "hang": hang,
    "micro": micro,
}
_QUICK_SHARE = 20
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "larbinpy-bench"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(_MEASURES)), metavar="[SCENARIO]...")
@click.option("--rounds", type=click.IntRange(1), help="Runs of each program; 3, quick 1.")
@click.option("--hosts", type=click.IntRange(1), help="Hosts instead of the scenario's number.")
@click.option("--quick", is_flag=True, help="Crawl a twentieth of the hosts, as a try.")
@click.option(
    "--pages",
    "documents",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help=f"Folder of HTML to take pages from; repeatable.  [default: {DOCUMENTATION}]",
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
@click.option("--scrapy", envvar="BENCH_SCRAPY", type=click.Path(path_type=Path), hidden=True)
def main(
    names: tuple[str, ...],
    rounds: int | None,
    hosts: int | None,
    quick: bool,
    documents: tuple[Path, ...],
    cache: Path,
    json_file: Path | None,
    save: Path | None,
    baseline: Path | None,
    scrapy: Path | None,
) -> None:
    """Crawl the same web with larbinpy, Scrapy, wget2 and bare loops, and compare.

    Scenarios: broad, big, tls, large, tiny, mirror, hang, micro; by default all.
    """
    warn_of_load()
    size = Size(rounds or (1 if quick else 3), hosts, _QUICK_SHARE if quick else 1)
    found: dict[str, Outcome] = {}
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Removed only after all measurements: see `Ground.job`.
        with TemporaryDirectory(prefix="runs-", dir=cache) as runs:
            for name in dict.fromkeys(names or _MEASURES):
                say(f"{name}:")
                folder = Path(runs, name)
                folder.mkdir()
                site_of = partial(_site, documents or (DOCUMENTATION,), cache)
                found[name] = _MEASURES[name](size, site_of, scrapy, folder)
                print("\n\n".join(table.markdown() for table in found[name].tables), end="\n\n")
        print(machine())
        if json_file is not None:
            json_file.write_text(_as_json(found, quick))
        sys.exit(_compare(found, quick, save, baseline))
    except (CannotBuild, ratios.Unusable, RuntimeError, OSError) as error:
        raise click.ClickException(str(error)) from None


def _site(documents: tuple[Path, ...], cache: Path, web: Web, hosts: int) -> Site:
    """Build in a new process, so that this one stays small.

    The peak memory of a child is never less than that of its parent (see `experiments.runs.Run`).
    """
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(site, web, hosts, documents, cache).result()


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
    lost = ratios.check(results, quick, baseline)
    for line in lost:
        print(f"LOST  {line}")
    if not lost:
        print(f"no ratio is more than {ratios.TOLERANCE:.0%} worse than in {baseline}")
    return 1 if lost else 0


if __name__ == "__main__":
    main(prog_name="scripts/bench")
