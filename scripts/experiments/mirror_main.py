"""Command of scripts/experiments/mirror."""

from pathlib import Path

import click

from experiments import mirrors
from experiments.options import out_option, quick_option

_PROGRAMS = ("larbinpy", "wget2", "httrack")


@click.command()
@out_option
@quick_option
@click.option("--program", "programs", type=click.Choice(_PROGRAMS), multiple=True, help="Only it.")
@click.option("--seconds", default=1800.0, show_default=True, help="Longest time for a program.")
def main(out: Path, quick: bool, programs: tuple[str, ...], seconds: float) -> None:
    """Mirror one site with three programs, and count the links that work in each mirror."""
    click.echo(mirrors.run(out, quick=quick, programs=programs or _PROGRAMS, seconds=seconds))


if __name__ == "__main__":
    main(prog_name="scripts/experiments/mirror")
