"""``larbinpy changes``."""

import sys

import click

from larbinpy.cli.database import database_options, exit_nothing, finder_of, time_since
from larbinpy.console.text import json_line, printable
from larbinpy.database.base import Change
from larbinpy.loop.clock import wall


@click.command()
@database_options
@click.option(
    "--since",
    metavar="TIME",
    default="1d",
    help="Since when: 12h, 7d, 2w, 3m (months), 2026-11-23 [1d].",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each change.")
def changes(database: str | None, config_file: str | None, since: str, as_json: bool) -> None:
    """List the pages that are new, changed, gone, back or moved, the oldest change first.

    A page has changed if its main text is one that it did not have before. The exit status is 0 if
    there are changes, 1 if not, 3 if the database cannot be read.
    """
    with finder_of(database, config_file) as finder:
        change = None
        for change in finder.changes(time_since(since, wall())):
            if as_json:
                sys.stdout.write(json_line(change._asdict()).decode())
            else:
                sys.stdout.write(f"{_line(change)}\n")
        if change is None:
            exit_nothing()


def _line(change: Change) -> str:
    target = f" -> {change.target}" if change.target else ""
    return printable(f"{change.at}  {change.kind:<7}  {change.url}{target}")
