"""``larbinpy status``."""

import json
from typing import Any

import click

from larbinpy.cli.common import file_option, plain_errors
from larbinpy.cli.ports import port_of
from larbinpy.console.terminal import client
from larbinpy.console.terminal.progress import status_line
from larbinpy.console.text import printable


@click.command()
@file_option
@click.option("--url", help="Status page [httpHost and httpPort of FILE, http://127.0.0.1:8081/].")
@click.option("--follow", is_flag=True, help="Print each URL as it is decided.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(config_file: str | None, url: str | None, follow: bool, as_json: bool) -> None:
    """Print or follow the status of a running crawl."""
    with plain_errors(), port_of("http", config_file, *_address(url)) as (host, port):
        if follow:
            for fate in client.follow(host, port):
                click.echo(json.dumps(fate) if as_json else _fate_line(fate))
        else:
            snapshot = client.read_status(host, port)
            click.echo(json.dumps(snapshot) if as_json else status_line(snapshot))


def _address(url: str | None) -> tuple[str | None, int | None]:
    return (None, None) if url is None else client.address(url)


def _fate_line(fate: dict[str, Any]) -> str:
    return printable(f"{fate['ts']} {fate['outcome']} {fate['status'] or '-'} {fate['url']}")
