"""The experiments as commands; scripts/experiments/resolver runs them."""

import sys
from pathlib import Path

import click

from experiments import apart, latency, memory, ttl

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("build/experiments"),
    show_default=True,
    help="Folder for the tables and plots.",
)
quick_option = click.option("--quick", is_flag=True, help="Some seconds only, to see it work.")


@click.group()
def main() -> None:
    """Experiments with the resolver; each writes tables (.md, .csv) and a plot (.png)."""


@main.command("latency")
@out_option
@quick_option
@click.option("--seconds", default=60.0, show_default=True, help="Longest time for a variant.")
@click.option("--names", default=1_000_000, show_default=True, help="Length of the list.")
def latency_command(out: Path, quick: bool, seconds: float, names: int) -> None:
    """Names over time, with and without cache and asynchrony, beside gethostbyname."""
    if not apart.is_apart():
        apart.go_apart("experiments", sys.argv[1:])
    click.echo(latency.run(out, quick=quick, seconds=seconds, count=names))


@main.command("memory")
@out_option
@quick_option
def memory_command(out: Path, quick: bool) -> None:
    """Bytes a name, collisions of keys, and the Bloom filter's errors."""
    click.echo(memory.run(out, quick=quick))


@main.command("ttl")
@out_option
@quick_option
@click.option("--days", default=3.0, show_default=True, help="Simulated time.")
@click.option("--rate", default=10.0, show_default=True, help="Names wanted a second.")
@click.option("--size", default=1_000_000, show_default=True, help="Names a cache holds.")
def ttl_command(out: Path, quick: bool, days: float, rate: float, size: int) -> None:
    """What a minimum TTL saves, and how many answers are then stale."""
    click.echo(ttl.run(out, quick=quick, days=days, rate=rate, size=size))


if __name__ == "__main__":
    main(prog_name="scripts/experiments/resolver")
