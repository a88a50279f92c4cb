"""Command of scripts/experiments/revisit."""

from pathlib import Path

import click

from experiments import revisits
from experiments.options import out_option, quick_option


@click.command()
@out_option
@quick_option
@click.option("--pages", default=3000, show_default=True)
@click.option("--days", default=364, show_default=True, help="Simulated time.")
@click.option("--seeds", default=2, show_default=True, help="Runs, of which means are shown.")
def main(out: Path, quick: bool, pages: int, days: int, seeds: int) -> None:
    """Freshness of copies over time with seven schedules, with the same number of visits."""
    click.echo(revisits.run(out, quick=quick, pages=pages, days=days, seeds=seeds))


if __name__ == "__main__":
    main(prog_name="scripts/experiments/revisit")
