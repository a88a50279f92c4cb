"""Commands of scripts/experiments/resolver."""

import sys
from pathlib import Path

import click

from experiments import apart, latency, memory, ttl
from experiments.options import out_option, quick_option


@click.group()
def main() -> None:
    """Experiments with the resolver. Each writes tables (.md, .csv) and a plot (.png)."""


@main.command("latency")
@out_option
@quick_option
@click.option("--seconds", default=60.0, show_default=True, help="Longest time for a variant.")
@click.option("--names", default=1_000_000, show_default=True, help="Length of the list.")
def latency_command(out: Path, quick: bool, seconds: float, names: int) -> None:
    """Names resolved over time, with and without cache and asynchrony, and by gethostbyname."""
    if not apart.is_apart():
        apart.go_apart("experiments.resolver_main", sys.argv[1:])
    click.echo(latency.run(out, quick=quick, seconds=seconds, count=names))


@main.command("memory")
@out_option
@quick_option
def memory_command(out: Path, quick: bool) -> None:
    """Bytes a name, collisions of keys, and errors of the Bloom filter."""
    click.echo(memory.run(out, quick=quick))


@main.command("ttl")
@out_option
@quick_option
@click.option("--days", default=3.0, show_default=True, help="Simulated time.")
@click.option("--rate", default=10.0, show_default=True, help="Names looked up a second.")
@click.option("--size", default=1_000_000, show_default=True, help="Names a cache holds.")
def ttl_command(out: Path, quick: bool, days: float, rate: float, size: int) -> None:
    """Questions saved by a minimum TTL, and stale answers caused by it."""
    click.echo(ttl.run(out, quick=quick, days=days, rate=rate, size=size))


if __name__ == "__main__":
    main(prog_name="scripts/experiments/resolver")
