"""The comparison of one loop and threads as a command; scripts/experiments/transfers runs it."""

from pathlib import Path

import click

from experiments import transfers
from experiments.__main__ import out_option, quick_option


@click.command()
@out_option
@quick_option
@click.option("--wait", default=5.0, show_default=True, help="Seconds each waits for overhead.")
@click.option("--latency", default=0.1, show_default=True, help="Seconds to a page of the data.")
@click.option("--seconds", default=10.0, show_default=True, help="Time to fetch data in.")
@click.option(
    "--size",
    type=click.IntRange(1, 100_000),
    default=20_000,
    show_default=True,
    help="Bytes of such a page.",
)
@click.option("--repeats", default=3, show_default=True, help="Times that is measured.")
def main(
    out: Path, quick: bool, wait: float, latency: float, seconds: float, size: int, repeats: int
) -> None:
    """Memory, overhead and data of 1 to 5,000 transfers, by one loop and by threads."""
    transfers.raise_limit()
    options = {"wait": wait, "latency": latency, "seconds": seconds}
    click.echo(transfers.run(out, quick=quick, size=size, repeats=repeats, **options))


if __name__ == "__main__":
    main(prog_name="scripts/experiments/transfers")
