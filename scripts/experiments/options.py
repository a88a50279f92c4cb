"""Options that the commands of all experiments have."""

from pathlib import Path

import click

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("build/experiments"),
    show_default=True,
    help="Folder for the tables and plots.",
)
quick_option = click.option("--quick", is_flag=True, help="Run for some seconds only, as a try.")
