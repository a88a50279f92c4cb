"""The commands: parse, call, exit. What they do is done elsewhere."""

import click

from larbinpy._version import __version__
from larbinpy.cli import crawling, talking, tools
from larbinpy.console.stream import open_all


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="larbinpy")
def main() -> None:
    """A polite, fast web crawler in the mould of Larbin: one process, one poll loop."""
    open_all()


for _command in (
    crawling.crawl,
    crawling.mirror,
    crawling.demo,
    crawling.frontier,
    crawling.check_config,
    talking.seed,
    talking.console,
    talking.status,
    tools.resolve,
    tools.fetch,
):
    main.add_command(_command)
