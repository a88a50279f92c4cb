"""The crawl on Redis that a command is about: --join, LARBINPY_JOIN, or `join` in larbin.conf."""

from typing import TYPE_CHECKING

import click

from larbinpy.cli.common import load_config

if TYPE_CHECKING:
    from larbinpy.crawl.fleet.remote import Remote

join_option = click.option(
    "--join",
    metavar="redis://HOST[:PORT]/NAME",
    help="The whole crawl NAME of all nodes, also while none runs [join of FILE].",
)


def join_of(config_file: str | None, join: str | None) -> str:
    """The address of the crawl; empty for one that is on this machine alone."""
    return load_config(config_file, (), more=() if join is None else [("join", join)]).join


def open_remote(join: str, *, forgets: bool = False) -> "Remote":
    """The crawl at an address. Raises UserError."""
    # Here, since it needs what is not always installed.
    from larbinpy.fleet import require

    require()
    from larbinpy.crawl.fleet.remote import Remote

    return Remote(join, forgets=forgets)
