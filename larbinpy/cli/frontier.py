"""``larbinpy frontier``."""

from pathlib import Path

import click

from larbinpy.cli.common import folders, plain_errors
from larbinpy.errors import UserError
from larbinpy.fleet.identity import saved_node
from larbinpy.observe.report.log_files import of_nodes
from larbinpy.storage.state import State
from larbinpy.storage.store import owed_urls


@click.command()
@click.argument("state_dir", metavar="STATE_DIR", shell_complete=folders)
@click.option("--count", is_flag=True, help="Print only their number.")
def frontier(state_dir: str, count: bool) -> None:
    """List the URLs that a stopped crawl has not fetched yet."""
    with plain_errors():
        folder = Path(state_dir)
        if of_nodes(folder) or saved_node(folder) is not None:
            raise UserError(
                f"{state_dir}: a crawl by nodes, whose queue is in Redis; larbinpy status has its "
                "length while it runs, and urls_queued of --report after it"
            )
        urls = owed_urls(State(folder))
        if count:
            click.echo(sum(1 for _ in urls))
        else:
            for url in urls:
                click.echo(url.href)
