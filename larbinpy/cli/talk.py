"""Commands that talk to a running crawl."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from larbinpy.cli.common import (
    USAGE,
    file_option,
    input_option,
    lines,
    load_config,
    plain_errors,
)
from larbinpy.config import MOST_DEPTH, SETTINGS, ConfigError
from larbinpy.console.terminal import client
from larbinpy.console.terminal.progress import status_line
from larbinpy.console.terminal.prompt import converse
from larbinpy.console.text import printable

#: Larbin's own ports, where nothing says another one.
_USUAL = {"input": 1976, "http": 8081}
_LOOPBACK = "127.0.0.1"
#: Where this machine reaches what listens on all of its addresses.
_NEAR = {"0.0.0.0": _LOOPBACK, "::": "::1"}

_host = click.option("--host", help="Where the crawl runs [inputHost, 127.0.0.1].")
_port = click.option("--port", type=int, help="The crawl's inputPort [that of FILE, 1976].")


@contextmanager
def _place(
    kind: str, config_file: str | None, host: str | None = None, port: int | None = None
) -> Iterator[tuple[str, int]]:
    """Host and port of a crawl: as given, else as its configuration has them, else the usual."""
    if port is not None:
        yield host or _LOOPBACK, port
        return
    config = load_config(config_file, ())
    there = getattr(config, f"{kind}_host")
    port = getattr(config, f"{kind}_port")
    try:
        yield host or _NEAR.get(there, there), port or _USUAL[kind]
    except client.NoAnswer as error:
        if port:
            raise
        keyword = SETTINGS[f"{kind}port"].keyword
        raise client.NoAnswer(f"{error} No {keyword} was given, nor -c FILE with one") from None


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@file_option
@input_option
@_host
@_port
@click.option("--priority", is_flag=True, help="Before all others.")
@click.option(
    "--depth",
    type=click.IntRange(0, MOST_DEPTH),
    metavar="NUMBER",
    help="Links to follow from there [depthInSite of the crawl].",
)
@click.option("--again", is_flag=True, help="Fetch even what was seen.")
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
        seeds = [*urls, *lines(input_file)]
        if not seeds:
            raise ConfigError("no URL given")
        with _place("input", config_file, host, port) as place:
            refusals = client.seed(*place, seeds, priority, depth, again)
        for refusal in refusals:
            click.echo(f"larbinpy: {refusal.url}: {refusal.reason}", err=True)
        click.echo(f"{len(seeds) - len(refusals)} of {len(seeds)} URLs taken")
        sys.exit(USAGE if len(refusals) == len(seeds) else 0)


@click.command()
@file_option
@_host
@_port
@click.option("--json", "as_json", is_flag=True, help="Answers as JSON, on a terminal, too.")
def console(config_file: str | None, host: str | None, port: int | None, as_json: bool) -> None:
    """Talk to a running crawl: commands from a terminal or a script, help for what there is."""
    with plain_errors(), _place("input", config_file, host, port) as place:
        converse(*place, sys.stdin, sys.stdout, as_json=as_json)


@click.command()
@file_option
@click.option("--url", help="Status page [that of FILE, http://127.0.0.1:8081/].")
@click.option("--follow", is_flag=True, help="Print each URL as its fate is decided.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(config_file: str | None, url: str | None, follow: bool, as_json: bool) -> None:
    """Print, or follow, the status of a running crawl."""
    with plain_errors(), _place("http", config_file, *_address(url)) as (host, port):
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
