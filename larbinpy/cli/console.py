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
@click.option("--json", "as_json", is_flag=True, help="Answers as JSON, on a terminal, too.")
def console(config_file: str | None, host: str | None, port: int | None, as_json: bool) -> None:
    """Talk to a running crawl: commands from a terminal or a script, help for what there is."""
    with plain_errors(), port_of("input", config_file, host, port) as place:
        converse(*place, sys.stdin, sys.stdout, as_json=as_json)
