"""Parts of the crawler by themselves: the resolver, and one fetch."""

import json
import sys

import click

from larbinpy.cli.common import (
    NOTHING,
    config_options,
    load_config,
    open_lines,
    plain_errors,
    servers_option,
)
from larbinpy.console.text import printable
from larbinpy.dns.bulk import resolve_names
from larbinpy.engine import clock
from larbinpy.poller import Poller
from larbinpy.single import fetch_one
from larbinpy.wiring import make_resolver


@click.command()
@click.argument("file", default="-")
@servers_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--parallel", default=1000, show_default=True, help="Questions in flight.")
@click.option("--cache", default=50000, show_default=True, help="Names to remember.")
def resolve(file: str, servers: tuple[str, ...], as_json: bool, parallel: int, cache: int) -> None:
    """Resolve the names in FILE (or standard input) with the crawler's own resolver."""
    with plain_errors():
        more = [("dnsServer", server) for server in servers]
        more += [("dnsCacheSize", str(cache)), ("dnsConnexions", str(parallel))]
        more.append(("dnsSendQueue", str(parallel)))
        poller = Poller()
        resolver = make_resolver(load_config(None, [], more=more), poller)
        summary = resolve_names(
            open_lines(file),
            resolver,
            poller,
            clock,
            print,
            parallel=parallel,
            as_json=as_json,
        )
        resolver.close()
        rate = summary.names / summary.elapsed if summary.elapsed else 0.0
        click.echo(
            f"{summary.names} names in {summary.elapsed:.2f} s ({rate:.0f}/s): "
            f"{summary.resolved} resolved, {summary.failed} failed, "
            f"{summary.cached} cached, {summary.resent} resent",
            err=True,
        )
        sys.exit(NOTHING if summary.names and not summary.resolved else 0)


@click.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@servers_option
@click.option("--max-size", metavar="BYTES", help="Bytes of the page that are read.")
@config_options
def fetch(
    url: str,
    as_json: bool,
    servers: tuple[str, ...],
    max_size: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
) -> None:
    """Fetch one URL through resolver, fetcher and parser, nothing else."""
    with plain_errors():
        more = [("dnsServer", server) for server in servers]
        if max_size is not None:
            more.append(("maxPageSize", max_size))
        page = fetch_one(url, load_config(config_file, settings, allow_private, more))
        if as_json:
            click.echo(json.dumps(page))
        else:
            for key, value in page.items():
                shown = value if not isinstance(value, list) else "\n  ".join(["", *value])
                click.echo(printable_lines(f"{key}: {'-' if shown is None else shown}"))
        sys.exit(NOTHING if page["status"] is None else 0)


def printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
