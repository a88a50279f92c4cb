"""``larbinpy seed``."""

import sys

import click

from larbinpy.cli.common import file_option, input_option, lines, plain_errors, refuse_files
from larbinpy.cli.ports import host_option, port_of, port_option
from larbinpy.config import MOST_DEPTH, ConfigError
from larbinpy.console.terminal import client
from larbinpy.exit_status import USAGE


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@file_option
@input_option
@host_option
@port_option
@click.option("--priority", is_flag=True, help="Fetch before all other URLs.")
@click.option(
    "--depth",
    type=click.IntRange(0, MOST_DEPTH),
    metavar="NUMBER",
    help="Links to follow from these URLs [depthInSite of the crawl].",
)
@click.option("--again", is_flag=True, help="Also fetch URLs that were seen already.")
def seed(
    urls: tuple[str, ...],
    config_file: str | None,
    input_file: str | None,
    host: str | None,
    port: int | None,
    priority: bool,
    depth: int | None,
    again: bool,
) -> None:
    """Add seeds to a running crawl through its input port."""
    with plain_errors():
        refuse_files(urls)
        seeds = [*urls, *(url for url, _ in lines(input_file))]
        if not seeds:
            raise ConfigError("no URL given")
        with port_of("input", config_file, host, port) as place:
            refusals = client.seed(*place, seeds, priority, depth, again)
        for refusal in refusals:
            click.echo(f"larbinpy: {refusal.url}: {refusal.reason}", err=True)
        click.echo(f"{len(seeds) - len(refusals)} of {len(seeds)} URLs accepted")
        sys.exit(USAGE if len(refusals) == len(seeds) else 0)
