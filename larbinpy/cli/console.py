"""``larbinpy console``."""

import sys

import click

from larbinpy.cli.common import file_option, plain_errors
from larbinpy.cli.joining import join_of, join_option, open_remote
from larbinpy.cli.ports import host_option, port_of, port_option
from larbinpy.console.terminal.prompt import converse, hold

#: Exit status of a script with a command that failed.
_FAILED = 1


@click.command()
@file_option
@host_option
@port_option
@join_option
@click.option("--json", "form", flag_value="json", help="Print answers as JSON on a terminal, too.")
@click.option("--text", "form", flag_value="text", help="Print answers as text in a script, too.")
def console(
    config_file: str | None, host: str | None, port: int | None, join: str | None, form: str | None
) -> None:
    """Control a running crawl, from a terminal or a script; or one on Redis, with all its nodes.

    Type help for the commands. Input that is not a terminal is a script: each of its lines is
    a command, each line of output a JSON answer. The exit status of a script is 1 if one of its
    commands failed.
    """
    as_json = None if form is None else form == "json"
    with plain_errors():
        address = join_of(config_file, join) if host is None and port is None else ""
        if address:
            well = _converse_with_all(address, as_json)
        else:
            with port_of("input", config_file, host, port) as place:
                well = converse(*place, sys.stdin, sys.stdout, as_json=as_json)
    sys.exit(0 if well else _FAILED)


def _converse_with_all(address: str, as_json: bool | None) -> bool:
    with open_remote(address) as remote:
        from larbinpy.crawl.fleet.console import FleetConsole

        as_json = not sys.stdin.isatty() if as_json is None else as_json
        session = FleetConsole(remote, sys.stdout, as_json=as_json)
        return hold(session, sys.stdin, sys.stdout)
