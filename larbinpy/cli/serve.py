"""``larbinpy serve``."""

import os
import signal
from collections.abc import Sequence
from contextlib import closing, suppress

import click

from larbinpy.cli.common import plain_errors
from larbinpy.cli.database import database_options, databases_of, finder_of
from larbinpy.console.ports.finder_process import FinderProcess, finder_command
from larbinpy.console.ports.http import Served, StatusServer, bracketed
from larbinpy.errors import UserError
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller

#: As the status page in larbin.conf: a browser that has it as a search engine goes on.
_PORT = 8081
#: Seconds; without a request nothing is to be done.
_LONGEST_WAIT = 60.0


@click.command()
@database_options
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; all who reach it can search.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Port to listen at; 0 is any.",
)
@click.option(
    *("--host-name", "names"),
    metavar="NAME",
    multiple=True,
    help="Another name of this server, as of a proxy in front of it; may be repeated.",
)
@click.option(
    "--base",
    metavar="/PATH/",
    default="/",
    help="Path of the pages, if a proxy leaves it in the requests [/].",
)
def serve(
    database: str | None,
    config_file: str | None,
    host: str,
    port: int,
    names: tuple[str, ...],
    base: str,
) -> None:
    """Show the Search page of a database without a crawl, until Ctrl-C.

    The status page of a crawl has the same page (httpPort, outputMode database).
    """
    with finder_of(database, config_file):
        places = databases_of(database, config_file)  # and they can be read
    served = Served(names, f"/{base.strip('/')}/" if base.strip("/") else "/")
    with (
        plain_errors(),
        closing(Poller()) as poller,
        closing(_server(poller, places, host, port, served)) as server,
        suppress(KeyboardInterrupt),
    ):
        # Like Ctrl-C; services are ended so.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        click.echo(f"Search at http://{bracketed(host)}:{server.port}{served.base} (Ctrl-C ends)")
        while True:
            server.step(clock())
            deadline = server.deadline
            poller.wait(_LONGEST_WAIT if deadline is None else deadline - clock())


def _server(
    poller: Poller, places: Sequence[str], host: str, port: int, served: Served
) -> StatusServer:
    name = places[0].rstrip("/").rpartition("/")[2]
    if len(places) > 1:
        name = f"{len(places)} databases"
    finder = FinderProcess(poller, finder_command(*places))
    try:
        return StatusServer(
            poller, lambda: {"name": name}, host, port, finder=finder, served=served
        )
    except OSError as error:
        # The text of a failed bind repeats the address; errors of names have negative numbers.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror
        raise UserError(f"--host {host} --port {port}: {reason}; choose another one") from None
