"""``larbinpy seed``."""

import sys
from collections.abc import Sequence

import click

from larbinpy.cli.common import (
    complain,
    file_option,
    input_option,
    lines,
    plain_errors,
    refuse_files,
)
from larbinpy.cli.joining import join_of, join_option, open_remote
from larbinpy.cli.ports import host_option, port_of, port_option
from larbinpy.config import MOST_DEPTH, ConfigError
from larbinpy.console.terminal import client
from larbinpy.exit_status import USAGE
from larbinpy.url import fault, login_of, masked_typed


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@file_option
@input_option
@host_option
@port_option
@join_option
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
    join: str | None,
    priority: bool,
    depth: int | None,
    again: bool,
) -> None:
    """Add seeds to a running crawl through its input port, or to one on Redis."""
    with plain_errors():
        refuse_files(urls)
        seeds = [*urls, *(url for url, _ in lines(input_file))]
        if not seeds:
            raise ConfigError("no URL given")
        address = join_of(config_file, join) if host is None and port is None else ""
        if address:
            sys.exit(_seed_all(address, seeds, priority, depth, again))
        with port_of("input", config_file, host, port) as place:
            refusals = client.seed(*place, seeds, priority, depth, again)
        for refusal in refusals:
            complain(f"{refusal.url}: {refusal.reason}")
        sys.exit(_said(len(refusals), len(seeds)))


def _seed_all(
    address: str, seeds: Sequence[str], priority: bool, depth: int | None, again: bool
) -> int:
    """Give seeds to a crawl on Redis; whether its nodes have seen one, they find out themselves."""
    from larbinpy.crawl.fleet.text import LOGINS_STAY

    with open_remote(address) as remote:
        refused = remote.seed(seeds, priority=priority, depth=depth, again=again)
    for url in refused:
        complain(f"{masked_typed(url)}: {fault(url)}")
    if any(map(login_of, seeds)):
        complain(LOGINS_STAY)
    return _said(len(refused), len(seeds))


def _said(refused: int, seeds: int) -> int:
    """Print how many were accepted; return the exit status."""
    click.echo(f"{seeds - refused} of {seeds} URLs accepted")
    return USAGE if refused == seeds else 0
