"""Command of scripts/experiments/transfers."""

from pathlib import Path

import click

from experiments import transfers
from experiments.options import out_option, quick_option


@click.command()
@out_option
@quick_option
@click.option("--wait", default=5.0, show_default=True, help="Delay of replies, for the overhead.")
@click.option("--latency", default=0.1, show_default=True, help="Delay of replies, for the data.")
@click.option("--seconds", default=10.0, show_default=True, help="Time to fetch data.")
@click.option(
    "--size",
    type=click.IntRange(1, 100_000),
    default=20_000,
    show_default=True,
    help="Bytes of a page, for the data.",
)
@click.option("--repeats", default=3, show_default=True, help="Measurements of the data.")
def main(
    out: Path, quick: bool, wait: float, latency: float, seconds: float, size: int, repeats: int
) -> None:
    """Memory, overhead and data of 1 to 5,000 transfers, by one loop and by threads."""
    transfers.raise_limit()
    text = transfers.run(
        out,
        quick=quick,
        wait=wait,
        latency=latency,
        seconds=seconds,
        size=size,
        repeats=repeats,
    )
    click.echo(text)


if __name__ == "__main__":
    main(prog_name="scripts/experiments/transfers")
