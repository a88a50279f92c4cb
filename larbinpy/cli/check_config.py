"""``larbinpy check-config``."""

import os
import sys

import click

from larbinpy.cli.common import complain, files, plain_errors, set_option
from larbinpy.config import DEFAULT_FILE, assignment, check, describe, in_environment, load
from larbinpy.console.text import printable
from larbinpy.errors import USAGE


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
        config = load(file, os.environ, overrides)
        explained = _logins(config.login_file) if config.login_file else []
        for line in describe(config, only_changed=changed):
            click.echo(line)
        for line in explained:
            click.echo(f"# {printable(line)}")


def _logins(path: str) -> list[str]:
    """Lines about the logins of a file; exits with its errors if there are any."""
    # Here, since only a configuration with logins needs it.
    from larbinpy.login.file import examine, explained

    entries, wrong = examine(path)
    for error in wrong:
        complain(error)
    if wrong:
        sys.exit(USAGE)
    return [f"login at {explained(entry)}" for entry in entries]
