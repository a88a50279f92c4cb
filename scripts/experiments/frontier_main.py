"""Commands of scripts/experiments/frontier."""

from pathlib import Path

import click

from experiments import scale, soak
from experiments.options import out_option, quick_option


@click.group()
def main() -> None:
    """Experiments with the frontier. Each writes tables (.md, .csv) and a plot (.png)."""


@main.command("scale")
@out_option
@quick_option
@click.option("--urls", default=100_000_000, show_default=True, help="URLs added to seen.")
@click.option("--queued", default=50_000_000, show_default=True, help="URLs in the store.")
def scale_command(out: Path, quick: bool, urls: int, queued: int) -> None:
    """Memory, speed, longest turn and time to reopen of seen and store."""
    click.echo(scale.run(out, quick=quick, urls=urls, queued=queued))


@main.command("soak")
@out_option
@quick_option
@click.option("--seconds", default=3600.0, show_default=True, help="Time of the crawl.")
@click.option("--wait", default=0.5, show_default=True, help="waitDuration.")
def soak_command(out: Path, quick: bool, seconds: float, wait: float) -> None:
    """Speed and memory of a long crawl of an endless web."""
    click.echo(soak.run(out, quick=quick, seconds=seconds, wait=wait))


if __name__ == "__main__":
    main(prog_name="scripts/experiments/frontier")
