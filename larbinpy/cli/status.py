"""``larbinpy status``."""

import json
from itertools import islice

import click

from larbinpy.cli.common import file_option, plain_errors
from larbinpy.cli.joining import join_of, join_option, open_remote
from larbinpy.cli.ports import port_of
from larbinpy.console.terminal import client
from larbinpy.console.terminal.progress import status_line


@click.command()
@file_option
@click.option("--url", help="Status page [httpHost and httpPort of FILE, http://127.0.0.1:8081/].")
@join_option
@click.option("--follow", is_flag=True, help="Print it every second, until the crawl ends.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(
    config_file: str | None, url: str | None, join: str | None, follow: bool, as_json: bool
) -> None:
    """Print the status of a running crawl, in a line; of one on Redis, a line a node, too."""
    with plain_errors():
        address = join_of(config_file, join) if url is None else ""
        if address:
            _show_all(address, follow, as_json)
            return
        with port_of("http", config_file, *_address(url)) as (host, port):
            for snapshot in islice(client.follow(host, port), None if follow else 1):
                click.echo(json.dumps(snapshot) if as_json else status_line(snapshot))


def _show_all(address: str, follow: bool, as_json: bool) -> None:
    """The status of a crawl on Redis; followed until no node runs."""
    with open_remote(address) as remote:
        from larbinpy.crawl.fleet.text import status_lines, status_of

        while True:
            found = status_of(remote.name, remote.board(), remote.shards())
            click.echo(json.dumps(found) if as_json else "\n".join(status_lines(found)))
            if not follow or not found["running"]:
                return
            remote.rest(1.0)


def _address(url: str | None) -> tuple[str | None, int | None]:
    return (None, None) if url is None else client.address(url)
