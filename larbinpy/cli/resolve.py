"""``larbinpy resolve``."""

import signal
import sys
from contextlib import closing
from dataclasses import replace

import click

from larbinpy.cli.common import (
    NOTHING,
    STOPPED,
    collect_rarely,
    load_config,
    open_bytes,
    option_value,
    plain_errors,
    servers_option,
)
from larbinpy.config import SETTINGS
from larbinpy.config.kinds import count
from larbinpy.console.terminal.resolve_input import arriving_lines
from larbinpy.console.terminal.resolve_output import Results
from larbinpy.crawl.resources.resolver import make_resolver
from larbinpy.dns.bulk import resolve_names
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller

#: The upper bound of dnsCacheSize.
_MOST_NAMES = 10**9


@click.command()
@click.argument("file", default="-")
@servers_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option(
    "--parallel", metavar="N", default="1000", show_default=True, help="Names asked for at once."
)
@click.option(
    "--cache", metavar="N", default="50000", show_default=True, help="Names to remember, or 0."
)
def resolve(file: str, servers: tuple[str, ...], as_json: bool, parallel: str, cache: str) -> None:
    """Resolve the names in FILE (or standard input) with the crawler's own resolver."""
    collect_rarely()
    with plain_errors():
        at_once = option_value("--parallel", parallel, SETTINGS["dnsconnexions"].kind)
        config = replace(
            load_config(None, [], more=[("dnsServer", server) for server in servers]),
            dns_connexions=at_once,
            dns_send_queue=at_once,
        )
        cached = option_value("--cache", cache, count(0, _MOST_NAMES))
        with (
            closing(Poller()) as poller,
            closing(make_resolver(config, poller, cached=cached)) as resolver,
            open_bytes(file) as source,
            closing(Results(sys.stdout, sys.stderr, file)) as results,
        ):
            started = clock()
            try:
                # Like Ctrl-C; timeout(1), for example, sends SIGTERM.
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                summary = resolve_names(
                    arriving_lines(source.fileno(), poller),
                    resolver,
                    poller,
                    clock,
                    results.write,
                    results.update,
                    as_json=as_json,
                )
            except KeyboardInterrupt:
                results.close()
                click.echo(f"{_rate(results.count, clock() - started)}, then stopped", err=True)
                sys.exit(STOPPED)
        click.echo(
            f"{_rate(summary.names, summary.elapsed)}: "
            f"{summary.resolved} resolved, {summary.failed} failed, "
            f"{summary.cached} cached, {summary.resent} resent",
            err=True,
        )
        sys.exit(NOTHING if summary.names and not summary.resolved else 0)


def _rate(names: int, seconds: float) -> str:
    return f"{names} names in {seconds:.2f} s ({names / seconds if seconds else 0:.0f}/s)"
