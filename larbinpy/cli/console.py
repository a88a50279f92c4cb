"""``larbinpy console``."""

import sys

import click

from larbinpy.cli.common import file_option, plain_errors
from larbinpy.cli.ports import host_option, port_of, port_option
from larbinpy.console.terminal.prompt import converse


@click.command()
@file_option
@host_option
@port_option
@click.option("--json", "as_json", is_flag=True, help="Print answers as JSON on a terminal, too.")
def console(config_file: str | None, host: str | None, port: int | None, as_json: bool) -> None:
    """Control a running crawl, from a terminal or a script.

    Type help for the commands. Input that is not a terminal is a script: each of its lines is
    a command, each line of output a JSON answer.
    """
    with plain_errors(), port_of("input", config_file, host, port) as place:
        converse(*place, sys.stdin, sys.stdout, as_json=as_json)
