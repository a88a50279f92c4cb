"""``larbinpy check-config``."""

import os
import sys

import click

from larbinpy.cli.common import complain, files, plain_errors, set_option
from larbinpy.config import DEFAULT_FILE, assignment, check, describe, in_environment, load
from larbinpy.exit_status import USAGE


@click.command("check-config")
@click.argument("file", required=False, shell_complete=files)
@set_option
@click.option("--changed", is_flag=True, help="Print only settings that differ from the default.")
def check_config(file: str | None, settings: tuple[str, ...], changed: bool) -> None:
    """Print all settings of a configuration, defaults included, or its errors.

    Without FILE it is larbin.conf in the working directory, as in a crawl.

    As in a crawl, --set and LARBINPY_KEY in the environment override FILE.
    """
    with plain_errors():
        overrides = [assignment(text) for text in settings]
        for name in in_environment(os.environ):
            click.echo(f"larbinpy: {name} is set in the environment", err=True)
        if file is None:
            found = os.path.lexists(DEFAULT_FILE)
            none = f"no {DEFAULT_FILE} here, so these are the defaults"
            complain(f"reading {DEFAULT_FILE}" if found else none)
        wrong = check(file, os.environ, overrides)
        for error in wrong:
            complain(error)
        if wrong:
            sys.exit(USAGE)
        for line in describe(load(file, os.environ, overrides), only_changed=changed):
            click.echo(line)
