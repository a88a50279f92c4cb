"""``larbinpy console``."""

import sys

import click

from larbinpy.cli.common import file_option, plain_errors
from larbinpy.cli.ports import host_option, port_of, port_option
from larbinpy.console.terminal.prompt import converse

#: Exit status of a script with a command that failed.
_FAILED = 1


@click.command()
@file_option
@host_option
@port_option
@click.option("--json", "form", flag_value="json", help="Print answers as JSON on a terminal, too.")
@click.option("--text", "form", flag_value="text", help="Print answers as text in a script, too.")
def console(config_file: str | None, host: str | None, port: int | None, form: str | None) -> None:
    """Control a running crawl, from a terminal or a script.

    Type help for the commands. Input that is not a terminal is a script: each of its lines is
    a command, each line of output a JSON answer. The exit status of a script is 1 if one of its
    commands failed.
    """
    with plain_errors(), port_of("input", config_file, host, port) as place:
        as_json = None if form is None else form == "json"
        well = converse(*place, sys.stdin, sys.stdout, as_json=as_json)
    sys.exit(0 if well else _FAILED)
