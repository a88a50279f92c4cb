"""Commands that talk to a running crawl."""

import json
import sys
from typing import Any

import click

from larbinpy.cli.common import USAGE, input_option, lines, plain_errors
from larbinpy.config import ConfigError
from larbinpy.console import client
from larbinpy.console.progress import status_line
from larbinpy.console.prompt import converse
from larbinpy.console.text import printable


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@input_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=1976, show_default=True, help="The crawl's inputPort.")
@click.option("--priority", is_flag=True, help="Before all others.")
@click.option("--depth", default=5, show_default=True, help="Links to follow from there.")
@click.option("--again", is_flag=True, help="Fetch even what was seen.")
def seed(
    urls: tuple[str, ...],
    input_file: str | None,
    host: str,
    port: int,
    priority: bool,
    depth: int,
    again: bool,
) -> None:
    """Add seeds to a running crawl through its input port."""
    with plain_errors():
        seeds = [*urls, *lines(input_file)]
        if not seeds:
            raise ConfigError("no URL given")
        refusals = client.seed(host, port, seeds, priority, depth, again)
        for refusal in refusals:
            click.echo(f"larbinpy: {refusal.url}: {refusal.reason}", err=True)
        click.echo(f"{len(seeds) - len(refusals)} of {len(seeds)} URLs taken")
        sys.exit(USAGE if len(refusals) == len(seeds) else 0)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=1976, show_default=True, help="The crawl's inputPort.")
@click.option("--json", "as_json", is_flag=True, help="Answers as JSON, on a terminal, too.")
def console(host: str, port: int, as_json: bool) -> None:
    """Talk to a running crawl: commands from a terminal or a script, help for what there is."""
    with plain_errors():
        converse(host, port, sys.stdin, sys.stdout, as_json=as_json)


@click.command()
@click.option("--url", default="http://127.0.0.1:8081/", show_default=True, help="Status page.")
@click.option("--follow", is_flag=True, help="Print each URL as its fate is decided.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(url: str, follow: bool, as_json: bool) -> None:
    """Print, or follow, the status of a running crawl."""
    with plain_errors():
        host, port = client.address(url)
        if follow:
            for fate in client.follow(host, port):
                click.echo(json.dumps(fate) if as_json else _fate_line(fate))
        else:
            snapshot = client.read_status(host, port)
            click.echo(json.dumps(snapshot) if as_json else status_line(snapshot))


def _fate_line(fate: dict[str, Any]) -> str:
    return printable(f"{fate['ts']} {fate['outcome']} {fate['status'] or '-'} {fate['url']}")
