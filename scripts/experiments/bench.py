"""The resolver's promised bounds, measured beside other resolvers in one run.

If there are two cores, clients run on one and the server on the other. The programs take turns
for several rounds, and medians are compared. larbinpy is measured by the time of its whole
process.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from experiments import cachecost, deadnames
from experiments.nameservers import nsd
from experiments.rates import Client, Clients, in_turn
from experiments.report import Table, machine
from experiments.runs import Spread, say, shown, warn_of_load

NAMES = 200_000
MANY = 1_000_000
#: Names for the other libraries, which are slower. Their rate does not depend on the number.
PEER_NAMES = 20_000
PARTS = ("rates", "memory", "dead", "cache")


@dataclass(slots=True, frozen=True)
class Bound:
    """A promised bound and the measured value."""

    text: str
    measured: float
    met: bool

    def __str__(self) -> str:
        return f"{'met   ' if self.met else 'MISSED'}  {self.text}: {shown(self.measured)}"


def at_least(limit: float, text: str, measured: float) -> Bound:
    return Bound(f"at least {shown(limit)} {text}", measured, measured >= limit)


def at_most(limit: float, text: str, measured: float) -> Bound:
    return Bound(f"at most {shown(limit)} {text}", measured, measured <= limit)


@dataclass(slots=True)
class Results:
    tables: list[Table] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    #: All measurements, by part.
    raw: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        bounds = [asdict(bound) for bound in self.bounds]
        return json.dumps({"machine": machine(), "bounds": bounds, **self.raw}, indent=1)

    def as_text(self) -> str:
        tables = [table.markdown() for table in self.tables]
        return "\n\n".join([machine(), *tables, "\n".join(map(str, self.bounds))])


@dataclass(slots=True, frozen=True)
class Sizes:
    """Numbers of names, and rounds."""

    names: int
    many: int
    peer_names: int
    rounds: int


def rates(results: Results, sizes: Sizes, folder: Path) -> None:
    with nsd(sizes.names) as port:
        programs = Clients(folder, port)
        say("looking for the best number of tasks")
        larbinpy = Client("larbinpy resolve", sizes.names, programs.larbinpy)
        others = [programs.best_peer(name, sizes.peer_names) for name in ("dnspython", "aiodns")]
        clients = [larbinpy, *others, Client("dnsperf", sizes.names, programs.dnsperf)]
        in_turn(clients, sizes.rounds)
    results.raw["rates"] = {client.name: list(map(asdict, client.rates)) for client in clients}
    results.tables.append(_rates_table(clients))
    results.bounds += _rate_bounds(*clients)


def _rates_table(clients: Iterable[Client]) -> Table:
    first, *others = clients
    table = Table("Names/s", "client", "names", "whole process", "without its start", "larbinpy")
    table.add(first.name, first.count, first.whole, first.own, "")
    for client in others:
        factor = f"{_factor(first, client):.2f}x"
        table.add(client.name, client.count, client.whole, client.own, factor)
    return table


def _factor(larbinpy: Client, other: Client) -> float:
    """larbinpy's rate divided by that of `other`.

    The start of `other` is not counted, because it would weigh more with fewer names.
    """
    return larbinpy.whole.median / other.own.median


def _rate_bounds(
    larbinpy: Client, dnspython: Client, aiodns: Client, dnsperf: Client
) -> list[Bound]:
    return [
        at_least(60_000, "names/s", larbinpy.whole.median),
        at_least(10, "times dns.asyncresolver", _factor(larbinpy, dnspython)),
        at_least(5, "times aiodns", _factor(larbinpy, aiodns)),
        at_least(0.2, "times dnsperf", _factor(larbinpy, dnsperf)),
    ]


def memory(results: Results, sizes: Sizes, folder: Path) -> None:
    with nsd(sizes.many) as port:
        client = Client("larbinpy resolve", sizes.many, Clients(folder, port).larbinpy)
        in_turn([client], 1)
    results.raw["memory"] = {client.name: list(map(asdict, client.rates))}
    megabytes = client.max_rss.median / 1e6
    table = Table("Memory", "client", "names", "names/s", "most memory, MB")
    table.add(client.name, client.count, client.whole.median, megabytes)
    results.tables.append(table)
    results.bounds.append(at_most(100, f"MB at {sizes.many:,} names", megabytes))


def dead(results: Results, sizes: Sizes, folder: Path) -> None:
    found = deadnames.measure(sizes.names, sizes.rounds, folder)
    results.raw["dead"] = asdict(found)
    table = Table("1 % dead names", "list", "seconds until all other names are resolved")
    table.add("without dead names", Spread.of(found.without))
    table.add("with dead names", Spread.of(found.among))
    results.tables.append(table)
    results.bounds.append(at_most(5, "% later with 1 % dead names", found.change * 100))


def cache(results: Results, sizes: Sizes, _folder: Path) -> None:
    found = cachecost.cost("compact", sizes.many)
    results.raw["cache"] = found
    own_count = found["stats"]["bytes"] / sizes.many
    table = Table("Cache", "names", "bytes a name", "by its own count", "us a hit")
    table.add(sizes.many, found["bytes"], own_count, found["microseconds"])
    results.tables.append(table)
    results.bounds.append(at_most(40, f"bytes a name at {sizes.many:,} names", found["bytes"]))
    results.bounds.append(at_most(2, "us a hit", found["microseconds"]))


@click.command()
@click.option("--rounds", default=5, show_default=True, help="Runs of each program.")
@click.option("--quick", is_flag=True, help="Run for some seconds only, as a try.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Only this part; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print all measurements as JSON.")
def main(rounds: int, quick: bool, only: tuple[str, ...], as_json: bool) -> None:
    """Measure the resolver beside others. Exits with 1 if a promised bound is missed."""
    sizes = Sizes(NAMES, MANY, PEER_NAMES, rounds)
    if quick:
        sizes = Sizes(NAMES // 10, MANY // 10, PEER_NAMES // 10, 1)
    measures = {"rates": rates, "memory": memory, "dead": dead, "cache": cache}
    results = Results()
    warn_of_load()
    with TemporaryDirectory(prefix="bench-") as folder:
        for part in only or PARTS:
            say(f"{part}:")
            measures[part](results, sizes, Path(folder))
    print(results.as_json() if as_json else results.as_text())
    if quick:
        say("a quick run is too short for a verdict")
    sys.exit(0 if quick or all(bound.met for bound in results.bounds) else 1)


if __name__ == "__main__":
    main(prog_name="scripts/bench-resolver")
