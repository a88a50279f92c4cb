"""The crawl on Redis that a command is about: --join, LARBINPY_JOIN, or `join` in larbin.conf.

Without one, it is that of `crawl --nodes` that runs in stateDir.
"""

import os
from pathlib import Path
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
    config = load_config(config_file, (), more=() if join is None else [("join", join)])
    return config.join or _of_nodes(config.state_dir)


def _of_nodes(state_dir: str) -> str:
    """The address of the Redis that `crawl --nodes` has started in `state_dir`; empty for none."""
    folder = Path(state_dir, "redis")
    if not os.path.exists(folder / "socket"):
        return ""
    # Here, since only a crawl by nodes needs it.
    from larbinpy.nodes.redis_server import running_in

    return running_in(folder)


def open_remote(join: str, *, forgets: bool = False) -> "Remote":
    """The crawl at an address. Raises UserError."""
    # Here, since it needs what is not always installed.
    from larbinpy.fleet import require

    require()
    from larbinpy.crawl.fleet.remote import Remote

    return Remote(join, forgets=forgets)
