"""``larbinpy report``."""

import sys
from pathlib import Path

import click

from larbinpy.cli.common import collect_rarely, file_option, folders, load_config, plain_errors
from larbinpy.config import ConfigError
from larbinpy.observe.report.formats import Report, csv_pieces, json_pieces
from larbinpy.observe.report.text import whole


@click.command()
@click.argument("state_dir", metavar="[STATE_DIR]", required=False, shell_complete=folders)
@file_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the broken links as CSV.")
@click.option("--all", "everything", is_flag=True, help="Print whole lists.")
def report(
    state_dir: str | None,
    config_file: str | None,
    as_json: bool,
    as_csv: bool,
    everything: bool,
) -> None:
    """Report what a crawl found: broken links and their pages, redirects, sites.

    STATE_DIR is the stateDir of a crawl, which may still run, or the folder of a mirror [stateDir
    of the configuration]. After `crawl --nodes`, it is that of all nodes together.

    --csv prints a line for each broken link and each page that has it: url, status, outcome,
    page, target. The target is the URL that is broken, if the link redirects to it.

    The exit status is 0 whatever was found; scripts read --json or --csv.
    """
    with plain_errors():
        if as_json and as_csv:
            raise ConfigError("--json and --csv cannot be used together")
        folder = state_dir or load_config(config_file, ()).state_dir
        collect_rarely()
        found = Report(Path(folder))
        if as_json or as_csv:
            sys.stdout.writelines(json_pieces(found) if as_json else csv_pieces(found))
        else:
            lines = whole(found, everything=everything)
            sys.stdout.writelines(f"{line}\n" for line in lines)
