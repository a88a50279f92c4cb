"""Commands of scripts/experiments/frontier."""

from pathlib import Path

import click

from experiments import engines, growth, loss, scale, soak, study
from experiments.lossy import NotPossible
from experiments.options import out_option, quick_option


@click.group()
def main() -> None:
    """Experiments with the frontier. Each writes tables (.md, .csv) and a plot (.png)."""


@main.command("study")
@out_option
@quick_option
@click.option("--seconds", default=600.0, show_default=True, help="Time of each crawl.")
@click.option("--wait", default=0.5, show_default=True, help="Seconds between requests to a site.")
def study_command(out: Path, quick: bool, seconds: float, wait: float) -> None:
    """Pages and links of 20 sites over time, with Larbin's sequencer and with larbinpy's."""
    click.echo(study.run(out, quick=quick, seconds=seconds, wait=wait))


@main.command("loss")
@out_option
@quick_option
@click.option("--percent", default=1.0, show_default=True, help="Packets that get lost.")
@click.option("--urls", default=5000, show_default=True, help="URLs of each crawl.")
def loss_command(out: Path, quick: bool, percent: float, urls: int) -> None:
    """Outcomes of URLs if packets get lost, with and without retries."""
    try:
        click.echo(loss.run(out, quick=quick, percent=percent, urls=urls))
    except NotPossible as error:
        raise click.ClickException(str(error)) from error


@main.command("scale")
@out_option
@quick_option
@click.option("--urls", default=100_000_000, show_default=True, help="URLs added to seen.")
@click.option("--queued", default=50_000_000, show_default=True, help="URLs in the store.")
def scale_command(out: Path, quick: bool, urls: int, queued: int) -> None:
    """Memory, speed, longest turn and time to reopen of seen and store."""
    click.echo(scale.run(out, quick=quick, urls=urls, queued=queued))


@main.command("engines")
@out_option
@quick_option
@click.option(
    "--queued", multiple=True, default=engines.QUEUED, show_default=True, help="URLs put."
)
@click.option("--urls", multiple=True, default=engines.SEEN, show_default=True, help="Of seen.")
@click.option("--rounds", default=3, show_default=True, help="Rounds, of which medians are shown.")
def engines_command(
    out: Path, quick: bool, queued: tuple[int, ...], urls: tuple[int, ...], rounds: int
) -> None:
    """Queues and seen in larbinpy's files, in SQLite and in LMDB."""
    click.echo(engines.run(out, quick=quick, queued=queued, seen=urls, rounds=rounds))


@main.command("soak")
@out_option
@quick_option
@click.option("--seconds", default=3600.0, show_default=True, help="Time of the crawl.")
@click.option("--wait", default=0.5, show_default=True, help="waitDuration.")
def soak_command(out: Path, quick: bool, seconds: float, wait: float) -> None:
    """Speed and memory of a long crawl of an endless web."""
    click.echo(soak.run(out, quick=quick, seconds=seconds, wait=wait))


@main.command("growth")
@out_option
@quick_option
@click.option("--seconds", default=120.0, show_default=True, help="Time of each crawl.")
def growth_command(out: Path, quick: bool, seconds: float) -> None:
    """CPU time a page in crawls of 10 to 100,000 sites."""
    click.echo(growth.run(out, quick=quick, seconds=seconds))


if __name__ == "__main__":
    main(prog_name="scripts/experiments/frontier")
